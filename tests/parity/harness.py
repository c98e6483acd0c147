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
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

HERE = Path(__file__).resolve().parent
ALIASED = (
    "numpy",
    "lax",
    "lax.linalg",
    "random",
    "nn",
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
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    name = f"parity_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def topics(folder: str) -> list[Path]:
    """The files of programs in a folder, in order of name."""
    return sorted((HERE / folder).glob("*.py"))


class Programs(dict[str, Callable[[], Any]]):
    """The programs of one file: a name for each, and a call without arguments.

    Those in `leaner` need not print as JAX prints them, but may not take more
    equations: JAX's text has something in it that serves nobody.
    """

    def __init__(self) -> None:
        super().__init__()
        self.leaner: set[str] = set()

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
            self.add(
                function.__name__, lambda: make_jaxpr(function, **options)(*args)
            )
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


ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
}
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
