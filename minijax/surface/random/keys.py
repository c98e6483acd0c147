"""Creation of keys: from seeds, from raw words, from other keys.

A key determines a stream of random numbers.  Keys are immutable: `split` and `fold_in`
derive new keys, and each key should be used once.  `key` creates opaque keys, with the
implementation in the dtype; `PRNGKey` creates the older raw words.

Next: sampling.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import config
from ...control.calls.jit import composite
from ...ir import hooks
from ...ir.core import Tracer, aval_of
from ...prims.math.cast import convert_element_type
from ...prims.random.implementations import PRNGImpl, find_impl, impls
from ...prims.random.key_arrays import (
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
)
from ...runtime.arrays import transfers
from ...runtime.arrays.array import ArrayImpl
from ...types import dtypes
from .common import *

__all__ = (
    "key",
    "PRNGKey",
    "wrap_key_data",
    "key_data",
    "key_impl",
    "key_dtype",
    "split",
    "fold_in",
    "clone",
)

# -------------------------------------------------------------------------- from seeds


class PRNGSpec:
    """An implementation without a registered name."""

    __slots__ = ("_impl",)

    def __init__(self, impl: PRNGImpl) -> None:
        self._impl = impl

    def __repr__(self) -> str:
        return f"PRNGSpec({self._impl.name!r})"

    def __hash__(self) -> int:
        return hash(self._impl)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PRNGSpec) and other._impl is self._impl


def resolve(impl: Any) -> PRNGImpl:
    """Return the implementation of an `impl` argument."""
    return impl._impl if isinstance(impl, PRNGSpec) else find_impl(impl)


def _impl_of(impl: Any, dtype: Any, name: str) -> PRNGImpl:
    if impl is not None and dtype is not None:
        raise value_problem(
            f"Cannot specify both `impl` and `dtype` arguments to jax.random.{name}",
            why="a key dtype determines the implementation.",
            tries=["drop one of them"],
        )
    return resolve(dtype if impl is None else impl)


def _seed(seed: Any, name: str) -> Any:
    """Convert a seed to an integer value; Python ints modulo 2**32 (x64: 2**64)."""
    offset = config.SEED_OFFSET.value
    if type(seed) is int and not offset and -(2**31) <= seed < 2**31:
        return seed
    if is_key(seed):
        raise type_problem(
            f"{name} accepts a scalar seed, but was given a PRNG key.",
            seed,
            why="a key is not a number.",
            tries=["jax.random.split(key) or jax.random.fold_in(key, i)"],
        )
    if isinstance(seed, int):
        if not -(2**63) <= seed + offset < 2**63:
            raise problem(
                OverflowError,
                f"{name}: the seed {seed} is too large.",
                why="a seed has at most 64 bits.",
                tries=["seed % 2**63"],
            )
        seed = np.int64(int(seed) + offset)
        return seed if config.X64.value else seed.astype(np.int32)
    if seed is None:
        raise ValueError("None is not a valid value for a seed")
    if isinstance(seed, (list, tuple)):
        seed = np.asarray(seed)
    if isinstance(seed, (np.ndarray, np.generic)):
        seed = seed.astype(dtypes.canonical(seed.dtype))
    shape = aval_of(seed).shape
    if shape:
        raise type_problem(
            f"{name} accepts a scalar seed, but was given an array of shape"
            f" {shape} != (). Use jax.vmap for batching",
            seed,
            why="one call creates one key.",
            tries=[f"jax.vmap(jax.random.{name})(seeds)"],
        )
    return seed + offset if offset else seed


@composite(static=("impl",))
def _key(seed: Any, impl: PRNGImpl) -> Any:
    return random_seed_p.bind(seed, impl=impl)


@composite(static=("impl",))
def _key_words(seed: Any, impl: PRNGImpl) -> Any:
    return random_unwrap_p.bind(random_seed_p.bind(seed, impl=impl))


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Create an opaque random key from an integer seed.

    Args:
      seed: an int, or a scalar integer array.
      impl: the implementation: "threefry2x32", "rbg", "unsafe_rbg", "philox4x32" ...
        (default: jax_default_prng_impl).
      dtype: a key dtype, instead of `impl`.

    Returns:
      A scalar array of dtype `key<fry>`.

    Raises:
      TypeError: the seed is not a scalar integer.
      ValueError: the implementation is unknown.
      OverflowError: the seed needs more than 64 bits.

    Example:
      >>> import minijax as mj
      >>> mj.random.key(0)
      Array((), dtype=key<fry>) overlaying:
      [0 0]
    """
    return _key(_seed(seed, "key"), _impl_of(impl, dtype, "key"))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """Create a random key from an integer seed, as raw uint32 words (see `key`).

    Args:
      seed: an int, or a scalar integer array.
      impl: the implementation: "threefry2x32", "rbg", "unsafe_rbg", "philox4x32" ...
        (default: jax_default_prng_impl).

    Returns:
      A uint32 array of shape `(n,)`, n = 2 for the default implementation; with
      jax_enable_custom_prng an opaque key, as from `key`.

    Raises:
      TypeError: the seed is not a scalar integer.
      ValueError: the implementation is unknown.
      OverflowError: the seed needs more than 64 bits.

    Example:
      >>> import minijax as mj
      >>> mj.random.PRNGKey(42)
      Array([ 0, 42], dtype=uint32)
    """
    make = _key if config.CUSTOM_PRNG.value else _key_words
    return make(_seed(seed, "PRNGKey"), resolve(impl))


# ------------------------------------------------------------------- keys and their words


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Create opaque keys from uint32 words along the last axis.

    Args:
      key_bits_array: a uint32 array of shape `(..., n)`, n = 2 for threefry.
      impl: the implementation, as for `key`.
      dtype: a key dtype, instead of `impl`.

    Returns:
      An array of keys, of the shape of the words without the last axis.

    Raises:
      TypeError: the words have another dtype, or a wrong number per key.
      ValueError: both `impl` and `dtype` are given, or the implementation is unknown.

    Example:
      >>> import minijax as mj
      >>> mj.random.wrap_key_data(mj.random.PRNGKey(1)) == mj.random.key(1)
      Array(True, dtype=bool)
    """
    key_impl_ = _impl_of(impl, dtype, "wrap_key_data")
    check_words("wrap_key_data", key_bits_array)
    return random_wrap_p.bind(key_bits_array, impl=key_impl_)


def _typed(keys: Any, name: str) -> Any:
    """Convert keys of any shape to opaque keys."""
    if is_key(keys):
        return keys
    check_words(name, keys)
    return random_wrap_p.bind(keys, impl=find_impl(None))


def key_data(keys: Any) -> Any:
    """Return the raw words of keys, along a new last axis.

    Args:
      keys: an array of keys, of any shape; raw words are returned unchanged.

    Returns:
      A uint32 array of shape `(*keys.shape, n)`, n = 2 for threefry.

    Raises:
      TypeError: `keys` are not keys.

    Example:
      >>> import minijax as mj
      >>> mj.random.key_data(mj.random.key(7))
      Array([0, 7], dtype=uint32)
    """
    return random_unwrap_p.bind(_typed(keys, "key_data"))


def key_impl(keys: Any) -> Any:
    """Return the implementation of keys.

    Args:
      keys: an array of keys, of any shape, or words.

    Returns:
      A string, such as 'threefry2x32'; a `PRNGSpec` for an implementation without a
      registered name.

    Raises:
      TypeError: `keys` are not keys.

    Example:
      >>> import minijax as mj
      >>> mj.random.key_impl(mj.random.key(0))
      'threefry2x32'
    """
    impl: PRNGImpl = aval_of(_typed(keys, "key_impl")).dtype.impl  # type: ignore[union-attr]
    return impl.name if impls.get(impl.name) is impl else PRNGSpec(impl)


def key_dtype(impl_spec: Any = None) -> Any:
    """Return the key dtype of an implementation.

    Args:
      impl_spec: the name of an implementation, or a `PRNGSpec` (default:
        jax_default_prng_impl).

    Returns:
      A dtype such as `key<fry>`, the dtype of the results of `key`.

    Raises:
      ValueError: the implementation is unknown.

    Example:
      >>> import minijax as mj
      >>> mj.random.key_dtype('rbg')
      key<rbg>
    """
    return resolve(impl_spec).dtype


def _rebuild(words: np.ndarray[Any, Any], impl: str) -> Any:
    return wrap_key_data(transfers.put_numpy(words), impl=impl)


hooks.key_array.fill(_rebuild)


# -------------------------------------------------------------------------- from keys


@composite(static=("shape",))
def _split(key: Any, shape: tuple[int, ...]) -> Any:
    typed, wrapped = opaque("split", key)
    out = random_split_p.bind(typed, shape=shape)
    return random_unwrap_p.bind(out) if returns_words(wrapped) else out


def split(key: Any, num: Any = 2) -> Any:
    """Derive new keys, whose streams are independent of each other and of the old one.

    Args:
      key: one key.
      num: the number of keys, or a shape.

    Returns:
      Keys of shape (num,), opaque keys or raw words like `key`.

    Raises:
      ValueError: `key` is an array of several keys.
      TypeError: `key` is not a key, or `num` is not an integer.

    Example:
      >>> import minijax as mj
      >>> a, b = mj.random.split(mj.random.key(0))
      >>> mj.random.uniform(a)
      Array(0.8423141, dtype=float32)
    """
    if type(num) is int:
        return _split(key, (num,))
    return _split(key, static_shape(num, "split"))


@composite
def _fold_in(key: Any, data: Any) -> Any:
    typed, wrapped = opaque("fold_in", key)
    shape = aval_of(data).shape
    if shape:
        raise type_problem(
            f"fold_in accepts a scalar, but was given an array of shape {shape} != ()."
            " Use jax.vmap for batching.",
            data,
            why="one call creates one key.",
            tries=["jax.vmap(jax.random.fold_in, (None, 0))(key, data)"],
        )
    if aval_of(data).dtype != dtypes.uint32:
        data = convert_element_type(data, np.uint32)
    out = random_fold_in_p.bind(typed, data)
    return random_unwrap_p.bind(out) if returns_words(wrapped) else out


def fold_in(key: Any, data: Any) -> Any:
    """Derive a new key from a key and a number, such as a step, layer or device index.

    Args:
      key: one key.
      data: an int in [0, 2**32), or a scalar array, taken modulo 2**32.

    Returns:
      One key, opaque or raw words like `key`.

    Raises:
      OverflowError: `data` is a Python int out of range.
      TypeError: `data` is not a scalar, or `key` is not a key.
      ValueError: `data` is None, or `key` is an array of several keys.

    Example:
      >>> import minijax as mj
      >>> mj.random.key_data(mj.random.fold_in(mj.random.key(0), 1))
      Array([ 928981903, 3453687069], dtype=uint32)
    """
    if type(data) is int:
        if not 0 <= data < 2**32:
            raise problem(
                OverflowError,
                f"Python integer {data} out of bounds for uint32",
                why="fold_in uses 32 bits.",
                tries=["data % 2**32"],
            )
        data = np.uint32(data)
    elif data is None:
        raise ValueError("None is not a valid value for fold_in's data")
    elif isinstance(data, np.generic):
        data = data.astype(np.uint32)
    return _fold_in(key, data)


def clone(key: Any) -> Any:
    """Return the same key, marked as intended for reuse.

    Args:
      key: keys of any shape, opaque or raw words.

    Returns:
      An array of the same keys, opaque or raw words like `key`.

    Raises:
      TypeError: `key` is not an array.

    Example:
      >>> import minijax as mj
      >>> mj.random.clone(mj.random.PRNGKey(3))
      Array([0, 3], dtype=uint32)
    """
    if not is_key(key) and not isinstance(key, Tracer):
        return key if type(key) is ArrayImpl else transfers.put_numpy(np.asarray(key))
    return random_clone_p.bind(key)
