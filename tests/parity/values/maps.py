"""Values of vmap and pmap: axis specifications, collectives of every dtype, their
derivatives, and what runs inside a pmap, on eight devices."""

from functools import partial

import numpy as np
from harness import Programs, attempt

import minijax as jax
from minijax import lax
from minijax import numpy as jnp
from minijax import tree_util as tree

programs = Programs()
vmap, pmap = jax.vmap, jax.pmap
A = jnp.arange(12.0).reshape(3, 4) / 2
x3 = jnp.arange(3.0)
keys = jax.random.split(jax.random.key(0), 3)
DTYPES = ["bool", "int8", "uint8", "int32", "bfloat16", "float16", "float32", "complex64"]


def data(dtype, shape=(4, 4), seed=0):
    x = np.random.RandomState(seed).randint(0 if dtype == "uint8" else -5, 6, shape)
    return jnp.asarray(x > 0 if dtype == "bool" else x).astype(dtype)


# ----------------------------------------------------------------------- specifications


@programs
def axes():
    d = {"a": A, "b": jnp.ones(4)}
    return [
        vmap(lambda x: x + 1)(A),
        vmap(lambda x: x.sum(), in_axes=-1)(A),
        vmap(lambda x: jnp.stack([x, x]), in_axes=1, out_axes=-1)(A),
        vmap(lambda x, y: x * y, in_axes=(0, None))(A, 2.0),
        vmap(lambda x, y: x * y, in_axes=[0, None])(A, 2),
        vmap(lambda d: d["a"] + d["b"], in_axes=({"a": 0, "b": None},))(d),
        vmap(lambda x, *, y: x + y)(A, y=A),
        vmap(lambda x, *, y: x + y, in_axes=None)(1.0, y=A),
        vmap(lambda x, y: (x, y), in_axes=(0, None), out_axes=(0, None))(A, 2.0),
        vmap(lambda x: 3, out_axes=None)(A),
        vmap(lambda x: (3.5, np.float32(2), np.arange(2), jnp.ones(2)))(A),
        vmap(lambda x: {"a": x, "b": (x, 1)}, out_axes={"a": 1, "b": 0})(A),
        vmap(lambda x, y: y, in_axes=(0, None))(A, 2),
        vmap(lambda x, y: y, in_axes=(0, None))(A, True),
        vmap(lambda x, y: y(x), in_axes=(0, None))(A, jnp.sum),
        vmap(lambda x: x.sum())(jnp.ones((0, 3))),
        vmap(lambda: 1.0, axis_size=3)(),
        vmap(lambda x: x, in_axes=None, axis_size=3)(1.0),
        vmap(lambda x, y: x)(A, (None, A)),
        vmap(vmap(lambda x, y: x * y, (None, 0)), (0, None))(x3, jnp.arange(2.0)),
        vmap(lambda k: jax.random.uniform(k))(keys),
        vmap(lambda x, k: jax.random.uniform(k) + x, (0, None))(x3, keys[0]),
        vmap(jax.random.PRNGKey)(jnp.arange(3)),
    ]


@programs
def axes_refused():
    kinds = [
        lambda: vmap(lambda x: x, in_axes={"a": 0})({"a": A}),
        lambda: vmap(lambda x: x, in_axes="a"),
        lambda: vmap(lambda x: x, in_axes=0.0),
        lambda: vmap(lambda x: x, out_axes=0.5),
        lambda: vmap(lambda x: x, in_axes=(True,)),
        lambda: vmap(3),
        lambda: vmap(lambda x: x, out_axes=None)(A),
        lambda: vmap(lambda x: x, out_axes=2)(A),
        lambda: vmap(lambda x: x, out_axes=-3)(A),
        lambda: vmap(lambda x: (x, x), out_axes=(0, 0, 0))(A),
        lambda: vmap(lambda x: x, in_axes=2)(A),
        lambda: vmap(lambda x: x, in_axes=((0, 0),))((A, A, A)),
        lambda: vmap(lambda x, y: x, in_axes=(0,))(A, A),
        lambda: vmap(lambda x, y: x)(A, jnp.ones(4)),
        lambda: vmap(lambda x: x, axis_size=4)(A),
        lambda: vmap(lambda: 1.0)(),
        lambda: vmap(lambda x: x, in_axes=None)(1.0),
        lambda: vmap(lambda x, y: x)(A, "abc"),
        lambda: vmap(lambda x: "a")(A),
        lambda: vmap(lambda x: 1 if x > 0 else 0)(x3),
        lambda: pmap(lambda x: x, in_axes="a"),
        lambda: pmap(lambda x: x, out_axes=0.5),
        lambda: pmap(lambda x: x, out_axes=2)(A),
        lambda: pmap(lambda x: x, devices=[])(A),
        lambda: pmap(lambda x: x, axis_size=4)(A),
        lambda: pmap(lambda: 1.0)(),
        lambda: pmap(lambda x: x, in_axes=None)(1.0),
        lambda: pmap(lambda x, n: x, static_broadcasted_argnums=1)(A, [3]),
        lambda: pmap(lambda x, n: x, static_broadcasted_argnums=1)(A, n=3),
        lambda: pmap(lambda x: lax.psum(x, "i"))(A),
    ]
    return [attempt(call) for call in kinds]


# -------------------------------------------------------------------------- collectives

GROUPS = [[0, 1], [2, 3]]
COLLECTIVES = {
    "psum": lambda x: lax.psum(x, "i"),
    "pmean": lambda x: lax.pmean(x, "i"),
    "pmax": lambda x: lax.pmax(x, "i"),
    "pmin": lambda x: lax.pmin(x, "i"),
    "all_gather": lambda x: lax.all_gather(x, "i"),
    "all_gather_last": lambda x: lax.all_gather(x, "i", axis=-1),
    "all_gather_tiled": lambda x: lax.all_gather(x, "i", tiled=True),
    "all_to_all": lambda x: lax.all_to_all(x, "i", 0, 0),
    "all_to_all_tiled": lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True),
    "psum_scatter": lambda x: lax.psum_scatter(x, "i"),
    "psum_scatter_tiled": lambda x: lax.psum_scatter(x, "i", tiled=True),
    "ppermute": lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 3), (3, 0)]),
    "pshuffle": lambda x: lax.pshuffle(x, "i", [1, 2, 3, 0]),
    "pswapaxes": lambda x: lax.pswapaxes(x, "i", 0),
    "axis_index": lambda x: lax.axis_index("i") * x,
    "positions": lambda x: lax.psum(x, ("i", 0)),
    "tree": lambda x: lax.pmean({"a": x, "b": (x, 1, 2.5)}, "i"),
}
PMAP_ONLY = {
    "ppermute_part": lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]),
    "psum_groups": lambda x: lax.psum(x, "i", axis_index_groups=GROUPS),
    "pmean_groups": lambda x: lax.pmean(x, "i", axis_index_groups=GROUPS),
    "pmax_groups": lambda x: lax.pmax(x, "i", axis_index_groups=GROUPS),
    "gather_groups": lambda x: lax.all_gather(x, "i", axis_index_groups=GROUPS),
    "exchange_groups": lambda x: lax.all_to_all(x[:2], "i", 0, 0, axis_index_groups=GROUPS),
    "scatter_groups": lambda x: lax.psum_scatter(x[:2], "i", axis_index_groups=GROUPS),
}
NUMBERS_ONLY = ("psum_scatter", "scatter", "axis_index", "positions", "tree")


def every_dtype(map_, function, name):
    results = {}
    for dtype in DTYPES:
        lacking = dtype == "complex64" and "m" in name[:2] and map_ is pmap
        if (dtype == "bool" and name.startswith(NUMBERS_ONLY)) or lacking:
            continue  # XLA's own replicas have no complex maximum
        results[dtype] = tree.tree_leaves(map_(function, axis_name="i")(data(dtype)))
    return results


def derivatives(map_, function):
    """Inside and outside of the map, forwards and backwards."""
    x, t = data("float32"), data("float32", seed=1)
    mapped = map_(function, axis_name="i")

    def total(y):
        return sum(jnp.sum(leaf * leaf) for leaf in tree.tree_leaves(y))

    return {
        "inside": map_(jax.grad(lambda x: total(function(x))), axis_name="i")(x),
        "outside": jax.grad(lambda x: total(mapped(x)))(x),
        "jvp inside": tree.tree_leaves(
            map_(lambda x, t: jax.jvp(function, (x,), (t,))[1], axis_name="i")(x, t)
        )[:2],
        "jvp outside": tree.tree_leaves(jax.jvp(mapped, (x,), (t,))[1])[:2],
        "in a lane": tree.tree_leaves(
            map_(vmap(function), axis_name="i")(data("float32", (4, 2, 4)))
        ),
        "lanes": tree.tree_leaves(vmap(mapped)(data("float32", (2, 4, 4)))),
        "in a loop": tree.tree_leaves(
            map_(
                lambda x: lax.scan(lambda c, _: (c, function(x)), 0, None, length=2)[1],
                axis_name="i",
            )(x)
        ),
    }


for label, map_ in (("vmap", vmap), ("pmap", pmap)):
    for name, function in (
        COLLECTIVES.items() if map_ is vmap else (*COLLECTIVES.items(), *PMAP_ONLY.items())
    ):
        programs.add(f"{label}_{name}", partial(every_dtype, map_, function, name))
        if name not in ("pmax", "pmin", "pmax_groups", "exchange_groups", "tree"):
            programs.add(f"{label}_{name}_derivatives", partial(derivatives, map_, function))


@programs
def two_names():
    x = data("float32", (2, 2, 4))
    results = {}
    for names in (("i", "j"), ("j", "i")):
        for label, f in {
            "psum": lambda v, n: lax.psum(v, n),
            "pmean": lambda v, n: lax.pmean(v, n),
            "axis_index": lambda v, n: lax.axis_index(n) * v,
            "axis_size": lambda v, n: lax.axis_size(n) * v,
        }.items():
            inner = vmap(lambda v, f=f, n=names: f(v, n), axis_name="j")
            results[f"{label} {names}"] = [
                attempt(lambda m=inner: vmap(m, axis_name="i")(x)),
                attempt(lambda m=inner: pmap(m, axis_name="i")(x)),
            ]
    return results


@programs
def shared_results():
    return [
        vmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(x3),
        vmap(lambda x: lax.all_gather(x, "i"), axis_name="i", out_axes=None)(x3),
        vmap(lambda: lax.psum(1, "i"), axis_name="i", axis_size=3, out_axes=None)(),
        vmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=3)(),
        pmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(x3),
        pmap(lambda x: (x, lax.pmean(x, "i")), "i", out_axes=(0, None))(x3),
        vmap(lambda x: jnp.zeros(lax.psum(1, "i")) + x, axis_name="i")(x3),
        vmap(lambda x: lax.psum(x > 1, "i"), axis_name="i")(x3),
        jax.make_jaxpr(lambda x: lax.pmean(x, "i"), axis_env=[("i", 4)])(1).out_avals,
    ]


# --------------------------------------------------------------------------------- pmap


@programs
def pmap_axes():
    return [
        pmap(lambda x: x + 1)(A),
        pmap(lambda x: x.sum(), in_axes=1)(A),
        pmap(lambda x: x, out_axes=1)(A),
        pmap(lambda x, y: x * y, in_axes=(0, None))(A, 2.0),
        pmap(lambda x, y: y, in_axes=(0, None))(A, 2),
        pmap(lambda x, *, y: x + y)(A, y=A),
        pmap(lambda x: (3, 2.5, np.float32(1), np.arange(2), None))(A),
        pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(A, 3),
        pmap(lambda n, x: x * n, static_broadcasted_argnums=0, in_axes=(None, 1))(3, A),
        pmap(lambda x: 2.0)(A),
        pmap(lambda x: x)(jnp.broadcast_to(jnp.asarray(1.0), (3,))),
        [pmap(lambda x: (x, x[None]))(data(d, (3,))) for d in DTYPES],
        jax.eval_shape(pmap(lambda x: (x, x.sum())), A),
        jax.linear_transpose(pmap(lambda x: lax.psum(x, "i"), "i"), x3)(x3),
        pmap(lambda x: x * 2).lower(A).compile()(A),
        pmap(lambda x, n: x * n, static_broadcasted_argnums=1).lower(A, 3).compile()(A),
    ]


@programs
def pmap_control_flow():
    return [
        pmap(lambda x: lax.scan(lambda c, a: (c + lax.psum(a, "i"), c), 0.0, x), "i")(A),
        pmap(lambda x: lax.while_loop(lambda c: c < 10, lambda c: c * 2, x + 1))(x3),
        pmap(
            lambda x: lax.while_loop(lambda c: lax.pmax(c, "i") < 10, lambda c: c * 2, x + 1),
            "i",
        )(x3),
        pmap(lambda x: lax.cond(x > 1, lambda x: x * 2, lambda x: -x, x))(x3),
        pmap(
            lambda x: lax.switch(
                lax.axis_index("i"), [jnp.negative, jnp.square, lambda x: x], x
            ),
            "i",
        )(x3),
        pmap(lambda x, n: lax.fori_loop(0, n, lambda i, c: c + x, 0.0))(
            x3, jnp.array([1, 5, 2])
        ),
        pmap(jax.grad(jax.checkpoint(lambda x: (x**3).sum())))(A),
        pmap(lambda k: jax.random.normal(k, (2,)))(keys),
        pmap(
            lambda x, k: jax.random.normal(jax.random.fold_in(k, lax.axis_index("i"))),
            "i",
            in_axes=(0, None),
        )(A, keys[0]),
        pmap(
            lambda x: jax.pure_callback(
                lambda a: np.asarray(a) * 2, jax.ShapeDtypeStruct((4,), jnp.float32), x
            )
        )(A),
    ]


@programs
def pmap_derivatives():
    def cubes(out_axes, reduce):
        return lambda w: pmap(
            lambda x, w: reduce((x * w) ** 2, "i"), "i", in_axes=(0, None), out_axes=out_axes
        )(A, w).sum()

    return [
        jax.grad(lambda w: pmap(lambda x, w: (x * w) ** 2, in_axes=(0, None))(A, w).sum())(2.0),
        jax.grad(cubes(0, lax.psum))(2.0),
        jax.grad(cubes(None, lax.psum))(2.0),
        jax.grad(cubes(None, lax.pmean))(2.0),
        jax.grad(lambda x: pmap(lambda x: lax.pmean(x**2, "i"), "i", out_axes=None)(x).sum())(
            A
        ),
        pmap(
            jax.grad(lambda w, x: lax.pmean(((x * w) ** 2).sum(), "i")), "i", in_axes=(None, 0)
        )(2.0, A),
        jax.jacfwd(lambda w: pmap(lambda x, w: x @ w, in_axes=(0, None))(A, w))(jnp.ones(4)),
        jax.jacrev(lambda w: pmap(lambda x, w: x @ w, in_axes=(0, None))(A, w))(jnp.ones(4)),
        vmap(pmap(lambda x: x * 2, in_axes=1, out_axes=1))(jnp.ones((2, 4, 3))),
        jax.grad(lambda y: pmap(lambda x: x * y)(A).sum())(2.0),
        vmap(lambda y: pmap(lambda x: x * y)(A))(jnp.arange(2.0)),
    ]


@programs
def data_parallel_training():
    X = jnp.arange(24.0).reshape(4, 3, 2) / 8
    Y = X.sum(-1)

    def step(w, n, x, y):
        loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
        return w - lax.pmean(grad, "b") / 8, n + 1, lax.pmean(loss, "b")

    train = pmap(step, axis_name="b", donate_argnums=(0, 1))
    w = pmap(lambda _: jnp.zeros(2))(jnp.arange(4))
    n = pmap(lambda _: jnp.int32(0))(jnp.arange(4))
    for _ in range(3):
        w, n, loss = train(w, n, X, Y)
    return w, n, loss
