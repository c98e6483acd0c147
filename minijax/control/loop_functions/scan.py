"""The functions behind `lax.scan`: they check their arguments and stage the body.

The primitive and its rules are in ../loops/scan.py.  With `loop`, functions that are built
on a scan (`fori_loop`, `map`) appear under their own names in messages.
Next: while_loop.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base import config, errors, tree
from ...base.source import function_text
from ...base.tracebacks import boundary
from ...base.util import merge, split_list
from ...ir import core
from ...prims.shape import concatenation
from ...runtime.sharding.partition_spec import PartitionSpec
from ...types.sizes import size_of
from ...types.type_sharding import spec_of
from .. import body_staging
from ..arguments import as_value, concrete_or_error
from ..loops.scan import scan_p
from ..refs import discharge
from ..refs.refs import Ref
from .progress import scan_with_bar, wants_bar


@boundary
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    *,
    progress: str | None = None,
) -> tuple[Any, Any]:
    r"""Apply a function to each slice of `xs` and a carry, in one compiled loop.

    .. math:: c_{i+1}, y_i = f(c_i, x_i)

    Args:
      f: takes (carry, x) and returns (carry, y); the carry keeps its type.
      init: the initial carry, a pytree.
      xs: a pytree of arrays with equal leading sizes, or None.
      length: the number of steps, required if `xs` is None.
      reverse: go from the last slice to the first (ys keep the order of `xs`).
      unroll: how many steps one iteration of the loop takes; True or 0: all of them.
      _split_transpose: make the backward pass two loops: one for the chain between its
        steps, one for the rest, which stores more but has independent steps.
      progress: 'text' draws a progress bar on standard error.

    Returns:
      The final carry, and the ys stacked along a new first axis.

    Raises:
      ValueError: leading sizes differ; TypeError: the carry changes its type.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.lax.scan(lambda c, x: (c + x, c), 0, jnp.arange(4))
      (Array(6, dtype=int32), Array([0, 0, 1, 3], dtype=int32, weak_type=True))

    Differs from JAX: `progress`.
    """
    if not wants_bar(progress):
        return run_scan(f, init, xs, length, reverse, unroll, _split_transpose)

    def run_part(carry: Any, slices: Any, count: int, step: Any = f) -> tuple[Any, Any]:
        options = (unroll, _split_transpose) if step is f else ()
        return run_scan(step, carry, slices, count, reverse, *options)

    n = scan_length(f, *tree.flatten(xs), length)
    return scan_with_bar(run_part, init, xs, n, reverse)


def run_scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    *,
    loop: body_staging.LoopDescription | None = None,
) -> tuple[Any, Any]:
    """Implement `scan` without a bar; `loop` describes it in messages, if not as a scan."""
    if not callable(f):
        raise TypeError(f"lax.scan: f argument should be a callable, got {f!r}.")
    xs_leaves, xs_tree = tree.flatten(xs)
    loop = loop or body_staging.LoopDescription.of("scan body", f)
    n = scan_length(loop.fun, xs_leaves, xs_tree, length)
    if not isinstance(unroll, (int, np.integer)) or unroll < 0:
        raise errors.value_error(
            f"{loop.what}: `unroll` must be a `bool` or a non-negative `int`.",
            which=f"unroll={unroll!r}",
        )
    if isinstance(unroll, bool):
        unroll = max(n, 1) if unroll else 1
    if config.DISABLE_JIT.value:
        return _scan_in_python(f, init, xs_leaves, xs_tree, n, reverse)
    for x in xs_leaves:
        spec = spec_of(core.aval_of(x))
        if spec[0] is not None:
            raise errors.value_error(
                f"0th dimension of all xs should be replicated. Got {PartitionSpec(*spec)}",
                where=function_text(f),
                why="Each step takes one slice, on every device.",
                tries=["jax.sharding.reshard(xs, sharding)", "jax.vmap"],
            )
    init_leaves, init_tree = tree.flatten(init)
    body_staging.types_of("init", init_leaves, init_tree)
    x_avals = [body_staging.slice_aval(core.aval_of(x)) for x in xs_leaves]
    in_tree = tree.structure((init, xs))
    body, init_leaves = stage_carry(f, loop, in_tree, init_tree, init_leaves, x_avals)
    discharge.check_references(loop.fun, "scan", (init, xs), body.consts)
    # Unchanged parts of the carry become constants; a y that is a slice of xs is that x.
    j, n_carry = body.jaxpr, len(init_leaves)
    fixed = [a is b for a, b in zip(j.outvars[:n_carry], j.invars[:n_carry], strict=True)]
    xs_by_var = dict(zip(j.invars[n_carry:], xs_leaves, strict=True))
    is_slice = [a in xs_by_var for a in j.outvars[n_carry:]]
    stay = [as_value(x) for x, f in zip(init_leaves, fixed, strict=True) if f]
    move = [x for x, f in zip(init_leaves, fixed, strict=True) if not f]
    consts = [*stay, *body.consts]
    out = scan_p.bind(
        *consts,
        *move,
        *xs_leaves,
        jaxpr=body_staging.lift_fixed(body, fixed, [not h for h in is_slice]),
        length=n,
        reverse=bool(reverse),
        unroll=int(unroll),
        num_consts=len(consts),
        num_carry=len(move),
        _split_transpose=_split_transpose,
    )
    final, stacked = split_list(out, [len(move)])
    direct = [as_value(xs_by_var[a]) for a in j.outvars[n_carry:] if a in xs_by_var]
    carry = merge(fixed, stay, final)
    ys = merge(is_slice, direct, stacked)
    return tree.unflatten(body.out_tree, [*carry, *ys])


def _split_out(loop: body_staging.LoopDescription, body: body_staging.Body) -> tuple[Any, Any]:
    """Return the trees of the carry and the ys that a body returns."""
    children = body.out_tree.children()
    if len(children) != 2 or body.out_tree.node_data() is None:
        got = tree.unflatten(
            body.out_tree,
            [
                ("~" if getattr(a, "weak_type", False) else "") + a.str_short(False)
                for a in body.out_avals
            ],
        )
        raise TypeError(
            errors.message(
                f"{loop.what} output must be a pair, got {got}.",
                where=function_text(loop.fun),
                tries=["return (carry, y); y may be None"],
            )
        )
    return children[0], children[1]


def stage_carry(
    f: Any,
    loop: body_staging.LoopDescription,
    in_tree: Any,
    init_tree: Any,
    init: list[Any],
    x_avals: list[Any],
) -> tuple[body_staging.Body, list[Any]]:
    """Trace a body until the weak types of its carry agree; check the carry."""
    n = len(init)
    while True:
        carry_avals = [core.aval_of(x) for x in init]
        body = body_staging.stage_body(
            f, in_tree, [*carry_avals, *x_avals], loop.transform, loop.fun
        )
        out_tree, _ = _split_out(loop, body)
        if out_tree == init_tree:
            promoted = body_staging.promote_weak(
                loop.fun, init, carry_avals, body.out_avals[:n]
            )
            if promoted is not None:
                init = promoted
                continue
        carry_out = body.out_avals[: out_tree.num_leaves]
        body_staging.check_carry(loop, init_tree, carry_avals, out_tree, carry_out)
        return body, init


def scan_length(f: Any, xs: list[Any], xs_tree: Any, length: Any) -> int:
    """Return the number of steps, on which all of `xs` must agree."""
    sizes = []
    for x, aval in zip(xs, body_staging.types_of("xs", xs, xs_tree), strict=True):
        if not getattr(aval, "shape", ()):
            raise ValueError(
                errors.message(
                    f"scan got value with no leading axis to scan over: {x}.",
                    where=function_text(f),
                    tries=["close over values that every step shares"],
                )
            )
        sizes.append(aval.shape[0])
    if length is not None:
        length = concrete_or_error(
            int,
            length,
            "The `length` argument to `scan` decides the program; for a number of steps"
            " that is only known when it runs, use `while_loop` or `fori_loop`.",
        )
        if any(s != length for s in sizes):
            raise ValueError(
                f"scan got `length` argument of {length} which disagrees with leading"
                f" axis sizes {sizes}."
            )
        return size_of(length)
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    if len(set(sizes)) > 1:
        labelled = tree.leaves_with_path(tree.unflatten(xs_tree, xs))
        first = next(i for i, n in enumerate(sizes) if n != sizes[0])
        raise ValueError(
            errors.message(
                "scan got values with different leading axis sizes:"
                f" {', '.join(map(str, sizes))}.",
                which=" and ".join(
                    f"xs{tree.keystr(labelled[i][0])}: {core.aval_of(xs[i]).str_short(True)}"
                    for i in (0, first)
                ),
                where=function_text(f),
            )
        )
    return sizes[0]


def _scan_in_python(
    f: Any, init: Any, xs: list[Any], xs_tree: Any, n: int, reverse: bool
) -> tuple[Any, Any]:
    if n == 0:
        raise ValueError("zero-length scan is not supported in disable_jit() mode.")
    carry, ys = init, []
    for i in reversed(range(n)) if reverse else range(n):
        slices = [Ref(x[i]) if isinstance(x, Ref) else x[i] for x in xs]
        carry, y = f(carry, tree.unflatten(xs_tree, slices))
        ys.append(y)
        for x, row in zip(xs, slices, strict=True):
            if isinstance(x, Ref):
                x[i] = row[...]
    if reverse:
        ys.reverse()
    return carry, tree.map(lambda *slices: concatenation.stack(slices), *ys)
