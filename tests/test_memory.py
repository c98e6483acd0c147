"""Caches of a function are freed with it, and `clear_caches` frees all.

Functions often close over large arrays, and a program created in each step of a long run
must be freed.
"""

import functools
import gc
import pickle
import time
import weakref

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.custom_derivatives import linear_call
from minijax.experimental import checkify
from minijax.experimental.custom_partitioning import custom_partitioning
from minijax.experimental.jet import jet
from minijax.experimental.ode import odeint
from minijax.ir.jaxpr import Jaxpr
from minijax.runtime.running import compile as compiler
from minijax.runtime.running import dispatch

X = np.array([1.0, 2.0, 3.0], np.float32)


def with_jvp(f):
    g = mj.custom_jvp(f)
    g.defjvps(lambda t, out, x: t)
    return g


def with_vjp(f):
    g = mj.custom_vjp(f)
    g.defvjp(lambda x: (f(x), None), lambda res, ct: (ct,))
    return g


def total(f):
    return lambda x: f(x).sum()


def steps(f):
    return lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=2)[0]


ROW = mj.sharding.NamedSharding(mj.sharding.Mesh(np.array(mj.devices()[:3]), ("x",)), mj.P("x"))

USES = {
    "jit_shardings": lambda f: mj.jit(f, in_shardings=ROW, out_shardings=ROW)(X),
    "jit_spread": lambda f: mj.jit(total(f))(mj.device_put(X, ROW)),
    "jit_spread_aot": lambda f: mj.jit(f).lower(mj.device_put(X, ROW)).compile(),
    "constraint": lambda f: mj.jit(lambda x: lax.with_sharding_constraint(f(x), ROW))(X),
    "jit": lambda f: mj.jit(f)(X),
    "jit_aot": lambda f: mj.jit(f).lower(X).compile()(X),
    "jit_static": lambda f: mj.jit(lambda f, x: f(x), static_argnums=0)(f, X),
    "jit_grad": lambda f: mj.jit(mj.grad(total(f)))(X),
    "jit_callback": lambda f: mj.jit(lambda x: (mj.debug.callback(f, x), x)[1])(X),
    "make_jaxpr": lambda f: mj.make_jaxpr(f)(X),
    "eval_shape": lambda f: mj.eval_shape(f, X),
    "grad": lambda f: mj.grad(total(f))(X),
    "hessian": lambda f: mj.hessian(total(f))(X),
    "vjp": lambda f: mj.vjp(f, X)[1](X),
    "linearize": lambda f: mj.linearize(f, X)[1](X),
    "vmap": lambda f: mj.vmap(f)(X),
    "pmap": lambda f: mj.pmap(f)(X),
    "pmap_scan": lambda f: mj.pmap(steps(f))(np.stack([X, X])),
    "scan": lambda f: steps(f)(X),
    "grad_scan": lambda f: mj.grad(total(steps(f)))(X),
    "vmap_scan": lambda f: mj.vmap(steps(f))(np.stack([X, X])),
    "map": lambda f: lax.map(f, X),
    "fori_loop": lambda f: lax.fori_loop(0, 2, lambda i, c: f(c), X),
    "while_loop": lambda f: lax.while_loop(lambda c: c[0] > 10, f, X),
    "max_steps": lambda f: mj.grad(
        lambda x: lax.while_loop(lambda c: c[0] > 9, f, x, max_steps=2).sum()
    )(X),
    "cond": lambda f: lax.cond(X[0] > 0, f, f, X),
    "switch": lambda f: lax.switch(1, [f, f], X),
    "associative_scan": lambda f: lax.associative_scan(lambda a, b: f(a) + b, X),
    "checkpoint": lambda f: mj.grad(total(mj.checkpoint(f)))(X),
    "custom_jvp": lambda f: mj.grad(total(with_jvp(f)))(X),
    "custom_vjp": lambda f: mj.grad(total(with_vjp(f)))(X),
    "custom_gradient": lambda f: mj.custom_gradient(lambda x: (f(x), f))(X),
    "closure_convert": lambda f: mj.closure_convert(f, X),
    "solve": lambda f: lax.custom_linear_solve(lambda v: 2 * v, X, lambda _, b: f(b)),
    "sequential_vmap": lambda f: mj.vmap(mj.custom_batching.sequential_vmap(f))(X),
    "vectorize": lambda f: jnp.vectorize(f)(X),
    "checkify": lambda f: checkify.checkify(f)(X),
    "jet": lambda f: jet(f, (X,), ((X,),)),
    "ref": lambda f: mj.jit(lambda r: r.__setitem__(..., f(r[...])))(
        mj.new_ref(jnp.asarray(X))
    ),
}


def fresh():
    held = np.ones(10)

    def f(x):
        return jnp.sin(x) * held.size

    return f


def collect():
    gc.collect()
    mj.pmap(lambda x: x)(X)  # the next call releases what the runtime still holds
    mj.jit(lambda x: x)(X)
    gc.collect()


@pytest.mark.parametrize("name", USES)
def test_a_dropped_function_is_freed(name):
    f = fresh()
    alive = weakref.ref(f)
    USES[name](f)
    mj.effects_barrier()
    del f
    for _ in range(1000):  # the runtime releases callbacks when it runs others
        gc.collect()
        mj.jit(lambda x: x + 1)(X)
        gc.collect()  # which may refer to one another
        if alive() is None:
            break
        time.sleep(0.01)  # done in another thread
    assert alive() is None


# ------------------------------------------------------------ functions that hold arrays

MESH = mj.sharding.Mesh(np.array(mj.devices()[:1]), ("i",))


def vjp_rule(f):
    g = mj.custom_vjp(f)
    # The rules call the function itself, and keep its arrays alive.
    g.defvjp(lambda x: (g(x), x), lambda x, ct: (ct * f(x),))
    return g


def vjp_fixed(f):
    g = mj.custom_vjp(lambda f, x: f(x), nondiff_argnums=(0,))
    g.defvjp(lambda f, x: (g(f, x), x), lambda f, x, ct: (ct * f(x),))
    return lambda x: g(f, x)


def vjp_remat(f):
    g = mj.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * f(x),), optimize_remat=True)
    return g


def vjp_zeros(f):
    g = mj.custom_vjp(f)
    fwd = lambda x: (g(x.value), x.value)
    g.defvjp(fwd, lambda x, ct: (ct * f(x),), symbolic_zeros=True)
    return g


def jvp_rule(f):
    g = mj.custom_jvp(f)
    g.defjvp(lambda primals, tangents: (g(*primals), f(*primals) * tangents[0]))
    return g


def vmap_rule(f):
    g = mj.custom_batching.custom_vmap(f)
    g.def_vmap(lambda size, batched, x: (mj.vmap(f)(x), batched[0]))
    return g


def gradient_rule(f):
    return mj.custom_gradient(lambda x: (f(x), lambda ct: ct * f(x)))


def in_method(f):
    class Module:
        def __init__(self):
            self.compiled = mj.jit(self.step)
            self.f = vjp_rule(f)

        def step(self, x):
            return self.f(x)

    return Module().compiled


def in_instance(f):
    class Module:
        def __init__(self):
            self.f = vjp_rule(f)
            self.f.module = self

        def __call__(self, x):
            return self.f(x)

    return mj.jit(Module())


def pure(f):
    run = lambda x: np.asarray(f(np.asarray(x)))
    g = mj.custom_jvp(lambda x: mj.pure_callback(run, x, x, vmap_method="sequential"))
    g.defjvps(lambda t, out, x: t * f(x))
    return g


def partitioned(f):
    g = custom_partitioning(f)
    g.def_partition(
        infer_sharding_from_operands=lambda mesh, args, out: args[0].sharding,
        partition=lambda mesh, args, out: (mesh, f, args[0].sharding, (args[0].sharding,)),
        sharding_rule="i -> i",
    )
    return g


def exported(f):
    return lambda x: mj.export.export(mj.jit(f))(x).call(x)


KINDS = {
    "vjp_rule": vjp_rule,
    "vjp_fixed": vjp_fixed,
    "vjp_remat": vjp_remat,
    "vjp_zeros": vjp_zeros,
    "jvp_rule": jvp_rule,
    "vmap_rule": vmap_rule,
    "gradient_rule": gradient_rule,
    "in_method": in_method,
    "in_instance": in_instance,
    "sequential_vmap": mj.custom_batching.sequential_vmap,
    "pure_callback": pure,
    "custom_partitioning": partitioned,
    "exported": exported,
    "jit": lambda f: mj.jit(vjp_rule(f)),
    "checkpoint": lambda f: mj.checkpoint(vjp_rule(f)),
    "scan": lambda f: steps(vjp_rule(f)),
    "cond": lambda f: lambda x: lax.cond(x[0] > 0, vjp_rule(f), f, x),
    "named_call": lambda f: mj.named_call(vjp_rule(f), name="f"),
    "partial": lambda f: mj.tree_util.Partial(lambda g, x: g(x), vjp_rule(f)),
    "closure_convert": lambda f: lambda x: mj.closure_convert(vjp_rule(f), x)[0](x),
    "shard_map": lambda f: mj.shard_map(
        vjp_rule(f), mesh=MESH, in_specs=mj.P("i"), out_specs=mj.P("i")
    ),
    "custom_root": lambda f: (
        lambda x: lax.custom_root(
            lambda y: y - f(x), x, lambda g, y: f(x), lambda g, y: y / g(1.0)
        )
    ),
    "custom_linear_solve": lambda f: (
        lambda x: lax.custom_linear_solve(
            lambda v: v * f(X), x, lambda mv, b: b / f(X), lambda mv, b: b / f(X)
        )
    ),
    "linear_call": lambda f: (
        lambda x: linear_call(lambda _, x: x * f(X), lambda _, ct: ct * f(X), (), x)
    ),
    "ufunc": lambda f: lambda x: jnp.frompyfunc(lambda a, b: a * f(b), 2, 1).accumulate(x),
    "odeint": lambda f: lambda x: odeint(lambda y, t: -f(y), x, X)[-1],
}

MODES = {
    "jit": lambda f: mj.jit(f)(X),
    "jit_grad": lambda f: mj.jit(mj.grad(total(f)))(X),
    "vmap_grad": lambda f: mj.vmap(mj.grad(total(f)))(np.stack([X, X])),
}


def closing_over(held):
    return lambda x: x * held[0, 0]


def held_by(use, times):
    """Return how many of the arrays that the functions held are still alive."""
    refs = []
    for _ in range(times):
        held = np.ones((64, 1024), np.float32)
        refs.append(weakref.ref(held))
        use(closing_over(held))
    del held
    for _ in range(20):
        collect()
        mj.effects_barrier()
        left = sum(ref() is not None for ref in refs)
        if not left:
            break
        time.sleep(0.01)
    return left


@pytest.mark.parametrize("mode", MODES)
def test_arrays_that_functions_hold_are_freed(mode):
    left = {}
    for name, kind in KINDS.items():
        unmapped = name == "exported" and "vmap" in mode
        underived = name in ("exported", "custom_partitioning") and "grad" in mode
        if not unmapped and not underived:
            left[name] = held_by(lambda f, k=kind: MODES[mode](k(f)), 2)
    assert not any(left.values()), left


@pytest.mark.parametrize("kind", ["vjp_rule", "jvp_rule", "vmap_rule"])
@pytest.mark.parametrize("mode", ["jit", "jit_grad"])
def test_a_hundred_dropped_functions_keep_nothing_alive(kind, mode):
    assert held_by(lambda f: MODES[mode](KINDS[kind](f)), 100) == 0


def test_caches_are_not_copied_with_a_function():
    f = lambda x: jnp.sin(x)
    traced = []
    mj.jit(f)(X)

    @functools.wraps(f)
    def g(x):
        traced.append(x)
        return jnp.cos(x)

    assert g.__dict__.keys() >= f.__dict__.keys()  # the attribute, but of another function
    np.testing.assert_allclose(mj.jit(g)(X), np.cos(X), rtol=1e-6)
    assert len(traced) == 1
    remaining = pickle.loads(pickle.dumps(vars(f)))
    assert all(type(x) is dict and not x for x in remaining.values())


def test_a_function_is_traced_once_however_often_it_is_jitted():
    calls = []

    class Module:
        def __call__(self, x):
            calls.append(x)
            return jnp.sin(x)

        def step(self, x):
            return self(x)

    for f in (lambda x: module(x), module := Module(), module.step):
        calls.clear()
        for _ in range(3):
            mj.jit(f)(X)
            lax.scan(lambda c, _, f=f: (f(c), None), X, None, length=2)
        assert len(calls) == 1 + 3  # the body of each loop is a separate function


def count():
    """Return the number of programs of single primitives, and of primitives with jaxprs."""
    collect()
    return len(dispatch._programs), len(dispatch._with_programs)


def test_programs_of_loops_are_forgotten():
    for name in ("scan", "while_loop", "cond", "grad_scan", "pmap"):
        USES[name](fresh())
        primitives, loops = count()
        for _ in range(10):
            USES[name](fresh())
        repeated, more = count()
        assert repeated == primitives
        assert more <= loops + 1, name  # one may still run


def programs():
    collect()
    return sum(isinstance(x, Jaxpr) for x in gc.get_objects())


def test_types_of_results_keep_no_programs():
    branch = lambda x, c: lax.cond(x[0] > c, lambda: x, lambda: x + c)
    solve = lambda x, c: lax.custom_linear_solve(
        lambda z: z * c, x, lambda f, z: z / c, symmetric=True
    )
    for f in (branch, solve):
        use = lambda c, f=f: mj.make_jaxpr(lambda x: f(x, c))(X) and None
        use(2.0)
        before = programs()
        for c in (3.0, 4.0, 5.0):
            use(c)
        assert programs() == before


def test_the_latest_executables_are_few(monkeypatch):
    full = compiler._RECENT
    monkeypatch.setattr(compiler, "_recent", {i: None for i in range(full)})
    mj.jit(lambda x: jnp.cos(x) - 123.0)(X)
    assert full // 2 < len(compiler._recent) <= full <= 64


def test_clear_caches():
    f = mj.jit(fresh())
    y = f(X)
    body = lambda c, _: (f(c), c)  # as long as it lives, its programs do
    lax.scan(body, X, None, length=2)
    mj.pmap(f)(X)
    remaining = list(dispatch._with_programs)
    assert remaining
    mj.clear_caches()
    assert not any(dispatch.programs_of(j) for j in remaining)
    assert not dispatch._programs and not compiler._recent
    np.testing.assert_array_equal(f(X), y)


def test_names_of_the_arguments_of_a_dead_function():
    jaxpr = mj.make_jaxpr(lambda weights, *rest: weights["w1"] + rest[0])
    closed = jaxpr({"w1": X}, X)
    del jaxpr
    gc.collect()
    assert list(closed.jaxpr.arg_names) == ["weights['w1']", "rest[0]"]
