# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 9. Lowering to StableHLO, and compilation by XLA
#
# **Question.** A compiler without any knowledge of Python is between a jaxpr and the
# machine. What does it read, and what does it produce?
#
# It reads *StableHLO*, a language of about a hundred array operations. It produces loops,
# with as few passes over memory as it can.

# %%
import re

import draw
import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax.ir import core
from minijax.ir.jaxpr import Literal
from minijax.runtime.lowering import context
from minijax.runtime.running import compile as compiler


def f(x):
    return jnp.sin(x) * x + 1.0


x = jnp.array([0.0, 1.0, 2.0])
closed = jax.make_jaxpr(f)(x)
lowered = jax.jit(f).lower(x)
draw.Text(lowered.as_text())

# %% [markdown]
# ## Thirty lines to try: a lowering of your own
#
# StableHLO has a text form. So a lowering can be an interpreter of jaxprs whose values
# are names, and which prints one line per equation.

# %%
WORDS = {"sin": "sine", "mul": "multiply", "add": "add", "neg": "negate", "tanh": "tanh"}


def write(jaxpr):
    """Return a StableHLO module of an elementwise program of one shape."""
    aval = jaxpr.invars[0].aval
    kind = "tensor<" + "".join(f"{n}x" for n in aval.shape) + "f32>"
    name, lines = draw.names(jaxpr), []

    def operand(atom):
        if type(atom) is not Literal:
            return f"%{name[atom]}"
        number = f"stablehlo.constant dense<{float(atom.val):e}> : {kind}"
        lines.append(f"%k{len(lines)} = {number}")
        return lines[-1].split()[0]

    for eqn in jaxpr.eqns:
        ins = ", ".join([operand(a) for a in eqn.invars])
        word = WORDS[eqn.primitive.name]
        lines.append(f"%{name[eqn.outvars[0]]} = stablehlo.{word} {ins} : {kind}")
    args = ", ".join(f"%{name[v]}: {kind}" for v in jaxpr.invars)
    body = "\n    ".join([*lines, f"return {operand(jaxpr.outvars[0])} : {kind}"])
    return f"module @f {{\n  func.func @main({args}) -> {kind} {{\n    {body}\n  }}\n}}"


text = write(closed.jaxpr)
assert "%b = stablehlo.sine %a : tensor<3xf32>" in text
draw.Text(text)

# %% [markdown]
# The compiler accepts it. This text is its only input.

# %%
Module = type(lowered.compiler_ir())


def build(text, *args):
    """Compile a module and run it on arrays."""
    module = Module.parse(text, context=lowered.compiler_ir().context)
    executable = compiler.compile_module(module, jax.devices()[:1])
    results = executable.execute_sharded(list(args))
    return np.asarray(results.disassemble_into_single_device_arrays()[0][0])


assert np.allclose(build(text, x), f(x), rtol=1e-6)

# %% [markdown]
# The library does the same with the compiler's data structures instead of text: a loop
# over equations, and for each equation the primitive's rule `lower`. The operations that
# a rule emitted are recorded, and emitted again for the next equation with these types.

# %%
shown = draw.source(context.emit_jaxpr, context.emit_equation)
assert "return rule(ctx, *values, **params)" in shown
shown

# %% [markdown]
# ## What XLA produces
#
# XLA simplifies the program, then *fuses* it: operations whose intermediate results are
# needed only once become one loop. One loop remains of our program. It reads x once and
# writes the result once.

# %%
compiled = lowered.compile()


def kernels(compiled):
    """Return the top-level operations of the optimised program, each a pass over memory."""
    entry = compiled.as_text().split("ENTRY ")[1].split("\n}")[0]
    words = re.findall(r"= \S+ ([\w-]+)\(", entry)
    return [w for w in words if w not in ("parameter", "constant", "bitcast", "tuple")]


assert kernels(compiled) == ["fusion"]
draw.Text(compiled.as_text().split("\n\n")[-2])

# %% [markdown]
# ## The picture: the same function, four times
#
# Forty operations become one loop or two. (The first number counts the operations that
# run without `jit`, one after the other.)


# %%
def long(x):
    for k in range(10):
        x = jnp.tanh(x * 0.5 + float(k)) - x
    return x


program = jax.make_jaxpr(long)(x)
low = jax.jit(long).lower(x)
counts = {
    "operations bound": len(draw.binds(long, x).by("eager")),
    "equations": len(program.eqns),
    "StableHLO operations": len(re.findall(r"= stablehlo\.", low.as_text())),
    "passes over memory": len(kernels(low.compile())),
}
assert counts["equations"] == 40
assert counts["StableHLO operations"] >= 40  # constants are operations as well
assert counts["passes over memory"] <= 2
draw.bars(counts)

# %% [markdown]
# Each operation keeps the line of your program and the names of the transformations
# around it. Profilers and error messages show them.

# %%
names = jax.jit(jax.grad(lambda x: f(x).sum())).lower(x).compile().as_text()
assert "transpose(jvp())/mul" in names

# %% [markdown]
# ## Exercises
#
# **1.** Write `operations(f, *args)`: the names of the StableHLO operations of `f`, in
# order, without constants.


# %%
def exercise_1(operations):
    names = operations(lambda x: jnp.exp(-x), x)
    assert names == ["negate", "exponential"]
    assert "dot_general" in operations(lambda a: a @ a, jnp.ones((2, 2)))


# %% [markdown]
# **2.** Write `unfused(x)`. It computes `f(x)`, but XLA must not fuse the product with
# the sine. (XLA does not optimize across `lax.optimization_barrier`. XLA may choose
# differently on other platforms or versions, so the check reads the program before
# compilation.)


# %%
def exercise_2(unfused):
    text = jax.jit(unfused).lower(x).as_text()
    words = re.findall(r"stablehlo\.(\w+)", text)
    at = words.index("optimization_barrier")
    assert words.index("sine") < at < words.index("multiply")
    assert jnp.allclose(unfused(x), f(x))


# %% [markdown]
# **3.** Write a lowering rule for the primitive `unit`, which limits numbers to [0, 1].
# Use one StableHLO operation: `clamp`, of a minimum, an operand, and a maximum.
# (`ctx.constant(value, aval)` emits a constant, `ctx.op(name, aval, *operands)` an
# operation.)

# %%
unit_p = core.Primitive("unit")
unit_p.abstract = lambda x: x


def exercise_3(rule):
    unit_p.lower = rule
    unit = lambda x: unit_p.bind(x)  # a new function, so nothing is cached
    assert jax.jit(unit)(x - 0.5).tolist() == [0.0, 0.5, 1.0]
    assert "stablehlo.clamp" in jax.jit(unit).lower(x).as_text()


# %% [markdown]
# ## What JAX does differently, and why
#
# The StableHLO is nearly the same, except for arrays that a function closes over. JAX
# writes all their bytes into the program as constants. The compiler may then fold them,
# and must hash, print and store them. In minijax they are arguments that the user does
# not see.

# %%
big = jnp.arange(1000.0) * 1.5
with_big = jax.jit(lambda x: x * big).lower(jnp.float32(1)).as_text()
assert "%arg1" in with_big  # two arguments: one is `big`
assert "dense<" not in with_big
assert len(with_big) < 1000

# %% [markdown]
# ## Answers
#
# **1.**


# %%
def operations(f, *args):
    text = jax.jit(f).lower(*args).as_text()
    words = re.findall(r"= stablehlo\.(\w+)", text)
    return [word for word in words if word != "constant"]


exercise_1(operations)
by_name = lambda f, *args: [e.primitive.name for e in jax.make_jaxpr(f)(*args).eqns]
assert draw.refuses(exercise_1, by_name)

# %% [markdown]
# **2.**

# %%
from minijax import lax

unfused = lambda x: lax.optimization_barrier(jnp.sin(x)) * x + 1.0
exercise_2(unfused)
after = lambda x: lax.optimization_barrier(jnp.sin(x) * x) + 1.0
assert draw.refuses(exercise_2, after)

# %% [markdown]
# **3.**


# %%
def unit_lower(ctx, x):
    (aval,) = ctx.avals_out
    low, high = ctx.constant(0.0, aval), ctx.constant(1.0, aval)
    return ctx.op("clamp", aval, low, x, high)


exercise_3(unit_lower)
assert draw.refuses(exercise_3, lambda ctx, x: x)
