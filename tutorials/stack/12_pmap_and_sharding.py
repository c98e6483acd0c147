# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 12. pmap, sharding and collectives
#
# **Question.** Eight devices work on one problem, and each reads only its own memory. How
# does a program express that one device needs a value of another?
#
# With a few operations, the *collectives*: sum over all devices, gather, exchange. Either
# you write them and each device runs your program (`pmap`, `shard_map`), or you specify
# how arrays are sharded and the compiler inserts them (`jit` with shardings).

# %%
import re

import draw

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.prims.collectives.pcast import all_reduce
from minijax.sharding import NamedSharding
from minijax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 8)  # eight devices on this machine's CPU
assert jax.device_count() == 8

# %% [markdown]
# A collective is a primitive like any other. One of its params is special: the *name* of
# an axis. `psum(x, "i")` is the sum of the x of all lanes or replicas along the axis `i`.

# %%
share = lambda x: x / lax.psum(x, "i")
numbers = jnp.arange(8.0) + 1
shares = jax.pmap(share, axis_name="i")(numbers)
assert jnp.allclose(shares, numbers / 36)

# %% [markdown]
# The transformation determines what the axis consists of. Under `vmap` it consists of
# lanes of one array, and the same function sums over an axis of that array, on one
# device.

# %%
lanes = jax.vmap(share, axis_name="i")
assert jnp.allclose(lanes(numbers), shares)
staged = jax.make_jaxpr(lanes)(numbers)
assert [eqn.primitive.name for eqn in staged.eqns] == ["psum", "div"]
assert staged.eqns[0].params["axes"] == (0,)  # the name has become a position

# %% [markdown]
# Under `pmap` it consists of *replicas*: copies of the program, each on its own device.
# The lowering rule emits an operation that lists the groups of replicas that communicate.

# %%
lowered = jax.pmap(share, axis_name="i").lower(numbers).as_text()
assert "mhlo.num_replicas = 8" in lowered
assert "replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>" in lowered
rule = draw.source(all_reduce)  # what the rule of psum emits
assert "stablehlo.all_reduce" in rule
rule

# %% [markdown]
# ## Thirty lines to try: a sum over all devices, by messages to neighbours
#
# How do eight devices add their arrays if each can only send to its neighbour? One way is
# to pass every array around the ring: seven messages of full size each. It is better to
# split each array into eight blocks. In seven steps block b travels around the ring, and
# each device adds its own. In seven more steps the finished blocks travel around. Each
# device then sends less than two arrays, however many devices there are.

# %%
N = 8
RING = [(i, (i + 1) % N) for i in range(N)]


def send(x):
    """Send x to the right-hand neighbour, and return the x of the left-hand one."""
    return lax.ppermute(x, "i", RING)


def ring_sum(x):
    """Return psum(x, "i") of an array of N blocks."""
    me = lax.axis_index("i")
    blocks = x.reshape(N, -1)
    block = blocks[me]
    for k in range(1, N):  # the arriving block started k devices to the left
        block = send(block) + blocks[(me - k) % N]
    done = jnp.zeros_like(blocks).at[(me + 1) % N].set(block)
    for k in range(N - 1):
        block = send(block)
        done = done.at[(me - k) % N].set(block)
    return done.reshape(x.shape)


values = jnp.arange(8.0 * 16).reshape(8, 16)
ring = jax.pmap(ring_sum, axis_name="i")(values)
assert jnp.allclose(ring, jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(values))
on_one_device = jax.vmap(ring_sum, axis_name="i")(values)
assert jnp.allclose(ring, on_one_device)

# %% [markdown]
# Collectives have transposes, like all linear operations. The transpose of a gather is a
# sum over devices that leaves each device its shard.

# %%
pull = lambda x: jax.linear_transpose(lambda x: lax.all_gather(x, "i"), x)(jnp.ones((8, 2)))
transposed = jax.make_jaxpr(pull, axis_env=[("i", 8)])(jnp.ones(2))
assert [eqn.primitive.name for eqn in transposed.eqns][-1] == "reduce_scatter"

# %% [markdown]
# ## The picture: how an array is sharded
#
# A *mesh* arranges the devices in a grid with named axes. A *spec* names, for each axis
# of an array, the mesh axis that it is sharded over; `None` means that it is not sharded.

# %%
mesh = jax.make_mesh((4, 2), ("rows", "cols"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
x = jnp.arange(32.0).reshape(8, 4)


def shards(spec):
    """Return the index of each device's shard of x."""
    sharded = jax.device_put(x, NamedSharding(mesh, spec))
    span = lambda s, n: f"{s.start or 0}:{n if s.stop is None else s.stop}"
    return [
        "x[{}, {}]".format(*map(span, shard.index, x.shape))
        for shard in sharded.addressable_shards
    ]


specs = [P("rows", "cols"), P("rows", None), P(None, "cols"), P()]
picture = draw.table(
    ("device", *map(str, specs)), *zip(range(8), *map(shards, specs), strict=True)
)
assert len(set(shards(P("rows", "cols")))) == 8
assert len(set(shards(P("rows", None)))) == 4  # each shard twice
assert set(shards(P())) == {"x[0:8, 0:4]"}  # replicated
picture

# %% [markdown]
# For arrays with such shardings `jit` compiles one program for all devices. You write no
# collective; the compiler inserts those that the shardings require. Which ones? We read
# the compiled program.


# %%
def collectives(f, *args):
    text = jax.jit(f).lower(*args).compile().as_text()
    kinds = "all-reduce|all-gather|reduce-scatter|collective-permute|all-to-all"
    return sorted(set(re.findall(rf"= \S+ ({kinds})\(", text)))


def put(x, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


w = jnp.ones((4, 6))
needs = {
    "2 x": collectives(lambda x: 2 * x, put(x, "rows", "cols")),
    "sum over the sharded axis": collectives(lambda x: x.sum(0), put(x, "rows")),
    "sum over the other": collectives(lambda x: x.sum(1), put(x, "rows")),
    "x @ w, rows of x sharded": collectives(lambda x, w: x @ w, put(x, "rows"), put(w)),
    "x @ w, contracted axis sharded": collectives(
        lambda x, w: x @ w, put(x, None, "cols"), put(w, "cols")
    ),
}
assert needs["2 x"] == needs["sum over the other"] == []
assert needs["sum over the sharded axis"] == ["all-reduce"]
assert needs["x @ w, rows of x sharded"] == []  # data parallelism
assert needs["x @ w, contracted axis sharded"] == ["all-reduce"]  # tensor parallelism
draw.table(("program", "collectives"), *[(k, " ".join(v)) for k, v in needs.items()])

# %% [markdown]
# `shard_map` combines both: specs determine how arrays are sharded, and the function is
# the program that each device runs on its shard, with collectives that you write.

# %%
column_sums = jax.shard_map(
    lambda shard: lax.psum(shard.sum(0), "rows"),
    mesh=mesh,
    in_specs=P("rows", "cols"),
    out_specs=P("cols"),
)
assert jnp.allclose(column_sums(put(x, "rows", "cols")), x.sum(0))

# %% [markdown]
# ## Exercises
#
# **1.** Data-parallel training: write `parallel_grad(loss)`. It returns a function of
# `(w, xs)` with the examples `xs` divided among eight devices. On each device it returns
# the gradient of the mean loss of *all* examples. (Use `lax.pmean`.)


# %%
def exercise_1(parallel_grad):
    loss = lambda w, xs: jnp.mean(jnp.tanh(xs @ w) ** 2)
    w, xs = jnp.array([0.3, -0.2]), jnp.linspace(-1.0, 1.0, 32).reshape(16, 2)
    step = jax.pmap(parallel_grad(loss), axis_name="i", in_axes=(None, 0))
    grads = step(w, xs.reshape(8, 2, 2))
    assert grads.shape == (8, 2)
    assert jnp.allclose(grads, jax.grad(loss)(w, xs), atol=1e-6)


# %% [markdown]
# **2.** In `jnp.tanh(x @ a) @ b` the matrix `a` is sharded along its second axis by
# `P(None, "cols")`, and `x` is replicated. Along which axis must `b` be sharded, so that
# one all-reduce is enough?


# %%
def exercise_2(spec):
    f = lambda x, a, b: jnp.tanh(x @ a) @ b
    args = put(jnp.ones((3, 4))), put(w, None, "cols"), put(jnp.ones((6, 4)), *spec)
    assert collectives(f, *args) == ["all-reduce"]
    assert args[2].addressable_shards[0].data.size == 12  # half of it on each


# %% [markdown]
# **3.** Write `running(x)`: on device i, the sum of the x of devices 0 to i. It must work
# under `pmap` and `vmap` with the axis `i`.


# %%
def exercise_3(running):
    expected = jnp.cumsum(numbers)
    assert jnp.allclose(jax.vmap(running, axis_name="i")(numbers), expected)
    assert jnp.allclose(jax.pmap(running, axis_name="i")(numbers), expected)


# %% [markdown]
# ## What JAX does differently, and why
#
# JAX once ran `pmap` on replicas, and now runs it as a `shard_map`, on *partitions* of
# one program. That is one mechanism less. Replicas can do what partitions cannot: each
# runs its own program, with its own control flow, and `pmap` nests. So minijax keeps
# them. The program above contains `num_replicas = 8`; a program with shardings contains
# `num_partitions`.

# %%
text = jax.jit(lambda x: x.sum(0)).lower(put(x, "rows")).as_text()
assert "mhlo.num_partitions = 8" in text
pairs = jax.pmap(jax.pmap(lambda x: lax.psum(x, "i"), axis_name="j"), axis_name="i")
assert pairs(jnp.arange(8.0).reshape(4, 2)).tolist() == [[12.0, 16.0]] * 4

# %% [markdown]
# ## Answers
#
# **1.**


# %%
def parallel_grad(loss):
    return lambda w, xs: lax.pmean(jax.grad(loss)(w, xs), "i")


exercise_1(parallel_grad)
assert draw.refuses(exercise_1, jax.grad)

# %% [markdown]
# **2.** Along its first axis. Each device multiplies its columns of the inner layer with
# its rows of `b`, and the sum over the inner layer is the sum over devices.

# %%
exercise_2(("cols", None))
assert draw.refuses(exercise_2, (None, "cols"), (None, None))

# %% [markdown]
# **3.** Gather all, and add those of the devices 0 to i.


# %%
def running(x):
    return jnp.where(jnp.arange(8) <= lax.axis_index("i"), lax.all_gather(x, "i"), 0).sum()


exercise_3(running)
assert draw.refuses(exercise_3, lambda x: lax.psum(x, "i"))
