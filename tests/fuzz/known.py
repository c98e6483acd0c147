"""Differences that are not minijax's fault: JAX 0.10.2 is wrong, or nothing is right.

Each entry has a reason, and says which findings it is about: by the kind of difference,
a pattern of the smallest script's text, and a pattern of what differs.
"""

import re
from typing import NamedTuple


class Known(NamedTuple):
    reason: str
    kinds: str  # of difference, by words
    text: str  # a regular expression that the program's text has
    detail: str = ""  # one that the difference has


FAULT = r"\('(Type|Value|Index|Assertion|Attribute|NotImplemented)"
KNOWN = [
    Known(
        "of two faults another one is told first",
        "class",
        "",
        f"^{FAULT}.* != {FAULT}",
    ),
    Known(
        "a name that JAX has not", "error class", "", r"module 'jax\S* has no attribute"
    ),
    Known(
        "the derivative of JAX's ldexp at narrow exponents is 1", "value", r"ldexp\("
    ),
    Known(
        "JAX divides integers by zero, which ends its process",
        "died",
        r"mean\(|average\(",
        "exit -8",
    ),
    Known(
        "JAX cuts a 64-bit index to 32 bits before it is clamped",
        "value",
        "9223372036854775808",
    ),
    Known(
        "what depends on nothing has derivative 0; in JAX 0 times nan or infinity",
        "value",
        r"(var|std|\]\.max|\]\.min)\(",
        "nan",
    ),
    Known(
        "JAX finds that the derivative of a loop over nothing is not needed",
        "error",
        r"(?s)while_loop.*array\(\[\],|array\(\[\],.*while_loop",
        r"^\('ValueError', 'Reverse-mode",
    ),
    Known(
        "JAX has no derivative of a determinant, or interpolation, of no elements",
        "error",
        r"array\(\[\],",
        "^a value != .*IndexError",
    ),
    Known("JAX cannot interpolate between bfloat16", "error", r"interp\(", "bfloat16"),
    Known("JAX's vander has derivative nan at 0", "value", r"vander\(", "nan"),
    Known(
        "JAX has no reverse mode of windows of any function but sums and extrema",
        "error",
        "reduce_window",
        "Linearization failed",
    ),
    Known("JAX's deviation of nothing has tangent nan", "value", r"std\(", "nan"),
    Known(
        "JAX widens the angle of a real number without axes",
        "dtype error value",
        r"angle\(",
    ),
    Known(
        "JAX cannot make a Jacobian of integers by no columns",
        "error",
        r"jacfwd|jacrev|hessian",
        "bytes-like object",
    ),
    Known(
        "JAX names its own operation where forward mode meets a custom_vjp",
        "class",
        "with_pullback",
        "custom_lin",
    ),
    Known(
        "the message for types that LAPACK has not is given when it runs, or before",
        "error class",
        "linalg|eig|det|inv|solve|cholesky|svd|qr",
        "Unsupported dtype",
    ),
    # By types: what one of the two refuses.
    Known(
        "minijax takes Booleans, small integers and floats of 8 bits",
        "error",
        "",
        r"^a value != .*(does not accept dtype (bool|u?int)|Invalid integer data type"
        r"|data type <class .* not inexact|only supports 16, 32, and 64-bit"
        r"|'KeyError', '8')",
    ),
    Known(
        "JAX promotes inside where promotion is forbidden",
        "error",
        "",
        r"^a value != .*(TypePromotionError|rank promotion|numpy_rank_promotion)",
    ),
    Known(
        "JAX checks this when it lowers, or not at all",
        "error",
        r"cumlogsumexp|rng_bit_generator|lax.fft|eigh|eigvalsh|cholesky|qdwh|ormqr"
        r"|lax.broadcast_in_dim|lax.dot_general|conv_transpose|standardize|unravel_index"
        r"|lax.clamp|reduce_window",
        r"!= a value$",
    ),
    Known(
        "JAX takes negative sizes while nothing is made of them",
        "error",
        "",
        r"must have every element be nonnegative.*!= a value$",
    ),
    Known(
        "JAX does not check the shape or mode of what is written or read nowhere",
        "error",
        "",
        r"(requested type|requested shape)[^!]*0[^!]*!= a value$"
        r"|Unknown gather mode.*!= a value$|valid mode for gumbel.*!= a value$"
        r"|method='\w+' is not implemented.*!= a value$",
    ),
    Known(
        "JAX has no ends of nothing: NumPy's 0 and 1 are bins, too",
        "error",
        r"histogram",
        "^a value != .*zero-size",
    ),
    Known(
        "JAX's linspace of numbers along a second axis fails by accident",
        "error",
        r"linspace|logspace|geomspace",
        "^a value != .*list assignment",
    ),
    Known(
        "JAX fails where parameters have fewer axes than the shape, or another mean",
        "error",
        "",
        "^a value != .*arrays must have the same number of dimensions",
    ),
    Known(
        "JAX appends the shape of the parameters once more",
        "shape error",
        "double_sided_maxwell",
    ),
    Known(
        "JAX takes norms of integers in integers, where a root of them is not one",
        "dtype error",
        "vector_norm",
    ),
    Known(
        "JAX asks for a narrower type than the operands', and refuses it",
        "error",
        "",
        "^a value != .*preferred_element_type",
    ),
    Known(
        "JAX fails where a static argument is traced, by its hash",
        "error",
        "",
        "^a value != .*(__hash__|TracerBoolConversionError|ConcretizationTypeError)",
    ),
    Known(
        "minijax has orders of copies, fits of integers, narrow halves and no axes",
        "error",
        r"jnp\.(copy|polyfit|permute_dims|trapezoid|cumsum|cumprod|scaled_dot)\(",
        "^a value !=",
    ),
    Known(
        "JAX takes a multidimensional rcond, places of no axes and tuples for an axis",
        "error",
        r"pinv|jnp\.delete|fft|jnp\.cross|lstsq",
        "!= a value$",
    ),
    Known("JAX forgets the rows of no choice", "shape", r"random\.choice"),
]


def reason_for(text: str, kind: str, detail: str) -> str | None:
    """Why a difference is no finding, or None."""
    for known in KNOWN:
        about = kind in known.kinds.split() and re.search(known.text, text)
        if about and re.search(known.detail, detail):
            return known.reason
    return None
