"""The trace of `sparsify`, and its rules for primitives with inner jaxprs.

A `SparseTracer` has the type of the dense array that it represents.  Each operation on it
follows a rule: rules.py has one table per format.  An operation on dense arrays only is
passed on unchanged.  For primitives with inner jaxprs the rule follows from their regions
(`ir/regions.py`): each inner jaxpr becomes a jaxpr of buffers.

Next: rules.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base import errors, tree
from ...base.util import split_list
from ...ir.core import STATE, Primitive, Trace, Tracer, aval_of, under
from ...ir.jaxpr import ClosedJaxpr, eval_jaxpr
from ...ir.regions import Loop, Region
from ...passes.stage import remembered, stage_closed
from ...types.avals import shaped
from .bcoo import BCOO
from .bcsr import BCSR
from .kernels import broadcast_to_batch, shape_of
from .lanes import batch_array, lane_array

__all__ = (
    "SparseTracer",
    "SparseTrace",
    "sparse_rules_bcoo",
    "sparse_rules_bcsr",
    "is_sparse",
    "type_of",
    "applied",
    "no_rule",
    "densifying",
)

# A primitive's rule: (possibly sparse operands, **params) -> result or results.
Rule = Callable[..., Any]
sparse_rules_bcoo: dict[Primitive, Rule] = {}
sparse_rules_bcsr: dict[Primitive, Rule] = {}


def is_sparse(x: Any) -> bool:
    """Whether a value is a sparse array that `sparsify` supports."""
    return isinstance(x, (BCOO, BCSR))


def type_of(x: Any) -> Any:
    """Return the type of the dense array that a value represents."""
    if not is_sparse(x):
        return aval_of(x)
    data = aval_of(x.data)
    return shaped(tuple(x.shape), data.dtype, data.weak_type)


class SparseTracer(Tracer):
    """A sparse array in a function that is written for dense ones."""

    __slots__ = ("spvalue",)

    def __init__(self, trace: Trace, *, spvalue: Any) -> None:
        self._trace = trace
        self.aval = type_of(spvalue)
        self.spvalue = spvalue


class SparseTrace(Trace):
    """The trace that applies operations to sparse arrays by their rules."""

    __slots__ = ()
    transform = "sparsify"

    def process(self, prim: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        values = [self.unwrap(x) for x in args]
        # Rules run under the parent trace, so that their operations are not processed here
        # again; `finally` restores this trace also when a rule raises.
        STATE.trace = self.parent
        try:
            outs = self.apply(prim, values, params)
        finally:
            STATE.trace = self
        if not prim.multiple_results:
            return self.wrap(outs)
        return [self.wrap(x) for x in outs]

    def apply(self, prim: Primitive, values: Sequence[Any], params: Any) -> Any:
        """Return the result of an operation on sparse or dense values."""
        if not any(map(is_sparse, values)):
            return prim.bind(*values, **params)
        by_rows = any(isinstance(x, BCSR) for x in values)
        rule = (sparse_rules_bcsr if by_rows else sparse_rules_bcoo).get(prim)
        if rule is not None:
            return rule(*values, **params)
        region = prim.regions
        if isinstance(region, Loop):
            return by_loop(prim, region, values, params)
        if isinstance(region, Region):
            return by_call(prim, region, values, params)
        raise no_rule(prim)

    def wrap(self, x: Any) -> Any:
        """Return a sparse array as a tracer of this trace."""
        return SparseTracer(self, spvalue=x) if is_sparse(x) else x

    def unwrap(self, x: Any) -> Any:
        """Return the sparse array of a tracer of this trace."""
        is_own_tracer = type(x) is SparseTracer and x._trace is self
        return x.spvalue if is_own_tracer else x


# Primitives that map zeros to nonzero values.
densifying: set[Primitive] = set()


def no_rule(prim: Any, what: str = "") -> NotImplementedError:
    """Return the error for a primitive without a sparse rule."""
    name = f"{prim} {what}".rstrip()
    if what or prim in densifying:
        return NotImplementedError(
            f"sparse rule for {name} is not implemented because it would result in dense"
            " output. If this is your intent, use sparse.todense() to convert your"
            " arguments to dense matrices."
        )
    return NotImplementedError(
        errors.message(
            f"sparse rule for {name} is not implemented.",
            why="no sparse rule is registered for this primitive.",
            tries=["sparse.todense(x) before it, if the dense array fits in memory"],
        )
    )


def applied(fun: Callable[..., Sequence[Any]], values: Sequence[Any]) -> list[Any]:
    """Apply a flat function of dense arrays to sparse and dense values."""
    trace = SparseTrace(STATE.trace)
    outs = under(trace, fun, *map(trace.wrap, values))
    return [trace.unwrap(x) for x in outs]


# ---------------------------------------------------------------------- inner jaxprs


def buffers_of(values: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the concatenated buffers of all values and their tree."""
    return tree.flatten(list(values))


def types_of(values: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    """Return the types of the values' buffers; dense values have the types in `avals`."""
    return [
        buffer_type
        for x, a in zip(values, avals, strict=True)
        for buffer_type in (map(aval_of, tree.leaves(x)) if is_sparse(x) else (a,))
    ]


def sparse_jaxpr(closed: ClosedJaxpr, in_tree: Any, avals: Any) -> tuple[ClosedJaxpr, Any]:
    """Return the jaxpr on the buffers of its inputs, and the tree of its results."""
    return _sparse_jaxpr(closed, in_tree, tuple(avals))


@remembered
def _sparse_jaxpr(
    closed: ClosedJaxpr, in_tree: Any, avals: tuple[Any, ...]
) -> tuple[ClosedJaxpr, Any]:
    trees: list[Any] = []

    def fun(*bufs: Any) -> list[Any]:
        def program(*xs: Any) -> list[Any]:
            return eval_jaxpr(closed.jaxpr, closed.consts, *xs)

        outs = applied(program, tree.unflatten(in_tree, bufs))
        leaves, out_tree = buffers_of(outs)
        trees.append(out_tree)
        return leaves

    new = stage_closed(fun, avals, name=closed.jaxpr.name, text="sparsify")
    return new, trees[-1]


def by_call(prim: Primitive, region: Region, values: Sequence[Any], params: Any) -> Any:
    """Apply a call, or a choice between branches, to sparse values."""
    index, args = split_list(list(values), [region.index])
    if any(map(is_sparse, index)):
        raise TypeError(f"{prim} needs a dense index to choose between branches.")
    bodies = region.bodies(params)
    if region.opaque:  # its derivative rules are defined for dense arrays
        return applied(bodies[0], args)
    leaves, in_tree = buffers_of(args)
    avals = types_of(args, bodies[0].in_avals)
    with region.scope(params):
        jaxprs_and_trees = [sparse_jaxpr(b, in_tree, avals) for b in bodies]
    out_tree = jaxprs_and_trees[0][1]
    types = [list(map(str, b.out_avals)) for b, _ in jaxprs_and_trees]
    if any(t != out_tree for _, t in jaxprs_and_trees) or any(t != types[0] for t in types):
        raise TypeError(
            f"{prim} requires sparse results of all branches to have the same layout: got"
            f" {', '.join(str(t) for _, t in jaxprs_and_trees)}."
        )
    ins = [i for i, x in enumerate(args) for _ in tree.leaves(x)]
    out_indices = tree.unflatten(out_tree, range(len(types[0])))
    outs = [i for i, x in enumerate(out_indices) for _ in tree.leaves(x)]
    first, new = region.rebuild(params, [b for b, _ in jaxprs_and_trees], ins, outs)
    out = prim.bind(*index, *first, *leaves, **new)
    return tree.unflatten(out_tree, out)


def by_loop(prim: Primitive, loop: Loop, values: Sequence[Any], params: Any) -> Any:
    """Apply a loop to sparse values; sparse `xs` are batches of sparse arrays."""
    *cond, body = loop.bodies(params)
    groups = loop.groups(params, values)
    cond_consts, consts, init, xs = groups
    xs = groups[3] = [_repeated(x) if is_sparse(x) else x for x in xs]
    x_slices = [lane_array(x, 0) if is_sparse(x) else x for x in xs]
    _, in_tree = buffers_of([*consts, *init, *x_slices])
    flat = [[leaf for x in group for leaf in tree.leaves(x)] for group in groups]
    m, n = len(consts), len(init)
    carry_types = types_of(init, body.in_avals[m : m + n])
    avals = [*types_of(consts, body.in_avals[:m]), *carry_types]
    for x, a in zip(xs, body.in_avals[m + n :], strict=True):
        types = types_of([x], [a])
        avals += map(without_first, types) if is_sparse(x) else types
    new_body, out_tree = sparse_jaxpr(body, in_tree, avals)
    results = tree.unflatten(out_tree, new_body.out_avals)
    carried, carried_tree = buffers_of(results[:n])
    before, after = (
        [f"{a.dtype}{list(a.shape)}" for a in types] for types in (carry_types, carried)
    )
    if carried_tree != buffers_of(init)[1] or before != after:
        raise TypeError(
            f"{prim} requires sparse arrays of the carry to be stored in the same way"
            f" before and after a step: got {buffers_of(init)[1]} with {before}, then"
            f" {carried_tree} with {after}."
        )
    new_cond = []
    for t in cond:
        _, cond_tree = buffers_of([*cond_consts, *init])
        bufs = types_of([*cond_consts, *init], t.in_avals)
        new_cond.append(sparse_jaxpr(t, cond_tree, bufs)[0])
    operands = [x for group in flat for x in group]
    new = loop.rebuild(params, [*new_cond, new_body], flat)
    out = tree.unflatten(out_tree, prim.bind(*operands, **new))
    return [
        batch_array(x, 0, shape_of(x.data)[0]) if i >= n and is_sparse(x) else x
        for i, x in enumerate(out)
    ]


def without_first(aval: Any) -> Any:
    """Return the type of one slice along the first axis."""
    return shaped(tuple(aval.shape[1:]), aval.dtype, aval.weak_type)


def _repeated(x: Any) -> Any:
    """Broadcast each buffer to the size of the first axis."""
    leaves, aux_data = x.tree_flatten()
    full_buffers = [broadcast_to_batch(leaf, (x.shape[0],)) for leaf in leaves]
    return type(x).tree_unflatten(aux_data, full_buffers)
