"""Hints for the compiler: where to compute, in which groups, and in which order.

`compute_on` moves operations to the host or to other units of a device; `scheduling_group`
groups operations; `control_dep` orders two operations.  All three are frontend attributes
of operations and of calls, which stay in a program until the compiler acts on them.  They
do not change results.

Next: xla_metadata.py, for frontend attributes of any name.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..base import errors, tree
from ..base.source import wraps
from ..control.arguments import check_callable, check_values
from ..control.body_staging import stage_body
from ..control.callbacks.ffi_call import ffi_call
from ..control.refs.discharge import FunctionPrimitive
from ..ir import core
from ..ir.jaxpr import ClosedJaxpr
from ..ir.regions import Call
from ..passes.region_rules import def_region_rules
from ..runtime.lowering import frontend_attributes
from ..types.avals import DEVICE
from .devices import device_put
from .xla_metadata import set_xla_metadata

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ..ir.core import Primitive
    from ..types.aliases import Param, PyTree
    from ..types.avals import MemorySpace

__all__ = (
    "compute_on",
    "compute_on2",
    "control_dep",
    "fused",
    "fused_p",
    "schedule",
    "scheduling_group",
    "xla_metadata_call",
    "xla_metadata_call_p",
)

_LATER: Any = object()  # default of `f`: the function is passed in a second call
_UNITS = {"device_host": "host", "device": "dense", "tpu_sparsecore": "sparseoffload"}


def _unit(compute_type: str) -> dict[str, str]:
    """Return the frontend attributes that select a compute unit."""
    kind = str(compute_type)
    if kind in _UNITS:
        return {"_xla_compute_type": _UNITS[kind]}
    if kind.startswith("gpu_stream:"):
        stream = kind.partition(":")[2]
        return {"_xla_stream_annotation": stream, "inlineable": "false"}
    raise errors.value_error(
        f"Invalid compute type {compute_type}. Current supported values are"
        " `device_host`, `device`, `tpu_sparsecore`, and `gpu_stream:#`."
    )


def compute_on(compute_type: str) -> AbstractContextManager[None]:
    """Compute the operations of a block, or of a function, on another unit.

    Args:
      compute_type: 'device_host', the CPU that hosts the device; 'device';
        'tpu_sparsecore'; 'gpu_stream:1', the stream of that number.

    Returns:
      A context manager, which is also a decorator.

    Raises:
      ValueError: `compute_type` is unknown.

    Example:
      >>> import minijax as mj
      >>> @mj.jit
      ... def f(x):
      ...   with compute_on('device_host'):
      ...     return x * 2
      >>> f(1.0)
      Array(2., dtype=float32, weak_type=True)
    """
    return set_xla_metadata(**_unit(compute_type))


# ------------------------------------------------------------------ calls with attributes

xla_metadata_call_p = FunctionPrimitive("xla_metadata_call")
def_region_rules(xla_metadata_call_p, Call("jaxpr"), lowers_key_arrays=True)
compute_on_p = FunctionPrimitive("compute_on")
def_region_rules(compute_on_p, Call("jaxpr"), lowers_key_arrays=True)
fused_p = FunctionPrimitive("fused_call")
def_region_rules(fused_p, Call("jaxpr"), lowers_key_arrays=True)
for _prim in (xla_metadata_call_p, compute_on_p, fused_p):
    _prim.impl = lambda *args, jaxpr, **_: jaxpr(*args)


def _lower_call(ctx: Any, name: str, jaxpr: ClosedJaxpr, args: Any, attributes: Any) -> Any:
    out = ctx.call(jaxpr, name, args)
    if out:
        frontend_attributes.tag(out[0].owner, attributes)
    return out


xla_metadata_call_p.lower = lambda ctx, *args, jaxpr, **meta: _lower_call(
    ctx, "xla_metadata_call", jaxpr, args, {k: _text(v) for k, v in meta.items()}
)


fused_p.lower = lambda ctx, *args, jaxpr: _lower_call(
    ctx, "fused", jaxpr, args, {"MUST_FUSE": "true", "inlineable": "false"}
)


def _lower_compute_on(
    ctx: Any,
    *args: Any,
    jaxpr: ClosedJaxpr,
    compute_type: str,
    compiler_options_json: str | None,
) -> Any:
    attributes = _unit(compute_type)
    if compiler_options_json is not None:
        attributes["backend_config"] = compiler_options_json
    return _lower_call(ctx, "compute_on", jaxpr, args, attributes)


compute_on_p.lower = _lower_compute_on


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise errors.error(
            NotImplementedError,
            f"an attribute of a call is a string, got {value!r} of type {type(value)}",
            tries=[f"{str(value)!r}"],
        )
    return value


def _call(
    prim: Primitive,
    fun: Callable[..., Any],
    what: str,
    inner_metadata: dict[str, str],
    **params: Param,
) -> Callable[..., Any]:
    """Return a function whose calls are equations of `prim`.

    inner_metadata: frontend attributes of the operations inside.
    """
    check_callable(fun)

    @wraps(fun)
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs))
        check_values(leaves, what)

        def inner(args: Any, kwargs: Any) -> Any:
            if not inner_metadata:
                return fun(*args, **kwargs)
            with set_xla_metadata(**inner_metadata):
                return fun(*args, **kwargs)

        avals = [core.aval_of(x) for x in leaves]
        body = stage_body(inner, in_tree, avals, what, fun)
        out = prim.bind(*body.consts, *leaves, jaxpr=body.closed(), **params)
        return tree.unflatten(body.out_tree, out)

    return called


def xla_metadata_call(f: Callable[..., Any] = _LATER, **meta: str) -> Callable[..., Any]:
    """Attach frontend attributes to the calls of a function.

    Args:
      f: a function of arrays and trees of them; without it, a decorator is returned.
      meta: the attributes, as strings.

    Returns:
      A function of the same arguments.

    Example:
      >>> import minijax as mj
      >>> f = xla_metadata_call(mj.numpy.sin, stage="head")
      >>> 'stage = "head"' in mj.jit(f).lower(1.).as_text()
      True
    """
    if f is _LATER:
        return lambda g: xla_metadata_call(g, **meta)
    return _call(xla_metadata_call_p, f, "xla_metadata_call", {}, **meta)


def fused(
    *, out_spaces: Sequence[MemorySpace]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run the operations of a function as one kernel, if the compiler can.

    Args:
      out_spaces: the memory space of each result: `jax.memory.Space.Device` or `Host`.

    Returns:
      A decorator of functions of arrays.

    Raises:
      ValueError: the numbers of spaces and of results differ.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> f = fused(out_spaces=(mj.memory.Space.Device,))(lambda x: jnp.sin(x) * 2)
      >>> 'MUST_FUSE' in mj.jit(f).lower(1.).as_text()
      True
    """
    spaces = tuple(out_spaces)

    def decorated(f: Callable[..., Any]) -> Callable[..., Any]:
        run = _call(fused_p, f, "fused", {})

        @wraps(f)
        def placed(*args: Any, **kwargs: Any) -> Any:
            leaves, treedef = tree.flatten(run(*args, **kwargs))
            if len(leaves) != len(spaces):
                raise errors.value_error(
                    f"fused: {len(spaces)} out_spaces for {len(leaves)} results.",
                    tries=["one for each leaf of the result"],
                )
            pairs = zip(leaves, spaces, strict=True)
            moved = [x if s is DEVICE else device_put(x, s) for x, s in pairs]
            return tree.unflatten(treedef, moved)

        return placed

    return decorated


def scheduling_group(name: str) -> Callable[[Any], Any]:
    """Run all calls of functions under one name as a group, which may overlap with others.

    Args:
      name: the name of the group, a string.

    Returns:
      A decorator.

    Example:
      >>> import minijax as mj
      >>> scheduling_group("1")(mj.numpy.negative)(2.0)
      Array(-2., dtype=float32, weak_type=True)
    """
    return xla_metadata_call(scheduling_group=name)


def compute_on2(
    f: Callable[..., Any] = _LATER,
    *,
    compute_type: str,
    out_memory_spaces: PyTree,
    compiler_options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compute a function on another unit, as one call, with results in chosen memory spaces.

    Args:
      f: a function of arrays and trees of them; without it, a decorator is returned.
      compute_type: the unit; see `compute_on`.
      out_memory_spaces: `jax.memory.Space.Device` or `Host`, or a pytree prefix of them for
        the results.
      compiler_options: XLA flags for this call.

    Returns:
      A function of the same arguments.

    Raises:
      ValueError: `compute_type` is unknown.

    Example:
      >>> import minijax as mj
      >>> space = mj.memory.Space.Device
      >>> f = compute_on2(lambda x: x + 1, compute_type='device_host',
      ...                 out_memory_spaces=space)
      >>> f(1.0)
      Array(2., dtype=float32, weak_type=True)
    """
    if f is _LATER:
        options = {k: v for k, v in locals().items() if k != "f"}
        return lambda g: compute_on2(g, **options)
    text = None if compiler_options is None else json.dumps(compiler_options)
    unit = _unit(compute_type)
    params = {"compute_type": compute_type, "compiler_options_json": text}
    run = _call(compute_on_p, f, "compute_on2", unit, **params)

    @wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        return device_put(run(*args, **kwargs), out_memory_spaces)

    return called


# ------------------------------------------------------------------------------- ordering


def control_dep(src: PyTree, dst: PyTree) -> PyTree:
    """Schedule the operation that produces `src` before the one that produces `dst`.

    Args:
      src, dst: arrays of any shapes and dtypes.

    Returns:
      An empty sequence.

    Raises:
      ValueError: `src` or `dst` is differentiated.

    Example:
      >>> import minijax as mj
      >>> @mj.jit
      ... def f(x):
      ...   a, b = mj.numpy.sin(x), mj.numpy.cos(x)
      ...   control_dep(a, b)
      ...   return a + b
      >>> f(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return ffi_call("control_dep", (), has_side_effect=True)(src, dst)


def schedule(ops: Sequence[Any]) -> None:
    """Run operations in the order of the arrays that they produce.

    Args:
      ops: arrays of any shapes and dtypes.

    Returns:
      None.

    Example:
      >>> import minijax.numpy as jnp
      >>> schedule([jnp.ones(2), jnp.zeros(3)])
    """
    for src, dst in itertools.pairwise(ops):
        control_dep(src, dst)
