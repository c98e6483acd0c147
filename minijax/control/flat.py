"""The front end of all transformations: functions of pytrees as functions of leaves.

Transformations work on flat lists of values.  A `FlatFun` converts: it rebuilds the user's
arguments, calls the user's function, flattens the result and stores its tree.  If a result
is not a value, it raises an error that names the transformation.

Next: body_staging.py, which stages such functions for control flow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..base import errors, tree
from ..base.source import function_text
from ..ir import core
from ..ir.core import Reference
from ..ir.jaxpr import Jaxpr
from ..passes.stage import stage
from ..text.tracer_errors import returned_reference


class FlatFun:
    """A function of leaves, which calls a function of pytrees.

    fun: the function, called with the arguments that `in_tree` rebuilds from the leaves.
    transform: the transformation that the user called, for messages.
    user: the function that messages name, if `fun` only calls it.
    """

    __slots__ = ("fun", "in_tree", "out_tree", "transform", "user")
    eager = False  # whether it returns values: then no trace checks them for references

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: Any,
        transform: str = "jit",
        user: Callable[..., Any] | None = None,
    ) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.transform = transform
        self.user = user or fun
        self.out_tree: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        out = self.call(leaves)
        outs, self.out_tree = tree.flatten(out)
        for i, x in enumerate(outs):
            if self.eager and isinstance(x, Reference):
                path = tree.keystr(tree.leaf_paths(self.out_tree)[i])
                raise returned_reference(function_text(self.user), x.aval, at=path)
            if not core.is_value(x):
                raise self.refused(out, i, x)
        return outs

    def call(self, leaves: Sequence[Any]) -> Any:
        """Return the result of the function, as a pytree."""
        return self.fun(*tree.unflatten(self.in_tree, leaves))

    def refused(self, out: Any, i: int, x: Any) -> Exception:
        """Return the error for leaf `i` of a result, which is not a value."""
        path = tree.keystr(tree.leaves_with_path(out)[i][0])
        at = f" at output component {path}" if path else ""
        return errors.type_error(
            f"function {function_text(self.user)} traced for {self.transform} returned a"
            f" value of type {type(x)}{at}, which is not a valid JAX type",
            which=f"output component {'result' + path}: {x!r}"[:200],
            why="Compiled functions return arrays, numbers or pytrees of them.",
            tries=["return numbers or arrays", "return strings and objects outside of it"],
        )

    def result(self, leaves: Iterable[Any]) -> Any:
        """Return other leaves in the tree of the result."""
        return tree.unflatten(self.out_tree, leaves)

    def stage(
        self,
        avals: Sequence[Any],
        names: Sequence[str] = (),
        name: str = "",
        transform: str = "",
    ) -> tuple[Jaxpr, list[Any]]:
        """Return the program for arguments of these types, called `names` in messages.

        transform: the name for the trace, if it differs from that of the call.
        """
        return stage(
            self,
            avals,
            name=name,
            text=function_text(self.user),
            arg_names=names,
            transform=transform or self.transform,
        )


class FlatCall(FlatFun):
    """The same, for a tree of positional and keyword arguments."""

    __slots__ = ()

    def call(self, leaves: Sequence[Any]) -> Any:
        args, kwargs = tree.unflatten(self.in_tree, leaves)
        return self.fun(*args, **kwargs)
