"""The public module `minijax.extend.mlir.dialects`: builders of operations, by dialect."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "arith",
    "builtin",
    "chlo",
    "func",
    "math",
    "memref",
    "mpmd",
    "scf",
    "sdy",
    "sparse_tensor",
    "stablehlo",
    "vector",
]


def __getattr__(name: str) -> Any:
    if name == "hlo":
        name = "stablehlo"
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"jaxlib.mlir.dialects.{name}")


def __dir__() -> list[str]:
    return __all__
