"""Arrays from results of devices, and compile options of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..runtime.backends import jaxlib_compat as compat
from ..runtime.running.device_put import assemble
from ..types.avals import AbstractToken, ShapedArray
from .programs import Token


def _array_of(aval: Any, sharding: Any, committed: bool) -> Callable[[Any], Any]:
    """Return a function that makes an array from shards, in the sharding's device order."""
    return lambda shards: assemble(aval, sharding, list(shards))


def _token_of(aval: Any, sharding: Any, committed: bool) -> Callable[[Any], Any]:
    return lambda shards: Token(shards)


# Type of abstract values -> (aval, sharding, committed) -> function of shards to a value.
global_result_handlers: dict[type, Callable[..., Any]] = {
    ShapedArray: _array_of,
    AbstractToken: _token_of,
}


def global_aval_to_result_handler(
    aval: Any, out_sharding: Any, committed: bool
) -> Callable[[Any], Any]:
    """Return a function that makes a value of this type from its shards."""
    try:
        return global_result_handlers[type(aval)](aval, out_sharding, committed)
    except KeyError:
        raise TypeError(f"No pxla_result_handler for type: {type(aval)}") from None


class ResultsHandler:
    """A function that makes values from the shards of several results."""

    __slots__ = ("handlers", "out_avals", "out_shardings")

    def __init__(self, handlers: Any, out_shardings: Any, out_avals: Any) -> None:
        self.handlers = handlers
        self.out_shardings = out_shardings
        self.out_avals = out_avals

    def __call__(self, out_bufs: Sequence[Any]) -> list[Any]:
        return [h(b) for h, b in zip(self.handlers, out_bufs, strict=True)]


def global_avals_to_results_handler(
    global_out_avals: Sequence[Any], shardings: Sequence[Any], committed: bool
) -> ResultsHandler:
    """Return a function that makes several values from their shards."""
    handlers = [
        global_aval_to_result_handler(a, s, committed)
        for a, s in zip(global_out_avals, shardings, strict=True)
    ]
    return ResultsHandler(handlers, shardings, global_out_avals)


def create_compile_options(
    computation: Any,
    tuple_args: bool,
    allow_prop_to_inputs: Sequence[bool],
    allow_prop_to_outputs: Sequence[bool],
    backend: Any,
    np_dev: Any,
    compiler_options: dict[str, Any] | None,
) -> Any:
    """Return XLA's options for a module on devices.

    Args:
      computation: the module.
      tuple_args: whether its arguments come as one tuple.
      allow_prop_to_inputs, allow_prop_to_outputs: for each argument and result, whether
        the compiler may choose its sharding.
      backend: the client that compiles: any of the devices.
      np_dev: the devices, as an array: one partition per device.
      compiler_options: XLA's flags.
    """
    devices = list(np.asarray(np_dev, object).flat)
    options = compat.compile_options(devices, 1, len(devices), compiler_options)
    options.parameter_is_tupled_arguments = tuple_args
    build = options.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = list(allow_prop_to_inputs)
    build.allow_spmd_sharding_propagation_to_output = list(allow_prop_to_outputs)
    return options
