"""Tables that libraries write to, and what they ask of shardings, results and programs."""

from collections import OrderedDict
from unittest import mock

import numpy as np
import pytest

import minijax as jax
import minijax.extend as jex
import minijax.numpy as jnp
from minijax import core
from minijax.extend import linear_util as lu
from minijax.interpreters import ad, pxla
from minijax.interpreters import partial_eval as pe
from minijax.views import private

pytestmark = pytest.mark.filterwarnings("ignore:jax.(core|interpreters):DeprecationWarning")


def f(x, y):
    return [jnp.sin(x) * y, x["a"] if isinstance(x, dict) else x]


@pytest.mark.parametrize("wrapped", [False, True])
def test_jvp_of_trees(wrapped):
    fun = lu.wrap_init(f) if wrapped else f
    outs, tangents = ad.jvp(fun, (1.0, 2.0), (3.0, 4.0))
    np.testing.assert_allclose(outs.unflatten(), [2 * np.sin(1), 1], rtol=1e-6)
    expected = [6 * np.cos(1) + 4 * np.sin(1), 3]
    np.testing.assert_allclose(list(tangents), expected, rtol=1e-6)
    floor = lambda x: ({"r": jnp.floor(x)}, "besides")
    outs, tangents, aux = ad.jvp(floor, (1.5,), (1.0,), has_aux=True, instantiate=False)
    assert type(tangents.unflatten()["r"]) is ad.Zero
    assert (outs.unflatten(), aux) == ({"r": 1.0}, "besides")
    doubled = outs.map(lambda x: 2 * x).map2(lambda x, y: x + y, [1.0])
    assert doubled.unflatten() == {"r": 3.0}


def test_linearize_of_trees():
    fun = lambda x: [x * x, jnp.floor(x)]
    outs, zeros, jaxpr, consts = ad.linearize(fun, (3.0,))
    assert (list(outs), zeros) == ([9.0, 3.0], [False, True])
    assert core.eval_jaxpr(jaxpr, consts, 1.0) == [6.0]
    with pytest.raises(TypeError, match="two-element tuple"):
        ad.linearize(lambda x: [x], (3.0,), has_aux=True)


def test_partial_evaluation_by_a_rule():
    p = jex.core.Primitive("by_rule")
    p.def_impl(lambda x, y: x + y)
    p.def_abstract_eval(lambda x, y: x)
    seen = []

    def rule(trace, x, y, **params):
        seen.append((type(trace).__name__, y))
        return x * 2.0

    pe.custom_partial_eval_rules[p] = rule
    try:
        known, unknown = (
            pe.PartialVal.known(3.0),
            pe.PartialVal.unknown(core.ShapedArray((), np.float32)),
        )
        fun = lu.wrap_init(lambda x, y: [p.bind(x, y), p.bind(y, y)])
        jaxpr, outs, _ = pe.trace_to_jaxpr_nounits(fun, [unknown, known])
    finally:
        del pe.custom_partial_eval_rules[p]
    assert seen == [("PartialTrace", 3.0)]
    assert [e.primitive.name for e in jaxpr.eqns] == ["mul"]
    assert outs[1].get_known() == 6.0


def test_dead_code_elimination():
    fun = lu.wrap_init(lambda x: [(jnp.ones(3) + x, x * 2)[1]])
    aval = core.ShapedArray((), np.float32)
    jaxpr, _, _ = pe.trace_to_jaxpr_dynamic(fun, [aval])
    less, _, consts = pe.trace_to_jaxpr_dynamic(fun, [aval], auto_dce=True)
    assert (len(jaxpr.eqns) > 1, len(less.eqns), consts) == (True, 1, [])


def test_types_are_checked_by_a_rule():
    p = jex.core.Primitive("checked_by_rule")
    p.def_abstract_eval(lambda x: x)
    checked = []

    def rule(_, x):
        checked.append(x.aval.shape)
        return [x.aval.update(shape=(7,))], set()

    jaxpr = jax.make_jaxpr(p.bind)(jnp.ones(2)).jaxpr
    jex.core.check_jaxpr(jaxpr)
    core.custom_typechecks[p] = rule
    try:
        assert core.custom_typechecks[p] is rule
        with pytest.raises(jax.errors.JaxprTypeError, match=r"float32\[7\]|f32\[7\]"):
            jex.core.check_jaxpr(jaxpr)
    finally:
        del core.custom_typechecks[p]
    assert checked == [(2,)]
    call = jex.core.primitives.jit_p
    eqn = jax.make_jaxpr(jax.jit(lambda x: x))(1.0).eqns[0]
    out, effects = core.custom_typechecks[call](None, *eqn.invars, **eqn.params)
    assert (out, effects) == ([eqn.outvars[0].aval], core.no_effects)
    assert call in set(core.custom_typechecks)


class Rows(jex.core.AbstractToken):
    def __init__(self, n):
        self.n = n


def test_types_of_one_lane():
    core.aval_mapping_handlers[Rows] = (
        lambda size, axis, a: Rows(a.n // size),
        lambda size, axis, a: Rows(a.n * size),
    )
    try:
        assert jex.core.mapped_aval(3, 0, Rows(6)).n == 2
        assert jex.core.unmapped_aval(3, 0, Rows(2)).n == 6
    finally:
        del core.aval_mapping_handlers[Rows]
    lane, all_lanes = core.aval_mapping_handlers[core.ShapedArray]
    assert lane(3, 0, core.ShapedArray((3, 2), np.float32)).shape == (2,)
    assert all_lanes(3, 1, core.ShapedArray((2,), np.float32)).shape == (2, 3)


def test_printed_programs():
    jaxpr = jax.make_jaxpr(lambda x: jnp.sin(x) + 1)(1.0).jaxpr
    settings = core.JaxprPpSettings(print_shapes=False)._asdict()
    assert "b:f32" not in jaxpr.pretty_print(**settings)
    names = core.JaxprPpContext({jaxpr.invars[0]: "angle"})
    names.suggest_same_var_names([jaxpr.outvars[0]], [jaxpr.invars[0]])
    assert names.var_names[jaxpr.outvars[0]] == "angle"
    text = private.module("jax._src.core").pp_jaxpr(jaxpr, names)
    assert text.startswith("{ lambda ; angle:f32[]. let")
    assert float in core.literalable_types and np.float32 in core.literalable_types
    no_bool = core.concretization_function_error(bool, True)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(lambda x: no_bool(None, x))(1.0)


def test_shardings_under_older_names():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(mesh, jax.P("i"))
    hlo = sharding._to_xla_hlo_sharding(2)
    assert pxla.is_hlo_sharding_replicated(hlo)
    assert pxla.are_hlo_shardings_equal(hlo, hlo)
    assert pxla.op_sharding_to_indices(hlo, (4, 2), 1) == ((slice(None), slice(None)),)
    two = jex.sharding.get_op_sharding_from_serialized_proto(b"")
    two.type = type(two).Type.OTHER
    two.tile_assignment_dimensions, two.tile_assignment_devices = [2, 1], [1, 0]
    data = two.SerializeToString()
    halves = jex.sharding.get_hlo_sharding_from_serialized_proto(data)
    assert not pxla.is_hlo_sharding_replicated(halves)
    assert not pxla.are_hlo_shardings_equal(hlo, halves)
    assert pxla.op_sharding_to_indices(halves, (4, 2), 2) == (
        (slice(2, 4), slice(None)),
        (slice(0, 2), slice(None)),
    )
    mapping = OrderedDict([("i", 1), ("j", 1), ("k", 0)])
    assert pxla.array_mapping_to_axis_resources(mapping) == jax.P("k", ("i", "j"))
    aval = core.ShapedArray((4,), np.float32)
    x = jax.device_put(jnp.arange(4.0), sharding)
    parts = [s.data for s in x.addressable_shards]
    (again,) = pxla.global_avals_to_results_handler([aval], [sharding], True)([parts])
    assert again.sharding == sharding
    np.testing.assert_array_equal(again, np.arange(4))
    with pytest.raises(TypeError, match="No pxla_result_handler for type"):
        pxla.global_aval_to_result_handler(3, sharding, True)


def test_lowered_programs_and_compile_options():
    lowered = jax.jit(lambda x: x + 1).lower(1.0)
    assert isinstance(lowered._lowering, pxla.MeshComputation)
    assert "stablehlo.add" in str(lowered._lowering.stablehlo())
    devices = np.array([[jax.devices()[0]]])
    flags = {"xla_cpu_enable_fast_math": True}
    options = pxla.create_compile_options(
        lowered.compiler_ir(), False, [False], [True], devices[0, 0].client, devices, flags
    )
    build = options.executable_build_options
    assert (options.num_partitions, options.parameter_is_tupled_arguments) == (1, False)
    assert list(build.allow_spmd_sharding_propagation_to_output) == [True]
    assert dict(options.env_option_overrides) == flags
    compiled = lowered.compile()
    assert isinstance(compiled._executable, pxla.MeshExecutable)
    assert compiled._executable.xla_executable is compiled.runtime_executable()


def test_options_of_the_compiler():
    cpu = jex.backend.get_backend()
    options = jex.backend.get_compile_options(
        1, 1, fdo_profile=b"told", detailed_logging=False, backend=cpu
    )
    build = options.executable_build_options
    assert build.fdo_profile == b"told"
    assert build.debug_options.xla_detailed_logging is False
    build_options = jex.backend.get_compile_options(1, 1).executable_build_options
    assert build_options.debug_options.xla_detailed_logging is True


def test_hashing_with_a_pair_of_numbers():
    counts = jnp.arange(3, dtype=np.uint32)
    pair = np.uint32([7, 9])
    expected = jex.random.threefry_2x32(pair, counts)
    np.testing.assert_array_equal(jex.random.threefry_2x32(tuple(pair), counts), expected)
    np.testing.assert_array_equal(
        jex.random.threefry_2x32(keypair=pair, count=counts), expected
    )


class Proxy:
    """A proxy of another object, with that object's `__class__`."""

    def __init__(self, inner):
        object.__setattr__(self, "inner", inner)

    __class__ = property(lambda self: type(self.inner))

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "inner"), name)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.inner, dtype)


@pytest.mark.parametrize("inner", [jnp.arange(3.0), np.arange(3.0), np.float32(2)])
@pytest.mark.parametrize("registered", [False, True])
def test_proxies_are_instances_of_their_class(inner, registered):
    kind = type("Variable", (Proxy,), {})
    if registered:
        table = jax.interpreters.xla.canonicalize_dtype_handlers
        table[kind] = table[np.ndarray]
        core.pytype_aval_mappings[kind] = core.pytype_aval_mappings[np.ndarray]
    x = kind(inner)
    assert isinstance(x, jax.Array) == isinstance(inner, jax.Array)
    assert jax.typeof(x) == jax.typeof(inner)
    expected = np.asarray(inner, np.float32)
    for value, right in [
        (jnp.sin(x), jnp.sin(expected)),
        (x.inner + jnp.asarray(x), 2 * expected),
        (jax.jit(lambda x: x * 2)(x), 2 * expected),
        (jax.device_put(x), expected),
        (jax.grad(lambda x: (x**2).sum())(x), 2 * expected),
        (jnp.stack([x])[0], expected),
    ]:
        assert value.dtype == np.float32
        np.testing.assert_array_equal(value, right)


def test_mocks_are_of_the_class_that_they_are_made_for():
    for kind in (jax.Array, jax.NamedSharding, jax.sharding.Mesh, jax.core.Tracer):
        assert isinstance(mock.Mock(spec=kind), kind)
    assert isinstance(mock.create_autospec(jax.Array, instance=True), jax.Array)
    assert not isinstance(mock.Mock(), jax.Array)
    with pytest.raises(TypeError, match=r"problematic value is of type .*Mock"):
        jnp.sin(mock.Mock(spec=jax.Array))
