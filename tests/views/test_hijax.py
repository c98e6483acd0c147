"""Primitives and types that are made of others, and other features for libraries."""

import importlib.util

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import core
from minijax.experimental import hijax
from minijax.ir.core import STATE


class Twice(hijax.HiPrimitive):
    def abstract_eval(self, x, *, n):
        return x, set()

    def impl(self, x, *, n):
        return np.asarray(x) * n

    def to_lojax(self, x, *, n):
        return x * n

    def jvp(self, primals, tangents, *, n):
        return self.bind(*primals, n=n), tangents[0] * 10


twice_p = Twice("own_twice")


def test_a_hijax_primitive_is_expanded():
    assert twice_p.bind(3.0, n=2) == 6.0
    program = jax.make_jaxpr(lambda x: twice_p.bind(x, n=2.0))(1.0)
    assert [e.primitive.name for e in program.eqns] == ["mul"]
    assert jax.jit(lambda x: twice_p.bind(x, n=2.0))(3.0) == 6.0
    assert jax.jvp(lambda x: twice_p.bind(x, n=2), (1.0,), (1.0,))[1] == 10.0


class Square(hijax.VJPHiPrimitive):
    def __init__(self, aval, by_accumulators):
        self.in_avals, self.out_aval = (aval,), aval
        self.params = {"by_accumulators": by_accumulators}
        super().__init__()

    def expand(self, x):
        return x * x

    def vjp_fwd(self, nonzero, x):
        return self.expand(x), x

    def vjp_bwd_retval(self, x, ct):
        return (7 * ct,)

    def vjp_bwd(self, x, ct, accum):
        if not self.by_accumulators:
            return super().vjp_bwd(x, ct, accum)
        accum.accum(2 * ct)
        return accum.accum(3 * ct)


@pytest.mark.parametrize(("by_accumulators", "slope"), [(False, 7.0), (True, 5.0)])
def test_a_function_with_cotangents_of_its_own(by_accumulators, slope):
    square = Square(jax.typeof(jnp.float32(1)), by_accumulators)
    assert square(jnp.float32(3)) == 9.0
    assert jax.grad(square)(jnp.float32(3)) == slope


def test_types_and_effects_of_a_librarys_own():
    class Box:
        pass

    class BoxType(hijax.HiType):
        def str_short(self, short_dtypes=True):
            return "Box"

    class Noted(jax.extend.core.Effect):
        pass

    hijax.register_hitype(Box, lambda _: BoxType())
    assert isinstance(jax.typeof(Box()), BoxType)
    allowed = type(hijax.control_flow_allowed_effects)()
    allowed.add_type(Noted)
    assert allowed.filter_in([Noted(), 1]) and allowed.filter_not_in([1]) == [1]
    assert repr(Noted()) == "Noted"
    f32 = core.ShapedArray((2,), "float32")
    assert f32.to_tangent_aval() is f32.to_ct_aval() is f32.normalize() is f32
    weak = f32.update_weak_type(True)
    assert weak.weak_type and weak.update_weak_type(False) is f32
    assert core.ShapedArray((), "int32").to_tangent_aval().dtype == jax.dtypes.float0


def test_a_custom_rule_receives_arrays_in_programs():
    """Arrays of one number are literals in programs, and have shapes all the same."""
    seen = []

    @jax.custom_vjp
    def f(x, n):
        return x * n

    def fwd(x, n):
        seen.append((n.shape, n.dtype, n.weak_type))
        return x * n, n

    f.defvjp(fwd, lambda n, ct: (ct * n, None))
    n = jnp.asarray(3)
    assert jax.grad(jax.jit(lambda x: f(x, n)))(2.0) == 3.0

    @jax.custom_jvp
    def g(x, n):
        return x * n

    @g.defjvp
    def rule(primals, tangents):
        seen.append((primals[1].shape, primals[1].dtype, primals[1].weak_type))
        return g(*primals), tangents[0] * primals[1]

    assert jax.grad(jax.jit(lambda x: g(x, n)))(2.0) == 3.0
    assert set(seen) == {((), np.dtype("int32"), n.weak_type)}


def test_eval_shape_takes_types_among_results():
    kind = jax.ShapeDtypeStruct((2,), jnp.float32)
    result = jax.eval_shape(lambda x: (kind, x), 1.0)
    assert (result[0].shape, result[0].dtype, result[1].shape) == ((2,), jnp.float32, ())
    with pytest.raises(TypeError, match="not a valid JAX type"):
        jax.jit(lambda: kind)()


def test_tracers_of_one_trace_share_its_main():
    mains = []
    jax.jvp(lambda x: mains.append((x._trace.main, STATE.trace)) or x, (1.0,), (1.0,))
    ((own, current),) = mains
    assert own is current.main


def test_a_missing_platform_is_reported_as_in_jax():
    if importlib.util.find_spec("libtpu") is not None:
        pytest.skip("this machine may have a TPU")
    with pytest.raises(RuntimeError, match=r"'tpu' failed to initialize: .*libtpu"):
        jax.devices("tpu")
