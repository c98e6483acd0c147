"""Error messages for tracers used as values, leaked tracers, and tracers of other libraries.

This file holds only the text; `core.py` decides when to raise.  `x` is the tracer, and
`trace` is the trace that was current when it was used.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import TYPE_CHECKING

from ..base import errors, source
from ..ir.core import Tracer
from ..ir.jaxpr import Literal

if TYPE_CHECKING:
    from ..ir.core import Trace
    from ..ir.jaxpr import Atom, Var
    from ..passes.stage import StageTrace
    from ..types.aliases import Aval, AxisName


def stack_of(trace: Trace) -> str:
    """Return the transformation stack as text, outermost first: `jit > vmap > grad`."""
    names = []
    while trace.parent is not trace:  # evaluation is its own parent
        if trace.transform:
            names.append(trace.transform)
        trace = trace.parent
    return " > ".join(reversed(names)) or "eager"


# ----------------------------------------------------------------- a value is needed


def needs_value(x: Tracer, trace: Trace, what: str, why: str, tries: list[str]) -> str:
    """Return the message for an operation that needs the value of a tracer."""
    where = [x._trace.describe()] if x._trace.transform else []
    location = source.user_source()
    if location is not None:
        where.append(f"at {location}")
    return errors.message(
        what,
        which=x.origin(),
        where=f"{' '.join(where)}; transformations: {stack_of(trace)}",
        why=why,
        tries=tries,
    )


def _static(x: Tracer, use: str) -> str:
    """Return how to make an argument of the traced function static."""
    if x._trace.transform.startswith("checkpoint"):
        return f"the `static_argnums` parameter for `jax.remat` or `jax.checkpoint` {use}"
    return f"jit(..., static_argnums=... or static_argnames=...) {use}"


def _traced(x: Tracer) -> str:
    return f"traced array with shape {x.aval.str_short(False)}"


_ABSTRACT = "Abstract tracer value encountered where concrete value is expected"


def no_bool(x: Tracer, trace: Trace) -> Exception:
    """`bool(x)`"""
    if x.aval.size != 1:
        return ValueError(no_truth_value(x.aval.size))
    return errors.TracerBoolConversionError(
        needs_value(
            x,
            trace,
            f"Attempted boolean conversion of {_traced(x)}.",
            "`if`, `while`, `and`, `or` and `not` need a value, and a traced array has"
            " none yet.",
            [
                "lax.cond or jnp.where instead of `if`, lax.while_loop instead of"
                " `while`, & | ~ instead of and, or, not",
                _static(x, "where the value decides the program"),
            ],
        )
    )


def no_truth_value(size: int) -> str:
    """Return the message for `bool(x)` of an array that does not have one element."""
    if size:
        return (
            "The truth value of an array with more than one element is ambiguous."
            " Use a.any() or a.all()"
        )
    return (
        "The truth value of an empty array is ambiguous. Use `array.size > 0` to check"
        " that an array is not empty."
    )


def no_number(x: Tracer, trace: Trace, kind: type) -> Exception:
    """`int(x)`, `float(x)`, `complex(x)`"""
    if x.aval.shape:
        return TypeError(
            "Only scalar arrays can be converted to Python scalars; got"
            f" arr.ndim={len(x.aval.shape)}"
        )
    name = kind.__name__
    return errors.ConcretizationTypeError(
        needs_value(
            x,
            trace,
            f"{_ABSTRACT}: {_traced(x)}.",
            f"`{name}(...)` needs a value, and a traced array has none yet.",
            [
                f"x.astype({name}) to convert the dtype in the program",
                _static(x, "where the value shapes the program"),
            ],
        )
    )


def no_method(x: Tracer, trace: Trace, name: str) -> Exception:
    """A method that only an array with a value has"""
    return errors.ConcretizationTypeError(
        needs_value(
            x,
            trace,
            f"{_ABSTRACT}: {_traced(x)}\nThe {name}() method was called on {_traced(x)}.",
            "the value and its placement are known only when the program runs.",
            [f"call {name}() on the result"],
        )
    )


_AFTERWARDS = (  # attributes that only a computed array has
    "addressable_shards",
    "committed",
    "global_shards",
    "is_fully_addressable",
    "is_fully_replicated",
    "traceback",
)
_NEVER = {
    "block_until_ready": "The 'block_until_ready' method is not available on {}.",
    "copy_to_host_async": "The 'copy_to_host_async' method is not available on {}.",
    "sharding": "The 'sharding' attribute is not available on {}. To query sharding"
    " information on tracers, use `jax.typeof(x)`.",
}


def no_attribute(x: Tracer, trace: Trace, name: str) -> Exception:
    """An attribute that a traced array lacks, or has only once it is computed"""
    if name in _NEVER:
        return AttributeError(_NEVER[name].format(_traced(x)))
    if name not in _AFTERWARDS:
        return AttributeError(f"{type(x).__name__} has no attribute {name}")
    return errors.ConcretizationTypeError(
        needs_value(
            x,
            trace,
            f"{_ABSTRACT}: {_traced(x)}.",
            f"`{name}` is known when the program runs.",
            [f"{name} of the result"],
        )
    )


def no_index(x: Tracer, trace: Trace) -> Exception:
    """`operator.index(x)`"""
    return errors.TracerIntegerConversionError(
        needs_value(
            x,
            trace,
            f"The __index__() method was called on {_traced(x)}.",
            "a Python integer (a list's index, a range, a shape) is needed, and a traced"
            " array has no value yet.",
            [
                "jnp.asarray(the_list)[i], which indexes with a traced integer",
                _static(x, "for sizes"),
            ],
        )
    )


def no_array(x: Tracer, trace: Trace) -> Exception:
    """`np.asarray(x)`"""
    return errors.TracerArrayConversionError(
        needs_value(
            x,
            trace,
            f"The numpy.ndarray conversion method __array__() was called on {_traced(x)}.",
            "NumPy computes immediately, and a traced array has no value yet.",
            ["the function of the same name in minijax.numpy instead of numpy"],
        )
    )


def not_concrete(x: Tracer, trace: Trace, context: str) -> Exception:
    """A value that must be known while the program is traced"""
    return errors.ConcretizationTypeError(
        needs_value(
            x,
            trace,
            f"{_ABSTRACT}: {_traced(x)}. {context}",
            "the value must be known while the program is traced.",
            [_static(x, "for this value"), "NumPy for shape arithmetic"],
        )
    )


def origin(trace: StageTrace, var: Var) -> str:
    """Return text that names the arguments a variable depends on, and its origin."""
    defining_eqn = {v: eqn for eqn in trace.eqns for v in eqn.outs}
    args, todo, seen = set(), [var], set()
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if v in defining_eqn:
            todo += [a for a in defining_eqn[v].ins if type(a) is not Literal]
        elif v in trace.invars:
            args.add(trace.invars.index(v))
    names = [
        trace.arg_names[i] if i < len(trace.arg_names) else f"argument {i}"
        for i in sorted(args)
    ]
    if var in defining_eqn:
        eqn = defining_eqn[var]
        line = f"made by {eqn.primitive} at {eqn.source}"
        if not names:
            return line
        return f"a value that depends on {', '.join(names[:5])}\n     {line}"
    if not names:
        return "a constant"
    return f"the argument {names[0]}" if trace.arg_names else f"the {names[0]}"


# ------------------------------------------------------------------------------ leaks


def leaked(x: Tracer, trace: Trace) -> Exception:
    """A tracer that outlived its trace, or is used outside it"""
    if x._trace.alive:
        return errors.UnexpectedTracerError(
            errors.message(
                "Encountered an unexpected tracer: a value of type"
                f" {x.aval.str_short(False)} was used outside of the transformation"
                f" ({x._trace.transform}) that it belongs to.",
                which=x.origin(),
                where=f"{x._trace.describe()}; transformations: {stack_of(trace)}",
                why="a custom derivative rule closes over this value, and the rule runs"
                f" outside of the {x._trace.transform} that the value belongs to.",
                tries=["pass the value as an argument of the function with the rule"],
            )
        )
    return errors.UnexpectedTracerError(
        errors.message(
            f"Encountered an unexpected tracer: a leaked value of type"
            f" {x.aval.str_short(False)} was used.",
            which=x.origin(),
            where=x._trace.describe(),
            why="the function that made it has ended; a side effect (a global, an"
            " attribute, a list) kept it.",
            tries=["return the value from the transformed function instead"],
        )
    )


def leaked_into_rule(error: Exception, name: str) -> Exception:
    """Return the error of a custom derivative rule that reads a traced value of its closure.

    Args:
      error: the exception that the rule raised.
      name: the name of the function with the rule.
    """
    what, why, _ = str(error).partition("\nWhy: the function that made it has ended")
    if not why:
        return error
    return errors.UnexpectedTracerError(
        f"{what}\nWhy: a custom derivative rule of {name} closes over this value, or got it"
        " by nondiff_argnums, and the rule runs after the function that made the value has"
        " ended.\nTry: pass the value as a differentiated argument of the function"
    )


def check_leaks(finished: Callable[[], Trace | None]) -> None:
    """Raise if something still refers to tracers of a finished trace."""
    if finished() is None:
        return
    gc.collect()
    trace = finished()
    if trace is None:
        return
    leaked = [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]
    if leaked:
        raise held(trace, leaked)


def held(trace: Trace, tracers: list[Tracer]) -> Exception:
    """Tracers of a finished trace that are still referenced"""
    shown = [f"{x!r}: {x.origin()}" if x.origin() else repr(x) for x in tracers[:3]]
    holders = []
    for holder in gc.get_referrers(tracers[0]):
        if holder is not tracers and not isinstance(holder, FrameType):
            owner = next(
                (m for m in gc.get_referrers(holder) if isinstance(m, ModuleType)), None
            )
            name = f" of {owner.__name__}" if owner is not None else ""
            holders.append(f"a {type(holder).__name__}{name}")
    return Exception(
        errors.message(
            f"Leaked trace {type(trace).__name__}. Leaked tracer(s): {', '.join(shown)}.",
            which=f"held by {', '.join(holders[:3])}" if holders else None,
            where=trace.describe(),
            why="the function has ended, and its traced values are no longer valid;"
            " a side effect (a global, an attribute, a list) kept them.",
            tries=["return the value from the transformed function instead"],
        )
    )


# ------------------------------------------------------- values that are not accepted


def _brief(x: object) -> str:
    text = str(x)
    return text if len(text) < 80 else text[:77] + "..."


def foreign(x: object, trace: Trace) -> Exception:
    """A tracer that another library made"""
    return errors.UnexpectedTracerError(
        errors.message(
            "Encountered an unexpected tracer: a foreign tracer, which another library"
            " or another copy of this one made.",
            which=f"{_brief(x)} of type {type(x)}",
            where=stack_of(trace),
            why="each library traces with its own tracers.",
            tries=["functions of one library inside its transformations"],
        )
    )


def no_value(x: object, trace: Trace) -> Exception:
    """A value of a type that primitives do not accept"""
    return TypeError(
        errors.message(
            f"Argument '{_brief(x)}' of type {type(x)} is not a valid JAX type.",
            where=stack_of(trace),
            why=f"Cannot interpret value of type {type(x)} as an abstract array; it does"
            " not have a dtype attribute.",
            tries=["convert it with jnp.asarray", "mark the argument static"],
        )
    )


def reference(aval: Aval, name: str, trace: Trace) -> Exception:
    """A reference where a value is needed"""
    return ValueError(
        errors.message(
            f"Attempting to pass a Ref {aval} to a primitive: {name} -- did you forget to"
            " unpack ([...]) the ref?",
            where=stack_of(trace),
            why="primitives compute with values.",
            tries=["ref[...], its value"],
        )
    )


def returned_reference(
    fun: str, aval: Aval, which: str | None = None, at: str | None = None
) -> ValueError:
    """A reference among the results of a function, `at` this path"""
    where = "" if at is None else f" at output tree path result{at}"
    return ValueError(
        errors.message(
            f"function {fun} returned a mutable array reference of type {aval}{where}, but"
            " mutable array references cannot be returned.",
            which=which,
            tries=["return ref[...], its value", "pass a reference in, and write to it"],
        )
    )


def staged_reference(trace: StageTrace, var: Atom) -> ValueError:
    """A reference among the results of a function that `trace` stages"""
    which = None
    if var in trace.invars:
        at = trace.invars.index(var)
        name = trace.arg_names[at] if at < len(trace.arg_names) else f"number {at}"
        which = f"The returned mutable array was passed in as the argument {name}."
    fun = f"{trace.fun} traced for {trace.transform}"
    return returned_reference(fun, var.aval, which)


def no_axis(name: AxisName, known: list[str], trace: Trace) -> Exception:
    """An axis name that is not in scope, or is not hashable"""
    try:
        hash(name)
    except TypeError as e:
        return errors.type_error(
            f"axis names must be hashable: {e}.",
            which=errors.type_text(name),
            where=stack_of(trace),
            tries=["the axis_name of vmap or pmap, or a mesh axis of shard_map"],
        )
    return NameError(
        errors.message(
            f"Found an unbound axis name: {name}",
            where=stack_of(trace),
            why=f"axis names in scope here: {', '.join(known) or 'none'}.",
            tries=[
                f"wrap the function in vmap(..., axis_name={name!r}) or"
                f" pmap(..., axis_name={name!r})"
            ],
        )
    )
