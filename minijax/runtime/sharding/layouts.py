"""Layouts: the order of an array's elements in a device's memory.

Arrays have the device's default layout, usually row-major, unless a `Format` passed to
`device_put` or to a compiled function requests another. Arrays with another layout have a
C++ sharding of class `CustomLayoutSharding` or `CustomLayoutMeshSharding` (shardings.py).
From that class, dispatch sees that a program compiled for default layouts cannot take them
(../running/resharding.py converts them). Inside programs the compiler chooses layouts,
unless `with_layout_constraint` (prims/layout.py) fixes one.

Next: ../arrays/array.py, which has the property `format`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...base import errors
from .shardings import Sharding, has_custom_layout, mark_custom_layout

if TYPE_CHECKING:
    from ...types.aliases import Shape
    from ..backends.jaxlib_types import Buffer, CppSharding, Device, Executable


class AutoLayout:
    """Type of `Layout.AUTO`, which leaves the layout to the compiler."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AUTO"


@dataclass(frozen=True)
class Layout:
    """The order of an array's elements in memory.

    Args:
      major_to_minor: the axes, in order of decreasing stride.
      tiling: the shapes of tiles, a tuple of tuples of ints; None: the device's default.
      sub_byte_element_size_in_bits: the size of packed elements smaller than a byte; 0:
        each element takes whole bytes.

    Example:
      >>> Layout((1, 0))
      Layout(major_to_minor=(1, 0), tiling=None, sub_byte_element_size_in_bits=0)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    AUTO = AutoLayout()

    def __post_init__(self) -> None:
        object.__setattr__(self, "major_to_minor", tuple(self.major_to_minor))
        if self.tiling is not None:
            object.__setattr__(self, "tiling", tuple(map(tuple, self.tiling)))

    @property
    def is_default(self) -> bool:
        """Whether the layout is row-major without tiles, usually the device's default."""
        own = tuple(range(len(self.major_to_minor)))
        return self.major_to_minor == own and not self.tiling

    @property
    def mode(self) -> str:
        """XLA's layout mode for an argument or result with this layout."""
        tiles = "".join(f"({','.join(map(str, tile))})" for tile in self.tiling or ())
        minor_to_major = ",".join(map(str, reversed(self.major_to_minor)))
        return f"{{{minor_to_major}:T{tiles}}}" if tiles else f"{{{minor_to_major}}}"

    def on(self, device: Device) -> Layout | None:
        """Return the layout of an array on a device; None if it is the device's default."""
        layout = self
        if self.tiling and chooses_tiles(device):
            layout = Layout(self.major_to_minor)
        return None if layout.is_default else layout

    def check(self, shape: Shape, what: str) -> None:
        """Raise ValueError unless the layout fits arrays of this shape."""
        if sorted(self.major_to_minor) != list(range(len(shape))):
            raise errors.value_error(
                f"One of {what} is incompatible with its layout annotation {self}: Length"
                " of major_to_minor and the rank of the value should match. Got"
                f" major_to_minor={self.major_to_minor} and shape={shape}",
                tries=["each axis once"],
            )


class Format:
    """A layout together with a sharding.

    Args:
      layout: a `Layout`, `Layout.AUTO`, or None: the device's default.
      sharding: a sharding, or None.

    Raises:
      TypeError: `layout` or `sharding` has another type.
      ValueError: a `Layout` without a sharding.

    Example:
      >>> Format()
      Format(layout=None, sharding=None)
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Layout | AutoLayout | None = None, sharding: Any = None) -> None:
        if layout is not None and not isinstance(layout, (Layout, AutoLayout)):
            raise errors.type_error(
                "Invalid value received for the layout argument. Expected values are"
                f" `None`, `Layout.AUTO` or an instance of `Layout`. Got {layout} of type"
                f" {type(layout)}"
            )
        if sharding is not None and not isinstance(sharding, Sharding):
            raise errors.type_error(
                "Invalid value received for the sharding argument. Expected values are"
                f" `None` or an instance of `jax.Sharding`. Got {sharding} of type"
                f" {type(sharding)}"
            )
        if isinstance(layout, Layout) and sharding is None:
            raise errors.value_error(
                f"Sharding has to be concrete when layout is of type {type(layout)}. Please"
                " pass a `jax.sharding.NamedSharding` or"
                " `jax.sharding.SingleDeviceSharding` to the sharding argument. Got"
                f" sharding {sharding}"
            )
        self.layout = layout
        self.sharding = sharding

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Format):
            return NotImplemented
        return (self.layout, self.sharding) == (other.layout, other.sharding)

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"

    def sharding_and_layout(self, shape: tuple[int, ...], what: str) -> Any:
        """Return the sharding of an array of this shape, and its layout (None: the device's
        default).

        Raises:
          ValueError: the layout is for arrays of another rank.
          NotImplementedError: the layout has tiles, and the device chooses its own.
        """
        if not isinstance(self.layout, Layout):
            return self.sharding, None
        self.layout.check(shape, what)
        for device in getattr(self.sharding, "devices", ())[:1]:
            check_tiles(self.layout, device, what)
        return self.sharding, None if self.layout.is_default else self.layout


def chooses_tiles(device: Device) -> bool:
    """Whether a device's default layouts have tiles, which depend on shape and dtype."""
    return device.platform not in ("cpu", "gpu", "cuda", "rocm")


def check_tiles(layout: Layout, device: Device, what: str) -> None:
    """Raise NotImplementedError for a user's tiles on a device that chooses its own."""
    if layout.tiling and chooses_tiles(device):
        raise errors.error(
            NotImplementedError,
            f"{what}: arrays of {layout} are not supported.",
            which=f"{device}",
            why="this device chooses the tiles of its layouts itself.",
            tries=["with_layout_constraint inside a program", "tiling=None"],
        )


def layout_of(native: Any) -> Layout:
    """Return the `Layout` of a jaxlib layout."""
    inner = native._xla_layout()
    return Layout(
        tuple(reversed(inner.minor_to_major())),
        tuple(map(tuple, inner.tiling())),
        inner.element_size_in_bits(),
    )


def buffer_layout(buffer: Buffer) -> Layout | None:
    """Return the layout of an ArrayImpl; None: the device's default."""
    if not has_custom_layout(buffer):
        return None
    return layout_of(buffer._pjrt_layout).on(next(iter(buffer.devices())))


def layout_mode(layout: Layout | AutoLayout | None) -> str:
    """Return XLA's layout mode for a layout; None: the device's default."""
    if layout is None:
        return "default"
    return "auto" if isinstance(layout, AutoLayout) else layout.mode


def result_shardings(
    executable: Executable, shardings: Sequence[CppSharding], device: Device
) -> list[Any]:
    """Return the C++ shardings of a program's results, marked where the layout is custom."""
    layouts = map(layout_of, executable.get_output_layouts())
    return [
        s if layout.on(device) is None else mark_custom_layout(s)
        for layout, s in zip(layouts, shardings, strict=True)
    ]


def argument_layouts(executable: Executable, skip: int, device: Device) -> list[Layout | None]:
    """Return the layouts of a program's arguments after the first `skip`."""
    layouts = map(layout_of, executable.get_parameter_layouts()[skip:])
    return [layout.on(device) for layout in layouts]
