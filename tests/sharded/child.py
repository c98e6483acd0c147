"""Compiles calls of sharded operands, and measures the programs; under either library.

`python child.py LIBRARY` reads lines of JSON, `[number, text, types, how]`, and writes for
each one a line: what its program needs, or an error.  Nothing runs.
"""

import importlib
import json
import math
import re
import sys
import warnings

import numpy as np

WIDTHS = {"pred": 1, "s4": 1, "u4": 1, "bf": 2}
COLLECTIVE = re.compile(
    r"= (.*?) (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)"
    r"(?:-start)?\("
)
TYPE = re.compile(r"(\w+)\[([\d,]*)\]")


def bytes_of(text):
    """The bytes of the arrays in the text of a type."""
    total = 0
    for kind, sizes in TYPE.findall(text):
        bits = re.search(r"\d+", kind)
        width = WIDTHS.get(kind, int(bits.group()) // 8 if bits else 1)
        total += width * math.prod(int(n) for n in sizes.split(",") if n)
    return total


def spec_of(shape, how, P):
    """How an operand is sharded: 'rows', 'columns', 'both' of a mesh of two axes."""
    if not shape:
        return P()
    if how == "rows":
        return P("x")
    if how == "columns":
        return P(*[None] * (len(shape) - 1), "x")
    return P("x", "y") if len(shape) > 1 else P(("x", "y"))


def measured(jax, space, meshes, text, types, how):
    """What the program of a call needs on each device, and what it sends."""
    how, _, derivative = how.partition(" ")
    mesh = meshes[how == "both"]
    P, Named = jax.sharding.PartitionSpec, jax.sharding.NamedSharding
    args = [
        jax.ShapeDtypeStruct(tuple(shape), dtype, sharding=Named(mesh, spec_of(shape, how, P)))
        for shape, dtype in types
    ]
    f = eval(text, space)
    if derivative:
        f = gradient(jax, f, args)
    compiled = jax.jit(f).lower(*args).compile()
    memory = compiled.memory_analysis()
    sent = COLLECTIVE.findall(compiled.as_text())
    return {
        "temporary": memory.temp_size_in_bytes,
        "results": memory.output_size_in_bytes,
        "collectives": len(sent),
        "sent": sum(bytes_of(kind) for kind, _ in sent),
        "kinds": sorted({name for _, name in sent}),
    }


def gradient(jax, f, args):
    """The gradient by all inexact operands of the sum of all inexact results."""
    jnp = jax.numpy
    inexact = lambda x: jnp.issubdtype(x.dtype, jnp.inexact)
    at = [i for i, x in enumerate(args) if inexact(x)]

    def total(some, others):
        xs = dict(zip(at, some)) | others
        out = f(*(xs[i] for i in sorted(xs)))
        out = [x for x in jax.tree.leaves(out) if hasattr(x, "dtype") and inexact(x)]
        return sum(jnp.sum(jnp.real(x * x)) for x in out)

    def grad(*xs):
        others = {i: x for i, x in enumerate(xs) if i not in at}
        return jax.grad(total)([xs[i] for i in at], others)

    return grad


def main():
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    name = sys.argv[1]
    jax = importlib.import_module(name)
    for room in (
        "numpy lax nn random ops image sharding scipy.special scipy.linalg scipy.signal"
        " scipy.fft scipy.integrate scipy.ndimage scipy.interpolate scipy.cluster.vq"
        " scipy.stats"
    ).split():
        importlib.import_module(f"{name}.{room}")
    auto = jax.sharding.AxisType.Auto
    meshes = [
        jax.make_mesh((8,), ("x",), (auto,)),
        jax.make_mesh((4, 2), ("x", "y"), (auto, auto)),
    ]
    space = {
        "jax": jax,
        "jnp": jax.numpy,
        "lax": jax.lax,
        "nn": jax.nn,
        "np": np,
        "inf": np.inf,
        "nan": np.nan,
    }
    for n, line in enumerate(sys.stdin):
        number, text, types, how = json.loads(line)
        try:
            record = measured(jax, space, meshes, text, types, how)
        except Exception as e:
            record = {"error": f"{type(e).__name__}: {str(e).splitlines()[:1]}"[:300]}
        print("@" + json.dumps([number, record]), flush=True)
        if n % 200 == 199:
            jax.clear_caches()


if __name__ == "__main__":
    main()
