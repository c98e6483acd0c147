"""Programs drawn from a seed.

The table says what operands an operation takes; what type its value has is asked of
minijax, by abstract evaluation.  An instruction that this refuses is drawn again, but
for a few: what is refused is compared too.
"""

import random
from functools import cache

from . import stacks, table
from .program import Input, Instruction, Program, Sub, lines, pruned, values_used
from .types import (
    OF_LETTER,
    Type,
    draw_dtype,
    draw_number,
    draw_numbers,
    draw_shape,
    number_text,
    value_text,
)

REFUSED = 0.01  # how many refused instructions stay


def draw(seed: int, **fixed) -> Program:
    """The program of a seed; `fixed` are attributes of `Draw` that are not drawn."""
    drawer = Draw(random.Random(seed))
    for name, value in fixed.items():
        setattr(drawer, name, value)
    return drawer.program()


@cache
def library():
    """What the texts of instructions mean while their types are found."""
    import minijax

    space: dict = {}
    text = stacks.PRELUDE.replace("import LIB as jax", "import minijax as jax")
    exec(text + "\n".join(stacks.HELPERS.values()), space)
    return minijax, space


def type_of(instruction: Instruction, types: dict[str, Type]) -> Type | None:
    """The type of an instruction's value, or None where it is no single array."""
    jax, space = library()
    names = [n for n in types if n in values_used((instruction,), ())]
    body = "\n".join(lines((instruction,), "    "))
    scope: dict = dict(space)
    exec(f"def step({', '.join(names)}):\n{body}\n    return {instruction.name}", scope)
    args = [
        jax.ShapeDtypeStruct(t.shape, t.dtype, weak_type=t.weak) for t in map(types.get, names)
    ]
    out = jax.eval_shape(scope["step"], *args)
    if not hasattr(out, "shape") or "key" in str(out.dtype):
        return None
    return Type(str(out.dtype), tuple(out.shape), bool(out.weak_type))


class Pattern:
    """What an operand may be: see the table's docstring."""

    def __init__(self, text: str):
        self.letter, marks = text[0], text[1:]
        self.marks = set(marks)
        self.rank = next((int(m) for m in marks if m.isdigit()), None)

    def admits(self, t: Type, first: Type | None) -> bool:
        if t.kind not in OF_LETTER[self.letter] or t.size > 200:
            return False
        if self.rank is not None and t.rank != self.rank:
            return False
        if ("+" in self.marks and t.rank < 1) or ("*" in self.marks and t.rank < 2):
            return False
        if "S" in self.marks and (t.rank < 2 or t.shape[-1] != t.shape[-2]):
            return False
        if "!" in self.marks and t.size == 0:
            return False
        if first is not None:
            if "=" in self.marks and t[:2] != first[:2]:
                return False
            if "@" in self.marks and t.dtype != first.dtype:
                return False
            if "~" in self.marks and not fits(t.shape, first.shape):
                return False
        return True

    def draw(self, rng, first: Type | None, x64: bool) -> Type:
        if first is not None and "=" in self.marks:
            return first._replace(weak=False)
        if first is not None and "@" in self.marks:
            dtype = first.dtype
        else:
            dtype = draw_dtype(rng, self.letter, x64)
        if first is not None and "~" in self.marks:
            keep = first.shape[rng.randint(0, first.rank) if rng.random() < 0.3 else 0 :]
            shape = tuple(1 if rng.random() < 0.15 else n for n in keep)
        else:
            rank = self.rank
            if rank is None:
                least = 2 if self.marks & {"*", "S"} else 1 if "+" in self.marks else 0
                rank = max(least, len(draw_shape(rng)))
            shape = draw_shape(rng, rank)
            if "S" in self.marks:
                shape = (*shape[:-1], shape[-2])
            if "!" in self.marks:
                shape = tuple(max(n, 1) for n in shape)
        return Type(dtype, shape, weak=rng.random() < 0.08 and may_be_weak(dtype, x64))


def may_be_weak(dtype: str, x64: bool) -> bool:
    wide = ("float64", "int64", "complex128")
    return dtype in (wide if x64 else ("float32", "int32", "complex64"))


def fits(a, b) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1]))


class Draw:
    def __init__(self, rng: random.Random):
        self.rng = rng
        self.count = 0
        self.inputs: list[Input] = []
        self.x64 = rng.random() < 0.4
        self.edges = rng.random() < 0.25
        self.refused = REFUSED
        self.over = False  # an instruction was refused, and stays

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def program(self) -> Program:
        rng = self.rng
        jax, _ = library()
        setting = ""
        if rng.random() < 0.06:
            setting = rng.choice(SETTINGS)
        with jax.enable_x64(self.x64):
            types: dict[str, Type] = {}
            body = self.body(types, rng.randint(2, 7), depth=2, inner=False)
            if not body:
                return self.program()
            results = tuple(i.name for i in body[-rng.randint(1, 3) :])
        program = pruned(
            Program(tuple(self.inputs), tuple(body), results, (), self.x64, setting)
        )
        inputs = {i.name: i.type for i in program.inputs}
        stack = stacks.draw_stack(rng, inputs)
        return Program(program.inputs, program.body, results, stack, self.x64, setting)

    def body(self, types, size, depth, inner=True) -> list[Instruction]:
        """Instructions, whose types are added to `types`."""
        body: list[Instruction] = []
        tries = 0
        while len(body) < size and tries < 6 * size and not self.over:
            tries += 1
            if depth and self.rng.random() < 0.22:
                instruction = self.control(types, depth, inner)
            else:
                instruction = self.plain(types, inner)
            if instruction is None:
                continue
            try:
                type_ = type_of(instruction, types)
            except Exception:
                if inner or self.rng.random() > self.refused:
                    continue
                self.over = True
                return [*body, instruction]
            if type_ is None or type_.size > 300:
                continue
            types[instruction.name] = type_
            body.append(instruction)
        return body

    # ---- operands

    def operand(self, types, pattern: Pattern, first: Type | None, inner) -> str:
        rng = self.rng
        if "$" in pattern.marks and rng.random() < 0.25:
            dtype = draw_dtype(rng, pattern.letter, False)
            return f"({number_text(draw_number(rng, dtype, False))})"
        names = [n for n, t in types.items() if pattern.admits(t, first)]
        if names and rng.random() < 0.85:
            return names[-1] if rng.random() < 0.5 else rng.choice(names)
        return self.fresh(types, pattern.draw(rng, first, self.x64), inner)

    def fresh(self, types, of: Type, inner) -> str:
        """A new input, or inside of a sub-program a constant."""
        numbers = draw_numbers(self.rng, of, self.edges)
        if inner or len(self.inputs) > 4:
            return value_text(of, numbers)
        name = self.name()
        self.inputs.append(Input(name, of, tuple(numbers)))
        types[name] = of
        return name

    # ---- instructions

    def plain(self, types, inner, row=None) -> Instruction | None:
        row = row or table.draw_row(self.rng)
        args: list[str] = []
        first = None
        for pattern in map(Pattern, row.operands):
            args.append(self.operand(types, pattern, first, inner))
            if first is None:
                first = types.get(args[0])
                if first is None:
                    return None
        text = table.static_parts(row, self.rng, first)
        return Instruction(self.name(), row.name, text, tuple(args), (), row.numpy)

    def sub(self, types, params: list[Type], depth, out: Type, closed=False, more=""):
        """A function of values of these types, whose result is made to one type."""
        known = {} if closed else dict(types)
        names = tuple(self.name() for _ in params)
        known.update(zip(names, params))
        body = self.body(known, self.rng.randint(1, 3), depth - 1)
        if not body:
            return None
        last = body[-1].name
        if known[last][:2] != out[:2] or self.rng.random() < 0.1:
            last = f"fit({last}, {out.dtype!r}, {out.shape})"
        return Sub(names, tuple(body), (last + more.format(*names),))

    def control(self, types, depth, inner) -> Instruction | None:
        rng = self.rng
        kind = rng.choice(CONTROL)
        text, pattern = TEXTS[kind]
        x = self.operand(types, Pattern(pattern), None, inner)
        if x not in types:
            return None
        t = types[x]
        args = [x]
        row = t._replace(shape=t.shape[1:])
        make = lambda params, out=t, **more: self.sub(types, params, depth, out, **more)
        match kind:
            case "cond" | "switch":
                args.append(
                    self.operand(types, Pattern("i" if kind == "switch" else "r"), None, inner)
                )
                out = rng.choice([t, Type("float32", (3,))])
                subs = [make([t], out) for _ in range(3 if kind == "switch" else 2)]
            case "scan":
                rows = self.operand(types, Pattern("x+"), None, inner)
                if rows not in types:
                    return None
                args.append(rows)
                r = types[rows]
                each = r._replace(shape=r.shape[1:])
                subs = [make([t, each], t, more=", {1}" if rng.random() < 0.3 else ", {0}")]
            case "fori":
                index = Type("int64" if self.x64 else "int32", (), True)
                subs = [make([index, t])]
            case "while":
                subs = [make([t])]
            case "map" | "vmap":
                subs = [make([row], row)]
            case "vectorize":
                one = t._replace(shape=())
                subs = [make([one], one)]
            case "custom_jvp" | "custom_vjp":
                subs = [make([t], closed=True)]
            case _:
                subs = [make([t])]
        if any(s is None for s in subs):
            return None
        text = table.static_parts(table.Row(kind, text, (), 1, False), rng, t)
        return Instruction(self.name(), kind, text, tuple(args), tuple(subs))


TEXTS = {
    "cond": ("lax.cond(jnp.sum({1}) > 0, {f0}, {f1}, {0})", "x"),
    "switch": ("lax.switch(jnp.sum({1}, dtype=int), [{f0}, {f1}, {f2}], {0})", "x"),
    "scan": ("lax.scan({f0}, {0}, {1}, reverse={bool}, unroll={count})[{two}]", "x"),
    "fori": ("lax.fori_loop(0, {count}, {f0}, {0})", "x"),
    "while": (
        "lax.while_loop(lambda s: (s[0] < {size}) & ~jnp.any(s[1] > 9),"
        " lambda s: (s[0] + 1, {f0}(s[1])), (0, {0}))[1]",
        "r",
    ),
    "map": ("lax.map({f0}, {0})", "x+"),
    "vmap": ("jax.vmap({f0}, out_axes={two})({0})", "x*"),
    "vectorize": ("jnp.vectorize({f0})({0})", "x"),
    "jit": ("jax.jit({f0})({0})", "x"),
    "checkpoint": ("jax.checkpoint({f0})({0})", "x"),
    "custom_jvp": ("with_rule({f0})({0})", "f"),
    "custom_vjp": ("with_pullback({f0})({0})", "f"),
    "grad": ("jax.grad(lambda x: total({f0}(x)))({0})", "f"),
    "jvp": ("jax.jvp({f0}, ({0},), (steps({0}),))[1]", "f"),
    "vjp": ("jax.vjp({f0}, {0})[1](steps({0}))[0]", "f"),
}
CONTROL = [*TEXTS, "cond", "scan", "scan", "jit", "jit", "map", "while"]

SETTINGS = [
    "numpy_dtype_promotion('strict')",
    "numpy_rank_promotion('raise')",
    "debug_nans(False)",
    "disable_jit(True)",
    "default_matmul_precision('float32')",
]
