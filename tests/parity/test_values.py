"""Values, types, random bits and error classes are those of JAX 0.10.2.

The programs are in `values/`, JAX's results in `values/expected/` (see `record.py`).
A file of programs may say its `tolerance`, relative and absolute; 0 means equal text.
"""

import harness
import pytest

ROUNDING = 1e-6
TOPICS = {path.stem: path for path in harness.topics("values")}
EXPECTED = {
    topic: harness.read_texts(harness.expected_path(path))
    for topic, path in TOPICS.items()
}
CASES = [f"{topic}/{name}" for topic, texts in EXPECTED.items() for name in texts]


@pytest.fixture(scope="session")
def topics():
    return {topic: harness.load(path) for topic, path in TOPICS.items()}


@pytest.mark.parametrize("case", CASES)
def test_value(case, topics):
    topic, name = case.split("/")
    text = harness.value_text(topics[topic].programs[name])
    expected = EXPECTED[topic][name]
    tolerance = getattr(topics[topic], "tolerance", ROUNDING)
    if not harness.agree(text, expected, tolerance):
        assert text == expected  # shows the difference


def test_every_program_is_recorded(topics):
    assert {topic: set(texts) for topic, texts in EXPECTED.items()} == {
        topic: set(file.programs) for topic, file in topics.items()
    }
