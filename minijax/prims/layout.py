"""`with_layout_constraint`: the memory layout of a value inside a program."""

from __future__ import annotations

from typing import Any

from ..base import errors, tree
from ..ir import core
from ..ir.facts import FORWARDS, Facts
from ..passes.batch import lane_to_front
from ..runtime.arrays import array as arrays
from ..runtime.arrays.operands import to_array
from ..runtime.running.resharding import array_with_layout
from ..runtime.sharding import placement
from ..runtime.sharding.layouts import Layout, check_tiles
from .elementwise import linear_jvp
from .sharding_specs import first_operand_specs

layout_constraint_p = core.Primitive("layout_constraint")
layout_constraint_p.abstract = lambda x, *, layout: x


def _evaluate(x: Any, *, layout: Layout) -> Any:
    """Return the value on its own devices, in this layout."""
    if type(x) not in arrays.ARRAYS:
        x = to_array(x, placement.default_placement())
    check_tiles(layout, next(iter(x.devices())), "with_layout_constraint arguments")
    return array_with_layout(x, None if layout.is_default else layout)


layout_constraint_p.impl = lambda x, *, layout: _evaluate(arrays.adopted(x), layout=layout)
layout_constraint_p.def_sharding(specs=first_operand_specs)
linear_jvp(layout_constraint_p)
layout_constraint_p.transpose = lambda ct, x, *, layout: [
    layout_constraint_p.bind(ct, layout=layout)
]


def _batch(axis: Any, args: Any, dims: Any, *, layout: Layout) -> Any:
    x = lane_to_front(args[0], axis, dims[0])
    major_to_minor = (0, *(i + 1 for i in layout.major_to_minor))
    lanes = Layout(major_to_minor, layout.tiling, layout.sub_byte_element_size_in_bits)
    return layout_constraint_p.bind(x, layout=lanes), 0


layout_constraint_p.batch = _batch


def _lower(ctx: Any, x: Any, *, layout: Layout) -> Any:
    (aval,) = ctx.avals_out
    minor_to_major = ", ".join(map(str, reversed(layout.major_to_minor)))
    layouts = ctx.parse(f"[dense<[{minor_to_major}]> : tensor<{aval.ndim}xindex>]")
    if not aval.ndim:
        return x
    return ctx.op(
        "custom_call",
        aval,
        x,
        call_target_name=ctx.string("LayoutConstraint"),
        backend_config=ctx.string(""),
        operand_layouts=layouts,
        result_layouts=layouts,
    )


layout_constraint_p.lower = _lower
layout_constraint_p.facts = Facts(
    elementwise=True, makes_no_nans=True, keeps_nans=True, uses_keys=FORWARDS
)


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """Set the memory layout of a value inside a program.

    Args:
      x: a pytree of arrays.
      layouts: a `Layout`, or a pytree prefix of them.

    Returns:
      `x`, of the same types.  Outside of programs the arrays have the layout; arrays over
      several devices keep theirs.  Inside programs the compiler chooses the tiling.

    Raises:
      ValueError: a layout does not fit its array, or `layouts` is not a pytree prefix.
      TypeError: a leaf of `layouts` is not a `Layout`.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> f = mj.jit(lambda x: with_layout_constraint(x * 2, Layout((1, 0))).sum())
      >>> f(jnp.ones((2, 3)))
      Array(12., dtype=float32)
    """
    leaves, treedef = tree.flatten(x)
    if isinstance(layouts, Layout):
        leaf_layouts = [layouts] * len(leaves)
    else:
        leaf_layouts = tree.flatten_axes("with_layout_constraint layouts", treedef, layouts)
    out = []
    for leaf, layout in zip(leaves, leaf_layouts, strict=True):
        if not isinstance(layout, Layout):
            raise errors.type_error(
                f"with_layout_constraint requires layouts, got {layout!r}.",
                tries=["minijax.experimental.layout.Layout(major_to_minor)"],
            )
        layout.check(core.aval_of(leaf).shape, "with_layout_constraint arguments")
        out.append(layout_constraint_p.bind(leaf, layout=layout))
    return tree.unflatten(treedef, out)
