"""Types of calls with mixed arguments, and what is refused, are those of JAX 0.10.2.

The calls are in `typed_calls.py`, what JAX gives in `typed_calls.txt`: a line for each
function, then a line for each call that an option against promotion forbids.
"""

import pytest
import typed_calls as calls

import minijax


def expected():
    """What is recorded, for each function: types of results, refused calls."""
    table, name = {}, ""
    for line in calls.EXPECTED.read_text().splitlines():
        if line.startswith("  "):
            call, error = line.strip().split(": ")
            table[name][1][call] = error
        else:
            name, *words = line.split()
            table[name] = dict(w.split("=") for w in words), {}
    return table


EXPECTED = expected()


@pytest.fixture(scope="module")
def found():
    return calls.types(minijax), calls.refusals(minijax)


@pytest.mark.parametrize("name", EXPECTED)
def test_types_of_results(name, found):
    want, _ = EXPECTED[name]
    got = found[0][name]
    assert {k: got[k] for k in want} == want


@pytest.mark.parametrize("name", EXPECTED)
def test_what_options_against_promotion_forbid(name, found):
    assert found[1][name] == EXPECTED[name][1]
