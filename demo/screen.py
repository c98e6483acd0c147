"""The terminal output of the demo."""

import sys

WIDTH = 32


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


class Progress:
    """A progress bar with the loss: animated in a terminal, four lines in a file."""

    def __init__(self, total: int):
        self.total = total
        self.is_animated = sys.stdout.isatty()

    def show(self, done: int, loss: float) -> None:
        last = done == self.total
        if not self.is_animated and not last and done % max(1, self.total // 4):
            return
        full = WIDTH * done // self.total
        bar = "━" * full + "╌" * (WIDTH - full)
        line = f"  {bar} epoch {done}/{self.total}  loss {loss:.4f}"
        end = "" if self.is_animated and not last else "\n"
        print(("\r" if self.is_animated else "") + line, end=end, flush=True)
