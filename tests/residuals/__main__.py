"""Compare what backward passes keep here and in JAX.

`make residuals` differentiates each public function, and each row of the fuzzer's table, in
minijax and in JAX 0.10.2, and counts the distinct arrays in the function that `jax.vjp`
returns: traced, through `jit`, as the body of a scan, and of values, in float32 and in
bfloat16.  No function should keep more bytes than in JAX.
"""

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

from tests.sharded.__main__ import outcomes
from tests.sharded.samples import samples

HOWS = ["traced", "jit", "scan", "values"]
DTYPES = ["float32", "bfloat16"]


def requests_for(hows, dtypes, words):
    """[key, text, types, how] of each sample that has operands with derivatives."""
    for sample in samples():
        if words and not any(w in sample.text for w in words):
            continue
        for dtype in dtypes:
            types = [
                (shape, dtype if kind == "float32" else kind) for shape, kind in sample.types
            ]
            if any(kind in (dtype, "complex64") for _, kind in types):
                for how in hows:
                    key = f"{how} {dtype} | {sample.text} | {sample.types}"
                    yield [key, sample.text, types, how]


def compare(ours, theirs):
    """'more', 'less', 'equal', or which of the two has no derivative."""
    if "error" in theirs:
        return "neither" if "error" in ours else "here alone"
    if "error" in ours:
        return "JAX alone"
    sizes = ours["bytes"], theirs["bytes"]
    return "equal" if sizes[0] == sizes[1] else "more" if sizes[0] > sizes[1] else "less"


def show(key, ours, theirs):
    how, text, _ = key.split(" | ")
    print(f"{how}: {text}")
    if "error" in ours:
        print(f"    {ours['error']}")
        return
    ours_only, jax_only = Counter(ours["types"]), Counter(theirs["types"])
    for name, report, rest in (
        ("here", ours, ours_only - jax_only),
        ("JAX ", theirs, jax_only - ours_only),
    ):
        types = ", ".join(f"{n} x {t}" for t, n in rest.items())
        print(f"    {name} {report['bytes']:,} bytes in {report['arrays']} arrays: {types}")


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.residuals", description=__doc__)
    parser.add_argument("words", nargs="*", help="samples whose text has one of these")
    parser.add_argument("--jax", metavar="PYTHON", required=True)
    parser.add_argument("--how", nargs="+", default=HOWS, choices=HOWS)
    parser.add_argument("--dtype", nargs="+", default=DTYPES, choices=DTYPES)
    parser.add_argument("--known", help="a file of JAX's outcomes, made or added to")
    options = parser.parse_args()
    requests = list(requests_for(options.how, options.dtype, options.words))
    known = {}
    if options.known and os.path.exists(options.known):
        known = json.loads(Path(options.known).read_text())
    child = Path(__file__).with_name("child.py")
    lacking = [r for r in requests if r[0] not in known]
    known.update(outcomes(options.jax, "jax", lacking, child=child))
    if options.known:
        Path(options.known).write_text(json.dumps(known))
    ours = outcomes(sys.executable, "minijax", requests, child=child)
    counts = Counter()
    for key, *_ in requests:
        comparison = compare(ours[key], known[key])
        counts[f"{key.split(' | ')[0]}: {comparison}"] += 1
        if comparison in ("more", "JAX alone"):
            show(key, ours[key], known[key])
    for name, count in sorted(counts.items()):
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main()
