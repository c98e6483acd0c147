"""Single calls by types: every public function, arguments of random types.

Nothing is compiled: each call is evaluated abstractly in both libraries, and the types
of the results, or that there are none, are compared.  Half of the calls are rows of the
table; the others are made of a function's signature: what a parameter takes is told by
its name.
"""

import functools
import inspect
import random
import time
from collections import Counter
from pathlib import Path

from . import known, stacks, table
from .compare import difference
from .draw import Pattern, library, may_be_weak
from .pair import Pair
from .types import TAME, Type, draw_dtype, draw_shape

BATCH = 250

PRELUDE = (
    stacks.PRELUDE
    + """
import functools

def S(shape, dtype, weak=False):
    return jax.ShapeDtypeStruct(shape, jnp.dtype(dtype), weak_type=weak)
"""
)

ROOMS = ["jnp", "jnp.linalg", "jnp.fft", "lax", "lax.linalg", "nn", "jax.random", "jax.ops"]

SKIPPED = set(
    """
    save load savez fromfile fromiter fromstring frombuffer from_dlpack fromfunction
    frompyfunc set_printoptions printoptions get_printoptions array_repr array_str vectorize
    apply_along_axis apply_over_axes piecewise cond switch scan while_loop fori_loop map
    associative_scan custom_root custom_linear_solve platform_dependent composite dce_sink
    scatter_apply reduce_window mask_indices import_module all_gather all_to_all
    axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute pshuffle psum
    psum_scatter pswapaxes ragged_all_to_all reduce loop empty empty_like check_arraylike
    clone key PRNGKey einsum_path can_cast issubdtype isdtype iterable result_type
    promote_types dtype rng_uniform lax_fft as_array canonical_axis composite convert div
    mul on_device roll_ slice_in_dim_ static_dtype padtype_to_pads copy_p
    conv_dimension_numbers conv_general_permutations conv_general_shape_tuple
    conv_shape_tuple conv_transpose_shape_tuple reduce_window_shape_tuple broadcast_shapes
    block approx_max_k approx_min_k place random_gamma_grad wrap_key_data key_impl
    """.split()
)


def number(rng, *_):
    return rng.choice(["0", "1", "2", "-1", "3", "0.5", "2.0", "True", "1j"])


def small(rng, *_):
    return str(rng.choice([0, 1, 1, 2, 2, 3, 4, -1]))


def pick(*some):
    return lambda rng, *_: rng.choice(some)


def axis_text(rng, first, *_):
    rank = first.rank
    some = [None, 0, -1, *range(-rank, rank), rank, tuple(range(rank))]
    return repr(rng.choice(some))


def shape_text(rng, first, *_):
    some = [(), (3,), (2, 3), (0,), first.shape, (2, *first.shape), 3, (1, *first.shape)]
    if first.size:
        some += [(-1,), (first.size,)]
    return repr(rng.choice(some))


def dtype_text(rng, *_):
    some = [*table.DTYPES, "float", "int", "bool", "complex", "int16", "uint64", "int4"]
    name = rng.choice([*some, "float8_e4m3fn"])
    return name if name in ("float", "int", "bool", "complex") else repr(name.rstrip("_"))


STATIC = {
    "axis": axis_text,
    "dimension": axis_text,
    "axes": axis_text,
    "axis1": small,
    "axis2": small,
    "dtype": dtype_text,
    "new_dtype": dtype_text,
    "preferred_element_type": dtype_text,
    "index_dtype": pick("'int32'", "'int64'", "'int8'", "'uint8'", "'float32'"),
    "shape": shape_text,
    "newshape": shape_text,
    "new_shape": shape_text,
    "new_sizes": shape_text,
    "sizes": shape_text,
    "reps": shape_text,
    "dims": shape_text,
    "initial": number,
    "ddof": pick("0", "1", "0.5", "2"),
    "correction": pick("0", "1", "0.5"),
    "fill_value": number,
    "mode": pick("None", "'clip'", "'fill'", "'wrap'", "'full'", "'same'", "'valid'", "'edge'"),
    "side": pick("'left'", "'right'"),
    "method": pick("'linear'", "'lower'", "'higher'", "'midpoint'", "'nearest'", "'sort'"),
    "kind": pick("None", "'stable'", "'quicksort'"),
    "ord": pick("None", "1", "2", "-1", "'fro'", "'nuc'", "np.inf", "0", "3"),
    "norm": pick("None", "'ortho'", "'forward'", "'backward'", "'x'"),
    "indexing": pick("'ij'", "'xy'"),
    "order": pick("'C'", "'F'", "'K'"),
    "UPLO": pick("'L'", "'U'", "None"),
    "precision": pick("None", "'highest'", "'float32'"),
    "accuracy": pick("None"),
    "subscripts": pick(
        "'ij->i'", "'i,i'", "'ij,jk'", "'...i,...i'", "'ii'", "'i,j->ij'", "'...->...'"
    ),
    "weights": None,
    "casting": pick("'safe'"),
    "trim": pick("'fb'", "'f'", "'b'"),
    "bitorder": pick("'big'", "'little'"),
    "edge_order": pick("1"),
    "permutation": lambda rng, first, *_: repr(
        tuple(rng.sample(range(first.rank), first.rank))
    ),
    "dimensions": lambda rng, first, *_: repr(tuple(range(rng.randint(0, first.rank)))),
    "pad_width": pick("1", "(1, 2)", "((1, 2),)", "0", "((0, 1), (2, 0))"),
    "padding_config": lambda rng, first, *_: repr([(1, 0, 0)] * first.rank),
    "dimension_numbers": pick("(((0,), (0,)), ((), ()))", "(((1,), (0,)), ((), ()))", "None"),
    "algorithm": pick("None"),
    "implementation": pick("None"),
    "name": pick("None"),
    "sharding": pick("None"),
    "out_sharding": pick("None"),
    "device": pick("None"),
    "out": pick("None"),
    "progress": pick("False"),
    "subset_by_index": pick("None"),
    "range": pick("None", "(0, 1)", "(0., 2.)"),
    "optimize": pick("True", "'optimal'", "False"),
    "seed": pick("0"),
    "rounding_method": pick("lax.RoundingMethod.TO_NEAREST_EVEN"),
    "start_dimension": small,
    "stop_dimension": small,
    "fft_type": pick("'fft'", "'ifft'", "'rfft'", "'irfft'"),
    "fft_lengths": pick("(3,)", "(2, 2)", "()"),
    "window_dimensions": pick("(1,)", "(2, 2)"),
    "slice_sizes": lambda rng, first, *_: repr(tuple(min(n, 1) for n in first.shape)),
    "start_indices": lambda rng, first, *_: repr((0,) * first.rank),
    "limit_indices": lambda rng, first, *_: repr(first.shape),
    "strides": pick("None"),
    "_dot_general": pick("lax.dot_general"),
    "filt": None,
}
for word in """n k num M N size length num_segments num_classes total_repeat_length count
    start_index limit_index stride slice_size index start_dimension rank offset deg decimals
    digits ndim minlength exponent_bits mantissa_bits split_axis concat_axis num_keys
    axisa axisb axisc source destination rank ndmin dx period max_iterations d
    permutation_size bins indices_or_sections repeats start stop step shift kth
    dfnum""".split():
    STATIC.setdefault(word, small)
for word in """keepdims bias rowvar stable descending equal_nan assume_unique density
    endpoint retstep sparse return_index return_inverse return_counts return_indices
    returned increasing full_matrices compute_uv hermitian reverse tiled inplace copy
    right left_side lower transpose_a conjugate_a unit_diagonal symmetrize_input
    include_initial promote_integers wrap invert strip_zeros full replace independent
    return_sign is_causal approximate unique_indices indices_are_sorted upper is_stable
    trim_leading_zeros sorted keep_dims approximate""".split():
    STATIC.setdefault(word, pick("True", "False"))
SEQUENCES = {"arrays", "tup", "operands", "condlist", "choicelist", "choices", "xs", "keys_"}


@functools.cache
def functions() -> list[tuple[str, inspect.Signature]]:
    """Every public function, as text, with its signature."""
    _, space = library()
    out = []
    for room in ROOMS:
        try:
            module = eval(room, space)
        except AttributeError:
            continue
        for name in sorted(getattr(module, "__all__", dir(module))):
            f = getattr(module, name)
            if name.startswith("_") or name.endswith("_p") or name in SKIPPED:
                continue
            home = getattr(f, "__module__", "") or ""
            if isinstance(f, type) or not callable(f) or home.startswith("numpy"):
                continue
            try:
                out.append((f"{room}.{name}", inspect.signature(f)))
            except ValueError:
                continue
    return out


class Call:
    """The text of one call being made."""

    def __init__(self, rng: random.Random, x64: bool):
        self.rng, self.x64 = rng, x64
        self.types: list[Type] = []

    def type(self) -> Type:
        rng = self.rng
        if rng.random() < 0.04:
            dtype = rng.choice(["float8_e4m3fn", "float8_e5m2", "int4", "uint4"])
        else:
            dtype = draw_dtype(rng, "x", self.x64)
        shape = draw_shape(rng)
        if self.types:
            first = self.types[0]
            chance = rng.random()
            if chance < 0.55:
                shape = first.shape
            elif chance < 0.75:
                shape = first.shape[rng.randint(0, first.rank) :]
            if rng.random() < 0.5:
                dtype = first.dtype
        elif rng.random() < 0.08:
            shape = (3, 3)
        weak = rng.random() < 0.12 and may_be_weak(dtype, self.x64)
        return Type(dtype, shape, weak)

    def array(self, of: Type | None = None) -> str:
        """A parameter of the traced function, or a value that is no array."""
        rng = self.rng
        if of is None and self.types and rng.random() < 0.2:
            return rng.choice(
                ["1", "2.5", "True", "1j", "np.float32(2)", "np.arange(3)", "np.int8(1)"]
            )
        if of is None and rng.random() < 0.01:
            return rng.choice(["None", "[1, 2]", "'a'"])
        self.types.append(of or self.type())
        return f"a{len(self.types) - 1}"

    @property
    def first(self) -> Type:
        return self.types[0] if self.types else Type("float32", (3,))

    def finish(self, expression: str) -> str:
        names = ", ".join(f"a{i}" for i in range(len(self.types)))
        specs = "".join(f", S({t.shape}, {t.dtype!r}{', True' * t.weak})" for t in self.types)
        return f"jax.eval_shape(lambda {names}: {expression}{specs})"


def by_signature(rng: random.Random, x64: bool) -> tuple[str, str]:
    """A function's name and a call of it."""
    name, signature = rng.choice(functions())
    call = Call(rng, x64)
    parts = []
    positional = True
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            continue
        if p.kind is p.VAR_POSITIONAL:
            parts += [call.array() for _ in range(rng.randint(0, 2))]
            positional = False
            continue
        optional = p.default is not p.empty
        if optional and rng.random() > 0.25:
            positional = False
            continue
        text = argument(call, name, p)
        parts.append(
            text if positional and p.kind is not p.KEYWORD_ONLY else f"{p.name}={text}"
        )
    return name, call.finish(f"{name}({', '.join(parts)})")


def argument(call: Call, name: str, p: inspect.Parameter) -> str:
    rng = call.rng
    if p.name in ("key", "keys") and "random" in name:
        return "jax.random.key(0)"
    if p.name in SEQUENCES:
        return f"[{', '.join(call.array() for _ in range(rng.randint(1, 3)))}]"
    how = STATIC.get(p.name)
    if p.name == "mode" and p.default is not p.empty and rng.random() < 0.5:
        how = lambda *_: repr(p.default)
    if p.name == "where" and rng.random() < 0.8:
        return call.array(Type("bool", call.first.shape))
    if how is not None:
        return how(rng, call.first)
    if isinstance(p.default, bool):
        return rng.choice(["True", "False"])
    return call.array()


def by_row(rng: random.Random, x64: bool) -> tuple[str, str]:
    """An operation of the table, mostly with operands that it takes."""
    row = table.draw_row(rng)
    call = Call(rng, x64)
    args = []
    for text in row.operands:
        pattern = Pattern(text)
        if "$" in pattern.marks and rng.random() < 0.25:
            args.append(f"({rng.choice(TAME)})")
            continue
        first = call.types[0] if call.types else None
        t = pattern.draw(rng, first, x64) if rng.random() < 0.85 else call.type()
        args.append(call.array(t))
    text = table.static_parts(row, rng, call.first)
    return row.text, call.finish(text.format(*args))


def draw_call(rng: random.Random, x64: bool) -> tuple[str, str]:
    return (by_row if rng.random() < 0.4 else by_signature)(rng, x64)


SETTINGS = ["", "", "", "numpy_dtype_promotion('strict')", "numpy_rank_promotion('raise')"]


def run(pair: Pair, seed: int, count: int, folder: Path, seconds: float = 1e9):
    """Compare that many calls; prints what differs."""

    def draw(rng):
        x64, setting = rng.random() < 0.4, rng.choice(SETTINGS)
        return [draw_call(rng, x64) for _ in range(BATCH)], x64, setting

    path = folder / f"calls{seed}.txt"
    return compare(pair, PRELUDE, seed, count, path, seconds, draw)


def compare(pair: Pair, prelude, seed: int, count: int, path: Path, seconds: float, draw):
    """Compare batches of calls; what differs is written to `path`.

    draw: of a random generator, a batch of (name, text), whether of 64 bits, the setting.
    """
    findings: Counter[str] = Counter()
    excused: Counter[str] = Counter()
    refused = done = 0
    start = time.time()
    with open(path, "w") as log:
        while done < count and time.time() - start < seconds:
            drawn, x64, setting = draw(random.Random(seed * 1_000_003 + done))
            texts = [text for _, text in drawn]
            ours, jax = pair.ask("calls", prelude, texts, x64, setting)
            done += len(drawn)
            if "died" in (ours[0], jax[0]):
                print("died", ours, jax, *texts, file=log, flush=True)
                findings["died"] += 1
                continue
            for (name, text), a, b in zip(drawn, ours, jax):
                refused += b[0] == "error"
                finding = difference(a, b)
                if finding is None:
                    continue
                if (why := known.reason_for(text, *finding)) is not None:
                    excused[why] += 1
                    continue
                label = f"{finding[0]} {name}"
                findings[label] += 1
                if findings[label] <= 3:
                    mode = f"x64={x64} {setting}"
                    print(f"{label}\n  {text}  # {mode}\n  {finding[1]}", file=log, flush=True)
            if done % 10_000 == 0:
                rate = done / (time.time() - start)
                print(
                    f"[{done} calls, {refused} refused by JAX, {sum(findings.values())}"
                    f" differ in {len(findings)} ways; {rate:.0f}/s]",
                    flush=True,
                )
    summary = f"{len(findings)} differences; known: {dict(excused)}"
    print(f"{done} calls, {refused} refused by JAX: {summary}")
    return findings
