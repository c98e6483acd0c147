"""Every option of JAX 0.10.2 is there: it acts, or says why it can be nothing else."""

import logging
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from jaxlib import xla_client

import minijax as mj
import minijax.numpy as jnp
from minijax.base import unsupported_options
from minijax.runtime.running import compile as compiler

# Recorded from JAX 0.10.2.
NAMES = """
check_vma eager_constant_folding jax2tf_associative_scan_reductions
jax2tf_default_native_serialization jax_allow_f16_reductions
jax_array_garbage_collection_guard jax_auto_pcast jax_backend_target
jax_bcoo_cusparse_lowering jax_captured_constants_report_frames
jax_captured_constants_warn_bytes jax_check_proxy_envs jax_check_static_indices
jax_check_tracer_leaks jax_compilation_cache_check_contents jax_compilation_cache_dir
jax_compilation_cache_expect_pgle jax_compilation_cache_include_metadata_in_key
jax_compilation_cache_max_size jax_compiler_detailed_logging_min_ops
jax_compiler_enable_remat_pass jax_cpu_collectives_implementation
jax_cpu_enable_async_dispatch jax_cpu_get_global_topology_timeout_minutes
jax_cpu_get_local_topology_timeout_minutes jax_cross_host_transfer_socket_address
jax_cross_host_transfer_timeout_seconds jax_cross_host_transfer_transfer_size
jax_cross_host_transport_addresses jax_cuda_visible_devices jax_custom_vjp3
jax_debug_infs jax_debug_key_reuse jax_debug_leaked_clients_on_clear_backends
jax_debug_log_modules jax_debug_nans jax_default_device jax_default_matmul_precision
jax_default_prng_impl jax_disable_bwd_checks jax_disable_jit
jax_disable_most_optimizations jax_disable_vmap_shmap_error
jax_disallow_mesh_context_manager jax_distributed_debug jax_dump_ir_modes
jax_dump_ir_to jax_embedded_constants_max_bytes jax_enable_checks
jax_enable_compilation_cache jax_enable_custom_prng jax_enable_pgle
jax_enable_preemption_service jax_enable_recoverability jax_enable_x64
jax_error_checking_behavior_divide jax_error_checking_behavior_nan
jax_error_checking_behavior_oob jax_exec_time_optimization_effort
jax_experimental_unsafe_xla_runtime_errors jax_explain_cache_misses
jax_explicit_x64_dtypes jax_export_calling_convention_version
jax_export_ignore_forward_compatibility jax_force_dcn_cross_host_transfers
jax_high_dynamic_range_gumbel jax_hlo_source_file_canonicalization_regex
jax_include_debug_info_in_dumps jax_include_full_tracebacks_in_locations
jax_legacy_prng_key jax_log_checkpoint_residuals jax_log_compiles jax_logging_level
jax_memory_fitting_effort jax_memory_fitting_level jax_mock_gpu_topology
jax_mosaic_allow_hlo jax_mutable_array_checks jax_no_execution jax_no_tracing
jax_num_cpu_devices jax_numpy_dtype_promotion jax_numpy_rank_promotion
jax_oneapi_visible_devices jax_optimization_level jax_pallas_enable_debug_checks
jax_pallas_poison_buffers jax_pallas_use_mosaic_gpu jax_pallas_verbose_errors
jax_persistent_cache_enable_xla_caches jax_persistent_cache_min_compile_time_secs
jax_persistent_cache_min_entry_size_bytes jax_pgle_aggregation_percentile
jax_pgle_profiling_runs jax_pjrt_client_create_options jax_platform_name jax_platforms
jax_pprint_use_color jax_ragged_dot_use_gpu_pallas_triton_lowering
jax_ragged_dot_use_ragged_dot_instruction jax_raise_persistent_cache_errors
jax_random_seed_offset jax_refs_to_pins jax_remat3
jax_remove_custom_partitioning_ptr_from_cache_key
jax_remove_size_one_mesh_axis_from_type jax_rocm_visible_devices jax_scan3
jax_send_traceback_to_runtime jax_serialization_version jax_share_binary_between_hosts
jax_share_binary_between_hosts_timeout_ms jax_softmax_custom_jvp
jax_sort_devices_by_process_index jax_source_url_schema jax_thread_guard
jax_threefry_gpu_kernel_lowering jax_threefry_partitionable jax_traceback_filtering
jax_traceback_in_locations_limit jax_tracer_error_num_traceback_frames
jax_transfer_guard jax_transfer_guard_device_to_device
jax_transfer_guard_device_to_host jax_transfer_guard_host_to_device
jax_use_direct_linearize jax_use_emit_pipeline_primitive jax_use_magma
jax_use_shardy_partitioner jax_use_simplified_jaxpr_constants jax_xla_backend
jax_xla_profile_version mock_num_gpu_processes
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_the_option_exists_and_may_be_what_it_is(name):
    value = mj.config.read(name)
    mj.config.update(name, value)
    assert mj.config.read(name) == value == getattr(mj.config, name)


OTHER = {bool: lambda v: not v, int: lambda v: v + 1, str: lambda v: "another"}


@pytest.mark.parametrize(
    "name, held", [row[:2] for row in unsupported_options.checked_options()]
)
def test_what_cannot_be_honoured_is_refused(name, held):
    other = OTHER.get(type(held), lambda v: 1)(held)
    if isinstance(held, int) and unsupported_options._EQUIVALENT.get(name):
        other = 0  # no more than one frame is known: any limit but none holds
    with pytest.raises(NotImplementedError, match=f"{name}=.* is not supported") as e:
        mj.config.update(name, other)
    assert "Why: " in str(e.value) and "Try: " in str(e.value)
    assert mj.config.read(name) == held


@pytest.mark.parametrize("name", unsupported_options.ACCEPTED_EITHER_WAY)
def test_either_implementation_may_be_requested(name):
    f = mj.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))
    loss = lambda x: mj.lax.scan(lambda c, _: (mj.checkpoint(f)(c), 0), x, length=2)[0]
    with changed(name, not unsupported_options.ACCEPTED_EITHER_WAY[name]):
        assert mj.config.read(name) is not unsupported_options.ACCEPTED_EITHER_WAY[name]
        slope = mj.grad(loss)(0.5)
    assert np.allclose(slope, np.cos(np.sin(0.5)) * np.cos(0.5))


def test_exports_state_the_requested_calling_convention():
    shape = mj.ShapeDtypeStruct((2,), jnp.float32)
    export = lambda: mj.export.export(mj.jit(jnp.sin))(shape)
    newest = export()
    assert newest.calling_convention_version == 10
    with changed("jax_export_calling_convention_version", 9):
        older = mj.export.deserialize(export().serialize())
    assert older.calling_convention_version == 9
    assert older.mlir_module() == newest.mlir_module()
    assert older.call(jnp.zeros(2)).tolist() == [0, 0]
    for version in (8, 11):
        refused = pytest.raises(ValueError, match=r"outside the range .* \[9..10\]")
        with changed("jax_export_calling_convention_version", version), refused:
            export()


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("jax_optimization_level", "O9", "new enum value must be"),
        ("jax_transfer_guard", "sometimes", "new enum value must be"),
        ("jax_logging_level", "LOUD", "new enum value must be"),
        ("jax_traceback_filtering", "some", "new enum value must be"),
        ("jax_exec_time_optimization_effort", 2.0, "between -1 and 1"),
        ("jax_dump_ir_modes", "jaxpr,html", "'html' is not supported"),
        ("jax_cuda_visible_devices", "first", "not a list of devices"),
        ("jax_pjrt_client_create_options", "a=1", "is not an option"),
        ("jax_persistent_cache_enable_xla_caches", "some", "'some' is not supported"),
        ("jax_compilation_cache_dir", "gs://bucket", "not a local directory"),
        ("jax_compilation_cache_dir", 3, "new string config value must be None or of"),
        ("jax_platforms", 3, "new string config value must be None or of type str, got"),
        ("jax_pjrt_client_create_options", 1, "new string config value must be None or"),
        ("jax_random_seed_offset", 2.5, "new int config value must be None or of type"),
    ],
)
def test_values_that_no_option_accepts(name, value, says):
    before = mj.config.read(name)
    with pytest.raises(ValueError, match=says):
        mj.config.update(name, value)
    assert mj.config.read(name) == before


def test_unrecognized_options():
    with pytest.raises(AttributeError, match="Unrecognized config option: jax_enable_x46"):
        mj.config.update("jax_enable_x46", True)
    with pytest.raises(AttributeError, match="Try: jax_enable_x64"):
        mj.config.jax_enable_x46


def test_a_context_manager_of_no_bool_wants_a_value():
    with pytest.raises(TypeError, match="requires an argument"):
        mj.default_matmul_precision().__enter__()


class changed:
    """An option changed for the whole process, for a block."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __enter__(self):
        self.before = mj.config.read(self.name)
        mj.config.update(self.name, self.value)

    def __exit__(self, *_):
        mj.config.update(self.name, self.before)


# ------------------------------------------------------------------- what each of them does


def test_sums_of_half_precision_are_refused():
    x = jnp.ones(3, jnp.float16)
    assert mj.lax.reduce_sum(x, (0,)) == 3
    with changed("jax_allow_f16_reductions", False):
        with pytest.raises(ValueError, match=r"reduce_sum on operand f16\[3\] is not allo"):
            mj.lax.reduce_sum(x, (0,))
        assert mj.lax.reduce_sum(jnp.ones(3), (0,)) == 3
        assert jnp.sum(x) == 3  # which adds in float32
    assert mj.lax.reduce_sum(x, (0,)) == 3


@pytest.mark.parametrize(
    "draw",
    [
        lambda k: mj.random.normal(k, (2,)),
        mj.random.split,
        lambda k: mj.random.fold_in(k, 1),
        lambda k: mj.random.permutation(k, 4),
        mj.random.bits,
    ],
)
def test_words_of_keys_are_refused(draw):
    words, key = mj.random.PRNGKey(0), mj.random.key(0)
    draw(words)
    with mj.legacy_prng_key("error"):
        with pytest.raises(ValueError, match="Legacy uint32 key array passed as key"):
            draw(words)
        draw(key)
        mj.random.key_data(key), mj.random.wrap_key_data(words)
    with mj.legacy_prng_key("warn"), pytest.warns(UserWarning, match="Legacy uint32") as w:
        draw(words)
    assert w[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(words)


def test_nothing_is_run():
    f = mj.jit(lambda x: x * 3)
    x = jnp.arange(3.0)
    f(x)
    with mj.no_execution():
        for run in (f, lambda x: x + 1, mj.lax.neg, mj.jit(lambda x: x * 5), mj.pmap(f)):
            with pytest.raises(RuntimeError, match="JAX tried to execute function"):
                run(x)
        assert str(mj.make_jaxpr(jnp.sin)(x)).count("sin") == 1
        compiled = mj.jit(lambda x: x * 7).lower(x).compile()
        with pytest.raises(RuntimeError, match="no_execution"):
            compiled(x)
        other = []
        thread = threading.Thread(target=lambda: other.append(f(x) + 1))
        thread.start(), thread.join()
        assert other[0].tolist() == [1, 4, 7]  # it is this thread's option
    assert compiled(x).tolist() == [0, 7, 14] and f(x)[1] == 3


def test_meshes_are_no_context_managers():
    mesh = mj.make_mesh((1,), ("x",))
    with changed("jax_disallow_mesh_context_manager", True):
        with pytest.raises(RuntimeError, match="Mesh context manager is disabled"), mesh:
            pass
        with mj.set_mesh(mesh):
            pass


def test_static_indices_are_checked_in_a_block_and_no_longer():
    from minijax.base import config

    x = jnp.arange(3)
    with (
        config.CHECK_STATIC_INDICES(),
        pytest.raises(IndexError, match="index 7 out of bounds for axis 0"),
    ):
        x[7]
    assert x[7] == 2


def test_cotangents_may_be_left_unchecked():
    @mj.custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (x, None), lambda _, ct: (jnp.ones(7),))
    with pytest.raises(ValueError, match="Custom VJP bwd rule must"):
        mj.vjp(f, jnp.ones(2))[1](jnp.ones(2))
    with changed("jax_disable_bwd_checks", True):
        assert mj.vjp(f, jnp.ones(2))[1](jnp.ones(2))[0].shape == (7,)


def test_residuals_of_checkpoints_are_logged(caplog):
    policy = mj.checkpoint_policies.everything_saveable

    def loss(x, policy):
        return mj.checkpoint(lambda x: jnp.sin(jnp.sin(x)), policy=policy)(x)

    mj.grad(loss)(1.0, None)
    assert not caplog.text
    with changed("jax_log_checkpoint_residuals", True):
        mj.grad(loss)(1.0, None)
        assert "saving inputs with shapes:\n  float32[]" in caplog.text
        assert "intermediates" not in caplog.text
        mj.grad(loss)(1.0, policy)
    assert "saving intermediates with shapes:\n  float32[]" in caplog.text


def test_large_constants_are_reported():
    def f():
        c = jnp.arange(100.0)
        return mj.jit(lambda x: x + c)(1.0)

    with changed("jax_captured_constants_warn_bytes", 401), warnings.catch_warnings():
        warnings.simplefilter("error")
        f()
    with changed("jax_captured_constants_warn_bytes", 400):
        with pytest.warns(UserWarning, match=r"constants were captured.*\(400.00B total\)"):
            f()
        report = changed("jax_captured_constants_report_frames", 1)
        with report, pytest.warns(UserWarning, match=r"float32\[100\], 400") as w:
            f()
    text = str(w[0].message)
    assert text.count("test_options.py") == 1 and w[0].filename == __file__


def test_programs_are_dumped(tmp_path):
    def named(x):
        return jnp.sin(x) * 2

    with changed("jax_dump_ir_to", str(tmp_path)):
        mj.jit(named).lower(1.0)
        modes = changed("jax_dump_ir_modes", "stablehlo,jaxpr")
        with modes, changed("jax_include_debug_info_in_dumps", False):
            mj.jit(lambda x: named(x)).lower(1.0)
    first, second = sorted(tmp_path.glob("jax_ir*_compile.mlir"))
    assert first.name.endswith("jit_named_compile.mlir")
    assert "stablehlo.sine" in first.read_text() and "test_options.py" in first.read_text()
    assert "test_options.py" not in second.read_text()
    (jaxpr,) = tmp_path.glob("jax_*.jaxpr.txt")
    assert jaxpr.read_text().startswith("{ lambda ; a:f32[]. let b:f32[] = sin a")


def test_source_files_are_canonicalized():
    def text():
        return mj.jit(lambda x: jnp.tan(x)).lower(1.0).as_text(debug_info=True)

    directory = os.path.dirname(__file__)
    assert directory in text()
    with changed("jax_hlo_source_file_canonicalization_regex", directory + "/"):
        assert directory not in text() and '"test_options.py"' in text()
    assert directory in text()


class Terminal:
    def isatty(self):
        return True


def test_jaxprs_have_colours_on_terminals(monkeypatch):
    jaxpr = mj.make_jaxpr(jnp.sin)(1.0)
    text = str(jaxpr)
    assert "\033" not in text
    monkeypatch.setattr(sys, "stdout", Terminal())
    coloured = str(jaxpr)
    off = jaxpr.pretty_print(use_color=False)
    with changed("jax_pprint_use_color", False):
        unasked, colored = str(jaxpr), jaxpr.pretty_print(use_color=True)
    monkeypatch.undo()
    assert "\033" in coloured and "\033" in colored
    assert unasked == off == text


@pytest.mark.parametrize(
    "option, logger",
    [("jax_debug_log_modules", "minijax"), ("jax_debug_log_modules", "elsewhere")],
)
def test_modules_log_for_debugging(option, logger, capsys):
    log = logging.getLogger(logger)
    with changed(option, {"minijax": "jax"}.get(logger, logger)):
        assert log.isEnabledFor(logging.DEBUG) and len(log.handlers) == 1
        if logger == "minijax":
            mj.jit(lambda x: x - 3)(1.0)
    assert log.level == logging.NOTSET and not log.handlers


def test_the_level_of_the_log(caplog):
    mj.jit(lambda x: x - 4)(1.0)
    assert "Compiling" not in caplog.text
    with changed("jax_logging_level", "DEBUG"):
        mj.jit(lambda x: x - 5)(1.0)
    messages = [
        "Finished tracing <lambda> for jit in",
        "Compiling jit(<lambda>) with global",
        "Finished jaxpr to MLIR module conversion jit(<lambda>) in",
        "Finished XLA compilation of jit(<lambda>) in",
    ]
    lines = [r.getMessage() for r in caplog.records]
    for start in messages:
        assert any(line.startswith(start) for line in lines), (start, lines)
    caplog.clear()
    with mj.log_compiles():
        mj.pmap(lambda x: x - 7)(jnp.ones(1))
        mj.jit(lambda x: x - 8).lower(1.0).compile()
        jnp.float32(1.0) - 9
    lines = [r.getMessage() for r in caplog.records]
    for name in ("pmap(<lambda>)", "jit(<lambda>)", "jit(subtract)"):
        assert f"Compiling {name} with" in " ".join(lines)
        assert f"Finished XLA compilation of {name} in" in " ".join(lines)
    with changed("jax_logging_level", "ERROR"):
        caplog.clear()
        with mj.log_compiles():
            mj.jit(lambda x: x - 6)(1.0)
    assert not caplog.text and logging.getLogger("minijax").level == logging.NOTSET


# -------------------------------------------------------------- the compiler and its cache


def options_of(monkeypatch, f):
    """XLA's options for the programs that `f` compiles."""
    seen = []
    real = compiler.compat.compile_options

    def spy(*args):
        seen.append(real(*args))
        return seen[-1]

    monkeypatch.setattr(compiler.compat, "compile_options", spy)
    f()
    return seen


@pytest.mark.parametrize(
    "name, value, read, expected",
    [
        ("jax_optimization_level", "O1", lambda b, d: b.optimization_level, 19),
        ("jax_memory_fitting_level", "O3", lambda b, d: b.memory_fitting_level, 39),
        (
            "jax_exec_time_optimization_effort",
            0.5,
            lambda b, d: b.exec_time_optimization_effort,
            0.5,
        ),
        ("jax_memory_fitting_effort", -1, lambda b, d: b.memory_fitting_effort, -1.0),
        (
            "jax_compiler_enable_remat_pass",
            False,
            lambda b, d: str(d.xla_disable_hlo_passes),
            "rematerialization",
        ),
    ],
)
def test_options_reach_the_compiler(monkeypatch, name, value, read, expected):
    f = mj.jit(lambda x: x * x)
    f(1.0)
    if name.endswith("effort") and not knows(name.removeprefix("jax_")):
        with changed(name, value), pytest.raises(ValueError, match="not known to this"):
            f(1.0)
        return
    with changed(name, value):
        (options,) = options_of(monkeypatch, lambda: f(1.0))  # it is compiled anew
    build = options.executable_build_options
    assert read(build, build.debug_options) == expected
    (options,) = options_of(monkeypatch, lambda: f(1.0))
    build = options.executable_build_options
    assert read(build, build.debug_options) != expected
    assert f(3.0) == 9


def knows(setting):
    """Whether the compiler of this jaxlib has a setting."""
    return hasattr(xla_client.CompileOptions().executable_build_options, setting)


@pytest.mark.skipif(not knows("exec_time_optimization_effort"), reason="jaxlib 0.11 dropped it")
def test_efforts_of_one_function(monkeypatch):
    f = mj.jit(lambda x: x * x, compiler_options={"exec_time_optimization_effort": 0.25})
    (options,) = options_of(monkeypatch, lambda: f(1.0))
    assert options.executable_build_options.exec_time_optimization_effort == 0.25
    assert not options.env_option_overrides


def test_the_profile_version(monkeypatch):
    with changed("jax_xla_profile_version", 3):
        (options,) = options_of(monkeypatch, lambda: mj.jit(lambda x: x * 11)(1.0))
    assert options.profile_version == 3


def test_xla_caches_are_next_to_the_programs():
    from minijax.runtime.backends import jaxlib_compat as compat

    def files(value, where):
        with changed("jax_persistent_cache_enable_xla_caches", value):
            options = compat.compile_options(mj.devices()[:1], 1, 1, None, caches=where)
        debug = options.executable_build_options.debug_options
        return (debug.xla_gpu_kernel_cache_file, debug.xla_gpu_per_fusion_autotune_cache_dir)

    name, kernels = "xla_gpu_per_fusion_autotune_cache_dir", "xla_gpu_kernel_cache_file"
    assert files("all", "/d") == ("/d/" + kernels, "/d/" + name)
    assert files(name, "/d") == ("", "/d/" + name)
    assert files("none", "/d") == files("all", None) == ("", "")


def test_errors_of_the_cache_are_raised(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with changed("jax_compilation_cache_dir", str(file / "below")):
        assert mj.jit(lambda x: x * 13)(1.0) == 13  # it never gets in the way
        with (
            changed("jax_raise_persistent_cache_errors", True),
            pytest.raises(RuntimeError, match="Error writing persistent compilation"),
        ):
            mj.jit(lambda x: x * 14)(1.0)


def test_the_contents_of_the_cache_are_checked(tmp_path, monkeypatch):
    def fresh(c):
        mj.clear_caches()
        return mj.jit(lambda x: x * c)(1.0)

    with changed("jax_compilation_cache_dir", str(tmp_path)):
        fresh(15.0)
        with changed("jax_compilation_cache_check_contents", True):
            before = compiler.statistics.compiled, compiler.statistics.loaded
            fresh(15.0), fresh(15.0)
            after = compiler.statistics.compiled, compiler.statistics.loaded
            assert (after[0] - before[0], after[1] - before[1]) == (1, 2)  # checked once
            other = mj.jit(lambda x: x * 16.0).lower(1.0).compile().runtime_executable()
            fresh(17.0)
            load = "deserialize_executable"
            wrong = type("Client", (), {load: lambda *_: other, "platform": "cpu"})()
            real = mj.devices()[0].client
            wrong.compile_and_load = real.compile_and_load
            with pytest.raises(RuntimeError, match="cache inconsistency"):
                module = mj.jit(lambda x: x * 17.0).lower(1.0).compiler_ir()
                options = compiler.compat.compile_options(mj.devices()[:1], 1, 1, None)
                compiler._check_contents(
                    wrong,
                    module,
                    compiler.compat.DeviceList(tuple(mj.devices()[:1])),
                    options,
                    "a key",
                    other,
                )


def test_locations_may_count_in_the_cache(tmp_path):
    def entries():
        return len(list(tmp_path.rglob("*.program")))

    def twice():
        for _ in range(2):
            mj.clear_caches()
            f = [mj.jit(lambda x: x * 19.0), mj.jit(lambda x: x * 19.0)][_]
            f(1.0)

    with changed("jax_compilation_cache_dir", str(tmp_path)):
        twice()
        assert entries() == 1
        with changed("jax_compilation_cache_include_metadata_in_key", True):
            twice()
    assert entries() == 3


# ------------------------------------------------------------------------------- transfers


HOST, NUMPY = "transfer_guard_host_to_device", np.arange(3.0, dtype=np.float32)


@pytest.mark.parametrize(
    "guard, level, run, stopped",
    [
        (HOST, "disallow", lambda x: mj.jit(jnp.sin)(NUMPY), True),
        (HOST, "disallow", lambda x: x + NUMPY, True),
        (HOST, "disallow", lambda x: jnp.asarray(NUMPY), True),
        (HOST, "disallow", lambda x: x[np.array([0, 1])], True),
        (HOST, "disallow", lambda x: mj.device_put(NUMPY), False),
        (HOST, "disallow", lambda x: x + x, False),
        (HOST, "disallow", lambda x: jnp.arange(3), False),
        (HOST, "disallow", lambda x: mj.lax.shape_as_value((2, 3)), False),
        (HOST, "disallow", lambda x: jnp.from_dlpack(NUMPY), False),
        (HOST, "disallow_explicit", lambda x: mj.device_put(NUMPY), True),
        (HOST, "disallow_explicit", lambda x: x * x, False),
        (HOST, "allow", lambda x: x + NUMPY, False),
        (HOST, None, lambda x: x + NUMPY, False),
        ("transfer_guard", "disallow", lambda x: x + NUMPY, True),
        ("transfer_guard", "disallow", lambda x: mj.device_put(NUMPY), False),
        ("transfer_guard", "disallow_explicit", lambda x: mj.device_put(NUMPY), True),
        ("transfer_guard_device_to_host", "disallow", lambda x: x + NUMPY, False),
        ("transfer_guard_device_to_device", "disallow", lambda x: x + NUMPY, False),
    ],
)
def test_transfers_are_guarded(guard, level, run, stopped):
    x = jnp.arange(3.0)
    run(x)
    with getattr(mj, guard)(level):
        if stopped:
            with pytest.raises(RuntimeError, match="Disallowed host-to-device transfer"):
                run(x)
        else:
            run(x)
    run(x)


def test_what_loads_after_the_guard_is_set_knows_it():
    script = (
        "import minijax as jax\nwith jax.transfer_guard('disallow'):\n"
        "  print(jax.lax.shape_as_value((2, 3)).shape)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "(2,)\n", done.stderr


def test_transfers_between_devices_are_guarded():
    _, two = mj.devices()[:2]
    x, on_second = jnp.arange(3.0), mj.device_put(jnp.arange(3.0), two)
    with mj.transfer_guard_device_to_device("disallow"):
        mj.device_put(x, two)
        with pytest.raises(RuntimeError, match="Disallowed device-to-device transfer"):
            x + on_second  # which brings the uncommitted one there
    guard = mj.transfer_guard_device_to_device("disallow_explicit")
    with guard, pytest.raises(RuntimeError, match="Disallowed device-to-device transfer"):
        mj.device_put(x, two)
    assert (x + on_second).tolist() == [0, 2, 4]


def test_guards_are_of_a_thread_and_nest():
    done = []
    with mj.transfer_guard_host_to_device("allow"):
        with mj.transfer_guard("disallow"):
            thread = threading.Thread(target=lambda: done.append(jnp.asarray(NUMPY)))
            thread.start(), thread.join()
            with pytest.raises(RuntimeError, match="Disallowed"):
                jnp.asarray(NUMPY)
        jnp.asarray(NUMPY)
        assert mj.config.jax_transfer_guard_host_to_device == "allow"
    assert len(done) == 1 and mj.config.jax_transfer_guard_host_to_device is None


def test_garbage_arrays_are_reported(capfd):
    import gc

    def cycle():
        held = [jnp.ones(3)]
        held.append(held)
        del held
        gc.collect()

    cycle()
    assert "garbage" not in capfd.readouterr().err.lower()
    with mj.array_garbage_collection_guard("log"):
        cycle()
    assert "garbage" in capfd.readouterr().err.lower()


def test_contexts_of_the_users_own():
    context, traced = mj.make_user_context(default_value=1), []

    @mj.jit
    def f(x):
        traced.append(context.value)
        return x * context.value

    with context(3):
        assert f(2.0) == 6 and context.value == 3 and context.get_global() == 1
    assert f(2.0) == 2
    with context(3):
        assert f(2.0) == 6
    assert traced == [3, 1]
    context.set_global(5)
    assert f(2.0) == 10 and context.value == context.get_global() == 5
    with pytest.raises(TypeError, match="unhashable"):
        context([1])


# ------------------------------------------------------- in processes of their own


def script(text, *args, **env):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text, *args],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


SHOW = """
def show():
    c = mj.config
    print(c.jax_enable_x64, c.jax_num_cpu_devices, c.jax_debug_nans, c.jax_transfer_guard)
"""
APP = """
import sys
import minijax as mj
assert "absl" not in sys.modules
mj.config.config_with_absl()
from absl import app, flags
mine = flags.DEFINE_integer("steps", 3, "")
{show}
def main(argv):
    show()
    print(mine.value, argv[1:], flags.FLAGS.jax_enable_x64)
    mj.config.update("jax_enable_x64", False)
    print(flags.FLAGS.jax_enable_x64)
app.run(main)
"""
PARSE = """
import sys
import minijax as mj
mj.config.parse_flags_with_absl()
mj.config.parse_flags_with_absl()
{show}
show()
"""
FLAGS = ("--jax_enable_x64", "--jax_num_cpu_devices=3", "--jax_transfer_guard=log")


def test_flags_of_absl_set_options():
    output = script(APP.format(show=SHOW), *FLAGS, "--steps=5", "rest")
    assert output.split() == ["True", "3", "False", "log", "5", "['rest']", "True", "False"]
    output = script(APP.format(show=SHOW), "--jax_transfer_guard=never")
    assert "transfer_guard" in output and "disallow" in output  # absl lists what there is
    output = script(PARSE.format(show=SHOW), *FLAGS, "--others=5", "--", "--jax_debug_nans")
    assert output.split() == ["True", "3", "False", "log"]


def test_options_come_from_the_environment():
    text = "import minijax as mj" + SHOW + "show()"
    env = {"JAX_ENABLE_X64": "1", "JAX_NUM_CPU_DEVICES": "2", "JAX_TRANSFER_GUARD": "log"}
    assert script(text, **env).split() == ["True", "2", "False", "log"]
    output = script("import minijax", JAX_PALLAS_VERBOSE_ERRORS="1")
    assert "NotImplementedError: jax_pallas_verbose_errors=True is not supported" in output


LATE = """
import minijax as mj
mj.devices()
mj.config.update("jax_cpu_enable_async_dispatch", True)
try:
    mj.config.update("jax_cpu_enable_async_dispatch", False)
except RuntimeError as e:
    print(e)
"""


def test_what_the_client_was_made_with_stays():
    assert "was set after the devices were first used" in script(LATE)
