"""The error classes and the one form that messages take.

A message has up to five parts, in this order, two lines a part at most: WHAT was
attempted, WHICH value (a path from the user's call), WHERE, WHY, TRY.  `message`
joins them, `error` makes an exception of them.  Classes bear JAX's names and subclass
what a user would catch.

This room must not know what raises.  Next: source.py, which finds the user's line.
"""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from numpy.exceptions import AxisError as AxisError

E = TypeVar("E", bound=BaseException)


class ShapeError(TypeError, ValueError):
    """Sizes do not fit each other, or no array has them.

    Where one function of JAX raises a TypeError another one raises a ValueError.
    """


class ElementError(TypeError, ValueError):
    """No array has such elements, or no operation takes them."""


def message(
    what: str,
    *,
    which: str | None = None,
    where: str | None = None,
    why: str | None = None,
    tries: tuple[str, ...] | list[str] = (),
) -> str:
    """Join the parts of an error message in the house's form."""
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
    """An exception of class `kind` whose message has these parts: see `message`."""
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
    """A traced value was handed to NumPy (`np.asarray(tracer)`)."""

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
    """Dimensions that are expressions could not be compared."""


class UnexpectedDimVar(Exception):
    """A program has a symbolic dimension that none of its arguments' shapes has."""


class ShardingTypeError(Exception):
    """Operands lie on a mesh so that a result's place would be ambiguous, or move data."""

    __module__ = "minijax.errors"


class KeyReuseError(JAXTypeError):
    """A random key was consumed twice."""

    __module__ = "minijax.errors"


def type_text(x: Any) -> str:
    """Short text of the type of a value: `f32[3,4]`, or the Python type's name."""
    aval = getattr(x, "aval", None)
    if aval is not None and hasattr(aval, "str_short"):
        return str(aval.str_short(True))
    dtype, shape = getattr(x, "dtype", None), getattr(x, "shape", None)
    if dtype is not None and shape is not None:
        return f"{dtype}[{','.join(map(str, shape))}]"
    return type(x).__name__
