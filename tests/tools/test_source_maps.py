"""Where lines of jaxprs, StableHLO and HLO come from."""

import json
import re

import pytest

import minijax.numpy as jnp
from minijax.experimental import source_mapper as sm
from minijax.experimental.source_mapper import hlo, mlir


def f(x):
    y = jnp.sin(x)
    return y * 2 + x.sum()


FIRST = f.__code__.co_firstlineno
# The line and column of each operation; lines count from the line of `def f`.
PLACES = {"sin": (1, 8), "mul": (2, 11), "reduce_sum": (2, 19), "add": (2, 11)}
OPERATION = re.compile(
    r"= (?:\S+ )?(?:stablehlo\.)?(sine?|multiply|mul|reduce_sum|reduce|add)[\[( ]"
)
NAMES = {"sine": "sin", "multiply": "mul", "reduce": "reduce_sum"}


def places(source_map):
    """Lines of the text -> file, line and column, from relative segments."""
    by_line, state = {}, [0, 0, 0]
    for i, line in enumerate(source_map.mappings):
        for _, *steps in line:
            state = [a + b for a, b in zip(state, steps, strict=True)]
            by_line[i] = source_map.sources[state[0]], state[1], state[2]
    return by_line


@pytest.mark.parametrize("name", [p.name for p in sm.all_passes()])
def test_source_lines_of_generated_lines(name):
    (dump,) = sm.generate_sourcemaps(f, sm.filter_passes(f"^{name}$"))(jnp.ones(4))
    assert dump.pass_name == name
    where, met = places(dump.source_map), set()
    for i, line in enumerate(dump.generated_code.split("\n")):
        match = OPERATION.search(line)
        if i not in where or not match:
            continue
        op = NAMES.get(match[1], match[1])
        file, row, column = where[i]
        assert file == __file__
        if "reduce_sum" in line or op == "reduce_sum" or op != "add":
            expected = PLACES[op if "reduce_sum" not in line else "reduce_sum"]
            assert row + 1 - FIRST == expected[0]
            assert column in (expected[1], 0)
        met.add(op)
    assert {"sin", "mul"} <= met


def test_recorded_from_jax():
    (dump,) = sm.generate_sourcemaps(f, sm.filter_passes("jaxpr"))(jnp.ones(4))
    steps = [[], [(4, 0, FIRST, 8)], [(4, 0, 1, 3)], [(4, 0, 0, 8)], [(4, 0, 0, -8)], []]
    assert dump.source_map.mappings == steps


def test_the_format():
    made = sm.MappingsGenerator()
    made.new_group()
    made.new_segment(0, 0, 3, 2)
    made.new_segment(4, 0, 3, 5)
    made.new_group()
    made.new_segment(1, 1, 0, 0, 0)
    assert made.mappings() == [[(0, 0, 3, 2), (4, 0, 0, 3)], [(1, 1, -3, -5, 0)]]
    decoded = sm.SourceMap(3, ["a.py", "b.py"], [], ["n"], made.mappings())
    assert json.loads(decoded.to_json())["mappings"] == "AAGE,IAAG;CCHLA"
    assert sm.SourceMap.from_json(decoded.to_json()) == decoded
    wide = sm.SourceMap(3, ["a.py"], [], [], [[(100, 0, 4000, -77)]])
    assert sm.SourceMap.from_json(wide.to_json()) == wide
    with pytest.raises(ValueError, match="version 2"):
        sm.SourceMap.from_json('{"version": 2}')


def test_locations_of_locations():
    lines = [
        '#loc2 = loc("f.py":5:8 to :18)',
        '#loc7 = loc("f"(#loc2))',
        "#loc12 = loc(callsite(#loc7 at #loc2))",
        "  %0 = op loc(#loc12)",
    ]
    known, rest = mlir.parse_mlir_locations(lines)
    assert known[2] == mlir.Location("f.py", 5, 8) and known[12] == mlir.Redirect(7)
    assert rest == lines[3:]
    assert sm.create_mlir_sourcemap("\n".join(lines)).mappings[3] == [(2, 0, 4, 8)]


def test_passes_of_users():
    with pytest.raises(ValueError, match="Pass jaxpr already registered"):
        sm.register_pass(sm.all_passes()[0])
    with pytest.raises(NotImplementedError, match="env_flags"):
        sm.compile_with_env(f, (jnp.ones(4),), {}, {"A": 1}, {})
    _, compiled = sm.compile_with_env(f, (jnp.ones(4),), {}, {}, {})
    assert compiled(jnp.ones(4)).shape == (4,)
    assert hlo.parse_hlo_dump(compiled.as_text()).sources == [__file__]
