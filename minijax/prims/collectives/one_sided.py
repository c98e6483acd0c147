"""One-sided communication: psend returns a token, and precv takes it.

Sending and receiving are separate operations, unlike ppermute; only GPUs support this.
The received value varies between devices.  Read permute.py first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base import errors, tree
from ...ir import core
from ...ir.core import ByPlatform, Primitive, unsupported
from ...ir.sharding_rules import manual_axes
from ...runtime.arrays.tokens import is_token
from ...types.avals import abstract_token, shaped
from . import named_axes
from .named_axes import axis_tuple
from .pcast import pcast_to_varying, typed
from .permute import Pairs, check_pairs, pairs_of

__all__ = ("precv", "psend")


class OneSided:
    """The effect of one side of a communication, which keeps it if its result is unused."""

    __slots__ = ()
    name, ordered, once = "one-sided communication", False, True
    runs = False  # the program's own tokens order it; it needs no runtime token

    def __repr__(self) -> str:
        return self.name


_EFFECTS = frozenset((OneSided(),))


def _one_sided_primitive(name: str) -> Primitive:
    prim = Primitive(name)
    prim.effects = lambda params: _EFFECTS
    prim.named_axes = named_axes.uses("axis_name")
    prim.jvp = prim.transpose = unsupported(
        f"Differentiation rule for '{name}' not implemented: the receiver is not the sender."
        "\nTry: lax.ppermute"
    )
    prim.batch = unsupported(
        f"Batching rule for '{name}' not implemented: a token has no lanes.\nTry: lax.ppermute"
    )
    return prim


def _lower_unsupported(ctx: Any, *args: Any, **params: Any) -> Any:
    raise errors.error(
        NotImplementedError,
        f"{'psend' if 'out_shape' not in params else 'precv'} is currently only implemented"
        " on GPU",
        why="XLA has no such operation for other platforms.",
        tries=["lax.ppermute"],
    )


def _pairs(ctx: Any, name: str, axis_name: Any, perm: Pairs) -> dict[str, Any]:
    if not ctx.module.is_partitioned:
        raise errors.error(
            NotImplementedError,
            f"{name} currently only supports manual sharding",
            tries=["shard_map instead of pmap"],
        )
    rows = named_axes.replica_rows(ctx, axis_name, None)
    pairs = [(row[s], row[t]) for row in rows for s, t in perm]
    attributes = {"source_target_pairs": named_axes.dense_i64(ctx, pairs)}
    return {**attributes, **named_axes.channel(ctx, global_ids=False)}


psend_p = _one_sided_primitive("psend")


def _send_type(x: Any, *, axis_name: Any, perm: Pairs) -> Any:
    check_pairs("psend", axis_name, perm)
    return abstract_token


def _send_lower(ctx: Any, x: Any, *, axis_name: Any, perm: Pairs) -> Any:
    token = ctx.type(abstract_token)
    # StableHLO's send requires a token, although psend has no token operand.
    first = ctx.create("stablehlo.create_token", [token], []).result
    pairs = _pairs(ctx, "psend", axis_name, perm)
    return ctx.create("stablehlo.send", [token], [x, first], **pairs).result


psend_p.abstract = _send_type
psend_p.def_sharding(manual="abstract")
psend_p.lower = ByPlatform(_lower_unsupported, cuda=_send_lower, rocm=_send_lower)

precv_p = _one_sided_primitive("precv")


def _receive_type(token: Any, *, out_shape: Any, axis_name: Any, perm: Pairs) -> Any:
    if not is_token(token):
        raise errors.type_error(
            "precv requires a token, which orders it after other operations.",
            which=token.str_short(True),
            tries=["lax.create_token()"],
        )
    check_pairs("precv", axis_name, perm)
    return out_shape.update(manual=manual_axes(typed(axis_name)))


def _receive_lower(ctx: Any, token: Any, *, out_shape: Any, axis_name: Any, perm: Pairs):
    kinds = [ctx.type(ctx.avals_out[0]), ctx.type(abstract_token)]
    pairs = _pairs(ctx, "precv", axis_name, perm)
    return ctx.create("stablehlo.recv", kinds, [token], **pairs).results[0]


precv_p.abstract = _receive_type
precv_p.def_sharding(manual="abstract")
precv_p.lower = ByPlatform(_lower_unsupported, cuda=_receive_lower, rocm=_receive_lower)


def _axis_params(name: str, axis_name: Any, perm: Any) -> dict[str, Any]:
    return {"axis_name": axis_tuple(axis_name), "perm": pairs_of(name, perm)}


def psend(x: Any, axis_name: Any, perm: Any) -> Any:
    """Send values along a mapped axis, without receiving any.

    Args:
      x: a pytree of arrays.
      axis_name: the name of a mapped axis of `shard_map`, or several (indices row-major).
      perm: pairs (source, destination), each index at most once per side.

    Returns:
      A pytree like `x`, of tokens, one for the matching `precv` of each array.

    Raises:
      NameError: a name is not in scope.
      ValueError: indices are repeated or too large.
      NotImplementedError: it is lowered for a platform other than GPUs, differentiated, or
        mapped by `vmap`.

    Example:
      >>> import minijax as mj
      >>> mesh, x = mj.sharding.AbstractMesh((2,), ('i',)), mj.ShapeDtypeStruct((4,), 'f4')
      >>> ring = [(0, 1), (1, 0)]
      >>> turn = lambda x: precv(psend(x, 'i', ring), x, 'i', ring)
      >>> f = mj.shard_map(turn, mesh=mesh, in_specs=mj.P('i'), out_specs=mj.P('i'))
      >>> mj.eval_shape(f, x)
      ShapeDtypeStruct(shape=(4,), dtype=float32)
    """
    params = _axis_params("psend", axis_name, perm)
    core.axis_size(params["axis_name"])
    send: Callable[[Any], Any] = lambda leaf: psend_p.bind(
        pcast_to_varying(leaf, params["axis_name"]), **params
    )
    return tree.map(send, x)


def precv(token: Any, out_shape: Any, axis_name: Any, perm: Any) -> Any:
    """Receive values that others send along a mapped axis.

    Args:
      token: the token of the `psend`, or of `lax.create_token()`, that this follows.
      out_shape: an object with the `shape` and `dtype` of the sent value.
      axis_name: the name of a mapped axis of `shard_map`, or several (indices row-major).
      perm: the sender's pairs (source, destination).  An index that is not a destination
        gets zeros.

    Returns:
      An array of that shape and dtype, which varies along the axes.

    Raises:
      NameError: a name is not in scope.
      ValueError: indices are repeated or too large.
      TypeError: `token` is not a token.
      NotImplementedError: it is lowered for a platform other than GPUs.

    Example:
      >>> import minijax as mj
      >>> mesh, x = mj.sharding.AbstractMesh((2,), ('i',)), mj.ShapeDtypeStruct((4,), 'f4')
      >>> get = lambda x: precv(mj.lax.create_token(), x, 'i', [(0, 1)])
      >>> f = mj.shard_map(get, mesh=mesh, in_specs=mj.P('i'), out_specs=mj.P('i'))
      >>> mj.eval_shape(f, x)
      ShapeDtypeStruct(shape=(4,), dtype=float32)
    """
    params = _axis_params("precv", axis_name, perm)
    core.axis_size(params["axis_name"])
    aval = shaped(tuple(out_shape.shape), out_shape.dtype)
    return precv_p.bind(token, out_shape=aval, **params)
