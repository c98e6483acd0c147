"""Functions of integers at the ends of their ranges give what JAX 0.10.2 gives.

The table is integers.txt, made by integers.py.
"""

from pathlib import Path

import integers
import pytest

import minijax as mj

RECORDED = dict(
    line.split(" -> ")
    for line in Path(__file__).with_name("integers.txt").read_text().splitlines()
)
# JAX gives 1 for 1 % 0 of Booleans, and 0 of the integers that they become.
OURS = {"numpy.fmod bool": "int32: 0 0 0 0"}


@pytest.fixture(scope="module")
def results():
    return integers.lines(mj)


def test_the_same_functions_take_the_same_dtypes(results):
    assert set(results) == set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_integers_at_their_ends(results, name):
    assert results[name] == OURS.get(name, RECORDED[name])
