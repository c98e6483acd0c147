"""Calls that between them use every primitive, for compiling and not for running.

A row is an expression in `x`, `y`, `z`, `w`, and the types that they may have: `f32` all of
shape (4, 8), `f32[3]` all of that shape, `f32[3],i32[]` one each.  The same text runs under
JAX, where `jax` is another module.
"""

import importlib
import re
from typing import Any, NamedTuple

import numpy as np

DTYPES = {
    "b1": "bool",
    "i4": "int4",
    "u4": "uint4",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "u16": "uint16",
    "i32": "int32",
    "u32": "uint32",
    "i64": "int64",
    "u64": "uint64",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e8m0": "float8_e8m0fnu",
    "e2m1": "float4_e2m1fn",
    "e4m3b": "float8_e4m3b11fnuz",
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
REAL = "bf16 f16 f32 f64"
FLOATS = "bf16 f16 f32 f64 c64 c128"
INTEGERS = "i8 u8 i32 u32 i64 u64"
NUMBERS = "i8 u8 i32 u64 bf16 f16 f32 f64 c64 c128"
ORDERED = "i8 u8 i32 u64 bf16 f16 f32 f64"
ALL = "b1 " + NUMBERS


class Sample(NamedTuple):
    text: str
    types: tuple[tuple[str, tuple[int, ...]], ...]  # (dtype, shape) of each operand
    spread: bool  # over a mesh of four devices, `mesh`, with an axis named "i"

    @property
    def name(self) -> str:
        types = [f"{d}[{','.join(map(str, s))}]" for d, s in self.types]
        return f"{self.text}  {' '.join(types)}".rstrip()


SAMPLES: list[Sample] = []
SHAPE = (4, 8)


def _type(word: str) -> tuple[str, tuple[int, ...]]:
    dtype, _, rest = word.partition("[")
    assert dtype in DTYPES, word
    return dtype, (tuple(int(n) for n in rest[:-1].split(",") if n) if rest else SHAPE)


def row(text: str, types: str = "f32", names: str = "", spread: bool = False) -> None:
    """A sample for each of the names, which stand for NAME, and each of the types."""
    for name in names.split() or [""]:
        full = text.replace("NAME", name)
        used = [a for a in "xyzw" if re.search(rf"\b{a}\b", full)]
        for word in types.split():
            each = re.findall(r"\w+(?:\[[\d,]*\])?", word)
            each = each * len(used) if len(each) == 1 else each
            assert len(each) == len(used) or not used, full
            avals = tuple(map(_type, each)) if used else ()
            SAMPLES.append(Sample(full, avals, spread))


def function(sample: Sample, jax: Any, mesh: Any = None) -> Any:
    """The sample as a function of its operands."""
    spell = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np, "mesh": mesh}
    spell.update(P=jax.sharding.PartitionSpec, la=jax.lax.linalg)
    load = lambda name: importlib.import_module(f"{jax.__name__}.{name}")
    spell.update(load=load, sparse=load("experimental.sparse"), partitioned=partitioned)
    letters = "xyzw"[: len(sample.types)]
    return eval(f"lambda {', '.join(letters)}: {sample.text}", spell)


def partitioned(jax: Any, P: Any) -> Any:
    """A function that defines its own partitioning."""
    module = importlib.import_module(f"{jax.__name__}.experimental.custom_partitioning")
    fun = module.custom_partitioning(lambda x: jax.numpy.sin(x) * 2)
    sharding = lambda mesh: jax.NamedSharding(mesh, P("i"))
    fun.def_partition(
        infer_sharding_from_operands=lambda mesh, args, out: sharding(mesh),
        partition=lambda mesh, args, out: (
            mesh,
            lambda x: jax.numpy.cos(x),
            sharding(mesh),
            (sharding(mesh),),
        ),
        sharding_rule="i j -> i j",
    )
    return fun


# ------------------------------------------------------------------------- elementwise

row(
    "lax.NAME(x)",
    FLOATS,
    "exp exp2 log log1p expm1 sin cos tan tanh sinh cosh asin acos atan asinh acosh atanh"
    " logistic sqrt rsqrt",
)
row("lax.NAME(x)", REAL, "cbrt erf erfc erf_inv lgamma digamma bessel_i0e bessel_i1e is_finite")
row("lax.NAME(x)", NUMBERS, "neg sign square")
row("lax.abs(x)", "i8 i32 " + FLOATS)
row("lax.NAME(x)", REAL, "floor ceil")
row("lax.round(x, lax.RoundingMethod.NAME)", REAL, "TO_NEAREST_EVEN AWAY_FROM_ZERO")
row("lax.NAME(x)", "c64 c128", "real imag conj")
row("lax.complex(x, y)", "f32 f64")
row("lax.NAME(x, y)", NUMBERS, "add sub mul div max min")
row("lax.pow(x, y)", FLOATS)
row("lax.NAME(x, y)", ALL, "eq ne")
row("lax.NAME(x, y)", ORDERED, "lt le gt ge rem")
row("lax.NAME(x, y)", REAL, "atan2 nextafter igamma igammac igamma_grad_a polygamma zeta")
row("lax.random_gamma_grad(x, y)", REAL)
row(
    "jax.grad(lambda x, y: lax.NAME(x, y).sum(), (0, 1))(x, y)",
    "f32 f16",
    "igamma_grad_a random_gamma_grad",
)
row(
    "jax.grad(lambda x: lax.NAME(x).sum())(x)",
    REAL,
    "tanh logistic asin atan asinh atanh bessel_i0e bessel_i1e",
)
row("jax.grad(lambda x: jax.vmap(jax.grad(jax.scipy.special.i0))(x.ravel()).sum())(x)", "f32")
row("jax.grad(lambda x, y: lax.NAME(x, y).sum(), (0, 1))(x, y)", REAL, "atan2 pow")
row("lax.betainc(x, y, z)", REAL)
row("lax.NAME(x, y)", "b1 " + INTEGERS, "bitwise_and bitwise_or bitwise_xor")
row("lax.NAME(x, y)", INTEGERS, "shift_left shift_right_logical shift_right_arithmetic")
row("lax.NAME(x)", INTEGERS, "bitwise_not population_count clz")
row("lax.mulhi(x, y)", "i32 u32 i64")
row("lax.pow(x, y)", "f32,i32 c64,i32")
row("lax.integer_pow(x, 3)", NUMBERS)
row("lax.integer_pow(x, -2)", FLOATS)
row("lax.clamp(x, y, z)", ORDERED)
row("lax.select(x, y, z)", "b1,f32,f32 b1,c128,c128 b1,i8,i8 b1,b1,b1")
row("lax.select_n(x, y, z, w)", "i32,f32,f32,f32")
row("lax.reduce_precision(x, 5, 2)", REAL)
row("lax.stop_gradient(x)")
row("lax.optimization_barrier(x)")
row("lax.convert_element_type(x, np.float32)", ALL + " e4m3 e5m2 e4m3b i4 u4 e8m0 e2m1")
row(
    "lax.convert_element_type(x, jnp.NAME)",
    "f32",
    "bool int4 uint4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bfloat16 float16"
    " float64 complex64 complex128 float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz"
    " float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn",
)
row("lax.NAME(x, accuracy=lax.AccuracyMode.HIGHEST)", "f32 bf16", "exp tanh sin")
row("lax.bitcast_convert_type(x, np.int8)", "f32 u8 i64")
row("lax.bitcast_convert_type(x, np.uint32)", "f32 u8[2,4] f64 i64")
row("jnp.copy(x)")
row("jax.grad(lambda x: jnp.sum(lax.NAME(x)))(x)", "f32", "asin tan erf_inv lgamma digamma")

# -------------------------------------------------------------------------- reductions

row("jnp.NAME(x, axis=1)", NUMBERS, "sum prod")
row("jnp.NAME(x, axis=0)", ORDERED, "max min argmax argmin")
row("jnp.NAME(x)", "b1 i32 f32", "any all")
row("lax.reduce_xor(x, (0,))", "i32 b1")
row("lax.NAME(x, axis=1)", FLOATS + " i32", "cumsum cumprod")
row("lax.NAME(x, axis=0, reverse=True)", REAL + " i32", "cummax cummin")
row("lax.cumlogsumexp(x, axis=1)", REAL)
row("lax.cumsum(x, axis=0)", "f32[2000] f32[8,128] i64[300]")
row(
    "lax.reduce((x, y), (np.float32(0), np.int32(0)),"
    " lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])), (1,))",
    "f32,i32",
)
row("lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 2), 'SAME')", "f32 bf16")
row("lax.reduce_window(x, 0., lax.add, (2, 2), (1, 2), 'VALID')", "f32 bf16")
row("lax.reduce_window(x, np.inf, lax.min, (2, 2), (1, 1), 'VALID')", "f32")
row("lax.reduce_window(x, np.float32(1), lax.mul, (2, 2), (1, 2), 'VALID')")
row(
    "jax.grad(lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 2), 'SAME')"
    ".sum())(x)",
    "f32 bf16",
)
row(
    "jax.jvp(lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 2), 'SAME'),"
    " (x,), (y,))",
    "f32 bf16",
)
row(
    "jax.grad(lambda x: jnp.linalg.norm(jax.jvp(lambda x: lax.reduce_window(x, -np.inf,"
    " lax.max, (2, 2), (1, 2), 'SAME'), (x,), (x,))[1]))(x)"
)
row(
    "jax.jvp(jax.grad(lambda x: jnp.sum(lax.reduce_window(x, -np.inf, lax.max, (2, 2),"
    " (1, 2), 'SAME') ** 2)), (x,), (y,))"
)
row("jax.nn.logsumexp(x)", REAL)
row("jnp.median(x)", REAL)

# -------------------------------------------------------------------- shapes, selection

row("lax.broadcast_in_dim(x, (2, 4, 8), (1, 2))", "f32 i4 b1 e4m3")
row("jnp.reshape(x, (8, 4))", "f32 i4 b1 e4m3")
row("jnp.transpose(x)", "f32 i4 b1 c64")
row("jnp.expand_dims(x, 0)")
row("jnp.squeeze(x, 0)", "f32[1,4]")
row("lax.rev(x, (0,))", "f32 b1 c64")
row("lax.slice(x, (0, 1), (4, 7), (2, 3))", "f32 b1 c64")
row("lax.pad(x, y, ((1, 2, 1), (0, -1, 0)))", "f32[4,8],f32[] i32[4,8],i32[]")
row("lax.concatenate([x, y], 1)", "f32 b1 i4 c64")
row("lax.split(x, (3, 5), 1)", "f32 b1")
row("lax.tile(x, (2, 1))")
row("jnp.stack([x, y])", "f32 c64")
row("lax.iota(np.NAME, 8)", "f32", "float32 int32 complex64 int8")
row("lax.broadcasted_iota(np.int32, (4, 8), 1)", "f32")
row("lax.dynamic_slice(x, (y, z), (2, 2))", "f32[4,8],i32[],i32[] c64[4,8],u8[],u8[]")
row("lax.dynamic_update_slice(x, y, (z, z))", "f32[4,8],f32[2,2],i32[]")
row("x[y]", "f32[4,8],i32[3] b1[4,8],i32[3] c128[4,8],i64[3] e4m3[4,8],i32[3]")
row(
    "x.at[y].NAME(z)",
    "f32[4,8],i32[3],f32[3,8] i32[4,8],i32[3],i32[3,8]",
    "set add multiply min max subtract",
)
row(
    "x.at[y].NAME(z)",
    "c64[4,8],i32[3],c64[3,8] bf16[4,8],i32[3],bf16[3,8]"
    " f64[4,8],i32[3],f64[3,8] c128[4,8],i32[3],c128[3,8]",
    "set add multiply",
)
row("x.at[y].add(z, unique_indices=True, indices_are_sorted=True)", "f32[4,8],i32[3],f32[3,8]")
row("x.at[y].apply(jnp.sin)", "f32[4,8],i32[3]")
row("jnp.take_along_axis(x, y, 1)", "f32[4,8],i32[4,3]")

# ---------------------------------------------------------------------- sort and choice

row("lax.sort(x)", ALL)
row("lax.sort((x, y), num_keys=2)", "f32,i32 bf16,c64")
row("jnp.argsort(x, descending=True)", "f32 i32")
row("lax.top_k(x, 3)", "f32 bf16 f16 i32 u8 f64 f32[16,5000]")
row("lax.approx_max_k(x, 3)", "f32 bf16 f32[16,5000]")
row("lax.approx_min_k(x, 3)", "f32[16,5000]")
row("jnp.unique(x, size=3)")
row("jnp.searchsorted(x, y)", "f32[8],f32[3]")

# ------------------------------------------------------------------------------ products

DOT = "(((1,), (0,)), ((), ()))"
row(
    f"lax.dot_general(x, y, {DOT})",
    "f32[4,8],f32[8,3] bf16[4,8],bf16[8,3]"
    " f16[4,8],f16[8,3] f64[4,8],f64[8,3] c64[4,8],c64[8,3] c128[4,8],c128[8,3]"
    " i8[4,8],i8[8,3] i32[4,8],i32[8,3] b1[4,8],b1[8,3] i64[4,8],i64[8,3]"
    " u8[4,8],u8[8,3] i4[4,8],i4[8,3] i16[4,8],i16[8,3]",
)
row(
    f"lax.dot_general(x, y, {DOT}, preferred_element_type=np.float32)",
    "bf16[16,32],bf16[32,16] f16[16,32],f16[32,16] e4m3[16,32],e4m3[32,16]"
    " e5m2[16,32],e4m3[32,16] e4m3b[16,32],e4m3b[32,16] i8[16,32],i8[32,16]"
    " bf16[16,32],f32[32,16] i8[16,32],bf16[32,16]",
)
row(
    f"lax.dot_general(x, y, {DOT}, preferred_element_type=np.int32)",
    "i8[16,32],i8[32,16] u8[16,32],i8[32,16] i4[16,32],i4[32,16]",
)
row(
    f"lax.dot_general(x, y, {DOT}, precision='NAME')",
    "f32[16,32],f32[32,16]",
    "highest high default tensorfloat32 bfloat16_3x float32",
)
row(
    f"lax.dot_general(x, y, {DOT}, precision=lax.DotAlgorithmPreset.NAME)",
    "f32[16,32],f32[32,16]",
    "DEFAULT TF32_TF32_F32 TF32_TF32_F32_X3 BF16_BF16_F32 BF16_BF16_F32_X3"
    " BF16_BF16_F32_X6 BF16_BF16_F32_X9 F32_F32_F32",
)
row(
    f"lax.dot_general(x, y, {DOT}, precision=lax.DotAlgorithmPreset.NAME)",
    "f16[16,32],f16[32,16]",
    "F16_F16_F16 F16_F16_F32",
)
row(
    f"lax.dot_general(x, y, {DOT}, precision=lax.DotAlgorithmPreset.NAME,"
    " preferred_element_type=np.float32)",
    "e4m3[16,32],e4m3[32,16]",
    "ANY_F8_ANY_F8_F32 ANY_F8_ANY_F8_F32_FAST_ACCUM",
)
row(
    "lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,))))",
    "f32[2,4,8],f32[2,8,3] c64[2,4,8],c64[2,8,3]",
)
row("lax.ragged_dot(x, y, z)", "f32[16,8],f32[3,8,4],i32[3] bf16[16,8],bf16[3,8,4],i32[3]")
row(
    "jax.grad(lambda x, y: lax.ragged_dot(x, y, z).sum(), (0, 1))(x, y)",
    "f32[16,8],f32[3,8,4],i32[3]",
)
row("jax.nn.scaled_matmul(x, y, z, w)", "e4m3[1,16,64],e4m3[1,8,64],e8m0[1,16,2],e8m0[1,8,2]")
row(
    "lax.conv_general_dilated(x, y, (1, 1), 'SAME')",
    "f32[2,3,8,8],f32[4,3,3,3]"
    " bf16[2,3,8,8],bf16[4,3,3,3] f64[2,3,8,8],f64[4,3,3,3] c64[2,3,8,8],c64[4,3,3,3]"
    " f16[2,3,8,8],f16[4,3,3,3]",
)
row(
    "lax.conv_general_dilated(x, y, (1, 1), 'SAME', preferred_element_type=np.int32)",
    "i8[2,4,8,8],i8[4,4,3,3]",
)
row(
    "lax.conv_general_dilated(x, y, (2,), [(1, 2)], rhs_dilation=(2,), feature_group_count=2)",
    "f32[2,4,9],f32[4,2,3]",
)
row(
    "jax.grad(lambda x, y: lax.conv_general_dilated(x, y, (1, 1), 'SAME').sum(), (0, 1))(x, y)",
    "f32[2,3,8,8],f32[4,3,3,3]",
)
row("jax.nn.dot_product_attention(x, y, z)", "f32[2,8,4,16] bf16[2,8,4,16]")

# ----------------------------------------------------------------- Fourier and matrices

row("jnp.fft.NAME(x)", "f32 c64 f64 c128", "fft ifft fft2")
row("jnp.fft.NAME(x)", "f32 f64", "rfft rfftn")
row("jnp.fft.NAME(x)", "c64 c128", "irfft irfft2")
KINDS = "f32[4,4] f64[4,4] c64[4,4] c128[4,4] f32[3,4,4] c64[2,3,4,4]"
TALL = "f32[6,4] f32[4,6] f64[6,4] c64[6,4] c128[4,6] f32[3,6,4] f32[3,4,6]"
row("la.cholesky(x)", KINDS)
row("la.lu(x)", KINDS + " " + TALL)
row("la.qr(x)", KINDS + " " + TALL)
row("la.qr(x, full_matrices=False)", TALL)
row("la.qr(x, pivoting=True)", "f32[6,4] c128[4,4] f64[3,4,4]")
row("jnp.linalg.qr(x, mode='raw')", "f32[6,4] c64[6,4]")
row("la.householder_product(x, y)", "f32[6,4],f32[4] c64[3,6,4],c64[3,4] f64[6,4],f64[2]")
row("la.ormqr(x, y, z)", "f32[6,4],f32[4],f32[6,3] c64[2,6,4],c64[2,4],c64[2,6,3]")
row("la.eigh(x)", KINDS + " f32[40,40] f32[3,40,40]")
row(
    "la.eigh(x, implementation=la.EighImplementation.NAME)",
    "f32[4,4] c128[3,4,4]",
    "QR JACOBI QDWH",
)
row("la.svd(x)", KINDS + " " + TALL)
row("la.svd(x, full_matrices=False)", TALL + " f32[2000,4]")
row("la.svd(x, compute_uv=False)", TALL)
row(
    "la.svd(x, algorithm=la.SvdAlgorithm.NAME)",
    "f32[6,4] c64[3,4,4] f32[2,40,30]",
    "QR JACOBI POLAR",
)
row("la.eig(x)", "f32[4,4] c64[3,4,4]")
row("la.schur(x)", "f32[4,4] c64[3,4,4]")
row("la.hessenberg(x)", "f32[4,4] c64[3,4,4]")
row("la.tridiagonal(x)", "f32[4,4] c64[3,4,4]")
row("la.triangular_solve(x, y, left_side=True)", "f32[4,4] f64[4,4] c64[4,4] c128[3,4,4]")
row(
    "la.triangular_solve(x, y, lower=True, transpose_a=True, conjugate_a=True)",
    "f32[4,4] c64[3,4,4]",
)
row(
    "la.tridiagonal_solve(x, y, z, w)",
    "f32[4],f32[4],f32[4],f32[4,2] f64[4],f64[4],f64[4],f64[4,2]"
    " c64[4],c64[4],c64[4],c64[4,2] f32[3,4],f32[3,4],f32[3,4],f32[3,4,2]",
)
row("la.symmetric_product(x, y)", "f32[4,4] f64[3,4,4]")
row("la.cholesky_update(x, y)", "f32[4,4],f32[4] f64[4,4],f64[4]")
row("la.lu_pivots_to_permutation(x, 6)", "i32[4] i32[3,4]")
row("jnp.linalg.NAME(x)", "f32[4,4] c64[3,4,4] f64[4,4]", "inv det slogdet pinv eigvalsh")
row("jnp.linalg.solve(x, y)", "f32[4,4] c64[3,4,4]")
row("jnp.linalg.lstsq(x, y)", "f32[6,4],f32[6,2]")
row("jax.scipy.linalg.NAME(x)", "f32[4,4] c64[4,4]", "expm sqrtm polar")
row("jax.grad(lambda x: jnp.abs(la.NAME(x)[0]).sum())(x)", "f32[4,4]", "qr svd eigh lu")
row("jax.hessian(lambda x: (la.eigh(x)[1] ** 2).sum())(x)", "f32[3,3]")
row("jax.hessian(lambda x: (la.svd(x)[1] ** 2).sum())(x)", "f32[3,3]")

# -------------------------------------------------------------------------------- random

row(
    "jax.random.NAME(x[0], (4, 8))",
    "u32[1,2]",
    "bits uniform normal gumbel exponential cauchy laplace logistic rademacher",
)
row(
    "jax.random.bits(jax.random.wrap_key_data(x, impl='NAME'), (4, 8), 'uint8')",
    "u32[2]",
    "threefry2x32 philox4x32",
)  # JAX has no Philox
row("jax.random.bits(jax.random.wrap_key_data(x, impl='philox2x32'), (4, 8))", "u32[1]")
row("jax.random.bits(jax.random.wrap_key_data(x, impl='threefry4x32'), (4, 8))", "u32[4]")
row("load('extend.random').threefry2x32_p.bind(x[0], x[1], y, z)", "u32[2],u32[8],u32[8]")
row(
    "jax.random.bits(jax.random.wrap_key_data(x, impl='NAME'), (4, 8), 'uint32')",
    "u32[4]",
    "rbg unsafe_rbg",
)
row(
    "jax.random.key_data(jax.random.split(jax.random.wrap_key_data(x, impl='NAME')))",
    "u32[4]",
    "rbg unsafe_rbg",
)
row("jax.random.key_data(jax.random.fold_in(jax.random.wrap_key_data(x), y))", "u32[2],u32[]")
row("jax.random.key_data(jax.random.clone(jax.random.key(x)))", "u32[]")
row("jax.random.wrap_key_data(x)", "u32[2]")
row("jax.random.split(jax.random.wrap_key_data(x), 5)", "u32[2]")
row("jax.random.gamma(x, y)", "u32[2],f32[3] u32[2],f64[3]")
row("jax.random.NAME(x, 2.0, 3.0, (4,))", "u32[2]", "beta")
row("jax.random.poisson(x, y)", "u32[2],f32[3]")
row("jax.random.binomial(x, 5., y)", "u32[2],f32[3]")
row("jax.random.randint(x, (4,), 0, 9)", "u32[2]")
row("jax.random.permutation(x, y)", "u32[2],f32[8]")
row("jax.random.multivariate_normal(x, y, z)", "u32[2],f32[3],f32[3,3]")
row("lax.rng_uniform(x, y, (3,))", "f32[] i32[]")
row(
    "lax.rng_bit_generator(x, (4, 8), algorithm=lax.RandomAlgorithm.NAME)",
    "u32[4]",
    "RNG_DEFAULT RNG_PHILOX",
)
row(
    "lax.rng_bit_generator(x, (4, 8), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY,"
    " dtype=np.uint64)",
    "u32[4]",
)

# ------------------------------------------------------------------------------- control

row("jax.jit(lambda x: jnp.sin(x))(x) + jax.jit(lambda x: jnp.sin(x))(x + 1)")
row("lax.cond(x, lambda y: y * 2, jnp.sin, y)", "b1[],f32")
row("lax.switch(x, [jnp.sin, jnp.cos, jnp.tan], y)", "i32[],f32")
row("lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] * y), (x, y))", "i32[],f32")
row("lax.fori_loop(0, x, lambda i, c: c * i, y)", "i32[],f32")
row("lax.scan(lambda c, a: (c + a, c * a), x[0], x)", "f32 c64 bf16")
row("jax.grad(lambda x: lax.scan(lambda c, a: (jnp.sin(c) * a, c), x[0], x)[0].sum())(x)")
row("lax.associative_scan(jnp.multiply, x)")
row("lax.map(jnp.sin, x, batch_size=2)")
row("jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum()))(x)")
row("lax.custom_linear_solve(lambda v: x * v, y, lambda f, b: b / x)")
row(
    "lax.custom_root(lambda a: a ** 2 - x, y, lambda f, a: jnp.sqrt(x),"
    " lambda f, b: b / f(jnp.ones_like(b)))"
)
row("jax.custom_derivatives.linear_call(lambda r, x: x * r, lambda r, x: x * r, x, y)")
row("lax.composite(lambda x: x * 2, 'my.double')(x)")
row("lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos)")
row("lax.platform_dependent(x, cpu=jnp.sin, cuda=jnp.cos, tpu=jnp.tan)")
row("jax.freeze(jax.new_ref(x))")
row("sparse.BCOO.fromdense(x, nse=5).todense()")
row("sparse.BCOO.fromdense(x, nse=5) @ y", "f32[4,8],f32[8,3]")
row("sparse.CSR.fromdense(x, nse=5) @ y", "f32[4,8],f32[8,3] f32[4,8],f32[8]")
row("sparse.COO.fromdense(x, nse=5) @ y", "f32[4,8],f32[8,3] f32[4,8],f32[8]")
row("sparse.BCSR.fromdense(x, nse=5) @ y", "f32[4,8],f32[8,3]")
row(
    "(sparse.BCOO.fromdense(x, nse=5) @ sparse.BCOO.fromdense(y, nse=5)).todense()",
    "f32[4,8],f32[8,3]",
)

BCOO = "sparse.BCOO.fromdense(x, nse=5)"
row(f"sparse.bcoo_extract({BCOO}, y).data")
row(f"{BCOO}.sort_indices().data")
row(f"{BCOO}.sum_duplicates(nse=4).data")
row(f"{BCOO}.T.todense()")
row(f"sparse.todense({BCOO})")
row(
    f"sparse.bcoo_dot_general_sampled(x, y, {BCOO}.indices,"
    " dimension_numbers=(((1,), (0,)), ((), ())))",
    "f32[4,4]",
)
row("sparse.BCSR.fromdense(x, nse=5).todense()")
row("(lambda m: sparse.bcsr_extract(m.indices, m.indptr, x))(sparse.BCSR.fromdense(x, nse=5))")
row("sparse.NAME.fromdense(x, nse=5).todense()", names="COO CSR", types="f32 f64 c64")
row(
    "sparse.linalg.spsolve(x, y, z, w)",
    "f32[7],i32[7],i32[5],f32[4] f64[7],i32[7],i32[5],f64[4]",
)
row("load('ad_checkpoint').checkpoint_name(x, 'x')")
row(
    "(lambda r: (load('ref').addupdate(r, 0, y[1]), load('ref').swap(r, 1, y[0]), r[2],"
    " r[...]))(jax.new_ref(x))"
)
row(
    "(lambda r: r.__setitem__(..., x) or jax.freeze(r))"
    "(load('ref').empty_ref(jax.ShapeDtypeStruct((4, 8), np.float32)))"
)
row("load('ref').free_ref(jax.new_ref(x))")
row("jnp.unstack(x)")
row("lax.empty((3,), np.float32)", "f32")
row("lax.dce_sink(x)")
row(
    "lax.scaled_dot(x, y, lhs_scale=z, rhs_scale=w, preferred_element_type=np.float32)",
    "e4m3[16,64],e4m3[64,8],e8m0[16,2],e8m0[2,8] bf16[16,64],bf16[64,8],bf16[16,2],bf16[2,8]",
)
row("lax.NAME_p.bind(x, y)", ORDERED, "eq_to lt_to le_to")
row("jax.device_put(x)")
row("jax.device_put(x, jax.memory.Space.Device)")
row("jax.device_put(jax.device_put(x, jax.memory.Space.Host) * 1, jax.memory.Space.Device)")
row("jax.custom_batching.sequential_vmap(lambda x: x * 2)(x)")
row("jax.vmap(jax.custom_batching.sequential_vmap(lambda x: x * 2))(x)")
row(
    "(lambda f: f.defvjp(lambda x: (x * 2, x), lambda r, g: (g * r,), optimize_remat=True)"
    " or jax.value_and_grad(lambda x: f(x).sum())(x))(jax.custom_vjp(lambda x: x * 2))"
)
row(
    "load('export').export(jax.jit(jnp.sin), platforms=['cpu', 'cuda', 'tpu'])("
    "jax.ShapeDtypeStruct((4, 8), np.float32)).call(x)"
)
row(
    "lax.select_and_scatter_p.bind(x, y, np.float32(0), select_jaxpr=SELECT,"
    " scatter_jaxpr=ADD, select_consts=(), scatter_consts=(), window_dimensions=(2, 2),"
    " window_strides=(2, 2), padding=((0, 0), (0, 0)))".replace(
        "SELECT", "jax.make_jaxpr(lax.ge)(np.float32(0), np.float32(0)).jaxpr"
    ).replace("ADD", "jax.make_jaxpr(lax.add)(np.float32(0), np.float32(0)).jaxpr"),
    "f32[4,8],f32[2,4]",
)
row(
    "jax.grad(lambda z: load('experimental.rnn').lstm(x, y, y, z, np.full(2, 3, np.int32),"
    " 4, 5, 1, 0., False)[0].sum())(z)",
    "f32[2,3,4],f32[1,2,5],f32[220]",
)

# --------------------------------------------------------------- the world outside

row("jax.pure_callback(np.sin, jax.ShapeDtypeStruct((4, 8), np.float32), x)")
row("load('experimental').io_callback(print, None, x)")
row("jax.debug.print('{}', x)")
row("jax.debug.callback(print, x)")
row("jax.ffi.ffi_call('my_call', jax.ShapeDtypeStruct((3,), np.float32))(x, n=np.int32(3))")
row(
    "load('experimental.buffer_callback').buffer_callback("
    "print, jax.ShapeDtypeStruct((3,), np.float32))(x)"
)
row("load('experimental.xla_metadata').set_xla_metadata(jnp.sin(x), kind='a')")
row("load('experimental.compute_on').compute_on('gpu_stream:1')(jax.jit(jnp.sin))(x)")
row(
    "load('experimental.compute_on').compute_on2(jnp.sin, compute_type='NAME',"
    " out_memory_spaces=jax.memory.Space.Device)(x)",
    names="device_host gpu_stream:1 tpu_sparsecore",
)
row("load('experimental.scheduling_groups').xla_metadata_call(jnp.sin, kind='a')(x)")
row("load('experimental.fused').fused(out_spaces=(jax.memory.Space.Device,))(jnp.sin)(x)")
row("lax.optimization_barrier((lax.after_all(lax.create_token()), x))[1]")
row(
    "load('experimental.layout').with_layout_constraint("
    "x, load('experimental.layout').Layout((1, 0)))"
)
row(
    "load('experimental.rnn').lstm(x, y, y, z, np.full(2, 3, np.int32), 4, 5, 1, 0., False)",
    "f32[2,3,4],f32[1,2,5],f32[220]",
)

# ------------------------------------------------------------------------------ a mesh

IN_SHARD_MAP = "jax.shard_map(lambda x: BODY, mesh=mesh, in_specs=P('i'), out_specs=P('i'))(x)"


def across(body: str, types: str = "f32", names: str = "") -> None:
    """A row of what each of four devices does with a part of the operand."""
    row(IN_SHARD_MAP.replace("BODY", body), types, names, spread=True)


across("lax.NAME(x, 'i')[None]", "f32[4,8] i32[4,8]", "psum pmax pmin pmean")
across("lax.psum(x, 'i', axis_index_groups=[[0, 1], [2, 3]])")
across("lax.psum(x, 'i')[None]", "bf16 c64 i8 f64")
across("lax.all_gather(x, 'i', tiled=True)", "f32 b1 c64")
across("lax.psum_scatter(x, 'i', tiled=True)", "f32[16,8] bf16[16,8]")
across("lax.all_to_all(x, 'i', 1, 0)", "f32[4,4]")
across("lax.ppermute(x, 'i', [(0, 1), (1, 2)])", "f32 i8")
across("lax.pbroadcast(x, 'i', 2)")
across("x + lax.axis_index('i')")
across("lax.ragged_all_to_all(x, x, *[jnp.ones(4, np.int32)] * 4, axis_name='i')", "f32[16,8]")
across("lax.cond(lax.axis_index('i') > 1, jnp.sin, jnp.cos, x)")
EXPLICIT = (
    "jax.NamedSharding(jax.sharding.Mesh(mesh.devices, ('i',), axis_types=("
    "jax.sharding.AxisType.Explicit,)), P('i'))"
)
row(f"jax.sharding.reshard(x, {EXPLICIT})", spread=True)
row(
    f"jax.sharding.auto_axes(jnp.sin, out_sharding={EXPLICIT})("
    f"jax.sharding.reshard(x, {EXPLICIT}))",
    spread=True,
)
row("partitioned(jax, P)(x)", spread=True)
across("jax.lax.pcast(jax.lax.psum(x, 'i'), 'i', to='varying')")
across("lax.pcast(lax.pcast(lax.psum(x, 'i'), 'i', to='reduced'), 'i', to='varying')")
across("lax.pcast(lax.all_gather(x, 'i', tiled=True, to='reduced'), 'i', to='varying')")
across("lax.pcast(lax.all_gather(x, 'i', tiled=True, to='invarying'), 'i', to='varying')")
across("lax.psum(lax.pcast(x, 'i', to='unreduced'), 'i')[None]")
across("lax.psum_scatter(lax.pcast(x, 'i', to='unreduced'), 'i', tiled=True)", "f32[16,8]")
across("lax.precv(lax.psend(x, 'i', [(0, 1)]), x, 'i', [(0, 1)])")  # on GPUs alone
row("jax.debug.inspect_array_sharding(x, callback=print)", spread=True)
row(
    "jax.shard_map(lambda x: x * 2, mesh=mesh, in_specs=P('i'), out_specs=P('i'),"
    " check_vma=False)(jax.vmap(jnp.sin)(x))",
    spread=True,
)
row("lax.with_sharding_constraint(x, jax.NamedSharding(mesh, P('i')))", spread=True)
row("load('experimental.shard_alike').shard_alike(x, y)", spread=True)
row("jnp.linalg.cholesky(x)", "f32[4,3,3]", spread=True)
row("jnp.sort(x)", spread=True)
row("x @ y", "f32[4,8],f32[8,4]", spread=True)
