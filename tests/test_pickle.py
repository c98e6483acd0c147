"""Derivatives and programs go through pickle, to another process too."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax


def loss(p):
    def step(c, x):
        return jnp.tanh(c @ p["w"]) + x, c.sum()

    c, ys = lax.scan(step, jnp.ones(3), jnp.ones((4, 3)))
    c = mj.jit(jnp.sin)(c) + mj.checkpoint(jnp.cos)(c)
    return lax.cond(ys[0] > 0, jnp.sum, jnp.prod, c) * jnp.exp(p["b"])


PARAMS = {"w": np.eye(3, dtype=np.float32) * 0.5, "b": np.float32(2)}


def leaves_close(a, b):
    for x, y in zip(mj.tree.leaves(a), mj.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


def again(x):
    return pickle.loads(pickle.dumps(x))


def test_vjp_and_linearize():
    out, pull = mj.vjp(loss, PARAMS)
    leaves_close(again(pull)(out), pull(out))
    leaves_close(mj.jit(again(pull))(out), pull(out))
    _, push = mj.linearize(loss, PARAMS)
    leaves_close(again(push)(PARAMS), push(PARAMS))
    leaves_close(
        mj.vmap(again(push))(mj.tree.map(lambda x: x[None], PARAMS)), push(PARAMS)[None]
    )


def test_as_pytrees():
    out, pull = mj.vjp(loss, PARAMS)
    leaves, treedef = mj.tree.flatten(pull)
    rebuilt = mj.tree.unflatten(again(treedef), again([np.asarray(x) for x in leaves]))
    leaves_close(rebuilt(out), pull(out))


@pytest.mark.parametrize("make", [mj.make_jaxpr(loss), mj.make_jaxpr(mj.grad(loss))])
def test_jaxprs(make):
    jaxpr = make(PARAMS)
    copy = again(jaxpr)
    assert str(copy) == str(jaxpr)
    args = mj.tree.leaves(PARAMS)
    leaves_close(
        mj.core.eval_jaxpr(copy.jaxpr, copy.consts, *args),
        mj.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args),
    )


def test_another_process(tmp_path):
    out, pull = mj.vjp(loss, PARAMS)
    path = tmp_path / "pull"
    path.write_bytes(pickle.dumps((pull, mj.tree.map(np.asarray, pull(out)))))
    code = (
        "import pickle, sys, numpy as np\n"
        "pull, (expected,) = pickle.load(open(sys.argv[1], 'rb'))\n"
        f"(found,) = pull({float(out)})\n"
        "for k in expected: np.testing.assert_allclose(found[k], expected[k], rtol=1e-5)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=120)


def test_an_unknown_primitive_is_named():
    data = pickle.dumps(lax.sin_p).replace(b"sin", b"nis")
    with pytest.raises(LookupError, match="no primitive 'nis'"):
        pickle.loads(data)


def test_functions_of_the_library_are_pickled_by_name():
    functions = (
        jnp.sin,
        jnp.add,
        jnp.linalg.norm,
        mj.random.normal,
        mj.nn.relu,
        lax.scan,
        mj.scipy.special.gammaln,
        mj.scipy.stats.norm.pdf,
        pickled_by_name,
    )
    for f in functions:
        assert again(f) is f and copy.copy(f) is f and copy.deepcopy(f) is f
    assert again(mj.jit(jnp.square))(3.0) == 9


@mj.jit
def pickled_by_name(x):
    return x
