"""Transformations as text, and the helpers that scripts call.

A transformation takes a function of the program's inputs to another one of the same
inputs, so that they stack.  A helper is text that a script holds if it needs it.
"""

import re
from typing import NamedTuple

from .types import Type


class Layer(NamedTuple):
    """A transformation: an expression of `f`, and what is chosen for some inputs.

    The text has `{argnums}` for the inputs that are named, or `{axes}` and `{lanes}`.
    """

    name: str
    text: str
    chosen: tuple[tuple[str, int | None], ...] = ()

    def expression(self, names: list[str]) -> str:
        """The text for a function of these inputs."""
        chosen = dict(self.chosen)
        if "{argnums}" in self.text:
            at = tuple(i for i, name in enumerate(names) if name in chosen)
            one = len(chosen) == 1 and len(at) == 1
            return self.text.replace("{argnums}", str(at[0] if one else at))
        if "{axes}" not in self.text:
            return self.text
        axes = tuple(chosen.get(name) for name in names)
        lanes = ", ".join(
            f"args[{i}]" if axis is None else f"lanes(args[{i}], {axis})"
            for i, axis in enumerate(axes)
        )
        return self.text.replace("{axes}", str(axes)).replace("{lanes}", lanes)

    def fits(self, names: list[str]) -> bool:
        """Whether there is something left to transform."""
        if "{" not in self.text:
            return True
        chosen = dict(self.chosen)
        return any(chosen.get(n) is not None for n in names)


PRELUDE = """\
import LIB as jax
import numpy as np
from numpy import inf, nan

jnp, lax, nn = jax.numpy, jax.lax, jax.nn

"""

SHOW = """
if __name__ == "__main__":
    with CONTEXTS:
        for leaf in jax.tree.leaves(run()):
            weak = "~" if getattr(leaf, "weak_type", False) else ""
            print(f"{weak}{leaf.dtype}{list(leaf.shape)}", np.asarray(leaf).tolist())
"""

HELPERS = {
    "array": """
def array(numbers, dtype, shape):
    with np.errstate(all="ignore"):
        numbers = np.array(numbers, jnp.dtype(dtype)).reshape(shape)
    return jnp.asarray(numbers)
""",
    "fit": '''
def fit(x, dtype, shape):
    """A value made to a type."""
    x = jnp.asarray(x)
    if jnp.iscomplexobj(x) and "complex" not in dtype:
        x = x.real
    if x.shape != shape:
        x = jnp.broadcast_to(jnp.sum(x), shape)
    return x.astype(dtype)
''',
    "inexact": '''
def inexact(tree):
    """The leaves that have derivatives."""
    leaves = [jnp.asarray(x) for x in kept(tree)]
    return [x for x in leaves if jnp.issubdtype(x.dtype, jnp.inexact)]
''',
    "kept": '''
def kept(tree):
    """The leaves, but for cotangents of integers."""
    return [x for x in jax.tree.leaves(tree) if jnp.result_type(x) != jax.float0]
''',
    "steps": '''
def steps(x):
    """A tangent or cotangent of x: all elements differ."""
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return np.zeros(x.shape, jax.float0)
    return (np.arange(x.size).reshape(x.shape) % 5 * 0.5 - 0.75).astype(x.dtype)
''',
    "total": '''
def total(tree):
    """A real number that depends on every leaf."""
    out = jnp.zeros((), float)
    for x in inexact(tree):
        if jnp.iscomplexobj(x):
            x = x.real + 2 * x.imag
        weights = np.arange(x.size).reshape(x.shape) % 3 + 1
        out += (x * weights.astype(x.dtype)).astype(float).sum()
    return out
''',
    "lanes": '''
def lanes(x, axis):
    """Two lanes that differ."""
    x = jnp.asarray(x)
    other = jnp.flip(x) if x.size > 1 else ~x if x.dtype == bool else x + x
    return jnp.stack([x, other.astype(x.dtype)], axis)
''',
    "pushed": """
def pushed(f):
    def jvp_f(*args):
        args = tuple(map(jnp.asarray, args))
        y, dy = jax.jvp(f, args, tuple(map(steps, args)))
        return y, kept(dy)

    return jvp_f
""",
    "linearized": """
def linearized(f):
    def linearized_f(*args):
        args = tuple(map(jnp.asarray, args))
        y, push = jax.linearize(f, *args)
        return y, kept(push(*map(steps, args)))

    return linearized_f
""",
    "pulled": """
def pulled(f):
    def vjp_f(*args):
        y, pull = jax.vjp(f, *args)
        return y, kept(pull(jax.tree.map(steps, jax.tree.map(jnp.asarray, y))))

    return vjp_f
""",
    "staged": """
def staged(f):
    def evaluated_f(*args):
        jaxpr = jax.make_jaxpr(f)(*args)
        return jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *jax.tree.leaves(args))

    return evaluated_f
""",
    "looped": '''
def looped(f, in_axes, out_axes):
    """What vmap(f) means for two lanes."""
    def looped_f(*args):
        lane = lambda i: [
            x if axis is None else jnp.take(x, i, axis) for x, axis in zip(args, in_axes)
        ]
        join = lambda x, y: jnp.stack([x, y], out_axes)
        return jax.tree.map(join, f(*lane(0)), f(*lane(1)))

    return looped_f
''',
    "paired": '''
def paired(f):
    """<ct, J t> and <ct J, t>, which are equal."""

    def product(xs, ys):
        pairs = zip(kept(xs), kept(ys))
        zero = jnp.zeros((), float)
        return sum((jnp.real(x * y).astype(float).sum() for x, y in pairs), zero)

    def paired_f(*args):
        args = tuple(map(jnp.asarray, args))
        t = tuple(map(steps, args))
        y, dy = jax.jvp(f, args, t)
        ct = jax.tree.map(steps, y)
        _, pull = jax.vjp(f, *args)
        return product(ct, dy), product(pull(ct), t)

    return paired_f
''',
    "shapes": """
def shapes(f):
    return lambda *args: jax.eval_shape(f, *args)
""",
    "with_rule": '''
def with_rule(f):
    """f with a rule of its own, that is what it would be."""
    g = jax.custom_jvp(f)
    g.defjvp(lambda primals, tangents: jax.jvp(f, primals, tangents))
    return g
''',
    "with_pullback": '''
def with_pullback(f):
    """f with a reverse rule of its own, that is what it would be."""
    g = jax.custom_vjp(f)
    g.defvjp(lambda *xs: jax.vjp(f, *xs), lambda pull, ct: pull(ct))
    return g
''',
}


def helpers_in(text: str) -> list[str]:
    """What a text needs, in an order in which it can be read."""
    needed: dict[str, str] = {}

    def look(text):
        for name, source in HELPERS.items():
            if name not in needed and re.search(rf"\b{name}\b", text):
                needed[name] = source
                look(source)

    look(text)
    return [source for name, source in HELPERS.items() if name in needed]


COMPILED = 0.93  # of the programs are compiled whole, which costs a fifth of the time


def draw_stack(rng, inputs: dict[str, Type]) -> tuple[Layer, ...]:
    """Zero to four transformations for a function of these inputs."""
    inexact = [n for n, t in inputs.items() if t.kind in "fc"]
    small = [n for n in inexact if inputs[n].kind == "f" and inputs[n].size <= 6]
    count = rng.choices([0, 1, 2, 3], [1, 5, 4, 2])[0]
    layers: list[Layer] = []
    derivatives = lanes = 0
    while len(layers) < count:
        name = rng.choice(NAMES)
        if name in DERIVATIVES:
            if not inexact or derivatives == 2 or (name in JACOBIANS and not small):
                count -= 1
                continue
            derivatives += 1
        if name == "vmap":
            if lanes == 2 or not inputs:
                count -= 1
                continue
            lanes += 1
        if name == "eval_shape" and (len(layers) + 1 < count or rng.random() < 0.5):
            continue
        layers.append(draw_layer(rng, name, inputs, inexact, small))
    last = layers[-1].name if layers else ""
    if last not in ("jit", "eval_shape") and rng.random() < COMPILED:
        layers.append(Layer("jit", "jax.jit(f)"))
    return tuple(layers)


def draw_layer(rng, name, inputs, inexact, small) -> Layer:
    text = TEXTS[name](rng) if callable(TEXTS[name]) else TEXTS[name]
    if name == "vmap":
        return draw_vmap(rng, inputs)
    if name in JACOBIANS:
        return Layer(name, text, ((rng.choice(small), 0),))
    if "{argnums}" in text:
        some = rng.sample(inexact, rng.randint(1, len(inexact)))
        return Layer(name, text, tuple((n, 0) for n in some))
    return Layer(name, text)


def draw_vmap(rng, inputs: dict[str, Type], how="jax.vmap") -> Layer:
    axes = {n: rng.choice([None, *range(-t.rank - 1, t.rank + 1)]) for n, t in inputs.items()}
    if all(axis is None for axis in axes.values()):
        axes[next(iter(axes))] = 0
    out = rng.choice([0, 0, -1])
    text = f"lambda *args, f=f: {how}(f, in_axes={{axes}}, out_axes={out})({{lanes}})"
    return Layer("vmap", text, tuple(axes.items()))


POLICIES = [
    "",
    "",
    ", policy=jax.checkpoint_policies.everything_saveable",
    ", policy=jax.checkpoint_policies.dots_saveable",
    ", prevent_cse=False",
]

SCALAR = "(lambda *args, f=f: total(f(*args)))"
TEXTS = {
    "jit": lambda rng: f"jax.jit(f{rng.choice(['', '', '', ', inline=True'])})",
    "grad": f"jax.grad({SCALAR}, argnums={{argnums}})",
    "value_and_grad": f"jax.value_and_grad({SCALAR}, argnums={{argnums}})",
    "jvp": "pushed(f)",
    "vjp": "pulled(f)",
    "linearize": "linearized(f)",
    "vmap": "",
    "checkpoint": lambda rng: f"jax.checkpoint(f{rng.choice(POLICIES)})",
    "jacfwd": "jax.jacfwd(f, argnums={argnums})",
    "jacrev": ("jax.jacrev((lambda *args, f=f: inexact(f(*args))), argnums={argnums})"),
    "make_jaxpr": "staged(f)",
    "eval_shape": "shapes(f)",
}
NAMES = [*TEXTS, "jit", "jit", "vmap", "vmap", "grad", "vjp"]
JACOBIANS = {"jacfwd", "jacrev"}
DERIVATIVES = {"grad", "value_and_grad", "jvp", "vjp", "linearize", *JACOBIANS}
