"""`python -m tests.settings --jax PYTHON`: see the package's docstring."""

import argparse
import collections
import doctest
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.pair import FLAGS

MODULES = """
    lax lax.linalg nn nn.initializers numpy numpy.fft numpy.linalg random image ops tree
    scipy.cluster.vq scipy.fft scipy.integrate scipy.interpolate scipy.linalg scipy.ndimage
    scipy.optimize scipy.signal scipy.sparse.linalg scipy.spatial.transform scipy.special
    scipy.stats scipy.stats.norm scipy.stats.t scipy.stats.gennorm scipy.stats.beta
    scipy.stats.gamma scipy.stats.poisson scipy.stats.multivariate_normal
    experimental.ode experimental.sparse experimental.sparse.linalg
    experimental.jet tree_util
""".split()
MIXED = ("TypePromotionError", "ValueError: Operands could not be broadcast")


def examples():
    """[module, name, statements] of each public function with an example."""
    for module in MODULES:
        path = f"minijax.{module}"
        home = importlib.import_module(path)
        for name in sorted(dir(home)):
            text = getattr(getattr(home, name), "__doc__", None)
            if name.startswith("_") or not isinstance(text, str) or ">>>" not in text:
                continue
            examples_ = doctest.DocTestParser().get_examples(text)
            yield path, name, [e.source for e in examples_]


def run(python, lib, todo, folder, seconds):
    """Outcomes by function and setting, from a process of its own."""
    flags = " ".join([os.environ.get("XLA_FLAGS", ""), *FLAGS])
    devices = {"JAX_NUM_CPU_DEVICES": "2", "JAX_PLATFORMS": "cpu"}
    env = {**os.environ, **devices, "XLA_FLAGS": flags}
    child = Path(__file__).with_name("child.py")
    work, out = Path(folder, f"{lib}.todo"), Path(folder, f"{lib}.out")
    work.write_text(json.dumps(todo))
    command = [python, str(child), lib, str(work), str(out), str(seconds)]
    subprocess.run(command, check=True, env=env)
    return json.loads(out.read_text())


def of_interest(rows):
    """The settings under which JAX runs: where minijax raises, and for operands."""
    failed = [setting for setting, what in rows.items() if what != "ok"]
    return ["none", *{"strict", "raise", *failed} - {"none"}]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jax", help="a Python that has JAX")
    parser.add_argument("--only", default="", help="part of the names")
    parser.add_argument("--seconds", type=float, default=3600, help="for each library")
    args = parser.parse_args()
    todo = [(*row, None) for row in examples() if args.only in f"{row[0]}.{row[1]}"]
    with tempfile.TemporaryDirectory() as folder:
        ours = run(sys.executable, "minijax", todo, folder, args.seconds)
        todo = [
            (module, name, text, of_interest(ours[f"{module}.{name}"]))
            for module, name, text, _ in todo
            if f"{module}.{name}" in ours
        ]
        theirs = run(args.jax, "jax", todo, folder, args.seconds)
    counts = collections.Counter()
    wrong = 0
    for name, rows in ours.items():
        for setting, what in rows.items():
            other = theirs.get(name, {}).get(setting)
            counts[setting, "run"] += 1
            if what != "ok" and (other == "ok" or other is None):
                known = "JAX does not" if other else "JAX cannot run it"
                print(f"{name} under {setting} raises, {known}: {what}")
                counts[setting, known] += 1
                wrong += bool(other)
            elif what == "ok" and other is not None and other.startswith(MIXED):
                print(f"{name} under {setting} does not raise, JAX: {other}")
                counts[setting, "JAX alone raises"] += 1
    print(f"{len(ours)} functions run in minijax, {len(theirs)} in JAX")
    for (setting, what), n in sorted(counts.items()):
        print(f"{setting}: {what}: {n}")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main()))
