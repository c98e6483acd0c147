"""Record what JAX 0.10.2 gives for the parity programs.

    python tests/parity/record.py /path/to/a/python/that/has/jax-0.10.2 [topic ...]

The command runs itself again in that interpreter, which may not hold minijax: the name
is made to mean JAX (see ``harness.install_alias``).  Results are written beside the
programs: ``<folder>/expected/<topic>.txt``, and types of calls in ``typed_calls.txt``.
The tests never run this; run it after adding or changing a program, and read the diff.
"""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import numpy as np
import typed_calls as calls

VERSION = "0.10.2"


def tidy(value: Any) -> Any:
    """The value with Python integers for NumPy's, inside jaxprs too.

    JAX lets NumPy integers leak into some params of batched equations, where they
    print as `np.int64(1)`.  A plain `1` is meant, and expected of minijax.
    """
    if isinstance(value, np.integer):
        return int(value)
    if hasattr(value, "_fields"):
        return type(value)(*map(tidy, value))
    if type(value) in (tuple, list):
        return type(value)(map(tidy, value))
    for eqn in getattr(value, "eqns", ()):
        for name, param in eqn.params.items():
            eqn.params[name] = tidy(param)
    return value


def record_folder(folder: str, topics: list[str], text_of: Callable[[Any], str]) -> None:
    """Write what every program of a folder gives, one file a topic."""
    for path in harness.topics(folder):
        if topics and path.stem not in topics:
            continue
        programs = harness.load(path).programs
        texts = {}
        for name, run in programs.items():
            try:
                texts[name] = text_of(run)
            except Exception as error:
                raise SystemExit(f"{path.stem}: {name} fails: {error!r}") from error
        harness.write_texts(harness.expected_path(path), texts)
        print(f"{folder}/{path.stem}: {len(texts)} programs")


def record_calls(jax: Any) -> None:
    """Write the types of calls that JAX allows, and what its options forbid."""
    known = calls.types(jax)
    refused = calls.refusals(jax)
    lines = []
    for name, outs in known.items():
        words = [f"{k}={v}" for k, v in outs.items() if not v.endswith("Error")]
        lines.append(f"{name} {' '.join(words)}")
        lines += [f"  {k}: {v}" for k, v in refused[name].items()]
    calls.EXPECTED.write_text("\n".join(lines) + "\n")
    print(f"calls: {len(known)} functions")


def record(topics: list[str]) -> None:
    """Record everything, or some topics; the running interpreter must hold JAX."""
    import jax

    if jax.__version__ != VERSION:
        raise SystemExit(f"need JAX {VERSION}, this interpreter has {jax.__version__}")
    warnings.simplefilter("ignore", DeprecationWarning)
    harness.install_alias()
    record_folder("jaxprs", topics, lambda r: harness.jaxpr_text(lambda: tidy(r())))
    record_folder("values", topics, harness.value_text)
    if not topics or "typed_calls" in topics:
        record_calls(jax)
    record_folder("edges", topics, harness.value_text)


if __name__ == "__main__":
    interpreter, *topics = sys.argv[1:]
    if interpreter != "-":
        environment = dict(os.environ, **harness.ENVIRONMENT)
        command = [interpreter, str(Path(__file__).resolve()), "-", *topics]
        raise SystemExit(subprocess.call(command, env=environment))
    record(topics)
