"""Jaxprs print as JAX 0.10.2 prints them, character by character.

The programs are in `jaxprs/`, JAX's texts in `jaxprs/expected/` (see `record.py`).
"""

from functools import cache

import harness
import pytest

TOPICS = {path.stem: path for path in harness.topics("jaxprs")}
EXPECTED = {
    topic: harness.read_texts(harness.expected_path(path)) for topic, path in TOPICS.items()
}
CASES = [f"{topic}/{name}" for topic, texts in EXPECTED.items() for name in texts]


@cache
def programs(topic):
    return harness.load(TOPICS[topic]).programs


@pytest.mark.parametrize("case", CASES)
def test_text(case):
    topic, name = case.split("/")
    text = harness.jaxpr_text(programs(topic)[name])
    expected = EXPECTED[topic][name]
    more = programs(topic).longer.get(name)
    if more is not None:
        count = harness.equation_count(text) - harness.equation_count(expected)
        assert 0 < count <= more
    elif name in programs(topic).leaner:
        assert harness.equation_count(text) <= harness.equation_count(expected)
    else:
        assert text == expected


def test_every_program_is_recorded():
    known = {topic: set(programs(topic)) for topic in TOPICS}
    assert {topic: set(texts) for topic, texts in EXPECTED.items()} == known
    assert len(CASES) - sum(len(programs(topic).leaner) for topic in TOPICS) >= 170
