"""Mutable references: `new_ref`, `ref[...]`, `ref[...] = v`, `freeze`.

A `Ref` belongs to the trace that was current when it was made, its home.  It is in one of
two states.  *Held*: it has a value, an array or a tracer of its home, and a write replaces
the value; this is its state in evaluation, and in transformations that do not stage.
*Recorded*: it is a variable of a program being staged, where reads and writes are equations
(`get`, `swap`, `addupdate`).  An outer reference that a staged function uses is a constant
of the program, and so becomes an operand.

Before a program runs, its references are replaced by values: discharge.py.  This module
uses the methods of arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ...base import errors
from ...ir import core, hooks
from ...ir.core import EVAL, STATE, Primitive, Reference, Trace, Tracer, unsupported
from ...ir.facts import Facts
from ...ir.jaxpr import Equation
from ...ir.sharding_rules import joined, ordered, union
from ...passes.ad_util import Zero, core_ops
from ...passes.batch import batch_flat
from ...passes.stage import StageTrace
from ...prims.math.cast import convert_element_type_p
from ...runtime.arrays.array import ARRAYS
from ...runtime.arrays.operands import to_array
from ...runtime.sharding.placement import default_placement
from ...types import dtypes
from ...types.avals import AbstractRef, shaped
from ..effects.effects import Effect
from .ref_subscripts import Index, read, split_subscript, write


class Keeper(Protocol):
    """The owner of a value that is stored outside of references between calls."""

    def ready(self) -> bool:
        """Write the current value to the references; whether they can hold it."""


class Ref(Reference):
    """A mutable array: `ref[i]` reads, `ref[i] = x` writes, `ref[...]` is the full array.

    >>> import minijax.numpy as jnp
    >>> ref = new_ref(jnp.zeros(2))
    >>> ref[0] += 1
    >>> ref
    Ref([1., 0.], dtype=float32)
    """

    __slots__ = ("_home", "_keeper", "_shared", "_value")

    def __init__(self, value: Any, aval: Any = None) -> None:
        self._value = value  # None: recorded
        self._home: Trace = STATE.trace
        self._shared = True  # whether the value may also be referenced elsewhere
        # The owner of the value, if it is stored elsewhere between calls.
        self._keeper: Keeper | None = None
        self.aval = AbstractRef(core.aval_of(value)) if aval is None else aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes of its value."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return self.aval.size

    @property
    def sharding(self) -> Any:
        """The sharding of the value."""
        return read_all(self).sharding

    @property
    def format(self) -> Any:
        """The layout and sharding of the value."""
        return read_all(self).format

    @property
    def committed(self) -> bool:
        """Whether the value is committed to its devices."""
        return read_all(self).committed

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the value, which the next write may change."""
        return read_all(self).unsafe_buffer_pointer()

    def __getitem__(self, idx: Any) -> Any:
        return get(self, idx)

    def __setitem__(self, idx: Any, value: Any) -> None:
        set(self, idx, value)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def addupdate(self, value: Any, idx: Any = ...) -> None:
        """`ref[idx] += value`."""
        addupdate(self, idx, value)

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __repr__(self) -> str:
        value = self._value
        if value is None or isinstance(value, Tracer):
            return f"JitTracer({self.aval})"
        if value is _FREED:
            return str(self.aval)
        return f"Ref{repr(value).removeprefix(type(value).__name__).removeprefix('Array')}"

    def __copy__(self) -> Ref:
        return Ref(read_all(self))

    def __deepcopy__(self, memo: Any) -> Ref:
        return Ref(read_all(self))


core.register_aval(Ref, lambda ref: ref.aval)


@hooks.reference.fill
def _recorded(tracer: Any) -> Ref:
    ref = Ref(None, tracer.aval)
    ref._home = tracer._trace
    return ref


class DischargeTrace(StageTrace):
    """The trace of a program in which references made inside are values."""

    __slots__ = ()


class FinalDischargeTrace(DischargeTrace):
    """The trace of a discharged program that runs next, and is not transformed first."""

    __slots__ = ()


def is_recorded(ref: Ref) -> bool:
    """Whether operations on a reference are recorded now instead of executed."""
    home, trace = ref._home, STATE.trace
    while trace is not home:
        if trace is EVAL or (trace.is_staging and not home.alive):
            raise _scope_ended_error(ref)
        if trace.is_staging:
            return True
        trace = trace.parent
    check_not_freed(ref)
    return ref._value is None


_FREED = object()  # the value of freed references


def check_not_freed(ref: Ref) -> None:
    """Raise RuntimeError for a reference without a value."""
    if ref._value is _FREED:
        raise RuntimeError(f"A reference of type {ref.aval} was used after it was freed.")


def _scope_ended_error(ref: Ref) -> Exception:
    return errors.UnexpectedTracerError(
        errors.message(
            "Encountered an unexpected tracer: a reference of type"
            f" {ref.aval} was used after the function that made it had ended.",
            where=ref._home.describe(),
            why="References cannot be results of transformed functions.",
            tries=["return freeze(ref), or ref[...]"],
        )
    )


def check_ref(ref: Any, name: str) -> Ref:
    if isinstance(ref, Ref):
        return ref
    raise ValueError(f"Can only call `ref_{name}` on a `Ref`: expected a Ref, got {ref!r}.")


def read_all(ref: Ref) -> Any:
    """Return the value of a reference, which counts as shared from now on."""
    if is_recorded(ref):
        return get_p.bind(ref, index=None)
    ref._shared = True
    return ref._value


def write_all(ref: Ref, value: Any, owned: bool = False) -> None:
    """Write `value`, a full array of the reference's type.

    owned: no other object references the array.
    """
    if is_recorded(ref):
        swap_p.bind(ref, value, index=None)
    else:
        _set_value(ref, value)
        ref._shared = not owned


def _set_value(ref: Ref, value: Any, name: str = "a set/swap") -> None:
    """Set the value of a held reference, if its home can hold this value."""
    if isinstance(value, Tracer):
        trace: Trace = ref._home
        while trace is not value._trace:
            if trace is EVAL:
                raise _foreign_value_error(ref, value._trace.transform, name)
            trace = trace.parent
    ref._value = value


def _foreign_value_error(ref: Any, transform: str, name: str) -> Exception:
    aval = ref.aval
    if transform == "vmap":
        what = f"performing {name} operation with vmapped value on an unbatched array"
    else:
        what = (
            f"performing {name} operation with a differentiated value on a"
            " non-differentiated array"
        )
    return ValueError(
        errors.message(
            f"{what} reference of type {aval}.",
            where=core.stack_text(),
            why="The reference cannot store the value's lanes or tangents.",
            tries=[
                "Move the array reference to be an argument to the vmapped function?"
                if transform == "vmap"
                else "stop_gradient(value)",
                "make the reference inside the function",
            ],
        )
    )


# -------------------------------------------------------------------------- primitives


class _Effect(Effect):
    """The effect of an equation on one of its operands."""

    __slots__ = ()
    runs = False  # it leaves no trace in a compiled program
    on_references = True
    blocks_recompute = True  # the reference may change, so a result cannot be recomputed


READS = frozenset((_Effect("Read", ordered=False, is_once_per_call=False),))
WRITES = frozenset((_Effect("Write", ordered=False, is_once_per_call=True),))


class RefPrimitive(Primitive):
    """An operation on a reference, its first operand.

    act(ref, *args, **params): execute it on a held reference
    """

    __slots__ = ("act",)
    act: Callable[..., Any]

    def check_accepts_ref(self, aval: Any) -> None:
        pass

    def bind(self, *args: Any, **params: Any) -> Any:
        if is_recorded(args[0]):
            return STATE.trace.process(self, args, params)
        return self.act(*args, **params)


class MakingPrimitive(Primitive):
    """An operation whose result is a reference; recorded by programs, `impl` otherwise."""

    __slots__ = ()

    def bind(self, *args: Any, **params: Any) -> Any:
        trace = STATE.trace
        if not trace.is_staging or isinstance(trace, DischargeTrace):
            return self.impl(*args, **params)  # type: ignore[misc]
        atoms = [trace.atom(x) for x in args]  # type: ignore[attr-defined]
        aval = self.abstract(*(a.aval for a in atoms), **params)
        return trace.to_user_value(trace.record(self, atoms, params, aval))  # type: ignore


def _result(ref: Any, operands: Any, index: Index | None) -> Any:
    inner = ref.inner_aval
    if index is None:
        return inner
    shape = index.result_shape([a.shape for a in operands])
    return joined(inner.update(shape=shape), *operands)


def _target_text(eqn: Equation, printer: Any, first: int) -> str:
    ref, index = eqn.ins[0], eqn.params["index"]
    operands = [printer.untyped(a) for a in eqn.ins[first:]]
    inside = "..." if index is None else index.text(operands)
    return f"{printer.untyped(ref)}[{inside}]"


new_ref_p = MakingPrimitive("new_ref")
new_ref_p.abstract = lambda x, **_: AbstractRef(x)
new_ref_p.impl = lambda x, **_: Ref(x)

empty_ref_p = MakingPrimitive("empty_ref")
empty_ref_p.abstract = lambda *, ty, memory_space: AbstractRef(ty.aval)
empty_ref_p.impl = lambda *, ty, memory_space: Ref(core_ops.zeros(ty.aval))

free_ref_p = RefPrimitive("free_ref", multiple_results=True)
free_ref_p.abstract = lambda ref: []
free_ref_p.effects = lambda params: WRITES


def _free(ref: Ref) -> list[Any]:
    ref._value = _FREED
    return []


free_ref_p.act = _free

freeze_p = RefPrimitive("freeze")
freeze_p.abstract = lambda ref: ref.inner_aval
freeze_p.effects = lambda params: READS
freeze_p.act = read_all

get_p = RefPrimitive("get")
get_p.abstract = lambda ref, *operands, index: _result(ref, operands, index)
get_p.effects = lambda params: READS


def _get(ref: Ref, *operands: Any, index: Index | None) -> Any:
    out = read(ref._value, index, operands)
    ref._shared = ref._shared or out is ref._value
    return out


def _get_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    out = get_p.bind(*primals, **params)
    return out, Zero(core.aval_of(out).to_tangent())


def _get_batch(axis: Any, args: Any, dims: Any, *, index: Index | None) -> Any:
    """Batch reads whose indices differ between lanes."""
    value = read_all(args[0])
    outs, out_dims = batch_flat(
        lambda *operands: [read(value, index, operands)], axis, args[1:], dims[1:]
    )
    return outs[0], out_dims[0]


def _get_text(eqn: Equation, printer: Any) -> str:
    target = _target_text(eqn, printer, 1)
    return f"{printer.bound(eqn.outs[0])} <- {target}"


get_p.act, get_p.jvp, get_p.batch = _get, _get_jvp, _get_batch
get_p.facts = Facts(text=_get_text)


swap_p = RefPrimitive("swap")
swap_p.abstract = lambda ref, x, *operands, index: _result(ref, operands, index)
swap_p.effects = lambda params: WRITES


def _swap(ref: Ref, value: Any, *operands: Any, index: Index | None) -> Any:
    old = read(ref._value, index, operands)
    _put(ref, index, operands, value)
    return old


def _update(ref: Ref, new: Any, name: str = "a set/swap") -> None:
    """Set the value of a held reference to a newly computed array."""
    old = ref._value
    _set_value(ref, new, name)
    ref._shared = ref._shared and new is old


def _put(ref: Ref, index: Index | None, operands: Any, value: Any) -> None:
    if index is None:
        _set_value(ref, _typed(ref, value, False))
        ref._shared = True
    else:
        _update(ref, write(ref._value, index, operands, value, "set"))


def _swap_jvp(primals: Any, tangents: Any, **_: Any) -> Any:
    raise _foreign_value_error(primals[0], "grad", "a set/swap")


def _swap_batch(axis: Any, args: Any, dims: Any, **_: Any) -> Any:
    raise _foreign_value_error(args[0], "vmap", "a set/swap")


def _swap_text(eqn: Equation, printer: Any) -> str:
    out = printer.bound(eqn.outs[0])
    target, value = _target_text(eqn, printer, 2), printer.typed(eqn.ins[1])
    if out.startswith("_"):  # the old value is never read
        return f"{target} <- {value}"
    return f"{out}, {target} <- {target}, {value}"


swap_p.act, swap_p.jvp, swap_p.batch = _swap, _swap_jvp, _swap_batch
swap_p.facts = Facts(text=_swap_text)


addupdate_p = RefPrimitive("addupdate", multiple_results=True)
addupdate_p.abstract = lambda ref, x, *operands, index: []
addupdate_p.effects = lambda params: WRITES


def _add(ref: Ref, value: Any, *operands: Any, index: Index | None) -> list[Any]:
    old = ref._value
    if index is None:
        new = core_ops.add(old, value)
    else:
        new = write(old, index, operands, value, "add")
    _update(ref, new, "an addupdate")
    return []


def _add_jvp(primals: Any, tangents: Any, **_: Any) -> Any:
    raise _foreign_value_error(primals[0], "grad", "an addupdate")


def _add_batch(axis: Any, args: Any, dims: Any, **_: Any) -> Any:
    raise _foreign_value_error(args[0], "vmap", "an addupdate")


def _add_text(eqn: Equation, printer: Any) -> str:
    target = _target_text(eqn, printer, 2)
    return f"{target} += {printer.typed(eqn.ins[1])}"


addupdate_p.act, addupdate_p.jvp, addupdate_p.batch = _add, _add_jvp, _add_batch
addupdate_p.facts = Facts(text=_add_text)


for _prim in (new_ref_p, empty_ref_p, free_ref_p, freeze_p, get_p, swap_p, addupdate_p):
    _prim.def_sharding(manual="abstract")
    _prim.lower = unsupported("references become values before lowering")
    _prim.transpose = unsupported("what references hold is transposed, not references")


# --------------------------------------------------------------------------- functions


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """Return a mutable array, initially `init_val`.

    Args:
      init_val: an array or number; it is never modified.
      memory_space: must be None: the default memory.
      kind: a label for the equation, without effect.

    Returns:
      A `Ref` of the shape and dtype of `init_val`.

    Raises:
      TypeError: `init_val` is not an array.
      NotImplementedError: `memory_space` is not None.

    Example:
      >>> ref = new_ref(1.)
      >>> ref[...] = ref[...] + 1.
      >>> ref[...]
      Array(2., dtype=float32, weak_type=True)
    """
    if memory_space is not None:
        raise NotImplementedError("new_ref: only references in default memory exist.")
    if isinstance(init_val, Ref):
        raise TypeError("new_ref: the initial value is itself a Ref; pass ref[...].")
    try:
        core.aval_of(init_val)
    except TypeError as e:
        raise TypeError(
            "Error interpreting argument to new_ref as a JAX value. The problematic value"
            f" is of type {type(init_val)} and was passed to new_ref at position 0."
        ) from e
    if STATE.trace is EVAL and type(init_val) not in ARRAYS:
        init_val = to_array(init_val, default_placement())
    return new_ref_p.bind(init_val, memory_space=None, kind=kind)


class _Type:
    """The type of the future value of an empty reference."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return str(self.aval.str_short(False))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Type) and self.aval == other.aval

    def __hash__(self) -> int:
        return hash(self.aval)


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """Return a mutable array whose elements must be written before they are read.

    Args:
      ty: anything with `shape` and `dtype`, such as a `ShapeDtypeStruct`.
      memory_space: must be None: the default memory.

    Returns:
      A `Ref` of the shape and dtype of `ty`.

    Raises:
      NotImplementedError: `memory_space` is not None.

    Example:
      >>> import numpy as np
      >>> ref = empty_ref(np.zeros(2, 'float32'))
      >>> ref[...] = np.ones(2, 'float32')
      >>> ref
      Ref([1., 1.], dtype=float32)
    """
    if memory_space is not None:
        raise NotImplementedError("empty_ref: only references in default memory exist.")
    aval = shaped(tuple(ty.shape), dtypes.canonical(ty.dtype))
    return empty_ref_p.bind(ty=_Type(aval), memory_space=None)


def get(ref: Ref, idx: Any = None) -> Any:
    """Read a reference: `ref[idx]`.

    Args:
      ref: a reference.
      idx: a subscript: ints, slices, integer arrays, `...`; None: the full array.

    Returns:
      An array of the shape of `ref[idx]` and the reference's dtype.

    Raises:
      ValueError: an index is out of bounds (in a program it is clamped instead); or
        `ref` is not a reference.

    >>> get(new_ref(3))
    Array(3, dtype=int32, weak_type=True)
    """
    recorded = is_recorded(check_ref(ref, "get"))
    index, operands = split_subscript(ref.aval.shape, idx, strict=not recorded)
    if recorded:
        return STATE.trace.process(get_p, (ref, *operands), {"index": index})
    old = ref._value
    out = read(old, index, operands)
    ref._shared = ref._shared or out is old
    return out


def _is_array(x: Any) -> bool:
    return type(x) in ARRAYS or isinstance(x, Tracer)


def _typed(ref: Ref, value: Any, recorded: bool, adds: bool = False) -> Any:
    """Return a value as an array of the reference's type; programs may use a literal."""
    aval = core.aval_of(value)
    dtype = ref.dtype
    if recorded:
        if aval.dtype == dtype and (adds or not aval.weak_type):
            return value
        if not aval.shape and not _is_array(value):
            return np.asarray(value, dtype)[()]
    weak = ref.aval.inner_aval.weak_type and not recorded
    if aval.dtype == dtype and aval.weak_type == weak and _is_array(value):
        return value
    return convert_element_type_p.bind(value, new_dtype=dtype, weak_type=weak, sharding=None)


def _stored(ref: Ref, value: Any, shape: tuple[int, ...], name: str, recorded: bool) -> Any:
    """Return a value in the reference's dtype; a weakly typed one of its kind converts."""
    if isinstance(value, Ref) or not core.is_value(value):
        raise TypeError(f"Argument {value!r} of type {type(value)} is not a valid JAX type.")
    aval = core.aval_of(value)
    dtype = ref.dtype
    yields = aval.weak_type and dtypes.kind(aval.dtype) == dtypes.kind(dtype)
    if aval.dtype != dtype and not yields:
        raise ValueError(
            f"Invalid dtype for `{name}`. Ref dtype: {dtype.name}. Value dtype:"
            f" {aval.dtype.name}.\nTry: value.astype(ref.dtype)"
        )
    if aval.shape != shape:
        raise ValueError(
            f"Invalid shape for `{name}`. Ref shape: {ref.shape}. Expected shape: {shape}."
            f" Value shape: {aval.shape}.\nTry: jnp.broadcast_to(value, {shape})"
        )
    return _typed(ref, value, recorded, adds=name == "addupdate")


def _resolve_index(
    ref: Ref, idx: Any, recorded: bool
) -> tuple[Index | None, list[Any], tuple[int, ...]]:
    index, operands = split_subscript(ref.aval.shape, idx, strict=not recorded)
    if index is None:
        return None, operands, ref.aval.shape
    shape = index.result_shape([core.aval_of(i).shape for i in operands])
    return index, operands, shape


def _write(
    ref: Ref, idx: Any, value: Any, name: str, prim: str
) -> tuple[bool, Index | None, Any, list[Any]]:
    """Return whether a write is recorded, its index, its value, the index's operands."""
    recorded = is_recorded(check_ref(ref, name))
    index, operands, shape = _resolve_index(ref, idx, recorded)
    value = _stored(ref, value, shape, prim, recorded)
    if recorded:
        _check_varying(ref, value, operands, name)
    return recorded, index, value, operands


def _check_varying(ref: Ref, value: Any, operands: list[Any], name: str) -> None:
    """Raise if the value varies over axes over which the reference does not."""
    kinds = [core.aval_of(x).type_sharding.manual for x in (value, *operands)]
    ref_axes = union([ref.aval.inner_aval.type_sharding.manual])
    if more := ordered(union(kinds) - ref_axes):
        axes = ", ".join(map(str, more))
        raise errors.value_error(
            f"{name}: a value that varies along {axes} cannot be written to a reference"
            f" of type {ref.aval}, which is the same everywhere.",
            which=", ".join(core.aval_of(x).str_short(True) for x in (value, *operands)),
            where=core.stack_text(),
            tries=[
                f"new_ref(lax.pcast(x, {more!r}, to='varying')), of one made inside",
                "an entry in in_specs for that axis, of an argument",
                "lax.psum(value, axis)",
            ],
        )


def set(ref: Ref, idx: Any, value: Any) -> None:
    """Write to a reference: `ref[idx] = value`.

    Args:
      ref: a reference.
      idx: a subscript: ints, slices, integer arrays, `...`; None: the full array.
      value: an array or number of the reference's dtype and the shape of `ref[idx]`.

    Returns:
      None.

    Raises:
      ValueError: dtype or shape of `value` do not fit, an index is out of bounds, or
        `ref` is not a reference.
      TypeError: `value` is not an array.

    >>> ref = new_ref(3)
    >>> set(ref, (), 4)
    """
    recorded, index, value, operands = _write(ref, idx, value, "set", "swap")
    if recorded:
        STATE.trace.process(swap_p, (ref, value, *operands), {"index": index})
    else:
        _put(ref, index, operands, value)


def swap(ref: Ref, idx: Any, value: Any, _function_name: str = "swap") -> Any:
    """Write to a reference, and return the old value.

    Args:
      ref: a reference.
      idx: a subscript: ints, slices, integer arrays, `...`; None: the full array.
      value: an array or number of the reference's dtype and the shape of `ref[idx]`.
      _function_name: the name of the function in error messages.

    Returns:
      An array: the old value of `ref[idx]`.

    Raises:
      ValueError: dtype or shape of `value` do not fit, an index is out of bounds, or
        `ref` is not a reference.
      TypeError: `value` is not an array.

    >>> swap(new_ref(3), None, 4)
    Array(3, dtype=int32, weak_type=True)
    """
    recorded, index, value, operands = _write(ref, idx, value, _function_name, "swap")
    if recorded:
        return STATE.trace.process(swap_p, (ref, value, *operands), {"index": index})
    return _swap(ref, value, *operands, index=index)


def addupdate(ref: Ref, idx: Any, x: Any) -> None:
    """Add to a reference: `ref[idx] += x`; repeated indices accumulate.

    Args:
      ref: a reference.
      idx: a subscript: ints, slices, integer arrays, `...`; None: the full array.
      x: an array or number of the reference's dtype and the shape of `ref[idx]`.

    Returns:
      None.

    Raises:
      ValueError: dtype or shape of `x` do not fit, an index is out of bounds, or
        `ref` is not a reference.
      TypeError: `x` is not an array.

    >>> ref = new_ref(3)
    >>> addupdate(ref, None, 4)
    >>> ref[...]
    Array(7, dtype=int32, weak_type=True)
    """
    recorded, index, x, operands = _write(ref, idx, x, "addupdate", "addupdate")
    if recorded:
        STATE.trace.process(addupdate_p, (ref, x, *operands), {"index": index})
    else:
        _add(ref, x, *operands, index=index)


for _fun in (get, set, swap, addupdate):
    _fun.__name__ = f"ref_{_fun.__name__}"  # as in JAX


def freeze(ref: Ref) -> Any:
    """Return the value of a reference, which must not be used afterwards.

    Args:
      ref: a reference.

    Returns:
      An array of the reference's shape and dtype.

    Raises:
      ValueError: `ref` is not a reference.

    >>> freeze(new_ref(3))
    Array(3, dtype=int32, weak_type=True)
    """
    return freeze_p.bind(check_ref(ref, "freeze"))


def free_ref(ref: Ref) -> None:
    """Free a reference's value; the reference must not be used afterwards.

    Args:
      ref: a reference.

    Returns:
      None; reading it raises RuntimeError from now on.

    Raises:
      ValueError: `ref` is not a reference.

    >>> free_ref(new_ref(3))
    """
    free_ref_p.bind(check_ref(ref, "free"))
