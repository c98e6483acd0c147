"""Reports about programs at lowering, requested by options: their text, their constants.

Next: ../lowering/lower_jaxpr.py, which calls these functions.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base import config, errors
from ...base.source import is_internal, stacklevel
from ...ir.jaxpr import ClosedJaxpr

if TYPE_CHECKING:
    pass

_dump_numbers = itertools.count()


def dump(closed: ClosedJaxpr, name: str, module: Any) -> None:
    """Write a program to the directory `jax_dump_ir_to`, in the requested forms."""
    target = config.DUMP_TO.peek()
    if target == "sponge":
        target = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "")
        if not target:
            raise errors.value_error(
                "jax_dump_ir_to='sponge' needs TEST_UNDECLARED_OUTPUTS_DIR.",
                tries=["jax_dump_ir_to='a/directory'"],
            )
    directory = pathlib.Path(target)
    directory.mkdir(parents=True, exist_ok=True)
    modes = {m.strip() for m in config.DUMP_MODES.peek().split(",")}
    number = next(_dump_numbers)
    if "jaxpr" in modes:
        text = closed.pretty_print(use_color=False)
        safe = name.replace("/", "_")
        (directory / f"jax_{number:06d}_{safe}.jaxpr.txt").write_text(text)
    if "stablehlo" in modes:
        operation = module.operation
        text = operation.get_asm(enable_debug_info=config.DUMP_LOCATIONS.peek())
        called = operation.attributes["sym_name"].value
        (directory / f"jax_ir{number:04d}_{called}_compile.mlir").write_text(text)


def check_constants(constants: Sequence[Any]) -> None:
    """Warn of captured constants that exceed the user's limit."""
    most = config.CONSTANTS_BYTES.peek()
    sizes = [int(getattr(c, "nbytes", 0)) for c in constants]
    total = sum(sizes)
    if most < 0 or total < most:
        return
    what = (
        "A large amount of constants were captured during lowering"
        f" ({_format_bytes(total)} total). If this is intentional, disable this warning by"
        " setting JAX_CAPTURED_CONSTANTS_WARN_BYTES=-1. "
    )
    frames = config.CONSTANTS_FRAMES.peek()
    if not frames:
        what += (
            "To obtain a report of where these constants were encountered, set"
            " JAX_CAPTURED_CONSTANTS_REPORT_FRAMES=-1."
        )
    else:
        what += (
            "The subsequent report may be disabled by setting"
            " JAX_CAPTURED_CONSTANTS_REPORT_FRAMES=0.\n\n"
            f"Largest {min(5, len(sizes))} allocation(s):\n"
        )
        largest = sorted(range(len(sizes)), key=lambda i: -sizes[i])[:5]
        what += "".join(_describe_constant(constants[i], sizes[i]) for i in largest)
        what += "while lowering\n" + "".join(_frames(frames))
    warnings.warn(what, stacklevel=stacklevel())


def _describe_constant(constant: Any, size: int) -> str:
    shape = "x".join(map(str, constant.shape))
    return f"  Constant {type(constant)}, {constant.dtype}[{shape}], {_format_bytes(size)}\n"


def _frames(most: int) -> list[str]:
    """Return lines that name the user's frames, innermost first: `most` of them, or all if
    negative."""
    at: Any = sys._getframe(1)
    lines: list[str] = []
    while at is not None and len(lines) != most:
        if not is_internal(at.f_code):
            code = at.f_code
            lines.append(f"  {code.co_filename}:{at.f_lineno} ({code.co_qualname})\n")
        at = at.f_back
    return lines


def _format_bytes(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.2f}{unit}"
        size /= 1000
    raise AssertionError
