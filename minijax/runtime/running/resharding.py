"""Resharding, and change of memory layout: each is a program that returns its operand.

A program is compiled for the sharding and the layout of each operand and would read wrong
elements in any other. So arrays are converted before they are passed to it: `with_layout`
changes the layout on the same devices, `reshard` the sharding as well.

Next: device_put.py, which chooses how a value gets to its devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...base import util
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ..arrays import array as arrays
from ..backends import jaxlib_compat as compat
from ..sharding import placement as placements
from ..sharding import shardings
from ..sharding.layouts import Layout, buffer_layout, layout_mode
from ..sharding.placement import Placement, placement_of
from ..sharding.shardings import aval_with_sharding, has_custom_layout
from .program import Options, Program, Request, compile_lowered, lower

if TYPE_CHECKING:
    from ...types.aliases import Aval
    from ..arrays.array import Array
    from ..backends.jaxlib_types import Buffer

_programs: dict[Any, Program] = util.cache({})
_MOST_PROGRAMS = 1024


def conversion(aval: Aval, result_aval: Aval, placement: Placement, name: str) -> Program:
    """Return the program that returns its operand, of type `aval`, at `placement`.

    result_aval: the type of the result, which has its sharding.
    """
    key = aval, result_aval, placement, name
    program = _programs.get(key)
    if program is None:
        var = Var(aval)
        closed = ClosedJaxpr(Jaxpr([], [var], [var], []))
        options = Options(name, keep_unused=True, has_locations=False)
        program = compile_lowered(lower(Request(closed, placement, (), options)), ())
        inner = program.out_shardings[0]
        program.handlers = [compat.result_handler(result_aval, inner, placement.committed)]
        util.remember(_programs, key, program, _MOST_PROGRAMS)
    return program


def reshard(buffer: Buffer, src_sharding: Any, sharding: Any) -> Callable[[Buffer], Buffer]:
    """Return a function that reshards such an ArrayImpl on the same devices."""
    placement = placements.partitions(
        placements.mesh_of(sharding), (src_sharding,), (sharding,)
    )
    result_aval = aval_with_sharding(buffer.aval, sharding)
    program = conversion(buffer.aval, result_aval, placement, "reshard")
    run, handlers = program.run, program.handlers
    return lambda buffer: run([buffer]).consume_with_handlers(handlers)[0]


def with_layout(buffer: Buffer, layout: Layout | None) -> Buffer:
    """Return the ArrayImpl in this layout on the same devices; None: the default layout."""
    src_layout = buffer_layout(buffer)
    if layout_mode(src_layout) == layout_mode(layout):
        return buffer
    placement = placement_of(buffer)
    if placement is None:
        sharding = shardings.of_buffer(buffer)
        placement = placements.partitions(
            placements.mesh_of(sharding), (sharding,), (sharding,)
        )
    placement = placement.with_layouts((src_layout,), (layout,))
    (out,) = conversion(buffer.aval, buffer.aval, placement, "with_layout")([buffer])
    return out  # type: ignore[no-any-return]


def with_default_layout(buffer: Buffer) -> Buffer:
    """Return the ArrayImpl in the devices' default layout."""
    return with_layout(buffer, None) if has_custom_layout(buffer) else buffer


def with_operand_layouts(program: Program, buffers: Sequence[Buffer]) -> Sequence[Buffer]:
    """Return a program's operands in the layouts that it was compiled for."""
    if program.operand_layouts is None:
        return buffers
    out = list(buffers)
    indices = program.kept_indices or range(len(out))
    for i, layout in zip(indices, program.operand_layouts, strict=True):
        out[i] = with_layout(out[i], layout)
    return out


def array_with_layout(x: Array, layout: Layout | None) -> Array:
    """Return the array in this layout on the same devices; None: the default layout.

    The words of a random key stay adjacent: their axes are the minor ones.
    """
    buffer = arrays.base_array(x)
    if layout is not None and buffer is not x:
        major_to_minor = (*layout.major_to_minor, *range(x.ndim, len(buffer.aval.shape)))
        layout = Layout(major_to_minor, layout.tiling)
    if layout is None and not has_custom_layout(buffer):
        return x
    return arrays.wrap(with_layout(buffer, layout), x.aval)
