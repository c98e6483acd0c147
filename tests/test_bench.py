"""The arithmetic and the instruments of the benchmark."""

import importlib
import pathlib
import re

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from bench import cases, measure, programs, report
from bench.harness import Outcome
from bench.rows import Row, Sheet

ROOT = pathlib.Path(__file__).parents[1]


def test_every_case_is_well_formed():
    names = []
    for name in cases.NAMES:
        case = importlib.import_module(f"bench.cases.{name}")
        assert case.TITLE
        assert hasattr(case, "measure") != hasattr(case, "outside")
        names += [row.name for row in case.ROWS]
    assert len(names) == len(set(names))


def test_a_ratio_is_the_median_of_the_pairs():
    outcome = Outcome(Row("x", 0.5), ours=[1.0, 9.0, 2.0], theirs=[4.0, 9.0, 4.0])
    assert report.ratios(outcome) == [0.25, 1.0, 0.5]
    assert report.met(outcome) is True
    assert report.line(outcome)[2:4] == ("0.50", "0.25 to 1.00")


def test_goals_of_each_kind():
    assert report.met(Outcome(Row("x", 0.4), [0.5], [1.0])) is False
    assert report.met(Outcome(Row("x"), [0.5], [1.0])) is None
    assert report.met(Outcome(Row("x", 1, "", "count"), [1], [5])) is True
    assert report.met(Outcome(Row("x", 1, "", "count"), [2], [5])) is False
    growth = Row("x", unit="", kind="growth")
    assert report.met(Outcome(growth, [1.0], [0.8])) is True  # linear
    assert report.met(Outcome(growth, [1.5], [1.6])) is True  # JAX's at worst
    assert report.met(Outcome(growth, [1.5], [1.2])) is False


def test_a_near_miss_that_some_rounds_met_is_noise():
    row = Row("x", 1.0)
    assert report.verdict(Outcome(row, [0.9, 1.1, 1.02], [1, 1, 1])) == "noise"
    assert report.verdict(Outcome(row, [1.01, 1.02, 1.03], [1, 1, 1])) == "NO"
    assert report.verdict(Outcome(row, [0.9, 1.2, 1.3], [1, 1, 1])) == "NO"


def test_a_row_that_failed_is_not_met():
    outcome = Outcome(Row("x", 0.4), error="minijax: TypeError: no")
    assert report.met(outcome) is False
    assert report.line(outcome)[-1] == "minijax: TypeError: no"


def test_an_error_fails_its_row_only():
    sheet = Sheet([Row("good"), Row("bad")])
    sheet.fill("bad", lambda: 1 / 0)
    sheet.fill("good", lambda: 2)
    assert sheet.values == {"good": 2.0}
    assert sheet.errors["bad"].startswith("ZeroDivisionError")
    with pytest.raises(KeyError, match="no row"):
        sheet.put("unknown", 1)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12.34e-6, "s", "12.3 µs"),
        (0.0481, "s", "48.1 ms"),
        (1025.4, "B", "1 KiB"),
        (440, "", "440"),
        (1.234, "", "1.23"),
        (862492, "", "862492"),
    ],
)
def test_amounts_are_short(value, unit, text):
    assert report.amount(value, unit) == text


def test_python_calls_are_counted_exactly():
    inner = lambda: None

    def f():
        inner()
        inner()

    assert measure.python_calls(f) == 2


def test_compiles_are_counted():
    f = jax.jit(lambda x: jnp.sin(x) * 41.0)
    with measure.Compiles() as compiles:
        f(1.0)
    assert compiles.count >= 1
    with measure.Compiles() as compiles:
        f(2.0)
    assert compiles.count == 0


def test_exponents():
    growth = importlib.import_module("bench.cases.growth")
    assert growth.exponent(lambda n: 3 * n**2, (1, 10, 100)) == pytest.approx(2)


@pytest.mark.parametrize("name", ["perceptron", "recurrent", "neural_ode", "hamiltonian"])
def test_programs_run_and_are_finite(name):
    f, args = getattr(programs, name)(jax)
    for leaf in jax.tree_util.tree_leaves(jax.jit(f)(*args)):
        assert np.isfinite(leaf).all()


def test_transformer_learns():
    loss, (params, tokens) = programs.transformer(jax, 2)
    step = jax.jit(jax.value_and_grad(loss))
    before, grads = step(params, tokens)
    params = jax.tree_util.tree_map(lambda p, g: p - 0.5 * g, params, grads)
    after, _ = step(params, tokens)
    assert float(after) < float(before)


# The sentences of README.md that quote bench/RESULTS.md.  `{row}` is minijax's figure of a
# row, `{row|JAX}` is JAX's, `{row|ratio}` the ratio.
QUOTED = (
    "`import` takes {import: CPU time} of CPU time (JAX: {import: CPU time|JAX}) and loads"
    " {import: modules loaded} modules (JAX: {import: modules loaded|JAX}).",
    "Tracing `value_and_grad` of a 24-layer transformer takes"
    " {make_jaxpr: 24-layer transformer, value_and_grad}"
    " (JAX: {make_jaxpr: 24-layer transformer, value_and_grad|JAX}),",
    "and lowering it {lower: 24-layer transformer, value_and_grad}"
    " (JAX: {lower: 24-layer transformer, value_and_grad|JAX}).",
    "A small training script finishes in {training script, warm: wall clock} with a warm cache"
    " (JAX: {training script, warm: wall clock|JAX}).",
    "The gradient of a 6-layer transformer compiles to"
    " {6-layer transformer, value_and_grad: HLO operations} HLO operations"
    " (JAX: {6-layer transformer, value_and_grad: HLO operations|JAX}) and runs in"
    " {6-layer transformer, value_and_grad: run time}"
    " (JAX: {6-layer transformer, value_and_grad: run time|JAX}).",
    "Calling a jitted function takes {calls} of the time that it takes in JAX.",
    "the gradient of a 12-layer transformer needs"
    " {remat transformer: temporary bytes, of those without remat} of the temporary memory that"
    " it needs without `checkpoint`"
    " (JAX: {remat transformer: temporary bytes, of those without remat|JAX}).",
    "An eager `m.flatten()` takes {m.flatten()|ratio} of JAX's time, and a compiled training"
    " step of a small perceptron {perceptron step: run time|ratio}.",
    "Hamiltonian Monte Carlo compiles to {Hamiltonian Monte Carlo: HLO operations|ratio} of"
    " JAX's HLO operations.",
    "measured on {date}.",
    "Of its {goals} goals {met} are met, {noise} are missed within noise and {missed} are missed.",
)
SLOWER = (  # README says that these are slower than in JAX
    "m.flatten()",
    "perceptron step: run time",
    "Hamiltonian Monte Carlo: HLO operations",
)


def figures_of_the_table(page):
    """Each figure of bench/RESULTS.md that README may quote, by its name in `QUOTED`."""
    figures = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 8:
            name, _, ratio, _, ours, theirs, _, _ = cells
            figures |= {name: ours, f"{name}|JAX": theirs, f"{name}|ratio": ratio}
    calls = [
        ratio
        for name, ratio in figures.items()
        if name.startswith("jit call:") and name.endswith("|ratio") and "5,000" not in name
    ]
    figures["calls"] = f"{min(calls)} to {max(calls)}"
    figures["date"] = re.search(r"\d{4}-\d\d-\d\d", page)[0]
    counts = re.search(
        r"^(\d+) goals met, (\d+) missed within noise, (\d+) not met", page, re.M
    )
    figures |= dict(zip(("met", "noise", "missed"), counts.groups(), strict=True))
    figures["goals"] = str(sum(map(int, counts.groups())))
    return figures


def wrong_figures(readme, results):
    """Sentences that README should have, and figures in it that no sentence accounts for."""
    figures = figures_of_the_table(results)
    first, _, rest = readme.partition("## Try it")
    text = " ".join(first.split())
    wrong = []
    for sentence in QUOTED:
        expected = re.sub(r"\{([^}]*)\}", lambda match: figures[match[1]], sentence)
        if expected not in text:
            wrong.append(expected)
        text = text.replace(expected, "")
    text = re.sub(r"\]\([^)]*\)|0\.10\.2|version 0\.1\.0|\d+-layer", "", text)  # no figures
    units = r"\d[\d.,]* (?:%|(?:ms|µs|s|[KMG]i?B|times)\b)"  # the rest has no measurements
    return wrong + re.findall(r"\d[\d.,]*", text) + re.findall(units, rest)


def test_figures_of_the_readme_are_those_of_the_table():
    readme, results = (ROOT / "README.md").read_text(), (ROOT / "bench/RESULTS.md").read_text()
    assert wrong_figures(readme, results) == []
    figures = figures_of_the_table(results)
    assert all(float(figures[f"{name}|ratio"]) > 1 for name in SLOWER)
    ratio = figures["m.flatten()|ratio"]
    assert wrong_figures(readme.replace(ratio, "9.99"), results)  # a wrong figure is found
    assert wrong_figures(readme.replace("## Try it", "Others need 3 ms.\n\n## Try it"), results)
