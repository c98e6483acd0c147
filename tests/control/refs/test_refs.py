"""Mutable references: eager, in staged functions and loops, differentiated."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax


def three():
    return mj.new_ref(jnp.arange(3.0))


def same(x, expected):
    np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-6)


def test_reading_and_writing():
    start = jnp.arange(3.0)
    r = mj.new_ref(start)
    r[0] = 5.0
    same(r[...], [5, 1, 2])
    same(r[1:], [1, 2])
    r[...] += 1
    r[jnp.array([0, 0])] += 1.0
    same(r[...], [7, 2, 3])
    mj.ref.addupdate(r, jnp.array([1, 1]), jnp.ones(2))
    same(mj.ref.get(r), [7, 4, 3])
    same(mj.ref.swap(r, 0, 9.0), 7)
    r.addupdate(jnp.ones(3))
    mj.ref.set(r, slice(1, None), jnp.zeros(2))
    same(mj.freeze(r), [10, 0, 0])
    same(start, [0, 1, 2])
    assert (r.shape, r.dtype, r.ndim, r.size, len(r)) == ((3,), "float32", 1, 3, 3)
    assert repr(r) == "Ref([10.,  0.,  0.], dtype=float32)"
    assert str(r.aval) == "Ref{float32[3]}"


def test_mistakes():
    r = three()
    with pytest.raises(ValueError, match="Invalid dtype"):
        r[0] = jnp.int32(1)
    with pytest.raises(ValueError, match="Invalid dtype"):
        r[0] = 1
    with pytest.raises(ValueError, match="Invalid shape"):
        r[...] = jnp.ones(2)
    with pytest.raises(ValueError, match="Out of bound indexer: idx=7, dim=3"):
        _ = r[7]
    with pytest.raises(TypeError):
        r + 1
    with pytest.raises(TypeError, match="itself a Ref"):
        mj.new_ref(r)
    with pytest.raises(TypeError):
        mj.new_ref("x")
    with pytest.raises(ValueError, match="expected a Ref"):
        mj.freeze(3)
    same(r[...], [0, 1, 2])


def test_jit_closes_over_references():
    r, other = three(), mj.new_ref(10)
    traces = []

    @mj.jit
    def f(x):
        traces.append(x)
        r[0] += x
        other[...] += 1
        return r[...].sum()

    same(f(2.0), 5)
    n = len(traces)
    same(f(2.0), 7)
    assert len(traces) == n  # the program is known
    same(r[...], [4, 1, 2])
    same(other[...], 12)
    r[0] = 0.0
    same(f(1.0), 4)


def test_jit_with_static_and_donated_arguments():
    r = three()

    @mj.jit(static_argnums=1, static_argnames="m", donate_argnums=0)
    def f(x, n, *, m):
        r[n] = x[0]
        return x * m

    same(f(jnp.ones(2) * 7, 2, m=3), [21, 21])
    same(r[...], [0, 1, 7])


def test_jit_takes_references():
    r, q = three(), mj.new_ref(1.0)

    @mj.jit(static_argnums=2)
    def f(refs, x, n):
        refs["a"][n] = x
        refs["b"][...] += x
        return x + refs["a"][0]

    same(f({"a": r, "b": q}, 4.0, 1), 4)
    same(r[...], [0, 4, 2])
    same(f({"a": r, "b": q}, 5.0, 0), 10)
    same(f({"a": r, "b": q}, 6.0, 0), 12)
    same(q[...], 16)
    s = three()
    same(f({"a": s, "b": q}, 6.0, 2), 6)
    same(s[...], [0, 1, 6])
    same(r[...], [6, 4, 2])

    @mj.jit
    def outer(x):
        inner = mj.new_ref(x)
        mj.jit(lambda ref, y: ref.addupdate(y))(inner, 2.0)
        return inner[...]

    same(outer(1.0), 3)
    same(mj.grad(lambda x: outer(x * x))(3.0), 6)


def test_reference_made_inside():
    @mj.jit
    def f(x):
        r = mj.new_ref(jnp.zeros_like(x))
        for i in range(3):
            r[i] = x[2 - i]
        return mj.freeze(r)

    same(f(jnp.arange(3.0)), [2, 1, 0])


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
def test_loops_and_branches(wrap):
    r = three()

    def scan():
        def body(c, x):
            r[0] = r[0] + x
            return c + r[0], c

        return lax.scan(body, 1.0, jnp.arange(1.0, 4.0))

    c, ys = wrap(scan)()
    same(c, 11)
    same(ys, [1, 2, 5])
    same(r[...], [6, 1, 2])

    def fori():
        def body(i, c):
            r[i] = i * 2.0
            return c

        return lax.fori_loop(0, 3, body, 0)

    wrap(fori)()
    same(r[...], [0, 2, 4])

    def while_(n):
        def body(i):
            r[0] += 1.0
            return i + 1

        return lax.while_loop(lambda i: (i < n) & (r[0] < 5), body, 0)

    assert wrap(while_)(3) == 3
    assert wrap(while_)(30) == 2
    same(r[0], 5)

    def cond(p):
        def yes(x):
            r[1] = x

        lax.cond(p, yes, lambda x: None, 7.0)

    wrap(cond)(False)
    same(r[1], 2)
    wrap(cond)(True)
    same(r[1], 7)

    def switch(i):
        def write(k):
            def branch():
                r[k] = -1.0
                return k

            return branch

        return lax.switch(i, [write(0), write(1), write(2)])

    assert wrap(switch)(2) == 2
    same(r[...], [5, 7, -1])


def test_nested_loops():
    r = mj.new_ref(jnp.zeros((3, 4)))

    @mj.jit
    def f():
        def outer(i, c):
            def inner(j, c):
                r[i, j] = 10.0 * i + j
                return c

            return lax.fori_loop(0, 4, inner, c)

        lax.fori_loop(0, 3, outer, 0)

    f()
    same(r[...], 10 * np.arange(3)[:, None] + np.arange(4))


def total(x):
    """sum of sin(i x) by a reference in a loop."""
    r = mj.new_ref(jnp.zeros(()))

    def body(i, c):
        r[...] += jnp.sin(x * i)
        return c

    lax.fori_loop(0, 4, body, None)
    return r[...]


@pytest.mark.parametrize("f", [total, mj.jit(total)], ids=["eager", "jit"])
def test_differentiation(f):
    x = 2.0
    i = np.arange(4)
    slope = (i * np.cos(i * x)).sum()
    same(f(x), np.sin(i * x).sum())
    same(mj.grad(f)(x), slope)
    same(mj.jvp(f, (x,), (1.0,))[1], slope)
    same(mj.grad(mj.grad(f))(x), -(i**2 * np.sin(i * x)).sum())
    same(mj.vmap(f)(jnp.array([0.0, x])), [0, np.sin(i * x).sum()])


def test_grad_of_writes():
    def f(x):
        r = mj.new_ref(x)
        r[...] = r[...] * x
        r[0] = r[1] * 5
        return r[...].sum()

    same(mj.grad(f)(jnp.array([3.0, 2.0])), [0, 24])


def test_values_of_inner_transformations_do_not_get_out():
    r = three()

    def write(x):
        r[0] = x * x
        return x

    with pytest.raises(ValueError, match="differentiated value"):
        mj.grad(write)(3.0)
    with pytest.raises(ValueError, match="vmapped value"):
        mj.vmap(write)(jnp.ones(3))
    same(mj.vmap(lambda x: x + r[1])(jnp.ones(2)), [2, 2])
    same(mj.grad(lambda x: x * r[2])(1.0), 2)

    def count(x):
        r[0] += 1.0
        return x

    mj.grad(count)(1.0)
    same(r[0], 1)


def test_references_are_no_results():
    stored = []

    @mj.jit
    def f(x):
        stored.append(mj.new_ref(x))
        return x

    f(1.0)
    with pytest.raises(mj.errors.UnexpectedTracerError, match="had ended"):
        _ = stored[0][...]
    for transform in (mj.jit, mj.checkpoint, mj.make_jaxpr, mj.grad):
        with pytest.raises(ValueError, match="references cannot be returned"):
            transform(lambda x: three())(1.0)
    with pytest.raises(ValueError, match="passed in as the argument a"):
        mj.jit(lambda a: a)(three())
    with pytest.raises(ValueError, match="references cannot be returned"):
        mj.vmap(lambda x: three())(jnp.ones(2))
    r = three()
    with pytest.raises(ValueError, match="traced for scan returned a mutable array"):
        lax.scan(lambda c, x: (c, r), 0, jnp.arange(2))


def test_a_loop_keeps_one_copy():
    r = mj.new_ref(jnp.zeros(1000))

    def f(n):
        def body(i, c):
            r[i % 1000] += 1.0
            return c

        lax.fori_loop(0, n, body, 0)

    mj.jit(f)(2500)
    same(r[...], np.where(np.arange(1000) < 500, 3, 2))
