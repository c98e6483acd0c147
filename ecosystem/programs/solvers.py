"""lineax, optimistix and jaxopt: linear systems, roots, minima, and their derivatives."""

import jax
import jax.numpy as jnp
import jaxopt
import lineax as lx
import numpy as np
import optimistix as optx

A, b = jnp.array([[3.0, 1.0], [1.0, 2.0]]), jnp.array([1.0, 2.0])
for solver in (lx.LU(), lx.QR(), lx.SVD(), lx.CG(1e-5, 1e-5), lx.GMRES(1e-5, 1e-5)):
    operator = lx.MatrixLinearOperator(A, lx.positive_semidefinite_tag)
    solution = lambda b, o=operator, s=solver: lx.linear_solve(o, b, s).value
    slope = jax.grad(lambda b, f=solution: f(b).sum())(b)
    print(type(solver).__name__, np.round(solution(b), 3) + 0.0, np.round(slope, 3))
inverse = lambda A, b=b: lx.linear_solve(lx.MatrixLinearOperator(A), b).value
print("jvp", np.round(jax.jvp(inverse, (A,), (A,))[1], 4) + 0.0)
print("vmap", np.round(jax.vmap(lambda b: inverse(A, b))(jnp.stack([b, 2 * b])), 4) + 0.0)

equations = lambda y, args: jnp.array([y[0] ** 2 - 2, y[1] - y[0]])
start = jnp.array([1.0, 1.0])
for finder in (optx.Newton(1e-5, 1e-5), optx.Dogleg(1e-5, 1e-5)):
    print("root", optx.root_find(equations, finder, start).value)
fit = optx.least_squares(equations, optx.LevenbergMarquardt(1e-5, 1e-5), start)
print("squares", fit.value)
bowl = lambda y, a: ((y - a) ** 2).sum()
print("minimum", optx.minimise(bowl, optx.BFGS(1e-5, 1e-5), jnp.zeros(2), args=b).value)
root = lambda a: (
    optx.root_find(lambda y, a: y**2 - a, optx.Newton(1e-6, 1e-6), jnp.array(1.0), args=a).value
)
print("implicit", jax.grad(root)(4.0))

X = jax.random.normal(jax.random.PRNGKey(0), (20, 3))
y = X @ jnp.array([1.0, -2.0, 0.0])
loss = lambda p, weight: jnp.mean((X @ p - y) ** 2) + weight * jnp.sum(p**2)
for kind in (jaxopt.GradientDescent, jaxopt.LBFGS, jaxopt.BFGS, jaxopt.NonlinearCG):
    params = kind(loss, maxiter=30).run(jnp.zeros(3), weight=0.1).params
    print(kind.__name__, np.round(params, 3))
descent = jaxopt.GradientDescent(loss, maxiter=200, implicit_diff=True)
fitted = lambda weight: descent.run(jnp.zeros(3), weight).params.sum()
print("implicit", round(float(jax.grad(fitted)(0.1)), 3))
lasso = jaxopt.ProximalGradient(
    lambda p: jnp.mean((X @ p - y) ** 2), prox=jaxopt.prox.prox_lasso, maxiter=100
)
print("lasso", np.round(lasso.run(jnp.zeros(3), hyperparams_prox=0.1).params, 3))
equal = (jnp.ones((1, 2)), jnp.ones(1))
quadratic = jaxopt.OSQP().run(params_obj=(jnp.eye(2), -jnp.ones(2)), params_eq=equal)
print("quadratic", np.round(quadratic.params.primal, 3))
