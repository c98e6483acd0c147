"""Random programs along two roads, and what the fuzzer once found.

`make fuzz` compares more of them, with JAX itself; tests/fuzz/ says how.
"""

import contextlib
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from fuzz import calls, compare, draw, large, program, roads, shrink, stacks, table
from fuzz.program import Input, Instruction, Program, Sub
from fuzz.stacks import Layer
from fuzz.types import Type

import minijax as mj

FOLDER = Path(__file__).parent
CORPUS = sorted((FOLDER / "fuzz" / "corpus").glob("*.py"))
PROGRAMS = 10  # a road
FOLLOWED = 40  # programs that NumPy follows
ARRAYS_FROM = 2000  # calls


@pytest.fixture(scope="module")
def run():
    return roads.runner()


@pytest.fixture(autouse=True)
def quiet():
    """Programs at random give cause for many warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("road", roads.ROADS)
def test_two_roads_meet(run, road):
    values = 0
    for seed in range(PROGRAMS):
        drawn = roads.drawn(road, seed)
        finding = roads.disagreement(run, road, drawn, seed)
        if finding:
            again = lambda p, seed=seed: roads.disagreement(run, road, p, seed)
            small = shrink.shrink(drawn, again, budget=30)
            pytest.fail(f"seed {seed}, {road}: {again(small)}\n{small}")
        values += roads.along(run, "staged", drawn, seed)[0][0] == "ok"
    assert values > PROGRAMS / 2


def test_numpy_follows():
    count = 0
    for seed in range(FOLLOWED):
        drawn = draw.draw(seed, x64=True, refused=0.0)
        followed, finding = roads.against_numpy(drawn)
        assert finding is None, f"seed {seed}\n{drawn}"
        count += followed
    assert count > FOLLOWED


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_corpus(run, path):
    """Scripts that gave something else once; EXPECTED holds what is right."""
    source = path.read_text()
    space: dict = {"__name__": "corpus", "nan": np.nan, "inf": np.inf}
    exec(source.replace("import LIB as jax", "import minijax as jax"), space)
    got = run.script(source, space["X64"], space["SETTING"])
    expected = space["EXPECTED"]
    if isinstance(expected, str):
        assert got[:2] == ("error", expected)
        return
    leaves = [leaf_of_text(*leaf) for leaf in expected]
    assert compare.difference(got, ("ok", leaves)) is None


def leaf_of_text(dtype, weak, shape, numbers):
    value = None if numbers is None else np.reshape(np.array(numbers), shape)
    return dtype, weak, shape, value


# ------------------------------------------------------------------- the fuzzer itself


def test_a_seed_is_a_program():
    assert str(draw.draw(3)) == str(draw.draw(3)) != str(draw.draw(4))


def test_every_row_of_the_table_can_be_drawn():
    rng = random.Random(0)
    dead = []
    for row in table.TABLE:
        for _ in range(60):
            drawer = draw.Draw(rng)
            types: dict = {}
            instruction = drawer.plain(types, False, row)
            try:
                if draw.type_of(instruction, types) is not None:
                    break
            except Exception:
                continue
        else:
            dead.append(row.text)
    assert not dead


def test_calls_of_all_functions_are_drawn():
    names = {name for name, _ in calls.functions()}
    assert {"jnp.sum", "lax.conv_general_dilated", "jax.random.normal"} <= names
    assert len(names) > 500
    rng = random.Random(0)
    run = roads.runner()
    texts = [calls.draw_call(rng, False)[1] for _ in range(100)]
    states = [state for state, *_ in run.calls(calls.PRELUDE, texts, False, "")]
    assert 20 < states.count("ok") < 100


def one(*numbers, dtype="float32", weak=False):
    x = np.array(numbers, dtype)
    return "ok", [(str(x.dtype), weak, x.shape, x)]


DIFFERENCES = {
    "same": (one(1.0, np.nan), one(1.0, np.nan), None),
    "rounding": (one(1.0), one(1.000001), None),
    "value": (one(1.0), one(1.001), "value"),
    "integer": (one(1, dtype="int32"), one(2, dtype="int32"), "value"),
    "nan": (one(1.0), one(np.nan), "value"),
    "sign of infinity": (one(np.inf), one(-np.inf), "value"),
    "imaginary": (one(1j, dtype="complex64"), one(2j, dtype="complex64"), "value"),
    "dtype": (one(1.0), one(1.0, dtype="float16"), "dtype"),
    "weak": (one(1.0), one(1.0, weak=True), "weak"),
    "shape": (one(1.0), one(1.0, 1.0), "shape"),
    "leaves": (one(1.0), ("ok", []), "leaves"),
    "error": (one(1.0), ("error", "TypeError", "", ["TypeError"]), "error"),
    "class": (("error", "TypeError", "", ["TypeError"]), ("error", "ValueError", ""), "class"),
    "one class": (("error", "TypeError", "a"), ("error", "TypeError", "b"), None),
    "died": (one(1.0), ("died", "Timeout", ""), "died"),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_what_differs_is_seen(name):
    ours, jax, kind = DIFFERENCES[name]
    finding = compare.difference(ours, jax)
    assert (finding and finding[0]) == kind


def test_spread_excuses_what_rounding_explains():
    ours, jax = one(1.0, 5.0), one(1.1, 5.0)
    assert compare.difference(ours, jax, [np.array([0.05, 0.0])]) is None
    assert compare.difference(ours, jax, [np.array([0.0, 0.05])])[0] == "value"


def test_what_fails_is_made_small(run):
    """A planted failure: a sine inside of a loop, under vmap."""
    x, y = (Input(n, Type("float32", (2, 3)), (0.5,) * 6) for n in "xy")
    inner = (
        Instruction("c", "tanh", "jnp.tanh({0})", ("b",)),
        Instruction("d", "sin", "jnp.sin({0})", ("c",)),
        Instruction("e", "add", "({0} + {1})", ("d", "a")),
    )
    loop = "lax.fori_loop(0, 2, lambda i, x: {f0}(x), {0})"
    body = (
        Instruction("a", "mul", "({0} * {1})", ("x", "y")),
        Instruction("f", "fori", loop, ("a",), (Sub(("b",), inner, ("e",)),)),
        Instruction("g", "sum", "jnp.sum({0}, axis=0)", ("f",)),
        Instruction("h", "exp", "jnp.exp({0})", ("g",)),
    )
    vmap = stacks.draw_vmap(random.Random(0), {"x": x.type, "y": y.type})
    stack = (Layer("checkpoint", "jax.checkpoint(f)"), vmap, Layer("jit", "jax.jit(f)"))
    large = Program((x, y), body, ("g", "h"), stack)
    fails = lambda p: (
        "sin" in program.operations(p)
        and any(layer.name == "vmap" for layer in p.stack)
        and roads.results(run, p)[0] == "ok"
    )
    assert fails(large)
    small = shrink.shrink(large, fails)
    assert program.operations(small) == ["sin"]
    assert [layer.name for layer in small.stack] == ["vmap"]
    assert small.inputs[0].type.size == 0


def test_a_program_is_a_script(tmp_path):
    x = Input("x", Type("float32", (2,)), (1.0, 3.0))
    body = (Instruction("y", "+", "({0} + {1})", ("x", "1")),)
    text = str(Program((x,), body, ("y",)))
    path = tmp_path / "script.py"
    path.write_text(text.replace("import LIB", "import minijax"))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.stdout == "float32[2] [2.0, 4.0]\n", done.stderr


# What these give says of an array what it is, or counts what was never begun.
NO_ARRAYS = set(
    """jax.random.key_dtype jnp.iscomplexobj jnp.isrealobj jnp.isscalar jnp.ndim jnp.shape
    jnp.size lax.after_all lax.create_token lax.linalg.qdwh""".split()
)


def test_traced_calls_give_arrays():
    """Libraries ask what is a jax.Array, while they trace as well as eagerly."""
    rng, other, arrays = random.Random(1), set(), 0

    def watched(f, *specs):
        def inner(*args):
            nonlocal arrays
            out = f(*args)
            kinds = [isinstance(x, mj.Array) for x in mj.tree.leaves(out)]
            arrays += sum(kinds)
            if not all(kinds) and name not in NO_ARRAYS:
                other.add(text)
            return out

        return mj.eval_shape(inner, *specs)

    space: dict = {"watched": watched}
    exec(calls.PRELUDE.replace("import LIB as jax", "import minijax as jax"), space)
    for _ in range(ARRAYS_FROM):
        name, text = calls.draw_call(rng, False)
        with contextlib.suppress(Exception):  # many calls are of no sense
            eval(text.replace("jax.eval_shape", "watched", 1), space)
    for text in ("jnp.cov(a)", "jnp.corrcoef(a)", "jnp.linspace(a.size, 1, 1, retstep=True)"):
        name = text
        watched(eval(f"lambda a: {text}", space), mj.ShapeDtypeStruct((0,), "float32"))
    assert not other
    assert arrays > ARRAYS_FROM / 4


def test_large_programs_agree_with_eager_ones():
    texts = [large.drawn(seed) for seed in range(40)]
    assert len({text for text, _, _ in texts}) > 30
    assert max(x.ndim for _, args, _ in texts for x in args) == 9
    assert {x.shape[-1] for text, args, _ in texts if "vmap" in text for x in args[:1]} >= {
        3,
        8,
    }
    assert [large.differs(seed) for seed in (0, 44)] == ["", ""]


def test_a_large_program_that_differs_is_seen(monkeypatch):
    monkeypatch.setattr(large, "apart", lambda a, b, dtype: np.ones(1, bool))
    monkeypatch.setattr(mj.tools, "verify", lambda f: lambda *args: "sin differs")
    assert large.differs(0).endswith("\nsin differs")
