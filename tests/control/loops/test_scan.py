"""scan: against loops written out, residuals of its backward pass, call forms, messages."""

import functools
import re
from typing import NamedTuple

import numpy as np
import pytest
from straight import agree, names, only

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

RANDOM = np.random.default_rng(0)
X = np.array([0.7, 0.4, 0.9], np.float32)
W = np.array([0.8, 1.1, 0.6], np.float32)
ROWS = RANDOM.uniform(0.4, 0.9, (5, 3)).astype(np.float32)
M = RANDOM.uniform(0, 0.7, (3, 3)).astype(np.float32)


def written_out(f, init, xs, length=None, reverse=False):
    """What `scan` means."""
    n = length if xs is None else len(mj.tree.leaves(xs)[0])
    carry, ys = init, []
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, mj.tree.map(lambda x: x[i], xs))  # noqa: B023
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, mj.tree.map(lambda *rows: jnp.stack(rows), *ys)


def sine(c, r):
    return jnp.sin(c) * r, c * W


BODIES = {
    "sine": lambda scan, x: scan(sine, x, ROWS),
    "reverse": lambda scan, x: scan(sine, x, ROWS, reverse=True),
    "matrix": lambda scan, x: scan(lambda c, r: (jnp.tanh(M @ c + r * x), c), x, ROWS),
    "captured": lambda scan, x: scan(lambda c, r: (c * jnp.exp(x) * r, x), x, ROWS),
    "xs only": lambda scan, x: scan(lambda c, r: (c, jnp.sin(r) * x), x, ROWS * x),
    "carry only": lambda scan, x: scan(lambda c, _: (jnp.sin(c), c), x, None, length=4),
    "exchange": lambda scan, x: (lambda out: (out[0][0], out[1]))(
        scan(lambda c, r: ((c[1] * r, c[0]), c[0] * c[1]), (x, jnp.cos(x)), ROWS)
    ),
    "a counter": lambda scan, x: (lambda out: (out[0][1], out[1]))(
        scan(lambda c, r: ((c[0] + 1, c[1] * r * c[0]), c[1]), (1, x), ROWS)
    ),
    "cond inside": lambda scan, x: scan(
        lambda c, r: (lax.cond(r[0] > 0.6, lambda c: jnp.sin(c) * r, lambda c: c * W, c), c),
        x,
        ROWS,
    ),
    "scan inside": lambda scan, x: scan(
        lambda c, r: (scan(lambda d, q: (jnp.sin(d) * q, d), c, ROWS[:2])[0] * r, c), x, ROWS
    ),
    "a checkpoint": lambda scan, x: scan(
        mj.checkpoint(lambda c, r: (jnp.sin(c) * r, jnp.cos(c))), x, ROWS
    ),
    "grad inside": lambda scan, x: scan(
        lambda c, r: (mj.grad(lambda c: (jnp.sin(c) * r).sum())(c), c), x, ROWS
    ),
    "vmap inside": lambda scan, x: scan(
        lambda c, r: (mj.vmap(lambda a, b: jnp.sin(a) * b)(c, r), c), x, ROWS
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_it_is_the_loop(name):
    def joined(scan):
        def run(x):
            c, ys = BODIES[name](scan, x)
            return c + (ys * np.arange(1, 1 + len(ys), dtype=np.float32)[:, None]).sum(0)

        return run

    agree(joined(lax.scan), joined(written_out), X)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [0, 1, 2, 3, 5, 9, True, False])
def test_unroll(unroll, reverse):
    def f(c, r):
        return 2 * c + r, (c, r - c)

    xs = np.arange(5.0, dtype=np.float32)
    got = lax.scan(f, np.float32(1), xs, reverse=reverse, unroll=unroll)
    expected = written_out(f, np.float32(1), xs, reverse=reverse)
    for a, b in zip(mj.tree.leaves(got), mj.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)

    def loss(c, unroll):
        c, ys = lax.scan(sine, c, ROWS, reverse=reverse, unroll=unroll)
        return (c + ys[1]).sum()

    np.testing.assert_allclose(mj.grad(loss)(X, unroll), mj.grad(loss)(X, 1), 1e-6)


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"unroll": True}, {"unroll": 3}])
def test_no_steps(options):
    def f(c, r):
        return c * r, (c, r.astype(jnp.bfloat16))

    def run(x):
        return lax.scan(f, x, ROWS[:0], **options)

    for g in (run, mj.jit(run)):
        c, (a, b) = g(X)
        assert (c == X).all() and a.shape == b.shape == (0, 3) and b.dtype == jnp.bfloat16
    assert mj.grad(lambda x: run(x)[0].sum())(X).tolist() == [1, 1, 1]
    assert mj.vmap(run)(ROWS)[1][0].shape == (5, 0, 3)
    assert lax.scan(lambda c, _: (c + 1, c), 0, None, length=0)[1].shape == (0,)


# ------------------------------------------------------------------- carries and rows


class State(NamedTuple):
    a: object
    b: object


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int4",
        "int8",
        "uint16",
        "int32",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "complex64",
    ],
)
def test_dtypes(dtype):
    xs = jnp.array([0, 1, 1, 0]).astype(dtype)
    c, (rows, seen) = lax.scan(lambda c, r: (r, (r, c)), xs[0], xs, unroll=3, reverse=True)
    assert c.dtype == rows.dtype == seen.dtype == xs.dtype
    assert (rows == xs).all() and bool(c == xs[0])
    assert seen.tolist() == jnp.stack([xs[1], xs[2], xs[3], xs[0]]).tolist()


def test_trees_none_and_named_tuples():
    def f(c, x):
        return State(c.a + x["r"], c.b), State(None, (x["n"], c.a))

    c, y = lax.scan(f, State(0.0, None), {"r": ROWS[:, 0], "n": None})
    assert c == State(np.cumsum(ROWS[:, 0])[-1], None)
    assert y.a is None and y.b[0] is None and y.b[1].shape == (5,)
    assert lax.scan(lambda c, x: ((), None), (), X) == ((), None)
    assert lax.scan(lambda c, x: (None, x), None, X)[1].tolist() == X.tolist()
    assert type(lax.scan(lambda c, x: [c, x], 0, X)) is list


def test_keys_are_carries_rows_and_results():
    key = mj.random.key(0)
    (last, total), keys = lax.scan(
        lambda c, _: ((mj.random.split(c[0])[0], c[1] + mj.random.uniform(c[0])), c[0]),
        (key, 0.0),
        None,
        length=3,
    )
    repeated = lax.scan(lambda t, k: (t + mj.random.uniform(k), k), 0.0, keys, unroll=2)
    assert repeated[0] == total
    assert (mj.random.key_data(repeated[1]) == mj.random.key_data(keys)).all()
    assert (mj.random.key_data(keys[0]) == mj.random.key_data(key)).all()
    assert last.dtype == key.dtype
    assert lax.scan(lambda c, k: (c, k), 0, keys[:0])[1].shape == (0,)
    lanes = mj.vmap(
        lambda k: lax.scan(lambda k, _: (mj.random.split(k)[0], k), k, None, length=2)[1]
    )
    assert (mj.random.key_data(lanes(keys)[0, 0]) == mj.random.key_data(key)).all()

    def noisy(x):
        return lax.scan(lambda c, k: (c * mj.random.uniform(k), None), x, keys)[0]

    np.testing.assert_allclose(mj.grad(noisy)(1.0), noisy(1.0), 1e-6)


def test_weak_carries_are_promoted():
    def types(f, init, xs):
        c, y = mj.eval_shape(lambda: lax.scan(f, init, xs))
        return str(c.dtype), c.weak_type, str(y.dtype), y.weak_type

    def add(c, x):
        return c + x, c

    assert types(add, 0, X) == ("float32", False, "float32", False)
    assert types(add, 0.0, np.arange(4)) == ("float32", True, "float32", True)
    assert types(add, 0, np.arange(4, dtype=np.int8)) == ("int8", False, "int8", False)
    assert types(add, 1, X.astype(jnp.bfloat16))[0] == "bfloat16"
    assert types(add, 0.0, X * 1j)[0] == "complex64"
    swap = lax.scan(lambda c, x: ((c[1], c[2], c[2] + x), None), (0, 0, 0), X)[0]
    assert [c.dtype for c in swap] == [np.float32] * 3


def test_forms_of_functions():
    class Callable:
        def __call__(self, c, x):
            return c + x, c

        def method(self, c, x):
            return self(c, x)

    def with_scale(scale, c, x):
        return c + scale * x, c

    expected = lax.scan(lambda c, x: (c + x, c), 0.0, X)
    for f in (
        Callable(),
        Callable().method,
        functools.partial(with_scale, 1.0),
        mj.jit(lambda c, x: (c + x, c)),
    ):
        got = lax.scan(f, 0.0, X)
        assert got[0] == expected[0] and (got[1] == expected[1]).all()


def test_length_may_be_any_concrete_integer():
    for n in (2, np.int64(2), np.array(2), jnp.int32(2)):
        assert lax.scan(lambda c, _: (c + 1, None), 0, None, length=n)[0] == 2
    assert lax.scan(lambda c, _: (c + 1, None), 0, X, length=3)[0] == 3


def test_disable_jit_runs_python():
    with mj.disable_jit():
        c, ys = lax.scan(
            lambda c, x: (c + float(x), range(9)[int(c)]), 0.0, np.arange(4.0), reverse=True
        )
        assert c == 6 and ys.tolist() == [6, 5, 3, 0]
        with pytest.raises(ValueError, match="zero-length scan is not supported"):
            lax.scan(lambda c, x: (c, x), 0.0, ROWS[:0])


# -------------------------------------------------------------------------- residuals


def stored(f, *args):
    """Shapes of what the backward pass of `f` keeps, arguments left out."""
    _, pull = mj.vjp(f, *args)
    known = set(map(id, args))
    by_id = {id(a): a for a in mj.tree.leaves(pull) if hasattr(a, "shape")}
    return sorted(a.shape for key, a in by_id.items() if key not in known)


def test_values_that_all_steps_share_are_not_stacked():
    rows = jnp.asarray(ROWS)

    def f(x, w):
        return lax.scan(lambda c, r: (c * jnp.exp(M @ w), None), x, rows)[0]

    shapes = stored(f, jnp.asarray(X), jnp.asarray(W))
    assert (5, 3) in shapes  # the carries, which w's gradient needs
    assert shapes.count((5, 3)) == 1 and (5, 3, 3) not in shapes
    jaxpr = mj.make_jaxpr(mj.grad(lambda x: f(x, W).sum()))(X)
    assert names(only_scan(jaxpr, -1).params["jaxpr"]) == ["mul"]


@pytest.mark.parametrize(
    "name, body, stacks",
    [
        ("jit", lambda c, r, w: mj.jit(lambda c: c * jnp.exp(M @ w))(c) * r, 2),
        (
            "inner jit",
            lambda c, r, w: mj.jit(lambda c: mj.jit(jnp.multiply)(c, jnp.exp(M @ w)))(c) * r,
            2,
        ),
        (
            "cond",
            lambda c, r, w: (
                lax.cond(w[0] > 0, lambda c: c * jnp.exp(M @ w), lambda c: c * 2, c) * r
            ),
            2,
        ),
        (
            "rows",
            lambda c, r, w: lax.scan(lambda c, m: (c * jnp.exp(m @ w), None), c, M)[0] * r,
            1,
        ),
        (
            "results",
            lambda c, r, w: lax.scan(lambda c, m: (c * r, jnp.exp(m @ w)), c, M)[1] * c,
            1,
        ),
    ],
)
def test_shared_values_inside_calls_are_not_stacked(name, body, stacks):
    step = lambda w: lambda c, r: (body(c, r, w), None)
    f = lambda w: lax.scan(step(w), X, jnp.asarray(ROWS))[0]
    assert stored(f, jnp.asarray(W)).count((5, 3)) == stacks
    agree(f, lambda w: written_out(step(w), X, ROWS)[0], W)


def test_the_zero_tangent_of_the_start_is_not_stored():
    w = jnp.asarray(W)
    f = lambda w: lax.scan(lambda c, _: (c * w, None), jnp.zeros(3), length=5)[0]
    assert stored(f, w) == [(5, 3)]


def test_a_wholly_unrolled_loop_has_no_loop():
    def program(**options):
        f = lambda c: lax.scan(lambda c, _: (jnp.sin(c), None), c, length=3, **options)
        return mj.make_jaxpr(f)(X), mj.jit(f).lower(X).as_text()

    jaxpr, text = program(unroll=0)
    assert only_scan(jaxpr, 0).params["unroll"] == 0 and "while" not in text
    jaxpr, text = program(unroll=True)
    assert only_scan(jaxpr, 0).params["unroll"] == 3 and "while" not in text
    jaxpr, text = program(unroll=False)
    assert only_scan(jaxpr, 0).params["unroll"] == 1 and "while" in text


def test_rows_that_lanes_share_are_stacked_once():
    rows = jnp.asarray(ROWS)

    def f(x):
        inner = lambda c, r: (jnp.sin(c) * r, None)
        return lax.scan(lambda c, _: (lax.scan(inner, c, rows)[0], None), x, length=7)[0]

    shapes = stored(mj.vmap(f), jnp.stack([X, X]))
    assert (5, 1, 3) in shapes and (7, 5, 1, 3) not in shapes
    assert (7, 5, 2, 3) in shapes


def only_scan(jaxpr, which):
    return [e for e in jaxpr.eqns if e.primitive.name == "scan"][which]


def test_a_linear_loop_stores_nothing():
    rows = jnp.asarray(ROWS)
    assert stored(lambda x: lax.scan(lambda c, r: (c * 2 + r, None), x, rows)[0], X) == []
    m = jnp.asarray(M)
    shapes = stored(lambda x: lax.scan(lambda c, r: (m @ c + r, None), x, rows)[0], X)
    assert (5, 3) not in shapes and (5, 3, 3) not in shapes


def test_rows_and_results_are_not_stored_twice():
    rows = jnp.asarray(ROWS)

    def step(c, r):
        e = jnp.exp(c)
        return e * r, e

    def f(x):
        return lax.scan(step, x, rows)

    (_, ys), pull = mj.vjp(f, X)
    residuals = [a for a in mj.tree.leaves(pull) if getattr(a, "shape", ()) == (5, 3)]
    assert any(a is ys for a in residuals)
    other = {id(a) for a in residuals} - {id(ys), id(rows)}
    assert not other


@pytest.mark.parametrize(
    "name, body, per_step",
    [
        ("tanh", lambda c, r: (jnp.tanh(M @ c + r), None), 3),  # its slope; JAX stores 6
        ("sin", lambda c, r: (jnp.sin(c), None), 3),
        ("where", lambda c, r: (jnp.where(r > 0.6, c * 2, c), None), 0),
        ("relu", lambda c, r: (mj.nn.relu(c - r), None), 0),
    ],
)
def test_floats_stored_for_a_step(name, body, per_step):
    rows = jnp.asarray(ROWS)
    _, pull = mj.vjp(lambda x: lax.scan(body, x, rows)[0], X)
    by_id = {id(a): a for a in mj.tree.leaves(pull) if hasattr(a, "dtype")}
    floats = [a for a in by_id.values() if a.dtype == np.float32 and a is not rows]
    assert sum(a.size for a in floats if a.ndim and a.shape[0] == 5) == 5 * per_step


def test_dead_parts_store_nothing():
    def f(x):
        (a, _), _ = lax.scan(
            lambda c, r: ((c[0] * r, jnp.sin(c[1])), jnp.exp(c[1])), (x, x), ROWS
        )
        return a

    jaxpr = mj.make_jaxpr(mj.linearize(f, X)[1])(X)
    eqn = only(jaxpr, "scan")
    assert len(eqn.outvars) == 1 and names(eqn.params["jaxpr"]) == ["mul"]
    backward = only_scan(mj.make_jaxpr(mj.grad(lambda x: f(x).sum()))(X), -1)
    assert names(backward.params["jaxpr"]) == ["mul"]


def test_dead_ends_of_a_function_store_nothing():
    x = jnp.asarray(X)

    def f(x):
        jnp.sin(x) * x
        return 2 * x

    assert stored(f, x) == []


def test_what_no_step_changes_is_no_carry():
    def f(x, w):
        return lax.scan(lambda c, r: ((c[0] * c[1], c[1]), (r, c[0])), (x, w), ROWS)

    eqn = only(mj.make_jaxpr(f)(X, W), "scan")
    assert eqn.params["num_carry"] == 1 and eqn.params["num_consts"] == 1
    (_, w), (rows, _) = f(X, W)
    assert w.tolist() == W.tolist() and rows.tolist() == ROWS.tolist()


def test_equal_scans_are_staged_and_compiled_once():
    calls = []

    def f(c, r):
        calls.append(1)
        return c * r, c

    for _ in range(3):
        lax.scan(f, X, ROWS)
    assert len(calls) == 1


def test_integer_inputs_have_float0_cotangents():
    def f(x, n):
        return lax.scan(lambda c, _: ((c[0] * 2, c[1] + 1), None), (x, n), None, length=2)[0]

    _, pull = mj.vjp(f, np.float32(1), 3)
    x, n = pull((np.float32(1), np.zeros((), mj.dtypes.float0)))
    assert x == 4 and n.dtype == mj.dtypes.float0


# ---------------------------------------------------------------- effects, axes, lanes


def test_effects_come_in_order(capsys):
    def f(c, x):
        mj.debug.print("{} {}", c, x, ordered=True)
        return c + x, None

    xs = np.arange(3)
    for run in (
        lambda: lax.scan(f, 0, xs, reverse=True, unroll=2),
        mj.jit(lambda: lax.scan(f, 0, xs, reverse=True)),
    ):
        run()
        mj.effects_barrier()
        assert capsys.readouterr().out == "0 2\n2 1\n3 0\n"
    mj.grad(lambda x: lax.scan(f, x, xs * 1.0)[0])(1.0)
    mj.effects_barrier()
    assert capsys.readouterr().out == "1.0 0.0\n1.0 1.0\n2.0 2.0\n"


def test_collectives_inside():
    def f(x):
        return lax.scan(
            lambda c, _: (c + lax.psum(c, "i"), lax.axis_index("i")), x, None, length=2
        )

    c, i = mj.vmap(f, axis_name="i")(X)
    np.testing.assert_allclose(c, X + X.sum() + (X + X.sum()).sum(), 1e-6)
    assert i.tolist() == [[0, 0], [1, 1], [2, 2]]
    replicas = mj.pmap(f, axis_name="i")(X)
    np.testing.assert_allclose(replicas[0], c, 1e-6)


# ---------------------------------------------------------------------------- progress


def test_progress(capsys, monkeypatch):
    monkeypatch.setattr("minijax.control.loop_functions.progress._PAUSE", 0.0)

    def lines():
        mj.effects_barrier()
        return capsys.readouterr().err.split("\r")[1:]

    def f(c, x):
        return c + x, c

    for options in ({}, {"reverse": True}, {"unroll": 2}):
        got = lax.scan(f, 0.0, X, progress="text", **options)
        expected = lax.scan(f, 0.0, X, **options)
        assert got[0] == expected[0] and (got[1] == expected[1]).all()
        shown = lines()
        assert len(shown) == 4 and "3/3" in shown[-1] and shown[-1].endswith("\n")
    mj.jit(lambda: lax.scan(lambda c, _: (c + 1, None), 0, None, 250, progress="text"))()
    assert 100 <= len(lines()) <= 127
    grad = mj.grad(lambda x: lax.scan(f, x, X, progress="text")[1].sum())(1.0)
    assert grad == 3 and len(lines()) == 4
    with pytest.raises(ValueError, match="progress=True: choose None or 'text'"):
        lax.scan(f, 0.0, X, progress=True)
    with pytest.raises(TypeError, match=r"Where: wrong at .*test_scan.py"):

        def wrong(c, x):
            return c.astype(int), None

        lax.scan(wrong, np.float32(0), X, progress="text")


# ----------------------------------------------------------------------------- errors


def keep(c, x):
    return c, None


ERRORS = {
    "no function": (lambda: lax.scan(1, 0, X), TypeError,
                    "lax.scan: f argument should be a callable"),
    "no pair": (lambda: lax.scan(lambda c, x: c, X, X), TypeError,
                "scan body output must be a pair, got float32[3]"),
    "three": (lambda: lax.scan(lambda c, x: (c, c, c), 0, X), TypeError,
              "scan body output must be a pair, got ("),
    "None": (lambda: lax.scan(lambda c, x: None, 0, X), TypeError,
             "scan body output must be a pair, got None"),
    "dtype": (lambda: lax.scan(lambda c, x: (c.astype(int), None), np.float32(0), X),
              TypeError, "scan body function carry input and carry output must have equal"
              " types, but they differ:\nWhich: The input carry c has type float32[] but"
              " the corresponding output carry component has type int32[], so the dtypes"
              " do not match"),
    "tree": (lambda: lax.scan(lambda c, x: ({"a": c["a"]}, None), {"a": 0, "b": 0}, X),
             TypeError, "scan body function carry input and carry output must have the same"
             " pytree structure, but they differ:\nWhich: The input carry c is a dict with"
             " keys 'a', 'b' but the corresponding component of the carry output is a dict"
             " with keys 'a'"),
    "sizes": (lambda: lax.scan(keep, 0, {"a": X, "b": ROWS}), ValueError,
              "scan got values with different leading axis sizes: 3, 5.\nWhich: xs['a']:"
              " f32[3] and xs['b']: f32[5,3]"),
    "length": (lambda: lax.scan(keep, 0, X, length=4), ValueError,
               "scan got `length` argument of 4 which disagrees with leading axis sizes"
               " [3]"),
    "no length": (lambda: lax.scan(keep, 0, None), ValueError,
                  "scan got no values to scan over and `length` not provided"),
    "traced length": (lambda: mj.jit(lambda n: lax.scan(keep, 0, None, length=n))(3),
                      mj.errors.ConcretizationTypeError,
                      "`while_loop` or `fori_loop`.\nWhich: the argument n"),
    "scalar rows": (lambda: lax.scan(keep, 0, (X, 3.0)), ValueError,
                    "scan got value with no leading axis to scan over: 3.0"),
    "rows": (lambda: lax.scan(keep, 0, [object()]), TypeError,
             "is not a valid JAX type.\nWhich: xs[0]"),
    "init": (lambda: lax.scan(keep, {"a": "b"}, X), TypeError,
             "Argument 'b' of type <class 'str'> is not a valid JAX type.\n"
             "Which: init['a']"),
    "result": (lambda: lax.scan(lambda c, x: (c, "y"), 0, X), TypeError,
               "returned a value of type <class 'str'> at output component [1], which"),
    "unroll": (lambda: lax.scan(keep, 0, X, unroll=-1), ValueError,
               "`unroll` must be a `bool` or a non-negative `int`"),
    "unroll None": (lambda: lax.scan(keep, 0, X, unroll=None), ValueError,
                    "`unroll` must be a `bool` or a non-negative `int`"),
    "if": (lambda: lax.scan(lambda c, x: (c if c > 0 else x, None), 0.0, X),
           mj.errors.TracerBoolConversionError, "for scan at"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    call, kind, words = ERRORS[name]
    with pytest.raises(kind, match=re.escape(words)):
        call()


def test_a_leaked_carry_is_reported():
    leaked = []
    lax.scan(lambda c, x: (leaked.append(c) or c, None), 0.0, X)
    with pytest.raises(mj.errors.UnexpectedTracerError, match="for scan"):
        leaked[0] + 1


def test_messages_name_the_carrys_components():
    with pytest.raises(mj.errors.TracerBoolConversionError, match=r"on c\['a'\], x\[1\]"):
        lax.scan(lambda c, x: ({"a": 1 if c["a"] > x[1] else 2}, None), {"a": 0}, (X, X))
