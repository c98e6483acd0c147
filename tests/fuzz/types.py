"""Types of values, and values of each type as text."""

from typing import NamedTuple

import ml_dtypes
import numpy as np

FLOATS = ["float32", "bfloat16", "float16"]
SIGNED = ["int32", "int8", "int16"]
UNSIGNED = ["uint8", "uint32", "uint16"]
WIDE = {"f": ["float64"], "i": ["int64"], "u": ["uint64"], "c": ["complex128"]}
KINDS = {"f": FLOATS, "i": SIGNED, "u": UNSIGNED, "b": ["bool"], "c": ["complex64"]}
OF_LETTER = {  # what kinds a letter of an operand's pattern admits
    "x": "fffiiubc",
    "n": "fffiiuc",
    "r": "fffiiu",
    "f": "fffc",
    "q": "f",
    "i": "iiu",
    "b": "b",
    "c": "c",
    "y": "iub",
}


class Type(NamedTuple):
    dtype: str
    shape: tuple[int, ...] = ()
    weak: bool = False

    @property
    def kind(self) -> str:
        return kind_of(self.dtype)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def rank(self) -> int:
        return len(self.shape)


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def kind_of(dtype: str) -> str:
    if dtype in ("key", "float0"):
        return "?"
    if "float" in dtype:
        return "f"
    return {"i": "i", "u": "u", "b": "b", "c": "c"}.get(dtype[0], "?")


def draw_dtype(rng, letter: str, x64: bool) -> str:
    kind = rng.choice(OF_LETTER[letter])
    names = KINDS[kind]
    if x64 and kind in WIDE and rng.random() < 0.5:
        names = WIDE[kind]
    return names[0] if rng.random() < 0.6 else rng.choice(names)


SIZES = [3, 3, 3, 2, 2, 1, 0, 4]


def draw_shape(rng, rank: int | None = None) -> tuple[int, ...]:
    if rank is None:
        rank = rng.choice([0, 1, 1, 1, 2, 2, 3])
    return tuple(rng.choice(SIZES) for _ in range(rank))


# -------------------------------------------------------------------------------- values

TAME = [0.5, -1.25, 2.0, 0.75, -0.5, 1.5, -2.0, 0.25, 1.0, -0.75, 3.0]


def info(dtype: str):
    dtype = "float32" if dtype == "complex64" else dtype
    return ml_dtypes.finfo(numpy_dtype("float64" if dtype == "complex128" else dtype))


def draw_number(rng, dtype: str, edges: bool):
    """A Python number that the type can hold."""
    kind = kind_of(dtype)
    if kind == "b":
        return rng.random() < 0.5
    if kind == "c":
        return complex(*(draw_number(rng, "float32", edges) for _ in range(2)))
    if kind == "f":
        if edges and rng.random() < 0.4:
            at = info(dtype)
            numbers = [0.0, -0.0, np.inf, -np.inf, np.nan, at.max, at.tiny, at.eps]
            numbers += [-at.max, at.smallest_subnormal, 1.0, -1.0, 0.5]
            return float(rng.choice(numbers))
        return rng.choice(TAME)
    at = ml_dtypes.iinfo(numpy_dtype(dtype))
    if edges and rng.random() < 0.3:
        return int(rng.choice([at.min, at.max, 0, 1, at.max - 1]))
    return rng.randint(0 if kind == "u" else -4, 5)


def draw_numbers(rng, of: Type, edges: bool) -> list:
    return [draw_number(rng, of.dtype, edges) for _ in range(of.size)]


def number_text(x) -> str:
    if isinstance(x, complex):
        return f"complex({x.real!r}, {x.imag!r})"
    return repr(x)


def value_text(of: Type, numbers: list) -> str:
    """An expression for an array; weak ones have one value everywhere."""
    if of.weak:
        one = number_text(numbers[0] if numbers else 1)
        return one if of.shape == () else f"jnp.broadcast_to({one}, {of.shape})"
    inside = ", ".join(map(number_text, numbers))
    return f"array([{inside}], {of.dtype!r}, {of.shape})"
