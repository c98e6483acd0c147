"""The ledger of residuals, and checkpoints by budget, held against XLA's memory."""

import dataclasses
import functools

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
import minijax.scipy.stats
from minijax import lax, nn, tools
from minijax.analysis.cost_model import equation_flops
from minijax.control.calls import remat_budget as budgets
from minijax.tools import residuals_report as ledgers
from minijax.tools.programs import amount

W = jnp.full((48, 48), 0.01)


def layers(ws, x):
    for w in ws:
        hidden = x @ w
        x = jnp.tanh(hidden)
    return (x**2).sum()


def test_reports_name_lines_and_costs():
    with mj.named_scope("loss"):
        ledger = tools.residuals(mj.jit(mj.value_and_grad(layers)), [W, W], W)
    by = {(r.by, r.made.variable) for r in ledger.residuals}
    assert ("tanh", "x") in by
    assert all(r.read.file == __file__ for r in ledger.residuals)
    first = next(r for r in ledger.residuals if r.by == "tanh")
    assert "dot_general" in first.why
    assert first.flops >= 2 * 48**3
    assert ledger.arguments == 2 * W.nbytes  # the input and the second weight
    assert ledger.bytes == sum(r.bytes for r in ledger.residuals)
    assert sum(ledger.scopes.values()) == ledger.bytes
    assert "residuals" in str(ledger)
    assert ledger.to_dict()["residuals"][0]["made"]["function"] == "layers"


def test_loops_are_inspected():
    def rolled(x):
        def step(h, _):
            wave = jnp.sin(h @ h)
            return wave, None

        return lax.scan(step, x, None, length=5)[0].sum()

    ledger = tools.residuals(mj.vmap(mj.grad(rolled)), jnp.ones((2, 8, 8)))
    stacked = [r for r in ledger.residuals if r.type == "f32[5,2,8,8]"]
    assert {r.made.variable for r in stacked} >= {"wave"}
    assert {r.read.variable for r in stacked} == {"wave"}
    slim = tools.residuals(mj.grad(mj.checkpoint(rolled)), jnp.ones((8, 8)))
    assert slim.bytes < ledger.bytes / 2


def test_recomputed_operations_are_counted_once(monkeypatch):
    def chain(x):
        for _ in range(20):
            x = jnp.sin(x) * 1.5
        return x.sum()

    counted = []
    monkeypatch.setattr(
        ledgers, "equation_flops", lambda e: counted.append(e) or equation_flops(e)
    )
    ledger = tools.residuals(mj.grad(chain), jnp.ones(10))
    # Of the cosine after k steps: it, and all sines and products before.
    assert sorted(r.flops for r in ledger.residuals) == [10 + 20 * k for k in range(20)]
    assert {r.why for r in ledger.residuals[2:]} <= {
        f"{amount(10 + 20 * k, 'flop')} (mul, sin, cos)" for k in range(20)
    } | {"10 flop (cos)", "30 flop (cos, mul, sin)"}
    assert len(counted) == len({id(e) for e in counted})


def test_a_function_without_a_backward_pass():
    ledger = tools.residuals(layers, [W], W)
    assert (len(ledger), ledger.backward) == (0, False)
    assert "no backward pass" in str(ledger)
    assert tools.residuals(mj.grad(lambda x: x.sum()), W).backward


def temporary(f, *args):
    return mj.jit(f).lower(*args).compile().memory_analysis().temp_size_in_bytes


def test_a_budget_holds_in_the_executable():
    ws, x = [W] * 12, jnp.ones((1024, 48))
    full, limit = temporary(mj.grad(layers), ws, x), 2_000_000
    assert full > limit
    plan = tools.plan_remat(layers, limit, ws, x, measure=True)
    assert plan.bytes <= limit
    assert plan.measured["before"] == full
    assert plan.measured["after"] <= limit
    assert 0 < plan.extra < 0.4
    slim, stored = mj.grad(plan.function)(ws, x), mj.grad(layers)(ws, x)
    for a, b in zip(slim, stored, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert "recompute" in str(plan)
    assert plan.to_dict()["budget"] == limit


def test_recomputation_only_if_needed_and_errors_if_impossible():
    ws = [W] * 4
    assert tools.plan_remat(layers, 10**9, ws, W).extra_flops == 0
    with pytest.raises(ValueError, match=r"(?s)no choice of residuals.*the least is \d+"):
        tools.plan_remat(layers, 1000, ws, W)
    checked = mj.checkpoint(layers, policy=tools.budget(6 * W.nbytes))
    vmapped = mj.vmap(mj.grad(checked), in_axes=(None, 0))(ws, jnp.ones((2, 48, 48)))
    assert vmapped[0].shape == (2, 48, 48)


def nested(stored, recomputed, s, t):
    """Yield every plan for the segments between two cuts."""
    if s == t:
        yield []
        return
    for rest in nested(stored, recomputed, s + 1, t):
        yield [stored[s], *rest]
    for k in range(s + 1, t):
        for inside in nested(stored, recomputed, s, k):
            part = dataclasses.replace(recomputed[s, k], inside=tuple(inside))
            for rest in nested(stored, recomputed, k, t):
                yield [part, *rest]


def highest(stretches, size, held=0):
    """Return the most bytes that are live when the backward pass reaches a segment.

    A recomputed segment also has a cotangent of `size` bytes.
    """
    held += sum(s.bytes for s in stretches)
    most = held
    for s in reversed(stretches):
        if s.recomputed:
            most = max(most, highest(s.inside, size, held + size))
        held -= s.bytes
    return most


@pytest.mark.parametrize("limit", [4, 5, 6, 8])
def test_plans_of_chains_are_optimal(limit):
    """Against every choice of kept and recomputed stretches, by brute force."""

    def chain(x):
        for k in range(5):
            x = jnp.sin(x) if k % 3 else jnp.sin(x @ x)
        return x

    x = jnp.ones((16, 16))
    jaxpr = mj.make_jaxpr(chain)(x).jaxpr
    most = functools.partial(highest, size=x.nbytes)
    chosen = budgets.plan_segments(jaxpr, limit * x.nbytes)
    assert chosen.bytes == most(chosen.segments) <= limit * x.nbytes
    costs = budgets._Costs(jaxpr)
    at = budgets._cut_points(costs)
    m = len(at) - 1
    stored = [costs.segment(at[i], at[i + 1], False) for i in range(m)]
    recomputed = {(i, j): costs.segment(at[i], at[j], True) for j in range(m) for i in range(j)}
    every = [budgets._counted(way) for way in nested(stored, recomputed, 0, m)]
    assert all(p.bytes == most(p.segments) for p in every)
    best = min(p.flops for p in every if p.bytes <= limit * x.nbytes)
    assert chosen.flops == best


def test_segments_are_recomputed_recursively_for_small_budgets():
    ws, x = [W] * 24, jnp.ones((1024, 48))
    plan = tools.plan_remat(layers, 8 * x.nbytes, ws, x, measure=True)
    assert max(p.depth for p in plan.pieces) > 0
    assert plan.bytes <= 8 * x.nbytes < plan.measured["before"] / 2
    assert plan.measured["after"] <= 10 * x.nbytes  # with what is computed with
    for a, b in zip(mj.grad(plan.function)(ws, x), mj.grad(layers)(ws, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_residuals_moved_by_vmap_are_traced_to_their_operation():
    energy = mj.jit(lambda w, x: jnp.tanh(w @ x).sum())
    grads = mj.vmap(mj.grad(energy), in_axes=(None, 0))
    ledger = tools.residuals(grads, W, W[:5])
    (residual,) = ledger.residuals  # JAX keeps tanh and 1 - tanh
    assert (residual.by, residual.type, residual.scope) == (
        "tanh_slope",
        "f32[5,48]",
        "vmap(jvp())",
    )
    assert (residual.made.variable, residual.read.variable) == ("energy", "energy")


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit, lambda f: mj.jit(mj.jit(f))])
def test_jitted_functions_are_inspected(wrap):
    """Name stacks inside a call start with the name stack of the call."""
    ledger = tools.residuals(mj.grad(wrap(lambda x: jnp.sin(x).sum())), jnp.ones(8))
    assert [(r.by, r.reader, r.scope) for r in ledger.residuals] == [("cos", "mul", "jvp()")]


def test_plans_of_static_arguments_and_of_nothing():
    f = mj.jit(
        lambda x, n, how: getattr(jnp.sin(x) * n, how)(),
        static_argnums=1,
        static_argnames="how",
    )
    plan = tools.plan_remat(f, 10**6, W, 3, how="sum")
    np.testing.assert_allclose(
        mj.grad(plan.function)(W), mj.grad(f)(W, 3, how="sum"), rtol=1e-6
    )
    assert tools.plan_remat(lambda x: 3.0, 10, W).bytes == 0
    constant = mj.checkpoint(lambda x: 3.0, policy=tools.budget(10))
    assert mj.grad(constant)(2.0) == 0.0


def test_plans_of_functions_with_references():
    def summed(x):
        total = mj.new_ref(jnp.zeros(3))

        def body(i, _):
            total[...] = total[...] + jnp.sin(x * i)

        lax.fori_loop(0, 3, body, None)
        return total[...].sum()

    chosen = tools.plan_remat(summed, 10**6, jnp.ones(3))
    np.testing.assert_allclose(
        mj.grad(chosen.function)(jnp.ones(3)), mj.grad(summed)(jnp.ones(3)), rtol=1e-6
    )


@pytest.mark.parametrize(
    "f, most",
    [
        (lambda x: jnp.where(x > 0, x * 2, 1.0), 1),  # which elements
        (lambda x: jnp.where(x > 0, 1.0, jnp.sin(x)), 2),
        (lambda x: mj.scipy.stats.expon.logpdf(x), 1),
        (lambda x: mj.scipy.stats.uniform.pdf(x), 3),
        (lambda x: nn.gelu(x.astype(jnp.bfloat16)), 4),
        (lambda x: nn.relu(x), 2),
    ],
)
def test_zeros_are_not_residuals(f, most):
    """JAX 0.10.2 keeps as many arrays or more, except for the uniform density (0)."""
    x = jnp.linspace(-2.0, 2.0, 12).reshape(3, 4)
    for g in (f, mj.jit(f)):
        y, pull = mj.vjp(g, x)
        residuals = [a for a in mj.tree.leaves(pull) if a.size > 1]
        assert len(residuals) <= most
        ones = jnp.ones_like(y)
        expected = mj.jvp(f, (x,), (jnp.ones_like(x),))[1]  # elementwise: the same
        np.testing.assert_allclose(pull(ones)[0], expected.astype("f"), rtol=0.02, atol=0.01)
