"""The functions behind `lax.cond`, `lax.switch` and `lax.platform_dependent`.

They check their arguments, stage the branches and unify the types of their results; the
primitive and its rules are in cond.py.  Next: ../loops/scan.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import config, errors, tree
from ...base.source import function_text
from ...base.tracebacks import boundary
from ...base.util import merge
from ...ir import core
from ...ir.jaxpr import ClosedJaxpr, Var, permute_jaxpr
from ...passes.stage import StageTrace
from ...prims.math.cast import convert_element_type_p
from ...prims.math.logic import clamp_p
from ...runtime.sharding import placement
from ...types import dtypes
from ...types.avals import same_type
from .. import body_staging
from ..arguments import as_value
from ..refs import discharge
from .cond import BATCHED, choose_platform, cond_p, index_of


def _bind_branches(
    name: str,
    index: Any,
    funs: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    params: dict[str, Any],
) -> Any:
    """Stage each function once, and bind; for `cond` the true function comes first."""
    ops, ops_tree = tree.flatten(operands)
    avals = body_staging.types_of("operands", ops, ops_tree)
    once = {id(f): f for f in funs}
    staged = [body_staging.stage_body(f, ops_tree, avals, name) for f in once.values()]
    _check_branches(name, list(once.values()), staged)
    consts = _join_consts(staged)
    discharge.check_references(funs[0], name, operands, consts)
    closed = [_close(b, consts) for b in staged]
    # A result that every branch returns unchanged from the same operand need not pass
    # through the cond.
    operand_positions = [dict(zip(b.jaxpr.invars, range(len(b.jaxpr.invars)))) for b in closed]
    sources: list[set[Any]] = [
        {
            g.get(a) if type(a) is Var else None
            for g, a in zip(operand_positions, column, strict=True)
        }
        for column in zip(*(b.jaxpr.outvars for b in closed), strict=True)
    ]
    is_operand = [len(at) == 1 and at != {None} for at in sources]
    if any(is_operand):
        computed = [i for i, h in enumerate(is_operand) if not h]
        closed = [permute_jaxpr(b, range(len(b.in_avals)), computed) for b in closed]
    of = dict(zip(once, closed, strict=True))
    branches = tuple(of[id(f)] for f in (reversed(funs) if name == "cond" else funs))
    out = cond_p.bind(index, *consts, *ops, branches=branches, **params)
    args = [*consts, *ops]
    direct = [as_value(args[at.pop()]) for at, h in zip(sources, is_operand) if h]
    return tree.unflatten(staged[0].out_tree, merge(is_operand, direct, out))


def _join_consts(bodies: Sequence[body_staging.Body]) -> list[Any]:
    by_id: dict[int, Any] = {}
    for b in bodies:
        for c in b.consts:
            # By identity: arrays and tracers compare elementwise.
            by_id.setdefault(id(c), c)
    return list(by_id.values())


def _close(body: body_staging.Body, consts: Sequence[Any]) -> ClosedJaxpr:
    """Return a branch that takes the constants of all branches first."""
    own = {id(c): i for i, c in enumerate(body.consts)}
    first = [own.get(id(c), core.aval_of(c)) for c in consts]
    lifted = body.closed()
    return permute_jaxpr(lifted, [*first, *range(len(own), len(lifted.jaxpr.invars))])


def _check_branches(name: str, funs: Any, staged: Sequence[body_staging.Body]) -> None:
    """Raise TypeError unless all branches return the same tree of the same types."""
    first = staged[0]
    for i, b in enumerate(staged[1:], 1):
        two = ("true_fun", "false_fun") if name == "cond" else ("branch 0", f"branch {i}")
        location = " and ".join(
            f"{label}: {function_text(f)}"
            for label, f in zip(two, (funs[0], funs[i]), strict=True)
        )
        if b.out_tree != first.out_tree:
            path, one, other, why = body_staging.tree_difference(first.out_tree, b.out_tree)
            raise TypeError(
                errors.message(
                    f"{name} branch outputs must have the same pytree structure, but they"
                    " differ:",
                    which=f"result{tree.keystr(path)}: {two[0]} returns {one}, {two[1]}"
                    f" returns {other}: {why}",
                    where=location,
                )
            )
        labelled = tree.leaves_with_path(tree.unflatten(first.out_tree, first.out_avals))
        for (path, x), y in zip(labelled, b.out_avals, strict=True):
            if not same_type(x, y):
                more = body_staging.to_vary(x, y)
                branch = two[0] if more else two[1]
                more = more or body_staging.to_vary(y, x)
                raise TypeError(
                    errors.message(
                        f"{name} branches must have equal output types but they differ:",
                        which=f"result{tree.keystr(path)}: {two[0]} returns"
                        f" {x.str_short(False)}, {two[1]} returns {y.str_short(False)}, so"
                        f" {body_staging.type_difference(x, y)}",
                        where=location,
                        tries=[
                            f"{more}, to the result of {branch}"
                            if more
                            else "convert one result with .astype(...)"
                        ],
                    )
                )


@boundary
def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    batched: str = "select",
    **extra: Any,
) -> Any:
    """Run `true_fun(*operands)` if `pred` is true, else `false_fun(*operands)`.

    Args:
      pred: a scalar, bool or number.
      true_fun, false_fun: functions whose results have equal trees and types.
      operands: their arguments.
      batched: the behavior under `vmap` if `pred` differs between lanes: 'select' runs
        both branches and selects; 'loop' runs one lane after the other, each with its own
        branch; 'group' runs a branch, on all lanes, only if any takes it; 'error' raises.
      extra: `operand=x`, an older form for a single operand.

    Returns:
      The result of the branch, a pytree of arrays.

    Raises:
      TypeError: `pred` is not a scalar, a branch is not a function, or the branches'
        results differ in type.
      ValueError: `batched` is not one of these strings.

    Example:
      >>> import minijax as mj
      >>> mj.lax.cond(True, lambda x: x + 1, lambda x: x - 1, 1)
      Array(2, dtype=int32, weak_type=True)

    Differs from JAX: `batched`.
    """
    operands = _operands("cond", operands, extra)
    if not callable(true_fun) or not callable(false_fun):
        # The five-argument form: cond(pred, x, true_fun, y, false_fun).
        if len(operands) == 2 and callable(false_fun) and callable(operands[1]):
            x, f, y, g = true_fun, false_fun, operands[0], operands[1]
            return cond(pred, lambda a, b: f(a), lambda a, b: g(b), x, y, batched=batched)
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    if pred is None:
        raise TypeError("cond predicate is None: Pred must be a scalar.")
    if isinstance(pred, (str, list, tuple, dict)):
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}")
    if not core.is_value(pred):
        raise TypeError(f"Pred type must be either boolean or number, got {pred}.")
    aval = core.aval_of(pred)
    if aval.shape != ():
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {aval.shape}.")
    if not (
        dtypes.is_bool(aval.dtype)
        or dtypes.is_integer(aval.dtype)
        or dtypes.is_float(aval.dtype)
    ):
        raise TypeError(f"Pred type must be either boolean or number, got {aval.dtype}.")
    if config.DISABLE_JIT.value and core.is_concrete(pred):
        return true_fun(*operands) if pred else false_fun(*operands)
    if not dtypes.is_bool(aval.dtype):
        pred = pred != 0
    return _bind_branches(
        "cond", index_of(pred), [true_fun, false_fun], operands, _batched_param(batched)
    )


def _operands(name: str, operands: Any, extra: dict[str, Any]) -> Any:
    """Return the operands; a single one may be passed by keyword."""
    for key in extra:
        if key != "operand":
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}.")
    if not extra:
        return operands
    if operands:
        raise TypeError(
            "if 'operand' keyword is passed then no positional operands can be passed, got"
            f" operand={extra['operand']!r} and positional operands {operands}."
        )
    return (extra["operand"],)


def _batched_param(batched: str) -> dict[str, Any]:
    if batched == "select":
        return {}
    if batched not in BATCHED:
        raise ValueError(f"batched={batched!r}: choose one of {['select', *BATCHED]}.")
    return {"batched": batched}


@boundary
def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    batched: str = "select",
    **extra: Any,
) -> Any:
    """Run `branches[index](*operands)`.

    Args:
      index: an integer scalar; out of range, it is clamped to the nearest branch.
      branches: functions whose results have equal trees and types.
      operands: their arguments.
      batched, extra: as for `cond`.

    Returns:
      The result of the branch, a pytree of arrays.

    Raises:
      TypeError: `index` is not an integer scalar, or results differ in type.
      ValueError: `branches` is empty.

    Example:
      >>> import minijax as mj
      >>> mj.lax.switch(1, [lambda x: x, lambda x: -x], 3)
      Array(-3, dtype=int32, weak_type=True)
    """
    if not all(callable(b) for b in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = _operands("switch", operands, extra)
    if index is None or not core.is_value(index):
        raise TypeError(f"Index type must be an integer, got {index}.")
    aval = core.aval_of(index)
    if aval.shape != ():
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(f"Index type must be an integer, got {index} as {aval.dtype}")
    branches = tuple(branches)
    if not branches:
        raise ValueError("Empty branch sequence")
    if len(branches) == 1:
        return branches[0](*operands)
    if config.DISABLE_JIT.value and core.is_concrete(index):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    if type(index) is int and -(2**31) <= index < 2**31:
        index = np.int32(index)
    elif aval.dtype != dtypes.int32 or aval.weak_type:
        index = convert_element_type_p.bind(
            index, new_dtype=dtypes.int32, weak_type=False, sharding=None
        )
    index = clamp_p.bind(np.int32(0), index, np.int32(len(branches) - 1))
    return _bind_branches("switch", index, branches, operands, _batched_param(batched))


@boundary
def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Run the function for the platform that the program is compiled for.

    Args:
      args: the arguments of all functions.
      default: the function for platforms that are not named.
      per_platform: `cpu=`, `cuda=` (or `gpu=`), `tpu=`, `rocm=` ..: functions whose
        results have equal trees and types.  Evaluated eagerly, only one of them is traced.

    Returns:
      The result of the function.

    Raises:
      ValueError: no function is passed.
      TypeError: results differ in type, or an argument is not a function.
      NotImplementedError: there is no function for the platform.

    Example:
      >>> platform_dependent(3, cpu=lambda x: x + 1, default=lambda x: x)
      4
    """
    aliases = {"gpu": "cuda"}
    funs: dict[str | None, Callable[..., Any]] = {
        aliases.get(name, name): f for name, f in per_platform.items()
    }
    if default is not None:
        funs[None] = default
    for name, f in funs.items():
        if not callable(f):
            raise TypeError(
                f"lax.platform_dependent: the {name or 'default'!r} branch must be a"
                f" callable, got {f!r}."
            )
    if not funs:
        raise ValueError("platform_dependent: no function was given.")
    if not any(isinstance(t, StageTrace) for t in core.trace_stack()):
        return funs[choose_platform(placement.default_placement().platform, funs)](*args)
    return _bind_branches(
        "platform_dependent", np.int32(0), list(funs.values()), args, {"platforms": tuple(funs)}
    )
