"""Counter-based hashes, which generate random bits.

A hash maps the words of a key and the words of a counter, all of 32 bits, to pseudorandom
words: Threefry (add, rotate, xor) and Philox (multiply, xor) of Salmon, Moraes, Dror and
Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).  Each is one primitive;
operands broadcast as in elementwise primitives.

The rounds are written with `Word`, which emits StableHLO for `+ ^ * << >>`.  They are
unrolled into one function per shape, which a program calls for each hash.  XLA fuses it with
the operations that use the bits.  A loop over rounds would compile and run slower.

Key arrays are defined in key_arrays.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base import util
from ...ir.core import Primitive, unsupported
from ...ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Var
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import batch_elementwise, broadcast_shape, zero_jvp
from ..shape.shapes import type_problem
from ..sharding_specs import elementwise_specs

Rounds = Callable[[list["Word"], list["Word"]], list["Word"]]


class Word:
    """An emitted 32-bit value; operators accept ints, and broadcast scalars."""

    __slots__ = ("aval", "ctx", "value")

    def __init__(self, ctx: Any, value: Any, aval: Any) -> None:
        self.ctx = ctx
        self.value = value
        self.aval = aval

    def wide(self, aval: Any) -> Any:
        """Return the value broadcast to a larger type."""
        if self.aval is aval:
            return self.value
        dims = range(len(aval.shape)) if self.aval.shape else ()
        return self.ctx.op(
            "broadcast_in_dim", aval, self.value, broadcast_dimensions=self.ctx.i64s(dims)
        )

    def _with(self, other: Word | int, op: str) -> Word:
        if isinstance(other, int):
            other = Word(self.ctx, self.ctx.constant(other, self.aval), self.aval)
        aval = self.aval
        if other.aval is not aval:
            aval = shaped(broadcast_shape(op, (aval, other.aval)), dtypes.uint32)
        x, y = self.wide(aval), other.wide(aval)
        out = self.ctx.create(op, [self.ctx.type(aval)], [x, y]).result
        return Word(self.ctx, out, aval)

    def __add__(self, other: Word | int) -> Word:
        return self._with(other, "stablehlo.add")

    def __xor__(self, other: Word | int) -> Word:
        return self._with(other, "stablehlo.xor")

    def __mul__(self, other: Word | int) -> Word:
        return self._with(other, "stablehlo.multiply")

    def high(self, other: int) -> Word:
        """Return the high 32 bits of the product."""
        return self._with(other, "chlo.mulhi")

    def rotate(self, bits: int) -> Word:
        """Rotate left."""
        left = self._with(bits, "stablehlo.shift_left")
        right = self._with(32 - bits, "stablehlo.shift_right_logical")
        return left._with(right, "stablehlo.or")


# -------------------------------------------------------------------------- the rounds

# Constants of the paper's library Random123: the parity word of Threefish's key schedule,
# rotations, Philox's Weyl increments (the golden ratio, sqrt(3) - 1) and multipliers.
PARITY = 0x1BD11BDA
ROTATIONS_2 = ((13, 15, 26, 6), (17, 29, 16, 24))
ROTATIONS_4 = (((10, 26), (11, 21), (13, 27), (23, 5)), ((6, 20), (17, 11), (25, 10), (18, 20)))
GOLDEN, SQRT3 = 0x9E3779B9, 0xBB67AE85
PHILOX_2 = 0xD256D193
PHILOX_4 = (0xD2511F53, 0xCD9E8D57)


def _inject(words: list[Word], schedule: list[Word], round_group: int) -> list[Word]:
    """Add the key, rotated by `round_group` words; add the count to the last word."""
    n = len(schedule)
    keys = [schedule[(round_group + i) % n] for i in range(len(words))]
    if round_group:
        keys[-1] = keys[-1] + round_group
    return [w + k for w, k in zip(words, keys, strict=True)]


def threefry2x32_rounds(key: list[Word], words: list[Word]) -> list[Word]:
    """Emit Threefry-2x32 with 20 rounds."""
    schedule = [*key, key[0] ^ key[1] ^ PARITY]
    words = _inject(words, schedule, 0)
    for round_group in range(1, 6):
        for bits in ROTATIONS_2[(round_group - 1) % 2]:
            total = words[0] + words[1]
            words = [total, words[1].rotate(bits) ^ total]
        words = _inject(words, schedule, round_group)
    return words


def threefry4x32_rounds(key: list[Word], words: list[Word]) -> list[Word]:
    """Emit Threefry-4x32 with 20 rounds; words 1 and 3 are swapped after each."""
    schedule = [*key, key[0] ^ key[1] ^ key[2] ^ key[3] ^ PARITY]
    words = _inject(words, schedule, 0)
    for round_group in range(1, 6):
        for first, second in ROTATIONS_4[(round_group - 1) % 2]:
            a, b, c, d = words
            a, c = a + b, c + d
            words = [a, d.rotate(second) ^ c, c, b.rotate(first) ^ a]
        words = _inject(words, schedule, round_group)
    return words


def philox2x32_rounds(key: list[Word], words: list[Word]) -> list[Word]:
    """Emit Philox-2x32 with 10 rounds."""
    (k,), (a, b) = key, words
    for round_ in range(10):
        bump = k + round_ * GOLDEN % 2**32 if round_ else k
        a, b = a.high(PHILOX_2) ^ b ^ bump, a * PHILOX_2
    return [a, b]


def philox4x32_rounds(key: list[Word], words: list[Word]) -> list[Word]:
    """Emit Philox-4x32 with 10 rounds."""
    (k, k2), (a, b, c, d) = key, words
    m, n = PHILOX_4
    for round_ in range(10):
        bump = k + round_ * GOLDEN % 2**32 if round_ else k
        bump2 = k2 + round_ * SQRT3 % 2**32 if round_ else k2
        a, b, c, d = c.high(n) ^ b ^ bump, c * n, a.high(m) ^ d ^ bump2, a * m
    return [a, b, c, d]


# ---------------------------------------------------------------------- the primitives


def _type(name: str, count: int) -> Callable[..., list[Any]]:
    def rule(*avals: Any) -> list[Any]:
        for a in avals:
            if a.dtype != dtypes.uint32:
                raise type_problem(
                    f"Arguments to {name} must have uint32 type, got"
                    f" {[x.dtype.name for x in avals]}.",
                    *avals,
                    why="It hashes words of 32 bits.",
                )
        out = shaped(broadcast_shape(name, avals), dtypes.uint32)
        return [out] * count

    return rule


@util.cached(4096)
def _hash_jaxpr(rounds: Primitive, avals: tuple[Any, ...], outs: tuple[Any, ...]) -> Any:
    """Return the jaxpr of one hash, which lowering turns into a function.

    It is one object per type, so that all hashes of a program call one function.
    """
    ins, results = [Var(a) for a in avals], [Var(a) for a in outs]
    return ClosedJaxpr(Jaxpr([], ins, results, [Equation(rounds, ins, results, {})]))


def counter_hash(name: str, key_words: int, words: int, rounds: Rounds) -> Primitive:
    """Declare a hash: the operands are the key's words, then `words` of the counter."""
    prim = Primitive(name, multiple_results=True)
    prim.def_sharding(specs=elementwise_specs(name))
    prim.abstract = _type(name, words)
    zero_jvp(prim)
    batch_elementwise(prim)

    # The rounds are a second primitive, which is lowered inside a separate function.
    body = Primitive(name + "_rounds", multiple_results=True)

    def emit(ctx: Any, *operands: Any) -> list[Any]:
        ins = [Word(ctx, x, a) for x, a in zip(operands, ctx.avals_in, strict=True)]
        outs = rounds(ins[:key_words], ins[key_words:])
        return [w.wide(a) for w, a in zip(outs, ctx.avals_out, strict=True)]

    def lower(ctx: Any, *operands: Any) -> Sequence[Any]:
        called = _hash_jaxpr(body, tuple(ctx.avals_in), tuple(ctx.avals_out))
        return ctx.call(called, name, operands)

    body.abstract, body.lower, prim.lower = prim.abstract, emit, lower
    body.jvp = body.transpose = body.batch = unsupported(f"{body} is only lowered")
    return prim


threefry2x32_p = counter_hash("threefry2x32", 2, 2, threefry2x32_rounds)
threefry4x32_p = counter_hash("threefry4x32", 4, 4, threefry4x32_rounds)
philox2x32_p = counter_hash("philox2x32", 1, 2, philox2x32_rounds)
philox4x32_p = counter_hash("philox4x32", 2, 4, philox4x32_rounds)
