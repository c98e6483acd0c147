"""Compiles samples for a platform that is not there; run under either library.

`python child.py LIBRARY PLATFORM` reads numbers of samples, a line each, and writes what
becomes of each as a line of JSON: an error, or the calls in its text and in its program.
"""

import importlib
import json
import re
import sys
import time

import numpy as np

try:
    from .samples import DTYPES, SAMPLES, function
    from .targets import H200
except ImportError:  # run as a script, under another Python
    from samples import DTYPES, SAMPLES, function
    from targets import H200

CALL = re.compile(r"stablehlo\.custom_call @([\w.$]+)\(")
NOTE = re.compile(r'backend_config = (\{[^{}]+\}|"[^"]+")')  # nothing, if it is empty
MADE = re.compile(r'custom_call_target="([^"]+)"')


def library(name):
    if name == "jax":
        import jax
    else:
        import minijax as jax
    jax.config.update("jax_enable_x64", True)
    return jax


def devices(jax, platform):
    topologies = importlib.import_module(f"{jax.__name__}.experimental.topologies")
    if platform == "tpu":
        return topologies.get_topology_desc("v5e:2x2", "tpu").devices
    return topologies.get_topology_desc(
        platform="cuda", target_config=H200, topology="1x1x4"
    ).devices


def structs(jax, sample):
    return [jax.ShapeDtypeStruct(s, jax.numpy.dtype(DTYPES[d])) for d, s in sample.types]


def lowered(jax, sample, found):
    mesh = jax.sharding.Mesh(np.array(found), ("i",))
    spec = jax.sharding.PartitionSpec("i") if sample.spread else None
    here = jax.sharding.SingleDeviceSharding(found[0])
    there = jax.sharding.NamedSharding(mesh, spec) if sample.spread else here
    out = None if sample.spread else here
    run = jax.jit(function(sample, jax, mesh), in_shardings=there, out_shardings=out)
    return run.lower(*structs(jax, sample))


def calls(text):
    """The calls of a module, with what they are told, in order of name."""
    made = []
    for line in text.splitlines():
        call = CALL.search(line)
        if call:
            told = NOTE.search(line)
            made.append(call[1] + (" " + told[1].strip('"') if told else ""))
    return sorted(set(made))


def outcome(jax, sample, found, compiles=True):
    start = time.perf_counter()
    out = {}
    try:
        low = lowered(jax, sample, found)
        out["calls"] = calls(low.as_text())
        if compiles:
            out["made"] = sorted(set(MADE.findall(low.compile().as_text())))
    except Exception as e:
        out["error"] = type(e).__name__, (str(e).splitlines() or [""])[0][:200]
    out["seconds"] = round(time.perf_counter() - start, 3)
    return out


def main():
    jax = library(sys.argv[1])
    found = devices(jax, sys.argv[2])
    for line in sys.stdin:
        told = outcome(jax, SAMPLES[int(line)], found)
        print("@" + json.dumps([int(line), told]), flush=True)


if __name__ == "__main__":
    main()
