"""Small tools that libraries take from JAX's inside."""

import collections
import importlib

import numpy as np
import pytest

import minijax as jax
from minijax.views import private, tools


def test_names_pairs_and_functions():
    assert tools.wrap_name("jvp", "f") == "jvp(f)"
    assert tools.unzip2(iter([(1, 2), (3, 4)])) == ((1, 3), (2, 4))
    assert tools.unzip3([(1, 2, 3), (4, 5, 6)]) == ((1, 4), (2, 5), (3, 6))
    assert tools.unzip2([]) == ((), ())
    make = lambda n, code: tools.HashableFunction(code, closure=(n,))
    code = lambda x: x + 1
    assert make(1, code) == make(1, code) != make(2, code)
    assert {make(1, code): "found"}[make(1, code)] == "found"
    assert make(1, code)(2) == 3


def test_caching_by_the_axes_in_scope():
    calls = []
    axes = jax.extend.core.unsafe_get_axis_names_DO_NOT_USE

    @tools.cache(max_size=2)
    def f(n):
        calls.append(n)
        return n, axes()

    assert [f(1), f(1)] == [(1, []), (1, [])]
    jax.vmap(lambda x: calls.append(f(1)) or x, axis_name="i")(np.ones(2))
    assert calls == [1, 1, (1, ["i"])]
    f.cache_clear()
    f(1)
    assert len(calls) == 4
    cached = tools.cache(trace_context_in_key=False)(lambda n: calls.append(n))
    cached(1)
    jax.vmap(lambda x: cached(1) or x, axis_name="i")(np.ones(2))
    assert len(calls) == 5


@pytest.mark.parametrize("name", sorted(private.MODULES))
def test_all_listed_names_exist(name):
    module = private.module(f"jax._src.{name}".rstrip("."))
    for public in private.homes(private.MODULES[name][1]):
        assert getattr(module, public) is not None


@pytest.mark.parametrize(
    "name",
    (
        "typing.DTypeLike=typing.DTypeLike random.PRNGKey=random.PRNGKey"
        " random.normal=random.normal"
        " ad_util.zero_from_primal=custom_derivatives.zero_from_primal"
        " callback.io_callback=experimental.io_callback core.freeze=freeze"
        " core.Ref=Ref"
        " core.TakeCurrentTraceContextManager=extend.core.take_current_trace"
        " debugging.debug_print=debug.print indexing.dslice=ds"
        " lax.scaled_dot.scaled_dot=lax.scaled_dot"
        " interpreters.partial_eval.Saveable=ad_checkpoint.Saveable"
        " linear_util.DebugInfo=extend.core.DebugInfo"
        " ops.special.logsumexp=nn.logsumexp"
        " pjit.with_sharding_constraint=lax.with_sharding_constraint"
        " scipy.sparse.linalg.cg=scipy.sparse.linalg.cg"
        " scipy.stats._core.mode=scipy.stats.mode"
        " scipy.stats.kde.gaussian_kde=scipy.stats.gaussian_kde"
        " shard_map.shard_map=shard_map shard_map.smap=smap"
        " sharding_impls.make_mesh=make_mesh state.primitives.ref_get=ref.get"
        " xla_bridge.local_devices=local_devices"
        " xla_bridge.process_index=process_index"
    ).split(),
)
def test_public_objects_by_the_names_of_private_modules(name):
    """The same objects as in JAX 0.10.2, where `is` holds for each pair."""
    inside, public = name.split("=")
    module, _, inner = inside.rpartition(".")
    owner, _, outer = f"minijax.{public}".rpartition(".")
    expected = getattr(importlib.import_module(owner), outer)
    assert getattr(private.module(f"jax._src.{module}"), inner) is expected


def test_zero_tangents_of_values():
    zero = private.module("jax._src.ad_util").p2tz
    assert zero(np.float32(1)).aval.str_short() == "float32[]"
    assert zero(np.arange(2)).aval.dtype == jax.dtypes.float0
    before = private.module("jax._src.config").trace_context()
    with jax.enable_x64(True):
        assert private.module("jax._src.config").trace_context() != before


@pytest.mark.parametrize("trans", (0, 1, 2))
def test_systems_by_factors_and_permutation(trans):
    a = np.array([[1, 2j], [3, 4]], np.complex64)
    lu, _, permutation = jax.lax.linalg.lu(a)
    solve = private.module("jax._src.lax.linalg").lu_solve
    matrix = (a, a.T, a.conj().T)[trans]
    for b in np.float32([1, 2]), np.float32([[1, 2], [3, 4]]):
        np.testing.assert_allclose(
            matrix @ np.asarray(solve(lu, permutation, b, trans)), b, atol=1e-5
        )


def test_trees_by_their_registry():
    leaves, structure = tools.tracing_registry.flatten({"a": 1, "b": (2,)})
    assert (leaves, structure.num_leaves) == ([1, 2], 2)
    pairs, _ = tools.tracing_registry.flatten_with_path({"a": 1})
    assert jax.tree_util.keystr(pairs[0][0]) == "['a']"


def test_the_lock_of_finders_cannot_deadlock():
    """What a finder of modules loads, it loads itself: imports wait for it."""
    import subprocess
    import sys

    code = "import _imp; _imp.acquire_lock(); import minijax.runtime.lowering.mlir_context"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_nodes_by_their_registry():
    """As libraries walk trees by hand."""
    registry = private.module("jax._src.tree_util")._registry
    Pair = collections.namedtuple("Pair", "a b")
    for node, children in (((1, [2]), [1, [2]]), ({"b": 1, "a": 2}, [2, 1]), ([], [])):
        entry = registry[type(node)]
        parts, form = entry.to_iter(node)
        assert list(parts) == children
        assert entry.from_iter(form, parts) == node
    assert type(None) in registry and int not in registry
    assert registry[tuple].from_iter(registry[tuple].to_iter((1, 2))[1], "ab") == ("a", "b")
    named = registry[Pair].to_iter(Pair(1, 2))  # there, in JAX a tuple without an entry
    assert registry[Pair].from_iter(named[1], [3, 4]) == Pair(3, 4)


def test_a_sum_of_products_along_a_path():
    from opt_einsum import contract_path

    along = private.module("jax._src.numpy.lax_numpy")._einsum
    arrays = [np.arange(n * m).reshape(n, m) / 7 for n, m in ((2, 3), (3, 4), (4, 2))]
    text = "ij,jk,kl->li"
    operands, path = contract_path(text, *arrays, einsum_call=True, use_blas=True)
    counted = []

    def dot(*args, **options):
        counted.append(1)
        return jax.lax.dot_general(*args, **options)

    expected = np.einsum(text, *arrays)
    result = along(operands, path, "highest", np.float32)
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    result = jax.jit(lambda *xs: along(xs, path, None, None, dot))(*operands)
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    assert len(counted) == len(path) == 2


KINDS = [
    (1, "int32"),
    (1.0, "float32"),
    (True, "bool"),
    (1j, "complex64"),
    (int, "int32"),
    (float, "float32"),
    (np.float64, "float32"),
    (np.float64(1), "float32"),
    (np.zeros(2), "float32"),
    (np.dtype("int64"), "int32"),
    ("float32", "float32"),
    (jax.ShapeDtypeStruct((), "int8"), "int8"),
    (jax.numpy.bfloat16, "bfloat16"),
]


@pytest.mark.parametrize(("value", "name"), KINDS)
def test_dtypes_of_values_and_types(value, name):
    """As optree asks for those of leaves."""
    dtype = private.module("jax._src.dtypes").dtype
    assert dtype(value) == np.dtype(name)
    with jax.enable_x64(True):
        wide = jax.numpy.ones(2, "float64")
    assert dtype(wide) == np.float64
    key = jax.random.key(0)
    assert dtype(key) == key.dtype
    with pytest.raises(ValueError, match="Invalid argument to dtype"):
        dtype(None)
    with pytest.raises(TypeError, match="Cannot determine dtype"):
        dtype([1])


def test_values_lowered_in_full():
    lower = private.module("jax._src.core").full_lower
    assert lower(1) == 1
    jax.make_jaxpr(lambda x: [lower(x)][0] + 1)(1.0)


def test_environments_of_jobs_as_classes(monkeypatch):
    """A library's own is found by `distributed.initialize`, one of ours has its answers."""
    from minijax.api import cluster_environments
    from minijax.views import clusters

    monkeypatch.setattr(
        cluster_environments, "ENVIRONMENTS", dict(cluster_environments.ENVIRONMENTS)
    )
    monkeypatch.setattr(clusters, "ENVIRONMENTS", cluster_environments.ENVIRONMENTS)
    monkeypatch.setattr(clusters.ClusterEnv, "_cluster_types", [])
    slurm = {
        "SLURM_JOB_ID": "5000",
        "SLURM_STEP_NODELIST": "node[3-5],other",
        "SLURM_NTASKS": "6",
        "SLURM_PROCID": "4",
        "SLURM_LOCALID": "1",
    }
    assert not clusters.SlurmCluster.is_env_present()
    with monkeypatch.context() as patch:
        for name, value in slurm.items():
            patch.setenv(name, value)
        env = clusters.SlurmCluster
        assert env.is_env_present() and env.get_process_count() == 6
        assert (env.get_process_id(), env.get_local_process_id()) == (4, 1)
        assert env.get_coordinator_address(10, None) == f"node3:{5000 % 4096 + 61440}"
        assert env.get_coordinator_address(10, "81") == "node3:81"
        own_class = type("Mine", (env,), {})
        assert own_class.is_env_present() and clusters.ClusterEnv._cluster_types == [own_class]

    class Own(clusters.ClusterEnv):
        name = "own"
        is_env_present = classmethod(lambda cls: True)
        get_coordinator_address = classmethod(lambda cls, seconds, port: f"host:{port}")
        get_process_count = classmethod(lambda cls: 3)
        get_process_id = classmethod(lambda cls: 2)

    environment = cluster_environments.find(None)
    assert environment.address("7", 1.0) == "host:7" and environment.local() is None
    assert (environment.processes(), environment.process()) == (3, 2)
    assert cluster_environments.find("own") is environment
