"""Every primitive is lowered for GPUs and TPUs, by the calls that JAX makes there.

`make platforms` compiles all samples, for machines that are not there; here, where the
plugins are installed, a few are compiled.  `calls.txt` is recorded from JAX 0.10.2: lines
`platform | expression | types | the calls of its module`; what differs from JAX by design
(docs/differences.md) is not in it.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import minijax as mj
from minijax.ir.jaxpr import sub_jaxprs
from minijax.runtime.backends import client

from .child import calls, devices, lowered, outcome, structs
from .samples import SAMPLES, function

HERE = Path(__file__).parent
RECORDED = [line.split(" | ") for line in (HERE / "calls.txt").read_text().splitlines()]
BY_NAME = {sample.name: sample for sample in SAMPLES}
WHEELS = {"cuda": client.cuda_library(), "tpu": importlib.util.find_spec("libtpu")}
INSIDE = """
    custom_lin geqp3 philox2x32 philox2x32_rounds philox4x32 philox4x32_rounds
    threefry2x32_rounds threefry4x32 threefry4x32_rounds
    """.split()  # what other primitives are lowered to; what only derivatives hold
ELSEWHERE = """
    call check closed_call dim_as_value global_array_to_host_local_array
    host_local_array_to_global_array stage xla_pmap
    """.split()  # errors of checkify, sizes of exported programs, what is no part of any


@pytest.fixture(autouse=True)
def _doubles():
    with mj.enable_x64(True):
        yield


def primitives(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in sub_jaxprs(eqn.params):
            yield from primitives(inner)


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_every_primitive_has_a_sample():
    # A process of its own: other tests declare primitives, too.
    code = "from minijax.tools import rules as r; r.load_all(); print(*r.registry)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    registry = told.stdout.decode().split()
    assert len(registry) > 200
    mesh = mj.make_mesh((4,), ("i",), axis_types=(mj.sharding.AxisType.Auto,))
    names = {*INSIDE, *ELSEWHERE}
    for sample in SAMPLES:
        names.update(
            primitives(mj.make_jaxpr(function(sample, mj, mesh))(*structs(mj, sample)).jaxpr)
        )
    missing = set(registry) - names
    assert not missing, f"no row of samples.py has {sorted(missing)}"


@pytest.mark.parametrize("platform, text, types, want", RECORDED)
def test_what_is_called_is_what_jax_calls(platform, text, types, want):
    for each in types.split(", "):
        sample = BY_NAME[f"{text}  {each}".rstrip()]
        traced = mj.jit(function(sample, mj)).trace(*structs(mj, sample))
        module = traced.lower(lowering_platforms=(platform,)).as_text()
        assert "; ".join(calls(module)) == want, sample.name


SOME = {
    "cuda": """la.cholesky(x)  f32[4,4]
        jnp.linalg.inv(x)  f32[4,4]
        la.qr(x, pivoting=True)  f32[6,4]
        partitioned(jax, P)(x)  f32[4,8]
        jax.debug.print('{}', x)  f32[4,8]""",
    "tpu": """la.eigh(x)  f32[4,4]
        jnp.linalg.inv(x)  f32[4,4]
        lax.approx_max_k(x, 3)  f32[16,5000]""",
}


@pytest.mark.parametrize("platform", SOME)
def test_some_are_compiled(platform):
    if WHEELS[platform] is None:
        pytest.skip(f"the wheel of the plugin for {platform} is not installed")
    found = devices(mj, platform)
    for name in SOME[platform].splitlines():
        told = outcome(mj, BY_NAME[name.strip()], found)
        assert "error" not in told, (name, told)


def test_programs_for_absent_devices_keep_their_arrays_here():
    """An array that a program holds is not put where nothing is."""
    if WHEELS["tpu"] is None:
        pytest.skip("the wheel libtpu is not installed")
    sample = BY_NAME["jnp.linalg.inv(x)  f32[4,4]"]
    program = lowered(mj, sample, devices(mj, "tpu")).compile()
    assert program.cost_analysis()["flops"] > 0
