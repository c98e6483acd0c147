"""A library's own primitive, declared as JAX's documentation does, under every
transformation."""

import jaxlib.mlir.dialects.stablehlo as hlo
import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.extend.core import Primitive, no_effects, primitives
from minijax.interpreters import ad, batching, mlir
from minijax.ir.core import registry

X = jnp.array([1.0, 2.0, 3.0])


def scaled_product(name):
    """x * y * scale, bilinear, with all its rules given in JAX's forms."""
    prim = Primitive(name)
    prim.def_impl(lambda x, y, *, scale: np.asarray(x) * np.asarray(y) * scale)
    prim.def_abstract_eval(lambda x, y, *, scale: jax.core.ShapedArray(x.shape, x.dtype))
    ad.defbilinear(
        prim,
        lambda ct, x, y, *, scale: prim.bind(ct, y, scale=scale),
        lambda ct, x, y, *, scale: prim.bind(x, ct, scale=scale),
    )

    def batch(args, dims, *, scale):
        assert type(args) is type(dims) is tuple
        size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        front = [batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        return prim.bind(*front, scale=scale), 0

    batching.primitive_batchers[prim] = batch

    def lower(ctx, x, y, *, scale):
        assert ctx.module_context.platforms == ("cpu",)
        (aval,) = ctx.avals_out
        factor = mlir.ir_constant(np.full(aval.shape, scale, aval.dtype))
        return [hlo.multiply(hlo.multiply(x, y), factor)]

    mlir.register_lowering(prim, lower)
    return prim


prim = scaled_product("own_product")


def product(x, y=X, scale=2.0):
    return prim.bind(x, y, scale=scale)


EXPECTED = np.array([2.0, 8.0, 18.0], np.float32)
CASES = {
    "eager": (lambda: product(X), EXPECTED),
    "jit": (lambda: jax.jit(product)(X), EXPECTED),
    "grad": (lambda: jax.grad(lambda x: product(x, x).sum())(X), 4 * X),
    "jit of grad": (lambda: jax.jit(jax.grad(lambda x: product(x).sum()))(X), 2 * X),
    "jvp": (lambda: jax.jvp(lambda x: product(x, x), (X,), (X,))[1], 4 * X * X),
    "vmap": (
        lambda: jax.vmap(lambda x: product(x, X), out_axes=1)(jnp.stack([X, X]))[:, 1],
        EXPECTED,
    ),
    "vmap of a shared": (lambda: jax.vmap(product, (None, 0))(X, X[None])[0], EXPECTED),
    "hessian": (lambda: jax.hessian(lambda x: product(x, x).sum())(X), 4 * jnp.eye(3)),
    "scan": (lambda: lax.scan(lambda c, x: (product(c, x, 1.0), c), X, X[None])[0], X * X),
    "cond": (lambda: lax.cond(True, product, lambda x: x, X), EXPECTED),
    "while": (lambda: lax.while_loop(lambda c: c[0] < 4, product, X), 4 * X**3),
    "remat": (lambda: jax.grad(lambda x: jax.checkpoint(product)(x).sum())(X), 2 * X),
    "pmap": (lambda: jax.pmap(product)(X[None], X[None])[0], EXPECTED),
}


@pytest.mark.parametrize("name", CASES)
def test_it_works_under(name):
    result, expected = CASES[name]
    np.testing.assert_allclose(result(), expected, rtol=1e-6)


def test_missing_rules_are_reported_as_in_jax():
    bare = Primitive("own_bare")
    for run, what in [
        (lambda: bare.bind(1.0), "Evaluation rule for 'own_bare' not implemented"),
        (lambda: jax.jit(bare.bind)(1.0), "Abstract evaluation for 'own_bare'"),
        (lambda: jax.grad(bare.bind)(1.0), "Differentiation rule for 'own_bare'"),
        (lambda: jax.vmap(bare.bind)(X), "Batching rule for 'own_bare'"),
    ]:
        with pytest.raises(NotImplementedError, match=what):
            run()
    bare.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="MLIR translation rule for"):
        jax.jit(bare.bind)(1.0)


@pytest.mark.parametrize(
    "table",
    [
        ad.primitive_jvps,
        ad.primitive_transposes,
        batching.primitive_batchers,
        batching.fancy_primitive_batchers,
        batching.axis_primitive_batchers,
    ],
)
def test_tables_of_rules_are_mappings(table):
    bare = Primitive("own_entry")
    assert bare not in table
    with pytest.raises(KeyError):
        table[bare]
    rule = lambda *args, **params: None
    table[bare] = rule
    assert table[bare] is rule
    del table[bare]
    assert bare not in table
    assert primitives.add_p in table
    assert len(table) == len(list(table)) > 50


def test_rules_of_ours_are_read_in_jaxs_forms():
    sin = primitives.sin_p
    out, tangent = ad.primitive_jvps[sin]((1.0,), (2.0,), accuracy=None)
    np.testing.assert_allclose([out, tangent], [np.sin(1.0), 2 * np.cos(1.0)], rtol=1e-6)
    (ct,) = ad.primitive_transposes[primitives.neg_p](3.0, ad.UndefinedPrimal(jax.typeof(1.0)))
    assert ct == -3.0
    out, dim = batching.primitive_batchers[sin]((X,), (0,), accuracy=None)
    assert dim == 0
    np.testing.assert_allclose(out, np.sin(X), rtol=1e-6)
    with pytest.raises(KeyError):
        ad.primitive_transposes[sin]


def test_a_batcher_receives_its_axis():
    axes = []
    own = Primitive("own_axis")
    own.def_impl(lambda x: x)
    own.def_abstract_eval(lambda x: x)

    def rule(size, name, _, args, dims):
        axes.append((size, name, dims))
        return args[0], dims[0]

    batching.axis_primitive_batchers[own] = rule
    jax.vmap(lambda x: x + own.bind(x) + own.bind(1.0), axis_name="i")(X)
    assert axes == [(3, "i", (0,)), (3, "i", (None,))]
    batching.fancy_primitive_batchers[own] = lambda axis, args, dims: (args[0], dims[0])
    assert jax.vmap(own.bind)(X).tolist() == X.tolist()


def test_several_results_and_zeros():
    pair = Primitive("own_pair")
    pair.multiple_results = True
    pair.def_impl(lambda x: (x, x))
    pair.def_abstract_eval(lambda x: (x, x))
    seen = []

    def transpose(cts, x):
        seen.append([type(ct) is ad.Zero for ct in cts] + [ad.is_undefined_primal(x)])
        return [ad.instantiate_zeros(cts[0])]

    ad.deflinear2(pair, transpose)
    assert jax.grad(lambda x: 3 * pair.bind(x)[0])(1.0) == 3.0
    assert seen == [[False, True, True]]
    mlir.register_lowering(pair, mlir.lower_fun(lambda x: (x, 2 * x)))
    assert [float(x) for x in jax.jit(pair.bind)(1.0)] == [1.0, 2.0]


def test_rules_of_ours_can_be_replaced():
    before = ad.primitive_jvps[primitives.cos_p]
    ad.primitive_jvps[primitives.cos_p] = lambda p, t, **params: (
        primitives.cos_p.bind(*p, **params),
        7 * t[0],
    )
    try:
        assert jax.grad(lambda x: lax.cos(x) * 1.0)(2.0) == 7.0
    finally:
        ad.primitive_jvps[primitives.cos_p] = before
    np.testing.assert_allclose(jax.grad(lax.cos)(2.0), -np.sin(2.0), rtol=1e-6)
    own = scaled_product("own_replaced")
    own.linearize = lambda *_, **__: None  # a rule that goes before the jvp
    ad.primitive_jvps[own] = lambda p, t, **params: (X, 7 * X)
    assert own.linearize is None


def test_a_second_primitive_of_a_name_leaves_the_first():
    first = registry["add"]
    second = Primitive("add")
    assert registry["add"] is first
    assert isinstance(first, Primitive)
    assert isinstance(second, Primitive)
    assert not isinstance(1, Primitive)


def test_lowering_by_platform_and_core_calls():
    own = scaled_product("own_platform")
    mlir.register_lowering(own, lambda ctx, x, y, scale: [x], platform="cpu")
    assert jax.jit(lambda x: own.bind(x, x, scale=9.0))(X).tolist() == X.tolist()
    called = jax.extend.core.CallPrimitive("own_call")
    out = jax.jit(lambda x: called.bind(lambda y: [y * 2], x)[0])(3.0)
    assert out == 6.0


def test_all_primitives_of_the_public_module_are_ours():
    for name in primitives.__all__:
        prim = getattr(primitives, name)
        assert isinstance(prim, Primitive), name
        assert prim.call_primitive is (name in ("call_p", "closed_call_p"))
        assert not prim.map_primitive


class Tagged(Primitive):
    """A primitive with all its rules in the class's body."""

    multiple_results = True

    def impl(self, x, *rest, count):
        return (x, *rest)[:count]

    def abstract_eval(self, x, *rest, count):
        return (x, *rest)[:count], no_effects


def test_a_class_with_rules_in_its_body():
    prim = Tagged("tagged")
    mlir.register_lowering(prim, lambda ctx, *xs, count: xs[:count])
    call = lambda x, y: prim.bind(x, y, count=1)
    assert call(1.0, 2.0)[0] == 1.0
    (out,) = jax.jit(call)(X, X)
    np.testing.assert_array_equal(out, X)
    assert len(jax.make_jaxpr(call)(X, X).out_avals) == 1


NAMES = (
    "axis args dims primals tangents ct cts ctx emit size name prim rule eqn fun given key"
    " operands params value where _"
).split()


@pytest.mark.parametrize("how", ("rules", "linear", "parts", "fancy"))
def test_params_may_have_any_names(how):
    """A library's params have the names of our rules' arguments, and reach its rules."""
    prim = Primitive(f"scaled_{how}")
    params = dict.fromkeys(NAMES, 1) | {"factor": 3.0}
    bind = lambda x, /, **k: prim.bind(x, **k)
    prim.def_impl(lambda x, /, **k: np.asarray(x) * k["factor"])
    prim.def_abstract_eval(lambda x, /, **k: jax.core.ShapedArray(x.shape, x.dtype))
    scaled = lambda x, /, **k: x * k["factor"]
    mlir.register_lowering(prim, mlir.lower_fun(scaled, multiple_results=False))
    lanes = lambda args, dims, /, **k: (prim.bind(*args, **k), dims[0])
    if how == "linear":
        ad.deflinear(prim, lambda ct, /, **k: [scaled(ct, **k)])
        batching.defvectorized(prim)
    elif how == "parts":
        ad.defjvp(prim, lambda t, x, /, **k: t * k["factor"])
        batching.primitive_batchers[prim] = lanes
    else:
        ad.primitive_jvps[prim] = lambda xs, ts, /, **k: (bind(*xs, **k), bind(*ts, **k))
        ad.primitive_transposes[prim] = lambda ct, x, /, **k: [scaled(ct, **k)]
        if how == "fancy":
            rule = lambda axis, args, dims, /, **k: lanes(args, dims, **k)
            batching.fancy_primitive_batchers[prim] = rule
        else:
            ad.deflinear2(prim, lambda ct, x, /, **k: [scaled(ct, **k)])
            batching.primitive_batchers[prim] = lanes
    f = lambda x: prim.bind(x, **params)
    for g in jax.vmap(f), jax.jit(f), jax.vmap(jax.grad(f)), jax.jit(jax.vmap(f)):
        assert g(jnp.ones(2)).tolist() == [3.0, 3.0]
