"""Rules evaluated as one program: the results equal those of the operations one by one."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.interpreters import ad
from minijax.ir import hooks
from minijax.ir.core import Primitive
from minijax.runtime.running import compiled_rules

HOOKS = ("evaluate_batched", "evaluate_jvp", "evaluate_linearized", "evaluate_transpose")


def apart(monkeypatch, f, *args):
    """Return the results of `f` with rules applied operation by operation."""
    with monkeypatch.context() as patch:
        for name in HOOKS:
            patch.setattr(getattr(hooks, name), "call", lambda *args: None)
        return f(*args)


@pytest.fixture
def programs(monkeypatch):
    """Return the names of primitives whose rules were evaluated as one program."""
    seen = []
    real = compiled_rules._run

    def run(make, needed, prim, *rest):
        out = real(make, needed, prim, *rest)
        seen.extend([prim.name] if out is not None else [])
        return out

    monkeypatch.setattr(compiled_rules, "_run", run)
    return seen


x = jnp.float32([0.5, 1.5, 2.0])
weak = lax.broadcast(jnp.asarray(0.5), (3,))
assert weak.weak_type
FUNCTIONS = {
    "mul": lambda x: x * x,
    "scalar": lambda x: 2 * x + 1.0,
    "tanh": jnp.tanh,
    "max": lambda x: x.max(),
    "sum": lambda x: x.sum() / x.size,
    "where": lambda x: jnp.where(x > 1, x, x * x),
    "broadcast": lambda x: x + x[..., None].sum(),
    "int": lambda x: (x.astype(int), x),
    "constant": lambda x: (jnp.ones(3), lax.stop_gradient(x) * x),
    "index": lambda x: x[1:] * x[:-1] if x.ndim else x,
    "sort": lambda x: jnp.sort(x) if x.ndim else x,
    "complex": lambda x: abs(x + 1j * x),
    "power": lambda x: x**3 + x**0.5,
    "loop": lambda x: lax.fori_loop(0, 2, lambda _, y: y * x, x),
    "branch": lambda x: lax.cond(True, jnp.sin, jnp.cos, x),
    "rule": mj.nn.relu,
    "strong tangent": lambda x: -lax.square(x),
}
first = lambda out: mj.tree.leaves(out)[0]
CHANGES = {
    "jvp": lambda f, x: mj.jvp(f, (x,), (x,)),
    "weak jvp": lambda f, x: mj.jvp(lambda y: f(y * x), (1.0,), (1.0,)),
    "grad": lambda f, x: mj.grad(lambda x: first(f(x)).sum())(x),
    "vjp": lambda f, x: mj.vjp(f, x)[1](mj.tree.map(jnp.ones_like, f(x))),
    "linearize": lambda f, x: mj.linearize(f, x)[1](x),
    "vmap": lambda f, x: mj.vmap(f)(jnp.stack([x, 2 * x, 3 * x])),
    "vmap, last": lambda f, x: mj.vmap(f, -1, -1)(jnp.stack([x, 2 * x], -1)),
    "both": lambda f, x: mj.vmap(lambda x: mj.jvp(f, (x,), (x,)))(jnp.stack([x, x])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_equal(name, monkeypatch):
    f = FUNCTIONS[name]
    for change, operands in [(c, x) for c in CHANGES.values()] + [
        (CHANGES[c], weak) for c in ("jvp", "weak jvp", "linearize")
    ]:
        if name in ("int", "constant") and change in (CHANGES["grad"], CHANGES["vjp"]):
            continue
        run = lambda x: change(lambda x: f(x), x)  # noqa: B023
        result, expected = run(operands), apart(monkeypatch, run, operands)
        a, a_tree = mj.tree.flatten(result)
        b, b_tree = mj.tree.flatten(expected)
        assert a_tree == b_tree
        for p, q in zip(a, b, strict=True):
            assert getattr(p, "aval", p.dtype) == getattr(q, "aval", q.dtype)
            assert getattr(p, "sharding", None) == getattr(q, "sharding", None)
            if p.dtype != mj.dtypes.float0:
                assert np.allclose(p, q, rtol=1e-6, equal_nan=True)


def test_a_rule_is_one_program(programs, monkeypatch):
    f = lambda x: jnp.tanh(x * x).sum()
    for change in (mj.grad, lambda f: lambda x: mj.jvp(f, (x,), (x,))):
        change(f)(x)
        programs.clear()
        change(f)(x)
        assert {"tanh", "mul", "reduce_sum"} <= set(programs)
    mj.vmap(f)(jnp.stack([x, x]))
    programs.clear()
    mj.vmap(f)(jnp.stack([x, x]))
    assert programs == ["mul", "tanh", "reduce_sum"]


def test_the_linear_part_is_the_same_program(monkeypatch):
    f = lambda x: jnp.tanh(x * 2.0) * x.max()
    text = lambda: str(mj.make_jaxpr(mj.linearize(f, x)[1])(x))
    assert text() == apart(monkeypatch, text)


def test_the_function_runs_at_each_call():
    seen = []

    def f(x):
        seen.append(1)
        return x * len(seen)

    assert [float(mj.grad(f)(2.0)) for _ in range(3)] == [1, 2, 3]
    assert [float(mj.jvp(f, (x[0],), (x[0],))[1]) for _ in range(2)] == [2, 2.5]


def test_a_library_may_change_a_rule():
    f = lambda x: mj.jvp(lax.sin, (x,), (x,))[1]
    expected = f(x)
    old = ad.primitive_jvps[lax.sin_p]

    def rule(primals, tangents, **params):
        assert float(primals[0][0]) == 0.5  # would raise for a tracer
        return lax.sin_p.bind(*primals, **params), tangents[0]

    ad.primitive_jvps[lax.sin_p] = rule
    try:
        assert f(x).tolist() == x.tolist()
        assert f(x).tolist() == x.tolist()
    finally:
        ad.primitive_jvps[lax.sin_p] = old
    assert f(x).tolist() == expected.tolist()


def test_options_and_faults():
    f = lambda x: jnp.log(x).sum()
    assert np.isinf(f(0 * x))
    with mj.debug_infs(True), pytest.raises(FloatingPointError, match=r"inf.* in log"):
        mj.grad(f)(0 * x)
    with mj.no_execution(True), pytest.raises(RuntimeError, match="no_execution"):
        mj.grad(f)(x)
    assert mj.grad(f)(x).tolist() == pytest.approx([2, 2 / 3, 0.5])
    deleted = x + 1
    deleted.delete()
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        mj.jvp(jnp.tanh, (deleted,), (x,))
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        mj.vmap(jnp.tanh)(deleted)


def test_values_on_other_devices(programs):
    one, two = mj.devices()[1], mj.devices()[2]
    placed = mj.device_put(x, one)
    f = lambda x, y: jnp.tanh(x * y).sum()
    out, slope = mj.value_and_grad(f)(placed, placed)
    assert out.devices() == slope.devices() == {one} and slope.committed
    assert "mul" in programs
    assert mj.grad(f)(placed, x).devices() == {one}  # the uncommitted operand is moved
    with pytest.raises(ValueError, match="incompatible devices"):
        mj.grad(f)(placed, mj.device_put(x, two))
    mesh = mj.sharding.Mesh(mj.devices()[:3], ("i",))
    spread = mj.device_put(x, mj.NamedSharding(mesh, mj.P("i")))
    result = mj.grad(f)(spread, spread)
    assert result.sharding == spread.sharding
    assert np.allclose(result, mj.grad(f)(x, x))


def test_caches_are_emptied():
    mj.jvp(jnp.tanh, (x,), (x,))
    assert compiled_rules._rules
    mj.clear_caches()
    assert not compiled_rules._rules


def broken_in(module):
    """Return a function that fails in a file of the library."""
    text = "def broken(*args, **kwargs):\n    raise KeyError('a fault')"
    names = {}
    exec(compile(text, module.__file__, "exec"), names)
    return names["broken"]


@pytest.mark.parametrize("part", ["stage_closed", "_compiled"])
def test_an_internal_error_is_not_taken_for_a_rejection(part, monkeypatch):
    mj.clear_caches()
    with monkeypatch.context() as patch:
        patch.setattr(compiled_rules, part, broken_in(compiled_rules))
        with pytest.raises(KeyError, match="a fault"):
            mj.jvp(jnp.tanh, (x,), (x,))
    mj.jvp(jnp.tanh, (x,), (x,))  # and no failure is cached


def twice(of_tangents):
    """Return a new primitive that doubles, with a jvp rule."""
    twice_p = Primitive("twice")
    twice_p.abstract = lambda x: x
    twice_p.lower = lambda ctx, x: ctx.op("add", ctx.avals_out[0], x, x)
    twice_p.jvp = lambda primals, tangents: (twice_p.bind(*primals), of_tangents(tangents[0]))
    return twice_p.bind


def test_a_rule_that_cannot_be_staged_is_applied_directly(programs):
    seen = []

    def by_hand(t):
        seen.append({(3,): t + t}[t.addressable_shards[0].data.shape])
        return seen[-1]

    f = twice(by_hand)  # no tracer has shards
    assert mj.jvp(f, (x,), (x,))[1].tolist() == (2 * x).tolist()
    assert len(seen) == 1
    only_evaluated = Primitive("only evaluated")
    only_evaluated.abstract = lambda x: x
    only_evaluated.impl = lambda x: x + x
    f = twice(only_evaluated.bind)  # it has no lowering rule
    assert mj.jvp(f, (x,), (x,))[1].tolist() == (2 * x).tolist()
    assert "twice" not in programs
