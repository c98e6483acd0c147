"""The scatters that replace, multiply, or take the least or greatest.

Each is one block with its jvp and transpose; the type, batch and lowering rules that all
scatters share are in gather.py.  If several updates replace one element, it is unspecified
which one wins, so the derivative determines a winner for values and tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import KeyUse
from ...passes.ad_util import Zero, instantiate, is_linear
from ...passes.stage import stage
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import const
from ..math.algebraic import add, add_any, div, mul
from ..math.cast import convert_element_type
from ..math.logic import eq, select_n
from ..math.order import max, min
from ..shape.creation import iota, zero_array
from ..shape.shapes import broadcast, int_tuple, problem, reshape, value_problem
from .dimension_numbers import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    canonical_dimension_numbers,
)
from .gather import (
    PROMISE_IN_BOUNDS,
    bind_scatter,
    flags_of,
    read_back,
    scatter_add_p,
    scatter_function,
    scatter_primitive,
    zeros,
)

__all__ = (
    "scatter_mul_p",
    "scatter_mul",
    "scatter_min_p",
    "scatter_max_p",
    "scatter_min",
    "scatter_max",
    "scatter_p",
    "scatter",
    "scatter_apply",
)

# ------------------------------------------------------------------------ scatter-mul

_NOT_UNIQUE = "scatter_mul gradients are only implemented if `unique_indices=True`"


def _scatter_mul_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params):
    (x, indices, updates), (x_t, _, u_t) = primals, tangents
    out = scatter_mul_p.bind(x, indices, updates, **params)
    total: Any = None
    if type(x_t) is not Zero:
        total = scatter_mul_p.bind(x_t, indices, updates, **params)
    if type(u_t) is not Zero:
        _require_unique(params["unique_indices"], _NOT_UNIQUE, out)
        aval = core.aval_of(out)
        moved = bind_scatter(
            scatter_add_p,
            add,
            zeros(aval),
            indices,
            u_t,
            params["dimension_numbers"],
            **flags_of(params),
        )
        contribution = mul(x, moved)
        total = contribution if total is None else add_any(total, contribution)
    if total is None:
        total = Zero(core.aval_of(out).to_tangent())
    return out, total


def _require_unique(unique: bool, what: str, x: Any) -> None:
    if not unique:
        raise problem(
            NotImplementedError,
            what,
            x,
            why="Several updates of one element would depend on each other.",
            tries=["unique_indices=True, if the indices are unique"],
        )


def _scatter_mul_transpose(ct, x, indices, updates, **params) -> list[Any]:
    if is_linear(x):
        return [scatter_mul_p.bind(ct, indices, updates, **params), None, None]
    _require_unique(params["unique_indices"], _NOT_UNIQUE, ct)
    dims, mode = params["dimension_numbers"], params["mode"]
    return [None, None, read_back(mul(ct, x), indices, updates, dims, mode)]


scatter_mul_p = scatter_primitive("scatter-mul")
scatter_mul_p.jvp = _scatter_mul_jvp
scatter_mul_p.transpose = _scatter_mul_transpose


@scatter_function(scatter_mul_p, mul)
def scatter_mul() -> None:
    """Multiply windows of an array by updates.

    Example:
      >>> import minijax.numpy as jnp
      >>> points = ScatterDimensionNumbers((), (0,), (0,))
      >>> scatter_mul(jnp.ones(3), jnp.array([[1]]), jnp.full(1, 2.0), points)
      Array([1., 2., 1.], dtype=float32)
    """


# ---------------------------------------------------------------- scatter-min and -max


def _scatter_extremum(name: str) -> Primitive:
    """Declare a scatter that takes the least or greatest; ties share the tangent."""
    prim = scatter_primitive(name)

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x, indices, updates), (x_t, _, u_t) = primals, tangents
        out = prim.bind(x, indices, updates, **params)
        if type(x_t) is Zero and type(u_t) is Zero:
            return out, Zero(core.aval_of(out).to_tangent())
        dims, flags = params["dimension_numbers"], flags_of(params)
        best = read_back(out, indices, updates, dims, params["mode"], fill=None)
        x_won, u_won = eq(x, out), eq(updates, best)
        dtype = core.aval_of(out).dtype

        def gathered(operand: Any, new: Any) -> Any:
            return bind_scatter(scatter_add_p, add, operand, indices, new, dims, **flags)

        winners = gathered(
            convert_element_type(x_won, dtype), convert_element_type(u_won, dtype)
        )
        total = gathered(_mask_tangent(x_won, x_t), _mask_tangent(u_won, u_t))
        # A NaN equals nothing, so its tangent is zero.
        return out, div(total, max(winners, const(winners, 1)))

    prim.jvp = jvp
    return prim


def _mask_tangent(mask: Any, t: Any) -> Any:
    """Return a tangent where the mask is true, and zero otherwise."""
    if type(t) is Zero:
        return instantiate(t)
    aval = core.aval_of(t)
    return select_n(mask, zeros(aval), t)


scatter_min_p = _scatter_extremum("scatter-min")
scatter_max_p = _scatter_extremum("scatter-max")


@scatter_function(scatter_min_p, min)
def scatter_min() -> None:
    """Keep the lesser of element and update in windows.

    Example:
      >>> import minijax.numpy as jnp
      >>> points = ScatterDimensionNumbers((), (0,), (0,))
      >>> scatter_min(jnp.ones(3), jnp.array([[1]]), jnp.zeros(1), points)
      Array([1., 0., 1.], dtype=float32)
    """


@scatter_function(scatter_max_p, max)
def scatter_max() -> None:
    """Keep the greater of element and update in windows.

    Example:
      >>> import minijax.numpy as jnp
      >>> points = ScatterDimensionNumbers((), (0,), (0,))
      >>> scatter_max(jnp.ones(3), jnp.array([[1]]), jnp.full(1, 2.0), points)
      Array([1., 2., 1.], dtype=float32)
    """


# ---------------------------------------------------------------------------- scatter


def _scatter_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    (x, indices, updates), (x_t, _, u_t) = primals, tangents
    if type(x_t) is Zero and type(u_t) is Zero:
        out = scatter_p.bind(x, indices, updates, **params)
        return out, Zero(core.aval_of(out).to_tangent())
    if params["update_jaxpr"] is not None:
        raise problem(
            NotImplementedError,
            "scatter_apply JVP not implemented",
            x,
            why="The derivative of the applied function is unknown.",
            tries=["x.at[i].set(f(x.at[i].get()))"],
        )
    x_t, u_t = instantiate(x_t), instantiate(u_t)
    if params["unique_indices"]:
        out = scatter_p.bind(x, indices, updates, **params)
        return out, scatter_p.bind(x_t, indices, u_t, **params)
    return _scatter_with_winners(x, indices, updates, x_t, u_t, params)


def _scatter_with_winners(
    x: Any, indices: Any, updates: Any, x_t: Any, u_t: Any, params: dict[str, Any]
) -> tuple[Any, Any]:
    """Scatter values and tangents so that both agree on which update of an element wins.

    Updates get numbers from 1, which are scattered and read back.  An update wins where its
    own number is read, and the operand where 0 is read.  All losers are set to zero, and a
    scatter-add of the winners is the result: a linear map of values and of tangents.
    """
    dims, flags = params["dimension_numbers"], flags_of(params)
    aval, update = core.aval_of(x), core.aval_of(updates)
    window = dims.update_window_dims
    update_shape = [1 if d in window else n for d, n in enumerate(update.shape)]
    count = int(np.prod(update_shape, dtype=np.int64))
    numbers = reshape(iota(dtypes.uint32, count), update_shape)
    ones = broadcast(np.ones((), dtypes.uint32), update.shape)
    numbers = add(numbers, ones)
    no_update = zeros(aval, dtypes.uint32)
    winner = bind_scatter(scatter_p, None, no_update, indices, numbers, dims, **flags)
    read_numbers = read_back(winner, indices, updates, dims, PROMISE_IN_BOUNDS)

    def winners(old: Any, new: Any) -> tuple[Any, Any]:
        unchanged = eq(winner, no_update)
        old = select_n(unchanged, zeros(aval), old)
        won = eq(numbers, read_numbers)
        return old, select_n(won, zeros(update), new)

    values, tangents = winners(x, updates), winners(x_t, u_t)
    return tuple(
        bind_scatter(scatter_add_p, add, old, indices, new, dims, **flags)
        for old, new in (values, tangents)
    )


def _scatter_transpose(ct, x, indices, updates, **params) -> list[Any]:
    _require_unique(
        params["unique_indices"],
        "scatter transpose is only implemented where unique_indices=True",
        ct,
    )
    dims, updates_ct, operand_ct = params["dimension_numbers"], None, None
    if is_linear(x):
        aval = updates.aval if is_linear(updates) else core.aval_of(updates)
        blank = zeros(aval, core.aval_of(ct).dtype)
        operand_ct = scatter_p.bind(ct, indices, blank, **params)
    if is_linear(updates):
        updates_ct = read_back(ct, indices, updates, dims, params["mode"])
    return [operand_ct, None, updates_ct]


scatter_p = scatter_primitive("scatter", uses_keys=KeyUse({2: True}, forwards={0: 0}))
scatter_p.jvp = _scatter_jvp
scatter_p.transpose = _scatter_transpose


@scatter_function(scatter_p, None)
def scatter() -> None:
    """Write windows into an array; if several windows overlap, any one wins.

    Example:
      >>> import minijax.numpy as jnp
      >>> points = ScatterDimensionNumbers((), (0,), (0,))
      >>> scatter(jnp.zeros(3), jnp.array([[1]]), jnp.ones(1), points)
      Array([0., 1., 0.], dtype=float32)

    Source: StableHLO specification, `scatter`.
    """


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Any = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """Apply `func` to the elements of windows.

    Args:
      operand: an array.
      scatter_indices: integers; the last axis contains the index vectors.
      func: a function from a scalar to a scalar of `operand`'s dtype, which must not close
        over traced values.
      dimension_numbers, indices_are_sorted, unique_indices, mode: as for `scatter`.
      update_shape: the shape of the updates of the corresponding `scatter`.

    Returns:
      An array of `operand`'s shape and dtype.

    Raises:
      ValueError: `func` returns another type.
      NotImplementedError: `func` closes over a traced value.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax import lax
      >>> points = ScatterDimensionNumbers((), (0,), (0,))
      >>> scatter_apply(
      ...     jnp.arange(3.0), jnp.array([[2]]), lax.neg, points, update_shape=(1,)
      ... )
      Array([ 0.,  1., -2.], dtype=float32)
    """
    dtype = core.aval_of(operand).dtype
    scalar = shaped((), dtype)
    jaxpr, consts = stage(lambda x, _: [func(x)], [scalar, scalar], text="scatter_apply")
    (result,) = jaxpr.out_avals
    if result.shape or result.dtype != dtype:
        raise value_problem(
            f"scatter_apply: func must return {scalar.str_short(True)}, got"
            f" {result.str_short(True)}.",
            why="Its result replaces the element.",
        )
    if any(isinstance(c, core.Tracer) for c in consts):
        raise problem(
            NotImplementedError,
            "Reduction computations can't close over Tracers.",
            *consts,
            why="`func` becomes part of the jaxpr that updates one element.",
            tries=["use a Python or NumPy number"],
        )
    return scatter_p.bind(
        operand,
        scatter_indices,
        zero_array(shaped(int_tuple(update_shape, "update_shape"), dtype)),
        dimension_numbers=canonical_dimension_numbers(dimension_numbers),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
        update_jaxpr=jaxpr,
        update_consts=tuple(consts),
    )
