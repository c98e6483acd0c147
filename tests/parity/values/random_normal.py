"""Normal draws: the bits of uniform ones through the inverse error function."""

from harness import Programs

import minijax as jax
from minijax import numpy as jnp
from minijax import random

programs = Programs()
tolerance = 3e-7

for partitionable in (True, False):
    for seed in (0, 5):
        for dtype in ("float32", "bfloat16", "float16", "complex64"):

            def run(seed=seed, dtype=dtype, partitionable=partitionable):
                with jax.threefry_partitionable(partitionable):
                    key = random.key(seed)
                    return [
                        random.normal(key, s, dtype) for s in [(), (3,), (2, 5), (0,), (39,)]
                    ]

            mode = "partitionable" if partitionable else "original"
            programs.add(f"normal_{dtype}_{seed}_{mode}", run)


@programs
def wide():
    with jax.enable_x64(True):
        return random.normal(random.key(2), (4,)), random.normal(
            random.key(2), (4,), jnp.float32
        )


@programs
def under_transformations():
    keys = random.split(random.key(3), 3)
    shift = jax.grad(lambda m: (m + random.normal(keys[0])) ** 2)(1.5)
    return (
        jax.vmap(random.normal)(keys),
        jax.jit(lambda k: random.normal(k, (2,)))(keys[1]),
        shift,
    )
