"""checking_leaks: a traced value that outlives its function is an immediate error."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

X = np.float32(1)
ROWS = np.ones(3, np.float32)
LEAKED = []


def with_jvp(f):
    g = mj.custom_jvp(f)
    g.defjvp(lambda p, t: (p[0], t[0]))
    return mj.jit(g)(X)


def with_vjp(f):
    g = mj.custom_vjp(f)
    g.defvjp(lambda x: (x, x), lambda r, ct: (ct * r,))
    return mj.jit(mj.grad(g))(X), mj.jit(g)(X)


USES = {
    "jit": lambda f: mj.jit(f)(X),
    "lower": lambda f: mj.jit(f).lower(X),
    "make_jaxpr": lambda f: mj.make_jaxpr(f)(X),
    "eval_shape": lambda f: mj.eval_shape(f, X),
    "vmap": lambda f: mj.vmap(f)(ROWS),
    "pmap": lambda f: mj.pmap(f)(ROWS[:1]),
    "scan": lambda f: lax.scan(lambda c, a: (f(c), a), X, ROWS),
    "while": lambda f: lax.while_loop(lambda c: c < 0, f, X),
    "cond": lambda f: lax.cond(X > 0, f, f, X),
    "map": lambda f: lax.map(f, ROWS),
    "checkpoint": lambda f: mj.grad(mj.checkpoint(f))(X),
    "grad in jit": lambda f: mj.jit(mj.grad(f))(X),
    "jit in vmap": lambda f: mj.vmap(mj.jit(f))(ROWS),
    "hessian": lambda f: mj.hessian(f)(X),
    "custom_jvp": with_jvp,
    "custom_vjp": with_vjp,
    "inline": lambda f: mj.jit(mj.jit(f, inline=True))(X),
    "callback": lambda f: mj.jit(lambda x: mj.pure_callback(np.sin, x, f(x)))(X),
    "random": lambda f: mj.jit(lambda x: mj.random.uniform(mj.random.key(0)) + f(x))(X),
}


@pytest.fixture(autouse=True)
def nothing_kept():
    yield
    LEAKED.clear()


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_leaks_is_found(use):
    def leaky(x):
        LEAKED.append(x * 2)
        return x + 1

    use(leaky)
    LEAKED.clear()
    with mj.checking_leaks(), pytest.raises(Exception, match="Leaked trace") as e:
        use(leaky)
    assert type(e.value) is Exception  # as in JAX 0.10.2
    assert "Leaked tracer(s): " in str(e.value) and "held by" in str(e.value)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_does_not_leak_passes(use):
    with mj.checking_leaks():
        use(lambda x: jnp.sin(x) * 2)


def test_ways_to_leak():
    class Holder:
        value = None

    holder = Holder()

    def attribute(x):
        holder.value = x

    def closure(x):
        holder.value = lambda: x

    def generator(x):
        holder.value = iter([x, x])
        next(holder.value)

    def cycle(x):
        items = [x]
        items.append(items)

    def raises(x):
        LEAKED.append(x)
        raise KeyError("k")

    with mj.checking_leaks():
        for f in (attribute, closure, generator):
            with pytest.raises(Exception, match="Leaked trace"):
                mj.jit(f)(X)
            holder.value = None
        mj.jit(cycle)(X)
        with pytest.raises(KeyError, match="k"):
            mj.jit(raises)(X)


def test_option():
    def leaky(x):
        LEAKED.append(x)
        return x

    mj.config.update("jax_check_tracer_leaks", True)
    try:
        with pytest.raises(Exception, match="Leaked trace"):
            mj.jit(leaky)(X)
    finally:
        mj.config.update("jax_check_tracer_leaks", False)
    mj.jit(leaky)(X)


def test_programs_of_our_own_do_not_leak():
    with mj.checking_leaks():
        a = jnp.eye(2) + 1
        jnp.linalg.inv(a), jnp.sort(ROWS), jnp.einsum("i,i->", ROWS, ROWS)
        mj.random.normal(mj.random.key(0), (2,)), mj.nn.relu(ROWS), jnp.unique(ROWS)
        mj.jit(mj.grad(lambda a: jnp.linalg.slogdet(a)[1]))(a)
        lax.associative_scan(jnp.add, ROWS)
        mj.jit(lambda x: lax.custom_root(lambda z: z - x, x, lambda f, z: x, lambda g, y: y))(X)
        mj.jit(mj.vmap(mj.grad(mj.nn.logsumexp)))(a)
