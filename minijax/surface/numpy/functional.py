"""Functions that take functions: vectorize, apply_along_axis, apply_over_axes.

They apply `vmap` with NumPy's signatures: functions of small arrays become functions of
large ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ...api.vmap import vmap
from ...base import tree
from ...base.source import wraps
from ...prims import lax
from ._common import *
from .manipulation import expand_dims, squeeze

__all__ = ("apply_along_axis", "apply_over_axes", "vectorize")

Dims = tuple[str, ...]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """Apply a function of vectors to every vector along an axis.

    Args:
      func1d: takes a vector (and args, kwargs), returns an array.
      axis: the axis.
      arr: array.
      args, kwargs: passed on to `func1d`.

    Returns:
      Array in which the axes of `func1d`'s result replace `axis`, of that result's dtype.

    Raises:
      ValueError: `axis` is out of bounds.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.apply_along_axis(jnp.sum, 1, jnp.ones((2, 3)))
      Array([3., 3.], dtype=float32)
    """
    check_arraylike("apply_along_axis", arr)
    rank = len(shape_of(arr))
    axis = canonical_axis(axis, rank)

    def fun(x: Any) -> Any:
        return func1d(x, *args, **kwargs)

    for i in range(1, rank - axis):
        fun = vmap(fun, in_axes=i, out_axes=-1)
    for _ in range(axis):
        fun = vmap(fun)
    return fun(as_array(arr))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """Apply a reduction along axes one after another, keeping the rank.

    Args:
      func: takes (array, axis); its result has the rank of the array, or one less.
      a: array.
      axes: sequence of ints.

    Returns:
      Array of the rank of `a` and of `func`'s result dtype, with size 1 along axes that
      `func` removed.

    Raises:
      ValueError: the result of `func` has another rank.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), [0, 1])
      Array([[6.]], dtype=float32)
    """
    check_arraylike("apply_over_axes", a)
    rank = len(shape_of(a))
    for axis in np.atleast_1d(axes).tolist():
        out = func(a, axis)
        if len(shape_of(out)) == rank - 1:
            out = expand_dims(out, axis)
        if len(shape_of(out)) != rank:
            raise ValueError("function is not returning an array of the correct shape")
        a = out
    return as_array(a)


# --------------------------------------------------------------------------- vectorize

_NAME = r"\w+"
_DIMS = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_DIMS_LIST = rf"{_DIMS}(?:,{_DIMS})*"
_SIGNATURE = re.compile(rf"^{_DIMS_LIST}->{_DIMS_LIST}$")


def parse_signature(text: str) -> tuple[list[Dims], list[Dims]]:
    """Return the names of core axes in "(m,n),(n)->(m)"."""
    text = re.sub(r"\s+", "", text)
    if not _SIGNATURE.match(text):
        raise ValueError(f"not a valid gufunc signature: {text}")
    ins, outs = (
        [tuple(re.findall(_NAME, group)) for group in re.findall(_DIMS, side)]
        for side in text.split("->")
    )
    return ins, outs


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Return a function that broadcasts, made from a function of scalars or small arrays.

    Args:
      pyfunc: the function; it receives each argument without its broadcast axes.
      excluded: positions and names of arguments that are passed on unchanged.
      signature: the core axes that `pyfunc` works on, e.g. "(m,n),(n)->(m)"; by default
        scalars.

    Returns:
      A function of arrays. Its results have the broadcast axes first, then the core axes of
      `pyfunc`'s results, whose dtype they keep.

    Raises:
      ValueError: the signature cannot be read, or does not fit the arguments; a
        position in `excluded` is negative.
      TypeError: the wrong number of arguments, or `excluded` holds neither int nor str.

    Example:
      >>> import minijax.numpy as jnp
      >>> dot = jnp.vectorize(jnp.vdot, signature='(n),(n)->()')
      >>> dot(jnp.ones((2, 3)), jnp.ones(3))
      Array([3., 3.], dtype=float32)
    """
    if any(not isinstance(e, (int, str)) for e in excluded):
        raise TypeError(
            "jax.numpy.vectorize can only exclude integer or string arguments, but"
            f" excluded={excluded!r}"
        )
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"excluded={excluded!r} contains negative numbers")
    parsed = None if signature is None else parse_signature(signature)

    @wraps(pyfunc)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        context = f"on vectorized function with {excluded=} and {signature=}"
        dynamic = [i for i, x in enumerate(args) if i not in excluded and x is not None]
        names = [k for k in kwargs if k not in excluded]
        if names:
            # Keyword arguments also broadcast: append them to the positional ones.
            return _with_names(pyfunc, args, kwargs, names, excluded, signature)
        arrays = [args[i] for i in dynamic]
        check_arraylike("vectorize", *arrays)
        ins, outs = parsed or ([()] * len(arrays), None)
        if len(ins) != len(arrays):
            raise TypeError(
                "wrong number of positional arguments:"
                f" expected {len(ins)}, got {len(arrays)} {context}"
            )

        def on_dynamic(*xs: Any) -> Any:
            full = list(args)
            for i, x in zip(dynamic, xs, strict=True):
                full[i] = x
            return pyfunc(*full, **kwargs)

        return broadcast_call(on_dynamic, [as_array(x) for x in arrays], ins, outs, context)

    return wrapped


def _with_names(pyfunc, args, kwargs, names: list[str], excluded, signature):
    fixed = {k: v for k, v in kwargs.items() if k not in names}
    n = len(args)

    def positional(*xs: Any) -> Any:
        return pyfunc(*xs[:n], **dict(zip(names, xs[n:], strict=True)), **fixed)

    numbers = {e for e in excluded if isinstance(e, int)}
    fun = vectorize(positional, excluded=numbers, signature=signature)
    return fun(*args, *(kwargs[k] for k in names))


def broadcast_call(
    fun: Callable[..., Any],
    arrays: Sequence[Any],
    ins: Sequence[Dims],
    outs: Sequence[Dims] | None,
    context: str,
):
    """Call `fun` for every position of the broadcast axes of `arrays`."""
    sizes = core_sizes(arrays, ins, context)
    shapes = [shape_of(x) for x in arrays]
    loops = [s[: len(s) - len(dims)] for s, dims in zip(shapes, ins, strict=True)]
    check_ranks("vectorize", loops, shapes)
    loop = lax.broadcast_shapes(*loops) if loops else ()
    checked = check_results(fun, outs, sizes, context)
    squeezed, axes = [], []
    for x, own in zip(arrays, loops, strict=True):
        # An axis of size 1 is dropped rather than repeated: vmap does not map it.
        padded_shape = (1,) * (len(loop) - len(own)) + own
        small = [i for i, n in enumerate(own) if n == 1]
        squeezed.append(squeeze(x, tuple(small)) if small else x)
        axes.append([None if n == 1 else 0 for n in padded_shape])
    mapped = checked
    for level in reversed(range(len(loop))):  # the outermost vmap maps the first axis
        in_axes = tuple(a[level] for a in axes)
        if any(a is not None for a in in_axes):
            mapped = vmap(mapped, in_axes=in_axes)
    out = mapped(*squeezed)
    ones = tuple(i for i, n in enumerate(loop) if n == 1)
    if ones:
        out = tree.map(lambda x: expand_dims(x, ones), out)
    return out


def core_sizes(arrays: Sequence[Any], ins: Sequence[Dims], context: str) -> dict[str, int]:
    """Return the size of each named core axis; ValueError if arguments disagree."""
    sizes: dict[str, int] = {}
    for x, dims in zip(arrays, ins, strict=True):
        shape = shape_of(x)
        if len(shape) < len(dims):
            raise ValueError(
                f"input with shape {shape} does not have enough dimensions for all core"
                f" dimensions {dims} {context}"
            )
        for name, n in zip(dims, shape[len(shape) - len(dims) :], strict=True):
            if sizes.setdefault(name, n) != n:
                raise ValueError(
                    f"inconsistent size for core dimension {name!r}: {n} vs"
                    f" {sizes[name]} {context}"
                )
    return sizes


def check_results(
    fun: Callable[..., Any], outs: Sequence[Dims] | None, sizes: dict[str, int], context: str
) -> Callable[..., Any]:
    """Return `fun` with its results checked against the signature."""
    if outs is None:
        return fun

    def checked(*xs: Any) -> Any:
        out = fun(*xs)
        many = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(outs) > 1 and not isinstance(out, (tuple, list)):
            raise TypeError(
                "output must be a tuple when multiple outputs are expected,"
                f" got: {out} {context}"
            )
        if len(many) != len(outs):
            raise TypeError(
                f"wrong number of output arguments: expected {len(outs)}, got"
                f" {len(many)} {context}"
            )
        all_sizes = dict(sizes)
        for x, dims in zip(many, outs, strict=True):
            shape = shape_of(x)
            if len(shape) != len(dims):
                raise ValueError(
                    f"output shape {shape} does not match core dimensions {dims} {context}"
                )
            for name, n in zip(dims, shape, strict=True):
                if all_sizes.setdefault(name, n) != n:
                    raise ValueError(
                        f"inconsistent size for core dimension {name!r}: {n} vs"
                        f" {all_sizes[name]} {context}"
                    )
        return tuple(map(as_array, many)) if isinstance(out, (tuple, list)) else as_array(out)

    return checked
