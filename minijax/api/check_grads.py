"""Derivatives compared with finite differences: `check_grads`, `check_jvp`, `check_vjp`.

Directions are random, but the same in every run.  Arguments and results without a
derivative (integers, Booleans, keys) are not perturbed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import errors, tree
from ..base.source import function_text
from ..ir import core
from ..types import dtypes
from .autodiff import jvp
from .vjp import vjp

if TYPE_CHECKING:
    from ..types.aliases import PyTree

# Relative and absolute error that counts as rounding, by dtype: the values are JAX's.
TOLERANCE = {
    dtypes.bfloat16: 1e-1,
    dtypes.float16: 1e-2,
    dtypes.float32: 2e-3,
    dtypes.complex64: 1e-3,
    dtypes.float64: 1e-5,
    dtypes.complex128: 1e-5,
}
COARSE = 1e-1  # for 8-bit floats

# One tolerance for all dtypes, or one per dtype (others have the default).
Tolerance = float | Mapping[Any, float] | None


def check_grads(
    f: Callable[..., Any],
    args: Sequence[PyTree],
    order: int,
    modes: str | Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of `f` of orders 1 to `order` at `args`.

    Args:
      f: a function of pytrees to a pytree.
      args: the tuple of its arguments.
      order: the highest derivative to check; a derivative is checked as the first
        derivative of the one below it.
      modes: "fwd" (jvp), "rev" (vjp), or both, in every combination.
      atol, rtol: the absolute and relative tolerance: a number, or a dict with one number
        per dtype; None: the rounding error of the result's dtype.
      eps: the step of the differences; by default about the cube root of the dtype's
        epsilon, and then 1e-4 if that step fails in single precision.

    Returns:
      None, if all derivatives agree with differences.

    Raises:
      AssertionError: a derivative is wrong.
      ValueError: unknown mode, or an order below 1.

    Example:
      >>> import minijax.numpy as jnp
      >>> check_grads(jnp.sin, (1.0,), order=2)
    """
    chosen = [modes] if isinstance(modes, str) else list(modes)
    for mode in chosen:
        if mode not in ("fwd", "rev"):
            raise errors.value_error(
                f"check_grads: unknown mode {mode!r}.",
                tries=["modes=('fwd', 'rev')", "modes='fwd'"],
            )
    if order < 1:
        raise ValueError(f"check_grads: the order must be at least 1, got {order}.")
    _check(f, tuple(args), order, chosen, (atol, rtol, eps), function_text(f))


def _check(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    order: int,
    modes: list[str],
    limits: tuple[Tolerance, Tolerance, float | None],
    what: str,
) -> None:
    flat, xs = _smooth_part(f, args)
    if "fwd" in modes:
        check_jvp(flat, lambda x, t: jvp(flat, x, t), xs, *limits, f"jvp of {what}")
        if order > 1:
            directions = _directions(xs, seed=order)

            def push(*ys: Any) -> Any:
                return jvp(flat, ys, directions)[1]

            _check(push, xs, order - 1, modes, limits, f"the jvp of {what}")
    if "rev" in modes:
        check_vjp(flat, lambda *x: vjp(flat, *x), xs, *limits, f"vjp of {what}")
        if order > 1:

            def pull(*ys: Any) -> Any:
                out, pulled = vjp(flat, *ys)
                return pulled(_directions(out, seed=order))

            _check(pull, xs, order - 1, modes, limits, f"the vjp of {what}")


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[PyTree],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a `jvp` of a function against differences of the function.

    Args:
      f: a function of pytrees to a pytree.
      f_jvp: `f_jvp(args, tangents) -> (out, out_tangents)`.
      args: the tuple of its arguments.
      atol, rtol: the absolute and relative tolerance: a number, or a dict with one number
        per dtype; None: the rounding error of the result's dtype.
      eps: the step of the differences; None: as for `check_grads`.
      err_msg: the start of the error's text.

    Returns:
      None, if the two agree.

    Raises:
      AssertionError: its result or its tangents are wrong.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> check_jvp(jnp.sin, lambda x, t: mj.jvp(jnp.sin, x, t), (1.0,))
    """
    args = tuple(args)
    tangents = _directions(args, seed=0)
    out, pushed = f_jvp(args, tangents)
    _agree(out, f(*args), atol, rtol, f"{err_msg}: its primal result", exact=True)
    _one_agrees(
        lambda moved: _agree(pushed, moved, atol, rtol, err_msg),
        _differences(f, args, tangents, eps),
    )


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[PyTree],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a `vjp` of a function against differences of the function.

    For a cotangent u and a tangent t, the real parts of <pull(u), t> and of <u, J t> are
    equal; differences approximate J t.

    Args:
      f: a function of pytrees to a pytree.
      f_vjp: `f_vjp(*args) -> (out, pull)`.
      args: the tuple of its arguments.
      atol, rtol: the absolute and relative tolerance: a number, or a dict with one number
        per dtype; None: the rounding error of the result's dtype.
      eps: the step of the differences; None: as for `check_grads`.
      err_msg: the start of the error's text.

    Returns:
      None, if the two agree.

    Raises:
      AssertionError: its result or its cotangents are wrong.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> check_vjp(jnp.sin, lambda *x: mj.vjp(jnp.sin, *x), (1.0,))
    """
    args = tuple(args)
    tangents = _directions(args, seed=0)
    out, pull = f_vjp(*args)
    _agree(out, f(*args), atol, rtol, f"{err_msg}: its primal result", exact=True)
    cotangents = _directions(out, seed=1)
    pulled = pull(cotangents)
    leaves = tree.leaves
    product = _inner(leaves(pulled), leaves(tangents))
    values = (*leaves(args), *leaves(out))
    absolute, relative = (
        max([_limit(x, tolerance) for x in values], default=0.0) for tolerance in (atol, rtol)
    )

    def agree(moved: Any) -> None:
        expected_product = _inner(leaves(cotangents), leaves(moved))
        # Errors of the products add up, while the products may cancel in the sum: compare
        # with the sum of their magnitudes.
        sizes = [
            np.abs(_wide(u) * _wide(t)).sum()
            for u, t in zip(leaves(cotangents), leaves(moved), strict=True)
        ]
        allowed = absolute + relative * sum(sizes)
        if np.isnan(product) and np.isnan(expected_product):
            return
        if not abs(product - expected_product) <= allowed:
            raise AssertionError(
                f"{err_msg}: <vjp(u), t> is {product}, <u, J t> by differences {expected_product};"
                f" they differ by {abs(product - expected_product):.3g}, more than {allowed:.3g}."
            )

    _one_agrees(agree, _differences(f, args, tangents, eps))


# ------------------------------------------------------------------------------ inside


def _is_smooth(x: Any) -> bool:
    return bool(dtypes.is_inexact(core.aval_of(x).dtype))


def _smooth_part(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return `f` restricted to leaves that have derivatives, and those leaves."""
    leaves, in_tree = tree.flatten(args)
    smooth_indices = [i for i, x in enumerate(leaves) if _is_smooth(x)]

    def flat(*xs: Any) -> list[Any]:
        full = list(leaves)
        for i, x in zip(smooth_indices, xs, strict=True):
            full[i] = x
        return [y for y in tree.leaves(f(*tree.unflatten(in_tree, full))) if _is_smooth(y)]

    return flat, tuple(leaves[i] for i in smooth_indices)


def _directions(values: Any, seed: int) -> Any:
    """Return normal random values with the types of a pytree's leaves."""
    draw = np.random.default_rng(seed)

    def one(x: Any) -> Any:
        aval = core.aval_of(x)
        samples = draw.normal(size=aval.shape)
        if dtypes.is_complex(aval.dtype):
            samples = samples + 1j * draw.normal(size=aval.shape)
        return np.asarray(samples).astype(aval.dtype)

    return tree.map(one, values)


def _wide(x: Any) -> Any:
    """Convert a value to double precision."""
    x = np.asarray(x)
    return x.astype(np.complex128 if dtypes.is_complex(x.dtype) else np.float64)


def _real_size(x: Any) -> int:
    """Return the number of bytes of one real number of a value."""
    dtype = core.aval_of(x).dtype
    return int(dtype.itemsize // (2 if dtypes.is_complex(dtype) else 1))


def _limit(x: Any, tolerance: Tolerance, scale: float = 1.0) -> float:
    """Return the tolerance for one result, from the user's value or the default."""
    if isinstance(tolerance, Mapping):
        dtype = core.aval_of(x).dtype
        by_dtype = {dtypes.as_dtype(kind): limit for kind, limit in tolerance.items()}
        # An inner product of complex values sums products of real and imaginary parts.
        tolerance = by_dtype.get(dtype, by_dtype.get(dtypes.real_of(dtype)))
    if tolerance is None:
        return scale * TOLERANCE.get(core.aval_of(x).dtype, COARSE)
    return tolerance


def _differences(
    f: Any, args: tuple[Any, ...], tangents: Any, eps: float | None
) -> Iterator[Any]:
    """Yield derivatives along `tangents`, by central differences, in double precision.

    A long step has a small rounding error.  A short step (JAX's) has a small error from
    curvature and from nearby edges.  The short step is skipped if rounding changes its
    direction.
    """
    size = min([_real_size(x) for x in tree.leaves(args)], default=8)
    steps = [{1: 0.25, 2: 0.1, 4: 5e-3, 8: 6e-6}[size] if eps is None else eps]
    if eps is None and size == 4:
        steps.append(1e-4)

    for step in steps:
        up, down = (_moved(args, tangents, by) for by in (step, -step))
        if step == steps[0] or _is_along(up, args, tangents, step):
            ends = (tree.map(_wide, f(*x)) for x in (up, down))
            yield tree.map(lambda a, b, h=step: (a - b) / (2 * h), *ends)


def _moved(args: tuple[Any, ...], tangents: Any, step: float) -> Any:
    def one(x: Any, t: Any) -> Any:
        return (_wide(x) + step * _wide(t)).astype(core.aval_of(x).dtype)

    return tree.map(one, args, tangents)


def _is_along(moved: Any, args: Any, tangents: Any, step: float) -> bool:
    """Whether a rounded step has the exact length and direction within one per cent."""
    trees = (tree.leaves(x) for x in (moved, args, tangents))
    for x, origin, t in zip(*trees, strict=True):
        error = _wide(x) - _wide(origin) - step * _wide(t)
        if not np.linalg.norm(error) <= 0.01 * step * np.linalg.norm(_wide(t)):
            return False
    return True


def _one_agrees(check: Callable[[Any], None], estimates: Iterator[Any]) -> None:
    """Raise the first estimate's error, unless `check` accepts one of the estimates."""
    failed: AssertionError | None = None
    for estimate in estimates:
        try:
            check(estimate)
            return
        except AssertionError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def _inner(a: list[Any], b: list[Any]) -> float:
    pairs = zip(a, b, strict=True)
    return float(sum((_wide(x) * _wide(y)).sum() for x, y in pairs).real) if a else 0.0


def _agree(
    result: PyTree,
    expected: PyTree,
    atol: Tolerance,
    rtol: Tolerance,
    what: str,
    exact: bool = False,
) -> None:
    paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(result)]
    pairs = zip(paths, tree.leaves(result), tree.leaves(expected), strict=True)
    for path, x, y in pairs:
        scale = 1e-2 if exact and _real_size(x) > 2 else 1.0
        np.testing.assert_allclose(
            _wide(x),
            _wide(y),
            atol=_limit(x, atol, scale),
            rtol=_limit(x, rtol, scale),
            err_msg=f"{what}, result{path}",
        )


__all__ = ["check_grads", "check_jvp", "check_vjp"]
