"""Programs built by hand, under JAX's names.  Next: traces.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ..ir.core import Primitive
from ..ir.jaxpr import Equation, Jaxpr, Var, params_of
from ..passes.batch import no_name
from ..runtime.arrays.array import Array
from ..runtime.arrays.tokens import Token as Token
from ..text.printer import WIDTH, Printer
from ..types import dtypes
from ..types.avals import AbstractValue
from .attributes import EquationContext, SourceInfo
from .traces import to_value

Effects = Set
Value = Any
ParamDict = dict[str, Any]
# The types of values that are arrays, ours and NumPy's.
array_types = {
    Array,
    np.ndarray,
    *(
        d.type
        for d in (
            dtypes.bool_,
            dtypes.float16,
            dtypes.float32,
            dtypes.float64,
            dtypes.complex64,
            dtypes.complex128,
            *dtypes.SIGNED,
            *dtypes.UNSIGNED,
        )
    ),
    ml_dtypes.bfloat16,
    *(d.type for d in dtypes.SMALL_FLOATS),
}
# The types of numbers that can be literals in a program, if they are scalars.
literalable_types = frozenset(array_types | {bool, int, float, complex})
OutputType = tuple[AbstractValue, ...]
no_axis_name = no_name


class JaxprPpSettings(NamedTuple):
    """Options of printing a program, which are keywords of `jaxpr.pretty_print`."""

    print_shapes: bool = True
    source_info: bool = False
    name_stack: bool = False
    custom_pp_eqn_rules: bool = True
    print_effects: bool = False


class JaxprPpContext:
    """The names of variables in one printing."""

    __slots__ = ("var_names",)

    def __init__(self, var_names: dict[Any, str] | None = None) -> None:
        self.var_names = {} if var_names is None else var_names

    def suggest_same_var_names(self, for_vars: Sequence[Any], like_vars: Sequence[Any]) -> None:
        """Give variables without a name the names of others."""
        for v, like in zip(for_vars, like_vars, strict=True):
            if like in self.var_names:
                self.var_names.setdefault(v, self.var_names[like])


def pp_jaxpr(
    jaxpr: Jaxpr, context: JaxprPpContext | None = None, settings: JaxprPpSettings | None = None
) -> str:
    """Return the text of a program; its names are taken from and added to `context`."""
    options = (settings or JaxprPpSettings())._asdict()
    if context is None:
        return jaxpr.pretty_print(**options)
    shown = options.pop("custom_pp_eqn_rules")
    printer = Printer(**options, custom_rules=shown)
    printer.promised.update(context.var_names)
    text = printer.text(printer.program(jaxpr), WIDTH)
    context.var_names.update(printer.names)
    return text


def concretization_function_error(
    fun: type, suggest_astype: bool = False
) -> Callable[[Any, Any], Any]:
    """Return a method that raises an error for abstract values.

    Args:
      fun: the conversion of the method, such as `bool` or `int`.
      suggest_astype: whether to suggest `x.astype`.
    """
    hint = f"If trying to convert the data type of a value, try x.astype({fun.__name__})."

    def error(self: Any, arg: Any) -> Any:
        if fun is bool:  # it raises its own error
            return bool(arg)
        return to_value(fun, arg, hint if suggest_astype else "")

    return error


class _AnyEquation(type):
    """Metaclass: all equations are instances of the class that libraries use."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Equation)


class JaxprEqn(Equation, metaclass=_AnyEquation):
    """An equation with JAX's constructor; see `new_jaxpr_eqn`.

    Args:
      effects, ctx: ignored; the primitive determines them.
    """

    __slots__ = ()

    def __init__(
        self,
        invars: Sequence[Any],
        outvars: Sequence[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effects: Iterable[Any],
        source_info: SourceInfo | None,
        ctx: EquationContext | None,
    ) -> None:
        source, names = source_info or (None, "")
        own_params = params_of(primitive, params)
        super().__init__(primitive, list(invars), list(outvars), own_params, source, str(names))


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Iterable[Any] = (),
    source_info: SourceInfo | None = None,
    ctx: EquationContext | None = None,
) -> Equation:
    """Return an equation.

    Args:
      invars: what it reads, variables and literals.
      outvars: its results.
      primitive: the operation.
      params: its params.
      effects, ctx: ignored; the primitive determines them.
      source_info: its source line and name stack.
    """
    return JaxprEqn(invars, outvars, primitive, params, effects, source_info, ctx)
