"""Dtypes whose tangents have another dtype: `primal_tangent_dtype`."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..prims.math.cast import convert_element_type
from ..prims.shape.full import full
from ..types import dtypes
from ..types.avals import shaped


class primal_tangent(dtypes.extended):
    """The category of dtypes with a separate tangent dtype."""


class _DtypeRules:
    @staticmethod
    def physical_element_aval(dtype: Any) -> Any:
        return shaped((), dtype.primal_dtype)

    @staticmethod
    def convert_from(ours: Any, other: Any) -> bool:
        return bool(ours.primal_dtype == other)

    @staticmethod
    def convert_to(other: Any, ours: Any) -> bool:
        return bool(ours.primal_dtype == other)

    @staticmethod
    def tangent_dtype(dtype: Any) -> Any:
        return dtype.tangent_dtype

    @staticmethod
    def full(shape: Any, value: Any, dtype: Any) -> Any:
        return convert_element_type(full(shape, value, dtype.primal_dtype), dtype)


@dataclasses.dataclass(frozen=True)
class PrimalTangentDType(dtypes.ExtendedDType):
    """A dtype that is stored as one dtype and has tangents of another."""

    primal_dtype: Any
    tangent_dtype: Any
    name: str = ""
    _rules = _DtypeRules
    type = primal_tangent

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


def primal_tangent_dtype(
    primal_dtype: Any, tangent_dtype: Any, name: str | None = None
) -> dtypes.ExtendedDType:
    """Return a dtype whose values are stored as one dtype and whose tangents have another.

    Args:
      primal_dtype: the dtype that values are stored as, and convert from and to.
      tangent_dtype: the dtype of tangents and cotangents.
      name: its name.

    Returns:
      A dtype, for `lax.convert_element_type`; dtypes with equal arguments are equal.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> small = primal_tangent_dtype('int8', 'bfloat16')
      >>> x = mj.lax.convert_element_type(jnp.arange(3, dtype='int8'), small)
      >>> mj.typeof(x).to_tangent_aval()
      ShapedArray(bfloat16[3])
    """
    primal, tangent = dtypes.as_dtype(primal_dtype), dtypes.as_dtype(tangent_dtype)
    short = [shaped((), d).str_short(True).removesuffix("[]") for d in (primal, tangent)]
    dtype_name = name or f"PrimalTangentDType{{{short[0]}/{short[1]}}}"
    return PrimalTangentDType(primal, tangent, dtype_name)
