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
# What Python itself says of a mistake that nobody looked for: it is never excused.
SLIP = (
    r"(?!.*(has no attribute|is not (iterable|subscriptable|callable)|unpack|KeyError"
    r"|(tuple|list) index out of range|is ambiguous|string or a real number).* != )"
)
NAN_RULES = r"(nan)?(var|std)\(|\]\.(max|min)\("
SLOPES = r"jax\.(grad|jvp|vjp|linearize|jac|hessian|value_and_grad)"
QUOTIENTS = r"jnp\.(nan)?mean\(|jnp\.average\("
KNOWN = [
    # By values.
    Known(
        "of two faults another one is told first", "class", "", f"^{SLIP}{FAULT}.* != {FAULT}"
    ),
    Known(
        "a traced value where a constant is needed: its hash, index or value is told of",
        "class",
        "",
        rf"^{SLIP}\('(Concretization|Tracer|NonConcrete)\w+'"
        rf"|^{SLIP}\('(Type|Value)Error'.* != \('(Concretization|Tracer|NonConcrete)\w+'",
    ),
    Known("the derivative of JAX's ldexp at narrow exponents is 1", "value", r"jnp\.ldexp\("),
    Known(
        "JAX divides integers by zero, which ends its process", "died", QUOTIENTS, r"exit -8.*$"
    ),
    Known(
        "JAX cuts a 64-bit index to 32 bits before it is clamped",
        "value",
        r"[\[ -]\d{13,}[,\]]",
    ),
    Known(
        "JAX fills the places of no elements with 0, whatever fill_value is",
        "value",
        r"(?s)(nonzero|argwhere|where)\([^\n]*size=.*array\(\[\],",
        r"!= [\[ ]*0",
    ),
    Known("JAX takes infinity from infinity", "value", r"trapezoid\(", r"inf.* != .*nan"),
    Known(
        "the logarithm of a sum with infinity depends on nothing else",
        "value",
        r"(?s)(?=.*jax\.(grad|jvp|vjp|linearize|jac|hessian|value_and_grad))"
        r"(?=.*logaddexp2?\(.*\binf)",
    ),
    Known(
        "JAX takes subnormal numbers for 0",
        "value",
        r"(?s)frexp\(.*e-(3[89]|4\d|308|31\d|32\d)",
    ),
    Known(
        "what depends on nothing has derivative 0; in JAX 0 times nan or infinity",
        "value",
        rf"(?s)(?=.*({NAN_RULES}))(?=.*{SLOPES})",
        r"!= .*nan",
    ),
    Known(
        "JAX finds that the derivative of a loop over nothing is not needed",
        "error",
        r"(?s)while_loop.*array\(\[\],|array\(\[\],.*while_loop"
        r"|\[(-?\d+):\1:.*while_loop",
        r"^\('ValueError', 'Reverse-mode",
    ),
    Known(
        "no operation asks for the derivative of what takes no part in the result",
        "error",
        "with_pullback",
        r"^a value != \('TypeError', \"can't apply forward-mode",
    ),
    Known(
        "JAX has no derivative of a determinant, or interpolation, of no elements",
        "error",
        r"(?s)(linalg\.(slog)?det|interp)\(.*array\(\[\],",
        "^a value != .*IndexError",
    ),
    Known(
        "JAX rounds what a policy stores, but not complex numbers",
        "error",
        r"checkpoint\(",
        "^a value != .*reduce_precision does not accept dtype complex",
    ),
    Known("JAX cannot interpolate between bfloat16", "error", r"interp\(", "bfloat16"),
    Known("JAX's vander has derivative nan at 0", "value", r"vander\(", "!= .*nan"),
    Known(
        "JAX has no reverse mode of windows of any function but sums and extrema",
        "error",
        "reduce_window",
        "^a value != .*Linearization failed",
    ),
    Known(
        "JAX widens the angle of a real number without axes",
        "dtype error value",
        r"jnp\.angle\(",
        r"float16|\(\)|promotion|float32\[\]",
    ),
    Known(
        "JAX cannot make a Jacobian of integers by no columns",
        "error",
        r"jacfwd|jacrev|hessian",
        "^a value != .*bytes-like object",
    ),
    Known(
        "JAX keeps empty arrays as constants, and finds that it should not",
        "error",
        r"array\(\[\],",
        "^a value != .*AssertionError.*non-canonical constant",
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
        r"linalg\.|eig|det|inv|solve|cholesky|svd|qr",
        "Unsupported dtype|LAPACK has no routine",
    ),
    Known(
        "JAX cannot map a clamp whose bounds have fewer lanes",
        "error",
        r"(?s)lax\.clamp\(.*vmap",
        "^a value != .*clamp requires",
    ),
    Known(
        "a compiled part of JAX's linear functions keeps the weak type of its primal",
        "weak",
        r"(linearized|pushed)\(f\)",
        r"^leaf \d+: False != True",
    ),
    Known(
        "weak types of derivatives are those of the equations that compute them",
        "weak",
        SLOPES,
        r"^leaf \d+: (True|False) != ",
    ),
    Known(
        "weakly typed Booleans promote as others do",
        "weak",
        r"jnp\.(not_)?equal\(|jnp\.(less|greater)|logical_|full_like\(",
        r"\('bool', (True|False)",
    ),
    Known(
        "the slope of x ** y has its limit, in JAX 0 times infinity is nan",
        "value",
        rf"(?s)(?=.*{SLOPES}).*(\*\*|power\()",
        r"!= .*nan",
    ),
    Known(
        "the slope is nan where the value is: in JAX that of arccosh below -1 is not",
        "value",
        rf"(?s)(?=.*{SLOPES}).*a(rc)?cosh\(",
        r"nan.* != ",
    ),
    Known(
        "the slope is nan where the value is: JAX's determinant and bessel_i1e have others",
        "value",
        rf"(?s)(?=.*{SLOPES})(?=.*(det|bessel_i1e)\().*nan",
        r"nan.* != ",
    ),
    Known(
        "JAX cannot lower a convolution of no elements",
        "error",
        r"conv\w*\(",
        "^a value != .*verifier errors",
    ),
    Known(
        "squareplus of minus infinity is 0: JAX subtracts infinities",
        "value",
        r"squareplus\(",
        r"!= .*nan",
    ),
    Known(
        "ramps from nan are nan, as in NumPy: JAX's first number is the end's",
        "value",
        "linear_ramp",
        r"nan.* != ",
    ),
    Known(
        "JAX has no second derivative of incomplete gamma functions",
        "error",
        rf"(?s)(?=.*{SLOPES}).*igammac?\(",
        r"^a value != .*igamma",
    ),
    Known(
        "JAX cannot differentiate a product over windows of no elements",
        "error",
        rf"(?s)(?=.*{SLOPES})(?=.*array\(\[\],).*reduce_window",
        r"^a value != ",
    ),
    Known(
        "next to infinity the slopes of a cumulative log-sum-exp are 0: JAX has exp(x)",
        "value",
        rf"(?s)(?=.*{SLOPES})(?=.*cumulative_logsumexp|.*cumlogsumexp).*inf",
    ),
    Known(
        "the slope of igamma at 0 is infinite: the value here depends on nothing",
        "value",
        rf"(?s)(?=.*{SLOPES}).*igammac?\(",
        r"!= .*nan",
    ),
    # By types: what JAX refuses, and minijax does not.
    Known(
        "minijax takes Booleans, where numbers are meant",
        "error",
        r"log1mexp|(arg)?partition|(log_)?softmax|kron|standardize|vander|poly(add|sub)"
        r"|rfftfreq|(nan)?(quantile|percentile)",
        r"^a value != .*does not accept dtype bool",
    ),
    Known(
        "minijax takes integers as shares",
        "error",
        r"(nan)?(quantile|percentile)\(",
        r"^a value != .*floor does not accept dtype u?int",
    ),
    Known(
        "minijax computes with integers of 2 and 4 bits, and with floats of 8",
        "error",
        r"u?int[24]'|float8_",
        r"^a value != .*(does not accept dtype u?int[24]|Invalid integer data type"
        r"|only supports 16, 32, and 64-bit|'KeyError', '8')",
    ),
    Known(
        "minijax fits integers",
        "error",
        r"polyfit\(",
        r"^a value != .*data type <class .* not inexact",
    ),
    Known(
        "JAX promotes inside where promotion is forbidden",
        "error",
        r"random\.(double_sided_maxwell|lognormal|pareto|weibull_min|randint|t|ball"
        r"|generalized_normal)\(|log1mexp\(|pinv\(|(nan)?(std|var)\(|select\(|kaiser\("
        r"|unwrap\(|ldexp\(|logmeanexp\(|jnp\.take\(|corrcoef\(|\.at\[",
        r"^a value != .*(TypePromotionError|rank promotion|numpy_rank_promotion"
        r"|cannot safely cast)",
    ),
    Known(
        "JAX has no ends of nothing: NumPy's 0 and 1 are bins, too",
        "error",
        r"histogram",
        "^a value != .*zero-size",
    ),
    Known(
        "JAX takes no first element of an empty set",
        "error",
        r"(setdiff1d|setxor1d|intersect1d|union1d)\(.*size=0",
        r"^a value != .*(zero-size|size 0)",
    ),
    Known(
        "JAX fails where parameters have fewer axes than the shape, or another mean",
        "error",
        r"random\.(f|t|beta|ball|pareto|wald|weibull_min|chisquare|triangular)\("
        r"|(var|std)\(.*mean=",
        "^a value != .*(must have the same number of dimensions|tuple index out of range)",
    ),
    Known(
        "JAX asks for a narrower type than the operands', and refuses it",
        "error",
        r"preferred_element_type",
        "^a value != .*preferred_element_type",
    ),
    Known(
        "JAX fails where a static argument is traced, by its hash",
        "error",
        r"polyfit\(|setxor1d\(|intersect1d\(|symmetrize_input|use_magma|lstsq\(",
        "^a value != .*(hash|TracerBoolConversionError|ConcretizationTypeError)",
    ),
    Known(
        "minijax has orders of copies, fits of integers, narrow halves and no axes",
        "error",
        r"jnp\.(copy|polyfit|permute_dims|trapezoid|(nan)?cumsum|(nan)?cumprod|scaled_dot)"
        r"\(|lax\.scaled_dot\(",
        "^a value !=",
    ),
    Known(
        "minijax compares shapes that do not broadcast; JAX hides what promotion says",
        "error",
        r"array_equiv\(",
        "incompatible shapes|TypePromotionError|numpy_rank_promotion",
    ),
    Known(
        "polynomials without coefficients are 0, and columns are polynomials",
        "error",
        r"poly(add|sub|div|mul)\(",
        "^a value != .*(broadcast|convolve)",
    ),
    Known(
        "writes drop leading axes of size 1, as NumPy does",
        "error",
        r"\.at\[|segment_",
        "^a value != .*Cannot broadcast to shape with fewer dimensions",
    ),
    Known(
        "JAX's unique values have no slopes",
        "value",
        r"^D\(.*jnp\.(unique|union1d|setdiff1d|intersect1d|setxor1d)",
    ),
    Known(
        "names of an interface that JAX has dropped",
        "error",
        r"jax\.ops\.index_",
        "has no attribute",
    ),
    # By types: what minijax refuses, and JAX does not.
    Known(
        "JAX checks this when it lowers, or not at all",
        "error",
        r"cumlogsumexp\(|rng_bit_generator\(|lax\.fft\(|eigh\(|eigvalsh\(|cholesky\("
        r"|qdwh\(|ormqr\(|lax\.broadcast_in_dim\(|conv_transpose\(|standardize\("
        r"|unravel_index\(|lax\.clamp\(|reduce_window\(|lax\.reshape\(|nanargm(ax|in)\("
        r"|random\.uniform\(|multi_dot\(\[a0\]\)|random\.multinomial\(",
        r"^\('(Type|Value)Error'.*!= a value$",
    ),
    Known(
        "JAX takes negative sizes while nothing is made of them",
        "error",
        r"tile\(|random\.",
        r"must (have every element be nonnegative|all be positive).*!= a value$",
    ),
    Known(
        "JAX does not check the shape or mode of what is written or read nowhere",
        "error",
        r"\.at\[|segment_|random\.choice\(|isin\(|put_along_axis\(|jnp\.place",
        r"((requested type|requested shape|shape=\()[^!]*0[^!]*|Unknown gather mode.*"
        r"|valid mode for gumbel.*|method='\w+' is not implemented.*)!= a value$",
    ),
    Known(
        "JAX takes a multidimensional rcond, places of no axes and tuples for an axis",
        "error",
        r"pinv\(|jnp\.delete\(|fft\.|jnp\.cross\(|lstsq\(|trapezoid\(",
        r"^\('(Type|Value|Index)Error'.*!= a value$",
    ),
    Known(
        "JAX has gradients of a number, and quantiles of nothing at no shares",
        "error",
        r"jnp\.gradient\(|(nan)?(quantile|percentile)\(",
        r"(Invalid number of spacing|of no elements).*!= a value$",
    ),
    # By types: both give a value.
    Known(
        "JAX appends the shape of the parameters once more",
        "shape error",
        r"double_sided_maxwell\(",
    ),
    Known(
        "JAX takes norms of integers in integers, where a root of them is not one",
        "dtype error",
        r"vector_norm\(",
        "int|bool|inexact",
    ),
    Known(
        "JAX forgets the rows of no choice, and the axes of what is taken from nothing",
        "shape weak",
        r"random\.choice\(|jnp\.take\(",
        r"\b0\b",
    ),
    Known(
        "JAX keeps reduced axes that are not there",
        "shape",
        r"(median|quantile|percentile)\(.*keepdims",
        r"\(\) != \(1,\)|\((\d+),\) != \(\1, 1\)",
    ),
]


def reason_for(text: str, kind: str, detail: str) -> str | None:
    """Why a difference is no finding, or None."""
    for known in KNOWN:
        about = kind in known.kinds.split() and re.search(known.text, text)
        if about and re.search(known.detail, detail):
            return known.reason
    return None
