"""How functions are evaluated at edge values, and how the results are shown.

An edge program is one function at one dtype: at a whole vector of arguments (infinities,
nan, zeros of either sign, subnormals, ties, the largest numbers, corners of the complex
plane; of two operands all pairs) it gives the value, the first derivative by `jvp` and
by `vjp`, and the second derivative by every nesting of the two.  A derivative that is
the same by every road is one line; a road that differs has a line of its own.
Functions along an axis, and of matrices, have stacks of edge rows and edge matrices for
arguments (`edge_rows.py`), and separate lines for rows of one number and of none.

The tables are in `edges/`, what JAX 0.10.2 gives in `edges/expected/` (see `record.py`).
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from harness import Programs, attempt, show

import minijax as jax

nan, inf = np.nan, np.inf


def floats(dtype: Any, pairs: bool = False) -> np.ndarray:
    """The edge values of a float dtype; the shorter list is for pairs."""
    info = ml_dtypes.finfo(dtype)
    top, tiny, least = float(info.max), float(info.tiny), float(info.smallest_subnormal)
    short = [nan, -inf, -top, -2, -1.5, -1, -0.0, 0.0, tiny, 0.5, 1, 2, 3, inf]
    long = [
        nan,
        -inf,
        -top,
        -100,
        -2.5,
        -2,
        -1.5,
        -1,
        -0.5,
        -tiny,
        -least,
        -0.0,
        0.0,
        least,
        tiny,
        1e-3,
        0.5,
        1,
        1.5,
        2,
        2.5,
        3.5,
        100,
        top,
        inf,
    ]
    return np.array(short if pairs else long, np.float64).astype(dtype)


def complexes(dtype: Any, pairs: bool = False) -> np.ndarray:
    """Corners of the complex plane: every pair of some edge values as parts."""
    top = float(np.finfo(dtype).max)
    short = [nan, -inf, -0.0, 0.0, 2, inf]
    long = [nan, -inf, -1, -0.0, 0.0, 0.5, 1, 100, top, inf]
    parts = short if pairs else long
    return np.array([complex(*z) for z in itertools.product(parts, parts)], dtype)


def integers(dtype: Any, pairs: bool = False) -> np.ndarray:
    """The edge values of an integer dtype: ends, and about the width for shifts."""
    info, bits = np.iinfo(dtype), 8 * np.dtype(dtype).itemsize
    around = [-bits - 1, -7, -2, -1, 0, 1, 2, 3, 7, bits - 1, bits, bits + 1]
    values = {info.min, info.min + 1, *around, info.max // 2, info.max}
    return np.array(sorted(v for v in values if info.min <= v <= info.max), dtype)


def edge_values(dtype: str, pairs: bool = False) -> np.ndarray:
    """The edge values of a dtype, given by name."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if kind.kind == "b":
        return np.array([False, True])
    values = {"c": complexes, "i": integers, "u": integers}.get(kind.kind, floats)
    return values(kind, pairs)


# ------------------------------------------------------------------------ derivatives

Lines = dict[str, Any]
Seed = Callable[[Any, Any], Any]


def ones(x: Any, one: Any) -> Any:
    """The seed of elementwise functions: every element moves by 1.

    Seeds are made of an argument that is 1, so that compilers do not see the number.
    """
    return jax.numpy.full_like(x, one)


def weights(x: Any, one: Any) -> Any:
    """The seed of stacks: elements of a row or matrix move by 1, 2, 3 ..., to tell them
    apart, and all of one number by 1."""
    shape = np.shape(x)[1:]
    steps = 1 + np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7
    return jax.numpy.full_like(x, one) * steps.astype(x.dtype)


def tangent_of(f: Callable[..., Any], i: int, seed: Seed) -> Callable[..., Any]:
    """The derivative of f(one, *args) in args[i] by `jvp`."""

    def derivative(one: Any, *args: Any) -> Any:
        def moved(x: Any) -> Any:
            return f(one, *args[:i], x, *args[i + 1 :])

        return jax.jvp(moved, (args[i],), (seed(args[i], one),))[1]

    return derivative


def cotangent_of(f: Callable[..., Any], i: int, seed: Seed) -> Callable[..., Any]:
    """The derivative of f(one, *args) in args[i] by `vjp`."""

    def derivative(one: Any, *args: Any) -> Any:
        def moved(x: Any) -> Any:
            return f(one, *args[:i], x, *args[i + 1 :])

        out, pull = jax.vjp(moved, args[i])
        return pull(seed(out, one))[0]

    return derivative


WAYS = {"j": tangent_of, "v": cotangent_of}


def derivatives(
    f: Callable[..., Any], n: int, roads: Iterable[str], seed: Seed
) -> dict[str, Callable[..., Any]]:
    """Functions of (1, *args) for the value and for each derivative by each road.

    `d00 jv` is the derivative in operand 0 twice, the `jvp` of the `vjp`.
    """

    def value(one: Any, *args: Any) -> Any:
        return f(*args)

    table = {"f": value}
    for road in roads:
        for places in itertools.combinations_with_replacement(range(n), len(road)):
            g = value
            for way, i in zip(reversed(road), reversed(places), strict=True):
                g = WAYS[way](g, i, seed)
            table[f"d{''.join(map(str, places))} {road}"] = g
    return table


ROADS = {0: (), 1: ("j", "v"), 2: ("j", "v", "jj", "jv", "vv")}


# -------------------------------------------------------------------------- programs


class Case:
    """One function at one dtype, with its arguments: of the main lines, and of others
    that are titled."""

    def __init__(
        self,
        f: Callable[..., Any],
        args: dict[str, Sequence[Any]],
        order: int,
        seed: Seed,
        ulps: int,
        subnormals: bool,
        noise: str = "",
        free: bool = False,
    ):
        self.args, self.ulps, self.subnormals = args, ulps, subnormals
        self.noise, self.free = noise, free
        self.dtype = next(iter(args.values()))[0].dtype
        self.stacked = next(iter(args.values()))[0].ndim > 1
        self.lines, self.titles = {}, {}
        for title, values in args.items():
            roads = ROADS[min(order, 1) if title else order]
            for line, g in derivatives(f, len(values), roads, seed).items():
                self.lines[f"{title} {line}".lstrip()] = g
                self.titles[f"{title} {line}".lstrip()] = title

    def allowance(self, line: str) -> tuple[int, int]:
        """Last places by which a line may differ: of its numbers, and of 1.

        Derivatives are differences of larger terms.
        """
        value = line.split()[-1] == "f"
        return (self.ulps, 0) if value else (4 * self.ulps, 4 * self.ulps)

    def given(self, line: str) -> list[Any]:
        """What a line is a function of: 1, and the arguments."""
        return [np.ones((), self.dtype), *self.args[self.titles[line]]]

    def wide(self) -> Any:
        """A context that admits the dtype of the arguments."""
        wide = ("float64", "complex128", "int64", "uint64")
        return jax.enable_x64(self.dtype.name in wide)

    def eager(self) -> Lines:
        """Every line, each operation evaluated by itself; of stacks the values alone."""
        with self.wide(), np.errstate(all="ignore"):
            return {
                k: attempt(lambda k=k, g=g: g(*self.given(k)))
                for k, g in self.lines.items()
                if not self.stacked or k == "f"
            }

    def mapped(self) -> Lines:
        """The values under `vmap`, which maps the first axis."""
        results = {}
        with self.wide(), np.errstate(all="ignore"):
            for line, g in self.lines.items():
                if line.split()[-1] == "f":
                    one, *args = self.given(line)
                    axes = (None, *(0 for _ in args))
                    results[line] = attempt(
                        lambda g=g, a=axes, one=one, args=args: jax.vmap(g, a)(one, *args)
                    )
        return results

    def compiled(self) -> Lines:
        """Every line out of one program, or the error that tracing it raises.

        Half precision is rounded after every operation, as it is in eager evaluation.
        """
        errors = {}

        def everything(inputs: dict[str, Any]) -> Lines:
            results = {}
            for line, g in self.lines.items():
                out = attempt(lambda g=g, args=inputs[self.titles[line]]: g(*args))
                (errors if isinstance(out, Exception) else results)[line] = out
            return results

        with self.wide(), np.errstate(all="ignore"):
            inputs_by_title = {title: self.given(line) for line, title in self.titles.items()}
            lowered = jax.jit(everything).lower(inputs_by_title)
            program = lowered.compile({"xla_allow_excess_precision": False})
            lines = {**program(inputs_by_title), **errors}
            return {line: lines[line] for line in self.lines}


class Edges(Programs):
    """The edge programs of one file: for each function its cases by dtype."""

    def __init__(self) -> None:
        super().__init__()
        self.cases: dict[str, dict[str, Case]] = {}

    def table(
        self,
        names: str = "",
        *,
        dtypes: str = "float32 float16 bfloat16",
        operands: int = 1,
        order: int = 2,
        ulps: int = 4,
        subnormals: bool = False,
        noise: str = "",
        free: bool = False,
        args: Callable[..., Any] | None = None,
        seed: Seed = ones,
        **functions: Callable[..., Any],
    ) -> None:
        """Add functions: named (`numpy.sin`), or given by a keyword.

        Args:
          names: dotted names below the top, with blanks between.
          dtypes: their names, with blanks between.
          operands: 1, or 2 for all pairs of edge values.
          order: of the highest derivative; half precision and complex numbers have the
            first at most.
          ulps: by how many last places a finite value may differ; 0 for exact ones.
          subnormals: whether arguments that are subnormal count; processors take them
            for zeros in many compiled loops.
          noise: what LAPACK's rounding, which depends on the processor, is relative to, in
            results of matrices: "result" (its largest element), "matrix" (that of the
            argument), "one", or "inverse" (the inverse of the result, to one).
          free: whether derivatives at matrices with equal singular values, or with one
            that is 0, depend on the basis that LAPACK chooses: they are left out.
          args: gives other arguments than the edge values, from a dtype; or a dict of
            such by title.
          seed: the tangents and cotangents.
        """
        for name in names.split():
            functions[name] = functools.reduce(getattr, name.split("."), jax)
        for name, f in functions.items():
            for dtype in dtypes.split():
                args_by_title = args(dtype) if args else elementwise_args(dtype, operands)
                args_by_title = (
                    args_by_title if isinstance(args_by_title, dict) else {"": args_by_title}
                )
                kind = next(iter(args_by_title.values()))[0].dtype.kind
                least = 0 if kind in "biu" else 1 if dtype not in ("float32", "float64") else 2
                cases = self.cases.setdefault(name, {})
                if dtype in cases:
                    raise ValueError(f"{name} of {dtype} stands twice in the tables")
                cases[dtype] = Case(
                    f, args_by_title, min(order, least), seed, ulps, subnormals, noise, free
                )
            if name not in self:
                self.add(name, functools.partial(self.texts, name))

    def texts(self, name: str) -> dict[str, str]:
        """What the cases of one function give, as text: the recording.

        Compiled, and `eager` where the operations by themselves give something else.
        """
        texts = {}
        for dtype, case in self.cases[name].items():
            compiled = {k: edge_text(v) for k, v in case.compiled().items()}
            few = shorter(compiled, case)
            texts |= {f"{dtype} {line}": text for line, text in few.items()}
            for line, value in ({} if case.stacked else case.eager()).items():
                text = edge_text(value)
                if differences(text, compiled[line], case, line) != []:
                    texts[f"eager {dtype} {line}"] = text
        return texts

    def faults(self, name: str, expected: str, ours: str, road: str) -> list[str]:
        """How the results of one function differ from the recorded ones: in words.

        The lines of `ours` stand in place of those of `expected`.
        """
        lines = [*expected.splitlines(), *ours.splitlines()]
        expected_by_line = dict(line.split(": ", 1) for line in lines)
        wrong = []
        for dtype, case in self.cases[name].items():
            for line, value in getattr(case, road)().items():
                text = edge_text(value)
                choices = recorded(expected_by_line, f"{dtype} {line}", road)
                by_choice = [differences(text, t, case, line) for t in choices]
                if [] not in by_choice:
                    known = [(len(d), i) for i, d in enumerate(by_choice) if d is not None]
                    i = min(known)[1] if known else 0
                    title = f"{dtype} {line}"
                    wrong.append(report(title, text, choices[i], by_choice[i], case))
        return wrong


def elementwise_args(dtype: str, operands: int) -> list[np.ndarray]:
    """The edge values of a dtype, or all pairs of them."""
    if operands == 1:
        return [edge_values(dtype)]
    values = edge_values(dtype, pairs=True)
    return [np.repeat(values, values.size), np.tile(values, values.size)]


# ------------------------------------------------------------------------------ texts


def shorter(lines: dict[str, str], case: Case) -> dict[str, str]:
    """Those lines that do not agree with an earlier one of their order."""
    texts: dict[str, str] = {}
    for name, text in lines.items():
        place = name.rpartition(" ")[0]
        if not any(
            differences(text, other, case, name) == []
            for earlier, other in texts.items()
            if earlier.rpartition(" ")[0] == place
        ):
            texts[name] = text
    return texts


def recorded(texts: dict[str, str], line: str, road: str) -> list[str]:
    """The recorded texts that a line may agree with: its own, or those of its order."""
    for key in (f"{road} {line}", line):
        if key in texts:
            return [texts[key]]
    place = line.rpartition(" ")[0] + " "
    return [text for key, text in texts.items() if key.startswith(place)]


def report(line: str, text: str, expected: str, places: list[int] | None, case: Case) -> str:
    """A difference in words: the arguments, what is found and what is expected there."""
    if places is None:
        return f"{line}: {text}, expected {expected}"
    result, target = numbers(text)[1], numbers(expected)[1]
    shown = []
    for i in places[:5]:
        args = case.args[case.titles[line.removeprefix(f"{case.dtype} ")]]
        at = [edge_text(row_at(x, i, result.size)).partition("]")[2] for x in args]
        where = f"({','.join(at).strip()})"
        shown.append(f"at {where} {result[i]:.9g}, expected {target[i]:.9g}")
    return f"{line}: {'; '.join(shown)} ({len(places)} in all)"


def row_at(x: Any, i: int, size: int) -> Any:
    """That row of an argument which the i-th of so many numbers is about."""
    return x.ravel()[i] if x.size == size and x.ndim == 1 else x[i * len(x) // size]


def edge_text(value: Any) -> str:
    """A result on one line: dtype, shape, elements; `0*3` stands for three zeros, `|`
    for the end of a row and `|*3` for that of three like it."""
    if isinstance(value, BaseException):
        return show(value)
    data = np.asarray(value)
    head = f"{data.dtype}[{','.join(map(str, data.shape))}]"
    if data.ndim < 2 or not data.size:
        return " ".join([head, *runs([number_text(x) for x in data.ravel()], "")])
    rows = [" ".join(runs(map(number_text, row.ravel()), "")) for row in data]
    return " ".join([head, *runs(rows, " |")])


def runs(texts: Iterable[str], mark: str) -> list[str]:
    """Equal neighbours as one text, with the mark and their number."""
    groups = [(text, len(list(group))) for text, group in itertools.groupby(texts)]
    return [text + mark + (f"*{n}" if n > 1 else "") for text, n in groups]


def number_text(x: Any) -> str:
    """One element, with the fewest digits that tell it from its neighbours."""
    if x.dtype.kind == "c":
        imag = number_text(x.imag)
        return f"{number_text(x.real)}{'' if imag.startswith('-') else '+'}{imag}j"
    if x.dtype.kind == "V":
        text = f"{float(x):.4g}"
    else:
        text = str(x).strip("()")
    return text.removesuffix(".0").replace("e+", "e")


def numbers(text: str) -> tuple[str, np.ndarray]:
    """The head of a text, and its elements as complex numbers."""
    head, *parts = text.split()
    values: list[complex] = []
    start = 0
    for part in parts:
        number, _, times = part.partition("*")
        if number == "|":
            values += values[start:] * (int(times or 1) - 1)
            start = len(values)
        else:
            value = complex({"True": "1", "False": "0"}.get(number, number))
            values += [value] * int(times or 1)
    return head, np.array(values, np.complex128)


def floors(expected: np.ndarray, case: Case, line: str) -> np.ndarray:
    """The last places of 1 that LAPACK's rounding takes, for each number of a line."""
    (x, *_) = case.args[case.titles[line]]
    source = {"result": abs(expected), "matrix": abs(x)}.get(case.noise, np.ones(len(x)))
    rows = source.reshape(len(x), -1)
    sizes = np.where(np.isfinite(rows), rows, 0).max(axis=1, initial=0)
    return case.ulps * np.repeat(sizes, expected.size // max(len(x), 1))


def free_rows(size: int, case: Case, line: str) -> np.ndarray:
    """Which of so many numbers of a line are of matrices with a free basis."""
    (x,) = case.args[case.titles[line]]
    free = np.zeros(len(x), bool)
    for i, matrix in enumerate(x):
        if matrix.size and np.isfinite(matrix).all():
            wide = matrix.astype(np.complex128)
            values = np.append(np.linalg.svd(wide, compute_uv=False), 0)
            free[i] = (-np.diff(values)).min() <= 1e-5 * values[0]
    return np.repeat(free, size // max(len(x), 1))


def differences(text: str, expected: str, case: Case, line: str) -> list[int] | None:
    """The places at which two texts differ; None if they are not alike at all.

    Nan, infinities and zeros with their sign are the same, other numbers within the
    case's allowance (that of rounded derivatives takes in both zeros).
    """
    if text.startswith("raises") or expected.startswith("raises"):
        return [] if text == expected else None
    (head, result), (other, target) = numbers(text), numbers(expected)
    if head != other or result.shape != target.shape:
        return None
    name = head.partition("[")[0]
    kind = np.dtype(getattr(ml_dtypes, name, name))
    skipped = np.zeros(result.shape, bool)
    if not case.subnormals:
        for arg in case.args[case.titles[line]]:
            if arg.shape == result.shape and arg.dtype.kind not in "biu":
                tiny = float(ml_dtypes.finfo(arg.dtype).tiny)
                skipped |= (abs(arg) < tiny) & (arg != 0)
    if case.free and line.split()[-1] != "f":
        skipped |= free_rows(result.size, case, line)
    if kind.kind in "biu":
        return np.flatnonzero((result != target) & ~skipped).tolist()
    info = ml_dtypes.finfo(kind)
    places, floor = case.allowance(line)
    if case.noise and line.split()[-1] == "f":
        floor = floors(target, case, line)
        if case.noise == "inverse":
            with np.errstate(all="ignore"):
                result, target = 1 / result, 1 / target
    good = np.ones(result.shape, bool)
    with np.errstate(all="ignore"):
        finite = np.isfinite(result) & np.isfinite(target)
        size = np.maximum(abs(result), abs(target))
        for x, y in ((result.real, target.real), (result.imag, target.imag)):
            if places:
                x, y = (np.where(abs(v) < float(info.tiny), v * 0, v) for v in (x, y))
            own = np.where(finite, size, np.maximum(abs(x), abs(y)))
            near = abs(x - y) <= float(info.eps) * (places * own + floor)
            near &= ((x != y) | (np.asarray(floor) > 0)) & np.isfinite(x) & np.isfinite(y)
            same = (x == y) & (np.signbit(x) == np.signbit(y))
            good &= same | near | np.isnan(x) & np.isnan(y)
    return np.flatnonzero(~(good | skipped)).tolist()
