"""Helpers of minijax.random: keys, dtypes and shapes of arguments.

Every sampler takes one key: an opaque one (`key`), or the older uint32 words (`PRNGKey`),
which `opaque` wraps.  Samplers come in pairs: the public function, which makes its static
arguments hashable, and a `composite` of the same name with an underscore, which is one
compiled call when evaluated.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import config, errors, source
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import Tracer, aval_of
from ...prims import dtype_arguments, promotion
from ...prims.math.cast import convert_element_type
from ...prims.random.implementations import find_impl
from ...prims.random.key_arrays import random_wrap_p
from ...prims.reshard import apply_out_sharding
from ...prims.shape.shapes import broadcast_in_dim
from ...runtime.arrays.array import ArrayImpl, KeyArray
from ...symbolic.dims import broadcast_sizes
from ...types import dtypes
from ...types.sizes import index_of

__all__ = (
    "problem",
    "type_problem",
    "value_problem",
    "is_key",
    "opaque",
    "check_words",
    "returns_words",
    "check_arrays",
    "static_shape",
    "float_dtype",
    "checked_dtype",
    "inexact_dtype",
    "shape_of_all",
    "broadcast_shapes",
    "align_to_shape",
    "repeated",
    "as_dtype",
    "safely",
    "placed",
    "distribution",
)

# -------------------------------------------------------------------------------- keys


def problem(
    error: type[Exception],
    message_text: str,
    which=None,
    *,
    why: str,
    tries: Sequence[str] = (),
) -> Exception:
    """Return an error in the common form."""
    text = errors.type_text(which) if which is not None else None
    message = errors.message(
        message_text, which=text, where=core.stack_text(), why=why, tries=list(tries)
    )
    return error(message)


type_problem = functools.partial(problem, TypeError)
value_problem = functools.partial(problem, ValueError)


def is_key(x: Any) -> bool:
    """Whether a value is an array of opaque keys."""
    if isinstance(x, Tracer):
        return isinstance(x.aval.dtype, dtypes.KeyTy)
    return type(x) is KeyArray


_GOOD_KEYS = ("jax.random.key(0)", "jax.random.PRNGKey(0)")


def opaque(name: str, key: Any) -> tuple[Any, bool]:
    """Return a sampler's key as an opaque key, and whether it was raw words.

    Raises:
      TypeError: the value is not a key.
      ValueError: there are several keys.
    """
    if is_key(key):
        typed, wrapped = key, False
    else:
        check_words(name, key)
        if config.LEGACY_KEYS.value != "allow":
            _report_legacy_key(key)
        typed, wrapped = random_wrap_p.bind(key, impl=find_impl(None)), True
    shape = aval_of(key).shape
    if aval_of(typed).shape:
        raise value_problem(
            f"{name} accepts a single key, but was given a key array of shape"
            f" {shape} != (). Use jax.vmap for batching.",
            key,
            why="the assignment of keys to elements would be ambiguous.",
            tries=[f"jax.vmap(lambda k: jax.random.{name}(k, ...))(keys)"],
        )
    return typed, wrapped


def _report_legacy_key(words: Any) -> None:
    """Warn or raise, as `jax_legacy_prng_key` requires,
    when raw words are used as a key."""
    text = (
        "Legacy uint32 key array passed as key to jax.random function. Please create keys"
        " using jax.random.key(). If use of a raw key array was intended, set"
        ' jax_legacy_prng_key="allow".'
    )
    mode = config.LEGACY_KEYS.value
    if mode == "error":
        raise value_problem(
            text, words, why="jax_legacy_prng_key='error'.", tries=["jax.random.key(0)"]
        )
    warnings.warn(text, stacklevel=source.stacklevel())


def check_words(name: str, words: Any) -> None:
    """Raise TypeError unless `words` is an array;
    `random_wrap` checks its dtype and shape."""
    if isinstance(words, (Tracer, np.ndarray, np.generic)) or type(words) is ArrayImpl:
        return
    if words is None or isinstance(words, (list, tuple, dict, str)):
        text = f"unexpected PRNG key type {type(words)}"
    else:
        text = (
            "JAX encountered invalid PRNG key data: expected key_data to have ndim,"
            f" shape, and dtype attributes. Got {words!r}"
        )
    raise type_problem(text, why=f"{name} takes a random key first.", tries=_GOOD_KEYS)


def returns_words(wrapped: bool) -> bool:
    """Whether new keys are returned as raw words, like the given key."""
    return wrapped and not config.CUSTOM_PRNG.value


def check_arrays(name: str, *xs: Any) -> None:
    """Raise TypeError for operands that are neither arrays nor numbers."""
    for i, x in enumerate(xs):
        if not core.is_value(x):
            raise type_problem(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position {i}.",
                why="lists, tuples and objects are not converted silently.",
                tries=["jnp.asarray(x)"],
            )


# ------------------------------------------------------------------- shapes and dtypes


def static_shape(shape: Any, name: str = "shape") -> tuple[int, ...]:
    """Convert a shape argument to a tuple of ints; an int is the size of one axis."""
    if type(shape) is tuple:  # the common case, without calls and allocations
        for n in shape:
            if type(n) is not int:
                break
        else:
            return shape
    try:
        if isinstance(shape, (str, bytes, dict, set, frozenset)):
            raise TypeError
        if not hasattr(shape, "__iter__") or not getattr(shape, "shape", (1,)):
            return (index_of(shape),)
        return tuple([index_of(n) for n in shape])
    except TypeError as error:
        traced = isinstance(error, errors.JAXTypeError)
        raise type_problem(
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape}.",
            which=str(error).partition("\n")[2] if traced else None,
            why=f"the shape of {name} must be static.",
            tries=[
                "If using `jit`, try using `static_argnums` or applying `jit` to smaller"
                " subfunctions."
                if traced
                else "a tuple of Python ints"
            ],
        ) from None


def float_dtype(name: str, dtype: Any) -> Any:
    """Return a sampler's float dtype; by default the dtype of Python floats."""
    if dtype is None:
        return dtypes.float_default()
    return checked_dtype(name, dtype, dtypes.is_float, "a float dtype")


def checked_dtype(name: str, dtype: Any, accepts: Any, kind: str) -> Any:
    """Return the canonical form of a dtype argument; raise ValueError unless accepted."""
    canonical = dtype_arguments.requested_dtype(dtype, name)
    if not accepts(canonical):
        raise value_problem(
            f"dtype argument to `{name}` must be {kind}, got {canonical}",
            why="the distribution is defined only for this kind of dtype.",
            tries=["omit dtype, and convert the result with .astype"],
        )
    return canonical


def inexact_dtype(name: str, dtype: Any) -> Any:
    """Return a sampler's float or complex dtype; by default the dtype of Python floats.

    Raises:
      ValueError: it is neither float nor complex.
    """
    if dtype is None:
        return dtypes.float_default()
    return checked_dtype(name, dtype, dtypes.is_inexact, "a float or complex dtype")


def shape_of_all(name: str, shape: Any, *params: Any) -> tuple[int, ...]:
    """Return the shape of a sample: `shape`, or what the parameters broadcast to.

    Raises:
      ValueError: the parameters do not broadcast to each other or to `shape`.
    """
    shapes = [np.shape(x) if not hasattr(x, "shape") else x.shape for x in params]
    if shape is None:
        return broadcast_shapes(name, shapes)
    shape = static_shape(shape, name)
    if any(shapes) and broadcast_shapes(name, [shape, *shapes]) != shape:
        raise value_problem(
            f"{name} parameter shapes must be broadcast-compatible with shape argument,"
            " and the result of broadcasting the shapes must equal the shape argument,"
            f" but got shapes {shapes} for shape argument {shape}.",
            why="each drawn element needs one value of each parameter.",
            tries=["omit shape"],
        )
    return shape


def broadcast_shapes(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to."""
    try:
        return broadcast_sizes(*shapes)
    except ValueError:
        raise problem(
            errors.ShapeError,
            f"Incompatible shapes for broadcasting: shapes={list(shapes)}",
            why=f"the arguments of {name} do not broadcast.",
            tries=["x[:, None] or jnp.expand_dims to align the axes"],
        ) from None


def align_to_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """Add leading axes of size 1 to a parameter up to the rank of `shape`,
    except scalars."""
    old = aval_of(x).shape
    if not old or len(old) >= len(shape):
        return x
    missing = len(shape) - len(old)
    dims = tuple(range(missing, len(shape)))
    return broadcast_in_dim(x, (1,) * missing + old, dims)


def repeated(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast a parameter to `shape`."""
    old = aval_of(x).shape
    if old == shape:
        return x
    return broadcast_in_dim(x, shape, tuple(range(len(shape) - len(old), len(shape))))


def as_dtype(x: Any, dtype: Any) -> Any:
    """Convert a parameter to the dtype of the sample; a host number stays a literal."""
    if isinstance(x, (bool, int, float, np.ndarray, np.generic)) and not np.ndim(x):
        # Convert in two steps, so that rounding agrees with an argument of a jitted
        # function.
        return np.asarray(x, aval_of(x).dtype).astype(dtype)[()]
    return convert_element_type(x, dtype)


def safely(name: str, x: Any, dtype: Any) -> Any:
    """Convert a parameter to the dtype of the sample, to which it must promote.

    Raises:
      TypePromotionError: precision would be lost.
    """
    aval = aval_of(x)
    promoted, _ = promotion.promote(((aval.dtype, aval.weak_type), (dtype, False)))
    if promoted != dtype:
        raise problem(
            promotion.TypePromotionError,
            f"In arguments to {name}, cannot safely cast argument of type {aval.dtype}"
            f" to {dtype}",
            x,
            why="the sample's dtype is less precise than the parameter's.",
            tries=[f"convert the parameter: x.astype({dtype})", "a wider dtype"],
        )
    return as_dtype(x, dtype)


def placed(x: Any, out_sharding: Any, name: str) -> Any:
    """Apply `out_sharding` to a sample, unless it is None."""
    return apply_out_sharding(name, x, out_sharding)


# --------------------------------------------------------------------- the public samplers


def distribution(
    *, of: Callable[[str, Any], Any] = float_dtype, error_name: str | None = None
) -> Callable[[Any], Any]:
    """Return a decorator that makes a sampler of (key, *parameters, shape, dtype) public.

    The sampler runs as one compiled call.  It receives an opaque key, a shape of ints (or
    None, if that is the default), and the dtype that `of` returns; errors of `of` name the
    function `error_name`.  The result gets the sharding `out_sharding`.
    """

    def declare(fun: Any) -> Any:
        name = fun.__name__
        names = fun.__code__.co_varnames[: fun.__code__.co_argcount]
        defaults = dict(zip(names[::-1], fun.__defaults__[::-1], strict=False))
        min_args, max_args = len(names) - len(defaults), len(names)
        has_out_sharding = "out_sharding" in (fun.__kwdefaults__ or ())

        @functools.wraps(fun)
        def sample(key: Any, *rest: Any) -> Any:
            return fun(opaque(name, key)[0], *rest)

        compiled = composite(sample, static=("shape", "dtype"))

        def by_position(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            available, unset_names = {**defaults, **kwargs}, names[len(args) :]
            if len(args) > max_args or not kwargs.keys() <= {*unset_names} <= available.keys():
                fun(*args, **kwargs)  # raises Python's TypeError for the arguments
            return (*args, *map(available.__getitem__, unset_names))

        @functools.wraps(fun)
        def public(*args: Any, **kwargs: Any) -> Any:
            out_sharding = (
                kwargs.pop("out_sharding", None) if has_out_sharding and kwargs else None
            )
            # Most calls are positional and only need trailing defaults.
            if kwargs or not min_args <= len(args) <= max_args:
                args = by_position(args, kwargs)
            elif len(args) < max_args:
                args += fun.__defaults__[len(args) - max_args :]
            *rest, shape, dtype = args
            dtype = of(error_name or name, dtype)
            if shape is not None or defaults["shape"] is not None:
                shape = static_shape(shape, name)
            out = compiled(*rest, shape, dtype)
            return out if out_sharding is None else placed(out, out_sharding, name)

        return public

    return declare
