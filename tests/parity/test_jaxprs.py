"""Jaxprs print as JAX 0.10.2 prints them, character by character.

The programs are in `jaxprs/`, JAX's texts in `jaxprs/expected/` (see `record.py`).
"""

import harness
import pytest

TOPICS = {path.stem: path for path in harness.topics("jaxprs")}
EXPECTED = {
    topic: harness.read_texts(harness.expected_path(path))
    for topic, path in TOPICS.items()
}
CASES = [f"{topic}/{name}" for topic, texts in EXPECTED.items() for name in texts]


@pytest.fixture(scope="session")
def programs():
    return {topic: harness.load(path).programs for topic, path in TOPICS.items()}


@pytest.mark.parametrize("case", CASES)
def test_text(case, programs):
    topic, name = case.split("/")
    text = harness.jaxpr_text(programs[topic][name])
    expected = EXPECTED[topic][name]
    if name in programs[topic].leaner:
        assert harness.equation_count(text) <= harness.equation_count(expected)
    else:
        assert text == expected


def test_every_program_is_recorded(programs):
    assert {topic: set(texts) for topic, texts in EXPECTED.items()} == {
        topic: set(file) for topic, file in programs.items()
    }
    assert len(CASES) - sum(len(file.leaner) for file in programs.values()) >= 170
