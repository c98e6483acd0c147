"""Differentiation for users: grad, jvp, linearize.

`grad` runs the function once, keeping its linear part (passes/linearize.py), and
transposes that part (passes/transpose.py).  Everything here is bookkeeping:
pytrees, argnums, checks and their messages.  Next: vjp.py, jacobians.py.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import errors, tree
from ..base.source import function_text, name_of, wraps
from ..base.tracebacks import boundary, bounded
from ..base.util import pick
from ..control.arguments import check_callable
from ..control.flat import FlatFun
from ..control.refs.discharge import DischargedFunction, values_of, write_back
from ..ir import core
from ..ir.core import EVAL, STATE
from ..passes.ad_util import UndefinedPrimal, Zero, core_ops, instantiate
from ..passes.jvp import jvp_flat
from ..passes.linearize import LinearPart, linearize_flat
from ..passes.transpose import Sinks, backward_pass
from ..runtime.arrays.array import ARRAYS, ArrayImpl, adopted
from ..runtime.arrays.transfers import copied, put_numpy, typed_constant
from ..runtime.sharding.placement import default_placement
from ..types import dtypes

if TYPE_CHECKING:
    from ..base.tree import PyTreeDef
    from ..types.aliases import Aval, AxisName, PyTree, Tangent, Value

# -------------------------------------------------------------------------- plumbing


class Flat(FlatFun):
    """A flat function to differentiate, which may also return auxiliary data."""

    __slots__ = ("aux", "aux_tree", "has_aux")
    eager = True

    def __init__(self, fun: Callable[..., Any], in_tree: PyTreeDef, has_aux: bool) -> None:
        super().__init__(fun, in_tree)
        self.has_aux = has_aux
        self.aux: list[Any] = []
        self.aux_tree: PyTreeDef | None = None

    def call(self, leaves: Sequence[Value]) -> PyTree:
        out = self.fun(*tree.unflatten(self.in_tree, leaves))
        if self.has_aux:
            if not isinstance(out, (tuple, list)) or len(out) != 2:
                raise errors.type_error(
                    "expected function with aux output to return a two-element tuple,"
                    f" but got type {type(out)} with value {out!r}"[:400],
                    where=function_text(self.fun),
                    why="has_aux=True: the result is a pair (out, aux).",
                )
            out, aux = out
            aux_leaves, self.aux_tree = tree.flatten(aux)
            # Auxiliary values leave the trace as primals: their tangents are not needed.
            unwrap: Any = STATE.trace.unwrap  # type: ignore[attr-defined]
            self.aux = [unwrap(x)[0] if core.is_value(x) else x for x in aux_leaves]
        return out

    def refused(self, out: PyTree, i: int, x: object) -> Exception:
        return not_a_value(x, f"the result of {function_text(self.fun)}")

    def aux_value(self) -> PyTree:
        return tree.unflatten(self.aux_tree, self.aux)


_ones: dict[Any, Any] = {}


def one(aval: Aval) -> Value:
    """Return the cotangent 1 of a scalar, weakly typed if the scalar is."""
    if STATE.trace is not EVAL:
        python = complex(1) if dtypes.is_complex(aval.dtype) else 1.0
        weak = aval.weak_type and dtypes.scalar_dtype(type(python)) == aval.dtype
        return python if weak else typed_constant(1, aval.dtype)
    # Placements are interned, so an id identifies one.  A user may have
    # deleted the cached array, for example by donation.
    key = aval, id(default_placement())
    cached = _ones.get(key)
    if cached is None or cached.is_deleted():
        cached = _ones[key] = put_numpy(np.ones((), aval.dtype), aval)
    return cached


def check_value(x: object, name: str) -> Aval:
    """Return the aval of an argument of a transformed function."""
    if isinstance(x, core.Reference):
        raise errors.type_error(
            f"{name}: cannot differentiate with respect to a reference of type {x.aval}.",
            why="a reference has no single value to differentiate at.",
            tries=["differentiate with respect to ref[...]", "jvp, which supports references"],
        )
    if not core.is_value(x):
        raise not_a_value(x, name)
    return core.aval_of(x)


def not_a_value(x: object, where: str) -> TypeError:
    """Return the error for a value that has no derivative."""
    core.check_foreign(x)
    return errors.type_error(
        f"Argument {x!r} of type {type(x)} is not a valid JAX type.",
        where=where,
        why="only arrays, numbers and pytrees of them have derivatives.",
        tries=["choose other argnums", "close over the value", "has_aux=True"],
    )


def partial_argnums(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    args: tuple[PyTree, ...],
    kwargs: dict[str, PyTree],
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return `fun` as a function of the chosen arguments only, and those arguments."""
    nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    n = len(args)
    for i in nums:
        if i < -n:
            raise errors.value_error(
                "Positional argument indices, e.g. for `argnums`, must have value"
                " greater than or equal to -len(args) and less than len(args), but got"
                f" value {i} for len(args) == {n}.",
                where=function_text(fun),
            )
        if i >= n:
            raise errors.type_error(
                f"differentiating with respect to argnums={argnums} requires at"
                f" least {max(nums) + 1} positional arguments to be passed by the"
                f" caller, but got only {n} positional arguments.",
                where=function_text(fun),
            )
    nums = tuple(i % n for i in nums)
    if len(set(nums)) < len(nums):
        raise errors.value_error(
            f"argnums={argnums} names an argument twice.", where=function_text(fun)
        )

    def partial(*chosen: Any) -> Any:
        full = list(args)
        for i, x in zip(nums, chosen, strict=True):
            full[i] = x
        return fun(*full, **kwargs)

    partial.__name__ = name_of(fun)
    partial.__wrapped__ = fun  # type: ignore[attr-defined]
    return partial, tuple(args[i] for i in nums)


def about_derivative(what: str, argnums: int | Sequence[int]) -> str:
    """Return the summary of a derivative's documentation, for `wraps`."""
    return f"{what} of {{fun}} with respect to positional argument(s) {argnums}."


def check_argnums(argnums: int | Sequence[int]) -> int | tuple[int, ...]:
    if not isinstance(argnums, bool):
        with contextlib.suppress(TypeError):
            return operator.index(argnums)  # type: ignore[arg-type]
    try:
        nums = tuple(operator.index(i) for i in argnums)  # type: ignore[union-attr]
    except TypeError:
        raise TypeError(
            f"argnums must be an int or a sequence of ints, got {argnums!r}."
        ) from None
    return nums


def check_reduce_axes(axes: Sequence[AxisName] | None, name: str) -> None:
    """Raise NotImplementedError if `reduce_axes` names axes."""
    if axes:
        raise errors.error(
            NotImplementedError,
            f"reduce_axes argument to {name} is deprecated",
            tries=["lax.psum of the result, over these axes"],
        )


# ------------------------------------------------------------------------------ grad


def check_input(aval: Aval, name: str, holomorphic: bool, allow_int: bool) -> None:
    dtype = aval.dtype
    if dtypes.is_extended(dtype) or not dtypes.is_inexact(dtype):
        if allow_int and not holomorphic:
            return
        if holomorphic:
            raise TypeError(
                f"{name} with holomorphic=True requires inputs with complex dtype, but"
                f" got {dtype.name}."
            )
        what = "real- or complex-valued inputs (input dtype that is a sub-dtype of"
        what += " np.inexact)"
        if name == "jacfwd":
            what = "real-valued inputs (input dtype that is a sub-dtype of np.floating)"
        raise errors.type_error(
            f"{name} requires {what}, but got {dtype.name}.",
            why="integers and booleans have no derivatives.",
            tries=[
                "pass a float",
                "If you want to use Boolean- or integer-valued inputs, use vjp or set"
                " allow_int to True.",
            ],
        )
    if holomorphic and not dtypes.is_complex(dtype):
        raise TypeError(
            f"{name} with holomorphic=True requires inputs with complex dtype, but got"
            f" {dtype.name}."
        )
    if not holomorphic and dtypes.is_complex(dtype) and name in ("jacfwd",):
        raise TypeError(
            f"{name} requires real-valued inputs (input dtype that is a sub-dtype of"
            f" np.floating), but got {dtype.name}. For holomorphic differentiation, pass"
            " holomorphic=True.\nTry: jvp or jacrev for other functions of complex inputs."
        )


def check_inputs(
    chosen: PyTree, name: str, holomorphic: bool, allow_int: bool
) -> tuple[list[Any], Any]:
    """Return the leaves and the tree of the arguments, all checked to be differentiable."""
    leaves, in_tree = tree.flatten(chosen)
    for x in leaves:
        check_input(check_value(x, name), name, holomorphic, allow_int)
    return leaves, in_tree


def check_output(aval: Aval, name: str, holomorphic: bool) -> None:
    if holomorphic and not dtypes.is_complex(aval.dtype):
        raise TypeError(
            f"{name} with holomorphic=True requires outputs with complex dtype, but got"
            f" {aval.dtype.name}."
        )
    if not holomorphic and not dtypes.is_float(aval.dtype):
        raise errors.type_error(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype"
            f" of np.floating), but got {aval.dtype.name}.",
            tries=[
                "For holomorphic differentiation, pass holomorphic=True.",
                "For differentiation of non-holomorphic functions involving"
                f" {'complex' if dtypes.is_complex(aval.dtype) else 'integer'} outputs,"
                " use jax.vjp directly.",
            ],
        )


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[AxisName] | None = (),
) -> Callable[..., Any]:
    r"""Make a function that returns :math:`f(x)` and :math:`\nabla f(x)`.

    Args:
      fun: a function with a scalar (float) result, or (result, aux) with `has_aux`.
      argnums: which positional argument(s) to differentiate with respect to.
      has_aux: `fun` also returns data that is not differentiated.
      holomorphic: `fun` is holomorphic; inputs and outputs are complex.
      allow_int: integer inputs get `float0` gradients instead of an error.
      reduce_axes: has to be empty.

    Returns:
      A function with `fun`'s arguments: (value, gradient), or ((value, aux), gradient).

    Raises:
      TypeError: the result is not a real scalar, or an input has no gradient.
      ValueError: `argnums` names an argument twice, or one before the first.
      NotImplementedError: `reduce_axes` names axes.

    Example:
      >>> import minijax as mj
      >>> mj.value_and_grad(lambda x: x ** 2)(3.)
      (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    check_reduce_axes(reduce_axes, "grad")
    argnums = check_argnums(argnums)

    @wraps(fun, about=about_derivative("Value and gradient", argnums))
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = partial_argnums(fun, argnums, args, kwargs)
        leaves, in_tree = check_inputs(chosen, "grad", holomorphic, allow_int)
        flat = Flat(partial, in_tree, has_aux)
        outs, linear_part = linearize_flat(flat, leaves)
        if len(outs) != 1 or flat.out_tree.num_nodes != 1:
            raise errors.type_error(
                "Gradient only defined for scalar-output functions. Output was"
                f" {tree.unflatten(flat.out_tree, outs)!r}."[:300],
                where=function_text(fun),
                tries=["return a scalar", "has_aux=True for more results", "jacrev"],
            )
        value = outs[0]
        aval = core.aval_of(value)
        if aval.shape != ():
            raise errors.type_error(
                "Gradient only defined for scalar-output functions. Output had"
                f" shape: {aval.shape}.",
                where=function_text(fun),
                tries=["sum or average the result", "jacrev for all derivatives"],
            )
        check_output(aval, "grad", holomorphic)
        seed = one(aval)
        grads = pull_back(linear_part, [seed])
        # `one` caches the seed, and users may delete or donate their gradients: copy it.
        if type(seed) is ArrayImpl:
            grads = [copied(seed) if g is seed else g for g in grads]
        result = tree.unflatten(in_tree, map(as_array, grads))
        if isinstance(argnums, int):
            result = result[0]
        if not isinstance(value, core.Tracer):
            value = as_array(value)
        if has_aux:
            return (value, flat.aux_value()), result
        return value, result

    return value_and_grad_fun


def as_array(x: Value) -> Value:
    """Return a concrete result as an `Array`, also while a function is traced.

    Rules compute with Python and NumPy numbers, whose promotion differs from arrays'.
    """
    x = adopted(x)
    if type(x) in ARRAYS or isinstance(x, core.Tracer):
        return x
    aval = core.aval_of(x)
    if aval.dtype == dtypes.float0:
        return x
    return put_numpy(np.asarray(x, aval.dtype), aval)


def pull_back(
    linear_part: LinearPart, cts: Sequence[Tangent], sinks: Sinks | None = None
) -> list[Any]:
    """Return the cotangents of a linearized function's inputs; None where a sink took it."""
    ins = linear_part.jaxpr.invars
    nonzero_cts = [ct for ct, z in zip(cts, linear_part.out_zeros, strict=False) if z is None]
    args = [UndefinedPrimal(v.aval) for v in ins]
    operand_cts = backward_pass(linear_part.jaxpr, linear_part.consts, args, nonzero_cts, sinks)
    return [
        None
        if sinks and v in sinks
        else instantiate(ct if type(ct) is not Zero else Zero(v.aval))
        for ct, v in zip(operand_cts, ins, strict=True)
    ]


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[AxisName] | None = (),
) -> Callable[..., Any]:
    r"""Make a function that returns :math:`\nabla f(x)`.

    Args:
      fun: a function with a scalar (float) result, or (result, aux) with `has_aux`.
      argnums: which positional argument(s) to differentiate with respect to.
      has_aux: `fun` also returns data that is not differentiated.
      holomorphic: `fun` is holomorphic; inputs and outputs are complex.
      allow_int: integer inputs get `float0` gradients instead of an error.
      reduce_axes: has to be empty.

    Returns:
      A function with `fun`'s arguments that returns the gradient: the tree of the
      chosen argument, with its shapes and dtypes (a tuple for several); (gradient, aux)
      with `has_aux`.

    Raises:
      TypeError: the result is not a real scalar, or an input has no gradient.
      ValueError: `argnums` names an argument twice, or one before the first.
      NotImplementedError: `reduce_axes` names axes.

    Example:
      >>> import minijax as mj
      >>> mj.grad(lambda x: x ** 3)(2.)
      Array(12., dtype=float32, weak_type=True)
    """
    inner = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @wraps(fun, about=about_derivative("Gradient", argnums))
    def grad_fun(*args: Any, **kwargs: Any) -> Any:
        value, result = inner(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return grad_fun


# ------------------------------------------------------------------------------- jvp


@boundary
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[PyTree],
    tangents: Sequence[PyTree],
    has_aux: bool = False,
) -> tuple[Any, ...]:
    r"""Push a tangent forward: :math:`(f(x), \partial f(x)\,\dot x)`.

    Args:
      fun: a function of the primals.
      primals, tangents: tuples or lists of the same trees, shapes and (tangent) dtypes.
      has_aux: `fun` returns (out, aux); aux comes back third.

    Returns:
      The pair (out, tangent of out), each a tree of `fun`'s result: the tangent has its
      shapes and dtypes (float0 for integers); (out, tangent, aux) with `has_aux`.

    Raises:
      TypeError: primals and tangents do not match in trees or dtypes, or are not tuples
        or lists.
      ValueError: their shapes do not match.

    Example:
      >>> import minijax as mj
      >>> mj.jvp(lambda x: x * x, (3.,), (1.,))[1]
      Array(6., dtype=float32, weak_type=True)
    """
    check_callable(fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must be tuples or lists; found"
            f" {type(primals).__name__} and {type(tangents).__name__}."
        )
    leaves, in_tree = tree.flatten(tuple(primals))
    t_leaves, t_tree = tree.flatten(tuple(tangents))
    if type(primals) is not type(tangents):
        in_tree, t_tree = tree.structure(primals), tree.structure(tangents)
    if in_tree != t_tree:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure;"
            f" primals have tree structure {in_tree} whereas tangents have tree"
            f" structure {t_tree}."
        )
    flat = Flat(fun, in_tree, has_aux)
    needs_discharge = [isinstance(x, core.Reference) for x in leaves]
    if needs_discharge != [isinstance(t, core.Reference) for t in t_leaves]:
        raise TypeError("jvp: the tangent of a reference is a reference to its tangent.")
    run, directions = (
        DischargedFunction(flat, leaves, needs_discharge),
        DischargedFunction(flat, t_leaves, needs_discharge),
    )
    ts = [tangent_for(x, t, "jvp") for x, t in zip(run.start, directions.start, strict=True)]
    outs, out_ts = jvp_flat(run, run.start, ts)
    if n := sum(needs_discharge):  # the function wrote both the values and their tangents
        run.write_back(outs[-n:])
        directions.write_back(map(instantiate, out_ts[-n:]))
        outs, out_ts = outs[:-n], out_ts[:-n]
    out = tree.unflatten(flat.out_tree, map(as_array, outs))
    out_t = tree.unflatten(flat.out_tree, [as_array(instantiate(t)) for t in out_ts])
    return (out, out_t, flat.aux_value()) if has_aux else (out, out_t)


def tangent_for(primal: Value, tangent: Value, name: str) -> Tangent:
    """Return a tangent with the sharding of its primal, checked; float0 becomes `Zero`."""
    p, t = check_value(primal, name), check_value(tangent, name)
    expected = p.to_tangent()
    if expected.dtype != t.dtype:
        raise errors.type_error(
            f"primal and tangent arguments to jax.{name} do not match; dtypes must"
            f" be equal, or in case of int/bool primal dtype the tangent dtype must"
            f" be float0. Got primal dtype {p.dtype.name} and so expected tangent"
            f" dtype {getattr(expected.dtype, 'name', expected.dtype)}, but got tangent"
            f" dtype {getattr(t.dtype, 'name', t.dtype)} instead.",
            tries=["convert the tangent with .astype"],
        )
    if p.shape != t.shape:
        raise ValueError(
            "jvp called with different primal and tangent shapes;Got primal shape"
            f" {p.shape} and tangent shape as {t.shape}."
        )
    if t.dtype == dtypes.float0:
        return Zero(expected)
    return (
        tangent
        if t.type_sharding.explicit == expected.type_sharding.explicit
        else core_ops.reshard_to_aval(
            tangent, t.update(explicit=expected.type_sharding.explicit)
        )
    )


# ------------------------------------------------------------------------- linearize


class LinearMap:
    """The linear part of a function: called with residuals first, then tangents.

    The tangent of a reference is a reference.  `needs_discharge` flags the inputs that are
    references, and `written` flags those references that get a new value.
    """

    __slots__ = (
        "needs_discharge",
        "in_avals",
        "in_tree",
        "jaxpr",
        "out_tree",
        "out_zeros",
        "written",
    )

    def __init__(
        self,
        linear_part: LinearPart,
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        needs_discharge: Sequence[bool] = (),
        written: Sequence[bool] = (),
    ) -> None:
        self.jaxpr = linear_part.jaxpr
        self.out_zeros = tuple(linear_part.out_zeros)
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.in_avals = [v.aval for v in linear_part.jaxpr.invars]
        self.needs_discharge = needs_discharge or [False] * len(self.in_avals)
        self.written = written

    def linear_part(self, consts: Sequence[Value]) -> LinearPart:
        return LinearPart(self.jaxpr, list(consts), list(self.out_zeros))

    @bounded
    def __call__(self, consts: Sequence[Value], *tangents: PyTree) -> PyTree:
        leaves, t_tree = tree.flatten(tangents)
        if t_tree != self.in_tree:
            raise errors.type_error(
                f"expected {self.in_tree}, got {t_tree}",
                why="tangents of a linearized function have the structure of its primals.",
            )
        for x, aval, needs_discharge in zip(
            leaves, self.in_avals, self.needs_discharge, strict=True
        ):
            if needs_discharge is not isinstance(x, core.Reference):
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the"
                    " original primal values: a tangent is a reference if and only if its"
                    " primal value is one."
                )
            got = (
                x.aval.inner_aval
                if isinstance(x, core.Reference)
                else check_value(x, "the tangents of a linearized function")
            )
            if (got.shape, got.dtype) != (aval.shape, aval.dtype):
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the"
                    f" original primal values: got tangent {got.str_short(True)} where"
                    f" {aval.str_short(True)} was expected."
                )
        outs = [
            instantiate(x)
            for x in self.linear_part(consts)(*values_of(leaves, self.needs_discharge))
        ]
        if n := sum(self.needs_discharge):
            refs = pick(leaves, self.needs_discharge)
            new = zip(outs[-n:], self.written, strict=True)
            write_back(refs, self.written, [x for x, w in new if w])
            outs = outs[:-n]
        return tree.unflatten(self.out_tree, map(as_array, outs))


@boundary
def linearize(
    fun: Callable[..., Any], *primals: PyTree, has_aux: bool = False
) -> tuple[PyTree, ...]:
    r"""Evaluate, and return the derivative at that point as a function of tangents.

    Args:
      fun: a function of the primals.
      primals: where to linearize.
      has_aux: `fun` returns (out, aux); aux comes back third.

    Returns:
      (out, f_jvp): `f_jvp` takes tangents like the primals and may be called often.  For
      a reference among the primals it takes a reference to its tangent, and writes to it
      where `fun` wrote.

    Example:
      >>> import minijax as mj
      >>> y, f_jvp = mj.linearize(lambda x: x ** 2, 3.)
      >>> f_jvp(2.)
      Array(12., dtype=float32, weak_type=True)
    """
    check_callable(fun)
    leaves, in_tree = tree.flatten(primals)
    needs_discharge = [isinstance(x, core.Reference) for x in leaves]
    flat = Flat(fun, in_tree, has_aux)
    run = DischargedFunction(flat, leaves, needs_discharge)
    for x in run.start:
        check_value(x, "linearize")
    outs, linear_part = linearize_flat(run, run.start)
    written: list[bool] = []
    if n := sum(needs_discharge):
        held = pick(run.start, needs_discharge)
        written = [new is not old for new, old in zip(outs[-n:], held, strict=True)]
        run.write_back(outs[-n:])
        outs = outs[:-n]
    lin = tree.Partial(
        LinearMap(linear_part, in_tree, flat.out_tree, needs_discharge, written),
        linear_part.consts,
    )
    out = tree.unflatten(flat.out_tree, map(as_array, outs))
    return (out, lin, flat.aux_value()) if has_aux else (out, lin)
