"""`shard_map`: values and derivatives of the whole function that the parts make up."""

from functools import partial

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import mesh_utils, pjit
from minijax.experimental.shard_map import shard_map as by_position
from minijax.sharding import AbstractMesh, AxisType, Infer, Mesh, NamedSharding
from minijax.sharding import PartitionSpec as P

MESH = Mesh(mesh_utils.create_device_mesh((4, 2), mj.devices()[:8]), ("x", "y"))
over = partial(mj.shard_map, mesh=MESH)

DRAW = np.random.default_rng(0)
A = DRAW.normal(size=(8, 4)).astype(np.float32)
B = DRAW.normal(size=(4, 6)).astype(np.float32)
V = np.arange(8, dtype=np.float32)
RING = [(i, (i + 1) % 4) for i in range(4)]


def turn(x):
    """Each device's part, handed to the next one."""
    return lax.ppermute(x, "x", RING)


def back(v, k=1):
    """What turning `k` times does to the whole of eight numbers in four parts."""
    return jnp.roll(v, 2 * k)


def ring_scan(v):
    return lax.scan(lambda c, _: (jnp.sin(turn(c)) + v, None), v, None, length=3)[0]


def ring_loop(v):
    for_sum = v
    for _ in range(3):
        for_sum = jnp.sin(back(for_sum)) + v
    return for_sum


# name -> (the mapped function, the whole function, arguments)
FUNCTIONS = {
    "product": (
        over(lambda a, b: lax.psum(a @ b, "y"), in_specs=(P("x", "y"), P("y")),
             out_specs=P("x")),
        lambda a, b: a @ b, (A, B),
    ),
    "sum of all": (
        over(lambda v: lax.psum(jnp.sin(v).sum(), "x"), in_specs=P("x"), out_specs=P()),
        lambda v: jnp.sin(v).sum(), (V,),
    ),
    "mean of all": (
        over(lambda w, x: lax.pmean(((x @ w) ** 2).mean(), ("x", "y")),
             in_specs=(P(), P(("x", "y"))), out_specs=P()),
        lambda w, x: ((x @ w) ** 2).mean(), (B, A),
    ),
    "scalar operand": (
        over(lambda s, v: jnp.sin(s) * v, in_specs=(P(), P("x")), out_specs=P("x")),
        lambda s, v: jnp.sin(s) * v, (np.float32(2), V),
    ),
    "turned": (
        over(lambda v: turn(v * v), in_specs=P("x"), out_specs=P("x")),
        lambda v: back(v * v), (V,),
    ),
    "scan": (over(ring_scan, in_specs=P("x"), out_specs=P("x")), ring_loop, (V / 8,)),
    "remat": (
        over(mj.checkpoint(lambda v: jnp.sin(turn(jnp.sin(v)))), in_specs=P("x"),
             out_specs=P("x")),
        lambda v: jnp.sin(back(jnp.sin(v))), (V,),
    ),
    "gathered": (
        over(lambda v: v * lax.all_gather(v, "x", tiled=True).sum(), in_specs=P("x"),
             out_specs=P("x")),
        lambda v: v * v.sum(), (V,),
    ),
    "scattered": (
        over(lambda v: lax.psum_scatter(v, "x", tiled=True), in_specs=P(),
             out_specs=P("x")),
        lambda v: 4 * v, (V,),
    ),
    "exchanged": (
        over(lambda a: lax.all_to_all(jnp.sin(a), "x", 1, 0, tiled=True), in_specs=P("x"),
             out_specs=P(None, "x")),
        jnp.sin, (A,),
    ),
    "by index": (
        over(lambda v: v * lax.axis_index("x"), in_specs=P("x"), out_specs=P("x")),
        lambda v: v * (jnp.arange(8) // 2), (V,),
    ),
    "branches": (
        over(lambda v: lax.cond(lax.axis_index("x") > 1, lambda: v * v, lambda: 3 * v),
             in_specs=P("x"), out_specs=P("x")),
        lambda v: jnp.where(jnp.arange(8) > 3, v * v, 3 * v), (V,),
    ),
    "some axes": (
        over(lambda a: lax.psum(jnp.sin(a), "x"), in_specs=P("x"), out_specs=P(),
             axis_names={"x"}),
        lambda a: jnp.sin(a).reshape(4, 2, 4).sum(0), (A,),
    ),
    "one in another": (
        over(
            lambda a: mj.shard_map(
                lambda c: lax.psum(jnp.sin(c), "y") * (1 + lax.axis_index("x")),
                in_specs=P(None, "y"), out_specs=P(), axis_names={"y"},
            )(a),
            in_specs=P("x"), out_specs=P("x"), axis_names={"x"},
        ),
        lambda a: (jnp.sin(a[:, :2]) + jnp.sin(a[:, 2:]))
        * (1 + jnp.arange(8) // 2)[:, None], (A,),
    ),
    "trees": (
        over(lambda d: {"s": lax.psum(d["a"].sum(), "x"), "t": 2 * d["b"]},
             in_specs=({"a": P("x"), "b": P("y")},), out_specs={"s": P(), "t": P("y")}),
        lambda d: {"s": d["a"].sum(), "t": 2 * d["b"]}, ({"a": V, "b": A},),
    ),
    "jit inside": (
        over(mj.jit(lambda v: lax.psum(v, "x")), in_specs=P("x"), out_specs=P()),
        lambda v: v.reshape(4, 2).sum(0), (V,),
    ),
}  # fmt: skip


def close(result, expected, rtol=1e-5):
    mj.tree.map(partial(np.testing.assert_allclose, rtol=rtol, atol=1e-5), result, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name):
    parts, full, args = FUNCTIONS[name]
    args = mj.tree.map(jnp.asarray, args)
    expected = full(*args)
    close(parts(*args), expected)

    def all_of_it(f):
        def total(args):
            return sum(jnp.sum(jnp.cos(y)) for y in mj.tree.leaves(f(*args)))

        def run(args):
            return (f(*args), mj.jvp(lambda a: f(*a), (args,), (args,)), mj.grad(total)(args))

        return mj.jit(run)

    close(all_of_it(parts)(args), all_of_it(full)(args), 1e-4)


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("product", (0, None)),
        ("product", (2, 0)),
        ("scalar operand", (0, None)),
        ("scan", (1,)),
        ("some axes", (0,)),
    ],
)
def test_lanes(name, axes):
    parts, full, args = FUNCTIONS[name]
    args = [
        x if d is None else jnp.stack([x, 2 * x], d) for x, d in zip(args, axes, strict=True)
    ]

    def run(f):
        lanes = mj.vmap(f, in_axes=axes)
        slope = mj.grad(lambda *args: jnp.sin(lanes(*args)).sum())
        return mj.jit(lambda *args: (lanes(*args), slope(*args)))(*args)

    close(run(parts), run(full), 1e-4)


def test_second_derivatives():
    parts, full, args = FUNCTIONS["sum of all"]
    close(mj.jit(mj.hessian(parts))(*args), mj.hessian(full)(*args))


def test_results_are_sharded_by_their_specs():
    parts, _, args = FUNCTIONS["product"]
    eager = parts(*args).sharding
    assert eager == NamedSharding(MESH, P("x"))
    assert mj.jit(parts)(*args).sharding.is_equivalent_to(eager, 2)
    compiled = mj.jit(parts).lower(*args).compile().output_shardings
    assert compiled.is_equivalent_to(eager, 2)


def test_the_program_that_is_compiled():
    """Nothing is gathered, and what the devices share is added up by one collective."""
    parts, _, args = FUNCTIONS["product"]
    a = mj.device_put(args[0], NamedSharding(MESH, P("x", "y")))
    b = mj.device_put(args[1], NamedSharding(MESH, P("y")))
    text = mj.jit(parts).lower(a, b).compile().as_text()
    assert text.count(" all-reduce(") == 1 and "all-gather" not in text


def test_what_a_function_closes_over():
    def f(w):
        return over(lambda v: v * w.sum(), in_specs=P("x"), out_specs=P("x"))(V).sum()

    close(mj.jit(mj.value_and_grad(f))(B), (V.sum() * B.sum(), np.full_like(B, 28)))
    table = jnp.asarray([1.0, 3.0])
    close(
        over(lambda v: v + table, in_specs=P("x"), out_specs=P("x"))(V),
        V + np.tile([1.0, 3.0], 4),
    )


def test_keys():
    keys = mj.random.split(mj.random.key(0), 8)
    draw = mj.vmap(mj.random.uniform)
    close(over(draw, in_specs=P("x"), out_specs=P("x"))(keys), draw(keys))

    def one_each(key, v):
        own = mj.random.fold_in(key, lax.axis_index("x"))
        return v + mj.random.uniform(own, (2,))

    result = over(one_each, in_specs=(P(), P("x")), out_specs=P("x"))(keys[0], V)
    own = mj.vmap(lambda i: mj.random.uniform(mj.random.fold_in(keys[0], i), (2,)))
    close(result, V + own(jnp.arange(4)).reshape(-1))


def test_callbacks_run_on_every_device():
    seen = []
    shape = mj.ShapeDtypeStruct((2,), np.float32)

    def host(x):
        seen.append(x.shape)
        return 2 * np.asarray(x)

    f = over(
        lambda v: mj.pure_callback(host, shape, v),
        in_specs=P(("x",)),
        out_specs=P("x"),
        check_vma=False,
    )
    close(mj.jit(f)(V), 2 * V)
    assert seen == [(2,)] * len(seen) and len(seen) >= 4


def test_each_device_stops_for_itself():
    def f(v):
        return lax.while_loop(
            lambda c: c[0] < lax.axis_index("x"), lambda c: (c[0] + 1, 2 * c[1]), (0, v)
        )[1]

    g = over(f, in_specs=P("x"), out_specs=P("x"))
    close(g(V), V * 2.0 ** (np.arange(8) // 2))
    with pytest.raises(ValueError, match="require replication"):  # steps differ
        over(lambda v: f(v.sum()), in_specs=P(), out_specs=P())(V)


def test_one_device():
    mesh = Mesh(np.array(mj.devices()[:1]), ("x",))
    f = mj.shard_map(
        lambda v: (
            lax.psum(v, "x") + lax.axis_index("x"),
            lax.all_gather(v, "x"),
            lax.ppermute(v, "x", [(0, 0)]),
        ),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=(P("x"), P("x"), P("x")),
    )
    for run in (f, mj.jit(f)):
        close(run(V), (V, V[None], V))
    total = mj.shard_map(
        lambda v: lax.pmean(jnp.sin(v).sum(), "x"), mesh=mesh, in_specs=P("x"), out_specs=P()
    )
    close(mj.jit(mj.grad(total))(V), np.cos(V))


def test_forms():
    f, specs = jnp.sin, {"in_specs": P("x"), "out_specs": P("x")}
    close(mj.shard_map(mesh=MESH, **specs)(f)(V), np.sin(V))
    close(by_position(f, MESH, P("x"), P("x"), check_rep=False)(V), np.sin(V))
    with mj.set_mesh(MESH):
        close(mj.shard_map(f, **specs)(V), np.sin(V))
        doubled = mj.smap(lambda a: 2 * a, in_axes=1, out_axes=0, axis_name="x")(A)
        close(doubled, 2 * np.concatenate(np.split(A, 4, 1)))
    abstract = mj.shard_map(f, mesh=MESH.abstract_mesh, **specs)
    close(abstract(mj.device_put(V, NamedSharding(MESH, P()))), np.sin(V))
    with pytest.raises(ValueError, match="AbstractMesh"):
        abstract(V)
    close(pjit.pjit(f, in_shardings=NamedSharding(MESH, P("x")))(V), np.sin(V))


def test_it_prints_its_specs():
    parts, _, args = FUNCTIONS["product"]
    text = str(mj.make_jaxpr(parts)(*args))
    for line in (
        "check_vma=True",
        "in_specs=(P('x', 'y'), P('y',))",
        "out_specs=(P('x',),)",
        "d:f32[2,2]{V:(x,y)} e:f32[2,6]{V:y}",
    ):
        assert line in text, text


same = lambda a: a
REFUSED = {
    "varies": (dict(in_specs=P("x"), out_specs=P()), A, "require replication which"),
    "an unknown axis": (dict(in_specs=P("z"), out_specs=P()), A, "refers to 'z'"),
    "a size": (dict(in_specs=P("x"), out_specs=P()), A[:6], "not evenly divisible"),
    "a rank": (dict(in_specs=P("x"), out_specs=P()), 1.0, "in_specs entry which is too"),
    "a result's rank": (
        dict(in_specs=P(), out_specs=P("x", None)),
        V,
        "out_specs entry which is too long",
    ),
    "a result's tree": (dict(in_specs=P(), out_specs=(P(), P())), V, "prefix"),
    "an argument's tree": (dict(in_specs=(P(), P()), out_specs=P()), V, "prefix"),
    "an axis twice": (dict(in_specs=P("x", "x"), out_specs=P()), A, "duplicate"),
    "names": (dict(in_specs=P(), out_specs=P(), axis_names={"q"}), V, "to be a subset of"),
    "an axis left": (
        dict(in_specs=P("x"), out_specs=P(), axis_names={"y"}),
        V,
        "marked as manual",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    options, x, says = REFUSED[name]
    with pytest.raises(ValueError, match=says):
        over(same, **options)(x)


def test_other_refusals():
    specs = {"in_specs": P("x"), "out_specs": P("x")}
    with pytest.raises(ValueError, match="context mesh cannot be empty"):
        mj.shard_map(same, **specs)(V)
    with pytest.raises(TypeError, match="must be a pytree of"):
        over(same, in_specs=3, out_specs=P())
    with pytest.raises(TypeError, match="are of type \\(Auto, Auto\\)"):
        over(same, in_specs=Infer, out_specs=P())(V)
    with pytest.raises(TypeError, match="shard_map requires a"):
        mj.shard_map(same, mesh=3, **specs)
    with pytest.raises(TypeError, match="in_axes must be an int"):
        mj.smap(same, in_axes="a", out_axes=0, axis_name="x")
    with pytest.raises(ValueError, match="already manual"):
        over(lambda v: over(same, axis_names={"x"}, **specs)(v), **specs)(V)
    with pytest.raises(NameError, match="'q'"):
        over(lambda v: lax.psum(v, "q"), **specs)(V)
    with pytest.raises(ValueError, match="ordered effects are not supported for more"):
        ordered = lambda v: (mj.debug.print("{}", v, ordered=True), v)[1]
        mj.jit(over(ordered, **specs))(V)


def test_devices_in_the_form_of_a_mesh():
    devices = mj.devices()[:8]
    grid = mesh_utils.create_device_mesh((2, 4), devices)
    assert grid.shape == (2, 4) and list(grid.flat) == devices
    with pytest.raises(ValueError, match="must equal the product of mesh_shape"):
        mesh_utils.create_device_mesh((3, 2), devices)
    hybrid = partial(mesh_utils.create_hybrid_device_mesh, devices=devices)
    assert hybrid((4, 2), (1, 1), process_is_granule=True).shape == (4, 2)

    class Device:
        def __init__(self, i):
            self.i, self.slice_index = i, 1 - i // 4

    class Tpu:
        def __init__(self, *coords):
            self.coords = coords

    chips = [Tpu(x, y, 0) for x in (1, 0) for y in (1, 0)]
    result = mesh_utils.create_device_mesh((2, 2), chips)
    assert [d.coords[:2] for d in result.flat] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    with pytest.raises(NotImplementedError, match="contiguous_submeshes"):
        mesh_utils.create_device_mesh((2, 2), chips, contiguous_submeshes=True)
    made = mesh_utils.create_hybrid_device_mesh((2, 2), (1, 2), map(Device, range(8)))
    assert [[d.i for d in row] for row in made] == [[4, 5, 0, 1], [6, 7, 2, 3]]
    with pytest.raises(ValueError, match="product of dcn_mesh_shape"):
        hybrid((4, 2), (2, 1), process_is_granule=True)
    assert AbstractMesh((2,), ("x",)).size == 2


@pytest.mark.parametrize(
    "shape, spec, f, expected",
    [  # recorded from JAX 0.10.2
        ((1, 1), P("x"), lambda v: v * 2, P("x")),
        ((1, 1), P("x", None), lambda v: v.T, P("x", None)),
        ((1, 1), P("x"), lambda v: v.sum(), P()),
        ((1, 1), P("x"), lambda v: v.reshape(4, 2, 1), P()),
        ((2, 1), P("x", "y"), lambda v: v * 2, P("x", "y")),
        ((2, 1), P("x", "y"), lambda v: v.T, P(None, "x")),
        ((4, 2), P("x", None), lambda v: v * 2, P("x", None)),
    ],
)
def test_results_keep_an_operands_sharding(shape, spec, f, expected):
    devices = np.array(mj.devices()[: shape[0] * shape[1]]).reshape(shape)
    mesh = Mesh(devices, ("x", "y"))
    v = mj.device_put(V.reshape(8, 1), NamedSharding(mesh, spec))
    assert mj.jit(f)(v).sharding.spec == expected
    assert mj.jit(f).lower(v).compile().output_shardings.spec == expected


@pytest.mark.parametrize("check_vma", [True, False])
def test_lanes_along_a_mesh_axis_have_gradients_of_their_own(check_vma):
    """Lane by lane, the gradients of sums over all of a row."""
    mesh = mj.make_mesh((4, 2), ("i", "j"), (AxisType.Auto,) * 2)
    local = lambda x, w: lax.psum(jnp.sin(x * w).sum(), "j")
    f = mj.shard_map(
        local, mesh=mesh, in_specs=(P("j"), P()), out_specs=P(), check_vma=check_vma
    )
    x = np.arange(32, dtype=np.float32).reshape(4, 8) / 32
    w = np.array([[0.5], [1.0], [2.0], [3.0]], np.float32)
    of_x, of_w = w * np.cos(x * w), (x * np.cos(x * w)).sum(1, keepdims=True)
    grad = mj.grad(f, argnums=(0, 1))
    for g in (grad, mj.jit(grad), mj.grad(mj.checkpoint(f), argnums=(0, 1))):
        got = mj.jit(mj.vmap(g, spmd_axis_name="i"))(x, w)
        np.testing.assert_allclose(got[0], of_x, rtol=1e-5)
        np.testing.assert_allclose(got[1], of_w, rtol=1e-5)
    lanes = lambda x, w: mj.vmap(f, spmd_axis_name="i")(x, w).sum()
    got = mj.jit(mj.grad(lanes, argnums=(0, 1)))(x, w)
    np.testing.assert_allclose(got[0], of_x, rtol=1e-5)
    np.testing.assert_allclose(got[1], of_w, rtol=1e-5)
    shared = mj.vmap(mj.grad(f, argnums=1), in_axes=(0, None), spmd_axis_name="i")
    expected = (x * np.cos(x * w[2])).sum(1, keepdims=True)
    np.testing.assert_allclose(mj.jit(shared)(x, w[2]), expected, rtol=1e-5)
    with pytest.raises(NameError, match="unbound axis name"):
        mj.vmap(lambda x: lax.axis_size("i"), spmd_axis_name="i")(x)
