"""cond, switch, platform_dependent: against their branches, call forms, messages."""

import inspect
import re

import numpy as np
import pytest
from straight import agree, names, only

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

X = np.array([0.7, 0.4, 0.9], np.float32)
W = np.array([0.3, 0.8, 0.5], np.float32)


def choose(test, yes, no):
    """What `cond` means for scalars and vectors, without control flow."""
    return mj.tree.map(lambda a, b: jnp.where(test, a, b), yes, no)


def times_w(x):
    return jnp.sin(x) * W


def square(x):
    return x**2


PROGRAMS = {
    "operand": (
        lambda x: lax.cond(x.sum() > 1.5, times_w, square, x),
        lambda x: choose(x.sum() > 1.5, times_w(x), square(x)),
    ),
    "closure": (
        lambda x: lax.cond(x.sum() > 1.5, lambda: x * W, lambda: jnp.cos(x)),
        lambda x: choose(x.sum() > 1.5, x * W, jnp.cos(x)),
    ),
    "two operands, a tuple": (
        lambda x: sum(
            lax.cond(x[0] > 0.6, lambda a, b: (a * b, b), lambda a, b: (b, a), x, x[::-1])
        ),
        lambda x: choose(x[0] > 0.6, x * x[::-1] + x[::-1], x + x[::-1]),
    ),
    "a constant branch": (
        lambda x: lax.cond(x[0] > 0.6, lambda x: jnp.ones(3), square, x),
        lambda x: choose(x[0] > 0.6, jnp.ones(3), square(x)),
    ),
    "a float predicate": (
        lambda x: lax.cond(jnp.floor(x[0] + 0.5), square, times_w, x),
        lambda x: choose(jnp.floor(x[0] + 0.5) != 0, square(x), times_w(x)),
    ),
    "switch": (
        lambda x: lax.switch(
            (3 * x[0]).astype(int) - 1, [square, times_w, jnp.exp, lambda x: x], x
        ),
        lambda x: choose(
            3 * x[0] < 2,
            square(x),
            choose(3 * x[0] < 3, times_w(x), choose(3 * x[0] < 4, jnp.exp(x), x)),
        ),
    ),
    "nested": (
        lambda x: lax.cond(
            x[0] > 0.5, lambda x: lax.cond(x[1] > 0.5, square, times_w, x), jnp.cos, x
        ),
        lambda x: choose(x[0] > 0.5, choose(x[1] > 0.5, square(x), times_w(x)), jnp.cos(x)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_returns_the_result_of_the_branch(name):
    agree(*PROGRAMS[name], X)


@pytest.mark.parametrize("how", ["loop", "group"])
def test_ways_to_batch_agree(how):
    def looped(x):
        return lax.cond(x.sum() > 1.5, times_w, square, x, batched=how)

    agree(looped, PROGRAMS["operand"][1], X)


def test_batched_error_is_raised_for_lanes_that_differ_alone():
    def f(p, x):
        return lax.cond(p, times_w, square, x, batched="error")

    with pytest.raises(ValueError, match="the predicate differs from lane to lane"):
        mj.vmap(f)(np.array([True, False]), np.stack([X, X]))
    shared = mj.vmap(f, (None, 0))(np.array(True), np.stack([X, W]))
    np.testing.assert_allclose(shared, np.sin([X, W]) * W, 1e-6)
    with pytest.raises(ValueError, match="choose one of"):
        lax.cond(True, times_w, square, X, batched="all")


def test_batched_loop_runs_one_branch_a_lane_and_group_skips_unused():
    def f(p, x, how):
        return lax.cond(p, times_w, jnp.cos, x, batched=how)

    p, x = np.array([True, True]), np.stack([X, W])
    program = {
        how: mj.make_jaxpr(mj.vmap(lambda p, x, how=how: f(p, x, how)))(p, x)
        for how in ("select", "loop", "group")
    }
    assert "select_n" in names(program["select"]) and "cond" not in names(program["select"])
    assert {"scan", "cond"} <= {*names(program["loop"])}
    assert names(program["group"]).count("cond") == 2


# ------------------------------------------------------------------------- call forms


def test_call_forms():
    def down(x):
        return x - 1.0

    x = np.float32(2)
    assert lax.cond(True, jnp.sin, down, x) == jnp.sin(x)
    assert lax.cond(False, lambda: 1, lambda: 2) == 2
    assert lax.cond(False, jnp.sin, down, operand=x) == 1
    assert lax.cond(True, lambda _: 3, lambda _: 4, operand=None) == 3
    assert lax.cond(pred=True, true_fun=lambda: 1, false_fun=lambda: 2) == 1
    assert lax.cond(True, x, jnp.sin, 3 * x, down) == jnp.sin(x)
    assert lax.cond(False, {"a": x}, lambda d: d["a"], (3 * x,), lambda t: t[0]) == 6
    assert lax.switch(1, [jnp.sin, down], operand=x) == 1
    assert lax.switch(1, (lambda _: 3, lambda _: 4), operand=None) == 4
    assert lax.switch(index=0, branches=[down, jnp.sin], operand=x) == 1


@pytest.mark.parametrize("index, taken", [(-5, 0), (0, 0), (2, 2), (7, 2)])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_switch_clamps(index, taken, dtype):
    if dtype[0] == "u":
        index = max(index, 0)
    branches = [lambda i=i: i for i in range(3)]
    assert lax.switch(np.dtype(dtype).type(index), branches) == max(taken, 0)
    assert mj.jit(lambda i: lax.switch(i, branches))(np.dtype(dtype).type(index)) == taken


def test_switch_of_one_branch_is_that_branch():
    jaxpr = mj.make_jaxpr(lambda i, x: lax.switch(i, [jnp.sin], x))(3, X)
    assert names(jaxpr) == ["sin"]


def test_weak_types_are_those_of_the_first_branch():
    def result(*values):
        branches = [lambda v=v: v for v in values]
        return mj.eval_shape(lambda i: lax.switch(i, branches), 0).weak_type

    strong = jnp.float32(2)
    assert result(1.0, 2.0) and result(1.0, strong) and result(1.0, strong, 2.0)
    assert not result(strong, 1.0) and not result(strong, 1.0, strong)
    of_cond = mj.jit(lambda p, yes, no: lax.cond(p, lambda: yes, lambda: no))
    for p in (True, False):  # the first is that of False
        assert of_cond(p, strong, 1.0).weak_type
        assert not of_cond(p, 1.0, strong).weak_type
    lanes = mj.vmap(lambda p: lax.cond(p, lambda: strong, lambda: 1.0))
    assert lanes(np.array([True, False])).tolist() == [2, 1]
    grad = mj.grad(lambda x: lax.cond(x > 0, lambda: x, lambda: jnp.float32(0)))
    assert grad(2.0) == 1


def test_operands_of_many_kinds():
    key, tree = (mj.random.key(3), {"n": None, "b": jnp.bfloat16(2), "e": np.zeros((0, 2))})

    def f(p):
        return lax.cond(
            p, lambda k, t: (k, t), lambda k, t: (mj.random.split(k)[0], t), key, tree
        )

    for p, expected in ((True, key), (False, mj.random.split(key)[0])):
        k, t = mj.jit(f)(p)
        assert (mj.random.key_data(k) == mj.random.key_data(expected)).all()
        assert t["n"] is None and t["b"].dtype == jnp.bfloat16 and t["e"].shape == (0, 2)
    keys = mj.random.split(key, 2)
    lanes = mj.vmap(lambda p, k: lax.cond(p, lambda k: k, lambda k: key, k))
    out = mj.random.key_data(lanes(np.array([True, False]), keys))
    assert (out[0] == mj.random.key_data(keys[0])).all()
    assert (out[1] == mj.random.key_data(key)).all()


def test_integer_operands_have_float0_cotangents():
    def f(x, n):
        return lax.cond(n > 1, lambda x, n: x * n, lambda x, n: x, x, n)

    _, pull = mj.vjp(f, np.float32(3), 2)
    x, n = pull(np.float32(1))
    assert x == 2 and n.dtype == mj.dtypes.float0


def test_gradients_of_untaken_branches_do_not_leak_nan():
    def safe(x):
        return lax.cond(x > 0, jnp.sqrt, lambda x: 0.0 * x, x)

    x = np.array([-1.0, 0.0, 4.0], np.float32)
    np.testing.assert_allclose(mj.vmap(mj.grad(safe))(x), [0, 0, 0.25])
    np.testing.assert_allclose(mj.grad(lambda x: mj.vmap(safe)(x).sum())(x), [0, 0, 0.25])


# --------------------------------------------------------------------------- programs


def test_residuals_are_shared_by_branches():
    """Two branches, one saved value each, of one type: one slot."""

    def f(p, x):
        return lax.cond(p, lambda x: jnp.sin(x), lambda x: jnp.exp(2 * x), x).sum()

    jaxpr = mj.make_jaxpr(mj.grad(f, 1))(True, X)
    first = next(e for e in jaxpr.eqns if e.primitive.name == "cond")
    assert len(first.outvars) == 2


def test_operands_are_no_residuals_again():
    def f(p, w, x):
        return lax.cond(p, lambda x: w * x, lambda x: w * x * 2, x).sum()

    jaxpr = mj.make_jaxpr(mj.grad(f, 2))(True, W, X)
    first = next(e for e in jaxpr.eqns if e.primitive.name == "cond")
    assert len(first.outvars) == 1


def test_operands_that_all_branches_return_are_not_results():
    def f(p, x, y):
        return lax.cond(p, lambda x, y: (x, y, x * y), lambda x, y: (x, x, y), x, y)

    jaxpr = mj.make_jaxpr(f)(True, X, W)
    eqn = only(jaxpr, "cond")
    assert len(eqn.outvars) == 2 and jaxpr.jaxpr.outvars[0] is jaxpr.jaxpr.invars[1]
    for p, expected in ((True, (X, W, X * W)), (False, (X, X, W))):
        for got, value in zip(f(p, X, W), expected, strict=True):
            assert isinstance(got, mj.Array) and (got == value).all()
    # An operand that no lane changes is not spread over the lanes.
    lanes = mj.vmap(lambda p: f(p, X, W)[0], out_axes=None)
    assert lanes(np.array([True, False])).shape == X.shape


def test_strong_literals_take_no_equation():
    jaxpr = mj.make_jaxpr(lambda p: lax.cond(p, lambda: 1.0, lambda: jnp.float32(2)))(True)
    assert names(jaxpr) == ["convert_element_type", "cond"]  # of the predicate


def test_dead_results_are_pruned_inside():
    def f(p, x):
        a, _ = lax.cond(p, lambda x: (x * 2, jnp.sin(x)), lambda x: (x, jnp.cos(x)), x)
        return a.sum()

    transposed = mj.make_jaxpr(mj.linearize(lambda x: f(True, x), X)[1])(X)
    assert not {"sin", "cos"} & {*names(transposed)}
    assert len(only(transposed, "cond").outvars) == 1


def test_a_branch_used_twice_is_staged_once():
    calls = []

    def branch(x):
        calls.append(1)
        return x + 1

    lax.switch(1, [branch, branch, jnp.sin], X)
    assert len(calls) == 1


def test_disable_jit_runs_the_branch_in_python():
    with mj.disable_jit():
        assert lax.cond(True, lambda x: x if isinstance(x, int) else 0, lambda x: 0, 5) == 5
        assert lax.switch(9, [lambda x: 0, lambda x: float(x)], np.float32(2)) == 2


# ------------------------------------------------------------------ platform_dependent


def refuse(*_):
    raise RuntimeError("traced")


def test_platform_dependent_runs_its_own_function():
    def f(x):
        return lax.platform_dependent(x, cpu=square, default=times_w)

    agree(f, square, X)
    assert lax.platform_dependent(cpu=lambda: 3) == 3
    np.testing.assert_allclose(
        lax.platform_dependent(X, tpu=square, default=times_w), times_w(X), 1e-6
    )


def test_platform_dependent_traces_no_other_function_at_once():
    def f(x):
        return lax.platform_dependent(x, cpu=square, some_accelerator=refuse)

    np.testing.assert_allclose(f(X), X**2)
    np.testing.assert_allclose(mj.grad(lambda x: f(x).sum())(X), 2 * X)
    np.testing.assert_allclose(mj.vmap(f)(X), X**2, 1e-6)
    with pytest.raises(RuntimeError, match="traced"):
        mj.jit(f)(X)


def test_platform_dependent_errors():
    with pytest.raises(TypeError, match="the 'cpu' branch must be a callable"):
        lax.platform_dependent(X, cpu=1)
    with pytest.raises(NotImplementedError, match="no function for platform cpu"):
        lax.platform_dependent(X, tpu=square)
    with pytest.raises(NotImplementedError, match="no function for platform cpu"):
        mj.jit(lambda x: lax.platform_dependent(x, tpu=square))(X)
    with pytest.raises(ValueError, match="no function was given"):
        lax.platform_dependent(X)
    with pytest.raises(TypeError, match="branches must have equal output types"):
        mj.jit(lambda x: lax.platform_dependent(x, cpu=square, tpu=jnp.sum))(X)


# ----------------------------------------------------------------------------- errors

SAME = [lambda x: x, lambda x: x]
ERRORS = {
    "no function": (
        lambda: lax.cond(True, 1, 2, X),
        "lax.cond: true_fun and false_fun arguments should be callable",
    ),
    "None": (lambda: lax.cond(None, *SAME, X), "cond predicate is None"),
    "a text": (
        lambda: lax.cond("a", *SAME, X),
        "Pred must be a scalar, got a of type <class 'str'>",
    ),
    "a vector": (
        lambda: lax.cond(X > 0, *SAME, X),
        "Pred must be a scalar, got .* of shape (3,)",
    ),
    "complex": (
        lambda: lax.cond(1j, *SAME, X),
        "Pred type must be either boolean or number, got complex64",
    ),
    "unknown keyword": (
        lambda: lax.cond(True, *SAME, X, linear=(False,)),
        "cond() got an unexpected keyword argument 'linear'",
    ),
    "operand twice": (
        lambda: lax.cond(True, *SAME, X, operand=X),
        "if 'operand' keyword is passed then no positional operands can be passed",
    ),
    "operand": (
        lambda: lax.cond(True, *SAME, {"a": object()}),
        "is not a valid JAX type.\nWhich: operands[0]['a']",
    ),
    "result": (
        lambda: lax.cond(True, lambda: "a", lambda: "b"),
        "returned a value of type <class 'str'>, which is not a valid JAX type",
    ),
    "trees": (
        lambda: lax.cond(True, lambda x: {"a": (x, x)}, lambda x: {"a": (x, None)}, X),
        "cond branch outputs must have the same pytree structure, but they differ:\n"
        "Which: result['a'][1]: true_fun returns an array, false_fun returns None",
    ),
    "dtypes": (
        lambda: lax.cond(True, lambda x: x, lambda x: x.astype(int), X),
        "cond branches must have equal output types but they differ:\nWhich: result:"
        " true_fun returns float32[3], false_fun returns int32[3], so the dtypes do not match",
    ),
    "shapes and dtypes": (
        lambda: lax.switch(0, [*SAME, lambda x: x[:1].astype(int)], X),
        "switch branches must have equal output types but they differ:\nWhich: result:"
        " branch 0 returns float32[3], branch 2 returns int32[1], so the dtypes do not match,"
        " and the shapes do not match",
    ),
    "switch: no sequence": (
        lambda: lax.switch(0, [1, 2], X),
        "lax.switch: branches argument should be a sequence of callables",
    ),
    "switch: a float": (
        lambda: lax.switch(0.0, SAME, X),
        "Index type must be an integer, got 0.0 as float32",
    ),
    "switch: a bool": (
        lambda: lax.switch(True, SAME, X),
        "Index type must be an integer, got True as bool",
    ),
    "switch: None": (
        lambda: lax.switch(None, SAME, X),
        "Index type must be an integer, got None",
    ),
    "switch: a vector": (
        lambda: lax.switch(np.array([0]), SAME, X),
        "Branch index must be scalar, got [0] of shape (1,)",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    call, words = ERRORS[name]
    pattern = ".*".join(map(re.escape, words.split(".*")))
    with pytest.raises(TypeError, match=pattern):
        call()


def test_no_branches():
    with pytest.raises(ValueError, match="Empty branch sequence"):
        lax.switch(0, [], X)


def test_messages_name_the_branches():
    with pytest.raises(TypeError, match=r"true_fun: times_w at .* false_fun: <lambda> at"):
        lax.cond(True, times_w, lambda x: x[0], X)


def test_signatures_are_plain():
    assert list(inspect.signature(lax.cond).parameters)[:3] == ["pred", "true_fun", "false_fun"]


def test_a_rule_that_chooses_by_lane_can_be_transposed():
    """Under vmap, a cond in a custom rule masks tangents, which are linear operands."""

    @mj.custom_jvp
    def f(x):
        return x**3

    @f.defjvp
    def rule(primals, tangents):
        ((x,), (t,)) = primals, tangents
        slope = lambda t: lax.cond(x > 0.5, lambda t: 3 * x**2 * t, lambda t: x * t, t)
        return f(x), slope(t)

    expected = np.where(X > 0.5, 3 * X**2, X)
    np.testing.assert_allclose(mj.grad(lambda x: mj.vmap(f)(x).sum())(X), expected, rtol=1e-6)
    matrices = np.eye(5, dtype=np.float32) * [[[2.0]], [[0.0]]]
    got = mj.grad(lambda a: mj.vmap(jnp.linalg.det)(a).sum())(jnp.asarray(matrices))
    np.testing.assert_allclose(got, [16 * np.eye(5), np.zeros((5, 5))], atol=1e-4)


def test_a_stopped_tangent_cannot_be_transposed():
    """The tangent is used, so its cotangent is not zero, and transposing raises."""
    f = mj.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (f(*p), lax.stop_gradient(t[0])))
    assert mj.jvp(f, (1.0,), (2.0,))[1] == 2.0
    with pytest.raises(NotImplementedError, match="for 'stop_gradient' not implemented"):
        mj.grad(f)(1.0)


def test_an_index_that_is_a_number_needs_no_equation():
    text = str(mj.make_jaxpr(lambda x: lax.switch(1, [lax.sin, lax.cos], x))(1.0))
    assert "clamp 0:i32[] 1:i32[] 1:i32[]" in text and "convert" not in text


def test_indices_of_64_bits_wrap_around():
    branches = [lambda i=i: i for i in range(3)]
    with mj.enable_x64(True):
        edges = (2**31 - 1, 2**31, 2**40 + 1, -(2**31), -(2**31) - 1)
        taken = [int(lax.switch(i, branches)) for i in edges]
    assert taken == [2, 0, 1, 0, 2]
