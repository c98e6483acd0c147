"""Functions that reduce an axis, at edge rows."""

import functools

from edge_rows import rows_of
from edge_values import Edges

import minijax as jax
import minijax.numpy as jnp
from minijax import lax, nn

programs = Edges()
rows = functools.partial(rows_of, programs)


def last(f, **options):
    """A function of arrays whose last axis is meant, from one of `axes`."""
    return lambda x: f(x, axes=(x.ndim - 1,), **options)


rows(
    "numpy.max numpy.min numpy.nanmax numpy.nanmin",
    subnormals=True,
    ulps=0,
    reduce_max=last(lax.reduce_max),
    reduce_min=last(lax.reduce_min),
    max_of_some=lambda x: jnp.max(x, axis=-1, where=x < 2, initial=-5),
)
rows(
    """
    numpy.argmax numpy.argmin numpy.nanargmax numpy.nanargmin numpy.all numpy.any
    numpy.count_nonzero
    """,
    subnormals=True,
    order=0,
    lax_argmax=lambda x: lax.argmax(x, x.ndim - 1, "int32"),
    lax_argmin=lambda x: lax.argmin(x, x.ndim - 1, "int32"),
)
rows(
    """
    numpy.sum numpy.prod numpy.mean numpy.ptp numpy.average numpy.nansum numpy.nanprod
    numpy.nanmean numpy.trapezoid
    """,
    sum_of_some=lambda x: jnp.sum(x, axis=-1, where=x > 0),
    mean_of_some=lambda x: jnp.mean(x, axis=-1, where=x > 0),
    prod_of_some=lambda x: jnp.prod(x, axis=-1, where=x > 0),
    reduce_sum=last(lax.reduce_sum),
    reduce_prod=last(lax.reduce_prod),
)
rows(ulps=16, weighted=lambda x: jnp.average(x, axis=-1, weights=jnp.cos(x)))
rows(
    "numpy.var numpy.std numpy.nanvar numpy.nanstd",
    ulps=8,
    std_of_sample=lambda x: jnp.std(x, axis=-1, ddof=1),
    nanvar_of_sample=lambda x: jnp.nanvar(x, axis=-1, ddof=1),
)
rows(
    "numpy.median numpy.nanmedian",
    **{
        f"quantile_{method}": functools.partial(jnp.quantile, q=0.3, axis=-1, method=method)
        for method in ("linear", "lower", "higher", "nearest", "midpoint")
    },
    nanquantile=lambda x: jnp.nanquantile(x, 0.3, axis=-1),
    percentile_ends=lambda x: jnp.percentile(x, 0, axis=-1) - jnp.percentile(x, 100, axis=-1),
)
rows(
    "nn.logsumexp nn.logmeanexp nn.softmax nn.log_softmax nn.standardize",
    logsumexp_weighted=lambda x: nn.logsumexp(x, axis=-1, b=-2.0),
    softmax_of_some=lambda x: nn.softmax(x, axis=-1, where=x > 0),
)
rows(
    **{
        f"norm_{p}": functools.partial(jnp.linalg.norm, axis=-1, ord=p)
        for p in (None, 0, 1, 2, 3, 0.5, -1, float("inf"), -float("inf"))
    },
    vector_norm=lambda x: jnp.linalg.vector_norm(x, axis=-1),
    dot=lambda x: jnp.vecdot(x, x),
    dot_flipped=lambda x: jnp.vecdot(x, x[..., ::-1]),
    add_reduce=lambda x: jnp.add.reduce(x, axis=-1),
    multiply_reduce=lambda x: jnp.multiply.reduce(x, axis=-1),
    logaddexp_reduce=lambda x: (
        jnp.logaddexp.reduce(x, axis=-1)
        if hasattr(jnp.logaddexp, "reduce")
        else nn.logsumexp(x, axis=-1)
    ),
)


def segments(function, **options):
    """Sums and their like over the numbers 0 and 2, 1, and none of a row."""

    def along(x):
        ids = jnp.array([0, 1, 0, 3][: x.shape[-1]], "int32")
        move = functools.partial(jnp.moveaxis, source=-1, destination=0)
        return jnp.moveaxis(function(move(x), ids, 3, **options), 0, -1)

    return along


rows(
    segment_sum=segments(jax.ops.segment_sum),
    segment_prod=segments(jax.ops.segment_prod),
    segment_max=segments(jax.ops.segment_max),
    segment_min=segments(jax.ops.segment_min),
)
rows(
    """
    numpy.sum numpy.prod numpy.mean numpy.var numpy.std numpy.max numpy.min
    numpy.nansum numpy.nanprod numpy.nanmean numpy.nanvar numpy.nanmax
    nn.logsumexp nn.softmax
    """,
    dtypes="complex64",
    norm_None=lambda x: jnp.linalg.norm(x, axis=-1),
    norm_1=lambda x: jnp.linalg.norm(x, axis=-1, ord=1),
    norm_3=lambda x: jnp.linalg.norm(x, axis=-1, ord=3),
    norm_inf=lambda x: jnp.linalg.norm(x, axis=-1, ord=float("inf")),
    dot=lambda x: jnp.vecdot(x, x),
    segment_sum=segments(jax.ops.segment_sum),
    segment_prod=segments(jax.ops.segment_prod),
)
rows("numpy.all numpy.any numpy.count_nonzero", dtypes="complex64", order=0)
