"""What four beginners' notebooks do with JAX works here, old names included.

Each test is one topic of those notebooks, with examples of our own: arrays against
NumPy's, immutability, asynchronous dispatch, promotion, derivatives, jit and its
limits, vmap, pmap, random numbers.  Names that JAX has dropped since still work, with a
`DeprecationWarning`; what fails there fails here with the same class of error.
"""

import itertools

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import errors, grad, jit, lax, make_jaxpr, pmap, value_and_grad, vmap

dropped = pytest.warns(DeprecationWarning)


def text(x):
    return " ".join(str(x).split())


# ------------------------------------------------------------------ arrays and NumPy


def test_arrays_print_as_numpy_arrays_do():
    ours, numpys = jnp.arange(4, 12, dtype=jnp.int32), np.arange(4, 12, dtype=np.int32)
    assert str(ours) == str(numpys) == "[ 4  5  6  7  8  9 10 11]"
    assert str(ours.reshape(-1, 2)) == str(numpys.reshape(-1, 2))
    assert isinstance(ours, jax.Array)
    assert isinstance(ours, jnp.ndarray)
    assert not isinstance(numpys, jnp.ndarray)


def test_methods_of_arrays():
    x = jnp.arange(7)
    assert x.max() == 6
    assert x.min() == 0
    column = x.reshape(-1, 1)
    assert column.shape == (7, 1)
    table = np.abs(np.arange(7)[:, None] - np.arange(7))
    np.testing.assert_array_equal(jnp.abs(column - column.T), table)
    np.testing.assert_array_equal(jnp.dot(column, column.T), np.outer(x, x))


def test_alltrue_is_a_deprecated_all():
    with dropped:
        result = jnp.alltrue(np.arange(3) == jnp.arange(3))
    assert str(result) == "True"


def test_numpy_takes_our_arrays():
    x = jnp.linspace(1.0, 2.0, 5)
    assert isinstance(np.asarray(x), np.ndarray)
    np.testing.assert_allclose(np.sin(x), jnp.sin(x), rtol=1e-6)
    assert np.allclose(np.dot(x, x), jnp.dot(x, x))
    assert jnp.dot(np.ones((2, 3)), np.ones((3, 2))).dtype == jnp.float32


def test_plots_take_our_arrays(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    x = jnp.linspace(1, 10, 50)
    figure, axes = pyplot.subplots()
    (line,) = axes.plot(x, jnp.sin(x) + x**0.5)
    figure.savefig(tmp_path / "curve.png")
    pyplot.close(figure)
    np.testing.assert_allclose(line.get_xdata(), np.linspace(1, 10, 50), rtol=1e-6)


def test_devices():
    assert jax.default_backend() == jax.devices()[0].platform
    assert jax.device_count() == len(jax.devices()) == jax.local_device_count()
    assert text(jax.devices()[0]).startswith(jax.devices()[0].platform)


def test_colab_tpu_setup_does_nothing_now():
    import minijax.tools.colab_tpu

    with dropped:
        minijax.tools.colab_tpu.setup_tpu()


# --------------------------------------------------------------------- immutability


def test_item_assignment_points_to_at():
    x = jnp.zeros((2, 2), dtype=np.float32)
    with pytest.raises(TypeError, match=r"immutable(.|\n)*\.at\["):
        x[1, :] = 1.0
    with pytest.raises(TypeError, match=r"immutable(.|\n)*\.at\["):
        x[0] = 10
    assert not x.any()


def test_updates_leave_the_array_alone():
    x = jnp.arange(6, dtype=jnp.int32)
    assert str(x.at[2].set(30)) == "[ 0  1 30  3  4  5]"
    assert str(x.at[2].add(5)) == "[0 1 7 3 4 5]"
    assert str(x.at[2].max(9)) == "[0 1 9 3 4 5]"
    assert str(x.at[2].min(-2)) == "[ 0  1 -2  3  4  5]"
    assert str(x) == "[0 1 2 3 4 5]"


@pytest.mark.parametrize(
    "name, value, expected",
    [("update", 30, 30), ("add", 5, 7), ("max", 9, 9), ("min", -2, -2), ("mul", 4, 8)],
)
def test_index_functions_are_deprecated_updates(name, value, expected):
    x = jnp.arange(6, dtype=jnp.int32)
    with dropped:
        y = getattr(jax.ops, f"index_{name}")(x, 2, value)
    np.testing.assert_array_equal(y, [0, 1, expected, 3, 4, 5])
    with dropped:
        z = getattr(jax.ops, f"index_{name}")(x, jax.ops.index[1:3], value)
    assert z.shape == x.shape
    assert z[2] == expected


# ------------------------------------------------------------ asynchronous dispatch


def test_a_result_is_there_before_its_value():
    x = jax.random.uniform(jax.random.PRNGKey(0), (1500, 1500), dtype=jnp.float32)
    x.block_until_ready()
    jnp.dot(x, x).block_until_ready()  # compiled
    came_back_early, n = False, 4
    while not came_back_early and n < 1000:  # a busy machine may finish few first
        y = x
        for _ in range(n):
            y = jnp.dot(y, x)
        came_back_early = not y.is_ready()
        assert y.shape == (1500, 1500)  # known without waiting
        y.block_until_ready()
        assert y.is_ready()
        n *= 2
    assert came_back_early
    assert float(np.asarray(jnp.dot(x, x)).mean()) == pytest.approx(1500 / 4, rel=0.01)


# ----------------------------------------------------------------------- promotion


def test_python_scalars_do_not_widen():
    assert (jnp.int8(100) + 4).dtype == jnp.int8
    draws = jax.random.randint(
        jax.random.PRNGKey(3), minval=0, maxval=5, shape=[4], dtype=jnp.int32
    )
    assert draws.dtype == jnp.int32
    assert (draws + 5.0).dtype == jnp.float32
    assert ((draws >= 0) & (draws < 5)).all()


def test_numpy_functions_promote_and_lax_functions_do_not():
    assert str(jnp.add(1, 1.0)) == "2.0"
    with pytest.raises(TypeError, match=r"lax\.add requires arguments to have the same dt"):
        lax.add(1, 1.0)


def test_convolutions_agree():
    signal, kernel = jnp.array([1, 3, 2, 1]), jnp.ones(6)
    full = lax.conv_general_dilated(
        signal.reshape(1, 1, 4).astype(float),
        kernel.reshape(1, 1, 6),
        window_strides=(1,),
        padding=[(len(kernel) - 1, len(kernel) - 1)],
    )
    np.testing.assert_allclose(full[0][0], jnp.convolve(signal, kernel))
    np.testing.assert_allclose(full[0][0], np.convolve(signal, kernel))


# --------------------------------------------------------------------- derivatives


def cubic(x):
    return x**3 + 2 * x * x + 5


def test_derivatives_of_any_order():
    slope = grad(cubic)
    assert slope(2.0) == 20.0
    assert grad(slope)(2.0) == 16.0
    assert grad(grad(slope))(2.0) == 6.0
    assert repr(slope(3.0)) == "Array(39., dtype=float32, weak_type=True)"
    assert type(slope).__name__ == "function"


def test_value_and_gradient():
    value, gradient = value_and_grad(cubic)(1.0)
    assert (value, gradient) == (8.0, 7.0)

    def two(x, y):
        return x**2 * y

    assert value_and_grad(two, argnums=0)(2.0, 3.0) == (12.0, 12.0)
    assert grad(two, argnums=1)(2.0, 3.0) == 4.0


# --------------------------------------------------------------------------- jit


def test_compiled_and_plain_results_agree():
    def normalise(x):
        x = x - x.mean(0)
        return x / x.std(0)

    def selu(x, alpha=1.67, scale=1.05):
        return scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    def mixed(x, y):
        return jnp.add(x, y) * jnp.exp(x) - 2.05 + y * 0.56

    x = jax.random.normal(jax.random.PRNGKey(0), (200, 10), dtype=jnp.float32)
    np.testing.assert_allclose(normalise(x), jit(normalise)(x), atol=1e-6)
    np.testing.assert_allclose(selu(x), jit(selu)(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mixed(x, x), jit(mixed)(x, x), rtol=1e-5, atol=1e-6)
    assert jnp.dot(x.T, x).block_until_ready().shape == (10, 10)


def test_jit_of_a_function_with_an_optional_argument():
    def square(x=None):
        if not isinstance(x, jnp.ndarray):
            x = jnp.ones((20, 20), dtype=jnp.float32)
        return jnp.dot(x, x.T)

    on_default = jit(square)
    with dropped:
        on_cpu = jit(square, backend="cpu")
        result = on_cpu()
    assert (result == 20).all()
    assert result.device.platform == "cpu"
    np.testing.assert_array_equal(on_default().block_until_ready(), result)
    np.testing.assert_array_equal(on_default(2 * jnp.ones((3, 3))), 12 * np.ones((3, 3)))


def test_jit_runs_python_only_while_tracing(capsys):
    @jit
    def shifted(x, y):
        print(f"x = {x}")
        print("y =", y)
        total = jnp.dot(x + 1, y + 1)
        print(f"total = {total}")
        return total

    def printed(*args):
        shifted(*args)
        return capsys.readouterr().out.splitlines()

    assert printed(np.ones((3, 4)), np.ones(4)) == [
        "x = JitTracer(float32[3,4])",
        "y = JitTracer(float32[4])",
        "total = JitTracer(float32[3])",
    ]
    assert printed(np.zeros((3, 4)), np.zeros(4)) == []
    assert len(printed(np.ones((4, 5)), np.ones(5))) == 3


def test_impure_functions_see_what_was_there_while_tracing(capsys):
    offset = 1

    def add_offset(x):
        print("tracing")
        return x + offset

    compiled = jit(add_offset)
    assert str(compiled(4.0)) == "5.0"
    offset = 100
    assert str(compiled(4.0)) == "5.0"
    assert str(compiled(jnp.array([4.0]))) == "[104.]"
    assert capsys.readouterr().out == "tracing\n" * 2


def test_state_inside_a_function_is_pure():
    def tally(x):
        sums = {"even": 0, "odd": 0}
        for i in range(6):
            sums["even" if i % 2 == 0 else "odd"] += x
        return sums["even"] * 10 + sums["odd"]

    assert jit(tally)(2.0) == tally(2.0) == 66.0


def test_branching_on_a_traced_value():
    @jit
    def flip(x, negate):
        return -x if negate else x

    with pytest.raises(errors.TracerBoolConversionError, match=r"bool\[\](.|\n)*negate"):
        flip(1, True)

    def positive_part(x):
        return x if x > 0 else 0 * x

    assert positive_part(3.0) == 3.0
    with pytest.raises(errors.ConcretizationTypeError):
        jit(positive_part)(3.0)


def test_static_arguments(capsys):
    from functools import partial

    @partial(jit, static_argnums=(1,))
    def flip(x, negate):
        print(x)
        return -x if negate else x

    assert [int(flip(*a)) for a in [(1, True), (2, True), (2, False), (3, False)]] == [
        -1,
        -2,
        2,
        3,
    ]
    assert capsys.readouterr().out == "JitTracer(~int32[])\n" * 2


def test_shapes_must_be_concrete():
    @jit
    def flat(x):
        return x.reshape(jnp.array(x.shape).prod())

    with pytest.raises(TypeError, match=r"1D sequences of concrete values(.|\n)*int32"):
        flat(jnp.ones((2, 3)))

    @jit
    def flat_by_numpy(x):
        return x.reshape((np.prod(x.shape),))

    assert repr(flat_by_numpy(jnp.ones((1, 3)))) == "Array([1., 1., 1.], dtype=float32)"


def test_boolean_masks_must_be_concrete():
    def negatives(x):
        return x[x < 0]

    x = jax.random.normal(jax.random.PRNGKey(0), (10,), dtype=jnp.float32)
    np.testing.assert_array_equal(negatives(x), np.asarray(x)[np.asarray(x) < 0])
    assert 0 < len(negatives(x)) < 10
    with pytest.raises(errors.NonConcreteBooleanIndexError, match=r"bool\[10\]"):
        jit(negatives)(x)


def test_loops_take_pure_functions():
    values = jnp.arange(10)
    assert lax.fori_loop(0, 10, lambda i, total: total + values[i], 0) == 45
    stateful = iter(range(10))  # asked once, while tracing
    assert lax.fori_loop(0, 10, lambda i, total: total + next(stateful), 0) == 0


# ------------------------------------------------------------------------- jaxprs


def test_jaxprs():
    assert str(make_jaxpr(cubic)(3)) == (
        "{ lambda ; a:i32[]. let\n"
        "    b:i32[] = integer_pow[y=3] a\n"
        "    c:i32[] = mul 2:i32[] a\n"
        "    d:i32[] = mul c a\n"
        "    e:i32[] = add b d\n"
        "    f:i32[] = add e 5:i32[]\n"
        "  in (f,) }"
    )
    assert str(make_jaxpr(jit(lambda x: x + 1))(1.0)) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = jit[\n"
        "      name=<lambda>\n"
        "      jaxpr={ lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }\n"
        "    ] a\n"
        "  in (b,) }"
    )


def test_jaxpr_of_pmap():
    jaxpr = make_jaxpr(pmap(lambda a, b: a + b, in_axes=(0, None)))(np.ones((2, 3)), 4)
    shown = str(jaxpr)
    assert shown.startswith("{ lambda ; a:f32[2,3] b:i32[]. let\n    c:f32[2,3] = ")
    assert "axis_size=2" in shown
    assert "in_axes=(0, None)" in shown
    assert "= add " in shown


# ---------------------------------------------------------------------- vmap, pmap


def test_vmap_lifts_a_function_of_one_example():
    w, examples = np.array([0.5, -1.0]), np.arange(6.0).reshape(3, 2)

    def predict(x):
        return 0.5 * (jnp.tanh(jnp.dot(w, x) / 2.0) + 1)

    one_by_one = [predict(x) for x in examples]
    np.testing.assert_allclose(vmap(predict)(examples), one_by_one, rtol=1e-6)
    with pytest.raises(TypeError, match=r"dot"):
        predict(examples)


def test_vmap_of_reductions():
    def ends(x):
        return jnp.array([jnp.min(x), jnp.max(x)])

    many = np.arange(12).reshape(2, 2, 3)
    assert repr(ends(many)) == "Array([ 0, 11], dtype=int32)"
    lanes = [[0, 5], [6, 11]]
    np.testing.assert_array_equal(vmap(ends)(many), lanes)
    np.testing.assert_array_equal(jit(vmap(ends))(many), lanes)
    assert "axes=(1, 2)" in str(make_jaxpr(vmap(ends))(many))


def test_vmap_in_axes():
    def total(a, b, c):
        return a + b + c

    a, c = np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)
    out = vmap(total, in_axes=(0, None, 1))(a, 10, c)
    np.testing.assert_array_equal(out, a + 10 + c.T)
    with pytest.raises(ValueError, match="inconsistent sizes"):
        vmap(total)(a, a, c)


def test_pmap_one_program_a_device():
    n = len(jax.devices())
    rng = np.random.default_rng(0)
    a, c = rng.random((n, 3)), rng.random((n, 3))
    out = pmap(lambda a, b, c: a + b + c, in_axes=(0, None, 0))(a, 4, c)
    np.testing.assert_allclose(out, a + 4 + c, rtol=1e-6)
    assert len(out.devices()) == n


def test_pmap_of_vmap():
    n = len(jax.devices())
    rng = np.random.default_rng(1)
    a, b, c = (rng.random((n, 5, 2, 3)), rng.random((n, 5, 3, 4)), rng.random((n, 5, 2, 4)))

    def affine(a, b, c):
        return a @ b + c

    out = pmap(vmap(affine))(a, b, c)
    np.testing.assert_allclose(out, a @ b + c, rtol=1e-5)
    assert jit(vmap(affine))(a[0], b[0], c[0]).shape == (5, 2, 4)


# ----------------------------------------------------------------- random numbers


def test_a_key_gives_the_same_number_again():
    key = jax.random.PRNGKey(1337)
    assert jax.random.uniform(key) == jax.random.uniform(key)
    draws = []
    for _ in range(5):
        key, once = jax.random.split(key)
        draws.append(float(jax.random.uniform(once)))
    assert len(set(draws)) == 5
    assert all(0 <= d < 1 for d in draws)
    assert not any(itertools.starmap(np.isclose, itertools.pairwise(draws)))


def test_the_numbers_that_were_shown():
    """In the original mode of threefry, the default when they were shown."""
    with jax.threefry_partitionable(False):
        key = jax.random.PRNGKey(1337)
        assert str(jax.random.uniform(key)) == "0.02251327"
        draws = []
        for _ in range(3):
            key, once = jax.random.split(key)
            draws.append(str(jax.random.uniform(once)))
    assert draws == ["0.31418657", "0.8795924", "0.81679654"]
    shown = jax.random.normal(jax.random.PRNGKey(0), (10,), dtype=jnp.float32)
    np.testing.assert_allclose(
        shown[shown < 0],
        [-0.43359444, -0.07861735, -0.97208923, -0.49529874, -0.9501635],
        rtol=1e-6,
    )
