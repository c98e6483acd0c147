"""A row of the table, and the sheet that a measured process fills."""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One measured thing and its goal.

    `kind` is the kind of the goal. "ratio": minijax / JAX is at most `goal`. "count":
    minijax's own number is at most `goal`. "growth": the exponent is linear (1), or at
    most JAX's. A row without a goal is for information.
    """

    name: str
    goal: float | None = None
    unit: str = "s"  # s, B or "" for plain numbers
    kind: str = "ratio"


@dataclass
class Sheet:
    """The numbers of one process: seconds, bytes or counts by row name."""

    rows: Iterable[Row]
    quick: bool = False
    values: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, value: float) -> None:
        """Store a number for the row `name`."""
        if name not in {row.name for row in self.rows}:
            raise KeyError(f"no row is called {name!r}")
        self.values[name] = float(value)

    def fill(self, name: str, get: Callable[[], float]) -> None:
        """Store the result of `get()`; an exception fails this row only."""
        try:
            self.put(name, get())
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {str(error).strip() or '?'}".splitlines()[0]
            self.errors[name] = f"{text} ({last.filename}:{last.lineno})"

    def fill_calls(self, name: str, get: Callable[[], int]) -> None:
        """Store a count of Python calls for the row, in addition to its number."""
        if name not in self.errors:
            self.calls[name] = get()
