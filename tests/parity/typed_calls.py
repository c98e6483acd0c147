"""Calls whose types are compared: numbers, weakly typed arrays, mixed dtypes.

`types` says what mixed arguments give, a star after what is weak; `refusals` which calls
with plain arguments JAX's options against promotion forbid.  Runs under JAX and minijax
alike; `record.py` keeps what JAX gives in `typed_calls.txt`.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).with_name("typed_calls.txt")

KINDS = {
    "int": lambda jax: 2,
    "float": lambda jax: 2.5,
    "bool": lambda jax: True,
    "complex": lambda jax: 1j,
    "wf": lambda jax: jax.numpy.asarray(2.5),
    "wi": lambda jax: jax.numpy.asarray(3),
    "wF": lambda jax: jax.lax.full((2, 2), 2.5),
    "wI": lambda jax: jax.lax.full((2, 2), 2),
    "wv": lambda jax: jax.lax.full((4,), 1.5),
    "f32": lambda jax: jax.numpy.ones((2, 2)),
    "i32": lambda jax: jax.numpy.ones((2, 2), "int32"),
    "i8": lambda jax: jax.numpy.ones((2, 2), "int8"),
    "u32": lambda jax: jax.numpy.ones((2, 2), "uint32"),
    "bf16": lambda jax: jax.numpy.ones((2, 2), "bfloat16"),
    "f16": lambda jax: jax.numpy.ones((2, 2), "float16"),
    "c64": lambda jax: jax.numpy.ones((2, 2), "complex64"),
    "b": lambda jax: jax.numpy.ones((2, 2), "bool"),
    "v": lambda jax: jax.numpy.ones((2,)),
    "stack": lambda jax: jax.numpy.ones((3, 2, 2)),
}

MIXED = {
    1: "int float bool complex wf wi wF wI wv i8 bf16 b",
    2: "int,int float,int bool,bool wf,int wi,f32 i8,float i8,int i8,u32 bf16,f16"
    " bf16,float i8,bf16 f32,complex wF,i8 wI,bf16 wI,wF b,int b,float u32,wI",
    3: "int,int,int float,int,int b,int,float i8,int,float bf16,wF,int wF,wI,int b,wF,wI"
    " b,bf16,float",
}
DEFAULTS = {
    1: "f32 f16 i32 b c64 v stack",
    2: "f32,f32 f16,f16 i32,i32 c64,c64 f32,int f32,float f16,float i32,int bf16,int"
    " c64,float f32,v stack,f32 v,float",
    3: "f32,f32,f32 b,f32,f32 f16,float,float f32,float,float i32,int,int b,f16,float",
}

FUNCTIONS = {
    1: """numpy: abs acos all angle any argmax argsort array asarray atleast_1d average
 bincount bitwise_count bitwise_not cbrt ceil conj copy corrcoef cos cosh count_nonzero cov
 cumprod cumsum deg2rad diag diagflat diff ediff1d exp exp2 expm1 fabs flip floor frexp
 gradient i0 imag iscomplex isfinite isinf isnan isneginf isposinf isreal log log10 log1p
 log2 logical_not max mean median min modf nan_to_num nanmax nanmean nanmedian nanprod
 nanstd nansum nanvar negative nonzero ones_like poly polyder positive prod ptp rad2deg
 ravel real reciprocal rint roots round sign signbit sin sinc sort sort_complex spacing
 sqrt square squeeze std sum tan tanh trace transpose trapezoid tril trunc unwrap vander
 var zeros_like
 nn: celu elu gelu hard_sigmoid hard_silu hard_tanh leaky_relu log1mexp log_sigmoid
 log_softmax logsumexp mish relu relu6 selu sigmoid silu soft_sign softmax softplus
 sparse_plus sparse_sigmoid squareplus standardize
 numpy.linalg: cholesky cond det eig eigh eigvals eigvalsh inv norm pinv qr matrix_rank
 svd svdvals trace vector_norm
 lax.linalg: eig hessenberg lu qdwh qr schur svd tridiagonal
 scipy.special: digamma entr erf expit gamma gammaln i0e log_ndtr logit ndtr ndtri
 spence""",
    2: """numpy: add allclose append arctan2 array_equal array_equiv bitwise_and convolve
 copysign divide divmod dot equal float_power floor_divide fmax fmin fmod full_like gcd
 greater greater_equal heaviside hypot inner isclose isin kron lcm ldexp left_shift less
 logaddexp logaddexp2 logical_and logical_xor matmul maximum minimum mod multiply nextafter
 not_equal outer percentile polyadd polymul polysub polyval power quantile searchsorted
 subtract take tensordot true_divide vdot argpartition
 numpy.linalg: matmul outer solve vecdot
 scipy.special: beta betaln gammainc kl_div rel_entr xlog1py xlogy""",
    3: "numpy: clip insert interp where",
}


def named(jax: Any, arity: int) -> Iterator[tuple[str, Any]]:
    """The public functions that are called with so many arguments."""
    home, room = jax, ""
    for word in FUNCTIONS[arity].split():
        if word.endswith(":"):
            room = word[:-1]
            home = importlib.import_module(f"{jax.__name__}.{room}")
        else:
            yield f"{room}.{word}", getattr(home, word)


SHORT = {"complex": "c", "bfloat": "bf", "uint": "u", "float": "f", "int": "i"}


def shown(jax: Any, out: Any) -> str:
    """The types of all arrays of a result: `f32*[2,2]`."""
    texts = []
    for x in jax.tree_util.tree_leaves(out):
        name = x.dtype.name
        for long, short in SHORT.items():
            if name.startswith(long):
                name = short + name.removeprefix(long)
                break
        sizes = ",".join(map(str, x.shape))
        texts.append(f"{name}{'*' * x.weak_type}[{sizes}]")
    return "+".join(texts)


def outcome(jax: Any, function: Any, names: str) -> str:
    """The types that a call gives, or the class of its error."""

    def call() -> Any:
        return function(*(KINDS[name](jax) for name in names.split(",")))

    try:
        return shown(jax, jax.eval_shape(call))
    except Exception as error:
        return type(error).__name__


def types(jax: Any) -> dict[str, dict[str, str]]:
    """For each function what each call with mixed types gives."""
    return {
        name: {names: outcome(jax, function, names) for names in kinds.split()}
        for arity, kinds in MIXED.items()
        for name, function in named(jax, arity)
    }


def refusals(jax: Any) -> dict[str, dict[str, str]]:
    """For each function the calls that an option forbids, and the class of the error."""
    options = {
        "strict promotion": lambda: jax.numpy_dtype_promotion("strict"),
        "no rank promotion": lambda: jax.numpy_rank_promotion("raise"),
    }
    by_function: dict[str, dict[str, str]] = {}
    for arity, kinds in DEFAULTS.items():
        for name, function in named(jax, arity):
            by_function[name] = {}
            for names in kinds.split():
                expected = outcome(jax, function, names)
                for title, option in options.items():
                    with option():
                        out = outcome(jax, function, names)
                    if out.endswith("Error") and not expected.endswith("Error"):
                        by_function[name][f"{names} {title}"] = out
    return by_function
