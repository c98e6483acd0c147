"""The counter-based hashes: published vectors, broadcast operands, lanes."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.prims.random import hashes

ONES = 0xFFFFFFFF
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)
PI += (0x082EFA98, 0xEC4E6C89)

# The known answers of the authors' library Random123: counter, key, result.
KNOWN = {
    "threefry2x32": [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ONES, ONES), (ONES, ONES), (0x1CB996FC, 0xBB002BE7)),
        (PI[:2], PI[2:4], (0xC4923A9C, 0x483DF7A0)),
    ],
    "threefry4x32": [
        ((0,) * 4, (0,) * 4, (0x9C6CA96A, 0xE17EAE66, 0xFC10ECD4, 0x5256A7D8)),
        ((ONES,) * 4, (ONES,) * 4, (0x2A881696, 0x57012287, 0xF6C7446E, 0xA16A6732)),
        (PI[:4], PI[4:8], (0x59CD1DBB, 0xB8879579, 0x86B5D00C, 0xAC8B6D84)),
    ],
    "philox2x32": [
        ((0, 0), (0,), (0xFF1DAE59, 0x6CD10DF2)),
        ((ONES, ONES), (ONES,), (0x2C3F628B, 0xAB4FD7AD)),
        (PI[:2], PI[2:3], (0xDD7CE038, 0xF62A4C12)),
    ],
    "philox4x32": [
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (PI[:4], PI[4:6], (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ],
}
ALL = [(name, *case) for name, cases in KNOWN.items() for case in cases]


@pytest.mark.parametrize(("name", "counter", "key", "result"), ALL)
def test_reference_values(name, counter, key, result):
    prim = getattr(hashes, name + "_p")
    out = prim.bind(*map(np.uint32, key), *map(np.uint32, counter))
    assert tuple(int(x) for x in out) == result


@pytest.mark.parametrize("name", KNOWN)
def test_operands_repeat(name):
    prim = getattr(hashes, name + "_p")
    words = len(KNOWN[name][0][2])
    keys = [np.uint32(i) for i in range(len(KNOWN[name][0][1]))]
    counts = np.arange(6, dtype=np.uint32).reshape(2, 3)
    row = np.arange(3, dtype=np.uint32)[None]
    rest = [np.uint32(7)] * (words - 2)
    out = prim.bind(*keys, counts, row, *rest)
    assert [x.shape for x in out] == [(2, 3)] * words
    for i in range(2):
        for j in range(3):
            one = prim.bind(*keys, counts[i, j], row[0, j], *rest)
            assert [int(x[i, j]) for x in out] == [int(x) for x in one]


@pytest.mark.parametrize("lane", [0, 1])
def test_lanes(lane):
    counts = np.arange(8, dtype=np.uint32).reshape(2, 4)
    keys = np.array([5, 9], np.uint32)

    def one(key, count):
        return hashes.threefry2x32_p.bind(key, np.uint32(1), np.uint32(0), count)

    out = mj.vmap(one, in_axes=(0, lane))(keys, counts if lane == 0 else counts.T)
    for i in range(2):
        for x, y in zip(out, one(keys[i], counts[i]), strict=True):
            np.testing.assert_array_equal(x[i], y)


def test_other_dtypes_are_refused():
    with pytest.raises(TypeError, match="must have uint32 type"):
        hashes.threefry2x32_p.bind(*[np.int32(0)] * 4)


def test_one_function_for_equal_shapes():
    def f(key):
        a = mj.random.bits(key, (5,))
        return a + mj.random.bits(mj.random.fold_in(key, 1), (5,))

    text = mj.jit(f).lower(mj.random.key(0)).as_text()
    assert text.count("func.func private @threefry2x32") == 2  # for (5,) and for ()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "complex64", "float8_e5m2"])
def test_uniform_bits_of_unsupported_types_raise(dtype):
    bound = jnp.zeros((), dtype)
    for f in (lax.rng_uniform, mj.jit(lax.rng_uniform, static_argnums=2)):
        with pytest.raises(TypeError, match=f"rng_uniform does not accept dtype {dtype}"):
            f(bound, bound, (2,))
