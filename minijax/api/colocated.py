"""Python functions that run in the processes that own the devices of their arguments.

Each process of a program runs the function itself, on arrays in its host's memory.  The
function may read files, keep state, and do other work that a compiled program cannot do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import errors, tree
from ..base.source import name_of, wraps
from ..ir import core
from ..runtime.arrays.array import ARRAYS
from ..runtime.backends import client
from ..runtime.sharding.mesh import Mesh
from ..runtime.sharding.shardings import NamedSharding, SingleDeviceSharding
from .devices import device_put

if TYPE_CHECKING:
    from inspect import Signature

    from ..runtime.backends.jaxlib_types import Device
    from ..types.aliases import PyTree


def _cpu_of(device: Any) -> Any:
    """Return the CPU device that corresponds to a device, on the same host."""
    if device.platform == "cpu":
        return device
    host_devices = sorted(
        (d for d in device.client.devices() if d.process_index == device.process_index),
        key=lambda d: d.id,
    )
    host_cpus = [d for d in client.devices("cpu") if d.process_index == device.process_index]
    position = host_devices.index(device)
    if position >= len(host_cpus):
        raise errors.value_error(
            f"The host of {device} has {len(host_cpus)} CPU devices, but needs"
            f" {len(host_devices)}, one for each of its devices.",
            tries=[f"jax.config.update('jax_num_cpu_devices', {len(host_devices)})"],
        )
    return host_cpus[position]


def colocated_cpu_devices(devices_or_mesh: Sequence[Device] | Mesh) -> Sequence[Device] | Mesh:
    """Return the CPU devices that correspond to devices, each on the same host.

    Args:
      devices_or_mesh: a sequence of devices, or a mesh.

    Returns:
      A list with one CPU device per device; for a mesh, a mesh of CPU devices.

    Raises:
      ValueError: a host has fewer CPU devices than other devices.

    Example:
      >>> import minijax as mj
      >>> colocated_cpu_devices(mj.devices('cpu')[:1])
      [CpuDevice(id=0)]
    """
    if isinstance(devices_or_mesh, Mesh):
        flat = np.empty(len(devices_or_mesh.flat), object)
        flat[:] = [_cpu_of(d) for d in devices_or_mesh.flat]
        grid = flat.reshape(devices_or_mesh.axis_sizes)
        return Mesh(grid, devices_or_mesh.axis_names, devices_or_mesh.axis_types)
    return [_cpu_of(d) for d in devices_or_mesh]


def _specs(values: PyTree) -> PyTree:
    return tree.map(lambda x: (tuple(x.shape), np.dtype(x.dtype)), values)


def _check_arguments(name: str, args: Any, devices: Any) -> Any:
    """Return the devices of a call's arguments, which must be the same for all."""
    common_devices = devices
    for x in tree.leaves(args):
        if isinstance(x, core.Tracer):
            raise core.leak_error(x)
        if type(x) not in ARRAYS:
            raise errors.value_error(
                f"colocated_python function takes JAX arrays, got {type(x)}.",
                which=name,
                tries=["device_put(x, sharding)"],
            )
        arg_devices = frozenset(x.devices())
        if common_devices is not None and arg_devices != common_devices:
            raise errors.value_error(
                "All arguments of a colocated_python function must be on the same devices.",
                which=f"{name}: {sorted(d.id for d in arg_devices)} and"
                f" {sorted(d.id for d in common_devices)}",
            )
        common_devices = arg_devices
    if common_devices is None:
        raise errors.value_error(
            "No devices found. colocated_python function without input arguments must be"
            " first specialized with devices.",
            which=name,
            tries=["f.specialize(devices=jax.devices())"],
        )
    return common_devices


def make_callable(
    fun: Callable[..., Any],
    fun_sourceinfo: str | None = None,
    fun_signature: Signature | None = None,
    *,
    devices: Sequence[Device] | None = None,
    in_specs: PyTree = None,
    out_specs_fn: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Return a function that runs on the hosts of its arguments: see `colocated_python`.

    Args:
      fun: the function.
      fun_sourceinfo: where it is defined, for errors.
      fun_signature: its signature; ignored.
      devices: the devices, needed if there are no arguments.
      in_specs: the required types of the arguments, as a pair of args and kwargs.
      out_specs_fn: a function that returns the types of the results.

    Returns:
      The function, with a method `specialize`.

    Example:
      >>> import minijax as mj
      >>> make_callable(lambda x: x + 1)(mj.device_put(1., mj.devices()[0]))
      Array(2., dtype=float32, weak_type=True)
    """
    name = fun_sourceinfo or name_of(fun)
    fixed = None if devices is None else frozenset(devices)

    @wraps(fun)
    def colocated(*args: Any, **kwargs: Any) -> Any:
        arg_devices = _check_arguments(name, (args, kwargs), fixed)
        if in_specs is not None and _specs((args, kwargs)) != _specs(in_specs):
            raise errors.value_error(
                "Input specs of the colocated_python function do not match:"
                f" {_specs((args, kwargs))}, not {_specs(in_specs)}.",
                which=name,
            )
        out = fun(*args, **kwargs)
        if out_specs_fn is not None:
            out_specs = out_specs_fn(*args, **kwargs)
            out = tree.map(_placed, out_specs, out)
            if _specs(out) != _specs(out_specs):
                raise errors.value_error(
                    "Results of the colocated_python function do not match out_specs_fn:"
                    f" {_specs(out)}, not {_specs(out_specs)}.",
                    which=name,
                )
        elif len(arg_devices) == 1:
            (device,) = arg_devices
            out = tree.map(lambda x: device_put(x, device), out)
        return out

    def specialize(
        in_specs: Any = in_specs,
        out_specs_fn: Any = out_specs_fn,
        devices: Sequence[Any] | None = devices,
    ) -> Callable[..., Any]:
        return make_callable(
            fun,
            fun_sourceinfo,
            fun_signature,
            devices=devices,
            in_specs=in_specs,
            out_specs_fn=out_specs_fn,
        )

    colocated.specialize = specialize  # type: ignore[attr-defined]
    return colocated


def _placed(spec: Any, x: Any) -> Any:
    sharding = getattr(spec, "sharding", None)
    if isinstance(sharding, (NamedSharding, SingleDeviceSharding)):
        return device_put(x, sharding)
    return x


def colocated_python(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Run a Python function on the hosts of its arguments' devices.

    Args:
      fun: a function of arrays on CPU devices, which returns a tree of arrays.

    Returns:
      The function.  `f.specialize(in_specs, out_specs_fn, devices)` sets the types of its
      arguments and results, and its devices if it has no arguments.

    Raises:
      ValueError: arguments are on different devices, or results do not match the specs.

    Example:
      >>> import minijax as mj
      >>> f = colocated_python(lambda x: x + 1)
      >>> f(mj.device_put(1., mj.devices()[0]))
      Array(2., dtype=float32, weak_type=True)
    """
    return make_callable(fun)


def colocated_python_class(cls: type[object]) -> type[object]:
    """Return a class whose objects and methods run on the hosts of the arguments' devices.

    Args:
      cls: the class.

    Returns:
      A class with the same methods, each wrapped by `colocated_python`.  The object is
      created at the first call of a method.

    Example:
      >>> import minijax as mj
      >>> @colocated_python_class
      ... class Count:
      ...     def __init__(self, start): self.n = start
      ...     def add(self, x): self.n = self.n + x; return self.n
      >>> count = Count(1)
      >>> count.add(mj.device_put(2., mj.devices()[0]))
      Array(3., dtype=float32, weak_type=True)
    """
    return wrap_class(cls)


def wrap_class(cls: type[object], cls_sourceinfo: str | None = None) -> type[object]:
    """Wrap a class as `colocated_python_class` does, with a name for errors.

    Args:
      cls: the class.
      cls_sourceinfo: where it is defined, for errors.

    Returns:
      A class with the same methods, each wrapped by `colocated_python`.

    Example:
      >>> wrap_class(dict, "a dictionary").__name__
      'dict'
    """
    label = cls_sourceinfo or cls.__name__

    class Colocated:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._make = functools.cache(lambda: cls(*args, **kwargs))

        def __getattr__(self, name: str) -> Any:
            method = getattr(cls, name, None)
            if not callable(method) or name.startswith("__"):
                raise AttributeError(
                    f"{cls.__name__}.{name}: only methods of a colocated class are available."
                )

            @wraps(method)
            def call(*args: Any, **kwargs: Any) -> Any:
                return getattr(self._make(), name)(*args, **kwargs)

            colocated_method = make_callable(call, f"{label}.{name}")
            self.__dict__[name] = colocated_method
            return colocated_method

    Colocated.__name__ = cls.__name__
    Colocated.__qualname__ = cls.__qualname__
    Colocated.__doc__ = cls.__doc__
    return Colocated
