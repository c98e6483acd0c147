"""A compiled program is cached under everything that it depends on.

Each pair of calls differs in one thing only.  The calls run in turns, so that a key without
this thing would return the program of the other call.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.sharding import PartitionSpec as P


def double(x):
    return 2 * x


def test_whether_operands_are_committed():
    uncommitted = jnp.arange(3.0)
    placed = mj.device_put(uncommitted, mj.devices()[0])
    jitted = mj.jit(double)
    eager = jnp.negative, mj.lax.neg, mj.lax.neg_p.bind, mj.vmap(jnp.sin)
    for fun in (jitted, *eager):
        for x, committed in (
            (uncommitted, False),
            (placed, True),
            (uncommitted, False),
            (placed, True),
        ):
            assert fun(x).committed is committed


def test_devices():
    one, other = mj.devices()[:2]
    jitted = mj.jit(double)
    for device in (one, other, one, other):
        x = mj.device_put(np.arange(3.0, dtype=np.float32), device)
        for fun in (jitted, jnp.negative, mj.grad(lambda x: (x * x).sum())):
            assert fun(x).devices() == {device}


def test_the_default_device():
    """Uncommitted operands are moved there, and committed ones are not."""
    one, other = mj.devices()[:2]
    uncommitted = jnp.arange(3.0)
    placed = mj.device_put(uncommitted, one)
    for fun in (mj.jit(double), mj.jit(lambda x: x * 2 + 1), jnp.negative):
        for device in (one, other, one, other):
            with mj.default_device(device):
                out = fun(uncommitted)
                assert out.devices() == {device} and not out.committed
                assert fun(placed).devices() == {one}


def test_names_of_mesh_axes():
    jitted = mj.jit(double)
    meshes = [mj.make_mesh((2,), (name,)) for name in "ab"]
    for mesh, name in zip(meshes * 2, "abab", strict=True):
        x = mj.device_put(jnp.arange(4.0), mj.NamedSharding(mesh, P(name)))
        for fun in (jitted, jnp.negative):
            assert fun(x).sharding.spec == P(name)
            assert fun(x).sharding.mesh.axis_names == (name,)


def test_types_of_mesh_axes():
    kinds = mj.sharding.AxisType.Auto, mj.sharding.AxisType.Explicit
    jitted = mj.jit(double)
    for kind in kinds * 2:
        mesh = mj.make_mesh((2,), ("a",), axis_types=(kind,))
        x = mj.device_put(jnp.arange(4.0), mj.NamedSharding(mesh, P("a")))
        for fun in (jitted, jnp.negative):
            expected = "f32[4]" if kind is kinds[0] else "f32[4@a]"
            assert mj.typeof(fun(x)).str_short(True) == expected


def test_compiler_options():
    default = mj.jit(double)
    wrong = mj.jit(double, compiler_options={"xla_no_such_option": True})
    x = jnp.arange(3.0)
    for _ in range(2):
        np.testing.assert_array_equal(default(x), [0, 2, 4])
        with pytest.raises(Exception, match="xla_no_such_option"):
            wrong(x)
    lowered = default.lower(x)
    lowered.compile()
    with pytest.raises(Exception, match="xla_no_such_option"):
        lowered.compile({"xla_no_such_option": True})


def test_donation():
    keeps, donates = mj.jit(double), mj.jit(double, donate_argnums=0)
    for fun, deleted in ((keeps, False), (donates, True), (keeps, False), (donates, True)):
        x = jnp.arange(3.0) + 0
        fun(x)
        assert x.is_deleted() is deleted


@pytest.mark.parametrize(
    "option, values",
    [
        ("jax_enable_x64", (False, True)),
        ("jax_default_matmul_precision", (None, "float32")),
        ("jax_numpy_dtype_promotion", ("standard", "strict")),
    ],
)
def test_options_that_tracing_reads(option, values):
    def describe():
        try:
            return str(mj.make_jaxpr(mj.jit(lambda x: (x @ x) * np.int32(2)))(np.ones((2, 2))))
        except Exception as error:
            return type(error).__name__

    before = getattr(mj.config, option)
    texts = []
    try:
        for value in values * 2:
            mj.config.update(option, value)
            texts.append(describe())
    finally:
        mj.config.update(option, before)
    assert texts[:2] == texts[2:] and texts[0] != texts[1]
