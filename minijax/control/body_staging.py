"""Shared parts of the higher-order primitives: staging of bodies, types of carries.

Bodies of control flow are closed jaxprs without constants: captured values become leading
operands.  Next: refs/discharge.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..analysis.contents import holds_functions
from ..base import errors, source, tree, util
from ..base.source import function_text, own_name
from ..base.util import pick
from ..ir import core
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, eval_jaxpr, lift_consts, permute_jaxpr
from ..ir.sharding_rules import missing
from ..passes.ad_util import core_ops
from ..passes.stage import remembered, stage_closed
from ..prims import promotion
from ..prims.math.cast import convert_element_type_p
from ..types.avals import AbstractRef, same_type
from ..types.type_sharding import with_axis, without_axis
from .arguments import ArgNames, signature_of
from .flat import FlatFun


class Body:
    """A user's function staged for control flow: jaxpr, captured values, output tree."""

    __slots__ = ("consts", "jaxpr", "out_tree")

    def __init__(self, jaxpr: Jaxpr, consts: list[Any], out_tree: Any) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_tree = out_tree

    def closed(self) -> ClosedJaxpr:
        """The jaxpr with its captured values as leading inputs."""
        return lift_consts(self.jaxpr)

    @property
    def out_avals(self) -> list[Any]:
        return self.jaxpr.out_avals


def stage_body(
    fun: Callable[..., Any],
    in_tree: Any,
    avals: Sequence[Any],
    transform: str,
    user: Callable[..., Any] | None = None,
) -> Body:
    """Trace `fun`, called with the arguments that `in_tree` rebuilds from leaves.

    The trace is cached by function and types, so that a loop that runs again is not
    compiled again.  If `fun` only calls the function `user`, messages name the latter.
    """
    named = None if user is None or user is fun else _NamedFunction(user)
    return _stage_body(fun, in_tree, tuple(avals), transform, named)


class _NamedFunction:
    """The function that messages name, as a part of a cache's key.

    It is compared by identity, since a callable need not be hashable.  The traced function
    keeps it alive; the key holds it weakly, since it often holds the cache.
    """

    __slots__ = ("_id", "get")

    def __init__(self, fun: Callable[..., Any]) -> None:
        self._id = id(fun)
        try:
            self.get: Callable[[], Any] = weakref.ref(fun)
        except TypeError:
            self.get = lambda: fun

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        return type(other) is _NamedFunction and other.get() is self.get()


_NO_KEYWORDS = tree.structure({})


# A body whose params hold functions is cached only as an attribute of `fun`: in a shared
# table it might keep `fun` alive.
@util.cached_by(
    is_shareable=lambda body: not holds_functions(body.jaxpr),
    context=core.tracing_context,
    is_lasting=lambda body: not any(isinstance(c, core.Tracer) for c in body.consts),
)
def _stage_body(
    fun: Callable[..., Any],
    in_tree: Any,
    avals: tuple[Any, ...],
    transform: str,
    named: _NamedFunction | None,
) -> Body:
    names: Any = ()
    if named is None:  # otherwise its parameters are different ones
        names = ArgNames(fun, tree.treedef_tuple([in_tree, _NO_KEYWORDS]), ())
    flat = FlatFun(fun, in_tree, transform, None if named is None else named.get())
    jaxpr, consts = flat.stage(avals, names, own_name(fun) or transform)
    return Body(jaxpr, consts, flat.out_tree)


@util.cached_by(is_shareable=lambda wrapper: True)
def cached_wrapper(fun: Callable[..., Any], make: Callable[..., Any], *options: Any) -> Any:
    """Return `make(fun, *options)`, always the same function, so that traces are reused."""
    try:  # a weak reference: a cycle would keep `fun` alive
        ref: Callable[[], Any] = weakref.ref(fun)
    except TypeError:  # then nothing is cached
        return make(fun, *options)

    def call(*args: Any) -> Any:
        return ref()(*args)

    return make(call, *options)


@util.cached_by(is_shareable=lambda value: False)
def kept_by(fun: Callable[..., Any], make: Callable[..., Any], *options: Any) -> Any:
    """Return `make(fun, *options)`, stored on `fun` for its lifetime where possible.

    A jitted function of ours with `fun` as a static argument would keep it alive forever.
    """
    return make(fun, *options)


def lift_fixed(body: Body, fixed: Sequence[bool], keep: Sequence[bool]) -> ClosedJaxpr:
    """Return a loop's body with the unchanged parts of the carry as leading constants.

    fixed: which components of the carry no step changes; they are no longer results.
    keep: which of the results after the carry are still needed.
    """
    n, k = len(fixed), len(body.consts)
    carry = range(k, k + n)
    changing = [not f for f in fixed]
    rest = range(k + n, k + len(body.jaxpr.invars))
    ins = [*pick(carry, fixed), *range(k), *pick(carry, changing), *rest]
    outs = pick(range(n + len(keep)), [*changing, *keep])
    return permute_jaxpr(body.closed(), ins, outs)


class LoopDescription(NamedTuple):
    """The names for a loop's messages: its kind, the user's function, the carry's name.

    The first `inside` keys of a path lead to the part that the user calls the carry.
    """

    what: str
    fun: Callable[..., Any]
    name: str
    inside: int = 0

    @classmethod
    def of(
        cls, what: str, fun: Callable[..., Any], position: int = 0, inside: int = 0
    ) -> LoopDescription:
        """Describe a loop over `fun`, whose parameter number `position` is the carry."""
        sig = signature_of(fun)
        names = list(sig.parameters) if sig is not None else []
        return cls(what, fun, names[position] if position < len(names) else "carry", inside)

    @property
    def transform(self) -> str:
        """The name of the function that the user called."""
        return self.what.split()[0]

    def component(self, path: Sequence[Any]) -> str:
        """Return the name of the carry or a component, as a path from the user's name."""
        inner = tree.keystr(tuple(path[self.inside :]))
        return f"carry component {self.name}{inner}" if inner else f"carry {self.name}"

    def error(self, differs: str, lines: Sequence[str], tries: Sequence[str]) -> TypeError:
        """Return the error for a carry input that differs from the carry output."""
        return TypeError(
            errors.message(
                f"{self.what} function carry input and carry output must have {differs},"
                " but they differ:",
                which="\n  ".join(lines[:2]),
                where=function_text(self.fun),
                why="The output of one step is the input of the next.",
                tries=list(tries),
            )
        )


def check_carry(
    loop: LoopDescription,
    in_tree: Any,
    in_avals: Sequence[Any],
    out_tree: Any,
    out_avals: Sequence[Any],
) -> None:
    """Raise TypeError unless a body returns a carry of the type of its input."""
    if in_tree != out_tree:
        path, was, now, why = tree_difference(in_tree, out_tree)
        line = (
            f"The input {loop.component(path)} is {was} but the corresponding component"
            f" of the carry output is {now}: {why}"
        )
        raise loop.error(
            "the same pytree structure", [line], ["return the carry as it was passed"]
        )
    lines = []
    tries = ["convert the result with .astype(...)", "start with that type"]
    labels = [p for p, _ in tree.leaves_with_path(tree.unflatten(in_tree, in_avals))]
    for path, a, b in zip(labels, in_avals, out_avals, strict=True):
        if not same_type(a, b):
            lines.append(
                f"the input {loop.component(path)} has type {a.str_short(False)} but"
                " the corresponding output carry component has type"
                f" {b.str_short(False)}, so {type_difference(a, b)}"
            )
            if more := to_vary(a, b):
                start = f"the initial carry value of {loop.component(path)}"
                tries = [f"{more}, to {start}"]
    if len(lines) == 1:
        lines = [f"T{lines[0][1:]}"]
    if lines:
        raise loop.error("equal types", lines, tries)


def type_difference(a: Any, b: Any) -> str:
    """Describe the difference between two types."""
    differences = []
    if a.dtype != b.dtype:
        differences.append("the dtypes do not match")
    if a.shape != b.shape:
        differences.append("the shapes do not match")
    if a.memory_space is not b.memory_space:
        differences.append("the memory spaces do not match")
    if a.type_sharding.manual != b.type_sharding.manual:
        differences.append("the manual axis types do not match")
    return ", and ".join(differences)


def to_vary(a: Any, b: Any) -> str:
    """Return the cast that makes a value of type `a` vary over the axes of `b`, or ''."""
    axes = missing(a.type_sharding.manual, b.type_sharding.manual.varying)
    return f"jax.lax.pcast(..., {axes}, to='varying')" if axes else ""


def tree_difference(in_tree: Any, out_tree: Any) -> tuple[tuple[Any, ...], str, str, str]:
    """Return where two trees first differ: the path, both sides, and the difference."""
    a = tree.unflatten(in_tree, [0] * in_tree.num_leaves)
    b = tree.unflatten(out_tree, [0] * out_tree.num_leaves)
    for path, was, now, why in tree.equality_errors(a, b):
        return path, _leaf_text(was), _leaf_text(now), why
    return (), str(in_tree), str(out_tree), "their registered data differ"


def _leaf_text(text: str) -> str:
    return "an array" if text.startswith("a leaf") else text


def types_of(what: str, leaves: Sequence[Any], treedef: Any) -> list[Any]:
    """Return the types of the leaves of argument `what`; a TypeError names the path."""
    try:
        return [core.aval_of(x) for x in leaves]
    except TypeError:
        for path, x in tree.leaves_with_path(tree.unflatten(treedef, leaves)):
            if not core.is_value(x):
                raise TypeError(
                    errors.message(
                        f"Argument {x!r} of type {type(x)} is not a valid JAX type.",
                        which=what + tree.keystr(path),
                        tries=["close over values that are not arrays"],
                    )
                ) from None
        raise


def promote_weak(
    fun: Any, values: Sequence[Any], in_avals: Sequence[Any], out_avals: Sequence[Any]
) -> list[Any] | None:
    """Return initial values with the dtypes of the body's results; None: no change.

    Only weakly typed values are converted, to a wider kind of number.  In loops of ours,
    they also vary over the manual axes of the results; in a user's loop that is an error.
    """
    out = []
    changed = False
    for x, a, b in zip(values, in_avals, out_avals, strict=True):
        if getattr(a, "weak_type", False) and a.dtype != b.dtype:
            dtype = b.dtype if _joins(a, b) else a.dtype
            x = with_dtype(x, dtype)
            changed = True
        elif any(b.type_sharding.manual) and to_vary(a, b) and source.is_own(fun):
            x = core_ops.reshard_to_aval(x, a.update(manual=b.type_sharding.manual))
            changed = True
        out.append(x)
    return out if changed else None


def with_dtype(x: Any, dtype: Any) -> Any:
    """Return the scalar or array `x`, strongly typed; a Python number adds no equation."""
    if isinstance(x, (bool, int, float, complex, np.generic)):
        return np.asarray(x, dtype)[()]
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False, sharding=None)


def _joins(a: Any, b: Any) -> bool:
    return bool(promotion.promote(((a.dtype, True), (b.dtype, False)))[0] == b.dtype)


def unify_weak_types(branches: Sequence[ClosedJaxpr]) -> tuple[ClosedJaxpr, ...]:
    """Make results strongly typed if any branch's is."""
    columns = zip(*(b.out_avals for b in branches), strict=True)
    strong = [any(not getattr(a, "weak_type", False) for a in c) for c in columns]
    return tuple(_strengthened(b, tuple(strong)) for b in branches)


@remembered
def _strengthened(closed: ClosedJaxpr, strong: tuple[bool, ...]) -> ClosedJaxpr:
    todo = [
        s and getattr(a, "weak_type", False)
        for s, a in zip(strong, closed.out_avals, strict=True)
    ]
    if not any(todo):
        return closed

    def fun(*args: Any) -> list[Any]:
        out = eval_jaxpr(closed.jaxpr, closed.consts, *args)
        return [
            with_dtype(x, a.dtype) if t else x
            for x, t, a in zip(out, todo, closed.out_avals, strict=True)
        ]

    return stage_closed(fun, closed.in_avals, name=closed.jaxpr.name)


def check_no_batched_effects(effects: frozenset[Any], what: str, why: str) -> None:
    """Raise NotImplementedError for effects that inactive lanes would also have.

    `what` is the message, with a placeholder for the kind of effect.
    """
    acting = [e for e in effects if getattr(e, "is_once_per_call", False)]
    if acting:
        state = all(getattr(e, "on_references", False) for e in acting)
        raise NotImplementedError(
            errors.message(
                f"{what.format('State' if state else 'IO')}.",
                why=why,
                tries=["lax.map instead of vmap", "pure_callback, if it has no effect"],
            )
        )


def stacked(aval: Any, n: int) -> Any:
    """Return the type of `n` values stacked along a new first axis."""
    return with_axis(aval, n, 0)


def slice_aval(aval: Any) -> Any:
    """Return the type of one slice along the first axis."""
    if isinstance(aval, AbstractRef):
        return AbstractRef(slice_aval(aval.inner_aval))
    return without_axis(aval, 0)
