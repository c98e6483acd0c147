"""What low floors ask of the floors above them.

A floor imports only from floors below.  The few things that it needs of what imports it
stand here, each as a `Hook`: the room that makes it fills it in, once, when it loads.  A
hook that is called before is filled first: `load` brings in the room, so that nothing
depends on the order of imports.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

# What is asked for -> the modules that make it.  The package itself says so, which alone
# knows the rooms of all floors: minijax/__init__.py.
homes: dict[str, tuple[str, ...]] = {}


def load(name: str) -> ModuleType:
    """Import what makes the thing of this name; the last of the modules."""
    for module in homes[name]:
        found = importlib.import_module(module)
    return found


class Hook:
    """A function that a floor above gives; `call` is that function."""

    __slots__ = ("call", "filled", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.call: Callable[..., Any] = self._load
        self.filled: Callable[..., Any] | None = None

    def fill(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Give the function; usable as a decorator."""
        # A room whose import was interrupted loads again, and gives the same once more.
        if self.filled is not None and self.filled.__code__ != fun.__code__:
            raise RuntimeError(f"minijax bug: the hook {self.name!r} is filled twice")
        self.filled = self.call = fun
        return fun

    def _load(self, *args: Any, **kwargs: Any) -> Any:
        load(self.name)
        if self.filled is None:
            raise RuntimeError(f"minijax bug: nothing fills the hook {self.name!r}")
        return self.filled(*args, **kwargs)


# (primitive, args, params) -> result(s): run it on concrete values
evaluate = Hook("evaluate")
# (primitive, primals, tangents, params) -> (result, tangent): both at once; or None
evaluate_jvp = Hook("evaluate_jvp")
# (primitive, primals, tangents, params) -> (result, linear part, its residuals); or None
evaluate_linearized = Hook("evaluate_linearized")
# (primitive, axis, args, lane axes, params) -> (result, lane axis), at once; or None
evaluate_batched = Hook("evaluate_batched")
# (primitive, cotangent, args, params) -> cotangents of linear ones, at once; or None
evaluate_transpose = Hook("evaluate_transpose")
# (jaxpr or equation) -> its text
jaxpr_text = Hook("jaxpr_text")
equation_text = Hook("equation_text")
# (tracer of a reference) -> the reference that a staged function sees
reference = Hook("reference")
# (closed jaxpr) -> one that computes the same on values, without references of its own
discharge_jaxpr = Hook("discharge_jaxpr")
# (token): a program with effects was started
started = Hook("started")
# (data, name of the generator) -> key array, when a pickle is read
key_array = Hook("key_array")
# () -> name: what a jitted function offers besides being called
jit_methods = Hook("jit_methods")
# (closed jaxpr, [(primitive, lowering rule of a library)]) -> the program lowered by them
overridden = Hook("overridden")
# (closed jaxpr, args, kinds) -> (operation that makes the first NaN, its place), or None
first_nan = Hook("first_nan")
# (primitive, params, name) -> the param that an interface calls so; or KeyError
param_by_jax_name = Hook("param_by_jax_name")
# (primitive, params) -> the params to bind it with, functions among them
bind_params = Hook("bind_params")
# (primitive, args, params with functions) -> results
bind_functions = Hook("bind_functions")

HOOKS = (
    evaluate,
    evaluate_batched,
    evaluate_jvp,
    evaluate_linearized,
    evaluate_transpose,
    jaxpr_text,
    equation_text,
    reference,
    discharge_jaxpr,
    started,
    key_array,
    jit_methods,
    overridden,
    param_by_jax_name,
    bind_params,
    bind_functions,
    first_nan,
)
