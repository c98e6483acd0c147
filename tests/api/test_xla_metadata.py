"""What is told of operations reaches the compiler, through every transformation."""

import re

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental.xla_metadata import set_xla_metadata


def attributes_of(fun, *args):
    """operation -> attributes, of those that have some."""
    text = mj.jit(fun).lower(*args).as_text()
    matches = re.findall(r"stablehlo\.(\w+).*frontend_attributes = \{([^}]*)\}", text)
    return [(name, attributes) for name, attributes in matches]


def nested(x):
    with set_xla_metadata(a="1", b=2, c=True):
        y = jnp.sin(x)
        with set_xla_metadata(a="3", b=None):
            z = jnp.cos(y)
    return z * 2


def test_blocks():
    attributes = 'a = "1", b = "2", c = "true"'
    inner = 'a = "3", c = "true"'
    assert attributes_of(nested, 1.0) == [("sine", attributes), ("cosine", inner)]
    assert dict(attributes_of(mj.grad(nested), 1.0))["negate"] == inner
    assert attributes_of(mj.vmap(nested), jnp.ones(2)) == attributes_of(nested, 1.0)
    assert str(mj.make_jaxpr(nested)(1.0)).count(" = ") == 3
    assert abs(float(nested(1.0)) - 1.33273) < 1e-5


def test_blocks_around_loops_and_compiled_functions():
    def loop(x):
        with set_xla_metadata(a="/]=,"):
            return mj.lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=3)[0]

    result = dict(attributes_of(loop, 1.0))
    assert result["sine"] == result["while"] == 'a = "/]=,"'
    inner = mj.jit(lambda x: jnp.tan(x))
    assert attributes_of(inner, 1.0) == []
    with set_xla_metadata(stage="x"):
        assert attributes_of(inner, 1.0) == [("tan", 'stage = "x"')]
        around = inner.lower(1.0).as_text()
    assert 'stage = "x"' in around and "stage" not in inner.lower(1.0).as_text()
    assert attributes_of(lambda x: set_xla_metadata(s=1)(inner)(x), 1.0) == [("tan", 's = "1"')]


def test_functions_and_their_methods():
    fun = set_xla_metadata(z="y")(mj.jit(lambda x: jnp.tan(x)))
    assert 'z = "y"' in fun.lower(1.0).as_text()
    assert abs(float(fun(1.0)) - 1.5574) < 1e-3
    assert attributes_of(lambda x: fun(x) + 1, 1.0) == [("tan", 'z = "y"')]


def test_values():
    def fun(x):
        return set_xla_metadata({"a": x, "b": jnp.sin(x) + 1}, k=1.5)

    assert attributes_of(fun, 1.0) == [("add", 'k = "1.5"')]
    assert attributes_of(mj.vmap(fun), jnp.ones(2)) == [("add", 'k = "1.5"')]
    assert attributes_of(lambda x: [fun(x), fun(x + 2)], 1.0).count(("add", 'k = "1.5"')) >= 2
    assert float(mj.grad(lambda x: fun(x)["b"])(0.0)) == 1.0
    assert float(fun(0.0)["b"]) == 1.0
    assert "frontend_attributes={k=" in mj.jit(fun).lower(1.0).compile().as_text()
