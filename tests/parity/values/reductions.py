"""Values of reductions with every option, of sorting, and of scans along an axis."""

import numpy as np
from harness import Programs, attempt

from minijax import lax
from minijax import numpy as jnp

programs = Programs()
x = jnp.array([[3, -1, 4], [1, 5, -9]], jnp.int32)
y = x / 4
mask = jnp.array([[True, False, True], [True, True, True]])
INITIAL = {"sum": 10, "prod": 2, "max": 4, "min": -3}

for name in ["sum", "prod", "max", "min", "mean", "any", "all", "std", "var"]:
    f = getattr(jnp, name)
    programs.add(
        f"{name}_axes",
        lambda f=f: [
            f(x),
            f(y),
            f(x, axis=0),
            f(y, axis=-1),
            f(x, axis=(0, 1)),
            f(y, axis=()),
            f(x, keepdims=True),
            f(y, axis=1, keepdims=True),
            f(y[:0], axis=1),
        ],
    )

    def options(f=f, name=name):
        kwargs = {"where": mask}
        if name in ("max", "min"):
            kwargs["initial"] = INITIAL[name]
        out = [f(x, **kwargs), f(y, axis=1, **kwargs)]
        if name in INITIAL:
            out += [f(x, initial=INITIAL[name]), f(y, axis=0, initial=INITIAL[name])]
        return out

    programs.add(f"{name}_options", options)

    def types(f=f):
        kinds = [bool, "uint8", "int8", jnp.bfloat16, "float16", complex]
        return [attempt(lambda k=k: f(jnp.array([1, 0, 2, 3], k))) for k in kinds]

    programs.add(f"{name}_types", types)

    def method(name=name):
        return [
            getattr(x, name)(),
            getattr(y, name)(axis=0),
            getattr(y, name)(1, keepdims=True),
        ]

    programs.add(f"{name}_method", method)

    def wrong(f=f, name=name):
        # JAX's mean of a missing axis fails by accident, with an IndexError.
        missing = 2 if name not in ("mean", "std", "var") else (0, 0)
        return [
            attempt(lambda: f(x, axis=missing)),
            attempt(lambda: f(x, axis=(0, 0))),
            attempt(lambda: f(x, axis=1.0)),
            attempt(lambda: f([1, 2])),
        ]

    programs.add(f"{name}_wrong", wrong)

for name in ["cumsum", "cumprod"]:
    f = getattr(jnp, name)
    programs.add(
        name,
        lambda f=f: [f(x), f(y, axis=0), f(y, axis=1), f(mask, axis=0), f(x, dtype="int8")],
    )

for name in ["argmax", "argmin"]:
    f = getattr(jnp, name)
    programs.add(
        name,
        lambda f=f: [
            f(x),
            f(x, axis=0),
            f(y, axis=1),
            f(y, axis=1, keepdims=True),
            f(mask),
            f(jnp.array([1.0, np.nan, 3.0])),
            attempt(lambda: f(jnp.zeros(0))),
        ],
    )


@programs
def dtype_option():
    return [
        x.sum(dtype=jnp.float32),
        y.sum(dtype=int),
        x.mean(dtype=jnp.bfloat16),
        x.astype("int8").sum(),
        x.astype("int8").prod(axis=0),
        mask.sum(),
    ]


@programs
def ddof():
    return [jnp.std(y, ddof=1), jnp.var(y, axis=1, ddof=1), jnp.var(jnp.array([1 + 1j, 2, 3j]))]


@programs
def empty_reductions():
    e = jnp.zeros((0, 3))
    return [
        e.sum(),
        e.prod(axis=0),
        e.any(),
        e.all(axis=0),
        attempt(e.max),
        e.max(axis=1),
        e.max(initial=-1.0),
        jnp.zeros((0,)).mean(),
    ]


@programs
def nan_reductions():
    z = jnp.array([1.0, np.nan, -2.0])
    return [z.sum(), z.max(), z.min(), z.mean(), jnp.argmax(z), jnp.isnan(z).any()]


@programs
def sorting():
    z = jnp.array([3.0, np.nan, -0.0, 0.0, -np.inf, 1.0])
    return [
        jnp.sort(x),
        jnp.sort(x, axis=0),
        jnp.sort(z),
        jnp.argsort(x, axis=1),
        jnp.argsort(z),
        jnp.argsort(jnp.array([1, 1, 0, 1])),
        jnp.sort(x, descending=True),
        x.sort(),
        lax.sort((x[0], y[0]), num_keys=1),
        lax.sort_key_val(x[1], y[1]),
        lax.top_k(y, 2),
        jnp.argsort(jnp.array([2.0, 1.0, 2.0]), descending=True),
        jnp.sort(mask, axis=1),
    ]


@programs
def lax_reductions():
    return [
        lax.reduce_sum(x, (0,)),
        lax.reduce_max(y, (1,)),
        lax.reduce_prod(y, (0, 1)),
        lax.reduce_and(mask, (1,)),
        lax.reduce_or(mask, (0,)),
        lax.reduce_xor(mask, (0,)),
        lax.argmax(y, 1, jnp.int32),
        lax.reduce(y, 0.0, lax.add, (0,)),
        lax.cumsum(y, 1),
        lax.cummax(x, 1),
        lax.cummin(x, 0, reverse=True),
        lax.cumlogsumexp(y, 1),
        lax.cumprod(y),
    ]


@programs
def windows():
    z = jnp.arange(16.0).reshape(4, 4)
    return [
        lax.reduce_window(z, 0.0, lax.add, (2, 2), (2, 2), "VALID"),
        lax.reduce_window(z, -jnp.inf, lax.max, (2, 3), (1, 2), "SAME"),
        lax.reduce_window(z, jnp.inf, lax.min, (1, 2), (1, 1), [(0, 0), (1, 0)]),
    ]


@programs
def dots():
    a, b = jnp.arange(6.0).reshape(2, 3), jnp.arange(12.0).reshape(3, 4)
    ints = jnp.arange(3)
    return [
        a @ b,
        jnp.dot(a, b),
        jnp.dot(a[0], a[1]),
        a @ a[0],
        jnp.dot(ints, ints),
        jnp.dot(2, a),
        jnp.matmul(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16)),
        jnp.vdot(a, a),
        jnp.tensordot(a, b, 1),
        jnp.einsum("ij,jk->ki", a, b),
        jnp.outer(a[0], ints),
        jnp.inner(a, a),
        lax.dot(ints, ints, preferred_element_type=jnp.float32),
        lax.batch_matmul(a[None], b[None]),
        jnp.einsum("ii", jnp.eye(3)),
        jnp.dot(ints, a[0]),
    ]


@programs
def convolutions():
    signal, kernel = jnp.array([1.0, 2.0, 1.0]), jnp.ones(4)
    image = jnp.arange(32.0).reshape(1, 2, 4, 4)
    filters = jnp.arange(36.0).reshape(2, 2, 3, 3) / 10
    return [
        jnp.convolve(signal, kernel),
        lax.conv_general_dilated(signal[None, None], kernel[None, None], (1,), [(3, 3)]),
        lax.conv(image, filters, (1, 1), "SAME"),
        lax.conv_general_dilated(image, filters[:, :1], (2, 2), "VALID", feature_group_count=2),
        lax.conv_transpose(signal[None, :, None], kernel[:3, None, None], (2,), "SAME"),
    ]


@programs
def shape_functions():
    a = jnp.arange(6)
    return [
        a.reshape(2, 3),
        a.reshape(3, -1),
        a.reshape((2, 3)).T,
        jnp.transpose(a.reshape(1, 2, 3)),
        jnp.concatenate([a, a[:2]]),
        jnp.stack([a[:2], a[2:4]], axis=1),
        jnp.split(a, 3),
        jnp.expand_dims(a, 0),
        jnp.squeeze(a[None, :, None]),
        jnp.ravel(a.reshape(2, 3)),
        jnp.flip(a),
        jnp.roll(a, 2),
        jnp.tile(a[:2], 3),
        jnp.repeat(a[:2], 2),
        jnp.pad(a[:2], (1, 2)),
        jnp.broadcast_to(a[:2], (2, 2)),
        jnp.swapaxes(a.reshape(2, 3), 0, 1),
        jnp.moveaxis(a.reshape(1, 2, 3), 0, -1),
        jnp.vstack([a, a]),
        jnp.hstack([a[:1], a[1:3]]),
        attempt(lambda: a.reshape(4)),
        attempt(lambda: a.reshape(-1, -1)),
        attempt(lambda: jnp.concatenate([])),
        attempt(lambda: jnp.stack([a, a[:2]])),
    ]


@programs
def creation():
    return [
        jnp.zeros(3),
        jnp.zeros((2, 1), int),
        jnp.ones(2, jnp.bfloat16),
        jnp.full((2,), 7),
        jnp.full((2,), 1.5, jnp.int32),
        jnp.arange(5),
        jnp.arange(1, 2, 0.25),
        jnp.arange(5.0),
        jnp.arange(5, 0, -2),
        jnp.linspace(0, 1, 5),
        jnp.linspace(0, 1, 3, endpoint=False),
        jnp.eye(2),
        jnp.eye(2, 3, k=1),
        jnp.zeros_like(x),
        jnp.ones_like(y, dtype=int),
        jnp.full_like(y, 2),
        jnp.identity(2),
        jnp.tri(3),
        jnp.tril(jnp.ones((2, 2))),
        jnp.diag(jnp.arange(2)),
        list(jnp.meshgrid(jnp.arange(2), jnp.arange(3))),  # NumPy's are tuples
        jnp.empty(2),
        jnp.arange(3, dtype="uint8"),
        jnp.arange(0),
        attempt(lambda: jnp.arange(0, 1, 0)),
    ]
