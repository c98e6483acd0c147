"""`custom_vmap`: a function with its own batching rule; `sequential_vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..base import errors, tree
from ..base.source import function_text
from ..core import core
from ..core.core import Primitive
from ..core.jaxpr import jaxprs_effects
from ..interpreters import batch as batching
from ..interpreters.jvp import jvp_flat
from ..interpreters.stage import StageTrace, stage
from ..runtime import lower
from .custom_jvp import bind_arguments, call_dce, call_lower, stage_call
from .mapping import map as map_rows
from .named import jaxprs_axes

custom_vmap_call_p = Primitive("custom_vmap_call", multiple_results=True)
lower.keys_aware.add(custom_vmap_call_p)
custom_vmap_call_p.impl = lambda *args, call, **params: call(*args)
custom_vmap_call_p.abstract = lambda *avals, call, **params: call.out_avals
custom_vmap_call_p.effects = jaxprs_effects
custom_vmap_call_p.named_axes = jaxprs_axes
custom_vmap_call_p.lower = lambda ctx, *args, call, **params: call_lower(
    ctx, *args, call_jaxpr=call
)
custom_vmap_call_p.dce = call_dce


def custom_vmap_stage(trace: StageTrace, args: Sequence[Any], params: Any) -> Any:
    closed, hoisted = stage_call(trace, params["call"], args, "custom_vmap")
    if hoisted:
        raise errors.UnexpectedTracerError(
            "custom_vmap: the function closes over traced values; pass them as arguments."
        )
    atoms = [trace.atom(x) for x in args]
    return trace.record(custom_vmap_call_p, atoms, {**params, "call": closed}, closed.out_avals)


custom_vmap_call_p.stage = custom_vmap_stage


def custom_vmap_jvp(primals: Any, tangents: Any, *, call: Any, **params: Any) -> Any:
    """Differentiate the function itself: the batching rule applies to its jvp's parts."""
    del params
    return jvp_flat(lambda *xs: call(*xs), primals, tangents)


custom_vmap_call_p.jvp = custom_vmap_jvp


def custom_vmap_batch(
    axis: Any, args: Any, dims: Any, *, call: Any, rule: Any, in_tree: Any, out_tree: Any
) -> Any:
    ins = [
        x if d is None else batching.bring_front(x, axis.size, d)
        for x, d in zip(args, dims, strict=True)
    ]
    flags = [d is not None for d in dims]
    out, out_batched = rule(
        axis.size, list(tree.unflatten(in_tree, flags)), *tree.unflatten(in_tree, ins)
    )
    leaves, got_tree = tree.flatten(out)
    flag_leaves, flag_tree = tree.flatten(out_batched)
    if got_tree != flag_tree:
        raise ValueError(
            "structure of output value and output batching mask returned by custom vmap"
            f" rule do not match: {got_tree} and {flag_tree}."
        )
    want = out_tree()
    if want is not None and got_tree != want:
        raise ValueError(
            "structure of output returned by custom vmap rule does not match that of"
            f" original custom-vmapped function: {got_tree} instead of {want}."
        )
    return leaves, [0 if f else None for f in flag_leaves]


custom_vmap_call_p.batch = custom_vmap_batch


class custom_vmap:  # noqa: N801
    """Give a function its own batching rule.

    Example:
      >>> import minijax as mj
      >>> @custom_vmap
      ... def f(x):
      ...     return x + 1
      >>> @f.def_vmap
      ... def rule(axis_size, in_batched, x):
      ...     return x + 2, in_batched[0]
      >>> mj.vmap(f)(mj.numpy.zeros(2))
      Array([2., 2.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule: `rule(axis_size, in_batched, *args) -> (out, out_batched)`."""
        self.vmap_rule = rule
        return rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {function_text(self.fun)}."
            )
        args = bind_arguments(self.fun, args, kwargs)
        leaves, in_tree = tree.flatten(tuple(args))
        trees: list[Any] = []

        def call(*xs: Any) -> list[Any]:
            outs, out_tree = tree.flatten(self.fun(*tree.unflatten(in_tree, xs)))
            trees[:] = [out_tree]
            return outs

        def out_tree() -> Any:
            return trees[0] if trees else None

        # The rule may run before the function does: learn its output's tree.
        stage(call, [core.aval_of(x) for x in leaves], text=function_text(self.fun))
        out = custom_vmap_call_p.bind(
            *leaves, call=call, rule=self.vmap_rule, in_tree=in_tree, out_tree=out_tree
        )
        return tree.unflatten(trees[0], out)


def sequential_vmap(fun: Callable[..., Any]) -> custom_vmap:
    """A function that `vmap` runs lane after lane, by `lax.map`.

    >>> import minijax as mj
    >>> mj.vmap(sequential_vmap(lambda x: x * 2))(mj.numpy.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    out = custom_vmap(fun)

    @out.def_vmap
    def rule(axis_size: int, in_batched: Any, *args: Any) -> Any:
        leaves, in_tree = tree.flatten(tuple(args))
        flags = tree.leaves(tuple(in_batched))
        moving = [x for x, f in zip(leaves, flags, strict=True) if f]

        def one(rows: Any) -> Any:
            it = iter(rows)
            full = [next(it) if f else x for x, f in zip(leaves, flags, strict=True)]
            return out(*tree.unflatten(in_tree, full))

        result = map_rows(one, moving)
        return result, tree.map(lambda _: True, result)

    return out

