"""References as arguments, under every transformation, ahead of time; mistakes."""

import threading

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax


def three():
    return mj.new_ref(jnp.arange(3.0))


def table():
    return mj.new_ref(jnp.arange(12.0).reshape(3, 4))


def same(x, expected):
    np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-6)


# ------------------------------------------------------------------------------ jit


def test_one_reference_has_one_name():
    r = three()
    f = mj.jit(lambda a, b: a.__setitem__(0, b[1]))
    for call in (f, mj.make_jaxpr(f), mj.vmap(f)):
        with pytest.raises(ValueError, match=r"only one reference .* at both a and b"):
            call(r, r)
    with pytest.raises(ValueError, match=r"appeared at both d\['a'\] and d\['b'\]"):
        mj.jit(lambda d: d["a"][0])({"a": r, "b": r})
    with pytest.raises(ValueError, match="both closed over and passed as the argument a"):
        mj.jit(lambda a: a[0] + r[0])(r)
    with pytest.raises(ValueError, match="for scan the mutable array reference"):
        lax.scan(lambda c, x: (c, None), 0, (r, r))
    with pytest.raises(ValueError, match=r"for cond, a mutable array .* both closed over"):
        lax.cond(True, lambda a: r[0] + a[0], lambda a: a[0], r)
    f(r, three())
    same(r[...], [1, 1, 2])


@pytest.mark.parametrize("closed", [False, True])
def test_it_is_traced_once(closed):
    traces = []
    r = three()

    def f(a, x):
        traces.append(x)
        a[0] = x
        return a[1]

    g = mj.jit((lambda x: f(r, x)) if closed else f)
    for x in (1.0, 2.0, 3.0):
        same(g(x) if closed else g(r, x), 1)
    if not closed:
        g(three(), 4.0)
    assert len(traces) == 1
    same(r[0], 3)


def test_forms_of_arguments():
    r = three()
    mj.jit(lambda x, *, a: a.__setitem__(0, x))(5.0, a=r)
    same(r[0], 5)
    out = mj.jit(lambda x, a: (a.__setitem__(1, 7.0), x + 1)[1], donate_argnums=0)(
        jnp.ones(3), r
    )
    same(out, [2, 2, 2])
    same(r[...], [5, 7, 2])
    same(mj.jit(lambda x, a: a[0], keep_unused=True)(1.0, r), 5)
    mj.jit(lambda a: a.__setitem__(0, 9.0), inline=True)(r)
    with mj.disable_jit():
        mj.jit(lambda a: a.__setitem__(2, 8.0))(r)
    same(r[...], [9, 7, 8])


def test_arrays_that_are_passed_in_and_out_do_not_change():
    x = jnp.zeros(3)
    r = mj.new_ref(x)
    f = mj.jit(lambda a: a.__setitem__(0, a[0] + 1))
    f(r)
    y = r[...]
    f(r)
    z = r[:]
    f(r)
    old = mj.ref.swap(r, None, x)
    f(r)
    f(r)
    for value, first in ((x, 0), (y, 1), (z, 2), (old, 3), (r[...], 2)):
        same(value, [first, 0, 0])


@pytest.mark.parametrize("closed", [False, True])
def test_programs_update_in_place(closed):
    r = mj.new_ref(jnp.zeros(1000))
    f = lambda a, x: a.__setitem__(0, x)
    g = mj.jit((lambda x: f(r, x)) if closed else f)
    call = (lambda x: g(x)) if closed else (lambda x: g(r, x))
    call(1.0)  # takes a copy: the array that the reference started with is known
    before = r._value
    where = before.unsafe_buffer_pointer()
    call(2.0)
    assert before.is_deleted()
    assert r._value.unsafe_buffer_pointer() == where
    same(r[:2], [2, 0])


def test_references_live_on_their_device():
    place = mj.devices()[1]
    r = mj.new_ref(mj.device_put(jnp.ones(3), place))
    r[0] = 5.0
    mj.jit(lambda a: a.__setitem__(1, 3.0))(r)
    assert r[...].devices() == {place}
    assert r.committed
    same(r[...], [5, 3, 1])


def test_threads():
    r = three()

    def work():
        for _ in range(3):
            r[0] += 1

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    same(r[0], 3)


# ------------------------------------------------------------------- ahead of time


@pytest.mark.parametrize("closed", [False, True])
def test_ahead_of_time(closed):
    r = three()
    f = lambda a, x: (a.__setitem__(0, x + a[1]), x)[1]
    args = (1.0,) if closed else (r, 1.0)
    lowered = mj.jit((lambda x: f(r, x)) if closed else f).lower(*args)
    assert "dynamic_update_slice" in lowered.as_text()
    run = lowered.compile()
    same(run(*args), 1)
    same(r[...], [2, 1, 2])
    if not closed:
        other = three()
        run(other, 4.0)
        same(other[...], [5, 1, 2])
        with pytest.raises(TypeError, match="called with float32"):
            run(jnp.ones(3), 1.0)
    assert str(lowered.args_info[0][-1].shape) == "()"


def test_types():
    r = three()
    out = mj.eval_shape(lambda a, x: a[...] * x, r, 1.0)
    assert (out.shape, out.dtype) == ((3,), "float32")
    assert mj.typeof(r) == mj.ref.AbstractRef(mj.typeof(r[...]))
    assert mj.typeof(mj.new_ref(0.0)).weak_type and not mj.typeof(r).weak_type
    jaxpr = mj.make_jaxpr(lambda a: a.__setitem__(0, 1.0))(r)
    assert len(jaxpr.effects) == 1
    inside = mj.make_jaxpr(lambda x: mj.new_ref(x)[...])(1.0)
    assert not inside.effects
    same(r[...], [0, 1, 2])


# --------------------------------------------------------------------------- loops


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("settings", [{}, {"reverse": True}, {"unroll": 3}], ids=str)
def test_scan_over_rows(wrap, settings):
    r, tail = table(), three()

    def body(c, rows):
        a, b, x = rows
        a[0] = c
        b[...] += a[1] * x
        return c + 1, a[3]

    def run(a, b):
        return lax.scan(body, 0.0, (a, b, jnp.ones(3)), **settings)

    c, ys = wrap(run)(r, tail)
    same(c, 3)
    same(ys, [3, 7, 11])
    first = [2, 1, 0] if "reverse" in settings else [0, 1, 2]
    same(r[:, 0], first)
    same(tail[...], [1, 6, 11])


def test_rows_without_jit():
    r = three()
    with mj.disable_jit():
        total, _ = lax.scan(lambda c, a: (c + a[...], a.addupdate(1.0)), 0.0, r)
    same(total, 3)
    same(r[...], [1, 2, 3])


def test_loops_in_loops_and_calls():
    r = table()

    @mj.jit
    def outer(a):
        def body(i, c):
            @mj.jit
            def row(j):
                a[i, j] = 0.0
                return lax.cond(j > 1, lambda: a[i, 0], lambda: -1.0)

            return c + row(2) + lax.while_loop(lambda k: k < a[0, 1], lambda k: k + 1.0, 0.0)

        return lax.fori_loop(0, 3, body, 0.0)

    same(outer(r), 12 + 3)
    same(r[:, 2], [0, 0, 0])
    same(mj.lax.map(lambda a: a[1] * 2, r), [2, 10, 18])


# ---------------------------------------------------------------------------- vmap


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
def test_lanes_of_a_reference(wrap):
    r = table()
    x = jnp.arange(3.0)

    def f(x, a):
        a[...] = a[...] * x
        a[x.astype(int)] = -1.0
        return a[0]

    expected = np.arange(12.0).reshape(3, 4) * np.arange(3)[:, None]
    expected[np.arange(3), np.arange(3)] = -1
    same(wrap(mj.vmap(f))(x, r), expected[:, 0])
    same(r[...], expected)
    same(mj.vmap(lambda a: a[...], in_axes=-1)(r), expected.T)

    def dist(x, y, out):
        out[...] = jnp.sum((x - y) ** 2)

    vecs = jnp.arange(12.0).reshape(3, 4)
    out = mj.new_ref(jnp.zeros((3, 3)))
    wrap(mj.vmap(mj.vmap(dist, (0, None, 0)), (None, 0, 0)))(vecs, vecs, out)
    same(out[...], ((vecs[:, None] - vecs) ** 2).sum(-1))


def test_lanes_in_loops_and_branches():
    r = table()

    def f(x, a):
        lax.fori_loop(0, 3, lambda i, c: (a.__setitem__(i, x * i), c)[1], 0)
        lax.cond(x > 1, lambda: a.__setitem__(3, 9.0), lambda: None)
        return mj.jit(lambda a: a[3])(a)

    same(mj.vmap(f)(jnp.arange(3.0), r), [3, 7, 9])
    same(r[...], [[0, 0, 0, 3], [0, 1, 2, 7], [0, 2, 4, 9]])


def test_a_shared_reference_has_no_lanes():
    r = three()
    x = jnp.arange(3.0)
    for write in (r.__setitem__, lambda i, x: mj.ref.addupdate(r, i, x)):
        with pytest.raises(ValueError, match="with vmapped value on an unbatched array"):
            mj.vmap(lambda x, write=write: write(0, x))(x)
        with pytest.raises(ValueError, match="with vmapped value on an unbatched array"):
            mj.jit(mj.vmap(lambda x, write=write: write(0, x)))(x)
    i = jnp.array([2, 0])
    for f in (mj.vmap(lambda i: r[i]), mj.jit(mj.vmap(lambda i: r[i]))):
        same(f(i), [2, 0])
    with pytest.raises(NotImplementedError, match="State effect not supported in vmap-of-cond"):
        mj.jit(mj.vmap(lambda x: lax.cond(x > 1, lambda: r.__setitem__(0, 9.0), lambda: None)))(
            x
        )
    same(r[...], [0, 1, 2])


# ----------------------------------------------------------------- differentiation


@pytest.mark.parametrize("order", ["grad", "jit of grad", "grad of jit"])
def test_constants_of_differentiation(order):
    r = mj.new_ref(2.0)

    def wrap(f):
        if order == "grad":
            return mj.grad(f)
        return mj.jit(mj.grad(f)) if order == "jit of grad" else mj.grad(mj.jit(f))

    same(wrap(lambda x: x * x * r[...])(3.0), 12)
    same(wrap(lambda x: lax.fori_loop(0, 3, lambda i, c: c * r[...], x))(1.0), 8)
    same(wrap(mj.checkpoint(lambda x: jnp.sin(x) * r[...]))(0.0), 2)

    def notes(x):
        r[...] = lax.stop_gradient(x)
        return x * x

    same(wrap(notes)(5.0), 10)
    same(r[...], 5)
    for use in (
        lambda x: r.__setitem__(..., x),
        lambda x: mj.ref.swap(r, None, x),
        lambda x: mj.ref.addupdate(r, None, x),
    ):
        with pytest.raises(ValueError, match="differentiated value on a non-diff"):
            wrap(lambda x, use=use: (use(x), x)[1])(1.0)
    same(r[...], 5)


def test_checkpoint_reads_once():
    r = mj.new_ref(2.0)
    _, pull = mj.vjp(mj.checkpoint(lambda x: jnp.sin(x) * r[...]), 0.0)
    r[...] = 100.0
    same(pull(1.0)[0], 2)

    @mj.checkpoint
    def own(x):
        s = mj.new_ref(x)
        s[...] *= x
        return jnp.sin(s[...])

    same(mj.grad(own)(2.0), 4 * np.cos(4.0))
    same(mj.jit(mj.grad(own))(2.0), 4 * np.cos(4.0))


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
def test_forward_mode_takes_references(wrap):
    r, t = three(), mj.new_ref(jnp.ones(3))

    def f(a):
        a[0] = a[1] * 2
        return a[...].sum()

    out, out_t = wrap(lambda r, t: mj.jvp(f, (r,), (t,)))(r, t)
    same((out, out_t), [5, 4])
    same(r[...], [2, 1, 2])
    same(t[...], [2, 1, 1])
    with pytest.raises(TypeError, match="tangent of a reference is a reference"):
        mj.jvp(f, (r,), (jnp.ones(3),))
    for transform in (mj.grad, lambda f: lambda r: mj.vjp(f, r)):
        with pytest.raises(TypeError, match="with respect to a reference"):
            transform(f)(r)


@mj.custom_vjp
def stash(ref, x):
    return x


def stash_bwd(ref, g):
    ref[...] = g
    return None, g


stash.defvjp(lambda ref, x: (x, ref), stash_bwd)


@pytest.mark.parametrize("order", ["grad", "jit of grad", "grad of jit"])
def test_gradients_are_stashed(order):
    def wrap(f):
        if order == "grad":
            return mj.grad(f)
        return mj.jit(mj.grad(f)) if order == "jit of grad" else mj.grad(mj.jit(f))

    r, rows = mj.new_ref(0.0), three()
    same(wrap(lambda x, r: 3 * stash(r, jnp.sin(x)))(0.0, r), 3)
    same(r[...], 3)
    same(wrap(lambda x: 4 * stash(r, x))(0.0), 4)
    same(r[...], 4)

    def loop(x, rows):
        return lax.scan(lambda c, g: (stash(g, c) * 2.0, None), x, rows)[0]

    same(wrap(loop)(1.0, rows), 8)
    same(rows[...], [8, 4, 2])
    same(mj.vmap(mj.grad(lambda x, r: 5 * stash(r, x)))(jnp.zeros(3), rows), [5, 5, 5])
    same(rows[...], [5, 5, 5])


@pytest.mark.parametrize("order", ["grad", "jit of grad", "grad of jit"])
def test_custom_rules_close_over_references(order):
    def wrap(f):
        if order == "grad":
            return mj.grad(f)
        return mj.jit(mj.grad(f)) if order == "jit of grad" else mj.grad(mj.jit(f))

    r, seen = mj.new_ref(2.0), mj.new_ref(0.0)

    @mj.custom_vjp
    def f(x):
        return x * r[...]

    def bwd(_, g):
        seen[...] = g
        return (g * r[...],)

    f.defvjp(lambda x: (f(x), None), bwd)
    same(wrap(lambda x: 5 * f(x))(3.0), 10)
    same(seen[...], 5)

    @mj.custom_jvp
    def h(a, x):
        return x * a[...]

    h.defjvp(lambda p, t: (h(*p), 7 * t[1]))
    same(wrap(lambda x: h(r, x))(3.0), 7)
    same(mj.jit(lambda x: h(r, x))(3.0), 6)


def test_a_rule_may_call_its_function_that_closes_over_a_traced_value():
    @mj.jit
    def g(c, x):
        @mj.custom_vjp
        def f(x):
            return x * c

        f.defvjp(lambda x: (f(x), None), lambda _, t: (10 * t * c,))
        return f(x)

    same(g(2.0, 3.0), 6)
    same(mj.grad(g, 1)(2.0, 3.0), 20)


# ------------------------------------------------------------------------ subscripts


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    "index",
    [
        1,
        -1,
        np.int32(1),
        slice(1, None),
        slice(-2, None),
        slice(None, None, 2),
        slice(2, 1),
        slice(0, 10),
        ...,
        None,
        (),
        (1, ...),
        (..., 1),
        (slice(None), 1),
        (1, 2),
        (-1, -2),
        np.array([0, 2]),
        np.array([0, -1]),
        np.array([[0], [2]]),
        (slice(None), np.array([0, 3])),
        (np.array([0, 2]), np.array([1, 3])),
        (np.array([[0], [2]]), np.array([1, 3])),
        (1, np.array([1, 3])),
        (np.array([1, 2]), 1),
        (slice(1, 3), np.array([3, 0])),
    ],
    ids=str,
)
def test_subscripts(index, wrap):
    start = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    where = ... if index is None else index
    part = start[where]
    r = mj.new_ref(jnp.asarray(start))
    out = wrap(lambda r: r[index])(r)
    assert out.shape == part.shape
    same(out, part)
    expected = start.copy()
    expected[where] = -part - 1
    wrap(lambda r: r.__setitem__(index, -part - 1))(r)
    same(r[...], expected)
    expected[where] += 2
    wrap(lambda r: mj.ref.addupdate(r, index, jnp.full(part.shape, 2.0)))(r)
    same(r[...], expected)
    old = wrap(lambda r: mj.ref.swap(r, index, jnp.zeros(part.shape)))(r)
    same(old, expected[where])
    expected[where] = 0
    same(r[...], expected)


def test_traced_positions_are_moved_into_the_bounds():
    for i, row in ((1, 1), (-1, 2), (5, 2), (-7, 0)):
        r = table()
        same(mj.jit(lambda r, i: r[i])(r, i), np.arange(4) + 4 * row)
        mj.jit(lambda r, i: r.__setitem__(i, jnp.zeros(4)))(r, i)
        mj.jit(lambda r, i: mj.ref.addupdate(r, i, jnp.ones(4)))(r, i)
        expected = np.arange(12.0).reshape(3, 4)
        expected[row] = 1
        same(r[...], expected)


@pytest.mark.parametrize(
    "index, error, words",
    [
        (slice(5, 10), ValueError, "Out of bound slice: start=3, dim=3"),
        (slice(None, None, -1), ValueError, "slice must have a step >= 1"),
        ((1, 2, 3), ValueError, "must not be longer than `shape`"),
        ((..., ...), ValueError, "Only one ellipsis"),
        (np.array([True, False, True]), IndexError, "Too many indices"),
        ([0, 1], TypeError, "not a valid JAX type"),
        ("a", TypeError, "not a valid JAX type"),
        (1.5, TypeError, "indexed by integers"),
    ],
)
def test_wrong_subscripts(index, error, words):
    r = table()
    with pytest.raises(error, match=words):
        _ = r[index]
    with pytest.raises(error, match=words):
        mj.jit(lambda r: r.__setitem__(index, 0.0))(r)


# ---------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int32", "bfloat16", "float16", "complex64"]
)
def test_dtypes(dtype):
    r = mj.new_ref(jnp.ones(3, dtype))

    def f(r):
        r[0] = r[1]
        r[1] = jnp.zeros((), dtype)
        mj.ref.addupdate(r, 2, jnp.ones((), dtype))

    f(r)
    mj.jit(f)(r)
    same(r[...].real.astype("float32"), [0, 0, 1 if dtype == "bool" else 3])
    assert r.dtype == dtype
    with pytest.raises(ValueError, match="Invalid dtype for `swap`"):
        r[0] = jnp.float32(1)
    with pytest.raises(ValueError, match="Invalid dtype for `addupdate`"):
        mj.ref.addupdate(r, 0, jnp.float32(1))


def test_keys():
    r = mj.new_ref(mj.random.key(0))

    def draw():
        r[...], k = mj.random.split(r[...])
        return mj.random.normal(k)

    first, second = draw(), mj.jit(draw)()
    key, k = mj.random.split(mj.random.key(0))
    same(first, mj.random.normal(k))
    same(second, mj.random.normal(mj.random.split(key)[1]))
    many = mj.new_ref(mj.random.split(mj.random.key(0), 3))
    many[0] = many[1]
    assert (mj.random.key_data(many[0]) == mj.random.key_data(many[1])).all()


def test_no_values():
    r = three()
    for f in (jnp.sin, lax.sin, lambda r: lax.add(r, 1.0), lambda r: r + 1):
        with pytest.raises((TypeError, ValueError)):
            f(r)
        with pytest.raises((TypeError, ValueError)):
            mj.jit(f)(r)
    with pytest.raises(ValueError, match="did you forget to unpack"):
        mj.jit(lambda r: lax.sin(r))(r)
    with pytest.raises(ValueError, match="did you forget to unpack"):
        lax.sin(r)
    assert [float(x) for x in r] == [0, 1, 2]
    assert hash(r) == hash(r)
    assert r != three()
    assert mj.tree.leaves({"a": r})[0] is r


def test_freed_and_empty():
    r = mj.empty_ref(mj.ShapeDtypeStruct((2,), "float32"))
    r[...] = jnp.ones(2)
    same(r[...], [1, 1])
    mj.free_ref(r)
    with pytest.raises(RuntimeError, match="after it was freed"):
        _ = r[...]

    @mj.jit
    def f(x):
        r = mj.empty_ref(x)
        r[...] = x
        y = r[...]
        mj.free_ref(r)
        return y

    same(f(jnp.ones(2)), [1, 1])
    e = mj.new_ref(jnp.zeros((0, 3)))
    mj.jit(lambda a: a.__setitem__(..., a[...] + 1))(e)
    assert e.shape == (0, 3)


# ------------------------------------------------------------------ conditions that write


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
def test_conditions_of_loops_may_write(wrap):
    num_conds, total = mj.new_ref(0), mj.new_ref(0)

    def run(n):
        def cond(i):
            num_conds[...] += 1
            return i < 3

        def body(i):
            total[...] += num_conds[...]
            num_conds[...] += 10
            return i + 1

        return lax.while_loop(cond, body, n)

    same(wrap(run)(0), 3)
    same(num_conds[...], 34)
    same(total[...], 1 + 12 + 23)
    same(wrap(run)(7), 7)  # evaluated once, without a step
    same(num_conds[...], 35)


def test_conditions_that_write_are_transformed():
    def f(x):
        num_conds, r = mj.new_ref(0), mj.new_ref(x)

        def cond(i):
            num_conds[...] += 1
            return num_conds[...] < 4

        def body(i):
            r[...] *= x
            return i + 1

        return lax.while_loop(cond, body, 0) * r[...]

    same(f(2.0), 48)
    same(mj.jvp(f, (2.0,), (1.0,))[1], 96)
    same(mj.jit(mj.vmap(f))(jnp.array([1.0, 2.0])), [3, 48])

    def lanes(r, n):
        def cond(i):
            r[...] += 1
            return i < 3

        return lax.while_loop(cond, lambda i: i + 1, n)

    r = mj.new_ref(jnp.zeros(3, "int32"))
    same(mj.vmap(lanes)(r, jnp.arange(3)), [3, 3, 3])
    same(r[...], [4, 3, 2])


# --------------------------------------------------------------------- further mistakes


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
def test_nothing_is_broadcast(wrap):
    for use in (
        lambda r: r.__setitem__(..., 2.0),
        lambda r: r.__setitem__(slice(0, 2), jnp.float32(2)),
        lambda r: r.__setitem__(jnp.array([0, 1]), 2.0),
        lambda r: mj.ref.swap(r, ..., 2.0),
        lambda r: mj.ref.addupdate(r, None, 2.0),
        lambda r: r.__setitem__(..., jnp.ones((1, 1))),
    ):
        r = three()
        with pytest.raises(ValueError, match=r"Invalid shape for `(swap|addupdate)`"):
            wrap(use)(r)
        same(r[...], [0, 1, 2])


def test_integers_are_moved_into_bounds_in_programs():
    r = three()
    f = mj.jit(lambda r: (r[7], r[-7], r[np.int32(3)], r[-1]))
    same(f(r), (2, 0, 2, 2))
    same(r[-7], 0)
    mj.jit(lambda r: (r.__setitem__(9, 5.0), mj.ref.addupdate(r, -9, 3.0)))(r)
    same(r[...], [3, 1, 5])
    assert "a[7]" in str(mj.make_jaxpr(lambda r: r[7])(r))
    for use in (
        lambda: r[3],
        lambda: table()[0, 4],
        lambda: mj.vmap(lambda r: r[4])(table()),
        lambda: r.__setitem__(np.int32(3), 1.0),
        lambda: mj.jit(lambda r: r[0])(mj.new_ref(jnp.zeros(0))),
    ):
        with pytest.raises(ValueError, match=r"Out of bound indexer: idx=[034], dim="):
            use()


def test_freed_references_in_programs():
    def use_freed():
        r = mj.new_ref(1.0)
        mj.free_ref(r)
        return r[...]

    for f in (mj.jit(use_freed), use_freed):
        with pytest.raises(RuntimeError, match="after it was freed"):
            f()
    with pytest.raises(RuntimeError, match="after it was freed"):
        mj.jit(mj.free_ref)(three())
    with pytest.raises(RuntimeError, match="after it was freed"):
        mj.vmap(lambda r: mj.free_ref(r))(three())


def test_labels():
    f = lambda: mj.new_ref(1.0, kind="mine")[...]
    assert "new_ref[kind=mine memory_space=None]" in str(mj.make_jaxpr(f)())
    same((f(), mj.jit(f)()), (1, 1))
    with pytest.raises(NotImplementedError, match="default memory"):
        mj.new_ref(1.0, memory_space=mj.memory.Space.Host)
