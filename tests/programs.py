"""Random typed programs (x, w) -> y of vectors, with two interpretations.

A program is data: instructions that append a value to an environment.  Values are
floats, ints or bools (`Type`); sub-programs of control flow see the environment around
them, that is, they close over its values.  `run(program, NUMPY)` interprets a program
with NumPy and Python's control flow, `run(program, MINIJAX)` with jnp and lax.
"""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

N = 3


class Type(NamedTuple):
    kind: str  # "f", "i" or "b"
    shape: tuple[int, ...]


class Instruction(NamedTuple):
    op: str
    args: tuple[int, ...]  # positions in the environment
    static: tuple[Any, ...] = ()
    subs: tuple[Any, ...] = ()  # programs


class Program(NamedTuple):
    """Instructions, and the shape of the float that the last value is made to."""

    body: tuple[Instruction, ...]
    shape: tuple[int, ...]


VECTOR = Type("f", (N,))

# ------------------------------------------------------------------- first-order meaning

UNARY = {
    "neg": lambda xp, x: -x,
    "sin": lambda xp, x: xp.sin(x),
    "cos": lambda xp, x: xp.cos(x),
    "tanh": lambda xp, x: xp.tanh(x),
    "exp": lambda xp, x: xp.exp(-x * x),
    "log": lambda xp, x: xp.log1p(x * x),
    "sqrt": lambda xp, x: xp.sqrt(1.0 + x * x),
    "arctan": lambda xp, x: xp.arctan(x),
    "abs": lambda xp, x: xp.abs(x),
    "relu": lambda xp, x: xp.maximum(x, 0.1),
    "cumsum": lambda xp, x: xp.cumsum(x, -1) if x.ndim else x,
    "reverse": lambda xp, x: x[..., ::-1] if x.ndim else x,
    "sort": lambda xp, x: xp.sort(x, -1) if x.ndim else x,
    "transposed": lambda xp, x: x + 0.5 * (x.T if x.shape == x.T.shape else x),
    "roll": lambda xp, x: xp.roll(x, 1),
    "scale": lambda xp, x: 1.5 * x,
    "floor": lambda xp, x: x - xp.floor(x),
}
BINARY = {
    "add": lambda xp, x, y: x + y,
    "sub": lambda xp, x, y: x - y,
    "mul": lambda xp, x, y: xp.tanh(x) * y,
    "div": lambda xp, x, y: x / (1.0 + y * y),
    "max": lambda xp, x, y: xp.maximum(x, y),
    "min": lambda xp, x, y: xp.minimum(x, y),
    "atan2": lambda xp, x, y: xp.arctan2(x, 1.0 + y * y),
    "hypot": lambda xp, x, y: xp.hypot(x, 1.0 + y),
}
COMPARE = {"less": lambda xp, x, y: x < y, "equal": lambda xp, x, y: x == y}
REDUCE = {
    "sum": lambda xp, x, axis: x.sum(axis),
    "mean": lambda xp, x, axis: x.mean(axis),
    "amax": lambda xp, x, axis: x.max(axis),
    "amin": lambda xp, x, axis: x.min(axis),
    "prod": lambda xp, x, axis: xp.tanh(x).prod(axis),
    "var": lambda xp, x, axis: x.var(axis),
    "logsumexp": lambda xp, x, axis: xp.log(xp.exp(xp.tanh(x)).sum(axis)),
}
OTHER = {
    "dot": lambda xp, x, y: 0.5 * xp.matmul(x, y),
    "outer": lambda xp, x, y: xp.outer(xp.tanh(x), y),
    "where": lambda xp, b, x, y: xp.where(b, x, y),
    "concatenate": lambda xp, x, y: xp.concatenate([x, y]),
    "stack": lambda xp, x, y: xp.stack([x, y]),
    "slice": lambda xp, x, start, stop, step: x[start:stop:step],
    "column": lambda xp, x, i: x[..., i],
    "mask": lambda xp, b: b.any(),
    "dynamic": lambda xp, x, i: x[i % x.shape[0]],
    "rows": lambda xp, x, i: x[xp.stack([i, i + 1]) % x.shape[0]],
    "argmax": lambda xp, x: x.argmax().astype(int),
    "count": lambda xp, b: b.sum().astype(int),
    "next": lambda xp, i: (3 * i + 1) % 7,
    "to_float": lambda xp, i: 0.25 * i.astype(float),
    "reshape": lambda xp, x, shape: xp.reshape(x, shape),
    "expand": lambda xp, x: x[None],
}
FIRST = {**UNARY, **BINARY, **COMPARE, **REDUCE, **OTHER}


class Numpy:
    """Control flow in Python."""

    xp = np

    def add_at(self, x, i, value):
        out = x.copy()
        out[i % x.shape[0]] += value
        return out

    def set_at(self, x, i, value):
        out = x.copy()
        out[i % x.shape[0]] = value
        return out

    def cond(self, flag, f, g, x):
        return f(x) if flag else g(x)

    def switch(self, i, fs, x):
        return fs[min(max(int(i), 0), len(fs) - 1)](x)

    def scan(self, f, c, rows, reverse):
        seen = [None] * len(rows)
        order = range(len(rows))
        for k in order[::-1] if reverse else order:
            seen[k] = c
            c = f(c, rows[k])
        return c + sum(s for s in seen)

    def fori(self, f, n, x):
        for i in range(n):
            x = f(np.asarray(i), x)
        return x

    def while_loop(self, n, f, x):
        i = 0
        while i < n and x.sum() < 2.0:
            i, x = i + 1, f(x)
        return x

    def each(self, f, rows):
        return np.stack([f(row) for row in rows])

    map_rows = vmap = each

    def call(self, f, x):
        return f(x)

    jit = checkpoint = call

    def custom_jvp(self, f, env, x):
        return f(env, x)


class Minijax:
    xp = jnp

    def add_at(self, x, i, value):
        return x.at[i % x.shape[0]].add(value)

    def set_at(self, x, i, value):
        return x.at[i % x.shape[0]].set(value)

    def cond(self, flag, f, g, x):
        return lax.cond(flag, f, g, x)

    def switch(self, i, fs, x):
        return lax.switch(i, fs, x)

    def scan(self, f, c, rows, reverse):
        c, seen = lax.scan(lambda c, row: (f(c, row), c), c, rows, reverse=reverse)
        return c + seen.sum(0)

    def fori(self, f, n, x):
        return lax.fori_loop(0, n, f, x)

    def while_loop(self, n, f, x):
        return lax.while_loop(
            lambda s: (s[0] < n) & (s[1].sum() < 2.0), lambda s: (s[0] + 1, f(s[1])), (0, x)
        )[1]

    def map_rows(self, f, rows):
        return lax.map(f, rows)

    def vmap(self, f, rows):
        return mj.vmap(f)(rows)

    def jit(self, f, x):
        return mj.jit(f)(x)

    def checkpoint(self, f, x):
        return mj.checkpoint(f)(x)

    def custom_jvp(self, f, env, x):
        """With a rule that takes the derivative of `f` itself."""
        g = mj.custom_jvp(f)
        g.defjvp(lambda primals, tangents: mj.jvp(f, primals, tangents))
        return g(env, x)


NUMPY, MINIJAX = Numpy(), Minijax()


def convert(xp, value, shape):
    """Any value as a float of a shape, not too large."""
    value = 1.0 * value
    if value.shape != shape:
        value = xp.broadcast_to(xp.tanh(value).sum(), shape)
    return value


def evaluate(program, env, how):
    env = list(env)
    for instruction in program.body:
        env.append(step(instruction, env, how))
    return convert(how.xp, env[-1], program.shape)


def step(instruction, env, how):
    op, positions, static, subs = instruction
    args = [env[i] for i in positions]
    if op in FIRST:
        return FIRST[op](how.xp, *args, *static)
    known = tuple(env)
    bodies = [lambda *xs, s=s: evaluate(s, (*known, *xs), how) for s in subs]
    match op:
        case "add_at" | "set_at":
            return getattr(how, op)(*args)
        case "cond":
            return how.cond(args[0], *bodies, args[1])
        case "switch":
            return how.switch(args[0], bodies, args[1])
        case "scan":
            return how.scan(bodies[0], *args, *static)
        case "fori" | "while_loop":
            body, n = bodies[0], static[0]
            if op == "while_loop":
                return how.while_loop(n, body, *args)
            return how.fori(body, n, *args)
        case "custom_jvp":  # its rule may not close over values: all are operands
            inner = lambda env, x: evaluate(subs[0], (*env, x), how)
            return how.custom_jvp(inner, known, *args)
    return getattr(how, op)(bodies[0], *args)


def run(program, how):
    """The function (x, w) -> y that a program means."""
    return lambda x, w: evaluate(program, (how.xp.asarray(x), how.xp.asarray(w)), how)


def uses(program, op):
    """Whether an operation occurs, however deep."""
    return any(i.op == op or any(uses(s, op) for s in i.subs) for i in program.body)


# ------------------------------------------------------------------------------ drawing


def find(types, kind, test=lambda shape: True):
    return [i for i, t in enumerate(types) if t.kind == kind and test(t.shape)]


class Draw:
    """Draws instructions for an environment of known types."""

    def __init__(self, draw):
        self.draw = draw

    def pick(self, choices):
        return self.draw(st.sampled_from(choices))

    def program(self, types, depth, shape, least=1, size=4):
        body = []
        types = list(types)
        for _ in range(self.draw(st.integers(least, size))):
            kinds = FLAT if depth == 0 else [*FLAT, *DEEP]
            made = getattr(self, self.pick(kinds))(types, depth)
            if made is not None:
                body.append(made[0])
                types.append(made[1])
        if not body:
            return self.program(types, 0, shape, least, size)
        return Program(tuple(body), shape)

    def sub(self, types, extra, depth, shape):
        return self.program([*types, *extra], depth - 1, shape, size=3)

    # Each returns an instruction and the type of its value, or None: nothing fits.

    def unary(self, types, depth):
        i = self.pick(find(types, "f"))
        return Instruction(self.pick(sorted(UNARY)), (i,)), types[i]

    def binary(self, types, depth):
        i = self.pick(find(types, "f"))
        j = self.pick(find(types, "f", lambda s: fits(s, types[i].shape)))
        shape = np.broadcast_shapes(types[i].shape, types[j].shape)
        return Instruction(self.pick(sorted(BINARY)), (i, j)), Type("f", shape)

    def compare(self, types, depth):
        (_, args, _, _), out = self.binary(types, depth)
        return Instruction(self.pick(sorted(COMPARE)), args), Type("b", out.shape)

    def reduce(self, types, depth):
        i = self.pick(find(types, "f"))
        shape = types[i].shape
        axes = [None, *range(-len(shape), len(shape))]
        axis = self.pick(axes)
        out = () if axis is None else tuple(np.delete(shape, axis).tolist())
        return Instruction(self.pick(sorted(REDUCE)), (i,), (axis,)), Type("f", out)

    def dot(self, types, depth):
        left = find(types, "f", lambda s: len(s) > 0)
        i = self.pick(left)
        a = types[i].shape
        right = find(types, "f", lambda s: s and s[max(-2, -len(s))] == a[-1])
        if not right:
            return None
        j = self.pick(right)
        shape = np.matmul(np.zeros(a), np.zeros(types[j].shape)).shape
        return Instruction("dot", (i, j)), Type("f", shape)

    def outer(self, types, depth):
        vectors = find(types, "f", lambda s: len(s) == 1)
        i, j = self.pick(vectors), self.pick(vectors)
        return Instruction("outer", (i, j)), Type("f", types[i].shape + types[j].shape)

    def where(self, types, depth):
        flags = find(types, "b")
        if not flags:
            return self.compare(types, depth)
        (_, args, _, _), out = self.binary(types, depth)
        flags = find(types, "b", lambda s: fits(s, out.shape))
        if not flags:
            return None
        b = self.pick(flags)
        shape = np.broadcast_shapes(types[b].shape, out.shape)
        return Instruction("where", (b, *args)), Type("f", shape)

    def join(self, types, depth):
        i = self.pick(find(types, "f", lambda s: len(s) > 0))
        same = find(types, "f", lambda s: s == types[i].shape)
        j, op = self.pick(same), self.pick(["concatenate", "stack"])
        if op == "stack" and len(types[i].shape) > 1:
            op = "concatenate"
        shape = types[i].shape
        shape = (2, *shape) if op == "stack" else (2 * shape[0], *shape[1:])
        return None if max(shape) > 6 else (Instruction(op, (i, j)), Type("f", shape))

    def cut(self, types, depth):
        i = self.pick(find(types, "f", lambda s: len(s) > 0))
        bounds = st.none() | st.integers(-4, 4)
        at = self.draw(bounds), self.draw(bounds), self.pick([None, 1, 2, -1])
        n = len(range(types[i].shape[0])[slice(*at)])
        if n == 0:
            return None
        return Instruction("slice", (i,), at), Type("f", (n, *types[i].shape[1:]))

    def column(self, types, depth):
        i = self.pick(find(types, "f", lambda s: len(s) > 0))
        k = self.draw(st.integers(-types[i].shape[-1], types[i].shape[-1] - 1))
        return Instruction("column", (i,), (k,)), Type("f", types[i].shape[:-1])

    def integer(self, types, depth):
        ints, flags = find(types, "i", lambda s: s == ()), find(types, "b")
        op = self.pick(["argmax", "count", "next", "to_float"])
        if op in ("next", "to_float") and ints:
            kind = "i" if op == "next" else "f"
            return Instruction(op, (self.pick(ints),)), Type(kind, ())
        if op == "count" and flags:
            return Instruction(op, (self.pick(flags),)), Type("i", ())
        return Instruction("argmax", (self.pick(find(types, "f")),)), Type("i", ())

    def index(self, types, depth):
        ints = find(types, "i", lambda s: s == ())
        if not ints:
            return self.integer(types, depth)
        i, x = self.pick(ints), self.pick(find(types, "f", lambda s: len(s) > 0))
        shape = types[x].shape
        op = self.pick(["dynamic", "rows", "add_at", "set_at"])
        if op == "dynamic":
            return Instruction(op, (x, i)), Type("f", shape[1:])
        if op == "rows":
            return Instruction(op, (x, i)), Type("f", (2, *shape[1:]))
        value = self.pick(find(types, "f", lambda s: s == shape[1:]) or [None])
        if value is None:
            return None
        return Instruction(op, (x, i, value)), types[x]

    def flag(self, types, depth):
        flags = find(types, "b")
        if not flags:
            return self.compare(types, depth)
        return Instruction("mask", (self.pick(flags),)), Type("b", ())

    def reshape(self, types, depth):
        i = self.pick(find(types, "f", lambda s: len(s) > 0))
        n = int(np.prod(types[i].shape))
        shapes = [(n,), *((k, n // k) for k in (1, 2, 3) if n % k == 0)]
        shape = self.pick(shapes)
        return Instruction("reshape", (i,), (shape,)), Type("f", shape)

    # ---- with sub-programs

    def operand(self, types):
        i = self.pick(find(types, "f"))
        return i, types[i]

    def cond(self, types, depth):
        flags = find(types, "b", lambda s: s == ())
        if not flags:
            return self.flag(types, depth)
        i, x = self.operand(types)
        out = self.pick([x.shape, (N,)])
        subs = tuple(self.sub(types, [x], depth, out) for _ in range(2))
        return Instruction("cond", (self.pick(flags), i), (), subs), Type("f", out)

    def switch(self, types, depth):
        ints = find(types, "i", lambda s: s == ())
        if not ints:
            return self.integer(types, depth)
        i, x = self.operand(types)
        subs = tuple(self.sub(types, [x], depth, x.shape) for _ in range(3))
        return Instruction("switch", (self.pick(ints), i), (), subs), x

    def scan(self, types, depth):
        i, x = self.operand(types)
        rows = self.pick(find(types, "f", lambda s: len(s) > 0))
        row = Type("f", types[rows].shape[1:])
        sub = self.sub(types, [x, row], depth, x.shape)
        reverse = self.draw(st.booleans())
        return Instruction("scan", (i, rows), (reverse,), (sub,)), x

    def fori(self, types, depth):
        i, x = self.operand(types)
        sub = self.sub(types, [Type("i", ()), x], depth, x.shape)
        n = self.draw(st.integers(0, 3))
        return Instruction("fori", (i,), (n,), (sub,)), x

    def while_loop(self, types, depth):
        i, x = self.operand(types)
        sub = self.sub(types, [x], depth, x.shape)
        return Instruction("while_loop", (i,), (2,), (sub,)), x

    def each(self, types, depth):
        i = self.pick(find(types, "f", lambda s: len(s) > 0))
        rows = types[i].shape
        sub = self.sub(types, [Type("f", rows[1:])], depth, rows[1:])
        op = self.pick(["map_rows", "vmap"])
        return Instruction(op, (i,), (), (sub,)), types[i]

    def call(self, types, depth):
        i, x = self.operand(types)
        sub = self.sub(types, [x], depth, x.shape)
        op = self.pick(["jit", "checkpoint", "custom_jvp"])
        return Instruction(op, (i,), (), (sub,)), x


def fits(a, b):
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


FLAT = [
    "unary",
    "unary",
    "binary",
    "binary",
    "reduce",
    "dot",
    "outer",
    "where",
    "join",
    "cut",
    "column",
    "integer",
    "index",
    "flag",
    "reshape",
    "compare",
]
DEEP = ["cond", "switch", "scan", "fori", "while_loop", "each", "call", "call"]


@st.composite
def programs(draw, depth=2):
    """Programs (x, w) -> y of vectors of N floats."""
    return Draw(draw).program([VECTOR, VECTOR], depth, (N,), least=3, size=8)
