"""How values lie on devices, shown: `debug.inspect_array_sharding` and its pictures.

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
from ...passes.key_use import READS
from ...runtime.backends import client
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.lowering import frontend_attributes
from ...runtime.running.compile import OF_THIS_PROCESS
from ...runtime.sharding import shardings
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.shardings import NamedSharding, SingleDeviceSharding
from .effects import Effect


class _Told(Effect):
    """Keeps an equation that acts while its program is lowered."""

    __slots__ = ()
    runs = False


_TOLD = frozenset((_Told("InspectSharding", ordered=False, is_once_per_call=False),))

inspect_sharding_p = Primitive("inspect_sharding", multiple_results=True)
inspect_sharding_p.abstract = lambda x, **params: []
inspect_sharding_p.effects = lambda params: _TOLD
inspect_sharding_p.lowers_key_arrays = True
inspect_sharding_p.uses_keys = READS


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
    over = ctx.module.placement
    if over is not None and len(over.devices) > 1:
        ndim = len(ctx.avals_in[0].shape)

        def told(hlo: Any) -> None:
            if hlo.is_manual():
                callback(NamedSharding(over.mesh, PartitionSpec()))
            else:
                callback(shardings.named(hlo, over.mesh, ndim))

        op = ctx.create(
            "stablehlo.custom_call",
            [x.type],
            [x],
            call_target_name=ctx.string("InspectSharding"),
            has_side_effect=ctx.bool(True),
            api_version=ctx.i32(1),
            backend_config=ctx.string(compat.inspecting(told)),
        )
        frontend_attributes.tag(op, {"asks": OF_THIS_PROCESS})
        ctx.module.keepalive.append(told)
        return []
    device = client.backend(ctx.platform).local_devices()[0]
    callback(SingleDeviceSharding(device))
    return []


inspect_sharding_p.lower = _lower


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], Any]) -> None:
    """Call a function with the sharding of each array.

    In a program it is called once: when the program is lowered or, over several devices,
    when the compiler has laid out its values.

    Args:
      value: a pytree of arrays.
      callback: takes a sharding; what it returns is dropped.

    Returns:
      None.

    Raises:
      TypeError: what is no array.

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
    """Print a picture of how an array lies on devices.

    Args:
      arr: an array of one or two axes.
      kwargs: as for `visualize_sharding`.

    Returns:
      None.

    Raises:
      ValueError: an array of other ranks.

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
    """Print a picture of how arrays of a shape lie on devices: a box for each part.

    Args:
      shape: one or two sizes.
      sharding: how they lie.
      use_color: give each box a colour of its own.
      scale: how large the picture is: 1 is ten lines high.
      min_width, max_width: of the picture, in characters.
      color_map: numbers from 0 to 1 to colours, of three or four floats each, as those of
        matplotlib; or a sequence of such colours.

    Returns:
      None.

    Raises:
      ValueError: another number of sizes.

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
    parts: dict[tuple[int, int], list[Any]] = {}
    for device, index in sharding.devices_indices_map(tuple(shape)).items():
        starts = [s.start or 0 for s in index]
        row, column = [0, *starts][-2:]
        parts.setdefault((row, column), []).append(device)
    rows = sorted({r for r, _ in parts})
    columns = sorted({c for _, c in parts})
    labels = {at: _label(found) for at, found in parts.items()}
    height, length = (1, shape[0]) if len(shape) == 1 else shape
    lines = max(1, int(10 * scale) if len(shape) == 2 else int(3 * scale))
    wide = int(2.5 * lines * length / max(height, 1))
    wide = min(max(wide, min_width), max_width)
    cell = max(wide // len(columns), *(len(t) + 2 for t in labels.values()))
    tall = max(1, lines // len(rows))
    colours = _colours(len(parts), color_map) if use_color else None
    print(_drawn(rows, columns, labels, cell, tall, colours))


def _label(devices: Sequence[Any]) -> str:
    ids = ",".join(str(d.id) for d in sorted(devices, key=lambda d: d.id))
    return f"{devices[0].platform.upper()} {ids}"


def _colours(n: int, given: Any) -> list[tuple[int, ...]]:
    """A colour for each of n parts: red, green and blue, up to 255."""
    if given is None:
        found: Any = [colorsys.hls_to_rgb(i / n, 0.35, 0.6) for i in range(n)]
    elif callable(given):
        found = [given(i / max(n - 1, 1)) for i in range(n)]
    else:
        found = list(itertools.islice(itertools.cycle(given), n))
    return [tuple(round(255 * float(v)) for v in c[:3]) for c in found]


def _drawn(
    rows: Sequence[int],
    columns: Sequence[int],
    labels: dict[tuple[int, int], str],
    cell: int,
    tall: int,
    colours: Any,
) -> str:
    """The picture: a box for each part, its devices in the middle."""
    bar = "─" * cell
    edge = lambda a, b, c: a + b.join([bar] * len(columns)) + c
    out = [edge("┌", "┬", "┐")]
    numbers = itertools.count()
    for i, r in enumerate(rows):
        if i:
            out.append(edge("├", "┼", "┤"))
        paint = [None if colours is None else colours[next(numbers)] for _ in columns]
        for line in range(tall):
            texts = [labels[r, c] if line == tall // 2 else "" for c in columns]
            boxes = [_painted(t.center(cell), p) for t, p in zip(texts, paint, strict=True)]
            out.append("│" + "│".join(boxes) + "│")
    out.append(edge("└", "┴", "┘"))
    return "\n".join(out)


def _painted(text: str, colour: tuple[int, ...] | None) -> str:
    if colour is None:
        return text
    red, green, blue = colour
    return f"\033[48;2;{red};{green};{blue}m{text}\033[0m"
