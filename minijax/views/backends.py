"""Clients, compile options, and random generators that libraries define."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

import jaxlib
from jaxlib import xla_client

from ..base import util
from ..ir import core, hooks
from ..ir.core import Primitive
from ..prims.random import implementations
from ..prims.random.implementations import PRNGImpl
from ..runtime.backends import client
from ..runtime.backends import jaxlib_compat as compat
from ..surface.random import keys

jaxlib_version = jaxlib.__version__
Backend = xla_client.Client


def backends() -> dict[str, Any]:
    """Return the existing clients, by platform."""
    names = dict.fromkeys((client.default_platform(), "cpu"))
    clients = {name: client.backend(name) for name in names}
    for name, factory in list(client.factories.items()):
        if name not in clients and factory.fail_quietly:
            with contextlib.suppress(RuntimeError):
                clients[name] = client.backend(name)
    return clients


def backend_xla_version(platform: str | None = None) -> int | None:
    """Return the version of a platform's compiler; None if it is jaxlib's own."""
    return getattr(client.backend(platform), "xla_version", None)


def register_backend_cache(cache: Any, for_what: str) -> None:
    """Clear a cache whenever all caches of programs are cleared.

    cache: an object with `cache_clear()`, such as a function under `functools.lru_cache`.
    for_what: its purpose.
    """
    util.cache(_Cache(cache, for_what))


@dataclasses.dataclass
class _Cache:
    of: Any
    for_what: str

    def clear(self) -> None:
        self.of.cache_clear()


def clear_in_memory_compilation_cache() -> None:
    """Clear the caches of compiled programs."""
    util.clear_caches()


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: dict[str, str] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> Any:
    """Return XLA's options for a program on so many devices.

    Args:
      num_replicas, num_partitions: how many devices it runs on, replicas major.
      device_assignment: their ids; the first ones by default.
      env_options_overrides: XLA's flags.
      fdo_profile: a profile of an earlier run, for the compiler.
      detailed_logging: whether the compiler logs in detail.
      backend: the client whose devices these are; the default one.
    """
    n = num_replicas * num_partitions
    devices = client.devices() if backend is None else backend.devices()
    device_by_id = {d.id: d for d in devices}
    ids = list(range(n)) if device_assignment is None else _flat(device_assignment)
    options = compat.compile_options(
        [device_by_id.get(i, _MissingDevice(i)) for i in ids],
        num_replicas,
        num_partitions,
        env_options_overrides,
    )
    build = options.executable_build_options
    if fdo_profile is not None:
        build.fdo_profile = fdo_profile
    build.debug_options.xla_detailed_logging = detailed_logging
    return options


class _MissingDevice:
    """A device that the client does not have."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id


def _flat(ids: Any) -> list[int]:
    nested = isinstance(ids, (list, tuple)) or hasattr(ids, "__iter__")
    return [i for x in ids for i in _flat(x)] if nested else [int(ids)]


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Compile a single primitive, and run it."""
    return hooks.evaluate.call(prim, args, params)


class _Canonicalizers(MutableMapping[type, Callable[[Any], Any]]):
    """A table from types of values to functions that make arrays of them."""

    def __getitem__(self, kind: type) -> Callable[[Any], Any]:
        if kind not in core.aval_rules:
            raise KeyError(kind)
        return _canonical

    def __setitem__(self, kind: type, handler: Callable[[Any], Any]) -> None:
        if handler is not _canonical:
            core.aval_rules[kind] = lambda x: core.aval_of(handler(x))

    def __delitem__(self, kind: type) -> None:
        del core.aval_rules[kind]

    def __iter__(self) -> Iterator[type]:
        return iter(core.aval_rules)

    def __len__(self) -> int:
        return len(core.aval_rules)


def _canonical(x: Any, *_: Any) -> Any:
    """Return the value with a dtype that is enabled."""
    aval = core.aval_of(x)
    return x if getattr(x, "dtype", aval.dtype) == aval.dtype else x.astype(aval.dtype)


canonicalize_dtype_handlers = _Canonicalizers()


# ----------------------------------------------------------------------------- random


def define_prng_impl(
    *,
    key_shape: tuple[int, ...],
    seed: Callable[..., Any],
    split: Callable[..., Any],
    random_bits: Callable[..., Any],
    fold_in: Callable[..., Any],
    name: str = "<unnamed>",
    tag: str = "?",
) -> PRNGImpl:
    """Define a random generator; see `PRNGImpl`."""
    return PRNGImpl(key_shape, seed, split, random_bits, fold_in, name, tag)


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
    """Return the key of a seed."""
    return keys.key(seed, impl=impl)


def random_seed(seeds: Any, impl: PRNGImpl) -> Any:
    """Return the keys of an array of seeds."""
    return keys.random_seed_p.bind(seeds, impl=implementations.find_impl(impl))


# ------------------------------------------------------------------------- shardings


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """Parse a sharding as XLA's protocol message from its bytes."""
    proto = xla_client.OpSharding()
    proto.ParseFromString(sharding)
    return proto


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """Parse a sharding as XLA's `HloSharding` from bytes."""
    proto = get_op_sharding_from_serialized_proto(sharding)
    return xla_client.HloSharding.from_proto(proto)


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """Serialize an `HloSharding`."""
    return bytes(sharding.to_proto().SerializeToString())


def safe_map(f: Callable[..., Any], *xs: Sequence[Any]) -> list[Any]:
    """Return `f` of each row; ValueError if the lists differ in length."""
    return [f(*row) for row in zip(*xs, strict=True)]


def safe_zip(*xs: Sequence[Any]) -> list[Any]:
    """Return the rows of lists; ValueError if these differ in length."""
    return list(zip(*xs, strict=True))


def backends_are_initialized() -> bool:
    """Whether any client exists."""
    return bool(client._clients)
