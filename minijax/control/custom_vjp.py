"""`custom_vjp`: a function with its own reverse-mode rule.

`custom_vjp_call` carries the function, `fwd` and `bwd` as callables on flat values.
Differentiated, `fwd` runs in the function's place; the tangents become one
`custom_lin` equation, which can only be transposed: by `bwd`.  Next: remat.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..base import errors, tree
from ..base.source import function_text
from ..core import core
from ..core.core import Primitive, Tracer
from ..core.jaxpr import ClosedJaxpr, Var, jaxprs_effects
from ..interpreters import batch as batching
from ..interpreters.algebra import Zero, instantiate, lib, mapped_aval, unmapped_aval
from ..interpreters.stage import StageTrace, stage
from ..ops.cast import convert_element_type
from ..runtime import lower
from ..types import dtypes
from .custom_jvp import (
    SymbolicZero,
    bind_arguments,
    call_dce,
    call_lower,
    call_pretty,
    call_transpose,
    from_symbolic,
    lanes_first,
    nondiff_positions,
    split_arguments,
    stage_call,
)
from .named import jaxprs_axes

# `fwd(flags, *args) -> (residuals, outs)`; `bwd(residuals, cts) -> cts of args`, where
# cts and flags follow the flat arguments and results, and cts may be `Zero`.

custom_vjp_call_p = Primitive("custom_vjp_call", multiple_results=True)
lower.keys_aware.add(custom_vjp_call_p)
custom_vjp_call_p.impl = lambda *args, call_jaxpr, **params: call_jaxpr(*args)
custom_vjp_call_p.abstract = lambda *avals, call_jaxpr, **params: call_jaxpr.out_avals
custom_vjp_call_p.effects = jaxprs_effects
custom_vjp_call_p.named_axes = jaxprs_axes
custom_vjp_call_p.lower = call_lower
custom_vjp_call_p.transpose = call_transpose
custom_vjp_call_p.dce = call_dce
custom_vjp_call_p.pretty = call_pretty


def custom_vjp_stage(trace: StageTrace, args: Sequence[Any], params: Any) -> Any:
    closed, hoisted = stage_call(trace, params["call_jaxpr"], args, params["name"])
    new = {**params, "call_jaxpr": closed}
    if hoisted:
        # The function closes over tracers of this trace, so may its rules: trace them
        # now, while those are alive.
        fwd, bwd, captured = _stage_rules(trace, params["fwd"], params["bwd"], args)
        n = len(hoisted)
        hoisted = [*hoisted, *captured]
        closed = _ignore_after(closed, n, captured)
        new["call_jaxpr"] = closed
        new["fwd"] = _skip(fwd, n, params["fwd"])
        new["bwd"] = _pad(bwd, len(hoisted), params["bwd"])
    atoms = [trace.atom(x) for x in (*hoisted, *args)]
    return trace.record(custom_vjp_call_p, atoms, new, closed.out_avals)


def _stage_rules(
    trace: StageTrace, fwd: Any, bwd: Any, args: Sequence[Any]
) -> tuple[Any, Any, list[Any]]:
    """Both rules as jaxprs that take the tracers they close over as arguments."""
    avals = [core.aval_of(x) for x in args]
    n_out = 0

    def run_fwd(*xs: Any) -> list[Any]:
        nonlocal n_out
        res, outs = fwd([True] * len(xs), *xs)
        n_out = len(outs)
        return [*outs, *res]

    with core.current(trace):
        fwd_jaxpr, fwd_consts = stage(run_fwd, avals, text="custom_vjp fwd")
    out_avals, res_avals = fwd_jaxpr.out_avals[:n_out], fwd_jaxpr.out_avals[n_out:]

    def run_bwd(*xs: Any) -> list[Any]:
        cts = bwd(xs[: len(res_avals)], xs[len(res_avals) :])
        return [instantiate(ct) for ct in cts]

    ct_avals = [a.to_tangent() for a in out_avals]
    with core.current(trace):
        bwd_jaxpr, bwd_consts = stage(
            run_bwd, [*res_avals, *ct_avals], text="custom_vjp bwd"
        )
    captured = [*fwd_consts, *bwd_consts]
    k = len(fwd_consts)
    fwd_closed, bwd_closed = ClosedJaxpr(fwd_jaxpr), ClosedJaxpr(bwd_jaxpr)

    def new_fwd(flags: Sequence[bool], *xs: Any) -> Any:
        mine, rest = xs[: len(captured)], xs[len(captured) :]
        out = ClosedJaxpr(fwd_closed.jaxpr, mine[:k])(*rest)
        return [*mine[k:], *out[n_out:]], out[:n_out]

    def new_bwd(res: Sequence[Any], cts: Sequence[Any]) -> Any:
        m = len(bwd_consts)
        return ClosedJaxpr(bwd_closed.jaxpr, res[:m])(
            *res[m:], *(instantiate(ct) for ct in cts)
        )

    return new_fwd, new_bwd, captured


def _ignore_after(closed: ClosedJaxpr, n: int, extra: Sequence[Any]) -> ClosedJaxpr:
    j = closed.jaxpr
    unused = [Var(core.aval_of(x)) for x in extra]
    return ClosedJaxpr(
        j.replace(invars=[*j.invars[:n], *unused, *j.invars[n:]], arg_names=()),
        closed.consts,
    )


def _skip(fwd: Any, n: int, like: Any) -> Any:
    @functools.wraps(like)
    def rule(flags: Sequence[bool], *args: Any) -> Any:
        return fwd(flags[n:], *args[n:])

    return rule


def _pad(bwd: Any, n: int, like: Any) -> Any:
    @functools.wraps(like)
    def rule(res: Sequence[Any], cts: Sequence[Any]) -> Any:
        return [*[None] * n, *bwd(res, cts)]

    return rule


custom_vjp_call_p.stage = custom_vjp_stage


def custom_vjp_jvp(
    primals: Any, tangents: Any, *, fwd: Any, bwd: Any, name: str, symbolic_zeros: bool,
    **_: Any,
) -> Any:  # fmt: skip
    flags = [type(t) is not Zero for t in tangents]
    residuals, outs = fwd(flags, *primals)
    out_avals = tuple(core.aval_of(x).to_tangent() for x in outs)
    args = [*residuals, *(instantiate(t) for t in tangents)]
    out_ts = custom_lin_p.bind(
        *args, num_res=len(residuals), bwd=bwd, out_avals=out_avals, name=name,
        symbolic_zeros=symbolic_zeros,
    )  # fmt: skip
    return outs, [
        Zero(a) if a.dtype == dtypes.float0 else t
        for t, a in zip(out_ts, out_avals, strict=True)
    ]


custom_vjp_call_p.jvp = custom_vjp_jvp


def custom_vjp_batch(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    call_jaxpr: Any,
    fwd: Any,
    bwd: Any,
    **params: Any,
) -> Any:
    ins = [
        x if d is None else batching.bring_front(x, axis.size, d)
        for x, d in zip(args, dims, strict=True)
    ]
    front = [None if d is None else 0 for d in dims]

    def call(*xs: Any) -> list[Any]:
        return lanes_first(call_jaxpr, axis, xs, front)

    @functools.wraps(fwd)
    def lane_fwd(flags: Sequence[bool], *xs: Any) -> Any:
        sizes: list[int] = []

        def one(*vals: Any) -> list[Any]:
            res, outs = fwd(flags, *vals)
            sizes[:] = [len(res)]
            return [*res, *outs]

        out = lanes_first(one, axis, xs, front)
        return out[: sizes[0]], out[sizes[0] :]

    lane_bwd = batched_bwd(bwd, axis, front)
    out = custom_vjp_call_p.bind(
        *ins, call_jaxpr=call, fwd=lane_fwd, bwd=lane_bwd, **params
    )
    return out, [0] * len(out)


def batched_bwd(bwd: Any, axis: Any, arg_dims: Sequence[Any]) -> Any:
    """`bwd` over all lanes; cotangents of shared arguments are summed over them."""

    @functools.wraps(bwd)
    def lane_bwd(res: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        flags = [type(ct) is not Zero for ct in cts]
        n = len(res)
        present: list[Any] = []

        def one(*xs: Any) -> list[Any]:
            it = iter(xs[n:])
            full = [
                next(it) if f else Zero(mapped_aval(axis.size, 0, ct.aval))
                for f, ct in zip(flags, cts, strict=True)
            ]
            found = [None if type(c) is Zero else c for c in bwd(xs[:n], full)]
            present[:] = [c is not None for c in found]
            return [c for c in found if c is not None]

        ins = [*res, *(ct for ct, f in zip(cts, flags, strict=True) if f)]
        outs, dims = batching.batch_flat(one, axis, ins, [0] * len(ins))
        it = iter(zip(outs, dims, strict=True))
        return [
            _settle(*next(it), axis, want) if p else None
            for p, want in zip(present, arg_dims, strict=True)
        ]

    return lane_bwd


def _settle(ct: Any, dim: Any, axis: Any, want: Any) -> Any:
    if want is not None:
        return batching.bring_front(ct, axis.size, dim)
    if dim is None:
        ct, dim = batching.bring_front(ct, axis.size, None), 0
    return lib.sum(ct, (dim,))


custom_vjp_call_p.batch = custom_vjp_batch

# ------------------------------------------------------------- the linear part of a call

custom_lin_p = Primitive("custom_lin", multiple_results=True)
custom_lin_p.abstract = lambda *avals, out_avals, **params: list(out_avals)


def _forward_error(*_: Any, name: str, **__: Any) -> Any:
    raise TypeError(
        errors.message(
            "can't apply forward-mode differentiation (jvp) to a custom_vjp function.",
            which=name,
            why="it has a rule for reverse mode only.",
            tries=["grad, vjp or jacrev", "custom_jvp, which serves both modes"],
        )
    )


custom_lin_p.impl = _forward_error
custom_lin_p.lower = lambda ctx, *args, **params: _forward_error(**params)


def _lin_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    return _forward_error(**params)


custom_lin_p.jvp = _lin_jvp


def custom_lin_transpose(
    cts: Any, *args: Any, num_res: int, bwd: Any, symbolic_zeros: bool, **_: Any
) -> Any:
    if not symbolic_zeros:
        cts = [instantiate(ct) for ct in cts]
    found = bwd(list(args[:num_res]), cts)
    return [*[None] * num_res, *found]


custom_lin_p.transpose = custom_lin_transpose


def custom_lin_batch(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    num_res: int,
    bwd: Any,
    out_avals: Any,
    **params: Any,
) -> Any:
    # Residuals are given a lane axis; tangents keep theirs, and shared ones are summed.
    ins = [
        batching.bring_front(x, axis.size, d)
        for x, d in zip(args[:num_res], dims, strict=False)
    ]
    ts = [
        x if d is None else batching.bring_front(x, axis.size, d)
        for x, d in zip(args[num_res:], dims[num_res:], strict=True)
    ]
    front = [None if d is None else 0 for d in dims[num_res:]]
    lanes = tuple(unmapped_aval(axis.size, 0, a) for a in out_avals)
    out = custom_lin_p.bind(
        *ins, *ts, num_res=num_res, bwd=batched_bwd(bwd, axis, front), out_avals=lanes,
        **params,
    )  # fmt: skip
    return out, [0] * len(out)


custom_lin_p.batch = custom_lin_batch


# ---------------------------------------------------------------------------- the class


class CustomVJPPrimal:
    """What `fwd` gets for an argument with symbolic_zeros: value, and if it is varied."""

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed


class custom_vjp:
    """Give a function its own reverse-mode derivative rule.

    Args:
      fun: the function.
      nondiff_argnums, nondiff_argnames: arguments that have no cotangent; they are
        passed to `bwd` first (functions, flags).

    Example:
      >>> import minijax as mj
      >>> @mj.custom_vjp
      ... def f(x):
      ...     return mj.numpy.sin(x)
      >>> f.defvjp(lambda x: (f(x), x), lambda x, ct: (10. * ct,))
      >>> mj.grad(f)(1.)
      Array(10., dtype=float32, weak_type=True)
    """

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff = nondiff_positions(fun, nondiff_argnums, nondiff_argnames)
        self.nondiff_argnums = self.nondiff
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False

    def defvjp(
        self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:  # fmt: skip
        """Set the rule.

        Args:
          fwd: called as the function; returns (out, residuals), a pytree.
          bwd: `bwd(*nondiff, residuals, ct)` returns a tuple with one cotangent for each
            differentiated argument; None stands for zero.
          symbolic_zeros: `fwd` gets `CustomVJPPrimal`s, `bwd` may get `SymbolicZero`s.
          optimize_remat: under `checkpoint`, recompute only what `bwd` reads of `fwd`;
            dead code is eliminated in any case, so nothing changes here.
        """
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat

    def __get__(self, obj: Any, kind: Any = None) -> Any:
        return self if obj is None else functools.partial(self, obj)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.__name__  # type: ignore[attr-defined]
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name} using defvjp."
            )
        args = bind_arguments(self.fun, args, kwargs)
        fixed, moving, places = split_arguments(args, self.nondiff, "custom_vjp")
        for x in fixed:
            if isinstance(x, Tracer):
                raise errors.UnexpectedTracerError(
                    errors.message(
                        "Found a JAX Tracer object passed as an argument to a custom_vjp"
                        f" function in a position indicated by nondiff_argnums, in {name}.",
                        why="such arguments take no part in tracing.",
                        tries=[
                            "drop it from nondiff_argnums and return None for it in bwd"
                        ],
                    )
                )
        leaves, in_tree = tree.flatten(tuple(moving))
        rules = Rules(self, args, fixed, places, in_tree)
        outs = custom_vjp_call_p.bind(
            *leaves, name=name, call_jaxpr=rules.call, fwd=named(rules.fwd, self.fwd),
            bwd=named(rules.bwd, self.bwd), symbolic_zeros=self.symbolic_zeros,
        )  # fmt: skip
        return tree.unflatten(rules.out_tree, outs)


def named(rule: Callable[..., Any], like: Any) -> Any:
    """A rule that prints under its user's name."""
    out = functools.partial(rule)
    out.__name__ = getattr(like, "__name__", "rule")  # type: ignore[attr-defined]
    return out


class Rules:
    """The flat callables of one call of a `custom_vjp` function."""

    def __init__(
        self, custom: custom_vjp, args: tuple[Any, ...], fixed: Sequence[Any],
        places: Sequence[int], in_tree: Any,
    ) -> None:  # fmt: skip
        self.custom = custom
        self.args = args
        self.fixed = fixed
        self.places = places
        self.in_tree = in_tree
        self.in_avals: list[Any] = []
        self.out_tree: Any = None
        self.res_tree: Any = None

    def full(self, leaves: Sequence[Any]) -> list[Any]:
        full = list(self.args)
        for i, x in zip(self.places, tree.unflatten(self.in_tree, leaves), strict=True):
            full[i] = x
        return full

    def call(self, *leaves: Any) -> list[Any]:
        outs, self.out_tree = tree.flatten(self.custom.fun(*self.full(leaves)))
        return outs

    def fwd(self, flags: Sequence[bool], *leaves: Any) -> Any:
        custom = self.custom
        assert custom.fwd is not None
        self.in_avals = [core.aval_of(x) for x in leaves]
        given: Sequence[Any] = leaves
        if custom.symbolic_zeros:
            given = [CustomVJPPrimal(x, f) for x, f in zip(leaves, flags, strict=True)]
        pair = custom.fwd(*self.full(given))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"Custom VJP fwd rule {function_text(custom.fwd)} for function"
                f" {custom.__name__} must produce a pair (list or tuple of length two)"  # type: ignore[attr-defined]
                " where the first element represents the primal output (equal to the"
                " output of the function) and the second element represents residuals"
                f" (i.e. values stored from the forward pass for use on the backward"
                f" pass), but got {pair!r}."[:600]
            )
        outs, out_tree = tree.flatten(pair[0])
        if self.out_tree is not None and out_tree != self.out_tree:
            raise TypeError(
                f"Custom VJP fwd rule {function_text(custom.fwd)} must produce a pair"
                " whose first element has the same container (pytree) structure as the"
                f" function's output: {out_tree} instead of {self.out_tree}."
            )
        self.out_tree = out_tree
        res, self.res_tree = tree.flatten(pair[1])
        return res, outs

    def bwd(self, res: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        custom = self.custom
        assert custom.bwd is not None
        if custom.symbolic_zeros:
            cts = [SymbolicZero(ct.aval) if type(ct) is Zero else ct for ct in cts]
        else:
            cts = [instantiate(ct) for ct in cts]
        found = custom.bwd(
            *self.fixed,
            tree.unflatten(self.res_tree, res),
            tree.unflatten(self.out_tree, cts),
        )
        if isinstance(found, list):
            found = tuple(found)
        if not isinstance(found, tuple):
            raise TypeError(
                f"Custom VJP bwd rule {function_text(custom.bwd)} must produce a tuple of"
                f" length equal to the primal args tuple, but got {found!r}."[:400]
            )
        try:
            flat = tree.broadcast_prefix(
                found, tree.unflatten(self.in_tree, self.in_avals),
                is_leaf=lambda x: x is None or isinstance(x, SymbolicZero),
            )  # fmt: skip
        except ValueError as e:
            raise TypeError(
                f"Custom VJP bwd rule {function_text(custom.bwd)} must produce a tuple of"
                " cotangents with the same container (pytree) structure as the"
                f" arguments: {e}"
            ) from None
        return [
            self.check(ct, a, i)
            for i, (ct, a) in enumerate(zip(flat, self.in_avals, strict=True))
        ]

    def check(self, ct: Any, aval: Any, i: int) -> Any:
        if ct is None or isinstance(ct, SymbolicZero) or type(ct) is Zero:
            return None
        ct = from_symbolic(ct)
        want, got = aval.to_tangent(), core.aval_of(ct)
        if want.dtype == dtypes.float0:
            return None
        if (
            got.shape == want.shape
            and got.dtype != want.dtype
            and not (dtypes.is_complex(got.dtype) and not dtypes.is_complex(want.dtype))
        ):
            # As wide as the rule happens to compute: the argument's dtype counts.
            return convert_element_type(ct, want.dtype)
        if got.shape != want.shape or got.dtype != want.dtype:
            raise ValueError(
                errors.message(
                    f"Custom VJP bwd rule {function_text(self.custom.bwd)} must produce"
                    " cotangents with the shapes and dtypes of the arguments.",
                    which=f"cotangent {i}: got {got.str_short()}, expected"
                    f" {want.str_short()}",
                )
            )
        return ct
