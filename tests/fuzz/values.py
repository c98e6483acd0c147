"""Programs by values: each is run in both libraries, and what differs is made small."""

import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from . import known
from .compare import as_wide, difference, spread_of
from .draw import draw
from .pair import Pair
from .program import Program, operations, script
from .shrink import shrink
from .stacks import Layer
from .types import info, number_text

JITTED = Layer("jit", "jax.jit(f)")


def ask(pair: Pair, program: Program):
    return pair.ask("script", script(program, show=False), program.x64, program.setting)


def nudged(program: Program, by: int) -> Program:
    """The program at inputs a few ulps away."""
    inputs = []
    for value in program.inputs:
        if value.type.kind in "fc" and value.type.size:
            step = 1 + by * float(info(value.type.dtype).eps)
            numbers = tuple(x * step for x in value.numbers)
            value = replace(value, numbers=numbers)
        inputs.append(value)
    return replace(program, inputs=tuple(inputs))


def spreads(pair: Pair, program: Program, first: list):
    """How far rounding alone moves each leaf of a program, in both libraries."""
    results = [leaves[1] for leaves in first]
    variants = [nudged(program, 2), nudged(program, -3)]
    if all(layer.name != "eval_shape" for layer in program.stack):
        variants.append(replace(program, stack=(*program.stack, JITTED)))
        variants.append(replace(program, setting="disable_jit(True)"))
    for variant in variants:
        for answer in ask(pair, variant):
            if answer[0] == "ok" and len(answer[1]) == len(results[0]):
                results.append(answer[1])
    own = {0: results[0], 1: results[1]}
    out = []
    for i in range(len(results[0])):
        if any(r[i][3] is None for r in results):
            out.append(0.0)
            continue
        ours = [own[0][i][3], *(r[i][3] for r in results[2::2])]
        theirs = [own[1][i][3], *(r[i][3] for r in results[3::2])]
        out.append(spread_of(ours) + spread_of(theirs))
    return out


def compared(pair: Pair, program: Program):
    """The kind of difference and what it is, or None."""
    answers = ask(pair, program)
    finding = difference(*answers)
    if finding and finding[0] == "value":
        finding = difference(*answers, spreads(pair, program, list(answers)))
    return finding


def signature(program: Program, kind: str) -> str:
    layers = sorted({x.name for x in program.stack})
    return " ".join([kind, *operations(program), "|", *layers])


def recorded(program: Program, jax) -> str:
    """The program as a script that also holds what JAX gives: an entry of the corpus."""
    expected = repr(jax[1])
    if jax[0] == "ok":
        leaves = [f"    {leaf_text(*leaf)},\n" for leaf in jax[1]]
        expected = f"[\n{''.join(leaves)}]"
    return (
        f"{program}\n# Recorded from JAX 0.10.2.\nX64 = {program.x64}\n"
        f'SETTING = "{program.setting}"\nEXPECTED = {expected}\n'
    )


def leaf_text(dtype, weak, shape, value) -> str:
    numbers = None
    if value is not None:
        flat = as_wide(value).ravel().tolist()
        numbers = f"[{', '.join(map(number_text, flat))}]"
    return f"({dtype!r}, {weak}, {shape}, {numbers})"


class Findings:
    """What was found, once each, as scripts in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.seen: Counter[str] = Counter()
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, signature: str, name: str, text: str) -> bool:
        self.seen[signature] += 1
        if self.seen[signature] > 1:
            return False
        safe = re.sub(r"\W+", "_", signature)[:80]
        (self.folder / f"{name}_{safe}.py").write_text(text)
        return True


def run(pair: Pair, seeds: range, folder: Path, seconds: float = 1e9) -> Findings:
    """Compare the programs of some seeds; prints what it finds."""
    findings = Findings(folder)
    start, excused = time.time(), Counter()
    done = 0
    for done, seed in enumerate(seeds, 1):
        if time.time() - start > seconds:
            break
        program = draw(seed)
        finding = compared(pair, program)
        if finding:
            kind = finding[0]
            why = known.reason_for(str(program), *finding)
            if why is None:
                again = lambda p, kind=kind: (compared(pair, p) or " ")[0] == kind
                program = shrink(program, again)
                finding = compared(pair, program) or finding
                why = known.reason_for(str(program), *finding)
            if why is not None:
                excused[why] += 1
                continue
            label = signature(program, kind)
            text = recorded(program, ask(pair, program)[1])
            if findings.add(label, f"v{seed}", text):
                print(f"seed {seed}: {label}\n    {finding[1][:400]}", flush=True)
        if done % 25 == 0:
            rate = done / (time.time() - start)
            ours, jax = pair.seconds
            print(
                f"[{done} programs, {sum(findings.seen.values())} differ in"
                f" {len(findings.seen)} ways, {sum(excused.values())} known;"
                f" {rate:.2f}/s, waited {ours:.0f} s, {jax:.0f} s for both]",
                flush=True,
            )
    print(f"{done} programs: {len(findings.seen)} differences; known: {dict(excused)}")
    return findings
