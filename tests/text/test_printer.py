"""The text of jaxprs beyond parity: settings, names, and cost."""

import numpy as np

import minijax as mj
import minijax.numpy as jnp
from minijax import jit, lax, make_jaxpr, named_scope

X = np.ones(3, np.float32)


def test_settings():
    def f(x):
        with named_scope("layer"):
            return jit(lambda x: lax.sin(x))(x)

    jaxpr = make_jaxpr(f)(X)
    called = "{ lambda ; a. let b = sin a in (b,) }"
    reference = f"{{ lambda ; a. let b = jit[name=<lambda> jaxpr={called}] a in (b,) }}"
    assert jaxpr.pretty_print(print_shapes=False, width=200) == reference
    assert "test_printer.py:" in jaxpr.pretty_print(source_info=True)
    assert "# [layer]" in jaxpr.pretty_print(name_stack=True)
    assert " : {  } }" in jaxpr.pretty_print(print_effects=True)
    assert "\033[" in jaxpr.pretty_print(use_color=True)
    assert "keep_unused=False" in jaxpr.pretty_print(custom_pp_eqn_rules=False)
    narrow = jaxpr.pretty_print(width=20)
    assert max(map(len, narrow.splitlines())) < 60
    assert "".join(narrow.split()) == "".join(str(jaxpr).split())


def test_equations_and_open_jaxprs_print():
    closed = make_jaxpr(lambda x: lax.mul(lax.sin(x), 2.0))(X)
    assert [str(eqn) for eqn in closed.eqns] == [
        "a:f32[3] = sin b",
        "a:f32[3] = mul b 2.0:f32[]",
    ]
    assert str(closed) == str(closed.jaxpr) == repr(closed)


def renamed(function, name):
    function.__name__ = name
    return jit(function)


def test_jaxprs_in_front_have_names_of_their_own():
    f = renamed(lambda x: lax.sin(x), "f")
    g = renamed(lambda x: lax.cos(x), "f")
    h = renamed(lambda x: lax.tan(x), "f1")
    shown = str(make_jaxpr(lambda x: [op(op(x)) for op in (h, f, g)])(X))
    names = [line.split()[1] for line in shown.splitlines() if line.startswith("let ")]
    assert names == ["f1", "f", "f2"]
    bound = [part.split(":")[0] for part in shown.replace("; ", " ").split() if ":f32" in part]
    assert "f" not in bound


def test_one_long_jaxpr_is_printed_in_front():
    def chain(n):
        def f(x):
            for _ in range(n):
                x = lax.sin(x)
            return x

        return str(make_jaxpr(jit(f))(X))

    assert chain(10).startswith("{ lambda ;")
    assert chain(11).startswith("let f = { lambda ;")


def test_shared_jaxprs_print_once_however_often_they_are_called():
    function = lax.sin
    for level in range(60):  # 2 ** 60 calls

        def twice(x, inner=function):
            return inner(inner(x))

        function = renamed(twice, f"level{level}")
    shown = str(make_jaxpr(function)(X))
    assert shown.count("let level") == 59
    assert len(shown) < 20_000


def test_transformations_stand_around_the_names_of_scopes():
    def layer(x):
        with named_scope("outer"), named_scope("layer"):
            return jnp.sin(x) * x

    def stacks(f, x):
        return {(e.primitive.name, e.names) for e in make_jaxpr(f)(x).eqns}

    x = jnp.ones(3)
    forward = {("sin", "jvp(outer)/layer"), ("cos", "jvp(outer)/layer")}
    backward = {(name, "transpose(jvp(outer))/layer") for name in ("mul", "add_any")}
    assert forward | backward <= stacks(mj.grad(lambda x: layer(x).sum()), x)
    assert stacks(mj.vmap(layer), x) == {(n, "vmap(outer)/layer") for n in ("sin", "mul")}
    lanes = stacks(mj.vmap(mj.grad(layer)), x)
    assert ("cos", "vmap(jvp(outer))/layer") in lanes
    assert ("mul", "vmap(transpose(jvp(outer)))/layer") in lanes

    def whole(x):
        with named_scope("step"):
            return mj.jvp(layer, (x,), (x,))[1]

    assert ("cos", "step/jvp(outer)/layer") in stacks(whole, x)
    text = mj.jit(mj.grad(lambda x: layer(x).sum())).lower(x).as_text(debug_info=True)
    assert "/transpose(jvp(outer))/layer/mul" in text
