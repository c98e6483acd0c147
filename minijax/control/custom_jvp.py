"""`custom_jvp`: a function with its own forward-mode rule; `stop_gradient`.

`custom_jvp_call` carries the function and the rule as callables on flat values.  Under
evaluation the function just runs; staged, it becomes a jaxpr; differentiated, the rule
runs in its place.  Next: custom_vjp.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..base import errors, tree
from ..base.source import function_text
from ..core import core
from ..core.core import STATE, Primitive, Tracer
from ..core.jaxpr import ClosedJaxpr, Equation, jaxprs_effects
from ..interpreters import algebra
from ..interpreters import batch as batching
from ..interpreters.algebra import Zero, instantiate
from ..interpreters.stage import StageTrace, hoist_tracers, stage
from ..interpreters.transpose import backward_pass
from ..runtime import lower
from ..types import dtypes
from .jit import as_tuple, signature_of
from .named import jaxprs_axes


class SymbolicZero:
    """A tangent or cotangent known to be zero, as rules with symbolic_zeros see it."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


def from_symbolic(x: Any) -> Any:
    """`Zero` for a `SymbolicZero`; other values themselves."""
    return Zero(x.aval) if isinstance(x, SymbolicZero) else x


# --------------------------------------------------------------------- the primitive

custom_jvp_call_p = Primitive("custom_jvp_call", multiple_results=True)
lower.keys_aware.add(custom_jvp_call_p)
custom_jvp_call_p.impl = lambda *args, call_jaxpr, **params: call_jaxpr(*args)
custom_jvp_call_p.abstract = lambda *avals, call_jaxpr, **params: call_jaxpr.out_avals
custom_jvp_call_p.effects = jaxprs_effects
custom_jvp_call_p.named_axes = jaxprs_axes


def call_pretty(eqn: Equation, printer: Any) -> list[tuple[str, Any]]:
    """The call's name first; its rules by their names."""
    rules = {k: v.__name__ for k, v in eqn.params.items() if k in ("jvp", "fwd", "bwd")}
    return [(k, rules.get(k, v)) for k, v in printer.shown(eqn, {}, first="name")]


custom_jvp_call_p.pretty = call_pretty


def stage_call(
    trace: StageTrace, call: Any, args: Sequence[Any], name: str
) -> tuple[ClosedJaxpr, list[Any]]:
    """A callable as a closed jaxpr, and the outer tracers it needs passed first."""
    if isinstance(call, ClosedJaxpr):
        return call, []
    avals = [core.aval_of(x) for x in args]
    old = STATE.trace
    core.enter(trace)
    try:
        return hoist_tracers(*stage(call, avals, name=name, text=name, transform=name))
    finally:
        core.enter(old)


def custom_jvp_stage(trace: StageTrace, args: Sequence[Any], params: Any) -> Any:
    closed, hoisted = stage_call(trace, params["call_jaxpr"], args, params["name"])
    jvp = params["jvp"]
    if hoisted:
        jvp = _skip_leading(jvp, len(hoisted), params["name"])
    atoms = [trace.atom(x) for x in (*hoisted, *args)]
    new = {**params, "call_jaxpr": closed, "jvp": jvp}
    return trace.record(custom_jvp_call_p, atoms, new, closed.out_avals)


def _skip_leading(jvp: Callable[..., Any], n: int, name: str) -> Callable[..., Any]:
    """The rule of a call whose first `n` operands are values it closed over."""

    @functools.wraps(jvp)
    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        for t in tangents[:n]:
            if type(t) is not Zero:
                raise errors.UnexpectedTracerError(
                    errors.message(
                        f"custom_jvp function {name} closes over a value that is being"
                        " differentiated.",
                        which=core.aval_of(t).str_short(),
                        why="its rule says nothing about that value.",
                        tries=["pass the value as an argument"],
                    )
                )
        return jvp(primals[n:], tangents[n:])

    return rule


custom_jvp_call_p.stage = custom_jvp_stage


def custom_jvp_jvp(primals: Any, tangents: Any, *, jvp: Any, **_: Any) -> Any:
    return jvp(primals, tangents)


custom_jvp_call_p.jvp = custom_jvp_jvp


def call_transpose(cts: Any, *args: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
    """The function itself is linear: its rule has no part in its transpose."""
    return backward_pass(call_jaxpr.jaxpr, call_jaxpr.consts, args, cts)


custom_jvp_call_p.transpose = call_transpose


def custom_jvp_batch(
    axis: Any, args: Any, dims: Any, *, call_jaxpr: Any, jvp: Any, **params: Any
) -> Any:
    ins = [
        x if d is None else batching.bring_front(x, axis.size, d)
        for x, d in zip(args, dims, strict=True)
    ]
    front = [None if d is None else 0 for d in dims]

    def call(*xs: Any) -> list[Any]:
        return lanes_first(call_jaxpr, axis, xs, front)

    @functools.wraps(jvp)
    def lane_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        flags = [type(t) is not Zero for t in tangents]
        n = len(primals)
        sizes: list[int] = []

        def one(*xs: Any) -> list[Any]:
            ts = iter(xs[n:])
            full = [
                next(ts) if f else Zero(core.aval_of(p).to_tangent())
                for f, p in zip(flags, xs[:n], strict=True)
            ]
            outs, out_ts = jvp(xs[:n], full)
            sizes[:] = [len(outs)]
            return [*outs, *map(instantiate, out_ts)]

        ts = [t for t, f in zip(tangents, flags, strict=True) if f]
        t_dims = [d for d, f in zip(front, flags, strict=True) if f]
        out = lanes_first(one, axis, [*primals, *ts], [*front, *t_dims])
        outs, out_ts = out[: sizes[0]], out[sizes[0] :]
        return outs, [
            Zero(core.aval_of(x).to_tangent())
            if core.aval_of(t).dtype == dtypes.float0
            else t
            for x, t in zip(outs, out_ts, strict=True)
        ]

    out = custom_jvp_call_p.bind(*ins, call_jaxpr=call, jvp=lane_jvp, **params)
    return out, [0] * len(out)


def lanes_first(
    fun: Any, axis: Any, args: Sequence[Any], dims: Sequence[Any]
) -> list[Any]:
    """Apply a flat function to all lanes; every result has its lane axis first."""
    outs, out_dims = batching.batch_flat(fun, axis, args, dims)
    return [
        x
        if d is None and core.aval_of(x).dtype == dtypes.float0
        else batching.bring_front(x, axis.size, d)
        for x, d in zip(outs, out_dims, strict=True)
    ]


custom_jvp_call_p.batch = custom_jvp_batch


def call_lower(ctx: Any, *args: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    return ctx.jaxpr(call_jaxpr, *args)  # type: ignore[no-any-return]


custom_jvp_call_p.lower = call_lower


def call_dce(used: Sequence[bool], eqn: Equation) -> Equation | None:
    """A custom rule speaks for all results together: keep all or none."""
    return eqn if any(used) or eqn.effects else None


custom_jvp_call_p.dce = call_dce


# --------------------------------------------------------------------------- functions


def bind_arguments(fun: Any, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, ...]:
    """Positional arguments, keywords and defaults filled in where the signature tells."""
    if not kwargs:
        sig = signature_of(fun)
        if sig is None or len(args) == len(sig.parameters):
            return args
    sig = signature_of(fun)
    if sig is None:
        raise TypeError(f"{function_text(fun)}: keyword arguments need a signature.")
    bound = sig.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"The following keyword arguments of {function_text(fun)} could not be"
            f" resolved to positions: {', '.join(bound.kwargs)}"
        )
    return bound.args


def nondiff_positions(fun: Any, nums: Any, names: Any) -> tuple[int, ...]:
    """Positions of the arguments that a custom rule does not differentiate."""
    sig = signature_of(fun)
    order = list(sig.parameters) if sig is not None else []
    found = [int(n) for n in as_tuple(nums)]
    for name in as_tuple(names):
        if name not in order:
            raise ValueError(
                f"nondiff_argnames: {name!r} is no argument of {function_text(fun)}."
            )
        found.append(order.index(name))
    return tuple(sorted(found))


def split_arguments(
    args: tuple[Any, ...], fixed: Sequence[int], what: str
) -> tuple[list[Any], list[Any], tuple[int, ...]]:
    """Non-differentiated and differentiated arguments, and where the latter stand."""
    places = {n % len(args) if args else n for n in fixed}
    rest = tuple(i for i in range(len(args)) if i not in places)
    del what
    return [args[i] for i in sorted(places)], [args[i] for i in rest], rest


class custom_jvp:
    """Give a function its own forward-mode derivative rule.

    Args:
      fun: the function.
      nondiff_argnums, nondiff_argnames: arguments that are passed to the rule as they
        are, before primals and tangents (functions, flags).

    Example:
      >>> import minijax as mj
      >>> @mj.custom_jvp
      ... def f(x):
      ...     return mj.numpy.sin(x)
      >>> @f.defjvp
      ... def f_jvp(primals, tangents):
      ...     x, = primals
      ...     t, = tangents
      ...     return f(x), 10. * t
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
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Any:
        """Set the rule: `jvp(*nondiff, primals, tangents) -> (out, out_tangent)`.

        With `symbolic_zeros` tangents known to be zero arrive as `SymbolicZero`.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule from one function per argument: `jvp_i(tangent, out, *primals)`."""
        if self.nondiff:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> Any:
            out = self(*primals)
            total: Any = Zero(core.aval_of(out).to_tangent())
            for rule, t in zip(jvps, tangents, strict=True):
                if rule is not None:
                    total = algebra.add(total, rule(t, out, *primals))
            return out, instantiate(total)

        self.defjvp(jvp)

    def __get__(self, obj: Any, kind: Any = None) -> Any:
        return self if obj is None else functools.partial(self, obj)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {self.__name__} using defjvp."  # type: ignore[attr-defined]
            )
        args = bind_arguments(self.fun, args, kwargs)
        fixed, moving, places = split_arguments(args, self.nondiff, "custom_jvp")
        leaves, in_tree = tree.flatten(tuple(moving))
        trees: list[Any] = []

        def call(*xs: Any) -> list[Any]:
            full = list(args)
            for i, x in zip(places, tree.unflatten(in_tree, xs), strict=True):
                full[i] = x
            outs, out_tree = tree.flatten(self.fun(*full))
            trees[:] = [out_tree]
            return outs

        rule = functools.partial(_run_jvp, self, fixed, in_tree, trees)
        rule.__name__ = getattr(self.jvp, "__name__", "jvp")  # type: ignore[attr-defined]
        outs = custom_jvp_call_p.bind(
            *leaves, name=self.__name__, call_jaxpr=call, jvp=rule,  # type: ignore[attr-defined]
            symbolic_zeros=self.symbolic_zeros,
        )  # fmt: skip
        return tree.unflatten(trees[0], outs)


def _run_jvp(
    custom: custom_jvp, fixed: Sequence[Any], in_tree: Any, trees: list[Any],
    primals: Sequence[Any], tangents: Sequence[Any],
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """Call the user's rule and check what it gives back."""
    assert custom.jvp is not None
    if custom.symbolic_zeros:
        ts = [SymbolicZero(t.aval) if type(t) is Zero else t for t in tangents]
    else:
        ts = [instantiate(t) for t in tangents]
    pair = custom.jvp(
        *fixed, tree.unflatten(in_tree, primals), tree.unflatten(in_tree, ts)
    )
    name = getattr(custom.jvp, "__name__", "jvp")
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(
            f"Custom JVP rule {name} for function {custom.__name__} must produce a pair"  # type: ignore[attr-defined]
            f" (list or tuple of length two) representing primal and tangent outputs, but"
            f" got {pair!r}."
        )
    outs, out_tree = tree.flatten(pair[0])
    out_ts, t_tree = tree.flatten(pair[1])
    if out_tree != t_tree:
        raise TypeError(
            f"Custom JVP rule {name} for function {custom.__name__} must produce primal and"  # type: ignore[attr-defined]
            f" tangent outputs with equal container (pytree) structures, but got {out_tree}"
            f" and {t_tree} respectively."
        )
    found = []
    for x, t in zip(outs, map(from_symbolic, out_ts), strict=True):
        want = core.aval_of(x).to_tangent()
        got = t.aval if type(t) is Zero else core.aval_of(t)
        if (got.shape, got.dtype) != (want.shape, want.dtype):
            raise TypeError(
                errors.message(
                    f"Custom JVP rule {name} must produce primal and tangent outputs with"
                    " corresponding shapes and dtypes.",
                    which=f"primal {core.aval_of(x).str_short()} with tangent"
                    f" {got.str_short()}, expected {want.str_short()}",
                )
            )
        found.append(Zero(want) if got.dtype == dtypes.float0 else t)
    trees[:] = [out_tree]
    return outs, found


stop_gradient_p = Primitive("stop_gradient")
lower.keys_aware.add(stop_gradient_p)
stop_gradient_p.abstract = lambda x: x
stop_gradient_p.jvp = lambda primals, tangents: (
    stop_gradient_p.bind(*primals),
    Zero(core.aval_of(primals[0]).to_tangent()),
)
stop_gradient_p.batch = lambda axis, args, dims: (stop_gradient_p.bind(*args), dims[0])
stop_gradient_p.lower = lambda ctx, x: x
stop_gradient_p.impl = lambda x: x


def stop_gradient(x: Any) -> Any:
    r"""The identity, whose derivative is zero.

    >>> import minijax as mj
    >>> mj.grad(lambda x: x * mj.lax.stop_gradient(x))(3.)
    Array(3., dtype=float32, weak_type=True)
    """

    def stop(v: Any) -> Any:
        if isinstance(v, Tracer) and dtypes.is_differentiable(v.aval.dtype):
            return stop_gradient_p.bind(v)
        return v

    return tree.map(stop, x)
