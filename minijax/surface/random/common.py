"""What functions of minijax.random share: keys, dtypes and shapes of their arguments.

Every sampler takes one key: an opaque one (`key`), or the older uint32 words
(`PRNGKey`), which `opaque` wraps.  Samplers come in pairs: the public function, which
puts its arguments into hashable form, and a `composite` of the same name with an
underscore, one compiled call when evaluated.

This room knows no distribution.  Next: keys.py.
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
from ...prims.math.cast import convert_element_type
from ...prims.random.implementations import find_impl
from ...prims.random.key_arrays import random_wrap_p
from ...prims.reshard import apply_out_sharding
from ...prims.shape.shapes import broadcast_in_dim
from ...runtime.arrays.array import ArrayImpl, KeyArray
from ...types import dtypes
from ...types.symbolic_dims import broadcast_sizes, index_of

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
    """An error in the house's form."""
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
    """The key that a sampler was given, and whether it came as words.

    Raises:
      TypeError: no key.  ValueError: several keys.
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
            why="which element should get which key would be a guess.",
            tries=[f"jax.vmap(lambda k: jax.random.{name}(k, ...))(keys)"],
        )
    return typed, wrapped


def _report_legacy_key(words: Any) -> None:
    """What `jax_legacy_prng_key` does where a random function is given a key's words."""
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
    """TypeError for what is no array at all; random_wrap judges arrays."""
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
    """Whether new keys are handed out as words, as the given one was."""
    return wrapped and not config.CUSTOM_PRNG.value


def check_arrays(name: str, *xs: Any) -> None:
    """TypeError for operands that are no arrays and no numbers."""
    for i, x in enumerate(xs):
        if not core.is_value(x):
            raise type_problem(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position {i}.",
                why="lists, tuples and objects are not converted silently.",
                tries=["jnp.asarray(...) around it"],
            )


# ------------------------------------------------------------------- shapes and dtypes


def static_shape(shape: Any, name: str = "shape") -> tuple[int, ...]:
    """A shape argument as a tuple of ints (an int stands for one axis)."""
    if type(shape) is tuple:
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
            why=f"{name} needs to know how much to draw.",
            tries=[
                "If using `jit`, try using `static_argnums` or applying `jit` to smaller"
                " subfunctions."
                if traced
                else "a tuple of Python ints"
            ],
        ) from None


def float_dtype(name: str, dtype: Any) -> Any:
    """The dtype of a sampler's result, a float one; by default that of Python floats."""
    if dtype is None:
        return dtypes.float_default()
    return checked_dtype(name, dtype, dtypes.is_float, "a float dtype")


def checked_dtype(name: str, dtype: Any, accepts: Any, kind: str) -> Any:
    """A user's dtype as it means now; ValueError unless `accepts` it."""
    canonical = dtypes.requested_dtype(dtype, name)
    if not accepts(canonical):
        raise value_problem(
            f"dtype argument to `{name}` must be {kind}, got {canonical}",
            why="the distribution has no other values.",
            tries=["leave dtype out, and convert the result with .astype"],
        )
    return canonical


def inexact_dtype(name: str, dtype: Any) -> Any:
    """A sampler's dtype, a float or complex one; the default float where none is asked.

    Raises:
      ValueError: it is neither.
    """
    if dtype is None:
        return dtypes.float_default()
    return checked_dtype(name, dtype, dtypes.is_inexact, "a float or complex dtype")


def shape_of_all(name: str, shape: Any, *params: Any) -> tuple[int, ...]:
    """The shape of a sample with these parameters: `shape`, or theirs together.

    Raises:
      ValueError: the parameters do not broadcast, or not to `shape`.
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
            why="each parameter must be one number for each element drawn.",
            tries=["leave shape out"],
        )
    return shape


def broadcast_shapes(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that shapes broadcast to."""
    try:
        return broadcast_sizes(*shapes)
    except ValueError:
        raise problem(
            errors.ShapeError,
            f"Incompatible shapes for broadcasting: shapes={list(shapes)}",
            why=f"the arguments of {name} do not line up.",
            tries=["x[:, None] or jnp.expand_dims to align the axes"],
        ) from None


def align_to_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """A parameter lined up with `shape`: scalars as they are, ones for missing axes."""
    old = aval_of(x).shape
    if not old or len(old) >= len(shape):
        return x
    missing = len(shape) - len(old)
    dims = tuple(range(missing, len(shape)))
    return broadcast_in_dim(x, (1,) * missing + old, dims)


def repeated(x: Any, shape: tuple[int, ...]) -> Any:
    """A parameter repeated to the whole of `shape`."""
    old = aval_of(x).shape
    if old == shape:
        return x
    return broadcast_in_dim(x, shape, tuple(range(len(shape) - len(old), len(shape))))


def as_dtype(x: Any, dtype: Any) -> Any:
    """A parameter in the dtype of the sample; a host number stays a literal."""
    if isinstance(x, (bool, int, float, np.ndarray, np.generic)) and not np.ndim(x):
        # In two steps, as the value of an argument of a compiled function takes them.
        return np.asarray(x, aval_of(x).dtype).astype(dtype)[()]
    return convert_element_type(x, dtype)


def safely(name: str, x: Any, dtype: Any) -> Any:
    """A parameter in the dtype of the sample, to which it must promote.

    Raises:
      TypePromotionError: precision would be lost.
    """
    aval = aval_of(x)
    joined, _ = dtypes.promote(((aval.dtype, aval.weak_type), (dtype, False)))
    if joined != dtype:
        raise problem(
            dtypes.TypePromotionError,
            f"In arguments to {name}, cannot safely cast argument of type {aval.dtype}"
            f" to {dtype}",
            x,
            why="the sample's dtype holds less than the parameter's.",
            tries=[f"convert the parameter: x.astype({dtype})", "a wider dtype"],
        )
    return as_dtype(x, dtype)


def placed(x: Any, out_sharding: Any, name: str) -> Any:
    """A sample laid out as `out_sharding` says (None: anywhere)."""
    return apply_out_sharding(name, x, out_sharding)


# --------------------------------------------------------------------- the public samplers


def distribution(
    *, of: Callable[[str, Any], Any] = float_dtype, error_name: str | None = None
) -> Callable[[Any], Any]:
    """Make a sampler of (key, *parameters, shape, dtype) a public function.

    It runs as one compiled call, and is handed an opaque key, a shape of ints (or None,
    where that is the default) and a dtype as `of` finds it, which calls the function
    `error_name`.  The result goes where the caller's `out_sharding` says.
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
                fun(*args, **kwargs)  # says what is missing, or too much
            return (*args, *map(available.__getitem__, unset_names))

        @functools.wraps(fun)
        def public(*args: Any, **kwargs: Any) -> Any:
            out_sharding = (
                kwargs.pop("out_sharding", None) if has_out_sharding and kwargs else None
            )
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
