"""Clocks and counters for code inside a measured process."""

import gc
import re
import sys
import time

SLICE = 2e-3  # seconds: short enough that some slices run without interruption


def thread_time(f, *, slices=100, seconds=SLICE, clock=time.thread_time) -> float:
    """Return the CPU seconds of this thread per call of `f`: the minimum of many slices."""
    f()
    f()
    number = 1
    while True:
        start = time.perf_counter()
        for _ in range(number):
            f()
        spent = time.perf_counter() - start
        if spent > seconds / 2:
            break
        number = max(number + 1, min(number * 10, int(number * seconds / (spent + 1e-9))))
    best = float("inf")
    for _ in range(slices):
        start = clock()
        for _ in range(number):
            f()
        best = min(best, (clock() - start) / number)
    return best


def once_each(make, *, times=5, clock=time.thread_time) -> float:
    """Return the least CPU seconds of `make()()`, for work that only a first call does.

    `make` returns a new function each time, so no cache has it. The time of `make` itself
    is not counted, nor is the first function, which is a warm-up.
    """
    make()()
    best = float("inf")
    for _ in range(times):
        f = make()
        gc.collect()
        start = clock()
        f()
        best = min(best, clock() - start)
    return best


def wall_time(f, *, seconds=1.5) -> float:
    """Return the least wall-clock seconds of `f()`, which must wait for its own result."""
    f()
    best = float("inf")
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        f()
        best = min(best, time.perf_counter() - start)
    return best


def python_calls(f) -> int:
    """Count exactly the Python functions that one call of `f` enters, except `f`."""
    f()
    f()
    count = 0

    def profile(_frame, event, _arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        f()
    finally:
        sys.setprofile(None)
    return count - 1


class Compiles:
    """A context that counts the programs that are compiled or read from disk.

    It counts calls of jaxlib's client, which both libraries share.
    """

    METHODS = ("compile_and_load", "deserialize_executable")

    def __init__(self):
        from jaxlib import _jax

        self.client = _jax.Client
        self.count = 0

    def __enter__(self):
        self.real = {name: getattr(self.client, name) for name in self.METHODS}
        for name, method in self.real.items():
            setattr(self.client, name, self._counting(method))
        return self

    def __exit__(self, *exception) -> None:
        for name, method in self.real.items():
            setattr(self.client, name, method)

    def _counting(self, method):
        def call(*args, **kwargs):
            self.count += 1
            return method(*args, **kwargs)

        return call


def resident_bytes() -> int:
    """Return the memory that this process occupies now, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def hlo_operations(compiled) -> int:
    """Count the operations of an optimised program, in all its computations."""
    return len(re.findall(r"^\s+(?:ROOT )?%?[\w.\-]+ = ", compiled.as_text(), re.M))


def wait_for(tree):
    """Wait for every array of `tree`, by the method that arrays of both libraries have."""
    if isinstance(tree, dict):
        tree = tree.values()
    if isinstance(tree, (list, tuple)) or not hasattr(tree, "block_until_ready"):
        for leaf in tree if hasattr(tree, "__iter__") else ():
            wait_for(leaf)
    else:
        tree.block_until_ready()
