"""Primitives by family.  `algebra.lib` is filled from here when it is first used."""

from __future__ import annotations

from importlib import import_module

from ..interpreters.algebra import Algebra

Algebra.loader = staticmethod(lambda: import_module(f"{__name__}.lend"))
