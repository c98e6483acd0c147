"""Functions along an axis that keep it, at edge rows: running sums, sorting, looking up."""

import functools

import numpy as np
from edge_rows import rows_of
from edge_values import Edges

import minijax.numpy as jnp
from minijax import lax

programs = Edges()
rows = functools.partial(rows_of, programs)


def last(f, **options):
    """A function of arrays whose last axis is meant, from one of an `axis` from 0 up."""
    return lambda x: f(x, axis=x.ndim - 1, **options)


def each(f):
    """A function of rows from one of a vector."""
    return jnp.vectorize(f, signature="(n)->(k)")


SUMS = dict(
    cumsum=last(lax.cumsum),
    cumsum_reverse=last(lax.cumsum, reverse=True),
    cumprod=last(lax.cumprod),
    cumprod_reverse=last(lax.cumprod, reverse=True),
)
rows(
    "numpy.cumsum numpy.cumprod numpy.nancumsum numpy.nancumprod",
    cumulative_sum=lambda x: jnp.cumulative_sum(x, axis=-1, include_initial=True),
    cumulative_prod=lambda x: jnp.cumulative_prod(x, axis=-1, include_initial=True),
    cumlogsumexp=last(lax.cumlogsumexp),
    cumlogsumexp_reverse=last(lax.cumlogsumexp, reverse=True),
    add_accumulate=lambda x: jnp.add.accumulate(x, axis=-1),
    multiply_accumulate=lambda x: jnp.multiply.accumulate(x, axis=-1),
    associative_sum=lambda x: lax.associative_scan(jnp.add, x, axis=-1),
    **SUMS,
)
rows(
    ulps=0,
    cummax=last(lax.cummax),
    cummin=last(lax.cummin),
    cummax_reverse=last(lax.cummax, reverse=True),
    maximum_accumulate=lambda x: jnp.maximum.accumulate(x, axis=-1),
)
rows(
    "numpy.sort",
    subnormals=True,
    ulps=0,
    sort_descending=lambda x: jnp.sort(x, axis=-1, descending=True),
    lax_sort=last(lambda x, axis: lax.sort(x, dimension=axis)),
    sort_by_size=last(lambda x, axis: lax.sort((abs(x), x), dimension=axis, num_keys=1)[1]),
    top_2=lambda x: lax.top_k(x, min(2, x.shape[-1]))[0],
)
rows(
    "numpy.argsort",
    subnormals=True,
    order=0,
    argsort_descending=lambda x: jnp.argsort(x, axis=-1, descending=True),
    third_of_partition=lambda x: (
        abs(jnp.partition(x, 2, axis=-1)[..., 2]) if x.shape[-1] > 2 else x
    ),
    top_2_positions=lambda x: lax.top_k(x, min(2, x.shape[-1]))[1],
    lexsort=lambda x: jnp.lexsort((x, jnp.round(x)), axis=-1),
    nonzero=each(lambda x: jnp.nonzero(x, size=4)[0]),
    **{
        f"searchsorted_{side}": each(
            lambda x, side=side: jnp.searchsorted(jnp.sort(x), x, side=side)
        )
        for side in ("left", "right")
    },
    digitize=lambda x: jnp.digitize(x, np.float32([-1, 0, 1]).astype(x.dtype)),
    isin=lambda x: jnp.isin(x, np.array([0, np.nan, np.inf]).astype(x.dtype)),
)
rows(
    subnormals=True,
    ulps=0,
    order=0,
    unique=each(lambda x: jnp.unique(x, size=4, fill_value=7)),
    unique_with_nans=each(lambda x: jnp.unique(x, size=4, fill_value=7, equal_nan=False)),
)
rows(
    "numpy.diff",
    unwrap=lambda x: jnp.unwrap(x, axis=-1),
    gradient=lambda x: jnp.gradient(x, axis=-1),
    interp_given=each(
        lambda x: jnp.interp(np.float32([0.5, 1, 5]), jnp.arange(1.0 * x.size), x)
    ),
    convolve=each(lambda x: jnp.convolve(x, np.array([1, 0, -1], x.dtype))),
    ediff=each(jnp.ediff1d),
    window_sum=each(lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), "SAME")),
    window_max=each(lambda x: lax.reduce_window(x, -np.inf, lax.max, (2,), (1,), "SAME")),
    dtypes="float32",
)
rows(
    """
    numpy.cumsum numpy.cumprod numpy.nancumsum numpy.nancumprod numpy.sort
    """,
    dtypes="complex64",
    cumlogsumexp=last(lax.cumlogsumexp),
    cummax=last(lax.cummax),
    **SUMS,
)
rows(
    "numpy.argsort",
    dtypes="complex64",
    order=0,
    unique=each(lambda x: jnp.unique(x, size=4, fill_value=7)),
    searchsorted_left=each(lambda x: jnp.searchsorted(jnp.sort(x), x)),
)
