"""`debug_nans` and `debug_infs`: the first operation that returns one is named."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

X = jnp.array([1.0, np.inf])


def double(x):
    return x - x + 1


@mj.custom_jvp
def custom(x):
    return jnp.log(x)


custom.defjvp(lambda p, t: (custom(*p), t[0]))


def callback(x):
    return mj.pure_callback(lambda v: np.float32(np.nan), x, x)


CASES = [
    ("sin", lambda: jnp.sin(X)),
    ("log", lambda: jnp.log(-1.0)),
    ("div", lambda: jnp.float32(0) / 0),
    ("sub", lambda: mj.jit(double)(X)),
    ("sin", lambda: mj.jit(lambda x: jnp.sin(x) * 2 + 1)(X)),
    ("sub", lambda: mj.jit(lambda x: mj.jit(double)(x) * 2)(X)),
    ("sub", lambda: mj.jit(double, donate_argnums=0)(X + 0)),
    ("mul", lambda: mj.grad(lambda x: jnp.sqrt(x) * 0)(0.0)),
    ("mul", lambda: mj.jit(mj.grad(lambda x: jnp.sqrt(x) * 0))(0.0)),
    ("mul", lambda: mj.grad(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0))(0.0)),
    ("log", lambda: mj.vmap(jnp.log)(-X)),
    ("log", lambda: custom(-1.0)),
    ("scan", lambda: lax.scan(lambda c, x: (c + x - x, None), 0.0, X)),
    ("while", lambda: lax.while_loop(lambda c: c < 3, lambda c: c / 0 * 0, 1.0)),
    ("cond", lambda: lax.cond(True, lambda v: v / 0 * 0, lambda v: v, jnp.float32(1))),
    ("pure_callback", lambda: callback(jnp.float32(1))),
    ("pure_callback", lambda: mj.jit(callback)(jnp.float32(1))),
    ("sharded computation", lambda: mj.pmap(jnp.sin)(X)),
    ("mul", lambda: jnp.array([np.nan], "bfloat16") * 1),
    ("mul", lambda: jnp.array([complex(np.nan, 0)]) * 1),
    ("jit\\(same\\)", lambda: mj.jit(same)(jnp.array(np.nan))),
    ("sub", lambda: mj.jit(double).lower(X).compile()(X)),
]


def same(x):
    return x


@pytest.mark.parametrize("name, f", CASES, ids=range(len(CASES)))
def test_nans(name, f):
    mj.block_until_ready(f())  # programs that were compiled without the check are also checked
    with mj.debug_nans(True):
        with pytest.raises(FloatingPointError, match=rf"^invalid value \(nan\).* in {name}\n"):
            f()
        with mj.debug_nans(False):
            f()
    f()


def test_the_operation_inside_a_loop_is_named():
    def step(carry, x):
        wrong = 1.0 / (x - 2.0)
        return carry + wrong - wrong, None

    f = mj.jit(lambda xs: lax.scan(step, 0.0, xs)[0])
    with mj.debug_nans(True), pytest.raises(FloatingPointError) as error:
        f(jnp.arange(4.0))
    lines = str(error.value).split("\n")
    assert lines[0] == "invalid value (nan) encountered in scan"
    assert lines[1] == "Which: sub makes a NaN, row 2 of scan"
    assert lines[2].endswith(" in step: return carry + wrong - wrong, None")
    g = mj.jit(lambda xs: lax.map(lambda x: 1.0 / (x - 2.0), xs))
    with mj.debug_infs(True), pytest.raises(FloatingPointError) as error:
        g(jnp.arange(4.0))
    assert "Which: div makes an infinity, row 2 of scan" in str(error.value)
    with mj.debug_nans(True), pytest.raises(FloatingPointError) as error:
        lax.while_loop(lambda c: c < 3, lambda c: c / 0 * 0, 1.0)
    assert "Which: mul makes a NaN, iteration 0 of while" in str(error.value)


def test_the_users_line_is_named():
    with mj.debug_nans(True):
        with pytest.raises(FloatingPointError, match=r"test_debug_nans\.py:\d+.*\(double\)"):
            mj.jit(double)(X)
        with pytest.raises(FloatingPointError, match=r"\(test_the_users_line_is_named\)"):
            jnp.log(-1.0)


@pytest.mark.parametrize(
    "name, f", [("exp", lambda: jnp.exp(1000.0)), ("div", lambda: mj.jit(lambda x: 1 / x)(0.0))]
)
def test_infinities(name, f):
    with mj.debug_infs(True), pytest.raises(FloatingPointError, match=rf"\(inf\).* in {name}"):
        f()
    with mj.debug_nans(True):
        assert f() == np.inf
    with mj.debug_infs(True):
        assert np.isnan(jnp.log(-1.0))


def test_what_is_fine_passes():
    with mj.debug_nans(True), mj.debug_infs(True):
        assert (jnp.arange(3) + 1).tolist() == [1, 2, 3]
        assert mj.random.normal(mj.random.key(0), (3,)).shape == (3,)
        hidden = mj.jit(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0))
        assert hidden(-1.0) == 0  # the program does not give it
        x = X[:1]
        y = mj.jit(lambda x: x + 1, donate_argnums=0)(x)
        assert y == 2 and not x.is_deleted()  # kept, to look for the operation
        with mj.disable_jit(), pytest.raises(FloatingPointError, match="in log"):
            mj.jit(jnp.log)(-1.0)


def test_the_option():
    mj.config.update("jax_debug_nans", True)
    try:
        with pytest.raises(FloatingPointError, match="encountered in log"):
            mj.jit(jnp.log)(-1.0)
    finally:
        mj.config.update("jax_debug_nans", False)
    assert np.isnan(mj.jit(jnp.log)(-1.0))


def test_the_environment():
    program = """
        import minijax.numpy as jnp
        try:
            jnp.log(-1.0)
        except FloatingPointError as e:
            print(str(e).splitlines()[0])
    """
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        text=True,
        capture_output=True,
        env={**os.environ, "JAX_DEBUG_NANS": "1", "JAX_PLATFORMS": "cpu"},
        timeout=120,
    )
    assert out.stdout == "invalid value (nan) encountered in log\n", out.stderr
