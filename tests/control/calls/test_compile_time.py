"""ensure_compile_time_eval: operations without tracers are evaluated, others recorded."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

FOLD = mj.ensure_compile_time_eval
X = np.float32(0.5)
ROWS = np.arange(3, dtype=np.float32)


def three():
    return int(jnp.arange(3).sum())


def branch(x):
    return x * (3.0 if jnp.sin(3.0) > 0 else 4.0)


def mapped_inside(x):
    def one(row):
        return row * three() * x

    return mj.vmap(one)(ROWS)


def own_gradient(x):
    return x * (1.0 if mj.grad(jnp.sin)(1.0) > 0 else 2.0)


def branch_on_what_is_differentiated(x):
    return x * mj.grad(lambda z: z * z if z > 0 else z)(3.0)


def jitted_inside(x):
    return x * float(mj.jit(lambda a: a * 2)(jnp.float32(3)))


def folds_in_what_it_traces(x):
    return mj.jit(lambda a: a * three())(x)


def loop(x):
    return x * float(lax.scan(lambda c, a: (c + a, a), 0.0, jnp.arange(4.0))[0])


def loop_over_tracer(x):
    return lax.scan(lambda c, a: (c + a * x, a), 0.0, jnp.arange(4.0))[0]


def conditions(x):
    one = lax.cond(True, lambda: 1.0, lambda: 2.0)
    return x * float(one) + lax.cond(jnp.bool_(False), lambda: x, lambda: x * 2)


def rule(x):
    return x + float(mj.nn.relu(jnp.float32(-3))) + float(mj.nn.logsumexp(jnp.zeros(1)))


def rule_over_tracer(x):
    @mj.custom_vjp
    def times(a):
        return a * x

    times.defvjp(lambda a: (times(a), None), lambda _, ct: (ct,))
    return times(jnp.float32(2))


def sizes(x):
    return x * len(jnp.unique(jnp.array([1, 2, 2]))) + jnp.nonzero(jnp.array([0, 1]))[0]


def random_number(x):
    return x * (mj.random.uniform(mj.random.key(0)) < 1.0).item()


# (function, what it is of 0.5; recorded from JAX 0.10.2 where it takes the program)
PROGRAMS = [
    (branch, 1.5),
    (mapped_inside, [0.0, 1.5, 3.0]),
    (own_gradient, 0.5),
    (branch_on_what_is_differentiated, 3.0),
    (jitted_inside, 3.0),
    (folds_in_what_it_traces, 1.5),
    (loop, 3.0),
    (loop_over_tracer, 3.0),
    (conditions, 1.5),
    (rule, 0.5),
    (rule_over_tracer, 1.0),
    (sizes, [2.0]),
    (random_number, 0.5),
]


@pytest.mark.parametrize(("f", "expected"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_evaluates_what_holds_no_tracer(f, expected):
    def folded(x):
        with FOLD():
            return f(x)

    assert mj.jit(folded)(X).tolist() == expected
    assert folded(X).tolist() == expected
    assert mj.vmap(folded)(X[None])[0].tolist() == expected
    if f is not rule_over_tracer:  # which says nothing about what it closes over
        pushed = mj.jit(lambda x: mj.jvp(folded, (x,), (x,))[0])
        assert pushed(X).tolist() == expected


def test_only_the_rest_is_in_the_program():
    def f(x):
        with FOLD():
            n = jnp.arange(3).sum()
            assert not isinstance(n, mj.core.Tracer)
            y = (x + n) * 2
        return y, jnp.arange(3)

    eqns = mj.make_jaxpr(f)(X).eqns
    assert [e.primitive.name for e in eqns] == ["add", "mul", "iota"]


def test_nesting_and_errors_end_the_block():
    def f(x):
        with FOLD():
            with FOLD():
                pass
            assert three() == 3
        with pytest.raises(KeyError), FOLD():
            raise KeyError
        return x + three()

    with pytest.raises(mj.errors.ConcretizationTypeError):
        mj.jit(f)(X)


def test_values_of_tracers_are_still_unknown():
    def f(x):
        with FOLD():
            return 1.0 if x > 0 else 2.0

    with pytest.raises(mj.errors.TracerBoolConversionError):
        mj.jit(f)(X)


def test_axis_size_is_available_in_lanes():
    def f(x):
        with FOLD():
            return lax.axis_index("i") + x, lax.psum(1, "i"), lax.psum(x, "i")

    lanes = mj.vmap(f, axis_name="i")
    for run in (lanes, mj.jit(lanes), mj.vmap(mj.jit(f), axis_name="i")):
        assert [a.tolist() for a in run(ROWS)] == [[0, 2, 4], [3, 3, 3], [3, 3, 3]]


def test_effects_happen_where_their_operands_are_known():
    seen = []

    def f(x):
        with FOLD():
            mj.debug.callback(lambda v: seen.append(float(v)), jnp.float32(1))
            mj.debug.callback(lambda v: seen.append(float(v)), x)
        return x

    lowered = mj.jit(f).lower(X)
    mj.effects_barrier()
    assert seen == [1.0]
    lowered.compile()(X)
    mj.effects_barrier()
    assert seen == [1.0, 0.5]
