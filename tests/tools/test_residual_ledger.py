"""The ledger of residuals, and checkpoints by budget, held against XLA's memory."""

import itertools

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, tools
from minijax.control.calls import budget as budgets

W = jnp.full((48, 48), 0.01)


def layers(ws, x):
    for w in ws:
        hidden = x @ w
        x = jnp.tanh(hidden)
    return (x**2).sum()


def test_the_ledger_names_lines_and_costs():
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


def test_the_ledger_looks_into_loops():
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
    slim, plain = mj.grad(plan.function)(ws, x), mj.grad(layers)(ws, x)
    for a, b in zip(slim, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert "recompute" in str(plan)
    assert plan.to_dict()["budget"] == limit


def test_what_fits_is_not_recomputed_and_what_does_not_is_told():
    ws = [W] * 4
    assert tools.plan_remat(layers, 10**9, ws, W).extra_flops == 0
    with pytest.raises(
        ValueError, match=r"(?s)no choice of residuals.*the least is \d+"
    ):
        tools.plan_remat(layers, 1000, ws, W)
    checked = mj.checkpoint(layers, policy=tools.budget(6 * W.nbytes))
    vmapped = mj.vmap(mj.grad(checked), in_axes=(None, 0))(ws, jnp.ones((2, 48, 48)))
    assert vmapped[0].shape == (2, 48, 48)


@pytest.mark.parametrize("limit", [5, 6, 9, 14])
def test_plans_of_chains_are_optimal(limit):
    """Against every choice of kept and recomputed stretches, by brute force."""

    def chain(x):
        for k in range(7):
            x = jnp.sin(x) if k % 3 else jnp.sin(x @ x)
        return x

    x = jnp.ones((16, 16))
    jaxpr = mj.make_jaxpr(chain)(x).jaxpr
    bytes_ = limit * x.nbytes
    found = budgets.plan(jaxpr, bytes_)
    assert found.bytes <= bytes_
    costs, n = budgets._Costs(jaxpr), len(jaxpr.eqns)
    places = budgets._places(costs)
    m, best = len(places) - 1, np.inf
    for cuts in itertools.product([0, 1, 2], repeat=m):  # kept, begins, goes on
        if any(b == 2 and a == 0 for a, b in itertools.pairwise((0, *cuts))):
            continue
        starts = [k for k, c in enumerate(cuts) if c < 2] + [m]
        made = [
            costs.stretch(places[a], places[b], bool(cuts[a]))
            for a, b in itertools.pairwise(starts)
        ]
        counted = budgets._counted(made)
        if counted.bytes <= bytes_:
            best = min(best, counted.flops)
    assert places[-1] == n
    assert found.flops == best
