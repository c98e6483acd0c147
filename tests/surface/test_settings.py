"""Settings of a user apply to the user's lines, not to our functions' own code.

`jax_numpy_dtype_promotion='strict'` and `jax_numpy_rank_promotion='raise'` apply to
operands that the user mixes, whichever of our functions receives them, and not to operands
that our functions mix.  The expectations are JAX 0.10.2's results, except where JAX raises
for its own mixtures. `make settings` runs the examples of all public functions.
"""

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
import minijax.scipy as jsp
from minijax import lax
from minijax.dtypes import TypePromotionError

N = jnp.arange(3)
F = jnp.ones(3)
M = jnp.ones((3, 3)) + 3 * jnp.eye(3)
B = jnp.array([True, False, True])
LONG = jnp.sin(jnp.arange(64.0))
Rotation = jsp.spatial.transform.Rotation

OURS = {
    "add.outer": lambda: jnp.add.outer(M, F),
    "add.reduceat": lambda: jnp.add.reduceat(M, jnp.array([0, 1])),
    "array_equiv": lambda: jnp.array_equiv(N, F),
    "at": lambda: N.at[0].set(True),
    "bessel_jn": lambda: jsp.special.bessel_jn(F, v=3),
    "cg": lambda: jsp.sparse.linalg.cg(M, F),
    "csd": lambda: jsp.signal.csd(LONG, LONG, nperseg=32),
    "dct": lambda: jsp.fft.dct(M),
    "detrend": lambda: jsp.signal.detrend(M),
    "eigh_tridiagonal": lambda: jsp.linalg.eigh_tridiagonal(F, F[1:], eigvals_only=True),
    "funm": lambda: jsp.linalg.funm(M, jnp.exp),
    "gaussian_kde": lambda: jsp.stats.gaussian_kde(LONG.reshape(2, 32))(M[:2]),
    "gaussian_kde in 1-D": lambda: jsp.stats.gaussian_kde(F + LONG[:3])(F),
    "gennorm": lambda: jsp.stats.gennorm.logpdf(F, 2.0),
    "map_coordinates": lambda: jsp.ndimage.map_coordinates(M, [F, F], 1),
    "median": lambda: jnp.median(F),
    "minimize": lambda: jsp.optimize.minimize(
        lambda x: jnp.sum((x - 1.0) ** 2), F, method="BFGS"
    ),
    "norm": lambda: jsp.stats.norm.logpdf(F, 0.0, 1.0),
    "owens_t": lambda: jsp.special.owens_t(M, M),
    "quantile": lambda: jnp.quantile(M, 0.3, axis=0),
    "resize": lambda: jax.image.resize(M, (6, 6), "linear"),
    "Rotation": lambda: Rotation.from_rotvec(M).inv().apply(M),
    "solve": lambda: jnp.linalg.solve(M, F),
    "solve_sylvester": lambda: jsp.linalg.solve_sylvester(M, M, M),
    "sqrtm": lambda: jsp.linalg.sqrtm(M),
    "stft": lambda: jsp.signal.stft(LONG, nperseg=32),
    "t": lambda: jsp.stats.t.logpdf(F, 3.0, 0.0, 1.0),
    "vq": lambda: jsp.cluster.vq.vq(M, M),
}


@pytest.fixture(scope="module", params=[0, 1], ids=["first", "again"])
def times(request):
    """Whether programs compiled for internal calls are found in the cache."""
    return request.param


@pytest.mark.parametrize("name", OURS)
def test_our_functions_may_mix_under_strict_settings(name):
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        results = jax.tree.leaves(OURS[name]())
    with jax.numpy_dtype_promotion("standard"):
        expected = jax.tree.leaves(OURS[name]())
    for x, y in zip(results, expected, strict=True):
        if isinstance(x, jax.Array):
            np.testing.assert_array_equal(x, y)


NAN_FREE = ("median", "quantile", "norm", "t", "sqrtm", "stft", "resize", "solve", "minimize")


@pytest.mark.parametrize("name", NAN_FREE)
def test_nans_inside_of_our_functions_are_not_the_users(name):
    with jax.debug_nans(True), jax.disable_jit():
        OURS[name]()
        with pytest.raises(FloatingPointError):
            jnp.log(-F)


def test_without_jit_a_users_loop_has_values():
    with jax.disable_jit():
        seen = []
        step = lambda c, x: (c + x, seen.append(float(jnp.median(c))))
        lax.scan(step, F, jnp.ones((2, 3)))
        assert seen == [1.0, 2.0]
        assert jax.jit(lambda x: float(x))(2.0) == 2.0


DTYPES = {
    "add": lambda: jnp.add(N, F),
    "operator": lambda: N * F,
    "number": lambda: N + 1.5,
    "NumPy's": lambda: np.ones(3, np.float32) + N,
    "where": lambda: jnp.where(B, N, F),
    "concatenate": lambda: jnp.concatenate([N, F]),
    "matmul": lambda: M @ jnp.ones((3, 3), int),
    "jit": lambda: jax.jit(lambda x, y: x * y)(N, F),
    "vmap": lambda: jax.vmap(lambda x, y: x * y)(N, F),
    "grad": lambda: jax.grad(lambda x: jnp.sum(x * N))(F),
    "scan": lambda: lax.scan(lambda c, x: (c + x, None), F, jnp.ones((2, 3), int)),
    "minimize": lambda: jsp.optimize.minimize(
        lambda x: jnp.sum((x - N) ** 2), F, method="BFGS"
    ),
    "array_equal": lambda: jnp.array_equal(N, F),
    "allclose": lambda: jnp.allclose(N, F),
    "at.set": lambda: N.at[0].set(F[0]),
    "at.add": lambda: F.at[0].add(N[0]),
    "norm": lambda: jsp.stats.norm.logpdf(F, N, 1.0),
    "keyword": lambda: jsp.stats.norm.logpdf(F, loc=N),
}


RANKS = {
    "add": lambda: jnp.add(M, F),
    "operator": lambda: M * F,
    "jit": lambda: jax.jit(lambda x, y: x * y)(M, F),
    "allclose": lambda: jnp.allclose(M, F),
    "clip": lambda: jnp.clip(M, F, None),
    "vectorize": lambda: jnp.vectorize(lambda x, y: x + y)(M, F),
    "vecdot": lambda: jnp.vecdot(M, F),
    "matvec": lambda: jnp.matvec(jnp.ones((2, 3, 3)), F),
    "minimize": lambda: jsp.optimize.minimize(
        lambda x: jnp.sum((x - M) ** 2), F, method="BFGS"
    ),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_that_a_user_mixes_raise(name, times):
    for use in [*OURS.values()] if times and name == "add" else ():
        with jax.numpy_dtype_promotion("strict"):
            use()
    with jax.numpy_dtype_promotion("strict"), pytest.raises(TypePromotionError):
        DTYPES[name]()


@pytest.mark.parametrize("name", RANKS)
def test_ranks_that_a_user_mixes_raise(name):
    with jax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank_prom"):
        RANKS[name]()


def test_internal_programs_are_not_reused_for_user_code():
    x, y = jnp.arange(5), jnp.ones(5)

    # Called as from an internal function: the check is excused, and the program compiled.
    scope = {"jnp": jnp}
    ours = compile(
        "def mix(k):\n  return jnp.arctan2(jnp.arange(k), jnp.ones(k))\n", jax.__file__, "exec"
    )
    exec(ours, scope)
    with jax.numpy_dtype_promotion("strict"):
        for _ in range(2):
            scope["mix"](5)
            with pytest.raises(TypePromotionError):
                jnp.arctan2(x, y)


def test_scalars_with_arrays_do_not_differ_in_rank():
    with jax.numpy_rank_promotion("raise"):
        assert (M + 1).shape == jnp.where(B, M, 0.0).shape == (3, 3)


def test_a_warning_names_the_users_line():
    with jax.numpy_rank_promotion("warn"):
        OURS["resize"]()
        with pytest.warns(UserWarning, match="rank promotion for add") as warned:
            M + F
    assert warned[0].filename == __file__
