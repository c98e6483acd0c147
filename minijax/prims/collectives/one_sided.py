"""Sending and receiving apart: psend gives a token, which precv takes.

Who sends and who receives do not meet in one operation, as they do in ppermute; GPUs alone
can.  What is received differs from device to device.  Read permute.py first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base import errors, tree
from ...ir import core, manual_axis_rules
from ...ir.core import Primitive, unsupported
from ...runtime.arrays.tokens import is_token
from ...types.avals import abstract_token, shaped
from . import named_axes
from .named_axes import axis_tuple
from .pcast import pcast_to_varying, typed
from .permute import Pairs, check_pairs, pairs_of

__all__ = ("precv", "psend")


class OneSided:
    """What one side of a communication does: it is no less needed without a result."""

    __slots__ = ()
    name, ordered, once = "one-sided communication", False, True
    runs = False  # tokens of the program order it, none of the host

    def __repr__(self) -> str:
        return self.name


_EFFECTS = frozenset((OneSided(),))


def _one_side(name: str) -> Primitive:
    prim = Primitive(name)
    prim.effects = lambda params: _EFFECTS
    prim.named_axes = named_axes.uses("axis_name")
    prim.jvp = prim.transpose = unsupported(
        f"Differentiation rule for '{name}' not implemented: who receives is not who sent."
        "\nTry: lax.ppermute"
    )
    prim.batch = prim.batch_named = unsupported(
        f"Batching rule for '{name}' not implemented: a token says nothing of lanes."
        "\nTry: lax.ppermute"
    )
    prim.lower = _refused
    return prim


def _refused(ctx: Any, *args: Any, **params: Any) -> Any:
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
    found = {"source_target_pairs": named_axes.dense_i64(ctx, pairs)}
    return {**found, **named_axes.channel(ctx, global_ids=False)}


psend_p = _one_side("psend")


def _send_type(x: Any, *, axis_name: Any, perm: Pairs) -> Any:
    check_pairs("psend", axis_name, perm)
    return abstract_token


def _send_lower(ctx: Any, x: Any, *, axis_name: Any, perm: Pairs) -> Any:
    token = ctx.type(abstract_token)
    first = ctx.create("stablehlo.create_token", [token], []).result
    pairs = _pairs(ctx, "psend", axis_name, perm)
    return ctx.create("stablehlo.send", [token], [x, first], **pairs).result


psend_p.abstract = _send_type
psend_p.manual_axis_rule = "abstract"
psend_p.lower_by_platform["cuda"] = psend_p.lower_by_platform["rocm"] = _send_lower

precv_p = _one_side("precv")


def _receive_type(token: Any, *, out_shape: Any, axis_name: Any, perm: Pairs) -> Any:
    if not is_token(token):
        raise errors.type_error(
            "precv takes a token, which says after what it comes.",
            which=token.str_short(True),
            tries=["lax.create_token()"],
        )
    check_pairs("precv", axis_name, perm)
    return out_shape.update(manual_axis_kinds=manual_axis_rules.manual(typed(axis_name)))


def _receive_lower(ctx: Any, token: Any, *, out_shape: Any, axis_name: Any, perm: Pairs):
    kinds = [ctx.type(ctx.avals_out[0]), ctx.type(abstract_token)]
    pairs = _pairs(ctx, "precv", axis_name, perm)
    return ctx.create("stablehlo.recv", kinds, [token], **pairs).results[0]


precv_p.abstract = _receive_type
precv_p.manual_axis_rule = "abstract"
precv_p.lower_by_platform["cuda"] = precv_p.lower_by_platform["rocm"] = _receive_lower


def _called(name: str, axis_name: Any, perm: Any) -> dict[str, Any]:
    return {"axis_name": axis_tuple(axis_name), "perm": pairs_of(name, perm)}


def psend(x: Any, axis_name: Any, perm: Any) -> Any:
    """Send values along a mapped axis, without receiving any.

    Args:
      x: a pytree of arrays.
      axis_name: the name of a mapped axis of `shard_map`, or several (indices row-major).
      perm: pairs (source, destination), each index at most once a side.

    Returns:
      A pytree like `x`, of tokens, each for the `precv` of what was sent.

    Raises:
      NameError: a name is not in scope.
      ValueError: indices are repeated or too large.
      NotImplementedError: it is lowered for something else than GPUs, differentiated, or
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
    params = _called("psend", axis_name, perm)
    core.axis_size(params["axis_name"])
    send: Callable[[Any], Any] = lambda leaf: psend_p.bind(
        pcast_to_varying(leaf, params["axis_name"]), **params
    )
    return tree.map(send, x)


def precv(token: Any, out_shape: Any, axis_name: Any, perm: Any) -> Any:
    """Receive what others send along a mapped axis.

    Args:
      token: what this comes after: that of the `psend`, or of `lax.create_token()`.
      out_shape: anything with the `shape` and `dtype` of what is sent.
      axis_name: the name of a mapped axis of `shard_map`, or several (indices row-major).
      perm: pairs (source, destination), as the sender's.  Whoever is no destination gets
        zeros.

    Returns:
      An array of that shape and dtype, which varies along the axes.

    Raises:
      NameError: a name is not in scope.
      ValueError: indices are repeated or too large.
      TypeError: `token` is none.
      NotImplementedError: it is lowered for something else than GPUs.

    Example:
      >>> import minijax as mj
      >>> mesh, x = mj.sharding.AbstractMesh((2,), ('i',)), mj.ShapeDtypeStruct((4,), 'f4')
      >>> get = lambda x: precv(mj.lax.create_token(), x, 'i', [(0, 1)])
      >>> f = mj.shard_map(get, mesh=mesh, in_specs=mj.P('i'), out_specs=mj.P('i'))
      >>> mj.eval_shape(f, x)
      ShapeDtypeStruct(shape=(4,), dtype=float32)
    """
    params = _called("precv", axis_name, perm)
    core.axis_size(params["axis_name"])
    aval = shaped(tuple(out_shape.shape), out_shape.dtype)
    return precv_p.bind(token, out_shape=aval, **params)
