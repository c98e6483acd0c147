"""`pmap`: a function of one slice that runs on several devices; and its stages.

control/calls/pmap.py does the work; this module unpacks arguments and reads axes.
Next: devices.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base import tree
from ..base.source import wraps
from ..base.tracebacks import simplify
from ..control.arguments import ArgNames, Statics, as_tuple, check_callable
from ..control.calls import pmap as replicas
from ..control.calls.cpp_dispatch import dispatcher, fast_path
from ..control.calls.jitted import Call, JitOptions, Jitted, TracedCall, touches_references
from ..control.calls.pmap import AxisName, xla_pmap_p
from ..control.mapped_axes import Mapped, result_axis
from ..ir import core
from ..ir.core import EVAL, STATE, Tracer
from ..passes.ad_util import mapped_aval, unmapped_aval
from ..runtime.running import pacing
from ..runtime.running.program import Form, Program, Request
from .aot import Compiled, Lowered, Traced
from .devices import Device
from .eval_shape import aval_like

if TYPE_CHECKING:
    from ..types.aliases import Aval, PyTree


def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable | None = None,
    *,
    in_axes: PyTree = 0,
    out_axes: PyTree = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """Run a function on several devices in parallel, each on its slice of the arguments.

    Args:
      fun: the function of one slice; it is compiled.
      axis_name: a name for the mapped axis, for collectives (`lax.psum`).
      in_axes: the axis of each argument that is sharded over devices, or None for an
        argument that all share; a pytree prefix.  Its size is the number of devices used.
      out_axes: the position of the mapped axis in results; None: the first device's result.
      static_broadcasted_argnums: positions of compile-time constants.
      devices: the devices to use, in order; backend: a platform's name.
      axis_size: the number of slices in all processes, checked against the arguments.
      donate_argnums: positions of arguments whose memory may be reused.

    Returns:
      The mapped function; its `lower(*args)` returns the program without running it.

    Raises:
      ValueError: sizes do not match, or there are too few devices.
      TypeError: a specification is not an int.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.pmap(lambda x: x + 1)(jnp.zeros((1, 2)))
      Array([[1., 1.]], dtype=float32)

    Differs from JAX: runs on XLA replicas, and nests.
    """
    check_callable(fun)
    mapped = Mapped("pmap", fun, "devices")
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    mapped.check_spec("in_axes", in_axes)
    mapped.check_spec("out_axes", out_axes)
    statics = _positions("static_broadcasted_argnums", static_broadcasted_argnums)
    donate = _positions("donate_argnums", donate_argnums)
    if both := set(statics.nums) & set(donate.nums):
        raise ValueError(
            f"`static_broadcasted_argnums` {list(statics.nums)} and `donate_argnums`"
            f" {list(donate.nums)} cannot intersect, but both have {sorted(both)}."
        )
    jitted = Jitted(fun, statics, donate, JitOptions(transform="pmap"))
    name = AxisName() if axis_name is None else axis_name
    chosen = _check_devices(devices)

    def prepare(args: Any, kwargs: Any, aval_of: Any = None) -> Prepared:
        _check_statics(statics, args)
        call = jitted.split(args, kwargs)
        if aval_of is None:
            avals = [jitted.aval_of(x, i, call) for i, x in enumerate(call.leaves)]
            jitted.check_references(call, avals)
        else:
            avals = [aval_of(x) for x in call.leaves]
        # A pmap inside another one uses only devices of this process.
        count = 1 if _inside.pmap else replicas.processes_of(chosen, backend)
        dims, size = _axes(mapped, call, avals, in_axes, axis_size, count)
        slices = [mapped_aval(size, d, a) for a, d in zip(avals, dims, strict=True)]
        axes = (*STATE.axes, (name, size * count))
        # The flag is per thread, since several threads may trace pmaps at the same time.
        was_inside, _inside.pmap = _inside.pmap, True
        try:
            traced = core.within_axes(axes, jitted.trace_avals, call, tuple(slices))
        finally:
            _inside.pmap = was_inside
        out_dims = [
            None if d is None else result_axis(d, a.ndim + 1)
            for d, a in zip(
                tree.flatten_axes("pmap out_axes", traced.out_tree, out_axes),
                traced.jaxpr.out_avals,
                strict=True,
            )
        ]
        n = len(traced.hoisted)
        params = {
            "call_jaxpr": traced.jaxpr,
            "axis_name": name,
            "axis_size": size,
            "global_axis_size": None if count == 1 else size * count,
            "devices": chosen,
            "backend": backend,
            "name": jitted.name,
            "in_axes": (*[None] * n, *dims),
            "out_axes": tuple(out_dims),
            "donated_invars": (*[False] * n, *jitted.donated(call)),
        }
        return Prepared(call, avals, traced, params)

    def miss(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        starts_in_cpp = pacing.starts_in_cpp()
        call, _, traced, params = prepare(args, kwargs)
        eager = STATE.trace is EVAL
        if eager:
            for x in call.leaves:
                if isinstance(x, Tracer):
                    raise core.leak_error(x)
        if not eager or touches_references(traced, call):
            out = xla_pmap_p.bind(*traced.hoisted, *call.leaves, **params)
            return tree.unflatten(traced.out_tree, out), None, False
        program, out = replicas.run(call.leaves, params)
        result = tree.unflatten(traced.out_tree, out)
        return result, fast_path(program, call.leaves, result, starts_in_cpp), False

    def slow(*args: Any, **kwargs: Any) -> Any:
        return miss(*args, **kwargs)[0]

    cpp = dispatcher(jitted.name, slow, miss, statics, (id(jitted),))

    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return cpp(*args, **kwargs)
        except ValueError as e:
            if str(e).startswith("Non-hashable static"):
                jitted.split(args, kwargs)  # raises minijax's error instead
            raise

    called = checked if statics.nums else cpp

    @wraps(fun, bounds=False)  # `simplify` below takes the place of the boundary
    def pmapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return called(*args, **kwargs)
        except Exception as e:
            simplify(e)
            raise

    def lower(*args: Any, **kwargs: Any) -> PmapLowered:
        """Lower the program for these arguments, or for arguments of these types."""
        return PmapLowered(PmapStage(jitted, prepare(args, kwargs, aval_like)))

    pmapped.lower = lower  # type: ignore[attr-defined]
    return pmapped


class _Inside(threading.local):
    pmap = False  # whether this thread traces the function of a pmap


_inside = _Inside()


class Prepared(NamedTuple):
    """A call of a pmapped function, prepared for `bind`."""

    call: Call
    avals: list[Any]  # of the full arguments, before slicing
    traced: TracedCall
    params: dict[str, Any]


def _positions(what: str, nums: Any) -> Statics:
    """Return the user's positions of arguments, checked to be ints."""
    positions = as_tuple(nums)
    for n in positions:
        if not hasattr(n, "__index__") or isinstance(n, bool):
            raise TypeError(f"pmap: {what} takes ints, got {n!r}.")
    return Statics(positions, ())


def _check_statics(statics: Statics, args: Sequence[Any]) -> None:
    n = len(args)
    if any(not -n <= i < n for i in statics.nums):
        s = "" if n == 1 else "s"
        raise ValueError(
            f"pmapped function has static_broadcasted_argnums={statics.nums} but was"
            f" called with only {n} positional argument{s}. All static broadcasted"
            " arguments must be passed positionally."
        )


def _check_devices(devices: Any) -> tuple[Any, ...] | None:
    if devices is None:
        return None
    chosen = tuple(devices)
    if not chosen:
        raise ValueError("'devices' argument to pmap must be non-empty, or None.")
    for d in chosen:
        if not isinstance(d, Device):
            raise TypeError(
                f"pmap: devices must be devices, got {d!r}.\nTry: minijax.devices()"
            )
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"pmap: devices must differ from each other, got {list(chosen)}.")
    return chosen


def _axes(
    mapped: Mapped,
    call: Call,
    avals: list[Aval],
    in_axes: PyTree,
    axis_size: int | None,
    count: int,
) -> tuple[list[int | None], int]:
    """Return the mapped axis of each dynamic leaf, and this process's number of slices.

    axis_size: the user's number of slices in all `count` processes.
    """
    if isinstance(in_axes, tuple):
        if len(in_axes) != len(call.args):
            raise mapped.error(
                "in_axes must be an int, None, or a tuple of entries corresponding to"
                " the positional arguments passed to the function, but got"
                f" len(in_axes)={len(in_axes)}, len(args)={len(call.args)}."
            )
        in_axes = tuple(in_axes[i] for i in call.positions)
    names = ArgNames(mapped.fun, call.in_tree, call.positions)
    dims = mapped.flat_axes(in_axes, call.in_tree)
    dims = mapped.normalise(avals, dims, names)
    size = mapped.size(avals, dims, names)
    if size is None:
        size = axis_size and axis_size // count
    elif axis_size is not None and axis_size != size * count:
        raise mapped.error(
            f"cannot map: Specified axis_size {axis_size} doesn't match received"
            f" axis_size {size * count}.",
            which=names[next(i for i, d in enumerate(dims) if d is not None)],
        )
    if not size:
        raise mapped.error(
            "requires at least one argument with a mapped axis."
            if size is None
            else "requires a mapped axis of at least one slice, got none.",
            tries=["in_axes=0 for an argument", "axis_size=..."],
        )
    return dims, size


# ---------------------------------------------------------------------- ahead of time


class PmapStage(Traced):
    """A pmapped function traced for some types."""

    def __init__(self, jitted: Jitted, ready: Prepared) -> None:
        super().__init__(jitted, ready.call, ready.traced)
        self.params = ready.params
        self._in_avals = ready.avals
        self.captured = self._hoisted()
        self.by_value, self.written = replicas.discharge_refs_of_params(ready.params)

    @property
    def arg_types(self) -> list[Any]:
        return self._in_avals

    @property
    def result_types(self) -> list[Any]:
        size = self.params["axis_size"]
        pairs = zip(self.params["out_axes"], self.jaxpr.out_avals, strict=True)
        return [unmapped_aval(size, d, a) for d, a in pairs]


class PmapLowered(Lowered):
    """A pmapped function lowered to StableHLO: `as_text()`, `compile()`."""

    def _request(
        self, stage: Any, platforms: Sequence[str] | None, portable: bool
    ) -> tuple[Request, Form]:
        self._captured, self._written = stage.captured, stage.written
        self._donated = stage.by_value["donated_invars"]
        request = replicas.request_of(stage.by_value)
        return request._replace(options=request.options._replace(is_aot=True)), Form()

    def _compiled(
        self, program: Program, compiler_options: dict[str, str | bool] | None
    ) -> Compiled:
        return PmapCompiled(self, program, compiler_options)


class PmapCompiled(Compiled):
    """A compiled pmap, called with arguments of the types it was compiled for."""

    _label = replicas.LABEL

    def check_placement(self, leaves: list[Any]) -> None:
        """Accept any arguments: `pmap` moves them to its devices."""
