"""What a part of the stress test is given, and what it gives back."""

from __future__ import annotations

import dataclasses
import json
import time
import traceback


@dataclasses.dataclass
class Budget:
    """How long a part may run, with how many threads, and from which seed."""

    seconds: float
    threads: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        self.end = time.monotonic() + self.seconds

    @property
    def spent(self) -> bool:
        return time.monotonic() >= self.end


@dataclasses.dataclass
class Report:
    """Operations that were checked, faults that were injected, and what was found."""

    operations: int = 0
    faults: int = 0
    found: list[str] = dataclasses.field(default_factory=list)
    numbers: dict[str, float] = dataclasses.field(default_factory=dict)

    def note(self, what: str) -> None:
        """Keep the exception at hand as something that was found."""
        lines = traceback.format_exc().strip().splitlines()
        self.found.append("\n    ".join([what, *lines[-12:]]))

    def text(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def of(cls, text: str) -> Report:
        return cls(**json.loads(text))
