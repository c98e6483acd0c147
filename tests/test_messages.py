"""What erroneous calls raise: its class, and the sentence that programs look for.

The tables in `messages/` were recorded from JAX 0.10.2: a call, or a few lines of which
the last raises, and under it `=> Class: key sentence`.  The names in scope are below.
"""

import ast
import collections
import dataclasses
import functools
import operator
import re
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import dtypes, lax, nn, random
from minijax import tree_util as tu

SCOPE = {
    "jax": jax,
    "jnp": jnp,
    "lax": lax,
    "nn": nn,
    "random": random,
    "tu": tu,
    "dtypes": dtypes,
    "np": np,
    "dataclasses": dataclasses,
    "operator": operator,
    "collections": collections,
    "functools": functools,
    "partial": partial,
}


def cases():
    """(name, code, class, key sentence) of each row of the tables."""
    for path in sorted((Path(__file__).parent / "messages").glob("*.txt")):
        for block in path.read_text().split("\n\n"):
            code, arrow, expected = block.strip("\n").partition("\n=> ")
            if arrow:
                kind, _, sentence = expected.partition(": ")
                name = f"{path.stem}: {code.splitlines()[-1]}"
                yield pytest.param(code, kind, sentence, id=name[:90])


@pytest.fixture(scope="module")
def scope():
    with jax.enable_x64(False):
        x3 = jnp.arange(3.0)
        yield {
            **SCOPE,
            "x3": x3,
            "x23": jnp.ones((2, 3)),
            "i3": jnp.arange(3),
            "b3": jnp.array([True, False, True]),
            "key": random.key(0),
            "c3": jnp.array([1j, 2, 3]),
        }


def run(code, scope):
    """Run the lines of a case; its last line is an expression or a statement."""
    scope = dict(scope)
    exec(compile(ast.parse(code), "<case>", "exec"), scope)


@pytest.mark.parametrize(("code", "kind", "sentence"), list(cases()))
def test_class_and_key_sentence(code, kind, sentence, scope):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the deprecated, before the error
        with pytest.raises(Exception) as caught:
            run(code, scope)
    assert kind in [cls.__name__ for cls in type(caught.value).__mro__]
    text = re.sub(r"\s+", " ", str(caught.value)).replace("minijax", "jax")
    assert sentence in text


class Tracer:
    """What another library's tracer looks like."""


class Foreign(Tracer):
    pass


@pytest.mark.parametrize(
    "fun",
    [jnp.sin, lax.sin, jax.jit(lambda x: x), jax.grad(lambda x: x), jax.vmap(lambda x: x)],
    ids=["numpy", "lax", "jit", "grad", "vmap"],
)
def test_foreign_tracers_are_called_that(fun):
    with pytest.raises(TypeError, match="foreign tracer"):
        fun(Foreign())


def test_named_tuples_and_other_subclasses_are_queried():
    class Pair(collections.namedtuple("Pair", "a b")):
        def __radd__(self, x):
            return "asked"

        __rmul__ = __rmatmul__ = __rpow__ = __rdivmod__ = __radd__

        def __lt__(self, x):
            return "asked"

        __eq__ = __gt__ = __lt__
        __hash__ = None

    x, p = jnp.arange(3.0), Pair(1, 2)
    for op in (operator.add, operator.mul, operator.matmul, operator.pow, divmod):
        assert op(x, p) == "asked"
    for op in (operator.lt, operator.gt, operator.eq):
        assert op(x, p) == "asked"
    assert jax.jit(lambda x: (x + p == "asked") * 1)(x) == 1


def test_one_hot_warns_of_what_is_no_integer():
    with pytest.warns(DeprecationWarning, match="input should be integer-typed"):
        nn.one_hot(jnp.array([0.0, 1.0]), 2)


def test_one_hot_has_axes_by_number_or_name():
    for axes in ((0, 1), [0]):
        with pytest.raises(ValueError, match="axis 0 is out of bounds for array of di"):
            nn.one_hot(jnp.arange(2), 3, axis=axes)
    with pytest.raises(NameError, match="unbound axis name: rows"):
        nn.one_hot(jnp.arange(2), 3, axis=("rows",))


def test_recursion_of_jits_ends():
    f = jax.jit(lambda x: f(x))
    with pytest.raises(RecursionError):
        f(1.0)
    assert jax.jit(lambda x: x + 1)(1.0) == 2.0


def test_tracers_show_what_they_hold():
    """Recorded from JAX 0.10.2."""
    seen = []
    look = lambda x: (seen.append(repr(x)), x * 2.0)[1]
    with jax.enable_x64(False):
        jax.jit(look)(1.0)
        jax.grad(look)(1.0)
        jax.jvp(look, (1.0,), (3.0,))
        jax.vmap(look)(jnp.ones(2))
    assert seen == [
        "JitTracer(~float32[])",
        "GradTracer(primal=1.0, typeof(tangent)=f32[])",
        "JVPTracer(primal=1.0, tangent=3.0)",
        "VmapTracer(aval=float32[], batched=float32[2])",
    ]
