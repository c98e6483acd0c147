"""User-defined passes in XLA's compiler, which take and return HLO modules as bytes.

While any are registered, compiled programs are not cached, since no key can express what
the passes do. Next: compile.py.
"""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from ...base import errors
from ..backends import client

Pass = Callable[[bytes], bytes | None]


class PipelineStage(enum.IntEnum):
    """The pipeline stage at which a pass runs."""

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


# (name, stage, platforms or None) of the registered passes.
registered: list[tuple[str, PipelineStage, tuple[str, ...] | None]] = []


def _compiler(stage: Any) -> Any:
    if not isinstance(stage, PipelineStage):
        raise TypeError(f"stage must be a PipelineStage enum, got {type(stage)}")
    try:
        return importlib.import_module("jaxlib._xla")
    except ImportError:
        raise errors.error(
            NotImplementedError,
            "This jaxlib has no user-defined compiler passes.",
            tries=["jaxlib 0.10.2"],
        ) from None


def _names(platforms: Sequence[str] | str | None) -> tuple[str, ...] | None:
    if platforms is None or isinstance(platforms, str):
        return None if platforms is None else (platforms,)
    return tuple(platforms)


def register_hlo_module_transformation(
    callback: Pass,
    *,
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Register a function that the compiler calls with each program.

    Args:
      callback: takes an HLO module as a serialized `HloModuleProto`; returns another, or
        None to leave it unchanged. Passes run in the order of registration.
      name: the name of the pass.
      stage: when it runs.
      platforms: the platforms it applies to; None: all.

    Raises:
      TypeError: `stage` is not a `PipelineStage`.
      NotImplementedError: this jaxlib has no user-defined passes.

    Example:
      >>> import minijax as mj
      >>> sizes = []
      >>> note = lambda module: sizes.append(len(module))
      >>> register_hlo_module_transformation(note, name='note', platforms='cpu')
      >>> mj.jit(lambda x: x * 7 + 3)(1.0)
      Array(10., dtype=float32, weak_type=True)
      >>> clear_hlo_module_transformation('note', platforms='cpu') and len(sizes)
      1
    """
    compiler, names = _compiler(stage), _names(platforms)
    if names is None or "cpu" in names:
        compiler.register_xla_transform(name, int(stage), callback)
    registered.append((name, stage, names))

    def register(platform: str, platform_client: Any) -> None:
        is_registered = any(r[:2] == (name, stage) for r in registered)
        if is_registered and platform != "cpu" and (names is None or platform in names):
            compiler.register_xla_transform_c_api(platform_client, name, int(stage), callback)

    client.watch_clients(register)


def clear_hlo_module_transformation(
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> bool:
    """Remove the passes of a name.

    Args:
      name, stage, platforms: as they were registered.

    Returns:
      Whether any pass was removed.

    Example:
      >>> clear_hlo_module_transformation('unknown')
      False
    """
    compiler, names = _compiler(stage), _names(platforms)
    removed = False

    def remaining(entry: Any) -> Any:
        """Return the entry of a pass for the platforms that remain, or None."""
        if entry[:2] != (name, stage):
            return entry
        if names is None:
            return None
        if entry[2] is None:
            return entry
        others = tuple(p for p in entry[2] if p not in names)
        return (name, stage, others) if others else None

    if names is None or "cpu" in names:
        removed = bool(compiler.clear_xla_transform(name, int(stage)))
    for platform, platform_client in client.started_clients():
        if platform != "cpu" and (names is None or platform in names):
            removed |= bool(
                compiler.clear_xla_transform_c_api(platform_client, name, int(stage))
            )
    registered[:] = [r for r in map(remaining, registered) if r is not None]
    return removed
