"""Policies inside loops and branches; barriers.  Counts recorded from JAX 0.10.2."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.ad_checkpoint import checkpoint_name
from minijax.control.calls.remat import saved_residuals
from minijax.ir.jaxpr import sub_jaxprs

W = np.float32([[0.3, 0.1, -0.2], [0.5, -0.4, 0.2], [0.1, 0.2, 0.6]])
X = np.float32([0.4, -0.3, 0.7])
P = mj.checkpoint_policies
DOTS, NAMES = P.dots_saveable, P.save_only_these_names("h")


def scanned(w, x):
    def step(c, a):
        return checkpoint_name(jnp.sin(w @ c) * a, "h"), None

    return lax.scan(step, x, X)[0].sum()


def branch(w, x):
    return lax.cond(x[0] > 0, lambda: jnp.sin(w @ x), lambda: w @ jnp.cos(w @ x)).sum()


def other_branch(w, x):
    return branch(w, -x)


def called(w, x):
    layer = mj.jit(lambda w, x: checkpoint_name(jnp.sin(w @ x), "h"))
    return layer(w, layer(w, x)).sum()


def branch_in_scan(w, x):
    def step(c, a):
        return lax.cond(a > 0, lambda: jnp.sin(w @ c), lambda: jnp.cos(c)), c.sum()

    c, ys = lax.scan(step, x, X)
    return c.sum() + (ys * ys).sum()


def scan_in_scan(w, x):
    def outer(c, a):
        return lax.scan(lambda d, b: (jnp.sin(w @ d) + b, None), c, X)[0] * a, None

    return lax.scan(outer, x, X)[0].sum()


def lanes(w, x):
    return mj.vmap(scanned, (None, 0))(w, jnp.stack([x, 2 * x])).sum()


def count(jaxpr, name):
    inside = sum(count(j, name) for e in jaxpr.eqns for j in sub_jaxprs(e.params))
    return inside + sum(e.primitive.name == name for e in jaxpr.eqns)


# (function, policy, products in the gradient's program)
CASES = [
    (scanned, None, 4),
    (scanned, DOTS, 3),
    (scanned, NAMES, 4),
    (branch, None, 11),
    (branch, DOTS, 9),
    (called, None, 8),
    (called, DOTS, 6),
    (called, NAMES, 8),
]


def gradient(f, policy):
    return mj.grad(mj.checkpoint(f, policy=policy), (0, 1))


@pytest.mark.parametrize(("f", "policy", "products"), CASES)
def test_what_is_stored_is_not_computed_again(f, policy, products):
    jaxpr = mj.make_jaxpr(gradient(f, policy))(W, X).jaxpr
    assert count(jaxpr, "dot_general") == products


ALL = [scanned, branch, other_branch, called, branch_in_scan, scan_in_scan, lanes]
POLICIES = {
    "dots": DOTS,
    "names": NAMES,
    "everything": P.everything_saveable,
    "all but names": P.save_anything_except_these_names("h"),
    "sines": lambda prim, *_, **__: prim.name == "sin",
    "offload": P.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["h"],
        offload_src="device",
        offload_dst="pinned_host",
    ),
}


@pytest.mark.parametrize("f", ALL)
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_gradients(f, policy):
    expected = mj.grad(f, (0, 1))(W, X)
    for a, b in zip(gradient(f, policy)(W, X), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", [scanned, branch_in_scan])
def test_compiled_and_second_derivatives(f):
    def push(g):
        return mj.jit(lambda w, x: mj.jvp(g, (w, x), (w, x)))(W, X)

    actual, expected = push(gradient(f, DOTS)), push(mj.grad(f, (0, 1)))
    for a, b in zip(mj.tree.leaves(actual), mj.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_stored_values():
    def shapes(f, policy):
        return [a.shape for a, _ in saved_residuals(mj.checkpoint(f, policy=policy), W, X)]

    assert sorted(shapes(scanned, DOTS)) == sorted([(3, 3), (3,), (3,), (3, 3)])
    assert sorted(shapes(scanned, None)) == sorted([(3, 3), (3,), (3,)])
    assert sorted(shapes(branch, None)) == sorted([(3, 3), (3,)])
    assert len(shapes(branch, DOTS)) == 4  # a product of each branch


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_barriers(platform):
    f = lambda w, x: jnp.sin(jnp.sin(w @ x)).sum()
    inner = lambda w, x: mj.checkpoint(f)(w, jnp.cos(x))

    def barriers(g):
        traced = mj.jit(g).trace(W, X)
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        return text.count("optimization_barrier")

    once = mj.checkpoint(f)
    assert barriers(once) == barriers(lambda w, x: mj.jvp(once, (w, x), (w, x))) == 0
    assert barriers(mj.grad(once)) == 1
    assert barriers(mj.grad(mj.checkpoint(inner))) == 2
    assert barriers(mj.grad(mj.checkpoint(f, prevent_cse=False))) == 0
