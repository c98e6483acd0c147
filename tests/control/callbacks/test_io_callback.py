"""`io_callback`: every call happens, once, in order where asked."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import io_callback

Shape = mj.ShapeDtypeStruct
SCALAR = Shape((), "float32")
X = jnp.arange(3.0)


class Log:
    """A callback that counts its calls and notes its arguments."""

    def __init__(self):
        self.seen = []

    def __call__(self, *args):
        self.seen.append(float(np.asarray(args[0])) if args else None)
        return np.float32(len(self.seen))


def calls(f, *args):
    """The result of `f(log, *args)` and what its callbacks saw."""
    log = Log()
    out = f(log, *args)
    mj.effects_barrier()
    return out, log.seen


def io(log, x, ordered=True):
    return io_callback(log, SCALAR, x, ordered=ordered)


def test_order_and_results():
    def f(log, x):
        return mj.jit(lambda x: io(log, x) + 10 * io(log, x + 1) + 100 * io(log, x - 1))(x)

    assert calls(f, 5.0) == (321, [5, 6, 4])


@pytest.mark.parametrize(
    "f, seen",
    [
        (lambda log: mj.jit(lambda x: (io(log, x, False), x)[1])(1.0), [1]),
        (lambda log: mj.jit(lambda x: (io(log, x), x)[1])(1.0), [1]),
        (lambda log: lax.scan(lambda c, x: ((io(log, x), c)[1], None), 0.0, X), [0, 1, 2]),
        (lambda log: lax.scan(lambda c, x: (io(log, c), None), 0.0, X), [0, 1, 2]),
        (lambda log: lax.fori_loop(0, 3, lambda i, c: (io(log, i), c)[1], 0), [0, 1, 2]),
        (
            lambda log: lax.while_loop(lambda c: io(log, c) < 4, lambda c: c + 1, 0),
            [0, 1, 2, 3],
        ),
        (lambda log: lax.cond(X[0] < 1, lambda x: io(log, x), lambda x: x, 5.0), [5]),
        (lambda log: lax.cond(X[0] > 1, lambda x: io(log, x), lambda x: x, 5.0), []),
        (lambda log: lax.map(lambda x: io(log, x), X), [0, 1, 2]),
        (lambda log: mj.jit(lambda x: mj.jit(lambda x: (io(log, x), x * 0)[1])(x))(1.0), [1]),
        (
            lambda log: mj.grad(
                lambda w: lax.scan(
                    lambda c, x: ((io(log, lax.stop_gradient(c)), c * w)[1], None), 1.0, X
                )[0]
            )(2.0),
            [1, 2, 4],
        ),
        (
            lambda log: mj.grad(
                mj.checkpoint(lambda x: (io(log, lax.stop_gradient(x)), jnp.sin(x))[1])
            )(2.0),
            [2],
        ),
        (lambda log: mj.vmap(lambda x: io(log, x, False))(X), [0, 1, 2]),
        (lambda log: mj.vmap(lambda x: io(log, 7.0, False) + x)(X), [7]),
        (lambda log: mj.jit(lambda x: io(log, x), donate_argnums=0)(jnp.float32(3)), [3]),
    ],
    ids=range(15),
)
def test_each_call_once(f, seen):
    assert calls(f)[1] == seen


def test_order_between_programs_and_prints(capsys):
    log = Log()

    @mj.jit
    def f(x):
        mj.debug.print("a {}", x, ordered=True)
        io_callback(lambda v: print("b", v), None, x, ordered=True)
        mj.debug.print("c {}", x, ordered=True)
        return io(log, x)

    for i in range(3):
        f(i)
    mj.effects_barrier()
    expected = [f"{c} {i}" for i in range(3) for c in "abc"]
    assert capsys.readouterr().out.splitlines() == expected and log.seen == [0, 1, 2]


def test_replicas():
    out, seen = calls(lambda log: mj.pmap(lambda x: io(log, x, False))(jnp.arange(4.0)))
    assert sorted(seen) == [0, 1, 2, 3] and sorted(out.tolist()) == [1, 2, 3, 4]


def test_no_result():
    seen = []
    assert io_callback(seen.append, None, 1.0) is None
    assert mj.jit(lambda x: io_callback(seen.append, None, x))(2.0) is None
    mj.effects_barrier()
    assert seen == [1, 2]


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64", "bool", "int4", "uint8"])
@pytest.mark.parametrize("ordered", [False, True])
def test_dtypes(dtype, ordered):
    x = jnp.ones((2, 3), dtype)
    f = mj.jit(lambda x: io_callback(np.asarray, Shape(x.shape, dtype), x, ordered=ordered))
    assert f(x).dtype == x.dtype and np.asarray(f(x) == x).all()


def bad(*_):
    raise KeyError("boom")


@pytest.mark.parametrize("kind, words, f", [
    (ValueError, "Cannot `vmap` ordered IO callback",
     lambda: mj.vmap(lambda x: io(max, x))(X)),
    (ValueError, "IO callbacks do not support JVP",
     lambda: mj.grad(lambda x: io(max, x))(1.0)),
    (NotImplementedError, "IO effect not supported in vmap-of-cond",
     lambda: mj.vmap(lambda x: lax.cond(
         x > 0, lambda x: io(max, x, False), lambda x: x, x))(X)),
    (NotImplementedError, "Unordered IO effects not supported in while_loop with batched",
     lambda: mj.vmap(lambda n: lax.while_loop(
         lambda c: c < n, lambda c: c + io(max, c, False), 0.0))(X)),
    (TypeError, "passed to io_callback at position 0", lambda: io_callback(max, None, "s")),
    (TypeError, "Expected a callable", lambda: io_callback(3, None)),
    (ValueError, "cannot specify 64-bit types",
     lambda: io_callback(max, Shape((), np.int64))),
    (mj.errors.JaxRuntimeError, "KeyError: 'boom'", lambda: io(bad, 1.0)),
    (mj.errors.JaxRuntimeError, "KeyError: 'boom'",
     lambda: mj.block_until_ready(mj.jit(lambda x: io(bad, x))(1.0))),
    (mj.errors.JaxRuntimeError, "in bad",
     lambda: mj.block_until_ready(lax.scan(lambda c, x: (c, io(bad, x)), 0, X))),
    (mj.errors.JaxRuntimeError, "Mismatched number of outputs",
     lambda: io_callback(lambda: 3, None)),
], ids=range(11))  # fmt: skip
def test_refusals(kind, words, f):
    with pytest.raises(kind, match=words):
        f()
    assert mj.jit(lambda x: io(Log(), x))(1.0) == 1  # nothing is left behind


def test_effects_are_seen():
    jaxpr = mj.make_jaxpr(lambda x: (io(max, x), io(max, x, False)))(1.0)
    assert sorted(map(str, jaxpr.effects)) == ["IO", "OrderedIO"]
