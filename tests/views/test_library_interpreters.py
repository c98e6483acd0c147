"""Interpreters over jaxprs, as libraries write them.

Expected numbers are NumPy's, or results of the interpreted function; the same interpreters
compute them under JAX 0.10.2.
"""

import math

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.extend import core as jcore
from minijax.extend import linear_util as lu
from minijax.extend.core import primitives as pr
from minijax.interpreters import ad, mlir
from minijax.interpreters import partial_eval as pe
from minijax.views.private import module

UNSPECIFIED = module("jax._src.sharding_impls").UNSPECIFIED


@jax.custom_jvp
def doubled_slope(x):
    return jnp.sin(x)


doubled_slope.defjvp(lambda p, t: (doubled_slope(*p), 2.0 * t[0]))


@jax.custom_vjp
def tripled_slope(x):
    return jnp.exp(x)


tripled_slope.defvjp(lambda x: (tripled_slope(x), x), lambda x, ct: (ct * x * 3.0,))


def run(jaxpr, consts, args, rule):
    """Evaluate; `rule(eqn, vals)` takes precedence, unless it returns None."""
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
    read = lambda v: v.val if isinstance(v, jcore.Literal) else env[v]
    for eqn in jaxpr.eqns:
        vals = [read(v) for v in eqn.invars]
        outs = rule(eqn, vals)
        if outs is None:
            params = eqn.primitive.get_bind_params(eqn.params)
            outs = eqn.primitive.bind(*vals, **params)
            outs = outs if eqn.primitive.multiple_results else [outs]
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars]


def model(w, x):
    y, _ = lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=5)
    y = lax.cond(y.sum() > 0, jnp.sin, lambda y: y * 2 * y, y)
    return jax.checkpoint(jax.jit(lambda y: y @ w))(y)


W, X = jnp.eye(4) * 0.3, jnp.ones((3, 4))


def test_counting_flops():
    def flops(jaxpr):
        n = 0
        for e in jaxpr.eqns:
            if e.primitive is pr.dot_general_p:
                ((left, _), _) = e.params["dimension_numbers"]
                summed = math.prod(e.invars[0].aval.shape[i] for i in left)
                n += 2 * math.prod(e.outvars[0].aval.shape) * summed
            elif e.primitive is pr.scan_p:
                n += e.params["length"] * flops(e.params["jaxpr"].jaxpr)
            elif e.primitive is pr.cond_p:
                n += max(flops(b.jaxpr) for b in e.params["branches"])
            else:
                n += sum(map(flops, jcore.jaxprs_in_params(e.params)))
        return n

    assert flops(jax.make_jaxpr(model)(W, X).jaxpr) == 6 * 2 * 3 * 4 * 4


def test_replacing_a_primitive_everywhere():
    closed = jax.make_jaxpr(model)(W, X)

    def again(c):
        types = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in c.in_avals]
        return jax.make_jaxpr(lambda *xs: run(c.jaxpr, c.consts, xs, rule))(*types)

    def rule(eqn, vals):
        params = eqn.params
        if eqn.primitive is pr.tanh_p:
            return [vals[0] * 0.5]
        if eqn.primitive.name in ("jit", "remat2", "checkpoint"):
            sub = params["jaxpr"]
            return run(getattr(sub, "jaxpr", sub), getattr(sub, "consts", ()), vals, rule)
        if eqn.primitive is pr.scan_p:
            return pr.scan_p.bind(*vals, **dict(params, jaxpr=again(params["jaxpr"])))
        if eqn.primitive is pr.cond_p:
            branches = tuple(map(again, params["branches"]))
            return pr.cond_p.bind(*vals, **dict(params, branches=branches))
        return None

    linear = lambda w: run(closed.jaxpr, closed.consts, [w, X], rule)[0]
    expected = np.full((3, 4), np.sin(0.15**5) * 0.3)
    np.testing.assert_allclose(linear(W), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(linear)(W), expected, rtol=1e-5)


sow_p = jcore.Primitive("sow")
sow_p.def_impl(lambda x, *, name: x)
sow_p.def_abstract_eval(lambda x, *, name: x)
mlir.register_lowering(sow_p, lambda ctx, x, *, name: [x])


def harvest(fun, *args):
    """The result, and what was sown under each name, also inside of what is jitted."""
    reaped = {}

    def rule(eqn, vals):
        if eqn.primitive is sow_p:
            reaped[eqn.params["name"]] = vals[0]
            return vals
        if eqn.primitive is not pr.jit_p:
            return None
        params, closed, names = eqn.params, eqn.params["jaxpr"], []

        def inner(*xs):
            before = dict(reaped)
            reaped.clear()
            outs = run(closed.jaxpr, closed.consts, xs, rule)
            names[:] = reaped
            outs += reaped.values()
            reaped.clear()
            reaped.update(before)
            return outs

        wrapped = lu.wrap_init(inner, debug_info=closed.jaxpr.debug_info)
        jaxpr, avals, consts = pe.trace_to_jaxpr_dynamic(wrapped, closed.in_avals)
        more = len(avals) - len(params["out_shardings"])
        outs = pr.jit_p.bind(
            *vals,
            **dict(
                params,
                jaxpr=jcore.ClosedJaxpr(jaxpr, consts),
                in_shardings=params["in_shardings"],
                in_layouts=params["in_layouts"],
                out_shardings=(*params["out_shardings"], *[UNSPECIFIED] * more),
                out_layouts=(*params["out_layouts"], *[None] * more),
                ctx_mesh=params["ctx_mesh"],
            ),
        )
        n = len(outs) - more
        reaped.update(zip(names, outs[n:], strict=True))
        return outs[:n]

    closed = jax.make_jaxpr(fun)(*args)
    return run(closed.jaxpr, closed.consts, args, rule)[0], reaped


def test_sow_and_reap():
    sow = lambda x, name: sow_p.bind(x, name=name)
    f = lambda x: jax.jit(lambda y: sow(jnp.sin(y), "sin") * 3.0)(sow(x * 2.0, "twice"))
    out, reaped = harvest(f, 1.0)
    np.testing.assert_allclose(out, 3 * np.sin(2), rtol=1e-6)
    assert list(reaped) == ["twice", "sin"]
    np.testing.assert_allclose(list(reaped.values()), [2, np.sin(2)], rtol=1e-6)


def test_forward_mode_by_hand():
    def push(closed, primals, tangents):
        it = dict(zip(map(id, primals), tangents, strict=True))

        def rule(eqn, vals):
            primals = [p for p, _ in pairs(vals)]
            ts = [t for _, t in pairs(vals)]
            if eqn.primitive is pr.custom_jvp_call_p:
                zeros = [t is None for t in ts]
                fun = eqn.params["jvp_jaxpr_fun"]
                jaxpr, consts, out_zeros = fun.call_wrapped(*zeros)
                assert eqn.params["num_consts"] == 0
                nonzero_tangents = [t for t in ts if t is not None]
                outs = jax.core.eval_jaxpr(jaxpr, consts, *primals, *nonzero_tangents)
                left = iter(outs[len(out_zeros) :])
                return [
                    (p, None if z else next(left))
                    for p, z in zip(outs, out_zeros, strict=False)
                ]
            ts = [
                ad.Zero(jax.typeof(p).to_tangent_aval()) if t is None else t
                for p, t in zip(primals, ts, strict=True)
            ]
            jvp = ad.primitive_jvps[eqn.primitive]
            p, t = jvp(primals, ts, **eqn.params)
            return [(p, None if type(t) is ad.Zero else t)]

        pairs = lambda vals: [v if isinstance(v, tuple) else (v, None) for v in vals]
        args = [(p, it[id(p)]) for p in primals]
        return run(closed.jaxpr, closed.consts, args, rule)

    f = lambda x, y: doubled_slope(x * x) * jnp.tanh(y)
    closed = jax.make_jaxpr(f)(1.0, 2.0)
    ((out, tangent),) = push(closed, [1.5, 2.0], [1.0, None])
    assert out == f(1.5, 2.0)
    np.testing.assert_allclose(tangent, 2 * 2 * 1.5 * np.tanh(2), rtol=1e-6)


def test_a_rule_for_some_of_the_tangents():
    product = jax.custom_jvp(lambda x, y: x * y)
    product.defjvp(lambda p, t: (product(*p), 10.0 * t[0] * p[1]))
    params = jax.make_jaxpr(product)(1.0, 2.0).eqns[0].params
    jaxpr, consts, zeros = params["jvp_jaxpr_fun"].call_wrapped(False, True)
    assert (len(jaxpr.invars), zeros) == (3, [False])
    assert jax.core.eval_jaxpr(jaxpr, consts, 3.0, 2.0, 1.0) == [6.0, 20.0]


def test_reverse_rules_by_hand():
    params = jax.make_jaxpr(tripled_slope)(1.0).eqns[0].params
    jaxpr, consts = params["fwd_jaxpr_thunk"].call_wrapped(False)
    _, residuals, forwarded = params["out_trees"]()
    assert forwarded == [None] * residuals.num_leaves
    outs = jax.core.eval_jaxpr(jaxpr, consts, 2.0)
    n = residuals.num_leaves
    assert outs[n:] == [tripled_slope(2.0)]
    assert params["bwd"].call_wrapped(*outs[:n], 1.0) == [jax.grad(tripled_slope)(2.0)]
    assert params["bwd"].call_wrapped(*outs[:n], 1.0) == [6.0]
    assert (params["symbolic_zeros"], params.get("num_consts")) == (False, 0)


def test_python_of_a_program():
    text = {
        "sin": "np.sin({})",
        "exp": "np.exp({})",
        "mul": "{} * {}",
        "sub": "{} - {}",
        "add": "{} + {}",
    }

    def code(jaxpr, name):
        names = {}

        def word(v):
            if isinstance(v, jcore.Literal):
                return repr(float(v.val))
            return names.setdefault(v, f"v{len(names)}")

        lines = [f"def {name}({', '.join(map(word, jaxpr.invars))}):"]
        for i, e in enumerate(jaxpr.eqns):
            sub = e.params.get("jaxpr") or e.params.get("call_jaxpr")
            words = [word(v) for v in e.invars]
            if sub is None:
                rhs = f"[{text[e.primitive.name].format(*words)}]"
            else:
                lines += [f"  {x}" for x in code(sub.jaxpr, f"{name}_{i}")]
                rhs = f"{name}_{i}({', '.join(words)})"
            lines.append(f"  [{', '.join(map(word, e.outvars))}] = {rhs}")
        return [*lines, f"  return [{', '.join(map(word, jaxpr.outvars))}]"]

    f = lambda x, y: (
        jax.jit(lambda a: jnp.exp(a) * y)(doubled_slope(x)) + tripled_slope(y) - 1.0
    )
    scope = {"np": np}
    exec("\n".join(code(jax.make_jaxpr(f)(1.0, 2.0).jaxpr, "f")), scope)
    expected = np.exp(np.sin(1.0)) * 2 + np.exp(2.0) - 1
    np.testing.assert_allclose(scope["f"](1.0, 2.0), [expected], rtol=1e-6)


def test_shardings_of_a_jitted_function():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(mesh, jax.P("i"))
    f = jax.jit(
        lambda x, y: (x + 1, y), in_shardings=(sharding, None), out_shardings=(None, sharding)
    )
    params = jax.make_jaxpr(f)(jnp.ones(2), jnp.ones(2)).eqns[0].params
    assert params["in_shardings"] == (sharding, UNSPECIFIED)
    assert params["out_shardings"] == (UNSPECIFIED, sharding)
    assert params["ctx_mesh"] is mesh
    assert params.copy()["in_layouts"] == params["out_layouts"] == (None, None)
    assert "in_shardings" not in dict(params)
    again = jax.jit(  # as libraries hand them on
        lambda x, y: (x + 1, y),
        in_shardings=params["in_shardings"],
        out_shardings=params["out_shardings"],
    )
    eqn_params = jax.make_jaxpr(again)(jnp.ones(2), jnp.ones(2)).eqns[0].params
    assert eqn_params["in_shardings"] == (sharding, UNSPECIFIED)
    silent = jax.jit(jnp.sin, in_shardings=UNSPECIFIED, out_shardings=UNSPECIFIED)
    assert silent(0.0) == 0.0
    with pytest.raises(KeyError, match="no_such"):
        params["no_such"]


def test_binding_in_the_form_with_shardings():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(mesh, jax.P("i"))
    closed = jax.make_jaxpr(lambda x: x * 2)(jnp.ones(4))
    form = dict(
        in_shardings=(UNSPECIFIED,),
        out_shardings=(sharding,),
        in_layouts=(None,),
        out_layouts=(None,),
        donated_invars=(False,),
        ctx_mesh=mesh,
        name="g",
        keep_unused=False,
        inline=False,
        compiler_options_kvs=(),
    )
    (out,) = pr.jit_p.bind(jnp.ones(4), jaxpr=closed, **form)
    assert out.sharding == sharding
    np.testing.assert_array_equal(out, np.full(4, 2.0))
    with pytest.raises(ValueError, match="does not take layouts"):
        pr.jit_p.bind(jnp.ones(4), jaxpr=closed, **{**form, "in_layouts": ("x",)})


def test_programs_of_a_linear_solve():
    solve = lambda x: lax.custom_linear_solve(
        lambda y: 2 * y, x, lambda f, b: b / 2, symmetric=True
    )
    params = jax.make_jaxpr(solve)(jnp.ones(2)).eqns[0].params
    assert params["const_lengths"].matvec == 0
    assert params["jaxprs"].solve.eqns[0].primitive is pr.div_p


def test_no_view_is_loaded_by_what_is_printed_or_transformed():
    import subprocess
    import sys

    code = """
import sys, minijax as jax, minijax.numpy as jnp
f = jax.checkpoint(lambda x: jax.lax.cond(x > 0, jnp.sin, jax.jit(jnp.cos), x))
print(jax.make_jaxpr(jax.vmap(jax.grad(f)))(jnp.ones(2)))
sys.exit(any(".views" in name for name in sys.modules))
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
