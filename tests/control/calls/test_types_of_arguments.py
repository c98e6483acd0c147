"""ShapeDtypeStruct: a type without a value, which cannot be changed."""

import copy
import pickle

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp

S = mj.ShapeDtypeStruct((2, 3), "float32")


def test_its_type_is_that_of_the_array():
    assert mj.typeof(S) == mj.typeof(jnp.ones((2, 3)))
    weak = S.update(shape=(), weak_type=True)
    assert mj.typeof(weak) == mj.typeof(1.0)
    assert str(mj.typeof(S.update(is_ref=True))) == "Ref{float32[2,3]}"


def test_it_cannot_be_changed():
    for name in ("shape", "dtype", "sharding", "weak_type", "is_ref"):
        with pytest.raises(RuntimeError, match=rf"Cannot reassign attributes \({name}\)"):
            setattr(S, name, None)
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        S.other = 1
    assert S.update(shape=(4,)).shape == (4,) and S.shape == (2, 3)


@pytest.mark.parametrize("s", [S, S.update(weak_type=True), S.update(is_ref=True)])
def test_copies_are_equal(s):
    for same in (pickle.loads(pickle.dumps(s)), copy.deepcopy(s), s.update()):
        assert same == s and hash(same) == hash(s) and repr(same) == repr(s)
    assert mj.tree.leaves([s]) == [s]


def test_references_can_be_described():
    struct = mj.ShapeDtypeStruct((3,), np.float32, is_ref=True)
    assert repr(struct) == "ShapeDtypeStruct(shape=(3,), dtype=float32, is_ref=True)"

    def f(ref):
        ref[0] = 1.0
        return ref[...] * 2

    assert mj.eval_shape(f, struct) == mj.ShapeDtypeStruct((3,), np.float32)
    compiled = mj.jit(f).lower(struct).compile()
    ref = mj.new_ref(jnp.zeros(3))
    assert compiled(ref).tolist() == [2, 0, 0] and ref[0] == 1


def test_it_is_no_value():
    for f in (jnp.sin, mj.jit(lambda x: x)):
        with pytest.raises(TypeError):
            f(S)
