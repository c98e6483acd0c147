"""The error classes, and the common form of messages.

A message has up to five parts, in this order, with at most two lines per part: WHAT was
attempted, WHICH value (a path from the user's call), WHERE, WHY, TRY.  `message`
joins them, `error` creates an exception of them.  Classes have JAX's names and subclass
the builtin class that a user would catch.

This package does not know which code raises.  Next: source.py, which finds the user's line.
"""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from numpy.exceptions import AxisError as AxisError

E = TypeVar("E", bound=BaseException)


class ShapeError(TypeError, ValueError):
    """Sizes do not fit each other, or are impossible.

    It has both bases since JAX raises TypeError in some functions and ValueError in others.
    """


class ElementError(TypeError, ValueError):
    """A dtype that arrays, or an operation, cannot have."""


def message(
    what: str,
    *,
    which: str | None = None,
    where: str | None = None,
    why: str | None = None,
    tries: tuple[str, ...] | list[str] = (),
) -> str:
    """Join the parts of an error message in the common form."""
    parts = [what]
    if which:
        parts.append(f"Which: {which}")
    if where:
        parts.append(f"Where: {where}")
    if why:
        parts.append(f"Why: {why}")
    if tries:
        parts.append("Try: " + "\n     ".join(tries))
    return "\n".join(parts)


def error(kind: type[E], what: str, **parts: Any) -> E:
    """Return an exception of class `kind` whose message has these parts: see `message`."""
    return kind(message(what, **parts))


type_error = functools.partial(error, TypeError)
value_error = functools.partial(error, ValueError)
shape_error = functools.partial(error, ShapeError)


class JAXTypeError(TypeError):
    """A TypeError about tracing."""

    __module__ = "minijax.errors"


class JAXIndexError(IndexError):
    """An IndexError about tracing."""

    __module__ = "minijax.errors"


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where a concrete one is needed."""

    __module__ = "minijax.errors"


class TracerArrayConversionError(JAXTypeError):
    """A traced value was passed to NumPy (`np.asarray(tracer)`)."""

    __module__ = "minijax.errors"


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced value was used as a Python integer, for instance as an index."""

    __module__ = "minijax.errors"


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used as a Python bool, for instance by `if`."""

    __module__ = "minijax.errors"


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index: the result's size is unknown."""

    __module__ = "minijax.errors"


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its transformation had ended."""

    __module__ = "minijax.errors"


class InconclusiveDimensionOperation(Exception):
    """Symbolic dimensions could not be compared."""


class UnexpectedDimVar(Exception):
    """A program has a symbolic dimension that none of its arguments' shapes has."""


class ShardingTypeError(Exception):
    """The sharding of a result would be ambiguous, or would need communication."""

    __module__ = "minijax.errors"


class KeyReuseError(JAXTypeError):
    """A random key was consumed twice."""

    __module__ = "minijax.errors"


def type_text(x: Any) -> str:
    """Return a short text of a value's type: `f32[3,4]`, or the Python type's name."""
    aval = getattr(x, "aval", None)
    if aval is not None and hasattr(aval, "str_short"):
        return str(aval.str_short(True))
    dtype, shape = getattr(x, "dtype", None), getattr(x, "shape", None)
    if dtype is not None and shape is not None:
        return f"{dtype}[{','.join(map(str, shape))}]"
    return type(x).__name__
