"""Branch cuts of complex functions with zeros of both signs, as in C99 and NumPy."""

import itertools

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp

INVERSE = "sqrt arcsin arccos arctan arcsinh arccosh arctanh log".split()
OTHERS = "exp exp2 sinh cosh tanh sin cos tan log1p".split()
FINITE = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0]
INFINITE = [*FINITE, np.inf, -np.inf]


def grid(values, dtype):
    values = np.array(list(itertools.product(values, values)))
    return values.astype(np.zeros(0, dtype).real.dtype).view(dtype)[:, 0]


def check(result, expected, what):
    for part in ("real", "imag"):
        x, y = (np.asarray(getattr(v, part)) for v in (result, expected))
        np.testing.assert_allclose(x, y, 2e-6, 1e-7, err_msg=what)
        zero = (y == 0) & (x == 0)
        signs = np.signbit(x[zero]), np.signbit(y[zero])
        np.testing.assert_array_equal(*signs, err_msg=what)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_signs_of_zeros_select_the_side_of_a_branch_cut(dtype):
    def run(inner, outer):
        return [getattr(jnp, n)(inner if n in OTHERS else outer) for n in names]

    names = INVERSE + OTHERS
    inner, outer = grid(FINITE, dtype), grid(INFINITE, dtype)
    with mj.enable_x64(dtype == "complex128"):
        result = mj.jit(run)(inner, outer)
        eager = jnp.sqrt(np.array([-1 - 0j], dtype).conj())
    assert eager[0].imag == -1
    with np.errstate(all="ignore"):
        for name, value in zip(names, result, strict=True):
            x = inner if name in OTHERS else outer
            check(value, getattr(np, name)(x), f"{name} {dtype}")


def test_near_branch_points():
    """The square of the distance underflows; compared with NumPy."""
    z = np.array([1 + 1e-30j, -1 - 1e-30j, 1e-30 + 1j, -1 + 1e-30j], "complex64")
    for name in ("arctanh", "arctan", "log1p"):
        keep = z[:2] if name == "arctanh" else z[2:3] if name == "arctan" else z[3:]
        check(mj.jit(getattr(jnp, name))(keep), getattr(np, name)(keep), name)
    assert np.isnan(jnp.arctan(complex(np.nan, np.nan)).real)


def test_sizes_of_complex_infinities():
    """hypot's of C99; slopes point along axes and diagonals."""
    inf, nan = np.inf, np.nan
    z = np.array([complex(*p) for p in [(inf, nan), (nan, -inf), (inf, 1), (nan, 1)]])
    np.testing.assert_array_equal(jnp.abs(z), np.abs(z))
    slope = mj.vmap(mj.grad(jnp.abs))
    at = np.array([complex(*p) for p in [(-inf, 1), (inf, inf), (3, -4), (0, 0)]])
    root = np.sqrt(0.5)
    expected = [-1, root - root * 1j, 0.6 + 0.8j, 0]
    np.testing.assert_allclose(slope(at.astype("complex64")), expected, 1e-6)


def test_complex_powers_as_in_numpy():
    """On the branch cut of negative numbers, from both sides, and for 0."""
    zeros = [complex(x, y) for x in (0.0, -0.0) for y in (0.0, -0.0)]
    bases = [*zeros, -2, complex(-2, -0.0), 2, complex(2, -0.0), -2 + 1j, 1j]
    exponents = [-0.5, 0.5, 1, 2, 3, 0.5 + 0.5j, 1 - 2j, complex(0.5, -0.0)]
    base, exponent = (np.array(x, complex) for x in (bases, exponents))
    base, exponent = base.repeat(len(exponents)), np.tile(exponent, len(bases))
    base, exponent = (x[(base != 0) | (exponent.real > 0)] for x in (base, exponent))
    with mj.enable_x64():
        got = mj.jit(jnp.power)(base, exponent)
    np.testing.assert_allclose(got, base**exponent, rtol=1e-14, atol=1e-15)
