"""`debug.breakpoint`: stop a program where it runs, and look at the user's values.

When the line is traced, the user's frames are noted with their variables; those that are
traced become operands of a `debug.callback`, which reads commands when the program gets
there.  Nothing can be changed.

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
    """The variables of a frame, of which those leaves that are traced come later."""

    __slots__ = ("leaves", "names", "places", "trees")

    def __init__(self, found: dict[str, Any], traced: dict[int, Tracer]) -> None:
        self.names = list(found)
        self.trees: list[Any] = []
        self.leaves: list[list[Any]] = []
        self.places: list[dict[int, int]] = []  # leaf -> key of the traced value
        for value in found.values():
            try:
                leaves, treedef = tree.flatten(value)
            except (TypeError, ValueError):  # keys that have no order
                leaves, treedef = [value], tree.LEAF
            places = {i: id(x) for i, x in enumerate(leaves) if _is_live(x)}
            traced.update((key, leaves[i]) for i, key in places.items())
            kept = [None if i in places else x for i, x in enumerate(leaves)]
            self.trees.append(treedef)
            self.leaves.append(kept)
            self.places.append(places)

    def values(self, concrete: dict[int, Any]) -> dict[str, Any]:
        """Name -> value, given what the traced ones are."""
        out = {}
        for name, treedef, leaves, places in zip(
            self.names, self.trees, self.leaves, self.places, strict=True
        ):
            found = [concrete[places[i]] if i in places else x for i, x in enumerate(leaves)]
            out[name] = tree.unflatten(treedef, found)
        return out


def _is_live(x: Any) -> bool:
    """Whether a value is traced by what is going on now."""
    if not isinstance(x, Tracer) or not x._trace.alive:
        return False
    trace = STATE.trace
    while trace is not x._trace and trace is not trace.parent:
        trace = trace.parent
    return trace is x._trace


class Place:
    """One of the user's frames, as it was when the breakpoint was traced."""

    __slots__ = ("file", "function", "globals", "line", "locals")

    def __init__(self, frame: FrameType, traced: dict[int, Tracer]) -> None:
        self.file = frame.f_code.co_filename
        self.function = frame.f_code.co_name
        self.line = frame.f_lineno
        self.globals = frame.f_globals
        at_top = frame.f_locals is frame.f_globals
        self.locals = Variables({} if at_top else dict(frame.f_locals), traced)

    def source(self, around: int) -> list[str]:
        """The lines around this one, which is marked."""
        out = []
        for n in range(self.line - around, self.line + around + 1):
            if text := linecache.getline(self.file, n, self.globals):
                out.append(f"{'->' if n == self.line else '  '}  {text.rstrip()}")
        return out


class Session:
    """Reads commands and answers them, until the program is to go on."""

    def __init__(
        self,
        places: Sequence[Place],
        concrete: dict[int, Any],
        stdin: TextIO | None,
        stdout: TextIO | None,
    ) -> None:
        self.places = places
        self.variables = [p.locals.values(concrete) for p in places]
        self.at = 0
        self.stdin = stdin or sys.stdin
        self.stdout = stdout or sys.stdout

    def say(self, *lines: str) -> None:
        self.stdout.write("".join(f"{line}\n" for line in lines))

    def run(self) -> None:
        """The session; SystemExit if the user quits, or nothing is left to read."""
        self.say("Entering jdb:")
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
        """The value of an expression, in the current frame."""
        if not expression:
            return
        try:
            names = {**self.places[self.at].globals, **self.variables[self.at]}
            self.say(form(eval(expression, names)))
        except Exception as e:
            self.say(f"*** {type(e).__name__}: {e}")

    def look(self, around: int = 2) -> None:
        place = self.places[self.at]
        self.say(f"> {place.file}({place.line}) {place.function}")
        self.say(*place.source(around))

    def move(self, step: int) -> None:
        if 0 <= self.at + step < len(self.places):
            self.at += step
            self.look()
        else:
            self.say("At topmost frame." if step > 0 else "At bottommost frame.")

    def trail(self) -> None:
        self.say("Traceback:")
        for place in reversed(self.places):
            text = linecache.getline(place.file, place.line, place.globals).strip()
            self.say(f'  File "{place.file}", line {place.line}, in {place.function}')
            self.say(f"    {text or '<no source>'}")


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
_command("l", "list")(lambda session, rest: session.look(5))
_command("u", "up")(lambda session, rest: session.move(1))
_command("d", "down")(lambda session, rest: session.move(-1))
_command("bt", "w", "where")(lambda session, rest: session.trail())
_command("h", "help", "?")(
    lambda session, rest: session.say(
        "p EXPR, or EXPR: print a value; pp EXPR: print it in lines",
        "l(ist): the source; bt, w(here): the calls; u(p), d(own): another frame",
        "c(ontinue): go on; q(uit): end the program",
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
    """Stop when the running program gets here, and read commands from the terminal.

    Traced values have the values that they have then; under `vmap`, the program stops for
    each lane.  `h` lists the commands.

    Args:
      backend: 'cli', the one debugger that there is, or None.
      filter_frames: leave out frames of minijax itself.
      num_frames: how many of the calling frames to look at; default all.
      ordered: keep the order of the program among ordered effects.
      token: a pytree of arrays, instead of `ordered`: the program stops once they are
        computed, and goes on with what is returned; if nobody uses that, it never stops.
      kwargs: `stdin` and `stdout`, where commands come from and answers go.

    Returns:
      `token`, after the user has said to go on.

    Raises:
      ValueError: there is no such `backend`, or both `ordered` and `token` are given.
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
    places: list[Place] = []
    frame = source.user_frame(2)
    while frame is not None and (num_frames is None or len(places) < num_frames):
        if not filter_frames or not source.is_internal(frame.f_code):
            places.append(Place(frame, traced))
        frame = frame.f_back
    keys = list(traced)

    def stop(values: Sequence[Any]) -> None:
        Session(places, dict(zip(keys, values, strict=True)), stdin, stdout).run()

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
