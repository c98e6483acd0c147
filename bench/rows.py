"""What a line of the table is, and the sheet that a measured process fills in."""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One measured thing and its goal.

    `kind` says how the goal is meant: "ratio" is minijax over JAX at most `goal`;
    "count" is minijax's own number at most `goal`; "growth" is an exponent that is
    linear (1), or JAX's at worst. A row without a goal only informs.
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
        """Put down a number for the row called `name`."""
        if name not in {row.name for row in self.rows}:
            raise KeyError(f"no row is called {name!r}")
        self.values[name] = float(value)

    def fill(self, name: str, get: Callable[[], float]) -> None:
        """Put down what `get()` returns; an exception fails this row only."""
        try:
            self.put(name, get())
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {str(error).strip() or '?'}".splitlines()[0]
            self.errors[name] = f"{text} ({last.filename}:{last.lineno})"

    def fill_calls(self, name: str, get: Callable[[], int]) -> None:
        """Put down a count of Python calls beside the row's number."""
        if name not in self.errors:
            self.calls[name] = get()
