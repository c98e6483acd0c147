"""Calls with trees that were flattened once: the same as with the trees themselves."""

import sys
import threading

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import tree_util as tu
from minijax.control.calls import flattened_calls


class Layer:
    """A node of a class of the user's."""

    def __init__(self, w, b):
        self.w, self.b = w, b


tu.register_pytree_node(Layer, lambda n: ((n.w, n.b), None), lambda _, xs: Layer(*xs))
f32 = jnp.float32


def model(n=3, put=jnp.asarray):
    return [Layer(put(np.float32([i, 1])), put(np.float32([2, i]))) for i in range(n)]


@pytest.fixture
def run_here(monkeypatch):
    """How many calls were run past C++."""
    runs = []
    real = flattened_calls.Route.__call__

    def counted(self, leaves):
        runs.append(self)
        return real(self, leaves)

    monkeypatch.setattr(flattened_calls.Route, "__call__", counted)
    return runs


def same(a, b):
    """Whether two trees are equal: in kind, type, and placement."""
    xs, a_tree = tu.tree_flatten(a)
    ys, b_tree = tu.tree_flatten(b)
    assert a_tree == b_tree
    for x, y in zip(xs, ys, strict=True):
        assert x.aval is y.aval and x.sharding == y.sharding
        assert x.committed == y.committed
        if jnp.issubdtype(x.dtype, mj.dtypes.prng_key):
            x, y = mj.random.key_data(x), mj.random.key_data(y)
        assert np.array_equal(x, y, equal_nan=bool(jnp.issubdtype(x.dtype, jnp.inexact)))
    return True


class Kinds:
    """Trees of leaves of many kinds, by name; and whether a call is run past C++."""

    def arrays():
        return model(), True

    def weak():
        return [Layer(jnp.asarray(2.0), jnp.asarray(3))], True

    def narrow():
        return {"a": jnp.ones(3, jnp.bfloat16), "b": jnp.ones(2, jnp.int4)}, True

    def committed():
        device = mj.devices()[3]
        return model(2, lambda x: mj.device_put(x, device)), True

    def one_committed():
        return [mj.device_put(f32(1), mj.devices()[0]), f32(2)], True

    def keys():
        return {"key": mj.random.split(mj.random.key(3)), "x": f32(1)}, True

    def numpy():
        return model(2, lambda x: x), False

    def numbers():
        return [Layer(1, 2.0)], False

    def spread():
        mesh = mj.make_mesh((2,), ("i",), devices=mj.devices()[:2])
        sharding = mj.NamedSharding(mesh, mj.P("i"))
        return model(2, lambda x: mj.device_put(x, sharding)), False


KINDS = [name for name in vars(Kinds) if not name.startswith("_")]


@pytest.mark.parametrize("name", KINDS)
def test_results_are_those_of_the_tree(name, run_here):
    value, past = vars(Kinds)[name]()
    flat = tu.flattened(value)
    with_first_leaf = lambda m: (m, tu.tree_leaves(m)[0])
    f = mj.jit(with_first_leaf)
    expected = f(value)
    for _ in range(3):
        full, first = f(flat)
        assert type(full) is type(flat)
        assert same((full.tree, first), expected)
    assert len(run_here) == (2 if past else 0)
    second = f(full)
    assert same((second[0].tree, second[1]), f(expected[0]))
    assert tu.tree_structure(second[0]) == tu.tree_structure(flat)


OTHERS = {
    "float": 2.0,
    "int": 3,
    "bool": True,
    "complex": 1j,
    "array": np.arange(2.0),
    "wide": np.arange(2),
    "scalar": np.float64(3),
    "narrow scalar": np.int16(3),
    "ours": jnp.arange(2),
    "key": mj.random.key(1),
    "tree": {"a": [1.0, jnp.ones(2)], "b": None},
    "flat": tu.flattened([jnp.ones(2), 2 * jnp.ones(2)]),
}


@pytest.mark.parametrize("x64", [False, True])
def test_other_arguments(x64, run_here):
    value = model()
    flat = tu.flattened(value)
    f = mj.jit(lambda m, *, x: (m[1].w * 2, x))
    with mj.enable_x64(x64):
        for x in OTHERS.values():
            expected = f(value, x=x)
            assert same(f(flat, x=x), expected) and same(f(flat, x=x), expected)
    assert len(run_here) == len(OTHERS)


def test_one_program_for_each_type_and_each_static_argument(run_here):
    seen = []

    def f(m, x, n, name="a"):
        seen.append((n, name))
        return m[0].b * n + x

    jitted = mj.jit(f, static_argnums=2, static_argnames="name")
    flat, wide = tu.flattened(model()), tu.flattened(model(4))
    for _ in range(2):
        assert jitted(flat, 1.0, 2).tolist() == [5, 1]
        assert jitted(flat, 1.0, 2.0).tolist() == [5, 1]
        assert jitted(flat, 1, 3, name="b").tolist() == [7, 1]
        assert jitted(wide, f32(2), 2).tolist() == [6, 2]
    assert seen == [(2, "a"), (2.0, "a"), (3, "b"), (2, "a")]
    assert list(map(type, (n for n, _ in seen))) == [int, float, int, int]
    assert len(run_here) == 4
    mj.clear_caches()
    assert jitted(flat, 1.0, 2).tolist() == [5, 1] and len(seen) == 5
    jitted.clear_cache()
    assert jitted(flat, 1.0, 2).tolist() == [5, 1] and len(seen) == 6
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        jitted(flat, 1.0, [2])


def test_calls_cost_python_the_same_however_many_leaves():
    f = mj.jit(lambda m, x: m[0].w + m[-1].b + x)

    def calls(flat):
        f(flat, 1.0)
        f(flat, 1.0)
        entered = []
        sys.setprofile(lambda frame, event, _: entered.append(event == "call"))
        try:
            f(flat, 1.0)
        finally:
            sys.setprofile(None)
        return sum(entered)

    few, many = calls(tu.flattened(model(2))), calls(tu.flattened(model(200)))
    assert few == many < 20


def test_donated_leaves_are_gone(run_here):
    def step(m, x):
        return tu.tree_map(lambda a: a + x, m)

    f = mj.jit(step, donate_argnums=0)
    state = tu.flattened(model())
    first = state
    for _ in range(3):
        before, state = state, f(state, 1.0)
        assert all(x.is_deleted() for x in tu.tree_leaves(before))
    assert state[2].b.tolist() == [5, 5] and len(run_here) == 2
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float"):
        f(first, 1.0)
    with_first_leaf = tu.flattened(model())
    assert f(with_first_leaf, 1.0)[0].w.tolist() == [1, 2] and len(run_here) == 4


def test_what_is_deleted_and_not_read_is_not_missed():
    flat = tu.flattened(model())
    f = mj.jit(lambda m: m[0].w + 1)
    expected = f(flat)
    flat[1].w.delete()
    assert same(f(flat), expected)


def test_options_hold_at_each_call():
    flat = tu.flattened(model())
    f = mj.jit(lambda m: m[0].w / m[0].w)
    for _ in range(2):
        assert np.isnan(f(flat)[0])
    with mj.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        f(flat)
    with mj.disable_jit():
        assert np.isnan(f(flat)[0])
    other = mj.devices()[2]
    with mj.default_device(other):
        assert same(f(flat), f(model()))
    with mj.no_execution(True), pytest.raises(RuntimeError, match="no_execution"):
        f(flat)
    assert np.isnan(f(flat)[0])


def test_other_arguments_decide_the_placement_as_for_the_tree(run_here):
    flat, value = tu.flattened(model()), model()
    f = mj.jit(lambda m, x: m[0].w + x)
    for _ in range(2):
        for x in (jnp.ones(2), mj.device_put(jnp.ones(2), mj.devices()[1])):
            assert same(f(flat, x), f(value, x))
    assert len(run_here) == 1


def test_errors_are_those_of_the_tree():
    f = mj.jit(lambda m, x: m[0].w + x)
    flat = tu.flattened(model())
    f(flat, 1), f(flat, 1)
    for value, kind in ((2**40, OverflowError), ("text", TypeError), (jnp.ones(3), TypeError)):
        with pytest.raises(kind) as expected:
            f(model(), value)
        with pytest.raises(kind) as result:
            f(flat, value)
        head = lambda e: str(e.value).splitlines()[0].split(" at 0x")[0]
        assert head(result) == head(expected)
    apart = [f32(1), mj.device_put(f32(2), mj.devices()[1])]
    both = mj.jit(lambda m: m[0] + m[1])
    assert both(tu.flattened(apart)) == both(apart) == 3
    apart[0] = mj.device_put(f32(1), mj.devices()[0])
    with pytest.raises(ValueError, match="incompatible devices"):
        both(tu.flattened(apart))


def steps(f):
    """Twice in a loop that carries the tree."""

    def looped(m, x):
        return mj.lax.scan(lambda m, _: (m, f(m, x)), m, None, length=2)

    return looped


CHANGES = (
    (mj.grad, 2.0),
    (lambda f: mj.jit(mj.grad(f)), 2.0),
    (lambda f: mj.vmap(f, in_axes=(None, 0)), jnp.arange(2.0)),
    (lambda f: mj.jit(lambda m, x: f(m, x) * 2), 2.0),
    (lambda f: lambda m, x: mj.jvp(f, (m, x), (m, x)), 2.0),
    (steps, 2.0),
)


def test_transformations_of_a_jitted_function(run_here):
    loss = mj.jit(lambda m, x: sum((n.w * x + n.b).sum() ** 2 for n in m))
    value = model()
    flat = tu.flattened(value)
    assert loss(flat, 2.0) == loss(flat, 2.0) == loss(value, 2.0)
    assert len(run_here) == 1
    for change, x in CHANGES:
        expected = tu.tree_leaves(change(loss)(value, x))
        for _ in range(2):
            result = tu.tree_leaves(change(loss)(flat, x))
            assert all(np.allclose(a, b) for a, b in zip(result, expected, strict=True))
    outer = lambda m: mj.vmap(lambda x: loss(m, x))(jnp.arange(3.0))
    assert np.allclose(outer(flat), outer(value))


def test_effects_and_checks_happen_at_each_call(capfd):
    def f(m):
        mj.debug.print("w is {}", m[0].b[0])
        return m[0].b

    flat = tu.flattened(model())
    jitted = mj.jit(f)
    for _ in range(3):
        jitted(flat)
    mj.effects_barrier()
    assert capfd.readouterr().out.count("w is 2.0") == 3


def test_a_program_compiled_ahead(run_here):
    flat = tu.flattened(model())
    f = lambda m, x: (tu.tree_map(lambda a: a + x, m), m[0].b)
    compiled = mj.jit(f).lower(flat, f32(1)).compile()
    expected = mj.jit(f)(model(), f32(1))
    for _ in range(3):
        result, b = compiled(flat, f32(1))
        assert same((result.tree, b), expected)
    assert len(run_here) == 2
    with pytest.raises(TypeError):
        compiled(tu.flattened(model(2)), f32(1))
    with pytest.raises(TypeError):
        compiled(flat, jnp.ones(3))


def test_captured_arrays_and_results_that_are_no_arrays_of_the_tree(run_here):
    big = jnp.arange(3.0)
    f = mj.jit(
        lambda m: {"m": [m], "n": None, "x": big + m[0].w[0], "new": tu.flattened([m[0].b])}
    )
    value = model()
    flat = tu.flattened(value)
    expected = f(flat)
    result = f(flat)
    assert same(result, expected) and len(run_here) == 1
    assert type(result["new"]) is type(flat) and result["n"] is None
    assert result["x"].tolist() == [0, 1, 2]


def test_threads_share_programs():
    f = mj.jit(lambda m, x: tu.tree_map(lambda a: a + x, m))
    wrong = []

    def work(k):
        state = tu.flattened(model(k % 3 + 1))
        for _ in range(50):
            state = f(state, float(k))
        if state[0].w.tolist() != [50 * k, 50 * k + 1]:
            wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_mesh_that_is_current_spreads_the_leaves():
    mesh = mj.make_mesh((2,), ("i",), devices=mj.devices()[:2])
    flat = tu.flattened(model())
    f = mj.jit(lambda m: m[0].w + m[0].b)
    alone = f(flat), f(flat)
    with mj.set_mesh(mesh):
        spread = f(flat), f(flat), f(model())
    assert same(spread[0], spread[2]) and same(spread[1], spread[2])
    assert same(f(flat), alone[0])
