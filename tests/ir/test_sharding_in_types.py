"""The value that says how a type divides values over a mesh, and the rule of primitives."""

import copy
import pickle

import numpy as np
import pytest

from minijax.base.errors import ShardingTypeError
from minijax.ir.core import Primitive, ShardingRule, registry
from minijax.ir.sharding_rules import DIFFERING, result_type
from minijax.sharding import AbstractMesh, AxisType, NamedSharding
from minijax.sharding import PartitionSpec as P
from minijax.tools.rules import load_all
from minijax.types.avals import shaped
from minijax.types.type_sharding import NO_MANUAL_AXES, UNSHARDED, ManualAxes, type_sharding

MESH = AbstractMesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
F32 = np.dtype("float32")
VARYING = ManualAxes(varying=("a",))


def explicit(*entries, **sums):
    return NamedSharding(MESH, P(*entries, **sums))


def array(*entries, manual=NO_MANUAL_AXES, **sums):
    sharding = type_sharding(explicit(*entries, **sums), manual)
    return shaped((8,) * len(entries), F32, sharding=sharding)


def test_equal_ones_are_one_object():
    sharding = type_sharding(explicit("x"), VARYING)
    assert type_sharding(explicit("x"), ManualAxes(("a",))) is sharding
    assert type_sharding(None, ManualAxes()) is UNSHARDED is shaped((), F32).type_sharding
    for again in (copy.deepcopy(sharding), pickle.loads(pickle.dumps(sharding))):
        assert again is sharding
    aval = array("x", manual=VARYING)
    assert pickle.loads(pickle.dumps(aval)) is aval


def test_updates_change_one_part():
    aval = array("x", None, manual=VARYING)
    assert aval.update(explicit=None).str_short(True) == "f32[8,8]{V:a}"
    assert aval.update(manual=ManualAxes()).str_short(True) == "f32[8@x,8]"
    assert aval.update(dtype=np.dtype("int8")).str_short(True) == "i8[8@x,8]{V:a}"
    # A spec does not fit another shape.
    assert aval.update(shape=(3,)).str_short(True) == "f32[3]{V:a}"
    assert aval.update(shape=(8,), explicit=explicit("y")).str_short(True) == "f32[8@y]{V:a}"
    assert aval.update(shape=(3,), type_sharding=UNSHARDED) is shaped((3,), F32)


def test_cotangents_exchange_unreduced_and_reduced():
    manual = ManualAxes(("a",), ("b",), ("c",))
    aval = array(None, manual=manual, unreduced={"x"}, reduced={"y"})
    assert aval.str_short(True) == "f32[8]{V:a, U:(b,x), R:(c,y)}"
    assert aval.to_ct_aval().str_short(True) == "f32[8]{V:a, U:(c,y), R:(b,x)}"
    assert aval.to_ct_aval().to_ct_aval() is aval


def primitive(**fields):
    prim = Primitive("test_sharding_in_types")
    del registry[prim.name]
    prim.abstract = lambda *avals, **_: avals[0]
    prim.def_sharding(**fields)
    return prim


def outcome(prim, *avals, **params):
    return result_type(prim, avals, params).str_short(True)


def test_results_are_replicated_and_vary_as_operands_do():
    assert outcome(primitive(), array("x")) == "f32[8]"
    assert outcome(primitive(), array("x", manual=VARYING)) == "f32[8]{V:a}"
    assert result_type(primitive(), [array("x", manual=VARYING), array("x")], {}) is DIFFERING
    assert result_type(primitive(), [shaped((8,), F32)], {}) is shaped((8,), F32)


def test_a_rule_sets_each_part():
    keep = primitive(specs=lambda specs, avals, outs, params: [specs[1]])
    assert outcome(keep, array("x"), array("y")) == "f32[8@y]"
    assert outcome(primitive(manual=lambda operands, params: VARYING), array("x")).endswith(
        "V:a}"
    )
    by_abstract = primitive(manual="abstract")
    assert outcome(by_abstract, array("x", manual=VARYING), array("x")) == "f32[8]{V:a}"
    asks = primitive(request="out")
    assert outcome(asks, array("x"), out=explicit("y")) == "f32[8@y]"
    assert outcome(asks, shaped((8,), F32), out=explicit("y")) == "f32[8@y]"
    assert outcome(asks, array("x"), out=None) == "f32[8]"


def refuse(sharding, specs, avals, params):
    raise ValueError(f"{sharding.spec} from {specs}")


def test_an_impossible_request():
    prim = primitive(request="out", check_request=refuse)
    with pytest.raises(ValueError, match=r"P\('y',\) from \[\('x',\)\]"):
        result_type(prim, [array("x")], {"out": explicit("y")})


UNREDUCED, REDUCED = array(None, unreduced={"x"}), array(None, reduced={"x"})
LINEAR = [
    ("first", (UNREDUCED,), "f32[8]{U:x}"),
    ("first", (UNREDUCED, array(None)), "f32[8]{U:x}"),
    ("first", (array(None), UNREDUCED), "is not implemented"),
    ("together", (UNREDUCED, UNREDUCED), "f32[8]{U:x}"),
    ("together", (UNREDUCED, array(None)), "lhs is unreduced while rhs is not"),
    ("product", (UNREDUCED, REDUCED), "f32[8]{U:x}"),
    ("product", (UNREDUCED, UNREDUCED), "is bilinear"),
    ("product", (UNREDUCED, array(None)), "should be reduced along the same axes"),
    ("any", (UNREDUCED,), "f32[8]"),
    (None, (UNREDUCED,), "is not implemented"),
    (None, (REDUCED,), "f32[8]{R:x}"),
]


@pytest.mark.parametrize(("linear_in", "operands", "expected"), LINEAR)
def test_unreduced_operands(linear_in, operands, expected):
    prim = primitive(linear_in=linear_in)
    if expected.startswith("f32"):
        assert outcome(prim, *operands) == expected
    else:
        with pytest.raises((NotImplementedError, ShardingTypeError), match=expected):
            outcome(prim, *operands)


def test_rules_of_all_primitives_are_well_formed():
    load_all()
    for prim in registry.values():
        rule = prim.sharding
        assert isinstance(rule, ShardingRule), prim
        assert rule.linear_in in (None, "first", "together", "product", "any"), prim
        assert rule.specs is None or callable(rule.specs), prim
        assert rule.manual in (None, "abstract") or callable(rule.manual), prim
        assert rule.check_request is None or rule.request is not None, prim


def test_a_rule_has_no_other_fields():
    with pytest.raises((TypeError, ValueError), match="linearity"):
        primitive(linearity="first")
