"""Arguments that JAX's functions take, by name: each one acts."""

import inspect
import io
import logging

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import ad_checkpoint, custom_batching, custom_derivatives

E, A = mj.sharding.AxisType.Explicit, mj.sharding.AxisType.Auto


@pytest.mark.parametrize(
    "fun, names",
    [
        (mj.devices, "backend"),
        (mj.block_until_ready, "x"),
        (mj.copy_to_host_async, "x"),
        (mj.disable_jit, "disable"),
        (mj.jacobian, "fun argnums has_aux holomorphic allow_int varying"),
        (ad_checkpoint.print_saved_residuals, "f args kwargs"),
        (mj.dlpack.from_dlpack, "external_array device copy"),
        (custom_derivatives.zero_from_primal, "val symbolic_zeros"),
        (custom_derivatives.custom_vjp_primal_tree_values, "tree"),
        (custom_batching.sequential_vmap, "f"),
        (mj.lax.unstack, "x axis"),
        (mj.lax.broadcast_like, "arr like_arr"),
        (mj.lax.dce_sink, "val prevent_mlir_dce"),
        (mj.checkpoint_policies.save_from_both_policies, "policy_1 policy_2"),
        (mj.checkpoint_policies.save_only_these_names, "names_which_can_be_saved"),
        (mj.checkpoint_policies.save_any_names_but_these, "names_not_to_save"),
        (mj.checkpoint_policies.dots_saveable, "prim args params"),
        (mj.ref.swap, "ref idx value _function_name"),
        (mj.numpy.array, "object dtype args copy order ndmin device out_sharding"),
    ],
)
def test_arguments_bear_jax_names(fun, names):
    assert list(inspect.signature(fun).parameters) == names.split()


def test_values_by_these_names():
    x = jnp.arange(2.0)
    assert mj.devices(backend="cpu") == mj.devices()
    assert mj.block_until_ready(x=x) is x and mj.copy_to_host_async(x=x) is x
    assert mj.dlpack.from_dlpack(external_array=np.ones(2, "f4")).tolist() == [1, 1]
    assert [float(v) for v in mj.lax.unstack(x=x, axis=0)] == [0, 1]
    assert mj.lax.broadcast_like(arr=x, like_arr=jnp.ones((3, 2))).shape == (3, 2)
    assert mj.jacobian(fun=lambda x: x * 2)(1.0) == 2
    assert custom_derivatives.zero_from_primal(val=2.0) == 0
    with mj.disable_jit(disable=True):
        assert mj.jit(lambda x: type(x) is float)(1.0)
        with mj.disable_jit(disable=False):
            assert not mj.jit(lambda x: type(x) is float)(1.0)


def test_arrays_take_options_by_position_with_a_warning():
    for args in (False,), (False, "K"), (False, "K", 2):
        with pytest.warns(DeprecationWarning, match="positionally is deprecated") as w:
            out = jnp.array([1], None, *args)
        assert out.ndim == (2 if len(args) > 2 else 1) and w[0].filename == __file__
    with pytest.raises(TypeError, match="up to 5 positional arguments, got 6"):
        jnp.array([1], None, True, "K", 0, None)


# ------------------------------------------------------------------ checkpoint's statics


def scaled(x, y, *, n, flag=True):
    assert isinstance(n, (int, list)) and isinstance(flag, bool)
    return jnp.sin(x) * y * (n if isinstance(n, int) else len(n)) if flag else x


@pytest.mark.parametrize("names", [("n", "flag"), ["flag", "n"], ("n", "flag", "y")])
@pytest.mark.parametrize("n", [3, [1, 2, 3]])
def test_checkpoint_takes_static_arguments_by_name(names, n):
    f = mj.checkpoint(scaled, static_argnames=names)
    got = mj.grad(lambda x: f(x, 2.0, n=n, flag=True))(1.0)
    assert got == pytest.approx(6 * np.cos(1.0)) and f(1.0, 2.0, n=n, flag=False) == 1


def test_checkpoint_takes_the_name_of_a_position():
    f = mj.checkpoint(lambda x, n: x * len(n), static_argnames="n")
    assert f(2.0, "abc") == f(2.0, n="abc") == 6 and f(2.0, ["a"]) == 2
    g = mj.checkpoint(lambda x, y, *, n: x**y**n, static_argnums=1, static_argnames="n")
    assert mj.grad(lambda x: g(x, 2, n=1))(3.0) == 6
    with pytest.raises(ValueError, match="invalid argnames"):
        mj.checkpoint(lambda x: x, static_argnames="m")


# -------------------------------------------------------------------------- out_sharding


def over(kind):
    return mj.make_mesh((2,), ("x",), axis_types=(kind,))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("bucket_size", [None, 2])
def test_segments_have_the_requested_sharding(name, bucket_size):
    fun = getattr(mj.ops, f"segment_{name}")
    data, ids = jnp.ones(4), jnp.array([0, 1, 0, 1])
    sharding = mj.NamedSharding(over(E), mj.P("x"))
    out = fun(data, ids, 2, bucket_size=bucket_size, out_sharding=sharding)
    assert out.sharding.is_equivalent_to(sharding, 1)
    assert out.tolist() == fun(data, ids, 2, bucket_size=bucket_size).tolist()
    with pytest.raises(ValueError, match="cannot contain axis names that are of type Auto"):
        fun(data, ids, 2, out_sharding=mj.NamedSharding(over(A), mj.P("x")))
    with pytest.raises(TypeError, match="only supports instances of"):
        fun(data, ids, 2, out_sharding="x")


@pytest.mark.parametrize("index", [0, slice(0, 2), np.array([0, 1])])
def test_updates_have_the_requested_sharding(index):
    sharding = mj.NamedSharding(over(E), mj.P("x"))
    out = jnp.zeros(2).at[index].add(1.0, out_sharding=sharding)
    assert out.sharding.is_equivalent_to(sharding, 1)
    assert out.tolist() == jnp.zeros(2).at[index].add(1.0).tolist()


# ------------------------------------------------------------------------------- the rest


def test_sinks_may_reach_the_compiler():
    f = mj.jit(lambda x: (mj.lax.dce_sink(jnp.sin(x), prevent_mlir_dce=True), x * 2)[1])
    assert "@dce_sink" in f.lower(1.0).as_text() and f(1.0) == 2
    g = mj.jit(lambda x: (mj.lax.dce_sink(jnp.sin(x)), x * 2)[1])
    assert "@dce_sink" not in g.lower(1.0).as_text()


def test_errors_of_swap_name_the_function():
    with pytest.raises(ValueError, match="my_swap"):
        mj.ref.swap(jnp.ones(2), None, 1.0, _function_name="my_swap")


def test_equations_keep_their_names_or_use_the_callers():
    jaxpr = mj.make_jaxpr(mj.named_scope("inner")(jnp.sin))(1.0)

    def names(propagate):
        def again(x):
            return mj.core.eval_jaxpr(jaxpr.jaxpr, (), x, propagate_source_info=propagate)

        (eqn,) = mj.make_jaxpr(mj.named_scope("outer")(again))(1.0).eqns
        return eqn.names, eqn.source.function

    assert names(True) == ("outer/inner", jaxpr.eqns[0].source.function)
    assert names(False)[0] == "outer" and "again" in names(False)[1]


def test_the_log_may_be_printed(capsys, caplog):
    with caplog.at_level(logging.INFO):
        mj.debug.log("x = {}", 3)
        mj.debug.log("x = {}", 4, _use_logging=False)
    assert capsys.readouterr().out == "x = 4\n" and caplog.messages == ["x = 3"]


def test_breakpoints_by_token():
    out = io.StringIO()

    def f(x):
        y = x * 2
        typed = io.StringIO("p x\nc\n" * 2)
        return mj.debug.breakpoint(token=y, num_frames=1, stdin=typed, stdout=out)

    assert f(1.0) == mj.jit(f)(1.0) == 2 and out.getvalue().count("Entering jdb") == 2
    assert mj.grad(f)(1.0) == 2 and mj.vmap(f)(jnp.arange(2.0)).tolist() == [0, 2]
    assert out.getvalue().count("Entering jdb") == 5
    mj.jit(lambda x: (f(x), x)[1])(1.0)  # nobody uses what it gives
    assert out.getvalue().count("Entering jdb") == 5


def test_breakpoints_that_cannot_be():
    with pytest.raises(ValueError, match="no debugger 'web'"):
        mj.debug.breakpoint(backend="web")
    with pytest.raises(ValueError, match="mutually exclusive"):
        mj.debug.breakpoint(token=1.0, ordered=True)
    with pytest.raises(TypeError, match="unexpected keyword"):
        mj.debug.breakpoint(stdinn=None)
    streams = {"stdin": io.StringIO("c\n"), "stdout": io.StringIO()}
    mj.debug.breakpoint(backend="cli", num_frames=1, **streams)
    assert "jdb" in streams["stdout"].getvalue()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "bfloat16"])
def test_bytes_in_reverse(dtype):
    x = jnp.arange(-3, 4).astype(dtype)
    expected = np.asarray(x).byteswap()
    got = x.byteswap()
    assert got.dtype == x.dtype and np.asarray(got).tobytes() == expected.tobytes()
    assert np.asarray(mj.jit(lambda x: x.byteswap())(x)).tobytes() == expected.tobytes()


def test_bytes_of_complex_numbers_and_keys():
    z = jnp.array([1 + 2j, -3.5j], jnp.complex64)
    assert np.asarray(z.byteswap()).tobytes() == np.asarray(z).byteswap().tobytes()
    with pytest.raises(NotImplementedError, match="byteswap"):
        mj.random.key(0).byteswap()


def test_structs_like_values():
    like = mj.ShapeDtypeStruct.like
    x = jnp.arange(3.0)
    assert like(x) == mj.ShapeDtypeStruct((3,), "float32")
    put = mj.device_put(x, mj.devices()[1])
    assert like(put).sharding == put.sharding and like(like(put)) == like(put)
    assert like(jnp.asarray(1.0)).weak_type and like(np.ones(3)).dtype == np.float32
    with pytest.raises(TypeError):
        like([1])
