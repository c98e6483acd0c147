"""Names of operations in compiled programs: scopes, regions and transformations."""

import re

import pytest

import minijax as mj
import minijax.numpy as jnp

X = jnp.arange(1.0, 4.0)


def scoped(run):
    def f(x):
        with mj.named_scope("foo"):
            return run(x)

    return f


def body(x):
    with mj.named_scope("bar"):
        return x * 2.0


custom = mj.custom_vjp(jnp.sin)
custom.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))
PROGRAMS = {
    "while": scoped(lambda x: mj.lax.while_loop(lambda c: c.sum() < 9.0, body, x)),
    "scan": scoped(lambda x: mj.lax.scan(lambda c, _: (body(c), 0), x, length=3)[0]),
    "cond": scoped(lambda x: mj.lax.cond(x[0] > 0, body, jnp.sin, x)),
    "jit": scoped(lambda x: mj.jit(body)(x)),
    "remat": scoped(mj.checkpoint(lambda x: jnp.sin(body(x)))),
    "custom": scoped(custom),
    "rule": scoped(
        lambda x: mj.lax.linalg.triangular_solve(jnp.eye(3), x[:, None], left_side=True)
    ),
    "einsum": scoped(lambda x: jnp.einsum("i,i->", x, x)),
}
SIMPLE = {
    "plain cond": lambda x: mj.lax.cond(x[0] > 0, body, jnp.sin, x),
    "plain jit": lambda x: mj.jit(body)(x),
}


def names(f, x):
    """The names of a program's operations, as XLA has them."""
    text = mj.jit(f).lower(x).as_text("hlo", debug_info=True)
    return set(re.findall(r'op_name="([^"]*)"', text))


GRAD = lambda f: mj.grad(lambda x: f(x).sum())


# What JAX 0.10.2 names these operations.
@pytest.mark.parametrize(
    "program, transform, expected",
    (
        ("while", lambda f: f, "jit(f)/foo/while/body/bar/mul"),
        ("while", lambda f: f, "jit(f)/foo/while/cond/lt"),
        ("while", mj.vmap, "jit(f)/vmap(foo)/while/body/bar/mul"),
        ("scan", lambda f: f, "jit(f)/foo/while"),
        ("scan", lambda f: f, "jit(f)/foo/while/body/closed_call/bar/mul"),
        ("scan", GRAD, "jit(<lambda>)/transpose(jvp(foo))/while"),
        ("scan", GRAD, "jit(<lambda>)/transpose(jvp(foo))/while/body/closed_call/bar/mul"),
        ("cond", lambda f: f, "jit(f)/foo/cond/branch_0_fun/sin"),
        ("cond", lambda f: f, "jit(f)/foo/cond/branch_1_fun/bar/mul"),
        ("cond", GRAD, "jit(<lambda>)/jvp(foo)/cond/branch_0_fun/cos"),
        ("cond", mj.vmap, "jit(f)/vmap(foo)/sin"),
        ("plain cond", mj.vmap, "jit(<lambda>)/vmap(bar)/mul"),
        ("plain jit", mj.vmap, "jit(<lambda>)/vmap(jit(body))"),
        ("plain jit", GRAD, "jit(<lambda>)/transpose(jvp(jit(body)))"),
        ("einsum", lambda f: f, "jit(f)/foo/i,i->/dot_general"),
        ("jit", lambda f: f, "jit(f)/foo/jit(body)"),
        ("jit", lambda f: f, "bar/mul"),
        ("jit", GRAD, "jit(<lambda>)/transpose(jvp(foo))/jit(body)"),
        ("remat", lambda f: f, "jit(f)/foo/checkpoint"),
        ("remat", GRAD, "jit(<lambda>)/transpose(jvp(foo))/checkpoint"),
        ("remat", GRAD, "rematted_computation/bar/mul"),
        ("remat", GRAD, "rematted_computation/cos"),
        ("custom", lambda f: f, "jit(f)/foo/sin"),
        ("custom", mj.vmap, "jit(f)/vmap(foo)/sin"),
        ("custom", GRAD, "jit(<lambda>)/transpose(jvp(foo))/cos"),
    ),
)
def test_operations_are_named_by_scopes_and_regions(program, transform, expected):
    x = jnp.stack([X, X]) if transform is mj.vmap else X
    assert expected in names(transform((PROGRAMS | SIMPLE)[program]), x)


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_operation_loses_the_scope_around_it(program):
    for name in names(PROGRAMS[program], X) - {"x"}:  # the argument
        assert name.startswith(("jit(f)/foo", "bar/", "sin")), name


def test_arguments_have_their_names_as_locations():
    """As JAX 0.10.2 names them; what is not read has no argument."""

    def f(params, xs, unused, *rest, scale=1.0):
        return params["w"] * xs[0] * xs[1][1] * rest[0] * scale

    args = {"w": X}, [X, (X, X)], X, X
    lowered = mj.jit(f).lower(*args, scale=X)
    text = lowered.as_text(debug_info=True)
    names = re.findall(r'%arg\d+: tensor<3xf32> loc\("([^"]*)"\)', text)
    assert names == ["params['w']", "xs[0]", "xs[1][1]", "rest[0]", "scale"]
    hlo = lowered.as_text("hlo", debug_info=True)
    assert 'op_name="xs[1][1]"' in hlo and 'op_name="scale"' in hlo
    assert "loc(" not in lowered.as_text()
    captured = mj.jit(lambda x: x + X).lower(X).as_text(debug_info=True)
    assert re.findall(r"%arg\d+: tensor<3xf32> loc\((.*?)\)", captured) == ["unknown", '"x"']


def test_metadata_reaches_the_calls_that_it_is_about():
    @mj.jit
    def f(x):
        with mj.experimental.xla_metadata.set_xla_metadata(stage=1):
            return mj.jit(body)(x)

    text = f.lower(X).as_text()
    assert re.search(r'call @body.*stage = "1"', text), text


def test_the_compiler_sees_names_of_scopes():
    hlo = mj.jit(PROGRAMS["remat"]).lower(X).compiler_ir("hlo")
    text = hlo.get_hlo_module().to_string()
    assert "checkpoint" in text and "rematted_computation" not in text
    assert "sin." in hlo.as_hlo_text() and "metadata" not in hlo.as_hlo_text()
