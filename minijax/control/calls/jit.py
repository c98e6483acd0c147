"""`jit`: trace once for each signature, compile, and dispatch in C++.

A jitted function is jaxlib's C++ `PjitFunction`, which calls a `Jitted` (jitted.py).
`composite` does the same for our own NumPy functions: one compiled call when evaluated,
inlined when traced.  Next: ../branches/cond.py, where control flow begins.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...base import config, errors, util
from ...base.source import OwnMethod, wraps
from ...base.tracebacks import boundary
from ...ir import hooks
from ...runtime.backends import client
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.sharding.shardings import UNSPECIFIED
from ..arguments import check_apart, check_callable, resolve_statics
from .jit_shardings import JitShardings
from .jitted import JitOptions, Jitted

# Weak: a jitted function that its user drops must not live on here.
_jitted: util.WeakIdentitySet[Any] = util.WeakIdentitySet()


def _device_of(device: Any, backend: Any) -> Any:
    if device is not None and backend is not None:
        raise ValueError("can't specify both a device and a backend for jit.")
    if device is None and backend is None:
        return None
    import warnings

    warnings.warn(
        "backend and device argument on jit is deprecated: use device_put of the"
        " arguments, or jax.default_device.",
        DeprecationWarning,
        stacklevel=4,
    )
    if backend is not None:
        return client.local_devices(backend=backend)[0]
    if not hasattr(device, "device_set"):
        return device
    if len(device.device_set) > 1:
        raise errors.value_error(
            f"jit's device must be one device, got {device}.",
            why="It names where the function runs, not how its arguments are sharded.",
            tries=["in_shardings=", "device_put of the arguments"],
        )
    return next(iter(device.device_set))


_LATER: Any = object()  # the default of `fun`: the function is passed in a second call


def jit(
    fun: Callable[..., Any] = _LATER,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
    max_traces: int | None = None,
) -> Any:
    """Compile a function with XLA: traced once per signature, run as one program.

    Args:
      fun: a pure function of arrays, numbers and pytrees of them.
      in_shardings, out_shardings: the shardings of arguments and results: a sharding, a
        `PartitionSpec` over the current mesh, or a pytree prefix of them; None: arguments
        keep theirs, and the compiler chooses those of results.
      static_argnums, static_argnames: arguments that are compile-time constants
        (hashable; a new value compiles again).
      donate_argnums, donate_argnames: arguments whose memory the program may reuse;
        they must not be used afterwards.
      keep_unused: pass arguments to the program even if it does not read them.
      device: where to run; backend: the platform's name (deprecated).
      inline: leave no call behind in an enclosing jaxpr.
      compiler_options: XLA flags for this program.
      max_traces: raise RuntimeError when more signatures than this are traced.

    Returns:
      A function with the same signature, and `lower`, `trace`, `eval_shape`,
      `clear_cache`.

    Raises:
      ValueError: a static argument is not hashable, argnums do not fit `fun`, or arguments
        are committed to other devices than requested.
      TypeError: an argument or result is not an array.

    Example:
      >>> import minijax as mj
      >>> mj.jit(lambda x: x * 2)(3.)
      Array(6., dtype=float32, weak_type=True)

    Differs from JAX: `max_traces`.
    """
    options = {k: v for k, v in locals().items() if k != "fun"}
    return (lambda f: _make(f, **options)) if fun is _LATER else _make(fun, **options)


def pjit(
    fun: Callable[..., Any],
    in_shardings: Any = UNSPECIFIED,
    out_shardings: Any = UNSPECIFIED,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """`jit` over the mesh of a block: in `with mesh:`, `mesh` is current for its calls.

    They run on all devices of that mesh, and each `PartitionSpec` refers to it, wherever
    the function was made.

    Args:
      fun: a pure function of arrays, numbers and pytrees of them.
      in_shardings, out_shardings: shardings, `PartitionSpec`s, or pytree prefixes of them.
      static_argnums, static_argnames, donate_argnums, donate_argnames, keep_unused, device,
        backend, inline, compiler_options: as for `jit`.

    Returns:
      A function with the same signature, and the methods of a jitted function.

    Raises:
      RuntimeError: called with a `PartitionSpec` where no mesh is set.
      ValueError, TypeError: as `jit`.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> f = pjit(lambda x: x * 2, in_shardings=mj.P('x'), out_shardings=mj.P('x'))
      >>> with mj.set_mesh(mj.make_mesh((1,), ('x',), (mj.sharding.AxisType.Auto,))):
      ...   f(jnp.ones(2))
      Array([2., 2.], dtype=float32)

    Differs from JAX: outside such blocks the mesh of `set_mesh` is used.
    """
    options = {k: v for k, v in locals().items() if k != "fun"}
    return _make(fun, **options, uses_mesh_block=True)


def _make(
    fun: Callable[..., Any],
    *,
    in_shardings: Any,
    out_shardings: Any,
    static_argnums: Any,
    static_argnames: Any,
    donate_argnums: Any,
    donate_argnames: Any,
    keep_unused: bool,
    device: Any,
    backend: str | None,
    inline: bool,
    compiler_options: dict[str, Any] | None,
    max_traces: int | None = None,
    uses_mesh_block: bool = False,
) -> Any:
    """Implement `jit` and `pjit`; `uses_mesh_block`: the mesh of a `with mesh:` block counts."""
    check_callable(fun)
    unset = (UNSPECIFIED,) if uses_mesh_block else (None, UNSPECIFIED)
    requested = [s for s in (in_shardings, out_shardings) if s not in unset]
    if (device is not None or backend is not None) and requested:
        which = "in" if in_shardings is requested[0] else "out"
        raise errors.value_error(
            "If backend or device is specified on jit, then"
            f" {which}_shardings should not be specified.",
            tries=["SingleDeviceSharding(device) as the sharding"],
        )
    chosen_device = _device_of(device, backend)
    statics = resolve_statics(fun, static_argnums, static_argnames, "static")
    donate = resolve_statics(fun, donate_argnums, donate_argnames, "donate")
    check_apart(statics, donate)
    shardings = (
        JitShardings(in_shardings, out_shardings, uses_mesh_block) if requested else None
    )
    options = JitOptions(
        keep_unused=keep_unused,
        device=chosen_device,
        inline=inline,
        compiler=tuple(sorted((compiler_options or {}).items())),
        max_traces=max_traces,
        shardings=shardings,
        uses_mesh_block=uses_mesh_block,
    )
    jitted = Jitted(fun, statics, donate, options)
    return finish(jitted, fun)


def _reduced(function: Any) -> Any:
    """Return how to pickle a compiled function: by its name, if that refers to it."""
    try:
        target: Any = sys.modules[function.__module__]
        for name in function.__qualname__.split("."):
            target = getattr(target, name)
    except (AttributeError, KeyError):
        target = None
    return function.__qualname__ if target is function else function.__reduce_ex__(2)


copyreg.pickle(compat.PjitFunction, _reduced)


def finish(jitted: Jitted, fun: Callable[..., Any]) -> Any:
    """Return the public function of a `Jitted`."""
    out = wraps(fun)(jitted.cpp)
    for name in METHODS:
        setattr(out, name, OwnMethod(_method, name, jitted))
    _jitted.add(jitted)
    return out


def jitted_of(fun: Callable[..., Any]) -> Jitted | None:
    """Return the `Jitted` of a function that `jit` has returned."""
    return next((j for j in _jitted if j.cpp is fun), None)


def clear_cache(jitted: Jitted) -> None:
    """Forget the traces and programs of one jitted function."""
    jitted.traces.clear()
    jitted.cpp._clear_cache()
    if jitted.direct is not None:
        jitted.direct.forget()


# The methods of a jitted function.
METHODS = ("clear_cache", "eval_shape", "explain", "lower", "signatures", "trace")


@boundary
def _method(name: str, jitted: Jitted, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a jitted function, which `api` implements in most cases."""
    return hooks.jit_methods.call()[name](jitted, *args, **kwargs)


def clear_caches() -> None:
    """Forget every trace and compiled program of this process.

    Returns:
      None; the next call of each function traces and compiles it again.

    Example:
      >>> import minijax as mj
      >>> mj.clear_caches()
    """
    for jitted in _jitted:
        clear_cache(jitted)
    util.clear_caches()
    compat.PjitFunctionCache.clear_all()


# These options are part of no cache key, so a change clears all caches.
for _option in config.RENEWING:
    _option.watch(lambda value, local: clear_caches(), now=False)


def composite(
    fun: Callable[..., Any] | None = None,
    *,
    static: str | Sequence[str] = (),
    accepts: Callable[..., bool] | None = None,
    floats: bool = False,
) -> Any:
    """Make one of our own functions one compiled call; it is inlined when traced.

    `static` names the arguments that are not arrays.  If `accepts(*args)` is false,
    the result is NotImplemented, as Python's operator protocol requires.  `floats`: the
    computation is in floating point, so Python ints too large for the integer dtype are
    converted to floats.
    """
    if fun is None:
        return lambda f: composite(f, static=static, accepts=accepts, floats=floats)
    statics = resolve_statics(fun, None, static, "static")
    options = JitOptions(inline_traced=True, accepts=accepts, floats=floats)
    jitted = Jitted(fun, statics, options=options)
    return finish(jitted, fun)
