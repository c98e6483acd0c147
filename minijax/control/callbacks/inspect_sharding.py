"""Inspection of shardings: `debug.inspect_array_sharding` and its pictures.

Next: ../../api.
"""

from __future__ import annotations

import colorsys
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...base import errors, tree
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import READS, Facts
from ...runtime.backends import client
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.lowering import frontend_attributes
from ...runtime.running.compile import OF_THIS_PROCESS
from ...runtime.sharding import shardings
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.shardings import NamedSharding, SingleDeviceSharding
from ..effects.effects import Effect


class _InspectionEffect(Effect):
    """The effect of an equation that calls its callback during lowering or compilation."""

    __slots__ = ()
    runs = False


_EFFECTS = frozenset(
    (_InspectionEffect("InspectSharding", ordered=False, is_once_per_call=False),)
)

inspect_sharding_p = Primitive("inspect_sharding", multiple_results=True)
inspect_sharding_p.abstract = lambda x, **params: []
inspect_sharding_p.effects = lambda params: _EFFECTS
inspect_sharding_p.facts = Facts(uses_keys=READS, lowers_key_arrays=True)


def _impl(x: Any, *, callback: Callable[[Any], Any]) -> list[Any]:
    callback(x.sharding)
    return []


inspect_sharding_p.impl = _impl
inspect_sharding_p.jvp = lambda primals, tangents, **params: (
    inspect_sharding_p.bind(*primals, **params),
    [],
)
inspect_sharding_p.transpose = lambda cts, x, **params: [None]
inspect_sharding_p.batch = lambda axis, args, dims, **params: (
    inspect_sharding_p.bind(*args, **params),
    [],
)


def _lower(ctx: Any, x: Any, *, callback: Callable[[Any], Any]) -> list[Any]:
    placement = ctx.module.placement
    if placement is not None and len(placement.devices) > 1:
        ndim = len(ctx.avals_in[0].shape)

        def callback_hlo(hlo: Any) -> None:
            if hlo.is_manual():
                callback(NamedSharding(placement.mesh, PartitionSpec()))
            else:
                callback(shardings.sharding_of_hlo(hlo, placement.mesh, ndim))

        op = ctx.create(
            "stablehlo.custom_call",
            [x.type],
            [x],
            call_target_name=ctx.string("InspectSharding"),
            has_side_effect=ctx.bool(True),
            api_version=ctx.i32(1),
            backend_config=ctx.string(compat.inspecting(callback_hlo)),
        )
        frontend_attributes.tag(op, {"asks": OF_THIS_PROCESS})
        # The module contains the address of the callback, and keeps it alive.
        ctx.module.keepalive.append(callback_hlo)
        return []
    device = client.backend(ctx.platform).local_devices()[0]
    callback(SingleDeviceSharding(device))
    return []


inspect_sharding_p.lower = _lower


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], Any]) -> None:
    """Call a function with the sharding of each array.

    In a program it is called once: when the program is lowered or, over several devices,
    when the compiler has chosen the shardings.

    Args:
      value: a pytree of arrays.
      callback: takes a sharding; its result is ignored.

    Returns:
      None.

    Raises:
      TypeError: a leaf is not an array.

    Example:
      >>> import minijax as mj
      >>> inspect_array_sharding(mj.numpy.ones(2), callback=lambda s: print(s.memory_kind))
      device
    """
    for x in tree.leaves(value):
        if not isinstance(x, core.Tracer) and not hasattr(x, "sharding"):
            raise errors.type_error(
                f"inspect_array_sharding takes arrays, got {x!r}.", tries=["jnp.asarray(x)"]
            )
        inspect_sharding_p.bind(x, callback=callback)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print a picture of an array's sharding.

    Args:
      arr: an array of one or two axes.
      kwargs: as for `visualize_sharding`.

    Returns:
      None.

    Raises:
      ValueError: the array has another number of axes.

    Example:
      >>> import minijax as mj
      >>> visualize_array_sharding(mj.numpy.ones(3), use_color=False, scale=0.1)
      ┌─────────┐
      │  CPU 0  │
      └─────────┘
    """
    shape = core.aval_of(arr).shape
    inspect_array_sharding(
        arr, callback=lambda sharding: visualize_sharding(shape, sharding, **kwargs)
    )


def visualize_sharding(
    shape: Sequence[int],
    sharding: Any,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Callable[[float], Sequence[float]] | Iterable[Any] | None = None,
) -> None:
    """Print a picture of the sharding of arrays of a shape: a box for each shard.

    Args:
      shape: one or two sizes.
      sharding: the sharding.
      use_color: give each box its own color.
      scale: the size of the picture: 1 is ten lines high.
      min_width, max_width: of the picture, in characters.
      color_map: numbers from 0 to 1 to colors, of three or four floats each, as those of
        matplotlib; or a sequence of such colors.

    Returns:
      None.

    Raises:
      ValueError: `shape` has another number of sizes.

    Example:
      >>> import minijax as mj
      >>> where = mj.numpy.ones(3).sharding
      >>> visualize_sharding((3,), where, use_color=False, scale=0.1)
      ┌─────────┐
      │  CPU 0  │
      └─────────┘
    """
    if len(shape) not in (1, 2):
        raise errors.value_error(
            "`visualize_sharding` only works for shapes with 1 and 2 dimensions.",
            tries=["a slice of the array"],
        )
    shards: dict[tuple[int, int], list[Any]] = {}
    for device, index in sharding.devices_indices_map(tuple(shape)).items():
        starts = [s.start or 0 for s in index]
        row, column = [0, *starts][-2:]
        shards.setdefault((row, column), []).append(device)
    rows = sorted({r for r, _ in shards})
    columns = sorted({c for _, c in shards})
    labels = {at: _label(devices) for at, devices in shards.items()}
    height, length = (1, shape[0]) if len(shape) == 1 else shape
    lines = max(1, int(10 * scale) if len(shape) == 2 else int(3 * scale))
    wide = int(2.5 * lines * length / max(height, 1))
    wide = min(max(wide, min_width), max_width)
    cell = max(wide // len(columns), *(len(t) + 2 for t in labels.values()))
    tall = max(1, lines // len(rows))
    colors = _colors(len(shards), color_map) if use_color else None
    print(_drawn(rows, columns, labels, cell, tall, colors))


def _label(devices: Sequence[Any]) -> str:
    ids = ",".join(str(d.id) for d in sorted(devices, key=lambda d: d.id))
    return f"{devices[0].platform.upper()} {ids}"


def _colors(n: int, color_map: Any) -> list[tuple[int, ...]]:
    """Return a color for each of n shards: red, green and blue, up to 255."""
    if color_map is None:
        colors: Any = [colorsys.hls_to_rgb(i / n, 0.35, 0.6) for i in range(n)]
    elif callable(color_map):
        colors = [color_map(i / max(n - 1, 1)) for i in range(n)]
    else:
        colors = list(itertools.islice(itertools.cycle(color_map), n))
    return [tuple(round(255 * float(v)) for v in c[:3]) for c in colors]


def _drawn(
    rows: Sequence[int],
    columns: Sequence[int],
    labels: dict[tuple[int, int], str],
    cell: int,
    tall: int,
    colors: Any,
) -> str:
    """Return the picture: a box for each shard, with its devices in the middle."""
    bar = "─" * cell
    edge = lambda a, b, c: a + b.join([bar] * len(columns)) + c
    out = [edge("┌", "┬", "┐")]
    numbers = itertools.count()
    for i, r in enumerate(rows):
        if i:
            out.append(edge("├", "┼", "┤"))
        paint = [None if colors is None else colors[next(numbers)] for _ in columns]
        for line in range(tall):
            texts = [labels[r, c] if line == tall // 2 else "" for c in columns]
            boxes = [_painted(t.center(cell), p) for t, p in zip(texts, paint, strict=True)]
            out.append("│" + "│".join(boxes) + "│")
    out.append(edge("└", "┴", "┘"))
    return "\n".join(out)


def _painted(text: str, color: tuple[int, ...] | None) -> str:
    if color is None:
        return text
    red, green, blue = color
    return f"\033[48;2;{red};{green};{blue}m{text}\033[0m"
