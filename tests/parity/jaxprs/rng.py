"""Jaxprs of random bits and of keys."""

from functools import partial

import numpy as np
from harness import Programs, f32, u32

from minijax import lax, make_jaxpr, random, vmap

programs = Programs()
trace = partial(programs.traced, make_jaxpr)


@trace(u32[4])
def rng_bit_generator(key):
    return lax.rng_bit_generator(key, (3, 2))


@trace(u32[4])
def rng_bit_generator_options(key):
    return lax.rng_bit_generator(key, (4,), np.uint8, algorithm=lax.RandomAlgorithm.RNG_PHILOX)


@programs.may_be_leaner
@trace(u32[5, 4])
def rng_bit_generator_vmap(keys):
    return vmap(lambda key: lax.rng_bit_generator(key, (3,)))(keys)


@trace(f32[()], f32[()])
def rng_uniform(low, high):
    return lax.rng_uniform(low, high, (3,))


@programs
def split_typed_key():
    return make_jaxpr(random.split)(random.key(0))


@programs
def fold_in_typed_key():
    return make_jaxpr(random.fold_in)(random.key(0), 3)


@programs
def bits_typed_key():
    return make_jaxpr(lambda key: random.bits(key, (3,)))(random.key(0))


@programs
def key_data():
    return make_jaxpr(lambda key: random.key_data(key))(random.key(0))


@programs
def split_vmap():
    return make_jaxpr(vmap(random.split))(random.split(random.key(0), 3))


@trace(u32[2])
def split_raw_key(key):
    return random.split(key)


@trace(3)
def seed(n):
    return random.key(n)


@programs
def key_passed_through():
    return make_jaxpr(lambda key: (key, key[None], key.reshape(1, 1)))(random.key(0))
