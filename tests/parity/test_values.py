"""Values, types, random bits and error classes are those of JAX 0.10.2.

The programs are in `values/`, JAX's results in `values/expected/` (see `record.py`).
A file of programs may say its `tolerance`, relative and absolute; 0 means equal text.
"""

from functools import cache

import harness
import pytest

ROUNDING = 1e-6
TOPICS = {path.stem: path for path in harness.topics("values")}
EXPECTED = {
    topic: harness.read_texts(harness.expected_path(path)) for topic, path in TOPICS.items()
}
CASES = [f"{topic}/{name}" for topic, texts in EXPECTED.items() for name in texts]


@cache
def load(topic):
    return harness.load(TOPICS[topic])


@pytest.mark.parametrize("case", CASES)
def test_value(case):
    topic, name = case.split("/")
    file = load(topic)
    text = harness.value_text(file.programs[name])
    expected = EXPECTED[topic][name]
    tolerance = getattr(file, "tolerance", ROUNDING)
    if not harness.agree(text, expected, tolerance):
        assert text == expected  # shows the difference


def test_every_program_is_recorded():
    known = {topic: set(load(topic).programs) for topic in TOPICS}
    assert {topic: set(texts) for topic, texts in EXPECTED.items()} == known
