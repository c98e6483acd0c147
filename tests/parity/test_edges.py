"""Values and derivatives at edge values are those of JAX 0.10.2, or mathematics.

The tables are in `edges/`, JAX's results in `edges/expected/`, and those that differ
from them in `edges/ours/`, with the reasons (see `edge_values.py`).  Every function is
evaluated operation by operation (of rows and matrices the value alone), under `vmap`,
and compiled as a whole.
"""

import harness
import pytest

PATHS = {path.stem: path for path in harness.topics("edges")}
TOPICS = {topic: harness.load(path).programs for topic, path in PATHS.items()}


def texts(folder):
    """The texts in a folder beside the tables, for each table."""
    by_name = {}
    for topic, path in PATHS.items():
        file = path.parent / folder / f"{topic}.txt"
        by_name[topic] = harness.read_texts(file) if file.exists() else {}
    return by_name


EXPECTED, OURS = texts("expected"), texts("ours")
NAMES = [f"{topic}/{name}" for topic, programs in TOPICS.items() for name in programs]


CASES = [(name, road) for name in NAMES for road in ("eager", "compiled")]
CASES += [(name, "mapped") for name in NAMES if not name.startswith("pairs/")]


@pytest.mark.parametrize(("name", "road"), CASES)
def test_edge_values(name, road):
    topic, function = name.split("/")
    expected = EXPECTED[topic][function], OURS[topic].get(function, "")
    wrong = TOPICS[topic].faults(function, *expected, road)
    assert not wrong, "\n".join(wrong)


def test_every_program_is_recorded():
    known = {topic: set(programs) for topic, programs in TOPICS.items()}
    assert {topic: set(texts) for topic, texts in EXPECTED.items()} == known
    assert all(set(OURS[topic]) <= known[topic] for topic in TOPICS)
