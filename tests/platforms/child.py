"""Compile samples for a platform that this machine lacks; runs under either library.

`python child.py LIBRARY PLATFORM` reads numbers of samples, one per line, and writes what
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
NOTE = re.compile(r'backend_config = (\{[^{}]+\}|"[^"]+")')  # no match if it is empty
COMPILED_TARGET = re.compile(r'custom_call_target="([^"]+)"')


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


def lowered(jax, sample, device_list):
    mesh = jax.sharding.Mesh(np.array(device_list), ("i",))
    spec = jax.sharding.PartitionSpec("i") if sample.spread else None
    on_one_device = jax.sharding.SingleDeviceSharding(device_list[0])
    in_sharding = jax.sharding.NamedSharding(mesh, spec) if sample.spread else on_one_device
    out = None if sample.spread else on_one_device
    run = jax.jit(function(sample, jax, mesh), in_shardings=in_sharding, out_shardings=out)
    return run.lower(*structs(jax, sample))


def calls(text):
    """Return the calls of a module, with their configurations, ordered by name."""
    targets = []
    for line in text.splitlines():
        call = CALL.search(line)
        if call:
            note = NOTE.search(line)
            targets.append(call[1] + (" " + note[1].strip('"') if note else ""))
    return sorted(set(targets))


def outcome(jax, sample, device_list, compiles=True):
    start = time.perf_counter()
    out = {}
    try:
        low = lowered(jax, sample, device_list)
        out["calls"] = calls(low.as_text())
        if compiles:
            out["made"] = sorted(set(COMPILED_TARGET.findall(low.compile().as_text())))
    except Exception as e:
        out["error"] = type(e).__name__, (str(e).splitlines() or [""])[0][:200]
    out["seconds"] = round(time.perf_counter() - start, 3)
    return out


def main():
    jax = library(sys.argv[1])
    device_list = devices(jax, sys.argv[2])
    for line in sys.stdin:
        note = outcome(jax, SAMPLES[int(line)], device_list)
        print("@" + json.dumps([int(line), note]), flush=True)


if __name__ == "__main__":
    main()
