"""`jax_debug_key_reuse`: using a random key twice raises, traced and evaluated.

Key sentences are recorded from JAX 0.10.2; JAX's false positives are not reported.
"""

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, random
from minijax.errors import KeyReuseError

BITS, SPLIT = "In random_bits, argument 0 is", "In random_split, argument 0 is"
SLICE, JIT = "In slice, argument 0 is", "In jit, argument 0 is"


@pytest.fixture(autouse=True)
def checked():
    with mj.debug_key_reuse(True):
        yield


def draw(key):
    return random.bits(key)


def draws(keys):
    return mj.vmap(draw)(keys).sum()


def two(keys):
    a, b = keys
    return draw(a) + draw(b)


def stepping(key, _=None):
    rest, now = random.split(key)
    return rest, draw(now)


def while_of(test, body, key):
    return lax.while_loop(test, body, (jnp.uint32(0), key))


def stepped(carry):
    rest, bits = stepping(carry[1])
    return carry[0] + bits, rest


def ks(key, n=3):
    return random.split(key, n)


@mj.custom_jvp
def ruled(x, key):
    return x * random.uniform(key)


ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents[0]))

FINE = {
    "once": draw,
    "children": lambda k: two(random.split(k)),
    "rows": lambda k: draw(ks(k)[0]) + draw(ks(random.clone(k))[-1]),
    "parts": lambda k: (lambda s: draws(s[:2]) + draws(s[2:]))(ks(k)),
    "folded": lambda k: draw(random.fold_in(k, 1)) + draw(random.fold_in(k, 2)) + draw(k),
    "folded after": lambda k: draw(k) + draw(random.fold_in(k, 1)),
    "cloned": lambda k: draw(k) + draw(random.clone(k)),
    "words": lambda k: draw(k) + draw(random.wrap_key_data(random.key_data(k))),
    "compared": lambda k: draw(k) + (k == k),
    "reshaped": lambda k: mj.vmap(draws)(ks(k, 4).reshape(2, 2)),
    "moved": lambda k: mj.vmap(draws)(jnp.flip(ks(k, (2, 3)).T)),
    "rolled": lambda k: draws(jnp.roll(ks(k), 1)),
    "stacked": lambda k: draws(jnp.stack(list(random.split(k)))),
    "chosen": lambda k: draw(jnp.where(True, *random.split(k))),
    "lanes": lambda k: mj.vmap(draws, in_axes=1)(ks(k, (2, 3))),
    "scan": lambda k: lax.scan(stepping, k, length=3),
    "scan, then": lambda k: draw(lax.scan(stepping, k, length=3)[0]),
    "rows of scan": lambda k: lax.scan(lambda c, q: (c + draw(q), None), 0, ks(k)),
    "keys of scan": lambda k: draws(
        lax.scan(lambda c, q: (c, random.fold_in(q, 1)), 0, ks(k))[1]
    ),
    "while": lambda k: draw(while_of(lambda c: c[0] < 9, stepped, k)[1]),
    "either branch": lambda k: lax.cond(True, draw, draw, k),
    "no branch": lambda k: lax.cond(True, lambda q: 1, lambda q: 2, k) + draw(k),
    "one of a branch": lambda k: draw(
        lax.cond(True, lambda q: q, lambda q: random.split(q)[0], k)
    ),
    "unused": lambda k: mj.jit(lambda q: 1)(k) + draw(k),
    "slope": lambda k: mj.grad(lambda x: (x * random.uniform(k)) ** 2)(1.0),
    "recomputed": lambda k: mj.grad(mj.checkpoint(lambda x: jnp.sin(x * random.uniform(k))))(
        1.0
    ),
    "samplers": lambda k: [
        random.poisson(k, 2.0),
        random.binomial(random.fold_in(k, 1), 5.0, 0.3),
        random.choice(random.fold_in(k, 2), 5, (2,), False),
        random.dirichlet(random.fold_in(k, 3), jnp.ones(2)),
    ],
}

REUSE = {
    "twice": (lambda k: draw(k) + draw(k), BITS),
    "split twice": (lambda k: (random.split(k), random.split(k)), SPLIT),
    "parent": (lambda k: two(random.split(k)) + draw(k), BITS),
    "child twice": (lambda k: two((random.split(k)[0],) * 2), BITS),
    "row twice": (lambda k: (lambda s: draw(s[2]) + draw(s[-1]))(ks(k)), SLICE),
    "row and all": (lambda k: (lambda s: draw(s[0]) + draws(s))(ks(k)), BITS),
    "overlap": (lambda k: (lambda s: draws(s[:2]) + draws(s[1:]))(ks(k)), SLICE),
    "clone twice": (lambda k: two((random.clone(k),) * 2), BITS),
    "reshaped too": (
        lambda k: (lambda s: draw(s[0]) + draws(s.reshape(3, 1)[:1, 0]))(ks(k)),
        SLICE,
    ),
    "in lanes": (lambda k: mj.vmap(lambda q: draw(q) + draw(q))(ks(k)), BITS),
    "after lanes": (lambda k: mj.vmap(lambda x: x + draw(k))(jnp.arange(2)) + draw(k), BITS),
    "constant of scan": (
        lambda k: lax.scan(lambda c, _: (c + draw(k), None), jnp.uint32(0), length=3),
        "scan body function leads to key reuse when repeatedly executed, because key"
        " constants are repeatedly consumed:",
    ),
    "carry of scan": (
        lambda k: lax.scan(
            lambda c, _: (tuple(reversed(c)), draw(c[0])), (k, random.key(1)), length=3
        ),
        "scan body function leads to key reuse when repeatedly executed, because consumed"
        " inputs don't match sourced outputs:",
    ),
    "after scan": (lambda k: lax.scan(stepping, k, length=3)[1].sum() + draw(k), BITS),
    "body of while": (
        lambda k: while_of(lambda c: c[0] < 9, lambda c: (draw(c[1]), c[1]), k),
        "while_loop body function leads to key reuse when repeatedly executed: ",
    ),
    "test of while": (
        lambda k: while_of(lambda c: draw(c[1]) < 9, lambda c: c, k),
        "while_loop cond function leads to key reuse when repeatedly executed: ",
    ),
    "both of while": (
        lambda k: while_of(lambda c: draw(c[1]) < 9, stepped, k),
        "while_loop cond and body functions both use the same key: ",
    ),
    "after while": (lambda k: (while_of(lambda c: c[0] < 9, stepped, k), draw(k))[1], BITS),
    "after cond": (lambda k: lax.cond(True, draw, lambda q: jnp.uint32(0), k) + draw(k), BITS),
    "before cond": (
        lambda k: draw(k) + lax.cond(True, draw, lambda q: jnp.uint32(0), k),
        "In cond, argument 1 is",
    ),
    "given by cond": (
        lambda k: two((lax.cond(True, lambda q: q, lambda q: random.split(q)[0], k), k)),
        BITS,
    ),
    "jitted": (lambda k: mj.jit(draw)(k) + mj.jit(draw)(k), JIT),
    "inside of jitted": (mj.jit(lambda k: draw(k) + draw(k)), BITS),
    "closed over": (lambda k: mj.jit(lambda x: x + draw(k))(1) + draw(k), BITS),
    "under a rule": (lambda k: ruled(1.0, k) + random.uniform(k), BITS),
    "under checkpoint": (
        lambda k: mj.checkpoint(lambda x, q: x * draw(q))(2, k) + draw(k),
        BITS,
    ),
    "slopes": (lambda k: mj.grad(lambda x: x * random.uniform(k))(1.0) + draw(k), BITS),
}


@pytest.mark.parametrize("name", FINE)
def test_programs_that_use_each_key_once(name):
    mj.make_jaxpr(FINE[name])(random.key(0))


@pytest.mark.parametrize("name", REUSE)
def test_programs_that_reuse_a_key_raise(name):
    program, sentence = REUSE[name]
    with pytest.raises(KeyReuseError) as e:
        mj.jit(program).trace(random.key(0))
    assert str(e.value).startswith(sentence)


EAGER = "twice,child twice,row twice,overlap,in lanes,after cond,after scan,slopes".split(",")


@pytest.mark.parametrize("name", EAGER)
def test_evaluation_with_consumed_keys_raises(name):
    with pytest.raises(KeyReuseError, match=r"^Previously-consumed key passed to"):
        REUSE[name][0](random.key(0))


@pytest.mark.parametrize(
    "name", ["children", "rows", "folded", "cloned", "rolled", "scan, then", "recomputed"]
)
def test_evaluation_with_fresh_keys(name):
    FINE[name](random.key(0))


def test_errors_name_the_first_use():
    key = random.key(0)
    draw(key)  # here
    with pytest.raises(
        KeyReuseError, match="jit-compiled function at index 0\nWhich: key"
    ) as e:
        random.normal(key)
    assert "test_key_reuse.py" in str(e.value).split("first used at")[1]


def test_constants_and_several_calls_of_a_function_count():
    key = random.key(0)
    f = mj.jit(lambda x: x + random.uniform(key))
    f(1.0)
    with pytest.raises(KeyReuseError, match="jit-compiled function at index 1"):
        f(2.0)


def test_no_check_without_the_option():
    key = random.key(0)
    with mj.debug_key_reuse(False):
        assert draw(key) == draw(key) == mj.jit(draw)(key)
    draw(key)  # what was done then does not count


def test_words_are_not_keys():
    words = random.PRNGKey(0)
    assert draw(words) == draw(words)
