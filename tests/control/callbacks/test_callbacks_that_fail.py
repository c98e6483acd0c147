"""Callbacks that raise, that block and that compute, under every transformation.

Recorded from JAX 0.10.2: which of them raise, and what.
"""

import contextlib
import threading

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.errors import JaxRuntimeError
from minijax.experimental import io_callback

X = np.arange(3, dtype=np.float32)


def typed(x):
    return mj.ShapeDtypeStruct(x.shape, x.dtype)


KINDS = {
    "pure": lambda host, x: mj.pure_callback(host, typed(x), x, vmap_method="sequential"),
    "io": lambda host, x: io_callback(host, typed(x), x),
    "ordered io": lambda host, x: io_callback(host, typed(x), x, ordered=True),
    "debug": lambda host, x: (mj.debug.callback(host, x), x + 1)[1],
    "ordered debug": lambda host, x: (mj.debug.callback(host, x, ordered=True), x + 1)[1],
}
ROWS = np.stack([X, X])
WRAPS = {
    "eager": lambda f: f(jnp.asarray(X)),
    "jit": lambda f: mj.jit(f)(X),
    "scan": lambda f: lax.scan(lambda c, _: (f(c), None), X, None, length=2)[0],
    "loop": lambda f: mj.jit(lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x))(X),
    "cond": lambda f: mj.jit(lambda x: lax.cond(x[0] < 9, f, jnp.sin, x))(X),
    "vmap": lambda f: mj.jit(mj.vmap(f))(ROWS),
    "pmap": lambda f: mj.pmap(f)(ROWS),
    "grad": lambda f: mj.jit(mj.grad(lambda x: f(x).sum()))(X),
    "remat": lambda f: mj.grad(lambda x: jnp.sin(mj.checkpoint(f)(x)).sum())(X),
}
# Ordered effects on many devices, which JAX refuses, happen here: in order on each.
REFUSED = {
    **{(k, w): "JVP" for k in ("pure", "io", "ordered io") for w in ("grad", "remat")},
    ("ordered io", "vmap"): "ordered",
}


def finished(run):
    out = mj.tree.map(np.asarray, run())
    mj.effects_barrier()
    return out


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_that_raises(kind, wrap):
    def host(x):
        raise KeyError("the host says no")

    try:
        with pytest.raises(Exception) as caught:
            finished(lambda: WRAPS[wrap](lambda x: KINDS[kind](host, x)))
    finally:
        with contextlib.suppress(JaxRuntimeError):
            mj.effects_barrier()
    if refusal := REFUSED.get((kind, wrap)):
        assert caught.type is ValueError and refusal in str(caught.value)
    elif "debug" in kind and wrap in EVALUATED:
        assert caught.type in (KeyError, JaxRuntimeError)
    else:
        assert caught.type is JaxRuntimeError
    if not refusal:
        assert "the host says no" in str(caught.value)
    np.testing.assert_array_equal(mj.jit(lambda x: x + 1)(X), X + 1)  # others go on
    mj.effects_barrier()  # it is reported once


EVALUATED = ("eager", "vmap", "grad", "remat")


@pytest.mark.parametrize("wrap", ["jit", "scan", "vmap", "pmap"])
@pytest.mark.parametrize("kind", ["pure", "io", "debug"])
def test_a_callback_that_computes(kind, wrap):
    def host(x):  # more programs in it, one with a callback of its own
        inner = lambda x: mj.pure_callback(lambda x: np.asarray(x) * 2, typed(x), x)
        seen.append(x.shape)
        return np.asarray(mj.jit(inner)(jnp.asarray(x)) + mj.grad(jnp.sum)(x))

    seen = []
    out = finished(lambda: WRAPS[wrap](lambda x: KINDS[kind](host, x)))
    expected = ROWS if wrap in ("vmap", "pmap") else X
    for _ in range(2 if wrap == "scan" else 1):
        expected = expected + 1 if kind == "debug" else expected * 2 + 1
    np.testing.assert_array_equal(out, expected)
    assert seen == [(3,)] * (1 if wrap == "jit" else 2)


def test_a_callback_that_blocks_holds_up_no_other_program():
    started, gate = threading.Event(), threading.Event()

    def host(x):
        started.set()
        assert gate.wait(60)
        return np.asarray(x) * 2

    out = []
    f = mj.jit(lambda x: mj.pure_callback(host, x, x) + 1)
    waiting = threading.Thread(target=lambda: out.append(np.asarray(f(X))))
    waiting.start()
    assert started.wait(60)
    np.testing.assert_array_equal(mj.jit(lambda x: jnp.sin(x) * 0 + x)(X), X)
    np.testing.assert_array_equal(mj.pmap(lambda x: x * 3)(ROWS), ROWS * 3)
    assert not out
    gate.set()
    waiting.join(60)
    np.testing.assert_array_equal(out[0], X * 2 + 1)


def test_ordered_effects_of_threads_keep_the_order_of_each():
    def work(name):
        def f(x):
            for i in range(3):
                io_callback(
                    lambda x, i=i: seen.append((name, int(x), i)), None, x, ordered=True
                )
            return x

        g = mj.jit(f)
        for n in range(10):
            g(np.int32(n))
        mj.effects_barrier()

    seen = []
    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for name in "abcd":
        own_calls = [(n, i) for who, n, i in seen if who == name]
        assert own_calls == [(n, i) for n in range(10) for i in range(3)]


def test_an_interrupt_in_a_callback():
    def host(x):
        raise KeyboardInterrupt

    x = jnp.asarray(X)
    with pytest.raises(KeyboardInterrupt):  # evaluated, it is the user's own thread
        mj.pure_callback(host, typed(x), x)
    with pytest.raises(JaxRuntimeError, match="KeyboardInterrupt"):
        np.asarray(mj.jit(lambda x: mj.pure_callback(host, typed(x), x) + 1)(X))
    np.testing.assert_array_equal(mj.jit(lambda x: x + 1)(X), X + 1)


class NoText(Exception):
    """Whose text cannot be had: asked for by C++, it would end the process."""

    def __str__(self):
        raise ValueError("no text")


class OwnText(Exception):
    def __str__(self):
        return f"own {self.args[0]}"


@pytest.mark.parametrize(
    "error, text",
    [
        (NoText("x"), "NoText: <its __str__ raised ValueError>"),
        (OwnText("x"), "OwnText: own x"),
    ],
)
def test_the_text_of_an_exception_is_the_callbacks_affair(error, text):
    def host(x):
        raise error

    with pytest.raises(JaxRuntimeError, match=text) as e:
        mj.jit(lambda x: KINDS["pure"](host, x))(X)
    assert "in host" in str(e.value)
