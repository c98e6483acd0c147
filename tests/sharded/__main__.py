"""Compile calls with sharded operands in minijax and in JAX, and compare the programs.

`make sharded` compiles each sample for eight CPU devices in minijax and in JAX 0.10.2,
forwards and its gradient, and reads memory and collectives from the compiled programs.
A program should need no more of either than JAX's.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.fuzz.pair import FLAGS

FOLDER = Path(__file__).parent
HOWS = ["rows", "rows gradient", "both", "both gradient", "columns", "columns gradient"]


def environment(library):
    flags = [*FLAGS, "--xla_force_host_platform_device_count=8"]
    variables = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": " ".join(flags),
        "JAX_ENABLE_COMPILATION_CACHE": "0",
    }
    variables.pop("PYTHONPATH", None)
    if library == "minijax":
        variables["PYTHONPATH"] = str(FOLDER.parents[1])
    return variables


def outcomes(python, library, requests, note=print, child=FOLDER / "child.py"):
    """What became of each request; one that ends the process says so."""
    results, left = {}, list(requests)
    while left:
        process = subprocess.Popen(
            [python, str(child), library],
            env=environment(library),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        done = 0
        for request in left:
            try:
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
            except BrokenPipeError:
                break
            line = ""
            for line in process.stdout:
                if line.startswith("@["):
                    break
            else:
                break
            number, record = json.loads(line[1:])
            results[number] = record
            done += 1
            if len(results) % 500 == 0:
                note(f"{library}: {len(results)} programs", flush=True)
        process.kill()
        process.wait()
        if done < len(left):
            results[left[done][0]] = {"error": f"the process ended: {process.returncode}"}
        left = left[done + 1 :]
    return results


def worse(ours, theirs):
    """In what a program needs more than JAX's."""
    if "error" in ours or "error" in theirs:
        return ["fails"] if "error" in ours and "error" not in theirs else []
    reasons = []
    our_bytes = ours["temporary"] + ours["results"]
    jax_bytes = theirs["temporary"] + theirs["results"]
    if our_bytes > jax_bytes * 1.02 + 2048:  # a few scalars, and a schedule's luck
        reasons.append("memory")
    if ours["collectives"] > theirs["collectives"]:
        reasons.append("collectives")
    if ours["sent"] > theirs["sent"] * 1.02 + 256:
        reasons.append("sent")
    return reasons


# Causes of programs that need more: a text, and a pattern of their calls.
CAUSES = [
    (
        "random samples whose parameters stay sharded: fewer gathers, more collectives",
        r"jax\.random\.",
    ),
    (
        "formulas that are accurate in tails and at limits, which the compiler splits into"
        " several loops",
        r"scipy\.(stats|special)|lax\.(igamma|beta)|tan2|angle|softmax",
    ),
    (
        "matrices built from slices and paddings of flat arrays, which is fast on one device",
        r"toeplitz|circulant|hankel|companion|convolution_matrix|diag|trace|vander",
    ),
    (
        "linear algebra: limits at singular and degenerate matrices, squarings that stop"
        " early, unrolled iterations",
        r"linalg|expm|jnp\.poly\(",
    ),
    (
        "sorting, selecting and counting: one resource decreases, another increases",
        r"unique|union|partition|median|quantile|percentile|nonzero|where"
        r"|extract|histogram|interp",
    ),
    ("other causes", ""),
]


def better(ours, theirs):
    return "error" not in ours and "error" not in theirs and bool(worse(theirs, ours))


def page(requests, ours, known):
    """The table of docs/sharded.md."""
    rows, worst, causes = [], [], Counter()
    for how in HOWS:
        chosen = [r for r in requests if r[3] == how]
        counts = Counter()
        for key, text, _, _ in chosen:
            ours_row, jax_row = ours[key], known[key]
            if "error" in ours_row or "error" in jax_row:
                counts["neither"] += 1
                continue
            bad = worse(ours_row, jax_row)
            counts.update(bad or ["none"])
            if bad:
                text = text.partition(": ")[2].replace("|", "\\|")
                less = ", ".join(worse(jax_row, ours_row))
                worst.append(
                    f"| `{text}` | {how} | {line(ours_row)} | {line(jax_row)} | {less} |"
                )
                cause = next(why for why, calls in CAUSES if re.search(calls, text))
                causes[cause, bool(less)] += 1
        if chosen:
            parts = "none memory collectives sent neither".split()
            cells = " | ".join(str(counts[part]) for part in parts)
            rows.append(f"| {how} | {len(chosen)} | {cells} |")
    why = [
        f"| {cause} | {causes[cause, False]} | {causes[cause, True]} |" for cause, _ in CAUSES
    ]
    return "\n".join([HEAD, *rows, WHY, *why, MORE, *worst, ""])


HEAD = """# Programs with sharded operands, compared with JAX

`make sharded` writes this page. It compiles each public function and each row of the fuzzer's
table for eight CPU devices, with minijax and with JAX 0.10.2: the function and its gradient.
Operands are sharded along the first axis (rows), along the last (columns), or along both of a
4 x 2 mesh. Memory is the temporary memory and the results on one device. A program needs more
memory, or sends more, if the difference exceeds 2 %. A call fails if one of the libraries does
not compile it, or if it has no gradient.

| operands | programs | need no more | more memory | more collectives | more bytes sent | failed |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""
WHY = """
Programs that need more, by cause:

| cause | only more | more of one resource, less of another |
| --- | ---: | ---: |"""
MORE = """
## Programs that need more

Operands are `f32[256,128]` unless the call shows another type.

The calls of `dot_product_attention` use one array for queries, keys and values, which JAX
gathers once. With three arrays both libraries gather two, and minijax needs less memory.

| call | operands | minijax | JAX | minijax needs less |
| --- | --- | --- | --- | --- |"""


def main():
    from .samples import samples

    parser = argparse.ArgumentParser(prog="python -m tests.sharded", description=__doc__)
    parser.add_argument("words", nargs="*", help="samples whose text has one of these")
    parser.add_argument("--jax", metavar="PYTHON", required=True)
    parser.add_argument("--how", nargs="+", default=HOWS, choices=HOWS)
    parser.add_argument("--known", help="a file of JAX's outcomes, made or added to")
    parser.add_argument("--table", help="write the table for docs to this file")
    options = parser.parse_args()
    requests = []
    for sample in samples():
        if options.words and not any(w in sample.text for w in options.words):
            continue
        for how in options.how:
            key = f"{how} | {sample.text} | {sample.types}"
            requests.append([key, sample.text, sample.types, how])
    known = {}
    if options.known and os.path.exists(options.known):
        known = json.loads(Path(options.known).read_text())
    lacking = [r for r in requests if r[0] not in known]
    known.update(outcomes(options.jax, "jax", lacking))
    if options.known:
        Path(options.known).write_text(json.dumps(known))
    ours = outcomes(sys.executable, "minijax", requests)
    show(requests, ours, known)
    if options.table:
        Path(options.table).write_text(page(requests, ours, known))


def line(record):
    if "error" in record:
        return record["error"][:100]
    return (
        f"{record['temporary'] + record['results']:,} bytes, {record['collectives']} collectives"
        f" ({record['sent']:,} bytes)"
    )


def show(requests, ours, known):
    counts = {}
    for key, text, types, how in requests:
        bad = worse(ours[key], known[key])
        for what in bad or ["better" if better(ours[key], known[key]) else "equal"]:
            counts[what] = counts.get(what, 0) + 1
        if bad:
            print(f"{how}: {text}  {types}\n    {', '.join(bad)}")
            print(f"    here {line(ours[key])}\n    JAX  {line(known[key])}")
    failing = sum("error" in record for record in ours.values())
    print(f"{len(requests)} programs, {failing} not compiled here: {counts}")


if __name__ == "__main__":
    main()
