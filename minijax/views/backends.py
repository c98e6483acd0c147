"""Clients, random generators of a library's own, and what compiling is told."""

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
    """The clients that there are, by platform."""
    names = dict.fromkeys((client.default_platform(), "cpu"))
    found = {name: client.backend(name) for name in names}
    for name, made in list(client.factories.items()):
        if name not in found and made.fail_quietly:
            with contextlib.suppress(RuntimeError):
                found[name] = client.backend(name)
    return found


def backend_xla_version(platform: str | None = None) -> int | None:
    """The version of a platform's compiler; None where it is jaxlib's own."""
    return getattr(client.backend(platform), "xla_version", None)


def register_backend_cache(cache: Any, for_what: str) -> None:
    """Have a cache emptied when all programs are forgotten.

    cache: has `cache_clear()`, as that of `functools.lru_cache`.
    for_what: what it is for.
    """
    util.cache(_Cache(cache, for_what))


@dataclasses.dataclass
class _Cache:
    of: Any
    for_what: str

    def clear(self) -> None:
        self.of.cache_clear()


def clear_in_memory_compilation_cache() -> None:
    """Forget all compiled programs."""
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
    """XLA's options for a program on so many devices.

    Args:
      num_replicas, num_partitions: how many devices it runs on, replicas major.
      device_assignment: their ids; the first ones by default.
      env_options_overrides: XLA's flags.
      fdo_profile: what an earlier run told, for the compiler.
      detailed_logging: whether the compiler logs in detail.
      backend: the client whose devices these are; the default one.
    """
    n = num_replicas * num_partitions
    there = client.devices() if backend is None else backend.devices()
    known = {d.id: d for d in there}
    ids = list(range(n)) if device_assignment is None else _flat(device_assignment)
    options = compat.compile_options(
        [known.get(i, _Numbered(i)) for i in ids],
        num_replicas,
        num_partitions,
        env_options_overrides,
    )
    build = options.executable_build_options
    if fdo_profile is not None:
        build.fdo_profile = fdo_profile
    build.debug_options.xla_detailed_logging = detailed_logging
    return options


class _Numbered:
    """A device that is elsewhere."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id


def _flat(ids: Any) -> list[int]:
    nested = isinstance(ids, (list, tuple)) or hasattr(ids, "__iter__")
    return [i for x in ids for i in _flat(x)] if nested else [int(ids)]


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Compile a primitive alone, and run it."""
    return hooks.evaluate.call(prim, args, params)


class _Canonicalizers(MutableMapping[type, Callable[[Any], Any]]):
    """Type of a value -> what makes an array of it."""

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
    """The value with a dtype that is enabled."""
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
    """A way to make random bits; see `PRNGImpl`."""
    return PRNGImpl(key_shape, seed, split, random_bits, fold_in, name, tag)


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
    """A key from a seed."""
    return keys.key(seed, impl=impl)


def random_seed(seeds: Any, impl: PRNGImpl) -> Any:
    """Keys from an array of seeds."""
    return keys.random_seed_p.bind(seeds, impl=implementations.find_impl(impl))


# ------------------------------------------------------------------------- shardings


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """How an array lies, in XLA's message, from its bytes."""
    proto = xla_client.OpSharding()
    proto.ParseFromString(sharding)
    return proto


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """How an array lies, in XLA's words, from bytes."""
    proto = get_op_sharding_from_serialized_proto(sharding)
    return xla_client.HloSharding.from_proto(proto)


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """The bytes of how an array lies."""
    return bytes(sharding.to_proto().SerializeToString())


def safe_map(f: Callable[..., Any], *xs: Sequence[Any]) -> list[Any]:
    """`f` of each row; ValueError if the lists differ in length."""
    return [f(*row) for row in zip(*xs, strict=True)]


def safe_zip(*xs: Sequence[Any]) -> list[Any]:
    """The rows of lists; ValueError if these differ in length."""
    return list(zip(*xs, strict=True))


def backends_are_initialized() -> bool:
    """Whether any client has been made."""
    return bool(client._clients)
