"""`pure_callback`: arguments, results, lanes, errors, threads."""

import functools
import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

Shape = mj.ShapeDtypeStruct
X = jnp.arange(3.0)
SCALAR = Shape((), "float32")
Failure = mj.errors.JaxRuntimeError


def call(fun, *args, out=SCALAR, **options):
    return mj.pure_callback(fun, out, *args, **options)


def both(f, *args):
    """The results evaluated and compiled, which must be equal."""
    a, b = f(*args), mj.jit(f)(*args)
    for u, v in zip(mj.tree.leaves(a), mj.tree.leaves(b), strict=True):
        assert u.dtype == v.dtype and u.weak_type == v.weak_type
        np.testing.assert_array_equal(u, v)
    return a


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        "bfloat16",
        "float16",
        "float8_e4m3fn",
        "complex64",
        "bool",
        "int8",
        "int32",
        "uint32",
        "int4",
        "uint4",
    ],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_dtypes_and_shapes(dtype, shape):
    x = jnp.ones(shape, dtype)
    seen = []

    def host(v):
        seen.append((isinstance(v, mj.Array), v.dtype, v.shape))
        return np.asarray(v)

    out = both(lambda x: call(host, x, out=Shape(shape, dtype)), x)
    assert out.dtype == x.dtype and np.asarray(out).tolist() == np.asarray(x).tolist()
    if x.size:  # without a value, nothing depends on the compiled call
        assert seen == [(True, x.dtype, shape)] * 2


def test_trees():
    def host(t, *, k):
        return {"a": t[0] + 1, "b": [np.asarray(t[1]["n"]) * 2, np.asarray(k)]}

    out = {"a": Shape((3,), "float32"), "b": [Shape((), "int32"), Shape((2,), "bool")]}
    got = both(
        lambda x: call(host, (x, {"n": np.int32(4)}), k=jnp.array([True, False]), out=out), X
    )
    assert got["a"].tolist() == [1, 2, 3] and got["b"][0] == 8
    assert got["b"][1].tolist() == [True, False]
    assert both(lambda x: call(lambda v: None, x, out=None), X) is None
    assert both(lambda x: call(lambda v: (), x, out=()), X) == ()
    assert both(lambda x: call(lambda v: np.asarray(v), x, out=x), X).tolist() == [0, 1, 2]


def test_python_numbers_and_wide_results():
    assert both(lambda: call(lambda: 1.5)) == 1.5
    assert both(lambda: call(lambda: 3, out=Shape((), "int32"))) == 3
    assert both(lambda: call(lambda: True, out=Shape((), "bool")))
    two = Shape((2,), "float32")
    assert both(lambda: call(lambda: np.arange(2.0), out=two)).tolist() == [0, 1]
    with mj.enable_x64(True):
        out = both(lambda: call(lambda: np.float64(1) / 3, out=Shape((), "float64")))
        assert float(out) == 1 / 3


def test_layout_of_results():
    x = jnp.arange(6.0).reshape(2, 3)
    out = Shape((3, 2), "float32")
    assert both(lambda x: call(lambda v: np.asarray(v).T, x, out=out), x).tolist() == (
        x.T.tolist()
    )
    out = Shape((1, 2, 1), "float32")
    odd = lambda v: np.asarray(v)[:, ::-2].T[:1, :, None]
    assert both(lambda x: call(odd, x, out=out), x).tolist() == [[[2], [5]]]


def test_keys_are_their_numbers():
    key = mj.random.key(3)
    words = Shape((2,), "uint32")
    f = mj.jit(lambda k: call(lambda v: np.asarray(v), k, out=words))
    assert f(key).tolist() == mj.random.key_data(key).tolist()
    lanes = mj.vmap(
        lambda k: call(
            lambda v: np.asarray(v)[0], k, out=Shape((), "uint32"), vmap_method="sequential"
        )
    )
    keys = mj.random.split(key, 2)
    assert mj.jit(lanes)(keys).tolist() == mj.random.key_data(keys)[:, 0].tolist()
    with pytest.raises(TypeError, match="Cannot interpret 'key<fry>' as a data type"):
        call(lambda k: k, key, out=key)


def test_results_stay_when_the_buffer_is_used_again():
    buffer = np.zeros(3, np.float32)

    def host(v):
        buffer[:] = np.asarray(v)
        return buffer

    f = functools.partial(call, host, out=Shape((3,), "float32"))
    first, second = mj.jit(f)(X), mj.jit(f)(X + 1)
    third, fourth = f(X), f(X + 5)
    rows = [v.tolist() for v in (first, second, third, fourth)]
    assert rows == [[0, 1, 2], [1, 2, 3], [0, 1, 2], [5, 6, 7]]


# ----------------------------------------------------------------------------- refusals

REFUSED = [
    (
        lambda: np.zeros(3, np.float32),
        Shape((2,), "float32"),
        r"Incorrect output shape for return value #0: Expected: \(2,\), Actual: \(3,\)",
    ),
    (lambda: np.float32(0), Shape((1,), "float32"), r"Expected: \(1,\), Actual: \(\)"),
    (lambda: np.float16(0), SCALAR, "output dtype .*#0: Expected: float32, Actual: float16"),
    (lambda: np.int32(0), SCALAR, "Expected: float32, Actual: int32"),
    (lambda: 1, SCALAR, "Expected: float32, Actual: int32"),
    (lambda: 1.5, Shape((), "int32"), "Expected: int32, Actual: float32"),
    (lambda: np.bool_(True), SCALAR, "Expected: float32, Actual: bool"),
    (
        lambda: (np.float32(0), np.float32(1)),
        SCALAR,
        "Mismatched number of outputs from callback. Expected: 1, Actual: 2",
    ),
    (lambda: None, SCALAR, "Expected: 1, Actual: 0"),
    (lambda: (np.float32(0), np.int8(0)), (SCALAR, SCALAR), "#1: Expected: float32"),
    (lambda: "s", SCALAR, "Dtype <U1 is not a valid JAX array type"),
    (lambda: object(), SCALAR, "not a valid JAX array type"),
]


@pytest.mark.parametrize("host, out, words", REFUSED, ids=range(len(REFUSED)))
@pytest.mark.parametrize("jit", [lambda f: f, mj.jit])
def test_wrong_results(host, out, words, jit):
    with pytest.raises(Failure, match=words):
        mj.block_until_ready(jit(lambda: call(host, out=out))())


@pytest.mark.parametrize("kind, words, f", [
    (TypeError, "Error interpreting argument to pure_callback as a JAX value. The"
     " problematic value is of type <class 'str'> and was passed to pure_callback at"
     " position 1",
     lambda: call(max, 1.0, "s")),
    (TypeError, "Expected a callable", lambda: call(3)),
    (ValueError, "result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is"
     " disabled", lambda: call(max, out=Shape((), np.float64))),
    (ValueError, "vmap_method must be on of the allowed methods .* but got: foo",
     lambda: call(max, vmap_method="foo")),
    (NotImplementedError, "vmap is only supported for the pure_callback primitive when"
     " vmap_method is one of 'sequential', .* or 'legacy_vectorized'. Got vmap_method=None",
     lambda: mj.vmap(lambda x: call(np.sin, x))(X)),
    (ValueError, "Pure callbacks do not support JVP. Please use `jax.custom_jvp`",
     lambda: mj.grad(lambda x: call(np.sin, x))(1.0)),
    (ValueError, "Pure callbacks do not support JVP",
     lambda: mj.jit(mj.grad(lambda x: call(np.sin, x)))(1.0)),
    (ValueError, "Pure callbacks do not support JVP",
     lambda: mj.jvp(lambda x: call(np.sin, x), (1.0,), (1.0,))),
])  # fmt: skip
def test_refusals(kind, words, f):
    with pytest.raises(kind, match=words):
        f()


class UserError(Exception):
    pass


def bad(*_):
    raise UserError("boom")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: call(bad, x),
        mj.jit(lambda x: call(bad, x)),
        mj.vmap(lambda x: call(bad, x, vmap_method="sequential")),
        mj.vmap(lambda x: call(bad, x, vmap_method="expand_dims")),
        lambda x: lax.scan(lambda c, x: (c, call(bad, x)), 0, x),
        lambda x: lax.while_loop(lambda c: c < 1, lambda c: call(bad, c), x[0]),
        lambda x: lax.cond(x[0] < 1, lambda x: call(bad, x), lambda x: x[0], x),
        mj.jit(lambda x: mj.jit(lambda x: call(bad, x))(x) + 1),
        lambda x: mj.checkpoint(lambda x: call(bad, x))(x),
    ],
    ids=range(9),
)
def test_exceptions_bear_the_users_traceback(f):
    with pytest.raises(Failure, match=r"in bad\n(.|\n)*UserError: boom") as e:
        mj.block_until_ready(f(X))
    assert isinstance(e.value, RuntimeError)
    assert mj.jit(lambda x: call(lambda v: np.float32(4), x))(X) == 4


def test_evaluated_the_cause_is_at_hand():
    with pytest.raises(Failure) as e:
        call(bad)
    assert isinstance(e.value.__cause__, UserError)


# -------------------------------------------------------------------------------- lanes

METHODS = {
    "sequential": [[(), ()]] * 3,
    "sequential_unrolled": [[(), ()]] * 3,
    "expand_dims": [[(3,), (1,)]],
    "broadcast_all": [[(3,), (3,)]],
    "legacy_vectorized": [[(3,), ()]],
}


def recorder():
    seen = []

    def host(*args):
        args = [np.asarray(v) for v in args]
        seen.append([v.shape for v in args])
        return np.asarray(sum(args), np.float32)

    return host, seen


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("jit", [lambda f: f, mj.jit])
def test_vmap_methods(method, jit):
    host, seen = recorder()
    f = functools.partial(call, host, vmap_method=method)
    out = jit(mj.vmap(f, (0, None)))(X, jnp.float32(10))
    assert out.tolist() == [10, 11, 12] and seen == METHODS[method]


@pytest.mark.parametrize(
    "method, shapes",
    [
        ("sequential", [[(), ()]] * 6),
        ("sequential_unrolled", [[(), ()]] * 6),
        ("expand_dims", [[(1, 3), (2, 1)]]),
        ("broadcast_all", [[(2, 3), (2, 3)]]),
    ],
)
def test_nested_vmap(method, shapes):
    host, seen = recorder()
    f = functools.partial(call, host, vmap_method=method)
    out = mj.vmap(mj.vmap(f, (0, None)), (None, 0))(X, jnp.array([10.0, 20.0]))
    assert out.tolist() == [[10, 11, 12], [20, 21, 22]] and seen == shapes


def test_vmap_brings_lanes_first():
    host, seen = recorder()
    f = functools.partial(call, host, out=Shape((2,), "float32"), vmap_method="expand_dims")
    out = mj.vmap(f, (1, None), out_axes=1)(jnp.arange(6.0).reshape(2, 3), jnp.ones(2))
    assert out.tolist() == [[1, 2, 3], [4, 5, 6]] and seen == [[(3, 2), (1, 2)]]


def test_vmap_checks_the_shape_of_all_lanes():
    with pytest.raises(Failure, match=r"Expected: \(3,\), Actual: \(\)"):
        mj.vmap(lambda x: call(lambda v: np.float32(1), x, vmap_method="expand_dims"))(X)


def test_unrolled_lanes_are_an_unrolled_scan():
    f = functools.partial(call, max, vmap_method="sequential_unrolled")
    text = str(mj.make_jaxpr(mj.vmap(f))(X))
    assert "scan[" in text and "unroll=3" in text


# ----------------------------------------------------------------------- transformations


def sine(x, **options):
    return call(np.sin, x, out=Shape(jnp.shape(x), "float32"), **options)


def test_in_control_flow():
    s = np.sin(np.arange(3, dtype=np.float32))
    np.testing.assert_array_equal(lax.scan(lambda c, x: (c, sine(x)), 0, X)[1], s)
    np.testing.assert_array_equal(lax.map(sine, X), s)
    assert lax.cond(True, sine, lambda x: x, X[1]) == s[1]
    assert lax.while_loop(lambda c: sine(c) < 0.9, lambda c: c + 0.5, 0.0) == 1.5
    np.testing.assert_array_equal(mj.pmap(sine)(X), s)
    np.testing.assert_array_equal(mj.checkpoint(sine)(X), s)
    pick = mj.vmap(
        lambda x: lax.cond(
            x > 0, functools.partial(sine, vmap_method="sequential"), lambda x: x, x
        )
    )
    np.testing.assert_array_equal(pick(X), s)
    with mj.disable_jit():
        np.testing.assert_array_equal(mj.jit(sine)(X), s)


def test_custom_derivatives():
    @mj.custom_jvp
    def f(x):
        return sine(x, vmap_method="expand_dims")

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        slope = call(np.cos, x, out=Shape(x.shape, x.dtype), vmap_method="expand_dims")
        return f(x), slope * t

    c = np.cos(np.arange(3, dtype=np.float32))
    for df in (
        mj.vmap(mj.grad(f)),
        mj.jit(mj.vmap(mj.grad(f))),
        mj.grad(lambda x: mj.vmap(f)(x).sum()),
    ):
        np.testing.assert_allclose(df(X), c, rtol=1e-6)
    assert mj.grad(lambda x: sine(lax.stop_gradient(x)) * x)(2.0) == np.sin(np.float32(2))


def test_unused_calls_are_dropped():
    seen = []

    def host(x):
        seen.append(1)
        return np.asarray(x)

    assert mj.jit(lambda x: (call(host, x), x + 1)[1])(1.0) == 2 and not seen


def test_results_have_the_placement_of_the_operands():
    x = mj.device_put(X, mj.devices()[1])
    assert sine(x).devices() == mj.jit(sine)(x).devices() == {mj.devices()[1]}


# -------------------------------------------------------------------- threads and memory


def test_minijax_inside_callbacks():
    big = mj.jit(lambda v: jnp.sort(v) @ jnp.ones(1000))

    def inner(v):
        return np.asarray(v) * 2

    def host(v):
        result = mj.jit(lambda v: call(inner, v, out=Shape((1000,), "float32")))(v)
        return np.asarray(big(jnp.asarray(result)))

    x = jnp.arange(1000.0)
    assert both(lambda x: call(host, x), x) == 999000
    assert lax.map(lambda i: call(host, x + i), jnp.zeros(3)).tolist() == [999000.0] * 3


def test_many_threads():
    f = mj.jit(lambda x: call(lambda v: np.asarray(v) * 2, x))
    out = [None] * 16

    def work(i):
        out[i] = float(f(float(i)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert out == [2.0 * i for i in range(16)]


def test_callbacks_live_as_long_as_their_program():
    class Host:
        def __call__(self, v):
            return np.asarray(v) * 2

    host = Host()
    ref = weakref.ref(host)
    f = mj.jit(lambda x, host=host: call(host, x, out=Shape((3,), "float32")))
    assert f(X).tolist() == [0, 2, 4]
    del host
    gc.collect()
    assert f(X + 1).tolist() == [2, 4, 6] and ref() is not None
    f.clear_cache()
    del f
    gc.collect()
    assert ref() is None


def test_operands_stored_by_the_callback_stay_valid():
    stored = []

    def host(v):
        stored.append(v)
        return np.float32(0)

    f = mj.jit(lambda x: call(host, x + 1))
    for i in range(5):
        mj.block_until_ready(f(jnp.full(1000, float(i))))
    junk = [jnp.full(1000, 7.0) * k for k in range(20)]
    mj.block_until_ready(junk)
    assert [set(np.asarray(v).tolist()) for v in stored] == [{i + 1.0} for i in range(5)]


PROGRAM = """
    import sys
    import numpy as np
    import minijax as mj

    pad = [object() for _ in range(int(sys.argv[1]))]  # addresses differ by process
    f = mj.jit(lambda x: mj.pure_callback(
        lambda v: np.asarray(v) + float(sys.argv[1]),
        mj.ShapeDtypeStruct((), 'float32'), x))
    mj.jit(lambda x: mj.debug.print('x {}', x))(1.5)
    mj.effects_barrier()
    print(float(f(1.0)))
"""


def test_the_disk_cache_holds_no_callbacks(tmp_path):
    env = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    for n in (1, 1000):
        out = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM), str(n)],
            env=env,
            text=True,
            capture_output=True,
            timeout=120,
        )
        assert out.stdout.split("\n")[:2] == ["x 1.5", f"{1.0 + n}"], out.stderr


def test_a_sharding_must_be_of_one_device():
    x = jnp.ones(2)
    out = mj.pure_callback(lambda v: v, x, x, sharding=x.sharding)
    assert out.tolist() == [1, 1]
    spread = mj.pmap(lambda v: v)(x).sharding
    for call in (mj.pure_callback, mj.experimental.io_callback):
        with pytest.raises(NotImplementedError, match="_callback only supports SingleDev"):
            call(lambda v: v, x, x, sharding=spread)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: mj.pure_callback(np.sin, mj.typeof(x), x),
        lambda x: mj.experimental.io_callback(np.sin, mj.typeof(x), x, ordered=True),
        lambda x: mj.debug.print("{x}", x=x),
    ],
)
def test_lowering_for_tpus_is_refused(f):
    traced = mj.jit(f).trace(np.ones(3, np.float32))
    with pytest.raises(NotImplementedError, match="platform tpu") as e:
        traced.lower(lowering_platforms=("tpu",))
    assert "Why: There, XLA calls Python by transfers to the host" in str(e.value)
    assert "gpu_callback" in traced.lower(lowering_platforms=("cuda",)).as_text()
