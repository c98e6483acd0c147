"""Donated arguments: used where they can be, kept and named where not; and what becomes
of programs whose captured arrays are deleted or donated.  Recorded from JAX 0.10.2."""

import copy
import warnings

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax


def arrays():
    return jnp.arange(6.0).reshape(2, 3), jnp.arange(4) + 0


def test_copies_outlive_what_is_donated():
    x = jnp.arange(3) + 0
    copies = [copy.copy(x), copy.deepcopy(x), copy.copy({"x": x.copy()})["x"]]
    mj.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and [c.tolist() for c in copies] == [[0, 1, 2]] * 3


# (function, donated arguments, arguments deleted afterwards, those in the warning)
PROGRAMS = [
    (lambda x, y: x + 1, (0,), (True, False), ""),
    (lambda x, y: x, (0,), (True, False), ""),
    (lambda x, y: (x + 1, y * 2), (0, 1), (True, True), ""),
    (lambda x, y: x.sum(), (0,), (False, False), "float32[2,3]"),
    (lambda x, y: (x.sum(), y.sum()), (0, 1), (False, False), "float32[2,3], int32[4]"),
    (lambda x, y: (x * 2, y.sum()), (0, 1), (True, False), "int32[4]"),
    (lambda x, y: jnp.concatenate([x, x]), (0,), (False, False), "float32[2,3]"),
    (lambda x, y: x.astype(jnp.int8), (0,), (False, False), ""),
    (lambda x, y: y + 1, (0,), (False, False), ""),  # not read
    (lambda x, y: (), (0, 1), (False, False), ""),
]


@pytest.mark.parametrize(("f", "donated", "deleted", "named"), PROGRAMS)
@pytest.mark.parametrize("compiled", [False, True])
def test_unusable_donations_are_not_deleted(f, donated, deleted, named, compiled):
    g = mj.jit(f, donate_argnums=donated)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if compiled:
            g = g.lower(*arrays()).compile()
        for _ in range(3):  # in Python, then in C++
            x, y = arrays()
            expected = [np.array(v) for v in mj.tree.leaves(f(x, y))]
            out = mj.tree.leaves(g(x, y))
            assert (x.is_deleted(), y.is_deleted()) == deleted
            for a, b in zip(out, expected, strict=True):
                assert np.array_equal(a, b)
    text = [str(w.message).split("\n")[0] for w in caught]
    assert text == [f"Some donated buffers were not usable: {named}."] * bool(named)


def test_two_for_one_result():
    f = mj.jit(lambda x, y: x + y, donate_argnums=(0, 1))
    with pytest.warns(UserWarning, match=r"not usable: float32\[2,3\]\."):
        text = f.lower(*[jnp.ones((2, 3))] * 2).as_text()
    assert text.count("tf.aliasing_output = 0") == 1 and "buffer_donor" not in text
    x, y = jnp.ones((2, 3)), jnp.zeros((2, 3))
    with pytest.warns(UserWarning, match="not usable"):
        f(x, y)
    assert x.is_deleted() and not y.is_deleted()


def test_leaves_keys_and_lanes():
    f = mj.jit(lambda d: (d["a"] + 1, d["b"].sum()), donate_argnums=0)
    d = {"a": jnp.ones(3), "b": jnp.ones(4)}
    with pytest.warns(UserWarning, match=r"float32\[4\]"):
        f(d)
    assert d["a"].is_deleted() and not d["b"].is_deleted()
    key = mj.random.key(0)
    mj.jit(lambda k: mj.random.fold_in(k, 1), donate_argnums=0)(key)
    assert key.is_deleted()
    key = mj.random.key(0)
    with pytest.warns(UserWarning, match=r"key<fry>\[\]"):
        mj.jit(mj.random.split, donate_argnums=0)(key)
    assert not key.is_deleted()
    rows = jnp.arange(3.0)
    mj.vmap(mj.jit(lambda x: x * 2, donate_argnums=0))(rows)
    assert rows.is_deleted()
    rows = jnp.ones((1, 3))
    with pytest.warns(UserWarning, match=r"float32\[1,3\]"):
        mj.pmap(lambda x: x.sum(), donate_argnums=0)(rows)
    assert not rows.is_deleted()


# ------------------------------------------------------------------ captured arrays


def delete(x):
    x.delete()


def donate(x):
    mj.jit(lambda x: x + 1, donate_argnums=0)(x)


USES = {
    "jit": lambda f: f,
    "nested": lambda f: mj.jit(lambda y: f(y) * 1),
    "compiled": lambda f: f.lower(1.0).compile(),
    "loop": lambda f: mj.jit(lambda y: lax.map(lambda i: f(y) + 0 * i, jnp.ones(1))[0]),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("end", [delete, donate])
def test_a_program_keeps_what_it_captured(use, end):
    x = jnp.arange(3.0) + 1
    f = use(mj.jit(lambda y: x + y))
    expected = f(1.0).tolist()
    end(x)
    fresh = [jnp.full(3, float(i)) for i in range(8)]  # memory that is written to
    assert [f(1.0).tolist() for _ in range(3)] == [expected] * 3 and len(fresh) == 8
    assert x.is_deleted() or end is donate  # which leaves the memory to the program


def test_a_lowered_program_keeps_them_too():
    x, key = jnp.arange(3.0), mj.random.key(3)
    lowered = mj.jit(lambda y: (x + y, mj.random.key_data(key))).lower(1.0)
    words = mj.random.key_data(key).tolist()
    x.delete()
    key.delete()
    caught, data = lowered.compile()(1.0)
    assert caught.tolist() == [1, 2, 3] and data.tolist() == words


def test_captured_and_donated_at_once():
    x = jnp.arange(3.0)
    f = mj.jit(lambda y: x + y, donate_argnums=0)
    assert f(x).tolist() == [0, 2, 4]
    assert f(jnp.ones(3)).tolist() == [1, 2, 3]


def test_a_new_signature_needs_the_array_itself():
    x = jnp.arange(3.0)
    f = mj.jit(lambda y: x + y)
    f(1.0)
    x.delete()
    for run in (lambda: f(1), lambda: mj.jit(lambda y: x * y)(1.0), lambda: f.lower(2)):
        with pytest.raises(
            RuntimeError, match=r"Array has been deleted with shape=float32\[3\]\."
        ):
            run()


def test_captured_memory_is_shared():
    # On CPUs the program's constant is the user's array, not a copy of it.
    x = jnp.arange(1024.0) + 0
    compiled = mj.jit(lambda y: x + y).lower(1.0).compile()
    (const,) = compiled._program.consts
    assert const.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()


@pytest.mark.parametrize(
    "make",
    [
        lambda: mj.device_put(2.0),
        lambda: jnp.asarray(2.0),
        lambda: jnp.array(2),
        lambda: mj.grad(lambda x: x)(2.0),
        lambda: mj.jit(lambda x: x)(2.0),
        lambda: mj.new_ref(2.0)[...],
        lambda: jnp.float32(2),
        lambda: jnp.zeros(()),
        lambda: mj.lax.full((), 2.0),
        lambda: mj.vjp(lambda x: x, 2.0)[1](1.0)[0],
        lambda: jnp.arange(1)[0],
        lambda: mj.value_and_grad(lambda x: x)(2.0)[0],
        lambda: mj.random.key(0),
    ],
)
def test_no_two_values_share_what_may_be_given_away(make):
    """Stored constants are not returned without a copy."""
    first, second = make(), make()
    first.delete()
    third = make()
    assert not second.is_deleted() and not third.is_deleted()


def test_a_mapped_function_donates_as_before():
    """The lanes of a donated argument are donated; tangents, which are new, are not."""
    donating = mj.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones((3, 2)) + 0
    mj.vmap(donating)(x)
    assert x.is_deleted()
    (eqn,) = mj.make_jaxpr(lambda x: mj.jvp(donating, (x,), (x,)))(jnp.ones(2)).eqns
    assert eqn.params["donated_invars"] == (False, False)


def test_constants_of_an_inner_function_are_not_donated():
    constant = jnp.arange(3.0)
    donating = mj.jit(lambda x: x + constant, donate_argnums=0)
    (eqn,) = mj.make_jaxpr(lambda x: donating(x))(jnp.ones(3)).eqns
    assert len(eqn.invars) == 2 and eqn.params["donated_invars"] == (False, True)
