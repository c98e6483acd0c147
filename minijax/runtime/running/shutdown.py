"""Process exit: running programs are waited for.

If threads of the CPU client compute during shutdown, they read freed memory, and the
process crashes. Results that are still referenced are waited for directly. For other
programs no handle is left. But the programs of one thread usually run in order, so one more
program, started last, ends after them.

Next: dispatch.py.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ...types import dtypes
from ...types.avals import shaped
from ..arrays import transfers
from ..backends import client
from ..backends import jaxlib_compat as compat
from ..lowering.mlir_context import context
from ..sharding import placement as placements
from .compile import compile_module

_LAST_PROGRAM = """
module @wait {
  func.func public @main(%given: tensor<i32>) -> tensor<i32> {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %out = stablehlo.while(%i = %given) : tensor<i32>
      cond {
        %more = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %next = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %next : tensor<i32>
      }
    return %out : tensor<i32>
  }
}
"""  # a loop, because XLA runs cheaper programs immediately, out of order

_process_id = os.getpid()


def wait_for_all() -> None:
    """Wait for the programs that run on this process's CPUs."""
    cpu = client.existing_client("cpu")
    if cpu is None or os.getpid() != _process_id:  # a forked child has no threads to wait for
        return
    with contextlib.suppress(compat.RuntimeFailure):  # errors of results that were never read
        compat.block_all([x for x in cpu.live_arrays() if not x.is_deleted()])
    with contextlib.suppress(compat.RuntimeFailure):  # from a user-defined compiler pass
        _run_last(placements.on_device(cpu.local_devices()[0], committed=False))


def _run_last(placement: Any) -> None:
    with context.ir, context.unknown:
        module = ir.Module.parse(_LAST_PROGRAM)
    executable = compile_module(module, placement.devices, has_locations=False)
    zero = transfers.put_numpy(np.zeros((), np.int32), shaped((), dtypes.int32), placement)
    handler = compat.result_handler(zero.aval, placement.cpp_sharding, False)
    compat.block_all(executable.execute_sharded([zero]).consume_with_handlers([handler]))
