"""Reverse mode for users: `vjp`, whose function can accumulate gradients in references.

`vjp` runs a function and keeps its linear part (autodiff.py).  The `VJP` that it returns
transposes that part at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..base import errors, tree
from ..base.source import function_text
from ..base.tracebacks import boundary, bounded
from ..control.arguments import check_callable
from ..control.body_staging import tree_difference
from ..control.calls.jit import jit
from ..control.refs.refs import Ref, addupdate
from ..ir import core
from ..passes.ad_util import UndefinedPrimal, Zero, instantiate
from ..passes.linearize import linearize_flat
from ..passes.stage import stage
from ..passes.transpose import backward_pass
from ..types import dtypes
from .autodiff import (
    Flat,
    LinearMap,
    as_array,
    check_argnums,
    check_reduce_axes,
    check_value,
    partial_argnums,
    pull_back,
)
from .eval_shape import aval_like

if TYPE_CHECKING:
    from ..base.tree import PyTreeDef
    from ..ir.jaxpr import Jaxpr
    from ..types.aliases import Aval, AxisName, PyTree, Tangent, Value


class Mark:
    """A placeholder for a gradient that is not returned or not requested."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class GradValue(Mark):
    """Passed to `VJP.with_refs`: return this gradient."""

    __slots__ = ()


class DontWant(Mark):
    """Passed to `VJP.with_refs`: do not compute this gradient."""

    __slots__ = ()


class GradRef(Mark):
    """Returned after `VJP.with_refs`: this gradient was added to its reference."""

    __slots__ = ()


class DidntWant(Mark):
    """Returned after `VJP.with_refs`: this gradient was not requested."""

    __slots__ = ()


class NotNeeded(Mark):
    """In `VJP.args_res`: no derivative reads this argument."""

    __slots__ = ()


def _register(mark: type[Mark]) -> None:
    """Register a mark that results contain as a pytree node without leaves."""
    tree.register_pytree_node(mark, lambda _: ((), None), lambda _, __: mark())


for _mark in (GradRef, DidntWant, NotNeeded):
    _register(_mark)


class Pullback:
    """The part of a `VJP` that all its calls share: a linear map, and its residuals' slots.

    residual_slots: for each residual, whether it is an argument's leaf, and its index
    among the leaves or among the `VJP`'s other residuals
    """

    __slots__ = ("in_tree", "map", "out_avals", "residual_slots")

    def __init__(
        self,
        linear_map: LinearMap,
        in_tree: PyTreeDef,
        out_avals: list[Aval],
        residual_slots: Any,
    ) -> None:
        self.map = linear_map
        self.in_tree = in_tree
        self.out_avals = out_avals
        self.residual_slots = residual_slots

    def cotangents(self, ct: tuple[PyTree, ...]) -> list[Tangent]:
        """Return the leaves of a cotangent passed to a `VJP`, checked."""
        if len(ct) != 1:
            raise errors.type_error(
                f"The function returned by `jax.vjp` was called with {len(ct)}"
                " arguments, but functions returned by `jax.vjp` must be called with a"
                " single argument corresponding to the single value returned by the"
                " function being differentiated (even if that returned value is a tuple or"
                " other container).",
                tries=["vjp_fun((a, b)) where the function returns (x, y)"],
            )
        leaves, ct_tree = tree.flatten(ct[0])
        out_tree = self.map.out_tree
        if ct_tree != out_tree:
            path, expected, got, why = tree_difference(out_tree, ct_tree)
            raise errors.value_error(
                "unexpected tree structure. The argument to a VJP function returned by"
                " `jax.vjp` must match the pytree structure of the differentiated"
                f" function's result: got {ct_tree}, but expected {out_tree}.",
                which=f"out{tree.keystr(path)} is {expected} in the result, {got} here: {why}",
            )
        return [check_cotangent(x, a) for x, a in zip(leaves, self.out_avals, strict=True)]

    def residuals(self, args_res: Sequence[Value], others: Sequence[Value]) -> list[Value]:
        """Return all residuals, in order, from the fields of a `VJP`."""
        leaves = tree.leaves(args_res, lambda x: isinstance(x, NotNeeded))
        n = self.in_tree.num_leaves
        if len(leaves) != n:
            raise errors.value_error(
                f"vjp: `args_res` has {len(leaves)} leaves, but the arguments had {n}.",
                why="argument values that were taken out must be put back before the call.",
            )
        return [
            leaves[i] if is_argument else others[i] for is_argument, i in self.residual_slots
        ]


class VJP:
    """The function that `vjp` returns: it maps cotangents of results to those of arguments.

    It is a pytree of its residuals.  `args_res` holds the arguments that derivatives read
    (`NotNeeded` for others); they may be taken out and put back.  The other residuals are
    in `opaque_residuals`.
    """

    __slots__ = ("__weakref__", "_pullback", "args_res", "opaque_residuals")

    def __init__(
        self, pullback: Pullback, args_res: list[Value], opaque_residuals: list[Value]
    ) -> None:
        self._pullback = pullback
        self.args_res = args_res
        self.opaque_residuals = opaque_residuals

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of the arguments."""
        return self._pullback.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the result."""
        return self._pullback.map.out_tree

    @property
    def jaxpr(self) -> Jaxpr:
        """The linear map, from tangents to tangents."""
        return self._pullback.map.jaxpr

    @bounded
    def __call__(self, *out_ct: PyTree) -> PyTree:
        pullback = self._pullback
        cts = pullback.cotangents(out_ct)
        values = pullback.residuals(self.args_res, self.opaque_residuals)
        grads = pull_back(pullback.map.linear_part(values), cts)
        return tree.unflatten(pullback.in_tree, map(as_array, grads))

    def with_refs(self, *maybe_ct_refs: PyTree) -> Callable[..., Any]:
        """Return a function that adds gradients to references instead of returning them.

        Args:
          maybe_ct_refs: structured like the arguments; a reference for a gradient to be
            added to it, `ad.DontWant()` to skip a gradient, otherwise `ad.GradValue()`.

        Returns:
          A function of a cotangent.  Its result has `ad.GradRef()` for a reference and
          `ad.DidntWant()` for a skipped gradient.

        Raises:
          ValueError: the structure differs from that of the arguments, or (when it is
          called) a gradient does not fit its reference.

        Example:
          >>> import minijax as mj
          >>> _, pull = mj.vjp(lambda x, y: x * y, 2., 3.)
          >>> total = mj.new_ref(mj.numpy.float32(10.))
          >>> pull.with_refs(total, mj.ad.DontWant())(1.)
          (GradRef(), DidntWant())
          >>> total[...]
          Array(13., dtype=float32)
        """
        pullback = self._pullback
        markers, in_tree = tree.flatten(maybe_ct_refs or [GradValue()])
        if not maybe_ct_refs:
            markers = markers * pullback.in_tree.num_leaves
        elif in_tree != pullback.in_tree:
            raise errors.value_error(
                "with_refs: unexpected tree structure: got"
                f" {in_tree}, but the arguments were {pullback.in_tree}.",
                why="there must be one entry per argument's gradient.",
                tries=["ad.GradValue() for a gradient to be returned"],
            )
        marks = [
            GradRef()
            if isinstance(x, Ref)
            else DidntWant()
            if isinstance(x, DontWant)
            else None
            for x in markers
        ]
        refs = [x for x in markers if isinstance(x, Ref)]
        values = pullback.residuals(self.args_res, self.opaque_residuals)
        return tree.Partial(Accumulation(pullback, marks), values, refs)


tree.register_pytree_node(
    VJP,
    lambda vjp: ((vjp.args_res, vjp.opaque_residuals), vjp._pullback),
    lambda pullback, children: VJP(pullback, *children),
)


class Accumulation:
    """The function of `VJP.with_refs`; residuals and references are its first arguments."""

    __slots__ = ("marks", "pullback")

    def __init__(self, pullback: Pullback, marks: Sequence[Mark | None]) -> None:
        self.pullback = pullback
        self.marks = marks

    def __call__(self, values: Sequence[Value], refs: Sequence[Ref], *ct: PyTree) -> PyTree:
        cts = self.pullback.cotangents(ct)
        linear_part, it = self.pullback.map.linear_part(values), iter(refs)
        sinks = {
            v: _adder(next(it)) if isinstance(m, GradRef) else lambda ct: None
            for v, m in zip(linear_part.jaxpr.invars, self.marks, strict=True)
            if m is not None
        }
        grads = pull_back(linear_part, cts, sinks)
        return tree.unflatten(
            self.pullback.in_tree,
            [as_array(ct) if m is None else m for ct, m in zip(grads, self.marks, strict=True)],
        )


def _adder(ref: Ref) -> Callable[[Any], None]:
    return lambda ct: addupdate(ref, None, ct)


def check_cotangent(ct: Tangent, aval: Aval) -> Tangent:
    """Return a cotangent, checked against its output."""
    expected = aval.to_tangent()
    # The cotangent of an integer output carries no information: accept any dtype.
    is_float0 = expected.dtype == dtypes.float0
    if is_float0 and isinstance(ct, Zero):
        return ct
    got = check_value(ct, "the cotangents of a vjp function")
    if got.shape != expected.shape or not (is_float0 or got.dtype == expected.dtype):
        raise ValueError(
            "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got"
            f" {got.str_short(False)}, but expected {expected.str_short(False)} because the"
            " corresponding output of the differentiated function had JAX type"
            f" {aval.str_short(False)}."
        )
    if not is_float0 and got.type_sharding.manual != (
        kinds := expected.to_ct_aval().type_sharding.manual
    ):
        raise _varies_differently(
            "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got"
            f" {got.str_short(False)}, but expected"
            f" {expected.update(manual=kinds).str_short(False)} because the"
            " corresponding output of the differentiated function had JAX type"
            f" {aval.str_short(False)}.",
            ValueError,
        )
    return Zero(expected) if is_float0 else ct


def _varies_differently(what: str, kind: type[Exception]) -> Exception:
    """Return the error for a cotangent that varies along other axes than its output."""
    return errors.error(
        kind,
        what,
        why="in `shard_map`, the derivative with respect to a value that all devices share"
        " is a sum over devices, and only the types determine where to compute it.",
        tries=[
            "lax.pcast(argument, axis, to='varying') before the function, for the"
            " derivative of each device",
            "lax.pcast(cotangent, axis, to='varying'), if only the output varies",
        ],
    )


@boundary
def vjp(
    fun: Callable[..., Any],
    *primals: PyTree,
    has_aux: bool = False,
    reduce_axes: Sequence[AxisName] | None = (),
) -> tuple[PyTree, ...]:
    r"""Evaluate a function, and return the function that pulls cotangents back.

    Args:
      fun: a function of the primals.
      primals: the point of evaluation.
      has_aux: `fun` returns (out, aux); aux comes back third.
      reduce_axes: has to be empty.

    Returns:
      (out, vjp_fun): `vjp_fun(ct)` takes a cotangent like `out` and returns a tuple of
      cotangents like the primals.  It is a pytree (`VJP`): it can be returned from jit
      and called often.  `vjp_fun.with_refs(...)` adds gradients to references.

    Raises:
      ValueError: a cotangent does not fit the output.
      NotImplementedError: `reduce_axes` names axes.

    Example:
      >>> import minijax as mj
      >>> y, pull = mj.vjp(lambda x, y: x * y, 2., 3.)
      >>> pull(1.)
      (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    check_reduce_axes(reduce_axes, "vjp")
    leaves, in_tree = tree.flatten(primals)
    for x in leaves:
        check_value(x, "vjp")
    flat = Flat(fun, in_tree, has_aux)
    outs, linear_part = linearize_flat(flat, leaves)
    # Compare by identity: only a residual that is the argument itself may be taken out and
    # put back by the user, and equal arrays need not be.
    leaf_index = {id(x): i for i, x in enumerate(leaves)}
    residual_slots: list[tuple[bool, int]] = []
    opaque: list[Any] = []
    for x in linear_part.consts:
        if id(x) in leaf_index:
            residual_slots.append((True, leaf_index[id(x)]))
        else:
            residual_slots.append((False, len(opaque)))
            opaque.append(x if isinstance(x, Ref) else as_array(x))
    read_ids = {id(leaves[i]) for is_argument, i in residual_slots if is_argument}
    arg_residuals = [as_array(x) if id(x) in read_ids else NotNeeded() for x in leaves]
    # Tuples replace the user's nodes, whose classes might reject a `NotNeeded`.
    args_res = list(in_tree.walk(lambda xs, _: tuple(xs), lambda x: x, arg_residuals))
    out_avals = [core.aval_of(x) for x in outs]
    linear_map = LinearMap(linear_part, in_tree, flat.out_tree)
    pull = VJP(Pullback(linear_map, in_tree, out_avals, residual_slots), args_res, opaque)
    out = tree.unflatten(flat.out_tree, map(as_array, outs))
    return (out, pull, flat.aux_value()) if has_aux else (out, pull)


@boundary
def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    r"""Return the two halves of reverse mode as separate functions.

    Args:
      fun: the function.
      argnums: which positional argument(s) to differentiate with respect to.
      has_aux: `fun` returns (out, aux).
      jitted: compile both.

    Returns:
      (fwd, bwd): `fwd(*args)` returns (out, residuals), or (out, residuals, aux);
      `bwd(residuals, ct)` returns the cotangent(s) of the chosen argument(s).

    Example:
      >>> import minijax as mj
      >>> fwd, bwd = mj.fwd_and_bwd(lambda x, y: x * y, argnums=0)
      >>> out, res = fwd(2., 3.)
      >>> bwd(res, 1.)
      Array(3., dtype=float32, weak_type=True)
    """
    check_callable(fun)
    argnums = check_argnums(argnums)

    def fwd(*args: Any) -> Any:
        partial, chosen = partial_argnums(fun, argnums, args, {})
        return vjp(partial, *chosen, has_aux=has_aux)

    def bwd(residuals: Any, ct: Any) -> Any:
        grads = residuals(ct)
        return grads[0] if isinstance(argnums, int) else grads

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


@boundary
def linear_transpose(
    fun: Callable[..., Any], *primals: PyTree, reduce_axes: Sequence[AxisName] | None = ()
) -> Callable[..., Any]:
    r"""Transpose a linear function: :math:`x \mapsto Ax` becomes :math:`y \mapsto A^Ty`.

    Args:
      fun: a linear function; it is traced, not run.
      primals: arrays or `ShapeDtypeStruct`s with the types of the arguments.
      reduce_axes: has to be empty.

    Returns:
      A function from a cotangent like `fun`'s result to a tuple of cotangents; a pytree
      (`tree_util.Partial`) of the values that `fun` closes over.

    Raises:
      TypeError: `fun` is not linear, a dtype is not inexact, or a cotangent has another
        type than the result, or varies along other axes of `shard_map`.
      NotImplementedError: `reduce_axes` names axes.

    Example:
      >>> import minijax as mj
      >>> mj.linear_transpose(lambda x: 3 * x, 1.)(2.)
      (Array(6., dtype=float32, weak_type=True),)
    """
    check_reduce_axes(reduce_axes, "transpose")
    leaves, in_tree = tree.flatten(primals)
    avals = [aval_like(x) for x in leaves]
    flat = Flat(fun, in_tree, False)
    jaxpr, consts = stage(flat, avals, text=function_text(fun), transform="transpose")
    _check_linear_types([a.dtype for a in avals], [a.dtype for a in jaxpr.out_avals])
    out_tree = flat.out_tree

    def transposed(consts: Any, ct: Any) -> Any:
        cts, ct_tree = tree.flatten(ct)
        if ct_tree != out_tree:
            raise TypeError(
                f"cotangent tree does not match function output, expected {out_tree} but"
                f" got {ct_tree}."
            )
        for x, v in zip(cts, jaxpr.outvars, strict=True):
            got = check_value(x, "the cotangents of a transposed function")
            if (got.shape, got.dtype) != (v.aval.shape, v.aval.dtype):
                raise TypeError(
                    "cotangent type does not match function output, expected"
                    f" {v.aval.str_short(False)} but got {got.str_short(False)}."
                )
            if got.type_sharding.manual != v.aval.to_ct_aval().type_sharding.manual:
                raise _varies_differently(
                    "cotangent type does not match function output, expected"
                    f" {v.aval.to_ct_aval().str_short(False)} but got"
                    f" {got.str_short(False)}.",
                    TypeError,
                )
        operand_cts = backward_pass(jaxpr, consts, [UndefinedPrimal(a) for a in avals], cts)
        return tree.unflatten(in_tree, [as_array(instantiate(x)) for x in operand_cts])

    return tree.Partial(transposed, consts)


def _check_linear_types(ins: list[Any], outs: list[Any]) -> None:
    kinds = [all(map(kind, (*ins, *outs))) for kind in (dtypes.is_inexact, dtypes.is_integer)]
    if not any(kinds):
        raise TypeError(
            "linear_transpose only supports [float or complex] -> [float or complex], and"
            f" integer -> integer functions, but got {ins} -> {outs}."
        )
