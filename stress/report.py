"""The input and the result of a part of the stress test."""

from __future__ import annotations

import dataclasses
import json
import time
import traceback


@dataclasses.dataclass
class Budget:
    """The time, the number of threads and the seed of a part."""

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
    """The number of checked operations and injected faults, and the findings."""

    operations: int = 0
    faults: int = 0
    findings: list[str] = dataclasses.field(default_factory=list)
    numbers: dict[str, float] = dataclasses.field(default_factory=dict)

    def note(self, what: str) -> None:
        """Record the current exception as a finding."""
        lines = traceback.format_exc().strip().splitlines()
        self.findings.append("\n    ".join([what, *lines[-12:]]))

    def text(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def of(cls, text: str) -> Report:
        return cls(**json.loads(text))
