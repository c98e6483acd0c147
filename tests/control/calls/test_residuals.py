"""`print_saved_residuals`: the stored values, in order, and their origins."""

import re

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.ad_checkpoint import checkpoint_name, print_saved_residuals

policies = mj.checkpoint_policies
X = np.ones((3, 3), np.float32)


def lines(f, *args, capsys, **kwargs):
    """What is printed, places shortened to the function's own name."""
    print_saved_residuals(f, *args, **kwargs)
    text = capsys.readouterr().out
    place = r"from \S+:\d+:\d+ \((?:\S+\.)?(\S+)\)$"
    return re.sub(place, r"from (\1)", text, flags=re.MULTILINE).splitlines()


def loss(params, batch, scale=2.0):
    h = jnp.dot(batch["x"], params["w"])
    h = checkpoint_name(h, "hidden")
    return (jnp.sin(h) * scale).sum()


PARAMS, BATCH = {"w": X}, {"x": X}
ARGUMENTS = ["f32[3,3] from the argument params['w']", "f32[3,3] from the argument batch['x']"]


@pytest.mark.parametrize(
    "policy, saved",
    [
        (None, []),
        (policies.nothing_saveable, []),
        (policies.dots_saveable, ["f32[3,3] output of dot_general from (loss)"]),
        (policies.save_only_these_names("hidden"), ["f32[3,3] named 'hidden' from (loss)"]),
        (policies.everything_saveable, ["f32[3,3] output of cos from (loss)"]),
    ],
)
def test_under_policies(policy, saved, capsys):
    f = mj.checkpoint(loss, policy=policy)
    assert lines(f, PARAMS, BATCH, capsys=capsys) == [*ARGUMENTS, *saved]


def test_without_checkpoint(capsys):
    result = lines(loss, PARAMS, BATCH, capsys=capsys)
    assert result == [*ARGUMENTS, "f32[3,3] output of cos from (loss)"]
    result = lines(loss, PARAMS, BATCH, scale=jnp.float32(3), capsys=capsys)
    assert [*ARGUMENTS, "f32[] from the argument scale"] == result[:3]


def test_calls(capsys):
    @mj.jit
    def layer(h, w):
        return jnp.tanh(h @ w)

    def net(ws, x):
        for w in ws:
            x = layer(x, w)
        return x.sum()

    result = lines(net, [X, X], X, capsys=capsys)
    assert result[:3] == [
        "f32[3,3] from the argument ws[0]",
        "f32[3,3] from the argument ws[1]",
        "f32[3,3] from the argument x",
    ]
    assert set(result[3:]) == {"f32[3,3] output of jitted function 'layer' from (net)"}
    rematted = mj.checkpoint(net, policy=policies.dots_saveable)
    result = lines(rematted, [X, X], X, capsys=capsys)
    assert result[3:] == ["f32[3,3] output of dot_general from (layer)"] * 2
    each = lines(lambda ws, x: mj.checkpoint(layer)(x, ws[0]).sum(), [X], X, capsys=capsys)
    assert each == ["f32[3,3] from the argument ws[0]", "f32[3,3] from the argument x"]


def test_order_and_constants(capsys):
    c = jnp.ones((3, 3))

    def f(y, x):
        return (jnp.exp(jnp.sin(x)) @ c * y).sum()

    assert lines(f, np.float32(2), X, capsys=capsys) == [
        "f32[3,3] from a constant",
        "f32[] from the argument y",
        "f32[3,3] output of cos from (f)",
        "f32[3,3] output of exp from (f)",
        "f32[3,3] output of dot_general from (f)",
    ]
    assert lines(
        lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, 4)[0], 1.0, capsys=capsys
    ) == ["f32[4] output of scan from (<lambda>)"]
    print_saved_residuals(lambda x: 2 * x, 1.0)
    assert capsys.readouterr().out == ""
