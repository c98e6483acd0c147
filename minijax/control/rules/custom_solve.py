r"""`custom_linear_solve` and `custom_root`: solutions with implicit derivatives.

For :math:`A x = b`: :math:`A\,\dot x = \dot b - \dot A\,x`, and cotangents solve
:math:`A^T \lambda = \bar x`.  For :math:`f(x, a) = 0` the implicit function theorem gives
:math:`\partial_x f\;\dot x = -\partial_a f\;\dot a`.

Source: Blondel et al., Efficient and Modular Implicit Differentiation (2022).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...base import errors, tree
from ...base.source import function_text
from ...base.tracebacks import boundary
from ...base.util import split_list
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import Facts
from ...ir.jaxpr import ClosedJaxpr, eval_jaxpr
from ...passes import batch as batching
from ...passes.ad_util import UndefinedPrimal, Zero, add, instantiate
from ...passes.jvp import jvp_flat
from ...passes.linearize import linearize_flat
from ...passes.transpose import backward_pass
from ...prims import lax
from .. import body_staging
from .custom_gradient import convert, convert_for
from .custom_jvp import custom_jvp


class Solvers(NamedTuple):
    """The four functions of a linear solve, as jaxprs of (captured values, vector)."""

    matvec: ClosedJaxpr
    vecmat: ClosedJaxpr | None
    solve: ClosedJaxpr
    transpose_solve: ClosedJaxpr | None


linear_solve_p = Primitive("custom_linear_solve", multiple_results=True)


def solve_abstract(*avals: Any, jaxprs: Solvers, **_: Any) -> list[Any]:
    return jaxprs.solve.out_avals


linear_solve_p.abstract = solve_abstract
linear_solve_p.def_sharding(manual="abstract")


def _run(closed: ClosedJaxpr, *args: Any) -> list[Any]:
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def _pick(consts: Sequence[Sequence[Any]], jaxprs: Solvers, which: str) -> Sequence[Any]:
    return consts[Solvers._fields.index(which)]


def solve_impl(*args: Any, const_lengths: tuple[int, ...], jaxprs: Solvers, **_: Any) -> Any:
    *consts, b = split_list(args, list(const_lengths))
    return _run(jaxprs.solve, *_pick(consts, jaxprs, "solve"), *b)


linear_solve_p.impl = solve_impl


def _solve_runs(args: Any, params: Any) -> tuple[ClosedJaxpr, list[Any]]:
    *consts, b = split_list(args, list(params["const_lengths"]))
    return params["jaxprs"].solve, [*_pick(consts, params["jaxprs"], "solve"), *b]


linear_solve_p.facts = Facts(as_program=_solve_runs, pretty={"n_aux": 0})


def solve_jvp(
    primals: Any, tangents: Any, *, const_lengths: tuple[int, ...], jaxprs: Solvers, n_aux: int
) -> Any:
    params = {"const_lengths": const_lengths, "jaxprs": jaxprs, "n_aux": n_aux}
    out = linear_solve_p.bind(*primals, **params)
    *consts, b = split_list(primals, list(const_lengths))
    *t_consts, t_b = split_list(tangents, list(const_lengths))
    n = len(b)
    x = out[:n]
    m_consts, m_ts = consts[0], t_consts[0]
    rhs = list(t_b)
    if any(type(t) is not Zero for t in m_ts):
        _, moved = jvp_flat(lambda *c: _run(jaxprs.matvec, *c, *x), m_consts, m_ts)
        rhs = [
            add(r, lax.neg(d) if type(d) is not Zero else d)
            for r, d in zip(rhs, moved, strict=True)
        ]
    aux_t = [Zero(core.aval_of(a).to_tangent()) for a in out[n:]]
    if all(type(r) is Zero for r in rhs):
        return out, [*(Zero(core.aval_of(v).to_tangent()) for v in x), *aux_t]
    flat = [c for group in consts for c in group]
    x_t = linear_solve_p.bind(*flat, *map(instantiate, rhs), **params)
    return out, [*x_t[:n], *aux_t]


linear_solve_p.jvp = solve_jvp


def solve_transpose(
    cts: Any, *args: Any, const_lengths: tuple[int, ...], jaxprs: Solvers, n_aux: int
) -> Any:
    if jaxprs.transpose_solve is None or jaxprs.vecmat is None:
        raise TypeError(
            errors.message(
                "transpose_solve required for backwards mode automatic differentiation of"
                " custom_linear_solve.",
                tries=["pass transpose_solve, or symmetric=True"],
            )
        )
    *consts, b = split_list(args, list(const_lengths))
    n = len(b)
    if any(type(ct) is not Zero for ct in cts[n:]):
        raise TypeError("custom_linear_solve: auxiliary results have no derivative.")
    # Exchange A and its transpose.
    transposed = Solvers(jaxprs.vecmat, jaxprs.matvec, jaxprs.transpose_solve, jaxprs.solve)
    groups = [consts[1], consts[0], consts[3], consts[2]]
    results = linear_solve_p.bind(
        *(c for g in groups for c in g),
        *map(instantiate, cts[:n]),
        const_lengths=Solvers._make(map(len, groups)),
        jaxprs=transposed,
        n_aux=0 if len(transposed.solve.out_avals) == n else n_aux,
    )
    return [*[None] * (len(args) - n), *results[:n]]


linear_solve_p.transpose = solve_transpose


def solve_batch(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    const_lengths: tuple[int, ...],
    jaxprs: Solvers,
    n_aux: int,
) -> Any:
    ins = [
        batching.lane_to_front(x, axis, d) if d is not None else x
        for x, d in zip(args, dims, strict=True)
    ]
    *consts, b = split_list(ins, list(const_lengths))
    *c_dims, b_dims = split_list(dims, list(const_lengths))
    b = [
        batching.lane_to_front(x, axis, None) if d is None else x
        for x, d in zip(b, b_dims, strict=True)
    ]
    lanes: list[Any] = []
    for closed, c_d in zip(jaxprs, c_dims, strict=True):
        if closed is None:
            lanes.append(None)
            continue
        flags = [*(d is not None for d in c_d), *[True] * len(b)]
        lanes.append(batching.batch_jaxpr(closed, axis, flags, True)[0])
    out = linear_solve_p.bind(
        *(c for g in consts for c in g),
        *b,
        const_lengths=const_lengths,
        jaxprs=Solvers(*lanes),
        n_aux=n_aux,
    )
    return out, [0] * len(out)


linear_solve_p.batch = solve_batch


def solve_lower(ctx: Any, *args: Any, const_lengths: Any, jaxprs: Solvers, **_: Any) -> Any:
    *consts, b = split_list(args, list(const_lengths))
    return ctx.jaxpr(jaxprs.solve, *_pick(consts, jaxprs, "solve"), *b)


linear_solve_p.lower = solve_lower


@boundary
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Any, Any], Any],
    transpose_solve: Callable[[Any, Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    r"""Solve :math:`A x = b` by any method, differentiated implicitly.

    Args:
      matvec: the linear function :math:`x \mapsto A x`.
      b: the right-hand side, a pytree.
      solve: `solve(matvec, b)` returns x (with `has_aux`: (x, aux)).
      transpose_solve: `transpose_solve(vecmat, b)` solves :math:`A^T x = b`; required for
        reverse mode.
      symmetric: A equals its transpose; then `solve` also replaces a missing
        `transpose_solve`.
      has_aux: `solve` also returns auxiliary data.

    Returns:
      x, a pytree like `b`; with `has_aux`: (x, aux).

    Raises:
      TypeError: a function changes the tree, or reverse mode lacks `transpose_solve`.
      ValueError: a function changes shapes.

    Example:
      >>> custom_linear_solve(lambda x: 2. * x, 6., lambda mv, b: b / 2.)
      Array(3., dtype=float32, weak_type=True)
    """
    leaves, b_tree = tree.flatten(b)
    avals = body_staging.types_of("b", leaves, b_tree)

    def staged(name: str, fun: Any, user: Any, has_aux: bool = False) -> body_staging.Body:
        body = body_staging.stage_body(fun, tree.structure((b,)), avals, name, user)
        got = solution_tree(name, user, body, has_aux)
        check_tree(f"{name}()", user, got, "b", b_tree)
        shapes = [a.shape for a in body.out_avals[: len(leaves)]]
        if shapes != (expected := [a.shape for a in avals]):
            raise ValueError(
                errors.message(
                    f"{name}() output shapes must match b, got {shapes} and {expected}",
                    where=function_text(user),
                )
            )
        return body

    mv = staged("matvec", matvec, matvec)
    forward = staged("solve", lambda v: solve(matvec, v), solve, has_aux)
    vec = transposed = None
    if transpose_solve is not None:
        vecmat = matvec if symmetric else _transposed(mv, b_tree, avals)
        vec = mv if symmetric else staged("vecmat", vecmat, matvec)
        transposed = staged(
            "transpose_solve", lambda v: transpose_solve(vecmat, v), transpose_solve, has_aux
        )
    elif symmetric:
        vec, transposed = mv, forward
    bodies = [mv, vec, forward, transposed]
    closed: list[Any] = [x.closed() if x is not None else None for x in bodies]
    jaxprs = Solvers(*closed)
    groups = [x.consts if x is not None else [] for x in bodies]
    n_aux = len(forward.out_avals) - len(leaves)
    out = linear_solve_p.bind(
        *(c for g in groups for c in g),
        *leaves,
        const_lengths=Solvers._make(map(len, groups)),
        jaxprs=jaxprs,
        n_aux=n_aux,
    )
    return tree.unflatten(forward.out_tree, out)


def solution_tree(name: str, fun: Any, body: Any, has_aux: bool) -> Any:
    """Return the tree of a solver's result, without auxiliary data."""
    if not has_aux:
        return body.out_tree
    children = body.out_tree.children()
    if (body.out_tree.node_data() or [None])[0] is not tuple or len(children) != 2:
        raise ValueError(
            errors.message(
                f"{name}() produced a pytree with structure {body.out_tree}, but a pytree"
                " tuple with auxiliary output was expected because has_aux was set to"
                " True.",
                where=function_text(fun),
                tries=["return (solution, aux)"],
            )
        )
    return children[0]


def check_tree(what: str, fun: Any, got: Any, name: str, expected: Any) -> None:
    """Raise TypeError unless a function's result has the tree of the value `name`."""
    if got != expected:
        raise TypeError(
            errors.message(
                f"{what} output pytree structure must match {name}, got {got} and {expected}.",
                where=function_text(fun),
            )
        )


def _transposed(
    mv: body_staging.Body, in_tree: Any, avals: Sequence[Any]
) -> Callable[[Any], Any]:
    def vecmat(v: Any) -> Any:
        results = backward_pass(
            mv.jaxpr, mv.consts, [UndefinedPrimal(a) for a in avals], tree.leaves(v)
        )
        return tree.unflatten(in_tree, map(instantiate, results))

    return vecmat


@boundary
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Any, Any], Any],
    tangent_solve: Callable[[Any, Any], Any],
    has_aux: bool = False,
) -> Any:
    r"""Find a root :math:`f(x) = 0` by any method, differentiated implicitly.

    Args:
      f: a function whose result has the type of its argument; derivatives are with
        respect to the values that it closes over.
      initial_guess: the start, a pytree.
      solve: `solve(f, initial_guess)` returns a root (with `has_aux`: (root, aux)).
      tangent_solve: `tangent_solve(g, y)` solves the linear equation :math:`g(x) = y`.
      has_aux: whether `solve` also returns data, which is not differentiated.

    Returns:
      The root, a pytree like `initial_guess`; with `has_aux`: (root, aux).

    Raises:
      TypeError: a function changes the tree.
      ValueError: `solve` does not return a pair although `has_aux` is set.

    Example:
      >>> custom_root(lambda x: x - 2., 0., lambda f, x: x - f(x), lambda g, y: y / g(1.))
      Array(2., dtype=float32, weak_type=True)
    """
    x_tree = tree.structure(initial_guess)

    def linearized_solve(x: Any, y: Any) -> Any:
        def step(*v: Any) -> list[Any]:
            return tree.leaves(f(tree.unflatten(x_tree, v)))

        _, linear = linearize_flat(step, tree.leaves(x))

        def g(v: Any) -> Any:
            return tree.unflatten(x_tree, [instantiate(t) for t in linear(*tree.leaves(v))])

        return tangent_solve(g, y)

    # All three may close over values that are being differentiated: they are staged, so
    # that the rule receives the captured values as arguments.
    at, f_consts = convert(f, initial_guess)
    check_tree("f()", f, at.out_tree, "initial_guess", x_tree)
    find, s_consts = convert(lambda guess: solve(f, guess), initial_guess)
    root_tree = solution_tree("solve", solve, find, has_aux)
    check_tree("solve()", solve, root_tree, "initial_guess", x_tree)
    solved = find.jaxpr.out_avals[: x_tree.num_leaves]
    along, t_consts = convert_for(
        linearized_solve,
        tree.structure((initial_guess, initial_guess)),
        [*solved, *(a.to_tangent() for a in solved)],
    )
    check_tree("tangent_solve()", tangent_solve, along.out_tree, "x", x_tree)

    # By identity: arrays and tracers compare elementwise.
    captured = {id(c): c for c in (*f_consts, *s_consts, *t_consts)}
    index_of = {key: i for i, key in enumerate(captured)}
    # The rule outlives the trace, so it holds indices of captured values, not the values.
    of_f, of_s, of_t = ([index_of[id(c)] for c in cs] for cs in (f_consts, s_consts, t_consts))

    def pick(indices: Sequence[int], values: Sequence[Any]) -> list[Any]:
        return [values[i] for i in indices]

    @custom_jvp
    def root(values: Any, guess: Any) -> Any:
        out = find(*pick(of_s, values), guess)
        return out if has_aux else (out, ())

    @root.defjvp
    def root_jvp(primals: Any, tangents: Any) -> Any:
        (values, guess), (pushes, _) = primals, tangents
        x, aux = root(values, guess)
        _, moved = jvp_flat(
            lambda *c: tree.leaves(at(*c, x)), pick(of_f, values), pick(of_f, pushes)
        )
        rhs = [lax.neg(instantiate(t)) for t in moved]
        x_t = along(*pick(of_t, values), x, tree.unflatten(x_tree, rhs))
        aux_t = tree.map(lambda a: instantiate(Zero(core.aval_of(a).to_tangent())), aux)
        return (x, aux), (x_t, aux_t)

    out, aux = root(list(captured.values()), initial_guess)
    return (out, aux) if has_aux else out
