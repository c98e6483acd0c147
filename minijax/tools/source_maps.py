"""Source maps: which line of a program each line of its jaxpr, StableHLO or HLO comes from.

A map is in the format that browsers read (ECMA-426, "Source map format specification"):
for each line of the generated text segments (column, source, line, column), each number
relative to the one before, written in base 64 with variable length.

Next: stages_page.py, the same as a page to look at.
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


def _written(n: int) -> str:
    """A number in base 64: six bits a digit, of which the highest says that more follow,
    and the lowest of all is the sign."""
    n, out = (-n << 1 | 1) if n < 0 else n << 1, ""
    while True:
        n, low = n >> 5, n & 31
        out += _DIGITS[low | 32 if n else low]
        if not n:
            return out


def _read(text: str) -> Segment:
    found, total, shift = [], 0, 0
    for digit in text:
        bits = _DIGITS.index(digit)
        total |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            found.append(-(total >> 1) if total & 1 else total >> 1)
            total = shift = 0
    return tuple(found)


@dataclasses.dataclass(frozen=True)
class SourceMap:
    """Where lines of a generated text come from.

    version: 3, of the format; sources, sources_content: files, and perhaps their texts.
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
        """The map as text that browsers read."""
        lines = (",".join("".join(map(_written, s)) for s in line) for line in self.mappings)
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
        """The map that `to_json` wrote."""
        data = json.loads(json_data)
        if data["version"] != 3:
            raise errors.value_error(
                f"A source map of version {data['version']}.", why="only 3 is read."
            )
        lines = (line.split(",") for line in data["mappings"].split(";"))
        return cls(
            3,
            data["sources"],
            data.get("sourcesContent", []),
            data["names"],
            [[_read(s) for s in line if s] for line in lines],
        )


class MappingsGenerator:
    """Makes relative segments of absolute ones.

    >>> made = MappingsGenerator()
    >>> made.new_group(); made.new_segment(4, 0, 3, 2); made.new_segment(6, 0, 3, 8)
    >>> made.mappings()
    [[(4, 0, 3, 2), (2, 0, 0, 6)]]
    """

    def __init__(self) -> None:
        self._lines: list[list[Segment]] = []
        self._last = [0] * 5

    def new_group(self) -> None:
        """Begin a line of the generated text."""
        self._lines.append([])
        self._last[0] = 0

    def new_segment(self, *seg: int) -> None:
        """Map a column of this line: column, source, line, column and perhaps a name."""
        steps = zip(seg, self._last, strict=False)
        self._lines[-1].append(tuple(new - old for new, old in steps))
        self._last[: len(seg)] = seg

    def mappings(self) -> list[list[Segment]]:
        """The segments of all lines."""
        return self._lines


class _Files:
    """The sources of a map, numbered as they come."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self.known.setdefault(name, len(self.known))


def _mapped(
    lines: Sequence[str], origin: Callable[[int, str], Any], contents: Sequence[str] = ()
) -> SourceMap:
    """A map whose lines come from `origin(i, line)`: file, line and column, or None."""
    files, made = _Files(), MappingsGenerator()
    for i, line in enumerate(lines):
        made.new_group()
        found = origin(i, line)
        if found is not None:
            file, row, column = found
            made.new_segment(len(line) - len(line.lstrip()), files.number(file), row, column)
    return SourceMap(3, list(files.known), list(contents), [], made.mappings())


# ------------------------------------------------------------------------ the passes


@dataclasses.dataclass(frozen=True)
class SourceMapDump:
    """A generated text with its map: of which pass."""

    source_map: SourceMap
    generated_code: str
    pass_name: str


class CompileFn(Protocol):
    """How a pass compiles `fn(*f_args, **f_kwargs)`, with its files in `work_dir`."""

    def __call__(
        self, work_dir: Any, fn: Any, f_args: Any, f_kwargs: Any, /, **kwargs: Any
    ) -> Any: ...


class GenerateDumpFn(Protocol):
    """How a pass makes a map of what its compilation gave."""

    def __call__(self, compile_result: Any, /, **kwargs: Any) -> SourceMapDump: ...


class SourceMapGeneratorFn(Protocol):
    """What `generate_sourcemaps` returns: maps of a call, one for each pass."""

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[SourceMapDump]: ...


@dataclasses.dataclass(frozen=True)
class Pass:
    """A stage of a program that is shown: how it is made, and how it is written down.

    compile_fn: of (work_dir, f, f_args, f_kwargs) what the stage is.
    generate_dump: of that, a `SourceMapDump`.
    """

    name: str
    compile_fn: CompileFn | Callable[..., Any]
    generate_dump: GenerateDumpFn | Callable[..., SourceMapDump]


_passes: dict[str, Pass] = {}


def register_pass(pass_: Pass) -> None:
    """Add a stage.

    Args:
      pass_: the stage; its name is new.

    Returns:
      None.

    Raises:
      ValueError: there is a stage of this name.

    Example:
      >>> register_pass(Pass("jaxpr", compile_jaxpr, make_jaxpr_dump))
      Traceback (most recent call last):
      ValueError: Pass jaxpr already registered
    """
    if pass_.name in _passes:
        raise errors.value_error(f"Pass {pass_.name} already registered")
    _passes[pass_.name] = pass_


def all_passes() -> Sequence[Pass]:
    """The stages that can be shown.

    Returns:
      A list of `Pass`.

    Example:
      >>> [p.name for p in all_passes()]
      ['jaxpr', 'hlo:stable-hlo', 'hlo:original', 'hlo:optimized']
    """
    return list(_passes.values())


def filter_passes(regex: str) -> Sequence[Pass]:
    """The stages whose names a pattern finds.

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
      env_flags: none: flags of the process cannot change while it runs.
      compiler_flags: a dictionary of options of XLA.

    Returns:
      The lowered program and the compiled one.

    Raises:
      NotImplementedError: `env_flags` has some.

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
    """A function that tells of calls of `f` where each stage's lines come from.

    Args:
      f: a function of arrays.
      passes: the stages, of `all_passes` or `filter_passes`.
      pass_kwargs: for the stages: `xla_compiler_flags`, a dictionary.

    Returns:
      A function of the arguments of `f`, which gives a `SourceMapDump` for each stage.

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
    """The name of a file as maps have it: itself.

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
    """The jaxpr of a call.

    Args:
      work_dir: not needed.
      f, f_args, f_kwargs: the function and its arguments.

    Returns:
      The closed jaxpr.

    Example:
      >>> import minijax.numpy as jnp
      >>> len(compile_jaxpr(None, jnp.sin, (1.,), {}).eqns)
      1
    """
    return make_jaxpr(f)(*f_args, **f_kwargs)


def _in_order(jaxpr: Any) -> Iterator[Equation]:
    """The equations as they are printed: programs of an equation before its last line."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in closed_jaxprs(eqn.params):
            yield from _in_order(inner.jaxpr)


def make_jaxpr_dump(jaxpr: Any, **_: Any) -> SourceMapDump:
    """A jaxpr as text, and where its equations come from.

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
    left = _in_order(bare)

    def origin(i: int, line: str) -> Any:
        said = re.match(r"\s*(?:[^=\[\]]+:\S+ )*(?:= |_ = )([\w.\-+]+)", line)
        if said is None:
            return None
        eqn = next((e for e in left if e.primitive.name == said[1]), None)
        place = None if eqn is None else source_line_of(eqn)
        if place is None or not place.line:
            return None
        return (canonicalize_filename(place.file), place.line - 1, place.column)

    return SourceMapDump(_mapped(text.split("\n"), origin), text, "jaxpr")


# ------------------------------------------------------------------- StableHLO and HLO


class HloPass(enum.Enum):
    """The stages of a lowered program."""

    STABLE_HLO = "hlo:stable-hlo"
    ORIGINAL = "hlo:original"
    OPTIMIZED = "hlo:optimized"


class Location(NamedTuple):
    """A place in a file; lines count from 1."""

    file: str
    line: int
    col: int


class Redirect(NamedTuple):
    """A location that stands for another one, by its number."""

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
    """The numbered locations of a module's text, and its other lines.

    Args:
      mlir_dump: the lines of the text.

    Returns:
      A dictionary from numbers to `Location` and `Redirect`; the lines that define none.

    Example:
      >>> parse_mlir_locations(['#loc1 = loc("f.py":3:4)', '#loc2 = loc("f"(#loc1))', 'x'])
      ({1: Location(file='f.py', line=3, col=4), 2: Redirect(tgt_id=1)}, ['x'])
    """
    found: dict[int, Location | Redirect] = {}
    rest = []
    for line in mlir_dump:
        if said := SRC_REGEX.match(line):
            place = Location(said["file"], int(said["line"]), int(said["col"]))
            found[int(said["id"] or 0)] = place
        elif said := SCOPED_REGEX.match(line):
            found[int(said["id"] or 0)] = Redirect(int(said["tgt_id"] or 0))
        elif said := CALLSITE_REGEX.match(line):
            found[int(said["id"] or 0)] = Redirect(int(said["callee"] or 0))
        elif not line.startswith("#loc"):
            rest.append(line)
    return found, rest


def create_mlir_sourcemap(mlir_dump: str) -> SourceMap:
    """The map of a module's text with locations.

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
    known, _ = parse_mlir_locations(lines)

    def origin(i: int, line: str) -> Any:
        said = None if line.startswith("#loc") else LOC_REGEX.search(line)
        place: Any = None if said is None else known.get(int(said["id"] or 0))
        while isinstance(place, Redirect):
            place = known.get(place.tgt_id)
        return None if place is None else (place.file, place.line - 1, place.col)

    return _mapped(lines, origin)


_FILE = re.compile(r'(\d+) "(.*)"$')
_PLACE = re.compile(r"(\d+) \{file_name_id=(\d+) .*?line=(\d+) .*?column=(\d+)")
_FRAME = re.compile(r"(\d+) \{file_location_id=(\d+)")


def parse_hlo_dump(text: str) -> SourceMap:
    """The map of a program's HLO.

    Args:
      text: the HLO, with its tables of files and frames, or with `source_file=` and
        `source_line=` of each instruction.

    Returns:
      A `SourceMap`, of the lines of the text.

    Example:
      >>> told = 'metadata={op_name="add" source_file="f.py" source_line=3}'
      >>> parse_hlo_dump(' x = f32[] add(y, y), ' + told).mappings
      [[(1, 0, 2, 0)]]
    """
    lines = text.split("\n")
    files: dict[str, str] = {}
    places: dict[str, tuple[str, int]] = {}
    frames: dict[str, str] = {}
    table = ""
    for line in lines:
        if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            table = line
        elif not line:
            table = ""
        elif table == "FileNames" and (said := _FILE.match(line)):
            files[said[1]] = said[2]
        elif table == "FileLocations" and (said := _PLACE.match(line)):
            places[said[1]] = files.get(said[2], ""), int(said[3])
        elif table == "StackFrames" and (said := _FRAME.match(line)):
            frames[said[1]] = said[2]

    def origin(i: int, line: str) -> Any:
        if said := METADATA_REGEX.search(line):
            return said["src_file"], int(said["src_line"]) - 1, 0
        frame = re.search(r"stack_frame_id=(\d+)", line)
        place = None if frame is None else places.get(frames.get(frame[1], ""))
        return None if place is None else (place[0], place[1] - 1, 0)

    return _mapped(lines, origin)


def trace_and_lower(
    work_dir: Any, f: Any, f_args: Any, f_kwargs: Any, **_: Any
) -> tuple[Any, str]:
    """The lowered program of a call.

    Args:
      work_dir: not needed.
      f, f_args, f_kwargs: the function and its arguments.

    Returns:
      What `jit(f).lower` gives, and the folder.

    Example:
      >>> import minijax.numpy as jnp
      >>> trace_and_lower("", jnp.sin, (1.,), {})[1]
      ''
    """
    lowered = (f if hasattr(f, "lower") else jit(f)).lower(*f_args, **f_kwargs)
    return lowered, work_dir


def stable_hlo_generate_dump(args: tuple[Any, str], **_: Any) -> SourceMapDump:
    """The StableHLO of a lowered program, and where its lines come from.

    Args:
      args: what `trace_and_lower` gave.

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
    """The HLO of a lowered program, and where its lines come from.

    Args:
      args: what `trace_and_lower` gave.

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
    """The HLO that XLA made of a program, and where its lines come from.

    Args:
      args: what `trace_and_lower` gave.
      xla_compiler_flags: options of XLA.

    Returns:
      A `SourceMapDump`.

    Example:
      >>> import minijax.numpy as jnp
      >>> optimized_generate_dump(trace_and_lower("", jnp.sin, (1.,), {})).pass_name
      'hlo:optimized'
    """
    with config.CACHE_ENABLED(False):  # where a program lies in files is not in its key
        text = args[0].compile(xla_compiler_flags).as_text()
    return SourceMapDump(parse_hlo_dump(text), text, HloPass.OPTIMIZED.value)


register_pass(Pass("jaxpr", compile_jaxpr, make_jaxpr_dump))
for _stage, _dump in (
    (HloPass.STABLE_HLO, stable_hlo_generate_dump),
    (HloPass.ORIGINAL, original_hlo_generate_dump),
    (HloPass.OPTIMIZED, optimized_generate_dump),
):
    register_pass(Pass(_stage.value, trace_and_lower, _dump))
