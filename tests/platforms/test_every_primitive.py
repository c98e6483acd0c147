"""Every primitive is lowered for GPUs and TPUs, by the calls that JAX makes there.

`make platforms` compiles all samples, for machines that this one lacks; here, where the
plugins are installed, a few are compiled.  `calls.txt` is recorded from JAX 0.10.2: lines
`platform | expression | types | the calls of its module`; what differs from JAX by design
(docs/differences.md) is not in it.
"""

import importlib.util
import math
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.ir.facts import NO_FACTS, KeyUse
from minijax.ir.jaxpr import sub_jaxprs
from minijax.runtime.backends import client
from minijax.types.avals import same_type

from .child import calls, devices, lowered, outcome, structs
from .samples import SAMPLES, function

DIRECTORY = Path(__file__).parent
RECORDED = [line.split(" | ") for line in (DIRECTORY / "calls.txt").read_text().splitlines()]
BY_NAME = {sample.name: sample for sample in SAMPLES}
WHEELS = {"cuda": client.cuda_library(), "tpu": importlib.util.find_spec("libtpu")}
INSIDE = """
    custom_lin geqp3 philox2x32 philox2x32_rounds philox4x32 philox4x32_rounds
    threefry2x32_rounds threefry4x32 threefry4x32_rounds
    """.split()  # what other primitives are lowered to; what only derivatives hold
ELSEWHERE = """
    call check closed_call dim_as_value global_array_to_host_local_array
    host_local_array_to_global_array stage xla_pmap
    """.split()  # errors of checkify, sizes of exported programs, what is not part of any


@pytest.fixture(autouse=True)
def _doubles():
    with mj.enable_x64(True):
        yield


def primitives(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in sub_jaxprs(eqn.params):
            yield from primitives(inner)


@pytest.fixture(scope="module")
def traced():
    """The jaxpr of every sample, and the names of the primitives in it."""
    mesh = mj.make_mesh((4,), ("i",), axis_types=(mj.sharding.AxisType.Auto,))
    out = []
    with mj.enable_x64(True), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Casting complex values")
        for sample in SAMPLES:
            jaxpr = mj.make_jaxpr(function(sample, mj, mesh))(*structs(mj, sample))
            out.append((sample.name, jaxpr, set(primitives(jaxpr.jaxpr))))
    return out


def test_every_primitive_has_a_sample(traced):
    # In its own process, because other tests also declare primitives.
    code = "from minijax.tools import rules as r; r.load_all(); print(*r.registry)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    registry = printed.stdout.decode().split()
    assert len(registry) > 200
    names = {*INSIDE, *ELSEWHERE}.union(*[used for _, _, used in traced])
    missing = set(registry) - names
    assert not missing, f"no row of samples.py has {sorted(missing)}"


def test_jaxprs_of_every_primitive_are_unpickled_by_a_fresh_process(traced, tmp_path):
    """It imports the modules that define the primitives, whatever was loaded before."""
    seen, rows = set(), []
    for name, jaxpr, used in traced:
        if used <= seen:
            continue
        try:
            rows.append((name, str(jaxpr), pickle.dumps(jaxpr)))
        except (AttributeError, pickle.PicklingError) as error:
            assert "local object" in str(error), (name, error)  # of a user's function
        else:
            seen |= used
    assert len(seen) > 250
    path = tmp_path / "jaxprs"
    path.write_bytes(pickle.dumps(rows[::-1]))
    code = (
        "import pickle, sys, minijax\n"
        "minijax.config.update('jax_enable_x64', True)\n"
        "for name, text, data in pickle.load(open(sys.argv[1], 'rb')):\n"
        "    assert str(pickle.loads(data)) == text, name\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=120)


def test_every_primitive_of_any_module_is_found_by_a_fresh_process():
    """Primitives of all modules are in the two tables that unpickling reads."""
    load_all = """
import importlib, pkgutil, minijax
from minijax.ir import core
for module in pkgutil.walk_packages(minijax.__path__, "minijax."):
    if "__main__" not in module.name:
        try:
            importlib.import_module(module.name)
        except (ImportError, AttributeError):  # removed modules raise
            pass
print(*core.registry)
"""
    printed = subprocess.run([sys.executable, "-Wignore", "-c", load_all], capture_output=True)
    names = printed.stdout.decode().split()
    assert len(names) > 270
    find = (
        "import sys\nfrom minijax.ir import core\n"
        "for name in sys.argv[1:]: assert core.named(name).name == name\n"
    )
    subprocess.run([sys.executable, "-c", find, *names[::-1]], check=True, timeout=120)


def equations(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in sub_jaxprs(eqn.params):
            yield from equations(inner)


def check_facts(eqn):
    """Check each fact of a primitive on an equation: what it returns, and what types tell."""
    prim, facts = eqn.primitive, eqn.primitive.facts
    ins, outs = [a.aval for a in eqn.ins], [v.aval for v in eqn.outs]
    for rule in filter(None, (facts.flops, facts.workspace)):
        assert math.isfinite(rule(ins, outs, eqn.params)), prim
        assert rule(ins, outs, eqn.params) >= 0, prim
    if facts.axes_of is not None:
        rows = facts.axes_of(ins, outs, eqn.params)
        for aval, row in zip(ins, rows, strict=True):
            for size, axis in zip(outs[0].shape, row, strict=True):
                if type(axis) is tuple:
                    axis, reach = axis
                    which, to = reach(np.arange(aval.shape[axis]))
                    assert len(which) == len(to), prim
                    assert all((to >= 0) & (to < size)), prim
                else:
                    assert axis is None or aval.shape[axis] == size, (prim, row)
    if facts.elementwise:
        for out in outs:
            for aval in ins if len(outs) == 1 else ():
                assert np.broadcast_shapes(aval.shape, out.shape) == out.shape, prim
    if facts.data_movement == "nothing":
        assert all(map(same_type, ins, outs)) and len(ins) == len(outs), prim
    elif facts.data_movement is not None:
        sources = [a for a in ins if a.dtype == outs[0].dtype]
        assert sources, prim
        if facts.data_movement == "in order":
            assert [a.dtype for a in ins[:1]] == [a.dtype for a in outs], prim
    if facts.depends is not None:
        for flag in (False, True):
            flags = facts.depends([flag] * len(ins), eqn.params)
            assert len(flags) == len(outs), prim
            assert flag or eqn.effects or not any(flags), prim
    if facts.divisor is not None:
        assert facts.divisor < len(ins), prim
    use = facts.uses_keys
    if use is not None:
        use = use if isinstance(use, KeyUse) else use(ins, eqn.params)
        assert {*use.sinks, *use.forwards.values()} <= {*range(len(ins))}, prim
        assert {*use.sources, *use.forwards} <= {*range(len(outs))}, prim


def test_facts_of_every_primitive_hold_on_its_equations(traced):
    checked, seen = set(), set()
    for _, jaxpr, _ in traced:
        for eqn in equations(jaxpr.jaxpr):
            types = (eqn.primitive, *[a.aval for a in eqn.ins], *[v.aval for v in eqn.outs])
            if types in seen and eqn.primitive.facts.depends is None:
                continue
            seen.add(types)
            check_facts(eqn)
            if eqn.primitive.facts != NO_FACTS:
                checked.add(eqn.primitive)
    assert len(checked) > 170


def values(aval, seed):
    """Distinct numbers of a type near 1; zeros of integers, which are valid indices."""
    if np.dtype(aval.dtype).kind != "f":
        return np.zeros(aval.shape, aval.dtype)
    rng = np.random.default_rng(seed)
    return rng.permutation(np.linspace(0.5, 0.9, aval.size)).reshape(aval.shape).astype("f")


def evaluated(eqn, args):
    """The results of an equation for these operands, as arrays; None if it has none alone."""
    try:
        with np.errstate(invalid="ignore"):  # inside callbacks
            outs = eqn.primitive.bind(*map(jnp.asarray, args), **eqn.params)
    except (NameError, NotImplementedError, ValueError, TypeError, RuntimeError):
        return None
    return list(map(np.asarray, outs if eqn.primitive.multiple_results else [outs]))


def changes(eqn, args):
    """(operand, position, operands with that element replaced) for a NaN and an infinity."""
    for i, x in enumerate(args):
        if x.dtype.kind == "f" and x.size:
            for new in (np.nan, np.inf):
                changed = x.copy()
                changed.flat[x.size // 2] = new
                yield i, x.size // 2, [*args[:i], changed, *args[i + 1 :]]


def check_values(eqn):
    """Check facts about elements on numbers; whether there was something to check."""
    prim, facts = eqn.primitive, eqn.primitive.facts
    args = [values(a.aval, i) for i, a in enumerate(eqn.ins)]
    outs = evaluated(eqn, args)
    if outs is None:
        return False
    floats = [x for x in outs if x.dtype.kind == "f"]
    if facts.makes_no_nans or facts.keeps_finite:
        assert not any(np.isnan(x).any() for x in floats), prim
    if facts.keeps_finite:
        assert all(np.isfinite(x).all() for x in floats), prim
    if facts.data_movement in ("moved", "in order"):
        sources = {y for x in args if x.dtype == outs[0].dtype for y in x.flat}
        assert sources.issuperset(outs[0].flat), prim
    for i, position, changed in changes(eqn, args):
        results = evaluated(eqn, changed)
        if facts.keeps_nans and floats:
            assert not all(np.isfinite(x).all() for x in results if x.dtype.kind == "f"), prim
        for before, after in zip(outs, results, strict=True):
            if facts.elementwise and args[i].shape == after.shape:
                same = np.array((before == after) | np.isnan(before) & np.isnan(after))
                same.flat[position] = True
                assert same.all(), prim
    return True


def test_facts_about_elements_hold_for_numbers(traced):
    checked, seen = set(), set()
    flags = ("elementwise", "makes_no_nans", "keeps_nans", "keeps_finite", "data_movement")
    for _, jaxpr, _ in traced:
        for eqn in equations(jaxpr.jaxpr):
            prim, avals = eqn.primitive, [a.aval for a in (*eqn.ins, *eqn.outs)]
            key = prim, tuple(getattr(a, "shape", None) for a in avals)
            numbers = all(getattr(a, "dtype", None) in (bool, "int32", "f") for a in avals)
            if not numbers or key in seen or prim.regions is not None or eqn.effects:
                continue
            if any(getattr(prim.facts, flag) for flag in flags) and check_values(eqn):
                checked.add(prim)
            seen.add(key)
    assert len(checked) > 130


@pytest.mark.parametrize("platform, text, types, expected", RECORDED)
def test_calls_match_jax(platform, text, types, expected):
    for each in types.split(", "):
        sample = BY_NAME[f"{text}  {each}".rstrip()]
        traced = mj.jit(function(sample, mj)).trace(*structs(mj, sample))
        module = traced.lower(lowering_platforms=(platform,)).as_text()
        assert "; ".join(calls(module)) == expected, sample.name


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
    devices_found = devices(mj, platform)
    for name in SOME[platform].splitlines():
        result = outcome(mj, BY_NAME[name.strip()], devices_found)
        assert "error" not in result, (name, result)


def test_programs_for_absent_devices_keep_their_arrays_here():
    """An array that a program contains is not put on absent devices."""
    if WHEELS["tpu"] is None:
        pytest.skip("the wheel libtpu is not installed")
    sample = BY_NAME["jnp.linalg.inv(x)  f32[4,4]"]
    program = lowered(mj, sample, devices(mj, "tpu")).compile()
    assert program.cost_analysis()["flops"] > 0
