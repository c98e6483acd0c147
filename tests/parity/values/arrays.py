"""What arrays say of themselves, and how they meet Python and NumPy."""

import copy
import pickle

import numpy as np
from harness import Programs, attempt

import minijax as jax
from minijax import numpy as jnp

programs = Programs()
x = jnp.arange(6.0).reshape(2, 3)
n = jnp.arange(4)


@programs
def texts():
    values = [
        x,
        n,
        jnp.float32(1.5),
        jnp.asarray(1.5),
        jnp.asarray(2),
        jnp.zeros((0, 3)),
        jnp.array(True),
        jnp.array([1 + 2j]),
        jnp.arange(3, dtype=jnp.bfloat16),
        jnp.zeros((30, 40)),
        jnp.array([1.5, np.nan, np.inf]),
        jnp.array([1e-8, 1.0, 1e8]),
        jnp.array([1], "uint8"),
        jnp.zeros((2, 2, 2)),
        jnp.array([1, 2], "int4"),
    ]
    return [repr([repr(v), str(v)]) for v in values]


@programs
def long_texts():
    texts = []
    for kind in ("float32", "int8", "bool", "complex64", "bfloat16"):
        wave = jnp.arange(50) * 37 % 101 - 40
        for n in (9, 11, 12, 13, 17, 30):
            texts.append(repr(wave[:n].astype(kind)))
        texts.append(repr(jnp.zeros((3, 30), kind)))
        texts.append(repr(jnp.zeros((1001,), kind)))
    return [repr(text) for text in texts]


@programs
def key_texts():
    key = jax.random.key(0)
    return [
        repr(repr(key)),
        repr(str(key)),
        repr(str(jax.random.split(key))),
        repr(repr(jax.random.PRNGKey(0))),
    ]


@programs
def formats():
    s = jnp.float32(1.23456)
    return [
        f"{s:.2f}",
        f"{jnp.asarray(7):d}",
        f"{s}",
        f"{n}",
        "%.1f" % s,  # noqa: UP031 (an array's own answer to the old form)
        f"{jnp.asarray(3):>5}",
        attempt(lambda: f"{x:.2f}"),
    ]


@programs
def questions():
    return [
        x.shape,
        x.ndim,
        x.size,
        str(x.dtype),
        x.itemsize,
        x.nbytes,
        len(x),
        x.weak_type,
        jnp.asarray(1).weak_type,
        x.T,
        x.mT,
        x.real,
        x.imag,
        x.is_fully_addressable,
        len(x.devices()),
        x.device.platform,
        x.is_deleted(),
        attempt(lambda: len(jnp.float32(1))),
        hasattr(x, "sharding"),
    ]


@programs
def conversions():
    s = jnp.float32(2.5)
    return [
        float(s),
        int(s),
        complex(s),
        bool(s),
        s.item(),
        x.tolist(),
        n.tolist(),
        x[0, 1].item(),
        [1, 2, 3][jnp.asarray(1)],
        round(s),
        list(n),
        [a * 2 for a in n],
        tuple(x),
        2 in n,
        9 in n,
        list(range(jnp.asarray(3))),
        hex(jnp.asarray(255)),
        attempt(lambda: float(x)),
        attempt(lambda: bool(x)),
        attempt(lambda: int(n)),
        attempt(lambda: hash(x)),
        attempt(lambda: [1, 2][s]),
        attempt(lambda: iter(s)),
        attempt(lambda: x.item()),
        bool(jnp.zeros((1, 1))),
        attempt(lambda: bool(jnp.zeros(0))),
        attempt(lambda: x.__setitem__(0, 1)),
        attempt(lambda: x.nonsense),
        attempt(lambda: jnp.nonsense),
    ]


@programs
def numpy_protocols():
    return [
        np.asarray(x),
        np.array(n, np.float64),
        np.sum(x),
        np.sin(x),
        np.concatenate([n, n]),
        np.shape(x),
        np.asarray(jnp.arange(2, dtype=jnp.bfloat16)),
        np.asarray(x).flags.writeable,
        np.array(x).flags.writeable,
        memoryview(np.asarray(n)).format,
        np.from_dlpack(n),
        jnp.from_dlpack(np.arange(3, dtype=np.int32)),
        np.mean(x, axis=0),
        np.asarray(x, copy=True),
        jnp.asarray(np.float64(3)),
        np.float32(2) + x,
        np.add(x, 1),
    ]


@programs
def copies():
    again = pickle.loads(pickle.dumps(x))
    weak = pickle.loads(pickle.dumps(jnp.asarray(1.0)))
    return [
        again,
        weak,
        copy.copy(x),
        copy.deepcopy(n),
        x.copy(),
        jnp.copy(n),
        jnp.array(x),
        x.astype(x.dtype),
    ]


@programs
def methods():
    return [
        x.sum(),
        x.mean(0),
        x.max(1),
        x.argmax(),
        x.reshape(3, 2),
        x.reshape(-1),
        x.ravel(),
        x.flatten(),
        x.transpose(),
        x.transpose(1, 0),
        x.swapaxes(0, 1),
        x.squeeze(),
        x.astype(int),
        x.clip(1, 3),
        x.round(),
        x.dot(x.T),
        x.cumsum(),
        x.any(),
        x.all(),
        x.std(),
        x.var(),
        x.prod(),
        x.min(),
        x.conj(),
        n.repeat(2),
        n.take(jnp.array([1, 3])),
        x.trace(),
        x.diagonal(),
        n.argsort(),
        n.sort(),
        x.view("int32"),
        n.searchsorted(2),
        x.nonzero(),
        n.compress(jnp.array([True, False, True, False])),
        x.block_until_ready() is x,
        x.to_device(x.device),
    ]


@programs
def donated():
    def run():
        y = jnp.arange(4.0) + 1
        jax.jit(lambda y: y + 1, donate_argnums=0)(y)
        return y

    y = run()
    return [y.is_deleted(), attempt(lambda: y + 1), attempt(lambda: np.asarray(y))]


@programs
def device_functions():
    put = jax.device_put({"a": np.arange(2), "b": 1.0})
    return [
        put,
        jax.device_get(put),
        jax.block_until_ready(put),
        len(jax.devices()),
        jax.device_count(),
        jax.local_device_count(),
        jax.default_backend(),
        jax.process_index(),
        jax.process_count(),
        str(jax.devices()[0]),
        repr(jax.devices()[0]),
        jax.devices()[0].platform,
        jax.devices()[0].id,
        jax.device_put(x, jax.devices()[3]).device.id,
        attempt(lambda: jax.devices("nonsense")),
        attempt(lambda: jax.device_put(x, "cpu")),
        (jax.device_put(x, jax.devices()[2]) + 1).device.id,
        len(jax.devices("cpu")),
        attempt(
            lambda: jax.device_put(x, jax.devices()[1]) + jax.device_put(x, jax.devices()[2])
        ),
    ]


@programs
def wrong_creations():
    calls = [
        lambda: jnp.array("a"),
        lambda: jnp.array([1, "a"]),
        lambda: jnp.array([[1], [1, 2]]),
        lambda: jnp.array(object()),
        lambda: jnp.zeros(-1),
        lambda: jnp.zeros(1.5),
        lambda: jnp.zeros("a"),
        lambda: jnp.ones(3, "nonsense"),
        lambda: jnp.array(None),
        lambda: jnp.array([1, None]),
        lambda: jnp.asarray(2**40),
        lambda: jnp.array([2**40]),
        lambda: jnp.arange(),
        lambda: jnp.sin([1.0]),
        lambda: jnp.add(1),
        lambda: jnp.sum(None),
        lambda: jnp.array({}),
        lambda: jnp.asarray(np.array(["a"])),
        lambda: jnp.zeros(3) @ 2,
    ]
    return [attempt(call) for call in calls]


@programs
def pmapped():
    many = jnp.arange(8.0)
    return [
        jax.pmap(lambda x: x + 1)(many),
        jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(many),
        jax.pmap(lambda x, y: x * y, in_axes=(0, None))(many[:3], 2.0),
        jax.pmap(lambda x: jax.lax.axis_index("d"), "d")(many),
        attempt(lambda: jax.pmap(lambda x: x)(1.0)),
        jax.pmap(lambda x: x / jax.lax.pmean(x, "i"), "i")(many + 1),
    ]
