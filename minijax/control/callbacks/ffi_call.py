"""`ffi_call`: calls of foreign compiled code, by its registered name.

The types of the results are all that is known about the code: it has no derivative, and
`vmap` calls it in one of the ways of `pure_callback`.  Keyword arguments are attributes,
numbers and strings that the compiler passes to the code.

Next: buffer_callback.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ...base import errors
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import Facts
from ...runtime.lowering.context import Lowering, physical, typed_call
from ...runtime.lowering.mlir_context import context
from ...runtime.sharding.layouts import Layout
from ...types import dtypes
from ...types.avals import AbstractToken, shaped
from ..calls.composite import HashableArray
from ..effects import effects
from .callbacks import batch_by, check_method

__all__ = ("ffi_call", "ffi_call_p", "ffi_lowering", "build_ffi_lowering_function")

# ------------------------------------------------------------------------ attributes


class FrozenDict(Mapping[str, Any]):
    """An immutable dict among the params of an equation."""

    __slots__ = ("_d",)

    def __init__(self, d: Mapping[str, Any]) -> None:
        self._d = {k: hashable(k, v) for k, v in d.items()}

    def __getitem__(self, key: str) -> Any:
        return self._d[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._d)

    def __len__(self) -> int:
        return len(self._d)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenDict) and self._d == other._d

    def __hash__(self) -> int:
        return hash(frozenset(self._d.items()))

    def __repr__(self) -> str:
        return f"FrozenDict({self._d!r})"


def hashable(name: str, value: Any) -> Any:
    """Return an attribute's value as a param; TypeError if it is not hashable."""
    if isinstance(value, np.ndarray):
        return HashableArray(value)
    if isinstance(value, Mapping):
        return value if isinstance(value, FrozenDict) else FrozenDict(value)
    try:
        hash(value)
    except TypeError:
        raise errors.type_error(
            f"Non-hashable keyword argument to ffi_call {name}: {value}",
            why="Attributes are part of the program, whose cache key must be hashable.",
            tries=["a tuple", "a NumPy array", "pass it as an operand"],
        ) from None
    return value


def attribute(value: Any) -> Any:
    """Return the MLIR attribute of a number, string, dtype, array, tuple or dict."""
    if isinstance(value, HashableArray):
        x = value.val
        if x.dtype == dtypes.float0:  # lowered as booleans, like float0 operands
            x = np.zeros(x.shape, np.bool_)
        element = context.elements.get(x.dtype)
        if element is None:
            raise TypeError(f"ffi_call: arrays of {x.dtype} cannot be attributes.")
        get: Any = ir.DenseElementsAttr.get
        return get(np.asarray(x, order="C"), type=element)
    if isinstance(value, FrozenDict):
        return ir.DictAttr.get({k: attribute(v) for k, v in value.items()})
    if isinstance(value, (tuple, list)):
        return ir.ArrayAttr.get([attribute(v) for v in value])
    if isinstance(value, (str, bytes)):
        return ir.StringAttr.get(value)
    if isinstance(value, np.dtype) and value in context.elements:
        return ir.TypeAttr.get(context.elements[value])
    if isinstance(value, (bool, np.bool_)):
        return ir.BoolAttr.get(bool(value))
    if isinstance(value, (int, np.integer)):
        kind = getattr(value, "dtype", np.dtype("int64"))
        if not -(2**63) <= value < 2**64:
            raise errors.error(
                OverflowError,
                f"Python int {value} is too large to convert to an attribute of 64 bits.",
            )
        return ir.IntegerAttr.get(context.elements[kind], int(value))
    if isinstance(value, (float, np.floating)):
        kind = getattr(value, "dtype", np.dtype("float64"))
        return ir.FloatAttr.get(context.elements[kind], float(value))
    raise errors.type_error(
        f"No attribute handler defined for type: {type(value)}",
        which=repr(value),
        why="Attributes are numbers, strings, dtypes, arrays, tuples and dicts of them.",
    )


# --------------------------------------------------------------------------- layouts


def row_major(aval: Any) -> tuple[int, ...]:
    """Return the axes of a value from the shortest stride to the longest, row-major."""
    rank = 0 if isinstance(aval, AbstractToken) else len(physical(aval).shape)
    return tuple(range(rank - 1, -1, -1))


def minor_to_major(aval: Any, layout: Any) -> tuple[int, ...]:
    """Return a layout from minor to major axes; `layout`: a `Layout`, axes, or None."""
    if layout is None:
        return row_major(aval)
    if isinstance(layout, Layout):
        if layout.tiling is not None:
            raise ValueError("The FFI does not support layouts with tiling")
        return layout.major_to_minor[::-1]
    return tuple(layout)


def _user_layouts(
    what: str, name: str, avals: Sequence[Any], layouts: Sequence[Any] | None
) -> tuple[tuple[int, ...], ...]:
    """Convert a user's layouts, longest stride first, to minor-to-major axes."""
    if layouts is None:
        return tuple(map(row_major, avals))
    if len(layouts) != len(avals):
        raise errors.value_error(
            f"The number of {what} ({len(avals)}) must equal the number of"
            f" {name} layouts ({len(layouts)})."
        )
    orders = []
    for i, (aval, user_layout) in enumerate(zip(avals, layouts, strict=True)):
        is_layout = user_layout is None or isinstance(user_layout, Layout)
        order = minor_to_major(aval, user_layout if is_layout else tuple(user_layout)[::-1])
        if sorted(order) != sorted(row_major(aval)):
            raise errors.value_error(
                f"ffi_call: {user_layout} is not a layout of {aval.str_short(True)}.",
                which=f"{name} layout #{i}",
                tries=[f"a permutation of the axes {tuple(sorted(row_major(aval)))}"],
            )
        orders.append(order)
    return tuple(orders)


def layouts_text(layouts: Iterable[Sequence[int]]) -> str:
    """Return the attribute of the layouts of operands or results."""
    entries = (f"dense<{[*o] or ''}> : tensor<{len(o)}xindex>" for o in layouts)
    return f"[{', '.join(entries)}]"


def aliases_text(pairs: Iterable[tuple[int, int]], outs: Sequence[Any]) -> str:
    """Return the attribute of pairs of operand and result that may share memory."""
    several = len(outs) > 1
    entries = (
        "#stablehlo.output_operand_alias<output_tuple_indices ="
        f" [{o if several else ''}], operand_index = {i}, operand_tuple_indices = []>"
        for i, o in pairs
    )
    return f"[{', '.join(entries)}]"


def check_alias(where: str, i: int, o: int, ins: Sequence[Any], outs: Sequence[Any]) -> None:
    """Raise ValueError unless operand i and result o can share memory."""
    about = f"input_output_aliases contains the mapping '{i}:{o}'"
    for name, at, avals in (("input", i, ins), ("output", o, outs)):
        if not 0 <= at < len(avals):
            raise ValueError(
                f"{about} with {name} index {at} outside the range [0, {len(avals)})."
            )
    text = lambda a: f"{a.dtype}[{','.join(map(str, a.shape))}]"
    if (ins[i].shape, ins[i].dtype) != (outs[o].shape, outs[o].dtype):
        raise errors.value_error(
            f"{about} referring to an input with abstract value {text(ins[i])} and"
            f" an output with a different abstract value {text(outs[o])}.",
            where=where,
        )


# -------------------------------------------------------------------------- emission


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Any = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:
    """Return a function that emits a call of a foreign function into a program.

    Args:
      call_target_name: the registered name.
      operand_layouts: for each operand, its axes from the shortest stride to the longest,
        a `Layout`, or None: row-major.
      result_layouts: the same for results.
      backend_config: attributes, as MLIR attributes by name; a string in versions before 4.
      skip_ffi_layout_processing: whether to leave layouts to the compiler.
      lowering_args: `has_side_effect`, whether it is called even if no result is used;
        `api_version` of the compiler's calls, by default 4, that of the headers;
        `operand_output_aliases`, operand -> result, pairs that share memory;
        `result_types`, MLIR types of the results, if not those of the equation;
        `extra_attributes`, MLIR attributes of the operation, by name.

    Returns:
      `emit(ctx, *operands, **attributes)`, which returns the operation.

    Raises:
      ValueError: (at a call) attributes or a config that the version does not support.

    Example:
      >>> emit = build_ffi_lowering_function("mine")  # in a primitive's lowering rule
    """

    return _emitter(
        call_target_name,
        operand_layouts,
        result_layouts,
        backend_config,
        skip_ffi_layout_processing,
        **lowering_args,
    )


def _emitter(
    call_target_name: str,
    operand_layouts: Sequence[Any] | None,
    result_layouts: Sequence[Any] | None,
    backend_config: Any,
    skip_ffi_layout_processing: bool,
    *,
    has_side_effect: bool = False,
    api_version: int = 4,
    operand_output_aliases: Mapping[int, int] | None = None,
    result_types: Sequence[Any] | None = None,
    extra_attributes: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """See `build_ffi_lowering_function`."""

    def emit(rule: Any, *operands: Any, **params: Any) -> Any:
        # Lowering rules of other libraries have a context that wraps ours.
        ctx: Lowering = rule if isinstance(rule, Lowering) else rule.emit
        config: Any
        attributes: dict[str, Any] = {"call_target_name": ctx.string(call_target_name)}
        if api_version >= 4:
            if backend_config is not None and not isinstance(backend_config, dict):
                raise ValueError("When api_version > 4, backend_config must be a dictionary.")
            named = {k: attribute(hashable(k, v)) for k, v in params.items()}
            config = ir.DictAttr.get({**(backend_config or {}), **named})
            attributes.update(typed_call(ctx, config))
        elif params:
            raise errors.value_error(
                "The use of ffi_call attributes requires a custom call API version of at"
                f" least 4; got api_version={api_version}.",
                which=", ".join(params),
            )
        else:
            attributes["api_version"] = ctx.i32(api_version)
            attributes["backend_config"] = ctx.string(backend_config or "")
        if has_side_effect:
            attributes["has_side_effect"] = ctx.bool(True)
        if not skip_ffi_layout_processing:
            for key, avals, user_layouts in (
                ("operand_layouts", rule.avals_in, operand_layouts),
                ("result_layouts", rule.avals_out, result_layouts),
            ):
                pairs = zip(avals, user_layouts or [None] * len(avals), strict=True)
                orders = [minor_to_major(a, g) for a, g in pairs]
                attributes[key] = ctx.parse(layouts_text(orders))
        if operand_output_aliases:
            shared = aliases_text(operand_output_aliases.items(), rule.avals_out)
            attributes["output_operand_aliases"] = ctx.parse(shared)
        attributes.update(extra_attributes or {})
        types = result_types
        if types is None:
            types = [ctx.type(a) for a in rule.avals_out]
        return ctx.create("stablehlo.custom_call", list(types), list(operands), **attributes)

    return emit


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Any = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., list[Any]]:
    """Return the lowering rule of a primitive that is a foreign function.

    Args:
      call_target_name: the registered name of the function.
      operand_layouts, result_layouts, backend_config, skip_ffi_layout_processing,
        lowering_args: see `build_ffi_lowering_function`.

    Returns:
      `rule(ctx, *operands, **params)`, which returns the results; params become
      attributes.

    Example:
      >>> rule = ffi_lowering("mine", operand_layouts=[(0, 1)])
    """
    emit = build_ffi_lowering_function(
        call_target_name,
        operand_layouts=operand_layouts,
        result_layouts=result_layouts,
        backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing,
        **lowering_args,
    )
    return lambda ctx, *operands, **params: list(emit(ctx, *operands, **params).results)


# ------------------------------------------------------------------------- primitive

ffi_call_p = Primitive("ffi_call", multiple_results=True)
ffi_call_p.facts = Facts(makes_no_nans=True, lowers_key_arrays=True)
ffi_call_p.abstract = lambda *avals, result_avals, **params: list(result_avals)
ffi_call_p.effects = lambda params: (
    effects.set_of(effects.io_effect) if params["has_side_effect"] else frozenset()
)


def _no_derivative(*args: Any, target_name: str, **params: Any) -> Any:
    raise errors.value_error(
        f"The FFI call to `{target_name}` cannot be differentiated. You can use"
        " `jax.custom_jvp` or `jax.custom_jvp` to add support.",
        why="Only the compiled code defines what it computes.",
        tries=["jax.custom_jvp", "jax.custom_vjp"],
    )


ffi_call_p.jvp = _no_derivative
ffi_call_p.transpose = _no_derivative


def _batch(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    result_avals: Any,
    vmap_method: Any,
    input_layouts: Any,
    output_layouts: Any,
    target_name: str,
    **params: Any,
) -> Any:
    def bind(ins: Any, lane_dims: Any, avals: Any) -> Any:
        # The new axis has the longest stride.
        def ahead(order: Any, rank: int) -> Any:
            num_new = rank - len(order)
            return (*(d + num_new for d in order), *range(num_new - 1, -1, -1))

        in_layouts = [
            ahead(order, len(physical(core.aval_of(x)).shape))
            for order, x in zip(input_layouts, ins, strict=True)
        ]
        out_layouts = [
            ahead(order, len(row_major(a)))
            for order, a in zip(output_layouts, avals, strict=True)
        ]
        return ffi_call_p.bind(
            *ins,
            result_avals=avals,
            vmap_method=vmap_method,
            target_name=target_name,
            input_layouts=tuple(in_layouts),
            output_layouts=tuple(out_layouts),
            **params,
        )

    return batch_by(vmap_method, ffi_call_p, bind, axis, args, dims, result_avals, target_name)


ffi_call_p.batch = _batch


def _lower(
    ctx: Any,
    *operands: Any,
    target_name: str,
    has_side_effect: bool,
    input_layouts: Any,
    output_layouts: Any,
    input_output_aliases: Any,
    custom_call_api_version: int,
    legacy_backend_config: str | None,
    attributes: Any,
    **_: Any,
) -> list[Any]:
    operands = tuple(
        ctx.constant(False, shaped(a.shape, dtypes.bool_))
        if getattr(a, "dtype", None) == dtypes.float0  # lowered as booleans
        else x
        for x, a in zip(operands, ctx.avals_in, strict=True)
    )
    rule = ffi_lowering(
        target_name,
        operand_layouts=input_layouts,
        result_layouts=output_layouts,
        has_side_effect=has_side_effect,
        api_version=custom_call_api_version,
        operand_output_aliases=dict(input_output_aliases),
        backend_config=legacy_backend_config,
    )
    return rule(ctx, *operands, **dict(attributes))


ffi_call_p.lower = _lower


def _result_aval(i: int, spec: Any) -> Any:
    if isinstance(spec, AbstractToken):
        return spec
    if not hasattr(spec, "shape") or not hasattr(spec, "dtype"):
        raise errors.value_error(
            "All elements of result_shape_dtypes must have 'shape' and 'dtype'"
            f" attributes. Got {spec} at position {i}.",
            tries=["jax.ShapeDtypeStruct(shape, dtype)"],
        )
    return shaped(tuple(spec.shape), dtypes.as_dtype(spec.dtype))


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Any] | None = None,
    output_layouts: Any = None,
    input_output_aliases: dict[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """Return a function that calls a foreign function, by XLA's calling convention.

    Args:
      target_name: the name under which `register_ffi_target` registered it.
      result_shape_dtypes: a value with `shape` and `dtype`, or a sequence of them.
      has_side_effect: whether it is called even if no result is used.
      vmap_method: how `vmap` calls it; see `pure_callback`.
      input_layouts: for each operand, its axes from the longest stride to the shortest, a
        `Layout`, or None: row-major, the default for all.
      output_layouts: the same for results; for one result, just its layout.
      input_output_aliases: operand -> result: pairs that share memory, so that the initial
        value of the result is the operand.
      custom_call_api_version: 4, that of the headers' macros; older ones have no
        attributes.
      legacy_backend_config: a string for versions before 4.

    Returns:
      `call(*operands, **attributes)`: attributes are numbers, strings, dtypes, NumPy
      arrays, and tuples and dicts of them, of the types that the code expects:
      `np.float32(1e-5)`.  Results are one array or, for a sequence of types, a list.

    Raises:
      ValueError: aliases of other types or layouts, a wrong number of layouts, or an
        unknown `vmap_method`; differentiation.
      TypeError: a value that cannot be an attribute.

    Example:
      >>> import minijax as mj
      >>> norm = ffi_call("rms_norm", mj.ShapeDtypeStruct((8,), "float32"))
      >>> norm(mj.numpy.ones(8), eps=1e-5)  # doctest: +SKIP
    """
    check_method(vmap_method)
    several = isinstance(result_shape_dtypes, Sequence)
    results = result_shape_dtypes if several else (result_shape_dtypes,)
    out_layouts = output_layouts if several or output_layouts is None else (output_layouts,)
    avals = tuple(_result_aval(i, r) for i, r in enumerate(results))
    if custom_call_api_version >= 4 and legacy_backend_config is not None:
        raise errors.value_error(
            "The use of the legacy_backend_config parameter requires"
            f" custom_call_api_version < 4; got {custom_call_api_version}.",
            tries=["keyword arguments of the call"],
        )

    def called(*args: Any, **kwargs: Any) -> Any:
        ins = [core.aval_of(x) for x in args]
        in_orders = _user_layouts("input arguments", "input", ins, input_layouts)
        out_orders = _user_layouts("outputs", "output", avals, out_layouts)
        aliases = sorted((input_output_aliases or {}).items())
        for i, o in aliases:
            check_alias(target_name, i, o, ins, avals)
            if in_orders[i] != out_orders[o]:
                raise ValueError(
                    f"input_output_aliases contains the mapping '{i}:{o}' referring to an"
                    f" input with layout {in_orders[i]} and an output with a different"
                    f" layout {out_orders[o]}."
                )
        out = ffi_call_p.bind(
            *args,
            result_avals=avals,
            vmap_method=vmap_method,
            target_name=target_name,
            has_side_effect=has_side_effect,
            input_layouts=in_orders,
            output_layouts=out_orders,
            input_output_aliases=tuple(aliases),
            custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config,
            attributes=tuple((k, hashable(k, v)) for k, v in kwargs.items()),
        )
        return out if several else out[0]

    return called
