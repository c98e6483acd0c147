"""The user's shardings and layouts for a compiled function's arguments and results.

`in_shardings` and `out_shardings` are pytree prefixes of the arguments and results.  Their
shardings become constraints in the program; their formats also fix the layouts in memory.
Next: jitted.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base import errors, tree
from ...ir.jaxpr import Jaxpr, cached_on_jaxpr
from ...prims.sharding_constraint import broadcast_sharding_prefix, concrete
from ...runtime.arrays.array import ARRAYS, base_array
from ...runtime.sharding.layouts import (
    AutoLayout,
    Format,
    Layout,
    buffer_layout,
    layout_mode,
)
from ...runtime.sharding.mesh import Mesh, current_mesh
from ...runtime.sharding.partition_spec import UNCONSTRAINED, PartitionSpec
from ...runtime.sharding.shardings import UNSPECIFIED, Sharding

# The layouts of arguments and of results; None: the default layout of the device.
Layouts = tuple[list[Any], list[Any]]


def requested_layout(user_sharding: Any, shape: tuple[int, ...], what: str) -> Any:
    """Return the layout of a sharding or `Format`; None: the device's default."""
    if not isinstance(user_sharding, Format):
        return None
    _, layout = user_sharding.sharding_and_layout(shape, what)
    return user_sharding.layout if isinstance(user_sharding.layout, AutoLayout) else layout


def current_layout(x: Any) -> Any:
    """Return the layout of an argument or its type; None: the device's default."""
    if type(x) in ARRAYS:
        return buffer_layout(base_array(x))
    layout = getattr(x, "layout", None)
    if not isinstance(layout, Layout):
        return None
    devices = getattr(x.sharding, "devices", ())
    return layout.on(devices[0]) if devices else None


def argument_layout(user_sharding: Any, x: Any, what: str) -> Any:
    """Return the layout of an argument: the requested one, or else its current one.

    Raises:
      ValueError: it is committed, and its layout differs from the requested one.
    """
    own = current_layout(x)
    if not isinstance(user_sharding, Format) or user_sharding.layout is None:
        return own
    layout = requested_layout(user_sharding, x.shape if hasattr(x, "shape") else (), what)
    bound = own is not None or (layout is not None and getattr(x, "committed", False))
    if bound and layout_mode(own) != layout_mode(layout):
        raise errors.value_error(
            "Layout passed to jit does not match the layout on the respective arg. Got"
            f" jit layout: {user_sharding.layout},\narg layout: {x.format.layout} for arg type:"
            f" {errors.type_text(x)}.",
            tries=["device_put(x, format)", "in_shardings=None"],
        )
    return layout


@cached_on_jaxpr
def auto_result_layouts(jaxpr: Jaxpr) -> list[Any]:
    """Return `Layout.AUTO` for each result that the program itself puts in a layout last,
    and None (the device's default) for all others."""
    put = {
        v
        for eqn in jaxpr.eqns
        for v in eqn.outs
        if isinstance(eqn.params.get("layout"), Layout)
    }
    return [Layout.AUTO if x in put else None for x in jaxpr.outvars]


class JitShardings:
    """`in_shardings` and `out_shardings` of a jitted function: pytree prefixes."""

    __slots__ = ("uses_mesh_block", "ins", "outs", "has_layouts")

    def __init__(self, ins: Any, outs: Any, uses_mesh_block: bool = False) -> None:
        # Over the mesh of a block, None means that a value is replicated.
        self.uses_mesh_block = uses_mesh_block
        self.ins = ins
        self.outs = outs
        self.has_layouts = any(
            isinstance(s, Format) and s.layout is not None for s in tree.leaves((ins, outs))
        )
        for what, prefix in (("in_shardings", ins), ("out_shardings", outs)):
            for s in tree.leaves(prefix):
                later = isinstance(s, PartitionSpec)  # it needs a mesh, set at the call
                sharding = s if later else self._concrete(s, what)
                spec = sharding if later else getattr(sharding, "spec", ())
                if UNCONSTRAINED in spec:
                    raise errors.value_error(
                        f"Unconstrained dims are not allowed when passed to {what}: {sharding}",
                        tries=["None, to replicate", "with_sharding_constraint inside"],
                    )

    def _concrete(self, sharding: Any, what: str) -> Any:
        if isinstance(sharding, Format):
            major_to_minor = getattr(sharding.layout, "major_to_minor", ())
            sharding, _ = sharding.sharding_and_layout((1,) * len(major_to_minor), what)
        if sharding is None and self.uses_mesh_block and isinstance(current_mesh(), Mesh):
            sharding = PartitionSpec()
        return concrete(sharding, "jit", what)

    def with_states(self) -> JitShardings:
        """Return the same for a function that also returns states of mutable values."""
        copy = object.__new__(JitShardings)
        copy.ins, copy.outs = self.ins, (self.outs, UNSPECIFIED)
        copy.has_layouts, copy.uses_mesh_block = self.has_layouts, self.uses_mesh_block
        return copy

    def of_arguments(self, in_tree: Any) -> list[Any]:
        """Return the sharding of each dynamic leaf; None: any."""
        return [self._concrete(s, "in_shardings") for s in self._user_shardings(in_tree)]

    def layouts_of(
        self,
        in_tree: Any,
        leaves: Sequence[Any],
        names: Sequence[str],
        out_tree: Any,
        out_avals: Sequence[Any],
    ) -> Layouts:
        """Return the layouts of arguments and results."""
        results = broadcast_sharding_prefix("pjit out_shardings", out_tree, self.outs)
        paths = tree.leaf_paths(out_tree)
        labels = [f"result{tree.keystr(path)}" for path in paths]
        ins = [
            argument_layout(s, x, f"jit arguments with pytree key path {name}")
            for s, x, name in zip(self._user_shardings(in_tree), leaves, names, strict=True)
        ]
        outs = [
            requested_layout(s, a.shape, f"jit outputs with pytree key path {label}")
            for s, a, label in zip(results, out_avals, labels, strict=True)
        ]
        return ins, outs

    def _user_shardings(self, in_tree: Any) -> list[Any]:
        """Return the user's sharding or format of each dynamic leaf."""
        args, kwargs = in_tree.children()
        if self.ins is None or self.ins is UNSPECIFIED:
            return [self.ins] * in_tree.num_leaves
        if kwargs.children():
            raise errors.value_error(
                "pjit does not support kwargs when in_shardings is specified.",
                tries=["positional arguments"],
            )
        n = len(args.children())
        ins = tuple(self.ins) if isinstance(self.ins, list) else self.ins
        wrong = None
        if isinstance(ins, tuple) and len(ins) != n:
            wrong = (
                "is the wrong length: got a tuple or list of length"
                f" {len(ins)} for an args tuple of length {n}."
            )
        elif not isinstance(ins, (tuple, PartitionSpec, Sharding, Format)):
            wrong = f"is not a tuple: got {type(ins)} instead."
        if wrong is not None:
            raise errors.value_error(
                "pjit in_shardings specification must be a tree prefix of the positional"
                " arguments tuple. In particular, pjit in_shardings must either be a"
                " Sharding, a PartitionSpec, or a tuple of length equal to the number of"
                f" positional arguments. But pjit in_shardings {wrong}",
                tries=["a tuple with an entry for each positional argument"],
            )
        return broadcast_sharding_prefix("pjit in_shardings", args, ins)

    def of_results(self, out_tree: Any) -> list[Any]:
        """Return the sharding of each leaf of the result."""
        leaf_shardings = broadcast_sharding_prefix("pjit out_shardings", out_tree, self.outs)
        return [self._concrete(s, "out_shardings") for s in leaf_shardings]
