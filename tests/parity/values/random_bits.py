"""Random keys and draws: every bit is JAX's, in both modes of threefry."""

import itertools

import numpy as np
from harness import Programs, attempt

import minijax as jax
from minijax import numpy as jnp
from minijax import random

programs = Programs()
tolerance = 0.0
SHAPES = [(), (1,), (2,), (3,), (7,), (2, 3), (5, 1, 3), (0,), (1001,)]
MODES = {"partitionable": True, "original": False}


def both_modes(name, function):
    for mode, flag in MODES.items():

        def run(flag=flag):
            with jax.threefry_partitionable(flag):
                return function()

        programs.add(f"{name}_{mode}", run)


def draws(name, draw, shapes=SHAPES):
    for seed in (0, 1701):
        both_modes(
            f"{name}_{seed}",
            lambda seed=seed: [draw(random.key(seed), shape) for shape in shapes],
        )


def data(key):
    return random.key_data(key)


@programs
def seeds():
    values = [
        0,
        1,
        -1,
        42,
        2**31 - 1,
        -(2**31),
        2**32 - 1,
        np.int64(5),
        np.uint32(2**32 - 1),
        True,
    ]
    return [[random.PRNGKey(v), data(random.key(v))] for v in values]


@programs
def seeds_beyond_32_bits():
    return [
        attempt(lambda v=v: random.PRNGKey(v)) for v in [2**32, 2**40 + 3, 2**63 - 1, 2**70]
    ]


@programs
def seeds_x64():
    with jax.enable_x64(True):
        values = [0, -1, 2**32, 2**40 + 3, 2**63 - 1, -(2**63)]
        return [random.PRNGKey(v) for v in values]


@programs
def wrong_seeds():
    bad = [1.5, "a", None, np.zeros(2, np.int32), [1, 2]]
    return [attempt(lambda v=v: random.key(v)) for v in bad]


@programs
def raw_and_typed_keys_agree():
    raw, typed = random.PRNGKey(3), random.key(3)
    return [random.uniform(raw, (3,)), random.uniform(typed, (3,)), random.bits(raw, (3,))]


both_modes(
    "split", lambda: [data(random.split(random.key(7), n)) for n in (1, 2, 3, 10, (2, 3))]
)
both_modes("split_raw", lambda: [random.split(random.PRNGKey(7), n) for n in (2, 5)])
both_modes("split_unpacked", lambda: [data(k) for k in random.split(random.key(1337))])
both_modes(
    "fold_in",
    lambda: (
        [data(random.fold_in(random.key(7), n)) for n in (0, 1, 2**31, np.uint32(3))]
        + [random.fold_in(random.PRNGKey(7), 5)]
    ),
)
both_modes(
    "nested_splits",
    lambda: data(jax.vmap(lambda k: random.split(k, 2))(random.split(random.key(5), 3))),
)
both_modes(
    "vmap_uniform",
    lambda: jax.vmap(lambda k: random.uniform(k, (3,)))(random.split(random.key(5), 4)),
)
both_modes(
    "vmap_fold_in",
    lambda: data(jax.vmap(lambda n: random.fold_in(random.key(1), n))(jnp.arange(4))),
)
both_modes("jit_normal", lambda: jax.jit(lambda k: random.normal(k, (2, 3)))(random.key(11)))
both_modes("chain_of_splits", lambda: chain(random.PRNGKey(1337), 6))


def chain(key, steps):
    out = []
    for _ in range(steps):
        key, other = random.split(key)
        out.append(random.uniform(other))
    return out


for width in (8, 16, 32):
    dtype = f"uint{width}"
    draws(f"bits_{width}", lambda k, s, d=dtype: random.bits(k, s, d))
draws("bits_default", lambda k, s: random.bits(k, s))
for dtype in ("float32", "bfloat16", "float16"):
    draws(f"uniform_{dtype}", lambda k, s, d=dtype: random.uniform(k, s, d))
draws("uniform_range", lambda k, s: random.uniform(k, s, minval=-2.0, maxval=5.0))
draws("randint", lambda k, s: random.randint(k, s, 0, 10))
draws("randint_negative", lambda k, s: random.randint(k, s, -100, 1000))
draws("randint_u8", lambda k, s: random.randint(k, s, 0, 256, jnp.uint8))
draws("randint_i8", lambda k, s: random.randint(k, s, -128, 127, jnp.int8))
draws("randint_full", lambda k, s: random.randint(k, s, -(2**31), 2**31 - 1))
draws("randint_u32", lambda k, s: random.randint(k, s, 3, np.uint32(4_000_000_000), jnp.uint32))
draws("bernoulli", lambda k, s: random.bernoulli(k, 0.3, s))
draws("bernoulli_array", lambda k, s: random.bernoulli(k, jnp.array([0.1, 0.9])), [()])
draws("permutation_int", lambda k, s: random.permutation(k, s[0]), [(1,), (2,), (5,), (50,)])
draws(
    "permutation_array", lambda k, s: random.permutation(k, jnp.arange(12).reshape(3, 4)), [()]
)
draws(
    "permutation_options",
    lambda k, s: [
        random.permutation(k, jnp.arange(12).reshape(3, 4), axis=1),
        random.permutation(k, jnp.arange(12).reshape(3, 4), axis=1, independent=True),
    ],
    [()],
)
draws(
    "choice",
    lambda k, s: [random.choice(k, 5, s), random.choice(k, jnp.arange(10.0), s)],
    [(), (3,), (2, 2), (100,)],
)
draws(
    "choice_without_replacement",
    lambda k, s: random.choice(k, 10, s, replace=False),
    [(), (3,), (10,), (2, 3)],
)
draws(
    "choice_weighted",
    lambda k, s: random.choice(k, jnp.array([3, 1, 4]), s, p=jnp.array([0.2, 0.5, 0.3])),
    [(), (7,), (2, 3)],
)
draws("categorical", lambda k, s: random.categorical(k, jnp.array([0.1, 2.0, -1.0])), [()])
draws(
    "categorical_shape",
    lambda k, s: random.categorical(k, jnp.arange(6.0).reshape(2, 3), shape=s),
    [(2,), (4, 2)],
)
draws(
    "categorical_axis",
    lambda k, s: random.categorical(k, jnp.arange(6.0).reshape(2, 3), axis=0),
    [()],
)


@programs
def wide_types():
    with jax.enable_x64(True):
        key = random.key(9)
        return [
            random.uniform(key, (5,), "float64"),
            random.bits(key, (5,), "uint64"),
            random.randint(key, (5,), 0, 2**40, "int64"),
            random.uniform(key, (3,)),
            random.permutation(key, 6),
            random.randint(key, (3,), 0, 9),
        ]


@programs
def keys_are_arrays():
    keys = random.split(random.key(0), 4)
    return [
        keys.shape,
        str(keys.dtype),
        keys.ndim,
        keys.size,
        data(keys[1]),
        data(keys[1:3]),
        data(keys.reshape(2, 2)),
        data(jnp.concatenate([keys, keys[:1]])),
        data(keys[::-1]),
        bool(jnp.issubdtype(keys.dtype, jax.dtypes.prng_key)),
        data(jnp.stack([keys[0], keys[1]])),
        data(random.wrap_key_data(jnp.array([1, 2], jnp.uint32))),
        str(random.key_impl(keys)),
        data(random.clone(keys[0])),
        len(keys),
        [data(k) for k in keys][3],
    ]


@programs
def typed_keys_refuse_arithmetic():
    key = random.key(0)
    calls = [
        lambda: key + 1,
        lambda: key == random.key(0),
        lambda: float(key),
        lambda: jnp.sin(key),
        lambda: np.asarray(key),
        lambda: random.uniform(jnp.zeros(2)),
        lambda: random.uniform(3),
        lambda: random.split(random.split(key)),
        lambda: random.uniform(jnp.zeros(3, jnp.uint32)),
    ]
    return [attempt(call) for call in calls]


@programs
def wrong_arguments():
    key = random.key(0)
    calls = [
        lambda: random.uniform(key, (2,), int),
        lambda: random.normal(key, (2,), "int32"),
        lambda: random.randint(key, (2,), 0, 5, float),
        lambda: random.bits(key, (2,), float),
        lambda: random.uniform(key, (-1,)),
        lambda: random.choice(key, 3, (4,), replace=False),
        lambda: random.uniform(key, 2.5),
        lambda: random.permutation(key, 2.5),
        lambda: random.choice(key, 0),
        lambda: random.split(key, -1),
    ]
    return [attempt(call) for call in calls]


@programs
def options_in_all_pairs():
    key = random.key(4)
    return [
        random.uniform(key, shape, dtype, low, 3.0)
        for shape, dtype, low in itertools.product(
            [(), (2,)], ["float32", "bfloat16"], [0.0, -1.0]
        )
    ]
