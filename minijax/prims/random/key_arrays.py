"""Random keys as arrays, and the primitives on them.

A key array has an opaque element type such as `key<fry>`, stored as uint32 words in trailing
axes.  Keys are created from seeds (`random_seed`) or words (`random_wrap`), derived from keys
(`random_split`, `random_fold_in`), and consumed for bits (`random_bits`).  implementations.py
defines these operations for one key.  This file extends them to arrays of keys, traces them
once per type, and lowers them as functions.

surface/random/ defines distributions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...base import config, util
from ...ir import core, hooks
from ...ir.core import ByPlatform, Primitive, unsupported
from ...ir.facts import CONSUMES, MAKES, READS, SPLITS, Facts
from ...ir.jaxpr import ClosedJaxpr
from ...passes.batch import Axis, batch_flat, lane_to_front, no_name
from ...passes.stage import stage_closed
from ...runtime.arrays.array import ArrayImpl, base_array, under_key
from ...runtime.arrays.transfers import put_numpy
from ...runtime.lowering import context
from ...runtime.running import dispatch
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import batch_elementwise, broadcast_shape, zero_jvp
from ..shape.shapes import broadcast_in_dim, check_sizes, lane_first, reshape, type_problem
from ..sharding_specs import elementwise_specs, first_operand_specs
from .implementations import PRNGImpl, uint_of

# ----------------------------------------------------------- one key -> arrays of keys


def map_keys(fun: Callable[..., Any], batch_shape: Sequence[int], *xs: Any) -> Any:
    """Apply `fun` at every index of the batch axes, which all arrays have."""
    if not batch_shape:
        return fun(*xs)
    size = prod(batch_shape)
    flat = [reshape(x, (size, *core.aval_of(x).shape[len(batch_shape) :])) for x in xs]
    (out,), (dim,) = batch_flat(
        lambda *lanes: [fun(*lanes)], Axis(no_name, size), flat, [0] * len(flat)
    )
    out = lane_to_front(out, size, dim)
    return reshape(out, (*batch_shape, *core.aval_of(out).shape[1:]))


@util.cached(2048, core.tracing_context)
def _lowering_jaxpr(
    fun: Callable[..., Any],
    impl: PRNGImpl,
    batch_shape: tuple[int, ...],
    avals: tuple[Any, ...],
    params: tuple[tuple[str, Any], ...],
) -> ClosedJaxpr:
    """Return the jaxpr of `fun` on the words of key arrays of shape `batch_shape`."""
    return stage_closed(
        lambda *xs: [fun(impl, batch_shape, *xs, **dict(params))], avals, text="lowering"
    )


def lowering(
    prim: Primitive, fun: Callable[..., Any], elementwise: bool = True
) -> Callable[..., Any]:
    """Return a rule that lowers `prim` as a function.

    The function is fun(impl, batch_shape, *numbers, **params).  `numbers` are the operands,
    keys as words.  `batch_shape` is the common shape of the operands or, if `prim` is not
    elementwise, the shape of the keys.
    """

    def rule(ctx, *operands, impl=None, partitionable=None, **params):
        keys = ctx.avals_in[0]
        avals = tuple([context.physical(a) for a in ctx.avals_in])
        batch_shape = broadcast_shape(prim.name, ctx.avals_in) if elementwise else keys.shape
        impl = impl or keys.dtype.impl
        option = config.THREEFRY_PARTITIONABLE
        with option(option.value if partitionable is None else partitionable):
            closed = _lowering_jaxpr(fun, impl, batch_shape, avals, tuple(params.items()))
            return ctx.call(closed, prim.name, operands)[0]

    return rule


def set_lowering(prim: Primitive, fun: Callable[..., Any], elementwise: bool = True) -> None:
    """Set the lowering of `prim` to a function, on all platforms."""
    prim.lower = lowering(prim, fun, elementwise)


def add_barrier_on_cpu(prim: Primitive) -> None:
    """Emit a barrier after small key arrays on CPUs, so that they are computed once.

    Otherwise the CPU compiler emits the hash again for each use of a word, with hashes nested
    in hashes.  Programs that derive keys from keys would compile several times slower.
    """
    emit = prim.lower

    def rule(ctx: Any, *operands: Any, **params: Any) -> Any:
        (aval,) = ctx.avals_out
        out = emit(ctx, *operands, **params)
        many = isinstance(aval.size, SymbolicDim) or aval.size > 64
        return out if many else ctx.op("optimization_barrier", aval, out)

    prim.lower = ByPlatform(emit, cpu=rule)


def evaluate_by_setting(prim: Primitive) -> None:
    """Evaluate `prim` by a program for the current `jax_threefry_partitionable`."""

    def impl(*args: Any, **params: Any) -> Any:
        # A param, because eager programs are cached by primitive, types and params.
        setting = config.THREEFRY_PARTITIONABLE.value
        return dispatch.run(prim, args, {**params, "partitionable": setting})

    prim.impl = impl


def no_transpose(prim: Primitive) -> None:
    """Set a transpose rule that raises: keys have no cotangents."""
    prim.transpose = unsupported(f"{prim} is not linear: random keys have no tangents")


def check_keys(name: str, keys: Any) -> None:
    """Raise TypeError unless the aval is a key array."""
    if not isinstance(keys.dtype, dtypes.KeyTy):
        raise type_problem(
            f"{name} requires a PRNG key array, got dtype {keys.dtype}.",
            keys,
            why="Random bits are generated from keys.",
            tries=["jax.random.key(seed)", "jax.random.wrap_key_data(words)"],
        )


# ------------------------------------------------------------------------- random_seed

random_seed_p = Primitive("random_seed")
random_seed_p.def_sharding(specs=first_operand_specs)


def _seed_type(seeds: Any, *, impl: PRNGImpl) -> Any:
    if not dtypes.is_integer(seeds.dtype):
        raise type_problem(
            f"PRNG key seed must be an integer; got {seeds.str_short(True)}.",
            seeds,
            why="A seed is an integer.",
            tries=["int(seed)"],
        )
    return shaped(seeds.shape, impl.dtype)


def _seed_batch(axis: Any, args: Any, dims: Any, *, impl: PRNGImpl) -> Any:
    return random_seed_p.bind(args[0], impl=impl), dims[0]


random_seed_p.abstract = _seed_type
zero_jvp(random_seed_p)
no_transpose(random_seed_p)
random_seed_p.batch = _seed_batch
random_seed_p.facts = Facts(uses_keys=MAKES, lowers_key_arrays=True)
set_lowering(
    random_seed_p, lambda impl, batch_shape, seeds: map_keys(impl.seed, batch_shape, seeds)
)


def random_seed(seeds: Any, impl: PRNGImpl) -> Any:
    """Return one key for each of an array of integers."""
    return random_seed_p.bind(seeds, impl=impl)


# ------------------------------------------------------------------------ random_split

random_split_p = Primitive("random_split")
random_split_p.def_sharding(specs=first_operand_specs)


def _split_type(keys: Any, *, shape: Any, partitionable: Any = None) -> Any:
    check_keys("random_split", keys)
    check_sizes("split", "shape", shape)
    return shaped((*keys.shape, *shape), keys.dtype)


def _front_batch(prim: Primitive) -> Callable[..., Any]:
    """Return the batch rule of a primitive that adds axes after the axes of the keys."""

    def batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
        return prim.bind(lane_first(args[0], dims[0]), **params), 0

    return batch


def _split_lanes(impl: PRNGImpl, batch_shape: Any, keys: Any, *, shape: Any) -> Any:
    return map_keys(lambda key: impl.split(key, shape), batch_shape, keys)


random_split_p.abstract = _split_type
zero_jvp(random_split_p)
no_transpose(random_split_p)
random_split_p.batch = _front_batch(random_split_p)
random_split_p.facts = Facts(uses_keys=SPLITS, lowers_key_arrays=True)
set_lowering(random_split_p, _split_lanes)
add_barrier_on_cpu(random_split_p)
evaluate_by_setting(random_split_p)


def random_split(keys: Any, shape: tuple[int, ...]) -> Any:
    """Derive new keys from each key, along new last axes `shape`."""
    return random_split_p.bind(keys, shape=shape)


# ---------------------------------------------------------------------- random_fold_in

random_fold_in_p = Primitive("random_fold_in")
random_fold_in_p.def_sharding(specs=elementwise_specs("random_fold_in"))


def _fold_type(keys: Any, data: Any) -> Any:
    check_keys("random_fold_in", keys)
    if data.dtype != dtypes.uint32:
        raise type_problem(
            f"random_fold_in requires uint32 data, got {data.dtype}.",
            keys,
            data,
            why="A number of 32 bits is folded into a key.",
        )
    return shaped(broadcast_shape("random_fold_in", (keys, data)), keys.dtype)


def _broadcast_words(x: Any, batch_shape: Sequence[int], trailing: int) -> Any:
    """Broadcast numbers with `trailing` trailing axes per element to `batch_shape`."""
    shape = core.aval_of(x).shape
    tail = shape[len(shape) - trailing :]
    full_shape = (*batch_shape, *tail)
    if shape == full_shape:
        return x
    first = 0 if len(shape) == len(full_shape) else len(batch_shape)
    return broadcast_in_dim(x, full_shape, tuple(range(first, len(full_shape))))


def _fold_lanes(impl: PRNGImpl, batch_shape: Any, keys: Any, data: Any) -> Any:
    keys = _broadcast_words(keys, batch_shape, len(impl.key_shape))
    return map_keys(impl.fold_in, batch_shape, keys, _broadcast_words(data, batch_shape, 0))


random_fold_in_p.abstract = _fold_type
zero_jvp(random_fold_in_p)
no_transpose(random_fold_in_p)
batch_elementwise(random_fold_in_p)
random_fold_in_p.facts = Facts(uses_keys=MAKES, lowers_key_arrays=True)
set_lowering(random_fold_in_p, _fold_lanes)
add_barrier_on_cpu(random_fold_in_p)


def random_fold_in(keys: Any, data: Any) -> Any:
    """Return a new key from each key and number (uint32)."""
    return random_fold_in_p.bind(keys, data)


# ------------------------------------------------------------------------- random_bits

random_bits_p = Primitive("random_bits")
random_bits_p.def_sharding(specs=first_operand_specs)


def _bits_type(keys, *, bit_width: int, shape, partitionable=None):
    check_keys("random_bits", keys)
    check_sizes("random_bits", "shape", shape)
    if bit_width not in (8, 16, 32, 64):
        raise type_problem(
            "requires 8-, 16-, 32- or 64-bit field width.",
            keys,
            why=f"random_bits got bit_width={bit_width}.",
        )
    return shaped((*keys.shape, *shape), uint_of(bit_width))


def _bits_lanes(impl: PRNGImpl, batch_shape, keys, *, bit_width: int, shape):
    return map_keys(lambda key: impl.random_bits(key, bit_width, shape), batch_shape, keys)


random_bits_p.abstract = _bits_type
zero_jvp(random_bits_p)
no_transpose(random_bits_p)
random_bits_p.batch = _front_batch(random_bits_p)
random_bits_p.facts = Facts(uses_keys=CONSUMES, lowers_key_arrays=True)
set_lowering(random_bits_p, _bits_lanes)
evaluate_by_setting(random_bits_p)
_emit_bits = random_bits_p.lower


def _bits_cpu(ctx: Any, keys: Any, **params: Any) -> Any:
    # XLA fuses the hash and the operations that use its bits into one loop.  The CPU compiler
    # vectorizes the loop only if it can vectorize all operations, so not with division or
    # erf_inv.  The barrier gives large hashes a separate loop.
    (aval,) = ctx.avals_out
    out = _emit_bits(ctx, keys, **params)
    small = isinstance(aval.size, SymbolicDim) or aval.size < 4096
    return out if small else ctx.op("optimization_barrier", aval, out)


random_bits_p.lower = ByPlatform(_emit_bits, cpu=_bits_cpu)


def random_bits(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Generate unsigned numbers of `bit_width` bits from each key, along new last axes."""
    return random_bits_p.bind(keys, bit_width=bit_width, shape=shape)


# ---------------------------------------------------------- random_wrap, random_unwrap

random_wrap_p = Primitive("random_wrap")
random_unwrap_p = Primitive("random_unwrap")
for _prim in (random_wrap_p, random_unwrap_p):
    _prim.def_sharding(specs=first_operand_specs)


def _wrap_type(words: Any, *, impl: PRNGImpl) -> Any:
    """Return the type of keys over words; raise TypeError for invalid words."""
    expected = ""
    n = len(impl.key_shape)
    if words.dtype != dtypes.uint32:
        expected = f"dtype = uint32; got dtype={words.dtype}"
    elif len(words.shape) < n:
        expected = f"ndim >= {n}; got ndim={len(words.shape)}"
    elif words.shape[len(words.shape) - n :] != impl.key_shape:
        expected = f"shape to end with {impl.key_shape}; got shape={words.shape}"
        expected += f" for impl={impl.name}"
    if expected:
        raise type_problem(
            f"JAX encountered invalid PRNG key data: expected key_data.{expected}",
            words,
            why=f"A key of {impl.name} is {impl.key_shape[0]} words of 32 bits.",
            tries=["jax.random.key(seed)", "jax.random.PRNGKey(seed)"],
        )
    return shaped(words.shape[: len(words.shape) - n], impl.dtype)


def _wrap_eagerly(words: Any, *, impl: PRNGImpl) -> Any:
    _wrap_type(core.aval_of(words), impl=impl)
    if type(words) is not ArrayImpl:
        words = put_numpy(words)
    return under_key(words, impl.dtype)


def _wrap_batch(axis: Any, args: Any, dims: Any, *, impl: PRNGImpl) -> Any:
    return random_wrap_p.bind(lane_first(args[0], dims[0]), impl=impl), 0


random_wrap_p.abstract = _wrap_type
random_wrap_p.impl = _wrap_eagerly
zero_jvp(random_wrap_p)
no_transpose(random_wrap_p)
random_wrap_p.batch = _wrap_batch
random_wrap_p.lower = lambda ctx, words, *, impl: words
random_wrap_p.facts = Facts(uses_keys=MAKES, lowers_key_arrays=True)


@hooks.wrap_key_words.fill
def random_wrap(words: Any, impl: PRNGImpl) -> Any:
    """Return keys over uint32 words in trailing axes."""
    return random_wrap_p.bind(words, impl=impl)


def _unwrap_type(keys: Any) -> Any:
    check_keys("random_unwrap", keys)
    return context.physical(keys)


def _unwrap_batch(axis: Any, args: Any, dims: Any) -> Any:
    return random_unwrap_p.bind(args[0]), dims[0]


random_unwrap_p.abstract = _unwrap_type
random_unwrap_p.impl = lambda keys: base_array(keys)
zero_jvp(random_unwrap_p)
no_transpose(random_unwrap_p)
random_unwrap_p.batch = _unwrap_batch
random_unwrap_p.lower = lambda ctx, keys: keys
random_unwrap_p.facts = Facts(uses_keys=READS, lowers_key_arrays=True)


def random_unwrap(keys: Any) -> Any:
    """Return the uint32 words of keys, in trailing axes."""
    return random_unwrap_p.bind(keys)


# ------------------------------------------------------------------------ random_clone

random_clone_p = Primitive("random_clone")
random_clone_p.def_sharding(specs=first_operand_specs)


def _clone_batch(axis: Any, args: Any, dims: Any) -> Any:
    return random_clone_p.bind(args[0]), dims[0]


random_clone_p.abstract = lambda keys: keys  # typed or raw keys
random_clone_p.impl = lambda keys: keys
zero_jvp(random_clone_p)
no_transpose(random_clone_p)
random_clone_p.batch = _clone_batch
random_clone_p.lower = lambda ctx, keys: keys
random_clone_p.facts = Facts(uses_keys=MAKES, lowers_key_arrays=True)


def random_clone(keys: Any) -> Any:
    """Return the same keys, which the key checks then treat as unused."""
    return random_clone_p.bind(keys)
