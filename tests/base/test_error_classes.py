"""An axis that is not there is an AxisError, whatever function it is given to.

JAX raises an IndexError for it in some functions and a ValueError in others, NumPy its
AxisError, which is both.  So are errors of sizes TypeErrors and ValueErrors.
"""

import inspect
import warnings

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
import minijax.scipy as scipy
from minijax import lax, nn

ROOMS = [
    jnp,
    jnp.linalg,
    jnp.fft,
    lax,
    nn,
    scipy.stats,
    scipy.fft,
    scipy.signal,
    scipy.integrate,
    scipy.special,
]
NAMES = ("axis", "axes", "axisa", "axis1", "start_axis", "source", "dimension")
X, FLAT = np.ones((2, 4), np.float32), np.ones(3, np.float32)
IDS = np.arange(3, dtype=np.int32)
# What functions take besides the axis: the first that one takes is used.
ARGUMENTS = [(X,), (X, X), (X, 1), (X, 1, 1), ([X, X],), ([X], 1), (IDS, 3), (X, X, 1)]
# Axes have names.
OTHERS = {lax.pbroadcast, lax.pswapaxes, lax.all_gather}
OTHERS |= {lax.concatenate}  # a TypeError


def functions():
    """Every public function that takes an axis: its name, itself, that argument's name."""
    for home in ROOMS:
        for name in sorted(vars(home).keys() | set(dir(home))):
            fun = getattr(home, name)
            if name[0] == "_" or isinstance(fun, type) or not callable(fun):
                continue
            try:
                parameters = inspect.signature(fun).parameters
            except (TypeError, ValueError):
                continue
            if fun not in OTHERS and (word := next((w for w in NAMES if w in parameters), "")):
                yield f"{home.__name__}.{name}", fun, word


def calls(fun, word):
    """Calls of a function of the axis, for each list of arguments."""
    signature = inspect.signature(fun)
    for arguments in ARGUMENTS:

        def call(axis, arguments=arguments):
            rest = iter(arguments)
            options = {}
            for p in signature.parameters.values():
                if p.name == word:
                    options[word] = axis
                elif p.default is p.empty and p.kind is not p.VAR_KEYWORD:
                    options[p.name] = next(rest)
            bound = inspect.BoundArguments(signature, options)
            if next(rest, None) is not None:
                raise TypeError("too many arguments")
            return jax.eval_shape(lambda: fun(*bound.args, **bound.kwargs))

        yield call


def answer(call, axis):
    """The class of a call's error, or None."""
    try:
        call(axis)
    except Exception as error:
        return type(error)
    return None


def test_an_axis_out_of_range():
    wrong, called = {}, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, fun, word in functions():
            inside, outside = ((0, 1), (0, 5)) if word == "axes" else (1, 5)
            call = next((c for c in calls(fun, word) if not answer(c, inside)), None)
            if call is not None:
                called += 1
                if (raised := answer(call, outside)) is not np.exceptions.AxisError:
                    wrong[name] = raised
    assert not wrong
    assert called > 120


@pytest.mark.parametrize(
    "call",
    [
        lambda: lax.add(X, np.ones((2, 3), np.float32)),
        lambda: jnp.add(X, np.ones((2, 3), np.float32)),
        lambda: jnp.where(X > 0, X, np.ones((2, 3), np.float32)),
        lambda: jnp.broadcast_to(X, (2, 3)),
        lambda: jnp.zeros((2, -1)),
        lambda: lax.broadcast(X, (-1,)),
        lambda: jnp.linalg.cholesky(X),
        lambda: scipy.special.beta(X, np.ones((2, 3), np.float32)),
        lambda: jax.random.beta(jax.random.key(0), X, X, (2, 3)),
        lambda: jnp.stack([X, X[:1]]),
    ],
)
def test_sizes_that_do_not_fit(call):
    with pytest.raises(TypeError) as caught:
        jax.eval_shape(call)
    assert isinstance(caught.value, ValueError)


def test_elements_that_no_array_has():
    with pytest.raises(TypeError) as caught:
        jax.eval_shape(lambda: X + jnp.add(X, np.datetime64("2020-01-01")))
    assert isinstance(caught.value, ValueError)
    with pytest.raises(TypeError) as caught:
        jnp.fmod(X, jax.random.key(0))
    assert isinstance(caught.value, ValueError)


def test_a_traced_axis():
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda x, axis: jnp.expand_dims(x, axis))(FLAT, 0)
