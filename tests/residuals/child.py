"""Counts what `jax.vjp` keeps of calls; under either library.

`python child.py LIBRARY` reads lines of JSON, `[number, text, types, how]`, and writes a
line for each: the bytes and types of the arrays that the backward pass needs, or an error.
"""

import importlib
import json
import math
import sys
import warnings

import numpy as np


def residuals(jax, f, args):
    """The types of the distinct arrays that the vjp function of a traced call keeps."""
    closed = jax.make_jaxpr(lambda *xs: jax.tree.leaves(jax.vjp(f, *xs)[1]))(*args)
    live = {id(v): v.aval for v in closed.jaxpr.outvars if "Literal" not in type(v).__name__}
    return [(tuple(a.shape), a.dtype) for a in live.values()]


def residuals_of_values(jax, f, args):
    """The same of a call that is evaluated."""
    residuals = {}
    for x in jax.tree.leaves(jax.vjp(f, *args)[1]):
        residuals[x.unsafe_buffer_pointer() if hasattr(x, "addressable_shards") else id(x)] = x
    return [(tuple(np.shape(x)), x.dtype) for x in residuals.values()]


def measured(jax, space, text, types, how):
    f = eval(text, space)
    structs = [jax.ShapeDtypeStruct(tuple(s), d) for s, d in types]
    at = [i for i, x in enumerate(structs) if jax.numpy.issubdtype(x.dtype, np.inexact)]

    def inexact(*some):
        xs = dict(zip(at, some)) | dict(others)
        out = jax.tree.leaves(f(*(xs[i] for i in sorted(xs))))
        return [x for x in out if jax.numpy.issubdtype(x.dtype, np.inexact)]

    rng = np.random.default_rng(0)
    values = [
        jax.numpy.asarray(rng.uniform(0.1, 0.9, s.shape)).astype(s.dtype)
        if s.dtype != np.dtype("int32")
        else jax.numpy.asarray(rng.integers(0, 4, s.shape), s.dtype)
        for s in structs
    ]
    others = [(i, x) for i, x in enumerate(values) if i not in at]
    some = [structs[i] for i in at]
    if how == "traced":
        stored = residuals(jax, inexact, some)
    elif how == "jit":
        stored = residuals(jax, jax.jit(inexact), some)
    elif how == "scan":
        rows = [jax.ShapeDtypeStruct((2, *x.shape), x.dtype) for x in some]
        step = lambda c, xs: (c, inexact(*xs))
        stored = residuals(jax, lambda *xs: jax.lax.scan(step, 0, xs)[1], rows)
    else:
        stored = residuals_of_values(jax, inexact, [values[i] for i in at])
    sizes = [math.prod(shape) * width(dtype) for shape, dtype in stored]
    names = sorted(f"{dtype}{list(shape)}" for shape, dtype in stored)
    return {"bytes": sum(sizes), "arrays": len(names), "types": names}


def width(dtype):
    return getattr(dtype, "itemsize", 8)


def main():
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    name = sys.argv[1]
    jax = importlib.import_module(name)
    for room in (
        "numpy lax nn random ops image scipy.special scipy.linalg scipy.signal"
        " scipy.fft scipy.integrate scipy.ndimage scipy.interpolate scipy.cluster.vq"
        " scipy.stats"
    ).split():
        importlib.import_module(f"{name}.{room}")
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
            record = measured(jax, space, text, types, how)
        except Exception as e:
            record = {"error": f"{type(e).__name__}: {str(e).splitlines()[:1]}"[:300]}
        print("@" + json.dumps([number, record]), flush=True)
        if n % 200 == 199:
            jax.clear_caches()


if __name__ == "__main__":
    main()
