"""Types of calls with mixed arguments, and what is refused, are those of JAX 0.10.2.

The calls are in `typed_calls.py`, what JAX gives in `typed_calls.txt`: a line for each
function, then a line for each call that an option against promotion forbids.  Where the
function itself mixes, and not its caller, we allow what JAX forbids: `MIXES_INSIDE`.
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


# Called with one array, which they mix with constants or with what they make of it: the
# options are for operands that a caller mixes (docs/differences.md).
MIXES_INSIDE = {
    "numpy.polyder": "coefficients in rows and the powers in one row",
    "numpy.unwrap": "integers and the period of 2 pi",
    "nn.celu": "integers and 0.0",
    "nn.elu": "integers and 0.0",
    "nn.hard_sigmoid": "integers and 3.0",
    "nn.hard_silu": "integers and their hard_sigmoid, which are floats",
    "nn.hard_tanh": "bools and 1",
    "nn.leaky_relu": "integers and the slope of 0.01",
    "nn.log1mexp": "integers and the logarithm of 2",
    "nn.log_softmax": "integers and the logarithm of a sum",
    "nn.mish": "integers and a tanh, which is of floats",
    "nn.relu": "bools and 0",
    "nn.relu6": "integers and 6.0",
    "nn.selu": "integers and 0.0",
    "nn.soft_sign": "bools and 1; complex numbers and their absolute values",
    "nn.softplus": "bools and 0",
    "nn.sparse_plus": "integers and 1.0",
    "nn.sparse_sigmoid": "integers and 1.0",
    "nn.squareplus": "integers and 4.0",
    "nn.standardize": "integers and their mean",
}


@pytest.fixture(scope="module")
def results():
    return calls.types(minijax), calls.refusals(minijax)


@pytest.mark.parametrize("name", EXPECTED)
def test_types_of_results(name, results):
    expected, _ = EXPECTED[name]
    got = results[0][name]
    assert {k: got[k] for k in expected} == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_what_options_against_promotion_forbid(name, results):
    forbidden = EXPECTED[name][1]
    if name in MIXES_INSIDE:
        assert forbidden  # by JAX
        assert all("," not in call for call in forbidden)  # one operand
        forbidden = {}
    assert results[1][name] == forbidden
