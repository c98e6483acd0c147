"""`tools.verify`: one call computed in several ways, and where they differ."""

import json

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, tools
from minijax.ir.core import Primitive
from minijax.prims.math import elementary
from minijax.runtime.backends import jaxlib_compat as compat
from minijax.runtime.running import compiler_faults as faults
from minijax.tools import __main__ as command
from minijax.tools import verify_numpy
from minijax.tools.verify_walk import Walk, beyond_rounding

X = np.linspace(0.1, 1, 12, dtype=np.float32).reshape(3, 4)

# Doubles when it runs alone, and triples in a compiled program: a planted fault.
faulty_p = Primitive("faulty")
faulty_p.abstract = lambda x: x
faulty_p.impl = lambda x: x * 2.0
faulty_p.lower = lambda ctx, x: ctx.op(
    "add", ctx.avals_out[0], ctx.op("add", ctx.avals_out[0], x, x), x
)


def planted(x):
    y = jnp.sin(x)
    wrong = faulty_p.bind(y)
    return jnp.cos(wrong).sum()


def test_a_planted_fault_is_named_by_its_line():
    report = tools.verify(planted)(X)
    assert report
    first = report.first
    assert (first.between, first.primitive) == (("compiled", "eager"), "faulty")
    assert (first.place.variable, first.place.function) == ("wrong", "planted")
    assert first.place.text == "wrong = faulty_p.bind(y)"
    assert (first.count, first.size, first.type) == (12, 12, "float32[3,4]")
    one, two = first.values
    assert one == pytest.approx(3 * np.sin(X[first.at]), rel=1e-6)
    assert two == pytest.approx(2 * np.sin(X[first.at]), rel=1e-6)
    assert first.error == pytest.approx(one - two)
    assert first.allowed < 5e-6
    assert report.results["compiled"] != report.results["eager"]
    assert report.results["eager"] == pytest.approx(np.cos(2 * np.sin(X)).sum())
    text = str(report)
    assert "faulty: compiled and eager differ." in text
    assert "level 0 and eager differ there as well" in text
    assert "<pre" in report._repr_html_()
    assert json.loads(json.dumps(report.to_dict()))["first"]["primitive"] == "faulty"


def test_inside_loops_branches_and_calls():
    def step(carry, row):
        faulty = lambda x: faulty_p.bind(x)
        new = lax.cond(row > 1.5, faulty, lambda x: x * 2.0, carry)
        return new, new.sum()

    report = tools.verify(mj.jit(lambda x: lax.scan(step, x, jnp.arange(4.0))))(X)
    assert report.first.primitive == "faulty"
    assert report.first.iterations == (("row of scan", 2),)
    assert report.first.place.function == "<lambda>"

    def body(state):
        i, x = state
        return i + 1, lax.select(i == 3, faulty_p.bind(x), x * 2.0)

    loop = mj.jit(lambda x: lax.while_loop(lambda s: s[0] < 5, body, (0, x))[1])
    report = tools.verify(loop)(X)
    assert report.first.iterations == (("iteration of while", 3),)
    assert report.first.primitive == "faulty"


@pytest.mark.skipif(
    not faults.applies(faults.FAULTS[0], "cpu", compat.RELEASE),
    reason="this jaxlib does not have the fault",
)
def test_a_fault_of_the_compiler():
    fusions = ("INDIVIDUAL_DOT", "INDIVIDUAL_CONVOLUTION", "REDUCE")
    uncured = ",".join(f"LIBRARY_FUSION_TYPE_{f}" for f in fusions)
    options = {"xla_cpu_experimental_ynn_fusion_type": uncured}
    values = np.random.default_rng(0)
    m = values.standard_normal((3, 3)).astype(np.float32)
    x = values.standard_normal((33000, 3)).astype(np.float32)

    def norms(x):
        lengths = mj.vmap(lambda r: jnp.linalg.norm(m @ r))(x)
        return lengths * 2

    report = tools.verify(mj.jit(norms, compiler_options=options))(x)
    assert report.first.between == ("compiled", "eager")
    assert report.first.primitive == "reduce_sum"
    assert report.first.place.variable == "lengths"
    assert report.first.count > 200
    assert report.first.at[0] >= 32768
    assert not tools.verify(mj.jit(norms))(x)  # minijax compiles it otherwise


def test_numpy_finds_wrong_single_operations(monkeypatch):
    rule = verify_numpy._ufunc_rule(lambda x: np.sin(x) * (1 + 1e-4))
    monkeypatch.setitem(verify_numpy._RULES, elementary.sin_p, rule)
    report = tools.verify(planted)(X)
    assert report.first.between == ("eager", "numpy")
    assert report.first.primitive == "sin"
    assert [d.between for d in report.differences][1:] == [
        ("compiled", "eager"),
        ("level 0", "eager"),
    ]


SOUND = {
    "softmax": lambda x: mj.nn.softmax(x * 50),
    "rounding that a compiler may drop": lambda x: ((x + 1e4) - 1e4) * 3,
    "decisions that rounding turns": lambda x: jnp.floor(x / 3 * 3 * 9),
    "a long sum": lambda x: (jnp.full((100_000,), 0.1) * x[0, 0]).sum(),
    "a gradient": mj.grad(lambda x: jnp.linalg.norm(jnp.tanh(x @ x.T))),
    "half precision": lambda x: jnp.sin(x.astype("bfloat16")) * 3 + 1,
    "complex numbers": lambda x: jnp.fft.fft(jnp.exp(1j * x)),
    "random numbers": lambda x: mj.random.normal(mj.random.key(0), (50,)) * x[0, 0],
    "a loop": lambda x: lax.fori_loop(0, 5, lambda i, x: jnp.sin(x) * 1.5, x),
    "reversed rows": lambda x: lax.associative_scan(jnp.multiply, x, reverse=True),
    "nothing": lambda x: (),
}


@pytest.mark.parametrize("name", SOUND)
def test_rounding_is_not_a_fault(name):
    report = tools.verify(SOUND[name])(X)
    assert not report, report
    assert report.first is None
    assert "agree" in str(report)


def test_static_arguments_and_functions_without_a_program():
    f = mj.jit(lambda x, n: x * n, static_argnums=1)
    report = tools.verify(f)(X, 2)
    assert not report
    np.testing.assert_array_equal(report.results["compiled"], X * 2)
    with pytest.raises(ValueError, match="drives devices itself"):
        tools.verify(mj.pmap(lambda x: x))(jnp.ones((1, 2)))


def test_noise_is_as_large_as_rounding():
    jaxpr = mj.make_jaxpr(lambda x: (jnp.exp(x) + 1.0, (x * 0 + 3.0) * 2.0))(X)
    exact = Walk().run(jaxpr.jaxpr, jaxpr.consts, [X])
    noisy = [Walk(i).run(jaxpr.jaxpr, jaxpr.consts, [X]) for i in range(6)]
    gap = max(np.abs(n[0] / exact[0] - 1).max() for n in noisy)
    assert 1e-7 < gap < 4e-7
    mask, allowed = beyond_rounding(exact[0] * (1 + 1e-5), exact[0], [n[0] for n in noisy])
    assert mask.all()
    assert allowed.max() < 1e-5
    assert not beyond_rounding(exact[0] * (1 + 1e-7), exact[0], [n[0] for n in noisy])[0].any()
    flipped = np.array([True] * 90 + [False] * 10)
    mask, _ = beyond_rounding(flipped, np.ones(100, bool), [np.ones(100, bool)] * 6)
    assert mask.sum() == 10


def test_from_the_shell(tmp_path, capsys):
    script = tmp_path / "sound_script.py"
    script.write_text(
        "import minijax.numpy as jnp\n"
        "def f(x):\n    return jnp.sin(x) + 1\n"
        "f_args = (jnp.ones(3),)\n"
    )
    command.main(["verify", f"{script}:f"])
    assert "agree: 2 operations" in capsys.readouterr().out
    command.main(["verify", f"{script}:f", "--json"])
    assert json.loads(capsys.readouterr().out)["first"] is None
