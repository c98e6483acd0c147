"""Checkpoint policies: which results may be stored for the backward pass.

A policy is `policy(prim, *avals, **params)`; it returns a bool, or `Saveable`,
`Recompute` or `Offloadable(src, dst)`.  The functions below return policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...base import errors
from ...ir.core import Primitive
from ...types.avals import HOST_KINDS
from .remat import Answer, Offloadable, Policy, Recompute, Saveable, name_p, stored


def everything_saveable(*_: Any, **__: Any) -> bool:
    """A policy that stores every result, as without `checkpoint`.

    Returns:
      True, for every operation.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> from minijax import ad_checkpoint
      >>> f = lambda x: jnp.sin(ad_checkpoint.checkpoint_name(jnp.sin(x), 'hidden'))
      >>> policy = everything_saveable
      >>> ad_checkpoint.print_saved_residuals(mj.checkpoint(f, policy=policy), 1.)
      f32[] output of cos from ...
      f32[] output of cos from ...
    """
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """A policy that stores no result: all are recomputed from the inputs.

    Returns:
      False, for every operation.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> from minijax import ad_checkpoint
      >>> f = lambda x: jnp.sin(ad_checkpoint.checkpoint_name(jnp.sin(x), 'hidden'))
      >>> policy = nothing_saveable
      >>> ad_checkpoint.print_saved_residuals(mj.checkpoint(f, policy=policy), 1.)
      f32[] from the argument x
    """
    return False


@dataclass(frozen=True)
class DotsSaveable:
    """A policy that stores the results of matrix products.

    `dots_saveable` also stores products with batch dimensions and convolutions;
    `dots_with_no_batch_dims_saveable` only products without batch dimensions.

    Args:
      prim: the primitive of the operation.
      args: the types of its operands.
      params: its parameters.

    Returns:
      A bool: whether its results are stored.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> from minijax import ad_checkpoint
      >>> f = mj.checkpoint(lambda w: jnp.sin(w @ w).sum(), policy=dots_saveable)
      >>> ad_checkpoint.print_saved_residuals(f, jnp.eye(2))
      f32[2,2] from the argument w
      f32[2,2] output of dot_general from ...
    """

    only_if_no_batch_dims: bool

    def __call__(self, prim: Primitive, *args: Any, **params: Any) -> bool:
        if not self.only_if_no_batch_dims:
            return prim.name in ("dot_general", "conv_general_dilated", "ragged_dot_general")
        if prim.name != "dot_general":
            return False
        _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
        return not lhs_batch and not rhs_batch


dots_saveable = checkpoint_dots = DotsSaveable(False)
dots_with_no_batch_dims_saveable = checkpoint_dots_with_no_batch_dims = DotsSaveable(True)


@dataclass(frozen=True)
class SaveAnyNamesButThese:
    """Store all named values except these."""

    names: frozenset[str]

    def __call__(self, prim: Primitive, *args: Any, **params: Any) -> bool:
        return prim is name_p and params["name"] not in self.names


@dataclass(frozen=True)
class SaveOnlyTheseNames:
    """Store these named values only."""

    saveable_names: frozenset[str]

    def __call__(self, prim: Primitive, *args: Any, **params: Any) -> bool:
        return prim is name_p and params["name"] in self.saveable_names


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Store all named values except these.

    Args:
      names_not_to_save: strings, as passed to `checkpoint_name`.

    Returns:
      A policy: `policy(prim, *avals, **params)`, which returns a bool.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> from minijax import ad_checkpoint
      >>> f = lambda x: jnp.sin(ad_checkpoint.checkpoint_name(jnp.sin(x), 'hidden'))
      >>> policy = save_any_names_but_these('other')
      >>> ad_checkpoint.print_saved_residuals(mj.checkpoint(f, policy=policy), 1.)
      f32[] from the argument x
      f32[] named 'hidden' from ...
    """
    return SaveAnyNamesButThese(frozenset(names_not_to_save))


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Store these named values only.

    Args:
      names_which_can_be_saved: strings, as passed to `checkpoint_name`.

    Returns:
      A policy: `policy(prim, *avals, **params)`, which returns a bool.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> from minijax import ad_checkpoint
      >>> f = lambda x: jnp.sin(ad_checkpoint.checkpoint_name(jnp.sin(x), 'hidden'))
      >>> policy = save_only_these_names('hidden')
      >>> ad_checkpoint.print_saved_residuals(mj.checkpoint(f, policy=policy), 1.)
      f32[] from the argument x
      f32[] named 'hidden' from ...
    """
    return SaveOnlyTheseNames(frozenset(names_which_can_be_saved))


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Store every result, except values with these names.

    Args:
      names_not_to_save: strings, as passed to `checkpoint_name`.

    Returns:
      A policy: `policy(prim, *avals, **params)`, which returns a bool.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> from minijax import ad_checkpoint
      >>> f = lambda x: jnp.sin(ad_checkpoint.checkpoint_name(jnp.sin(x), 'hidden'))
      >>> policy = save_anything_except_these_names('hidden')
      >>> ad_checkpoint.print_saved_residuals(mj.checkpoint(f, policy=policy), 1.)
      f32[] output of cos from ...
      f32[] output of cos from ...
    """
    excluded = frozenset(names_not_to_save)

    def policy(prim: Primitive, *_: Any, **params: Any) -> bool:
        return not (prim is name_p and params["name"] in excluded)

    return policy


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Store what either policy stores; the first one's answer takes precedence.

    Args:
      policy_1, policy_2: policies.

    Returns:
      A policy that returns a bool or an `Offloadable`.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> from minijax import ad_checkpoint
      >>> f = lambda x: jnp.sin(ad_checkpoint.checkpoint_name(jnp.sin(x), 'hidden'))
      >>> policy = save_from_both_policies(
      ...     dots_saveable, save_only_these_names('hidden'))
      >>> ad_checkpoint.print_saved_residuals(mj.checkpoint(f, policy=policy), 1.)
      f32[] from the argument x
      f32[] named 'hidden' from ...
    """

    def policy(prim: Primitive, *avals: Any, **params: Any) -> bool | Offloadable:
        answer = stored(policy_1(prim, *avals, **params))
        return answer or stored(policy_2(prim, *avals, **params))

    return policy


# ---------------------------------------------------------------- in the host's memory


def _offload(src: str, dst: str) -> Offloadable:
    for kind in (src, dst):
        if kind not in ("device", *HOST_KINDS):
            raise ValueError(
                errors.message(
                    f"checkpoint policy: there is no memory kind {kind!r}.",
                    which=f"offload from {src!r} to {dst!r}",
                    tries=["'device', 'pinned_host' or 'unpinned_host'"],
                )
            )
    return Offloadable(src, dst)


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Store products with weights in another memory.

    Args:
      offload_src: the memory kind where they are computed, 'device'.
      offload_dst: the memory kind where they are stored, such as 'pinned_host'.

    Returns:
      A policy that returns an `Offloadable` or `Recompute`.

    Raises:
      ValueError: a memory kind does not exist.

    >>> import minijax as mj, minijax.numpy as jnp
    >>> policy = offload_dot_with_no_batch_dims('device', 'pinned_host')
    >>> f = mj.checkpoint(lambda w: jnp.sin(w @ w).sum(), policy=policy)
    >>> mj.grad(f)(jnp.eye(2)).shape
    (2, 2)
    """
    offload = _offload(offload_src, offload_dst)

    def policy(prim: Primitive, *avals: Any, **params: Any) -> Answer | Offloadable:
        is_product = dots_with_no_batch_dims_saveable(prim, *avals, **params)
        return offload if is_product else Recompute

    return policy


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Store some named values where they are, and others in another memory.

    Args:
      names_which_can_be_saved: names (see `checkpoint_name`) that stay on the device.
      names_which_can_be_offloaded: names that are stored in `offload_dst`.
      offload_src, offload_dst: memory kinds, such as 'device' and 'pinned_host'.

    Returns:
      A policy that returns `Saveable`, an `Offloadable`, or `Recompute`.

    Raises:
      ValueError: both arguments contain the same name, or a memory kind does not exist.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> from minijax import ad_checkpoint
      >>> f = lambda x: jnp.sin(ad_checkpoint.checkpoint_name(jnp.sin(x), 'a'))
      >>> policy = save_and_offload_only_these_names(
      ...     names_which_can_be_saved=['a'], names_which_can_be_offloaded=['b'],
      ...     offload_src='device', offload_dst='pinned_host')
      >>> ad_checkpoint.print_saved_residuals(mj.checkpoint(f, policy=policy), 1.)
      f32[] from the argument x
      f32[] named 'a' from ...
    """
    saved, offloaded = map(frozenset, (names_which_can_be_saved, names_which_can_be_offloaded))
    if saved & offloaded:
        raise ValueError(
            errors.message(
                "The names should be exclusive and should not intersect in"
                " `names_which_can_be_saved` and `names_which_can_be_offloaded`.",
                which=f"in both: {', '.join(sorted(saved & offloaded))}",
            )
        )
    offload = _offload(offload_src, offload_dst)

    def policy(prim: Primitive, *_: Any, **params: Any) -> Answer | Offloadable:
        if prim is not name_p:
            return Recompute
        if params["name"] in offloaded:
            return offload
        return Saveable if params["name"] in saved else Recompute

    return policy
