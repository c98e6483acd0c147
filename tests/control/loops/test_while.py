"""while_loop and fori_loop: against loops written out, bounds, bounded loops, messages."""

import re

import numpy as np
import pytest
from straight import agree, names, only

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import checkify

X = np.array([0.7, 0.4, 0.9], np.float32)
W = np.array([0.8, 1.1, 0.6], np.float32)


def times(n, f, x):
    for _ in range(n):
        x = f(x)
    return x


def while_halved(x):
    """Lanes stop after different numbers of steps."""
    return lax.while_loop(lambda c: c.sum() > 0.4, lambda c: jnp.sin(c) * 0.6, x)


def halved(x):
    """The same, with more steps than any lane takes."""
    for _ in range(8):
        x = jnp.where(x.sum() > 0.4, jnp.sin(x) * 0.6, x)
    return x


def while_counted(x):
    """Carries of several types; one that no step changes; captured values."""
    _, y, w, _ = lax.while_loop(
        lambda c: c[0] < 3,
        lambda c: (c[0] + 1, c[1] * c[2] + x, c[2], {"n": c[3]["n"] * 2}),
        (0, x, jnp.cos(x), {"n": 1.0}),
    )
    return y * w


FORWARD_ONLY = {
    "one number of steps a lane": (while_halved, halved),
    "counted": (
        while_counted,
        lambda x: times(3, lambda y: y * jnp.cos(x) + x, x) * jnp.cos(x),
    ),
    "traced bounds": (
        lambda x: lax.fori_loop((x[0] * 0).astype(int), 3, lambda i, c: jnp.sin(c) * W, x),
        lambda x: times(3, lambda c: jnp.sin(c) * W, x),
    ),
    "nested": (
        lambda x: lax.while_loop(
            lambda c: c[0] < 2,
            lambda c: (c[0] + 1, lax.fori_loop(0, c[0] + 1, lambda i, d: d * x, c[1])),
            (0, x),
        )[1],
        lambda x: x * x * x * x,
    ),
}
BOTH_MODES = {
    "static bounds": (
        lambda x: lax.fori_loop(1, 4, lambda i, c: jnp.sin(c) * W + i * x, x),
        lambda x: jnp.sin(jnp.sin(jnp.sin(x) * W + x) * W + 2 * x) * W + 3 * x,
    ),
    "unrolled by 2": (
        lambda x: lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) * W, x, unroll=2),
        lambda x: times(5, lambda c: jnp.sin(c) * W, x),
    ),
    "no step": (
        lambda x: lax.fori_loop(3, 1, lambda i, c: jnp.sin(c) * W, x * 2),
        lambda x: x * 2,
    ),
    "indexing": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: c.at[i].multiply(x[2 - i]), x),
        lambda x: x * x[::-1],
    ),
    "bounded": (
        lambda x: lax.while_loop(
            lambda c: c.sum() > 0.4, lambda c: jnp.sin(c) * 0.6, x, max_steps=8
        ),
        halved,
    ),
}


@pytest.mark.parametrize("name", FORWARD_ONLY)
def test_forward_mode(name):
    agree(*FORWARD_ONLY[name], X, reverse=False)


@pytest.mark.parametrize("name", BOTH_MODES)
def test_both_modes(name):
    agree(*BOTH_MODES[name], X)


# ---------------------------------------------------------------------- reverse mode


@pytest.mark.parametrize(
    "loop",
    [while_halved, lambda x: mj.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c * x, x))(3)],
    ids=["while", "fori"],
)
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: mj.grad(lambda x: f(x).sum()),
        mj.jacrev,
        mj.hessian,
        lambda f: mj.jit(mj.grad(lambda x: f(x).sum())),
        lambda f: lambda x: mj.vjp(f, x)[1](x),
    ],
    ids=["grad", "jacrev", "hessian", "jit of grad", "vjp"],
)
def test_reverse_mode_is_refused(loop, transform):
    words = "Reverse-mode differentiation does not work for lax.while_loop or"
    with pytest.raises(ValueError, match=words):
        transform(loop)(X)


def test_reverse_mode_past_what_does_not_move():
    """Loops over constants, integers or unchanged values do not stop it."""

    def constant(x):
        return x * lax.while_loop(lambda c: c < 3, lambda c: c + 1.0, 0.0)

    def integer(x):
        n = lax.stop_gradient(x)
        return x * lax.while_loop(lambda c: c < 3 * n, lambda c: c + 1, 0)

    def stopped(x):
        return x * lax.while_loop(lambda c: c < 5, lambda c: c * 2, lax.stop_gradient(x))

    def handed_on(x):
        return 2 * lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, x))[1]

    result = [mj.grad(f)(2.0) for f in (constant, integer, stopped, handed_on)]
    assert result == [3, 6, 8, 2]


# ---------------------------------------------------------------------------- bounds


@pytest.mark.parametrize(
    "low, high",
    [
        (0, 3),
        (np.int8(0), np.int8(3)),
        (0, jnp.int16(3)),
        (np.uint32(0), np.uint32(3)),
        (np.array(0), np.array(3)),
        (jnp.int32(0), 3),
        (0.5, 3.9),
    ],
)
def test_static_bounds_give_a_weak_int(low, high):
    seen = []
    total = lax.fori_loop(low, high, lambda i, c: (seen.append(i.aval), c + i)[1], 0)
    assert total == 3
    assert all(a.dtype == np.int32 and a.weak_type for a in seen)


@pytest.mark.parametrize(
    "low, high, dtype, weak",
    [
        (0, 3, "int32", True),
        (np.int8(0), np.int8(3), "int8", False),
        (0, np.int8(3), "int8", False),
        (np.int16(0), 3, "int16", False),
        (0, np.uint8(3), "uint8", False),
        (0.0, 3.0, "float32", True),
    ],
)
def test_traced_bounds_keep_their_type(low, high, dtype, weak):
    seen = []

    def f(low, high):
        return lax.fori_loop(low, high, lambda i, c: (seen.append(i.aval), c + 1)[1], 0)

    assert mj.jit(f)(low, high) == 3
    assert (seen[-1].dtype, seen[-1].weak_type) == (dtype, weak)


def test_bounds_of_64_bits():
    with mj.enable_x64(True):
        big = 2**40
        assert lax.fori_loop(big, big + 3, lambda i, c: c + (i - big), 0) == 3
        high = np.uint64(2**63)
        out = lax.fori_loop(high, high + np.uint64(2), lambda i, c: i, np.uint64(0))
        assert out.dtype == np.uint64 and int(out) == 2**63 + 1
    with pytest.raises(OverflowError):
        lax.fori_loop(0, 2**40, lambda i, c: c, 0)


def test_unroll_of_traced_bounds():
    def f(n, unroll):
        return mj.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0, unroll=unroll))(n)

    assert [f(4, u) for u in (None, False, True, 1)] == [6] * 4
    for u in (0, 2):
        with pytest.raises(ValueError, match="Can only use `unroll` in `fori_loop` if the"):
            f(4, u)


def test_loops_over_lanes_of_bounds():
    n = np.arange(5)
    np.testing.assert_array_equal(
        mj.vmap(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(n), n * (n - 1) // 2
    )
    a, b, c = mj.vmap(
        lambda n: lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, 7, c[2] * 2), (0, 5, 1)
        )
    )(n)
    assert a.tolist() == n.tolist() and c.tolist() == (2**n).tolist()
    assert b.tolist() == [5, 7, 7, 7, 7]


# ----------------------------------------------------------------------------- carries


def test_weak_carries_are_promoted():
    out = lax.while_loop(lambda c: c < 10, lambda c: c + np.float32(3), 0)
    assert (out, out.dtype, out.weak_type) == (12, np.float32, False)
    out = lax.while_loop(lambda c: c < 10, lambda c: c + 3, 0.0)
    assert (out, out.dtype, out.weak_type) == (12, np.float32, True)
    two = lax.fori_loop(0, 3, lambda i, c: (c[1], c[0] + i * 1.0), (1, 2))
    assert [x.dtype for x in two] == [np.float32] * 2


def test_promoting_a_number_takes_no_equation():
    jaxpr = mj.make_jaxpr(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(np.int8(3))
    assert [e.primitive.name for e in jaxpr.eqns] == ["while"]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64"]
)
def test_dtypes(dtype):
    x = jnp.array([0, 1, 1, 0]).astype(dtype)
    out = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1][::-1]), (0, x[:2]))
    assert out[1].dtype == x.dtype and out[1].tolist() == [1, 0]


def test_none_keys_and_empty_arrays():
    key = mj.random.key(1)
    _, none, k, e = lax.while_loop(
        lambda c: c[0] < 2,
        lambda c: (c[0] + 1, None, mj.random.fold_in(c[2], c[0]), c[3] + 1),
        (0, None, key, np.zeros((0, 2), np.float32)),
    )
    expected = mj.random.fold_in(mj.random.fold_in(key, 0), 1)
    assert none is None and e.shape == (0, 2)
    assert (mj.random.key_data(k) == mj.random.key_data(expected)).all()
    lanes = mj.vmap(
        lambda n: lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, mj.random.fold_in(c[1], c[0])), (0, key)
        )[1]
    )(np.arange(3))
    assert (mj.random.key_data(lanes[0]) == mj.random.key_data(key)).all()
    assert (mj.random.key_data(lanes[2]) == mj.random.key_data(expected)).all()


def test_what_no_step_changes_is_no_carry():
    def f(x):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, x))

    eqn = only(mj.make_jaxpr(f)(X), "while")
    assert len(eqn.outvars) == 1
    assert f(X)[1].tolist() == X.tolist()


def test_dead_carries_are_dropped_from_the_tangent_loop():
    def f(x):
        return lax.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2, jnp.sin(c[2])), (0, x, x)
        )[1]

    push = mj.linearize(f, X)[1]
    np.testing.assert_allclose(push(X), 8 * X)
    jaxpr = mj.make_jaxpr(push)(X)
    assert not {"sin", "cos"} & {*names(jaxpr)}
    assert len(only(jaxpr, "while").outvars) == 2  # the counter and the tangent


def test_a_loop_run_again_is_staged_once():
    calls = []

    def body(i, c):
        calls.append(1)
        return c + i

    for _ in range(3):
        lax.fori_loop(0, 5, body, 0)
    assert len(calls) == 1


def test_disable_jit_runs_python():
    with mj.disable_jit():
        out = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1].T), (0, 1.0))
        assert out == (3, 1)
        assert lax.fori_loop(0, 3, lambda i, c: c + range(5)[i], 0) == 3
        squares = mj.grad(lambda x: lax.while_loop(lambda c: c < 30, lambda c: c * c, x))
        assert squares(np.float32(2)) == 8 * 2**7  # of x ** 8
        lanes = mj.vmap(lambda n: lax.while_loop(lambda c: c < n, lambda c: c + 1, 0))
        assert lanes(np.arange(3)).tolist() == [0, 1, 2]


# ----------------------------------------------------------------------- bounded loops


def root(x, max_steps, tolerance=1e-3):
    """Heron's square root."""
    return lax.while_loop(
        lambda c: jnp.abs(c * c - x) > tolerance,
        lambda c: 0.5 * (c + x / c),
        x,
        max_steps=max_steps,
    )


def root_written_out(x, max_steps, tolerance=1e-3):
    c = x
    for _ in range(max_steps):
        c = jnp.where(jnp.abs(c * c - x) > tolerance, 0.5 * (c + x / c), c)
    return c


@pytest.mark.parametrize("max_steps", [0, 1, 2, 3, 5, 8])
def test_bounded_loops_of_all_lengths(max_steps):
    for x in (1.0, 2.0, 30.0):
        x = np.float32(x)
        got = mj.value_and_grad(root)(x, max_steps)
        expected = mj.value_and_grad(root_written_out)(x, max_steps)
        np.testing.assert_allclose(got, expected, 1e-5)


def test_bounded_loops_under_transformations():
    x = np.array([2.0, 9.0, 0.3], np.float32)
    exact = 0.5 / np.sqrt(x)
    np.testing.assert_allclose(mj.vmap(mj.grad(lambda x: root(x, 20, 1e-5)))(x), exact, 1e-3)
    lanes = mj.grad(lambda x: mj.vmap(lambda x: root(x, 20, 1e-5))(x).sum())
    np.testing.assert_allclose(lanes(x), exact, 1e-3)
    np.testing.assert_allclose(mj.jit(lanes)(x), exact, 1e-3)
    second = mj.grad(mj.grad(lambda x: root(x, 20, 1e-5)))(x[0])
    np.testing.assert_allclose(second, -0.25 * x[0] ** -1.5, 1e-2)


@pytest.mark.parametrize("steps", [16, 100, 400])
def test_bounded_loops_store_about_the_root_of_their_steps(steps):
    x = np.ones(1000, np.float32)

    def f(x):
        return lax.while_loop(
            lambda c: c[0] < steps, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, x), max_steps=steps
        )[1]

    _, pull = mj.vjp(f, x)
    stored = {id(a): a.nbytes for a in mj.tree.leaves(pull) if hasattr(a, "nbytes")}
    assert sum(stored.values()) / x.nbytes < 1.1 * steps**0.5 + 1
    temporary = mj.jit(mj.grad(lambda x: f(x).sum())).lower(x).compile().memory_analysis()
    assert temporary.temp_size_in_bytes / x.nbytes < 3 * steps**0.5 + 4


def test_a_bounded_loop_that_is_not_done_stops():
    """The loop returns the value it reached, and its gradient; checkify reports it."""

    def f(x):
        return lax.while_loop(lambda c: c > 0, lambda c: 2 * c, x, max_steps=10)

    x = np.float32(3)
    assert f(x) == 3 * 1024 and mj.grad(f)(x) == 1024
    words = "while_loop: more than max_steps=10 steps"
    for g in (f, mj.jit(f), mj.grad(f), lambda x: mj.vmap(f)(x[None])):
        error, _ = checkify.checkify(g)(x)
        assert words in error.get()
        error, _ = checkify.checkify(g)(-x)
        assert error.get() is None


def test_bounded_loops_stop_without_jit_too():
    with mj.disable_jit():
        assert lax.while_loop(lambda c: c < 50, lambda c: c + 1, 0, max_steps=7) == 7
        assert lax.while_loop(lambda c: c < 5, lambda c: c + 1, 0, max_steps=7) == 5


def test_bounded_loops_take_any_carry():
    n, k, none, x = lax.while_loop(
        lambda c: c[0] < 3,
        lambda c: (c[0] + 1, mj.random.fold_in(c[1], 1), None, c[3] + np.float32(1)),
        (0, mj.random.key(0), None, 0),
        max_steps=5,
    )
    assert n == 3 and none is None and x == 3 and x.dtype == np.float32
    assert not (mj.random.key_data(k) == mj.random.key_data(mj.random.key(0))).all()


# ---------------------------------------------------------------------------- progress


def lines(capsys):
    mj.effects_barrier()
    return capsys.readouterr().err.split("\r")[1:]


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr("minijax.control.loop_functions.progress._PAUSE", 0.0)


def test_progress_of_fori_loop(capsys, at_once):
    assert lax.fori_loop(2, 7, lambda i, c: c + i, 0, progress="text") == 20
    shown = lines(capsys)
    assert len(shown) == 6 and "5/5" in shown[-1] and shown[-1].endswith("\n")
    assert (
        mj.jit(lambda: lax.fori_loop(0, 1000, lambda i, c: c + 1, 0, progress="text"))() == 1000
    )
    shown = lines(capsys)
    assert len(shown) == 101 and "1000/1000" in shown[-1]
    assert lax.fori_loop(3, 0, lambda i, c: c + i, 4, progress="text") == 4
    assert lines(capsys) == []


def test_progress_is_drawn_now_and_then(capsys):
    mj.jit(lambda: lax.fori_loop(0, 1000, lambda i, c: c + 1, 0, progress="text"))()
    shown = lines(capsys)  # the first and the last; the loop takes no time
    assert 2 <= len(shown) < 50 and "0/1000" in shown[0] and "1000/1000" in shown[-1]


@pytest.mark.parametrize("n", [1, 99, 100, 101, 250, 333])
def test_progress_changes_no_result(n, at_once, capsys):
    xs = np.linspace(-1, 1, n).astype(np.float32)
    step = lambda c, x: (jnp.sin(c) + x, (c * x, {"i": x}))
    for reverse in (False, True):
        expected = lax.scan(step, 0.5, xs, reverse=reverse)
        shown = lax.scan(step, 0.5, xs, reverse=reverse, progress="text")
        for a, b in zip(mj.tree.leaves(expected), mj.tree.leaves(shown), strict=True):
            assert a.aval == b.aval
            np.testing.assert_allclose(a, b, rtol=1e-6)
    body = lambda i, c: jnp.sin(c) + i
    expected = lax.fori_loop(3, 3 + n, body, 0.5)
    shown = lax.fori_loop(3, 3 + n, body, 0.5, progress="text")
    np.testing.assert_allclose(expected, shown, rtol=1e-5)
    seen = []
    lax.fori_loop(
        np.uint8(1), np.uint8(4), lambda i, c: (seen.append(i.aval), c)[1], 0, progress="text"
    )
    assert {str(a) for a in seen} == {"uint8[]"}
    assert lines(capsys)


def test_progress_of_a_gradient_is_shown_once(capsys, at_once):
    def f(x):
        return lax.fori_loop(0, 4, lambda i, c: jnp.sin(c), x, progress="text")

    expected = mj.grad(lambda x: lax.fori_loop(0, 4, lambda i, c: jnp.sin(c), x))(1.0)
    assert mj.grad(f)(1.0) == expected
    assert len(lines(capsys)) == 5
    assert mj.vmap(f)(np.ones(3)).shape == (3,)
    assert len(lines(capsys)) == 5


def test_progress_errors():
    with pytest.raises(ValueError, match="progress='bar': choose None or 'text'"):
        lax.fori_loop(0, 3, lambda i, c: c, 0, progress="bar")
    with pytest.raises(mj.errors.ConcretizationTypeError, match="progress="):
        mj.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, 0, progress="text"))(3)
    with pytest.raises(TypeError, match=r"Where: wrong at .*test_while.py"):

        def wrong(i, c):
            return c.astype(int)

        lax.fori_loop(0, 3, wrong, np.float32(0), progress="text")


# ----------------------------------------------------------------------------- errors


def below(x):
    return x < 3


ERRORS = {
    "no function": (lambda: lax.while_loop(1, below, 0), TypeError,
                    "lax.while_loop: body_fun and cond_fun arguments should be callable"),
    "a tuple": (lambda: lax.while_loop(lambda x: (x < 3,), lambda x: x, 0), TypeError,
                "cond_fun must return a boolean scalar, but got pytree PyTreeDef((*,))"),
    "a float": (lambda: lax.while_loop(lambda x: x, lambda x: x, 0.0), TypeError,
                "cond_fun must return a boolean scalar, but got output type(s)"),
    "a vector": (lambda: lax.while_loop(below, lambda x: x, X), TypeError,
                 "cond_fun must return a boolean scalar, but got output type(s)"),
    "tree": (lambda: lax.while_loop(lambda c: c["a"] < 3, lambda c: {"a": (0, 1)},
                                    {"a": 0}),
             TypeError, "while_loop body function carry input and carry output must have"
             " the same pytree structure, but they differ:\nWhich: The input carry"
             " component c['a'] is an array but the corresponding component of the carry"
             " output is a tuple of length 2"),
    "dtype": (lambda: lax.while_loop(below, lambda x: x.astype(int), np.float32(0)),
              TypeError, "must have equal types, but they differ:\nWhich: The input carry x"
              " has type float32[] but the corresponding output carry component has type"
              " int32[], so the dtypes do not match"),
    "two types": (lambda: lax.while_loop(lambda c: True, lambda c: (c[0][None],
                  c[1][None].astype(int)), (np.float32(0), np.float32(0))), TypeError,
                  "the input carry component c[0] has type float32[] but the corresponding"
                  " output carry component has type float32[1], so the shapes do not match"
                  "\n  the input carry component c[1]"),
    "result": (lambda: lax.while_loop(below, lambda x: "a", 0), TypeError,
               "returned a value of type <class 'str'>"),
    "init": (lambda: lax.while_loop(below, lambda x: x, {"a": "b"}), TypeError,
             "Argument 'b' of type <class 'str'> is not a valid JAX type.\nWhich:"
             " init_val['a']"),
    "bounded: negative": (lambda: lax.while_loop(below, lambda x: x, 0, max_steps=-1),
                          ValueError, "max_steps must be >= 0, got -1"),
    "bounded: traced": (mj.jit(lambda n: lax.while_loop(below, below, 0, max_steps=n)),
                        mj.errors.ConcretizationTypeError,
                        "The `max_steps` of a while_loop"),
    "bounded: condition": (lambda: lax.while_loop(lambda x: x, lambda x: x, 0, max_steps=2),
                           TypeError, "cond_fun must return a boolean scalar"),
    "bounded: carry": (lambda: lax.while_loop(below, lambda x: (x, x), 0, max_steps=2),
                       TypeError, "while_loop body function carry input and carry output"),
    "fori: no function": (lambda: lax.fori_loop(0, 3, 1, 0), TypeError,
                          "lax.fori_loop: body_fun argument should be callable"),
    "fori: int and float": (lambda: lax.fori_loop(0, 3.5, lambda i, c: c, 0), TypeError,
                            "lower and upper arguments to fori_loop must have equal types,"
                            " got int32 and float32"),
    "fori: two ints": (lambda: lax.fori_loop(np.int32(0), np.int8(3), lambda i, c: c, 0),
                       TypeError, "must have equal types, got int32 and int8"),
    "fori: negative uint": (lambda: lax.fori_loop(-3, jnp.uint8(3), lambda i, c: c, 0),
                            TypeError, "must have equal types, got int32 and uint8"),
    "fori: a vector": (lambda: lax.fori_loop(np.array([0]), 3, lambda i, c: c, 0),
                       TypeError,
                       "lower and upper arguments to fori_loop must be integer scalars"),
    "fori: carry": (lambda: lax.fori_loop(0, 3, lambda i, val: val[0], (X, X)), TypeError,
                    "fori_loop body function carry input and carry output must have the"
                    " same pytree structure, but they differ:\nWhich: The input carry val"
                    " is a tuple of length 2 but the corresponding component of the carry"
                    " output is an array"),
    "fori: unroll": (lambda: lax.fori_loop(0, 3, lambda i, c: c, 0, unroll=-1), ValueError,
                     "`unroll` must be a `bool` or a non-negative `int`"),
    "fori: if": (lambda: lax.fori_loop(0, 3, lambda i, c: 1 if i > 1 else 2, 0),
                 mj.errors.TracerBoolConversionError, "test_while.py"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    call, kind, words = ERRORS[name]
    with pytest.raises(kind, match=re.escape(words)):
        call(3) if name == "bounded: traced" else call()


def test_messages_name_the_users_function():
    def user_body(i, c):
        return "a"

    for upper in (3, jnp.int32(3)):
        with pytest.raises(TypeError, match=r"function user_body at .*test_while.py"):
            mj.jit(lambda n: lax.fori_loop(0, n, user_body, 0))(upper)
        with pytest.raises(TypeError, match=r"function user_body at .*test_while.py"):
            lax.fori_loop(0, upper, user_body, 0)


def test_scan_is_what_a_static_loop_becomes():
    jaxpr = mj.make_jaxpr(lambda x: lax.fori_loop(0, 3, lambda i, c: c + i, x))(X)
    assert names(jaxpr)[0] == "scan"
