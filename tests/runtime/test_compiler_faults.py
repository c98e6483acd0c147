"""Compiler faults: values in every way to the compiler, and the table of cures.

Source of truth: NumPy in float64.  The tests with `without_cure` observe a fault with its
cure switched off, in jaxlibs that have it. When one fails, the fault has been fixed.
"""

import ast
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from jaxlib.mlir import ir

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.runtime.backends import jaxlib_compat as compat
from minijax.runtime.lowering.mlir_context import context
from minijax.runtime.running import compile as compiler
from minijax.runtime.running import compiler_faults as faults
from minijax.tools import faults as faults_page

ROOT = pathlib.Path(__file__).parents[2]
FUSION = "xla_cpu_experimental_ynn_fusion_type"
KINDS = ("INDIVIDUAL_DOT", "INDIVIDUAL_CONVOLUTION", "REDUCE")
UNCURED = {FUSION: ",".join("LIBRARY_FUSION_TYPE_" + k for k in KINDS)}
ROWS = 33000  # a little more than 128 KiB of float32

rng = np.random.default_rng(0)
M = rng.standard_normal((3, 3))
X = rng.standard_normal((ROWS, 3))
Y = X @ M.T
M32, X32 = M.astype(np.float32), X.astype(np.float32)

has_ynn_fault = pytest.mark.skipif(
    not faults.applies(faults.FAULTS[0], "cpu", compat.RELEASE),
    reason="this jaxlib does not have the fault",
)


def close(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got, np.float64), expected, tolerance, tolerance)


REDUCTIONS = {
    "norm": (jnp.linalg.norm, np.sqrt((Y * Y).sum(1))),
    "sum of absolute values": (lambda y: abs(y).sum(), abs(Y).sum(1)),
    "max": (jnp.max, Y.max(1)),
    "affine": (lambda y: (2 * y + 1).min(), (2 * Y + 1).min(1)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduced_product(name):
    reduction, expected = REDUCTIONS[name]
    close(mj.jit(mj.vmap(lambda r: reduction(M32 @ r)))(X32), expected)


@has_ynn_fault
def test_reduced_product_without_cure():
    lowered = mj.jit(mj.vmap(lambda r: jnp.linalg.norm(M32 @ r))).lower(X32)
    expected = np.sqrt((Y * Y).sum(1))
    wrong = abs(np.asarray(lowered.compile(UNCURED)(X32)) - expected) > 1e-3
    assert wrong[:32768].sum() == 0 and wrong[32768:].sum() > 200
    close(lowered.compile()(X32), expected)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_reduced_product_of_dtypes(dtype):
    with mj.enable_x64(True):
        m, x = (jnp.asarray(a, dtype) for a in (M, X))
        got = mj.jit(mj.vmap(lambda r: (m @ r).sum()))(x)
        exact = np.asarray(x, np.float64) @ np.asarray(m, np.float64).T
        assert got.dtype == dtype
        close(got, exact.sum(1), 1e-12 if dtype == "float64" else 0.1)


def norms(x):
    return mj.vmap(lambda r: jnp.linalg.norm(M32 @ r))(x)


def in_loop(x):
    return lax.fori_loop(0, 1, lambda i, out: out + norms(x), jnp.zeros(ROWS, x.dtype))


def exported(x):
    blob = mj.export.export(mj.jit(norms))(x).serialize()
    return mj.jit(mj.export.deserialize(blob).call)(x)


def over_devices(x):
    mesh = mj.make_mesh((2,), ("i",), devices=mj.devices()[:2])
    over = mj.sharding.NamedSharding(mesh, mj.sharding.PartitionSpec("i"))
    return mj.jit(norms)(mj.device_put(np.concatenate([x, x]), over))[:ROWS]


def resharded(x):
    mesh = mj.make_mesh((2,), ("i",), devices=mj.devices()[:2])
    over = mj.sharding.NamedSharding(mesh, mj.sharding.PartitionSpec("i"))
    return mj.jit(norms, out_shardings=over)(x)


ROADS = {
    "eager": norms,
    "nested calls": mj.jit(lambda x: mj.jit(lambda x: mj.jit(norms)(x) * 1)(x) + 0),
    "loop": mj.jit(in_loop),
    "branch": mj.jit(lambda x: lax.cond(x[0, 0] > 9, lambda x: x[:, 0], norms, x)),
    "map": mj.jit(lambda x: lax.map(norms, x[None])[0]),
    "checkpoint": mj.jit(mj.checkpoint(norms)),
    "einsum": mj.jit(lambda x: jnp.sqrt((jnp.einsum("ij,nj->ni", M32, x) ** 2).sum(1))),
    "ahead of time": lambda x: mj.jit(norms).lower(x).compile()(x),
    "export": exported,
    "pmap": lambda x: mj.pmap(norms)(x[None])[0],
    "several devices": over_devices,
    "moved results": resharded,
}


@pytest.mark.parametrize("road", ROADS)
def test_every_way_to_the_compiler(road):
    close(ROADS[road](X32), np.sqrt((Y * Y).sum(1)))


def test_reduced_product_of_many_axes():
    x = rng.standard_normal((2,) * 6 + (4, 3)).astype(np.float32)
    y = rng.standard_normal((2,) * 6 + (3, 5)).astype(np.float32)
    close(mj.jit(lambda x, y: (x @ y).sum(2))(x, y), (x @ y).sum(2))
    wide = rng.standard_normal((2,) * 9).astype(np.float32)
    got = mj.jit(lambda a, b: jnp.tensordot(a, b, 1).sum(3))(wide, wide)
    close(got, np.tensordot(wide, wide, 1).sum(3))


@pytest.mark.parametrize("axis", [0, 6])
def test_reduction_of_many_axes(axis):
    shape = (2, 4, 8, 2, 6, 2, 8, 1)
    x, y = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    f = mj.jit(lambda x, y: (x * y).sum(axis))
    if faults.applies(faults.FAULTS[2], "cpu", compat.RELEASE):
        assert "ynn" not in f.lower(x, y).compile().as_text()
    close(f(x, y), (x.astype(float) * y).sum(axis))


def lowered_text(f, *args):
    return mj.jit(f).lower(*args).compiler_ir()


SHAPES = {
    "narrow": ((3, 3), (3, 33000), True),
    "narrow, transposed": ((33000, 5), (5, 4), True),
    "attention": ((4, 512, 64), (4, 64, 512), False),
    "short": ((3, 3), (3, 4000), False),
    "layer": ((8192, 512), (512, 2048), False),
    "batches": ((2, 2, 2, 2, 3, 3), (2, 2, 2, 2, 3, 3), True),
}


@pytest.mark.parametrize("name", SHAPES)
def test_pattern(name):
    a, b, fits = SHAPES[name]
    shapes = [mj.ShapeDtypeStruct(s, np.float32) for s in (a, b)]
    module = lowered_text(lambda x, y: (x @ y).sum(-1), *shapes)
    assert faults.has_pattern(module, faults.is_narrow_dot) is fits


def test_pattern_of_old_products():
    text = """func.func public @main(%a: tensor<3x3xf32>, %b: tensor<3x5000xf32>)
        -> tensor<3x5000xf32> {
      %0 = stablehlo.dot %a, %b : (tensor<3x3xf32>, tensor<3x5000xf32>)
        -> tensor<3x5000xf32>
      return %0 : tensor<3x5000xf32>
    }"""
    with context.ir:
        assert faults.has_pattern(ir.Module.parse(text), faults.is_narrow_dot)


@has_ynn_fault
def test_options_of_programs():
    """The option is part of the key, is set only where necessary, and users can override
    it."""
    narrow = lowered_text(norms, X32)
    bytecode = compiler.module_bytes(narrow)
    cured = faults.overrides_for("cpu", narrow, bytecode, {"other": 1})
    assert cured == {"other": 1, **dict(faults.FAULTS[0].options)}
    own = {FUSION: "LIBRARY_FUSION_TYPE_REDUCE"}
    assert faults.overrides_for("cpu", narrow, bytecode, own) == own
    assert faults.overrides_for("cuda", narrow, bytecode, None) is None
    devices = mj.devices()[:1]
    keys = {
        compiler.cache_key(bytecode, compat.compile_options(devices, 1, 1, o), devices)
        for o in (None, dict(faults.FAULTS[0].options))
    }
    assert len(keys) == 2
    softmax = lowered_text(lambda x: mj.nn.softmax(x @ x.T), np.ones((64, 64), "f4"))
    bytecode = compiler.module_bytes(softmax)
    assert faults.overrides_for("cpu", softmax, bytecode, None) is None


STACKS = """
import numpy as np
import minijax as mj
from minijax import lax
x = np.random.default_rng(0).standard_normal((20000, 6, 6)) + 5 * np.eye(6)
x = x.astype("f4")
solve = lambda x: lax.linalg.triangular_solve(x, x[..., :2], left_side=True, lower=True)
f = mj.jit(lambda *xs: [solve(x) for x in xs])
xs = [x + i for i in range(24)]
for _ in range(2):
    out = f(*xs)
mj.block_until_ready(out)
want = np.linalg.solve(np.tril(x[:50]), x[:50, :, :2])
np.testing.assert_allclose(out[0][:50], want, 1e-3, 1e-4)
"""


def test_stacks_of_matrices():
    """Run in a process that can be killed: without the cure the program never ends."""
    env = {**os.environ, "JAX_NUM_CPU_DEVICES": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", STACKS], env=env, check=True, timeout=120)


MIXED = """
import time
import numpy as np
import minijax as jax, minijax.numpy as jnp

a = np.random.RandomState(0).randn(64, 40, 40).astype("f") + 8 * np.eye(40, dtype="f")

def twice(x):
    like = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda x: 2 * np.asarray(x), like, x)

def f(x):
    parts = [
        jnp.linalg.inv(a + i + x[0]).sum() + jnp.sort(a.ravel() * x[0])[i]
        for i in range(4)
    ]
    return sum(parts) + sum(twice(x + i).sum() for i in range(4))

f = jax.jit(f)
jax.block_until_ready(f(jnp.ones(3)))
began = time.monotonic()
jax.block_until_ready(f(jnp.ones(3)))
print(time.monotonic() - began)
"""


def test_many_stacks_with_one_thread_of_openblas():
    """LAPACK, sorts and callbacks in one program: each waits in the CPU's pool."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    env["JAX_NUM_CPU_DEVICES"] = "1"
    run = [sys.executable, "-c", MIXED]
    done = subprocess.run(run, env=env, check=True, timeout=120, capture_output=True)
    assert float(done.stdout) < 10


def test_pattern_of_stacks():
    solve = lambda x: jnp.linalg.solve(x, x)
    for shape, fits in (((500, 4, 4), True), ((3, 4, 4), False), ((80, 80), False)):
        module = lowered_text(solve, mj.ShapeDtypeStruct(shape, np.float32))
        assert faults.has_pattern(module, faults.is_large_stack) is fits


def test_division_by_constant_zeros():
    x = np.array([7, -7], np.int32)
    quotient, rest = mj.jit(lambda x: (lax.div(x, 0 * x), lax.rem(x, 0 * x)))(x)
    assert quotient.tolist() == [-1, -1] and rest.tolist() == [7, -7]


def test_table():
    names = [f.name for f in faults.FAULTS]
    assert len(set(names)) == len(names)
    for fault in faults.FAULTS:
        assert (ROOT / fault.where).is_file(), fault
        for test in filter(None, (fault.test, fault.shown)):
            file, _, function = test.partition("::")
            tree = ast.parse((ROOT / file).read_text())
            assert function in {getattr(n, "name", None) for n in tree.body}, test


def test_page():
    made = faults_page.page() + "\n"
    page = (ROOT / "docs" / "compiler.md").read_text()
    assert page == made, "run: python -m minijax.tools.faults > docs/compiler.md"


def test_ranges():
    fault = faults.FAULTS[0]
    assert faults.applies(fault, "cpu", (0, 10, 2))
    assert not faults.applies(fault, "cpu", (0, 11, 2))
    assert not faults.applies(fault, "tpu", (0, 10, 2))
    assert faults.applies(fault._replace(before=None), "cpu", (0, 12, 0, 1))
