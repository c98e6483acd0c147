"""A StableHLO module under construction: its functions, their symbols, its meshes.

Next: context.py, which fills one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

from .callback_errors import Failures
from .mlir_context import context, load_dialect

if TYPE_CHECKING:
    from ..sharding.mesh import AbstractMesh, Mesh


class Depth:
    """The nesting depth of regions: where operations are emitted now, and the most so far."""

    __slots__ = ("deepest", "now")

    def __init__(self) -> None:
        self.now = self.deepest = 0

    def reach(self, levels: int) -> None:
        """Note regions of this many levels inside the current one."""
        if self.now + levels > self.deepest:
            self.deepest = self.now + levels


class Module:
    """A module under construction: its functions, hidden arguments and callbacks."""

    __slots__ = (
        "callbacks",
        "calls",
        "depth",
        "failures",
        "functions",
        "groups",
        "keepalive",
        "lowered",
        "meshes",
        "module",
        "partitions",
        "platform",
        "replicas",
        "placement",
        "symbols",
        "tagged",
    )

    def __init__(
        self, name: str, platform: str, replicas: int = 1, partitions: int = 1
    ) -> None:
        self.module = ir.Module.create(context.unknown)
        self.module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        self.platform = platform
        self.replicas = replicas
        self.partitions = partitions
        self.functions: dict[Any, tuple[Any, list[Any]]] = {}
        self.symbols: set[str] = {"main"}
        self.callbacks: list[Any] = []
        self.failures: Failures | None = None  # of callbacks in programs over several devices
        self.keepalive: list[Any] = []  # objects that the executable must keep alive
        # The jaxprs of `functions`, kept alive: the ids of their constants are keys.
        self.lowered: list[Any] = []
        self.meshes: dict[Any, str] = {}
        self.calls = 0  # nesting depth of the functions being emitted
        self.depth = Depth()
        self.groups = 0  # number of groups of values with a shared sharding
        # Location of an operation -> its frontend attributes.
        self.tagged: dict[str, dict[str, str]] = {}
        self.placement: Any = None  # the placement of a partitioned program

    @property
    def is_partitioned(self) -> bool:
        """Whether devices run partitions of one program, not replicas of it."""
        return self.partitions > 1 or (
            self.placement is not None and len(self.placement.devices) > 1
        )

    def mesh(self, mesh: Mesh | AbstractMesh) -> str:
        """Return the symbol of a mesh of the program's devices; declare it if it is new."""
        key = mesh.flat, mesh.shape_tuple
        symbol = self.meshes.get(key)
        if symbol is None:
            symbol = "mesh" if not self.meshes else f"mesh_{len(self.meshes) - 1}"
            axes = ", ".join(f'"{n}"={s}' for n, s in mesh.shape_tuple)
            position = {d: i for i, d in enumerate(self.placement.devices)}
            device_ids = [position[d] for d in mesh.flat]
            ids = "" if device_ids == sorted(device_ids) else f", device_ids={device_ids}"
            self.meshes[key] = self._declare_mesh(symbol, f"[{axes}]{ids}")
        return symbol

    def one_device(self, i: int) -> str:
        """Return the symbol of a mesh of a single device of the program."""
        symbol = self.meshes.get(("one", i))
        if symbol is None:
            text = f"[], device_ids=[{i}]"
            symbol = self._declare_mesh(f"maximal_mesh_{i}", text)
            self.meshes["one", i] = symbol
        return symbol

    def _declare_mesh(self, symbol: str, text: str) -> str:
        load_dialect("sdy")
        with ir.InsertionPoint.at_block_begin(self.module.body):
            ir.Operation.create(
                "sdy.mesh",
                attributes={
                    "sym_name": ir.StringAttr.get(symbol),
                    "mesh": ir.Attribute.parse(f"#sdy.mesh<{text}>"),
                },
                loc=context.unknown,
            )
        return symbol

    def function(
        self,
        symbol: str,
        types: Sequence[ir.Type],
        results: Sequence[ir.Type],
        visibility: str,
        loc: ir.Location,
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Block:
        """Add a function; return its entry block."""
        signature = ir.FunctionType.get(list(types), list(results))
        with ir.InsertionPoint(self.module.body):
            fn = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get(symbol),
                    "function_type": ir.TypeAttr.get(signature),
                    "sym_visibility": ir.StringAttr.get(visibility),
                    **(attributes or {}),
                },
                regions=1,
                loc=loc,
            )
        return fn.regions[0].blocks.append(*types, arg_locs=[loc] * len(types))  # type: ignore[no-any-return]

    def annotated_copy(self, results: Sequence[str], inputs: Sequence[str] = ()) -> ir.Module:
        """Return a copy with the number of devices, and names of the inputs and results.

        Args:
          results: names of the first results of `main`; the others have no name.
          inputs: names of the last arguments of `main`, as locations.
        """
        load_dialect("func")
        partitions = len(self.placement.devices) if self.placement else self.partitions
        with context.ir, context.unknown:
            copy = ir.Module.create(context.unknown)
            number, text = ir.IntegerType.get_signless(32), ir.StringAttr.get
            attributes = copy.operation.attributes
            attributes["sym_name"] = self.module.operation.attributes["sym_name"]
            attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(number, partitions)
            attributes["mhlo.num_replicas"] = ir.IntegerAttr.get(number, self.replicas)
            with ir.InsertionPoint(copy.body):
                ops = [op.operation.clone() for op in self.module.body]
            entry = next(
                op.operation
                for op in ops
                if op.operation.name == "func.func"
                and ir.StringAttr(op.operation.attributes["sym_name"]).value == "main"
            )
            main: Any = entry.attributes
            arguments = list(entry.regions[0].blocks[0].arguments)
            named = arguments[len(arguments) - len(inputs) :]
            for x, name in zip(named, inputs, strict=True):
                x.set_location(ir.Location.name(name) if name else context.unknown)
            count = len(ir.FunctionType(main["function_type"].value).results)
            result_attrs: list[Any] = [{}] * count
            if "res_attrs" in main:
                result_attrs = [{a.name: a.attr for a in row} for row in main["res_attrs"]]
            names = [*results, *[""] * (count - len(results))]
            main["res_attrs"] = ir.ArrayAttr.get(
                [
                    ir.DictAttr.get({**row, "jax.result_info": text(name)})
                    for row, name in zip(result_attrs, names, strict=True)
                ]
            )
        return copy

    def symbol(self, name: str) -> str:
        """Return a function name that is not in use."""
        base = "".join(c if c.isalnum() or c in "_." else "_" for c in name) or "f"
        out, n = base, 0
        while out in self.symbols:
            out, n = f"{base}_{n}", n + 1
        self.symbols.add(out)
        return out
