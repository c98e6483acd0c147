"""Symbolic shapes as text: `symbolic_shape("a, 2*b + 1")`.

    shape     := '(' sizes ')' | sizes        sizes := size (',' size)* [',']
    size      := sum | '_' | '...'            the last two: as in the shape given beside
    sum       := ['-'] product (('+' | '-') product)*
    product   := factor ('*' factor)*         factor := atom ['^' number]
    atom      := name | number | ('floordiv' | 'mod' | 'max' | 'min') '(' sum ',' sum ')'

Next: avals.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..base import errors
from ..base.source import user_source
from .symbolic_dims import (
    Size,
    SymbolicDim,
    divided,
    facts,
    max_dim,
    min_dim,
    tightened,
)

_TOKENS = re.compile(r"\s*(\.\.\.|[A-Za-z_]\w*|\d+|//|\S)")
_OPERATIONS: dict[str, Any] = {
    "floordiv": lambda x, y: divided(x, y)[0],
    "mod": lambda x, y: divided(x, y)[1],
    "max": max_dim,
    "min": min_dim,
}


class _Parser:
    def __init__(self, text: Any, scope: Any, like: Sequence[Any] | None, spec: Any) -> None:
        self.scope = scope
        self.like = like
        self.spec = spec
        self.text = text
        self.places = [(m.start(1), m[1]) for m in _TOKENS.finditer(text)]
        self.at = 0
        self.axis = 0

    @property
    def token(self) -> str:
        return self.places[self.at][1] if self.at < len(self.places) else ""

    def problem(self, why: str) -> ValueError:
        end = len(self.text) if not self.token else self.places[self.at][0]
        done, left = self.text[:end], self.text[end:]
        return errors.value_error(
            f"syntax error in symbolic shape {self.spec!r} in dimension {self.axis}:"
            f" {why}. Parsed '{done}', remaining '{left}'.",
            tries=['"batch, 2*n + 1, floordiv(m, 2)"'],
        )

    def take(self, *kinds: str) -> str | None:
        found = self.token
        if found in kinds:
            self.at += 1
            return found
        return None

    def expect(self, kind: str) -> None:
        if self.take(kind) is None:
            found = repr(self.token) if self.token else "the end"
            raise self.problem(f"expecting {kind!r} but found {found}")

    def shape(self) -> tuple[Size, ...]:
        closing = ")" if self.take("(") else ""
        found: list[Size] = []
        while self.token != closing:
            if self.take("..."):
                found += self._placeholder(None)
                break
            if self.token == "_":
                self.at += 1
                found += self._placeholder(1)
            else:
                found.append(self._checked(self.sum()))
            if self.token != closing:
                self.expect(",")
            self.axis += 1
        if closing:
            self.expect(closing)
        if self.token:
            raise self.problem(f"expecting the end but found {self.token!r}")
        return tuple(found)

    def _placeholder(self, count: int | None) -> Sequence[Size]:
        """The sizes that '_' or '...' stand for."""
        if self.like is None:
            self.at -= 1
            raise self.problem("spec contains ... but no 'like' shape was given")
        found = self.like[self.axis : None if count is None else self.axis + count]
        if None in found or (count and not found):
            self.at -= 1
            raise self.problem(
                f"unexpected placeholder for unknown dimension; like={self.like}"
            )
        return found

    def _checked(self, size: Size) -> Size:
        known = None
        if self.like is not None and self.axis < len(self.like):
            known = self.like[self.axis]
        if known is not None and isinstance(size, int) and size != known:
            raise self.problem(f"different size {size} for known dimension; like={self.like}")
        return size

    def sum(self) -> Size:
        total: Size = 0
        sign = -1 if self.take("-") else 1
        if sign == 1:
            self.take("+")
        while True:
            total = total + sign * self.product()
            if (op := self.take("+", "-")) is None:
                return total
            sign = 1 if op == "+" else -1

    def product(self) -> Size:
        found = self.factor()
        while self.take("*"):
            found = found * self.factor()
        return found

    def factor(self) -> Size:
        sign = -1 if self.take("-") else 1
        base = self.atom()
        if self.take("^"):
            if not self.token.isdigit():
                raise self.problem("expecting NUMBER")
            base = base ** int(self.token)
            self.at += 1
        return sign * base

    def atom(self) -> Size:
        found = self.token
        if found.isdigit():
            self.at += 1
            return int(found)
        if not found or not (found[0].isalpha() or found[0] == "_"):
            shown = repr(found) if found else "the end"
            raise self.problem(f"expecting one of {{NAME, MINUS, NUMBER}} but found {shown}")
        self.at += 1
        if found in _OPERATIONS and self.take("("):
            x = self.sum()
            self.expect(",")
            y = self.sum()
            self.expect(")")
            return _OPERATIONS[found](x, y)
        made = SymbolicDim({(((found,), 1),): 1}, self.scope)
        return made * 1  # what the scope says of it


def parse(text: str, scope: Any, spec: Any) -> Size:
    """The size that a text stands for."""
    parser = _Parser(text, scope, None, spec)
    found = parser.sum()
    if parser.token:
        raise parser.problem(f"expecting the end but found {parser.token!r}")
    return found


class SymbolicScope:
    """Unknowns that belong together, and what is said of them.

    Args:
      constraints_str: texts such as 'a >= 2', 'mod(a, 4) == 0', 'a <= 2*b'.

    Raises:
      ValueError: a constraint is none.
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise errors.value_error(
                "The symbolic constraints should be a sequence of strings. Got"
                f" {constraints_str!r}"
            )
        self.texts = tuple(constraints_str)
        place = user_source()
        self.place = "" if place is None else f" created at {place}"
        self.least: list[Any] = []  # what is at least 0
        self.constraints: list[tuple[Any, str]] = []  # the same, with the texts that say so
        self.equal: dict[Any, tuple[int, Size]] = {}  # factor * monomial is a size
        for text in self.texts:
            self._add(text)

    def _add(self, text: str) -> None:
        found = re.fullmatch(r"(.*?)(==|>=|<=)(.*)", text)
        if found is None:
            raise errors.value_error(
                "Constraint parsing error: must contain one of '==' or '>=' or '<='", which=text
            )
        left, right = (parse(part.strip(), self, text) for part in found.group(1, 3))
        if found[2] == "==":
            self._equate(left, right, text)
        elif found[2] == ">=":
            self._say(left - right, text)
        else:
            self._say(right - left, text)

    def _say(self, difference: Size, text: str) -> None:
        if isinstance(difference, SymbolicDim):
            self.least += [tightened(difference), *facts(difference)]
            self.constraints.append((difference, text))
        elif difference < 0:
            raise errors.value_error(f"Unsatisfiable explicit constraint: {text}")

    def _equate(self, left: Size, right: Size, text: str) -> None:
        self._say(left - right, text)
        self._say(right - left, text)
        if not isinstance(left, SymbolicDim) or left == right:
            return
        if len(left.terms) != 1:
            raise errors.value_error(
                f"Invalid equality constraint: {text}",
                why="the left-hand side must be one product: it is replaced by the other"
                " side wherever it occurs.",
            )
        ((monomial, factor),) = left.terms.items()
        self.equal[monomial] = factor, right
        (power, *more) = monomial
        if not more and power[1] == 1 and power[0][0] == "mod" and right == 0:
            whole, part = power[0][1:]
            quotient: Any = whole // part if isinstance(whole, SymbolicDim) else 0
            if isinstance(quotient, SymbolicDim) and isinstance(part, int):
                ((inner, count),) = quotient.terms.items()
                self.equal[inner] = count * part, whole

    def __repr__(self) -> str:
        said = "".join(f"\n  {text}" for text in self.texts)
        return f"{id(self)}{self.place}" + (f" with constraints:{said}" if said else "")

    __str__ = __repr__


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Size, ...]:
    """A shape with sizes that are not known yet, of its text.

    Args:
      shape_spec: such as "b, 2*n + 1, _, ...": sums of products of names, numbers, powers
        `n^2`, `floordiv(m, n)`, `mod(m, n)`, `max(m, n)`, `min(m, n)`.  '_' is the size
        that `like` has there, '...' all that are left.  None: '...'.
      constraints: what is known of the names: "b >= 2", "mod(n, 8) == 0", "n <= 4*b".
      scope: names of one scope are the same; default: a new one, with the constraints.
      like: a shape.

    Returns:
      A tuple of ints and dimensions.  Each name stands for at least 1.

    Raises:
      ValueError: it is no such text.

    Example:
      >>> a, b = symbolic_shape("a, 2*a + 1")
      >>> a * b, b - a
      (2*a^2 + a, a + 1)
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise errors.value_error(
            "Cannot specify both a `scope` and `constraints`.",
            tries=["SymbolicScope(constraints)"],
        )
    text = "..." if shape_spec is None else shape_spec
    if not isinstance(text, str):
        raise errors.value_error(
            f"polymorphic shape spec should be None or a string. Found {text}.",
            tries=['a text such as "batch, 3"'],
        )
    known = None if like is None else tuple(like)
    return _Parser(text, scope, known, shape_spec).shape()
