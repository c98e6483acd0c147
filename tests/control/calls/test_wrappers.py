"""What transformed functions are called, and functions with unusual names."""

import functools
import inspect

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.custom_batching import custom_vmap

X = np.float32(2)
ROWS = np.ones(1, np.float32)


def scaled(x: float, y: float = 1.0) -> float:
    """Scale it."""
    return x * y


scaled.mark = 3
TRANSFORMS = [
    mj.jit,
    mj.grad,
    mj.value_and_grad,
    mj.vmap,
    mj.pmap,
    mj.jacfwd,
    mj.jacrev,
    mj.hessian,
    mj.checkpoint,
    mj.custom_jvp,
    mj.custom_vjp,
    mj.named_call,
    custom_vmap,
    jnp.vectorize,
]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: t.__name__)
def test_a_wrapper_refers_to_the_wrapped_function(transform):
    f = transform(scaled)
    if transform is not mj.hessian:  # which wraps the gradient
        assert f.__wrapped__ is scaled
    assert (f.__name__, f.__qualname__) == ("scaled", "scaled")
    assert f.__module__ == __name__
    assert f.__annotations__ == scaled.__annotations__
    assert f.mark == 3
    assert f.__doc__.endswith("Scale it.")
    assert inspect.signature(f) == inspect.signature(scaled)


def test_documentation_describes_the_transformation():
    # The first words are those of JAX 0.10.2.
    first = {
        mj.grad: "Gradient of scaled with respect to positional argument(s) 0.",
        mj.value_and_grad: "Value and gradient of scaled with respect to positional",
        mj.vmap: "Vectorized version of scaled",
        mj.jacfwd: "Jacobian of scaled with respect to positional argument(s) 0.",
        mj.jit: "Scale it.",
    }
    for transform, words in first.items():
        assert transform(scaled).__doc__.startswith(words)
    assert "argument(s) (0, 1)." in mj.grad(scaled, argnums=(0, 1)).__doc__
    assert mj.jit(lambda x: x).__doc__ == ""
    assert mj.vmap(lambda x: x).__doc__ == ("Vectorized version of <lambda>, for all lanes.")
    assert mj.make_jaxpr(scaled).__name__ == "make_jaxpr(scaled)"
    assert mj.make_jaxpr(functools.partial(scaled)).__name__ == "make_jaxpr(scaled)"


def test_methods_of_a_jitted_function_are_its_own():
    for transform in TRANSFORMS[1:]:
        wrapper = transform(mj.jit(scaled))
        for method in ("trace", "eval_shape", "clear_cache"):
            assert not hasattr(wrapper, method)
    assert mj.jit(mj.jit(scaled)).eval_shape(X).shape == ()


class Named:
    """A callable whose `__name__` is what it was given, or an error."""

    def __init__(self, name):
        self.name = name

    def __call__(self, x):
        return x * 2

    @property
    def __name__(self):
        if isinstance(self.name, Exception):
            raise self.name
        return self.name


NAMES = [3, None, ("x",), b"x", "", "a b<>", AttributeError("a"), ValueError("v")]


def _rule(f):
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    return f


def _lanes(f):
    f.def_vmap(lambda size, batched, x: (x, batched[0]))
    return f


def _push(f):
    f.defjvp(lambda p, t: (p[0], t[0]))
    return f


USES = {
    "jit": (lambda f: mj.jit(f)(X), 4),
    "lower": (lambda f: mj.jit(f).lower(X).compile()(X), 4),
    "grad": (lambda f: mj.grad(f)(X), 2),
    "value_and_grad": (lambda f: mj.value_and_grad(f)(X)[1], 2),
    "jacfwd": (lambda f: mj.jacfwd(f)(X), 2),
    "jacrev": (lambda f: mj.jacrev(f)(X), 2),
    "hessian": (lambda f: mj.hessian(f)(X), 0),
    "vmap": (lambda f: mj.vmap(f)(ROWS)[0], 2),
    "pmap": (lambda f: mj.pmap(f)(ROWS)[0], 2),
    "checkpoint": (lambda f: mj.checkpoint(f)(X), 4),
    "custom_jvp": (lambda f: mj.grad(_push(mj.custom_jvp(f)))(X), 1),
    "custom_vjp": (lambda f: mj.grad(_rule(mj.custom_vjp(f)))(X), 1),
    "custom_vmap": (lambda f: mj.vmap(_lanes(custom_vmap(f)))(ROWS)[0], 1),
    "make_jaxpr": (lambda f: mj.make_jaxpr(f)(X)(X)[0], 4),
    "named_call": (lambda f: mj.named_call(f)(X), 4),
    "linearize": (lambda f: mj.linearize(f, X)[1](X), 4),
    "linear_transpose": (lambda f: mj.linear_transpose(f, X)(X)[0], 4),
    "while": (lambda f: lax.while_loop(lambda c: c < 4, f, X), 4),
    "cond": (lambda f: lax.cond(X > 0, f, f, X), 4),
    "map": (lambda f: lax.map(f, ROWS)[0], 2),
    "closure_convert": (lambda f: mj.closure_convert(f, X)[0](X), 4),
    "pure_callback": (lambda f: mj.pure_callback(f, X, X), 4),
    "vectorize": (lambda f: jnp.vectorize(f)(ROWS)[0], 2),
    "frompyfunc": (lambda f: jnp.frompyfunc(f, 1, 1)(ROWS)[0], 2),
}


@pytest.mark.parametrize(("use", "expected"), USES.values(), ids=USES)
def test_any_name_will_do(use, expected):
    for name in NAMES:
        assert use(Named(name)) == expected, name


def test_a_name_that_is_none_is_that_of_the_type():
    assert mj.jit(Named(3)).__name__ == mj.jit(Named(ValueError())).__name__ == "Named"
    assert "@jit_Named" in mj.jit(Named(None)).lower(X).as_text()
