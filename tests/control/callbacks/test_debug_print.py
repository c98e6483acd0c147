"""What `debug.print`, `debug.callback` and `debug.log` show, byte for byte."""

import logging
import threading

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

show = mj.debug.print
X = jnp.arange(3.0)


@pytest.fixture
def shown(capsys):
    """Run a function, and return the lines that it printed."""

    def run(f, *args):
        f(*args)
        mj.effects_barrier()
        return capsys.readouterr().out.splitlines()

    return run


FORMATS = [
    ("x = {}", (X,), {}, "x = [0. 1. 2.]"),
    ("{1} {0}", (X, 3), {}, "3 [0. 1. 2.]"),
    ("{a} {b}", (), {"a": 1.5, "b": ("s", None)}, "1.5 ('s', None)"),
    ("{} {{}}", (1,), {}, "1 {}"),
    ("{{{}}}", (1,), {}, "{1}"),
    ("100 {{", (), {}, "100 {{"),
    ("", (), {}, ""),
    (
        "{:.3f} {:>6} {:e}",
        (np.float32(1 / 3), 4, np.float32(1e10)),
        {},
        "0.333      4 1.000000e+10",
    ),
    ("{:b} {:x}", (jnp.int32(5), jnp.uint8(255)), {}, "101 ff"),
    ("{!r} {!s}", (X, X), {}, "Array([0., 1., 2.], dtype=float32) [0. 1. 2.]"),
    ("{0.shape} {0.dtype} {0[1]}", (X,), {}, "(3,) float32 1.0"),
    ("{d[a]}", (), {"d": {"a": X}}, "[0. 1. 2.]"),
    ("{:{w}.{p}f}|", (3.14159,), {"w": 7, "p": 2}, "   3.14|"),
    ("{} {} {}", (None, "s", print), {}, f"None s {print}"),
    ("{}", (jnp.ones(2, "bfloat16"),), {}, "[1 1]"),
    ("{}", (jnp.array(1 + 2j),), {}, "(1+2j)"),
    ("{}", (jnp.zeros((0, 3)),), {}, "[]"),
    ("{args} {kwargs} {fmt_}", (), {"args": 1, "kwargs": 2, "fmt_": 3}, "1 2 3"),
]


@pytest.mark.parametrize("fmt, args, kwargs, expected", FORMATS, ids=range(len(FORMATS)))
@pytest.mark.parametrize("ordered", [False, True])
def test_formats(shown, fmt, args, kwargs, expected, ordered):
    def f():
        show(fmt, *args, ordered=ordered, **kwargs)
        return 1

    assert shown(f) == [expected]
    assert shown(mj.jit(f)) == [expected]
    assert shown(lambda: show(ordered=ordered)(fmt, *args, **kwargs)) == [expected]


@pytest.mark.parametrize(
    "kind, words, call",
    [
        (
            ValueError,
            r"Unused positional arguments to `jax.debug.print`: \[3\]",
            lambda: show("hi", 3),
        ),
        (
            ValueError,
            r"Unused keyword arguments to `jax.debug.print`: \['x'\].*f-string",
            lambda: show("hi", x=3),
        ),
        (
            IndexError,
            "tuple index out of range.*more placeholders than the 1 values",
            lambda: show("{} {}", 1),
        ),
        (KeyError, "foo", lambda: show("{foo} {bar}", bar=1)),
        (ValueError, "Single '{' encountered", lambda: show("{", 1)),
        (ValueError, "Single '}' encountered", lambda: show("}")),
        (ValueError, "cannot switch", lambda: show("{} {0}", 1)),
        (TypeError, "expected str, got int", lambda: show(3)),
        (ValueError, "Unused positional", lambda: show("%d", 3)),
        (
            TypeError,
            r"first argument to jax.debug.callback must be callable.*'str'",
            lambda: mj.debug.callback("fmt {}", 3),
        ),
        (ValueError, "Unknown format code 'd'", lambda: show("{:d}", jnp.float32(1))),
        (KeyError, "foo", lambda: show("{foo}", skip_format_check=True)),
    ],
)
def test_refusals(kind, words, call):
    with pytest.raises(kind, match=words):
        call()


def test_unchecked_values_follow(shown):
    assert shown(lambda: show("a", X, 1, skip_format_check=True)) == ["a [0. 1. 2.] 1"]
    assert shown(lambda: show("a {}", 1, 2, skip_format_check=True)) == ["a 1"]


def test_print_options_are_those_of_the_call(shown):
    with np.printoptions(precision=2, suppress=True, threshold=5):
        f = mj.jit(lambda x: show("{}", x)).lower(jnp.arange(100.0) / 3).compile()
    assert shown(f, jnp.arange(100.0) / 3) == ["[ 0.    0.33  0.67 ... 32.33 32.67 33.  ]"]


def test_keys(shown):
    key = mj.random.key(3)
    assert shown(mj.jit(lambda k: show("{} ", k)), key) == ["[0 3] "]
    keys = mj.random.split(key, 2)
    expected = [f"{np.asarray(mj.random.key_data(k))}" for k in keys]
    assert shown(mj.jit(mj.vmap(lambda k: show("{}", k, ordered=True))), keys) == expected


# --------------------------------------------------------------------- transformations


def one(x):
    show("{}", x, ordered=True)
    return x * x


@pytest.mark.parametrize(
    "f, lines",
    [
        (mj.vmap(one), ["0.0", "1.0", "2.0"]),
        (mj.jit(mj.vmap(one)), ["0.0", "1.0", "2.0"]),
        (mj.vmap(mj.jit(one)), ["0.0", "1.0", "2.0"]),
        (lambda x: mj.vmap(lambda a: show("hi"))(x), ["hi"]),  # the same for all lanes
        (lambda x: mj.vmap(one)(x[None]), ["[0. 1. 2.]"]),
        (
            lambda x: mj.vmap(mj.vmap(one))(jnp.stack([x, x + 3])),
            ["0.0", "3.0", "1.0", "4.0", "2.0", "5.0"],
        ),
        (lambda x: mj.grad(one)(x[2]), ["2.0"]),
        (lambda x: mj.grad(mj.grad(one))(x[2]), ["2.0"]),
        (lambda x: mj.jit(mj.grad(one))(x[2]), ["2.0"]),
        (lambda x: mj.grad(mj.jit(one))(x[2]), ["2.0"]),
        (lambda x: mj.jvp(one, (x[1],), (x[1],)), ["1.0"]),
        (lambda x: mj.vjp(one, x[1])[1](x[1]), ["1.0"]),
        (lambda x: mj.linearize(one, x[1])[1](x[1]), ["1.0"]),
        (lambda x: lax.scan(lambda c, a: (c + one(a), None), 0.0, x), ["0.0", "1.0", "2.0"]),
        (
            lambda x: lax.scan(lambda c, a: (c + one(a), None), 0.0, x, reverse=True),
            ["2.0", "1.0", "0.0"],
        ),
        (
            mj.grad(lambda x: lax.scan(lambda c, a: (c + one(a), None), 0.0, x)[0]),
            ["0.0", "1.0", "2.0"],
        ),
        (lambda x: lax.fori_loop(0, 3, lambda i, c: c + one(x[i]), 0.0), ["0.0", "1.0", "2.0"]),
        (
            lambda x: lax.while_loop(lambda c: one(c) < 3, lambda c: c + 1, 0.0),
            ["0.0", "1.0", "2.0"],
        ),
        (lambda x: lax.cond(x[0] > 0, one, lambda a: -a, x[1]), []),
        (lambda x: lax.cond(x[0] < 1, one, lambda a: -a, x[1]), ["1.0"]),
        (lambda x: lax.switch(1, [lambda a: a, one], x[1]), ["1.0"]),
        (
            lambda x: mj.vmap(lambda a: lax.cond(a > 1, one, lambda a: -a, a))(x),
            ["0.0", "1.0", "2.0"],
        ),  # every lane runs all branches
        (lambda x: mj.pmap(one)(x[:1]), ["0.0"]),
        (lambda x: mj.eval_shape(one, x), []),
        (lambda x: mj.jit(one, donate_argnums=0)(x + 1), ["[1. 2. 3.]"]),
        (lambda x: mj.jit(lambda x: (one(x), x)[1])(x[1]), ["1.0"]),  # not dead code
    ],
    ids=range(26),
)
def test_transformations(shown, f, lines):
    assert shown(f, X) == lines


@pytest.mark.parametrize("policy", [None, "everything_saveable", "nothing_saveable"])
@pytest.mark.parametrize("jit", [lambda f: f, mj.jit])
def test_remat_shows_again_what_it_computes_again(shown, policy, jit):
    policy = policy and getattr(mj.checkpoint_policies, policy)
    f = mj.checkpoint(lambda x: one(x) * 2, policy=policy)
    assert shown(jit(mj.grad(f)), 3.0) == ["3.0", "3.0"]
    assert shown(jit(f), 3.0) == ["3.0"]
    steps = mj.grad(lambda w: lax.scan(lambda c, _: (f(c), None), w, None, length=2)[0])
    assert shown(jit(steps), 3.0) == ["3.0", "18.0", "18.0", "3.0"]


def test_rules_of_custom_derivatives_show(shown):
    @mj.custom_jvp
    def f(x):
        show("f {}", x)
        return x * 2

    @f.defjvp
    def f_jvp(primals, tangents):
        show("rule {} {}", primals[0], tangents[0])
        return primals[0] * 2, tangents[0] * 2

    assert shown(f, 1.0) == shown(mj.jit(f), 1.0) == ["f 1.0"]
    assert shown(lambda x: mj.jvp(f, (x,), (3.0,)), 1.0) == ["rule 1.0 3.0"]

    @mj.custom_vjp
    def g(x):
        show("g {}", x)
        return x * 2

    def fwd(x):
        show("fwd {}", x, ordered=True)
        return x * 2, x

    def bwd(x, ct):
        show("bwd {} {}", x, ct, ordered=True)
        return (ct * 2,)

    g.defvjp(fwd, bwd)
    assert shown(g, 1.0) == ["g 1.0"]
    assert shown(mj.grad(g), 4.0) == ["fwd 4.0", "bwd 4.0 1.0"]
    assert shown(mj.jit(mj.grad(g)), 4.0) == ["fwd 4.0", "bwd 4.0 1.0"]


def test_order_through_calls(shown):
    @mj.jit
    def inner(x):
        show("inner {}", x, ordered=True)
        return x + 1

    @mj.jit
    def outer(x):
        x = inner(x)
        show("outer {}", x, ordered=True)
        return lax.cond(x > 1, inner, lambda x: x, inner(x))

    def many():
        for i in range(3):
            outer(i)

    expected = []
    for i in range(3):
        expected += [f"inner {i}", f"outer {i + 1}", f"inner {i + 1}"]
        expected += [f"inner {i + 2}"] if i >= 1 else []
    assert shown(many) == expected


def test_replicas(shown):
    lines = shown(mj.pmap(lambda x: show("{}", x)), jnp.arange(4.0))
    assert sorted(lines) == ["0.0", "1.0", "2.0", "3.0"]


def test_without_jit(shown):
    with mj.disable_jit():
        assert shown(mj.jit(one), X) == ["[0. 1. 2.]"]
        assert shown(lax.scan, lambda c, a: (c, one(a)), 0.0, X) == ["0.0", "1.0", "2.0"]


def test_jaxpr():
    def f(a):
        show("{} {} {k}", a, "s", k=1.0)
        mj.debug.callback(max, a, ordered=True)

    jaxpr = mj.make_jaxpr(f)(X)
    text = str(jaxpr)
    for words in (
        "debug_print[",
        "fmt={} {} {k}",
        "has_placeholders=True",
        "ordered=False",
        "static_args=((1, 's'),)",
        "debug_callback[",
        "effect=OrderedDebug",
        "in_tree=PyTreeDef(((*, *), {'k': *}))",
        "] a 1.0:f32[]",
    ):
        assert words in text
    assert sorted(map(str, jaxpr.effects)) == ["Debug", "OrderedDebug"]


def test_callback():
    seen = []

    def note(*args, **kwargs):
        seen.append((args, kwargs))

    mj.jit(lambda x: mj.debug.callback(note, x, "s", k={"y": x + 1}))(X)
    mj.effects_barrier()
    ((x, s), kwargs) = seen.pop()
    assert isinstance(x, mj.Array) and x.tolist() == [0, 1, 2] and s == "s"
    assert kwargs["k"]["y"].tolist() == [1, 2, 3]
    assert mj.debug.callback(ordered=True)(note, 1, ordered=2) is None
    assert seen.pop()[1] == {"ordered": 2}


class UserError(Exception):
    pass


def bad(*_):
    raise UserError("boom")


def test_exceptions():
    with pytest.raises(UserError, match="boom"):
        mj.debug.callback(bad, X)
    for ordered in (False, True):
        f = mj.jit(lambda x, o=ordered: mj.debug.callback(bad, x, ordered=o))
        with pytest.raises(mj.errors.JaxRuntimeError, match=r"in bad(.|\n)*UserError: boom"):
            f(X)
            mj.effects_barrier()
    mj.jit(lambda x: mj.debug.callback(lambda x: None, x, ordered=True))(X)
    mj.effects_barrier()  # a program that failed does not stop those after it


def test_many_threads():
    seen = []
    f = mj.jit(lambda x: mj.debug.callback(lambda v: seen.append(int(v)), x, ordered=True))
    threads = [threading.Thread(target=f, args=(i,)) for i in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    mj.effects_barrier()
    assert sorted(seen) == list(range(20))


def test_log(caplog):
    with caplog.at_level(logging.INFO, "minijax.debug"):
        mj.debug.log("eager {}", X)
        mj.jit(lambda x: mj.debug.log("x is {x}", x=x))(X)
        mj.effects_barrier()
    first, second = caplog.records
    assert first.getMessage() == "eager [0. 1. 2.]"
    assert second.getMessage() == "x is [0. 1. 2.]"
    assert second.levelno == logging.INFO and second.filename == "test_debug_print.py"
    assert second.lineno > first.lineno
    caplog.clear()
    with caplog.at_level(logging.WARNING, "minijax.debug"):
        mj.debug.log("quiet")
    assert not caplog.records
