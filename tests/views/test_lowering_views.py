"""Lowering as libraries do it: programs emitted into a module, rules put over others."""

import numpy as np
import pytest

import minijax as jax
import minijax.extend as jex
import minijax.numpy as jnp
from minijax import export
from minijax.extend.mlir.dialects import stablehlo as hlo
from minijax.interpreters import mlir

sine = jax.make_jaxpr(jnp.sin)(jnp.ones(3))


def primitive(name, rule):
    """A primitive of one operand, lowered by a rule alone."""
    p = jex.core.Primitive(name)
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, rule)
    return p


def in_place(ctx, x):
    outs, tokens = mlir.jaxpr_subcomp(
        ctx.module_context,
        sine.jaxpr,
        ctx.name_stack,
        mlir.TokenSet(),
        [],
        x,
        dim_var_values=ctx.dim_var_values,
        const_lowering=ctx.const_lowering,
        outer_traceback=None,
    )
    assert not tokens.effects()
    return outs


def as_function(ctx, x):
    from minijax.extend.mlir.dialects import func

    made = mlir.lower_jaxpr_to_fun(
        ctx.module_context,
        "mine",
        sine,
        [],
        num_const_args=0,
        in_avals=sine.in_avals,
        arg_names=["angle"],
    )
    assert made.name.value == "mine"
    assert 'jax.arg_name = "angle"' in str(made)
    return func.CallOp(made, [x]).results


def called_back(ctx, x):
    outs, token, keepalive = mlir.emit_python_callback(
        ctx,
        lambda a: (np.sin(a),),
        None,
        [x],
        ctx.avals_in,
        ctx.avals_out,
        has_side_effect=False,
    )
    ctx.module_context.add_keepalive(keepalive)
    assert token is None
    return outs


@pytest.mark.parametrize("rule", [in_place, as_function, called_back])
def test_a_rule_emits_a_program(rule):
    p = primitive(f"sine_{rule.__name__}", rule)
    out = jax.jit(lambda x: p.bind(x) + 1)(jnp.arange(3.0))
    np.testing.assert_allclose(out, np.sin(np.arange(3)) + 1, rtol=1e-6)


def test_properties_of_a_module_context():
    seen = []

    def rule(ctx, x):
        seen.append(ctx.module_context)
        assert isinstance(seen[0].axis_context, mlir.ShardingContext)
        assert seen[0].axis_context.num_devices == 1
        assert mlir.aval_to_ir_types(ctx.module_context, ctx.avals_in[0]) == (x.type,)
        return mlir.flatten_ir_values([[x], ()])

    jax.jit(lambda x: primitive("says", rule).bind(x)).lower(1.0)
    assert seen[0].platforms == (jax.default_backend(),)


def test_a_module_of_its_own_and_its_merger():
    params = mlir.LoweringParameters()
    made = [
        mlir.lower_jaxpr_to_module(
            name,
            sine,
            num_const_args=0,
            in_avals=sine.in_avals,
            ordered_effects=[],
            platforms=["cpu"],
            backend=None,
            axis_context=mlir.ShardingContext(1),
            donated_args=[False],
            lowering_parameters=params,
        )
        for name in ("first", "second")
    ]
    first, second = (m.module for m in made)
    assert str(first).startswith("module @first")
    assert made[0].shape_poly_state.lowering_platforms == ("cpu",)
    assert mlir.merge_mlir_modules(first, "other", second) == "other"
    assert "func.func private @other(" in str(first)
    assert "func.func public @main(" in str(first)
    with pytest.raises(ValueError, match="several platforms"):
        mlir.lower_jaxpr_to_module("m", sine, platforms=["cpu", "tpu"])


def cosine(ctx, x, **params):
    return [hlo.cosine(x)]


def test_overriding_lowering_rules():
    """Also inside of what a program calls; the primitive keeps its own."""
    sin_p = sine.eqns[0].primitive
    f = jax.jit(lambda x: jax.lax.scan(lambda c, _: (jnp.sin(c), None), x, None, 1)[0])
    exported = export.export(f, _override_lowering_rules=[(sin_p, cosine)])(0.0)
    assert exported.call(0.0) == 1.0
    assert exported.vjp().call(0.0, 1.0)[0] == 1.0  # cos(0): the derivative of sin
    assert f(0.0) == 0.0
    parameters = mlir.LoweringParameters(override_lowering_rules=((sin_p, cosine),))
    text = str(
        mlir.lower_jaxpr_to_module(
            "m", sine, platforms=["cpu"], lowering_parameters=parameters
        ).module
    )
    assert "stablehlo.cosine" in text
    assert "stablehlo.sine" not in text


class Pair:
    def __init__(self, x):
        self.x = x


class PairType(jax.core.AbstractValue):
    __slots__ = ()


def test_types_and_constants_of_a_library():
    mlir.ir_type_handlers[PairType] = lambda _: (mlir.dtype_to_ir_type(np.int32),) * 2
    made = []
    mlir.register_constant_handler(Pair, lambda val, aval: made.append(val.x) or "value")
    try:
        assert len(mlir.aval_to_ir_types(None, PairType())) == 2
        assert mlir.ir_constant(Pair(3), aval=PairType()) == "value"
        assert made == [3]
    finally:
        del mlir.ir_type_handlers[PairType]
    with pytest.raises(TypeError, match="No ir_type_handler for aval type"):
        mlir.aval_to_ir_type(None, PairType())


def test_tokens_by_effect():
    tokens = mlir.TokenSet({"a": 1, "b": 2})
    assert tokens.subset(["b"]).items() == (("b", 2),)
    new = tokens.update_tokens(mlir.TokenSet({"a": 5}))
    assert (new.get("a"), new.get("b"), len(new)) == (5, 2, 2)
    with jex.lowering.JaxIrContext() as ctx, mlir.ir.Location.unknown(ctx):
        module = mlir.ir.Module.create()
        with mlir.ir.InsertionPoint(module.body):
            created = mlir.TokenSet.create(["print"])
    assert created.effects() == {"print"}
    assert "stablehlo.create_token" in str(module)
