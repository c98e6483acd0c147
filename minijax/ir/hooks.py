"""The functions of higher layers that the core calls, as hooks: see base/above.py."""

from __future__ import annotations

from ..base.above import Hook, ModuleAbove

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
# (primitive, params) -> the params to bind it with, some of which are functions
bind_params = Hook("bind_params")
# (primitive, args, params with functions) -> results
bind_functions = Hook("bind_functions")
