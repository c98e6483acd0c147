"""Reader and writer of FlatBuffers: tables of numbered, optional fields.

To write, a table is a dict `{number: (kind, value)}` of fields; to read, its fields are
looked up by number.  The format: https://flatbuffers.dev/internals.

This module knows only the format.  api/export/serialization.py defines the tables.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

Fields = dict[int, tuple[str, Any]]

# Kinds of fields: numbers by their `struct` codes, "text", "bytes", "table", and lists of
# numbers ("[I"), of texts ("[text") and of tables ("[table").
_SIZES = {"b": 1, "B": 1, "?": 1, "h": 2, "H": 2, "i": 4, "I": 4}


class _TableWriter:
    """Writes a table before its children: references point forwards."""

    def __init__(self) -> None:
        self.data = bytearray(4)  # space for the reference to the root

    def align(self, size: int, ahead: int = 0) -> None:
        """Pad, so that after `ahead` more bytes the position is a multiple of `size`."""
        self.data += bytes(-(len(self.data) + ahead) % size)

    def refer(self, at: int) -> None:
        """Set the reference at `at` to the current position."""
        struct.pack_into("<I", self.data, at, len(self.data) - at)

    def table(self, fields: Fields) -> int:
        """Write a table and its children; return the table's position."""
        offsets_of, size = {}, 4  # the first 4 bytes refer to the table of offsets
        for number, (kind, _) in sorted(fields.items()):
            width = _SIZES.get(kind, 4)
            size += -size % width
            offsets_of[number] = size
            size += width
        count = max(fields, default=-1) + 1
        self.align(2)
        # The table of offsets precedes the table, which must start at a multiple of 4.
        self.align(4, ahead=4 + 2 * count)
        offsets = [offsets_of.get(i, 0) for i in range(count)]
        self.data += struct.pack(f"<{2 + count}H", 4 + 2 * count, size, *offsets)
        start = len(self.data)
        self.data += struct.pack("<i", 4 + 2 * count) + bytes(size - 4)
        references = []
        for number, (kind, value) in fields.items():
            at = start + offsets_of[number]
            if kind in _SIZES:
                struct.pack_into("<" + kind, self.data, at, value)
            else:
                references.append((at, kind, value))
        for at, kind, value in references:
            self.value(at, kind, value)
        return start

    def value(self, at: int, kind: str, value: Any) -> None:
        """Write a value, and set the reference at `at` to it."""
        if kind == "table":
            target = self.table(value)
            struct.pack_into("<I", self.data, at, target - at)
            return
        if kind in ("text", "bytes"):
            value = value.encode() if kind == "text" else value
            self.align(4)
            self.refer(at)
            self.data += struct.pack("<I", len(value)) + value + b"\0"
            return
        kind = kind[1:]
        self.align(4)
        self.refer(at)
        self.data += struct.pack("<I", len(value))
        if kind in _SIZES:
            self.data += struct.pack(f"<{len(value)}{kind}", *value)
            return
        start = len(self.data)
        self.data += bytes(4 * len(value))
        for i, one in enumerate(value):
            self.value(start + 4 * i, kind, one)


def write(fields: Fields) -> bytearray:
    """Return the bytes of a table.

    >>> table = read(write({0: ("H", 7), 2: ("text", "seven"), 3: ("[I", [1, 2])}))
    >>> table.number(0, "H"), table.number(1, "H"), table.text(2), table.numbers(3, "I")
    (7, 0, 'seven', (1, 2))
    """
    writer = _TableWriter()
    root = writer.table(fields)
    struct.pack_into("<I", writer.data, 0, root)
    return writer.data


class Table:
    """A table in a buffer; a missing field reads as 0, None or empty."""

    __slots__ = ("data", "start")

    def __init__(self, data: Any, start: int) -> None:
        self.data = data
        self.start = start

    def _position(self, number: int) -> int:
        """Return the position of a field, or 0 if it is missing."""
        offsets = self.start - self._unpack("i", self.start)
        entry = 4 + 2 * number
        if entry >= self._unpack("H", offsets):
            return 0
        offset = self._unpack("H", offsets + entry)
        return self.start + offset if offset else 0

    def _unpack(self, kind: str, at: int) -> Any:
        return struct.unpack_from("<" + kind, self.data, at)[0]

    def _target(self, at: int) -> int:
        return at + int(self._unpack("I", at))

    def _string(self, at: int) -> bytes:
        size = self._unpack("I", at)
        data = bytes(self.data[at + 4 : at + 4 + size])
        if len(data) != size:
            raise struct.error("a string ends beyond the buffer")
        return data

    def number(self, field: int, kind: str) -> Any:
        at = self._position(field)
        return self._unpack(kind, at) if at else 0

    def bytes(self, field: int) -> bytes:
        at = self._position(field)
        return self._string(self._target(at)) if at else b""

    def text(self, field: int) -> str:
        return self.bytes(field).decode()

    def table(self, field: int) -> Table | None:
        at = self._position(field)
        return Table(self.data, self._target(at)) if at else None

    def _each(self, field: int, width: int, read: Callable[[int], Any]) -> tuple[Any, ...]:
        at = self._position(field)
        if not at:
            return ()
        start = self._target(at)
        count = self._unpack("I", start)
        return tuple([read(start + 4 + width * i) for i in range(count)])

    def numbers(self, field: int, kind: str) -> tuple[Any, ...]:
        return self._each(field, _SIZES[kind], lambda at: self._unpack(kind, at))

    def texts(self, field: int) -> tuple[str, ...]:
        read = lambda at: self._string(self._target(at)).decode()
        return self._each(field, 4, read)

    def tables(self, field: int) -> Sequence[Table]:
        return self._each(field, 4, lambda at: Table(self.data, self._target(at)))


def read(data: Any) -> Table:
    """Return the root table of a buffer; raise struct.error if there is none."""
    view = memoryview(data)
    return Table(view, struct.unpack_from("<I", view)[0])
