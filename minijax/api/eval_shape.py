"""Types without values: ShapeDtypeStruct, eval_shape, make_jaxpr, typeof."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis.key_use import use_of
from ..base import errors, tree
from ..base.source import wraps
from ..base.tracebacks import boundary
from ..control import hijax_values
from ..control.arguments import ArgNames, Statics, check_callable, resolve_statics
from ..control.calls.jit import jitted_of
from ..control.calls.jit_shardings import current_layout
from ..control.calls.jitted import JitOptions, Jitted, invalid_argument_message
from ..control.flat import FlatCall
from ..control.refs.discharge import check_closed_over, check_passed_once
from ..ir import core
from ..ir.jaxpr import ClosedJaxpr
from ..passes.ad_util import core_ops
from ..runtime.arrays import key_checks
from ..runtime.arrays.array import ARRAYS
from ..runtime.sharding.layouts import Format, Layout
from ..runtime.sharding.manual_axis_type import ManualAxisType, manual_axis_type
from ..runtime.sharding.mesh import current_mesh
from ..runtime.sharding.partition_spec import PartitionSpec
from ..runtime.sharding.shardings import NamedSharding, Sharding, aval_with_sharding
from ..types import dtypes
from ..types.avals import AbstractRef, AbstractToken, AbstractValue, shaped
from ..types.type_sharding import to_manual_axes

if TYPE_CHECKING:
    from ..types.aliases import (
        Aval,
        AxisName,
        DType,
        DTypeLike,
        PyTree,
        Reduced,
        Shape,
        Size,
        Value,
    )


class ShapeDtypeStruct:
    """The type of an array, without values: `shape`, `dtype`, `sharding`, `weak_type` ...

    Args:
      shape: its sizes.
      dtype: its dtype.
      sharding: its sharding, or None if unspecified.  A `PartitionSpec` refers to the mesh
        that is current when `sharding` is read.
      weak_type: whether its dtype is weak in promotion.
      manual_axis_type: a `ManualAxisType`, for values inside `shard_map`.
      is_ref: whether it is a reference to such an array.

    Raises:
      ValueError: `dtype` is missing, or `sharding` is of another type or too long.
      TypeError: `sharding` is read, is a `PartitionSpec`, and no mesh is current.

    Example:
      >>> ShapeDtypeStruct((2, 3), 'float32')
      ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __module__ = "minijax"

    __slots__ = (
        "_sharding",
        "dtype",
        "is_ref",
        "layout",
        "manual_axis_type",
        "shape",
        "weak_type",
    )
    shape: Shape
    dtype: DType
    _sharding: Sharding | PartitionSpec | None
    layout: Layout | None
    weak_type: bool
    manual_axis_type: ManualAxisType | None
    is_ref: bool

    def __init__(
        self,
        shape: Iterable[Size],
        dtype: DTypeLike,
        *,
        sharding: Sharding | PartitionSpec | Format | None = None,
        weak_type: bool = False,
        manual_axis_type: ManualAxisType | None = None,
        is_ref: bool = False,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        shape = tuple(shape)
        layout = None
        if isinstance(sharding, Format):
            layout, sharding = sharding.layout, sharding.sharding
        if layout is Layout.AUTO:
            raise errors.type_error(
                "`Layout.AUTO` cannot be used in place of a device-local layout in a"
                f" `ShapeDtypeStruct`. Got {Format(layout, sharding)}",
                tries=["Format(None, sharding)"],
            )
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "_sharding", _checked_sharding(sharding, shape))
        if manual_axis_type is not None and manual_axis_type.empty:
            manual_axis_type = None
        dtype = dtypes.as_dtype(dtype)
        fields = shape, dtype, weak_type, manual_axis_type, is_ref
        names = [name for name in _FIELDS if name != "sharding"]
        for name, value in zip(names, fields, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        if name in _FIELDS:
            raise RuntimeError(
                f"Cannot reassign attributes ({name}) of immutable ShapeDtypeStruct"
                " objects.\nTry: update, which makes a copy."
            )
        raise AttributeError(f"'ShapeDtypeStruct' object has no attribute {name!r}")

    def fields(self) -> tuple[Any, ...]:
        """Return the fields' values, in the order of `_FIELDS`."""
        sharding = (
            self._sharding if self.layout is None else Format(self.layout, self._sharding)
        )
        return (
            self.shape,
            self.dtype,
            sharding,
            self.weak_type,
            self.manual_axis_type,
            self.is_ref,
        )

    @property
    def sharding(self) -> Sharding | None:
        """The sharding; None if unspecified."""
        if not isinstance(self._sharding, PartitionSpec):
            return self._sharding
        mesh = current_mesh()
        if mesh is None:
            raise errors.type_error(
                "When specifying PartitionSpec to `ShapeDtypeStruct`, the context mesh"
                " cannot be empty. Please use `jax.set_mesh` to set the mesh context.",
                tries=["NamedSharding(mesh, spec)"],
            )
        return NamedSharding(mesh, self._sharding)

    @property
    def format(self) -> Format:
        """The layout and the sharding."""
        return Format(self.layout, self.sharding)

    @property
    def size(self) -> int:
        """The number of elements."""
        return shaped(self.shape, self.dtype).size

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    @staticmethod
    def like(x: Value) -> ShapeDtypeStruct:
        """Return the type of `x`, which has a shape and a dtype, with its sharding.

        The sharding is None for an uncommitted array.
        """
        aval = typeof(x)
        is_explicit = isinstance(x, ShapeDtypeStruct) or (type(x) in ARRAYS and x.committed)
        sharding = x.sharding if is_explicit else None
        if is_explicit and current_layout(x) is not None:
            sharding = x.format
        return ShapeDtypeStruct(
            aval.shape,
            aval.dtype,
            weak_type=aval.weak_type,
            sharding=sharding,
            manual_axis_type=manual_axis_type(aval.type_sharding.manual),
        )

    def update(self, **kwargs: Any) -> ShapeDtypeStruct:
        """Return a copy with some fields changed."""
        old = zip(_FIELDS, self.fields(), strict=True)
        return ShapeDtypeStruct(**{k: kwargs.get(k, v) for k, v in old})

    def __repr__(self) -> str:
        sharding = self._resolved_sharding()
        tail = f", sharding={sharding}" if sharding is not None else ""
        tail += f", format={self.layout}" if self.layout is not None else ""
        tail += ", weak_type=True" if self.weak_type else ""
        if self.manual_axis_type is not None:
            tail += f", manual_axis_type={self.manual_axis_type}"
        tail += ", is_ref=True" if self.is_ref else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{tail})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtypeStruct):
            return False
        fields, other_fields = self.fields(), other.fields()
        return fields == other_fields or (
            fields[:2] == other_fields[:2]
            and fields[3:] == other_fields[3:]
            and (self.layout, self._resolved_sharding())
            == (other.layout, other._resolved_sharding())
        )

    # The sharding is left out: for a spec it depends on the current mesh.
    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type, self.is_ref))

    def _resolved_sharding(self) -> Any:
        """Return the sharding; for a spec without a current mesh, the spec."""
        if isinstance(self._sharding, PartitionSpec) and current_mesh() is None:
            return self._sharding
        return self.sharding

    def __reduce__(self) -> Reduced:
        return _struct_of_fields, self.fields()


def _checked_sharding(user_value: Any, shape: Shape) -> Any:
    """Return a sharding or spec, or raise if a type of this shape cannot have it."""
    if isinstance(user_value, PartitionSpec):
        if len(user_value) > len(shape):
            raise errors.value_error(
                f"PartitionSpec {user_value} is only valid for values of rank at least"
                f" {len(user_value)}, but was applied to a value of rank {len(shape)}."
            )
        return user_value
    if user_value is not None and not isinstance(user_value, Sharding):
        raise errors.value_error(
            "sharding should be an instance of `jax.sharding.Sharding`,"
            " `jax.sharding.PartitionSpec` or `jax.experimental.layout.Format`. Got"
            f" {user_value} of type {type(user_value)}."
        )
    if isinstance(user_value, NamedSharding) and len(user_value.spec) > len(shape):
        user_value.check_compatible_aval(shape)
    return user_value


_FIELDS = ("shape", "dtype", "sharding", "weak_type", "manual_axis_type", "is_ref")


def _struct_of_fields(*fields: Any) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(**dict(zip(_FIELDS, fields, strict=True)))


def aval_like(x: Value) -> Aval:
    """Return the aval of an array, a number, an aval, or a value with `shape` and `dtype`."""
    if isinstance(x, AbstractValue):
        return x
    if isinstance(x, ShapeDtypeStruct):
        aval: Aval = shaped(tuple(x.shape), dtypes.canonical(x.dtype), x.weak_type)
        aval = aval_with_sharding(aval, x.sharding)
        if x.manual_axis_type is not None:
            aval = aval.update(manual=to_manual_axes(x.manual_axis_type, core.typed_axes()))
        return AbstractRef(aval) if x.is_ref else aval
    if not core.is_value(x) and hasattr(x, "shape") and hasattr(x, "dtype"):
        weak = bool(getattr(x, "weak_type", False))
        return shaped(tuple(x.shape), dtypes.canonical(x.dtype), weak)
    return core.aval_of(x)


def avals_like(
    leaves: Sequence[Value], fun: Callable[..., Any], names: Sequence[str]
) -> list[Aval]:
    """Return the avals of a call's leaves; a TypeError names the leaf without an aval."""
    out = []
    for i, x in enumerate(leaves):
        try:
            out.append(aval_like(x))
        except TypeError as e:
            if core.is_value(x) or isinstance(e, errors.UnexpectedTracerError):
                raise
            raise TypeError(invalid_argument_message(fun, x, names[i])) from None
    return out


def typeof(x: Value) -> Aval:
    """Return the abstract value of an array or number: its type.

    Args:
      x: an array, a number, a traced value, or a `ShapeDtypeStruct`.

    Returns:
      A `ShapedArray` with `shape`, `dtype` and `weak_type`; for a reference, an
      `AbstractRef`.

    Raises:
      TypeError: `x` is not such a value.

    Example:
      >>> typeof(1.0)
      ShapedArray(float32[], weak_type=True)
    """
    return aval_like(x) if isinstance(x, ShapeDtypeStruct) else hijax_values.type_of(x)


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[AxisName, int]] | None = None,
    return_shape: bool = False,
    abstracted_axes: None = None,
) -> Callable[..., Any]:
    """Make a function that returns `fun`'s jaxpr for given arguments.

    Args:
      fun: the function to trace; it is not run.
      static_argnums: positions of arguments that are compile-time constants.
      axis_env: (name, size) of mapped axes that `fun` may use.
      return_shape: also return the tree of `ShapeDtypeStruct`s of the result.
      abstracted_axes: must be None (shapes are static).

    Returns:
      A function with `fun`'s arguments that returns a `ClosedJaxpr`, or the pair
      (jaxpr, shapes) with `return_shape`.

    Raises:
      TypeError: an argument is not an array.
      NotImplementedError: `abstracted_axes`.

    Example:
      >>> make_jaxpr(lambda x: x)(1.0)
      { lambda ; a:f32[]. let  in (a,) }
    """
    check_callable(fun)
    if abstracted_axes is not None:
        raise NotImplementedError(
            "make_jaxpr: abstracted_axes (dynamic shapes) is not supported: minijax has"
            " static shapes."
        )
    statics = resolve_statics(fun, static_argnums, None, "static")
    jitted = Jitted(fun, Statics(statics.nums, ()), options=JitOptions(inline_traced=True))
    outer = tuple((name, size) for name, size in axis_env or ())

    @wraps(fun, name="make_jaxpr({fun})")
    def make_jaxpr_f(*args: Any, **kwargs: Any) -> Any:
        call = jitted.split(args, kwargs)
        if hijax_values.HIGH and any(map(hijax_values.is_high, call.leaves)):
            fixed = [position for position, _ in call.static]
            each, named, _ = hijax_values.opened(args, kwargs, fixed)
            options = (static_argnums, axis_env, return_shape)
            return make_jaxpr(hijax_values.LoweredFunction(fun), *options)(*each, **named)
        names = ArgNames(fun, call.in_tree, call.positions)
        check_passed_once(call.leaves, fun, "jit", names)
        avals = avals_like(call.leaves, fun, names)
        flat = jitted.flat(call)
        jaxpr, consts = core.within_axes(
            (*core.STATE.axes, *outer), flat.stage, avals, names, transform="make_jaxpr"
        )
        check_closed_over(consts, call.leaves, fun, "jit", names)
        if key_checks.is_enabled():
            use_of(jaxpr)
        closed = ClosedJaxpr(jaxpr, consts)
        if not return_shape:
            return closed
        return closed, flat.result(map(struct_of, closed.out_avals))

    return make_jaxpr_f


def struct_of(aval: Aval) -> ShapeDtypeStruct | Aval:
    """Return the `ShapeDtypeStruct` of an array's type; a token's type is returned as is."""
    if isinstance(aval, AbstractToken):
        return aval
    return ShapeDtypeStruct(
        aval.shape,
        aval.dtype,
        weak_type=aval.weak_type,
        sharding=aval.type_sharding.explicit,
        manual_axis_type=manual_axis_type(aval.type_sharding.manual),
    )


class _WithStructResults(FlatCall):
    """A function whose results may include `ShapeDtypeStruct`s."""

    __slots__ = ()

    def call(self, leaves: Sequence[Any]) -> Any:
        out = super().call(leaves)
        if not any(type(x) is ShapeDtypeStruct for x in tree.leaves(out)):
            return out
        return tree.map(_zeros_of_struct, out)


def _zeros_of_struct(x: Any) -> Any:
    if type(x) is not ShapeDtypeStruct:
        return x
    return core_ops.reshard_to_aval(
        core_ops.zeros(shaped(x.shape, x.dtype, x.weak_type)), aval_like(x)
    )


@boundary
def eval_shape(fun: Callable[..., Any], *args: PyTree, **kwargs: PyTree) -> PyTree:
    """Return the types of `fun(*args, **kwargs)`, without computing it.

    Args:
      fun: a function of arrays to a pytree of arrays.
      args, kwargs: arrays, `ShapeDtypeStruct`s, or anything with `shape` and `dtype`,
        in pytrees.

    Returns:
      The tree of the result, with a `ShapeDtypeStruct` for each leaf.

    Raises:
      TypeError: an argument has no shape and dtype.

    Example:
      >>> eval_shape(lambda x: x, ShapeDtypeStruct((3,), 'int32'))
      ShapeDtypeStruct(shape=(3,), dtype=int32)
    """
    check_callable(fun)
    if jitted_of(fun) is not None:  # its method also uses shardings and static arguments
        return fun.eval_shape(*args, **kwargs)  # type: ignore[attr-defined]
    leaves, in_tree = tree.flatten((args, kwargs))
    if hijax_values.HIGH and any(map(hijax_values.is_high, leaves)):
        each, named, _ = hijax_values.opened(args, kwargs)
        return eval_shape(hijax_values.LoweredFunction(fun), *each, **named)[0]
    names = ArgNames(fun, in_tree, range(len(args)))
    check_passed_once(leaves, fun, "jit", names)
    avals = avals_like(leaves, fun, names)
    flat = _WithStructResults(fun, in_tree)
    jaxpr, _ = flat.stage(avals, transform="eval_shape")
    return flat.result(map(struct_of, jaxpr.out_avals))
