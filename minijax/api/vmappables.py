"""Classes of values that define what one lane of them is, for `vmap`.

A library registers a class with two functions.  `to_elt(part, index, x, spec)` returns the
value of one lane, by `part(array, axis)` of each of its arrays; `index()` is the number of
the lane.  `from_elt(whole, size, elt, spec)` returns the value of all lanes from the result
of one, by `whole(size, array, axis)`.  `spec` is an entry of in_axes or out_axes: an axis,
None, or an instance of the library's own class.

Next: vmap.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base import tree
from ..control.flat import FlatFun
from ..control.mapped_axes import Mapped
from ..ir import core
from ..prims.shape.creation import iota

if TYPE_CHECKING:
    from ..types.aliases import PyTree, Value


class Kind(NamedTuple):
    """What a library registers for a class."""

    spec: type
    size: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]
    make_iota: Callable[[Any], Any] | None


kinds: dict[type, Kind] = {}
_INDEX = object()  # marks that `to_elt` requested the number of the lane


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[[Any], Any] | None,
) -> None:
    """Register a class of values for `vmap`.

    Args:
      data_type: the class.
      spec_type: the class of entries of in_axes and out_axes for such values, besides
        ints and None.
      axis_size_type: the class of the number of lanes.
      to_elt: (part, index, value, spec) -> value of one lane.
      from_elt: (whole, size, value of one lane, spec) -> value.
      make_iota: size -> the numbers of the lanes; None: an array of them.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> class Rows:
      ...     def __init__(self, x):
      ...         self.x = x
      >>> register_vmappable(
      ...     Rows, int, int, lambda part, _, v, axis: Rows(part(v.x, axis)),
      ...     lambda whole, n, v, axis: Rows(whole(n, v.x, axis)), None)
      >>> mj.vmap(lambda v: v.x.sum())(Rows(jnp.ones((2, 3))))
      Array([3., 3.], dtype=float32)
      >>> unregister_vmappable(Rows)
    """
    kinds[data_type] = Kind(spec_type, axis_size_type, to_elt, from_elt, make_iota)


def unregister_vmappable(data_type: type) -> None:
    """Remove a registered class.

    Args:
      data_type: the registered class.

    Example:
      >>> class Rows:
      ...     pass
      >>> register_vmappable(Rows, int, int, None, None, None)
      >>> unregister_vmappable(Rows)
    """
    del kinds[data_type]


def is_registered(x: object) -> bool:
    """Whether a value's class is registered."""
    return type(x) in kinds


def holds_registered(values: PyTree) -> bool:
    """Whether a tree contains values of registered classes."""
    return any(map(is_registered, tree.leaves(values, is_leaf=is_registered)))


def is_spec(x: object) -> bool:
    """Whether a value is a possible entry of in_axes or out_axes for a registered class."""
    return any(type(x) is kind.spec for kind in kinds.values())


class UnpackedFunction(FlatFun):
    """A function of the arrays inside of registered values."""

    __slots__ = (
        "_index",
        "_nodes",
        "_nodes_out",
        "_out_axes",
        "_specs",
        "_specs_out",
        "dims",
        "size",
        "start",
        "requested_axes",
    )
    eager = True

    def __init__(
        self,
        fun: Callable[..., Any],
        mapped: Mapped,
        in_axes: PyTree,
        out_axes: PyTree,
        args: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
    ) -> None:
        nodes, in_tree = tree.flatten((args, kwargs), is_leaf=is_registered)
        super().__init__(fun, in_tree, "vmap")
        self._nodes = nodes
        self._specs = mapped.flat_axes(in_axes, in_tree)
        self._out_axes = out_axes
        self._index: Value | None = None
        self.size: int | None = None  # the number of lanes, set by `with_size`
        self.start: list[Any] = []
        self.dims: list[int | None] = []
        self.requested_axes: list[int | None] = []

        def record(x: Any, axis: Any) -> Any:
            self.start.append(x)
            self.dims.append(axis)
            return x

        def index() -> int:
            # The number of lanes is unknown yet; `with_size` appends the lanes' numbers as a leaf.
            self._index = _INDEX
            return 0

        for x, spec in zip(nodes, self._specs, strict=True):
            kind = kinds.get(type(x))
            if kind is None:
                record(x, spec)
            else:
                kind.to_elt(recursive_take(record, index), index, x, spec)

    def with_size(self, size: int) -> None:
        """Set the number of lanes, and append their numbers if a class requested them."""
        self.size = size
        if self._index is not None:
            makers = (kinds[type(x)].make_iota for x in self._nodes if is_registered(x))
            make = next(filter(None, makers), None)
            self.start.append(iota("int32", size) if make is None else make(size))
            self.dims.append(0)

    def __call__(self, *leaves: Value) -> list[Value]:
        remaining = iter(leaves)
        next_leaf = lambda x, axis: next(remaining)
        index = lambda: leaves[-1]
        args, kwargs = self.in_tree.unflatten(
            kinds[type(x)].to_elt(recursive_take(next_leaf, index), index, x, spec)
            if is_registered(x)
            else next(remaining)
            for x, spec in zip(self._nodes, self._specs, strict=True)
        )
        out = self.fun(*args, **kwargs)
        self._nodes_out, self.out_tree = tree.flatten(out, is_leaf=is_registered)
        self._specs_out = tree.flatten_axes("vmap out_axes", self.out_tree, self._out_axes)
        outs: list[Any] = []
        self.requested_axes = []

        def record(size: Any, x: Any, axis: Any) -> Any:
            outs.append(x)
            self.requested_axes.append(axis)
            return x

        self._each(record)
        for i, x in enumerate(outs):
            if not core.is_value(x):
                raise self.refused(out, i, x)
        return outs

    def _each(self, combine: Callable[..., Any]) -> list[Any]:
        return [
            kinds[type(x)].from_elt(recursive_combine(combine), self.size, x, spec)
            if is_registered(x)
            else combine(self.size, x, spec)
            for x, spec in zip(self._nodes_out, self._specs_out, strict=True)
        ]

    def refused(self, out: PyTree, i: int, x: object) -> Exception:
        return Mapped("vmap", self.fun, "lanes").unstackable(x)

    def result(self, leaves: Iterable[Value]) -> PyTree:
        remaining: Iterator[Any] = iter(leaves)
        return self.out_tree.unflatten(self._each(lambda size, x, axis: next(remaining)))


def recursive_take(
    take_lane: Callable[..., Any], index: Callable[[], Any]
) -> Callable[..., Any]:
    """Apply `part` to arrays, and recursively to values of registered classes."""

    def take(x: Any, axis: Any) -> Any:
        kind = kinds.get(type(x))
        return take_lane(x, axis) if kind is None else kind.to_elt(take, index, x, axis)

    return take


def recursive_combine(combine: Callable[..., Any]) -> Callable[..., Any]:
    def join(size: Any, x: Any, axis: Any) -> Any:
        kind = kinds.get(type(x))
        return combine(size, x, axis) if kind is None else kind.from_elt(join, size, x, axis)

    return join
