"""Layouts: in which order the elements of an array lie in a device's memory.

Arrays lie in the device's own order, mostly the last axis first, unless a `Format` says
otherwise: of `device_put`, or of a compiled function's arguments and results.  Those bear
a C++ sharding of the class `LaidOut`, or `LaidOutOver` (sharding.py): so dispatch sees that
another program, which is compiled for the device's own order, cannot take them as they are
(layout_conversion.py, partitioned_placement.py).  Inside of programs the compiler chooses, and
`with_layout_constraint` (prims/layout.py) tells it to.

Next: ../arrays/array.py, whose `format` is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...base import errors
from .shardings import Sharding


class AutoLayout:
    """Leaves the layout to the compiler: `Layout.AUTO`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AUTO"


@dataclass(frozen=True)
class Layout:
    """The order in which the elements of an array lie in memory.

    Args:
      major_to_minor: the axes, that of the longest stride first.
      tiling: the shapes of tiles, a tuple of tuples of ints; None: as the device has it.
      sub_byte_element_size_in_bits: the size of elements of less than a byte; 0: a whole
        one each.

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
        """Whether the last axis comes first, without tiles: mostly the device's own."""
        own = tuple(range(len(self.major_to_minor)))
        return self.major_to_minor == own and not self.tiling

    @property
    def mode(self) -> str:
        """What XLA is told of an argument or result that lies so."""
        tiles = "".join(f"({','.join(map(str, tile))})" for tile in self.tiling or ())
        minor_to_major = ",".join(map(str, reversed(self.major_to_minor)))
        return f"{{{minor_to_major}:T{tiles}}}" if tiles else f"{{{minor_to_major}}}"

    def on(self, device: Any) -> Layout | None:
        """What is special about a layout found on a device; None: it is its own."""
        layout = self
        if self.tiling and chooses_tiles(device):
            layout = Layout(self.major_to_minor)
        return None if layout.is_default else layout

    def check(self, shape: tuple[int, ...], what: str) -> None:
        """ValueError unless it is one of arrays of this shape."""
        if sorted(self.major_to_minor) != list(range(len(shape))):
            raise errors.value_error(
                f"One of {what} is incompatible with its layout annotation {self}: Length"
                " of major_to_minor and the rank of the value should match. Got"
                f" major_to_minor={self.major_to_minor} and shape={shape}",
                tries=["each axis once"],
            )


class Format:
    """A layout, and the sharding that says on which devices.

    Args:
      layout: a `Layout`, `Layout.AUTO`, or None: the device's own.
      sharding: a sharding, or None.

    Raises:
      TypeError: they are something else.
      ValueError: a `Layout`, and no sharding.

    Example:
      >>> Format()
      Format(layout=None, sharding=None)
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Any = None, sharding: Any = None) -> None:
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

    def place(self, shape: tuple[int, ...], what: str) -> Any:
        """The sharding of an array of this shape, and its layout: None, if it is the
        device's own.

        Raises:
          ValueError: the layout is that of other shapes.
          NotImplementedError: it has tiles, and the devices choose theirs.
        """
        if not isinstance(self.layout, Layout):
            return self.sharding, None
        self.layout.check(shape, what)
        for device in getattr(self.sharding, "devices", ())[:1]:
            check_tiles(self.layout, device, what)
        return self.sharding, None if self.layout.is_default else self.layout


def chooses_tiles(device: Any) -> bool:
    """Whether a device's own layouts have tiles, which differ by shape and dtype."""
    return device.platform not in ("cpu", "gpu", "cuda", "rocm")


def check_tiles(layout: Layout, device: Any, what: str) -> None:
    """NotImplementedError for tiles of the user's where the device has its own."""
    if layout.tiling and chooses_tiles(device):
        raise errors.error(
            NotImplementedError,
            f"{what}: arrays of {layout} are not supported.",
            which=f"{device}",
            why="tiles are this device's to choose.",
            tries=["with_layout_constraint inside of a program", "tiling=None"],
        )


def layout_of(native: Any) -> Layout:
    """The `Layout` of one of jaxlib's."""
    inner = native._xla_layout()
    return Layout(
        tuple(reversed(inner.minor_to_major())),
        tuple(map(tuple, inner.tiling())),
        inner.element_size_in_bits(),
    )
