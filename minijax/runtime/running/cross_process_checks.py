"""Checks that all processes run the same programs and pass the same values.

They are compared through the coordination service's key-value store. Programs over devices
of several processes are numbered by each process as it first compiles them. The same number
must be the same program everywhere. A process publishes its own digest before it reads
those of the others. So if two differ, at least one of them notices and ends, and with it
the others, which would otherwise wait in a collective. No process waits for the comparison
of programs.  Next: ../running/compile.py.
"""

from __future__ import annotations

import hashlib
import re
import threading
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir

from ...base import config, errors
from ..backends.cluster import state
from ..lowering.mlir_context import context

if TYPE_CHECKING:
    from ...types.aliases import Value
    from ..backends.jaxlib_types import Device

_counts: dict[tuple[int, ...], int] = {}  # of comparisons, by the processes that compare


def processes_of(devices: Sequence[Device]) -> list[int]:
    """Return the processes that have some of the devices."""
    return sorted({d.process_index for d in devices})


def check_same_value(x: Value, value: np.ndarray[Any, Any], devices: Sequence[Device]) -> None:
    """Check that all processes with some of the devices pass the same value.

    Raises:
      AssertionError: they do not.
    """
    processes = tuple(processes_of(devices))
    if state.client is None or len(processes) < 2 or state.process_id not in processes:
        return
    digest = hashlib.blake2b(f"{value.dtype}{value.shape}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(value).view(np.uint8).data)
    local_digest = digest.digest()
    count = _counts[processes] = _counts.get(processes, -1) + 1
    prefix = f"minijax/values/{'.'.join(map(str, processes))}"
    state.key_value_set(f"{prefix}/{count}/{state.process_id}", local_digest)
    first = processes[0]
    if state.process_id != first:
        all_equal = state.blocking_key_value_get(f"{prefix}/{count}/{first}") == local_digest
    else:
        theirs = [
            state.blocking_key_value_get(f"{prefix}/{count}/{other}") for other in processes[1:]
        ]
        all_equal = all(other == local_digest for other in theirs)
        state.client.key_value_delete(f"{prefix}/{count - 1}")  # all processes have passed it
    if not all_equal:
        raise errors.error(
            AssertionError,
            f"{type(x)} passed to device_put is not the same on each process. Make sure"
            f" you are passing the same value of {type(x)} on each process.",
            which=f"process {state.process_id} passes {value!r}"[:300],
            why="each process puts its shards of one value on its devices.",
            tries=[
                "jax.make_array_from_process_local_data(sharding, x)",
                "multihost_utils.broadcast_one_to_all(x)",
            ],
        )


_SIZE = 16  # of a digest, in bytes
_MOST = 2 << 20  # limit for publishing a compressed program, in bytes
_programs: dict[tuple[int, ...], set[bytes]] = {}  # digests, by the processes that compare


def check_same_program(module: ir.Module, bytecode: bytes, devices: Sequence[Device]) -> None:
    """Check that all processes with some of the devices run the same program.

    bytecode: of the module, without locations; this is compared.

    Raises:
      RuntimeError: another process compiled a different program under the same number.
    """
    processes = tuple(processes_of(devices))
    # Only the main threads have the same order of programs in all processes.
    main = threading.current_thread() is threading.main_thread()
    if len(processes) < 2 or not main or not config.COMPARE_PROGRAMS.peek():
        return
    seen = _programs.setdefault(processes, set())
    digest = hashlib.blake2b(bytecode, digest_size=_SIZE).digest()
    if digest in seen:
        return
    prefix = f"minijax/programs/{'.'.join(map(str, processes))}/{len(seen)}"
    seen.add(digest)
    packed = zlib.compress(bytecode, 1)
    state.key_value_set(
        f"{prefix}/{state.process_id}", digest + (packed if len(packed) < _MOST else b"")
    )
    for key, entry in state.client.key_value_dir_get_bytes(prefix + "/"):
        if entry[:_SIZE] != digest:
            raise _difference_error(module, key.rpartition("/")[2], entry[_SIZE:])


def _difference_error(module: Any, other: str, packed: bytes) -> RuntimeError:
    """Return the error that names the first operation in which two programs differ."""
    name = ir.StringAttr(module.operation.attributes["sym_name"]).value
    which = None
    if packed:
        with context.ir:
            theirs = ir.Module.parse(zlib.decompress(packed))
            other_name = ir.StringAttr(theirs.operation.attributes["sym_name"]).value
            own_text, other_text = (
                str(m.operation.get_asm(enable_debug_info=True)) for m in (module, theirs)
            )
            which = _first_difference(own_text, other_text, state.process_id, other)
        if other_name != name:
            which = f"process {state.process_id} runs {name}, process {other} {other_name}"
    return errors.error(
        RuntimeError,
        f"{name}: process {state.process_id} compiles a different program than process {other}.",
        which=which,
        why="all processes must run the same programs over their devices in the same order."
        " Otherwise they wait for each other forever.",
        tries=[
            "pass values that differ between processes as shards of a global array",
            "run single-process work on local devices only",
            "jax.config.update('minijax_compare_programs', False)",
        ],
    )


def _first_difference(own_text: str, other_text: str, me: int, other: str) -> str:
    """Return the first lines in which two modules differ, with the source of our line."""
    texts = [
        [line.strip() for line in text.splitlines() if not line.startswith("#loc")]
        for text in (own_text, other_text)
    ]
    stripped = [[_LOCATION.sub("", line) for line in text] for text in texts]
    longest = max(map(len, stripped))
    a, b = ([*text, *["(end of the program)"] * (longest - len(text))] for text in stripped)
    k = next((i for i in range(longest) if a[i] != b[i]), longest)
    if k == longest:
        return "their options or signatures, and none of their operations"
    location = _source_location(own_text, texts[0][k]) if k < len(texts[0]) else ""
    return f"process {me}: {a[k][:200]}{location}\n       process {other}: {b[k][:200]}"


_LOCATION = re.compile(r" loc\((?:unknown|#loc\d*)\)")


def _source_location(module: str, line: str) -> str:
    """Return the source of a line of a module: the operation's name, file and line."""
    definitions = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", module, re.M))
    references = re.findall(r"loc\((#loc\d*)\)", line)
    names = []
    name = references[-1] if references else ""
    while name in definitions:
        names.append(re.sub(r"\(#loc\d*\)", "", definitions[name]).strip('"'))
        inner = re.search(r"#loc\d*", definitions[name])
        name = inner[0] if inner else ""
    return f"  ({', '.join(p.replace(chr(34), '') for p in names)})" if names else ""
