"""Sparsity of derivatives: sound against dense ones, and few products for many columns."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, tools
from minijax.experimental.shard_alike import shard_alike
from minijax.tools.colors import colors, stars

S = jnp.linspace(0.1, 1, 6)


def chain(x):
    padded = jnp.pad(x, 1)
    return padded[2:] - 2 * padded[1:-1] ** 3 + jnp.sin(padded[:-2])


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def looped(x):
    def body(c, a):
        c = lax.cond(a > 0.5, lambda c: c * a, lambda c: c, c)
        return c, c + 1

    return lax.scan(body, x[0], x)[1]


@mj.custom_jvp
def shifted(x):
    return x


shifted.defjvp(lambda x, t: (x[0], jnp.roll(t[0], 1)))  # by the rule, not by the function


# Where the pattern is exact, how many elements it has.
CASES = {
    "chain": (chain, 16),
    "loop": (looped, 21),
    "reverse": (lambda x: lax.scan(lambda c, a: (c + a, c * a), 0.0, x, reverse=True)[1], 21),
    "scatter": (lambda x: x.at[jnp.array([1, 1, 4])].add(x[:3] ** 2), 8),
    "gather": (lambda x: x[jnp.array([5, 0, 0])] * 2, 3),
    "branches": (lambda x: jnp.where(x > 0.5, x, x[::-1]), 12),
    "matmul": (lambda x: x.reshape(2, 3) @ jnp.ones((3, 2)), 12),
    "batched": (lambda x: mj.vmap(jnp.dot)(x.reshape(3, 2), x.reshape(3, 2)), 6),
    "join": (lambda x: jnp.concatenate([x[3:], x[:2]]), 5),
    "still": (lambda x: jnp.floor(x) + lax.stop_gradient(x) + 1, 0),
    "custom rule": (shifted, 6),
    "while": (lambda x: lax.fori_loop(0, jnp.int32(3), lambda i, y: y * x, x), 6),
    "call": (mj.jit(mj.checkpoint(lambda x: jnp.tanh(x) * 2)), 6),
    "mixing": (jnp.sort, 36),
    "barrier": (
        lambda x: jnp.take(*lax.optimization_barrier((x * 2, jnp.array([5, 0, 0])))),
        3,
    ),
    "alike": (lambda x: jnp.concatenate(shard_alike(x * 2, x[::-1]))[:9], 9),
    "grad": (mj.grad(rosenbrock), 16),
}


# Of a matrix: what mixes along one axis stays apart along the other.
M = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))
LOWER = jnp.eye(4) + jnp.tril(jnp.full((4, 4), 0.3))
MATRIX = {
    "cumsum": (lambda x: lax.cumsum(x, 1), 30),
    "cumsum reversed": (lambda x: lax.cumsum(x, 0, reverse=True), 24),
    "sort": (lambda x: lax.sort(x, dimension=1), 48),
    "top_k": (lambda x: lax.top_k(x, 2)[0], 24),
    "fft": (lambda x: jnp.fft.fft(x, axis=0).imag, 36),
    "windows": (
        lambda x: lax.reduce_window(
            x, 0.0, lax.add, (2, 2), (1, 2), ((1, 0), (0, 1)), (1, 2), (2, 1)
        ),
        12,
    ),
    "conv": (
        lambda x: lax.conv_general_dilated(
            x.reshape(1, 4, 3), jnp.ones((4, 2, 2)), (1,), "SAME", feature_group_count=2
        ),
        40,
    ),
    "weights": (
        lambda x: lax.conv_general_dilated(
            jnp.ones((1, 2, 5)), x.reshape(3, 2, 2), (1,), "SAME"
        ),
        60,
    ),
    "solve": (lambda x: lax.linalg.triangular_solve(LOWER, x, lower=True), 30),
    "solve left": (
        lambda x: lax.linalg.triangular_solve(
            LOWER, x.T, left_side=True, lower=True, transpose_a=True
        ),
        30,
    ),
    "lanes of solve": (mj.vmap(lambda r: jnp.linalg.solve(jnp.diag(r) + LOWER, r)), 48),
    "unknown row": (lambda x: x[jnp.argmax(x[:, 0])], 12),
    "unknown box": (lambda x: lax.dynamic_slice(x, (jnp.argmax(x[:, 0]), 0), (2, 4)), 24),
    "unknown place": (
        lambda x: lax.dynamic_update_slice(x, x[:1] ** 2, (jnp.argmax(x[:, 0]), 0)),
        20,
    ),
    "groups of rows": (lambda x: lax.ragged_dot(x, jnp.ones((2, 4, 5)), jnp.array([1, 2])), 60),
    "what groups of rows meet": (
        lambda x: lax.ragged_dot(jnp.ones((3, 1)), x[:, None], jnp.array([1, 1, 1])),
        36,
    ),
    "sums of groups": (
        lambda x: lax.ragged_dot_general(
            x,
            jnp.ones((3, 2)),
            jnp.array([1, 2]),
            lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], []),
        ),
        48,
    ),
    "unknown rows": (lambda x: x.at[jnp.argsort(x[:, 0])].add(x**2), 36),
    "known test": (
        lambda x: lax.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, jnp.roll(c[1], 1, 1)), (0, x)
        )[1],
        12,
    ),
    "unknown test": (
        lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: jnp.roll(c, 1, 1) + 1, x),
        48,
    ),
}


@pytest.mark.parametrize("case", MATRIX)
def test_patterns_along_axes(case):
    f, nnz = MATRIX[case]
    pattern = tools.sparsity(f, M)
    assert pattern.nnz == nnz
    assert not np.asarray(mj.jacfwd(f)(M))[~pattern.todense()].any()


@pytest.mark.parametrize("case", CASES)
def test_patterns_contain_all_nonzero_elements(case):
    f, nnz = CASES[case]
    pattern = tools.sparsity(f, S)
    dense = np.asarray(mj.jacfwd(f)(S))
    assert pattern.shape == dense.shape
    assert pattern.nnz == nnz
    assert not (dense[~pattern.todense()]).any()


@pytest.mark.parametrize("case", ["chain", "scatter", "custom rule"])
def test_jacobians_match_forward_mode(case):
    f, _ = CASES[case]
    sparse = tools.sparse_jacobian(f)(S)
    np.testing.assert_allclose(sparse.todense(), mj.jacfwd(f)(S), rtol=1e-6)


def test_a_tridiagonal_problem_takes_three_products():
    x = jnp.linspace(0, 1, 100_000)
    jac = tools.sparse_jacobian(chain)
    plan = jac.plan(x)
    assert (plan.evaluations, plan.forward, plan.pattern.nnz) == (3, True, 299_998)
    diagonal = jac(x).data[:2]
    np.testing.assert_allclose(diagonal, [0.0, 1.0], atol=1e-6)
    hess = tools.sparse_hessian(rosenbrock)
    assert hess.plan(S).evaluations == 3
    np.testing.assert_allclose(hess(S).todense(), mj.hessian(rosenbrock)(S), rtol=1e-4)
    assert hess.plan(S).to_dict()["evaluations"] == 3


def test_rows_have_colours_where_they_are_fewer():
    def f(x, scale):
        return jnp.stack([x[:3].sum() * scale, (x[3:] ** 2).sum()])

    jac = tools.sparse_jacobian(f)
    plan = jac.plan(S, 2.0)
    assert (plan.evaluations, plan.forward) == (1, False)
    np.testing.assert_allclose(jac(S, 2.0).todense(), mj.jacfwd(f)(S, 2.0), rtol=1e-6)
    assert "1 pull-backs of rows" in str(plan)


def test_mirror_images_of_a_hessian():
    def arrow(x):
        return (x[0] * x[1:] ** 2).sum() + x[0] ** 3

    hess = tools.sparse_hessian(arrow)
    assert hess.plan(S).evaluations == 2
    np.testing.assert_allclose(hess(S).todense(), mj.hessian(arrow)(S), rtol=1e-5)


@pytest.mark.parametrize("density", [0.05, 0.2, 0.6])
def test_star_colourings_determine_all_elements(density):
    rng = np.random.default_rng(int(density * 100))
    for n in [30, *[9] * 60]:
        pattern = np.triu(rng.random((n, n)) < density * (1 if n == 30 else 2))
        pattern = pattern | pattern.T | np.eye(n, dtype=bool)
        rows, columns = np.nonzero(pattern)
        coloring = stars(rows, columns, n)
        assert coloring.max() <= colors(rows, columns, n).max()
        for v, w in zip(rows, columns):  # one of the two is alone in its row and colour
            alone = [(coloring[pattern[i]] == coloring[j]).sum() for i, j in ((v, w), (w, v))]
            assert 1 in alone


def test_columns_are_coloured_in_the_better_of_two_orders():
    rows, columns = np.array(
        [
            [0, 0, 1, 2, 3, 4, 4, 5, 5],  # where three are needed from left to right
            [1, 3, 2, 2, 4, 3, 5, 0, 5],
        ]
    )
    assert colors(rows, columns, 6).max() == 1


def test_refusals():
    with pytest.raises(ValueError, match="of must be"):
        tools.sparsity(chain, S, of="x")
    with pytest.raises(TypeError, match="must be an array"):
        tools.sparsity(lambda x: (x, x), S)
    with pytest.raises(TypeError, match="must be an array, not dict"):
        tools.sparsity(chain, {"x": S})
    with pytest.raises(TypeError, match="must be floating-point, not int32"):
        tools.sparse_jacobian(chain)(jnp.arange(3))
    with pytest.raises(ValueError, match="argnums=2, but chain was given 1"):
        tools.sparsity(chain, S, argnums=2)
    with pytest.raises(TypeError, match="with argument of dtype complex64"):
        tools.sparse_jacobian(chain)(S + 0j)
    with pytest.raises(TypeError, match="with result of dtype float32"):
        tools.sparse_jacobian(abs, holomorphic=True)(S + 0j)
    with pytest.raises(TypeError, match="sparse_hessian of a function with argument"):
        tools.sparse_hessian(lambda z: (z * z).real.sum())(S + 0j)


@pytest.mark.parametrize("f", [jnp.sum, lambda x: 3.0, lambda x: x[:0].sum()])
def test_derivatives_that_are_zero_everywhere(f):
    hess = tools.sparse_hessian(f)
    assert (hess.plan(S).evaluations, hess(S).nse) == (0, 0)
    np.testing.assert_array_equal(hess(S).todense(), np.zeros((6, 6)))
    assert tools.sparse_jacobian(lambda x: f(mj.lax.stop_gradient(x)))(S).nse == 0


def test_arrays_without_elements():
    for f, x in ((jnp.sin, jnp.zeros((0, 2))), (lambda x: x[:0], S)):
        pattern = tools.sparsity(f, x)
        assert pattern.nnz == 0
        assert str(pattern).startswith(f"0 x {x.size}, 0 elements")
        assert tools.sparse_jacobian(f)(x).shape == (*f(x).shape, *x.shape)


def test_argnums_and_keyword_arguments():
    def f(n, x, y, *, how="sin", by=1.0):
        return getattr(jnp, how)(x) * by + n * y[::-1]

    jitted = mj.jit(f, static_argnums=0, static_argnames="how")
    args, more = (4, S, 2 * S), {"how": "cos", "by": jnp.float32(3)}
    jac = tools.sparse_jacobian(jitted, 1)
    for how in ("sin", "cos", "abs"):  # each has a plan of its own
        expected = mj.jacfwd(jitted, 1)(*args, how=how)
        np.testing.assert_allclose(jac(*args, how=how).todense(), expected, rtol=1e-6)
        assert jac.plan(*args, how="floor").evaluations == 0
    for i in (1, 2, -1, -2):
        result = tools.sparse_jacobian(jitted, i)(*args, **more)
        expected = mj.jacfwd(jitted, i % 3)(*args, **more)
        np.testing.assert_allclose(result.todense(), expected, rtol=1e-6)
        assert tools.sparsity(jitted, *args, argnums=i, **more).nnz == 6
    with pytest.raises(TypeError, match="must be an array, not int"):
        tools.sparsity(jitted, *args, argnums=0, **more)
    result = tools.sparse_hessian(lambda n, x, **k: f(n, x, x, **k).sum(), -1)(
        2.0, S, by=jnp.float32(3)
    )
    np.testing.assert_allclose(result.todense(), -3 * np.diag(np.sin(S)), rtol=1e-6)


def test_holomorphic_functions():
    z = S + 1j
    jac = tools.sparse_jacobian(lambda z: z[1:] * z[:-1], holomorphic=True)(z)
    expected = mj.jacfwd(lambda z: z[1:] * z[:-1], holomorphic=True)(z)
    assert jac.nse == 10
    np.testing.assert_allclose(jac.todense(), expected, rtol=1e-6)


def test_arguments_that_are_not_functions():
    for tool in (tools.sparse_jacobian, tools.sparse_hessian, tools.sparsity):
        with pytest.raises(TypeError, match="Expected a callable value"):
            tool(3)
