"""`debug.breakpoint`: stop a running program, and inspect the user's variables.

When the line is traced, the user's frames are recorded with their variables; traced ones
become operands of a `debug.callback`, which reads commands when the program reaches that
point.  Variables cannot be changed.

Next: api/.
"""

from __future__ import annotations

import linecache
import pprint
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, TextIO

import numpy as np

from ...base import errors, source, tree
from ...ir.core import STATE, Tracer, aval_of
from ..rules.custom_jvp import custom_jvp
from .callbacks import pure_callback
from .debugging import debug_callback

PROMPT = "(jdb) "


class Variables:
    """The variables of a frame; the values of traced leaves are added later."""

    __slots__ = ("leaves", "names", "keys", "trees")

    def __init__(self, variables: dict[str, Any], traced: dict[int, Tracer]) -> None:
        self.names = list(variables)
        self.trees: list[Any] = []
        self.leaves: list[list[Any]] = []
        self.keys: list[dict[int, int]] = []  # leaf -> key of the traced value
        for value in variables.values():
            try:
                leaves, treedef = tree.flatten(value)
            except (TypeError, ValueError):  # dictionary keys that cannot be sorted
                leaves, treedef = [value], tree.LEAF
            key_of = {i: id(x) for i, x in enumerate(leaves) if _is_live(x)}
            traced.update((key, leaves[i]) for i, key in key_of.items())
            static_leaves = [None if i in key_of else x for i, x in enumerate(leaves)]
            self.trees.append(treedef)
            self.leaves.append(static_leaves)
            self.keys.append(key_of)

    def values(self, concrete: dict[int, Any]) -> dict[str, Any]:
        """Return name -> value, with the concrete values of traced leaves."""
        out = {}
        for name, treedef, leaves, key_of in zip(
            self.names, self.trees, self.leaves, self.keys, strict=True
        ):
            full_leaves = [
                concrete[key_of[i]] if i in key_of else x for i, x in enumerate(leaves)
            ]
            out[name] = tree.unflatten(treedef, full_leaves)
        return out


def _is_live(x: Any) -> bool:
    """Whether a value belongs to a trace that is active now."""
    if not isinstance(x, Tracer) or not x._trace.alive:
        return False
    trace = STATE.trace
    while trace is not x._trace and trace is not trace.parent:
        trace = trace.parent
    return trace is x._trace


class UserFrame:
    """One of the user's frames, as it was when the breakpoint was traced."""

    __slots__ = ("file", "function", "globals", "line", "locals")

    def __init__(self, frame: FrameType, traced: dict[int, Tracer]) -> None:
        self.file = frame.f_code.co_filename
        self.function = frame.f_code.co_name
        self.line = frame.f_lineno
        self.globals = frame.f_globals
        # In module code the locals are the globals, which are available anyway.
        at_top = frame.f_locals is frame.f_globals
        self.locals = Variables({} if at_top else dict(frame.f_locals), traced)

    def source(self, around: int) -> list[str]:
        """Return the lines around the current one, which is marked."""
        out = []
        for n in range(self.line - around, self.line + around + 1):
            if text := linecache.getline(self.file, n, self.globals):
                out.append(f"{'->' if n == self.line else '  '}  {text.rstrip()}")
        return out


class Session:
    """A reader of commands, until the program continues."""

    def __init__(
        self,
        frames: Sequence[UserFrame],
        concrete: dict[int, Any],
        stdin: TextIO | None,
        stdout: TextIO | None,
    ) -> None:
        self.frames = frames
        self.variables = [p.locals.values(concrete) for p in frames]
        self.at = 0
        self.stdin = stdin or sys.stdin
        self.stdout = stdout or sys.stdout

    def write_lines(self, *lines: str) -> None:
        self.stdout.write("".join(f"{line}\n" for line in lines))

    def run(self) -> None:
        """Run the session; SystemExit if the user quits, or at the end of the input."""
        self.write_lines("Entering jdb:")
        last = ""
        while True:
            self.stdout.write(PROMPT)
            self.stdout.flush()
            text = self.stdin.readline()
            line = (text.strip() if text else "q") or last
            last = line
            name, _, rest = line.partition(" ")
            if name in CONTINUE:
                return
            if name in QUIT:
                raise SystemExit(0)
            command = COMMANDS.get(name)
            if command is None:
                self.show(line, repr)
            else:
                command(self, rest)

    def show(self, expression: str, form: Callable[[Any], str]) -> None:
        """Print the value of an expression, in the current frame."""
        if not expression:
            return
        try:
            names = {**self.frames[self.at].globals, **self.variables[self.at]}
            self.write_lines(form(eval(expression, names)))
        except Exception as e:
            self.write_lines(f"*** {type(e).__name__}: {e}")

    def show_source(self, around: int = 2) -> None:
        frame = self.frames[self.at]
        self.write_lines(f"> {frame.file}({frame.line}) {frame.function}")
        self.write_lines(*frame.source(around))

    def move(self, step: int) -> None:
        if 0 <= self.at + step < len(self.frames):
            self.at += step
            self.show_source()
        else:
            self.write_lines("At topmost frame." if step > 0 else "At bottommost frame.")

    def trail(self) -> None:
        self.write_lines("Traceback:")
        for frame in reversed(self.frames):
            text = linecache.getline(frame.file, frame.line, frame.globals).strip()
            self.write_lines(f'  File "{frame.file}", line {frame.line}, in {frame.function}')
            self.write_lines(f"    {text or '<no source>'}")


CONTINUE = ("c", "cont", "continue")
QUIT = ("q", "quit", "exit")
COMMANDS: dict[str, Callable[[Session, str], None]] = {}


def _command(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def register(action: Callable[..., None]) -> Callable[..., None]:
        COMMANDS.update(dict.fromkeys(names, action))
        return action

    return register


_command("p")(lambda session, rest: session.show(rest, repr))
_command("pp")(lambda session, rest: session.show(rest, pprint.pformat))
_command("l", "list")(lambda session, rest: session.show_source(5))
_command("u", "up")(lambda session, rest: session.move(1))
_command("d", "down")(lambda session, rest: session.move(-1))
_command("bt", "w", "where")(lambda session, rest: session.trail())
_command("h", "help", "?")(
    lambda session, rest: session.write_lines(
        "p EXPR, or EXPR: print a value; pp EXPR: print it in lines",
        "l(ist): the source; bt, w(here): the calls; u(p), d(own): another frame",
        "c(ontinue): continue; q(uit): end the program",
    )
)


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> Any:
    """Stop when the running program reaches this point, and read commands.

    Traced values have their values of that time; under `vmap`, the program stops for
    each lane.  `h` lists the commands.

    Args:
      backend: 'cli', the only debugger, or None.
      filter_frames: leave out frames of minijax itself.
      num_frames: how many of the calling frames to include; all by default.
      ordered: keep the order of the program among ordered effects.
      token: a pytree of arrays, instead of `ordered`: the program stops once they are
        computed, and continues with the result; if that is never used, it never stops.
      kwargs: `stdin` and `stdout`, the source of commands and the target of output.

    Returns:
      `token`, after the user has continued the program.

    Raises:
    Raises:
      ValueError: `backend` is unknown, or both `ordered` and `token` are passed.
      TypeError: an unknown keyword.
      SystemExit: the user quits, in eager code.
      JaxRuntimeError: the user quits, in a compiled program.

    Example:
      >>> import io, minijax as mj
      >>> @mj.jit
      ... def f(x):
      ...     y = x * 2
      ...     breakpoint(stdin=io.StringIO('p y + 1\\nc\\n'), num_frames=1)
      ...     return y
      >>> f(3.)
      Entering jdb:
      (jdb) Array(7., dtype=float32)
      (jdb) Array(6., dtype=float32, weak_type=True)
    """
    if backend not in (None, "cli"):
        raise errors.value_error(
            f"breakpoint: there is no debugger {backend!r}.", tries=["backend='cli'"]
        )
    if ordered and token is not None:
        raise errors.value_error("`ordered` and `token` are mutually exclusive arguments.")
    stdin, stdout = _streams(**kwargs)
    traced: dict[int, Tracer] = {}
    frames: list[UserFrame] = []
    frame = source.user_frame(2)
    while frame is not None and (num_frames is None or len(frames) < num_frames):
        if not filter_frames or not source.is_internal(frame.f_code):
            frames.append(UserFrame(frame, traced))
        frame = frame.f_back
    keys = list(traced)

    def stop(values: Sequence[Any]) -> None:
        Session(frames, dict(zip(keys, values, strict=True)), stdin, stdout).run()

    if token is None:
        debug_callback(stop, list(traced.values()), ordered=ordered)
        return None

    def answer(token: Any, values: Sequence[Any]) -> Any:
        stop(values)
        return tree.map(np.asarray, token)

    @custom_jvp
    def after(token: Any, values: Any) -> Any:
        types = tree.map(aval_of, token)
        return pure_callback(answer, types, token, values, vmap_method="sequential")

    after.defjvp(lambda primals, tangents: (after(*primals), tangents[0]))
    return after(token, list(traced.values()))


def _streams(
    *, stdin: TextIO | None = None, stdout: TextIO | None = None
) -> tuple[TextIO | None, TextIO | None]:
    return stdin, stdout
