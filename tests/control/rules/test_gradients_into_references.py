"""What `vjp` returns, gradients that are added up in references, linearized references."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.ad import DidntWant, DontWant, GradRef, GradValue


def same(x, expected):
    np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-6)


def product(x, w):
    return (jnp.sin(x) * w).sum()


X, W = jnp.array([1.0, 2.0, 3.0]), jnp.array([4.0, 5.0, 6.0])


# ------------------------------------------------------------------------ the function


def test_it_holds_arguments_and_other_residuals():
    y, pull = mj.vjp(product, X, W)
    assert repr(pull.args_res[0]) == "NotNeeded()"
    assert pull.args_res[1] is W
    assert len(pull.opaque_residuals) == 2
    assert pull.in_tree == mj.tree.structure((X, W))
    assert pull.out_tree == mj.tree.structure(y)
    assert len(pull.jaxpr.invars) == 2
    assert len(mj.tree.leaves(pull)) == 3
    _, pull = mj.vjp(lambda d: d["a"][0] * d["b"], {"a": [X, W], "b": 3 * X})
    ((a, b),) = pull.args_res
    assert [type(x).__name__ for x in (*a, b)] == ["ArrayImpl", "NotNeeded", "ArrayImpl"]


def test_arguments_are_taken_out_and_put_back():
    _, pull = mj.vjp(product, X, W)
    before = pull(1.0)
    pull.args_res[1] = None
    with pytest.raises(ValueError, match="`args_res` has 1 leaves"):
        pull(1.0)
    pull.args_res[1] = 2 * W
    same(pull(1.0)[0], 2 * before[0])
    doubled = mj.tree.map(lambda x: 2 * x, pull)
    same(doubled(1.0)[0], 4 * pull(1.0)[0])


def test_it_passes_through_programs():
    pull = mj.jit(lambda x: mj.vjp(lambda x: jnp.sin(x) * x, x)[1])(2.0)
    assert type(pull).__name__ == "VJP"
    same(pull(1.0)[0], np.sin(2.0) + 2 * np.cos(2.0))
    same(mj.jit(lambda p, ct: p(ct))(pull, 2.0)[0], 2 * pull(1.0)[0])
    total = mj.new_ref(jnp.float32(0))
    mj.jit(lambda p, r: p.with_refs(r)(1.0))(pull, total)
    same(total[...], pull(1.0)[0])
    with pytest.raises(TypeError, match="called with a single argument"):
        pull.with_refs(total)(1.0, 2.0)


# -------------------------------------------------------------------------- references


def test_gradients_are_added():
    _, pull = mj.vjp(product, X, W)
    dx, dw = pull(1.0)
    r = mj.new_ref(jnp.ones(3))
    out = pull.with_refs(r, GradValue())(1.0)
    assert out[0] == GradRef()
    same(out[1], dw)
    same(r[...], 1 + dx)
    assert pull.with_refs(r, DontWant())(2.0) == (GradRef(), DidntWant())
    same(r[...], 1 + 3 * dx)
    same(pull.with_refs()(1.0)[1], dw)
    both = mj.new_ref(jnp.zeros(3))
    pull.with_refs(both, both)(1.0)
    same(both[...], dx + dw)
    assert mj.tree.leaves([GradRef(), DidntWant()]) == []
    assert mj.tree.leaves([GradValue(), DontWant()]) == [GradValue(), DontWant()]


def test_trees_of_references():
    params = {"a": X, "b": (W, 2.0)}
    _, pull = mj.vjp(lambda p: product(p["a"], p["b"][0]) * p["b"][1], params)
    expected = pull(1.0)[0]
    refs = mj.tree.map(lambda x: mj.new_ref(jnp.zeros_like(x)), params)
    (out,) = pull.with_refs(refs)(1.0)
    assert out == {"a": GradRef(), "b": (GradRef(), GradRef())}
    mj.tree.map(lambda r, x: same(r[...], x), refs, expected)


def test_what_has_no_gradient_adds_none():
    r = mj.new_ref(jnp.ones(3))
    _, pull = mj.vjp(lambda x, n, y: (x * n).sum(), X, jnp.arange(3), X)
    out = pull.with_refs(GradValue(), r, r)(1.0)
    assert out[1:] == (GradRef(), GradRef())
    same(r[...], [1, 1, 1])


@pytest.mark.parametrize(
    "make",
    [
        lambda w: lax.scan(lambda c, a: (jnp.sin(c) * w * a, None), 1.0, X)[0],
        mj.jit(lambda w: jnp.sin(w) * w),
        mj.checkpoint(lambda w: jnp.sin(w) * w),
        lambda w: lax.cond(w > 0, jnp.sin, jnp.cos, w) * w,
        lambda w: w,
    ],
    ids=["scan", "jit", "checkpoint", "cond", "identity"],
)
@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
def test_through_functions(make, wrap):
    @wrap
    def f(w, r):
        y, pull = mj.vjp(make, w)
        pull.with_refs(r)(1.0)
        return y

    r = mj.new_ref(jnp.float32(5))
    same(f(0.5, r), make(0.5))
    same(r[...], 5 + mj.grad(make)(0.5))
    rows, ws = mj.new_ref(jnp.zeros(3)), jnp.array([0.5, 1.0, 1.5])
    mj.vmap(f)(ws, rows)
    same(rows[...], mj.vmap(mj.grad(make))(ws))


def test_microbatches_add_up_in_a_loop():
    data = jnp.arange(12.0).reshape(4, 3)

    def step(r, x):
        y, pull = mj.vjp(lambda w: (jnp.sin(w) * x).sum(), X)
        pull.with_refs(r)(1.0)
        return y

    @mj.jit
    def run(r):
        return lax.scan(lambda _, x: (None, step(r, x)), None, data)[1]

    r = mj.new_ref(jnp.zeros(3))
    same(run(r), (jnp.sin(X) * data).sum(1))
    same(r[...], jnp.cos(X) * data.sum(0))


def test_each_use_is_added_in_the_program():
    def f(x, r):
        _, pull = mj.vjp(lambda x: (x * 2).sum() + jnp.sin(x).sum(), x)
        pull.with_refs(r)(1.0)

    text = str(mj.make_jaxpr(f)(X, mj.new_ref(X)))
    assert text.count("[...] += ") == 2
    assert "add_any" not in text


def test_gradients_that_do_not_fit():
    _, pull = mj.vjp(product, X, W)
    with pytest.raises(ValueError, match="Invalid shape for `addupdate`"):
        pull.with_refs(mj.new_ref(jnp.ones(4)), GradValue())(1.0)
    with pytest.raises(ValueError, match="Invalid dtype for `addupdate`"):
        pull.with_refs(mj.new_ref(jnp.ones(3, "bfloat16")), GradValue())(1.0)
    for wrong in ((GradValue(),), (None, GradValue()), ([GradValue()], GradValue())):
        with pytest.raises(ValueError, match="with_refs: unexpected tree structure"):
            pull.with_refs(*wrong)


# ---------------------------------------------------------------- linearized references


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
def test_linearize_takes_references(wrap):
    def scale(r, x):
        r[...] = r[...] * x
        return r[1]

    @wrap
    def run(r, t):
        y, push = mj.linearize(scale, r, 2.0)
        return y, push(t, 1.0)

    r, t = mj.new_ref(jnp.array([0.0, 3.0, 6.0])), mj.new_ref(jnp.arange(3.0))
    same(run(r, t), (6, 5))
    same(r[...], [0, 6, 12])
    same(t[...], [0, 5, 10])


def test_linearized_reading_leaves_tangents_alone():
    r, t = mj.new_ref(X), mj.new_ref(W)
    _, push = mj.linearize(lambda r: (r[...] ** 2).sum(), r)
    same(push(t), 2 * (X * W).sum())
    same(push(mj.new_ref(2 * W)), 4 * (X * W).sum())
    same(t[...], W)
    for wrong in (W, mj.new_ref(jnp.ones(4))):
        with pytest.raises(ValueError, match="inconsistent with the original primal"):
            push(wrong)
