"""Compiled programs compared with the same ones run eagerly, at sizes of some 2^15.

Compilers take other ways where arrays are large, ranks high, or small matrices many: XLA's
library fusions, its parallel loops, its tiles.  `drawn` makes a program from a seed: small
matrices and vectors under `vmap`, arrays of up to nine axes, long vectors; sometimes their
gradient.  `differs` runs it both ways; what differs by more than rounding is looked at by
`tools.verify`, which names the operation.  A program that ends its process is one that
differs.  `python -m tests.fuzz.large 5000` runs seeds 0 to 4,999; `make fuzz` takes
`FUZZ="--large 5000"`.
"""

import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from .compare import apart, as_wide
from .pair import ROOT

BATCHES = (16384, 16385, 20000, 32768, 33000, 65536)
ELEMENTWISE = (
    "{0} * {0}",
    "jnp.sin({0})",
    "jnp.exp(-jnp.abs({0}))",
    "jnp.tanh({0})",
    "jnp.abs({0})",
    "{0} * 0.5 + 1",
    "jnp.where({0} > 0, {0}, -0.25 * {0})",
    "jnp.maximum({0}, 0.1)",
    "jnp.sqrt(jnp.abs({0}) + 0.5)",
    "{0} / (1.5 + {0} * {0})",
    "{0} + {0}.mean()",
)
REDUCTIONS = (
    "{0}.sum({axis})",
    "{0}.max({axis})",
    "jnp.abs({0}).min({axis})",
    "{0}.mean({axis})",
    "jnp.sqrt(({0} * {0}).sum({axis}))",
    "jnp.linalg.norm({0}, axis={axis})",
    "jnp.abs({0}).max({axis})",
    "jnp.exp({0} * 0.1).sum({axis})",
)
MOVES = (
    "jnp.flip({0}, {axis})",
    "jnp.roll({0}, 1, {axis})",
    "jnp.cumsum({0}, {axis}) * 0.1",
    "jnp.concatenate([{0}, {0} * 2], {axis})",
    "jnp.moveaxis({0}, {axis}, 0)",
    "{0} - {0}.max({axis}, keepdims=True)",
    "jnp.sort({0}, {axis})",
    "jnp.diff({0}, axis={axis})",
    "jnp.pad({0}, 1)",
    "{0}.T",
    "jax.nn.softmax({0}, {axis})",
)
PRODUCTS = {  # by the rank of the value, and of what it is multiplied with
    (1, 2): ("{1} @ {0}", "{0} @ {1}", "({1} @ {0}) * {0}"),
    (1, 1): ("jnp.outer({0}, {1})", "{0} @ {1} * {0}"),
    (2, 2): ("{1} @ {0}", "{0} @ {1}", "{0} @ {0}.T", "jnp.einsum('ij,kj->ik', {0}, {1})"),
    (2, 1): ("{0} @ {1}", "{1} @ {0}", "jnp.einsum('ij,j->i', {0}, {1})"),
}


def drawn(seed: int):
    """The text of a program, and its arguments."""
    import minijax as jax

    rng = random.Random(seed)
    values = np.random.RandomState(seed)
    kind = rng.choice(["lanes", "lanes", "axes", "axes", "long"])
    dtype = rng.choice(["float32"] * 5 + ["float64", "float16"])
    if kind == "lanes":
        n = rng.randint(3, 8)
        lane = (n,) * rng.randint(1, 2)
        batch = rng.choice(BATCHES)
        shape = (batch // (1 if len(lane) == 1 else 4), *lane)
        second = (n,) * rng.choice([2, 2, 1])
    elif kind == "axes":
        rank = rng.randint(4, 9)
        shape = tuple(rng.choice([1, 2, 3, 4, 5]) for _ in range(rank))
        while np.prod(shape) < 1 << 13:
            at = rng.randrange(rank)
            shape = (*shape[:at], shape[at] * 2, *shape[at + 1 :])
        second = tuple(n if rng.random() < 0.7 else 1 for n in shape)
        lane = shape
    else:
        n = rng.choice([3, 8, 64, 127])
        lane = shape = rng.choice([(rng.choice(BATCHES),), (rng.choice(BATCHES) // n, n)])
        second = (n, n) if len(shape) == 2 else shape
    make = lambda s: (values.randn(*s) * 0.7).astype(dtype)
    args = make(shape), make(second)
    steps, types = [], {"x": lane, "m": second}
    names = ["x"]
    with jax.enable_x64(dtype == "float64"):
        for _ in range(rng.randint(2, 5)):
            step = f"v{len(steps)}"
            text, type_ = _step(jax, rng, types, names[-1], kind, dtype)
            if text is None:
                continue
            steps.append(f"    {step} = {text}")
            types[step] = type_
            names.append(step)
            if not type_:
                break
    lines = ["def lane(x, m):", *steps, f"    return {names[-1]}", ""]
    mapped = "jax.vmap(lane, (0, None))" if kind == "lanes" else "lane"
    if rng.random() < 0.25 and dtype != "float16":
        lines.append(
            # Squares, since the sum of a softmax has the slope 0, and rounding around it.
            f"f = jax.grad(lambda x, m: (0.01 * {mapped}(x, m) ** 2).sum(), (0, 1))"
        )
    else:
        lines.append(f"f = {mapped}")
    return "\n".join(lines), args, dtype == "float64"


def _step(jax, rng, types, name, kind, dtype):
    """An expression of the last value, and its shape."""
    for _ in range(10):
        shape = types[name]
        rank = len(shape)
        pick = rng.random()
        if kind == "axes" and pick < 0.25:
            text = "{0} * {1}" if rng.random() < 0.6 else "({0} * {1}).sum({axis})"
        elif pick < 0.3 and (rank, len(types["m"])) in PRODUCTS:
            text = rng.choice(PRODUCTS[rank, len(types["m"])])
        elif pick < 0.55:
            text = rng.choice(ELEMENTWISE)
        elif pick < 0.8 and rank:
            text = rng.choice(REDUCTIONS)
        elif rank:
            text = rng.choice(MOVES)
        else:
            continue
        text = text.format(name, "m", axis=rng.randrange(rank) if rank else None)
        space = {"jnp": jax.numpy, "jax": jax}
        step = eval(f"lambda {name}, m: {text}", space)
        aval = lambda s: jax.ShapeDtypeStruct(s, dtype)
        try:
            out = jax.eval_shape(step, aval(shape), aval(types["m"]))
        except (TypeError, ValueError):
            continue
        if 0 < out.size < 1 << 20 and len(out.shape) < 10 and out.dtype == dtype:
            return text, out.shape
    return None, None


def differs(seed: int) -> str:
    """What is wrong with the program of a seed; empty if nothing."""
    import minijax as jax

    text, args, wide = drawn(seed)
    space = {"jax": jax, "jnp": jax.numpy}
    exec(text, space)
    with jax.enable_x64(wide):
        compiled = jax.tree.leaves(jax.jit(space["f"])(*args))
        eager = jax.tree.leaves(space["f"](*args))
        close = all(
            not apart(as_wide(a), as_wide(b), str(b.dtype)).any()
            for a, b in zip(compiled, eager)
        )
        if close:
            return ""
        report = jax.tools.verify(space["f"])(*args)
    return f"{text}\n{report}" if report else ""


def run(seeds: range, out: Path, seconds: float = 1e9) -> int:
    """How many programs of these seeds differ; they are written to `out`."""
    wrong, done, at = 0, 0, seeds.start
    end = time.monotonic() + seconds
    while at < seeds.stop and time.monotonic() < end:
        command = [sys.executable, "-m", "tests.fuzz.large", "child", str(at), str(seeds.stop)]
        left = end - time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        last, findings = at - 1, []
        for line in child.stdout:
            word, _, rest = line.partition(" ")
            if word == "done":
                last, done = int(rest), done + 1
            else:
                findings.append(line)
            if time.monotonic() > end:
                child.kill()
        code = child.wait()
        ended = code and time.monotonic() < end and left > 0
        if findings or ended:
            wrong += 1
            text = "".join(findings) or f"seed {last + 1}: the process ended ({code})\n"
            text += drawn(last + 1)[0] if not findings else ""
            (out / f"large{last + 1}.txt").write_text(text)
            print(text, flush=True)
        if not code:
            break
        at = last + 2
    print(f"large: {done} programs compiled and eager, {wrong} differ")
    return wrong


def child(start: int, stop: int) -> None:
    import minijax as jax

    for seed in range(start, stop):
        finding = differs(seed)
        if finding:
            print(f"seed {seed}:\n{finding}", flush=True)
            raise SystemExit(1)
        print(f"done {seed}", flush=True)
        if seed % 200 == 199:
            jax.clear_caches()


if __name__ == "__main__":
    if sys.argv[1] == "child":
        child(int(sys.argv[2]), int(sys.argv[3]))
    else:
        first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
        folder = Path("build/fuzz")
        folder.mkdir(parents=True, exist_ok=True)
        count = int(sys.argv[1])
        sys.exit(1 if run(range(first, first + count), folder) else 0)
