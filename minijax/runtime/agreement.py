"""What all processes of a program must have alike: values that each of them gives.

They are compared by what the coordination service keeps, before any goes to a device.
Next: placing.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import errors
from .cluster import state

_counts: dict[
    tuple[int, ...], int
] = {}  # of comparisons, by the processes that compare


def holders(devices: Sequence[Any]) -> list[int]:
    """The processes that have some of the devices."""
    return sorted({d.process_index for d in devices})


def same_value(x: Any, value: np.ndarray[Any, Any], devices: Sequence[Any]) -> None:
    """See to it that all processes that have some of the devices give the same value.

    Raises:
      AssertionError: they do not.
    """
    every = tuple(holders(devices))
    if state.client is None or len(every) < 2 or state.process_id not in every:
        return
    digest = hashlib.blake2b(f"{value.dtype}{value.shape}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(value).view(np.uint8).data)
    mine = digest.digest()
    count = _counts[every] = _counts.get(every, -1) + 1
    where = f"minijax/values/{'.'.join(map(str, every))}"
    state.tell(f"{where}/{count}/{state.process_id}", mine)
    first = every[0]
    if state.process_id != first:
        alike = state.hear(f"{where}/{count}/{first}") == mine
    else:
        theirs = [state.hear(f"{where}/{count}/{other}") for other in every[1:]]
        alike = all(other == mine for other in theirs)
        state.client.key_value_delete(f"{where}/{count - 1}")  # all are beyond it
    if not alike:
        raise errors.error(
            AssertionError,
            f"{type(x)} passed to device_put is not the same on each process. Make sure"
            f" you are passing the same value of {type(x)} on each process.",
            which=f"process {state.process_id} gives {value!r}"[:300],
            why="each process puts on its devices its parts of one value.",
            tries=[
                "jax.make_array_from_process_local_data(sharding, x)",
                "multihost_utils.broadcast_one_to_all(x)",
            ],
        )
