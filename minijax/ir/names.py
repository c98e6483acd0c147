"""Names of operations: the scopes and transformations around them, as a stack.

A transformation wraps its name around the name of the scope inside: `outer/jvp(inner)`.
The stack of a thread is `STATE.names`.  Next: jaxpr.py.
"""

from __future__ import annotations

from ..base.util import cached
from .core import EVAL, STATE, Trace


@cached(4096)
def wrap_name_stack(word: str, names: str) -> str:
    """Wrap a transformation's name around the first name of a stack: `jvp(outer)/inner`."""
    depth = 0
    for i, character in enumerate(names):
        if character == "/" and not depth:
            return f"{word}({names[:i]}){names[i:]}"
        depth += (character == "(") - (character == ")")
    return f"{word}({names})"


def within(outer: str, inner: str) -> str:
    """Return `inner` inside the stack `outer`; empty parentheses at its end receive it.

    >>> within("f/transpose(jvp())", "g/h"), within("f/vmap(g)", "h")
    ('f/transpose(jvp(g))/h', 'f/vmap(g)/h')
    """
    if outer[-1:] != ")":
        return f"{outer}/{inner}" if outer else inner
    opening = outer.rstrip(")")
    if opening[-1:] != "(":
        return f"{outer}/{inner}"
    first, slash, rest = inner.partition("/")
    return f"{opening}{first}{outer[len(opening) :]}{slash}{rest}"


class Inside(str):
    """The name stack inside a program that is transformed together with its equation.

    The equation's name has the mark of the transformation, so names inside get none.
    """

    __slots__ = ()


class NamedTrace(Trace):
    """A trace that wraps its name around that of the scope inside: `outer/jvp(inner)`."""

    __slots__ = ("base", "mark", "seen")
    word: str

    def __init__(self, parent: Trace) -> None:
        self.parent = parent
        self.alive = True
        self.base = self.seen = STATE.names
        self.mark = ""

    def name_stack(self) -> str:
        """Return the name stack for operations that this trace binds in its parent."""
        names = STATE.names
        if self.parent is EVAL or type(self.base) is Inside:  # EVAL does not record names
            return names
        if names != self.seen or not self.mark:
            base, self.seen = self.base, names
            inner = names[len(base) :].lstrip("/") if names.startswith(base) else names
            self.mark = f"{base}/{wrap_name_stack(self.word, inner)}".lstrip("/")
        return self.mark
