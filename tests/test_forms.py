"""What values, types and functions look like: as in JAX 0.10.2.

The texts are recorded from JAX 0.10.2, with its name for ours.
"""

import copy
import inspect
import pickle

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

X = jnp.arange(3.0)
MESH = mj.sharding.Mesh(mj.devices()[:1], ("x",))
SINGLE = mj.sharding.SingleDeviceSharding(mj.devices()[0])


def seen(transform):
    """How the argument of a function prints under a transformation."""
    problems = []

    def f(x):
        problems.append(repr(x))
        return x

    transform(f)
    return problems[0]


TRACERS = {
    "jit weak": (lambda f: mj.jit(f)(1.0), "JitTracer(~float32[])"),
    "jit key": (lambda f: mj.jit(f)(mj.random.key(0)), "JitTracer(key<fry>[])"),
    "scan": (lambda f: lax.scan(lambda c, x: (f(c), x), 1.0, X), "JitTracer(~float32[])"),
    "grad": (
        lambda f: mj.grad(lambda x: f(x).sum())(X),
        "GradTracer(primal=[0. 1. 2.], typeof(tangent)=f32[3])",
    ),
    "jit grad": (
        lambda f: mj.jit(mj.grad(f))(1.0),
        "GradTracer(primal=JitTracer(~float32[]), typeof(tangent)=f32[])",
    ),
    "jvp": (lambda f: mj.jvp(f, (1.0,), (2.0,)), "JVPTracer(primal=1.0, tangent=2.0)"),
    "vmap": (
        lambda f: mj.vmap(f, in_axes=1)(jnp.ones((3, 2))),
        "VmapTracer(aval=float32[3], batched=float32[3,2])",
    ),
    "reference": (
        lambda f: mj.jit(lambda x: f(mj.new_ref(x))[...])(1.0),
        "JitTracer(Ref{float32[]})",
    ),
}


@pytest.mark.parametrize("case", TRACERS)
def test_tracers(case):
    transform, text = TRACERS[case]
    assert seen(transform) == text


CLASSES = {
    "_UniqueAllResult": lambda: jnp.unique_all(X),
    "_UniqueCountsResult": lambda: jnp.unique_counts(X),
    "_UniqueInverseResult": lambda: jnp.unique_inverse(X),
    "KeyTy": lambda: mj.random.key(0).dtype,
    "Traced": lambda: mj.jit(jnp.sin).trace(1.0),
    "ArgInfo": lambda: mj.jit(jnp.sin).trace(1.0).args_info[0][0],
    "P": lambda: mj.P("x"),
    "ufunc": lambda: jnp.add,
    "_ScalarMeta": lambda: jnp.float32,
    "_IndexUpdateHelper": lambda: X.at,
    "_IndexUpdateRef": lambda: X.at[0],
}


@pytest.mark.parametrize("name", CLASSES)
def test_class_names(name):
    assert type(CLASSES[name]()).__name__ == name


TEXTS = [
    (lambda: X.at[0], "_IndexUpdateRef(Array([0., 1., 2.], dtype=float32), 0)"),
    (
        lambda: mj.jit(jnp.sin).trace(1.0).args_info[0][0],
        "ArgInfo(_aval=ShapedArray(float32[], weak_type=True), donated=False)",
    ),
    (
        lambda: mj.tree.structure(jnp.unique_counts(X)),
        "PyTreeDef(CustomNode(namedtuple[_UniqueCountsResult], [*, *]))",
    ),
    (lambda: mj.P, "<class 'minijax.P'>"),
    (
        lambda: mj.errors.TracerBoolConversionError,
        "<class 'minijax.errors.TracerBoolConversionError'>",
    ),
    (lambda: jnp.ufunc, "<class 'minijax.numpy.ufunc'>"),
    (lambda: jnp.add, "<jnp.ufunc 'add'>"),
]


@pytest.mark.parametrize(
    ("make", "text"), TEXTS, ids=lambda x: x[:20] if isinstance(x, str) else ""
)
def test_texts(make, text):
    assert repr(make()) == text


# -------------------------------------------------------------------------- programs


def test_text_of_a_lowered_function():
    def f_(x, y):
        return {"a": x + y, "b": (x, None, y)}

    lowered = mj.jit(f_).lower(X, 2.0)
    text = lowered.as_text()
    assert text.startswith(
        "module @jit_f attributes {mhlo.num_partitions = 1 : i32,"
        " mhlo.num_replicas = 1 : i32} {\n"
    )
    head = text[text.index("->") :].splitlines()[0]
    assert head == (
        """-> (tensor<3xf32> {jax.result_info = "result['a']"},"""
        """ tensor<3xf32> {jax.result_info = "result['b'][0]"},"""
        """ tensor<f32> {jax.result_info = "result['b'][2]"}) {"""
    )
    assert str(lowered.compiler_ir()) == text
    assert "HloModule jit_f," in lowered.as_text("hlo")
    assert str(lowered.stablehlo()) == text
    assert "HloModule jit_f," in lowered.hlo().as_hlo_text()
    with pytest.raises(ValueError, match="unknown dialect: mhlo"):
        lowered.as_text("mhlo")
    # What is compiled is what a call compiles.
    assert "result_info" not in str(lowered._lowered.module.module)


def test_donation_and_results_without_a_name():
    text = mj.jit(lambda x: (x,), donate_argnums=0).lower(1.0).as_text()
    assert text.startswith("module @jit__lambda attributes")
    assert (
        "(%arg0: tensor<f32> {tf.aliasing_output = 0 : i32})"
        ' -> (tensor<f32> {jax.result_info = "result[0]"})'
    ) in text
    ref = mj.new_ref(jnp.ones(3))

    def write(x):
        ref[...] = x
        return x * 2

    text = mj.jit(write).lower(X).as_text()
    assert '{jax.result_info = "result"}' in text
    assert '{jax.result_info = ""}' in text
    assert "jax.result_info" not in mj.jit(lambda x: None).lower(1.0).as_text()
    text = mj.jit(lambda x: mj.tree_util.Partial(max, x)).lower(1.0).as_text()
    assert '"result[0][0]"' in text


def test_partitions_over_a_mesh():
    mesh = mj.sharding.Mesh(mj.devices()[:2], ("x",))
    spread = mj.sharding.NamedSharding(mesh, mj.P("x"))
    f = mj.jit(lambda x: [x * 2], out_shardings=spread)
    text = f.lower(mj.device_put(jnp.ones(4), spread)).as_text()
    assert "mhlo.num_partitions = 2 : i32" in text
    result = text[text.index("->") :].splitlines()[0]
    assert 'jax.result_info = "result[0]"' in result
    assert 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>' in result


def test_replicas_of_a_pmap():
    text = mj.pmap(lambda x: x).lower(jnp.ones((2, 3))).as_text()
    assert "mhlo.num_replicas = 2 : i32" in text


def test_stages_have_the_structure_of_their_arguments():
    traced = mj.jit(lambda x, *, k: {"a": (x, k)}).trace(1.0, k=X)
    f32 = mj.core.ShapedArray((3,), np.dtype("float32"))
    weak = mj.core.ShapedArray((), np.dtype("float32"), weak_type=True)
    assert traced.in_avals == ((weak,), {"k": f32})
    assert traced.out_avals == {"a": (weak, f32)}
    lowered = traced.lower()
    assert lowered.in_avals == traced.in_avals == lowered.compile().in_avals
    assert lowered.compile().donate_argnums == ()
    assert traced.args_info == mj.jit(lambda x, *, k: k).trace(1.0, k=X).args_info


def test_equations_have_lists():
    eqn = mj.make_jaxpr(lambda x: x * 2 + x)(1.0).eqns[1]
    assert type(eqn.invars) is list
    assert type(eqn.outvars) is list
    eqn.invars.reverse()  # it is the equation's own
    assert str(eqn.invars[0]) != str(eqn.invars[1])
    assert eqn.invars is eqn.invars
    assert eqn.replace(outvars=[]).outvars == []
    place, names = eqn.source_info
    assert "test_forms.py" in str(place)
    assert names == ""
    named = eqn.replace(source_info=eqn.source_info.replace(name_stack=names + "here"))
    assert named.source_info.name_stack == "here"


# ---------------------------------------------------------------------------- ufuncs

UFUNCS = {
    "add": (2, 0),
    "bitwise_and": (2, -1),
    "bitwise_or": (2, 0),
    "bitwise_xor": (2, 0),
    "logaddexp": (2, -np.inf),
    "logaddexp2": (2, -np.inf),
    "logical_and": (2, True),
    "logical_or": (2, False),
    "logical_xor": (2, False),
    "maximum": (2, None),
    "minimum": (2, None),
    "multiply": (2, 1),
    "negative": (1, None),
    "subtract": (2, None),
}


def test_ufuncs():
    names = [n for n in dir(jnp) if isinstance(getattr(jnp, n), jnp.ufunc)]
    assert names == sorted(UFUNCS)
    assert not isinstance(jnp.ufunc, jnp.ufunc)
    assert issubclass(type(jnp.add), jnp.ufunc)
    for name, (nin, identity) in UFUNCS.items():
        f = getattr(jnp, name)
        assert (f.nin, f.nout, f.nargs, f.identity) == (nin, 1, nin, identity)
        assert f.__name__ == name
        assert pickle.loads(pickle.dumps(f)) is copy.deepcopy(f) is f
        assert "Args:" in inspect.getdoc(f)
        assert f.__module__ == "minijax.numpy"


def test_keywords_of_ufuncs():
    for f in (jnp.add, jnp.logaddexp, jnp.frompyfunc(lambda x, y: x + y, 2, 1)):
        assert f(1.0, 2.0, out=None, where=None).shape == ()
        for k, v in {"out": X, "where": True}.items():
            with pytest.raises(NotImplementedError, match=f"{k} argument of <jnp.ufunc"):
                f(X, X, **{k: v})
    assert mj.jit(jnp.add)(1, 2) == mj.vmap(jnp.add)(X, X)[1] + 1 == 3
    assert mj.jit(lambda f, x: f(x, x), static_argnums=0)(jnp.multiply, 3) == 9
    assert "jit" not in str(mj.make_jaxpr(jnp.add)(1, 2))


# --------------------------------------------------------------------------- pickles

KEY = mj.random.key(3)
PICKLED = [
    SINGLE,
    mj.sharding.NamedSharding(MESH, mj.P("x")),
    mj.P("x", None),
    MESH,
    MESH.abstract_mesh,
    KEY,
    KEY.dtype,
    mj.typeof(KEY),
    mj.random.key(0, impl="rbg"),
    mj.typeof(X),
    mj.core.ShapedArray((2,), np.dtype("float32"), weak_type=True),
    mj.ShapeDtypeStruct((2,), jnp.float32, sharding=SINGLE),
    mj.tree.structure({"a": (1, None, [2]), "b": jnp.linalg.slogdet(jnp.eye(2))}),
    mj.tree.structure(mj.tree_util.Partial(jnp.add, 1)),
    jnp.float32,
    mj.P,
    mj.errors.KeyReuseError,
    mj.tree_util.DictKey("a"),
]


@pytest.mark.parametrize("x", PICKLED, ids=lambda x: type(x).__name__)
def test_pickles(x):
    other = pickle.loads(pickle.dumps(x))
    assert repr(other) == repr(x) == repr(copy.deepcopy(x))
    assert type(other) is type(x)
    assert bool(np.all(other == x))


def test_keys_of_ones_own_are_pickled_by_value():
    base = mj.random.key_impl(KEY)
    impl = mj.random.key(0).dtype.impl
    own_impl = type(impl)((2,), abs, max, min, sum, name="mine", tag="me")
    other = pickle.loads(pickle.dumps(own_impl))
    assert other == own_impl
    assert hash(other) == hash(own_impl)
    assert other != impl
    assert base == "threefry2x32"


# -------------------------------------------------------------------------- wrappers


def scaled(x: float, y=2) -> float:
    """Doc."""
    return x * y


scaled.attr = 3


@pytest.mark.parametrize(
    "wrap",
    [
        mj.custom_vjp,
        mj.custom_jvp,
        mj.custom_batching.custom_vmap,
        mj.custom_batching.sequential_vmap,
        mj.jit,
        mj.checkpoint,
    ],
)
def test_wrappers_hand_on_attributes(wrap):
    f = wrap(scaled)
    for name in ("__name__", "__doc__", "__module__", "__qualname__", "attr"):
        assert getattr(f, name) == getattr(scaled, name)
    assert f.__annotations__ == scaled.__annotations__
    assert f.__wrapped__ is scaled
    assert inspect.signature(f) == inspect.signature(scaled)


# ------------------------------------------------------- objects with `__jax_array__`


class Three:
    def __jax_array__(self):
        return jnp.arange(3)


THREES = {
    "asarray": jnp.asarray,
    "add": lambda x: jnp.zeros(3, int) + x,
    "full": lambda x: jnp.full((3,), x),
    "jit": mj.jit(lambda x: x),
    "lax": lambda x: lax.mul(x, 1),
    "reshape": lambda x: jnp.reshape(x, (3,)),
    "set": lambda x: jnp.zeros(3, int).at[:].set(x),
    "index": lambda x: jnp.arange(5)[x],
}


@pytest.mark.parametrize("name", THREES)
def test_jax_array(name):
    out = THREES[name](Three())
    assert isinstance(out, mj.Array)
    np.testing.assert_array_equal(out, [0, 1, 2])


def test_shapes_of_jax_array():
    x = Three()
    assert (jnp.shape(x), jnp.ndim(x), jnp.size(x)) == ((3,), 1, 3)
    assert jnp.nonzero(x)[0].tolist() == [1, 2]
    assert jnp.result_type(x) == jnp.int32


def test_classes_bear_the_names_that_programs_look_for():
    missing = []
    mj.jit(lambda x: missing.append(type(x).__name__) or x)(1.0)
    mj.vmap(lambda x: missing.append(type(x).__name__) or x)(X)
    mj.jvp(lambda x: missing.append(type(x).__name__) or x, (1.0,), (1.0,))
    missing.append(type(mj.make_jaxpr(jnp.sin)(1.0).eqns[0]).__name__)
    assert missing == ["DynamicJaxprTracer", "BatchTracer", "JVPTracer", "JaxprEqn"]
