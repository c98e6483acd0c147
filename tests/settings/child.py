"""Run examples under settings, in whichever library: `child.py LIB WORK OUT`.

WORK is a JSON list of [module, name, statements, settings], where None stands for all
settings; OUT gets {name: {setting: outcome}}.
"""

import builtins
import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import signal
import sys
import time
import warnings


class Renamed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """`import minijax.numpy` gives JAX's."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "minijax":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return importlib.import_module("jax" + spec.name[len("minijax") :])

    def exec_module(self, module):
        pass


def settings(jax):
    """Each setting, as a function that makes a context."""

    def both():
        stack = contextlib.ExitStack()
        stack.enter_context(jax.debug_nans(True))
        stack.enter_context(jax.disable_jit())
        return stack

    return {
        "none": contextlib.nullcontext,
        "strict": lambda: jax.numpy_dtype_promotion("strict"),
        "raise": lambda: jax.numpy_rank_promotion("raise"),
        "debug_nans": lambda: jax.debug_nans(True),
        "debug_nans, disable_jit": both,
        "disable_jit": jax.disable_jit,
        "enable_x64": lambda: jax.enable_x64(True),
        "matmul precision": lambda: jax.default_matmul_precision("highest"),
        "default_device": lambda: jax.default_device(jax.devices()[1]),
        "transfer_guard": lambda: jax.transfer_guard("disallow"),
        "check_tracer_leaks": jax.checking_leaks,
    }


class Late(Exception):
    pass


def late(*_):
    raise Late


@functools.cache
def names_of(module):
    """What stands beside a function, but for what would hide Python's own names."""
    names = [n for n in dir(module) if not hasattr(builtins, n) and n[0] != "_"]
    return {n: getattr(module, n, None) for n in names}


def outcome(make, module, name, statements):
    fun = getattr(module, name, None)
    own = {getattr(fun, "__name__", name): fun, name: fun}
    scope = {**getattr(fun, "__globals__", {}), **names_of(module), **own}
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            signal.alarm(20)
            try:
                with make():
                    for text in statements:
                        exec(compile(text, "<example>", "single"), scope)
            finally:
                signal.alarm(0)
    except BaseException as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0][:150] if str(e) else ''}"
    return "ok"


def main(lib, work, out, seconds):
    signal.signal(signal.SIGALRM, late)
    if lib == "jax":
        sys.meta_path.insert(0, Renamed())
    jax = importlib.import_module(lib)
    results = {}
    began = time.time()
    with open(work) as f:
        todo = json.load(f)
    for path, name, statements, chosen in todo:
        if time.time() - began > float(seconds):
            break
        try:
            module = importlib.import_module(path.replace("minijax", lib, 1))
        except ImportError:
            continue
        rows = {}
        for setting, make in settings(jax).items():
            if chosen is not None and setting not in chosen:
                continue
            rows[setting] = outcome(make, module, name, statements)
            if rows["none"] != "ok":
                break
        results[f"{path}.{name}"] = rows
    with open(out, "w") as f:
        json.dump(results, f, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
