"""Programs read and made by hand: interpreters, functions under transformation, traces."""

import linecache

import numpy as np
import pytest

import minijax as jax
import minijax.extend as jex
import minijax.numpy as jnp
from minijax import api_util, core
from minijax.extend import linear_util as lu
from minijax.interpreters import partial_eval as pe
from minijax.interpreters import pxla, xla
from minijax.views.private import module


def evaluate(jaxpr, consts, *args):
    """An interpreter as people write it after JAX's documentation."""
    env = {}

    def read(a):
        return a.val if type(a) is jex.core.Literal else env[a]

    env.update(zip(jaxpr.invars, args, strict=True))
    env.update(zip(jaxpr.constvars, consts, strict=True))
    for eqn in jaxpr.eqns:
        bound = eqn.primitive.get_bind_params(eqn.params)
        names = eqn.source_info.name_stack
        where = eqn.source_info.traceback
        with jex.source_info_util.user_context(where, name_stack=names), eqn.ctx.manager:
            out = eqn.primitive.bind(*map(read, eqn.invars), **bound)
        out = out if eqn.primitive.multiple_results else [out]
        env.update(zip(eqn.outvars, out, strict=True))
    return [read(a) for a in jaxpr.outvars]


@jax.custom_jvp
def doubled(x):
    return 2 * x


doubled.defjvp(lambda p, t: (doubled(*p), 5 * t[0]))


@jax.custom_vjp
def tripled(x):
    return 3 * x


tripled.defvjp(lambda x: (3 * x, None), lambda _, ct: (7 * ct,))


@pytest.mark.parametrize(
    ("fun", "slope"),
    [
        (jax.jit(lambda x: x * x), 4.0),
        (doubled, 5.0),
        (tripled, 7.0),
        (lambda x: jax.lax.cond(x > 0, lambda x: x, lambda x: -x, x), 1.0),
        (jax.checkpoint(lambda x: x * 3), 3.0),
        (lambda x: jax.lax.scan(lambda c, _: (c * x, None), x, None, 2)[0], 12.0),
    ],
)
def test_a_hand_written_interpreter_binds_every_equation(fun, slope):
    closed = jax.make_jaxpr(fun)(2.0)
    run = lambda x: evaluate(closed.jaxpr, closed.consts, x)[0]
    assert run(2.0) == fun(2.0)
    assert jax.grad(run)(2.0) == slope


def test_names_and_source_lines_are_preserved():
    @jax.named_scope("outer")
    def f(x):
        return x + 1

    closed = jax.make_jaxpr(f)(1.0)
    eqn = closed.eqns[0]
    assert str(eqn.source_info.name_stack) == "outer"
    again = jax.make_jaxpr(lambda x: evaluate(closed.jaxpr, closed.consts, x))(1.0)
    assert again.eqns[0].source_info.name_stack == "outer"
    assert "test_hand_interpreters" in jex.source_info_util.summarize(eqn.source_info)


def test_programs_are_built_by_hand():
    closed = jax.make_jaxpr(lambda x: x * 2.0)(1.0)
    (eqn,) = closed.eqns
    x, y = jex.core.Var(eqn.invars[0].aval), jex.core.gensym()(eqn.outvars[0].aval)
    made = jex.core.new_jaxpr_eqn(
        [x, jex.core.Literal(5.0, x.aval)], [y], eqn.primitive, eqn.params, eqn.effects
    )
    info = api_util.debug_info("test", lambda a: a, (1.0,), {})
    jaxpr = jex.core.Jaxpr([], [x], [y], [made], jex.core.no_effects, info)
    assert jex.core.jaxpr_as_fun(jex.core.ClosedJaxpr(jaxpr, []))(3.0) == [15.0]
    assert jaxpr.debug_info.arg_names == ("a",)
    assert jaxpr.replace(effects=frozenset("e")).effects == {"e"}
    assert jaxpr.replace(debug_info=info._replace(func_src_info="g at x")).name == "g"
    assert isinstance(made, jex.core.JaxprEqn)
    sub = jax.make_jaxpr(jax.jit(lambda x: x))(1.0)
    assert [j.eqns for j in jex.core.subjaxprs(sub)] == [[]]


def test_functions_under_transformation_in_both_forms():
    @lu.transformation_with_aux
    def outer(n, *args):
        out = yield [a + n for a in args], {}
        yield 2 * out, ("seen", out)

    @lu.transformation2
    def inner(f, *args):
        return f(*args) + 100

    fun, aux = outer(inner(lu.wrap_init(lambda x: x)), 1)
    with pytest.raises(lu.StoreException):
        aux()
    assert fun.call_wrapped(1) == 204
    assert aux() == ("seen", 102)
    _, other_aux = outer(lu.wrap_init(lambda x: x), 1)
    assert lu.merge_linear_aux(aux, other_aux) == (True, ("seen", 102))
    assert lu.merge_linear_aux(other_aux, aux) == (False, ("seen", 102))
    calls = []
    f = lambda x: x
    run = lu.cache(lambda fun, x: calls.append(x) or fun.call_wrapped(x))
    assert [run(lu.wrap_init(f), 3), run(lu.wrap_init(f), 3)] == [3, 3]
    assert calls == [3]


def test_functions_of_trees_are_flattened_and_traced():
    info = api_util.debug_info("test", lambda p, *, k: p, (1.0,), {"k": 2.0})
    assert info.arg_names == ("p", "k")
    args, tree = jax.tree.flatten(((1.0,), {"k": 2.0}))
    fun = lu.wrap_init(lambda p, k: {"out": p * k}, debug_info=info)
    flat, out_tree = api_util.flatten_fun(fun, tree)
    avals = [api_util.shaped_abstractify(x) for x in args]
    jaxpr, outs, consts = pe.trace_to_jaxpr_dynamic(flat, avals)
    assert out_tree() == jax.tree.structure({"out": 0})
    assert core.eval_jaxpr(jaxpr, consts, 3.0, 4.0) == [12.0]
    assert outs == [avals[0]]
    f, dynamic = api_util.argnums_partial(lu.wrap_init(lambda a, b: a - b), 1, (5, 2))
    assert (f.call_wrapped(3), dynamic) == (2, (2,))
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        api_util.argnums_partial(lu.wrap_init(lambda a, b: a), 1, ([], 2))
    assert api_util.donation_vector((0,), ("k",), tree) == (True, True)
    assert api_util.rebase_donate_argnums((2,), (0,)) == (1,)


def test_known_values_are_computed_immediately():
    def f(x, y):
        return x * 2 + y, y * y

    x = pe.PartialVal.unknown(jax.typeof(jnp.ones(2)))
    y = pe.PartialVal.known(jnp.float32(3))
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(lu.wrap_init(f), [x, y])
    assert [p.is_known() for p in outs] == [False, True]
    assert outs[1].get_known() == 9.0
    assert len(jaxpr.invars) == 1
    assert core.eval_jaxpr(jaxpr, consts, jnp.ones(2))[0].tolist() == [5.0, 5.0]
    jaxpr, outs, _ = pe.trace_to_jaxpr_nounits(lu.wrap_init(f), [x, y], instantiate=True)
    assert not any(p.is_known() for p in outs)
    moved = pe.convert_constvars_jaxpr(jaxpr)
    assert len(moved.invars) == len(jaxpr.constvars) + 1
    pruned, used = pe.dce_jaxpr(jaxpr, [False, False])
    assert (pruned.eqns, used) == ([], [False])


class Counted(core.Tracer):
    def __init__(self, trace, value):
        super().__init__(trace, jax.typeof(value))
        self.value = value


class Counting(core.Trace):
    """A library's interpreter: it counts what is applied to its values."""

    def __init__(self, parent, tag):
        super().__init__()
        self.parent_trace = parent
        self.tag = tag
        self.seen = []

    def process_primitive(self, prim, args, params):
        self.seen.append(prim.name)
        vals = [x.value if isinstance(x, Counted) else x for x in args]
        with jex.core.set_current_trace(self.parent_trace):
            out = prim.bind(*vals, **params)
        return [Counted(self, x) for x in out] if prim.multiple_results else Counted(self, out)

    def process_custom_jvp_call(self, prim, fun, jvp, args, *, symbolic_zeros):
        self.seen.append("rule")
        with jex.core.set_current_trace(self.parent_trace):
            out = jvp.call_wrapped(*[x.value for x in args], *[1.0 for _ in args])
        return [Counted(self, x) for x in out[:1]]


def counted(f, x):
    with jex.core.take_current_trace() as parent:
        trace = Counting(parent, jex.core.TraceTag())
        with jex.core.set_current_trace(trace):
            out = f(Counted(trace, x))
        return out.value, trace


def test_a_librarys_own_trace():
    out, trace = counted(lambda x: jnp.sin(x) * doubled(x), 1.0)
    np.testing.assert_allclose(out, 2 * np.sin(1.0), rtol=1e-6)
    assert trace.seen == ["sin", "rule", "mul"]
    assert isinstance(trace, core.Trace)
    assert jax.jit(lambda x: counted(lambda y: y + 1, x)[0])(2.0) == 3.0
    assert jax.grad(lambda x: counted(lambda y: y * y, x)[0])(3.0) == 6.0


@pytest.mark.filterwarnings("ignore:jax.core.trace_ctx:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:jax.interpreters.pxla:DeprecationWarning")
def test_current_traces_and_axes():
    outside = jex.core.get_opaque_trace_state()
    assert outside == jex.core.get_opaque_trace_state()
    seen = []

    @jax.jit
    def f(x):
        seen.append(jex.core.get_opaque_trace_state() == outside)
        seen.append(jex.core.unsafe_am_i_under_a_jit_DO_NOT_USE())
        with core.eval_context():
            seen.append(float(jnp.ones(()) + 1))
        return x

    f(1.0)
    assert seen == [False, True, 2.0]
    jax.vmap(
        lambda x: seen.append(jex.core.unsafe_get_axis_names_DO_NOT_USE()) or x, axis_name="i"
    )(jnp.ones(2))
    assert seen[-1] == ["i"]
    assert core.trace_ctx.is_top_level()
    assert pxla.thread_resources.env.physical_mesh.empty
    mesh = jax.make_mesh((1,), ("x",))
    with pytest.warns(DeprecationWarning, match="context manager"), mesh:
        assert pxla.thread_resources.env.physical_mesh is mesh
        assert pxla.thread_resources.env.shape == {"x": 1}


def test_types_of_a_librarys_own():
    class Boxed:
        shape, dtype = (2,), np.dtype("float32")

        def __array__(self, *_, **__):
            return np.ones(2, np.float32)

    xla.pytype_aval_mappings[Boxed] = xla.pytype_aval_mappings[np.ndarray]
    try:
        assert jax.typeof(Boxed()) == core.ShapedArray((2,), np.float32)
    finally:
        del xla.pytype_aval_mappings[Boxed]
    assert core.mapped_aval(3, 0, core.ShapedArray((3, 2), "float32")).shape == (2,)
    assert core.unmapped_aval(3, 1, core.ShapedArray((2,), "float32")).shape == (2, 3)


def test_an_error_leaves_the_blocks_of_a_transformation():
    left = []

    @lu.transformation
    def within(*args):
        with core.take_current_trace() as trace, core.set_current_trace(trace):
            try:
                out = yield args, {}
            finally:
                left.append(type(trace).__name__)
            yield out

    def f(x):
        return within(lu.wrap_init(lambda x: x / "no number")).call_wrapped(x)

    with pytest.raises(TypeError) as error:  # which holds the frames
        jax.eval_shape(f, 1.0)
    assert left == ["StageTrace"]
    assert jax.eval_shape(jnp.sin, 1.0).shape == () and float(jnp.sin(0.0)) == 0.0
    assert error.value is not None


def test_primitives_are_bound_under_a_trace():
    recorded = []

    class LoggingTrace(core.Trace):
        def __init__(self, parent):
            super().__init__()
            self.parent = parent

        def process_primitive(self, prim, args, params):
            recorded.append(prim.name)
            types = [jax.typeof(x) for x in args]
            return prim.bind_with_trace(self.parent, args, types, params)

    with core.take_current_trace() as parent, core.set_current_trace(LoggingTrace(parent)):
        assert float(jax.lax.neg_p.bind(2.0)) == -2.0
    assert recorded == ["neg"]


class Careless(Counting):
    """Calls functions with rules on its own values, outside of itself."""

    def process_custom_jvp_call(self, prim, fun, jvp, args, *, symbolic_zeros):
        with jex.core.set_current_trace(self.parent_trace):
            return fun.call_wrapped(*args)


def careless(f, x):
    with jex.core.take_current_trace() as parent:
        trace = Careless(parent, jex.core.TraceTag())
        with jex.core.set_current_trace(trace):
            return f(Counted(trace, x)), trace


def test_a_program_records_the_values_of_a_trace_inside_it_as_constants():
    types = jax.eval_shape(lambda x: careless(jax.nn.relu, x)[0], jnp.ones(3))
    assert (types.shape, types.dtype) == ((3,), np.float32)
    with pytest.raises(jax.errors.UnexpectedTracerError):  # there is no such number
        jax.jit(lambda x: careless(jax.nn.relu, x)[0])(jnp.ones(3))
    with pytest.raises(jax.errors.UnexpectedTracerError):
        careless(jax.nn.relu, 1.0)
    _, trace = careless(jnp.sin, 1.0)
    trace.invalidate()
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.eval_shape(lambda x: x + Counted(trace, 1.0), 1.0)


def test_equations_are_made_in_jaxs_order():
    closed = jax.make_jaxpr(lambda x: jax.jit(lambda y: y * 2.0)(x))(1.0)
    (eqn,) = closed.eqns
    made = jex.core.JaxprEqn(
        eqn.invars,
        eqn.outvars,
        eqn.primitive,
        dict(eqn.params),
        eqn.effects,
        eqn.source_info,
        module("jax._src.core").JaxprEqnContext(),
    )
    assert isinstance(eqn, core.JaxprEqn) and isinstance(made, jex.core.JaxprEqn)
    assert str(closed.jaxpr.replace(eqns=[made])) == str(closed.jaxpr)
    assert made.params["in_layouts"] == (None,)
    assert core.eval_jaxpr(closed.jaxpr.replace(eqns=[made]), [], 3.0) == [6.0]


def test_source_lines_of_equations():
    (eqn,) = jax.make_jaxpr(lambda x: x * 2.0)(1.0).eqns
    info = module("jax._src.source_info_util")
    frame = info.user_frame(eqn.source_info.traceback)
    assert isinstance(frame, info.Frame)
    assert frame.file_name == __file__ and "<lambda>" in frame.function_name
    line = linecache.getline(frame.file_name, frame.start_line)
    assert line[frame.start_column : frame.end_column] == "x * 2.0"
    assert frame.end_line == frame.start_line
    assert list(info.user_frames(None)) == [] and info.user_frame(None) is None


def test_canonical_out_shardings():
    canonicalize = module("jax._src.sharding_impls").canonicalize_sharding
    mesh, other_mesh = (jax.make_mesh((1,), (name,)) for name in "xy")
    assert canonicalize(jax.typeof(1.0).sharding, "f") is None
    with pytest.raises(ValueError, match="not under a mesh context"):
        canonicalize(jax.P("x"), "f")
    with jax.set_mesh(mesh):
        sharding = canonicalize(jax.P("x"), "f")
        assert sharding == jax.NamedSharding(mesh.abstract_mesh, jax.P("x"))
        assert sharding.mesh._any_axis_explicit
        other = jax.NamedSharding(other_mesh, jax.P("y"))
        with pytest.raises(ValueError, match=r"Context mesh .* passed to f"):
            canonicalize(other, "f")
        assert canonicalize(other, "f", False).mesh == other_mesh.abstract_mesh
    with pytest.raises(TypeError, match="only supports instances of"):
        canonicalize(3, "f")


def test_types_of_objects_with_shape_and_dtype():
    class Described:
        shape, dtype, weak_type = (2,), np.dtype("float64"), True

    ask = api_util.shaped_abstractify
    scalar, ref = jax.typeof(1.0), jax.typeof(jax.new_ref(1.0))
    assert [ask(scalar), ask(1.0), ask(ref)] == [scalar, scalar, ref]
    assert ask(jax.ShapeDtypeStruct((3,), "float32")).shape == (3,)
    aval = ask(Described())
    assert (aval.shape, aval.dtype, aval.weak_type) == ((2,), np.float32, True)
    with pytest.raises(TypeError, match="not a valid JAX type"):
        ask("text")


@pytest.mark.filterwarnings("ignore:jax.core.trace_ctx:DeprecationWarning")
def test_a_program_gets_inputs_while_it_is_recorded():
    seen = []

    def f(x):
        trace = core.trace_ctx.trace
        place = jex.source_info_util.current()
        y = trace.new_arg(api_util.shaped_abstractify(3.0), source_info=place)
        seen.append(y)
        return x * y

    closed = jax.make_jaxpr(f)(2.0)
    assert [v.aval.shape for v in closed.jaxpr.invars] == [(), ()]
    assert core.eval_jaxpr(closed.jaxpr, closed.consts, 2.0, 5.0) == [10.0]
