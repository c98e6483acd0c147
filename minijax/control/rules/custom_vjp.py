"""`custom_vjp`: a function with its own reverse-mode rule.

The user's functions of pytrees become the flat callables that the primitive of
custom_vjp_call.py takes, and the results of rules are checked.  Next: ../calls/remat.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...base import config, errors, tree
from ...base.source import function_text, own_name
from ...base.tracebacks import boundary
from ...ir import core
from ...ir.core import STATE, Tracer
from ...passes.ad_util import Zero, core_ops, instantiate
from ...prims.math.cast import convert_element_type
from ...types import dtypes
from ..arguments import check_values
from ..body_staging import to_vary, type_difference
from . import rule_refs
from .custom_calls import as_arrays
from .custom_jvp import (
    RESIDUALS,
    CustomDerivative,
    Result,
    SymbolicZero,
    bind_arguments,
    function_name,
    split_arguments,
)
from .custom_vjp_call import custom_vjp_call_p
from .remat_opt import run_forward


class CustomVJPPrimal:
    """An argument as `fwd` receives it with symbolic_zeros.

    Args:
      value: the argument.
      perturbed: whether it is differentiated.

    Example:
      >>> CustomVJPPrimal(1., True).perturbed
      True
    """

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed


_map = tree.map  # for functions with a parameter named `tree`


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return the values of a tree of `CustomVJPPrimal`s, `fwd`'s argument.

    Args:
      tree: a pytree of `CustomVJPPrimal`s.

    Returns:
      The tree with the `.value` of each.

    Raises:
      TypeError: a leaf is something else.

    Example:
      >>> custom_vjp_primal_tree_values({'a': CustomVJPPrimal(1., True)})
      {'a': 1.0}
    """

    def value(x: Any) -> Any:
        if not isinstance(x, CustomVJPPrimal):
            raise TypeError(f"unexpected leaf type {type(x)}: not a CustomVJPPrimal.")
        return x.value

    return _map(value, tree)


class custom_vjp(CustomDerivative):
    """Give a function its own reverse-mode derivative rule.

    Args:
      fun: the function.
      nondiff_argnums, nondiff_argnames: arguments that have no cotangent; they are
        passed to `bwd` first (functions, flags).

    Example:
      >>> import minijax as mj
      >>> @mj.custom_vjp
      ... def f(x):
      ...     return mj.numpy.sin(x)
      >>> f.defvjp(lambda x: (f(x), x), lambda x, ct: (10. * ct,))
      >>> mj.grad(f)(1.)
      Array(10., dtype=float32, weak_type=True)
    """

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    optimize_remat = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rule.

        Args:
          fwd: called like the function; returns (out, residuals), a pytree.
          bwd: `bwd(*nondiff, residuals, ct)` returns a tuple with one cotangent for each
            differentiated argument; None means zero.
          symbolic_zeros: `fwd` gets `CustomVJPPrimal`s, `bwd` may get `SymbolicZero`s.
          optimize_remat: if no residual is used, as in the forward pass of
            `checkpoint`, run the function itself instead of `fwd`.

        Raises:
          NotImplementedError: symbolic_zeros and optimize_remat are both True.
        """
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError(
                errors.message(
                    "remat optimization for custom_vjp does not support symbolic zeros",
                    where=function_text(self.fun),
                    tries=["one of symbolic_zeros=True and optimize_remat=True"],
                )
            )
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = function_name(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {name} using defvjp.")
        args = bind_arguments(self.fun, self.signature, args, kwargs, "custom_vjp")
        fixed, dynamic, positions = split_arguments(self.fun, args, self.nondiff)
        for x in fixed:
            if isinstance(x, Tracer):
                raise errors.UnexpectedTracerError(
                    errors.message(
                        "Found a JAX Tracer object passed as an argument to a custom_vjp"
                        " function in a position indicated by nondiff_argnums as"
                        f" non-differentiable, in {name}.",
                        why="Such arguments are not traced.",
                        tries=["drop it from nondiff_argnums and return None for it in bwd"],
                    )
                )
        leaves, in_tree = tree.flatten(tuple(dynamic))
        check_values(leaves, f"the arguments of {function_text(self.fun)}")
        rule_refs.check_passed_once(leaves, self.fun, in_tree, positions)
        rules = FlatRules(self, args, fixed, positions, in_tree)
        fwd = named(rules.remat_fwd if self.optimize_remat else rules.fwd, self.fwd)
        # Recognizes a recursive call.  By id, as fixed arguments need not be hashable;
        # `rules` keeps them alive, so their ids stay unique.
        fwd.call_key = (self, tuple(map(id, fixed)), in_tree)
        outs = custom_vjp_call_p.bind(
            *leaves,
            name=name,
            call_jaxpr=rules.call,
            fwd=fwd,
            back=named(rules.bwd, self.bwd),
            symbolic_zeros=self.symbolic_zeros,
        )
        return tree.unflatten(rules.result.treedef, outs)


def named(rule: Callable[..., Any], like: Any) -> Any:
    """Return a rule that is printed under its user's name."""
    out = functools.partial(rule)
    out.__name__ = own_name(like) or "rule"  # type: ignore[attr-defined]
    out.written = like  # type: ignore[attr-defined]
    return out


class FlatRules:
    """The flat callables of one call of a `custom_vjp` function."""

    def __init__(
        self,
        custom: custom_vjp,
        args: tuple[Any, ...],
        fixed: Sequence[Any],
        positions: Sequence[int],
        in_tree: Any,
    ) -> None:
        self.custom = custom
        # Programs hold the rules, so rules must not hold the values of one trace.
        self.args = [None if i in positions else x for i, x in enumerate(args)]
        self.fixed = fixed
        self.positions = positions
        self.in_tree = in_tree
        self.in_avals: list[Any] = []
        self.result = Result("custom_vjp", custom.fun)
        self.res_tree: Any = None

    def full(self, leaves: Sequence[Any]) -> list[Any]:
        full = list(self.args)
        for i, x in zip(self.positions, tree.unflatten(self.in_tree, leaves), strict=True):
            full[i] = x
        return full

    def call(self, *leaves: Any) -> list[Any]:
        out = self.custom.fun(*self.full(leaves))
        rule_refs.check_results("primal", self.custom.fun, out)
        return self.result.flatten(out)

    def fwd(self, flags: Sequence[bool], *leaves: Any) -> Any:
        custom = self.custom
        assert custom.fwd is not None
        self.in_avals = [core.aval_of(x) for x in leaves]
        fun_args: Sequence[Any] = leaves
        if custom.symbolic_zeros:
            fun_args = [CustomVJPPrimal(x, f) for x, f in zip(leaves, flags, strict=True)]
        pair = custom.fwd(*self.full(fun_args))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            rule, name = function_name(custom.fwd), function_name(custom.fun)
            raise TypeError(
                f"Custom VJP fwd rule {rule} for function {name} must produce a pair (list"
                " or tuple of length two) where the first element represents the primal"
                " output (equal to those of the custom_vjp-decorated function"
                f" {name}){RESIDUALS}, but instead of a pair the fwd rule {rule} produced"
                f" {pair!r}."[:900]
            )
        rule_refs.check_results("fwd", custom.fwd, pair[0])
        rule_refs.check_residuals(custom.fwd, pair[1], leaves)
        outs = self.result.flatten_like(custom.fwd, pair[0])
        res, self.res_tree = tree.flatten(pair[1])
        check_values(res, f"the residuals of {function_text(custom.fwd)}")
        return res, outs

    def remat_fwd(self, flags: Sequence[bool], *leaves: Any) -> Any:
        return run_forward(
            lambda *xs: self.fwd(flags, *xs), self.call, leaves, function_name(self.custom.fun)
        )

    def bwd(self, res: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        custom = self.custom
        assert custom.bwd is not None
        if custom.symbolic_zeros:
            cts = [SymbolicZero(ct.aval) if type(ct) is Zero else ct for ct in cts]
        else:
            cts = [instantiate(ct) for ct in cts]
        cts = as_arrays(cts)
        saved_source, STATE.source = (
            STATE.source,
            None,
        )  # equations of the rule get its own lines
        try:
            result = custom.bwd(
                *self.fixed,
                tree.unflatten(self.res_tree, res),
                tree.unflatten(self.result.treedef, cts),
            )
        finally:
            STATE.source = saved_source
        if isinstance(result, list):
            result = tuple(result)
        in_types = tree.unflatten(self.in_tree, self.in_avals)
        try:
            if not isinstance(result, tuple):
                raise ValueError
            flat = tree.broadcast_prefix(result, in_types, is_leaf=_no_cotangent)
        except ValueError:
            raise TypeError(
                errors.message(
                    "Custom VJP bwd rule must produce an output with the same container"
                    " (pytree) structure as the args tuple of the primal function, and in"
                    " particular must produce a tuple of length equal to the number of"
                    " arguments to the primal function, but got bwd output structure"
                    f" {tree.structure(result)} for primal input structure {self.in_tree}.",
                    where=function_text(custom.bwd),
                )
            ) from None
        paths = [path for path, _ in tree.leaves_with_path(in_types)]
        return [self.check(*triple) for triple in zip(flat, self.in_avals, paths, strict=True)]

    def check(self, ct: Any, aval: Any, path: Any) -> Any:
        """Return a cotangent of the argument's type; None if the argument has none.

        A rule's None becomes an array of zeros: earlier rules must run even so, as they
        may return more than cotangents that are linear in theirs.
        """
        expected = aval.to_tangent()
        if expected.dtype == dtypes.float0:
            return None
        if _no_cotangent(ct) or type(ct) is Zero:
            return instantiate(Zero(expected))
        check_values([ct], f"the result of {function_text(self.custom.bwd)}")
        got = core.aval_of(ct)
        narrows = dtypes.is_complex(got.dtype) and not dtypes.is_complex(expected.dtype)
        changes = rule_refs.is_reference(ct)
        if got.shape == expected.shape and got.dtype == dtypes.float0:
            return None
        if got.shape == expected.shape and got.dtype != expected.dtype and not narrows:
            # Rules compute in some precision; the result is converted to the argument's.
            return convert_element_type(ct, expected.dtype)
        wrong = got.shape != expected.shape or got.dtype != expected.dtype
        if got.type_sharding.manual != expected.type_sharding.manual:
            wrong = wrong or bool(to_vary(expected, got))
            ct = ct if wrong else core_ops.reshard_to_aval(ct, expected)
        if changes or (wrong and not config.UNCHECKED_BWD.value):
            raise ValueError(
                errors.message(
                    "Custom VJP bwd rule must produce an output with the same type as the"
                    f" args tuple of the primal function, but at output{tree.keystr(path)}"
                    " the bwd rule produced an output of type"
                    f" {got.str_short(False)} corresponding to an input of type"
                    f" {aval.str_short(False)}, so {type_difference(aval, got)}.",
                    where=function_text(self.custom.bwd),
                )
            )
        return ct


def _no_cotangent(ct: Any) -> bool:
    return ct is None or isinstance(ct, SymbolicZero)
