"""Values of every form of index, and of the updates that `.at` makes."""

import numpy as np
from harness import Programs, attempt

import minijax as jax
from minijax import numpy as jnp

programs = Programs()
np_cube = np.arange(24).reshape(2, 3, 4)
cube = jnp.array(np_cube, jnp.int32)
line = jnp.arange(10.0)

FORMS = {
    "integer": np.s_[1],
    "negative_integer": np.s_[-1],
    "integers": np.s_[1, 2, 3],
    "two_integers": np.s_[0, -1],
    "slice": np.s_[1:],
    "slice_stop": np.s_[:, :2],
    "slice_step": np.s_[:, ::2, 1::2],
    "slice_reverse": np.s_[::-1, :, ::-2],
    "slice_negative": np.s_[:, -2:, -3:-1],
    "slice_out_of_range": np.s_[:, 5:10, -9:2],
    "slice_empty": np.s_[:, 2:1],
    "everything": np.s_[:],
    "ellipsis": np.s_[...],
    "ellipsis_integer": np.s_[..., 1],
    "ellipsis_middle": np.s_[0, ..., 1],
    "new_axis": np.s_[None],
    "new_axes": np.s_[:, None, 1, None],
    "new_axis_ellipsis": np.s_[..., None],
    "nothing": (),
    "integer_and_slice": np.s_[1, 1:3],
    "numpy_integer": np.int8(1),
    "numpy_integers": (np.int64(-1), np.uint8(2)),
    "list": [1, 0, 1],
    "list_in_tuple": (slice(None), [2, 0]),
    "array": np.array([1, 0]),
    "array_negative": np.array([-1, 0, -2]),
    "array_2d": np.array([[0, 1], [1, 1]]),
    "array_u8": np.array([1, 1], np.uint8),
    "arrays_broadcast": (np.array([[0], [1]]), np.array([0, 2])),
    "arrays_adjacent": (slice(None), np.array([0, 2]), np.array([1, 3])),
    "arrays_apart": (np.array([0, 1]), slice(None), np.array([1, 3])),
    "array_and_integer": (0, slice(None), np.array([1, 3])),
    "array_and_integer_first": (np.array([0, 1]), 1),
    "array_and_ellipsis": (..., np.array([0, 3])),
    "array_and_new_axis": (np.array([0, 1]), None, np.array([2, 2])),
    "array_and_reverse": (np.array([0, 1]), slice(None, None, -1)),
    "array_out_of_range": np.array([0, 5]),
    "array_empty": np.array([], np.int32),
    "mask": np_cube > 12,
    "mask_first_axis": np.array([True, False]),
    "mask_second_axis": (slice(None), np.array([True, False, True])),
    "mask_two_axes": np_cube[:, :, 0] > 5,
    "mask_and_integer": (np.array([False, True]), 1),
    "mask_list": [True, False],
    "mask_python_scalar": False,
    "mask_none_true": np.array([False, False]),
}
for name, index in FORMS.items():

    def get(i=index):
        return [attempt(lambda: cube[i]), attempt(lambda: cube.at[i].get())]

    def update(i=index):
        calls = [
            lambda: cube.at[i].set(-1),
            lambda: cube.at[i].add(100),
            lambda: jax.jit(lambda x: x[i])(cube),
        ]
        return [attempt(call) for call in calls]

    programs.add(f"get_{name}", get)

    if "scalar" not in name:
        programs.add(f"update_{name}", update)

TRACED = {
    "integer": (jnp.int32(1),),
    "negative": (jnp.int32(-1), jnp.int32(-4)),
    "mixed": (slice(None), jnp.array(2, jnp.uint8), 1),
    "array": (jnp.array([1, 0, -1]),),
    "array_and_slice": (slice(None), jnp.array([1, 0]), slice(1, 3)),
    "beyond_the_end": (jnp.int32(7),),
    "beyond_the_start": (jnp.int32(-7),),
}
for name, index in TRACED.items():

    def traced(index=index):
        static = [i if isinstance(i, slice) else None for i in index]

        @jax.jit
        def take(x, parts):
            return x[tuple(p if s is None else s for s, p in zip(static, parts))]

        return take(cube, [0 if isinstance(i, slice) else i for i in index])

    programs.add(f"traced_{name}", traced)

METHODS = {
    "set": 2.5,
    "add": 2.0,
    "subtract": 2.0,
    "multiply": 3.0,
    "mul": 3.0,
    "divide": 2.0,
    "power": 2.0,
    "min": 3.5,
    "max": 3.5,
}
PLACES = {
    "one": 3,
    "slice": slice(2, 7, 2),
    "array": jnp.array([1, 4, 4, -1]),
    "beyond": jnp.array([2, 30, -40]),
}
for method, value in METHODS.items():
    for place, index in PLACES.items():

        def run(method=method, value=value, index=index):
            return getattr(line.at[index], method)(value)

        programs.add(f"at_{method}_{place}", run)


@programs
def at_apply():
    return line.at[2:4].apply(jnp.negative), line.at[jnp.array([1, 1, 3])].apply(
        lambda x: x + 1
    )


@programs
def at_modes():
    where = jnp.array([0, 12, -1, -30])
    return {
        mode: [line.at[where].set(-5.0, mode=mode), line.at[where].add(1.0, mode=mode)]
        for mode in ["drop", "clip", "fill", None]
    }


@programs
def at_get_modes():
    where = jnp.array([0, 12, -1, -30])
    return [
        line.at[where].get(mode="clip"),
        line.at[where].get(mode="fill"),
        line.at[where].get(mode="fill", fill_value=-7),
        line.astype(jnp.int32).at[where].get(mode="fill"),
        line.astype(jnp.uint8).at[where].get(mode="fill"),
        (line > 3).at[where].get(mode="fill"),
        line.at[jnp.array([1, 3])].get(indices_are_sorted=True, unique_indices=True),
        line.at[jnp.array([1, 0, -1])].get(wrap_negative_indices=False, mode="fill"),
    ]


@programs
def at_dtypes():
    x = jnp.arange(3, dtype=jnp.int32)
    return [x.at[0].set(True), x.at[jnp.array([0])].add(jnp.int8(3)), line.at[0].set(7)]


@programs
def at_broadcasts():
    x = jnp.zeros((3, 4))
    return [
        x.at[1].set(jnp.arange(4)),
        x.at[:, 1].set(jnp.arange(3)),
        x.at[1:, 2:].set(9),
        x.at[jnp.array([0, 2])].add(jnp.arange(4)),
        x.at[..., 0].add(jnp.ones((3,))),
        x.at[jnp.array([0, 1]), jnp.array([1, 1])].set(jnp.array([5.0, 6.0])),
    ]


@programs
def at_repeated_indices():
    x = jnp.zeros(4)
    where = jnp.array([1, 1, 2, 1])
    return [
        x.at[where].add(1.0),
        (x + 2).at[where].multiply(3.0),
        x.at[where].max(jnp.arange(4.0)),
    ]


@programs
def grad_through_indexing():
    def f(x):
        return (x[2] * x[1:4] * x[jnp.array([1, 1])][:1]).sum() + x[::-2].sum()

    return jax.grad(f)(line)


@programs
def grad_through_updates():
    def f(x, y):
        return (x.at[2:4].set(y) ** 2).sum() + (x.at[jnp.array([0, 0])].add(y) ** 2).sum()

    return jax.grad(f, (0, 1))(line, jnp.array([1.0, 2.0]))


@programs
def vmap_of_indexing():
    where = jnp.array([0, 2, -1])
    return [
        jax.vmap(lambda i: line[i])(where),
        jax.vmap(lambda i: cube[:, i, 1])(where),
        jax.vmap(lambda i: line.at[i].set(0.5)[:4])(where),
        jax.vmap(lambda row, i: row[i])(cube[0], where),
    ]


@programs
def take_functions():
    return [
        jnp.take(line, jnp.array([1, 3])),
        jnp.take(cube, jnp.array([0, 2]), axis=1),
        jnp.take_along_axis(cube, jnp.argsort(-cube, axis=2), axis=2)[0],
        jnp.take(line, jnp.array([1, 30])),
        jnp.take(line, jnp.array([1, 30]), mode="clip"),
        line.take(jnp.array([2, 2])),
    ]


WRONG = {
    "float": 1.5,
    "float_array": np.array([1.0]),
    "string": "a",
    "too_many": np.s_[0, 0, 0, 0],
    "two_ellipses": (..., ...),
    "mask_shape": np.array([True, False, True]),
    "mask_rank": np.ones((2, 3, 4, 1), bool),
    "shapes": (np.array([0, 1]), np.array([0, 1, 2])),
    "float_slice": slice(0.5, 2.0),
    "zero_step": slice(None, None, 0),
    "object": object(),
    "dict": {},
}
for name, index in WRONG.items():
    programs.add(
        f"wrong_{name}",
        lambda i=index: [attempt(lambda: cube[i]), attempt(lambda: cube.at[i].set(0))],
    )


@programs
def wrong_updates():
    return [
        attempt(lambda: line.at[0:3].set(jnp.ones(2))),
        attempt(lambda: line.at[0].set(jnp.ones(2))),
        attempt(lambda: line.__setitem__(0, 1.0)),
        attempt(lambda: cube.__iadd__),
        attempt(lambda: line.at[0].set("x")),
        attempt(lambda: line.at.set(1)),
        attempt(lambda: jax.jit(lambda x: x[x > 1])(line)),
        attempt(lambda: jax.jit(lambda x, n: x[:n])(line, 3)),
        attempt(lambda: line.at[0].get(mode="nonsense")),
    ]
