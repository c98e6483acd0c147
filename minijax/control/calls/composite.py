"""`composite`: a call of a program under a name that compilers may recognize.

The program defines the operation; transformations see the program, not the name.

Next: remat.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base import errors, tree
from ...base.source import wraps
from ...ir import core
from ...ir.jaxpr import ClosedJaxpr
from ...ir.regions import Call
from ...passes.region_rules import def_region_rules
from ...types.avals import shaped
from ..arguments import check_values
from ..body_staging import stage_body
from ..refs.discharge import FunctionPrimitive
from .jit_primitive import derive_as_call

composite_p = FunctionPrimitive("composite")
def_region_rules(composite_p, Call("jaxpr"), lowers_key_arrays=True)
composite_p.impl = lambda *args, jaxpr, **_: jaxpr(*args)
# The name denotes the function itself.
derive_as_call(composite_p, "jaxpr")


def composite_lower(
    ctx: Any, *args: Any, jaxpr: ClosedJaxpr, name: str, version: int, attributes: Any
) -> list[Any]:
    entries = [
        f'"{key}" = {_attribute(ctx, tree.unflatten(kind, leaves))}'
        for key, leaves, kind in attributes
    ]
    attrs = {
        "name": ctx.string(name),
        "version": ctx.i32(version),
        "composite_attributes": ctx.parse("{" + ", ".join(entries) + "}"),
        "decomposition": ctx.parse(f'@"{ctx.symbol_of(jaxpr, name)}"'),
    }
    outs = [ctx.type(a) for a in jaxpr.out_avals]
    return list(ctx.emit("stablehlo.composite", outs, args, attrs).results)


composite_p.lower = composite_lower


class HashableArray:
    """An array among the params of an equation, equal to arrays with equal elements."""

    __slots__ = ("val",)

    def __init__(self, val: Any) -> None:
        self.val = np.array(val)
        self.val.setflags(write=False)

    def _key(self) -> Any:
        return self.val.shape, self.val.dtype, self.val.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashableArray) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"HashableArray({self.val!r})"


def _attribute(ctx: Any, x: Any) -> str:
    """Return an attribute in the text format of MLIR."""
    if isinstance(x, (tuple, list)):
        return "[" + ", ".join(_attribute(ctx, v) for v in x) + "]"
    if isinstance(x, str):
        return str(ctx.string(x))
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int):
        return f"{x} : i64"
    if isinstance(x, float):
        bits = np.float64(x).view(np.uint64)
        return f"0x{int(bits):016X} : f64"
    value = x.val if isinstance(x, HashableArray) else np.asarray(x)
    if value.dtype == object:
        raise errors.type_error(
            f"composite: {x!r} of type {type(x).__name__} is not an attribute",
            why="Attributes are numbers, strings, arrays, and tuples of them.",
        )
    return str(ctx.dense(value, shaped(value.shape, value.dtype)))


def _leaf(name: str, key: str, x: Any) -> Any:
    if isinstance(x, core.Tracer):
        raise errors.UnexpectedTracerError(
            errors.message(
                "Found a JAX Tracer as an attribute in the decomposition for the"
                f" composite op '{name}'. This means that the decomposition function"
                " closes over a value that is involved in a JAX transformation.",
                which=f"{key}={x}",
                why="Attributes are passed to the compiler.",
                tries=["pass the value as a positional argument"],
            )
        )
    return HashableArray(x) if hasattr(x, "dtype") else x


def composite(
    decomposition: Callable[..., Any], name: str, version: int = 0
) -> Callable[..., Any]:
    """Return a function that compilers may recognize by name, and otherwise decompose.

    Args:
      decomposition: the function; its positional arguments are operands, arrays or trees
        of them, its keyword arguments attributes.
      name: the name for compilers, with a dot: "my.tangent".
      version: an integer that is raised when the meaning changes.

    Returns:
      A function of the same arguments.  Keyword arguments that are None are omitted.

    Raises:
      UnexpectedTracerError: an attribute, or a captured value, is traced.

    Example:
      >>> import functools
      >>> import minijax as mj
      >>> @functools.partial(mj.lax.composite, name="my.scale")
      ... def scale(x, *, by):
      ...   return x * by
      >>> scale(3.0, by=2.0)
      Array(6., dtype=float32, weak_type=True)

    Differs from JAX: it can be differentiated and batched, if `decomposition` can.
    """

    @wraps(decomposition)
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten(args)
        check_values(leaves, "composite")
        avals = [core.aval_of(x) for x in leaves]
        attributes = []
        for key, value in kwargs.items():
            if value is not None:
                attribute_leaves, kind = tree.flatten(value)
                hashable_leaves = tuple([_leaf(name, key, x) for x in attribute_leaves])
                attributes.append((key, hashable_leaves, kind))
        fun = lambda *xs: decomposition(*xs, **kwargs)
        body = stage_body(fun, in_tree, avals, "composite", decomposition)
        for const in body.consts:
            if isinstance(const, core.Tracer):
                raise errors.UnexpectedTracerError(
                    errors.message(
                        "Found a JAX Tracer as a constant in the decomposition for the"
                        f" composite op '{name}'. This means that the decomposition"
                        " function closes over a value that is involved in a JAX"
                        " transformation.",
                        which=str(const),
                        tries=["pass the value as a positional argument"],
                    )
                )
        out = composite_p.bind(
            *body.consts,
            *leaves,
            jaxpr=body.closed(),
            name=name,
            version=version,
            attributes=tuple(attributes),
        )
        return tree.unflatten(body.out_tree, out)

    return called
