"""MLIR contexts, one per thread, with caches of types and attributes; reused when a thread
ends.

Next: module.py and recorded_lowering.py, then context.py, which builds modules in them.
"""

from __future__ import annotations

import _imp
import contextlib
import importlib
import sys
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any, ClassVar

from jaxlib.mlir import ir

from ...base import util
from ...types import dtypes

if TYPE_CHECKING:
    from types import ModuleType


def load_uninterrupted(module: str) -> ModuleType:
    """Import a module in another thread, where no interrupt is raised.

    The import registers things that stay registered. If it were interrupted, each later
    import would fail. Python raises interrupts only in the main thread. If the import lock
    is held (a module finder calls this), another thread would wait for it forever, so the
    import is direct.
    """
    if module not in sys.modules and not _imp.lock_held():
        load = importlib.import_module
        thread = threading.Thread(name="load_uninterrupted", target=load, args=(module,))
        with contextlib.suppress(RuntimeError):  # at exit no thread can start
            thread.start()
            thread.join()
    return importlib.import_module(module)  # also waits for an import in progress


def load_dialect(name: str) -> None:
    """Import the Python side of a dialect before C++ does so on first use.

    An interrupt during an import by C++ would end the process.
    """
    load_uninterrupted(f"jaxlib.mlir.dialects.{name}")


# The extension modules only: the dialects' generated builders take long to import.
_sdy, _chlo, _jax_mlir_ext, hlo = (
    load_uninterrupted(f"jaxlib.mlir._mlir_libs.{name}")
    for name in ("_sdy", "_chlo", "_jax_mlir_ext", "_stablehlo")
)


upstream_dialects = ir.DialectRegistry()
_jax_mlir_ext.register_dialects(upstream_dialects)


def register_own(ctx: ir.Context) -> None:
    """Register the dialects of programs in a context."""
    for dialect in (_sdy, _chlo, hlo):
        dialect.register_dialect(ctx)


class Context:
    """An MLIR context with its caches of types and attributes."""

    def __init__(self) -> None:
        load_dialect("builtin")
        self.ir = ctx = ir.Context()
        # Each context is used by one thread at a time, so it needs no thread pool.
        ctx.enable_multithreading(False)
        ctx.append_dialect_registry(upstream_dialects)
        ctx.load_all_available_dialects()
        register_own(ctx)
        self.types: dict[Any, Any] = {}
        self.attributes: dict[Any, Any] = {}
        self.locations: dict[Any, Any] = {}
        # For each platform, see recorded_lowering.py.
        self.recipes: dict[str, dict[Any, Any]] = defaultdict(lambda: util.cache({}))
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
    """A context in use by a thread; when the thread ends, it is reused by the next one.

    A context must not be freed with its thread: a thread of the runtime that ran a callback
    no longer has an interpreter state when its locals are destroyed.
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
    """The attributes of this thread's context."""

    def __init__(self) -> None:
        self.lease = _Lease()
        # Copy the attributes: lowering reads them often, and this saves an indirection.
        vars(self).update(vars(self.lease.context))


context = _Current()
