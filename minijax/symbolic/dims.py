"""Symbolic dimensions: sizes that are unknown while a program is traced.

A `SymbolicDim` is an integer in a shape: a sum of products of named dimensions, of
quotients and remainders, and of maxima and minima.  Each named dimension is at least 1.
Equality is decided by a normal form.  Inequalities are proved from bounds of the operands
and from the constraints of the scope (parser.py); a comparison without a proof is an error.

Next: parser.py; solver.py; runtime/lowering/symbolic_sizes.py, which computes the values.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ..base import errors, util
from ..base.errors import InconclusiveDimensionOperation, UnexpectedDimVar
from ..ir import hooks
from ..types.sizes import Size

if TYPE_CHECKING:
    from ..types.aliases import DType, Value
    from .parser import SymbolicScope

__all__ = (
    "SymbolicDim",
    "InconclusiveDimensionOperation",
    "broadcast_sizes",
    "divided",
    "exceeds",
    "facts",
    "falls_below",
    "is_negative",
    "inconclusive",
    "is_symbolic_dim",
    "max_dim",
    "min_dim",
    "tightened",
    "unexpected",
    "dimension_variables",
)

# A factor is (name,) of a named dimension, or (operation, x, y).  A monomial is a tuple of
# pairs (factor, power); the monomial of a constant is empty.
Factor = tuple[Any, ...]
Monomial = tuple[tuple[Factor, int], ...]
Terms = dict[Monomial, int]

_INFINITE = math.inf


class SymbolicDim:
    """A symbolic dimension, created by `symbolic_shape` and by arithmetic on others.

    >>> from minijax import export
    >>> n, = export.symbolic_shape('n')
    >>> 2 * n + n - 1, n - n == 0
    (3*n - 1, True)
    """

    __slots__ = ("_hash", "key", "scope", "terms")
    # NumPy's operators then return NotImplemented, and the reflected ones here apply.
    __array_priority__ = 1000

    def __init__(self, terms: Terms, scope: SymbolicScope) -> None:
        self.terms = terms
        self.scope = scope
        # The leading term comes first, as polynomial division in `divided` needs it.
        self.key = tuple(sorted(terms.items(), key=_term_order, reverse=True))
        # `self.scope` keeps the scope alive, so that its id is not reused.
        self._hash = hash((self.key, id(scope)))

    # ---- arithmetic
    def __add__(self, other: Value) -> Value:
        return _apply(self, other, operator.add, _add)

    def __radd__(self, other: Value) -> Value:
        return _apply(self, other, lambda x, y: y + x, _add)

    def __sub__(self, other: Value) -> Value:
        return _apply(self, other, operator.sub, lambda x, y: _add(x, _scale(y, -1)))

    def __rsub__(self, other: Value) -> Value:
        return _apply(self, other, lambda x, y: y - x, lambda x, y: _add(y, _scale(x, -1)))

    def __mul__(self, other: Value) -> Value:
        return _apply(self, other, operator.mul, _multiplied)

    def __rmul__(self, other: Value) -> Value:
        return _apply(self, other, lambda x, y: y * x, _multiplied)

    def __neg__(self) -> Size:
        return self * -1

    def __floordiv__(self, other: Value) -> Value:
        return _apply(self, other, operator.floordiv, lambda x, y: divided(x, y)[0])

    def __rfloordiv__(self, other: Value) -> Value:
        return _apply(self, other, lambda x, y: y // x, lambda x, y: divided(y, x)[0])

    def __mod__(self, other: Value) -> Value:
        return _apply(self, other, operator.mod, lambda x, y: divided(x, y)[1])

    def __rmod__(self, other: Value) -> Value:
        return _apply(self, other, lambda x, y: y % x, lambda x, y: divided(y, x)[1])

    def __divmod__(self, other: Value) -> tuple[Value, Value]:
        return _apply(self, other, divmod, divided)  # type: ignore[no-any-return]

    def __rdivmod__(self, other: Value) -> tuple[Value, Value]:
        return _apply(  # type: ignore[no-any-return]
            self, other, lambda x, y: divmod(y, x), lambda x, y: divided(y, x)
        )

    def __truediv__(self, other: Value) -> Value:
        return self._value() / other

    def __rtruediv__(self, other: Value) -> Value:
        return other / self._value()

    def __pow__(self, power: Value, modulo: None = None) -> Value:
        if not isinstance(power, int):
            return self._value() ** power
        if power < 0:
            raise errors.value_error(
                f"Symbolic dimension cannot be raised to negative powers: '{self}' ** '{power}'"
            )
        out: Any = 1
        for _ in range(power):
            out = out * self
        return out

    def __rpow__(self, other: Value) -> Value:
        return other ** self._value()

    # ---- comparison
    def __eq__(self, other: object) -> bool:
        """Whether they are equal for all values of the named dimensions."""
        if not isinstance(other, SymbolicDim):
            return False
        return self is other or (self.scope is other.scope and self.key == other.key)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._hash

    def __ge__(self, other: Value) -> Value:
        return _compared(self, other, ">=", self - other if _is_size(other) else None)

    def __gt__(self, other: Value) -> Value:
        return _compared(self, other, ">", self - other - 1 if _is_size(other) else None)

    def __le__(self, other: Value) -> Value:
        return _compared(self, other, "<=", other - self if _is_size(other) else None)

    def __lt__(self, other: Value) -> Value:
        return _compared(self, other, "<", other - self - 1 if _is_size(other) else None)

    # ---- use as a value
    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(
            errors.message(
                f"Symbolic dimension '{self}' used in a context that requires a constant",
                why="its value is known only when the program is called.",
                tries=["export for a shape with a constant here", "jnp.asarray(size)"],
            )
        )

    def of_dtype(self, dtype: DType) -> Value:
        """Return the value as an integer or float of the program, of exactly this dtype."""
        return self._value().astype(dtype)

    def _value(self) -> Value:
        return hooks.dimension_value.call(self)

    def __jax_array__(self) -> Value:
        return self._value()

    def dimension_as_value(self) -> Value:
        """Return it as an integer of a program."""
        return self._value()

    def __repr__(self) -> str:
        return _sum_text(self.key)

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"the dimension '{self}' cannot be pickled: its scope is in this process."
        )

    def __copy__(self) -> SymbolicDim:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SymbolicDim:
        return self

    # ---- attributes that libraries read
    @property
    def _sorted_terms(self) -> tuple[tuple[Term, int], ...]:
        """The terms of the sum with their integer coefficients; a constant is last."""
        return tuple((Term(monomial), count) for monomial, count in self.key)

    def get_vars(self) -> set[str]:
        """Return the names of its dimension variables."""
        return set(dimension_variables((self,)))

    # ---- evaluation
    def evaluated(self, values: Mapping[str, Any], ops: Any = None) -> Any:
        """Return its value for values of the names; `ops` does the arithmetic."""
        ops = ops or _Integers
        total = None
        for monomial, count in self.key:
            product = None
            for factor, power in monomial:
                value = _factor_value(factor, values, ops)
                for _ in range(power):
                    product = value if product is None else ops.mul(product, value)
            if product is None:
                product = ops.const(count)
            elif count != 1:
                product = ops.mul(product, ops.const(count))
            total = product if total is None else ops.add(total, product)
        return total


class FactorView(NamedTuple):
    """A factor of a term: a name, or an operation."""

    var: str | None
    operation: str | None
    operands: tuple[Size, ...]


class Term:
    """A product of powers of names and operations: one term of a dimension."""

    __slots__ = ("_factors", "_text")

    def __init__(self, monomial: Monomial) -> None:
        self._text = _product_text(monomial)
        self._factors = tuple(
            (FactorView(f[0], None, ()) if len(f) == 1 else FactorView(None, f[0], f[1:]), p)
            for f, p in _sorted(monomial)
        )

    @property
    def is_constant(self) -> bool:
        """Whether it has no factors: its coefficient is the constant of the sum."""
        return not self._factors

    def __repr__(self) -> str:
        return self._text


class _Integers:
    """Arithmetic on numbers and symbolic dimensions."""

    const = staticmethod(lambda n: n)
    add = operator.add
    mul = operator.mul
    floordiv = staticmethod(lambda x, y: divided(x, y)[0])
    mod = staticmethod(lambda x, y: divided(x, y)[1])
    max = staticmethod(lambda x, y: max_dim(x, y))
    min = staticmethod(lambda x, y: min_dim(x, y))


def _factor_value(factor: Factor, dim_values: Mapping[str, Any], ops: Any) -> Any:
    if len(factor) == 1:
        if factor[0] not in dim_values:
            raise unexpected(factor[0], dim_values)
        return dim_values[factor[0]]
    op, *args = factor
    operands = [
        x.evaluated(dim_values, ops) if isinstance(x, SymbolicDim) else ops.const(x)
        for x in args
    ]
    return getattr(ops, op)(*operands)


def unexpected(name: str, known: Iterable[str]) -> UnexpectedDimVar:
    """Return the error for a dimension that no argument determines."""
    return UnexpectedDimVar(
        errors.message(
            f"Encountered dimension variable '{name}' that is not appearing in the shapes"
            " of the function arguments.",
            which=f"dimension variables of the arguments: {sorted(known)}",
            why="the shapes of the arguments determine the values of symbolic dimensions.",
            tries=["export a function of an array that has this dimension"],
        )
    )


# ------------------------------------------------------------------------ normal form


def _is_size(x: Any) -> bool:
    return isinstance(x, SymbolicDim) or (
        hasattr(type(x), "__index__") and not hasattr(x, "aval") and not _is_array(x)
    )


def _is_array(x: Any) -> bool:
    return getattr(x, "ndim", 0) != 0 or hasattr(x, "weak_type")


def _concrete_index(x: Any) -> int | None:
    """Return the number in an array that is not traced, if it is an integer."""
    try:
        return operator.index(x)
    except TypeError:
        return None


def _apply(
    x: SymbolicDim, y: Any, arrays: Callable[..., Any], sizes: Callable[..., Any]
) -> Any:
    """Apply an operation to a dimension and a size, or to the values of other operands."""
    if not _is_size(y):
        if getattr(y, "shape", None) == () and (number := _concrete_index(y)) is not None:
            return sizes(x, number)
        return arrays(x._value(), y)
    return sizes(x, y if isinstance(y, SymbolicDim) else operator.index(y))


def _scope_of(*sizes: Size) -> Any:
    scopes = {id(d.scope): d.scope for d in sizes if isinstance(d, SymbolicDim)}
    if len(scopes) > 1:
        raise errors.value_error(
            "Invalid mixing of symbolic scopes for linear combination.",
            which=", ".join(str(d) for d in sizes),
            why="a name denotes different dimensions in different scopes.",
            tries=["symbolic_shape(..., scope=scope), with one SymbolicScope for all"],
        )
    return next(iter(scopes.values()))


def _terms(x: Size) -> Terms:
    if isinstance(x, SymbolicDim):
        return x.terms
    return {(): x} if x else {}


def _normalized(terms: Terms, scope: Any) -> Size:
    """Return the size with these terms, after applying the equalities of the scope."""
    for monomial, (per, right) in scope.equal.items():
        for inside in list(terms):
            rest = _divide_monomial(inside, monomial)
            if rest is None or terms[inside] % per:
                continue
            count = terms.pop(inside) // per
            more = _terms(_multiplied(_normalized({rest: count}, scope), right))
            for m, c in more.items():
                terms[m] = terms.get(m, 0) + c
    terms = {m: c for m, c in terms.items() if c}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return SymbolicDim(terms, scope)


def _divide_monomial(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """Divide a monomial by another; None if it is not a multiple."""
    powers = dict(monomial)
    for factor, power in divisor:
        remaining = powers.get(factor, 0) - power
        if remaining < 0:
            return None
        powers[factor] = remaining
    return tuple((f, p) for f, p in powers.items() if p)


def _add(x: Size, y: Size) -> Size:
    terms = dict(_terms(x))
    for m, c in _terms(y).items():
        terms[m] = terms.get(m, 0) + c
    if not isinstance(x, SymbolicDim) and not isinstance(y, SymbolicDim):
        return x + y
    return _normalized(terms, _scope_of(x, y))


def _scale(x: Size, n: int) -> Size:
    if not isinstance(x, SymbolicDim):
        return x * n
    return _normalized({m: c * n for m, c in x.terms.items()}, x.scope)


def _multiplied(x: Size, y: Size) -> Size:
    if not isinstance(y, SymbolicDim):
        return _scale(x, y)
    if not isinstance(x, SymbolicDim):
        return _scale(y, x)
    terms: Terms = {}
    for m, a in x.terms.items():
        for n, b in y.terms.items():
            powers: dict[Factor, int] = dict(m)
            for factor, p in n:
                powers[factor] = powers.get(factor, 0) + p
            product = tuple(sorted(powers.items(), key=_factor_order))
            terms[product] = terms.get(product, 0) + a * b
    return _normalized(terms, _scope_of(x, y))


def _operation(op: str, x: Size, y: Size) -> Size:
    return _normalized({(((op, x, y), 1),): 1}, _scope_of(x, y))


def divided(x: Size, y: Size) -> tuple[Size, Size]:
    """Return quotient and remainder, rounded down."""
    if not isinstance(x, SymbolicDim) and not isinstance(y, SymbolicDim):
        return divmod(x, y)
    if isinstance(y, int) and y == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    quotient: Size = 0
    remainder = x
    if isinstance(y, int):
        terms = {m: c // y for m, c in _terms(x).items() if m and c % y == 0}
        if all(c % y == 0 for m, c in _terms(x).items() if m):
            exact_quotient = _normalized(terms, _scope_of(x))
            above, rest = divmod(_terms(x).get((), 0), y)
            return exact_quotient + above, rest
    else:
        (leading, per), *_ = y.key
        while isinstance(remainder, SymbolicDim):
            (top, count), *_ = remainder.key
            rest_of = _divide_monomial(top, leading)
            if rest_of is None or count % per:
                break
            term = _normalized({_sorted(rest_of): count // per}, y.scope)
            quotient, remainder = quotient + term, remainder - term * y
        if remainder == 0:
            return quotient, 0
    return _operation("floordiv", x, y), _operation("mod", x, y)


def _sorted(monomial: Monomial) -> Monomial:
    return tuple(sorted(monomial, key=_factor_order))


def max_dim(d1: Size, d2: Size) -> Size:
    """Return the greater of two sizes, symbolic or not."""
    return _max_or_min(d1, d2, "max")


def min_dim(d1: Size, d2: Size) -> Size:
    """Return the lesser of two sizes, symbolic or not."""
    return _max_or_min(d1, d2, "min")


def _max_or_min(x: Size, y: Size, op: str) -> Size:
    if not isinstance(x, SymbolicDim) and not isinstance(y, SymbolicDim):
        return max(x, y) if op == "max" else min(x, y)
    greater = _sign(x - y)
    if greater is None:
        if not _proved(y - x, 3):
            return _operation(op, x, y)
        greater = False
    return x if greater == (op == "max") else y


# --------------------------------------------------------------------------- decisions


def _sign(x: Size) -> bool | None:
    """Whether a size is at least 0; None if neither can be proved."""
    if not isinstance(x, SymbolicDim):
        return bool(x >= 0)
    # The search grows exponentially with its depth, hence the small bound.
    if _proved(x, 3):
        return True
    return False if _proved(-x - 1, 3) else None


def _proved(x: Size, depth: int) -> bool:
    """Whether a size is proved to be at least 0."""
    if not isinstance(x, SymbolicDim):
        return bool(x >= 0)
    if _bounds(x)[0] >= 0:
        return True
    if depth == 0:
        return False
    if (cases := _cases(x)) and all([_proved(case, depth - 1) for case in cases]):
        return True
    for fact in (*x.scope.least, *facts(x)):
        for monomial, count in fact.terms.items():
            have = x.terms.get(monomial, 0)
            if not monomial or not have * count > 0:
                continue
            # A multiple of x is a multiple of the fact, which is at least 0, and the rest.
            if _proved(_scale(x, abs(count)) - _scale(fact, abs(have)), depth - 1):
                return True
    return False


def _cases(x: SymbolicDim) -> list[Size] | None:
    """Return two sizes whose lesser is `x`, or None.

    A maximum that is subtracted, or a minimum that is added, is replaced by each of its
    arguments; None if `x` has neither.
    """
    for monomial, count in x.terms.items():
        if len(monomial) != 1 or monomial[0][1] != 1 or len(monomial[0][0]) == 1:
            continue
        op, *args = monomial[0][0]
        if op == ("max" if count < 0 else "min"):
            rest = _normalized({m: c for m, c in x.terms.items() if m != monomial}, x.scope)
            return [_add(rest, _scale(a, count)) for a in args]
    return None


def _factors(x: Any) -> Iterator[Factor]:
    for monomial in x.terms:
        for factor, _ in monomial:
            yield factor
            for inner in factor[1:]:
                if isinstance(inner, SymbolicDim):
                    yield from _factors(inner)


def tightened(x: Size) -> Size:
    """Return the least size that is nonnegative where `x` is: 2*a - 5 becomes a - 3."""
    if not isinstance(x, SymbolicDim):
        return x
    per = math.gcd(*(c for m, c in x.terms.items() if m))
    return _normalized({m: c // per for m, c in x.terms.items()}, x.scope)


def facts(x: SymbolicDim) -> list[Any]:
    """Return sizes that are at least 0 by the meaning of the operations in `x`."""
    nonnegative = []
    for factor in _factors(x):
        if len(factor) == 1:
            continue
        op, a, b = factor
        operation = _normalized({((factor, 1),): 1}, x.scope)
        if op == "max":
            nonnegative += [operation - a, operation - b]
        elif op == "min":
            nonnegative += [a - operation, b - operation]
        elif op == "floordiv" and _bounds(b)[0] >= 1:
            nonnegative += [a - b * operation, b * operation + b - 1 - a]
        elif op == "mod" and _bounds(b)[0] >= 1:
            nonnegative += [b - 1 - operation, *([a - operation] if _bounds(a)[0] >= 0 else [])]
    return [tightened(f) for f in nonnegative if isinstance(f, SymbolicDim)]


def _bounds(x: Size) -> tuple[float, float]:
    """Return lower and upper bounds of a size, from those of its factors."""
    if not isinstance(x, SymbolicDim):
        return x, x
    low, high = 0.0, 0.0
    for monomial, count in x.terms.items():
        a, b = 1.0, 1.0
        for factor, power in monomial:
            c, d = _factor_bounds(factor)
            for _ in range(power):
                ends = [_product(p, q) for p in (a, b) for q in (c, d)]
                a, b = min(ends), max(ends)
        ends = [_product(count, a), _product(count, b)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _product(x: float, y: float) -> float:
    return 0.0 if 0 in (x, y) else x * y


@util.cached(1024)
def _factor_bounds(factor: Factor) -> tuple[float, float]:
    if len(factor) == 1:
        return 1, _INFINITE
    op, x, y = factor
    (a, b), (c, d) = _bounds(x), _bounds(y)
    if op == "max":
        return max(a, c), max(b, d)
    if op == "min":
        return min(a, c), min(b, d)
    if c < 1:
        return -_INFINITE, _INFINITE
    if op == "mod":
        return 0, min(d - 1, b) if a >= 0 else d - 1
    ends = [_quotient(p, q) for p in (a, b) for q in (c, d)]
    return min(ends), max(ends)


def _quotient(x: float, y: float) -> float:
    if math.isinf(x):
        return x
    if math.isinf(y):
        return 0 if x >= 0 else -1
    return x // y


def _compared(x: Any, y: Any, sign: str, difference: Any) -> Any:
    """Return the result of a comparison: whether a difference is at least 0."""
    if difference is None:
        ops = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
        return ops[sign](x._value(), y)
    holds = _sign(difference)
    if holds is None:
        bound = y + {"<": -1, ">": 1}.get(sign, 0)  # constraints are not strict
        raise inconclusive(
            f"Symbolic dimension comparison '{x}' {sign} '{y}' is inconclusive.",
            f"constraints=['{x} {sign[0]}= {bound}'] of symbolic_shape",
        )
    return holds


def inconclusive(what: str, attempt: str) -> InconclusiveDimensionOperation:
    """Return the error for a comparison without one answer for all sizes."""
    return InconclusiveDimensionOperation(
        errors.message(
            what,
            why="it holds for some values of the symbolic dimensions, but not for others.",
            tries=[attempt, "export for other shapes"],
        )
    )


# -------------------------------------------------------------------------------- text


def _factor_text(factor: Factor) -> str:
    if len(factor) == 1:
        return str(factor[0])
    return f"{factor[0]}({factor[1]}, {factor[2]})"


def _factor_order(pair: tuple[Factor, int]) -> Any:
    factor, power = pair
    return len(factor), _factor_text(factor), power


def _term_order(term: tuple[Monomial, int]) -> Any:
    monomial = term[0]
    degree = sum(p for _, p in monomial)
    return degree, len(monomial), [_factor_order(pair) for pair in monomial]


def _product_text(monomial: Monomial) -> str:
    return "*".join(_factor_text(f) + (f"^{p}" if p > 1 else "") for f, p in _sorted(monomial))


def _sum_text(key: Sequence[tuple[Monomial, int]]) -> str:
    text = ""
    for monomial, count in key:
        product, size = _product_text(monomial), abs(count)
        if size != 1 or not product:
            product = f"{size}*{product}" if product else str(size)
        body = product
        sign = "-" if count < 0 else "+"
        text += f" {sign} {body}" if text else f"- {body}" if count < 0 else body
    return text


def is_symbolic_dim(p: object) -> bool:
    """Whether a size is a symbolic dimension.

    Args:
      p: an element of a shape.

    Returns:
      False for integers.

    Example:
      >>> from minijax import export
      >>> size, = export.symbolic_shape("2*a")
      >>> is_symbolic_dim(size), is_symbolic_dim(2)
      (True, False)
    """
    return isinstance(p, SymbolicDim)


def broadcast_sizes(*shapes: Sequence[Size]) -> tuple[Size, ...]:
    """Broadcast shapes as NumPy does; ShapeError if they do not match."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as e:
        raise errors.ShapeError(str(e)) from None
    except TypeError:  # some are symbolic
        out = []
        rank = max(map(len, shapes))
        for i in range(-rank, 0):
            wide = {s[i] for s in shapes if len(s) >= -i and s[i] != 1}
            if len(wide) > 1:
                raise errors.ShapeError("shape mismatch") from None
            out.append(wide.pop() if wide else 1)
        return tuple(out)


def exceeds(size: Size, limit: int) -> bool:
    """Whether a size is above a limit of the machine; symbolic ones are not."""
    return not isinstance(size, SymbolicDim) and bool(size > limit)


def falls_below(size: Size, least: int) -> bool:
    """Whether a size is proved to be below a number."""
    return _sign(size - least) is False


def is_negative(sizes: Sequence[Size]) -> bool:
    """Whether any size is below 0."""
    try:
        return bool(sizes) and bool(min(sizes) < 0)
    except InconclusiveDimensionOperation:
        return any(n < 0 for n in sizes)


def dimension_variables(shape: Sequence[Size]) -> list[str]:
    """Return the names in a shape, in the order in which they occur."""
    names: dict[str, None] = {}
    for d in shape:
        if isinstance(d, SymbolicDim):
            names.update({f[0]: None for f in _factors(d) if len(f) == 1})
    return list(names)
