"""Costs of functions on each device: the numbers were recorded from JAX 0.10.2."""

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import roofline as rf
from minijax.sharding import PartitionSpec as P

MESH = mj.make_mesh((4,), ("x",), axis_types=(mj.sharding.AxisType.Auto,))
X = mj.ShapeDtypeStruct((8, 16), "float32")
Y = mj.ShapeDtypeStruct((16, 4), "float32")
# flops, unfused_flops, hbm_bytes, peak_hbm_bytes, unfused_hbm_bytes
COSTS = {
    "add": (lambda a: a + a, (X,), (0, 128, 0, 512, 1536)),
    "two": (lambda a: a * a + 1, (X,), (0, 256, 0, 512, 2564)),
    "sin": (jnp.sin, (X,), (0, 128, 0, 512, 1024)),
    "product": (lambda a, b: a @ b, (X, Y), (1024, 1024, 896, 768, 896)),
    "sin of one": (lambda a, b: jnp.sin(a @ b), (X, Y), (1024, 1056, 896, 768, 1152)),
    "cube": (lambda a: a**3, (X,), (0, 128, 0, 512, 1024)),
    "transpose": (lambda a: a.T, (X,), (0, 0, 0, 512, 0)),
    "copies": (lambda a: jnp.broadcast_to(a, (3, 8, 16)), (X,), (0, 0, 0, 1536, 0)),
    "sums": (jnp.cumsum, (X,), (0, 128, 0, 512, 1024)),
    "jit": (mj.jit(lambda a: a * 2), (X,), (0, 128, 0, 512, 1028)),
    "remat": (mj.checkpoint(lambda a: jnp.sin(a) * 2), (X,), (0, 256, 0, 512, 2052)),
    "pair": (lambda a: (a + 1, a * 2), (X,), (0, 256, 0, 1024, 2056)),
    "triple": (lambda a: (a @ a.T) @ a, (X,), (4096, 4096, 2560, 1024, 2560)),
    "nothing": (lambda a: a, (X,), (0, 0, 0, 512, 0)),
}


def numbers(r):
    return (r.flops, r.unfused_flops, r.hbm_bytes, r.peak_hbm_bytes, r.unfused_hbm_bytes)


@pytest.mark.parametrize("name", COSTS)
def test_costs(name):
    f, args, expected = COSTS[name]
    out, costs = rf.roofline(f)(*args)
    assert numbers(costs) == expected
    types = mj.eval_shape(f, *args)
    assert mj.tree.leaves(out) == mj.tree.leaves(types)


def test_pinned_factors_are_not_read():
    product = lambda a, b: a @ b
    _, left = rf.roofline(product, pin_lhs_in_vmem=True)(X, Y)
    _, both = rf.roofline(product, pin_lhs_in_vmem=True, pin_rhs_in_vmem=True)(X, Y)
    assert (left.hbm_bytes, both.hbm_bytes) == (256, 0)


LINKS = {
    "psum": (lambda a: lax.psum(a, "x"), P(), 192, 8),
    "all_gather": (lambda a: lax.all_gather(a, "x"), P(None, "x"), 384, 4),
    "all_to_all": (lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), P("x"), 128, 2),
    "ppermute": (
        lambda a: lax.ppermute(a, "x", [(0, 1), (1, 2), (2, 3), (3, 0)]),
        P("x"),
        128,
        1,
    ),
}


@pytest.mark.parametrize("name", LINKS)
def test_bytes_that_devices_send(name):
    f, out, sent, steps = LINKS[name]
    costs = rf.roofline(f, mesh=MESH, in_specs=P("x"), out_specs=out)(X)[1]
    assert (costs.ici_bytes, costs.ici_latency) == ({"x": sent}, {"x": steps})


def test_each_device_computes_its_shard():
    add = lambda a: a + a
    _, costs = rf.roofline(add, mesh=MESH, in_specs=P("x"), out_specs=P("x"))(X)
    assert numbers(costs) == (0, 32, 0, 128, 384)


def test_reduce_scatter():
    f = lambda a: lax.psum_scatter(a, "x", tiled=True)
    wide = mj.ShapeDtypeStruct((16, 16), "float32")
    costs = rf.roofline(f, mesh=MESH, in_specs=P("x"), out_specs=P("x"))(wide)[1]
    assert (costs.ici_bytes, costs.ici_latency) == ({"x": 192}, {"x": 4})


def test_the_backward_pass():
    f = lambda a: jnp.sin(a) * a
    spec = P("x")
    out, forward, back = rf.roofline_and_grad(f, MESH, spec, spec)(X)
    assert out.shape == (8, 16)
    # sin, mul; and three products with a sum: a quarter of each
    assert (forward.unfused_flops, back.unfused_flops) == (64, 128)


def test_loops_and_branches_count():
    loop = lambda a: lax.scan(lambda c, x: (c + x, None), a[0], a)[0]
    branch = lambda a: lax.cond(a[0, 0] > 0, jnp.sin, lambda a: a, a)
    assert rf.roofline(loop)(X)[1].unfused_flops == 8 * 16
    assert rf.roofline(branch)(X)[1].unfused_flops == 1 + 128


def test_rules_of_users():
    prim = mj.extend.core.Primitive("mine")
    prim.def_abstract_eval(lambda x, *, times: x)
    seen = []

    @rf.register_roofline(prim)
    def rule(ctx, x, *, times):
        seen.append((ctx.primitive, x.bytes, ctx.pin_lhs_in_vmem))
        return rf.RooflineResult(flops=times * x.size)

    f = lambda a: prim.bind(prim.bind(a, times=3), times=2)
    costs = rf.roofline(f, pin_lhs_in_vmem=True)(X)[1]
    assert costs.flops == 5 * 128 and costs.unfused_flops == 0
    assert seen == [(prim, 512, True)] * 2
    rf.register_standard_roofline(prim)
    assert rf.roofline(f)(X)[1].flops == 0


def test_sums_of_results():
    a = rf.RooflineResult(flops=1, ici_bytes={"x": 1}, peak_hbm_bytes=4)
    b = rf.RooflineResult(flops=2, ici_bytes={"x": 2, "y": 3}, peak_hbm_bytes=3)
    total = a + b + rf.RooflineResult.zeros()
    assert (total.flops, total.peak_hbm_bytes) == (3, 4)
    assert total.ici_bytes == {"x": 3, "y": 3}
