"""pmap: messages, results and where they lie, donation, devices, ahead of time, threads,
callbacks that compute.  Its values against JAX are in tests/parity/values/maps.py."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest

import minijax as jax
from minijax import lax
from minijax import numpy as jnp

A = jnp.arange(12.0).reshape(3, 4)
x3 = jnp.arange(3.0)
scalar = jax.ShapeDtypeStruct((), jnp.float32)
pmap = jax.pmap


def add_one(x):
    return x + 1


# ------------------------------------------------------------------------------ messages


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: pmap(3), TypeError, "Expected a callable value, got 3"),
        (lambda: pmap(add_one, in_axes="a"), TypeError,
         r"pmap in_axes must be an int, None, or \(nested\) container"),
        (lambda: pmap(add_one, out_axes=0.5), TypeError,
         r"pmap out_axes must be an int, None, or \(nested\) container"),
        (lambda: pmap(add_one, devices=[]), ValueError, "must be non-empty, or None"),
        (lambda: pmap(add_one, devices=["a"]), TypeError, "must be devices"),
        (lambda: pmap(add_one, devices=jax.devices()[:1] * 2), ValueError, "differ"),
        (lambda: pmap(add_one, donate_argnums="a"), TypeError, "donate_argnums"),
        (lambda: pmap(add_one, static_broadcasted_argnums=0, donate_argnums=0),
         ValueError, "cannot intersect"),
        (lambda: pmap(add_one, global_arg_shapes=()), TypeError, "unexpected keyword"),
        (lambda: pmap(add_one)(jnp.ones(9)), ValueError,
         "requires 9 logical devices, but only 8 XLA devices are available"),
        (lambda: pmap(add_one, devices=jax.devices()[:2])(x3), ValueError,
         "requires 3 logical devices, but only 2"),
        (lambda: pmap(add_one, backend="nope")(x3), RuntimeError, "nope"),
        (lambda: pmap(add_one)(1.0), ValueError, "rank should be at least 1"),
        (lambda: pmap(add_one, in_axes=2)(A), ValueError, "along axis 2"),
        (lambda: pmap(lambda: 1.0)(), ValueError,
         "pmap requires at least one argument with a mapped axis"),
        (lambda: pmap(add_one, in_axes=None)(1.0), ValueError,
         "pmap requires at least one argument with a mapped axis"),
        (lambda: pmap(add_one)(jnp.ones((0, 2))), ValueError, "at least one slice"),
        (lambda: pmap(lambda: 1.0, axis_size=0)(), ValueError, "at least one slice"),
        (lambda: pmap(add_one, axis_size=4)(x3), ValueError,
         "Specified axis_size 4 doesn't match received axis_size 3"),
        (lambda: pmap(lambda x, y: x, in_axes=(0,))(A, A), ValueError,
         r"len\(in_axes\)=1, len\(args\)=2"),
        (lambda: pmap(lambda x: x, in_axes=((0, 0),))((A, A, A)), ValueError,
         r"pmap in_axes specification must be a tree prefix(.|\n)*pmap in_axes\[0\]"),
        (lambda: pmap(lambda x: {"a": x, "b": x}, out_axes={"a": 1})(A), ValueError,
         "pmap out_axes specification must be a tree prefix"),
        (lambda: pmap(lambda x: x, out_axes=2)(A), ValueError,
         "axis 2 is out of bounds for array of dimension 2"),
        (lambda: pmap(lambda x: x, out_axes=-3)(A), ValueError,
         "axis -3 is out of bounds for array of dimension 2"),
        (lambda: pmap(lambda x, y: x)(A, "a"), TypeError, r"argument y of(.|\n)*'a'"),
        (lambda: pmap(lambda x: "a")(A), TypeError,
         "traced for pmap returned a value(.|\n)*not a valid JAX type"),
        (lambda: pmap(lambda x, n: x, static_broadcasted_argnums=1)(A, [3]), ValueError,
         "Non-hashable static arguments are not supported"),
        (lambda: pmap(lambda x, n: x, static_broadcasted_argnums=1)(A, n=3), ValueError,
         r"static_broadcasted_argnums=\(1,\) but was called with only 1 positional arg"),
        (lambda: pmap(lambda x: lax.psum(x, "i"))(A), NameError,
         r"unbound axis name: i\n(.|\n)*pmap"),
        (lambda: pmap(lambda x: 1 if x > 0 else 0)(x3),
         jax.errors.TracerBoolConversionError, r"bool\[\]"),
    ],
)  # fmt: skip
def test_messages(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_sizes_that_differ_are_listed():
    with pytest.raises(ValueError) as e:
        pmap(lambda x, d: x)(A, {"w": jnp.ones(4), "b": jnp.ones(3)})
    lines = str(e.value).splitlines()
    assert lines[:3] == [
        "pmap got inconsistent sizes for array axes to be mapped:",
        "  * most axes (2 of them) had size 3, e.g. axis 0 of argument x of type float32[3,4];",
        "  * one axis had size 4: axis 0 of argument d['w'] of type float32[4]",
    ]


def test_an_error_inside_propagates_unchanged():
    def f(x):
        raise ZeroDivisionError("boo")

    with pytest.raises(ZeroDivisionError, match="boo"):
        pmap(f)(A)


def test_a_leak_is_found():
    leaked = []
    pmap(lambda x: leaked.append(x))(A)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        leaked[0] + 1


# ------------------------------------------------------------------------------- results


def test_results_stay_on_their_devices():
    devices = jax.devices()[5:2:-1]
    y = pmap(add_one, devices=devices)(A)
    assert isinstance(y, jax.Array)
    assert [s.device for s in y.addressable_shards] == devices
    assert [s.index[0] for s in y.addressable_shards] == [
        slice(i, i + 1, None) for i in range(3)
    ]
    for i, shard in enumerate(y.addressable_shards):
        np.testing.assert_array_equal(np.ravel(shard.data), A[i] + 1)
    assert y.devices() == y.sharding.device_set == set(devices)
    assert y.committed and y.is_fully_addressable and not y.is_fully_replicated
    assert y[1].devices() == {devices[1]}
    np.testing.assert_array_equal(y[1], A[1] + 1)


def test_sharded_rows_are_not_moved():
    """And outlive the whole: they are copies."""
    devices = jax.devices()[5:2:-1]
    y = pmap(add_one, devices=devices, donate_argnums=0)(A)
    rows = [y[0], y[-2], *y]
    assert [r.devices() for r in rows] == [{devices[i]} for i in (0, 1, 0, 1, 2)]
    assert not rows[0].committed
    np.testing.assert_array_equal(rows[0] + rows[1], A[0] + A[1] + 2)
    assert y[7].tolist() == y[2].tolist()  # the nearest, as everywhere
    y.delete()
    np.testing.assert_array_equal(jnp.stack(rows[2:]), A + 1)
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        y[0]
    across = pmap(add_one, out_axes=1)(A)
    np.testing.assert_array_equal(across[0], A[:, 0] + 1)


def test_results_behave_as_arrays():
    y, full = pmap(add_one)(A), np.asarray(A + 1)
    for got, expected in (
        (y[-1, 1:], full[-1, 1:]),
        (y[:, 0], full[:, 0]),
        (y[y > 3], full[full > 3]),
        (y + A, full + A),
        (y.T, full.T),
        (y.reshape(-1), full.ravel()),
        (y.at[0].set(0.0)[0], np.zeros(4)),
        (jnp.sum(y, 0), full.sum(0)),
        (jax.jit(jnp.add)(y, A), full + A),
        (jax.grad(jnp.sum)(y), np.ones((3, 4))),
        (jax.vmap(jnp.sum)(y), full.sum(1)),
        (np.stack(list(y)), full),
        (jax.device_get(y), full),
        (copy.deepcopy(y), full),
        (y.copy(), full),
        (pickle.loads(pickle.dumps(y)), full),
        (y.tolist(), full),
        (jax.device_put(y, jax.devices()[1]), full),
        (y.block_until_ready(), full),
        (pmap(add_one, in_axes=1)(y), full.T + 1),
        (pmap(lambda x, y: x * y.sum(), in_axes=(0, None))(A, y), A * full.sum()),
    ):
        np.testing.assert_array_equal(got, expected)
    assert jax.device_put(y, jax.devices()[1]).devices() == {jax.devices()[1]}


def test_a_result_is_an_operand_without_a_copy():
    f = pmap(lambda x: x, donate_argnums=0)
    y = f(A)
    where = [b.unsafe_buffer_pointer() for b in y._arrays]
    z = f(y)
    assert y.is_deleted()
    assert [b.unsafe_buffer_pointer() for b in z._arrays] == where


def test_donation_deletes_arrays_that_were_in_place():
    f = pmap(lambda x, y: (x + y, y), donate_argnums=(0, 1))
    single = A + 0
    spread = pmap(add_one)(A)
    total, _ = f(single, spread)
    np.testing.assert_array_equal(total, 2 * A + 1)
    assert spread.is_deleted() and not single.is_deleted()
    with pytest.raises(RuntimeError, match="Array has been deleted with shape"):
        pmap(add_one)(spread)
    np.testing.assert_array_equal(pmap(add_one, donate_argnums=0)(np.ones(3)), 2.0)


def test_float0_keys_and_weak_types():
    zero = np.zeros((3,), jax.float0)
    assert pmap(lambda x, t: t)(x3, zero).dtype == jax.float0
    (ct,) = pmap(lambda i: jax.vjp(lambda i: i * 1.0, i)[1](1.0))(jnp.arange(3))
    assert np.asarray(ct).dtype == jax.float0 and ct.shape == (3,)
    keys = jax.random.split(jax.random.key(0), 3)
    again = pmap(lambda k: k)(pmap(lambda k: k)(keys))
    np.testing.assert_array_equal(jax.random.key_data(again), jax.random.key_data(keys))
    assert pmap(lambda x: 2.0)(x3).weak_type
    assert pmap(lambda x: x[:0])(A).shape == (3, 0)


def test_python_runs_once_a_signature():
    calls = []
    f = pmap(lambda x: (calls.append(1), x)[1])
    for x in (A, A + 1, pmap(add_one)(A), jnp.ones((3, 5))):
        f(x)
    assert len(calls) == 2


# ------------------------------------------------------------------------------- nesting


def test_nested_pmaps_of_different_sizes():
    """The program has a multiple of both sizes as replicas."""
    two, three = (pmap(lambda v: lax.psum(v, "j"), axis_name="j") for _ in range(2))
    a, b = np.arange(2.0, dtype=np.float32)[None], np.arange(3.0, dtype=np.float32)[None]
    first, second = pmap(lambda a, b: (two(a), three(b)))(a, b)
    assert first.tolist() == [[1, 1]] and second.tolist() == [[3, 3, 3]]


def test_nested_pmaps():
    x = jnp.arange(16.0).reshape(2, 4, 2)
    inner = pmap(lambda v: (lax.psum(v, "j"), lax.psum(v, ("i", "j"))), axis_name="j")
    rows, total = pmap(inner, axis_name="i")(x)
    np.testing.assert_array_equal(rows, np.broadcast_to(x.sum(1, keepdims=True), x.shape))
    np.testing.assert_array_equal(total, np.broadcast_to(x.sum((0, 1)), x.shape))
    slope = jax.grad(lambda x: (pmap(pmap(jnp.square))(x) * 3).sum())(x)
    np.testing.assert_array_equal(slope, 6 * x)
    with pytest.raises(ValueError, match="requires 12 logical devices"):
        pmap(pmap(add_one))(jnp.ones((3, 4)))


def test_in_and_around_jit_and_vmap():
    f = pmap(lambda x: x * 2 + lax.axis_index("i"), axis_name="i")
    expected = 2 * np.asarray(A) + np.arange(3)[:, None]
    np.testing.assert_array_equal(jax.jit(f)(A), expected)
    np.testing.assert_array_equal(jax.jit(lambda x: f(x + 1).sum())(A), (expected + 2).sum())
    np.testing.assert_array_equal(pmap(jax.jit(lambda x: x @ x))(A), (A * A).sum(1))
    np.testing.assert_array_equal(jax.vmap(f, 1, 1)(A[:, None])[:, 0], expected)
    np.testing.assert_array_equal(jax.jit(lambda y: pmap(lambda x: x + y)(A))(2.0), A + 2)
    np.testing.assert_array_equal(jax.jvp(f, (A,), (A,))[1], 2 * A)
    with jax.disable_jit():
        np.testing.assert_array_equal(f(A), expected)


def test_gradients_of_what_all_share_are_summed_on_the_devices():
    f = pmap(lambda x, w: x * w, in_axes=(0, None))
    text = str(jax.make_jaxpr(lambda ct: jax.linear_transpose(lambda w: f(A, w), 1.0)(ct))(A))
    assert "psum" in text and "reduce_sum" in text
    (ct,) = jax.linear_transpose(lambda w: f(A, w), 1.0)(A)
    assert ct.shape == () and not ct.weak_type
    assert ct == (A * A).sum()
    assert jax.hessian(lambda w: (f(A, w) ** 3).sum())(2.0) == 12 * (A**3).sum()


# ------------------------------------------------------------------------- ahead of time


def test_lower_and_compile():
    f = pmap(lambda x, n: {"y": x * n}, static_broadcasted_argnums=1, out_axes=1)
    lowered = f.lower(jax.ShapeDtypeStruct((3, 4), jnp.float32), 2.0)
    assert "tensor<4xf32>" in lowered.as_text()  # the program of one replica
    assert lowered.out_info["y"].shape == (4, 3)
    assert lowered.args_info[0][0].shape == (3, 4)
    compiled = lowered.compile()
    y = compiled(A)["y"]
    np.testing.assert_array_equal(y, 2 * A.T)
    assert compiled.output_shardings["y"] == y.sharding
    assert len(compiled.input_shardings[0][0].device_set) == 3
    assert "HloModule" in compiled.as_text()
    assert compiled.cost_analysis()["flops"] > 0
    assert compiled.memory_analysis().argument_size_in_bytes == 16
    with pytest.raises(TypeError, match=r"Argument types differ(.|\n)*Argument 'x'"):
        compiled(jnp.ones((3, 5)))
    with pytest.raises(TypeError, match="input pytree"):
        compiled(A, A)
    with pytest.raises(ValueError, match="requires 9 logical devices"):
        f.lower(jnp.ones((9, 2)), 1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.jit(lambda y: pmap(lambda x: x + y).lower(A))(1.0)


# ----------------------------------------------------------------------------- the world


def test_threads():
    f = pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    out = [None] * 6

    def work(i):
        for _ in range(3):
            out[i] = np.asarray(f(A + i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, y in enumerate(out):
        np.testing.assert_array_equal(y[0], (A + i).sum(0))


def test_a_callback_may_compute():
    """It runs in a thread of the runtime, that may lower and compile a program."""
    size = iter(range(2, 100))

    def on_host(a):
        n = next(size)  # a program of its own each time
        return np.float32((jnp.ones((n, n)) * np.asarray(a)).sum() / n**2)

    f = pmap(lambda x: jax.pure_callback(on_host, scalar, x))
    for k in range(3):
        np.testing.assert_allclose(f(x3 + k), x3 + k, rtol=1e-6)


def test_effects_happen_once_a_replica():
    seen = []
    pmap(lambda x: jax.debug.callback(lambda a: seen.append(float(a)), x))(x3)
    jax.effects_barrier()
    assert sorted(seen) == [0.0, 1.0, 2.0]


def test_what_was_removed_from_jax_still_works():
    devices = jax.devices()[:2]
    x = jax.device_put_sharded([np.ones(2), np.zeros(2)], devices)
    assert x.shape == (2, 2) and x.devices() == set(devices)
    y = jax.device_put_replicated({"a": np.ones(2)}, devices)["a"]
    np.testing.assert_array_equal(pmap(jnp.add, devices=devices)(x, y), [[2, 2], [1, 1]])
    assert jax.local_device_count() == 8


def test_a_jit_around_a_pmap_runs_but_is_not_lowered():
    f = jax.jit(lambda x: jax.pmap(lambda x: x * 2)(x).sum())
    assert f(np.arange(2.0)) == 2
    with pytest.raises(NotImplementedError, match="cannot be lowered: it contains a pmap"):
        f.lower(np.arange(2.0))


def python_calls(fun):
    """The names of Python functions that a call runs."""
    names = []
    sys.setprofile(
        lambda frame, event, _: event == "call" and names.append(frame.f_code.co_name)
    )
    try:
        fun()
    finally:
        sys.setprofile(None)
    return names


@pytest.mark.parametrize("collective", [False, True])
def test_cpp_dispatch_if_operands_are_in_place(collective):
    f = jax.pmap(lambda x, y: (x + y, lax.psum(x, "i") if collective else x * y), axis_name="i")
    x = f(jnp.arange(8.0), jnp.ones(8))[0]
    for _ in range(3):
        total, other = f(x, x)
        np.testing.assert_array_equal(total, 2 * np.asarray(x))
        np.testing.assert_array_equal(other, x.sum() + 0 * x if collective else x * x)
        assert total.sharding == x.sharding
    with jax.debug_nans():  # from now on, checks are there to be asked
        f(x, x)
    f(x, x)
    names = python_calls(lambda: f(x, x))
    assert "prepare" not in names and "place" not in names, names
    assert f(np.arange(8.0), x)[0].shape == (8,)  # from the host: not in place
    with pytest.raises(ValueError):
        f(x, jnp.ones(4))
    np.testing.assert_array_equal(
        jax.vmap(lambda z: z + f(x, x)[0][0])(jnp.ones(2)),
        1 + 2 * np.asarray(x)[0] * np.ones(2),
    )


def test_fast_calls_move_the_mapped_axis_and_donate():
    f = jax.pmap(lambda x: x * 2, in_axes=1, out_axes=1, donate_argnums=0)
    x = f(jnp.arange(16.0).reshape(2, 8))
    for k in range(1, 4):
        y = f(x)
        assert x.is_deleted() and y.shape == (2, 8)
        np.testing.assert_array_equal(y, np.arange(16.0).reshape(2, 8) * 2 ** (k + 1))
        x = y


def test_results_are_sharded_over_a_mesh_and_stay_there():
    x = jax.pmap(lambda x: x + 1)(jnp.arange(8.0))
    assert x.sharding.spec == jax.P("_internal_pmap_axis_name")
    assert [s.data.shape for s in x.addressable_shards] == [(1,)] * 8
    for y in (x + 1, jnp.sin(x), jax.jit(lambda x: x * 2)(x), x.reshape(2, 4)):
        assert y.devices() == x.devices()
    np.testing.assert_array_equal(x * 2 + 1, 2 * np.arange(8.0) + 3)
    assert x[3].devices() == {jax.devices()[3]} and x[3].shape == () and x[-1] == 8
    assert x[3] + x[4] == 9  # rows bind nothing to their device
    named = jax.pmap(lambda x: (x, lax.psum(x, "i")), axis_name="i", out_axes=(1, None))(
        jnp.ones((8, 3))
    )
    assert named[0].sharding.spec == jax.P(None, "i") and named[0].shape == (3, 8)
    assert named[1].sharding.spec == jax.P() and named[1].shape == (3,)
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("z",))
    placed = jax.device_put(jnp.arange(8.0), jax.NamedSharding(mesh, jax.P("z")))
    np.testing.assert_array_equal(jax.pmap(lambda x: x * 3)(placed), 3 * np.arange(8.0))
