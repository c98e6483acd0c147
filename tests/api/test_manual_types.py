"""What types say inside of `shard_map`: along which axes of the mesh values vary.

Types and texts are recorded from JAX 0.10.2; derivatives are those of the same function
written without devices.
"""

import re

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import P, lax
from minijax.base.errors import ShardingTypeError
from minijax.ir.core import Primitive
from minijax.sharding import AxisType, ManualAxisType

AUTO = (AxisType.Auto,) * 2
PX = P("x")
MESH = mj.make_mesh((4, 2), ("x", "y"), AUTO)
X = np.arange(8, dtype=np.float32)
W = np.array([0.5, 2.0], np.float32)
MAT = np.arange(32, dtype=np.float32).reshape(8, 4) / 8


def mapped(f, ins=PX, outs=PX, **options):
    return mj.shard_map(f, mesh=MESH, in_specs=ins, out_specs=outs, **options)


def types(f, *args, ins=PX, **options):
    """The types of the results of `f` inside, without what a spec would ask for."""
    seen = []

    def look(*xs):
        seen.extend(mj.typeof(y).str_short(True) for y in mj.tree.leaves(f(*xs)))
        return jnp.zeros(1)

    mj.make_jaxpr(mapped(look, ins, P(), **options))(*args)
    return " ".join(seen)


def body(f, *args, **options):
    """The program inside, in one line."""
    (eqn,) = mj.make_jaxpr(mapped(f, **options))(*args).jaxpr.eqns
    return re.sub(r"\s+", " ", str(eqn.params["jaxpr"]))


y = lambda x: lax.pcast(x, "y", to="varying")
terms = lambda x: lax.pcast(y(x), "y", to="unreduced")
reduced = lambda x: lax.pcast(x, "y", to="reduced")
zero = lambda: jnp.float32(0)


@pytest.mark.parametrize(
    "f, text",
    [
        (lambda x: x, "f32[2]{V:x}"),
        (lambda x: jnp.zeros(2), "f32[2]"),
        (lambda x: jnp.sin(x) * 2 + 1, "f32[2]{V:x}"),
        (lambda x: x + lax.axis_index("y"), "f32[2]{V:(x,y)}"),
        (lambda x: lax.axis_index("y"), "i32[]{V:y}"),
        (lambda x: lax.psum(x, "x"), "f32[2]"),
        (lambda x: lax.psum(x, "y"), "f32[2]{V:x}"),
        (lambda x: lax.psum(y(x), ("x", "y")), "f32[2]"),
        (lambda x: lax.pmax(x, "x"), "f32[2]"),
        (lambda x: lax.pmean(x, "x"), "f32[2]"),
        (lambda x: lax.psum(x, "x", axis_index_groups=[[0, 1], [2, 3]]), "f32[2]{V:x}"),
        (lambda x: lax.all_gather(x, "x"), "f32[4,2]{V:x}"),
        (lambda x: lax.all_gather(x, "y"), "f32[2,2]{V:(x,y)}"),
        (lambda x: lax.all_gather(x, "x", tiled=True, to="invarying"), "f32[8]"),
        (lambda x: lax.all_gather(x, "x", to="reduced"), "f32[4,2]{R:x}"),
        (lambda x: lax.psum_scatter(x, "y", tiled=True), "f32[1]{V:(x,y)}"),
        (lambda x: lax.ppermute(x, "y", [(0, 1)]), "f32[2]{V:(x,y)}"),
        (lambda x: lax.pbroadcast(x, "x", 1), "f32[2]{V:x}"),
        (lambda x: lax.all_to_all(x, "y", 0, 0, tiled=True), "f32[2]{V:(x,y)}"),
        (y, "f32[2]{V:(x,y)}"),
        (terms, "f32[2]{V:x, U:y}"),
        (reduced, "f32[2]{V:x, R:y}"),
        (lambda x: lax.pcast(reduced(x), "y", to="varying"), "f32[2]{V:(x,y)}"),
        (lambda x: lax.psum(terms(x), "y"), "f32[2]{V:x}"),
        (lambda x: lax.psum_scatter(terms(x), "y", tiled=True), "f32[1]{V:(x,y)}"),
        (lambda x: reduced(x) * y(x), "f32[2]{V:(x,y)}"),
        (lambda x: reduced(x) * reduced(x), "f32[2]{V:x, R:y}"),
        (
            lambda x: (jnp.zeros_like(x), jnp.full_like(x, 1, shape=(3,))),
            "f32[2]{V:x} f32[3]{V:x}",
        ),
        (lambda x: lax.full_like(x, 3), "f32[2]{V:x}"),
        (lambda x: lax.sort((x, jnp.zeros(2))), "f32[2]{V:x} f32[2]{V:x}"),
        (lambda x: lax.scan(lambda c, a: (c + 1, c * a), zero(), x), "f32[] f32[2]{V:x}"),
        (
            lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, x)),
            "i32[] f32[2]{V:x}",
        ),
        (lambda x: mj.vmap(lambda a: a + lax.axis_index("y"))(x), "f32[2]{V:(x,y)}"),
        (lambda x: mj.jit(lambda a, b: (a, b))(x, 1.0), "f32[2]{V:x} f32[]"),
        (lambda x: mj.grad(lambda w: (w * x).sum())(zero()), "f32[]"),
        (lambda x: mj.eval_shape(lambda a: a + 1, x), "f32[2]{V:x}"),
        (lambda x: mj.scipy.sparse.linalg.cg(lambda v: 2 * v, x)[0], "f32[2]{V:x}"),
        # Our own loops start from values that vary as steps make them.
        (lambda x: jnp.searchsorted(jnp.arange(4.0), x), "i32[2]{V:x}"),
        (lambda x: mj.random.poisson(mj.random.key(0), x), "i32[2]{V:x}"),
        # JAX says f32[2] of these, though each device chooses for itself.
        (
            lambda x: lax.cond(x[0] > 0, lambda: jnp.ones(2), lambda: jnp.zeros(2)),
            "f32[2]{V:x}",
        ),
        (
            lambda x: lax.while_loop(
                lambda c: c[0][0] < 3, lambda c: (c[0] + 1, c[1] + 1), (x, zero())
            ),
            "f32[2]{V:x} f32[]{V:x}",
        ),
    ],
)
def test_types(f, text):
    assert types(f, X) == text


def test_types_omit_axes_without_check_vma():
    f = lambda x: (x, lax.pcast(x, "y", to="varying"), lax.psum(x, "x"))
    assert types(f, X, check_vma=False) == "f32[2] f32[2] f32[2]"


def test_axes_are_listed_in_the_order_of_the_mesh():
    mesh = mj.make_mesh((2, 2, 2), ("z", "a", "b"), (AxisType.Auto,) * 3)
    seen = []
    f = lambda x: seen.append(mj.typeof(x)) or x
    mj.make_jaxpr(mj.shard_map(f, mesh=mesh, in_specs=P(("b", "z")), out_specs=P(("b", "z"))))(
        X
    )
    assert str(seen[0]) == "float32[2]{V:(z,b)}"
    assert seen[0].mat == ManualAxisType(varying={"b", "z"}) == seen[0].manual_axis_type


@pytest.mark.parametrize(
    "f, text",
    [
        (
            lambda x: x * 2.0,
            "{ lambda ; a:f32[2]{V:x}. let b:f32[]{V:x} = pvary[axes=('x',)] 2.0:f32[]"
            " c:f32[2]{V:x} = mul a b in (c,) }",
        ),
        (
            lambda x: lax.psum(x, "y"),
            "{ lambda ; a:f32[2]{V:x}. let b:f32[2]{V:(x,y)} = pvary[axes=('y',)] a"
            " c:f32[2]{V:x} = psum_invariant[axes=('y',)] b in (c,) }",
        ),
        (
            lambda x: lax.psum(x, "x"),
            "{ lambda ; a:f32[2]{V:x}. let b:f32[2] = psum_invariant[axes=('x',)] a"
            " c:f32[2]{V:x} = pvary[axes=('x',)] b in (c,) }",
        ),
        (
            lambda x: lax.psum(terms(x), "y"),
            "{ lambda ; a:f32[2]{V:x}. let b:f32[2]{V:(x,y)} = pvary[axes=('y',)] a"
            " c:f32[2]{V:x, U:y} = vary_unreduced_cast_p[axes=('y',)] b"
            " d:f32[2]{V:x} = unreduced_psum[axes=('y',)] c in (d,) }",
        ),
        (
            lambda x: lax.psum(lax.pcast(reduced(x), "y", to="varying"), "y"),
            "{ lambda ; a:f32[2]{V:x}. let b:f32[2]{V:x, R:y} = preduced[axes=('y',)] a"
            " c:f32[2]{V:(x,y)} = reduced_vary_cast_p[axes=('y',)] b"
            " d:f32[2]{V:x} = psum_invariant[axes=('y',)] c in (d,) }",
        ),
        (
            lambda x: mj.grad(lambda w: (w * x).sum())(jnp.float32(2)) * x,
            "{ lambda ; a:f32[2]{V:x}. let b:f32[]{V:x} = pvary[axes=('x',)] 2.0:f32[]"
            " c:f32[2]{V:x} = mul b a"
            " _:f32[]{V:x} = reduce_sum[axes=(0,) out_sharding=None] c"
            " d:f32[]{V:x} = pvary[axes=('x',)] 1.0:f32[]"
            " e:f32[2]{V:x} = broadcast_in_dim d f:f32[2]{V:x} = mul e a"
            " g:f32[]{V:x} = reduce_sum[axes=(0,) out_sharding=None] f"
            " h:f32[] = psum_invariant[axes=('x',)] g"
            " i:f32[]{V:x} = pvary[axes=('x',)] h j:f32[2]{V:x} = mul i a in (j,) }",
        ),
    ],
)
def test_programs(f, text):
    assert body(f, X) == text


WITHOUT = "implies that the corresponding output value is"
_custom = mj.custom_vjp(lambda w, x: (w * x).sum())
_custom.defvjp(lambda w, x: ((w * x).sum(), x), lambda x, g: ((g * x).sum(), jnp.zeros_like(x)))


@pytest.mark.parametrize(
    "f, outs, error, says",
    [
        (lambda x: x, P(), ValueError,
         WITHOUT + r" only varying across mesh axes {} and not {x}, but it was inferred to"
         " be possibly varying over {x}"),
        (y, P("x"), ValueError,
         WITHOUT + " replicated across mesh axis 'y', but could not infer replication"),
        (lambda x: lax.all_gather(x, "x"), P(), ValueError, "can't be statically inferred"),
        (reduced, P("x"), ValueError, "can't be statically inferred"),
        (lambda x: lax.psum(x, ("x", "y")), P(), ValueError,
         "corresponds to one of varying, unreduced, reduced or invarying state"),
        (lambda x: lax.pcast(x, "x", to="varying"), P("x"), ValueError,
         "Unsupported pcast from=varying, to='varying'"),
        (lambda x: lax.pcast(x, "y", to="unreduced"), P("x"), ValueError,
         "Unsupported pcast from=invarying, to='unreduced'"),
        (lambda x: lax.pcast(x, "y", to="equal"), P("x"), ValueError,
         "Got unexpected `to` value"),
        (lambda x: lax.psum(reduced(x), "y"), P("x"), ValueError,
         "pvary cannot accept args which are reduced"),
        (lambda x: terms(x) + y(x), P("x"), ValueError,
         "pvary cannot accept args which are unreduced"),
        (lambda x: reduced(x) * x, P("x"), ShardingTypeError,
         "Inputs cannot be replicated on the same axes that another input is reduced on"),
        (lambda x: jnp.sin(terms(x)), P("x"), NotImplementedError,
         "unreduced rule for sin is not implemented"),
        (lambda x: lax.scan(lambda c, a: (c + a, c), zero(), x)[0], P(), TypeError,
         r"has type float32\[\] but the corresponding output carry component has type"
         r" float32\[\]\{V:x\}, so the manual axis types do not match"),
        (lambda x: lax.fori_loop(0, 2, lambda i, c: c + x, jnp.zeros(2)), P("x"), TypeError,
         r"jax.lax.pcast\(..., \('x',\), to='varying'\)"),
        (lambda x: lax.cond(x[0] > 1, lambda x: x, lambda x: jnp.ones(2), x), P("x"),
         TypeError, r"so the manual axis types do not match(.|\n)*pcast.*of branch 1|of"
         " false_fun"),
        (lambda x: mj.grad(_custom)(zero(), x), P(), ValueError,
         r"Custom VJP bwd rule must produce an output with the same type(.|\n)*so the"
         " manual axis types do not match"),
    ],
)  # fmt: skip
def test_errors(f, outs, error, says):
    with pytest.raises(error, match=says):
        mj.make_jaxpr(mapped(f, outs=outs))(X)


@pytest.mark.parametrize(
    "call, error, says",
    [  # classes recorded from JAX 0.10.2
        (
            lambda: mapped(lambda x: x)(X[:6]),
            ValueError,
            "axis sizes that are not evenly divisible by the corresponding mesh axis sizes",
        ),
        (lambda: mapped(lambda x: x, P("z"))(X), ValueError, "refers to 'z'"),
        (lambda: mapped(lambda x: x, P("x", "x"))(MAT), ValueError, "at most one"),
        (
            lambda: mapped(lambda x: x, P("x"), P("x", "y"))(X),
            ValueError,
            "which is too long to be compatible",
        ),
        (lambda: mapped(lambda x: x, (P("x"), P("x")))(X), ValueError, "tree prefix"),
        (lambda: mapped(lambda x: x, "x")(X), TypeError, "must be a pytree of"),
        (
            lambda: mj.shard_map(lambda x: x, mesh=MESH, out_specs=PX)(X),
            TypeError,
            "but it was `None` when",
        ),
        (lambda: mapped(lambda x: x, axis_names={"z"})(X), ValueError, "to be a subset of"),
        (lambda: mapped(lambda x: lax.psum(x, "z"))(X), NameError, "unbound axis name: z"),
        (
            lambda: mapped(lambda x: lax.pcast(x, "z", to="varying"))(X),
            NameError,
            "unbound axis name: z",
        ),
        (
            lambda: mapped(lambda x: mapped(lambda x: x)(x))(X),
            ValueError,
            "must refer to an axis marked as manual",
        ),
        (lambda: mapped(3)(X), TypeError, "Expected a callable"),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_casts_may_be_left_to_the_program():
    with mj.auto_pcast(False):
        with pytest.raises(ValueError, match="mul requires varying manual axes to match"):
            mj.make_jaxpr(mapped(lambda x: x * 2.0))(X)
        with pytest.raises(ValueError, match=r"must be present in `jax\.typeof"):
            mj.make_jaxpr(mapped(lambda x: lax.pmax(x, "y")))(X)
        assert types(lambda x: y(x) + y(x), X) == "f32[2]{V:(x,y)}"


# (the function of parts, specs of w and x, spec of the result, the same of whole arrays)
TWO = P("x", "y")
DERIVATIVES = {
    "shared operand": (lambda w, x: jnp.sin(w * x), (P(), P("x")), P("x"),
                       lambda w, x: jnp.sin(jnp.tile(w, 4) * x)),
    "psum": (lambda w, x: lax.psum(jnp.sin(w * x), "x"), (P(), P("x")), P(),
             lambda w, x: jnp.sin(w * x.reshape(4, 2)).sum(0)),
    "pmean": (lambda w, x: lax.pmean(jnp.sin(w * x), "x"), (P(), P("x")), P(),
              lambda w, x: jnp.sin(w * x.reshape(4, 2)).mean(0)),
    "gather": (lambda w, x: lax.all_gather(jnp.sin(w * x), "x", to="invarying"),
               (P(), P("x")), P(), lambda w, x: jnp.sin(w * x.reshape(4, 2))),
    "gather tiles": (
        lambda w, x: lax.all_gather(jnp.sin(w * x), "x", to="invarying", tiled=True),
        (P(), P("x")), P(), lambda w, x: jnp.sin(w * x.reshape(4, 2)).reshape(8)),
    "reduced": (lambda w, x: jnp.sin(lax.pcast(w, "x", to="reduced") * x),
                (P(), P("x")), P("x"), lambda w, x: jnp.sin(jnp.tile(w, 4) * x)),
    "gathered reduced": (
        lambda w, x: lax.psum(
            lax.all_gather(jnp.sin(w * x), "x", to="reduced", tiled=True)
            * lax.pcast(jnp.arange(8.0), "x", to="varying"), "x"),
        (P(), P("x")), P(),
        lambda w, x: 4 * jnp.sin(jnp.tile(w, 4) * x) * jnp.arange(8.0)),
    "terms": (
        lambda w, x: lax.psum(lax.pcast(jnp.sin(w * x), "x", to="unreduced"), "x"),
        (P(), P("x")), P(), lambda w, x: jnp.sin(w * x.reshape(4, 2)).sum(0)),
    "scattered terms": (
        lambda w, x: lax.psum_scatter(
            lax.pcast(jnp.tile(w * x, 2), "x", to="unreduced"), "x", tiled=True),
        (P(), P("x")), P("x"), lambda w, x: jnp.tile((w * x.reshape(4, 2)).sum(0), 2)),
    "sums in groups": (
        lambda w, x: lax.psum(jnp.sin(w * x), "x", axis_index_groups=[[0, 3], [1, 2]]),
        (P(), P("x")), P("x"),
        lambda w, x: (lambda p: jnp.stack([p[0] + p[3], p[1] + p[2], p[1] + p[2],
                                           p[0] + p[3]]).reshape(8))(
            jnp.sin(w * x.reshape(4, 2)))),
    "remat and scan": (
        lambda w, x: mj.checkpoint(
            lambda w: lax.scan(lambda c, a: (jnp.sin(c * w), a * c.sum()), w * x, x)[1]
        )(w), (P(), P("x")), P("x"),
        lambda w, x: mj.vmap(lambda x: lax.scan(
            lambda c, a: (jnp.sin(c * w), a * c.sum()), w * x, x)[1])(
                x.reshape(4, 2)).reshape(8)),
    "chosen by each": (
        lambda w, x: lax.cond(lax.axis_index("x") > 1, lambda: w * 2, lambda: w * w) * x,
        (P(), P("x")), P("x"),
        lambda w, x: jnp.concatenate([jnp.tile(w * w, 2), jnp.tile(w * 2, 2)]) * x),
    "gradient inside": (
        lambda w, x: mj.grad(lambda w: jnp.sin(w * x).sum())(w), (P(), P("x")), P(),
        lambda w, x: mj.grad(lambda w: jnp.sin(jnp.tile(w, 4) * x).sum())(w)),
    "gradient of a sum inside": (
        lambda w, x: mj.grad(lambda w: lax.psum(jnp.sin(w * x).sum(), "x"))(w),
        (P(), P("x")), P(),
        lambda w, x: mj.grad(lambda w: jnp.sin(jnp.tile(w, 4) * x).sum())(w)),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    parts, ins, outs, full = DERIVATIVES[name]
    loss = lambda f: lambda w, x: (f(w, x) ** 2).sum()
    with_grads = lambda f: mj.jit(mj.value_and_grad(loss(f), (0, 1)))
    got = with_grads(mapped(parts, ins, outs))(W, X)
    expected = with_grads(full)(W, X)
    for a, b in zip(mj.tree.leaves(got), mj.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-4)


def test_residuals_are_sharded_as_they_vary():
    f = mapped(lambda w, x: jnp.sin(w * jnp.cos(w * x)), (P(), PX), PX)
    text = str(mj.make_jaxpr(lambda w: mj.vjp(lambda w: f(w, X), w)[1](X))(W))
    assert "Stacked(('x',))" in text and "Stacked(('x', 'y'))" not in text


def test_types_of_types():
    kinds = ManualAxisType(varying={"x"}, unreduced={"y"})
    assert kinds == ManualAxisType(varying={"x"}, unreduced=frozenset({"y"})) != {"x"}
    assert len({kinds, kinds.update(), kinds.update(varying=frozenset())}) == 2
    assert kinds.to_ct_mat() == ManualAxisType(varying={"x"}, reduced={"y"})
    assert (kinds.empty, ManualAxisType().empty, kinds.vur) == (False, True, {"x", "y"})
    assert repr(kinds) == (
        "ManualAxisType(varying=frozenset({'x'}), unreduced=frozenset({'y'}),"
        " reduced=frozenset())"
    )
    with pytest.raises(ValueError, match="varying and unreduced cannot have common mesh"):
        ManualAxisType(varying={"x"}, unreduced={"x"})
    with pytest.raises(TypeError, match="varying"):
        ManualAxisType(varying="x")
    struct = mj.ShapeDtypeStruct((2,), "float32", manual_axis_type=kinds)
    assert (
        repr(struct) == f"ShapeDtypeStruct(shape=(2,), dtype=float32, manual_axis_type={kinds})"
    )
    assert mj.typeof(struct).str_short(True) == "f32[2]{V:x, U:y}"
    assert struct.update(manual_axis_type=None) == mj.ShapeDtypeStruct((2,), "float32")


LANES = np.arange(32, dtype=np.float32).reshape(4, 8)


@pytest.mark.parametrize(
    "f, ins, outs, options, specs, inside",
    [
        (lambda v: v * 2, PX, PX, {}, "(P('y', 'x'),) -> (P('y', 'x'),)", "{V:(x,y)}"),
        (lambda v: v * 2, PX, PX, {"check_vma": False}, "(P('y', 'x'),) -> (P('y', 'x'),)", ""),
        (
            lambda v: v * 2,
            PX,
            PX,
            {"axis_names": {"x"}},
            "(P(None, 'x'),) -> (P(None, 'x'),)",
            "{V:x}",
        ),
        (lambda v: lax.psum(v, "x"), PX, P(), {}, "(P('y', 'x'),) -> (P('y',),)", "{V:(x,y)}"),
        (lambda v: jnp.ones(2), PX, PX, {}, "(P('y', 'x'),) -> (P('x',),)", "{V:(x,y)}"),
    ],
)
def test_lanes_are_sharded_over_a_mesh_axis(f, ins, outs, options, specs, inside):
    local = mapped(f, ins, outs, **options)
    lanes = mj.vmap(local, spmd_axis_name="y")
    params = mj.make_jaxpr(lanes)(LANES).jaxpr.eqns[0].params
    assert f"{params['in_specs']} -> {params['out_specs']}" == specs
    assert params["jaxpr"].in_avals[0].str_short(True).partition("]")[2] == inside
    np.testing.assert_array_equal(mj.jit(lanes)(LANES), mj.vmap(local)(LANES))


def test_derivatives_of_lanes_along_an_axis():
    lanes = mj.vmap(
        mapped(lambda w, v: jnp.sin(w * v), (P(), PX), PX), (None, 0), spmd_axis_name="y"
    )
    expected = mj.grad(lambda w: jnp.sin(jnp.tile(w, 4) * LANES).sum())(W)
    got = mj.jit(mj.grad(lambda w: lanes(w, LANES).sum()))(W)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "f, name, n, says",
    [
        (lambda v: v, "x", 4, "spmd_axis_name cannot appear in shard_map in_specs"),
        (lambda v: lax.psum(v, "y"), "y", 4, "uses the axis y"),
        (lambda v: v, "y", 3, "not evenly divisible by its size, 2"),
    ],
)
def test_lanes_that_cannot_be_sharded(f, name, n, says):
    with pytest.raises(ValueError, match=says):
        mj.make_jaxpr(mj.vmap(mapped(f), spmd_axis_name=name))(LANES[:n])


def test_axes_in_types_are_in_the_order_of_the_mesh():
    """So that the types of a value, and of another that is given such a type, are equal."""
    mesh = mj.make_mesh((2, 2), ("b", "a"), AUTO)
    seen = []

    def f(x):
        kinds = mj.typeof(x).manual_axis_type
        struct = mj.ShapeDtypeStruct(x.shape, x.dtype, manual_axis_type=kinds)
        mj.eval_shape(lambda v: seen.append(mj.typeof(v)), struct)
        seen.extend([mj.typeof(jnp.zeros_like(struct)), mj.typeof(x)])
        return x

    spec = P("b", "a")
    mj.make_jaxpr(mj.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec))(np.ones((4, 4)))
    assert [t.str_short(True) for t in seen] == ["f32[2,2]{V:(b,a)}"] * 3
    assert seen[0] == seen[1] == seen[2]


def test_types_are_found_once():
    """Of operations over axes in scope, too, which the checked types need many of."""
    primitives = []

    def abstract(x, *, axes):
        primitives.append(axes)
        return x

    prim = Primitive("test_types_found_once")
    prim.abstract, prim.named_axes = abstract, lambda params: params["axes"]
    calls = lambda x: prim.bind(prim.bind(x, axes=("x",)), axes=("x",))
    for size, options in ((2, {}), (2, {"check_vma": False}), (4, {}), (4, {})):
        shape = (size, 4 // size)
        mesh = mj.sharding.AbstractMesh(shape, ("x", "y"))
        f = mj.shard_map(
            lambda x: calls(x), mesh=mesh, in_specs=P("x"), out_specs=P("x"), **options
        )
        with mj.enable_checks(False):  # they ask again
            mj.make_jaxpr(f)(jnp.ones((size, 3)))
    assert len(primitives) == 3  # for each size, and where types say what varies


# ------------------------------------------- derivatives by what all devices share

LOCAL = X.reshape(4, 2)[:, :1]  # what each device along x holds first


@pytest.mark.parametrize(
    "f, error",
    [
        (lambda w, x: mj.vjp(lambda w: w * 2, w)[1](x), ValueError),
        (lambda w, x: mj.vjp(lambda w: w * x, w)[1](w), ValueError),
        (lambda w, x: mj.linear_transpose(lambda w: w * 2, w)(x), TypeError),
        (lambda w, x: mj.linear_transpose(lambda w: lax.psum(w, "x"), x)(x), TypeError),
    ],
)
def test_cotangents_vary_as_the_outputs_do(f, error):
    with pytest.raises(error, match=r"float32\[2\].*\{V:x\}"):
        mapped(f, (P(), PX))(W, X)


def test_cotangents_that_vary_as_outputs_do():
    def f(w, x):
        (ct,) = mj.vjp(lambda w: w * x, w)[1](x)  # a sum over devices
        (own,) = mj.linear_transpose(lambda w: w * 2, x)(x)
        return ct, own

    ct, own = mapped(f, (P(), PX), (P(), PX))(W, X)
    assert ct.tolist() == (X.reshape(4, 2) ** 2).sum(0).tolist()
    assert own.tolist() == (2 * X).tolist()


def test_a_jacobian_by_what_all_devices_share_is_each_devices_or_the_sum():
    def f(varying, of=mj.jacrev):
        jac = lambda w, x: of(lambda w: w * x[:1], varying=varying)(w)[None]
        outs = PX if varying else P()
        return mapped(jac, (P(), PX), outs)(W[:1], X)

    with pytest.raises(ValueError, match=r"varies along 'x'(?s:.*)varying=True"):
        f(None)
    assert f(True)[:, 0].tolist() == LOCAL.tolist()
    assert f(False)[0, 0].tolist() == [LOCAL.sum()]
    with pytest.raises(ValueError, match="varies along 'x'"):
        f(None, mj.jacobian)
    forward = mapped(lambda w, x: mj.jacfwd(lambda w: w * x[:1])(w), (P(), PX))
    assert forward(W[:1], X).tolist() == LOCAL.tolist()
    loss = lambda w, x: (w**2 * x[0]).sum()
    hessian = mapped(lambda w, x: mj.hessian(loss)(w, x), (P(), PX), P())
    assert hessian(W[:1], X).tolist() == [[2 * LOCAL.sum()]]
    own = lambda w, x: mj.hessian(loss, varying=True)(w, x)
    assert mapped(own, (P(), PX))(W[:1], X).tolist() == (2 * LOCAL).tolist()


def test_jacobians_where_no_output_varies_more_than_an_input():
    f = lambda w, x: mj.jacrev(lambda w: lax.psum(w * x, "x"))(w)
    expected = np.diag(X.reshape(4, 2).sum(0))
    np.testing.assert_array_equal(mapped(f, (P(), PX), P())(W, X), expected)
    f = lambda x: mj.jacrev(lambda x: x**2)(x)
    assert np.asarray(mapped(f)(X))[2:4].tolist() == [[4, 0], [0, 6]]


@pytest.mark.parametrize(
    "make",
    [
        jnp.zeros_like,
        jnp.ones_like,
        jnp.empty_like,
        lambda s: jnp.full_like(s, 2),
        lambda s: lax.full_like(s, 2),
        lambda s: lax.full_like(s, 2, "float32"),
        lambda s: mj.tree.map(jnp.zeros_like, mj.eval_shape(lambda: s)),
    ],
)
def test_arrays_like_a_type_vary_like_it(make):
    f = lambda x: make(mj.eval_shape(lambda x: 2 * x, x))
    assert types(f, X) == "f32[2]{V:x}"
    outside = make(mj.ShapeDtypeStruct((2,), "float32", manual_axis_type=VARIES))
    assert mj.typeof(outside).str_short(True) == "f32[2]"


VARIES = ManualAxisType(varying={"x"})
