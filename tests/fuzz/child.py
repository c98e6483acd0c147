"""A process that runs scripts in one library: `python -m tests.fuzz.child LIBRARY`.

Requests come pickled through standard input, answers leave through what was standard
output: scripts and calls may print what they like.
"""

import contextlib
import importlib
import os
import pickle
import resource
import sys
import warnings

import numpy as np

ROOMS = (
    "numpy lax nn random ops core tree_util numpy.linalg image scipy.special scipy.linalg"
    " scipy.signal scipy.fft scipy.integrate scipy.ndimage scipy.interpolate"
    " scipy.cluster.vq scipy.stats"
).split()
MEMORY = 4 << 20  # kilobytes after which the caches are cleared


def library(name: str):
    for room in ROOMS:
        importlib.import_module(f"{name}.{room}")
    return sys.modules[name]


def leaf_of(x):
    """(dtype, weak, shape, value) of a result; the value of a type is None."""
    if isinstance(x, (bool, int, float, complex)):
        return type(x).__name__, True, (), np.asarray(x)
    if isinstance(x, (str, type(None))) or not hasattr(x, "dtype"):
        return type(x).__name__, False, (), None
    dtype, weak = str(x.dtype), bool(getattr(x, "weak_type", False))
    value = None
    if hasattr(x, "__array__") and "key" not in dtype and not isinstance(x, type):
        value = np.asarray(x)
    return dtype, weak, tuple(x.shape), value


def error_of(e: BaseException):
    text = str(e).strip().split("\n")[0][:200]
    return "error", type(e).__name__, text, [c.__name__ for c in type(e).__mro__]


class Runner:
    def __init__(self, jax):
        self.jax = jax
        self.codes = {}

    def settings(self, x64, setting):
        stack = contextlib.ExitStack()
        stack.enter_context(self.jax.enable_x64(x64))
        if setting:
            stack.enter_context(eval("jax." + setting, {"jax": self.jax}))
        return stack

    def leaves(self, thunk, x64, setting):
        try:
            with self.settings(x64, setting):
                out = thunk()
                return "ok", [leaf_of(x) for x in self.jax.tree.leaves(out)]
        except RecursionError:
            return "error", "RecursionError", "", []
        except Exception as e:
            return error_of(e)

    def script(self, source, x64, setting):
        """The leaves of a script's `run()`."""
        space: dict = {"__name__": "program", "jax": self.jax}
        exec(source.replace("import LIB as jax", ""), space)
        return self.leaves(space["run"], x64, setting)

    def calls(self, prelude, texts, x64, setting):
        """The leaves of each expression."""
        space = self.codes.get(prelude)
        if space is None:
            space = self.codes[prelude] = {"jax": self.jax}
            exec(prelude.replace("import LIB as jax", ""), space)
        run = lambda text: self.leaves(lambda: eval(text, space), x64, setting)
        return [run(text) for text in texts]

    def clean(self):
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > MEMORY:
            return "restart"
        self.jax.clear_caches()
        return "ok"


def main():
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    runner = Runner(library(sys.argv[1]))
    while True:
        try:
            request, *args = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(getattr(runner, request)(*args), answers)
        answers.flush()


if __name__ == "__main__":
    main()
