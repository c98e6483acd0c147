"""What must hold of every primitive that holds programs, checked on one equation of it.

`obeys_regions(prim, fun, *args)` stages `fun`, takes the equation of `prim` out of the
program, and checks, with nothing but evaluation as the reference:

- dce: for every subset of results, what is left gives the same values, has the same
  effects as often, and asks for no operand twice;
- depends: with one operand changed, what is said to depend on it is what changes;
- derivatives and lanes: see `laws.obeys`.

`discharges(fun, *args)` compares a function that makes a reference, and hands it to what
holds programs, with the same run in Python; `every_lane(fun, *args)` compares lanes with a
loop.

Effects are seen by `note`: the values that it was given, in any order.  The files beside
this one give it programs.  This knows no operation.
"""

import itertools

import laws
import numpy as np

import minijax as mj
from minijax.ir.jaxpr import DropVar, Jaxpr, Literal, eval_jaxpr
from minijax.passes.dce import dce_jaxpr, depends_on

NOTED: list[float] = []


def note(x):
    """Take note of the sum of `x` whenever this is run: an effect."""
    mj.debug.callback(lambda v: NOTED.append(round(float(np.sum(v)), 4)), x)


def noted(run, *args):
    """What `run(*args)` gives, and what it took note of."""
    NOTED.clear()
    out = [np.asarray(x) for x in run(*args)]
    mj.effects_barrier()
    return out, sorted(NOTED)


def equation_of(prim, fun, args):
    """The only equation of a primitive in a staged function, as a program of its own."""
    closed = mj.make_jaxpr(fun)(*args)
    j = closed.jaxpr
    (at,) = (i for i, e in enumerate(j.eqns) if e.primitive.name == prim)
    eqn = j.eqns[at]
    ins = list(dict.fromkeys(a for a in eqn.invars if type(a) is not Literal))
    before = Jaxpr(j.constvars, j.invars, ins, j.eqns[:at])
    values = eval_jaxpr(before, closed.consts, *laws.leaves(args))
    outs = [v for v in eqn.outvars if type(v) is not DropVar]
    return Jaxpr([], ins, outs, [eqn]), values


def run(jaxpr, *values):
    return eval_jaxpr(jaxpr, (), *values)


def obeys_regions(prim, make, *args, tight=True, every=True):
    """`make(note)` is the function, which takes note of what it computes, or does not.

    tight: an operand that a result is said to depend on really moves it.
    every: prune for every subset of the results; else for each result alone.
    """
    prunes(*equation_of(prim, make(note), args), every)
    jaxpr, values = equation_of(prim, make(lambda x: None), args)
    nothing, used_in = dce_jaxpr(jaxpr, [False] * len(jaxpr.outvars))
    assert not nothing.eqns and not any(used_in), "what nobody reads is still there"
    tells_dependence(jaxpr, values, tight)


def prunes(jaxpr, values, every):
    full, seen = noted(run, jaxpr, *values)
    assert seen, "the program takes note"
    n = len(jaxpr.outvars)
    alone = [[k == i for k in range(n)] for i in range(n)]
    subsets = itertools.product((False, True), repeat=n)
    for used in subsets if every else [[False] * n, *alone]:
        pruned, used_in = dce_jaxpr(jaxpr, used)
        ins = [x for x, u in zip(values, used_in, strict=True) if u]
        out, again = noted(run, pruned, *ins)
        laws.same(out, [x for x, u in zip(full, used, strict=True) if u])
        assert again == seen, f"effects, with {used} used"


def tells_dependence(jaxpr, values, tight):
    base = [np.asarray(x) for x in run(jaxpr, *values)]
    for i, x in enumerate(values):
        start = [k == i for k in range(len(values))]
        dependent = depends_on(jaxpr, start, inside=True)
        flags = [v in dependent for v in jaxpr.outvars]
        changed = [*values[:i], moved(x), *values[i + 1 :]]
        now = [np.asarray(y) for y in run(jaxpr, *changed)]
        did = [not np.array_equal(a, b) for a, b in zip(base, now, strict=True)]
        wrong = [d and not s for d, s in zip(did, flags, strict=True)]
        assert not any(wrong), f"operand {i} moves {did}, and is declared to move {flags}"
        if tight:
            assert did == flags, f"operand {i} moves {did}, and is declared to move {flags}"


def moved(x):
    """Another value of the same type."""
    x = np.asarray(x)
    if x.dtype.kind == "b":
        return ~x
    if x.dtype.kind in "iu":
        return (x + 1).astype(x.dtype)
    return (x + 0.3 + 0.1 * np.arange(x.size).reshape(x.shape)).astype(x.dtype)


def discharges(fun, *args, reference):
    """The program on values is the program on references, alone and transformed."""
    near = {"rtol": 1e-5, "atol": 1e-6}
    expected = laws.leaves(reference(*args))
    laws.same(fun(*args), expected, **near)
    laws.same(mj.jit(fun)(*args), expected, **near)
    many = [laws.varied(x, 1) for x in args], [laws.varied(x, 2) for x in args]
    each = [laws.leaves(reference(*xs)) for xs in many]
    lanes = mj.jit(mj.vmap(fun))(*(np.stack(xs) for xs in zip(*many, strict=True)))
    laws.same(lanes, [np.stack(xs) for xs in zip(*each, strict=True)], **near)
    ts = [laws.like(x, 5) for x in args]
    tangents, pushed = (mj.jvp(f, args, tuple(ts)) for f in (fun, reference))
    laws.same(tangents, pushed, **near)


def every_lane(fun, *args, size=2):
    """Lanes agree with a loop, of each operand alone and of all together."""
    n = len(args)
    for chosen in [*np.eye(n, dtype=bool), np.ones(n, bool)]:
        rows = [
            [laws.varied(x, k) if c else x for k in range(size)]
            for x, c in zip(args, chosen, strict=True)
        ]
        ins = [np.stack(r) if c else r[0] for r, c in zip(rows, chosen, strict=True)]
        got = mj.vmap(fun, [0 if c else None for c in chosen])(*ins)
        each = [laws.leaves(fun(*xs)) for xs in zip(*rows, strict=True)]
        expected = [np.stack(xs) for xs in zip(*each, strict=True)]
        laws.same(got, expected, rtol=1e-5, atol=1e-6)
