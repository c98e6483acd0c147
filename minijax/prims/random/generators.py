"""XLA's own random number generators.

`rng_bit_generator` maps a state to a new state and random bits, by an algorithm that each
platform chooses: it is fast, but its numbers differ between platforms.  `rng_uniform` draws
from a hidden state of the program.  minijax.random uses hashes.py instead, except for the
key implementations `rbg` and `unsafe_rbg` (implementations.py).
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ...ir import core
from ...ir.core import Primitive, unsupported
from ...passes.batch import lane_to_front
from ...types import dtypes
from ...types.avals import shaped
from .. import dtype_arguments
from ..elementwise import zero_jvp
from ..shape.concatenation import concatenate
from ..shape.shapes import check_sizes, expand_dims, int_tuple, type_problem, value_problem
from ..shape.slicing import index_in_dim, slice_in_dim
from ..sharding_specs import add_lane_to_sharding, canonicalize_out_sharding

__all__ = (
    "RandomAlgorithm",
    "rng_bit_generator_p",
    "rng_bit_generator",
    "rng_uniform_p",
    "rng_uniform",
)


class RandomAlgorithm(enum.IntEnum):
    """The algorithm of `rng_bit_generator`; RNG_DEFAULT is the platform's choice.

    >>> from minijax import lax
    >>> import minijax.numpy as jnp
    >>> key = jnp.zeros(4, 'uint32')
    >>> by = lax.RandomAlgorithm.RNG_THREE_FRY
    >>> lax.rng_bit_generator(key, (2,), algorithm=by)[1].shape
    (2,)
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


_ATTRIBUTES = {0: "DEFAULT", 1: "THREE_FRY", 2: "PHILOX"}

# ------------------------------------------------------------------- rng_bit_generator

rng_bit_generator_p = Primitive("rng_bit_generator", multiple_results=True)


def _generator_type(state, *, shape, dtype, algorithm, out_sharding) -> list[Any]:
    check_sizes("rng_bit_generator", "shape", shape)
    if (state.shape, state.dtype) not in _STATES:
        raise type_problem(
            f"rng_bit_generator: unsupported state {state.str_short(True)}.",
            state,
            why="The generators have 128 bits of state: u32[4] or u64[2].",
        )
    if not dtypes.is_unsigned(dtype) or dtype.itemsize * 8 not in (8, 16, 32, 64):
        raise type_problem(
            f"rng_bit_generator: unsupported dtype {dtype}",
            state,
            why="The generators return uint8, uint16, uint32 or uint64.",
            tries=["lax.bitcast_convert_type for other dtypes"],
        )
    bits = shaped(shape, dtype)
    if out_sharding is not None:
        bits = bits.update(explicit=out_sharding.to_explicit(len(shape)))
    return [state, bits]


_STATES = (((4,), dtypes.uint32), ((2,), dtypes.uint64))
rng_bit_generator_p.abstract = _generator_type
zero_jvp(rng_bit_generator_p)
rng_bit_generator_p.transpose = unsupported("random bits are not linear in any operand")


def _generator_batch(axis, args, dims, *, shape, out_sharding, **params):
    # As in JAX, the bits of all lanes come from the first lane's state.  The lanes' bits
    # differ, but they are not the bits of the other lanes' states.
    states = lane_to_front(args[0], axis, dims[0])
    first = index_in_dim(states, 0, keepdims=False)
    params["out_sharding"] = add_lane_to_sharding(axis, out_sharding, 0)
    new, bits = rng_bit_generator_p.bind(first, shape=(axis.size, *shape), **params)
    new = concatenate([expand_dims(new, (0,)), slice_in_dim(states, 1, None)], 0)
    return [new, bits], 0


rng_bit_generator_p.batch = _generator_batch


def _generator_lower(ctx, state, *, shape, dtype, algorithm, out_sharding) -> list[Any]:
    new, bits = ctx.avals_out
    is_u32 = new.dtype == dtypes.uint32
    words = shaped((2,), dtypes.uint64)
    if is_u32:
        pairs = shaped((2, 2), dtypes.uint32)
        state = ctx.op("bitcast_convert", words, ctx.op("reshape", pairs, state))
    name = _ATTRIBUTES[int(algorithm)]
    out = ctx.create(
        "stablehlo.rng_bit_generator",
        [ctx.type(words), ctx.type(bits)],
        [state],
        rng_algorithm=ctx.parse(f"#stablehlo<rng_algorithm {name}>"),
    )
    state, value = out.results
    if is_u32:
        state = ctx.op("reshape", new, ctx.op("bitcast_convert", pairs, state))
    return [state, value]


rng_bit_generator_p.lower = _generator_lower


def rng_bit_generator(
    key: Any,
    shape: Any,
    dtype: Any = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Any, Any]:
    """Generate random bits by the platform's generator.

    Args:
      key: the state, uint32[4] or uint64[2].
      shape: the shape of the bits.
      dtype: uint8, uint16, uint32 or uint64.
      algorithm: a `RandomAlgorithm`.
      out_sharding: the sharding of the bits (None: the compiler's choice).

    Returns:
      (the new state, of `key`'s shape and dtype; the bits, of this shape and dtype).

    Raises:
      TypeError: the state or the dtype is not one of these.

    Example:
      >>> import numpy as np
      >>> state, bits = rng_bit_generator(np.arange(4, dtype=np.uint32), (3,))
      >>> bits.shape
      (3,)
    """
    new, bits = rng_bit_generator_p.bind(
        key,
        shape=int_tuple(shape, "shape"),
        dtype=dtype_arguments.requested_dtype(dtype, "rng_bit_generator"),
        algorithm=RandomAlgorithm(algorithm),
        out_sharding=canonicalize_out_sharding("rng_bit_generator", out_sharding),
    )
    return new, bits


# ------------------------------------------------------------------------- rng_uniform

rng_uniform_p = Primitive("rng_uniform")


def _uniform_type(low: Any, high: Any, *, shape: Any) -> Any:
    if low.dtype != high.dtype:
        names = f"{low.dtype.name} and {high.dtype.name}"
        raise value_problem(
            f"Arguments to rng_uniform must have identical dtypes, got {names}.",
            low,
            high,
            why="lax functions do not promote.",
        )
    if low.shape or high.shape:
        raise value_problem(
            "Arguments to rng_uniform must be scalars; got shapes"
            f" {low.shape} and {high.shape}.",
            low,
            high,
            why="All numbers are drawn from one range.",
        )
    if low.dtype not in _UNIFORM_DTYPES:
        raise type_problem(
            f"rng_uniform does not accept dtype {low.dtype}.",
            low,
            high,
            why="XLA draws floats of 16 bits or more, and integers of 32 and 64 bits.",
            tries=["minijax.random.randint, or .uniform"],
        )
    return shaped(shape, low.dtype)


_UNIFORM_DTYPES = (
    dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32,
    dtypes.int64, dtypes.uint32, dtypes.uint64,
)  # fmt: skip  # for others XLA aborts the process


def _uniform_lower(ctx: Any, low: Any, high: Any, *, shape: Any) -> Any:
    sizes = ctx.constant(np.array(shape, np.int64), shaped((len(shape),), dtypes.int64))
    kind = ctx.parse("#stablehlo<rng_distribution UNIFORM>")
    return ctx.op("rng", ctx.avals_out[0], low, high, sizes, rng_distribution=kind)


rng_uniform_p.abstract = _uniform_type
zero_jvp(rng_uniform_p)
rng_uniform_p.transpose = unsupported("random numbers are not linear in any operand")
rng_uniform_p.batch = unsupported("rng_uniform draws from a hidden state: no lanes")
rng_uniform_p.lower = _uniform_lower


def rng_uniform(a: Any, b: Any, shape: Any) -> Any:
    """Draw numbers from [a, b) by the platform's generator, which has a hidden state.

    The numbers are not reproducible; those of `minijax.random` are.

    Args:
      a, b: the bounds, scalars of one dtype: floats of 16 bits or more, or integers of
        32 or 64.
      shape: the shape of the result.

    Returns:
      An array of this shape and of the bounds' dtype.

    Raises:
      ValueError: the bounds are not scalars of one dtype.
      TypeError: the dtype is not one of these.

    Example:
      >>> rng_uniform(0., 1., (2,)).shape
      (2,)
    """
    low, high = core.aval_of(a), core.aval_of(b)
    _uniform_type(low, high, shape=())
    return rng_uniform_p.bind(a, b, shape=int_tuple(shape, "shape"))
