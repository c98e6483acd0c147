"""`jax_debug_key_reuse`: a record of which keys have been consumed.

Once the option has been switched on, evaluation checks keys: an operation or compiled
function must not consume a key that was consumed before (analysis/key_use.py).

This module names no operation.  Next: ../running/dispatch.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...analysis.key_use import holds_keys, joined, overlap, use_of, use_of_operation
from ...base import config, errors, source
from ...ir import core
from ...ir.facts import KeyUse
from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from .array import KeyArray


def is_enabled() -> bool:
    """Whether keys are checked now, in this thread."""
    return bool(config.DEBUG_KEY_REUSE.value)


def _consumed(key: KeyArray) -> Any:
    return getattr(key, "_consumed", False)  # a slot that new keys leave unset


def checked_call(
    run: Callable[[], Sequence[Any]],
    closed: ClosedJaxpr,
    args: Sequence[Any],
    own: bool = False,
) -> Sequence[Any]:
    """Return the results of `run`, which evaluates a program on values, and check its keys.

    own: whether the program is minijax's own, not a user's function.
    """
    name = "jit-compiled function"
    if own and all(map(holds_keys, closed.out_avals)):  # an operation only on keys
        use, name = _use_of_own(closed.jaxpr), str(closed.jaxpr.eqns[0].primitive)
    else:
        use = use_of(closed.jaxpr)
    return _checked(run, use, [*args, *closed.consts], name)


def _use_of_own(jaxpr: Jaxpr) -> KeyUse:
    try:
        return use_of(jaxpr)
    except errors.KeyReuseError:  # each result has different elements of one operand
        every = frozenset(range(len(jaxpr.outvars)))
        return KeyUse(dict.fromkeys(range(len(jaxpr.invars)), True), every)


def _checked(
    run: Callable[[], Sequence[Any]], use: KeyUse, values: Sequence[Any], name: str
) -> list[Any]:
    for i, mask in use.sinks.items():
        key = values[i]
        if isinstance(key, KeyArray) and overlap(_consumed(key), mask):
            at = getattr(key, "_used_at", None)
            raise errors.error(
                errors.KeyReuseError,
                f"Previously-consumed key passed to {name} at index {i}",
                which=f"{key.aval.str_short(True)}, first used at {at}",
                where=str(source.user_source() or "") or None,
                why="numbers drawn from one key twice are equal or dependent.",
                tries=["a key of jax.random.split for each use"],
            )
    # An operation that changes nothing may return the operand object itself.
    operand_ids = {id(x) for x in values if isinstance(x, KeyArray)}
    out = [
        KeyArray(x._b, x._dtype) if id(x) in operand_ids and k not in use.forwards else x
        for k, x in enumerate(_unchecked(run))
    ]
    for i, mask in use.sinks.items():
        if isinstance(key := values[i], KeyArray):
            key._consumed, key._used_at = joined(_consumed(key), mask), source.user_source()
    for k, x in enumerate(out):
        if isinstance(x, KeyArray):
            x._used_at = source.user_source()
            if k in use.forwards:
                old = values[use.forwards[k]]
                if isinstance(old, KeyArray):
                    x._consumed = _reshape_mask(_consumed(old), x.shape)
                    x._used_at = getattr(old, "_used_at", None)
            else:
                x._consumed = k not in use.sources
    return out


def _unchecked(run: Callable[[], Any]) -> Any:
    """Run without checks: the program was checked as a whole."""
    with config.DEBUG_KEY_REUSE(False):
        return run()


def _reshape_mask(mask: Any, shape: tuple[int, ...]) -> Any:
    if np.shape(mask) == shape or np.ndim(mask) == 0:
        return mask
    return np.reshape(mask, shape) if np.size(mask) == np.prod(shape) else mask.any()


def _evaluate_checked(
    evaluate: Callable[..., Any], prim: core.Primitive, args: Sequence[Any], params: Any
) -> Any:
    """Evaluate a primitive and check its keys, if it declares their use."""
    if not is_enabled() or not _declares_use(prim, params):
        return evaluate(prim, args, params)
    many = prim.multiple_results

    def run() -> Any:
        out = evaluate(prim, args, params)
        return out if many else [out]

    use = use_of_operation(prim, [core.aval_of(x) for x in args], params)
    out = _checked(run, use, args, str(prim))
    return out if many else out[0]


def _declares_use(prim: core.Primitive, params: Any) -> bool:
    if prim.facts.uses_keys is not None:
        return True
    region = prim.regions
    return region is not None and all(isinstance(b, ClosedJaxpr) for b in region.bodies(params))


_watching = False


def _on_option(value: Any, local: bool) -> None:
    global _watching
    if value is True and not _watching:
        _watching = True
        core.watch_evaluation(_evaluate_checked)


config.DEBUG_KEY_REUSE.watch(_on_option)
