"""Meshes with `Explicit` axes: types say how values lie (recorded from JAX 0.10.2)."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
import minijax.scipy as jsp
from minijax import lax, nn
from minijax.base import config
from minijax.base.errors import ShardingTypeError
from minijax.sharding import (
    AxisType,
    Mesh,
    NamedSharding,
    auto_axes,
    explicit_axes,
    get_abstract_mesh,
)
from minijax.sharding import PartitionSpec as P

MESH = mj.make_mesh((4, 2), ("x", "y"))  # both are Explicit
A, B, C = ((8, 4), P("x", "y")), ((8, 4), P("x")), ((8, 4), P(None, "y"))
R, W = ((8, 4), P()), ((4, 8), P(None, "y"))
WY, WXY = ((4, 8), P("y")), ((4, 8), P("x", "y"))
V, VI = ((8,), P("x")), ((8,), P("x"), "int32")


def struct(shape, spec, dtype="float32"):
    where = mj.NamedSharding(MESH, spec)
    return mj.ShapeDtypeStruct(shape, dtype, sharding=where)


def types(fun, *operands):
    """The types of the results, short, without computing them."""
    with mj.set_mesh(MESH):
        jaxpr = mj.make_jaxpr(fun)(*(struct(*o) for o in operands))
    return " ".join(a.str_short(True) for a in jaxpr.out_avals)


def body(c, w):
    return jnp.tanh(jnp.einsum("bi,ij->bj", c, w, out_sharding=P("x", None))), c.sum()


def attention(q):
    s = jnp.einsum("bthd,bshd->bhts", q, q)
    s = jnp.where(jnp.tril(jnp.ones((4, 4), bool)), s, -1e9)
    return jnp.einsum("bhts,bshd->bthd", nn.softmax(s, -1), q)


TYPES = [
    ("add", lambda a, b: a + b, (A, B), "f32[8@x,4@y]"),
    ("join", lambda b, c: b + c, (B, C), "f32[8@x,4@y]"),
    ("whole", lambda a, r: a + r, (A, R), "f32[8@x,4@y]"),
    ("scalar", lambda a: a * 2 + 1, (A,), "f32[8@x,4@y]"),
    ("sum", lambda a: a.sum(0), (A,), "f32[4@y]"),
    ("mean", lambda a: (a.mean(), a.var(1)), (A,), "f32[] f32[8@x]"),
    ("transpose", lambda a: a.T, (A,), "f32[4@y,8@x]"),
    ("dot", lambda b, w: b @ w, (B, W), "f32[8@x,8@y]"),
    ("fft", lambda a: abs(jnp.fft.fft2(a)), (A,), "f32[8@x,4@y]"),
    ("windows", lambda a: lax.reduce_window(a, 0.0, lax.add, (2, 2), (1, 1), "SAME"),
     (A,), "f32[8@x,4@y]"),
    ("select", lambda a: jnp.select([a > 0, a < 0], [a, -a]), (A,), "f32[8@x,4@y]"),
    ("irfft", lambda a: jnp.fft.irfft(a + 0j), (A,), "f32[8@x,6@y]"),
    ("dot asked", lambda a, w: jnp.dot(a, w, out_sharding=P("x", None)), (A, WY),
     "f32[8@x,8]"),
    ("einsum", lambda a, w: jnp.einsum("ij,jk->ik", a, w, out_sharding=P("x")), (A, WY),
     "f32[8@x,8]"),
    ("merge", lambda a: a.reshape(32), (A,), "f32[32@(x,y)]"),
    ("split", lambda a: a.reshape(4, 2, 4), (A,), "f32[4@x,2,4@y]"),
    ("ones", lambda a: a.reshape(8, 1, 4), (A,), "f32[8@x,1,4@y]"),
    ("split in two", lambda v: (v.reshape(4, 2), v.reshape(8, 1)),
     (((8,), P(("x", "y"))),), "f32[4@x,2@y] f32[8@(x,y),1]"),
    ("reshape asked", lambda a: lax.reshape(a, (32,), out_sharding=P("x")), (A,),
     "f32[32@x]"),
    ("broadcast", lambda a: jnp.broadcast_to(a, (3, 8, 4)), (A,), "f32[3,8@x,4@y]"),
    ("concatenate", lambda a: jnp.concatenate([a, a]), (A,), "f32[16@x,4@y]"),
    ("stack", lambda b: jnp.stack([b, b], 1), (B,), "f32[8@x,2,4]"),
    ("split at", lambda b: tuple(jnp.split(b, 2, 1)), (B,), "f32[8@x,2] f32[8@x,2]"),
    ("slice", lambda b: b[:, :2], (B,), "f32[8@x,2]"),
    ("column", lambda b: b[:, 0], (B,), "f32[8@x]"),
    ("take", lambda c: jnp.take(c, jnp.array([0, 1]), axis=0), (C,), "f32[2,4@y]"),
    ("rows", lambda r, i: r.at[i].get(out_sharding=P("x", None)),
     (R, ((8,), P("x"), "int32")), "f32[8@x,4]"),
    ("along", lambda b, i: jnp.take_along_axis(b, i, 1), (B, ((8, 1), P("x"), "int32")),
     "f32[8@x,1]"),
    ("add along", lambda b: b.at[:, jnp.array([0, 1])].add(1.0), (B,), "f32[8@x,4]"),
    ("grad along", mj.grad(lambda b: jnp.take_along_axis(b, b.argmax(1)[:, None], 1).sum()),
     (B,), "f32[8@x,4]"),
    ("fold", lambda a: lax.reduce(a, 0.0, lambda x, y: x + y * 1, (0,)), (A,), "f32[4@y]"),
    ("largest", lambda b: tuple(lax.approx_max_k(b, 2)), (B,), "f32[8@x,2] i32[8@x,2]"),
    ("places", lambda v: (jnp.searchsorted(jnp.arange(4.0), v),
     jnp.digitize(v, jnp.arange(4.0))), (V,), "i32[8@x] i32[8@x]"),
    ("trace", lambda a: (jnp.trace(a), jnp.trace(jnp.stack([a, a], 2))), (A,),
     "f32[] f32[2]"),
    ("clamp", lambda b, c: lax.clamp(b, c, b), (B, C), "f32[8,4@y]"),
    ("of the left", lambda r, b: jnp.einsum("bi,bj->bij", r, b), (R, B), "f32[8,4,4]"),
    ("together", lambda a: jnp.broadcast_arrays(a, 1.0, jnp.ones((8, 1))), (A,),
     " ".join(["f32[8@x,4@y]"] * 3)),
    ("where together", lambda b, c: jnp.where(b > 0, c, 1.0), (B, C), "f32[8@x,4@y]"),
    ("images", lambda x, k: lax.conv(x, k, (2, 2), "SAME"),
     (((8, 3, 8, 8), P(None, None, "x")), ((4, 3, 3, 3), P())), "f32[8,4,4@x,4]"),
    ("reflections", lax.linalg.householder_product,
     (((4, 5, 3), P("x")), ((4, 3), P("x"))), "f32[4@x,5,3]"),
    ("bands", lax.linalg.tridiagonal_solve, (
        *[((4, 8), P("x"))] * 3, ((4, 8, 2), P("x"))), "f32[4@x,8,2]"),
    ("jacobian", mj.jacfwd(lambda a: a.sum(0)), (A,), "f32[4@y,8,4]"),
    ("tangent", lambda a, r: mj.jvp(jnp.sin, (a,), (r,)), (A, R),
     "f32[8@x,4@y] f32[8@x,4@y]"),
    ("lanes", mj.vmap(lambda v: jnp.where(v > 0, 1.0, jnp.tril(v))), (((8, 4, 4),
     P("y", None, "x")),), "f32[8@y,4,4@x]"),
    ("add at", lambda r: r.at[jnp.array([0, 1])].add(1.0), (R,), "f32[8,4]"),
    ("window", lambda b: lax.dynamic_update_slice(b, b[:, :2], (0, 0)), (B,),
     "f32[8@x,4]"),
    ("sort", lambda b: jnp.sort(b, 1), (B,), "f32[8@x,4]"),
    ("argsort", lambda b: jnp.argsort(b, 1), (B,), "i32[8@x,4]"),
    ("top_k", lambda b: tuple(lax.top_k(b, 2)), (B,), "f32[8@x,2] i32[8@x,2]"),
    ("cumsum", lambda b: jnp.cumsum(b, 1), (B,), "f32[8@x,4]"),
    ("argmax", lambda a: jnp.argmax(a, 0), (A,), "i32[4@y]"),
    ("softmax", nn.softmax, (A,), "f32[8@x,4@y]"),
    ("pad", lambda b: jnp.pad(b, ((0, 0), (1, 1))), (B,), "f32[8@x,6]"),
    ("reverse", lambda b: b[::-1], (B,), "f32[8@x,4]"),
    ("where", lambda a: jnp.where(a > 0, a, 0), (A,), "f32[8@x,4@y]"),
    ("cast", lambda a: a.astype("int32"), (A,), "i32[8@x,4@y]"),
    ("like", jnp.zeros_like, (A,), "f32[8@x,4@y]"),
    ("made", lambda: jnp.zeros((8, 4), out_sharding=P("x", "y")), (), "f32[8@x,4@y]"),
    ("counted", lambda: jnp.arange(8, out_sharding=P("x")), (), "i32[8@x]"),
    ("drawn", lambda: mj.random.normal(mj.random.key(0), (8, 4), out_sharding=P("x")),
     (), "f32[8@x,4]"),
    ("one hot", lambda v: nn.one_hot(v, 4), (((8,), P("x"), "int32"),), "f32[8@x,4]"),
    ("expand", lambda a: a[:, None, :], (A,), "f32[8@x,1,4@y]"),
    ("tile", lambda b: jnp.tile(b, (1, 2)), (B,), "f32[8@x,8]"),
    ("one tile", lambda a: jnp.tile(a, (2, 1, 1)), (A,), "f32[2,8@x,4@y]"),
    ("rows above", lambda a: (jnp.vstack(a), jnp.hstack(a)), (A,),
     "f32[8@x,4@y] f32[32@(x,y)]"),
    ("columns", lambda a: (jnp.column_stack(a), jnp.dstack(a)), (A,),
     "f32[4@y,8@x] f32[1,4@y,8@x]"),
    ("real", lambda a: (jnp.isreal(a), jnp.iscomplex(a)), (A,),
     "bool[8@x,4@y] bool[8@x,4@y]"),
    ("filled", lambda a: lax.full_like(a, 1, "int32"), (A,), "i32[8@x,4@y]"),
    ("repeat", lambda b: jnp.repeat(b, 2, axis=1), (B,), "f32[8@x,8]"),
    ("pool", lambda b: lax.reduce_window(b, 0.0, lax.add, (1, 2), (1, 1), "VALID"), (B,),
     "f32[8@x,3]"),
    ("convolve", lambda x, k: lax.conv(x, k, (1, 1), "SAME"),
     (((8, 3, 5, 5), P("x")), ((4, 3, 3, 3), P())), "f32[8@x,4,5,5]"),
    ("grad", mj.grad(lambda x: jnp.sin(x).sum()), (A,), "f32[8@x,4@y]"),
    ("grad of dot", mj.grad(lambda x, y: (x @ y).sum(), (0, 1)), (B, W),
     "f32[8@x,4] f32[4,8@y]"),
    ("grad of split", mj.grad(lambda a: (a.reshape(4, 2, 4) ** 2).sum()), (A,),
     "f32[8@x,4@y]"),
    ("remat", mj.grad(mj.checkpoint(lambda x: jnp.sin(x).sum())), (A,), "f32[8@x,4@y]"),
    ("jvp", lambda a, b: mj.jvp(jnp.sin, (a,), (b,)), (A, B), "f32[8@x,4@y] f32[8@x,4@y]"),
    ("relu", mj.grad(lambda x: nn.relu(x).sum()), (A,), "f32[8@x,4@y]"),
    ("vmap", mj.vmap(lambda x: x * 2), (A,), "f32[8@x,4@y]"),
    ("vmap of dot", mj.vmap(jnp.dot), (B, B), "f32[8@x]"),
    ("vmap along 1", mj.vmap(lambda x: x.sum(), in_axes=1), (A,), "f32[4@y]"),
    ("vmap of a constant", mj.vmap(lambda x: jnp.ones(3)), (B,), "f32[8@x,3]"),
    ("vmap of scan", mj.vmap(lambda a: lax.scan(lambda c, _: (c * 2, c), a, None, 2)),
     (B,), "f32[8@x,4] f32[8@x,2,4]"),
    ("scan", lambda x, w: lax.scan(body, x, w), (B, ((3, 4, 4), P(None, None, "y"))),
     "f32[8@x,4] f32[3]"),
    ("grad of scan", lambda x, w: mj.grad(lambda w: lax.scan(body, x, w)[0].sum())(w),
     (B, ((3, 4, 4), P(None, None, "y"))), "f32[3,4,4@y]"),
    ("loop", lambda a: lax.fori_loop(0, 3, lambda i, x: x * 2, a), (A,), "f32[8@x,4@y]"),
    ("cond", lambda a: lax.cond(True, jnp.sin, jnp.cos, a), (A,), "f32[8@x,4@y]"),
    ("attention", mj.grad(lambda q: attention(q).sum()),
     (((8, 4, 2, 2), P("x", None, "y")),), "f32[8@x,4,2@y,2]"),
    ("reshard", lambda a: mj.reshard(a, P("y", "x")), (A,), "f32[8@y,4@x]"),
    ("whole again", lambda a: mj.reshard(a, P()), (A,), "f32[8,4]"),
    ("auto", lambda b: auto_axes(lambda x: x @ x.T, axes="x", out_sharding=P("x"))(b),
     (B,), "f32[8@x,8]"),
    ("auto grad", mj.grad(
        lambda b: auto_axes(lambda b: jnp.sort(b, 0), out_sharding=P("x"))(b).sum()),
     (B,), "f32[8@x,4]"),
    ("shard_map", mj.shard_map(lambda x: x * 2, mesh=MESH, in_specs=P("x"),
     out_specs=P("x")), (B,), "f32[8@x,4]"),
    ("shard_map inferred", mj.shard_map(lambda x: x * 2, mesh=MESH, out_specs=P("x")),
     (B,), "f32[8@x,4]"),
    ("constraint", lambda a: lax.with_sharding_constraint(a, P("x", "y")), (A,),
     "f32[8@x,4@y]"),
    ("device_put", lambda a: mj.device_put(a, P("y", "x")), (A,), "f32[8@y,4@x]"),
    ("asked of jit", mj.jit(lambda a: a, out_shardings=mj.NamedSharding(MESH, P("y"))),
     (A,), "f32[8@y,4]"),
    ("all lanes", lambda b, c: jnp.einsum("ij,ij->ij", b, c), (B, C), "f32[8@x,4]"),
    ("other lanes", lambda r, a: jnp.einsum("ij,ij->ij", r, a), (R, A), "f32[8,4]"),
    ("cosines", lambda c: jsp.fft.dct(c), (C,), "f32[8,4@y]"),
    ("all cosines", lambda b: jsp.fft.dctn(b), (B,), "f32[8@x,4]"),
    ("densities", lambda b: jsp.stats.multivariate_normal.logpdf(
        b, jnp.zeros(4), jnp.eye(4)), (B,), "f32[8@x]"),
    ("one matrix", mj.vmap(jsp.linalg.solve_triangular, (None, 0)),
     (((4, 4), P()), B), "f32[8@x,4]"),
    ("repeated", lambda r, i: jnp.repeat(r, i, axis=0, total_repeat_length=16),
     (R, VI), "f32[16,4]"),
    ("kernel's slope", mj.grad(lambda k, x: lax.conv(x, k, (1,), "VALID").sum()),
     (((2, 3, 2), P()), ((8, 3, 4), P("x"))), "f32[2,3,2]"),
    ("image's slope", mj.grad(lambda x, k: lax.conv(x, k, (1,), "VALID").sum()),
     (((8, 3, 4), P("x")), ((2, 3, 2), P())), "f32[8@x,3,4]"),
]  # fmt: skip


def test_values_of_what_the_compiler_moves():
    """The last rows of the table, in one program."""

    def several(a, i, k):
        return [
            jnp.einsum("ij,ij->ij", a, a * 2),
            jsp.fft.dct(a, axis=0),
            jsp.fft.idctn(a),
            jsp.stats.multivariate_normal.logpdf(a, jnp.zeros(4), 2 * jnp.eye(4)),
            jnp.repeat(jnp.arange(8.0), i, total_repeat_length=16),
            mj.grad(lambda k: (lax.conv(a[:, None], k, (1,), "SAME") ** 2).sum())(k),
        ]

    a, k = np.random.default_rng(0).normal(size=(8, 4)), np.ones((2, 1, 3), "f")
    inputs = a.astype("f"), np.arange(8, dtype="i"), k
    with mj.set_mesh(MESH):
        placed = [mj.device_put(*z) for z in zip(inputs, (P("x"), P("x"), P()))]
        result = mj.jit(several)(*placed)
    for x, y in zip(result, mj.jit(several)(*inputs), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "fun", "operands", "expected"), TYPES)
def test_types_of_results(name, fun, operands, expected):
    assert types(fun, *operands) == expected


REFUSED = [
    ("add", lambda a, w: a + w.T, (A, WXY), "incompatible shardings for broadcasting"),
    ("ambiguous", lambda a, w: a @ w, (A, WY), "Contracting dimensions are sharded and"),
    ("unequal", lambda a, w: a @ w, (A, WXY), "contracting dimensions to have consistent"),
    (
        "batch",
        lambda a, b: jnp.einsum("bi,bi->b", a, b),
        (B, ((8, 4), P("y"))),
        "lhs batch dimensions and rhs batch dimensions",
    ),
    ("inner", lambda c: c.reshape(32), (C,), "This reshape is not supported"),
    ("uneven", lambda a: a.reshape(2, 4, 4), (A,), "This reshape is not supported"),
    (
        "no parts of one",
        lambda v: v.reshape(4, 2),
        (((8,), P(("y", "x"))),),
        "This reshape is not supported",
    ),
    ("added", lambda b: b.at[0].add(1.0), (B,), "for the scatter update"),
    ("added rows", lambda b, i: jnp.zeros((4, 4)).at[i].add(b), (B, VI), "scatter update"),
    ("segments", lambda v, i: mj.ops.segment_sum(v, i, 4), (V, VI), "scatter update"),
    ("counts", lambda i: jnp.bincount(i, length=4), (VI,), "scatter update"),
    ("diagonal", jnp.diag, (B,), "could not be resolved unambiguously"),
    (
        "parts of sums",
        lambda x, k: lax.conv(x, k, (1, 1), "SAME"),
        (((8, 4, 5, 5), P(None, "x")), ((4, 4, 3, 3), P())),
        "specify the output sharding",
    ),
    (
        "odd images",
        lambda x, k: lax.conv(x, k, (1, 1), "VALID"),
        (((8, 4, 8, 8), P(None, None, "x")), ((4, 4, 2, 2), P())),
        "size 7 cannot be sharded",
    ),
    ("searched", lambda b: lax.approx_max_k(b, 2, 0), (B,), "over the axis that is sea"),
    ("taus", lax.linalg.householder_product, (C, ((4,), P("y"))), "must be unsharded"),
    (
        "concatenate",
        lambda a, b: jnp.concatenate([a, b], 1),
        (A, B),
        "All operands should have the same sharding",
    ),
    ("row", lambda a: a[0], (A,), r"Use `.at\[...\].get\(out_sharding=\)`"),
    ("rows", lambda b: b[jnp.array([0, 1])], (B,), "for the gather indexing"),
    ("lookup", lambda r, i: r[i], (R, ((8,), P("x"), "int32")), "gather indexing"),
    ("writes", lambda b: b.at[jnp.array([0, 1])].set(1.0), (B,), "scatter update"),
    ("sort", lambda b: jnp.sort(b, 0), (B,), "unsharded over the sorting dimension"),
    ("cumsum", lambda b: jnp.cumsum(b, 0), (B,), "unsharded over the axis being reduced"),
    ("cases", lambda b, a, c: jnp.where(b > 0, a, c), (B, A, C), "select cases must"),
    ("tile", lambda a: jnp.tile(a, 2), (A,), "sharded on dimension 1 when the tiling"),
    ("square", lambda b: b @ b.T, (B,), "illegally sharded result: f32.8@x,8@x."),
]


@pytest.mark.parametrize(("name", "fun", "operands", "match"), REFUSED)
def test_what_is_ambiguous_is_refused(name, fun, operands, match):
    with pytest.raises(ShardingTypeError, match=match):
        types(fun, *operands)


def test_other_errors():
    with pytest.raises(ValueError, match=r"pass sharding to `jnp.repeat`"):
        types(lambda b: jnp.repeat(b, 2, axis=0), B)
    for loop in (
        lambda v: lax.scan(lambda c, x: (c, x), 0.0, v),
        lambda v: lax.map(jnp.sin, v),
    ):
        with pytest.raises(ValueError, match="0th dimension of all xs should be repl"):
            types(loop, V)
    with pytest.raises(ValueError, match="inconsistent axis specs: x vs y"):
        types(mj.vmap(jnp.add), V, ((8,), P("y")))
    with pytest.raises(TypeError, match="carry input and carry output"):
        types(lambda c: lax.scan(lambda c, x: (c + x, x), jnp.zeros(4), c), C)
    with pytest.raises(TypeError, match="must have equal"):
        types(lambda a: lax.cond(True, lambda x: x, lambda x: mj.reshard(x, P()), a), A)
    with pytest.raises(AssertionError, match="acts as an assert"):
        types(lambda a: lax.with_sharding_constraint(a, P("y", "x")), A)
    with pytest.raises(ValueError, match="z"):
        types(lambda a: mj.reshard(a, P("z")), A)
    with pytest.raises(ValueError, match="partitioned 4 times"):
        types(lambda: jnp.zeros((6,), out_sharding=P("x")))
    with pytest.raises(TypeError, match="Missing required keyword argument"):
        types(auto_axes(lambda x: x), A)
    for out_sharding in (None, (P("x", "y"), None)):
        with pytest.raises(ValueError, match="which are non-None"):
            types(lambda a, s=out_sharding: auto_axes(lambda x: (x, x))(a, out_sharding=s), A)
    with pytest.raises(ValueError, match="not under a mesh context"):
        jnp.zeros((8,), out_sharding=P("x"))


def test_values_and_places():
    """A network of two layers, its gradients, and their types, in one program."""
    r = np.random.default_rng(0)
    x, w1, w2 = (r.normal(size=s).astype("f") for s in ((8, 4), (4, 16), (16, 4)))

    def loss(params, x):
        h = jnp.tanh(x @ params[0])
        return (jnp.dot(h, params[1], out_sharding=P("x", None)) ** 2).mean()

    expected = mj.value_and_grad(lambda p, x: ((jnp.tanh(x @ p[0]) @ p[1]) ** 2).mean())
    value, (g1, g2) = expected((w1, w2), x)
    with mj.set_mesh(MESH):
        params = mj.device_put(w1, P(None, "y")), mj.device_put(w2, P("y"))
        result, (f1, f2) = mj.jit(mj.value_and_grad(loss))(params, mj.device_put(x, P("x")))
    np.testing.assert_allclose(result, value, rtol=1e-5)
    for f, g, shown in ((f1, g1, "f32[4,16@y]"), (f2, g2, "f32[16@y,4]")):
        np.testing.assert_allclose(f, g, rtol=1e-4, atol=1e-6)
        assert mj.typeof(f).str_short(True) == shown
    assert f1.sharding.spec == P(None, "y")
    assert f2.sharding.is_equivalent_to(mj.NamedSharding(MESH, P("y")), 2)


def test_arrays_bear_their_types():
    with mj.set_mesh(MESH):
        x = mj.device_put(np.arange(32.0, dtype="f").reshape(8, 4), P("x", "y"))
        assert repr(mj.typeof(x)) == "ShapedArray(float32[8@x,4@y])"
        assert mj.typeof(x).sharding.mesh == get_abstract_mesh()
        y = mj.reshard(x, P("y"))
        assert y.sharding.spec == P("y", None)
        assert mj.typeof(mj.reshard(y, P())).str_short(True) == "f32[8,4]"
        np.testing.assert_array_equal(mj.reshard(y, P()), x)
        keys = mj.reshard(mj.random.split(mj.random.key(0), 8), P("x"))
        assert mj.typeof(keys).str_short(True) == "key<fry>[8@x]"
    z = auto_axes(lambda x: jnp.sort(-x, 0), out_sharding=P("x"))(x)  # the mesh is x's
    assert mj.typeof(z).str_short(True) == "f32[8@x,4]"
    np.testing.assert_array_equal(z, np.sort(-np.asarray(x), 0))
    on_one_device = mj.device_put(x, mj.devices()[0])
    assert mj.typeof(on_one_device).str_short(True) == "f32[8,4]"


def test_out_sharding_of_each_operation():
    """Eagerly, and for cotangents, results that the compiler cut are not refused."""
    x = np.arange(32.0, dtype="f").reshape(8, 4)
    i = np.array([-1, 0, 1, 2, 3, 4, 5, 6])
    with mj.set_mesh(MESH):
        a, at = mj.device_put(x, P("x", "y")), mj.device_put(i, P("x"))
        read = lambda a: a.at[at].get(out_sharding=P("x", None))
        write = lambda a: a.at[at].add(a, out_sharding=P("x", "y"))
        product = lambda a: jnp.einsum("ij,kj->ik", a, a, out_sharding=P("x", None))
        segments = mj.ops.segment_sum(a, at % 4, 4, out_sharding=P("x", None))
        for f, expected, out_sharding in (
            (read, x[i], "f32[8@x,4]"),
            (write, x + np.roll(x, -1, 0), "f32[8@x,4@y]"),
            (product, x @ x.T, "f32[8@x,8]"),
        ):
            out, g = f(a), mj.grad(lambda a, f=f: f(a).sum())(a)
            np.testing.assert_array_equal(out, expected)
            assert mj.typeof(out).str_short(True) == out_sharding
            assert mj.typeof(g).str_short(True) == "f32[8@x,4@y]"
        assert g.tolist() == np.broadcast_to(2 * x.sum(0), (8, 4)).tolist()
    assert mj.typeof(segments).str_short(True) == "f32[4@x,4]"
    np.testing.assert_array_equal(segments[0], x[i % 4 == 0].sum(0))


def test_some_axes_are_auto():
    mixed = mj.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    with mj.set_mesh(mixed):
        x = mj.device_put(np.ones((8, 4), "f"), mj.NamedSharding(mixed, P("x", "y")))
        assert mj.typeof(x).str_short(True) == "f32[8@x,4]"
        assert (x * 2).sharding.spec == P("x", "y")
        seen = []

        def f(x):
            seen.append(mj.typeof(x).str_short(True))
            return x * 3

        out = explicit_axes(f, in_sharding=P("x", "y"))(x)
        assert seen == ["f32[8@x,4@y]"]
        assert mj.typeof(out).str_short(True) == "f32[8@x,4]"
        np.testing.assert_array_equal(out, 3)


def test_explicit_axes_around_no_argument():
    """Where there is nothing to say of, a call may say nothing, and must."""
    with mj.set_mesh(mj.make_mesh((2,), ("x",), (AxisType.Auto,))):
        made = explicit_axes(lambda: jnp.ones(4, out_sharding=P("x")))
        assert made(in_sharding=None).sharding.spec == P("x")
        with pytest.raises(TypeError, match="Missing required keyword argument"):
            made()


def test_cotangents_are_sharded_like_arguments():
    x = np.arange(32.0, dtype="f").reshape(8, 4)
    island = auto_axes(lambda x: jnp.sort(x, 0) * 2, out_sharding=P("x"))
    with mj.set_mesh(MESH):
        placed = mj.device_put(x, P("x", "y"))
        for f in (mj.grad(lambda x: island(x).sum()), lambda x: mj.vjp(island, x)[1](x)):
            for result in mj.tree.leaves([f(placed), mj.jit(f)(placed)]):
                assert result.sharding.spec == P("x", "y")
                assert mj.typeof(result).str_short(True) == "f32[8@x,4@y]"
                assert result.addressable_shards[0].data.shape == (2, 2)


def test_slices_of_sharded_arrays():
    """Functions whose parts XLA would add twice, or not at all."""
    a, bits = np.arange(1.0, 9.0, dtype="f"), np.arange(8) % 3 > 0
    where = NamedSharding(AUTO, P("x"))
    result = mj.jit(
        lambda a, b, i: (jnp.poly(a), jnp.packbits(b), jnp.repeat(a, i, total_repeat_length=36))
    )(*(mj.device_put(x, where) for x in (a, bits, a.astype("i"))))
    for x, y in zip(result, (np.poly(a), np.packbits(bits), np.repeat(a, a.astype("i")))):
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_explicit_axes_of_a_value_where_no_mesh_is_current():
    """The mesh is the value's, also along axes of which its type says nothing."""
    auto = mj.make_mesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)
    x = mj.device_put(np.ones(8, np.float32), NamedSharding(auto, P("x")))
    seen = []
    f = lambda x: [seen.append(mj.typeof(x).str_short(True)), x * 3][1]
    out = explicit_axes(f, in_sharding=P("y"))(x)
    assert seen == ["f32[8@y]"]
    assert out.sharding.mesh == auto
    with mj.set_mesh(auto):
        np.testing.assert_array_equal(out + x, 4)  # over one mesh
        slope = mj.grad(lambda x: explicit_axes(f, in_sharding=P("y"))(x).sum())(x)
        np.testing.assert_array_equal(slope + x, 4)
    with pytest.raises(ValueError, match="there is no mesh whose axes"):
        explicit_axes(f, in_sharding=P("y"))(np.ones(8))
    with pytest.raises(TypeError, match="callable"):
        explicit_axes(3, in_sharding=P("y"))
        with pytest.raises(ValueError, match="can only refer to Auto axes"):
            lax.with_sharding_constraint(x, P("x"))
        with pytest.raises(ValueError, match="type Auto or Manual"):
            mj.reshard(x, P("y"))


def test_printed_programs():
    with mj.set_mesh(MESH):
        jaxpr = mj.make_jaxpr(lambda x: mj.reshard(x, P("y")))(struct(*B))
    assert str(jaxpr) == "{ lambda ; a:f32[8@x,4]. let b:f32[8@y,4] = reshard a in (b,) }"
    out = mj.eval_shape(lambda x: x.T, struct(*B))
    assert out.sharding.spec == P(None, "x")


# ------------------------------------------------ what is not moved without being asked

AUTO = mj.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
MIXED = mj.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))


def ones(mesh, *spec):
    return mj.device_put(jnp.ones((8, 8)), mj.NamedSharding(mesh, P(*spec)))


def constrained(mesh, x, spec):
    return mj.jit(lambda x: lax.with_sharding_constraint(x, mj.NamedSharding(mesh, spec)))(x)


@pytest.mark.parametrize("spec", [P("x"), P("y"), P("x", "y")])
@pytest.mark.parametrize("sharding", [(), ("x",)])
def test_a_constraint_moves_nothing_along_explicit_axes(spec, sharding):
    x = ones(MESH, *sharding)
    with pytest.raises(ValueError, match="can only refer to Auto axes of the mesh"):
        constrained(MESH, x, spec)
    with mj.set_mesh(MESH):
        if tuple(spec) == sharding:
            assert constrained(MESH, x, spec).sharding.is_equivalent_to(x.sharding, 2)
            return
        for run in (constrained, lambda m, x, s: lax.with_sharding_constraint(x, s)):
            with pytest.raises(AssertionError, match="acts as an assert"):
                run(MESH, x, spec)


def test_a_constraint_of_other_axes_leaves_explicit_ones():
    x = ones(MIXED, "x")
    assert constrained(MIXED, x, P("y")).sharding.spec == P(("x", "y"))
    assert constrained(MIXED, x, P(None, "y")).sharding.spec == P("x", "y")
    with pytest.raises(ValueError, match="can only refer to Auto axes of the mesh"):
        constrained(MIXED, x, P("x"))


def test_no_compiler_chooses_along_explicit_axes():
    with pytest.raises(ValueError, match="when no mesh axis_types are `Auto`"):
        mj.NamedSharding(MESH, P(P.UNCONSTRAINED, None))
    mj.NamedSharding(MIXED, P(P.UNCONSTRAINED, None))


@pytest.mark.parametrize(
    ("mesh", "sharding", "spec", "names"),
    [
        (MESH, ("x",), P("x"), None),
        (MESH, ("x",), P("x", None), None),
        (MESH, (), P(), None),
        (MESH, (("x", "y"),), P(("x", "y")), None),
        (MESH, (), P("x"), {"x"}),
        (MESH, ("x",), P("y"), {"y"}),
        (MIXED, (), P("x"), None),
        (AUTO, (), P("x"), None),
    ],
)
def test_shard_map_accepts_arguments_sharded_by_its_specs(mesh, sharding, spec, names):
    kwargs = {} if names is None else {"axis_names": names}
    f = mj.shard_map(lambda v: v + 1, mesh=mesh, in_specs=spec, out_specs=spec, **kwargs)
    np.testing.assert_array_equal(f(ones(mesh, *sharding)), 2 * np.ones((8, 8)))


@pytest.mark.parametrize(
    ("sharding", "spec", "message"),
    [
        ((), P("x"), r"P\('x', None\) does not match the specs of the input: P\(None, N"),
        (("x",), P("y"), r"P\('y', None\) does not match the specs of the input: P\('x"),
        (("x",), P(), r"P\(None, None\) does not match the specs of the input: P\('x"),
        (("x",), P(("x", "y")), "does not match the specs of the input"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit])
def test_shard_map_moves_nothing_along_explicit_axes(sharding, spec, message, wrap):
    f = wrap(mj.shard_map(lambda v: v, mesh=MESH, in_specs=spec, out_specs=spec))
    with pytest.raises(ValueError, match=message):
        f(ones(MESH, *sharding))


def test_meshes_do_not_mix():
    other = ones(mj.make_mesh((8,), ("x",)), "x")
    for call in (lambda x: x + other, lambda x: jnp.concatenate([x, other])):
        with pytest.raises(ValueError, match="Mesh for all inputs should be equal"):
            call(ones(MESH, "x"))


AUTO = Mesh(MESH.devices, ("x", "y"), axis_types=(AxisType.Auto,) * 2)


def test_explicit_and_auto_meshes_do_not_mix():
    auto, explicit = ones(AUTO, "x"), ones(MESH)
    for call in (lambda x: x + auto, lambda x: lax.mul(auto, x), lambda x: auto @ x):
        with pytest.raises(ValueError, match="Mesh for all inputs should be equal"):
            call(explicit)
    for around, x in ((MESH, auto), (AUTO, explicit)):
        with mj.set_mesh(around), pytest.raises(ValueError, match=r"context mesh .* shou"):
            jnp.sin(x)
    out = mj.jit(lambda x, y: x + y)(explicit, auto)
    assert out.sharding.is_fully_replicated and mj.typeof(out) == mj.typeof(explicit)


def test_mixed_shardings_are_refused_outside_gradients():
    auto, explicit = ones(AUTO, "x"), ones(MESH)
    recast = config.RECAST_MESH.swap(True)  # as while cotangents go back
    try:
        np.testing.assert_array_equal(explicit - auto, 0.0)
    finally:
        config.RECAST_MESH.swap_back(recast)
    with pytest.raises(ValueError, match="Mesh for all inputs should be equal"):
        explicit - auto


def test_calls_with_equal_specs_over_other_meshes():
    named = Mesh(MESH.devices, ("p", "q"), axis_types=(AxisType.Auto,) * 2)
    f = mj.jit(lambda x: x * 3)
    for _ in range(2):
        for mesh, axis in ((MESH, "x"), (AUTO, "x"), (named, "p")):
            x = ones(mesh, axis)
            for out in (f(x), x * 3, lax.neg(x)):
                assert out.sharding.mesh == mesh and out.sharding.spec[0] == axis
                assert mj.typeof(out) == mj.typeof(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: mj.random.normal(mj.random.key(0), (8, 4), out_sharding=s),
        lambda x, s: mj.random.bits(mj.random.key(0), (8, 4), out_sharding=s).sum(),
        lambda x, s: jnp.arange(8, out_sharding=s),
        lambda x, s: jnp.reshape(x, (16,), out_sharding=s),
        lambda x, s: jnp.einsum("ij,jk->ik", x, x, out_sharding=s),
        lambda x, s: x.at[jnp.arange(4)].get(out_sharding=s),
        lambda x, s: mj.sharding.reshard(x, s).sum(),
        lambda x, s: lax.fori_loop(0, 2, lambda i, y: mj.reshard(x, s).sum(), 0.0),
    ],
)
def test_no_program_for_one_device_drops_shardings(f):
    """Each program would otherwise run on one device."""
    x, s = jnp.ones((4, 4)), NamedSharding(MESH, P("x"))
    g = mj.jit(lambda x: f(x, s))
    why = "Length of device assignment 1 is not equal to the size of the mesh 8"
    with pytest.raises(ValueError, match=why):
        g(x)
    with pytest.raises(ValueError, match=why):
        g.lower(x)
    with mj.set_mesh(MESH):
        assert len(g(x).sharding.device_set) == 8


def test_a_mesh_of_one_device_needs_no_context():
    s = NamedSharding(mj.make_mesh((1,), ("x",)), P("x"))
    f = lambda k: mj.random.normal(k, (4,), out_sharding=s)
    key = mj.random.key(0)
    assert mj.jit(f)(key).tolist() == f(key).tolist()


@pytest.mark.parametrize("shape, names", [((2, 4), "xy"), ((2, 4), "ab"), ((8,), "a")])
def test_reshard_under_a_mesh_of_another_shape(shape, names):
    """Results are over the devices of the argument, in the current mesh's shape."""
    x = mj.device_put(jnp.arange(8.0), NamedSharding(MESH, P("x")))
    other_mesh = mj.sharding.AbstractMesh(
        shape, tuple(names), axis_types=(AxisType.Explicit,) * len(shape)
    )
    f = lambda x: mj.reshard(x, P(names[0]))
    with mj.sharding.use_abstract_mesh(other_mesh):
        for got in (f(x), mj.jit(f)(x)):
            assert got.sharding.mesh.shape_tuple == other_mesh.shape_tuple
            assert got.sharding.shard_shape((8,)) == (8 // shape[0],)
            assert got.tolist() == x.tolist()


def test_auto_axes_where_all_axes_are_auto():
    """The sharding is a constraint on the result."""
    mesh = mj.make_mesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)
    with mj.set_mesh(mesh):
        f = auto_axes(lambda x: 2 * x, out_sharding=P("x", "y"))
        for g in (f, mj.jit(f)):
            got = g(jnp.ones((8, 4)))
            assert got.sharding == NamedSharding(mesh, P("x", "y"))
        assert mj.grad(lambda x: f(x).sum())(jnp.ones((8, 4))).sum() == 64


def test_a_layer_in_a_scan_sends_one_sum_of_its_gradient():
    """Gradients of replicated weights are summed over the batch, once a layer."""

    def layer(h, w):
        return jnp.tanh(jnp.einsum("bi,ij->bj", h, w, out_sharding=P("x", None))), None

    loss = lambda w, x: (lax.scan(layer, x, w)[0] ** 2).sum()
    w = np.arange(192, dtype=np.float32).reshape(3, 8, 8) / 999
    x = np.arange(128, dtype=np.float32).reshape(16, 8) / 128
    with mj.set_mesh(MESH):
        args = mj.device_put(w, P()), mj.device_put(x, P("x"))
        program = mj.jit(mj.grad(loss)).lower(*args).compile()
        text = program.as_text()
        assert text.count(" all-reduce(") == 1
        assert " all-gather(" not in text
        got = program(*args)
        swapped = jnp.einsum(
            "bi,ij->jb", args[1], args[0][0], out_sharding=P(None, "x")
        )  # the product has its axes in another order
        assert mj.typeof(swapped).str_short(True) == "f32[8,16@x]"
        np.testing.assert_allclose(swapped, (x @ w[0]).T, rtol=1e-6)
    unsharded = lambda w, x: (
        lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, w)[0] ** 2
    ).sum()
    np.testing.assert_allclose(got, mj.grad(unsharded)(w, x), rtol=1e-5)


def test_lowered_text_contains_the_shardings_of_operations():
    f = lambda x: jnp.sin(x) * 2
    with mj.set_mesh(MESH):
        text = mj.jit(f).lower(mj.device_put(np.ones((8, 4)), P("x", "y"))).as_text()
    assert text.count("sdy.sharding_constraint") == 2
