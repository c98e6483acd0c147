"""Calls of every public function, of operands with axes that meshes can shard.

A call is a row of the fuzzer's table, or is made from a function's signature as in
tests/fuzz/calls.py; the same on every run.
"""

import random
import re
from typing import Any, NamedTuple

from tests.fuzz import calls, draw, evaluated, table
from tests.fuzz.types import Type

ROWS, COLUMNS = 256, 128
SHAPES = [(ROWS, COLUMNS)] * 4 + [(ROWS,), (COLUMNS, COLUMNS), (ROWS, 16, 16)]
DTYPES = ["float32"] * 6 + ["int32", "bool", "complex64"]
TRIES = 60  # draws of one function's arguments
EACH = 1  # calls of one function
SLOW = "orthogonal ball expn zeta hyp wofz binomial multinomial".split()

FURTHER = """
jnp.sort({m}, axis=0)
jnp.sort({m}, axis=1)
jnp.sort({v})
jnp.argsort({v})
jnp.median({m}, axis=1)
jnp.median({m}, axis=0)
jnp.median({v})
jnp.quantile({m}, 0.3, axis=1)
jnp.partition({m}, 7, axis=1)
jnp.partition({v}, 7)
jnp.argpartition({v}, 7)
jnp.nonzero({v}, size=64)
jnp.flatnonzero({m}, size=64)
jnp.argwhere({v} > 0, size=64)
jnp.where({v} > 0, size=64)
jnp.unique({v}, size=64)
jnp.histogram({v}, bins=16)
jnp.histogram({m}, bins=16)
jnp.histogram2d({v}, {v}, bins=8)
jnp.bincount(abs({i}), length=16)
jnp.digitize({v}, jnp.linspace(-1.0, 1.0, 16))
jnp.searchsorted(jnp.linspace(-1.0, 1.0, 16), {v})
jnp.outer({v}, {v})
jnp.kron({v}, jnp.ones(4))
jnp.hypot({m}, {m})
jnp.gradient({m})
jnp.insert({v}, 3, 1.0)
jnp.delete({v}, 3)
jnp.cross({m}[:, :3], {m}[:, 3:6])
jnp.lexsort(({v}, {v}))
jnp.cumsum({m}, axis=0)
jnp.cov({m})
jnp.flip({m}, axis=0)
jnp.roll({m}, 3, axis=0)
jnp.pad({m}, 1)
jnp.take({m}, {i} % 16, axis=0)
{m}.at[{i} % 16].add(1.0)
{m}.at[3].set(1.0)
{m}[3]
{m}[::2]
jax.random.gamma(jax.random.key(0), abs({m}) + 0.5)
jax.random.loggamma(jax.random.key(0), abs({m}) + 0.5)
jax.random.beta(jax.random.key(0), abs({m}) + 0.5, abs({m}) + 0.5)
jax.random.dirichlet(jax.random.key(0), abs({m}) + 0.5)
jax.random.chisquare(jax.random.key(0), abs({m}) + 0.5)
jax.random.t(jax.random.key(0), abs({m}) + 0.5)
jax.random.f(jax.random.key(0), abs({m}) + 0.5, abs({m}) + 0.5)
jax.random.poisson(jax.random.key(0), abs({m}) + 0.5)
jax.random.binomial(jax.random.key(0), 9.0, nn.sigmoid({v}))
jax.random.bernoulli(jax.random.key(0), nn.sigmoid({m}))
jax.random.categorical(jax.random.key(0), {m})
jax.random.uniform(jax.random.key(0), {m}.shape, minval={m}, maxval={m} + 1)
jax.random.randint(jax.random.key(0), {i}.shape, 0, abs({i}) + 1)
jax.random.truncated_normal(jax.random.key(0), {m}, {m} + 1)
jax.random.normal(jax.random.key(0), {m}.shape) + {m}
jax.random.permutation(jax.random.key(0), {m})
jax.random.choice(jax.random.key(0), {v}, (64,))
jax.random.choice(jax.random.key(0), {v}, (64,), replace=False)
jax.random.multivariate_normal(jax.random.key(0), {m}, jnp.eye(128))
jax.random.wald(jax.random.key(0), abs({m}) + 0.5)
jax.random.geometric(jax.random.key(0), nn.sigmoid({m}))
jax.random.pareto(jax.random.key(0), abs({m}) + 0.5)
jax.random.weibull_min(jax.random.key(0), abs({m}) + 0.5, abs({m}) + 0.5)
jax.random.rayleigh(jax.random.key(0), abs({m}) + 0.5)
jax.random.triangular(jax.random.key(0), {m} - 1, {m}, {m} + 1)
jax.random.generalized_normal(jax.random.key(0), 2.0, {m}.shape) + {m}
jax.random.multinomial(jax.random.key(0), 9.0, nn.softmax({m}))
lax.betainc(abs({m}) + 1, abs({m}) + 2, nn.sigmoid({m}))
lax.igamma(abs({m}) + 1, abs({m}) + 2)
lax.igammac(abs({m}) + 1, abs({m}) + 2)
lax.random_gamma_grad(abs({m}) + 1, abs({m}) + 2)
lax.zeta(abs({m}) + 1, abs({m}) + 2)
lax.top_k({m}, 4)
lax.approx_max_k({m}, 4)
lax.conv_general_dilated({t}, jnp.ones((16, 16, 3)), (1,), 'SAME')
lax.reduce_window({m}, 0.0, lax.add, (2, 2), (1, 1), 'SAME')
lax.cumlogsumexp({m}, axis=0)
lax.associative_scan(jnp.add, {m}, axis=0)
lax.scan(lambda c, x: (c + x, c), jnp.zeros({m}.shape[1:]), {m})
lax.map(jnp.sin, {m})
lax.fori_loop(0, 3, lambda i, x: jnp.sin(x), {m})
lax.while_loop(lambda x: x.sum() < 9, lambda x: x + 1, {m})
lax.cond({m}.sum() > 0, jnp.sin, jnp.cos, {m})
jax.vmap(jnp.sort)({m})
jax.vmap(lambda x: jnp.histogram(x, bins=8)[0])({m})
jax.vmap(lambda x: jnp.median(x))({m})
jax.vmap(lambda x: jnp.nonzero(x, size=4)[0])({m})
jax.vmap(lambda x: jnp.searchsorted(jnp.sort(x), x))({m})
jax.vmap(lambda x: jnp.interp(x, jnp.arange(128.0), x))({m})
jax.vmap(lambda x: jnp.convolve(x, x, mode='same'))({m})
jax.vmap(jnp.linalg.inv)({t} + jnp.eye(16))
jax.vmap(jax.scipy.linalg.expm)({t})
jax.vmap(jnp.linalg.eigvalsh)({t})
jax.vmap(lambda x: jax.random.normal(jax.random.key(0), (3,)) + x[:3])({m})
jax.scipy.linalg.expm({t})
jax.scipy.linalg.expm({s})
jax.scipy.linalg.sqrtm({s})
jax.scipy.linalg.cho_solve((jnp.eye(128), True), {s})
jnp.linalg.inv({t} + jnp.eye(16))
jnp.linalg.solve({t} + jnp.eye(16), {t})
jnp.linalg.qr({t})
jnp.linalg.svd({t})
jnp.linalg.eigh({t} + {t}.mT)
jnp.linalg.cholesky({t} @ {t}.mT + jnp.eye(16))
jnp.linalg.det({t})
jnp.linalg.pinv({t})
jnp.linalg.matrix_power({t}, 3)
jnp.linalg.norm({t}, axis=(1, 2), ord=2)
jnp.fft.fft({m}, axis=0)
jnp.fft.fft({m}, axis=1)
jnp.fft.fft2({m})
jax.image.resize({m}, (128, 64), 'linear')
jax.image.scale_and_translate({m}, (128, 64), (0, 1), jnp.ones(2), jnp.zeros(2), 'linear')
jax.ops.segment_sum({m}, {i} % 16, num_segments=16)
jax.ops.segment_max({m}, {i} % 16, num_segments=16)
jax.scipy.ndimage.map_coordinates({m}, [{m}, {m}], order=1)
jax.scipy.special.zeta(abs({m}) + 2, 1.0)
jax.scipy.special.expn(2, abs({m}) + 1)
jax.scipy.special.factorial(abs({m}))
jax.scipy.special.comb(abs({m}) + 3, 2.0)
jax.scipy.special.hyp1f1(1.0, 2.0, {m})
jax.scipy.special.bernoulli(4)[0] + {m}
jax.scipy.stats.multinomial.logpmf(abs({i}), 9, jnp.ones(256) / 256)
jax.scipy.signal.fftconvolve({m}, {m}, mode='same')
jax.scipy.signal.convolve2d({m}, jnp.ones((3, 3)), mode='same')
nn.softmax({m}, axis=0)
nn.softmax({m}, axis=1)
nn.dot_product_attention({q}, {q}, {q})
nn.gelu({m}) @ jnp.ones((128, 64))
""".strip().splitlines()
_OPERANDS = {
    "m": ((ROWS, COLUMNS), "float32"),
    "v": ((ROWS,), "float32"),
    "i": ((ROWS,), "int32"),
    "t": ((ROWS, 16, 16), "float32"),
    "s": ((COLUMNS, COLUMNS), "float32"),
    "q": ((16, 16, 8, 32), "float32"),
}

ROOMS = [*calls.ROOMS, "jax.image", *(f"jax.scipy.{r}" for r in evaluated.ROOMS)]


class Sample(NamedTuple):
    name: str
    text: str  # of a function of the operands
    types: tuple[tuple[tuple[int, ...], str], ...]


class _Call(calls.Call):
    """A call whose operands can be sharded."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, False)

    def type(self) -> Type:
        if self.types and self.rng.random() < 0.8:
            return self.first
        return Type(self.rng.choice(DTYPES), self.rng.choice(SHAPES))

    def array(self, of: Type | None = None) -> str:
        self.types.append(of or self.type())
        return f"a{len(self.types) - 1}"


def _finished(name: str, call: _Call, expression: str) -> Sample | None:
    """The sample of a call, if minijax takes the call."""
    names = ", ".join(f"a{i}" for i in range(len(call.types)))
    text = f"lambda {names}: {expression}"
    jax, space = draw.library()
    structs = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in call.types]
    try:
        out = jax.eval_shape(eval(text, dict(space)), *structs)
    except Exception:
        return None
    leaves = [x for x in jax.tree.leaves(out) if hasattr(x, "shape")]
    most = 512 * max([1, *(t.size for t in call.types)])
    if not leaves or not call.types or sum(x.size for x in leaves) > most:
        return None
    return Sample(name, text, tuple((t.shape, t.dtype) for t in call.types))


def _of_signature(name: str, signature: Any, rng: random.Random) -> Sample | None:
    call, parts, positional = _Call(rng), [], True
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            continue
        if p.kind is p.VAR_POSITIONAL:
            parts += [call.array() for _ in range(2)]
            positional = False
            continue
        if p.default is not p.empty and rng.random() > 0.15:
            positional = False
            continue
        text = calls.argument(call, name, p)
        named = not positional or p.kind is p.KEYWORD_ONLY
        parts.append(f"{p.name}={text}" if named else text)
    return _finished(name, call, f"{name}({', '.join(parts)})")


_RANKS: dict[int | None, tuple[int, ...]] = {
    None: (ROWS, COLUMNS),
    0: (),
    1: (ROWS,),
    2: (ROWS, COLUMNS),
    3: (ROWS, 16, 16),
}
_LETTERS = {"i": "int32", "y": "int32", "b": "bool", "c": "complex64"}


def _of_row(row: table.Row, rng: random.Random) -> Sample | None:
    call, args = _Call(rng), []
    for text in row.operands:
        pattern = draw.Pattern(text)
        square = "S" in pattern.marks
        same = call.types and not pattern.marks.isdisjoint("=~")
        shape = (
            call.first.shape if same else (COLUMNS, COLUMNS) if square else _RANKS[pattern.rank]
        )
        if pattern.letter == "i" and pattern.rank is None and not same:
            shape = (ROWS,)  # indices
        args.append(call.array(Type(_LETTERS.get(pattern.letter, "float32"), shape)))
    text = table.static_parts(row, rng, call.first)
    name = row.name if row.name.isidentifier() else row.text
    return _finished(name, call, text.format(*args))


def _of_text(text: str) -> Sample | None:
    """A call whose operands are letters in braces, one operand for each letter."""
    call, letters = _Call(random.Random(0)), []
    for letter in re.findall(r"\{(\w)\}", text):
        if letter not in letters:
            letters.append(letter)
            shape, dtype = _OPERANDS[letter]
            call.array(Type(dtype, shape))
    names = {c: f"a{n}" for n, c in enumerate(letters)}
    expression = re.sub(r"\{(\w)\}", lambda match: names[match[1]], text)
    return _finished(text.partition("(")[0], call, expression)


def samples() -> list[Sample]:
    """All calls; those of one text once."""
    calls.ROOMS[:] = ROOMS
    calls.functions.cache_clear()
    by_key: dict[Any, Sample] = {}
    for text in FURTHER:
        sample = _of_text(text)
        assert sample is not None, text
        _keep(by_key, [sample])
    for row in table.TABLE:
        tries = (_of_row(row, random.Random(f"{row.text} {i}")) for i in range(12))
        _keep(by_key, tries)
    for name, signature in calls.functions():
        if any(word in name for word in SLOW):
            continue
        tries = (
            _of_signature(name, signature, random.Random(f"{name} {i}")) for i in range(TRIES)
        )
        _keep(by_key, tries)
    return list(by_key.values())


def _keep(by_key: dict[Any, Sample], tries: Any) -> None:
    count = 0
    for sample in tries:
        if sample is None:
            continue
        key = re.sub(r"\s", "", sample.text), sample.types
        if key not in by_key:
            by_key[key] = sample
            count += 1
        if count == EACH:
            return
