"""`tools.cost` and `tools.memory`: counted on the jaxpr, held against XLA's own figures."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, tools
from minijax.sharding import Mesh, PartitionSpec
from minijax.tools.programs import table

ROOF = tools.Roofline(1e12, 1e11)
X = jnp.ones((32, 32))


def mlp(params, x):
    for w in params:
        hidden = x @ w
        x = jnp.tanh(hidden)
    return (x**2).sum()


def rolled(x):
    return lax.scan(lambda c, _: (jnp.sin(c @ c), None), x, None, length=10)[0]


IMAGE, KERNEL = jnp.ones((2, 3, 8, 8)), jnp.ones((4, 3, 3, 3))
# The function, and how far from XLA's count ours may be.
AGREE = {
    "grad": (mj.grad(mlp), ([X, X, X], X), 0.03),
    "scan": (mj.grad(lambda x: rolled(x).sum()), (X,), 0.05),
    "vmap": (mj.vmap(lambda x, y: x @ y + 1), (X[None] * jnp.ones((4, 1, 1)),) * 2, 0.03),
    "convolution": (lambda x, k: lax.conv(x, k, (1, 1), "VALID"), (IMAGE, KERNEL), 0.001),
    "reduction": (lambda x: x.sum(0), (X,), 0.05),
}


@pytest.mark.parametrize("case", AGREE)
def test_operations_are_counted_as_by_xla(case):
    f, args, off = AGREE[case]
    report = tools.cost(f, *args, roofline=ROOF)
    theirs = report.xla["flops"] + report.xla["transcendentals"]
    assert abs(report.once - theirs) <= off * theirs
    assert report.flops >= report.once
    assert report.known


def test_loops_branches_and_devices_count_as_they_run():
    one = 2 * 32**3
    cost = lambda f, *args: tools.cost(f, *args, roofline=ROOF)
    assert cost(rolled, X).flops == 10 * (one + 32 * 32)
    chosen = cost(lambda p, x: lax.cond(p, lambda x: x @ x, lambda x: x + 1, x), True, X)
    assert chosen.flops == one  # of the dearer branch
    until = cost(lambda x: lax.while_loop(lambda x: x[0, 0] < 9, lambda x: x @ x, x), X)
    assert not until.known
    assert "at least" in str(until)
    mesh = Mesh(np.array(mj.devices()[:4]), ("i",))
    spec = PartitionSpec("i")
    stored, recomputed = mj.grad(mlp), mj.grad(mj.checkpoint(mlp))
    assert cost(recomputed, [X, X], X).flops > cost(stored, [X, X], X).flops + one
    mapped = mj.shard_map(lambda x: x @ x.T, mesh=mesh, in_specs=spec, out_specs=spec)
    assert cost(mapped, X).flops == 4 * 2 * 8 * 8 * 32
    assert cost(mj.pmap(lambda x: x @ x), X.reshape(2, 16, 32)[:, :, :16]).xla == {}


def test_lines_scopes_and_the_roofline():
    def f(x):
        with mj.named_scope("heavy"):
            product = x @ x
        return product + 1

    report = tools.cost(f, X, roofline=tools.Roofline(1e9, 1e12))
    first = report.lines[0]
    assert (first.place.variable, first.scope, first.limit) == ("product", "heavy", "compute")
    assert report.scopes["heavy"] == (2.0 * 32**3, 2 * X.nbytes)
    assert first.seconds == 2 * 32**3 / 1e9
    assert report.to_dict()["lines"][0]["place"]["function"] == "f"
    assert "compute" in str(report)


def chain(x):
    a = x @ x
    b = a @ x
    c = b @ a
    return c @ b


def test_the_peak_counts_values_that_are_live_together():
    report = tools.memory(chain, X)
    assert report.peak == 4 * X.nbytes  # x, a, b and c; then x, b, c and the result
    assert {o.place.variable for o in report.owners} >= {"a", "b"}
    assert report.owners[0].bytes == X.nbytes
    assert report.arguments == report.results == X.nbytes
    theirs = sum(report.xla.values())
    assert theirs <= report.peak
    assert "made by" in str(report)
    assert report.to_dict()["peak"] == report.peak


def test_stacked_results_are_separate_from_work_space_of_a_step():
    deep = tools.memory(mj.grad(lambda x: rolled(x).sum()), X)
    stacked = [o for o in deep.owners if o.what == "scan"]
    assert stacked[0].bytes >= 2 * 10 * X.nbytes  # cosines and carries of ten steps
    theirs = sum(deep.xla.values())
    assert theirs <= deep.peak <= 1.6 * theirs


def test_a_call_does_not_count_its_results_twice():
    assert tools.memory(mj.jit(chain), X).peak == tools.memory(chain, X).peak


def test_several_devices_count_once_in_the_comparison_with_xla():
    mesh = Mesh(np.array(mj.devices()[:4]), ("i",))
    f = mj.shard_map(
        lambda x: jnp.sin(x) * x,
        mesh=mesh,
        in_specs=PartitionSpec("i"),
        out_specs=PartitionSpec("i"),
    )
    report = tools.cost(f, jnp.ones(6400), roofline=ROOF)
    assert (report.flops, report.once) == (12800, 3200)
    assert report.xla["flops"] + report.xla["transcendentals"] == pytest.approx(3200, 0.01)


def test_a_program_without_operations_holds_its_arguments():
    report = tools.memory(lambda x: 3.0, X)
    assert (report.peak, report.temporary) == (X.nbytes, 0)
    assert [o.what for o in report.owners] == ["argument x"]


WAVE = mj.jit(lambda x: jnp.sin(x) * 2.0)


def test_the_line_that_calls_a_tool_is_excluded():
    called = tools.cost(mj.pmap(WAVE), X[:2], roofline=ROOF)
    assert {line.place.variable for line in called.lines} == {"WAVE"}
    held = tools.memory(WAVE, X)
    assert "held" not in {o.place.variable for o in held.owners}
    shown = tools.show(mj.vmap(WAVE), X, compiled=False)
    assert "shown" not in str(shown)
    assert "WAVE = mj.jit" in str(shown)


def test_the_text_of_a_footprint():
    def f(x):
        wide = jnp.sin(x)
        return wide * 2.0

    report = tools.memory(f, jnp.ones(1000))
    assert [m.bytes for m in report.timeline] == [8000, 12000]
    head, xla, _, *rest = str(report).splitlines()
    assert head.startswith("peak 12 kB (arguments 4 kB, constants 0 B, results 4 kB")
    assert head.endswith(f"in mul at {__file__.rpartition('/')[2]}:{report.at.place.line}")
    assert xla.startswith("XLA, compiled: arguments 4 kB, results 4 kB")
    owners, chart = rest[:3], rest[3:]
    assert [" ".join(row.split()[-2:]) for row in owners][1:] == [
        "wide f32[1000]",
        "return f32[1000]",
    ]
    assert [row.partition("|") for row in chart] == [
        (f"{k:>6} kB ", "|", " #" if float(k) > 8 else "##")
        for k in ("12", "10.5", "9", "7.5", "6", "4.5", "3", "1.5")
    ]


def test_columns_of_tables():
    """Words are left-aligned; columns of numbers only are right-aligned."""
    rows = [("1.5 kB", "-", "x"), ("12 B", "3", "long")]
    assert table(("bytes", "n", "name"), rows).splitlines() == [
        " bytes  n  name",
        "1.5 kB  -  x",
        "  12 B  3  long",
    ]
    assert table(("what",), [("1.5",), ("-x",)]) == "what\n1.5\n-x"


def test_the_chart_of_live_bytes():
    def pyramid(x):
        return jnp.sin(jnp.outer(x, x)).sum()

    report = tools.memory(pyramid, jnp.ones(10))
    lives = [m.bytes for m in report.timeline]
    assert max(lives) == report.peak == 40 + 400 + 400
    rows = report.chart(height=4).splitlines()
    assert [row[:11] for row in rows] == [
        "    840 B |",
        "    630 B |",
        "    420 B |",
        "    210 B |",
    ]
    for k, row in zip((4, 3, 2, 1), rows, strict=True):
        bars = [n >= 840 * (k - 0.5) / 4 for n in lives]
        assert row[11:].ljust(len(lives)) == "".join(" #"[b] for b in bars)


SPD = jnp.eye(16) + 0.1
IMAGES, KERNEL = jnp.ones((2, 4, 16, 16)), jnp.ones((4, 4, 3, 3))
POOLED = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
WORKING = {
    "sort": (jnp.sort, jnp.ones(500)),
    "convolution": (lambda x: lax.conv(x, KERNEL, (1, 1), "SAME"), IMAGES),
    "convolution's gradient": (
        mj.grad(lambda k: lax.conv(IMAGES, k, (1, 1), "SAME").sum()),
        KERNEL,
    ),
    "scan": (lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x), jnp.ones((8, 50))),
    "swapping loop": (
        lambda x: lax.fori_loop(0, 9, lambda i, c: (c[1], c[0] + 1), (x, x)),
        jnp.ones(500),
    ),
    "cumulative sum": (lambda x: jnp.cumsum(x, 0), jnp.ones((50, 50))),
    "pooling's gradient": (mj.grad(lambda x: POOLED(x).sum()), IMAGES),
    "sort in a branch": (lambda x: lax.cond(x[0] > 0, jnp.sort, jnp.sin, x), jnp.ones(500)),
    "half precision": (lambda x: x @ x, jnp.ones((40, 40), "bfloat16")),
    "eigenvalues": (jnp.linalg.eigvals, SPD),
    "singular values": (jnp.linalg.svd, SPD),
    "argmax": (jnp.argmax, jnp.ones(500)),
    "gamma": (lambda a: mj.random.gamma(mj.random.key(0), a, (500,)), 1.0),
}


@pytest.mark.parametrize("name", WORKING)
def test_the_peak_bounds_what_the_compiler_needs(name):
    f, *args = WORKING[name]
    report = tools.memory(f, *args)
    needed = sum(v for k, v in report.xla.items() if k != "aliased")
    assert 0 < needed <= report.peak
