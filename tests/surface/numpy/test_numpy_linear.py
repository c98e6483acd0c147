"""Products, einsum, diagonals: values, jaxprs, laws, errors."""

import numpy as np
import pytest
from against_numpy import check, close
from laws import obeys

import minijax as mj
import minijax.numpy as jnp


def f32(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


PAIRS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 4)),
    ((5, 1, 2, 3), (1, 4, 3, 2)),
    ((1, 1, 2, 3), (3, 2)),
]


@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_matmul(shapes):
    a, b = f32(*shapes[0]), f32(*shapes[1])
    check("matmul", a, b)
    close(jnp.asarray(a) @ jnp.asarray(b), a @ b)
    if len(shapes[0]) < 3 and len(shapes[1]) < 3:
        check("dot", a, b)


def test_products():
    a, b, c = f32(2, 3), f32(4, 3), f32(5, 2, 3)
    check("dot", a, np.float32(2))
    check("dot", c, f32(4, 3, 2))
    check("inner", a, b)
    check("inner", c, np.float32(3))
    check("vdot", a, f32(3, 2))
    check("outer", a, b)
    check("tensordot", c, f32(3, 2, 4), axes=((1, 2), (1, 0)))
    check("tensordot", a, b, axes=[[1], [1]], jit=False)
    check("tensordot", c, f32(2, 3, 4))
    check("tensordot", a, b, axes=0)
    check("vecdot", c, a)
    check("vecdot", f32(3), c)
    check("matvec", c, f32(3))
    check("matvec", c, f32(5, 3))
    check("vecmat", f32(2), c)
    check("vecmat", f32(5, 2), c)
    check("kron", a, b)
    check("kron", f32(2), c)
    z = (a + 1j * a[::-1]).astype(np.complex64)
    check("vdot", z, z)
    check("vecdot", z, z)
    check("vecmat", z[:, 0], z)


def test_dtypes_of_products():
    i8 = np.arange(6, dtype=np.int8).reshape(2, 3)
    assert check("dot", i8, i8.T).dtype == jnp.int8
    assert check("matmul", i8 > 2, (i8 > 2).T).dtype == jnp.bool_
    mixed = jnp.dot(jnp.ones(3, jnp.float16), jnp.ones(3, jnp.int32))
    assert mixed.dtype == jnp.float16
    wide = jnp.dot(i8, i8.T, preferred_element_type=jnp.int32)
    assert wide.dtype == jnp.int32
    assert jnp.dot(2.0, 3.0).weak_type
    assert not jnp.dot(2.0, jnp.ones(2)).weak_type


def names(f, *args):
    return [e.primitive.name for e in mj.make_jaxpr(f)(*args).eqns]


def test_jaxprs():
    a, b, c = f32(2, 3), f32(3, 4), f32(5, 2, 3)
    assert names(lambda a, b: a @ b, a, b) == ["dot_general"]
    assert names(lambda c, b: c @ b, c, b) == ["dot_general"]
    assert names(lambda a, b: jnp.einsum("ij,jk", a, b), a, b) == ["dot_general"]
    assert names(lambda a, b: jnp.einsum("ij,jk->ki", a, b), a, b) == ["dot_general"]
    assert names(lambda a: jnp.einsum("ij->ji", a), a) == ["transpose"]
    assert names(lambda a: jnp.diagonal(a), a) == ["diagonal"]
    (eqn,) = mj.make_jaxpr(lambda a, b: jnp.dot(a, b, precision="highest"))(a, b).eqns
    assert eqn.params["precision"] == (mj.lax.Precision.HIGHEST,) * 2


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,kj->ki", (2, 3), (4, 3)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("bij,bjk->ikb", (5, 2, 3), (5, 3, 4)),
    ("ij->ji", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("iij->j", (3, 3, 2)),
    ("iji->ji", (3, 2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,j->ij", (2, 3), (3,)),
    ("j,ij->ji", (3,), (2, 3)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("ijk,k->ij", (2, 3, 4), (4,)),
    ("ijk,ik->k", (2, 3, 4), (2, 4)),
    ("...ij,...jk", (5, 2, 3), (5, 3, 4)),
    ("...ij,jk->...ik", (5, 2, 3), (3, 4)),
    ("i...->...", (2, 3, 4)),
    ("...i->...", (2, 3, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ab,bc,cd,da->", (2, 3), (3, 4), (4, 5), (5, 2)),
    (",ij", (), (2, 3)),
    (",", (), ()),
    ("ij,kj->ik", (4, 3), (1, 3)),
    ("ij,ij->i", (4, 3), (1, 3)),
    ("ijj,jk->ik", (2, 3, 3), (3, 4)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("ab,ab,c->", (2, 3), (2, 3), (4,)),
    ("i j, j k", (2, 3), (3, 4)),
    ("ba", (2, 3)),
]


@pytest.mark.parametrize("spec", EINSUMS, ids=lambda s: s[0])
def test_einsum(spec):
    text, *shapes = spec
    arrays = [f32(*s) for s in shapes]
    expected = np.einsum(text, *arrays)
    arrays = [jnp.asarray(a) for a in arrays]
    close(jnp.einsum(text, *arrays), expected, 1e-4)
    close(mj.jit(lambda *xs: jnp.einsum(text, *xs))(*arrays), expected, 1e-4)


def test_einsum_forms():
    a, b, c = f32(2, 3), f32(3, 4), f32(4, 5)
    close(jnp.einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b)
    close(jnp.einsum(a, [0, ...], [..., 0]), a.T)
    for optimize in (True, False, "greedy", [(1, 2), (0, 1)], ["einsum_path", (0, 1), (0, 1)]):
        close(jnp.einsum("ij,jk,kl", a, b, c, optimize=optimize), a @ b @ c, 1e-4)
    path, report = jnp.einsum_path("ij,jk,kl->il", a, b, c)
    assert len(path) == 2 and "contraction" in str(report)
    half = jnp.einsum(
        "ij,jk", a.astype(np.float16), b.astype(np.float16), preferred_element_type=jnp.float32
    )
    assert half.dtype == jnp.float32
    assert jnp.einsum("ij->", a > 0).dtype == jnp.bool_
    calls = []

    def own(x, y, dims, **kw):
        calls.append(dims)
        return mj.lax.dot_general(x, y, dims, **kw)

    close(jnp.einsum("ij,jk", a, b, _dot_general=own), a @ b)
    assert calls == [(((1,), (0,)), ((), ()))]


def test_laws():
    a, b = f32(2, 3), f32(3, 2)
    obeys(jnp.matmul, f32(2, 1, 2, 3), f32(2, 3, 2), exact=False)
    obeys(lambda a, b: jnp.einsum("ij,kj->ki", a, b), a, b.T, exact=False)
    obeys(lambda a: jnp.einsum("iji->j", a), f32(3, 2, 3))
    obeys(lambda a, b: jnp.einsum("ij,j->ij", a, b), a, f32(3))
    obeys(jnp.kron, a, f32(2), exact=False)
    obeys(jnp.cross, f32(2, 3), f32(3), exact=False)
    obeys(lambda a: jnp.diag(jnp.diagonal(a, 1), -1), f32(3, 4))


def test_cross():
    x, y = f32(4, 3), f32(4, 3)[::-1]
    for m, n in ((3, 3), (2, 3), (3, 2), (2, 2)):
        a, b = x.copy(), y.copy()
        a[:, m:], b[:, n:] = 0, 0
        got = jnp.cross(x[:, :m], y[:, :n])
        expected = np.cross(a, b)
        close(got, expected[..., 2] if m == n == 2 else expected)
    check("cross", f32(3, 4), f32(3, 4), axis=0)
    check("cross", f32(3, 4), f32(4, 3), axisa=0, axisc=0)


@pytest.mark.parametrize("k", [-5, -2, -1, 0, 1, 3, 9])
def test_diagonals(k):
    for shape in ((3, 4), (4, 3), (3, 3)):
        check("diagonal", f32(*shape), k)
        check("diag", f32(*shape), k)
        check("trace", f32(*shape), k)
    check("diagonal", f32(2, 3, 4), k, 2, 0)
    check("trace", f32(2, 3, 4), k, 1, 2)
    check("diag", f32(3), k)
    check("diagflat", f32(2, 2), k)
    traced = mj.jit(lambda a, k: jnp.trace(a, k))(f32(3, 4), k)
    close(traced, np.trace(f32(3, 4), k))


def test_types_of_diagonals():
    assert jnp.trace(jnp.ones((2, 2), jnp.int8)).dtype == jnp.int32
    assert jnp.trace(jnp.ones((2, 2), jnp.float16)).dtype == jnp.float16
    assert jnp.diag(jnp.asarray(2.0)[None]).weak_type
    close(jnp.diag(jnp.zeros(0), 1), np.zeros((1, 1)))


ERRORS = [
    ("dot(np.ones((2, 3)), np.ones((2, 3)))", TypeError, "contract"),
    ("dot(np.ones(3), [1, 2, 3])", TypeError, "dot requires ndarray"),
    ("matmul(2., np.ones(3))", ValueError, "must have ndim at least 1"),
    ("matmul(np.ones((2, 3, 3)), np.ones((4, 3, 3)))", ValueError, "Incompatible types"),
    ("tensordot(np.ones(3), np.ones(3), 2)", TypeError, "exceeds input ranks"),
    ("tensordot(np.ones(3), np.ones(3), 'a')", TypeError, "must be an int, a pair"),
    ("tensordot(np.ones((3, 3)), np.ones((3, 3)), ((0,), (0, 1)))", TypeError, "equal length"),
    ("vecdot(np.ones(3), np.ones(4))", ValueError, "axes must match"),
    ("matvec(np.ones(3), np.ones(3))", ValueError, "core dimensions"),
    ("cross(np.ones(4), np.ones(4))", ValueError, "2 or 3"),
    ("diag(np.ones((2, 2, 2)))", ValueError, "1d or 2d"),
    ("diagonal(np.ones(2))", ValueError, "at least two dimensions"),
    ("outer(np.ones(2), np.ones(2), out=np.ones(2))", NotImplementedError, "out"),
    ("einsum('ij,jk', np.ones((2, 3)))", ValueError, "Number of einsum subscripts, 2"),
    ("einsum('ij,jk', np.ones((2, 3)), np.ones((2, 3)))", ValueError, "Size of label 'j'"),
    ("einsum('ijk', np.ones((2, 3)))", ValueError, "correct number of indices"),
    ("einsum('ij->k', np.ones((2, 3)))", ValueError, "did not appear in the input"),
    ("einsum('ij->ii', np.ones((2, 3)))", ValueError, "more than once"),
    ("einsum(np.ones(3), 3)", TypeError, "lists must contain"),
    ("einsum('i', [1.])", TypeError, "einsum requires ndarray"),
]


@pytest.mark.parametrize("text, kind, match", ERRORS)
def test_errors(text, kind, match):
    with pytest.raises(kind, match=match):
        eval("jnp." + text, {"jnp": jnp, "np": np})
