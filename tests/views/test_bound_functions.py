"""Equations bound again, as interpreters of jaxprs do.

They are bound with the params that `get_bind_params` returns, and calls with functions
(`subfuns`) that a library has wrapped.  JAX 0.10.2 accepts the same forms; the expected
slopes follow from the rules here.
"""

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.extend import core as jcore
from minijax.extend import linear_util as lu
from minijax.extend.core import primitives as pr
from minijax.views.private import module

call_p = module("jax._src.core").call_p


@jax.custom_jvp
def five_slope(x, y):
    return 2 * x + y


five_slope.defjvp(lambda p, t: (five_slope(*p), 5 * t[0] + t[1]))


@jax.custom_jvp
def with_symbolic_zeros(x, y):
    return x * y


@jax.custom_vjp
def seven_slope(x, y):
    return 3 * x + y


seven_slope.defvjp(lambda x, y: (3 * x + y, x), lambda x, ct: (7 * ct * x, 11 * ct))


def with_symbolic_zeros_jvp(primals, tangents):
    zero = type(tangents[1]) is jax.custom_derivatives.SymbolicZero
    return with_symbolic_zeros(*primals), tangents[0] * (100.0 if zero else 1.0)


with_symbolic_zeros.defjvp(with_symbolic_zeros_jvp, symbolic_zeros=True)


@jax.custom_batching.custom_vmap
def in_lanes(x):
    return x + 1


in_lanes.def_vmap(lambda n, batched, x: (x + 2, batched[0]))


def solve(x):
    return lax.custom_linear_solve(lambda y: y * 2, x, lambda f, b: b / 2, symmetric=True)


def root(x):
    cube = lambda y: y**3 - x
    return lax.custom_root(cube, x, lambda f, y: jnp.cbrt(x), lambda g, y: y / g(1.0))


def steps(x):
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))[1]


def in_parts(x):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    square = jax.shard_map(lambda v: v * v, mesh=mesh, in_specs=jax.P(), out_specs=jax.P())
    return square(x)


CALLS = {
    "custom_jvp": lambda x: five_slope(x, 1.0),
    "custom_jvp of symbolic zeros": lambda x: with_symbolic_zeros(x, 3.0),
    "custom_vjp": lambda x: seven_slope(x, 1.0),
    "custom_vmap": in_lanes,
    "jit": jax.jit(lambda x: x * x),
    "remat": jax.checkpoint(lambda x: x * x * x),
    "cond": lambda x: lax.cond(x > 0, lambda x: x * x, lambda x: -x, x),
    "scan": lambda x: lax.scan(lambda c, _: (c * x, c), x, None, 2)[0],
    "while": steps,
    "shard_map": in_parts,
    "custom_linear_solve": solve,
    "custom_root": root,
    "composite": lax.composite(lambda x: x * x, "a.square"),
    "linear_call": lambda x: jax.custom_derivatives.linear_call(
        lambda r, x: x * r, lambda r, ct: ct * r, 3.0, x
    ),
    "call": lambda x: call_p.bind(x, subfuns=(lu.wrap_init(lambda v: [v * v]),))[0],
}


def evaluate(closed, *args, around=None):
    """An interpreter as JAX's documentation shows it."""
    env = dict(zip(closed.jaxpr.invars, args, strict=True))
    env.update(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    read = lambda v: v.val if isinstance(v, jcore.Literal) else env[v]
    for eqn in closed.jaxpr.eqns:
        params = eqn.primitive.get_bind_params(eqn.params)
        if around is not None and "subfuns" in params:
            params["subfuns"] = tuple(map(around, params["subfuns"]))
        out = eqn.primitive.bind(*map(read, eqn.invars), **params)
        out = out if eqn.primitive.multiple_results else [out]
        env.update(zip(eqn.outvars, out, strict=True))
    return [read(v) for v in closed.jaxpr.outvars]


def taken_through(function):
    """A library's transformation: a function that calls the one that it is around."""

    @lu.transformation2
    def through(f, *args):
        return f(*args)

    return through(function)


@pytest.mark.parametrize("name", CALLS)
def test_binding_again_makes_the_same_program(name):
    fun = CALLS[name]
    closed = jax.make_jaxpr(fun)(2.0)
    again = jax.make_jaxpr(lambda x: evaluate(closed, x)[0])(2.0)
    assert str(again) == str(closed)
    assert evaluate(closed, 2.0)[0] == fun(2.0)
    run, xs = lambda x: evaluate(closed, x)[0], jnp.array([2.0, 3.0])
    if name != "while":  # `while` has no reverse mode
        assert jax.grad(run)(2.0) == jax.grad(fun)(2.0)
    assert jax.vmap(run)(xs).tolist() == jax.vmap(fun)(xs).tolist()


@pytest.mark.parametrize(
    ("name", "slopes"),
    [
        ("custom_jvp", 5.0),
        ("custom_jvp of symbolic zeros", 100.0),
        ("custom_vjp", 14.0),
        ("call", 4.0),
    ],
)
def test_functions_that_a_library_wraps(name, slopes):
    fun = CALLS[name]
    closed = jax.make_jaxpr(fun)(2.0)
    run = lambda x: evaluate(closed, x, around=taken_through)[0]
    assert run(2.0) == fun(2.0)
    assert jax.grad(run)(2.0) == slopes
    assert str(jax.make_jaxpr(run)(2.0)).splitlines()[0] == str(closed).splitlines()[0]
    doubled = lambda f: lu.wrap_init(lambda *xs: [2 * x for x in f.call_wrapped(*xs)])
    assert evaluate(closed, 2.0, around=doubled)[0] == 2 * fun(2.0)


def test_functions_of_a_call_can_be_called():
    params = jax.make_jaxpr(five_slope)(1.0, 2.0).eqns[0].params
    bound = pr.custom_jvp_call_p.get_bind_params(params)
    assert sorted(bound) == ["subfuns", "symbolic_zeros"]
    fun, jvp = bound["subfuns"]
    assert fun.call_wrapped(1.0, 2.0) == [4.0]
    assert jvp.call_wrapped(1.0, 2.0, 1.0, 10.0) == [4.0, 15.0]
    params = jax.make_jaxpr(seven_slope)(1.0, 2.0).eqns[0].params
    bound = pr.custom_vjp_call_p.get_bind_params(params)
    _, fwd, bwd = bound["subfuns"]
    for _ in range(2):  # before the rule has run, and after
        outs, residuals, forwarded = bound["out_trees"]()
        assert (outs.num_leaves, residuals.num_leaves, forwarded) == (1, 1, [None])
        assert fwd.call_wrapped(2.0, True, 1.0, False) == [2.0, 7.0]
    assert bwd.call_wrapped(2.0, 1.0) == [14.0, 11.0]


def test_a_call_bound_by_functions():
    wrap = lambda f: lu.wrap_init(f)
    trees = lambda: (jax.tree.structure([0]), jax.tree.structure([0, 0]), [0, None])

    def call(x, y):
        # The first residual is an operand, which the rule does not return.
        fwd = lambda x, x_moves, y, y_moves: [y * 3, x * y]
        bwd = lambda first, second, ct: [ct * second, None if first is None else ct]
        (out,) = pr.custom_vjp_call_p.bind(
            x,
            y,
            subfuns=(wrap(lambda x, y: [x * y]), wrap(fwd), wrap(bwd)),
            out_trees=trees,
            symbolic_zeros=False,
        )
        return out

    assert call(2.0, 3.0) == 6.0
    assert jax.grad(call, (0, 1))(2.0, 3.0) == (9.0, 1.0)
    assert jax.jit(jax.grad(call))(2.0, 3.0) == 9.0
    with pytest.raises(TypeError, match=r"jit\.bind takes no subfuns"):
        pr.jit_p.bind(1.0, subfuns=())


class Seen(jax.core.Tracer):
    def __init__(self, trace, value):
        super().__init__(trace, jax.typeof(value))
        self.value = value


class Differentiating(jax.core.Trace):
    """A library's trace that asks a reverse rule for the cotangents of ones."""

    def process_custom_vjp_call(self, prim, fun, fwd, bwd, args, *, out_trees, symbolic_zeros):
        with jcore.set_current_trace(self.parent_trace):
            xs = [x.value if isinstance(x, Seen) else x for x in args]
            outs = fwd.call_wrapped(*[v for x in xs for v in (x, True)])
            n = out_trees()[1].num_leaves
            cts = bwd.call_wrapped(*outs[:n], *np.ones(len(outs) - n, np.float32))
            assert not symbolic_zeros
        return [Seen(self, ct) for ct in cts][:1]


def test_a_librarys_trace_receives_reverse_rules():
    with jcore.take_current_trace() as parent:
        trace = Differentiating(parent)
        with jcore.set_current_trace(trace):
            out = seven_slope(Seen(trace, 2.0), 1.0)
    assert out.value == 14.0
