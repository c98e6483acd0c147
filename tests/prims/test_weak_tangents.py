"""Which tangents of weakly typed arrays are weak, recorded from JAX 0.10.2.

Those of numbers always are.  Those of arrays are not where a rule has a constant factor.
"""

import pytest

import minijax as jax
from minijax import lax, nn

WEAK = """abs acosh asinh atanh bessel_i1e cos cosh exp expm1 lgamma log log1p logistic neg
 round sin sinh sort tanh"""
STRONG = """acos asin atan cbrt digamma erf erf_inv erfc exp2 reciprocal rsqrt sqrt square
 tan"""
ACTIVATIONS = "celu elu hard_sigmoid hard_silu relu relu6 selu sigmoid silu softplus"
CASES = [
    *[(lax, name, True) for name in WEAK.split()],
    *[(lax, name, False) for name in STRONG.split()],
    *[(nn, name, True) for name in ACTIVATIONS.split()],
]


@pytest.mark.parametrize(
    ("module", "name", "weak"), CASES, ids=lambda x: x if isinstance(x, str) else None
)
def test_tangents(module, name, weak):
    f = getattr(module, name)

    def types(shape):
        x = jax.ShapeDtypeStruct(shape, "float32", weak_type=True)
        out = jax.eval_shape(lambda x: jax.jvp(f, (x,), (x,)), x)
        return [y.weak_type for y in out]

    assert types((4,)) == [True, weak]
    if name != "sort":
        assert types(()) == [True, True]
