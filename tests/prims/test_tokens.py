"""Tokens as values: made, joined, taken and given by programs."""

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

X = jnp.arange(3.0)
KIND = type(lax.create_token())


@pytest.mark.parametrize(
    "f",
    [
        lambda t, x: (lax.after_all(t, lax.create_token(x)), x * 2),
        mj.jit(lambda t, x: (lax.after_all(t, lax.create_token(x)), x * 2)),
        lambda t, x: lax.scan(lambda t, a: (lax.after_all(t), a * 2), t, x),
        lambda t, x: (t, mj.vmap(lambda a: (lax.after_all(t), a * 2)[1])(x)),
        lambda t, x: (
            t,
            mj.grad(lambda x: (lax.after_all(lax.create_token()), (x * x).sum())[1])(x),
        ),
        mj.jit(lambda t, x: lax.cond(x[0] > 1, lambda: (t, x), lambda: (t, x * 2))),
    ],
)
def test_programs_take_and_give_tokens(f):
    for _ in range(2):  # the second call uses the compiled program
        token, doubled = f(lax.create_token(), X)
        assert type(token) is KIND and token.block_until_ready() is None
        assert doubled.tolist() == [0.0, 2.0, 4.0]


def test_types_and_texts():
    token = lax.create_token()
    assert repr(mj.typeof(token)) == "AbstractToken()"
    assert isinstance(token, mj.extend.core.Token)
    text = str(mj.make_jaxpr(lambda t: lax.after_all(t, lax.create_token()))(token))
    eqns = "b:Tok = create_token ; c:Tok = after_all a b"
    assert text == f"{{ lambda ; a:Tok. let {eqns} in (c,) }}"


@pytest.mark.parametrize("run", [lambda f: f(1.0), lambda f: mj.jit(f)(1.0)])
def test_after_all_takes_only_tokens(run):
    with pytest.raises(TypeError, match="Arguments to after_all must be tokens"):
        run(lambda x: lax.after_all(lax.create_token(), x))


@pytest.mark.parametrize("of", [mj.eval_shape, lambda f, x: mj.jit(f).eval_shape(x)])
def test_types_of_tokens(of):
    """As in JAX, a token's type stands for itself."""
    token, x = of(lambda x: (lax.create_token(x), x), X)
    assert str(token) == "AbstractToken()" and x.shape == (3,)
