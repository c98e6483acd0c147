"""The mesh of `with mesh:`, as programs asked for it before `set_mesh`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import config
from ..runtime.mesh import Mesh


class ResourceEnv:
    """The mesh of the block `with mesh:` around; an empty one where there is none."""

    __slots__ = ("_mesh",)

    def __init__(self, physical_mesh: Any = None) -> None:
        self._mesh = physical_mesh

    @property
    def physical_mesh(self) -> Mesh:
        mesh = config.ENTERED_MESH.value if self._mesh is None else self._mesh
        return mesh if isinstance(mesh, Mesh) else empty_mesh()

    def with_mesh(self, mesh: Mesh) -> ResourceEnv:
        """One with another mesh."""
        return ResourceEnv(mesh)

    @property
    def physical_resource_axes(self) -> set[Any]:
        return set(self.physical_mesh.axis_names)

    resource_axes = physical_resource_axes

    @property
    def shape(self) -> Any:
        return self.physical_mesh.shape

    @property
    def local_shape(self) -> Any:
        return self.physical_mesh.local_mesh.shape

    def __repr__(self) -> str:
        return f"ResourceEnv(mesh={self.physical_mesh!r})"


class _ThreadResources:
    """What is current in this thread."""

    env = ResourceEnv()


thread_resources = _ThreadResources()


def empty_mesh() -> Mesh:
    """A mesh without devices."""
    return Mesh(np.empty(0, dtype=object), ())
