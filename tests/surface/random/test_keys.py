"""Keys: seeds, words, children, arrays of keys, implementations, messages."""

import copy
import pickle

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import random

IMPLS = {
    "threefry2x32": 2,
    "threefry4x32": 4,
    "philox2x32": 1,
    "philox4x32": 2,
    "rbg": 4,
    "unsafe_rbg": 4,
}


def words(keys):
    return np.asarray(random.key_data(keys))


# --------------------------------------------------------------------------------- seeds


@pytest.mark.parametrize(
    ("seed", "low"),
    [
        (0, 0),
        (42, 42),
        (-1, 2**32 - 1),
        (2**31, 2**31),
        (2**40 + 5, 5),
        (True, 1),
        (np.uint32(2**32 - 1), 2**32 - 1),
        (np.int8(-1), 2**32 - 1),
        (np.int64(2**40 + 1), 1),
        (jnp.int16(-3), 2**32 - 3),
    ],
)
def test_seeds(seed, low):
    assert random.PRNGKey(seed).tolist() == [0, low]
    assert words(random.key(seed)).tolist() == [0, low]


def test_seeds_have_64_bits_under_x64():
    with mj.enable_x64(True):
        assert random.PRNGKey(-1).tolist() == [2**32 - 1, 2**32 - 1]
        assert random.PRNGKey(2**40 + 1).tolist() == [256, 1]
        assert random.PRNGKey(np.int32(-1)).tolist() == [0, 2**32 - 1]


def test_seed_offset():
    before = random.PRNGKey(3)
    mj.config.update("jax_random_seed_offset", 2)
    try:
        assert random.PRNGKey(3).tolist() == [0, 5]
    finally:
        mj.config.update("jax_random_seed_offset", 0)
    assert random.PRNGKey(3).tolist() == before.tolist()


@pytest.mark.parametrize(
    ("seed", "error", "text"),
    [
        (2**63, OverflowError, "too large"),
        (1.0, TypeError, "must be an integer"),
        (np.bool_(True), TypeError, "must be an integer"),
        ([1], TypeError, "scalar seed"),
        (np.arange(2), TypeError, "Use jax.vmap"),
        (None, ValueError, "None"),
        ("a", TypeError, "array"),
    ],
)
def test_bad_seeds(seed, error, text):
    for make in (random.PRNGKey, random.key):
        with pytest.raises(error, match=text):
            make(seed)


def test_keys_are_not_seeds():
    with pytest.raises(TypeError, match="was given a PRNG key"):
        random.key(random.key(0))


def test_traced_seeds():
    seeds = jnp.arange(3)
    keys = mj.vmap(random.key)(seeds)
    assert keys.shape == (3,)
    assert words(keys).tolist() == [[0, 0], [0, 1], [0, 2]]
    assert mj.jit(random.PRNGKey)(5).tolist() == [0, 5]


# ------------------------------------------------------------------- words, dtypes, impls


@pytest.mark.parametrize("impl", IMPLS)
def test_impls(impl):
    key = random.key(7, impl=impl)
    assert key.shape == () and random.key_impl(key) == impl
    assert words(key).shape == (IMPLS[impl],)
    assert random.key_dtype(impl) == key.dtype
    assert mj.dtypes.issubdtype(key.dtype, mj.dtypes.prng_key)
    repeated = random.wrap_key_data(words(key), impl=impl)
    assert bool(repeated == key)
    assert random.key(7, dtype=key.dtype) == key
    children = random.split(key, (2, 3))
    assert children.shape == (2, 3) and words(children).shape == (2, 3, IMPLS[impl])
    assert len({tuple(w) for w in words(children).reshape(6, -1)}) == 6
    folded = [tuple(words(random.fold_in(key, i))) for i in range(4)]
    assert len(set(folded)) == 4
    x = random.uniform(key, (2000,))
    assert x.min() >= 0 and x.max() < 1 and abs(x.mean() - 0.5) < 0.03


@pytest.mark.parametrize("impl", [i for i in IMPLS if i != "unsafe_rbg"])
def test_lanes_are_loops(impl):
    keys = random.split(random.key(3, impl=impl), 4)
    data = jnp.arange(4)
    split = mj.vmap(lambda k: random.split(k, 2))(keys)
    folded = mj.vmap(random.fold_in)(keys, data)
    for i in range(4):
        assert words(split[i]).tolist() == words(random.split(keys[i], 2)).tolist()
        assert words(folded[i]).tolist() == words(random.fold_in(keys[i], i)).tolist()
    if impl == "rbg":
        return  # as in JAX, the first lane's key makes the bits of all
    bits = mj.vmap(lambda k: random.bits(k, (3,), np.uint8))(keys)
    for i in range(4):
        np.testing.assert_array_equal(bits[i], random.bits(keys[i], (3,), np.uint8))


def test_shared_key_and_mapped_data():
    key = random.key(0)
    out = mj.vmap(random.fold_in, in_axes=(None, 0))(key, jnp.arange(3))
    assert words(out).tolist() == [words(random.fold_in(key, i)).tolist() for i in range(3)]


def test_default_impl_is_an_option():
    with mj.default_prng_impl("rbg"):
        assert random.key_impl(random.key(0)) == "rbg"
        assert random.PRNGKey(0).shape == (4,)
        assert random.uniform(random.PRNGKey(0)).shape == ()
    assert random.key_impl(random.key(0)) == "threefry2x32"


def test_custom_prng_option():
    with mj.enable_custom_prng(True):
        assert random.PRNGKey(0).dtype == random.key_dtype()
        assert random.split(np.zeros(2, np.uint32)).dtype == random.key_dtype()


def test_impl_arguments():
    with pytest.raises(ValueError, match='unrecognized PRNG implementation "foo"'):
        random.key(0, impl="foo")
    with pytest.raises(TypeError, match="unrecognized type"):
        random.key(0, impl=3)
    with pytest.raises(ValueError, match="both `impl` and `dtype`"):
        random.key(0, impl="rbg", dtype=random.key_dtype("rbg"))


@pytest.mark.parametrize(
    "data",
    [
        np.ones(2, np.float32),
        np.ones(3, np.uint32),
        np.uint32(3),
        np.zeros(2, np.int32),
        3,
        None,
        [0, 0],
    ],
)
def test_bad_words(data):
    with pytest.raises(TypeError, match="key"):
        random.wrap_key_data(data)
    with pytest.raises(TypeError, match="key"):
        random.uniform(data)


# ----------------------------------------------------------------------- split, fold_in


def test_children():
    raw, key = random.PRNGKey(0), random.key(0)
    expected = [[1797259609, 2579123966], [928981903, 3453687069]]
    assert random.split(raw).tolist() == expected
    assert words(random.split(key)).tolist() == expected
    assert random.split(raw).dtype == np.uint32
    assert random.fold_in(raw, 1).tolist() == [928981903, 3453687069]
    assert words(random.split(key, 5))[:2].tolist() == expected
    assert random.split(key, 0).shape == (0,)
    assert random.split(key, np.int32(3)).shape == (3,)
    assert random.split(key, [2, 3]).shape == (2, 3)


def test_older_children():
    with mj.threefry_partitionable(False):
        assert random.split(random.PRNGKey(0)).tolist() == [
            [4146024105, 967050713],
            [2718843009, 1272950319],
        ]
        lanes = mj.vmap(random.split)(random.split(random.key(1), 2))
        assert (
            words(lanes[0]).tolist()
            == words(random.split(random.split(random.key(1), 2)[0])).tolist()
        )
    assert random.split(random.PRNGKey(0))[0].tolist() == [1797259609, 2579123966]


def test_numbers_to_fold_in():
    raw = random.PRNGKey(0)
    assert random.fold_in(raw, 2**31).tolist() == [917456828, 636652529]
    assert random.fold_in(raw, np.int64(2**40 + 3)).tolist() == random.fold_in(raw, 3).tolist()
    for bad in (-1, 2**32):
        with pytest.raises(OverflowError, match="out of bounds for uint32"):
            random.fold_in(raw, bad)
    with pytest.raises(TypeError, match="accepts a scalar"):
        random.fold_in(raw, jnp.arange(2))


@pytest.mark.parametrize("fun", ["uniform", "normal", "bits", "split", "exponential"])
def test_one_key_only(fun):
    for keys in (random.split(random.key(0)), random.split(random.PRNGKey(0))):
        with pytest.raises(ValueError, match=f"{fun} accepts a single key"):
            getattr(random, fun)(keys)


def test_clone():
    key = random.key(0)
    assert random.clone(key) == key
    assert random.clone(random.PRNGKey(3)).tolist() == [0, 3]


# ------------------------------------------------------------------------- key arrays


KEYS = random.split(random.key(0), 6)


def test_unpacking():
    a, b = random.split(random.key(0))
    assert words(a).tolist() == [1797259609, 2579123966]
    c, d = random.split(random.PRNGKey(0))
    assert c.tolist() == words(a).tolist() and d.tolist() == words(b).tolist()


def test_as_arrays():
    all_words = words(KEYS)
    assert isinstance(KEYS, mj.Array) and KEYS.shape == (6,) and len(KEYS) == 6
    assert KEYS.size == 6 and KEYS.ndim == 1 and KEYS.itemsize == 8
    np.testing.assert_array_equal(words(KEYS[1:3]), all_words[1:3])
    np.testing.assert_array_equal(words(KEYS[np.array([4, 0])]), all_words[[4, 0]])
    np.testing.assert_array_equal(
        words(KEYS.reshape(2, 3).T), all_words.reshape(2, 3, 2).swapaxes(0, 1)
    )
    np.testing.assert_array_equal(words(jnp.stack([KEYS[0], KEYS[1]])), all_words[:2])
    np.testing.assert_array_equal(
        words(jnp.concatenate([KEYS, KEYS])), np.tile(all_words, (2, 1))
    )
    np.testing.assert_array_equal(words(KEYS.at[0].set(KEYS[5])[0]), all_words[5])
    np.testing.assert_array_equal(
        words(jnp.where(jnp.arange(6) < 3, KEYS, KEYS[::-1]))[5], all_words[0]
    )
    assert (KEYS == KEYS).all() and not (KEYS != KEYS).any()
    same = KEYS[2] == KEYS
    assert same.tolist() == [False, False, True, False, False, False]
    assert jnp.asarray(KEYS) is KEYS


def test_in_programs():
    assert words(mj.jit(lambda k: k[::-1])(KEYS)).tolist() == words(KEYS)[::-1].tolist()
    assert words(mj.jit(lambda: KEYS)()).tolist() == words(KEYS).tolist()

    def step(key, _):
        key, sub = random.split(key)
        return key, random.uniform(sub)

    key, out = random.key(5), []
    for _ in range(3):
        key, sub = random.split(key)
        out.append(random.uniform(sub))
    last, ys = mj.lax.scan(step, random.key(5), None, length=3)
    np.testing.assert_array_equal(ys, out)
    assert last == key
    chosen = mj.lax.cond(True, lambda k: random.split(k)[0], lambda k: k, KEYS[0])
    assert chosen == random.split(KEYS[0])[0]


def test_raw_words_and_keys_compile_separately():
    first = mj.jit(lambda x: x[0])
    raw = random.split(random.PRNGKey(0))
    assert first(KEYS).shape == () and first(raw).shape == (2,) and first(KEYS).shape == ()


def test_copies():
    for repeated in (
        pickle.loads(pickle.dumps(KEYS)),
        copy.deepcopy(KEYS),
        mj.device_put(KEYS),
        KEYS.copy(),
        mj.block_until_ready(KEYS),
    ):
        assert (repeated == KEYS).all() and repeated.dtype == KEYS.dtype


def test_text():
    key = random.key(0)
    assert repr(key) == str(key) == "Array((), dtype=key<fry>) overlaying:\n[0 0]"
    assert repr(key.dtype) == "key<fry>"
    text = str(mj.make_jaxpr(lambda k: random.bits(random.split(k)[0], (3,), "uint8"))(key))
    assert "random_split[shape=(2,)]" in text
    assert "random_bits[bit_width=8 shape=(3,)]" in text
    assert "random_wrap[impl=fry]" in str(mj.make_jaxpr(random.split)(random.PRNGKey(0)))


@pytest.mark.parametrize(
    "use",
    [
        lambda k: k + 1,
        lambda k: k < k,
        jnp.sin,
        int,
        bool,
        hash,
        np.asarray,
        lambda k: mj.grad(lambda _: 1.0)(k),
    ],
)
def test_keys_are_not_numbers(use):
    with pytest.raises(TypeError):
        use(random.key(0))


def test_pmap_over_keys():
    n = mj.local_device_count()
    keys = random.split(random.key(0), n)
    out = mj.pmap(lambda k: random.uniform(k, (2,)))(keys)
    for i in range(n):
        np.testing.assert_array_equal(out[i], random.uniform(keys[i], (2,)))
    children = mj.pmap(random.split)(keys)
    assert words(children[n - 1]).tolist() == words(random.split(keys[n - 1])).tolist()


def test_allclose_of_keys_is_equality():
    keys = mj.random.split(mj.random.key(0))
    assert jnp.isclose(keys, keys[0]).tolist() == [True, False]
    assert jnp.allclose(keys, keys) and not jnp.allclose(keys[0], keys[1])
    with pytest.raises(TypeError, match="isclose does not accept dtypes"):
        jnp.isclose(keys, 1.0)


def test_the_cpu_makes_few_keys_once():
    def noise(key):
        first, second = mj.random.split(mj.random.fold_in(key, 1))
        return mj.random.bits(first, (2,)) + mj.random.bits(second, (2,))

    def barriers(f, *args):
        return mj.jit(f).lower(*args).as_text().count("optimization_barrier")

    key = mj.random.key(0)
    assert barriers(noise, key) == 2
    assert barriers(mj.vmap(noise), mj.random.split(key, 100)) == 0
