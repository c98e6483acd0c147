"""What the parity suites share: the list of programs, and how one is shown.

A parity program is ordinary code written against ``minijax``.  ``record.py`` runs the
same file in an interpreter that holds JAX 0.10.2, where ``install_alias`` makes the
name ``minijax`` mean JAX; its results are the checked-in expectations.  The tests run
the file under minijax and compare.

This module knows nothing of either library: it must import under both interpreters
before the alias is set, so it uses NumPy and ml_dtypes alone.  Programs live in
``jaxprs/`` and ``values/``; read ``record.py`` next.
"""

import importlib
import importlib.util
import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

FOLDER = Path(__file__).resolve().parent
ALIASED = (
    "numpy",
    "lax",
    "lax.linalg",
    "random",
    "ops",
    "errors",
    "tree_util",
    "dtypes",
    "sharding",
    "ad_checkpoint",
)


class Spec:
    """An array type: ``f32[3, 4]`` makes a NumPy array of zeros of that type."""

    def __init__(self, dtype: Any):
        self.dtype = np.dtype(dtype)

    def __getitem__(self, shape: int | tuple[int, ...]) -> np.ndarray:
        return np.zeros(shape, self.dtype)


f16, f32, f64 = Spec(np.float16), Spec(np.float32), Spec(np.float64)
bf16 = Spec(ml_dtypes.bfloat16)
i8, i16, i32, i64 = Spec(np.int8), Spec(np.int16), Spec(np.int32), Spec(np.int64)
u8, u16, u32, u64 = Spec(np.uint8), Spec(np.uint16), Spec(np.uint32), Spec(np.uint64)
b1, c64 = Spec(np.bool_), Spec(np.complex64)


def install_alias() -> None:
    """Make ``minijax`` and its public rooms name JAX in this process."""
    sys.modules["minijax"] = importlib.import_module("jax")
    for room in ALIASED:
        sys.modules[f"minijax.{room}"] = importlib.import_module(f"jax.{room}")


def load(path: Path) -> ModuleType:
    """Import one file of programs by its path."""
    name = f"parity_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def topics(folder: str) -> list[Path]:
    """The files of programs in a folder, in order of name."""
    return sorted((FOLDER / folder).glob("*.py"))


class Programs(dict[str, Callable[[], Any]]):
    """The programs of one file: a name for each, and a call without arguments.

    Those in `leaner` need not print as JAX prints them, but may not take more
    equations: JAX's text has something in it that serves nobody.  Those in `longer` may
    take so many more, since JAX's expression leaves the range or cancels.
    """

    def __init__(self) -> None:
        super().__init__()
        self.leaner: set[str] = set()
        self.longer: dict[str, int] = {}

    def add(self, name: str, program: Callable[[], Any]) -> None:
        if name in self:
            raise ValueError(f"two programs are called {name!r}")
        self[name] = program

    def __call__(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """Decorator: the function, called without arguments, is the program."""
        self.add(function.__name__.removeprefix("test_"), function)
        return function

    def may_be_leaner(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator, above another one: the program is compared by its length."""
        self.leaner.add(function.__name__)
        return function

    def traced(self, make_jaxpr: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Decorator: the program is the jaxpr of the function at these arguments."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add(function.__name__, lambda: make_jaxpr(function, **options)(*args))
            return function

        return register


def jaxpr_text(program: Callable[[], Any]) -> str:
    """The text a program gives: of its jaxpr, or of several, one after the other."""
    result = program()
    parts = result if isinstance(result, (list, tuple)) else [result]
    return "\n".join(map(str, parts))


FRONT = re.compile(r"^let \w+ = ", re.MULTILINE)


def equation_count(text: str) -> int:
    """How many equations a jaxpr's text holds, those of inner jaxprs included."""
    return text.count(" = ") - len(FRONT.findall(text))


# ---------------------------------------------------------------------- values

INLINE = 40  # elements; of a larger array a checksum and the first few are kept


def show(value: Any) -> str:
    """A result as one line of text: type, weak type, shape and values.

    `~f32[2] 1.0 2.0` is a weakly typed float32 array of two elements.
    """
    if isinstance(value, BaseException):
        return f"raises {error_text(type(value))}"
    if value is None or isinstance(value, (str, type)):
        return getattr(value, "__name__", str(value))
    if isinstance(value, (bool, int, float, complex)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {show(v)}' for k, v in value.items())}}}"
    if isinstance(value, (tuple, list)):
        left, right = "()" if isinstance(value, tuple) else "[]"
        return f"{left}{', '.join(map(show, value))}{right}"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return show_array(value)
    return str(value)


def error_text(error: type) -> str:
    """An error's class; of one that is of two kinds the names of all that catch it.

    `ShapeError|TypeError|ValueError` agrees with each of the three (see `agree`).
    """
    if error.__name__ in ("AssertionError", "MLIRError"):
        return "Exception"  # an accident
    if len(error.__bases__) == 1:
        return error.__name__
    return "|".join([error.__name__, *(base.__name__ for base in error.__bases__)])


def show_array(x: Any) -> str:
    """One array (or the type of one) as text."""
    shape = ",".join(map(str, x.shape))
    kind = "np." if isinstance(x, (np.ndarray, np.generic)) else ""
    weak = getattr(x, "weak_type", False) and x.dtype != bool
    head = f"{kind}{'~' if weak else ''}{x.dtype}[{shape}]"
    if not hasattr(x, "__array__") or str(x.dtype).startswith("key<"):
        return head
    data = np.asarray(x)
    flat = [element_text(element) for element in data.ravel()[:INLINE]]
    if data.size > INLINE:
        checksum = zlib.crc32(np.ascontiguousarray(data).tobytes())
        return f"{head} #{checksum:08x} {' '.join(flat[:8])}"
    return " ".join([head, *flat])


def element_text(element: Any) -> str:
    """One element, with the fewest digits that tell it from its neighbours."""
    if element.dtype.kind == "V" and element.dtype.names is None:
        return repr(float(element))  # bfloat16 and its like
    return str(element).strip("()")


RAISES = re.compile(r"(?<=raises )[\w|]+")
NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)j?")


def agree(text: str, expected: str, tolerance: float) -> bool:
    """Whether two texts of results differ by rounding of their numbers at most.

    Where JAX fails by accident (see `error_text`), any error will do.
    """
    kinds = iter([kind.partition("|")[0] for kind in RAISES.findall(expected)])

    def as_expected(error: re.Match[str]) -> str:
        kind = next(kinds, None)
        fits = kind == "Exception" or kind in error[0].split("|")
        return str(kind) if fits else error[0]

    text = RAISES.sub(as_expected, text)
    expected = RAISES.sub(lambda error: error[0].partition("|")[0], expected)
    if text == expected or tolerance == 0:
        return text == expected
    if NUMBER.sub("0", text) != NUMBER.sub("0", expected):
        return False
    numbers = np.array([complex(t) for t in NUMBER.findall(text)])
    expected_numbers = np.array([complex(t) for t in NUMBER.findall(expected)])
    return np.allclose(numbers, expected_numbers, tolerance, tolerance, equal_nan=True)


def value_text(program: Callable[[], Any]) -> str:
    """The text a program's result gives: of a list or a dict one line an entry."""
    result = program()
    if isinstance(result, dict):
        return "\n".join(f"{key}: {show(value)}" for key, value in result.items())
    parts = result if isinstance(result, list) else [result]
    return "\n".join(map(show, parts))


def attempt(call: Callable[[], Any]) -> Any:
    """What a call returns, or the error it raises."""
    try:
        return call()
    except Exception as error:
        return error


ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
TITLE = re.compile(r"^=== (\S+)\n", re.MULTILINE)


def expected_path(topic: Path) -> Path:
    """Where the texts of one file of programs are kept."""
    return topic.parent / "expected" / f"{topic.stem}.txt"


def write_texts(path: Path, texts: dict[str, str]) -> None:
    """Write texts, each under a line with its name."""
    path.parent.mkdir(exist_ok=True)
    blocks = (f"=== {name}\n{text}\n" for name, text in texts.items())
    path.write_text("".join(blocks))


def read_texts(path: Path) -> dict[str, str]:
    """Read texts that ``write_texts`` wrote."""
    parts = TITLE.split(path.read_text())[1:]
    return {
        name: text.removesuffix("\n")
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }
