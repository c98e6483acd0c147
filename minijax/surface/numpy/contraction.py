"""`einsum`: sums of products of arrays, specified by labels of axes.

Parsed subscripts are cached.  Operands are contracted two at a time; for three or more,
opt_einsum chooses the order.  Each pair is one `dot_general`, with the operands in the
order that avoids a transpose, if there is one.

Next: linear.py, whose `contract` does the work.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ...base import errors, util
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import EVAL, STATE
from ...ir.sharding_rules import has_reduction_axes
from ...prims import lax, promotion
from ...prims.dot.dot import check_width, element_type
from ...prims.sharding_specs import canonicalize_out_sharding
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from ._common import as_array, call_with_out_sharding, check_arraylike, convert, no_out
from .diagonals import diagonal_of
from .linear import contract, product
from .reductions import sum_axes

__all__ = ("einsum", "einsum_path")

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: str | bool | Sequence[Any] = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return a sum of products over labelled axes: `einsum('ij,jk->ik', a, b)` is `a @ b`.

    Args:
      subscripts: one label per axis, a comma between operands, `->` before the labels of
        the result (without it: the labels that appear once, sorted); `...` means axes that
        broadcast.  Or operands and lists of labels, alternating.
      *operands: the arrays.
      out: not supported.
      optimize: the order of contraction of three or more operands: a method of
        opt_einsum, True for the best, False for left to right, or a path.
      precision: precision of multiplications on accelerators (see `lax.dot_general`).
      preferred_element_type: dtype to accumulate in and to return.
      out_sharding: sharding of the result.

    Returns:
      Array with an axis for each label of the result, in the operands' common dtype or in
      `preferred_element_type`.

    Raises:
      ValueError: subscripts that do not fit the operands.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.einsum('ij,j->i', jnp.ones((2, 3)), jnp.arange(3.))
      Array([3., 3.], dtype=float32)
    """
    no_out("einsum", out)
    options = precision, preferred_element_type, out_sharding, _dot_general
    if isinstance(subscripts, str) and STATE.trace is not EVAL:  # no jaxpr to name
        with core.name_scope(subscripts):
            return _checked(subscripts, operands, optimize, *options)
    return _checked(subscripts, operands, optimize, *options)


def _checked(
    subscripts: Any,
    operands: Any,
    optimize: Any,
    precision: Any,
    preferred: Any,
    out_sharding: Any,
    dot_general: Any,
) -> Any:
    subscripts, operands = _as_text(subscripts, operands)
    check_arraylike("einsum", *operands)
    fixed = optimize is None or isinstance(optimize, (str, bool))
    path = bool(optimize) if optimize is None else optimize
    path = path if fixed else _hashable_path(path)
    options = path, precision, preferred, out_sharding
    if dot_general is not None:
        return _evaluate(subscripts, operands, *options, dot_general)
    return _einsum(subscripts, operands, *options)


def _hashable_path(path: Any) -> Any:
    return tuple([p if isinstance(p, str) else tuple(p) for p in path])


def _as_text(subscripts: Any, operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return subscripts as text, also if they are lists between the operands."""
    if isinstance(subscripts, str):
        return subscripts, operands
    items = (subscripts, *operands)
    arrays, lists = items[0 : len(items) - len(items) % 2 : 2], items[1::2]
    result = items[-1] if len(items) % 2 else None
    try:
        labels = {x for s in (*lists, result or ()) for x in s if x is not Ellipsis}
        names = dict(zip(sorted(labels), _LETTERS, strict=False))
        text = ",".join(_letters(s, names) for s in lists)
        if result is not None:
            text += "->" + _letters(result, names)
    except TypeError:
        raise errors.type_error(
            "For this input type lists must contain either Ellipsis or hashable and"
            " comparable object (e.g. int, str).",
            where="einsum(operand, labels, operand, labels, ..., [labels])",
            which=f"{lists!r}"[:160],
        ) from None
    return text, arrays


def _letters(labels: Any, names: dict[Any, str]) -> str:
    return "".join("..." if x is Ellipsis else names[x] for x in labels)


# ------------------------------------------------------------------------------ parsing


@util.cached(4096)
def parse(subscripts: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """Return the labels of each operand and of the result, with `...` written out."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(
            f"Number of einsum subscripts, {len(terms)}, must be equal to the number of"
            f" operands, {len(ranks)}."
        )
    spare = [c for c in _LETTERS if c not in text]
    hidden = max(
        (r - len(t) + 3 for t, r in zip(terms, ranks, strict=True) if "..." in t), default=0
    )
    dots = "".join(spare[: max(hidden, 0)])
    inputs = []
    for i, (t, r) in enumerate(zip(terms, ranks, strict=True)):
        n = r - len(t) + 3
        if "..." in t and n >= 0:
            t = t.replace("...", dots[len(dots) - n :])
        if len(t) != r or any(c in ".->" for c in t):
            raise errors.value_error(
                f"Einstein sum subscript {terms[i]!r} does not contain the correct"
                f" number of indices for operand {i}.",
                which=f"einsum({subscripts!r}, ...): operand {i} has {r} axes",
                why="each axis has one label.",
                tries=["'...' for axes that only broadcast"],
            )
        inputs.append(t)
    if arrow:
        output = right.replace("...", dots)
    else:
        once = sorted(c for c in set("".join(inputs)) if "".join(inputs).count(c) == 1)
        output = dots + "".join(c for c in once if c not in dots)
    _check_output(subscripts, inputs, output)
    return tuple(inputs), output


def _check_output(subscripts: str, inputs: Sequence[str], output: str) -> None:
    for c in output:
        if output.count(c) > 1:
            raise ValueError(
                f"Output character {c!r} appeared more than once in the output."
                f"\nWhich: {subscripts!r}"
            )
        if not any(c in t for t in inputs):
            raise ValueError(
                f"Output character {c!r} did not appear in the input of {subscripts!r}."
            )


def _label_sizes(
    subscripts: str, inputs: Sequence[str], shapes: Sequence[Any]
) -> dict[str, int]:
    """Return the size of each label; axes of size 1 repeat."""
    sizes: dict[str, int] = {}
    for i, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        for c, n in zip(labels, shape, strict=True):
            m = sizes.setdefault(c, n)
            if m == 1:
                sizes[c] = n
            elif n not in (1, m):
                raise errors.value_error(
                    f"Size of label {c!r} for operand {i} ({n}) does not match"
                    f" previous terms ({m}).",
                    which=f"einsum({subscripts!r}) of shapes {', '.join(map(str, shapes))}",
                    why="axes with one label have one size, or size 1.",
                )
    return sizes


_LONG = 1 << 10  # stands for symbolic dimensions when a path is chosen


def contraction_path(
    subscripts: str, inputs: Sequence[str], output: str, shapes: Sequence[Any], optimize
) -> Sequence[tuple[int, ...]]:
    """Return the positions contracted in each step; each result is appended to the list."""
    n = len(inputs)
    if n <= 2:
        return [tuple(range(n))]
    if optimize is False:
        return [(0, 1)] + [(0, k) for k in range(n - 2, 0, -1)]
    if isinstance(optimize, tuple):
        return [p for p in optimize if not isinstance(p, str)]
    import opt_einsum

    method = "optimal" if optimize is True else optimize
    text = ",".join(inputs) + "->" + output
    guessed = [tuple([_LONG if isinstance(n, SymbolicDim) else n for n in s]) for s in shapes]
    path, _ = opt_einsum.contract_path(text, *guessed, shapes=True, optimize=method)
    return path


# --------------------------------------------------------------------------- evaluation


def _evaluate_on(operands: Sequence[Any], subscripts: str, *options: Any) -> Any:
    return _evaluate(subscripts, operands, *options)


def _evaluate(
    subscripts: str,
    operands: Sequence[Any],
    optimize,
    precision,
    preferred,
    out_sharding,
    dot_general=None,
    product_sharding=None,
):
    """Return the sum; `product_sharding` is the sharding of the product of two operands."""
    if out_sharding is not None and len(operands) == 2 and dot_general is None:
        target_sharding = canonicalize_out_sharding("einsum", out_sharding, *operands)
        operand_shardings = [core.aval_of(x).type_sharding.explicit for x in operands]
        sums = any(map(has_reduction_axes, (target_sharding, *operand_shardings)))
        if target_sharding is not None and (
            sums or any(s is not None for s in operand_shardings)
        ):
            # As one product, its derivatives move no more data than necessary.
            try:
                return _evaluate(
                    subscripts,
                    operands,
                    optimize,
                    precision,
                    preferred,
                    None,
                    None,
                    target_sharding,
                )
            except errors.ShardingTypeError:  # let the compiler move data instead
                if sums:
                    raise
    if out_sharding is not None:
        options = optimize, precision, preferred, None, dot_general
        return call_with_out_sharding(
            "einsum", out_sharding, _evaluate_on, operands, subscripts, *options
        )
    avals = [core.aval_of(x) for x in operands]
    shapes = [a.shape for a in avals]
    inputs, output = parse(subscripts, tuple(map(len, shapes)))
    sizes = _label_sizes(subscripts, inputs, shapes)
    if preferred is not None:
        dtype, weak = element_type(preferred, "einsum"), False
    else:
        dtype, weak = promotion.promote(tuple((a.dtype, a.weak_type) for a in avals))
    if len(operands) == 1:
        x = _one(as_array(operands[0]), inputs[0], output, dtype)
        return convert(x, dtype, weak)
    step = functools.partial(
        _pair,
        sizes=sizes,
        precision=precision,
        dtype=dtype,
        dot_general=dot_general,
        out_sharding=product_sharding,
    )
    terms = list(zip(operands, inputs, strict=True))
    path = contraction_path(subscripts, inputs, output, shapes, optimize)
    for i, chosen in enumerate(path):
        last = i == len(path) - 1
        group = [terms[j] for j in chosen]
        terms = [t for j, t in enumerate(terms) if j not in chosen]
        needed = set(output).union(*(labels for _, labels in terms))
        result = group[0]
        for k, other in enumerate(group[1:], 2):
            rest = set().union(*(labels for _, labels in group[k:]))
            final = last and k == len(group)
            result = step(result, other, needed | rest, output if final else None)
        if len(group) == 1:
            kept_labels = "".join(c for c in result[1] if c in needed)
            result = _one(as_array(result[0]), result[1], kept_labels, dtype), kept_labels
        terms.append(result)
    x, labels = terms[0]
    out = _one(x, labels, output, dtype)
    return convert(out, dtype, weak)


_einsum = composite(
    _evaluate, static=("subscripts", "optimize", "precision", "preferred", "out_sharding")
)


def _one(x: Any, labels: str, output: str, dtype: Any) -> Any:
    """Take diagonals, sum, and transpose one operand."""
    x, labels = _diagonals(x, labels)
    x, labels = _sum_out(x, labels, [c for c in labels if c not in output], dtype)
    permutation = tuple(labels.index(c) for c in output)
    return x if permutation == tuple(range(len(permutation))) else lax.transpose(x, permutation)


def _diagonals(x: Any, labels: str) -> tuple[Any, str]:
    """Return the operand with each label once: repeated labels select a diagonal.

    Where the axes differ and one has size 1, the result is padded with zeros.
    """
    while len(set(labels)) < len(labels):
        c = next(c for c in labels if labels.count(c) > 1)
        i = labels.index(c)
        j = labels.index(c, i + 1)
        other_axes = [k for k in range(len(labels)) if k not in (i, j)]
        n = x.shape[j]
        x = diagonal_of(lax.transpose(x, (*other_axes, i, j)))
        if x.shape[-1] < n:
            edges = [(0, 0, 0)] * len(other_axes) + [(0, n - x.shape[-1], 0)]
            x = lax.pad(x, x.dtype.type(0), edges)
        labels = "".join(labels[k] for k in other_axes) + c
    return x, labels


def _sum_out(x: Any, labels: str, summed_labels: Sequence[str], dtype: Any) -> tuple[Any, str]:
    """Sum the operand over labels, in the dtype of the result."""
    if not summed_labels:
        return x, labels
    axes = tuple(sorted(labels.index(c) for c in summed_labels))
    x = convert(x, dtype)
    x = lax.reduce_or(x, axes) if dtypes.is_bool(dtype) else sum_axes(x, axes)
    return x, "".join(c for c in labels if c not in summed_labels)


def _pair(
    left: tuple[Any, str],
    right: tuple[Any, str],
    needed: set[str],
    output: str | None,
    *,
    sizes: dict[str, int],
    precision,
    dtype,
    dot_general,
    out_sharding=None,
) -> tuple[Any, str]:
    """Return the product of two operands, summed over labels that nothing else needs.

    out_sharding: sharding of the last product, its axes in the order of `output`.
    """
    a, la = _prepared(left, right[1], needed, sizes, dtype)
    b, lb = _prepared(right, left[1], needed, sizes, dtype)
    both = [c for c in la if c in lb]
    summed = [c for c in both if c not in needed]
    batch = [c for c in both if c in needed]
    free_a = [c for c in la if c not in lb]
    free_b = [c for c in lb if c not in la]
    is_sharded = any(core.aval_of(x).type_sharding.explicit is not None for x in (a, b))
    is_elementwise = not summed and batch and not (free_a and free_b)
    if is_elementwise and not is_sharded and dot_general is None:
        return _multiply(a, la, b, lb, output, dtype)
    if output is not None:
        # The order of the operands decides the order of free axes: swap to match `output`.
        batch.sort(key=output.find)
        swapped = batch + free_b + free_a
        if "".join(swapped) == output and "".join(batch + free_a + free_b) != output:
            a, la, b, lb, free_a, free_b = b, lb, a, la, free_b, free_a
    pairs = tuple(la.index(c) for c in summed), tuple(lb.index(c) for c in summed)
    lanes = tuple(la.index(c) for c in batch), tuple(lb.index(c) for c in batch)
    labels = "".join(batch + free_a + free_b)
    product_sharding = None
    if out_sharding is not None:
        spec = dict(zip(output or "", _entries(out_sharding, labels), strict=True))
        entries = tuple(map(spec.get, labels))
        product_sharding = out_sharding.with_spec(out_sharding.spec.update(partitions=entries))
    if dot_general is not None:
        out = dot_general(
            a, b, (pairs, lanes), precision=precision, preferred_element_type=dtype
        )
        return out, labels
    out = contract(a, b, pairs, lanes, precision, dtype, out_sharding=product_sharding)
    return out, labels


def _entries(sharding: Any, axes: Sequence[Any]) -> list[Any]:
    """Return the entries of a spec, one per axis."""
    entries = list(sharding.spec)
    return entries + [None] * (len(axes) - len(entries))


def _prepared(
    term: tuple[Any, str], other: str, needed: set[str], sizes: dict[str, int], dtype
) -> tuple[Any, str]:
    """Return an operand of a pair without size-1 axes that repeat, repeated labels, and
    labels that nothing else needs.
    """
    x, labels = term
    x = as_array(x) if not hasattr(x, "aval") else x
    ones = [
        i
        for i, c in enumerate(labels)
        if x.shape[i] == 1 != sizes[c] and (c in other or labels.count(c) > 1)
    ]
    if ones:
        x = lax.squeeze(x, tuple(ones))
        labels = "".join(c for i, c in enumerate(labels) if i not in ones)
    x, labels = _diagonals(x, labels)
    unused_labels = [c for c in labels if c not in needed and c not in other]
    return _sum_out(x, labels, unused_labels, dtype)


def _multiply(a, la: str, b, lb: str, output: str | None, dtype) -> tuple[Any, str]:
    """Return a product without a sum, where one operand has all the labels."""
    if len(la) < len(lb):
        a, la, b, lb = b, lb, a, la
    permutation = [lb.index(c) for c in la if c in lb]
    if permutation != list(range(len(permutation))):
        b = lax.transpose(b, tuple(permutation))
    for x in (a, b):
        check_width(x.dtype, dtype)
    a, b = convert(a, dtype), convert(b, dtype)
    if len(lb) < len(la):
        shape = tuple(n if c in lb else 1 for c, n in zip(la, a.shape, strict=True))
        b = lax.broadcast_in_dim(b, shape, tuple(i for i, c in enumerate(la) if c in lb))
    return product(a, b), la


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: bool | str | Sequence[Any] = "auto"
) -> tuple[list[tuple[int, ...]], Any]:
    """Return the order in which `einsum` would contract, and its cost.

    Args:
      subscripts, *operands, optimize: as for `einsum`; operands need only a shape.

    Returns:
      The path, a list of tuples of positions, and a report that prints as text.

    Raises:
      ValueError: subscripts that do not fit the operands.

    Example:
      >>> import minijax.numpy as jnp
      >>> a, b = jnp.ones((2, 3)), jnp.ones((3, 4))
      >>> jnp.einsum_path('ij,jk->ik', a, b)[0]
      [(0, 1)]
    """
    import opt_einsum

    text, arrays = _as_text(subscripts, operands)
    if isinstance(optimize, bool):
        optimize = "optimal" if optimize else [tuple(range(len(arrays)))]
    return opt_einsum.contract_path(text, *arrays, optimize=optimize)
