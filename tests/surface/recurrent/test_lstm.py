"""LSTM networks against loops in NumPy; derivatives, lanes and weights."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental import rnn

rng = np.random.default_rng(0)
B, T = 3, 4
LENGTHS = np.array([4, 2, 1], "int32")
# inputs, states, layers, in both directions
KINDS = [(3, 2, 2, False), (2, 3, 2, True)]


def draw(size, hidden, layers, both):
    count = layers * (2 if both else 1)
    n = rnn.get_num_params_in_lstm(size, hidden, layers, both)
    x, h, c = (
        rng.normal(size=s) for s in ((B, T, size), (count, B, hidden), (count, B, hidden))
    )
    return x, h, c, rng.normal(size=n)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def unpacked(w, size, hidden, layers, both):
    """Return the weights of each pseudo-layer, split one after the other."""
    count = layers * (2 if both else 1)
    result, start = {"W": {}, "U": {}, "b": {}, "d": {}}, 0

    def weights(*shape):
        nonlocal start
        start += np.prod(shape)
        return w[start - np.prod(shape) : start].reshape(shape)

    for k in range(count):
        first = k < (2 if both else 1)
        width = size if first else hidden * (2 if both else 1)
        result["W"][k] = weights(4 * hidden, width)
        result["U"][k] = weights(4 * hidden, hidden)
    for k in range(count):
        result["b"][k], result["d"][k] = weights(4 * hidden), weights(4 * hidden)
    assert start == len(w)
    return result


def loop(x, h_0, c_0, w, kind):
    """Compute a network by loops over sequences, layers, directions and times."""
    _, hidden, layers, both = kind
    parts = unpacked(w, *kind)
    directions = 2 if both else 1
    ys, hs, cs = np.zeros((B, T, directions * hidden)), h_0.copy(), c_0.copy()
    for b, n in enumerate(LENGTHS):
        rows = x[b, :n]
        for first in range(0, layers * directions, directions):
            outputs = np.zeros((n, directions * hidden))
            for k in range(first, first + directions):
                back = k > first
                h, c = h_0[k, b], c_0[k, b]
                for t in reversed(range(n)) if back else range(n):
                    gates = parts["W"][k] @ rows[t] + parts["U"][k] @ h
                    gates = gates + parts["b"][k] + parts["d"][k]
                    i, f, g, o = gates.reshape(4, hidden)
                    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                    h = sigmoid(o) * np.tanh(c)
                    outputs[t, (k - first) * hidden :][:hidden] = h
                hs[k, b], cs[k, b] = h, c
            rows = outputs
        ys[b, :n] = rows
    return ys, hs, cs


@pytest.mark.parametrize("kind", KINDS)
def test_networks(kind):
    args = draw(*kind)

    @mj.jit
    def run(x, h, c, w):
        parts = rnn.unpack_lstm_weights(w, *kind)
        size, hidden, layers, both = kind
        options = (size, hidden, layers, 0.0, both)
        flat = rnn.lstm(x, h, c, w, LENGTHS, *options)
        one = rnn.lstm(x, h, c, w, LENGTHS, *options, "highest")
        return flat, rnn.lstm_ref(x, h, c, *parts, LENGTHS, *options), one

    with mj.enable_x64():
        result = run(*args)
    expected = loop(*args, kind)
    for way in result:
        for got, exact in zip(way, expected, strict=True):
            np.testing.assert_allclose(got, exact, atol=1e-12)


def test_derivatives_and_lanes():
    def f(x, h, c, w):
        return rnn.lstm(x, h, c, w, LENGTHS, 2, 2, 1, 0.0, True)

    with mj.enable_x64():
        x, h, c, w = map(jnp.asarray, draw(2, 2, 1, True))
        loss = lambda x, w: sum(jnp.sum(jnp.sin(y)) for y in f(x, h, c, w))
        both = mj.jit(mj.value_and_grad(loss, (0, 1)))
        many = jnp.stack([x, 2 * x])
        lanes = mj.jit(mj.vmap(mj.grad(loss, 1), (0, None)))(many, w)
        alone = [np.asarray(both(v, w)[1][1]) for v in many]
        # The Hessian goes through both primitives forwards.
        slope = mj.grad(loss, 1)
        swapped = mj.jit(lambda v: mj.jvp(lambda w: slope(x, w), (w,), (v,))[1])(w)
        (high, above), (low, below) = (both(x * s, w * s) for s in (1 + 1e-5, 1 - 1e-5))
        across = [np.asarray(both(x, w * s)[1][1]) for s in (1 + 1e-5, 1 - 1e-5)]
    middle = [(np.asarray(a) + np.asarray(b)) / 2 for a, b in zip(above, below, strict=True)]
    along = np.vdot(middle[0], x) + np.vdot(middle[1], w)
    np.testing.assert_allclose(along, (float(high) - float(low)) / 2e-5, rtol=1e-7)
    np.testing.assert_allclose(lanes, alone, atol=1e-12)
    np.testing.assert_allclose(swapped, (across[0] - across[1]) / 2e-5, atol=1e-8)


def test_weights():
    kind = (3, 4, 2, True)
    w = rnn.init_lstm_weight(mj.random.key(0), *kind)
    assert w.shape == (rnn.get_num_params_in_lstm(*kind),) and w.dtype == "float32"
    assert 0.45 < abs(w).max() <= 0.5 and abs(w.mean()) < 0.05
    result = rnn.unpack_lstm_weights(w, *kind)
    for actual, expected in zip(result, unpacked(np.asarray(w), *kind).values(), strict=True):
        assert [*actual] == [0, 1, 2, 3]
        for k, value in actual.items():
            np.testing.assert_array_equal(value, expected[k])
    swapped = rnn.swap_lstm_gates(w, *kind)
    np.testing.assert_array_equal(rnn.swap_lstm_gates(swapped, *kind), w)
    for actual, old in zip(rnn.unpack_lstm_weights(swapped, *kind), result, strict=True):
        i, f, g, o = np.split(np.asarray(actual[3]), 4)
        np.testing.assert_array_equal(np.concatenate([i, f, o, g]), old[3])


def test_programs_and_types():
    x, h, c, w = (v.astype("float32") for v in draw(2, 3, 1, False))
    run = lambda *a: rnn.lstm(*a, LENGTHS, 2, 3, 1, 0.0, False)
    jaxpr = mj.make_jaxpr(run)(x, h, c, w)
    assert "rnn_fwd" in str(jaxpr) and "rnn_bwd" not in str(jaxpr)
    out, residuals = rnn.lstm_fwd(x, h, c, w, LENGTHS, 2, 3, 1, 0.0, False, None)
    params = dict(
        zip(
            ("input_size", "hidden_size", "num_layers", "dropout", "bidirectional"),
            (2, 3, 1, 0.0, False),
            strict=True,
        ),
        cudnn_allow_tf32=True,
    )
    avals = [mj.typeof(v) for v in residuals[:5]]
    assert [a.shape for a in rnn.rnn_abstract_eval(*avals, **params)] == [
        (B, T, 3),
        (1, B, 3),
        (1, B, 3),
        (0,),
    ]
    back = rnn.lstm_bwd(2, 3, 1, 0.0, False, None, residuals, out)
    assert [v.shape for v in back] == [x.shape, h.shape, c.shape, w.shape, (B,)]
    assert [rnn.rnn_fwd_p.name, rnn.rnn_bwd_p.name] == ["rnn_fwd", "rnn_bwd"]


def test_messages():
    x, h, c, w = (v.astype("float32") for v in draw(2, 3, 1, False))
    parts = rnn.unpack_lstm_weights(w, 2, 3, 1, False)
    short = LENGTHS.astype("int8")
    for lengths, dropout, precision, message in (
        (short, 0.0, None, "can only be int32"),
        (LENGTHS, 0.5, None, "Dropout not supported in LSTM"),
        (LENGTHS, 0.0, "default", "bfloat16 support not implemented"),
    ):
        with pytest.raises(NotImplementedError, match=message):
            rnn.lstm(x, h, c, w, lengths, 2, 3, 1, dropout, False, precision)
        if precision is None:
            with pytest.raises(NotImplementedError, match=message):
                rnn.lstm_ref(x, h, c, *parts, lengths, 2, 3, 1, dropout, False)
