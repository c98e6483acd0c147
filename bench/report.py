"""The table of outcomes, for the terminal and as markdown."""

import statistics

from .harness import Outcome

HEAD = ("what", "goal", "ratio", "spread", "minijax", "JAX", "Python calls", "met")
SCALES = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
}
LINEAR = 1.05  # the largest exponent that counts as linear
NEAR = 0.03  # exponents that differ by less are equal
NOISE = 0.05  # a ratio is noise if it exceeds its goal by less, and some round met the goal


def amount(value: float, unit: str) -> str:
    """Return `value` with three digits and a unit: `12.3 µs`, `1.62 MiB`, `440`."""
    for scale, name in SCALES.get(unit, ()):
        if value >= scale:
            return f"{digits(value / scale)} {name}"
    return digits(value)


def digits(value: float) -> str:
    """Return three significant digits, without an exponent."""
    no_decimals = value >= 100 or value == int(value)
    return f"{value:.0f}" if no_decimals else f"{value:.3g}"


def met(outcome: Outcome) -> bool | None:
    """Whether the goal is met; None if the row has no goal."""
    row = outcome.row
    if outcome.error or not outcome.ours:
        return None if row.goal is None and row.kind == "ratio" else False
    ours, theirs = map(statistics.median, (outcome.ours, outcome.theirs))
    if row.kind == "growth":
        return ours <= max(LINEAR, theirs + NEAR)
    if row.goal is None:
        return None
    if row.kind == "count":
        return ours <= row.goal
    return statistics.median(ratios(outcome)) <= row.goal


def verdict(outcome: Outcome) -> str:
    """Return the last cell: yes, NO, or noise if the rounds disagree."""
    answer, row = met(outcome), outcome.row
    if answer is False and row.kind == "ratio" and outcome.ours:
        values = ratios(outcome)
        if min(values) <= row.goal and statistics.median(values) <= row.goal + NOISE:
            return "noise"
    return {True: "yes", False: "NO", None: ""}[answer]


def ratios(outcome: Outcome) -> list[float]:
    pairs = zip(outcome.ours, outcome.theirs, strict=True)
    return [ours / theirs if theirs else float("nan") for ours, theirs in pairs]


def line(outcome: Outcome) -> tuple[str, ...]:
    """Return the cells of one row."""
    row = outcome.row
    goal = {
        "ratio": "" if row.goal is None else f"{row.goal:.2f}",
        "count": f"{row.goal}",
        "growth": "1, or JAX's",
    }[row.kind]
    if not outcome.ours:
        return (row.name, goal, "", "", "", "", "", outcome.error or "not measured")
    values = ratios(outcome)
    ours, theirs = map(statistics.median, (outcome.ours, outcome.theirs))
    ours_calls, theirs_calls = outcome.calls
    calls = "" if ours_calls is None else f"{ours_calls} / {theirs_calls}"
    return (
        row.name,
        goal,
        f"{statistics.median(values):.2f}",
        f"{min(values):.2f} to {max(values):.2f}",
        amount(ours, row.unit),
        amount(theirs, row.unit),
        calls,
        verdict(outcome),
    )


def text(title: str, outcomes: list[Outcome]) -> str:
    """Return the table of one case, in columns."""
    lines = [HEAD, *map(line, outcomes)]
    widths = [max(len(cells[i]) for cells in lines) for i in range(len(HEAD) - 1)]
    widths[0] = max(widths[0], 44)
    rows = []
    for cells in lines:
        first, *numbers, last = cells
        middle = "  ".join(n.rjust(w) for n, w in zip(numbers, widths[1:], strict=True))
        rows.append(f"{first.ljust(widths[0])}  {middle}  {last}".rstrip())
    return "\n".join([title, *(f"  {row}" for row in rows)])


def markdown(title: str, outcomes: list[Outcome]) -> str:
    """Return the table of one case, as markdown."""
    rows = [HEAD, ("---", *["---:"] * (len(HEAD) - 2), "---"), *map(line, outcomes)]
    return "\n".join([f"## {title}", "", *(f"| {' | '.join(cells)} |" for cells in rows)])


def summary(outcomes: list[Outcome]) -> str:
    """Return how many goals are met, and how many are missed."""
    verdicts = [verdict(outcome) for outcome in outcomes]
    yes, noise, no = map(verdicts.count, ("yes", "noise", "NO"))
    return f"{yes} goals met, {noise} missed within noise, {no} not met"
