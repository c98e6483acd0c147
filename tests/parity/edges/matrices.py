"""Linear algebra at edge matrices: singular ones, nan, infinity, repeated eigenvalues,
large and small numbers, tall, wide and empty ones.

Where signs or bases are free, what does not depend on them is compared.
"""

import functools

import numpy as np
from edge_rows import matrices, symmetric, tall, vectors, wide
from edge_values import Edges, weights

import minijax.numpy as jnp
from minijax import lax

programs = Edges()
la = jnp.linalg


def stack(names="", *, args=matrices, dtypes="float32", **options):
    """Add functions of stacks of matrices."""
    options = {"args": args, "seed": weights, "ulps": 64, **options}
    programs.table(names, dtypes=dtypes, **options)


def flip(x):
    return jnp.swapaxes(x, -1, -2)


def ones(x, columns=2):
    """A right side for each matrix."""
    return jnp.ones((*x.shape[:-1], columns), x.dtype)


stack(
    "numpy.linalg.det numpy.linalg.inv",
    slogdet_sign=lambda x: la.slogdet(x)[0],
    slogdet_log=lambda x: la.slogdet(x)[1],
    solve=lambda x: la.solve(x, ones(x)),
    solve_vector=lambda x: la.solve(jnp.eye(x.shape[-1], dtype=x.dtype) + x, x[..., :1]),
    lu=lambda x: lax.linalg.lu(x)[0],
    trace=lambda x: jnp.trace(x, axis1=-2, axis2=-1),
    square=lambda x: la.matrix_power(x, 2),
    cube=lambda x: la.matrix_power(x, 3),
    power_0=lambda x: la.matrix_power(x, 0),
    inverse_square=lambda x: la.matrix_power(x, -2),
    product=lambda x: x @ flip(x),
    einsum_trace=lambda x: jnp.einsum("...ii", x),
    **{
        f"triangular_{side}_{flags}": functools.partial(
            lambda x, left, trans, unit: lax.linalg.triangular_solve(
                x,
                ones(x) if left else flip(ones(x)),
                left_side=left,
                lower=True,
                transpose_a=trans,
                unit_diagonal=unit,
            ),
            left=side == "left",
            trans="t" in flags,
            unit="u" in flags,
        )
        for side, flags in [("left", "n"), ("left", "t"), ("right", "u")]
    },
)
stack(
    args=symmetric,
    cholesky=lambda x: la.cholesky(x),
    cholesky_upper=lambda x: la.cholesky(x, upper=True),
    cholesky_lower_half=lambda x: la.cholesky(x, symmetrize_input=False),
)
stack(args=symmetric, noise="result", free=True, eigvalsh=lambda x: la.eigvalsh(x))
stack(
    args=symmetric,
    ulps=256,
    order=1,
    eigh_back=lambda x: (lambda w, v: (v * w[..., None, :]) @ flip(v))(*la.eigh(x)),
)
stack(
    args=symmetric,
    order=0,
    rank=lambda x: la.matrix_rank(x),
    rank_above=lambda x: la.matrix_rank(x, tol=1e-3),
)
stack(
    args=symmetric,
    order=0,
    noise="result",
    eigvals=lambda x: jnp.sort(abs(la.eigvals(x)), axis=-1),
)
for name, shape in (("tall", tall), ("wide", wide)):
    stack(
        args=shape,
        ulps=256,
        order=1,
        noise="result",
        free=True,
        **{f"{name}_svdvals": lambda x: la.svdvals(x)},
    )
    stack(
        args=shape,
        ulps=256,
        order=1,
        noise="result",
        **{
            f"{name}_svd_back": lambda x: (lambda u, s, v: (u * s[..., None, :]) @ v)(
                *la.svd(x, full_matrices=False)
            ),
            f"{name}_r_sizes": lambda x: abs(la.qr(x, mode="r")),
        },
    )
    stack(
        args=shape,
        ulps=256,
        order=1,
        **{
            f"{name}_qr_back": lambda x: (lambda q, r: q @ r)(*la.qr(x)),
            f"{name}_pinv": lambda x: la.pinv(x),
            f"{name}_lstsq": jnp.vectorize(
                lambda x: la.lstsq(x, jnp.ones(x.shape[0], x.dtype))[0], signature="(m,n)->(n)"
            ),
        },
    )
    for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        norm = functools.partial(la.norm, ord=p, axis=(-2, -1))
        noise = "matrix" if p == -2 else ""
        free = p in ("nuc", -2)
        stack(args=shape, order=1, noise=noise, free=free, **{f"{name}_norm_{p}": norm})
    stack(
        args=shape,
        order=0,
        **{
            f"{name}_rank": lambda x: la.matrix_rank(x),
            f"{name}_lstsq_rank": jnp.vectorize(
                lambda x: la.lstsq(x, jnp.ones(x.shape[0], x.dtype))[2], signature="(m,n)->()"
            ),
        },
    )
for p in (None, "fro", 1, -1, 2, -2, np.inf):
    stack(
        args=tall,
        order=0,
        noise={None: "inverse", 2: "inverse", -2: "one"}.get(p, ""),
        **{f"cond_{p}": lambda x, p=p: la.cond(x[..., :2, :2], p)},
    )
stack(
    args=vectors,
    ulps=4,
    vector_cross=lambda x, y: jnp.cross(x, y),
    vector_dot=lambda x, y: jnp.vecdot(x, y),
    vector_outer=lambda x, y: jnp.einsum("...i,...j->...ij", x, y),
    multi_dot=jnp.vectorize(
        lambda x, y: la.multi_dot([x, jnp.outer(y, x), y]), signature="(n),(n)->()"
    ),
    matvec=lambda x, y: jnp.matvec(x[..., None] * y[..., None, :], y),
)
stack(
    dtypes="complex64",
    order=1,
    noise="result",
    inv=lambda x: la.inv(x),
    solve=lambda x: la.solve(x, ones(x)),
)
stack(
    dtypes="complex64",
    order=1,
    det=lambda x: la.det(x),
    slogdet_log=lambda x: la.slogdet(x)[1],
    product=lambda x: x @ flip(x).conj(),
)
stack(args=symmetric, dtypes="complex64", order=1, cholesky=lambda x: la.cholesky(x))
stack(
    args=symmetric,
    dtypes="complex64",
    order=1,
    noise="result",
    free=True,
    eigvalsh=lambda x: la.eigvalsh(x),
)
