"""Functions that low layers call and higher layers define.

A layer imports only from the layers below it.  The few functions of higher layers that it
needs are `Hook`s in this file.  The module that defines such a function fills the hook
once, when it loads.  If a hook is called earlier, `load` imports that module first, so
nothing depends on the order of imports.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

# Name of a hook or registry -> the modules that fill it.  minijax/__init__.py fills this
# table, since only the top level may name the modules of all layers.
homes: dict[str, tuple[str, ...]] = {}


def load(name: str) -> ModuleType:
    """Import the modules that fill the hook `name`; return the last one."""
    for module in homes[name]:
        loaded = importlib.import_module(module)
    return loaded


class Hook:
    """A function that a higher layer defines; `call` is that function."""

    __slots__ = ("call", "filled", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.call: Callable[..., Any] = self._load
        self.filled: Callable[..., Any] | None = None

    def fill(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Set the function; usable as a decorator."""
        # A module whose import was interrupted loads again and fills the same function.
        if self.filled is not None and self.filled.__code__ != fun.__code__:
            raise RuntimeError(f"minijax bug: the hook {self.name!r} is filled twice")
        self.filled = self.call = fun
        return fun

    def _load(self, *args: Any, **kwargs: Any) -> Any:
        load(self.name)
        if self.filled is None:
            raise RuntimeError(f"minijax bug: nothing fills the hook {self.name!r}")
        return self.filled(*args, **kwargs)


class ModuleAbove:
    """A module of a higher layer; each name of it is looked up when it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(load(self._name), name)
        setattr(self, name, value)
        return value


# The messages of errors about tracers, which are needed only once something is wrong.
tracer_errors = ModuleAbove("tracer_errors")

# (primitive, args, params) -> result(s): run it on concrete values
evaluate = Hook("evaluate")
# The next four run a rule as one compiled program; they return None if they cannot.
# (primitive, primals, tangents, params) -> (result, tangent), or None
evaluate_jvp = Hook("evaluate_jvp")
# (primitive, primals, tangents, params) -> (result, linear part, its residuals); or None
evaluate_linearized = Hook("evaluate_linearized")
# (primitive, axis, args, lane axes, params) -> (result, lane axis), or None
evaluate_batched = Hook("evaluate_batched")
# (primitive, cotangent, args, params) -> cotangents of the linear operands, or None
evaluate_transpose = Hook("evaluate_transpose")
# (jaxpr): raise unless it is well formed and well typed
check_jaxpr = Hook("check_jaxpr")
# (jaxpr or equation) -> its text
jaxpr_text = Hook("jaxpr_text")
equation_text = Hook("equation_text")
# (tracer of a reference) -> the reference that a staged function sees
reference = Hook("reference")
# (closed jaxpr) -> an equivalent one that takes values in place of references
discharge_jaxpr = Hook("discharge_jaxpr")
# (token): a program with effects was started
started = Hook("started")
# (symbolic dimension) -> an integer of the traced program
dimension_value = Hook("dimension_value")
# (data, name of the generator) -> key array, to read a pickle
key_array = Hook("key_array")
# (words, implementation) -> keys over these words
wrap_key_words = Hook("wrap_key_words")
# () -> the methods of a jitted function besides `__call__`, by name
jit_methods = Hook("jit_methods")
# (closed jaxpr, [(primitive, a library's lowering rule)]) -> the program lowered with them
overridden = Hook("overridden")
# (closed jaxpr, args, kinds) -> (operation that produces the first NaN, its source), or None
first_nan = Hook("first_nan")
# (primitive, params, name) -> the param under the name that JAX gives it; or KeyError
param_by_jax_name = Hook("param_by_jax_name")
# (object or None, its class, name) -> an attribute under JAX's name that only libraries read
library_attribute = Hook("library_attribute")
# (primitive, params) -> the params to bind it with, some of which are functions
bind_params = Hook("bind_params")
# (primitive, args, params with functions) -> results
bind_functions = Hook("bind_functions")

HOOKS = tuple([x for x in list(globals().values()) if isinstance(x, Hook)])
