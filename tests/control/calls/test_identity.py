"""Functions that compare equal are still two: they do not share traces."""

import dataclasses
import functools
import gc
import weakref

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.base.util import WeakIdentityCache

X = np.float32(1)
ROWS = np.ones(2, np.float32)


@dataclasses.dataclass(frozen=True)
class Times:
    """Equal to every other of its kind, whatever the factor."""

    name: str
    factor: float = dataclasses.field(compare=False)

    def __call__(self, x):
        return x * self.factor

    def body(self, c, x):
        return c * self.factor, x


@dataclasses.dataclass(frozen=True)
class Fold:
    name: str
    factor: float = dataclasses.field(compare=False)

    def __call__(self, a, b):
        return a * self.factor + b


TWO, THREE = Times("t", 2.0), Times("t", 3.0)

# (a use of a function; its result for a factor k)
USES = {
    "jit": (lambda f: mj.jit(f)(X), lambda k: k),
    "jit_method": (lambda f: mj.jit(f.body)(X, X)[0], lambda k: k),
    "jit_partial": (lambda f: mj.jit(functools.partial(f, X))(), lambda k: k),
    "lowered": (lambda f: mj.jit(f).lower(X).compile()(X), lambda k: k),
    "grad": (lambda f: mj.jit(mj.grad(f))(X), lambda k: k),
    "vmap": (lambda f: mj.vmap(f)(ROWS)[0], lambda k: k),
    "pmap": (lambda f: mj.pmap(f)(ROWS)[0], lambda k: k),
    "checkpoint": (lambda f: mj.grad(mj.checkpoint(f))(X), lambda k: k),
    "scan": (lambda f: lax.scan(f.body, X, ROWS)[0], lambda k: k * k),
    "map": (lambda f: lax.map(f, ROWS)[0], lambda k: k),
    "while": (lambda f: lax.while_loop(lambda c: c < 1.5, f, X), lambda k: k),
    "fori": (lambda f: lax.fori_loop(0, 1, lambda i, c: f(c), X), lambda k: k),
    "cond": (lambda f: lax.cond(X > 0, f, f, X), lambda k: k),
    "switch": (lambda f: lax.switch(0, [f, f], X), lambda k: k),
    "closure": (lambda f: mj.closure_convert(f, X)[0](X), lambda k: k),
    "callback": (lambda f: mj.pure_callback(f, X, X), lambda k: np.float32(k)),
    "jaxpr": (lambda f: mj.make_jaxpr(f)(X)(X)[0], lambda k: k),
    "reduce": (
        lambda f: lax.reduce(ROWS, np.float32(1), Fold("t", f.factor), (0,)),
        lambda k: k * k + k + 1,
    ),
}


@pytest.mark.parametrize(("use", "expected"), USES.values(), ids=USES)
def test_each_is_traced(use, expected):
    assert TWO == THREE
    assert [float(use(f)) for f in (TWO, THREE, TWO)] == [expected(2), expected(3), expected(2)]


def test_compiled_ones_stay_apart():
    two, three = mj.jit(TWO), mj.jit(THREE)
    for _ in range(3):
        assert (two(X), three(X)) == (2.0, 3.0)


def test_methods_of_an_object_that_changes():
    class Scale:
        factor = 2.0

        def of(self, x):
            return x * self.factor

    scale = Scale()
    two = mj.jit(scale.of)
    assert [float(two(X)) for _ in range(3)] == [2.0] * 3
    scale.factor = 3.0
    three = mj.jit(scale.of)  # its method equals the other one
    assert [float(three(X)) for _ in range(3)] == [3.0] * 3
    assert two(X) == 2.0


class Unequal:
    """Cannot be compared."""

    def __call__(self, x):
        return x + 1

    def __eq__(self, other):
        raise ValueError("not comparable")

    __hash__ = object.__hash__


class Unhashable(Unequal):
    __hash__ = None


class Heavy:
    """Cannot be weakly referenced."""

    __slots__ = ()

    def __call__(self, x):
        return x + 1


@pytest.mark.parametrize("kind", [Unequal, Unhashable, Heavy])
def test_functions_that_cannot_be_compared(kind):
    f = kind()
    for use in (mj.jit, mj.checkpoint, mj.vmap, mj.pmap):
        x = X if use in (mj.jit, mj.checkpoint) else ROWS[:1]
        for _ in range(2):
            assert use(f)(x) == 2.0
            assert use(kind())(x) == 2.0
    assert mj.grad(f)(X) == 1.0
    assert lax.while_loop(lambda c: c < 2, f, X) == 2.0
    assert lax.map(f, ROWS)[0] == 2.0
    assert lax.fori_loop(0, 1, lambda i, c: f(c), X) == 2.0
    assert mj.make_jaxpr(f)(X)(X)[0] == 2.0


class Slotted:
    """Cannot own its caches."""

    __slots__ = ("__weakref__",)

    def __call__(self, x):
        return x + 1


@pytest.mark.parametrize("kind", [Slotted, Unhashable, lambda: lambda x: x + 1])
def test_functions_that_loops_call_are_freed(kind):
    gc.disable()  # without cycles, nothing waits for the collector
    try:
        f = kind()
        lax.map(f, ROWS)
        lax.map(f, ROWS)
        alive = weakref.ref(f)
        del f
        assert alive() is None
    finally:
        gc.enable()


def test_static_values_are_compared_with_their_types():
    seen = []

    def f(x, n):
        seen.append(n)
        return x * jnp.asarray(n)

    g = mj.jit(f, static_argnums=1)
    kinds = [g(np.int32(3), n).dtype.kind for n in (1, True, 1.0, 1, True, 1.0)]
    assert kinds == ["i", "i", "f"] * 2 and len(seen) == 3


@pytest.mark.parametrize("make", [lambda: lambda x: x, lambda: functools.partial(len)])
def test_a_trace_is_forgotten_with_its_function(make):
    """It may refer to the function, which owns it: both go at the next collection."""
    memos = WeakIdentityCache("of_tests", lambda value: False)
    f, g = make(), make()
    memos.of(f)["known"] = f
    assert memos.of(f)["known"] is f and not memos.of(g)
    alive = weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None and len(memos._memos) == 1 and not memos._tables
    memos.of(g)["known"] = 1
    memos.clear()
    assert not memos.of(g)


def test_a_trace_is_forgotten_with_a_function_that_cannot_own_it():
    """A table keeps what cannot refer to the function; who made the rest keeps that."""
    memos = WeakIdentityCache("of_tests", lambda value: value == 1)
    f, g = Times("t", 1.0), Times("t", 2.0)  # equal, and two
    memo = memos.of(f)
    memo["known"], memo["itself"] = 1, f
    assert memo.setdefault("itself too", f) is memo["itself"] is f
    assert memos.of(f).get("known") == 1 and memos.of(f).get("itself") is None
    assert memos.of(g).get("known") is None
    alive = weakref.ref(f)
    del f, memo
    gc.collect()
    assert alive() is None and len(memos._tables) == 1 and not memos._memos
    memos.of(g)["known"] = 1
    memos.clear()
    assert not memos._tables and memos.of(g).get("known") is None
