"""Conversion of arrays between the device's default layout and custom layouts.

A program is compiled for the layout of each argument and would read wrong elements in any
other. Therefore arrays with a `CustomLayoutSharding` are converted to the default layout
when they are passed to a program, unless it was compiled for their layouts
(`Program.operand_layouts`).

Next: ../running/dispatch.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base import util
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ..backends import jaxlib_compat as compat
from ..lowering.lower_jaxpr import lower_jaxpr
from ..running import compile as compiler
from . import placement as placements
from .layouts import Layout, layout_of
from .shardings import has_custom_layout, mark_custom_layout

_conversions: dict[Any, Any] = util.cache({})
_MOST_CONVERSIONS = 1024  # as for reshardings


def buffer_layout(buffer: Any) -> Layout | None:
    """Return the layout of an ArrayImpl; None: the device's default."""
    if not has_custom_layout(buffer):
        return None
    return layout_of(buffer._pjrt_layout).on(next(iter(buffer.devices())))


def with_layout(buffer: Any, layout: Layout | None) -> Any:
    """Return a single-device ArrayImpl in this layout; None: the device's default."""
    src_layout = buffer_layout(buffer)
    if layout_mode(src_layout) == layout_mode(layout):
        return buffer
    placed = placements.placement_of(buffer)
    assert placed is not None
    placement, committed = placed
    key = buffer.aval, placement, layout_mode(src_layout), layout_mode(layout), committed
    conversion = _conversions.get(key)
    if conversion is None:
        conversion = _compile_conversion(buffer.aval, placement, src_layout, layout, committed)
        util.remember(_conversions, key, conversion, _MOST_CONVERSIONS)
    executable, handler = conversion
    (out,) = executable.execute_sharded([buffer]).consume_with_handlers([handler])
    return out


def layout_mode(layout: Any) -> str:
    """Return XLA's layout mode for a layout; None: the device's default."""
    if layout is None:
        return "default"
    return "auto" if layout is Layout.AUTO else layout.mode


def _compile_conversion(
    aval: Any, placement: Any, src_layout: Any, layout: Any, committed: bool
) -> Any:
    v = Var(aval)
    closed = ClosedJaxpr(Jaxpr([], [v], [v], []))
    lowered = lower_jaxpr(
        closed,
        "with_layout",
        placement.platform,
        locations=False,
        layout_modes=([layout_mode(src_layout)], [layout_mode(layout)]),
    )
    executable = compiler.compile_module(lowered.module, placement.devices, has_locations=False)
    out_shardings = [placement.sharding_of(aval, committed)]
    out_shardings = result_shardings(executable, out_shardings, placement.device)
    return executable, compat.result_handler(aval, out_shardings[0], committed)


def result_shardings(executable: Any, shardings: Sequence[Any], device: Any) -> list[Any]:
    """Return the C++ shardings of a program's results, marked where the layout is custom."""
    layouts = map(layout_of, executable.get_output_layouts())
    return [
        s if layout.on(device) is None else mark_custom_layout(s)
        for layout, s in zip(layouts, shardings, strict=True)
    ]


def argument_layouts(executable: Any, skip: int, device: Any) -> list[Layout | None]:
    """Return the layouts of a program's arguments after the first `skip`."""
    layouts = map(layout_of, executable.get_parameter_layouts()[skip:])
    return [layout.on(device) for layout in layouts]


def auto_result_layouts(jaxpr: Jaxpr) -> list[Any]:
    """Return `Layout.AUTO` for each result that the program itself puts in a layout last,
    and None (the device's default) for all others."""
    cached = jaxpr.memo.get("auto_result_layouts")
    if cached is None:
        put = {
            v
            for eqn in jaxpr.eqns
            for v in eqn.outs
            if isinstance(eqn.params.get("layout"), Layout)
        }
        cached = [Layout.AUTO if x in put else None for x in jaxpr.outvars]
        jaxpr.memo["auto_result_layouts"] = cached
    return cached
