"""References of functions on several devices, compared with replicated arrays."""

from functools import partial

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.sharding import Mesh, NamedSharding
from minijax.sharding import PartitionSpec as P

MESH = Mesh(np.array(mj.devices()[:4]).reshape(2, 2), ("x", "y"))
over = partial(mj.shard_map, mesh=MESH)
X = np.arange(8, dtype=np.float32).reshape(4, 2) + 1


def double(r, x):
    r[...] = r[...] * x
    return r[...] + 1


def lower_rows(r, x):
    """Only where a device has rows of the lower half."""
    lax.cond(x[0, 0] > 4, lambda: r.__setitem__(..., x * 10), lambda: None)
    return r[...]


def steps(r, x):
    def step(c, i):
        r[...] = r[...] * x + c
        return c + 1.0, r[...]

    return lax.scan(step, 0.0, jnp.arange(3))[1][-1]


def cleared(r, x):
    """What is written is the same everywhere, the reference is not."""
    zero = jnp.zeros(x.shape)
    lax.cond(lax.axis_size("x") > 1, lambda: r.__setitem__(..., zero), lambda: None)
    lax.cond(x[0, 0] > 1, lambda: None, lambda: r.__setitem__(..., zero))
    lax.fori_loop(0, 2, lambda i, _: r.__setitem__(..., zero), None)
    return x + r[...]


def total(r, x):
    r[0] = r[0] + lax.psum(x.sum(), ("x", "y"))
    return x


# name -> (function, how the reference is cut, what it holds first, result, what it holds)
FUNCTIONS = {
    "cut": (double, P("x", "y"), X, X * X + 1, X * X),
    "a branch": (lower_rows, P("x"), X, np.where(X > 4, 10 * X, X), np.where(X > 4, 10 * X, X)),
    "a loop": (steps, P("x"), X, X**4 + X + 2, X**4 + X + 2),
    "constants": (cleared, P("x", "y"), X, X, 0 * X),
    "the same everywhere": (total, P(), np.ones(2, np.float32), X, np.array([X.sum() + 1, 1])),
}


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_argument_of_shard_map(name, check):
    f, spec_of_ref, first, result, last = FUNCTIONS[name]
    spec = P("x", "y") if spec_of_ref == P() else spec_of_ref
    mapped = over(f, in_specs=(spec_of_ref, spec), out_specs=spec, check_vma=check)
    for run in (mapped, mj.jit(mapped)):
        ref = mj.new_ref(jnp.asarray(first))
        np.testing.assert_allclose(run(ref, X), result)
        np.testing.assert_allclose(ref[...], last)
        assert ref.sharding.is_equivalent_to(NamedSharding(MESH, spec_of_ref), ref.ndim)
        assert ref.format == ref[...].format


def test_a_reference_of_all_devices_is_closed_over():
    ref = mj.new_ref(jnp.float32(1))

    def f(x):
        ref[...] = ref[...] + lax.psum(x.sum(), ("x", "y"))
        return x * ref[...]

    out = mj.jit(over(f, in_specs=P("x", "y"), out_specs=P("x", "y")))(X)
    np.testing.assert_allclose(out, X * (X.sum() + 1))
    assert ref[...] == X.sum() + 1


def test_nested_shard_map_writes():
    def outer(r, x):
        inner = mj.shard_map(
            double, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"}
        )
        return inner(r, x)

    f = over(outer, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    ref = mj.new_ref(jnp.asarray(X))
    np.testing.assert_allclose(mj.jit(f)(ref, X), X * X + 1)
    np.testing.assert_allclose(ref[...], X * X)


def test_derivatives():
    spec = P("x", "y")
    f = over(double, in_specs=spec, out_specs=spec)

    def loss(x):
        ref = mj.new_ref(2 * x)
        y = f(ref, x)
        return (y * ref[...]).sum()  # (2x² + 1) 2x²

    np.testing.assert_allclose(mj.grad(loss)(X), 16 * X**3 + 4 * X, rtol=1e-6)

    def report(r, x):
        r[...] = lax.stop_gradient(jnp.sin(x))
        return x * x

    seen = mj.new_ref(jnp.zeros_like(X))
    g = over(report, in_specs=spec, out_specs=spec)
    np.testing.assert_allclose(mj.grad(lambda x: g(seen, x).sum())(X), 2 * X)
    np.testing.assert_allclose(seen[...], np.sin(X), rtol=1e-6)


def test_derivatives_by_what_all_devices_write():
    """The reference varies, the written value does not; its uses are summed."""

    def f(r, w, x):
        r[...] = w * jnp.ones(x.shape)
        return x * r[...], lax.psum(r[...].sum(), ("x", "y"))

    spec = P("x", "y")
    mapped = over(f, in_specs=(spec, P(), spec), out_specs=(spec, P()))
    text = str(mj.make_jaxpr(mapped)(mj.new_ref(jnp.asarray(X)), 2.0, X))
    assert "pvary" not in text.partition("<-")[0]  # as in JAX

    def loss(w):
        products, total = mapped(mj.new_ref(jnp.zeros_like(X)), w, X)
        return products.sum() + total**2

    assert mj.grad(loss)(3.0) == X.sum() + 2 * (3 * X.size) * X.size


def test_lanes():
    ref = mj.new_ref(jnp.ones((3, 4, 2)))
    f = over(double, in_specs=P("x"), out_specs=P("x"))
    xs = np.stack([X, 2 * X, 3 * X])
    np.testing.assert_allclose(mj.vmap(f)(ref, xs), xs + 1)
    np.testing.assert_allclose(ref[...], xs)


@pytest.mark.parametrize("axis", [0, 1])
def test_argument_of_pmap(axis):
    ref = mj.new_ref(jnp.asarray(X))
    f = mj.pmap(double, in_axes=(axis, 0))
    xs = np.arange(X.shape[axis], dtype=np.float32)
    for times in (1, 2):
        expected = X * (xs[:, None] if axis == 0 else xs) ** times
        np.testing.assert_allclose(f(ref, xs), np.moveaxis(expected, axis, 0) + 1)
        np.testing.assert_allclose(ref[...], expected)


def test_a_reference_that_replicas_share():
    shared, closed = mj.new_ref(jnp.float32(0)), mj.new_ref(jnp.float32(1))

    def f(r, x):
        r[...] = lax.psum(x, "i")
        closed[...] = closed[...] * 2
        return x + r[...] + closed[...]

    out = mj.pmap(f, "i", in_axes=(None, 0))(shared, X[:, 0])
    np.testing.assert_allclose(out, X[:, 0] + 16 + 2)
    assert (shared[...], closed[...]) == (16, 2)


def test_nested_pmaps_write():
    ref = mj.new_ref(jnp.asarray(X))
    np.testing.assert_allclose(mj.pmap(mj.pmap(double))(ref, X), X * X + 1)
    np.testing.assert_allclose(ref[...], X * X)


def test_in_shardings_of_a_reference():
    spec_of_ref, replicated = NamedSharding(MESH, P("x")), NamedSharding(MESH, P())
    ref = mj.new_ref(mj.device_put(X, spec_of_ref))
    f = mj.jit(double, in_shardings=(spec_of_ref, replicated), out_shardings=replicated)
    np.testing.assert_allclose(f(ref, X), X * X + 1)
    np.testing.assert_allclose(ref[...], X * X)
    wrong = mj.jit(double, in_shardings=(replicated, replicated))
    with pytest.raises(ValueError, match="Sharding passed to jit does not match"):
        wrong(ref, X)


def own(x):
    ref = mj.new_ref(jnp.zeros(x.shape))
    ref[...] = x
    return ref[...]


def chooses(r, x):
    lax.cond(x[0, 0] > 4, lambda: r.__setitem__(..., 0.0), lambda: None)


def places(r, x):
    r[jnp.int32(x[0, 0]) - 1] = 0.0


SPREAD = P("x", "y")


@pytest.mark.parametrize(
    ("f", "specs", "says"),
    [
        (own, SPREAD, "varies along x, y cannot be written"),
        (lambda r, x: r.__setitem__(..., x[0, 0]), (P(), SPREAD), "varies along x, y"),
        (lambda r, x: r.addupdate(x[0, 0]), (P(), SPREAD), "varies along x, y"),
        (chooses, (P(), SPREAD), "out_specs|vary"),
        (lambda r, x: r, (SPREAD, SPREAD), "cannot be returned"),
    ],
)
def test_refused(f, specs, says):
    args = (X,)
    if specs is not SPREAD:
        args = (mj.new_ref(jnp.zeros((4, 2) if specs[0] == SPREAD else ())), X)
    with pytest.raises(ValueError, match=says):
        over(f, in_specs=specs, out_specs=P())(*args)
    with pytest.raises(ValueError, match=says):
        mj.jit(over(f, in_specs=specs, out_specs=P()))(*args)


def test_an_index_that_varies():
    ref = mj.new_ref(jnp.ones(8))
    with pytest.raises(ValueError, match="varies along x, y"):
        over(places, in_specs=(P(), SPREAD), out_specs=P())(ref, X)


def test_a_reference_is_passed_once():
    ref = mj.new_ref(jnp.asarray(X))
    for f in (over(double, in_specs=SPREAD, out_specs=SPREAD), mj.pmap(double)):
        with pytest.raises(ValueError, match="only one reference to a mutable array"):
            f(ref, ref)


def test_programs_of_replicas_with_references_compiled_ahead():
    shared = mj.new_ref(jnp.ones(3))

    def step(ref, largest, x):
        ref[...] += x
        largest[...] = lax.pmax(x, "i")
        return ref[...] * 2 + shared[...]

    rows = np.arange(12.0, dtype="float32").reshape(4, 3)
    ref, largest = mj.new_ref(jnp.zeros((4, 3))), mj.new_ref(jnp.zeros(3))
    mapped = mj.pmap(step, axis_name="i", in_axes=(0, None, 0))
    compiled = mapped.lower(ref, largest, rows).compile()
    for k in (1, 2):
        np.testing.assert_array_equal(compiled(ref, largest, rows), 2 * k * rows + 1)
        np.testing.assert_array_equal(ref[...], k * rows)
        np.testing.assert_array_equal(largest[...], rows[-1])
    specs = [s.spec for s in compiled.input_shardings[0]]
    assert specs == [P("i"), P(), P("i")] and compiled.output_shardings.spec == P("i")
