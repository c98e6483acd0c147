"""How a compiled function's arguments and results are to lie, as its user says.

`in_shardings` and `out_shardings` are prefixes of the trees of arguments and results: of
shardings, which become constraints in the program, and of formats, whose layouts say in
which order arrays lie in memory.  Next: jitted.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base import errors, tree
from ...prims.sharding_constraint import broadcast_sharding_prefix, concrete
from ...runtime.arrays.array import ARRAYS, base_array
from ...runtime.sharding import layout_conversion
from ...runtime.sharding.layouts import AutoLayout, Format, Layout
from ...runtime.sharding.mesh import Mesh, current_mesh
from ...runtime.sharding.partition_spec import UNCONSTRAINED, PartitionSpec
from ...runtime.sharding.shardings import UNSPECIFIED, Sharding

# The layouts of arguments and of results; None: the device's own.
Orders = tuple[list[Any], list[Any]]


def order_in(given: Any, shape: tuple[int, ...], what: str) -> Any:
    """The layout that a sharding or `Format` says; None: the device's own."""
    if not isinstance(given, Format):
        return None
    _, layout = given.place(shape, what)
    return given.layout if isinstance(given.layout, AutoLayout) else layout


def current_layout(x: Any) -> Any:
    """The layout of an argument, or of the type of one; None: the device's own."""
    if type(x) in ARRAYS:
        return layout_conversion.buffer_layout(base_array(x))
    layout = getattr(x, "layout", None)
    if not isinstance(layout, Layout):
        return None
    devices = getattr(x.sharding, "devices", ())
    return layout.on(devices[0]) if devices else None


def argument_layout(given: Any, x: Any, what: str) -> Any:
    """The layout of an argument: as said, else as it lies.

    Raises:
      ValueError: it is committed, and lies otherwise than is said.
    """
    own = current_layout(x)
    if not isinstance(given, Format) or given.layout is None:
        return own
    layout = order_in(given, x.shape if hasattr(x, "shape") else (), what)
    bound = own is not None or (layout is not None and getattr(x, "committed", False))
    if bound and layout_conversion.layout_mode(own) != layout_conversion.layout_mode(layout):
        raise errors.value_error(
            "Layout passed to jit does not match the layout on the respective arg. Got"
            f" jit layout: {given.layout},\narg layout: {x.format.layout} for arg type:"
            f" {errors.type_text(x)}.",
            tries=["device_put(x, format)", "in_shardings=None"],
        )
    return layout


class JitShardings:
    """How a function's arguments and results are to lie: prefixes of their trees."""

    __slots__ = ("uses_mesh_block", "ins", "outs", "say_orders")

    def __init__(self, ins: Any, outs: Any, uses_mesh_block: bool = False) -> None:
        # Over the mesh of a block None says that a value is whole on each device.
        self.uses_mesh_block = uses_mesh_block
        self.ins = ins
        self.outs = outs
        self.say_orders = any(
            isinstance(s, Format) and s.layout is not None for s in tree.leaves((ins, outs))
        )
        for what, given in (("in_shardings", ins), ("out_shardings", outs)):
            for s in tree.leaves(given):
                later = isinstance(s, PartitionSpec)  # it needs a mesh, when called
                found = s if later else self._concrete(s, what)
                spec = found if later else getattr(found, "spec", ())
                if UNCONSTRAINED in spec:
                    raise errors.value_error(
                        f"Unconstrained dims are not allowed when passed to {what}: {found}",
                        tries=["None, for the whole", "with_sharding_constraint inside"],
                    )

    def _concrete(self, sharding: Any, what: str) -> Any:
        if isinstance(sharding, Format):
            order = getattr(sharding.layout, "major_to_minor", ())
            sharding, _ = sharding.place((1,) * len(order), what)
        if sharding is None and self.uses_mesh_block and isinstance(current_mesh(), Mesh):
            sharding = PartitionSpec()
        return concrete(sharding, "jit", what)

    def with_states(self) -> JitShardings:
        """The same, of a function that gives states of mutable values besides."""
        found = object.__new__(JitShardings)
        found.ins, found.outs = self.ins, (self.outs, UNSPECIFIED)
        found.say_orders, found.uses_mesh_block = self.say_orders, self.uses_mesh_block
        return found

    def of_arguments(self, in_tree: Any) -> list[Any]:
        """The sharding of each dynamic leaf; None where it may lie as it likes."""
        return [self._concrete(s, "in_shardings") for s in self._asked(in_tree)]

    def layouts_of(
        self,
        in_tree: Any,
        leaves: Sequence[Any],
        names: Sequence[str],
        out_tree: Any,
        out_avals: Sequence[Any],
    ) -> Orders:
        """The layouts of arguments and results."""
        results = broadcast_sharding_prefix("pjit out_shardings", out_tree, self.outs)
        paths = tree.leaf_paths(out_tree)
        labels = [f"result{tree.keystr(path)}" for path in paths]
        ins = [
            argument_layout(s, x, f"jit arguments with pytree key path {name}")
            for s, x, name in zip(self._asked(in_tree), leaves, names, strict=True)
        ]
        outs = [
            order_in(s, a.shape, f"jit outputs with pytree key path {label}")
            for s, a, label in zip(results, out_avals, labels, strict=True)
        ]
        return ins, outs

    def _asked(self, in_tree: Any) -> list[Any]:
        """What is said of each dynamic leaf."""
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
        """The sharding of each leaf of the result."""
        found = broadcast_sharding_prefix("pjit out_shardings", out_tree, self.outs)
        return [self._concrete(s, "out_shardings") for s in found]
