"""Implementations of random keys: from the words of a key to bits.

A `PRNGImpl` defines how to create a key of `key_shape` words from a seed, split it, fold a
number into it, and generate bits from it.  Its functions take and return uint32 arrays for
ONE key; key_arrays.py extends them to arrays of keys.

`threefry2x32` (the default), `threefry4x32`, `philox2x32` and `philox4x32` hash counters
(hashes.py): bit i of the stream depends only on the key and i, so devices can generate
shards of an array independently.  `rbg` and `unsafe_rbg` use the platform's generator
(generators.py); `unsafe_rbg` also splits with it, without a guarantee of quality.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...base import config, errors
from ...ir import core
from ...ir.core import Primitive
from ...symbolic.dims import SymbolicDim, exceeds
from ...types import dtypes
from ...types.avals import shaped
from ..math.algebraic import add, mul
from ..math.cast import bitcast_convert_type_p, convert_element_type_p
from ..math.logic import bitwise_or, bitwise_xor, shift_left, shift_right_logical
from ..shape.concatenation import concatenate
from ..shape.creation import iota_p, zero_array
from ..shape.shapes import expand_dims, reshape
from ..shape.slicing import index_in_dim, slice_in_dim
from .generators import RandomAlgorithm, rng_bit_generator_p
from .hashes import philox2x32_p, philox4x32_p, threefry2x32_p, threefry4x32_p


class PRNGImpl:
    """An implementation of random keys.

    seed(seed) -> key; split(key, shape) -> keys; random_bits(key, bit_width, shape) ->
    bits; fold_in(key, data) -> key: all on uint32 arrays, `seed` and `data` scalars.
    """

    __slots__ = (
        "__weakref__",
        "dtype",
        "fold_in",
        "key_shape",
        "name",
        "random_bits",
        "seed",
        "split",
        "tag",
    )

    def __init__(
        self,
        key_shape: Sequence[int],
        seed: Callable[..., Any],
        split: Callable[..., Any],
        random_bits: Callable[..., Any],
        fold_in: Callable[..., Any],
        name: str = "<unnamed>",
        tag: str = "?",
    ) -> None:
        self.key_shape = tuple(key_shape)
        self.seed = seed
        self.split = split
        self.random_bits = random_bits
        self.fold_in = fold_in
        self.name = name
        self.tag = tag
        self.dtype = dtypes.KeyTy(self)

    def _fields(self) -> tuple[Any, ...]:
        return (
            self.key_shape,
            self.seed,
            self.split,
            self.random_bits,
            self.fold_in,
            self.name,
            self.tag,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PRNGImpl) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((self.name, self.tag, self.key_shape))

    def __reduce__(self) -> Any:
        if impls.get(self.name) is self:  # its functions may not be picklable
            return find_impl, (self.name,)
        return PRNGImpl, self._fields()

    def __str__(self) -> str:
        return self.tag

    def __repr__(self) -> str:
        return f"PRNGImpl(name={self.name!r}, key_shape={self.key_shape}, tag={self.tag!r})"


impls: dict[str, PRNGImpl] = {}


def register(impl: PRNGImpl) -> PRNGImpl:
    """Register an implementation under its name."""
    if impl.name in impls:
        raise ValueError(f"PRNG with name {impl.name} already registered: {impl!r}")
    impls[impl.name] = impl
    return impl


def find_impl(spec: Any) -> PRNGImpl:
    """Return the implementation for a name, a key dtype, or None (the default)."""
    if spec is None:
        spec = config.PRNG_IMPL.value
    if isinstance(spec, str):
        if spec in impls:
            return impls[spec]
        raise errors.value_error(
            f'unrecognized PRNG implementation "{spec}".',
            why="No implementation has this name.",
            tries=[f"one of {', '.join(map(repr, impls))}"],
        )
    if isinstance(spec, PRNGImpl):
        return spec
    if isinstance(spec, dtypes.KeyTy):
        return spec.impl
    raise errors.type_error(
        f"unrecognized type {type(spec)} for specifying PRNG implementation.",
        why="An implementation is specified by its name or the result of key_impl.",
        tries=["impl='threefry2x32'"],
    )


# --------------------------------------------------------------------- words and counts


def words_of(key: Any) -> list[Any]:
    """Return the scalar words of a key."""
    (n,) = core.aval_of(key).shape
    return [index_in_dim(key, i, keepdims=False) for i in range(n)]


def stacked(words: Sequence[Any]) -> Any:
    """Stack words along a new last axis."""
    axis = len(core.aval_of(words[0]).shape)
    return concatenate([expand_dims(w, (axis,)) for w in words], axis)


def to_uint(x: Any, dtype: Any) -> Any:
    """Convert integers to an unsigned dtype, modulo 2**bits (also 64 bits without x64)."""
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False, sharding=None)


def counters(shape: Sequence[int], wide: bool | None = None) -> tuple[Any, Any]:
    """Return the row-major position of each element: its high and its low 32 bits.

    It is a sum over axes, not a flat count, so that each device can count its own shard.
    `wide`: whether to count in 64 bits, necessary above 2**32 elements.
    """
    if wide is None:
        wide = exceeds(prod(shape), 2**32)
    dtype = dtypes.uint64 if wide else dtypes.uint32
    position: Any = None
    stride = 1
    for axis in reversed(range(len(shape))):
        if shape[axis] != 1:
            step = iota_p.bind(dtype=dtype, shape=tuple(shape), dimension=axis, sharding=None)
            if stride != 1:
                step = mul(step, _stride(stride, dtype))
            position = step if position is None else add(position, step)
        stride *= shape[axis]
    if position is None:
        return np.uint32(0), zero_array(shaped(tuple(shape), dtypes.uint32))
    if not wide:
        return np.uint32(0), position
    high = shift_right_logical(position, np.uint64(32))
    return to_uint(high, dtypes.uint32), to_uint(position, dtypes.uint32)


def _stride(stride: Any, dtype: Any) -> Any:
    if isinstance(stride, SymbolicDim):
        return to_uint(stride.dimension_as_value(), dtype)
    return dtype.type(stride)


def seed_words(seed: Any) -> tuple[Any, Any]:
    """Return the high and the low 32 bits of an integer seed."""
    low = to_uint(seed, dtypes.uint32)
    dtype = core.aval_of(seed).dtype
    if dtype.itemsize < 8:
        return np.uint32(0), low
    high = shift_right_logical(seed, dtype.type(32))
    return to_uint(high, dtypes.uint32), low


def as_width(words: Sequence[Any], bit_width: int) -> Any:
    """Combine hashed words to numbers of `bit_width` bits: two for 64, otherwise all."""
    if bit_width == 64:
        high, low = (to_uint(w, dtypes.uint64) for w in words[:2])
        return bitwise_or(shift_left(high, np.uint64(32)), low)
    mixed = words[0]
    for w in words[1:]:
        mixed = bitwise_xor(mixed, w)
    return mixed if bit_width == 32 else to_uint(mixed, uint_of(bit_width))


def uint_of(bit_width: int) -> Any:
    """Return the unsigned dtype of 8, 16, 32 or 64 bits."""
    return np.dtype(f"uint{bit_width}")


# ---------------------------------------------------------------------- counter hashes


def hash_impl(
    name: str,
    tag: str,
    prim: Primitive,
    key_words: int,
    words: int,
    seed: Callable[..., Any],
    fold_64: bool = False,
) -> PRNGImpl:
    """Return the implementation by a counter hash of `key_words` and `words` words.

    The first two words of the counter count elements of bits.  The last two count the children
    of a key (by split or fold_in), which are the first words of the hash.
    """
    rest = [np.uint32(0)] * (words - 2)

    def children(key: Any, high: Any, low: Any) -> Any:
        return stacked(prim.bind(*words_of(key), *rest, high, low)[:key_words])

    def split(key: Any, shape: Any) -> Any:
        return children(key, *counters(shape))

    def fold_in(key: Any, data: Any) -> Any:
        return children(key, np.uint32(0), data)

    def random_bits(key: Any, bit_width: int, shape: Any) -> Any:
        out = prim.bind(*words_of(key), *counters(shape), *rest)
        if fold_64 and bit_width == 64:
            out = [bitwise_xor(x, y) for x, y in zip(out[:2], out[2:], strict=True)]
        return as_width(out, bit_width)

    return PRNGImpl((key_words,), seed, split, random_bits, fold_in, name, tag)


def _seed_threefry2x32(seed: Any) -> Any:
    return stacked(seed_words(seed))


def _seed_threefry4x32(seed: Any) -> Any:
    zeros = [np.uint32(0)] * 6
    return stacked(threefry4x32_p.bind(*seed_words(seed), *zeros))


def _seed_philox2x32(seed: Any) -> Any:
    return stacked(philox2x32_p.bind(np.uint32(0), *seed_words(seed))[:1])


def _seed_philox4x32(seed: Any) -> Any:
    zeros = [np.uint32(0)] * 2
    return stacked(philox4x32_p.bind(*zeros, *seed_words(seed), *zeros)[:2])


threefry4x32 = register(
    hash_impl("threefry4x32", "fry4", threefry4x32_p, 4, 4, _seed_threefry4x32, True)
)
philox2x32 = register(hash_impl("philox2x32", "phx2", philox2x32_p, 1, 2, _seed_philox2x32))
philox4x32 = register(hash_impl("philox4x32", "phx4", philox4x32_p, 2, 4, _seed_philox4x32))

# ---------------------------------------------------------------- threefry2x32
# With jax_threefry_partitionable=False it has a second, older stream: element i and element
# i + n/2 of n words share one hash, so devices cannot generate shards independently.

_partitionable = hash_impl("threefry2x32", "fry", threefry2x32_p, 2, 2, _seed_threefry2x32)


def threefry_2x32(keypair: Any, count: Any) -> Any:
    """Hash an array of counts in pairs, the first half with the second.

    Args:
      keypair: uint32[2], or two numbers.
      count: uint32 array of any shape.

    >>> import numpy as np
    >>> threefry_2x32(np.array([0, 1], np.uint32), np.arange(3, dtype=np.uint32)).shape
    (3,)
    """
    pair = keypair if isinstance(keypair, (tuple, list)) else words_of(keypair)
    shape = core.aval_of(count).shape
    size = prod(shape)
    flat = reshape(count, (size,))
    if size % 2:
        flat = concatenate([flat, np.zeros(1, np.uint32)], 0)
    half = (size + 1) // 2
    first, second = slice_in_dim(flat, 0, half), slice_in_dim(flat, half, None)
    out = concatenate(threefry2x32_p.bind(*pair, first, second), 0)
    return reshape(slice_in_dim(out, 0, size), shape)


def _paired_counts(key: Any, size: int) -> Any:
    """Return `size` words of the older stream."""
    limit = 2**32 - 1
    if size < limit:
        return threefry_2x32(key, _arange(size))
    # 32 bits cannot count all words: each run of 2**32 - 1 words has its own key.
    keys = _paired_split(key, (size // limit + 1,))
    runs = [
        threefry_2x32(
            index_in_dim(keys, i, keepdims=False), _arange(min(limit, size - i * limit))
        )
        for i in range(size // limit + 1)
    ]
    return concatenate(runs, 0)


def _arange(size: int) -> Any:
    return iota_p.bind(dtype=dtypes.uint32, shape=(size,), dimension=0, sharding=None)


def _paired_split(key: Any, shape: Any) -> Any:
    return reshape(threefry_2x32(key, _arange(2 * prod(shape))), (*shape, 2))


def _paired_bits(key: Any, bit_width: int, shape: Any) -> Any:
    size = prod(shape)
    words = _paired_counts(key, -(-size * bit_width // 32))
    if bit_width == 64:
        halves = slice_in_dim(words, 0, size), slice_in_dim(words, size, None)
        words = as_width(halves, 64)
    elif bit_width < 32:
        narrow_words = bitcast_convert_type_p.bind(words, new_dtype=uint_of(bit_width))
        flat = reshape(narrow_words, (prod(core.aval_of(narrow_words).shape),))
        words = slice_in_dim(flat, 0, size)
    return reshape(words, shape)


def _split_threefry2x32(key: Any, shape: Any) -> Any:
    if config.THREEFRY_PARTITIONABLE.value:
        return _partitionable.split(key, shape)
    return _paired_split(key, shape)


def _bits_threefry2x32(key: Any, bit_width: int, shape: Any) -> Any:
    if config.THREEFRY_PARTITIONABLE.value:
        return _partitionable.random_bits(key, bit_width, shape)
    return _paired_bits(key, bit_width, shape)


threefry2x32 = register(
    PRNGImpl(
        (2,),
        _seed_threefry2x32,
        _split_threefry2x32,
        _bits_threefry2x32,
        _partitionable.fold_in,
        "threefry2x32",
        "fry",
    )
)

# ------------------------------------------------------------------ rbg and unsafe_rbg
# A key is 128 bits of state; for rbg, two keys of threefry2x32.


def _generate(key: Any, shape: Any, dtype: Any) -> Any:
    return rng_bit_generator_p.bind(
        key,
        shape=tuple(shape),
        dtype=dtype,
        algorithm=RandomAlgorithm.RNG_DEFAULT,
        out_sharding=None,
    )[1]


def _seed_rbg(seed: Any) -> Any:
    return stacked([*seed_words(seed)] * 2)


def _bits_rbg(key: Any, bit_width: int, shape: Any) -> Any:
    return _generate(key, shape, uint_of(bit_width))


def _halves(key: Any) -> list[Any]:
    return [slice_in_dim(key, 0, 2), slice_in_dim(key, 2, None)]


def _split_rbg(key: Any, shape: Any) -> Any:
    keys = [threefry2x32.split(half, shape) for half in _halves(key)]
    return concatenate(keys, len(shape))


def _fold_in_rbg(key: Any, data: Any) -> Any:
    return concatenate([threefry2x32.fold_in(half, data) for half in _halves(key)], 0)


_STRIDE = 10  # every tenth row of bits is a key, as in JAX


def _split_unsafe(key: Any, shape: Any) -> Any:
    bits = _generate(key, (_STRIDE * prod(shape), 4), dtypes.uint32)
    return reshape(slice_in_dim(bits, 0, None, _STRIDE), (*shape, 4))


def _fold_in_unsafe(key: Any, data: Any) -> Any:
    bits = _generate(_seed_rbg(data), (_STRIDE, 4), dtypes.uint32)
    return bitwise_xor(key, index_in_dim(bits, -1, keepdims=False))


rbg = register(PRNGImpl((4,), _seed_rbg, _split_rbg, _bits_rbg, _fold_in_rbg, "rbg", "rbg"))
unsafe_rbg = register(
    PRNGImpl((4,), _seed_rbg, _split_unsafe, _bits_rbg, _fold_in_unsafe, "unsafe_rbg", "urbg")
)
