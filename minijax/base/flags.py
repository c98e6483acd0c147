"""Options as flags of absl-py, which is imported only if a program requests it.

Training scripts begin with `config.config_with_absl()` before `absl.app.run(main)`, or with
`config.parse_flags_with_absl()`.  Next: config.py.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

from . import errors, option

_defined: Any = None  # absl's FLAGS, once options are flags
_parsed = False
_names: tuple[str, ...] = ()
_KINDS: dict[type, str] = {bool: "boolean", int: "integer", float: "float"}


def _absl(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"absl.{module}")
    except ImportError:
        raise errors.error(
            ImportError,
            "Options cannot be flags: absl is not installed.",
            why="absl-py defines flags, and minijax does not depend on it.",
            tries=["pip install absl-py", "config.update('jax_...', value)"],
        ) from None


def define(
    options: dict[str, option.Option],
    old_names: dict[str, str],
    update: Callable[[str, Any], None],
) -> None:
    """Define flags for options, and let `absl.app.run` set the options that are present."""
    global _defined, _names
    if _defined is not None:
        return
    flags, app = _absl("flags"), _absl("app")
    for name in (*options, *old_names):
        opt = options[old_names.get(name, name)]
        help_text = f"The option {name}."
        value, choices = opt.value, getattr(opt.check, "choices", None)
        if choices is not None:
            words = [c for c in choices if c is not None]
            flags.DEFINE_enum(name, value, words, help_text)
        elif (kind := _KINDS.get(type(value))) is not None:
            getattr(flags, f"DEFINE_{kind}")(name, value, help_text)
        else:
            flags.DEFINE_string(name, value and str(value), help_text)
    _defined, _names = flags.FLAGS, (*options, *old_names)
    app.call_after_init(lambda: _complete(update))


def parse(update: Callable[[str, Any], None]) -> None:
    """Read the `--jax_...` flags of the command line, once, and set options from them."""
    global _parsed
    if _parsed:
        return
    before_separator = itertools.takewhile(lambda a: a != "--", sys.argv[1:])
    _defined(["", *(a for a in before_separator if a.lstrip("-").startswith("jax"))], True)
    _complete(update)
    _parsed = True


def _complete(update: Callable[[str, Any], None]) -> None:
    for name in _names:
        flag = _defined[name]
        if flag.present:
            update(name, flag.value)


def set_flag(name: str, value: Any) -> None:
    """Set the flag of an option after the option has changed."""
    if _defined is not None and name in _names and _defined.is_parsed():
        flag = _defined[name]
        if flag.value != value:
            flag.value = value
