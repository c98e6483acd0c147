"""The accuracy of elementary functions: the argument `accuracy=` of exp, sin, ...

None means the compiler's choice.  Next: elementary.py.
"""

from __future__ import annotations

import enum
from typing import Any

from ...ir.core import Primitive
from ..elementwise import INEXACT, Rule, nary

__all__ = ("AccuracyMode", "Tolerance")


class AccuracyMode(enum.Enum):
    """The choice between the compiler's implementations of a function.

    >>> from minijax import lax
    >>> lax.exp(0.0, accuracy=lax.AccuracyMode.HIGHEST).item()
    1.0
    """

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """The error bound of an implementation: absolute, relative, in units in the last place.

    >>> Tolerance(atol=1e-6)
    Tolerance(atol=1e-06, rtol=0.0, ulps=0)
    """

    __slots__ = ("atol", "rtol", "ulps")

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        if atol < 0.0 or rtol < 0.0 or ulps < 0:
            raise ValueError("Tolerances must be non-negative.")
        self.atol = atol
        self.rtol = rtol
        self.ulps = ulps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tolerance) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[float, float, int]:
        return (self.atol, self.rtol, self.ulps)

    def __repr__(self) -> str:
        return f"Tolerance(atol={self.atol}, rtol={self.rtol}, ulps={self.ulps})"


def attribute_text(accuracy: Any) -> str | None:
    """Return the StableHLO attribute for an `accuracy`, as text; None for the default."""
    if accuracy is None or accuracy is AccuracyMode.DEFAULT:
        return None
    if accuracy is AccuracyMode.HIGHEST:
        mode = "#stablehlo.result_accuracy_mode<HIGHEST>"
        return f"#stablehlo.result_accuracy<mode = {mode}>"
    if isinstance(accuracy, Tolerance):
        return (
            f"#stablehlo.result_accuracy<atol = {float(accuracy.atol):e}, rtol ="
            f" {float(accuracy.rtol):e}, ulps = {accuracy.ulps}, mode ="
            " #stablehlo.result_accuracy_mode<TOLERANCE>>"
        )
    raise TypeError(
        f"accuracy must be a lax.Tolerance or a lax.AccuracyMode, got {accuracy!r}."
    )


def emit_accurate(ctx: Any, op: str, aval: Any, x: Any, accuracy: Any) -> Any:
    """Emit a function of one operand with an `accuracy`; its result is of type `aval`."""
    text = attribute_text(accuracy)
    if text is None:
        return ctx.op(op, aval, x)
    return ctx.op(op, aval, x, result_accuracy=ctx.parse(text))


def lower_accurate(op: str) -> Rule:
    """Return the lowering rule of a function of one operand with an `accuracy`."""

    def lower(ctx: Any, x: Any, *, accuracy: Any = None) -> Any:
        return emit_accurate(ctx, op, ctx.avals_out[0], x, accuracy)

    return lower


def accurate(
    name: str,
    lower: str | Rule,
    tangent: Rule,
    accepts: frozenset[str] = INEXACT,
    **facts: Any,
) -> Primitive:
    """Declare a function of one operand with a param `accuracy`, printed unless None."""
    rule = lower_accurate(lower) if isinstance(lower, str) else lower
    return nary(name, [accepts], lower=rule, jvp=[tangent], pretty={"accuracy": None}, **facts)
