"""Names of operations: the scopes and transformations around them, as a stack.

A transformation puts its name around that of the scope inside: `outer/jvp(inner)`.  The
stack of a thread is `STATE.names`.  Next: jaxpr.py.
"""

from __future__ import annotations

from functools import lru_cache

from .core import EVAL, STATE, Trace


@lru_cache(maxsize=4096)
def wrap_name_stack(word: str, names: str) -> str:
    """The name of a transformation around the first of a stack: `jvp(outer)/inner`."""
    depth = 0
    for i, character in enumerate(names):
        if character == "/" and not depth:
            return f"{word}({names[:i]}){names[i:]}"
        depth += (character == "(") - (character == ")")
    return f"{word}({names})"


def within(outer: str, inner: str) -> str:
    """A name in a stack; one that ends with empty marks has the name in them.

    >>> within("f/transpose(jvp())", "g/h"), within("f/vmap(g)", "h")
    ('f/transpose(jvp(g))/h', 'f/vmap(g)/h')
    """
    if outer[-1:] != ")":
        return f"{outer}/{inner}" if outer else inner
    kept = outer.rstrip(")")
    if kept[-1:] != "(":
        return f"{outer}/{inner}"
    first, slash, rest = inner.partition("/")
    return f"{kept}{first}{outer[len(kept) :]}{slash}{rest}"


class Inside(str):
    """The name stack in a program that is transformed with the equation that holds it:
    the equation's name has the mark of the transformation, those inside have none."""

    __slots__ = ()


class NamedTrace(Trace):
    """A trace whose name stands around that of the scope inside: `outer/jvp(inner)`."""

    __slots__ = ("base", "mark", "seen")
    word: str

    def __init__(self, parent: Trace) -> None:
        self.parent = parent
        self.alive = True
        self.base = self.seen = STATE.names
        self.mark = ""

    def name_stack(self) -> str:
        """The name stack for what this trace does at its parent."""
        names = STATE.names
        if self.parent is EVAL or type(self.base) is Inside:  # EVAL forgets them
            return names
        if names != self.seen or not self.mark:
            base, self.seen = self.base, names
            inner = names[len(base) :].lstrip("/") if names.startswith(base) else names
            self.mark = f"{base}/{wrap_name_stack(self.word, inner)}".lstrip("/")
        return self.mark
