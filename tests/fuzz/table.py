"""The operations of random programs.

A row is text with `{0}`, `{1}` for operands and `{word}` for what is drawn from CHOICES;
and a pattern for each operand.  A pattern is a letter for the dtype (types.OF_LETTER),
then any of: `~` that broadcasts with the first operand, `=` of the first operand's type,
`@` of its dtype; `0` to `3` of this rank, `+` of rank one or more, `*` of two or more;
`S` square matrices, `!` not empty; `$` may be a Python number.
"""

from typing import Any, NamedTuple

import numpy as np

from .types import Type, draw_shape


class Row(NamedTuple):
    name: str
    text: str
    operands: tuple[str, ...]
    weight: float
    numpy: bool  # NumPy has it, and means the same


TABLE: list[Row] = []


def rows(text: str, operands: str, names: str = "", weight: float = 1.0, numpy=None):
    """Rows for several names that stand for `NAME` in the text."""
    names_ = names.split() or [text.split("(")[0].split(".")[-1].strip("{}")]
    for name in names_:
        full = text.replace("NAME", name)
        known = full.startswith("jnp.") or not full.startswith(("lax", "nn", "jax"))
        known = known and "lax." not in full and ".at[" not in full
        TABLE.append(
            Row(name, full, tuple(operands.split()), weight, known if numpy is None else numpy)
        )


# ------------------------------------------------------------------------- elementwise

rows("jnp.NAME({0})", "n", "negative abs sign square reciprocal conj real imag positive angle")
rows(
    "jnp.NAME({0})",
    "f",
    "sin cos tan exp log sqrt tanh arctan arcsinh log1p expm1 sinh cosh arctanh arcsin "
    "arccos arccosh exp2 log2 log10 sinc",
)
rows("jnp.NAME({0})", "q", "cbrt degrees radians rint fabs i0 spacing", 0.5)
rows("jnp.NAME({0})", "r", "floor ceil trunc signbit", 0.6)
rows("jnp.NAME({0})", "x", "isnan isinf isfinite logical_not ones_like zeros_like", 0.5)
rows("jnp.NAME({0})", "y", "invert", 1)
rows("jnp.bitwise_count({0})", "i", weight=0.5)
rows("jnp.frexp({0})[{two}]", "q", weight=0.5)
rows("jnp.modf({0})[{two}]", "q", weight=0.5)
rows("jnp.nan_to_num({0}, nan={float}, posinf={float})", "f")
rows("jnp.round({0}, {digits})", "f", weight=0.5)
rows("jnp.clip({0}, {lower}, {upper})", "r")
rows("({0} NAME {1})", "x x~$", "+ - * / < <= == != > >=", 1.2)
rows("({0} NAME {1})", "x x~$", "// % **", 1.2, numpy=False)  # not so of integers
rows("({0} NAME {1})", "q q~$", "// %", 0.3)
rows("({0} NAME {1})", "y y~$", "& | ^", 0.8)
rows("({0} NAME abs({1}) % 5)", "i i~", "<< >>", 0.5, numpy=False)
rows("jnp.NAME({0}, {1})", "x x~$", "add multiply subtract maximum minimum true_divide equal")
rows(
    "jnp.NAME({0}, {1})",
    "r r~$",
    "fmax fmin arctan2 hypot copysign logaddexp floor_divide",
    0.6,
)
rows(
    "jnp.NAME({0}, {1})",
    "r r~$",
    "remainder fmod float_power heaviside nextafter logaddexp2",
    0.6,
)
rows("jnp.divmod({0}, {1})[{two}]", "r r~$", weight=0.5)
rows("jnp.ldexp({0}, {1})", "q i~", weight=0.5)
rows("jnp.NAME({0} % 50, {1} % 9)", "i i~$", "gcd lcm", 0.4)  # JAX hangs at the edges
rows("jnp.power({0}, {int})", "n", weight=0.6)
rows("jnp.where({0}, {1}, {2})", "b n~$ n~$", weight=3)
rows("jnp.where({0} > 0, {0}, {1})", "r n~$", weight=2)
rows("jnp.select([{0} > 1, {0} > 0], [{0}, {1}], {float})", "r r=", weight=0.5)
rows("jnp.isclose({0}, {1}, equal_nan={bool})", "n n~", weight=0.4)
rows("{0}.astype({dtype})", "x", weight=2, numpy=False)
rows("jnp.asarray({0}, {dtype})", "x", weight=1, numpy=False)
rows(
    "nn.NAME({0})",
    "q",
    "relu relu6 sigmoid softplus gelu silu selu elu celu mish squareplus leaky_relu "
    "hard_tanh hard_sigmoid log_sigmoid soft_sign sparse_plus sparse_sigmoid hard_swish",
    0.4,
)
rows("nn.gelu({0}, approximate=False)", "q", weight=0.4)
rows("nn.NAME({0}, axis={axis1})", "q+!", "softmax log_softmax standardize logsumexp", 0.7)
rows("nn.one_hot({0}, {size}, axis={axisn})", "i", weight=0.7)
rows("nn.glu({0}, axis={axis1})", "q+", weight=0.2)
rows(
    "lax.NAME({0})",
    "q",
    "rsqrt logistic erf erfc erf_inv lgamma digamma tan bessel_i0e bessel_i1e cbrt",
    0.5,
)
rows("lax.NAME({0})", "f", "exp sin cos log tanh sqrt square log1p expm1 asinh", 0.3)
rows("lax.NAME({0})", "i", "population_count clz", 0.3)
rows("lax.NAME({0}, {1})", "n n=", "add mul sub div max min pow", 0.5)
rows("lax.NAME({0}, {1})", "r r=", "rem atan2 nextafter", 0.3)
rows("lax.NAME({0}, {1})", "i i=", "shift_left shift_right_logical shift_right_arithmetic", 0.3)
rows("lax.NAME({0}, {1})", "x x=", "eq ne", 0.3)
rows("lax.NAME({0}, {1})", "r r=", "lt le gt ge", 0.3)
rows("lax.igamma(abs({0}) + 0.5, abs({1}))", "q q=", weight=0.3)
rows("lax.betainc(abs({0}) + 1, abs({0}) + 2, nn.sigmoid({1}))", "q q=", weight=0.2)
rows("lax.integer_pow({0}, {int})", "n", weight=0.5)
rows("lax.clamp({0}, {1}, {2})", "r r= r=", weight=0.6)
rows("lax.select({0} > {1}, {0}, {1})", "r r=", weight=0.6)
rows("lax.complex({0}, {1})", "q q=", weight=0.6)
rows("lax.convert_element_type({0}, {dtype})", "x", weight=1)
rows("lax.bitcast_convert_type({0}, {dtype})", "x", weight=0.3)
rows("lax.reduce_precision({0}, 5, {size})", "q", weight=0.3)
rows("lax.stop_gradient({0})", "x", weight=0.5)
rows("lax.optimization_barrier({0})", "x", weight=0.3)

# -------------------------------------------------------------------------- reductions

rows("jnp.NAME({0}, axis={axes}, keepdims={bool})", "x", "sum prod mean", 1.2)
rows("jnp.NAME({0}, axis={axes}, keepdims={bool})", "r!", "max min ptp", 1)
rows("jnp.NAME({0}, axis={axes}, keepdims={bool})", "n", "var std", 0.8)
rows("jnp.NAME({0}, axis={axes}, keepdims={bool})", "x", "any all count_nonzero", 0.5)
rows("jnp.NAME({0}, axis={axes}, dtype={dtype})", "x", "sum prod mean", 0.5, numpy=False)
rows("jnp.NAME({0}, axis={axes}, where={1})", "n b~", "sum prod mean var", 0.5)
rows("jnp.max({0}, axis={axes}, where={1}, initial={int})", "r b~", weight=0.5)
rows("jnp.NAME({0}, axis={axes})", "n", "nansum nanprod nanmean nanvar nanstd", 0.4)
rows("jnp.NAME({0}, axis={axes})", "r!", "nanmax nanmin", 0.4)
rows("jnp.NAME({0}, axis={axis})", "r!", "argmax argmin nanargmax nanargmin", 0.5)
rows("jnp.NAME({0}, axis={axis})", "x", "cumsum cumprod", 1)
rows("jnp.NAME({0}, axis={axis})", "r", "nancumsum nancumprod", 0.3)
rows("jnp.NAME({0}, axis={axis})", "r!", "median nanmedian", 0.5)
rows("jnp.quantile({0}, {fraction}, axis={axis}, method={method})", "q!", weight=0.5)
rows("jnp.average({0}, axis={axis1}, weights={1})", "q1 q=", weight=0.4)
rows("lax.NAME({0}, axis={axisp}, reverse={bool})", "r+", "cumsum cumprod cummax cummin", 0.5)
rows("lax.cumlogsumexp({0}, axis={axisp}, reverse={bool})", "q+", weight=0.5)
rows("lax.NAME({0}, axis={axisp}, index_dtype=jnp.int32)", "r+!", "argmax argmin", 0.4)
rows("lax.reduce({0}, np.zeros((), {0}.dtype), lax.add, ({axisp},))", "n+", weight=0.4)
rows("lax.reduce_window({0}, np.ones((), {0}.dtype), lax.mul, {window})", "n+", weight=0.3)
rows("lax.reduce_window({0}, -jnp.inf, lax.max, {window})", "q+", weight=0.4)
rows("lax.reduce_window({0}, 0., lax.add, {window})", "q+", weight=0.4)
rows("jnp.trapezoid({0}, axis={axis1})", "q+!", weight=0.3)
rows("jnp.diff({0}, axis={axis1})", "n+!", weight=0.6)
rows("jnp.corrcoef({0})", "q2!", weight=0.2)
rows("jnp.cov({0})", "f2!", weight=0.3)
rows("jnp.histogram({0}, bins={count})[{two}]", "q1!", weight=0.2)
rows("jnp.bincount(abs({0}), length={count})", "i1", weight=0.3, numpy=False)
rows("jax.ops.NAME({0}, {1}, num_segments={count})", "n1! i1", "segment_sum segment_max", 0.5)
rows("jax.ops.NAME({0}, {1}, num_segments={count})", "n1! i1", "segment_prod segment_min", 0.3)

# --------------------------------------------------------------------- shape, selection

rows("jnp.reshape({0}, {reshaped})", "x", weight=1.5)
rows("jnp.transpose({0}, {perm})", "x", weight=1.2)
rows("jnp.broadcast_to({0}, {widened})", "x", weight=1)
rows("jnp.expand_dims({0}, {axisn})", "x", weight=0.7)
rows("jnp.squeeze({0})", "x", weight=0.5)
rows("jnp.NAME({0})", "x", "ravel atleast_1d atleast_2d", 0.5)
rows("jnp.NAME({0}, axis={axis})", "x", "flip", 0.7)
rows("jnp.roll({0}, {int}, axis={axis})", "x", weight=0.7)
rows("jnp.concatenate([{0}, {1}], axis={axis1})", "x+ x=", weight=1.2)
rows("jnp.concatenate([{0}, {1}])", "x1 x1", weight=1)
rows("jnp.stack([{0}, {1}], axis={axisn})", "x x=", weight=1)
rows("jnp.NAME([{0}, {1}])", "x1 x=", "hstack vstack dstack column_stack", 0.3)
rows("jnp.pad({0}, {pads})", "x+", weight=0.8)
rows("jnp.pad({0}, 1, mode={padmode})", "n+!", weight=0.5)
rows("jnp.repeat({0}, {count}, axis={axis})", "x", weight=0.6)
rows("jnp.tile({0}, {count})", "x", weight=0.5)
rows("jnp.NAME({0})", "x*", "tril triu matrix_transpose", 0.5, numpy=True)
rows("jnp.diag({0}, {int})", "x1", weight=0.4)
rows("jnp.diagonal({0}, {int})", "x*", weight=0.4)
rows("jnp.rot90({0}, {int})", "x*", weight=0.3)
rows("jnp.moveaxis({0}, {axis1}, {axis1})", "x+", weight=0.4)
rows("jnp.swapaxes({0}, {axis1}, {axis1})", "x+", weight=0.4)
rows("jnp.split({0}, [1], axis={axis1})[{two}]", "x+!", weight=0.5)
rows("jnp.meshgrid({0}, {1})[{two}]", "x1 x1", weight=0.3)
rows("jnp.linspace({0}, {1}, {count})", "f0 f0", weight=0.4)
rows("jnp.arange({size}, dtype={0}.dtype) + {0}", "r0", weight=0.3, numpy=False)
rows("jnp.full_like({0}, {float})", "x", weight=0.4, numpy=False)
rows("jnp.tri({size}, {size}, {int}) + {0}", "n0", weight=0.2, numpy=False)
rows("jnp.sort({0}, axis={axis1})", "x+", weight=0.8)
rows("jnp.argsort({0}, axis={axis1}, stable=True)", "x+", weight=0.5)
rows("jnp.sort({0}, axis={axis1}, descending={bool})", "r+", weight=0.4, numpy=False)
rows("jnp.searchsorted(jnp.sort({0}), {1}, side={side})", "r1! r", weight=0.5)
rows("jnp.unique({0}, size={count}, fill_value={int})", "r!", weight=0.4, numpy=False)
rows("jnp.nonzero({0}, size={count}, fill_value={int})[0]", "x+", weight=0.3, numpy=False)
rows("jnp.digitize({0}, jnp.sort({1}))", "r r1!", weight=0.2)
rows("jnp.interp({0}, jnp.sort({1}), {1})", "q q1!", weight=0.3)
rows("jnp.isin({0}, {1})", "r r", weight=0.3)
rows("lax.top_k({0}, {size})[{two}]", "r+", weight=0.4)
rows("lax.sort({0}, dimension={axisp})", "x+", weight=0.5)
rows("lax.sort_key_val({0}, {1}, dimension={axisp})[1]", "r+ r=", weight=0.4)
rows("lax.rev({0}, ({axisp},))", "x+", weight=0.5)
rows("lax.pad({0}, jnp.asarray({int}, {0}.dtype), {laxpads})", "n+", weight=0.6)
rows("lax.broadcast({0}, ({size}, 2))", "x", weight=0.4)
rows("lax.broadcast_in_dim({0}, (2, *{0}.shape), {dims})", "x", weight=0.4)
rows("lax.collapse({0}, 0)", "x+", weight=0.3)
rows("lax.iota({0}.dtype, {count}) + {0}", "n0", weight=0.3)

# ---------------------------------------------------------------------------- indexing

rows("{0}[{slices}]", "x+", weight=2)
rows("{0}[{1}]", "x+! i", weight=1.2, numpy=False)
rows("{0}[..., {1}]", "x+! i0", weight=1, numpy=False)
rows("{0}[{1}, {slices}]", "x*! i1", weight=0.6, numpy=False)
rows("{0}[{1}, {2}]", "x2! i1 i=", weight=0.5, numpy=False)
rows("jnp.where({0} > 0, size={count})[0] + {0}[0]", "r1!", weight=0.3, numpy=False)
rows("{0}.at[{slices}].NAME({1})", "n+ n0$", "set add multiply", 0.7)
rows("{0}.at[{slices}].NAME({1})", "r+ r0$", "min max", 0.3)
rows("{0}.at[{1}].NAME({2})", "n+! i n0$", "set add multiply", 0.7)
rows("{0}.at[{1}].NAME({2}, mode={gather})", "n+! i n0$", "add", 0.7)
rows("{0}.at[{1}].NAME({2})", "n+! i1 n0", "set subtract divide power", 0.3)
rows("{0}.at[{1}].get(mode={gather}, fill_value={int})", "x+! i", weight=0.6)
rows("{0}.at[{slices}].apply(jnp.negative)", "n+", weight=0.3)
rows("jnp.take({0}, {1}, axis={axis}, mode={take})", "x! i", weight=0.8, numpy=False)
rows("jnp.take_along_axis({0}, {1}, axis=0)", "x1! i1", weight=0.4, numpy=False)
rows("jnp.choose({0} % 2, [{1}, {2}], mode='clip')", "i r~ r~", weight=0.2, numpy=False)
rows("jnp.insert({0}, 0, {1})", "n n0", weight=0.2, numpy=False)
rows("jnp.delete({0}, 0)", "x1!", weight=0.2, numpy=False)
rows("lax.dynamic_slice_in_dim({0}, {1}, 1, {axisp})", "x+! i0", weight=0.7)
rows("lax.dynamic_index_in_dim({0}, {1}, {axisp}, keepdims={bool})", "x+! i0", weight=0.7)
rows("lax.dynamic_update_index_in_dim({0}, {2}, {1}, {axisp})", "n+! i0 n0@", weight=0.3)
rows("lax.dynamic_update_slice({0}, {0}[:1] * 2, [{1}] + [0] * ({0}.ndim - 1))", "n+! i0")
rows("lax.slice_in_dim({0}, 1, None, 2, {axisp})", "x+!", weight=0.4)

# ---------------------------------------------------------------------- linear algebra

rows("jnp.NAME({0}, {1})", "n2 n2", "matmul dot inner", 0.8, numpy=True)
rows("({0} @ {1})", "n+ n=", weight=0.6)
rows("({0}.T @ {1})", "n2 n=", weight=1)
rows("jnp.NAME({0}, {1})", "n1 n=", "dot vdot inner outer vecdot convolve correlate kron", 0.5)
rows("jnp.cross({0}, {1})", "n1 n=", weight=0.2)
rows("jnp.tensordot({0}, {1}, axes=1)", "n+ n=", weight=0.3)
rows("jnp.einsum('ij,ij->i', {0}, {1})", "n2 n=", weight=0.5)
rows("jnp.einsum('ij,kj->ik', {0}, {1})", "n2 n=", weight=0.5)
rows("jnp.einsum('...i,i', {0}, {1})", "n+ n1", weight=0.4)
rows("jnp.einsum('i...->...', {0})", "n+", weight=0.3)
rows("jnp.trace({0}, {int})", "n*", weight=0.4)
rows("jnp.vander({0}, {count})", "n1", weight=0.2)
rows("jnp.polyval({0}, {1})", "n1 n", weight=0.3)
rows("jnp.linalg.norm({0}, ord={ord}, axis={axis1})", "f+!", weight=0.5)
rows("jnp.linalg.norm({0})", "f", weight=0.4)
rows("jnp.linalg.NAME({0})", "f+S", "det inv", 0.4)
rows("jnp.linalg.slogdet({0})[1]", "q+S", weight=0.3)
rows("jnp.linalg.solve({0} + 3 * jnp.eye({0}.shape[-1]), {0})", "f+S", weight=0.4)
rows("jnp.linalg.cholesky({0} @ {0}.mT + jnp.eye({0}.shape[-1]))", "q+S", weight=0.4)
rows("jnp.linalg.eigvalsh({0} + {0}.mT)", "q+S", weight=0.3)
rows("jnp.linalg.svd({0}, compute_uv=False)", "q2!", weight=0.2)
rows("jnp.linalg.qr({0})[1]", "q2!", weight=0.2)
rows("jnp.linalg.matrix_power({0}, {int})", "n+S", weight=0.3)
rows("lax.dot_general({0}, {1}, (((0,), (0,)), ((), ())))", "n+ n=", weight=0.5)
rows("lax.dot_general({0}, {1}, (((1,), (1,)), ((0,), (0,))))", "n3 n=", weight=0.4)
rows(
    "lax.linalg.triangular_solve({0} + 2 * jnp.eye({0}.shape[-1]), {0},"
    " lower={bool}, left_side={bool})",
    "q+S",
    weight=0.3,
)
rows("lax.conv_general_dilated({0}, {1}, (1,), {padding})", "q3 q3@", weight=0.3)
rows("jnp.NAME({0})", "f+!", "fft.fft fft.ifft", 0.3, numpy=False)
rows("jnp.fft.rfft({0})", "q+!", weight=0.3, numpy=False)

# ------------------------------------------------------------------------------ random

rows("jax.random.NAME(jax.random.key({size}), {0}.shape)", "x", "normal uniform bits", 0.2)
rows("jax.random.NAME(jax.random.key({size}), {0}.shape, {0}.dtype)", "q", "normal gumbel", 0.2)
rows("jax.random.NAME(jax.random.key({size}), {0})", "x", "permutation bernoulli", 0.2)
rows("jax.random.categorical(jax.random.key({size}), {0}, axis={axis1})", "q+!", weight=0.2)
rows("jax.random.randint(jax.random.key({size}), {widened}, 0, {0})", "i", weight=0.2)
rows("jax.random.gamma(jax.random.key({size}), abs({0}) + 0.5)", "q", weight=0.1)

# ------------------------------------------------------------------------------ choices


def axis1(rng, of):
    return rng.randrange(-of.rank, of.rank) if of.rank else 0


def axes(rng, of: Type):
    some = [None, axis1(rng, of)] if of.rank else [None, ()]
    if of.rank > 1:
        some.append(tuple(rng.sample(range(of.rank), rng.randint(0, of.rank))))
    return rng.choice(some)


def reshaped(rng, of: Type):
    n = of.size
    some = [(n,), (-1,), (1, n), (n, 1), (1, -1, 1)] + [()] * (n == 1)
    if n:
        some += [(k, n // k) for k in (2, 3) if n % k == 0]
        some += [(-1, *of.shape[-1:])]
    else:
        some = [(0,), (0, 3), (2, 0)]
    return rng.choice(some)


def perm(rng, of: Type):
    if rng.random() < 0.3:
        return None
    return tuple(rng.sample(range(of.rank), of.rank))


def one_slice(rng, n: int):
    kind = rng.random()
    if kind < 0.25 and n:
        return str(rng.randrange(-n, n))
    bound = lambda: rng.choice(["", "", *map(str, range(-n - 1, n + 2))])
    step = rng.choice(["", "", "", ":1", ":2", ":-1", ":-2"])
    return f"{bound()}:{bound()}{step}"


def slices(rng, of: Type):
    parts = [one_slice(rng, n) for n in of.shape[: rng.randint(1, max(of.rank, 1))]]
    if rng.random() < 0.15:
        parts.insert(rng.randint(0, len(parts)), "None")
    if rng.random() < 0.15:
        parts.insert(0 if rng.random() < 0.5 and len(parts) < 2 else len(parts), "...")
    return ", ".join(parts) or "..."


CHOICES = {
    "axis": lambda rng, of: rng.choice([None, axis1(rng, of)]) if of.rank else None,
    "axis1": axis1,
    "axisp": lambda rng, of: rng.randrange(of.rank) if of.rank else 0,
    "axisn": lambda rng, of: rng.randrange(-of.rank - 1, of.rank + 1),
    "axes": axes,
    "bool": lambda rng, of: rng.random() < 0.5,
    "count": lambda rng, of: rng.randint(1, 4),
    "digits": lambda rng, of: rng.choice([0, 1, 2, -1]),
    "dims": lambda rng, of: tuple(range(1, of.rank + 1)),
    "dtype": lambda rng, of: "jnp." + rng.choice(DTYPES),
    "float": lambda rng, of: rng.choice([0.0, 1.5, -0.5, 2]),
    "fraction": lambda rng, of: rng.choice([0.5, 0.25, 1.0, 0.0]),
    "gather": lambda rng, of: repr(rng.choice(["fill", "drop", "clip", "wrap", None])),
    "int": lambda rng, of: rng.choice([-2, -1, 0, 1, 2, 3]),
    "laxpads": lambda rng, of: [
        (rng.choice([0, 1, -1, 2]), rng.choice([0, 1, -1]), rng.choice([0, 0, 1]))
        for _ in of.shape
    ],
    "lower": lambda rng, of: rng.choice([None, -1, 0, 0.5]),
    "method": lambda rng, of: repr(
        rng.choice(["linear", "lower", "higher", "midpoint", "nearest"])
    ),
    "ord": lambda rng, of: rng.choice(["None", "1", "2", "jnp.inf", "-jnp.inf", "0", "3"]),
    "padding": lambda rng, of: rng.choice(["'SAME'", "'VALID'", "[(1, 2)]"]),
    "padmode": lambda rng, of: repr(
        rng.choice(["edge", "reflect", "symmetric", "wrap", "maximum", "linear_ramp"])
    ),
    "pads": lambda rng, of: rng.choice([1, (1, 2), [(0, 1)] * of.rank, 0]),
    "perm": perm,
    "reshaped": reshaped,
    "side": lambda rng, of: repr(rng.choice(["left", "right"])),
    "size": lambda rng, of: rng.randint(0, 4),
    "slices": slices,
    "take": lambda rng, of: repr(rng.choice(["fill", "clip", "wrap", None])),
    "two": lambda rng, of: rng.randint(0, 1),
    "upper": lambda rng, of: rng.choice([1, 2.0, 3]),
    "widened": lambda rng, of: (*draw_shape(rng, rng.randint(0, 1)), *of.shape),
    "window": lambda rng, of: (
        f"{tuple(rng.randint(1, 2) for _ in of.shape)},"
        f" {tuple(rng.randint(1, 2) for _ in of.shape)},"
        f" {rng.choice(['SAME', 'VALID'])!r}"
    ),
}
DTYPES = (
    "float32 float32 bfloat16 float16 int32 int32 int8 uint8 uint32 bool_ complex64 "
    "float64 int64"
).split()

WEIGHTS = np.cumsum([row.weight for row in TABLE])


def draw_row(rng) -> Row:
    at = rng.random() * WEIGHTS[-1]
    return TABLE[int(np.searchsorted(WEIGHTS, at, side="right"))]


def static_parts(row: Row, rng, of: Type) -> Any:
    """The row's text with all but its operands drawn."""
    text = row.text
    for word, choose in CHOICES.items():
        while f"{{{word}}}" in text:
            text = text.replace(f"{{{word}}}", str(choose(rng, of)), 1)
    return text
