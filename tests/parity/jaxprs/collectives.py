"""Jaxprs of collectives, inside axis_env and inside vmap with a named axis."""

from functools import partial

from harness import Programs, f32, i32

from minijax import grad, jvp, lax, make_jaxpr, vmap

programs = Programs()
trace = partial(programs.traced, partial(make_jaxpr, axis_env=[("i", 4)]))
traced = partial(programs.traced, make_jaxpr)

REDUCTIONS = ["psum", "pmean", "pmax", "pmin"]
for name in REDUCTIONS:
    function = partial(getattr(lax, name), axis_name="i")
    programs.add(name, lambda f=function: make_jaxpr(f, axis_env=[("i", 4)])(f32[3]))
    programs.add(
        f"{name}_two_axes",
        lambda name=name: make_jaxpr(
            lambda x: getattr(lax, name)(x, ("i", "j")), axis_env=[("i", 4), ("j", 2)]
        )(f32[3]),
    )
    programs.add(
        f"{name}_vmap", lambda f=function: make_jaxpr(vmap(f, axis_name="i"))(f32[4, 3])
    )


@trace(f32[3])
def psum_constant(x):
    return lax.psum(1, "i"), lax.psum(2.0, "i"), lax.axis_size("i")


@trace(f32[3], i32[2])
def psum_tree(x, n):
    return lax.psum({"x": x, "n": n}, "i")


@trace(f32[4])
def psum_groups(x):
    return lax.psum(x, "i", axis_index_groups=[[0, 1], [2, 3]])


@trace(f32[3])
def axis_index(x):
    return lax.add(lax.axis_index("i"), 1), x


@traced(f32[4, 3])
def axis_index_vmap(x):
    return vmap(lambda x: (x, lax.axis_index("i")), axis_name="i")(x)


@trace(f32[3])
def ppermute(x):
    return lax.ppermute(x, "i", [(k, (k + 1) % 4) for k in range(4)])


@programs.may_be_leaner
@traced(f32[4, 3])
def ppermute_vmap(x):
    def shift(x):
        return lax.ppermute(x, "i", [(k, (k + 1) % 4) for k in range(4)])

    return vmap(shift, axis_name="i")(x)


@trace(f32[3])
def all_gather(x):
    return lax.all_gather(x, "i"), lax.all_gather(x, "i", tiled=True)


@traced(f32[4, 3])
def all_gather_vmap(x):
    return vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(x)


@trace(f32[4, 3])
def all_to_all(x):
    return lax.all_to_all(x, "i", 0, 1)


@trace(f32[4, 3])
def psum_scatter(x):
    return lax.psum_scatter(x, "i"), lax.psum_scatter(x, "i", tiled=True)


@trace(f32[3])
def pbroadcast_and_swap(x):
    return lax.pshuffle(x, "i", [1, 0, 3, 2])


@trace(f32[3])
def psum_jvp(x):
    return jvp(lambda x: lax.psum(lax.sin(x), "i"), (x,), (x,))


@trace(f32[()])
def psum_grad(x):
    return grad(lambda x: lax.psum(lax.mul(x, x), "i"))(x)


@trace(f32[5, 3])
def psum_unrelated_vmap(x):
    return vmap(lambda x: lax.psum(x, "i"))(x)


@traced(f32[4, 5])
def nested_vmap_axes(x):
    def f(x):
        return (lax.psum(x, "rows"), lax.psum(x, "columns"), lax.psum(x, ("rows", "columns")))

    return vmap(vmap(f, axis_name="columns"), axis_name="rows")(x)


@traced(f32[4])
def normalise_over_lanes(x):
    return vmap(lambda x: lax.div(x, lax.psum(x, "i")), axis_name="i")(x)
