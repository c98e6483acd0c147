"""Values of a type that a library made, which change: in jit, loops and derivatives."""

import dataclasses
import gc
import weakref

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import hijax


@dataclasses.dataclass(frozen=True)
class Held:
    """What is known of a box for now: the types of what is in it."""

    avals: tuple


class Box:
    def __init__(self, *items):
        self.items = items

    def cur_qdd(self):
        return Held(tuple(map(jax.typeof, self.items)))

    get = property(lambda self: get_p.bind(self, n=len(self.items)))

    def set(self, *items):
        set_p.bind(self, *items)


@dataclasses.dataclass(frozen=True)
class BoxType(hijax.MutableHiType):
    has_qdd = True

    def str_short(self, short_dtypes=False):
        return "Box"

    def lo_ty_qdd(self, held):
        return list(held.avals)

    def new_from_loval(self, held, *lows):
        return Box(*lows)

    def read_loval(self, held, box):
        return list(get_p.bind(box, n=len(held.avals)))

    def update_from_loval(self, held, box, *lows):
        box.set(*lows)


class Get(hijax.HiPrimitive):
    multiple_results = True

    def impl(self, box, *, n):
        return list(box.items)


class Set(hijax.HiPrimitive):
    multiple_results = True

    def impl(self, box, *items):
        box.items = items
        return []


class New(hijax.HiPrimitive):
    def impl(self, *items):
        return Box(*items)


get_p, set_p, new_p = Get("box_get"), Set("box_set"), New("box_new")
hijax.register_hitype(Box, lambda _: BoxType())


@dataclasses.dataclass(frozen=True)
class PairType(hijax.HiType):
    """The type of an immutable pair."""

    def lo_ty(self):
        return [jax.typeof(0.0)] * 2

    def lower_val(self, pair):
        return [pair.a, pair.b]

    def raise_val(self, a, b):
        return Pair(a, b)


@dataclasses.dataclass
class Pair:
    a: object
    b: object


hijax.register_hitype(Pair, lambda _: PairType())


def add(box, x):
    box.set(box.get[0] + x)
    return box.get[0] * 2


def number(box):
    (x,) = box.get
    assert isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer)
    return float(x)


def outside(f):
    """Return the result of a function of a box with 1, and the box's number after it."""
    box = Box(jnp.float32(1))
    return float(f(box)), number(box)


def scanned(box):
    def step(c, x):
        box.set(box.get[0] * x)
        return c + box.get[0], None

    return lax.scan(step, jnp.float32(0), jnp.arange(1.0, 4.0))[0]


def looped(box):
    def step(i):
        add(box, 2.0)
        return i + 1

    return lax.while_loop(lambda i: i < 3, step, 0)


def branched(box):
    return lax.cond(True, lambda: add(box, 3.0), lambda: jnp.float32(0))


def differentiated(box):
    def loss(x):
        add(box, lax.stop_gradient(x))
        return x * x * box.get[0]

    return jax.grad(loss)(2.0)


def differentiated_call(box):
    def loss(x):
        y = jax.jit(add)(box, lax.stop_gradient(x))
        return x * y

    return jax.grad(loss)(2.0)


def nested(box):
    inner = jax.jit(add)
    inner(box, 1.0)
    return inner(box, 1.0)


@pytest.mark.parametrize("within", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("f", "result", "left"),
    [
        (lambda b: add(b, 4.0), 10, 5),
        (scanned, 9, 6),
        (looped, 3, 7),
        (branched, 8, 4),
        (differentiated, 12, 3),
        (differentiated_call, 6, 3),
        (nested, 6, 3),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_mutations_of_a_box_are_visible(f, result, left, within):
    assert outside(within(f)) == (result, left)


def test_compiled_functions_may_close_over_a_box():
    box = Box(jnp.float32(1))
    f = jax.jit(lambda x: add(box, x))
    assert (float(f(1.0)), float(f(2.0)), number(box)) == (4, 8, 4)
    box.set(jnp.ones(2))  # of another type from now on
    assert f(1.0).tolist() == [4, 4] and box.get[0].tolist() == [2, 2]


def test_programs_that_close_over_a_box_are_cached():
    box, traced = Box(jnp.float32(1)), []

    @jax.jit
    def f(x):
        traced.append("f")
        return add(box, x)

    @jax.jit
    def g(x):
        traced.append("g")
        return f(x) + f(box.get[0])

    assert [float(f(1.0)), float(f(2.0)), number(box)] == [4, 8, 4]
    assert [float(f(1.0)), number(box), traced] == [10, 5, ["f"]]
    box.set(jnp.float32(20))  # outside, between calls
    assert [float(f(1.0)), float(f(1.0)), number(box), traced] == [42, 44, 22, ["f"]]
    results = []
    for _ in range(2):
        results += [float(g(1.0)), float(f(0.0)), number(box)]
    assert results == [46 + 92, 92, 46, 94 + 188, 188, 94]
    assert traced == ["f", "g", "f"]  # for the strong type inside of g
    compiled = f.lower(1.0).compile()
    box.set(jnp.float32(2))
    assert [float(compiled(1.0)), float(f(1.0)), number(box)] == [6, 8, 4]
    box.set(jnp.ones(2))  # of another type, which the compiled program cannot accept
    with pytest.raises(TypeError, match="a mutable value that f closes over"):
        compiled(1.0)
    assert [f(1.0).tolist(), g(1.0).tolist()] == [[4, 4], [18, 18]]
    assert traced[3:] == ["f", "g", "f"]
    box.set(jnp.float32(1))
    assert [float(f(1.0)), number(box)] == [4, 2]


def test_programs_keep_no_box_alive():
    box = Box(jnp.float32(1))
    dead = weakref.ref(box)

    def call(box):
        return float(jax.jit(lambda x: add(box, x))(1.0)) + number(box)

    assert call(box) == 6
    del box
    gc.collect()  # the function, whose program goes after it
    gc.collect()
    assert dead() is None


def test_signatures_include_the_types_in_boxes():
    traced = []

    @jax.jit
    def f(box, n=1, *, k=0):
        traced.append(1)
        return box.get[0] + n + k

    one, two = Box(jnp.float32(1)), Box(jnp.ones(2))
    value = one.get[0]
    assert f(one) == f(one) == 2 and len(traced) == 1
    assert one.get[0] is value  # a box that is only read is not an output
    assert f(two).tolist() == [2, 2] and len(traced) == 2
    static = jax.jit(f, static_argnums=1, static_argnames="k")
    assert float(static(one, 2, k=3)) == 6


def test_one_box_passed_twice_is_one_box():
    box = Box(jnp.float32(1))

    @jax.jit
    def f(a, b):
        assert a is b
        a.set(a.get[0] + 1)
        b.set(b.get[0] * 5)
        new = new_p.bind(a.get[0])
        add(new, 1)
        return a.get[0], b, new

    result, same, new = f(box, box)
    assert (float(result), number(box), number(new)) == (10, 10, 11) and same is box


def test_the_content_of_a_box_may_change_its_type():
    box = Box()
    fill = jax.jit(lambda b, x: b.set(*b.get, x))
    fill(box, 1.0)
    fill(box, jnp.ones(2))
    assert [np.shape(x) for x in box.get] == [(), (2,)]
    with pytest.raises(TypeError, match="a state of another type: Box"):
        lax.scan(lambda c, x: (c, box.set(x)), 0.0, jnp.ones((2, 3)))


def test_values_that_do_not_change():
    swapped = jax.jit(lambda p, x: Pair(p.b * x, p.a))
    out = swapped(Pair(1.0, 2.0), 3.0)
    assert type(out) is Pair and (float(out.a), float(out.b)) == (6.0, 1.0)


def test_programs_and_types_of_functions_of_boxes():
    box = Box(jnp.float32(1))
    assert jax.eval_shape(add, box, 3.0).shape == ()
    names = [e.primitive.name for e in jax.make_jaxpr(add)(box, jnp.float32(3)).eqns]
    assert names == ["add", "mul"] and number(box) == 1
    with pytest.raises(TypeError, match="ahead of time take arrays"):
        jax.jit(add).lower(box, 3.0)
