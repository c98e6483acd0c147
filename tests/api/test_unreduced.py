"""`P(unreduced=...)` and `P(reduced=...)`: terms of sums, and what has such for cotangents.

Types and errors are recorded from JAX 0.10.2; values and derivatives are NumPy's, or those
of the same function without meshes.
"""

import re

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import P, lax, reshard
from minijax.base.errors import ShardingTypeError
from minijax.sharding import NamedSharding

MESH = mj.make_mesh((4, 2), ("x", "y"))
A = np.arange(32, dtype=np.float32).reshape(8, 4) / 8
B = np.arange(24, dtype=np.float32).reshape(4, 6) / 8
TERMS, REDUCED = P("x", None, unreduced={"y"}), P("x", None, reduced={"y"})


@pytest.fixture(autouse=True)
def over_mesh():
    with mj.set_mesh(MESH):
        yield


def sharded(x, *spec):
    return mj.device_put(x, NamedSharding(MESH, P(*spec)))


def product(a, b):
    return jnp.einsum("ij,jk->ik", a, b, out_sharding=TERMS)


def local(f, ins, outs, **options):
    return mj.shard_map(f, in_specs=ins, out_specs=outs, **options)


def made(f):
    """The type of what `f` makes of the two matrices."""
    return mj.make_jaxpr(f)(sharded(A, "x", "y"), sharded(B, "y")).out_avals[0].str_short(True)


dot = lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), out_sharding=TERMS)
red = lambda a: reshard(a, REDUCED)


@pytest.mark.parametrize(
    "f, text",
    [
        (product, "f32[8@x,6]{U:y}"),
        (dot, "f32[8@x,6]{U:y}"),
        (lambda a, b: product(a, b) + product(a, b), "f32[8@x,6]{U:y}"),
        (lambda a, b: product(a, b).sum(), "f32[]{U:y}"),
        (lambda a, b: product(a, b).T, "f32[6,8@x]{U:y}"),
        (lambda a, b: product(a, b).reshape(8, 3, 2), "f32[8@x,3,2]{U:y}"),
        (lambda a, b: product(a, b)[:, :2], "f32[8@x,2]{U:y}"),
        (lambda a, b: product(a, b).astype(jnp.bfloat16), "bf16[8@x,6]{U:y}"),
        (lambda a, b: reshard(product(a, b), P("x", "y")), "f32[8@x,6@y]"),
        (lambda a, b: reshard(a, TERMS), "f32[8@x,4]{U:y}"),
        (lambda a, b: red(a), "f32[8@x,4]{R:y}"),
        (lambda a, b: jnp.sin(red(a)) * 2.0 + red(a), "f32[8@x,4]{R:y}"),
        (lambda a, b: red(a) * a, "f32[8@x,4@y]"),
        (lambda a, b: product(a, b) * red(jnp.ones((8, 6))), "f32[8@x,6]{U:y}"),
        (lambda a, b: reshard(red(a), P("x")), "f32[8@x,4]"),
        (lambda a, b: jnp.zeros((8, 6), out_sharding=TERMS), "f32[8@x,6]{U:y}"),
        (
            lambda a, b: lax.scan(
                lambda c, _: (c + product(a, b), None), product(a, b), None, length=2
            )[0],
            "f32[8@x,6]{U:y}",
        ),
        (lambda a, b: mj.vmap(jnp.negative)(red(a)), "f32[8@x,4]{R:y}"),
        (
            lambda a, b: local(lambda a: a.sum(1), P("x", "y"), P("x", unreduced={"y"}))(a),
            "f32[8@x]{U:y}",
        ),
        (
            lambda a, b: local(lambda c: lax.psum(c, "y"), TERMS, P("x"))(product(a, b)),
            "f32[8@x,6]",
        ),
        (
            lambda a, b: mj.shard_map(lambda c: lax.psum(c, "y"), out_specs=P("x"))(
                product(a, b)
            ),
            "f32[8@x,6]",
        ),
        (
            lambda a, b: local(lambda a: lax.pcast(a, "y", to="reduced"), P("x"), REDUCED)(
                reshard(a, P("x"))
            ),
            "f32[8@x,4]{R:y}",
        ),
    ],
)
def test_types(f, text):
    assert made(f) == text


AMBIGUOUS = "out_sharding's unreduced axes should be equal to the contracting specs"


@pytest.mark.parametrize(
    "f, error, says",
    [
        (lambda a, b: jnp.sin(product(a, b)), NotImplementedError,
         "unreduced rule for sin is not implemented"),
        (lambda a, b: product(a, b) * product(a, b), ShardingTypeError,
         "lhs and rhs to `mul` cannot be unreduced since mul is bilinear"),
        (lambda a, b: product(a, b) * 2, ShardingTypeError,
         "RHS should be reduced along the same axes LHS is unreduced on"),
        (lambda a, b: product(a, b) + jnp.ones((8, 6)), ShardingTypeError,
         "lhs is unreduced while rhs is not. `add` operation does not allow this"),
        (lambda a, b: red(a) + reshard(a, P("x")), ShardingTypeError,
         "Inputs cannot be replicated on the same axes that another input is reduced on"),
        (lambda a, b: product(reshard(a, P()), reshard(b, P())), ShardingTypeError,
         AMBIGUOUS),
        (lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P(unreduced={"x"})),
         ShardingTypeError, AMBIGUOUS),
        (lambda a, b: local(lambda a: a, REDUCED, REDUCED)(reshard(a, P("x"))), ValueError,
         "does not match the specs of the input"),
        (lambda a, b: mj.shard_map(
            lambda a: a, in_specs=P("x"), out_specs=P("x", unreduced={"y"}),
            mesh=mj.make_mesh((4, 2), ("x", "y"), (mj.sharding.AxisType.Auto,) * 2))(A),
         ValueError, "can only be used when the mesh passed to shard_map contains"),
        (lambda a, b: NamedSharding(MESH, P(unreduced={"z"})), ValueError,
         "Unreduced axes z is not found in mesh.axis_names=('x', 'y')"),
        (lambda a, b: NamedSharding(
            mj.make_mesh((8,), ("x",), (mj.sharding.AxisType.Auto,)), P(reduced={"x"})),
         ValueError, "Reduced axes can only refer to mesh axes that is of type `Explicit`"),
    ],
)  # fmt: skip
def test_errors(f, error, says):
    with pytest.raises(error, match=re.escape(says)):
        made(f)


def test_programs():
    """The sum is taken where it is asked for, once; of derivatives, too."""

    def loss(b, a):
        out = jnp.einsum(
            "ij,jk->ik", a, reshard(b, P(None, None, reduced={"x"})), out_sharding=P("x")
        )
        return jnp.sin(out).sum()

    grad = mj.jit(mj.grad(loss))
    args = B, sharded(A, "x")
    text = str(mj.make_jaxpr(grad)(*args))
    for line in (
        "f32[4,6]{R:x} = reshard",
        "f32[6,4]{U:x} = dot_general",
        "f32[4,6]{U:x} = transpose",
    ):
        assert line in text, text
    np.testing.assert_allclose(grad(*args), A.T @ np.cos(A @ B), rtol=2e-5, atol=2e-5)
    compiled = grad.lower(*args).compile().as_text()
    assert compiled.count(" all-reduce(") == 1


def test_terms_of_a_sum_are_a_value():
    both = lambda a, b: (
        product(a, b),
        reshard(product(a, b) - product(a, b) * red(jnp.full((8, 6), 3.0)), P("x", "y")),
    )
    terms, other_terms = mj.jit(both)(sharded(A, "x", "y"), sharded(B, "y"))
    assert terms.sharding.spec == TERMS
    total = mj.jit(lambda a, b: product(a, b).sum())(sharded(A, "x", "y"), sharded(B, "y"))
    assert total.sharding.spec == P(unreduced={"y"}) and not total.is_fully_replicated
    np.testing.assert_allclose(reshard(total, P()), (A @ B).sum(), rtol=1e-5)
    np.testing.assert_allclose(other_terms, -2 * (A @ B), rtol=1e-5)
    np.testing.assert_allclose(reshard(terms, P("x")), A @ B, rtol=1e-5)
    assert repr(terms) == f"Array(shape=(8, 6), dtype=float32, sharding={terms.sharding})"
    with pytest.raises(NotImplementedError, match="doesn't work with unreduced"):
        np.asarray(terms)


def test_shards_of_terms_are_the_terms():
    terms = mj.jit(product)(sharded(A, None, "y"), sharded(B, "y"))  # rows along x
    shards = terms.addressable_shards
    assert [s.replica_id for s in shards] == [0] * 8
    total = np.zeros((8, 6), np.float32)
    for shard in shards:
        total[shard.index] += np.asarray(shard.data)
    np.testing.assert_allclose(total, A @ B, rtol=1e-6)
    k = 2  # of the four columns, those of the first device along y
    np.testing.assert_allclose(terms.addressable_data(0), A[:2, :k] @ B[:k], rtol=1e-6)
    again = mj.make_array_from_single_device_arrays(
        terms.shape, terms.sharding, [s.data for s in shards]
    )
    assert mj.typeof(again) == mj.typeof(terms)
    np.testing.assert_allclose(reshard(again, P()), A @ B, rtol=1e-6)
    copied = mj.jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P(unreduced={"y"})))
    ids = [
        s.replica_id for s in copied(sharded(A, None, "y"), sharded(B, "y")).addressable_shards
    ]
    assert ids == [0, 0, 1, 1, 2, 2, 3, 3]  # one for each device along x
    with pytest.raises(NotImplementedError, match="doesn't work with unreduced"):
        mj.make_array_from_callback((8, 6), terms.sharding, lambda at: A @ B)


def test_derivatives_of_several_factors():
    def loss(b, a, c):
        out = jnp.einsum("ij,jk,k->ik", a, reshard(b, P(reduced={"x"})), c, out_sharding=P("x"))
        return jnp.sin(out).sum()

    c = np.array([1, 2, 3, 4, 5, 6], np.float32) / 6
    got = mj.jit(mj.grad(loss))(B, sharded(A, "x"), c)
    np.testing.assert_allclose(got, A.T @ (np.cos(A @ B * c) * c), rtol=2e-5, atol=2e-5)


def test_derivatives_of_shards():
    def loss(a):
        sines = lambda a: jnp.sin(lax.pcast(a, "y", to="varying") * lax.axis_index("y"))
        return local(sines, REDUCED, P(("y", "x")))(red(a)).sum()

    np.testing.assert_allclose(mj.jit(mj.grad(loss))(A), np.cos(A), rtol=1e-5)
    scattered = lambda a, b: jnp.sin(reshard(product(a, b), P("x", "y"))).sum()
    got = mj.jit(mj.grad(scattered))(sharded(A, "x", "y"), sharded(B, "y"))
    np.testing.assert_allclose(got, np.cos(A @ B) @ B.T, rtol=2e-5, atol=2e-5)


def layer(c, w):
    return jnp.tanh(c @ w), None


def layers(w, x):
    return (lax.scan(layer, x, w)[0] ** 2).sum()


def unrolled(w, x):
    return (lax.scan(layer, x, w, unroll=2)[0] ** 2).sum()


def remat_layers(w, x):
    return (lax.scan(mj.checkpoint(layer), x, w)[0] ** 2).sum()


def batches(w, x):
    return lax.scan(lambda c, row: (c + layers(w, row), None), 0.0, jnp.stack([x, 2 * x]))[0]


def chosen(w, x):
    return lax.cond(x.sum() < 0, lambda w: x.sum(), lambda w: layers(w, x), w)


def counted(w, x):
    step = lambda i, c: (c[0] + layers(w, c[1]), c[1] * 2)
    return lax.fori_loop(0, 3, step, (0.0, x))[0]


@pytest.mark.parametrize("f", [layers, unrolled, remat_layers, batches, chosen, counted])
def test_loops_add_up_cotangents_of_reduced_weights_once(f):
    w = np.random.default_rng(0).normal(size=(4, 4, 4)).astype(np.float32) / 2

    def gradient(w, x):
        full = reshard(w, P(None, None, None, reduced={"x"}))
        return reshard(mj.grad(f)(full, x), P())

    through = lambda w, x: f(reshard(w, P(None, None, None, reduced={"x"})), x)
    x = sharded(A, "x")
    expected = mj.grad(f)(sharded(w), x)
    for g in gradient, mj.grad(through):
        program = mj.jit(g).lower(sharded(w), x).compile()
        text = program.as_text()
        sums = re.findall(r"= (f32\[\S*) all-reduce(?:-start)?\(", text)
        assert [s for s in sums if s.startswith("f32[4,4")] == ["f32[4,4,4]{2,1,0}"]
        np.testing.assert_allclose(program(sharded(w), x), expected, rtol=1e-5, atol=1e-6)
