"""Parser of symbolic shapes: `symbolic_shape("a, 2*b + 1")`.

    shape     := '(' sizes ')' | sizes        sizes := size (',' size)* [',']
    size      := sum | '_' | '...'            the last two: as in the shape `like`
    sum       := ['-'] product (('+' | '-') product)*
    product   := factor ('*' factor)*         factor := atom ['^' number]
    atom      := name | number | ('floordiv' | 'mod' | 'max' | 'min') '(' sum ',' sum ')'

Next: solver.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..base import errors
from ..base.source import user_source
from ..types.sizes import Size
from .dims import (
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
        self.tokens = [(m.start(1), m[1]) for m in _TOKENS.finditer(text)]
        self.at = 0
        self.axis = 0

    @property
    def token(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def problem(self, why: str) -> ValueError:
        end = len(self.text) if not self.token else self.tokens[self.at][0]
        done, left = self.text[:end], self.text[end:]
        return errors.value_error(
            f"syntax error in symbolic shape {self.spec!r} in dimension {self.axis}:"
            f" {why}. Parsed '{done}', remaining '{left}'.",
            tries=['"batch, 2*n + 1, floordiv(m, 2)"'],
        )

    def take(self, *kinds: str) -> str | None:
        token = self.token
        if token in kinds:
            self.at += 1
            return token
        return None

    def expect(self, kind: str) -> None:
        if self.take(kind) is None:
            token_text = repr(self.token) if self.token else "the end"
            raise self.problem(f"expecting {kind!r} but found {token_text}")

    def shape(self) -> tuple[Size, ...]:
        closing = ")" if self.take("(") else ""
        sizes: list[Size] = []
        while self.token != closing:
            if self.take("..."):
                sizes += self._placeholder(None)
                break
            if self.token == "_":
                self.at += 1
                sizes += self._placeholder(1)
            else:
                sizes.append(self._checked(self.sum()))
            if self.token != closing:
                self.expect(",")
            self.axis += 1
        if closing:
            self.expect(closing)
        if self.token:
            raise self.problem(f"expecting the end but found {self.token!r}")
        return tuple(sizes)

    def _placeholder(self, count: int | None) -> Sequence[Size]:
        """Return the sizes that '_' or '...' stand for."""
        if self.like is None:
            self.at -= 1
            raise self.problem("spec contains ... but no 'like' shape was given")
        sizes = self.like[self.axis : None if count is None else self.axis + count]
        if None in sizes or (count and not sizes):
            self.at -= 1
            raise self.problem(
                f"unexpected placeholder for unknown dimension; like={self.like}"
            )
        return sizes

    def _checked(self, size: Size) -> Size:
        like_size = None
        if self.like is not None and self.axis < len(self.like):
            like_size = self.like[self.axis]
        if like_size is not None and isinstance(size, int) and size != like_size:
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
        size = self.factor()
        while self.take("*"):
            size = size * self.factor()
        return size

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
        token = self.token
        if token.isdigit():
            self.at += 1
            return int(token)
        if not token or not (token[0].isalpha() or token[0] == "_"):
            shown = repr(token) if token else "the end"
            raise self.problem(f"expecting one of {{NAME, MINUS, NUMBER}} but found {shown}")
        self.at += 1
        if token in _OPERATIONS and self.take("("):
            x = self.sum()
            self.expect(",")
            y = self.sum()
            self.expect(")")
            return _OPERATIONS[token](x, y)
        dim = SymbolicDim({(((token,), 1),): 1}, self.scope)
        return dim * 1  # multiplying applies the scope's equalities


def parse(text: str, scope: SymbolicScope, spec: str | None) -> Size:
    """Parse the text of a size."""
    parser = _Parser(text, scope, None, spec)
    size = parser.sum()
    if parser.token:
        raise parser.problem(f"expecting the end but found {parser.token!r}")
    return size


class SymbolicScope:
    """A set of symbolic dimensions, and the constraints on them.

    Args:
      constraints_str: texts such as 'a >= 2', 'mod(a, 4) == 0', 'a <= 2*b'.

    Raises:
      ValueError: a constraint has another form.
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise errors.value_error(
                "The symbolic constraints should be a sequence of strings. Got"
                f" {constraints_str!r}"
            )
        self.texts = tuple(constraints_str)
        source = user_source()
        self.created_at = "" if source is None else f" created at {source}"
        self.least: list[Any] = []  # sizes that are at least 0
        self.constraints: list[tuple[Any, str]] = []  # the same, with their texts
        self.equal: dict[
            Any, tuple[int, Size]
        ] = {}  # monomial -> (factor, size): factor * monomial == size
        for text in self.texts:
            self._add(text)

    def _add(self, text: str) -> None:
        match = re.fullmatch(r"(.*?)(==|>=|<=)(.*)", text)
        if match is None:
            raise errors.value_error(
                "Constraint parsing error: must contain one of '==' or '>=' or '<='", which=text
            )
        left, right = (parse(side.strip(), self, text) for side in match.group(1, 3))
        if match[2] == "==":
            self._equate(left, right, text)
        elif match[2] == ">=":
            self._require_nonnegative(left - right, text)
        else:
            self._require_nonnegative(right - left, text)

    def _require_nonnegative(self, difference: Size, text: str) -> None:
        if isinstance(difference, SymbolicDim):
            self.least += [tightened(difference), *facts(difference)]
            self.constraints.append((difference, text))
        elif difference < 0:
            raise errors.value_error(f"Unsatisfiable explicit constraint: {text}")

    def _equate(self, left: Size, right: Size, text: str) -> None:
        self._require_nonnegative(left - right, text)
        self._require_nonnegative(right - left, text)
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
            dividend, divisor = power[0][1:]
            quotient: Any = dividend // divisor if isinstance(dividend, SymbolicDim) else 0
            if isinstance(quotient, SymbolicDim) and isinstance(divisor, int):
                ((inner, count),) = quotient.terms.items()
                self.equal[inner] = count * divisor, dividend

    def __repr__(self) -> str:
        constraints = "".join(f"\n  {text}" for text in self.texts)
        return f"{id(self)}{self.created_at}" + (
            f" with constraints:{constraints}" if constraints else ""
        )

    __str__ = __repr__


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Size, ...]:
    """Parse a shape with symbolic dimensions.

    Args:
      shape_spec: such as "b, 2*n + 1, _, ...": sums of products of names, numbers, powers
        `n^2`, `floordiv(m, n)`, `mod(m, n)`, `max(m, n)`, `min(m, n)`.  '_' is the size of
        this axis in `like`, '...' all remaining ones.  None is the same as '...'.
      constraints: texts such as "b >= 2", "mod(n, 8) == 0", "n <= 4*b".
      scope: equal names in one scope are one dimension; default: a new scope, with the
        constraints.
      like: a shape.

    Returns:
      A tuple of ints and symbolic dimensions.  Each name is at least 1.

    Raises:
      ValueError: the text has another form.

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
    like_shape = None if like is None else tuple(like)
    return _Parser(text, scope, like_shape, shape_spec).shape()
