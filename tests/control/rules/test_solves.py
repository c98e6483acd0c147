"""custom_linear_solve and custom_root: implicit derivatives, call forms, messages."""

import re

import numpy as np
import pytest
from straight import agree, names, only

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

X = np.array([0.7, 0.4, 0.9], np.float32)
B = np.array([0.2, -0.6, 0.5], np.float32)
DOWN = np.diag([0.5, 0.5], -1).astype(np.float32)


def matrix(x):
    """A lower triangular matrix."""
    return DOWN + jnp.diag(x)


def solve_lower(x, b):
    """`inv(matrix(x)) @ b`, written out."""
    first = b[0] / x[0]
    second = (b[1] - first / 2) / x[1]
    return jnp.stack([first, second, (b[2] - second / 2) / x[2]])


def solve_upper(x, b):
    """`inv(matrix(x).T) @ b`."""
    return solve_lower_reversed(x[::-1], b[::-1])[::-1]


solve_lower_reversed = solve_lower  # the same numbers from the other end


def general(x, b=B):
    return lax.custom_linear_solve(
        lambda v: matrix(x) @ v,
        x * b,
        lambda _, b: solve_lower(x, b),
        lambda _, b: solve_upper(x, b),
    )


def symmetric(x):
    a = matrix(x) @ matrix(x).T
    return lax.custom_linear_solve(
        lambda v: a @ v, x * B, lambda _, b: solve_upper(x, solve_lower(x, b)), symmetric=True
    )


def with_aux(x):
    y, aux = lax.custom_linear_solve(
        lambda v: matrix(x) @ v,
        x * B,
        lambda _, b: (solve_lower(x, b), {"steps": jnp.float32(2)}),
        lambda _, b: (solve_upper(x, b), {"steps": jnp.float32(3)}),
        has_aux=True,
    )
    return y * aux["steps"]


def nested(x):
    """The solver of a solve solves again."""

    def lower(b):
        return lax.custom_linear_solve(
            lambda v: matrix(x) @ v, b, lambda _, b: solve_lower(x, b), lambda _, b: upper(b)
        )

    def upper(b):
        return lax.custom_linear_solve(
            lambda v: matrix(x).T @ v,
            b,
            lambda _, b: solve_upper(x, b),
            lambda _, b: solve_lower(x, b),
        )

    return lax.custom_linear_solve(
        lambda v: matrix(x) @ v, x * B, lambda _, b: lower(b), lambda _, b: upper(b)
    )


def trees(x):
    def matvec(t):
        return {"u": matrix(x) @ t["u"], "v": 2.0 * t["v"]}

    t = lax.custom_linear_solve(
        matvec,
        {"u": x * B, "v": jnp.sin(x)},
        lambda _, t: {"u": solve_lower(x, t["u"]), "v": t["v"] / 2.0},
        lambda _, t: {"u": solve_upper(x, t["u"]), "v": t["v"] / 2.0},
    )
    return t["u"] * t["v"]


def straight(x):
    return solve_lower(x, x * B)


PROGRAMS = {
    "general": (general, straight),
    "symmetric": (symmetric, lambda x: solve_upper(x, straight(x))),
    "aux": (with_aux, lambda x: 2 * straight(x)),
    "nested": (nested, straight),
    "trees": (trees, lambda x: straight(x) * jnp.sin(x) / 2.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_linear_solve_is_the_inverse(name):
    agree(*PROGRAMS[name], X, tolerance=2e-4)


def test_only_the_given_solvers_are_called():
    """The forward pass solves with A, the backward pass with its transpose."""

    def f(b):
        return lax.custom_linear_solve(
            lambda v: 2.0 * v, b, lambda mv, b: b / 2.0, lambda vm, b: b / 5.0
        )

    assert f(np.float32(4)) == 2
    assert mj.jvp(f, (np.float32(4),), (np.float32(2),))[1] == 1
    assert mj.grad(f)(np.float32(4)) == np.float32(0.2)
    assert mj.grad(lambda x: f(f(x)))(4.0) == np.float32(1 / 5 / 5)


def test_transpose_of_the_transpose_is_the_solver():
    def f(b):
        return lax.custom_linear_solve(
            lambda v: 2.0 * v, b, lambda mv, b: b / 2.0, lambda vm, b: b / 5.0
        )

    transposed = mj.linear_transpose(f, np.float32(1))
    twice_transposed = mj.linear_transpose(lambda ct: transposed(ct)[0], np.float32(1))
    assert twice_transposed(np.float32(4))[0] == 2


def test_solvers_get_the_matvec_and_its_transpose():
    """A solver that only calls the function that is passed to it."""

    def solve(matvec, b):
        return jnp.linalg.inv(mj.jacfwd(matvec)(jnp.zeros(3))) @ b

    def f(b):
        return lax.custom_linear_solve(lambda v: matrix(X) @ v, b, solve, solve)

    inverse = np.linalg.inv(matrix(X))
    np.testing.assert_allclose(mj.jacfwd(f)(B), inverse, 1e-5, 1e-5)
    np.testing.assert_allclose(mj.jacrev(f)(B), inverse, 1e-5, 1e-5)


def test_symmetric_with_a_transpose_solver_uses_it():
    """Conjugate gradients pass both."""

    def f(b):
        return lax.custom_linear_solve(
            lambda v: 2.0 * v,
            b,
            lambda mv, b: b / 2.0,
            lambda mv, b: b / mv(2.0),
            symmetric=True,
        )

    assert mj.grad(f)(np.float32(1)) == 0.25


def test_lanes_share_what_is_not_mapped():
    b = np.stack([B, X, B - X, B + 1])
    lanes = mj.vmap(general, (None, 0))
    expected = np.linalg.solve(np.asarray(matrix(X)), (X * b).T).T
    np.testing.assert_allclose(lanes(X, b), expected, 1e-5)
    eqn = only(mj.make_jaxpr(lanes)(X, b), "custom_linear_solve")
    assert X.shape in [v.aval.shape for v in eqn.invars]


# ------------------------------------------------------------------------ custom_root


def newton(f, guess):
    return lax.fori_loop(
        0, 12, lambda i, z: z - f(z) / mj.jvp(f, (z,), (jnp.ones_like(z),))[1], guess
    )


def divide(g, y):
    return y / g(jnp.ones_like(y))


def square_root(x):
    return lax.custom_root(lambda z: z**2 - x, jnp.ones(3), newton, divide)


def with_closures(x):
    """All functions close over what is being differentiated."""

    def solve(f, guess):
        return lax.fori_loop(0, 12, lambda i, z: z - f(z) / (2 * z + 0 * x), guess)

    def tangent_solve(g, y):
        return y / g(jnp.ones_like(x))

    return lax.custom_root(lambda z: z**2 - x, jnp.ones(3) + 0 * x, solve, tangent_solve)


def root_and_aux(x):
    root, aux = lax.custom_root(
        lambda z: z**2 - x,
        jnp.ones(3),
        lambda f, z: (newton(f, z), {"steps": 12}),
        divide,
        has_aux=True,
    )
    return root * aux["steps"]


def root_of_a_tree(x):
    def f(z):
        return {"a": z["a"] ** 2 - x, "b": z["b"] * 2.0 - x}

    def solve(f, z):
        return {"a": newton(lambda a: f({**z, "a": a})["a"], z["a"]), "b": x / 2.0}

    def tangent_solve(g, y):
        one = g(mj.tree.map(jnp.ones_like, y))
        return mj.tree.map(jnp.divide, y, one)

    out = lax.custom_root(f, {"a": jnp.ones(3), "b": jnp.ones(3)}, solve, tangent_solve)
    return out["a"] * out["b"]


ROOTS = {
    "square root": (square_root, jnp.sqrt),
    "closures": (with_closures, jnp.sqrt),
    "aux": (root_and_aux, lambda x: 12 * jnp.sqrt(x)),
    "tree": (root_of_a_tree, lambda x: jnp.sqrt(x) * (x / 2.0)),
}


@pytest.mark.parametrize("name", ROOTS)
def test_root(name):
    agree(*ROOTS[name], X, tolerance=1e-4)


def test_the_iteration_is_not_differentiated():
    jaxpr = mj.make_jaxpr(mj.grad(lambda x: square_root(x).sum()))(X)
    assert names(jaxpr).count("scan") == 1  # Newton's steps, once


def test_the_guess_has_no_derivative():
    def f(guess):
        return lax.custom_root(lambda z: z**2 - 2.0, guess, newton, divide).sum()

    assert not mj.grad(f)(X).any()


# ----------------------------------------------------------------------------- errors


def double(x):
    return 2.0 * x


def half(_, b):
    return b / 2.0


def solve_with(matvec=double, solve=half, transpose_solve=None, **options):
    return lambda b: lax.custom_linear_solve(matvec, b, solve, transpose_solve, **options)


ERRORS = {
    "matvec tree": (solve_with(lambda x: (x,)), TypeError,
                    "matvec() output pytree structure must match b, got"),
    "matvec shape": (solve_with(lambda x: x[None]), ValueError,
                     "matvec() output shapes must match b, got [(1, 3)] and [(3,)]"),
    "solve shape": (solve_with(solve=lambda _, b: b[:1]), ValueError,
                    "solve() output shapes must match b, got [(1,)] and [(3,)]"),
    "transpose_solve shape": (solve_with(transpose_solve=lambda _, b: b[:1]), ValueError,
                              "transpose_solve() output shapes must match b"),
    "no aux": (solve_with(has_aux=True), ValueError,
               "a pytree tuple with auxiliary output was expected because has_aux"),
    "three": (solve_with(solve=lambda _, b: (b, 1, 2), has_aux=True), ValueError,
              "a pytree tuple with auxiliary output was expected"),
    "no transpose": (mj.grad(lambda b: solve_with()(b).sum()), TypeError,
                     "transpose_solve required for backwards mode automatic"
                     " differentiation of custom_linear_solve"),
    "a text": (lambda b: solve_with()({"a": "b"}), TypeError, "Which: b['a']"),
    "f": (lambda x: lax.custom_root(lambda z: (z,), x, newton, divide), TypeError,
          "f() output pytree structure must match initial_guess, got"),
    "solve": (lambda x: lax.custom_root(lambda z: z, x, lambda f, z: [z], divide),
              TypeError, "solve() output pytree structure must match initial_guess, got"),
    "tangent_solve": (
        lambda x: lax.custom_root(lambda z: z, x, lambda f, z: z, lambda g, y: (y,)),
        TypeError, "tangent_solve() output pytree structure must match x, got"),
    "root without aux": (
        lambda x: lax.custom_root(lambda z: z, x, lambda f, z: z, divide, has_aux=True),
        ValueError, "solve() produced a pytree with structure PyTreeDef(*), but a pytree"
        " tuple with auxiliary output was expected because has_aux was set to True"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    call, kind, words = ERRORS[name]
    with pytest.raises(kind, match=re.escape(words)):
        call(X)


def test_auxiliary_results_cannot_be_transposed():
    halve = lambda _, b: (b / 2, {"steps": b * 3})
    f = lambda b: lax.custom_linear_solve(
        lambda x: 2 * x, b, halve, symmetric=True, has_aux=True
    )
    assert mj.linear_transpose(lambda b: f(b)[0], 1.0)(1.0) == (0.5,)
    with pytest.raises(TypeError, match="auxiliary results have no derivative"):
        mj.linear_transpose(f, 1.0)((1.0, {"steps": 1.0}))
