"""stax: declared shapes, values by NumPy and lax, keys split as in JAX."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.example_libraries import stax

rng = np.random.default_rng(0)
KEY = mj.random.key(0)
IMAGE = (2, 6, 5, 3)
CF = ("NCHW", "OIHW", "NCHW")

LAYERS = {
    "Dense": (stax.Dense(4), (2, 3)),
    "Conv": (stax.Conv(4, (3, 2), (2, 1), "SAME"), IMAGE),
    "GeneralConv": (stax.GeneralConv(CF, 4, (3, 2)), IMAGE),
    "padded": (stax.Conv(4, (3, 2), padding=[(1, 2), (0, 1)]), IMAGE),
    "ConvTranspose": (stax.ConvTranspose(4, (3, 2), (2, 3)), IMAGE),
    "Conv1DTranspose": (stax.Conv1DTranspose(4, (3,), padding="SAME"), (2, 6, 3)),
    "BatchNorm": (stax.BatchNorm(), IMAGE),
    "MaxPool": (stax.MaxPool((2, 3)), IMAGE),
    "SumPool": (stax.SumPool((2, 3), (2, 1), "SAME"), IMAGE),
    "AvgPool": (stax.AvgPool((2, 2), spec="NCHW"), IMAGE),
    "Flatten": (stax.Flatten, IMAGE),
    "Identity": (stax.Identity, IMAGE),
    "Dropout": (stax.Dropout(0.5), IMAGE),
    "Gelu": (stax.Gelu, (2, 3)),
    "Softmax": (stax.Softmax, (2, 3)),
    "shape_dependent": (stax.shape_dependent(lambda s: stax.Dense(s[-1])), (2, 3)),
    "serial": (
        stax.serial(
            stax.FanOut(2),
            stax.parallel(stax.Dense(3), stax.serial(stax.Dropout(0.5), stax.Tanh)),
            stax.FanInConcat(),
        ),
        (2, 3),
    ),
    "sum": (
        stax.serial(stax.FanOut(2), stax.parallel(stax.Dense(3), stax.Relu), stax.FanInSum),
        (2, 3),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_declared_shapes_match(name):
    (init, apply), shape = LAYERS[name]
    stated, params = init(KEY, shape)
    x = mj.ShapeDtypeStruct(shape, "float32")
    made = mj.eval_shape(lambda p, x: apply(p, x, rng=KEY), params, x)
    assert (tuple(stated), np.dtype("float32")) == (made.shape, made.dtype)


def test_values():
    x = rng.normal(size=IMAGE).astype("float32")
    dense, apply = stax.Dense(4)
    W, b = dense(KEY, IMAGE)[1]
    np.testing.assert_allclose(apply((W, b), x), x @ W + b, atol=1e-5)
    init, apply = stax.Conv(4, (3, 2), (2, 1), "SAME")
    W, b = init(KEY, IMAGE)[1]
    assert (W.shape, b.shape) == ((3, 2, 3, 4), (1, 1, 1, 4))
    kwargs = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    expected = lax.conv_general_dilated(x, W, (2, 1), "SAME", **kwargs) + b
    np.testing.assert_allclose(apply((W, b), x), expected, atol=1e-5)
    init, apply = stax.BatchNorm(axis=(0, 1, 2), epsilon=0.1)
    z = (x - x.mean((0, 1, 2))) / np.sqrt(x.var((0, 1, 2)) + 0.1)
    beta, gamma = np.arange(3.0), np.array([2.0, -1.0, 0.5])
    got = apply((jnp.array(beta), jnp.array(gamma)), x)
    np.testing.assert_allclose(got, z * gamma + beta, atol=1e-5)
    alone = stax.BatchNorm(center=False)
    assert alone[0](KEY, IMAGE)[1][0] == ()


def test_pools():
    x = rng.normal(size=(1, 3, 3, 1)).astype("float32")
    cells = x[0, :, :, 0]
    corners = [cells[i : i + 2, j : j + 2] for i in (0, 1, 2) for j in (0, 1, 2)]
    for name, reduce in (("MaxPool", np.max), ("SumPool", np.sum), ("AvgPool", np.mean)):
        _, apply = getattr(stax, name)((2, 2), padding="SAME")
        expected = [reduce(c) for c in corners]
        np.testing.assert_allclose(apply((), x).ravel(), expected, rtol=1e-5)


ELEMENTWISE = {
    "Tanh": np.tanh,
    "Relu": lambda x: np.maximum(x, 0),
    "Exp": np.exp,
    "Softplus": lambda x: np.log1p(np.exp(x)),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "LeakyRelu": lambda x: np.where(x > 0, x, 0.01 * x),
    "Softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
    "LogSoftmax": lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)),
}


def test_elementwise():
    x = rng.normal(size=(2, 3)).astype("float32")
    for name, formula in ELEMENTWISE.items():
        got = getattr(stax, name)[1]((), x)
        np.testing.assert_allclose(got, formula(x), rtol=2e-5, atol=1e-6, err_msg=name)
    assert stax.elementwise(jnp.clip, max=0.5)[1]((), jnp.array([0.2, 2.0])).max() == 0.5


def test_keys_are_split_as_in_jax():
    """The values were recorded from JAX 0.10.2."""
    net, _ = stax.serial(stax.Dense(2), stax.Relu, stax.Dense(1))
    _, params = net(mj.random.PRNGKey(3), (1, 2))
    numbers = np.concatenate([np.ravel(x) for x in mj.tree.leaves(params)])
    np.testing.assert_allclose(
        numbers,
        [
            -0.94295824,
            0.10661014,
            -0.30237845,
            0.24450733,
            -0.0053582,
            -0.00113089,
            -0.14013089,
            0.0755271,
            -0.01067308,
        ],
        rtol=1e-5,
    )


def test_dropout():
    x = jnp.ones(2000)
    _, apply = stax.Dropout(0.8)
    out = apply((), x, rng=KEY)
    assert set(np.unique(out)) == {0.0, 1.25}
    assert abs(np.mean(np.asarray(out) > 0) - 0.8) < 0.05
    assert stax.Dropout(0.8, mode="test")[1]((), x, rng=KEY) is x
    with pytest.raises(ValueError, match="to be called with a PRNG key argument"):
        apply((), x)
