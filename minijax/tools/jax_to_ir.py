"""`jax.tools.jax_to_ir`: export a function as an HLO program for other systems.

`python -m minijax.tools.jax_to_ir --fn module.function --input_shapes '[("x", "f32[2]")]'
--ir_dest f.pb --ir_human_dest f.txt` writes the serialized program and its text.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import re
import sys
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib import _jax

from ..api.eval_shape import ShapeDtypeStruct
from ..api.export.exported import export
from ..base import errors
from ..control.calls.jit import jit
from ..surface import jnp
from ..types.avals import ShapedArray

__all__ = ("jax_to_hlo", "jax_to_ir", "main", "parse_shape_str", "set_up_flags")

_DTYPES = {
    "pred": "bool",
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    **{f"{k[0]}{n}": f"{k}{n}" for k in ("uint",) for n in (2, 4, 8, 16, 32, 64)},
    **{f"s{n}": f"int{n}" for n in (2, 4, 8, 16, 32, 64)},
}


def jax_to_ir(
    fn: Callable[..., Any],
    input_shapes: Sequence[tuple[str, Any]],
    *,
    constants: Mapping[str, Any] | None = None,
    format: str,
) -> tuple[bytes, str]:
    """Compile a function to a serialized program and its text.

    Args:
      fn: a function of arrays, called with keyword arguments.
      input_shapes: (name, shape and dtype) of each argument, in the program's order.
      constants: name -> value of the arguments that the program contains.
      format: "HLO".

    Returns:
      The serialized HLO module, and its text.

    Raises:
      ValueError: an argument has both a shape and a constant, or `format` is unknown.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> x = mj.ShapeDtypeStruct((2,), jnp.float32)
      >>> data, text = jax_to_ir(lambda x: x + 1, [("x", x)], format="HLO")
      >>> "f32[2]{0} add(" in text
      True
    """
    constants = dict(constants or {})
    names = [name for name, _ in input_shapes]
    both = sorted(set(names) & set(constants))
    if both:
        raise errors.value_error(
            "Arguments appear in both `input_shapes` and `constants`: " + ", ".join(both),
            tries=["list each argument in only one of them"],
        )
    if format != "HLO":
        raise errors.value_error(
            f"Unrecognized format: {format}",
            why="programs are written as HLO; TensorFlow graphs need jax2tf.",
            tries=["format='HLO'"],
        )

    def ordered_wrapper(*args: Any) -> Any:
        return fn(**constants, **dict(zip(names, args, strict=True)))

    avals = [ShapeDtypeStruct(s.shape, s.dtype) for _, s in input_shapes]
    module = export(jit(ordered_wrapper))(*avals).mlir_module()  # constants are inside
    hlo = _jax.mlir.mlir_module_to_xla_computation(
        module, use_tuple_args=False, return_tuple=False
    )
    return hlo.as_serialized_hlo_module_proto(), hlo.as_hlo_text()


jax_to_hlo = functools.partial(jax_to_ir, format="HLO")


def parse_shape_str(s: str) -> Any:
    """Parse a shape as XLA writes it.

    Args:
      s: a dtype and sizes, such as "f32[2,3]".

    Returns:
      Its shape and dtype, a `ShapedArray`.

    Raises:
      ValueError: `s` has another form.

    Example:
      >>> parse_shape_str("f32[2,3]").shape
      (2, 3)
    """
    match = re.fullmatch(r"(\w+)\[\s*((?:\d+\s*,?\s*)*)\]", s.strip())
    if match is None or match[1] not in _DTYPES:
        raise errors.value_error(
            f'Invalid shape {s}. Valid example: "f32[1,2,3]".',
            why=f"the dtype must be one of {', '.join(_DTYPES)}.",
        )
    sizes = tuple(int(n) for n in match[2].replace(",", " ").split())
    return ShapedArray(sizes, jnp.dtype(_DTYPES[match[1]]))


_PARSER = argparse.ArgumentParser(prog="jax_to_ir", description=__doc__)


def set_up_flags() -> None:
    """Define the command line's flags, once.

    Returns:
      None.

    Example:
      >>> set_up_flags()
    """
    if _PARSER.get_default("ir_format") is not None:
        return
    for name, default, text in (
        ("fn", None, "the function: module.name"),
        ("input_shapes", "[]", "a list of (argument name, shape)"),
        ("constants", "{}", "a dict of argument name -> value"),
        ("evaled_constants", "{}", "the same; values that are strings are evaluated"),
        ("ir_format", "HLO", "the format of the program"),
        ("ir_dest", None, "the file to write the serialized program to"),
        ("ir_human_dest", None, "the file to write its text to"),
    ):
        _PARSER.add_argument(f"--{name}", default=default, help=text)


def main(argv: Sequence[str]) -> None:
    """Run the command line.

    Args:
      argv: the name of the program, and its arguments.

    Returns:
      None; the files are written.

    Raises:
      ImportError: the module of the function cannot be imported.

    Example:
      >>> import os, pathlib, tempfile
      >>> out = os.path.join(tempfile.mkdtemp(), "sin.txt")
      >>> main(["", "--fn", "minijax.lax.sin", "--ir_human_dest", out,
      ...       "--input_shapes", "[('x', 'f32[2]')]"])
      >>> "sine" in pathlib.Path(out).read_text()
      True
    """
    set_up_flags()
    flags = _PARSER.parse_args(list(argv)[1:])
    if flags.fn is None:
        _PARSER.error("--fn is required")
    evaled = {
        name: literal_eval(value) if isinstance(value, str) else value
        for name, value in literal_eval(flags.evaled_constants).items()
    }
    constants = {
        name: jnp.asarray(value) if isinstance(value, (list, np.ndarray)) else value
        for name, value in {**literal_eval(flags.constants), **evaled}.items()
    }
    module, _, name = flags.fn.rpartition(".")
    shapes = [(n, parse_shape_str(s)) for n, s in literal_eval(flags.input_shapes)]
    data, text = jax_to_ir(
        getattr(importlib.import_module(module), name),
        shapes,
        constants=constants,
        format=flags.ir_format,
    )
    if flags.ir_dest:
        with open(flags.ir_dest, "wb") as file:
            file.write(data)
    if flags.ir_human_dest:
        with open(flags.ir_human_dest, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv)
