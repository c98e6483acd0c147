"""`tools.nans`: faults are planted, and named."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, tools
from minijax.ir.core import registry
from minijax.sharding import Mesh, NamedSharding, PartitionSpec
from minijax.tools.nan_interpreter import Coarse


@mj.custom_vjp
def spiked(x):
    return jnp.sin(x)


def spiked_bwd(x, ct):
    scale = ct / (x - 1.0)
    return (scale * 0.0 + jnp.cos(x),)


spiked.defvjp(lambda x: (jnp.sin(x), x), spiked_bwd)


def layers(weights, x):
    return lax.scan(lambda h, w: (spiked(h * w), None), x, weights)[0]


def by_branch(x):
    def body(c, a):
        b = c - a
        d = lax.cond(b > 0, jnp.log, jnp.sqrt, b)
        return b, d

    return lax.scan(body, 3.5, x)[1].sum()


def nested(x):
    def outer(c, i):
        e = lax.map(lambda j: c / (j + i - 7.0), jnp.arange(4.0))
        return c, e.sum()

    return lax.scan(outer, x, jnp.arange(6.0))[1]


def counting(x):
    return lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] / (5 - c[0])), (0, x))[
        1
    ]


def asking(x):
    return lax.while_loop(lambda c: jnp.log(c - 2.0) < 100, lambda c: c - 1.0, x)


def by_reference(x):
    total = mj.new_ref(jnp.zeros(2))

    def body(i, _):
        part = jnp.log(x - i)
        total[...] = total[...] + part

    lax.fori_loop(0, 3, body, None)
    return total[...].sum()


def masked(x):
    scores = jnp.where(x > 0, x, -jnp.inf)
    return jnp.log(mj.nn.softmax(scores).max() * 2.0 - 2.0)


# A weight after which sin(sin(sin(1))) is multiplied to 1, for the first lane alone.
WEIGHTS = jnp.ones(5).at[3].set(1 / np.sin(np.sin(np.sin(1.0))))
GRADS = mj.vmap(mj.grad(layers), in_axes=(None, 0))
REPORTS = {
    "backward": (GRADS, (WEIGHTS, jnp.array([1.0, 2.0])),
                 ("div", "infinity", "backward", "scale", [("row of scan", 3)])),
    "branch": (by_branch, (jnp.ones(6),),
               ("sqrt", "NaN", "forward", "d", [("row of scan", 3)])),
    "nested": (mj.jit(nested), (1.0,), ("div", "infinity", "forward", "e",
               [("row of scan", 4), ("row of scan", 3)])),
    "while": (mj.checkpoint(counting), (1.0,),
              ("div", "infinity", "forward", "return", [("iteration of while", 5)])),
    "test": (asking, (5.0,),
             ("log", "infinity", "forward", "return", [("iteration of while", 3)])),
    "masked": (masked, (jnp.array([-1.0, 2.0, -3.0]),),
               ("log", "infinity", "forward", "return", [])),
    "reference": (by_reference, (jnp.full(2, 1.5),),
                  ("log", "NaN", "forward", "part", [("iteration of scan", 2)])),
    "argument": (jnp.sin, (np.float32(np.nan),), ("argument", "NaN", "forward", "", [])),
    "replica": (mj.pmap(lambda x: 1 / x), (jnp.array([1.0, 0.0]),),
                ("div", "infinity", "forward", "REPORTS", [("device of xla_pmap", 1)])),
}  # fmt: skip


@pytest.mark.parametrize("case", REPORTS)
def test_the_first_is_named(case):
    f, args, (primitive, made, direction, variable, iterations) = REPORTS[case]
    first = tools.nans(f)(*args).first
    assert (first.primitive, first.made, first.direction) == (primitive, made, direction)
    assert list(first.iterations) == iterations
    if variable:
        assert first.place.variable == variable
        assert first.place.file == __file__
        assert f"{primitive} makes" in str(first)


def test_shards_of_an_array_are_checked():
    mesh = Mesh(np.array(mj.devices()[:2]), ("i",))
    x = mj.device_put(jnp.array([4.0, -1.0]), NamedSharding(mesh, PartitionSpec("i")))

    def f(x):
        root = jnp.sqrt(x)
        return jnp.where(x > 0, root, 0.0)

    report = tools.nans(mj.jit(f))(x)
    assert report.first.place.variable == "root"
    assert report.first.operands[0].min == -1.0
    assert report.result.tolist() == [2.0, 0.0]
    assert report.to_dict()["first"]["place"]["text"] == "root = jnp.sqrt(x)"


def test_devices_of_a_mesh_are_distinguished():
    mesh = Mesh(np.array(mj.devices()[:2]), ("i",))

    def part(x):
        rows = lax.scan(lambda c, a: (c / a, a), x[0], x)[0]
        return lax.psum(rows, "i")

    f = mj.shard_map(part, mesh=mesh, in_specs=PartitionSpec("i"), out_specs=PartitionSpec())
    assert not tools.nans(f)(jnp.ones(6))
    first = tools.nans(f)(jnp.ones(6).at[4].set(0.0)).first
    assert first.iterations == (("device of shard_map", 1), ("row of scan", 1))


def test_static_arguments_of_jitted_functions():
    def rooted(x, n, how="sum"):
        return getattr(jnp.sqrt(x - n), how)()

    f = mj.jit(rooted, static_argnums=1, static_argnames="how")
    report = tools.nans(f)(jnp.ones(3), 2, how="max")
    assert report.first.primitive == "sqrt"
    assert tools.memory(f, jnp.ones(3), 1, how="max").arguments == 12
    assert "sqrt" in str(tools.show(f, jnp.ones(3), 1, how="max", compiled=False))
    assert "<pre" in report._repr_html_()


def test_clean_programs_are_clean():
    x = jnp.array([-1.0, 2.0])

    def softmax(x, *, mask=-jnp.inf):
        return mj.nn.softmax(jnp.where(x > 0, x, mask))

    report = tools.nans(softmax)(x)
    assert not report
    assert str(report) == "No NaN and no infinity."
    np.testing.assert_array_equal(report.result, [0, 1])
    assert not tools.nans(lambda x: 1 / (x - x), kinds=("nan",))(x)
    with pytest.raises(ValueError, match="kinds must be of"):
        tools.nans(softmax, kinds=("odd",))


def test_statistics_of_operands():
    def f(x, n):
        return jnp.log(x[:n])

    x = jnp.array([[3.0, 1.0], [2.0, -4.0]])
    report = tools.nans(f, static_argnums=1)(x, 2)
    (operand,) = report.first.operands
    assert (operand.min, operand.max, operand.mean) == (-4.0, 3.0, 0.5)
    assert (operand.nans, operand.first) == (0, None)
    assert "operand 0: f32[2,2]: min -4, max 3, mean 0.5" in str(report)


BIG = jnp.zeros((128, 256)).at[100, 3].set(1.0)  # enough for looks by products
LOST = {
    "max": (lambda x: jnp.maximum(jnp.log(x - 1), 0.2).sum(), "log"),
    "test": (lambda x: jnp.log(x - 1) > 0, "log"),
    "choice": (lambda x: jnp.where(x > 1, jnp.sqrt(x - 2), 0.0), "sqrt"),
    "slice": (lambda x: jnp.sqrt(x - 1)[100:, 3:4], "sqrt"),
    "read twice": (lambda x: (jnp.exp(y := 1 / -x), jnp.argmax(y)), "div"),
    "with a mask": (lambda x: jnp.exp(jnp.where(x > 0, jnp.log(x - 1), -jnp.inf)), "log"),
    "in a call": (mj.jit(lambda x: mj.jit(lambda y: jnp.exp(-y))(1 / x)), "div"),
    "complex": (lambda x: jnp.exp(-1 / x.astype(jnp.complex64)).real, "div"),
    # XLA takes (x + 3e38) * -2 * 0 for (x + 3e38) * (-2 * 0), which is good.
    "along a chain": (
        lambda x: jnp.tanh(jnp.maximum(jnp.maximum((x + 3e38) * -2, 0.2) * 2, 0.5)),
        "mul",
    ),
    "along a chain that is read twice": (
        lambda x: (y := jnp.clip(jnp.exp(x * 100), -1, 1), jnp.where(y > x, y, x)),
        "exp",
    ),
    "of an unused carry": (
        lambda x: lax.scan(
            lambda c, i: (jnp.minimum(c, 1 / (5 - i)), c), x[0], jnp.arange(6.0)
        )[1],
        "div",
    ),
    "in an unused last carry": (
        lambda x: lax.scan(lambda c, i: (1 / (5 - i) + 0 * x, c), x, jnp.arange(6.0))[1],
        "div",
    ),
    "behind a mask": (lambda x: jnp.exp(jnp.where(x >= 0, x * 100, -jnp.inf))[:, 4:], "exp"),
    "in a branch behind a mask": (
        lambda x: lax.cond(
            x.sum() > 0, jnp.log, jnp.sin, jnp.maximum(jnp.where(x < 0, -jnp.inf, x), x)
        ),
        "log",
    ),
}


@pytest.mark.parametrize("case", LOST)
def test_lost_nans_are_found_and_results_unchanged(case):
    f, primitive = LOST[case]
    report = tools.nans(f)(BIG)
    assert report.first.primitive == primitive
    for ours, theirs in zip(mj.tree.leaves(report.result), mj.tree.leaves(f(BIG))):
        np.testing.assert_array_equal(ours, theirs)


def test_primitives_declared_finite_are_finite():
    big = np.finfo(np.float32).max
    xs = np.float32([big, -big, np.finfo(np.float32).tiny, 0, -0.0, 1, -3])
    declared = [p for p in registry.values() if p.facts.keeps_finite and p.facts.elementwise]
    assert len(declared) > 8
    for prim in declared:
        rest, tried = [xs[::-1].copy(), np.roll(xs, 3)], 0
        for args in ([xs], [xs, rest[0]], [rest[0], xs, rest[1]], [xs > 0, *rest]):
            try:
                out = prim.bind(*args)
            except (TypeError, ValueError):  # it takes others
                continue
            tried += 1
            assert np.isfinite(out).all(), prim
        assert tried, prim


def test_loops_that_lose_nothing_are_unchanged():
    def layers(x):
        return lax.scan(lambda h, _: (jnp.tanh(h * 2.0 - 1.0), None), x, length=5)[0]

    finder, closed = Coarse(("nan", "inf"), marks=True), mj.make_jaxpr(layers)(BIG)
    program = mj.make_jaxpr(lambda x: finder.run(closed.jaxpr, (), [x], top=True))(BIG)
    (loop,) = (e for e in program.jaxpr.eqns if e.primitive.name == "scan")
    assert len(loop.outvars) == 1


def test_a_chain_is_checked_once():
    def chain(x):
        for _ in range(10):
            x = jnp.maximum(x * 1.01, 0.2)
            x = jnp.where(x > 0.3, x, 0.3)
        return jnp.tanh(x)

    finder, closed = Coarse(("nan", "inf"), marks=True), mj.make_jaxpr(chain)(BIG)
    program = mj.make_jaxpr(lambda x: finder.run(closed.jaxpr, (), [x], top=True))(BIG)
    assert str(program).count("reduce_and[") == 2  # of the result, in two ways
    assert str(program).count("nan:f32") == 1
    assert not tools.nans(chain)(BIG)


def test_a_loop_ends_although_a_nan_would_continue_it():
    def halved(x):
        start = jnp.minimum(1 / x, 5.0)
        return lax.while_loop(lambda c: ~(c < 1e-3), lambda c: c * 0.5, start)

    report = tools.nans(halved)(0.0)
    assert report.first.place.variable == "start"
    assert report.result == halved(jnp.zeros(()))
    ones = jnp.ones(2)  # a constant of the body
    grown = lambda x: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * ones.sum() * x), (0, 1.0)
    )
    assert tools.nans(grown)(2.0).result[1] == 64


def test_effects_see_the_functions_own_values(capsys):
    def told(x):
        high = jnp.minimum(1 / x, 3.0)
        mj.debug.print("{}", high)
        return high

    report = tools.nans(told)(0.0)
    mj.effects_barrier()
    assert report.result == 3.0
    assert set(capsys.readouterr().out.split()) == {"3.0"}


def test_constant_infinities_in_a_carry_are_not_reported():
    def fades(x):
        def step(score, a):
            return jnp.where(a > 0.5, score, -jnp.inf), jnp.exp(score)

        return lax.scan(step, 0.0 * x[0], x)[1]

    x = jnp.array([1.0, 0.0, 1.0])
    report = tools.nans(fades)(x)
    assert not report
    np.testing.assert_array_equal(report.result, [1, 1, 0])
    text = str(tools.nans(lambda x: (fades(x) - 1) / x)(x))  # 0 / 0
    assert text.startswith("div makes a NaN, forward.")
    assert f"  at {__file__}:" in text and " in <lambda>" in text


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit, lambda f: mj.jit(mj.jit(f))])
def test_the_pass_in_jitted_functions(wrap):
    """Name stacks inside a call start with the name stack of the call."""
    f = wrap(lambda x: (jnp.sqrt(x) * 0.0).sum())
    first = tools.nans(mj.grad(f), kinds=("nan",))(jnp.zeros(2)).first
    assert (first.primitive, first.direction, first.scope) == (
        "mul",
        "backward",
        "transpose(jvp())",
    )
