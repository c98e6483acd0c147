"""`buffer_callback`: Python functions that write into the program's own buffers.

The runtime passes the buffers of operands and results.  Nothing is copied, and nothing is
checked: a result is the final content of its buffer.

Next: debugging.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib._jax import ffi

from ...base import tree
from ...base.source import function_text
from ...base.util import split_list
from ...ir.core import Primitive, aval_of, unsupported
from ...ir.facts import Facts
from ..effects import effects
from .callbacks import callback_batch, check_method, result_avals, stage_callback
from .ffi_call import aliases_text, check_alias, layouts_text, row_major

__all__ = (
    "buffer_callback",
    "buffer_callback_p",
    "Buffer",
    "ExecutionContext",
    "ExecutionStage",
)

Buffer = ffi.Buffer
ExecutionContext = ffi.ExecutionContext
ExecutionStage = ffi.ExecutionStage

_TARGETS = {"cpu": "xla_buffer_python_cpu_callback", "cuda": "xla_buffer_python_gpu_callback"}

buffer_callback_p = Primitive("buffer_callback", multiple_results=True)
buffer_callback_p.facts = Facts(makes_no_nans=True)
buffer_callback_p.abstract = lambda *avals, result_avals, **params: list(result_avals)
buffer_callback_p.stage = stage_callback(buffer_callback_p)
buffer_callback_p.effects = lambda params: (
    effects.set_of(effects.io_effect) if params["has_side_effect"] else frozenset()
)
buffer_callback_p.jvp = unsupported(
    "Buffer callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks"
    " while taking gradients.",
    ValueError,
)
buffer_callback_p.transpose = unsupported(
    "Buffer callbacks do not support transpose. Please use `jax.custom_vjp` to use"
    " callbacks while taking gradients.",
    ValueError,
)
buffer_callback_p.batch = functools.partial(callback_batch, buffer_callback_p)


def _lower(
    ctx: Any,
    *args: Any,
    callback: Callable[..., Any],
    in_tree: Any,
    out_tree: Any,
    has_side_effect: bool,
    input_output_aliases: Sequence[tuple[int, int]],
    command_buffer_compatible: bool,
    **_: Any,
) -> list[Any]:
    module, n = ctx.module, in_tree.num_leaves
    if module.platform not in _TARGETS:
        raise ValueError(f"`buffer_callback` not supported on {module.platform} backend.")
    target = _TARGETS[module.platform]
    if command_buffer_compatible and module.platform != "cpu":
        target += "_cmd_buffer"

    def call(execution: Any, *buffers: Any) -> tuple[()]:
        ins, outs = split_list(buffers, [n])
        args, kwargs = tree.unflatten(in_tree, ins)
        if callback(execution, tree.unflatten(out_tree, outs), *args, **kwargs) is not None:
            raise ValueError("buffer_callback callback must not return any values.")
        return ()

    index = len(module.callbacks)
    module.callbacks.append(call)
    op = ctx.create(
        "stablehlo.custom_call",
        [ctx.type(a) for a in ctx.avals_out],
        list(map(ctx.gathered, args, ctx.avals_in)),
        call_target_name=ctx.string(target),
        api_version=ctx.i32(4),
        has_side_effect=ctx.bool(has_side_effect),
        backend_config=ctx.parse(f"{{index = {index} : ui64}}"),
        operand_layouts=ctx.parse(layouts_text(map(row_major, ctx.avals_in))),
        result_layouts=ctx.parse(layouts_text(map(row_major, ctx.avals_out))),
        output_operand_aliases=ctx.parse(aliases_text(input_output_aliases, ctx.avals_out)),
        **ctx.on_one_device(len(ctx.avals_out)),
    )
    return list(op.results)


buffer_callback_p.lower = _lower


def buffer_callback(
    callback: Callable[..., None],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: dict[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """Return a function that runs a Python function on buffers in compiled code.

    Args:
      callback: `(ctx, out, *args, **kwargs) -> None`, which writes into the buffers of
        `out`, a tree like `result_shape_dtypes`.  Buffers have `shape` and `dtype` and
        can be read by NumPy on CPUs, by `__cuda_array_interface__` on GPUs, and by
        dlpack.  `ctx` has the stage of execution and, on GPUs, the stream.
      result_shape_dtypes: a pytree of values with `shape` and `dtype`.
      has_side_effect: whether it does more than write its results: then it is run even
        if no result is used.
      vmap_method: how `vmap` calls it; see `pure_callback`.
      input_output_aliases: operand -> result, by index among the leaves: pairs that may
        share memory, so that the initial value of the result is the operand.
      command_buffer_compatible: on GPUs, whether the function only enqueues work, which
        is recorded once and replayed.

    Returns:
      A function of arrays and pytrees of them; its results have the promised types.

    Raises:
      ValueError: aliases between operands and results of other types, or an unknown
        `vmap_method`.

    Example:
      >>> import minijax as mj, numpy as np
      >>> def double(ctx, out, x):
      ...     np.asarray(out)[...] = 2 * np.asarray(x)
      >>> buffer_callback(double, mj.ShapeDtypeStruct((2,), 'int32'))(np.arange(2))
      Array([0, 2], dtype=int32)
    """
    check_method(vmap_method)
    avals, out_tree = result_avals(result_shape_dtypes)

    def buffered(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs))
        ins = [aval_of(x) for x in leaves]
        pairs = sorted((input_output_aliases or {}).items())
        aliases = tuple((int(i), int(o)) for i, o in pairs)
        for i, o in aliases:
            check_alias(function_text(callback), i, o, ins, avals)
        out = buffer_callback_p.bind(
            *leaves,
            callback=callback,
            result_avals=avals,
            in_tree=in_tree,
            out_tree=out_tree,
            vmap_method=vmap_method,
            has_side_effect=has_side_effect,
            input_output_aliases=aliases,
            command_buffer_compatible=command_buffer_compatible,
        )
        return tree.unflatten(out_tree, out)

    return buffered
