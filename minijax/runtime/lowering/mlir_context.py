"""MLIR contexts, one a thread: kept when it ends, with caches of what is made often.

Next: module.py and recorded_lowering.py, then context.py, which builds modules in them.
"""

from __future__ import annotations

import _imp
import contextlib
import importlib
import sys
import threading
from collections import defaultdict
from typing import Any, ClassVar

from jaxlib.mlir import ir

from ...base import util
from ...types import dtypes


def load_uninterrupted(module: str) -> Any:
    """Import a module where no interrupt comes: what its import has registered stays so,
    and if it were cut short each later import would fail.

    So another thread imports it: interrupts reach the main one.  Not where a finder of
    modules asks, which holds the lock that each import needs.
    """
    if module not in sys.modules and not _imp.lock_held():
        load = importlib.import_module
        thread = threading.Thread(name="load_whole", target=load, args=(module,))
        with contextlib.suppress(RuntimeError):  # at exit, when no thread starts
            thread.start()
            thread.join()
    return importlib.import_module(module)  # which also waits for one that is under way


def load_dialect(name: str) -> None:
    """Import the Python side of a dialect, which C++ does when it first needs it.

    An interrupt in an import that C++ began would end the process.
    """
    load_uninterrupted(f"jaxlib.mlir.dialects.{name}")


# The extension modules, not the dialects' generated builders: those take long to load.
_sdy, _chlo, _jax_mlir_ext, hlo = (
    load_uninterrupted(f"jaxlib.mlir._mlir_libs.{name}")
    for name in ("_sdy", "_chlo", "_jax_mlir_ext", "_stablehlo")
)


upstream_dialects = ir.DialectRegistry()
_jax_mlir_ext.register_dialects(upstream_dialects)


def register_own(ctx: ir.Context) -> None:
    """Make the dialects of programs known to a context."""
    for dialect in (_sdy, _chlo, hlo):
        dialect.register_dialect(ctx)


class Context:
    """An MLIR context with its caches of types and attributes."""

    def __init__(self) -> None:
        load_dialect("builtin")
        self.ir = ctx = ir.Context()
        ctx.enable_multithreading(False)
        ctx.append_dialect_registry(upstream_dialects)
        ctx.load_all_available_dialects()
        register_own(ctx)
        self.types: dict[Any, Any] = {}
        self.attributes: dict[Any, Any] = {}
        self.locations: dict[Any, Any] = {}
        # For each platform, see recorded_lowering.py.
        self.recipes: Any = defaultdict(lambda: util.cache({}))
        with ctx:
            self.unknown = ir.Location.unknown()
            self.elements = _element_types()


def _element_types() -> dict[Any, Any]:
    signless, unsigned = ir.IntegerType.get_signless, ir.IntegerType.get_unsigned
    elements = {
        dtypes.bool_: signless(1),
        dtypes.bfloat16: ir.BF16Type.get(),
        dtypes.float16: ir.F16Type.get(),
        dtypes.float32: ir.F32Type.get(),
        dtypes.float64: ir.F64Type.get(),
        dtypes.complex64: ir.ComplexType.get(ir.F32Type.get()),
        dtypes.complex128: ir.ComplexType.get(ir.F64Type.get()),
        dtypes.float0: ir.Float8E5M2Type.get(),
    }
    for bits, i, u in zip((2, 4, 8, 16, 32, 64), dtypes.SIGNED, dtypes.UNSIGNED, strict=True):
        elements[i], elements[u] = signless(bits), unsigned(bits)
    for dtype in dtypes.SMALL_FLOATS:
        # float8_e4m3fn is Float8E4M3FNType
        kind = "Float" + dtype.name[len("float") :].replace("_", "").upper() + "Type"
        elements[dtype] = getattr(ir, kind).get()
    return elements


class _Lease:
    """A context in use by a thread; when the thread ends, the next one gets it.

    A context must not die with its thread: a thread of the runtime, that runs a
    callback, has no interpreter any more when its locals are destroyed.
    """

    __slots__ = ("context",)
    spare: ClassVar[list[Context]] = []

    def __init__(self) -> None:
        try:
            self.context = self.spare.pop()
        except IndexError:
            self.context = Context()

    def __del__(self) -> None:
        self.spare.append(self.context)


class _Current(threading.local):
    """This thread's context: its attributes."""

    def __init__(self) -> None:
        self.lease = _Lease()
        vars(self).update(vars(self.lease.context))


context = _Current()
