"""Source maps: for each line of a jaxpr, StableHLO or HLO module, the line of the program.

Maps have the format that browsers read (ECMA-426, "Source map format specification").  Each
line of the generated text has segments (column, source, line, column).  Each number is
relative to the one before, and written in base 64 with variable length.

Next: stages_page.py, which shows the same as a page.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ..api.aot import jit
from ..api.eval_shape import make_jaxpr
from ..base import config, errors
from ..ir.jaxpr import ClosedJaxpr, Equation, closed_jaxprs
from .source_lines import source_line_of

__all__ = (
    "CompileFn",
    "GenerateDumpFn",
    "HloPass",
    "Location",
    "MappingsGenerator",
    "Pass",
    "Redirect",
    "SourceMap",
    "SourceMapDump",
    "SourceMapGeneratorFn",
    "all_passes",
    "canonicalize_filename",
    "compile_jaxpr",
    "compile_with_env",
    "create_mlir_sourcemap",
    "filter_passes",
    "generate_sourcemaps",
    "make_jaxpr_dump",
    "optimized_generate_dump",
    "original_hlo_generate_dump",
    "parse_hlo_dump",
    "parse_mlir_locations",
    "register_pass",
    "stable_hlo_generate_dump",
    "trace_and_lower",
)

Segment = tuple[int, ...]
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


# -------------------------------------------------------------------------- the maps


def _encode(n: int) -> str:
    """Encode a number in base 64 with six bits a digit.

    The highest bit of a digit marks that more follow; the lowest bit of all is the sign.
    """
    n, out = (-n << 1 | 1) if n < 0 else n << 1, ""
    while True:
        n, low = n >> 5, n & 31
        out += _DIGITS[low | 32 if n else low]
        if not n:
            return out


def _decode(text: str) -> Segment:
    numbers, total, shift = [], 0, 0
    for digit in text:
        bits = _DIGITS.index(digit)
        total |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            numbers.append(-(total >> 1) if total & 1 else total >> 1)
            total = shift = 0
    return tuple(numbers)


@dataclasses.dataclass(frozen=True)
class SourceMap:
    """The source lines of a generated text.

    version: 3, of the format; sources, sources_content: files, and optionally their texts.
    mappings: for each line its segments, relative to one another.

    >>> SourceMap(3, ['f.py'], [], [], [[(0, 0, 2, 4)], []]).to_json()[-20:]
    '"mappings": "AAEI;"}'
    """

    version: int
    sources: Sequence[str]
    sources_content: Sequence[str]
    names: Sequence[str]
    mappings: Sequence[Sequence[Segment]]

    def to_json(self) -> str:
        """Return the map as JSON text."""
        lines = (",".join("".join(map(_encode, s)) for s in line) for line in self.mappings)
        return json.dumps(
            {
                "version": self.version,
                "sources": list(self.sources),
                "sourcesContent": list(self.sources_content),
                "names": list(self.names),
                "mappings": ";".join(lines),
            }
        )

    @classmethod
    def from_json(cls, json_data: str) -> SourceMap:
        """Parse a map that `to_json` wrote."""
        data = json.loads(json_data)
        if data["version"] != 3:
            raise errors.value_error(
                f"A source map of version {data['version']}.",
                why="only version 3 is supported.",
            )
        lines = (line.split(",") for line in data["mappings"].split(";"))
        return cls(
            3,
            data["sources"],
            data.get("sourcesContent", []),
            data["names"],
            [[_decode(s) for s in line if s] for line in lines],
        )


class MappingsGenerator:
    """Converter of absolute segments to relative ones.

    >>> generator = MappingsGenerator()
    >>> generator.new_group(); generator.new_segment(4, 0, 3, 2)
    >>> generator.new_segment(6, 0, 3, 8); generator.mappings()
    [[(4, 0, 3, 2), (2, 0, 0, 6)]]
    """

    def __init__(self) -> None:
        self._lines: list[list[Segment]] = []
        self._last = [0] * 5

    def new_group(self) -> None:
        """Start a line of the generated text."""
        self._lines.append([])
        self._last[0] = 0

    def new_segment(self, *seg: int) -> None:
        """Map a column of this line: column, source, line, column and optionally a name."""
        steps = zip(seg, self._last, strict=False)
        self._lines[-1].append(tuple(new - old for new, old in steps))
        self._last[: len(seg)] = seg

    def mappings(self) -> list[list[Segment]]:
        """Return the segments of all lines."""
        return self._lines


class _Files:
    """The source files of a map, numbered in order of appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))


def _build_map(
    lines: Sequence[str], origin: Callable[[int, str], Any], contents: Sequence[str] = ()
) -> SourceMap:
    """Build a map; `origin(i, line)` returns file, line and column, or None."""
    files, generator = _Files(), MappingsGenerator()
    for i, line in enumerate(lines):
        generator.new_group()
        position = origin(i, line)
        if position is not None:
            file, row, column = position
            generator.new_segment(
                len(line) - len(line.lstrip()), files.number(file), row, column
            )
    return SourceMap(3, list(files.numbers), list(contents), [], generator.mappings())


# ------------------------------------------------------------------------ the passes


@dataclasses.dataclass(frozen=True)
class SourceMapDump:
    """The generated text of a pass, with its map."""

    source_map: SourceMap
    generated_code: str
    pass_name: str


class CompileFn(Protocol):
    """The function that compiles `fn(*f_args, **f_kwargs)`, with files in `work_dir`."""

    def __call__(
        self, work_dir: Any, fn: Any, f_args: Any, f_kwargs: Any, /, **kwargs: Any
    ) -> Any: ...


class GenerateDumpFn(Protocol):
    """The function that makes a map of a compilation result."""

    def __call__(self, compile_result: Any, /, **kwargs: Any) -> SourceMapDump: ...


class SourceMapGeneratorFn(Protocol):
    """The result of `generate_sourcemaps`: it returns a map of a call for each pass."""

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[SourceMapDump]: ...


@dataclasses.dataclass(frozen=True)
class Pass:
    """A stage of a program: how it is computed, and how it is written.

    compile_fn: (work_dir, f, f_args, f_kwargs) -> the stage.
    generate_dump: the stage -> a `SourceMapDump`.
    """

    name: str
    compile_fn: CompileFn | Callable[..., Any]
    generate_dump: GenerateDumpFn | Callable[..., SourceMapDump]


_passes: dict[str, Pass] = {}


def register_pass(pass_: Pass) -> None:
    """Add a stage.

    Args:
      pass_: the stage; its name must be new.

    Returns:
      None.

    Raises:
      ValueError: a stage with this name is registered.

    Example:
      >>> register_pass(Pass("jaxpr", compile_jaxpr, make_jaxpr_dump))
      Traceback (most recent call last):
      ValueError: Pass jaxpr already registered
    """
    if pass_.name in _passes:
        raise errors.value_error(f"Pass {pass_.name} already registered")
    _passes[pass_.name] = pass_


def all_passes() -> Sequence[Pass]:
    """Return the registered stages.

    Returns:
      A list of `Pass`.

    Example:
      >>> [p.name for p in all_passes()]
      ['jaxpr', 'hlo:stable-hlo', 'hlo:original', 'hlo:optimized']
    """
    return list(_passes.values())


def filter_passes(regex: str) -> Sequence[Pass]:
    """Return the stages whose names match a pattern.

    Args:
      regex: the pattern.

    Returns:
      A list of `Pass`.

    Example:
      >>> [p.name for p in filter_passes("hlo:o.*")]
      ['hlo:original', 'hlo:optimized']
    """
    return [p for p in _passes.values() if re.match(regex, p.name)]


def compile_with_env(
    f: Any, f_args: Any, f_kwargs: Any, env_flags: Any, compiler_flags: Any
) -> Any:
    """Compile a function with options of the compiler.

    Args:
      f: a function, jitted or not.
      f_args, f_kwargs: its arguments.
      env_flags: must be empty: flags of the process cannot change while it runs.
      compiler_flags: a dictionary of XLA options.

    Returns:
      The lowered program and the compiled one.

    Raises:
      NotImplementedError: `env_flags` is not empty.

    Example:
      >>> import minijax.numpy as jnp
      >>> _, compiled = compile_with_env(jnp.sin, (1.,), {}, {}, {})
      >>> compiled(1.).shape
      ()
    """
    if env_flags:
        raise errors.error(
            NotImplementedError,
            f"compile_with_env: env_flags={env_flags!r}.",
            why="XLA reads its flags once, when the process starts.",
            tries=["compiler_flags", "XLA_FLAGS in the environment"],
        )
    lowered = (f if hasattr(f, "lower") else jit(f)).lower(*f_args, **f_kwargs)
    return lowered, lowered.compile(compiler_flags or None)


def generate_sourcemaps(
    f: Callable[..., Any], passes: Sequence[Pass], **pass_kwargs: Any
) -> SourceMapGeneratorFn:
    """Return a function that maps the lines of each stage of a call to their sources.

    Args:
      f: a function of arrays.
      passes: the stages, from `all_passes` or `filter_passes`.
      pass_kwargs: options of the stages: `xla_compiler_flags`, a dictionary.

    Returns:
      A function of the arguments of `f` that returns a `SourceMapDump` for each stage.

    Example:
      >>> import minijax.numpy as jnp
      >>> (dump,) = generate_sourcemaps(jnp.sin, filter_passes("jaxpr"))(1.)
      >>> dump.generated_code.count("sin"), dump.source_map.version
      (1, 3)
    """

    def maps(*args: Any, **kwargs: Any) -> Sequence[SourceMapDump]:
        return [
            p.generate_dump(p.compile_fn("", f, args, kwargs, **pass_kwargs), **pass_kwargs)
            for p in passes
        ]

    return maps


# ---------------------------------------------------------------------------- jaxprs


def canonicalize_filename(file_name: str) -> str:
    """Return a file's name as it is written in maps: unchanged.

    Args:
      file_name: the name.

    Returns:
      The name.

    Example:
      >>> canonicalize_filename("/a/b.py")
      '/a/b.py'
    """
    return file_name


def compile_jaxpr(work_dir: Any, f: Any, f_args: Any, f_kwargs: Any, **_: Any) -> Any:
    """Return the jaxpr of a call.

    Args:
      work_dir: not used.
      f, f_args, f_kwargs: the function and its arguments.

    Returns:
      The closed jaxpr.

    Example:
      >>> import minijax.numpy as jnp
      >>> len(compile_jaxpr(None, jnp.sin, (1.,), {}).eqns)
      1
    """
    return make_jaxpr(f)(*f_args, **f_kwargs)


def _equations_as_printed(jaxpr: Any) -> Iterator[Equation]:
    """Yield equations in printed order; inner programs follow their equation."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in closed_jaxprs(eqn.params):
            yield from _equations_as_printed(inner.jaxpr)


def make_jaxpr_dump(jaxpr: Any, **_: Any) -> SourceMapDump:
    """Return a jaxpr as text, with a map of its equations.

    Args:
      jaxpr: a jaxpr, closed or not.

    Returns:
      A `SourceMapDump`.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> make_jaxpr_dump(mj.make_jaxpr(jnp.sin)(1.)).pass_name
      'jaxpr'
    """
    text = str(jaxpr)
    bare = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    remaining_eqns = _equations_as_printed(bare)

    def origin(i: int, line: str) -> Any:
        match = re.match(r"\s*(?:[^=\[\]]+:\S+ )*(?:= |_ = )([\w.\-+]+)", line)
        if match is None:
            return None
        eqn = next((e for e in remaining_eqns if e.primitive.name == match[1]), None)
        source_line = None if eqn is None else source_line_of(eqn)
        if source_line is None or not source_line.line:
            return None
        return (
            canonicalize_filename(source_line.file),
            source_line.line - 1,
            source_line.column,
        )

    return SourceMapDump(_build_map(text.split("\n"), origin), text, "jaxpr")


# ------------------------------------------------------------------- StableHLO and HLO


class HloPass(enum.Enum):
    """Stages of a lowered program."""

    STABLE_HLO = "hlo:stable-hlo"
    ORIGINAL = "hlo:original"
    OPTIMIZED = "hlo:optimized"


class Location(NamedTuple):
    """A position in a file; lines count from 1."""

    file: str
    line: int
    col: int


class Redirect(NamedTuple):
    """A location that refers to another one, by its number."""

    tgt_id: int


LOC_REGEX = re.compile(r"loc\(#loc(?P<id>\d*)\)")
SRC_REGEX = re.compile(
    r"#loc(?P<id>\d*) = loc\(\"(?P<file>.*)\":(?P<line>\d+):(?P<col>\d+)"
    r"( to (?P<endlineno>\d+)?:(?P<endcolno>\d+))?\)"
)
SCOPED_REGEX = re.compile(r"#loc(?P<id>\d*) = loc\(\"(?P<scope>.*)\"\(#loc(?P<tgt_id>\d*)\)\)")
CALLSITE_REGEX = re.compile(
    r"#loc(?P<id>\d*) = loc\(callsite\(#loc(?P<callee>\d*) at #loc(?P<caller>\d*)\)\)"
)
METADATA_REGEX = re.compile(
    r"metadata={.*op_name=\"(?P<scope>.*)\" source_file=\"(?P<src_file>.*)\""
    r" source_line=(?P<src_line>\d+).*?}"
)


def parse_mlir_locations(
    mlir_dump: Sequence[str],
) -> tuple[dict[int, Location | Redirect], list[str]]:
    """Split a module's text into its numbered locations and its other lines.

    Args:
      mlir_dump: the lines of the text.

    Returns:
      A dictionary from numbers to `Location` and `Redirect`; the other lines.

    Example:
      >>> parse_mlir_locations(['#loc1 = loc("f.py":3:4)', '#loc2 = loc("f"(#loc1))', 'x'])
      ({1: Location(file='f.py', line=3, col=4), 2: Redirect(tgt_id=1)}, ['x'])
    """
    locations: dict[int, Location | Redirect] = {}
    rest = []
    for line in mlir_dump:
        if match := SRC_REGEX.match(line):
            location = Location(match["file"], int(match["line"]), int(match["col"]))
            locations[int(match["id"] or 0)] = location
        elif match := SCOPED_REGEX.match(line):
            locations[int(match["id"] or 0)] = Redirect(int(match["tgt_id"] or 0))
        elif match := CALLSITE_REGEX.match(line):
            locations[int(match["id"] or 0)] = Redirect(int(match["callee"] or 0))
        elif not line.startswith("#loc"):
            rest.append(line)
    return locations, rest


def create_mlir_sourcemap(mlir_dump: str) -> SourceMap:
    """Return the map of a module's text with locations.

    Args:
      mlir_dump: the text, as `lowered.as_text(debug_info=True)`.

    Returns:
      A `SourceMap`, of the lines of the text.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> text = mj.jit(jnp.sin).lower(1.).as_text(debug_info=True)
      >>> len(create_mlir_sourcemap(text).mappings) == len(text.split("\\n"))
      True
    """
    lines = mlir_dump.split("\n")
    locations, _ = parse_mlir_locations(lines)

    def origin(i: int, line: str) -> Any:
        match = None if line.startswith("#loc") else LOC_REGEX.search(line)
        location: Any = None if match is None else locations.get(int(match["id"] or 0))
        while isinstance(location, Redirect):
            location = locations.get(location.tgt_id)
        return None if location is None else (location.file, location.line - 1, location.col)

    return _build_map(lines, origin)


_FILE = re.compile(r'(\d+) "(.*)"$')
_FILE_LOCATION = re.compile(r"(\d+) \{file_name_id=(\d+) .*?line=(\d+) .*?column=(\d+)")
_FRAME = re.compile(r"(\d+) \{file_location_id=(\d+)")


def parse_hlo_dump(text: str) -> SourceMap:
    """Return the map of a program's HLO.

    Args:
      text: the HLO, with its tables of files and frames, or with `source_file=` and
        `source_line=` of each instruction.

    Returns:
      A `SourceMap`, of the lines of the text.

    Example:
      >>> metadata = 'metadata={op_name="add" source_file="f.py" source_line=3}'
      >>> parse_hlo_dump(' x = f32[] add(y, y), ' + metadata).mappings
      [[(1, 0, 2, 0)]]
    """
    lines = text.split("\n")
    files: dict[str, str] = {}
    locations: dict[str, tuple[str, int]] = {}
    frames: dict[str, str] = {}
    table = ""
    for line in lines:
        if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            table = line
        elif not line:
            table = ""
        elif table == "FileNames" and (match := _FILE.match(line)):
            files[match[1]] = match[2]
        elif table == "FileLocations" and (match := _FILE_LOCATION.match(line)):
            locations[match[1]] = files.get(match[2], ""), int(match[3])
        elif table == "StackFrames" and (match := _FRAME.match(line)):
            frames[match[1]] = match[2]

    def origin(i: int, line: str) -> Any:
        if match := METADATA_REGEX.search(line):
            return match["src_file"], int(match["src_line"]) - 1, 0
        frame = re.search(r"stack_frame_id=(\d+)", line)
        location = None if frame is None else locations.get(frames.get(frame[1], ""))
        return None if location is None else (location[0], location[1] - 1, 0)

    return _build_map(lines, origin)


def trace_and_lower(
    work_dir: Any, f: Any, f_args: Any, f_kwargs: Any, **_: Any
) -> tuple[Any, str]:
    """Lower a call.

    Args:
      work_dir: not used.
      f, f_args, f_kwargs: the function and its arguments.

    Returns:
      The result of `jit(f).lower`, and `work_dir`.

    Example:
      >>> import minijax.numpy as jnp
      >>> trace_and_lower("", jnp.sin, (1.,), {})[1]
      ''
    """
    lowered = (f if hasattr(f, "lower") else jit(f)).lower(*f_args, **f_kwargs)
    return lowered, work_dir


def stable_hlo_generate_dump(args: tuple[Any, str], **_: Any) -> SourceMapDump:
    """Return the StableHLO of a lowered program, with a map of its lines.

    Args:
      args: the result of `trace_and_lower`.

    Returns:
      A `SourceMapDump`.

    Example:
      >>> import minijax.numpy as jnp
      >>> stable_hlo_generate_dump(trace_and_lower("", jnp.sin, (1.,), {})).pass_name
      'hlo:stable-hlo'
    """
    text = args[0].as_text("stablehlo", debug_info=True)
    return SourceMapDump(create_mlir_sourcemap(text), text, HloPass.STABLE_HLO.value)


def original_hlo_generate_dump(args: tuple[Any, str], **_: Any) -> SourceMapDump:
    """Return the HLO of a lowered program, with a map of its lines.

    Args:
      args: the result of `trace_and_lower`.

    Returns:
      A `SourceMapDump`.

    Example:
      >>> import minijax.numpy as jnp
      >>> original_hlo_generate_dump(trace_and_lower("", jnp.sin, (1.,), {})).pass_name
      'hlo:original'
    """
    text = args[0].as_text("hlo", debug_info=True)
    return SourceMapDump(parse_hlo_dump(text), text, HloPass.ORIGINAL.value)


def optimized_generate_dump(
    args: tuple[Any, str], xla_compiler_flags: dict[str, Any] | None = None, **_: Any
) -> SourceMapDump:
    """Return the HLO that XLA optimized, with a map of its lines.

    Args:
      args: the result of `trace_and_lower`.
      xla_compiler_flags: XLA options.

    Returns:
      A `SourceMapDump`.

    Example:
      >>> import minijax.numpy as jnp
      >>> optimized_generate_dump(trace_and_lower("", jnp.sin, (1.,), {})).pass_name
      'hlo:optimized'
    """
    with config.CACHE_ENABLED(False):  # cache keys do not include source lines
        text = args[0].compile(xla_compiler_flags).as_text()
    return SourceMapDump(parse_hlo_dump(text), text, HloPass.OPTIMIZED.value)


register_pass(Pass("jaxpr", compile_jaxpr, make_jaxpr_dump))
for _stage, _dump in (
    (HloPass.STABLE_HLO, stable_hlo_generate_dump),
    (HloPass.ORIGINAL, original_hlo_generate_dump),
    (HloPass.OPTIMIZED, optimized_generate_dump),
):
    register_pass(Pass(_stage.value, trace_and_lower, _dump))
