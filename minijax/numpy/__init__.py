"""NumPy's interface on minijax arrays: `import minijax.numpy as jnp`.

Each name is loaded from its package, `surface/numpy/`, when it is first used.
Names that NumPy and JAX have dropped still work, with a DeprecationWarning.
"""

from __future__ import annotations

import ml_dtypes as _ml_dtypes

from ..base.lazy_modules import lazy_module

_TABLE = {
    "runtime.arrays.array": "ndarray=Array",
    "surface.numpy.constants": "e pi inf nan euler_gamma newaxis ComplexWarning",
    "surface.numpy.contraction": "einsum einsum_path",
    "surface.numpy.conversion": "astype copy",
    "surface.numpy.convolution": "convolve correlate",
    "surface.numpy.creation": """
        array asarray zeros ones empty full zeros_like ones_like empty_like full_like
    """,
    "surface.numpy.diagonals": "diagonal diag diagflat trace",
    "surface.numpy.dtype_info": """
        bool_ int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64
        float16 float32 float64 bfloat16 complex64 complex128 float4_e2m1fn float8_e3m4
        float8_e4m3 float8_e4m3b11fnuz float8_e8m0fnu float8_e4m3fn float8_e4m3fnuz
        float8_e5m2 float8_e5m2fnuz cdouble csingle double single complex_ float_ int_ uint
        float6_e2m3fn float6_e3m2fn generic inexact number integer signedinteger
        unsignedinteger complexfloating floating character flexible object_ dtype finfo
        iinfo result_type promote_types issubdtype isdtype can_cast iscomplexobj isrealobj
        isscalar bool=bool_
    """,
    "surface.numpy.edits": "delete insert",
    "surface.numpy.elementwise": """
        floor_divide remainder mod fmod divmod gcd lcm power pow float_power fmax fmin clip
        round around rint trunc modf
    """,
    "surface.numpy.equality": "isclose allclose array_equal array_equiv",
    "surface.numpy.floating_point": """
        isfinite isinf isposinf isneginf isnan iscomplex isreal signbit copysign spacing
        frexp ldexp bitwise_count
    """,
    "surface.numpy.functional": "apply_along_axis apply_over_axes vectorize",
    "surface.numpy.grids": """
        eye identity tri tril triu tril_indices triu_indices tril_indices_from
        triu_indices_from diag_indices diag_indices_from mask_indices meshgrid indices
        fromfunction mgrid ogrid r_ c_ index_exp s_
    """,
    "surface.numpy.indexing": "take take_along_axis",
    "surface.numpy.io": """
        get_printoptions set_printoptions printoptions iterable frombuffer fromstring
        fromfile fromiter load save savez from_dlpack array_repr array_str
    """,
    "surface.numpy.joining": """
        concatenate concat stack unstack vstack hstack dstack column_stack block append
        split array_split vsplit hsplit dsplit
    """,
    "surface.numpy.linear": """
        dot matmul vdot inner outer tensordot vecdot matvec vecmat kron cross
    """,
    "surface.numpy.manipulation": """
        reshape ravel squeeze expand_dims atleast_1d atleast_2d atleast_3d transpose
        permute_dims matrix_transpose swapaxes moveaxis rollaxis broadcast_to
        broadcast_arrays broadcast_shapes shape ndim size
    """,
    "surface.numpy.moments": "mean var std average",
    "surface.numpy.nanreductions": """
        nansum nanprod nanmax nanmin nanmean nanvar nanstd nanargmax nanargmin nancumsum
        nancumprod
    """,
    "surface.numpy.padding": "pad",
    "surface.numpy.polynomial": """
        polyval polyadd polysub polymul polydiv polyder polyint poly polyfit roots vander
    """,
    "surface.numpy.quantiles": "quantile nanquantile percentile nanpercentile median nanmedian",
    "surface.numpy.ranges": "arange linspace logspace geomspace",
    "surface.numpy.rearrange": """
        tile repeat roll flip fliplr flipud rot90 resize trim_zeros packbits unpackbits
    """,
    "surface.numpy.reductions": """
        sum prod max min amax amin ptp all any count_nonzero argmax argmin
    """,
    "surface.numpy.running": "cumsum cumprod cumulative_sum cumulative_prod",
    "surface.numpy.searching": """
        nonzero flatnonzero argwhere searchsorted digitize unravel_index ravel_multi_index
    """,
    "surface.numpy.selection": "where select choose extract compress piecewise",
    "surface.numpy.setops": """
        unique unique_all unique_counts unique_inverse unique_values union1d setdiff1d
        setxor1d intersect1d isin
    """,
    "surface.numpy.differences": "diff ediff1d gradient trapezoid interp unwrap",
    "surface.numpy.sorting": "sort argsort lexsort sort_complex partition argpartition",
    "surface.numpy.standard": "__array_api_version__ __array_namespace_info__",
    "surface.numpy.special_values": "fabs hypot heaviside sinc i0 angle nan_to_num",
    "surface.numpy.statistics": """
        histogram_bin_edges histogram histogram2d histogramdd bincount cov corrcoef
    """,
    "surface.numpy.ufunc": """
        ufunc frompyfunc add bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2
        logical_and logical_or logical_xor maximum minimum multiply negative subtract
    """,
    "surface.numpy.ufuncs": """
        divide true_divide positive absolute sign square reciprocal exp exp2 expm1 log log1p
        log2 log10 sqrt cbrt sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh
        arccosh arctanh acos acosh asin asinh atan atan2 atanh deg2rad rad2deg degrees
        radians floor ceil equal not_equal less less_equal greater greater_equal logical_not
        bitwise_not bitwise_invert invert left_shift right_shift bitwise_left_shift
        bitwise_right_shift nextafter real imag conjugate conj abs
    """,
    "surface.numpy.windows": "blackman hamming hanning bartlett kaiser",
    "surface.numpy.inserting": "put place put_along_axis fill_diagonal ix_",
}
if hasattr(_ml_dtypes, "int1"):  # from ml_dtypes 0.6
    _TABLE["surface.numpy.dtype_info"] += " int1 uint1"
_DROPPED = {
    "alltrue": "all",
    "sometrue": "any",
    "product": "prod",
    "cumproduct": "cumprod",
    "in1d": "isin",
    "row_stack": "vstack",
    "trapz": "trapezoid",
    "fix": "trunc",
    "round_": "round",
    "DeviceArray": "ndarray",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, "fft linalg", _DROPPED)
