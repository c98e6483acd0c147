"""Sharding rules: which axes of operands and results are sharded together.

A rule names the axes of each array, as `einsum` does: axes with the same name (a factor)
are sharded in the same way; an axis may consist of several factors, the slowest first.
`rule_of` parses the text of a rule, `SdyShardingRule` holds it as data, and `attribute`
returns Shardy's form of it.

Source: OpenXLA, Shardy: "Sharding rule" of the dialect `sdy`.
Next: custom_partitioning.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...base import errors

BATCHING = "…"
"""As the first entry of a mapping: any number of leading axes."""
_GROUP = re.compile(rf"{BATCHING}\d*")
_TOKENS = re.compile(r"\.\.\.|…|\w+|[()]|\S")
_ELLIPSIS = "Ellipsis can only be used at the beginning of a dimension"
_LETTERS = "ijklmnopqrstuvwxyz"  # the names of factors in the dialect


def _problem(what: str, **details: Any) -> ValueError:
    return errors.value_error(what, **details)


def _name(word: Any, of: str, kinds: str) -> str:
    if not isinstance(word, str):
        raise _problem(f"Each element of {of} must be {kinds}, but got {type(word)}")
    if not word[:1].isalpha() or not word.replace("_", "a").isalnum():
        raise _problem(f"Factor names have to start with a letter, but got '{word[:1]}'")
    return word


class CompoundFactor(tuple[str, ...]):
    """An axis with several factors, the slowest first: `CompoundFactor('b', 'c')`."""

    __slots__ = ()

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise _problem("A compound factor should contain at least two factors")
        kinds = "a str"
        return super().__new__(cls, [_name(f, "CompoundFactor", kinds) for f in factors])


class ArrayMapping(tuple[Any, ...]):
    """The factors of an array's axes: `ArrayMapping(BATCHING, 'i', CompoundFactor(..))`."""

    __slots__ = ()

    def __new__(cls, *dim_mappings: Any) -> ArrayMapping:
        factors: list[Any] = []
        for i, one in enumerate(dim_mappings):
            if isinstance(one, str) and _GROUP.fullmatch(one):
                if i:
                    raise _problem(_ELLIPSIS)
                factors.append(one if one != BATCHING else BATCHING + "0")
            elif isinstance(one, CompoundFactor):
                factors.append(one)
            else:
                factors.append(_name(one, "ArrayMapping", "a str or CompoundFactor"))
        return super().__new__(cls, factors)

    @property
    def group(self) -> str | None:
        """The name of the leading axes, if the mapping starts with an ellipsis."""
        return self[0] if self and self[0][:1] == BATCHING else None


class SdyShardingRule:
    """A sharding rule.

    Args:
      operand_mappings: an `ArrayMapping` for each operand.
      result_mappings: an `ArrayMapping` for each result.
      reduction_factors: factors over which results are summed.
      need_replication_factors: factors along which nothing may be sharded.
      permutation_factors: factors along which shards are exchanged.
      factor_sizes: the sizes of factors that are never an entire axis.

    Raises:
      ValueError: a size is missing or superfluous, or a factor is of two kinds.
    """

    def __init__(
        self,
        operand_mappings: Sequence[ArrayMapping],
        result_mappings: Sequence[ArrayMapping],
        *,
        reduction_factors: Sequence[str] = (),
        need_replication_factors: Sequence[str] = (),
        permutation_factors: Sequence[str] = (),
        **factor_sizes: int,
    ) -> None:
        self.operand_mappings = tuple(operand_mappings)
        self.result_mappings = tuple(result_mappings)
        self.reduction_factors = tuple(reduction_factors)
        self.need_replication_factors = tuple(need_replication_factors)
        self.permutation_factors = tuple(permutation_factors)
        self.factor_sizes = factor_sizes
        self._check()

    def _check(self) -> None:
        full_factors: set[str] = set()
        compound_factors: set[str] = set()
        for mapping in (*self.operand_mappings, *self.result_mappings):
            for one in mapping:
                if isinstance(one, CompoundFactor):
                    compound_factors.update(one)
                else:
                    full_factors.add(one)
        for factor in self.factor_sizes:
            if factor in full_factors:
                raise _problem(
                    f"Factor {factor} represents a whole dimension; do not specify its size"
                )
            if factor not in compound_factors:
                raise _problem(f"Factor {factor} is not used in the rule")
        for factor in sorted(compound_factors - full_factors):
            if factor not in self.factor_sizes:
                raise _problem(
                    f"Factor {factor} is only used in compound factors; must specify its size",
                    tries=[f"{factor}=2, among the keywords"],
                )
        seen = set()
        for kind, factors in self._kinds():
            for factor in factors:
                if factor not in full_factors | compound_factors:
                    raise _problem(f"Factor {factor} in {kind}_factors is not used in the rule")
                if factor in seen:
                    raise _problem(
                        f"Factor {factor} can only be in one of the reduction, need"
                        " replication, or permutation factor sets."
                    )
                seen.add(factor)

    def _kinds(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for kind in ("reduction", "need_replication", "permutation"):
            yield kind, getattr(self, f"{kind}_factors")

    def __repr__(self) -> str:
        fields = f"{self.operand_mappings}, {self.result_mappings}, {self.factor_sizes}"
        kinds = "".join(f" {kind}_factors={f}" for kind, f in self._kinds() if f)
        return f"SdyShardingRule({fields}{kinds})"

    def attribute(
        self, operands: Sequence[Sequence[int]], results: Sequence[Sequence[int]]
    ) -> str:
        """Return the text of the attribute, for operands and results of these shapes.

        Raises:
          ValueError: their number, ranks or sizes do not match the rule.
        """
        factors: dict[str, int] = {}  # in order, with their sizes
        groups: dict[str, int] = {}
        sides = []
        for kind, mappings, shapes in (
            ("operand", self.operand_mappings, operands),
            ("result", self.result_mappings, results),
        ):
            if len(mappings) != len(shapes):
                raise _problem(
                    f"Sharding rule has {len(mappings)} {kind}s, but the operation has"
                    f" {len(shapes)} {kind}s"
                )
            sides.append(
                [
                    self._axes(f"{i}th {kind}", m, shape, groups, factors)
                    for i, (m, shape) in enumerate(zip(mappings, shapes, strict=True))
                ]
            )
        short = {}
        for n, factor in enumerate(factors):
            k = len(_LETTERS)
            short[factor] = _LETTERS[n] if n < k else f"z_{n - k + 1}"
        texts = [
            ", ".join(
                "[" + ", ".join("".join(short[f] for f in axis) for axis in axes) + "]"
                for axes in side
            )
            for side in sides
        ]
        sizes = ", ".join(f"{short[f]}={size}" for f, size in factors.items())
        kinds = "".join(
            f" {kind}={{{', '.join(short[f] for f in names)}}}"
            for kind, names in self._kinds()
            if names
        )
        rule = f"({texts[0]})->({texts[1]}) {{{sizes}}}{kinds}"
        return f"#sdy.op_sharding_rule<{rule}, custom>"

    def _axes(
        self,
        which: str,
        mapping: ArrayMapping,
        shape: Sequence[int],
        groups: dict[str, int],
        factors: dict[str, int],
    ) -> list[tuple[str, ...]]:
        """Return the factors of each axis of one array."""
        entries = list(mapping)
        if mapping.group is not None:
            n = len(shape) - len(entries) + 1
            known = groups.setdefault(mapping.group, n)
            if n != known and n >= 0:
                raise _problem(
                    "Ellipsis represents different number of leading dimensions"
                    f" {known} and {n}"
                )
            entries[:1] = [f"{mapping.group} {k}" for k in range(n)]
        if len(entries) != len(shape):
            raise _problem(
                f"Sharding rule {which} has rank {len(mapping)}, but the operation"
                f" {which} has rank {len(shape)}"
            )
        axes = []
        for i, (entry, size) in enumerate(zip(entries, shape, strict=True)):
            axis = (entry,) if isinstance(entry, str) else tuple(entry)
            inner = 1
            for factor in axis:
                known = self.factor_sizes.get(factor, size)
                if len(axis) > 1 and factor not in self.factor_sizes:
                    known = factors.get(factor, 0)
                factors[factor] = known = factors.get(factor) or known
                inner *= known
            # The size of a compound's full factor may become known with a later array.
            if inner and inner != size and 1 not in (inner, size):
                raise _problem(
                    f"Sharding rule {which} mapping: axis {i} has size {size}, its factors"
                    f" {' '.join(axis)} have {inner}"
                )
            axes.append(axis)
        return axes


def _mapping(text: str, rule: str) -> ArrayMapping:
    """Parse a mapping such as `... i (j k)`."""
    factors: list[Any] = []
    inside: list[str] | None = None
    for token in _TOKENS.findall(text):
        if token == "(" and inside is None:
            inside = []
        elif token == ")" and inside is not None:
            if len(inside) < 2:
                raise _problem("Brackets should contain at least two factors", which=rule)
            factors.append(CompoundFactor(*inside))
            inside = None
        elif token in ("(", ")"):
            raise _problem(f"Brackets are not balanced in rule: '{rule}'")
        elif token in ("...", BATCHING):
            if factors or inside is not None:
                raise _problem(_ELLIPSIS)
            factors.append(BATCHING)
        else:
            (factors if inside is None else inside).append(token)
    if inside is not None:
        raise _problem(f"Brackets are not balanced in rule: '{rule}'")
    return ArrayMapping(*factors)


def rule_of(text: str, **options: Any) -> SdyShardingRule:
    """Parse a rule: `'... i k, k j -> ... i j'`."""
    sides = text.split("->")
    if len(sides) != 2:
        raise _problem(f"There is no -> in rule: '{text}'")
    both = [tuple(_mapping(t, text) for t in side.split(",")) for side in sides]
    return SdyShardingRule(*both, **options)
