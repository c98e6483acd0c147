"""Caches of traces and programs notice a change of any option that was read, and no other.

Each test declares an option that only it knows, and reads it in one kind of rule.
"""

import itertools
import threading

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.base import option
from minijax.base.option import Option, as_is
from minijax.ir.core import Primitive
from minijax.types.avals import shaped

X = jnp.arange(3.0) + 1
_count = itertools.count()


class Reader:
    """An option, and a primitive that is the identity and whose rules may be replaced."""

    def __init__(self, initial=1.0):
        name = f"minijax_test_{next(_count)}"
        self.option = Option(name, initial, as_is)
        self.reads = 0
        prim = self.prim = Primitive(name)
        prim.abstract = lambda x: x
        prim.jvp = lambda primals, tangents: (self(*primals), self(*tangents))
        prim.transpose = lambda ct, x: [self(ct)]
        prim.batch = lambda axis, args, dims: (self(*args), dims[0])
        prim.lower = lambda ctx, x: x

    def __call__(self, x):
        return self.prim.bind(x)

    def read(self, x=1.0):
        self.reads += 1
        return x * self.option.value


def in_function(reader):
    return reader.read


def in_type_rule(reader):
    def abstract(x):
        reader.reads += 1
        return shaped((int(reader.option.value), *x.shape), x.dtype)

    def lower(ctx, x):
        dims = ctx.i64s(range(1, len(ctx.avals_out[0].shape)))
        return ctx.op("broadcast_in_dim", ctx.avals_out[0], x, broadcast_dimensions=dims)

    reader.prim.abstract, reader.prim.lower = abstract, lower
    reader.prim.transpose = lambda ct, x: [ct.sum(0)]
    reader.prim.batch = lambda axis, args, dims: (reader(*args), dims[0] + 1)
    return lambda x: reader(x).sum(0)


def in_lowering_rule(reader):
    def lower(ctx, x):
        aval = ctx.avals_out[0]
        factor = np.full(aval.shape, reader.read(), np.float32)
        return ctx.op("multiply", aval, x, ctx.constant(factor, aval))

    reader.prim.lower = lower
    return reader


def in_jvp(reader):
    reader.prim.jvp = lambda primals, tangents: (reader(*primals), reader.read(*tangents))
    return lambda x: mj.jvp(reader, (x,), (x,))[1]


def in_transpose(reader):
    reader.prim.transpose = lambda ct, x: [reader.read(ct)]
    return mj.grad(lambda x: (reader(x) ** 2).sum())


def in_batch(reader):
    reader.prim.batch = lambda axis, args, dims: (reader.read(*args), dims[0])
    return lambda x: mj.vmap(reader)(x[None])[0]


def in_custom_rule(reader):
    @mj.custom_jvp
    def f(x):
        return x

    f.defjvp(lambda primals, tangents: (primals[0], reader.read(*tangents)))
    return mj.grad(lambda x: (f(x) ** 2).sum())


def in_loop(reader):
    return lambda x: lax.scan(lambda carry, x: (carry, reader.read(x)), 0.0, x)[1]


def in_branch(reader):
    return lambda x: lax.cond(True, reader.read, lambda x: x, x)


def in_nested_jit(reader):
    inner = mj.jit(reader.read)
    return lambda x: inner(x)


PLACES = [in_function, in_type_rule, in_lowering_rule, in_jvp, in_transpose, in_batch]
PLACES += [in_custom_rule, in_loop, in_branch, in_nested_jit]
WAYS = {
    "eager": lambda f: f,
    "jit": mj.jit,
    "grad of jit": lambda f: mj.grad(lambda x: (mj.jit(f)(x) ** 2).sum()),
    "vmap of jit": lambda f: lambda x: mj.vmap(mj.jit(f))(jnp.stack([x, x])),
    "checkpoint": lambda f: mj.grad(lambda x: (mj.checkpoint(f)(x) ** 2).sum()),
    "jit of a series": lambda f: mj.jit(lambda x: f(f(f(f(x))))),
    "jit of map": lambda f: mj.jit(lambda x: lax.map(f, jnp.stack([x, x]))),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_a_change_of_an_option_is_noticed(place, way):
    """The first read may happen under any value."""
    for first, second in ((1.0, 2.0), (2.0, 1.0)):
        reader = Reader()
        fun = WAYS[way](place(reader))
        with reader.option(first):
            before = np.asarray(fun(X))
        with reader.option(second):
            after = np.asarray(fun(X))
            np.testing.assert_array_equal(np.asarray(fun(X)), after)
        assert np.any(before != after)
        reader.option.update(first)
        np.testing.assert_array_equal(np.asarray(fun(X)), before)


def traces(change):
    """How often a function is traced again after a change, with three calls under each."""
    reader = Reader()
    jitted = mj.jit(reader.read)
    jitted(X)
    change(reader.option)
    for _ in range(3):
        jitted(X)
    return reader.reads - 1


def test_equal_values_are_not_traced_again():
    def enter(option):
        with option(1.0):
            mj.jit(lambda x: x)(X)

    assert traces(lambda option: option.update(1.0)) == 0
    assert traces(lambda option: option.update(2.0)) == 1
    assert traces(lambda option: (option.update(2.0), option.update(1.0))) == 0
    assert traces(enter) == 0


def test_options_that_no_rule_read_do_not_matter():
    reader, other = Reader(), Reader()
    jitted = mj.jit(reader.read)
    compiled = mj.jit(lambda x: reader.read(x) + other.option.peek())
    first = jitted(X), compiled(X)
    reads = reader.reads
    key = option.trace_key()
    with other.option(2.0):
        assert option.trace_key() is key
        jitted(X), compiled(X)
    other.option.update(3.0)
    jitted(X), compiled(X)
    assert reader.reads == reads
    np.testing.assert_array_equal(jitted(X), first[0])


def test_a_later_first_read_drops_no_trace():
    """What was traced before an option was first read does not depend on it."""
    reader = Reader()
    jitted = mj.jit(reader.read)
    with reader.option(3.0):
        jitted(X)
        for _ in range(3):
            later = Reader()
            mj.jit(later.read)(X)
            jitted(X)
        assert reader.reads == 1


def test_what_a_first_read_finds_out_applies_to_the_running_trace():
    """A cache looks up its key before the rule that it calls reads the option."""
    reader = Reader()

    def f(x):
        key = option.trace_key()
        with reader.option(2.0):
            assert option.trace_key() is key
            reader.read(x)
        return x

    mj.jit(f)(X)
    with reader.option(2.0):
        other = option.trace_key()
    assert option.trace_key() is not other


def test_values_of_a_thread():
    reader = Reader()
    jitted = mj.jit(reader.read)
    results = {}

    def run(value):
        with reader.option(value):
            entered.wait()
            for _ in range(20):
                results.setdefault(value, set()).add(float(jitted(X)[0]))

    entered = threading.Barrier(4)
    threads = [threading.Thread(target=run, args=(float(i),)) for i in range(4)]
    for t in threads:
        t.start()
    reader.option.update(7.0)
    assert jitted(X)[0] == 7
    for t in threads:
        t.join()
    assert results == {float(i): {float(i)} for i in range(4)}
    assert reader.reads <= 5 + 4  # two threads may trace the same call


def test_a_failed_check_changes_nothing():
    bounded = Option(f"minijax_test_{next(_count)}", 1, option.as_int)
    key, state = option.trace_key(), option.state()
    with pytest.raises(ValueError, match="config value must be"):
        bounded.update(1.5)
    with pytest.raises(ValueError, match="config value must be"), bounded(1.5):
        pass
    assert (option.trace_key(), option.state()) == (key, state)


def test_many_states_are_not_kept():
    reader = Reader()
    mj.jit(reader.read)(X)
    for i in range(3 * option._MOST_STATES):
        reader.option.update(i)
        option.trace_key()
    for container in (option._option_values, option._key_of_state, option._key_of_values):
        assert len(container) <= option._MOST_STATES


def test_a_user_context_is_part_of_the_key_unread():
    context = mj.make_user_context(None)
    calls = []
    jitted = mj.jit(lambda x: calls.append(x) or x)
    for value in (None, 1, None, 1):
        with context(value):
            jitted(X)
    assert len(calls) == 2
