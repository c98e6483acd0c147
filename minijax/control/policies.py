"""Checkpoint policies: which results may be stored for the backward pass.

A policy is `policy(prim, *avals, **params) -> bool`; the makers below return one.
"""

from __future__ import annotations

from typing import Any

from ..core.core import Primitive
from .remat import Policy, name_p


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Store every result, as without `checkpoint`."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Store no result: recompute everything from the inputs."""
    return False


def dots_saveable(prim: Primitive, *_: Any, **__: Any) -> bool:
    """Store the results of matrix products and convolutions."""
    return prim.name in ("dot_general", "conv_general_dilated", "ragged_dot_general")


def dots_with_no_batch_dims_saveable(prim: Primitive, *_: Any, **params: Any) -> bool:
    """Store the results of matrix products without batch dimensions (weights)."""
    if prim.name != "dot_general":
        return False
    _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
    return not lhs_batch and not rhs_batch


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


def save_any_names_but_these(*names: str) -> Policy:
    """Store named values, but for these."""
    excluded = frozenset(names)

    def policy(prim: Primitive, *_: Any, **params: Any) -> bool:
        return prim is name_p and params["name"] not in excluded

    return policy


def save_only_these_names(*names: str) -> Policy:
    """Store these named values only."""
    chosen = frozenset(names)

    def policy(prim: Primitive, *_: Any, **params: Any) -> bool:
        return prim is name_p and params["name"] in chosen

    return policy


def save_anything_except_these_names(*names: str) -> Policy:
    """Store every result, but for values with these names."""
    excluded = frozenset(names)

    def policy(prim: Primitive, *_: Any, **params: Any) -> bool:
        return not (prim is name_p and params["name"] in excluded)

    return policy


def save_from_both_policies(first: Policy, second: Policy) -> Policy:
    """Store what either policy stores."""

    def policy(prim: Primitive, *avals: Any, **params: Any) -> bool:
        return bool(first(prim, *avals, **params) or second(prim, *avals, **params))

    return policy
