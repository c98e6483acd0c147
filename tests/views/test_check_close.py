"""`jax._src.public_test_util.check_close`.  Limits are those of JAX 0.10.2."""

import ml_dtypes
import numpy as np
import pytest

import minijax.numpy as jnp
from minijax.views.numbers import check_close

ONE, ONES = np.ones(1, np.float32), np.ones(3, np.float32)
CLOSE = {
    "f32": (ONE, ONE * (1 + 7e-7), {}),
    "by size": (ONES, ONES * (1 + 5e-6), {}),
    "the coarser": (jnp.ones(1, jnp.bfloat16), ONE * 1.005, {}),
    "integers": (1, 1.0, {}),
    "nan": (jnp.nan, np.nan, {}),
    "trees": ({"a": 1.0, "b": None}, {"a": 1.0, "b": None}, {}),
    "given": (ONE, ONE * 1.1, {"rtol": 0.2}),
    "by dtype": (ONE, ONE * 1.1, {"atol": {np.float32: 0.2}}),
    "none": (np.ones(0), np.ones(0), {}),
}
FAR = {
    "f32": (ONE, ONE * (1 + 4e-6), {}),
    "bfloat16": (ONE.astype(ml_dtypes.bfloat16), ONE * 1.03, {}),
    "integers": (np.arange(3), np.arange(3) + 1, {}),
    "shapes": (ONES, ONES[:, None], {}),
    "complex": (1j * ONE, 2j * ONE, {}),
    "given": (ONE, ONE * 1.1, {"rtol": 0.02}),
}


@pytest.mark.parametrize("x, y, limits", CLOSE.values(), ids=CLOSE)
def test_close(x, y, limits):
    check_close(x, y, **limits)


@pytest.mark.parametrize("x, y, limits", FAR.values(), ids=FAR)
def test_far(x, y, limits):
    with pytest.raises(AssertionError, match="here"):
        check_close(x, y, **limits, err_msg="here")


def test_other_trees():
    with pytest.raises(ValueError, match="structure"):
        check_close({"a": 1.0}, [1.0])
