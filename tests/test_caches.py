"""Each cached function returns what it would compute, whatever it was called with before.

`util.cached_functions` lists every function under a caching decorator. A workload calls all of
them. For each call, each part of the arguments is changed, then each option that the function
reads, and then the axes in scope: the cached function must return what the function itself
returns. A last test finds caches that no decorator made.
"""

import contextlib
import importlib
import itertools
import pathlib
import pkgutil
import re
import sys
import types

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.analysis.contents import holds_functions
from minijax.analysis.cost_model import flops
from minijax.base import config, option, util
from minijax.control.calls import remat_budget
from minijax.ir import core
from minijax.ir.core import Primitive
from minijax.ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, Var, cached_on_jaxpr
from minijax.passes.stage import remembered
from minijax.types.avals import ShapedArray

ROOT = pathlib.Path(mj.__file__).parent
X = jnp.arange(3.0)
M = jnp.eye(3) + 1

# A benchmark: its results are times.
MEASUREMENTS = {"minijax.tools.costs.measured"}


def import_all():
    for module in pkgutil.walk_packages(mj.__path__, "minijax."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # of an optional package
                importlib.import_module(module.name)


def name_of(fun):
    return f"{fun.__module__}.{fun.__qualname__}"


def registered():
    import_all()
    ours = [c for c in util.cached_functions if c.fun.__module__.startswith("minijax.")]
    return {name_of(c.fun): c for c in ours}


# ---------------------------------------------------------------------------- the workload


def loops():
    def step(carry, x):
        return carry * jnp.sin(x), carry

    mj.grad(lambda x: lax.scan(step, x[0], x)[0])(X)
    mj.grad(lambda x: lax.scan(step, x[0], x, _split_transpose=True)[0])(X)
    mj.grad(
        lambda x: lax.scan(lambda c, x: ((c[0] * 2, c[1] + c[0]), c[0]), (x[0], x[1]), x)[0][1]
    )(X)
    mj.linearize(lambda x: lax.scan(lambda c, y: (c + y * jnp.sin(x[0]), c), 0.0, x), X)
    mj.vmap(lambda n: lax.while_loop(lambda x: x < n, lambda x: x + 1, 0.0))(X)
    mj.grad(lambda x: lax.fori_loop(0, 3, lambda i, x: x * x, x))(2.0)
    mj.grad(lambda x: lax.map(jnp.sin, x).sum())(X)
    lax.scan(lambda c, x: (c + x, c), 0, jnp.arange(3))
    mj.jit(lambda x: lax.cond(x[0] > 0, lambda x: 2 * x, lambda x: jnp.float32(1) * x, x))(X)
    mj.jit(lambda p, x: lax.cond(p, lambda: 1.0, lambda: jnp.sin(x)))(True, 1.0)
    mj.grad(lambda x: lax.cond(x[0] > 0, jnp.sin, lambda x: x, x).sum())(X)
    mj.make_jaxpr(mj.grad(lambda p, x: lax.cond(p, jnp.sin, jnp.exp, x), 1))(True, 1.0)


def nonlinear_carry():
    """Transpose a loop that carries a nonlinear value beside a linear one."""

    def f(x):
        return lax.scan(lambda c, _: ((c[0] * 2, c[1] * c[0]), None), (3.0, x), None, length=2)

    mj.linear_transpose(lambda x: f(x)[0][1], 1.0)(1.0)


def references():
    def f(ref, x):
        ref[...] += x
        return ref[...] * 2

    ref = mj.new_ref(X)
    mj.jit(f)(ref, X)
    mj.jit(lambda x: f(mj.new_ref(x), x))(X)
    mj.make_jaxpr(mj.jit(lambda x: mj.jit(f)(mj.new_ref(x), x)))(X)
    mj.grad(lambda x: mj.checkpoint(lambda x: f(mj.new_ref(x), x))(x).sum())(X)

    def count(ref):
        def cond(i):
            ref[...] += 1
            return ref[...] < 5

        return lax.while_loop(cond, lambda i: i + ref[...], 0.0)

    count(mj.new_ref(0.0))
    constant = mj.new_ref(X)
    lax.scan(lambda c, x: (c + constant[...] * x, None), X, X)
    mj.jit(lambda x: lax.cond(x[0] > 0, lambda x: constant[...] + x, lambda x: x, x))(X)


def checks():
    checkify = mj.experimental.checkify

    def body(x):
        checkify.check(x[0] < 9, "large {x}", x=x[0])
        return jnp.log(x)

    for f in (body, mj.jit(body), lambda x: lax.fori_loop(0, 2, lambda i, x: body(x), x)):
        checkify.checkify(f)(X)
        checkify.checkify(f, errors=checkify.all_checks)(X)
    while_ = lambda x: lax.while_loop(lambda x: body(x)[0] < 0, lambda x: x + 1, x)
    checkify.checkify(while_, errors=checkify.all_checks)(X + 1)
    branch = lambda x: lax.cond(x[0] > 0, body, lambda x: x, x)
    checkify.checkify(branch, errors=checkify.all_checks)(X)


def recomputed():
    def f(x):
        return jnp.sin(mj.jit(lambda x: jnp.exp(x) * x)(x)).sum()

    for policy in (None, mj.checkpoint_policies.dots_saveable, remat_budget.budget(64)):
        mj.jit(mj.grad(mj.checkpoint(f, policy=policy)))(X)
    mj.make_jaxpr(mj.vmap(mj.grad(mj.checkpoint(f))))(M)


def derivatives():
    f = mj.jit(lambda x, y: (x * jnp.sin(y), X * x))
    mj.jvp(f, (X, X), (X, X))
    mj.vjp(f, X, X)[1]((X, X))
    mj.hessian(lambda x: f(x, x)[0].sum())(X)
    mj.vmap(f, (0, None))(M, X)
    mj.experimental.jet.jet(f, (X, X), ((X,), (X,)))

    def closes_over(x):
        g = mj.custom_jvp(lambda y: y * x)
        g.defjvp(lambda primals, tangents: (g(*primals), tangents[0] * x))
        return mj.jit(g)(x)

    mj.jit(mj.vmap(closes_over))(X)

    def rule_closes_over(x):
        g = mj.custom_vjp(lambda y: y)
        g.defvjp(lambda y: (y, None), lambda _, ct: (ct * x,))
        return mj.grad(lambda y: mj.jit(g)(y).sum())(x)

    mj.jit(rule_closes_over)(X)


def numbers():
    key = mj.random.key(0)
    mj.jit(lambda key: mj.random.normal(mj.random.split(key)[0], (3,)))(key)
    mj.random.uniform(key, (2,), jnp.float16)
    with mj.debug_key_reuse(True):
        mj.jit(lambda key: mj.random.bits(key))(key)
    mj.make_jaxpr(lambda key: mj.random.key_data(key))(key)


def operations():
    jnp.einsum("ij,j->i", M, X)
    X.astype(int) + np.float32(1)
    jnp.result_type(1, 1.0)
    jnp.result_type(True, True, 2)
    mj.jit(lambda x: x.at[0].add(1.0))(X)
    lax.reduce((X, X), (0.0, 0.0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (0,))
    lax.approx_max_k(X, 1)
    lax.dot_general(
        M, M.astype(jnp.bfloat16), (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32
    )
    jnp.vectorize(lambda x: x, signature="(n)->(n)")(M)
    mj.scipy.linalg.expm(M)
    mj.scipy.linalg.eigh_tridiagonal(
        X, X[:2], eigvals_only=True, select="i", select_range=(0, 1)
    )
    mj.scipy.special.bessel_jn(X, v=2)
    mj.scipy.special.i0e(X)
    mj.scipy.special.spence(X)
    mj.scipy.special.owens_t(X, X)
    mj.scipy.special.lpmn_values(2, 2, X, is_normalized=True)
    mj.scipy.stats.norm.logpdf(X)
    mj.experimental.ode.odeint(lambda y, t: -y, X, X)


def sharded():
    mj.pmap(jnp.sin)(jnp.ones((2, 3)))
    mj.grad(lambda x: mj.pmap(jnp.sin)(x).sum())(jnp.ones((2, 3)))
    mesh = mj.make_mesh((2,), ("a",))
    x = mj.device_put(jnp.arange(4.0), mj.NamedSharding(mesh, mj.sharding.PartitionSpec("a")))
    np.asarray(x)
    P = mj.sharding.PartitionSpec
    f = mj.shard_map(
        lambda x: lax.psum(jnp.sin(x), "a"), mesh=mesh, in_specs=P("a"), out_specs=P()
    )
    mj.make_jaxpr(mj.grad(lambda x: f(x).sum()))(x)
    f(x)
    mj.vmap(f)(jnp.stack([x, x]))
    auto = (mj.sharding.AxisType.Auto,) * 2
    mesh = mj.make_mesh((2, 2), ("a", "b"), axis_types=auto)
    f = mj.shard_map(jnp.sin, mesh=mesh, in_specs=P("a"), out_specs=P("a"))
    mj.vmap(f, spmd_axis_name="b")(jnp.ones((2, 4)))
    constant = mj.custom_batching.custom_vmap(jnp.cos)
    constant.def_vmap(lambda size, batched, x: (jnp.ones((size, 2)), True))
    f = mj.shard_map(lambda x: constant(x), mesh=mesh, in_specs=P("a"), out_specs=P("a"))
    mj.vmap(f, spmd_axis_name="b")(jnp.ones((2, 4)))


def libraries():
    sparse = mj.experimental.sparse
    sparse.sparsify(mj.jit(lambda a, x: (a @ x) * 2))(sparse.BCOO.fromdense(M), X)
    rnn = mj.experimental.rnn
    w = jnp.ones(rnn.get_num_params_in_lstm(2, 2, 1, False))
    state = jnp.zeros((1, 1, 2))
    rnn.lstm(jnp.ones((1, 3, 2)), state, state, w, jnp.array([2]), 2, 2, 1, 0.0, False)
    dims = mj.export.symbolic_shape("n, m")
    mj.make_jaxpr(lambda x: x.reshape(-1)[: mj.core.max_dim(dims[0] // 2, dims[1] % 3)])(
        mj.ShapeDtypeStruct(dims, "f")
    )


def called_directly():
    """Functions that few programs call, or that are called when modules are loaded."""
    from minijax.control.calls.jit_shardings import auto_result_layouts
    from minijax.runtime.backends import client
    from minijax.runtime.lowering import nesting
    from minijax.runtime.running import compiler_faults
    from minijax.surface.scipy.stats import _common
    from minijax.tools import nan_probes, source_lines

    closed = mj.make_jaxpr(mj.jit(jnp.sin))(X)
    nesting.nesting(closed.jaxpr)
    auto_result_layouts(closed.jaxpr)
    flops(closed.jaxpr, True)
    holds_functions(closed.jaxpr)
    with mj.enable_checks(True):
        mj.make_jaxpr(mj.jit(jnp.exp))(X)
    nan_probes._divisor(1 << 14)
    source_lines.source_line_of(closed.eqns[0])
    source_lines._targets(__file__)
    client.default_device()
    compiler_faults._cured_by_options("cpu")
    _common.with_signature(lambda *args: args, ["x", "loc"])


WORKLOAD = [loops, nonlinear_carry, references, checks, recomputed, derivatives, numbers]
WORKLOAD += [operations, sharded, libraries, called_directly]


# ------------------------------------------------------------------------------- samples


def arguments(frame):
    """The positional arguments of a call that begins."""
    code, local = frame.f_code, frame.f_locals
    args = [local[name] for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & 0x04:
        args += local[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]]
    return tuple(args)


@pytest.fixture(scope="module")
def samples():
    """Name of a cached function -> arguments with which the workload calls it, a few each."""
    names = {fun.__code__: name for name, (_, fun, _) in registered().items()}
    calls = {name: [] for name in names.values()}
    counts = dict.fromkeys(calls, 0)

    def note(frame, event, arg):
        if event == "call" and frame.f_code in names:
            name = names[frame.f_code]
            # The calls 0, 1, 2, 4, 8 ...: of several kinds, and not too many.
            if counts[name] & (counts[name] - 1) == 0:
                calls[name].append(arguments(frame))
            counts[name] += 1

    mj.clear_caches()
    for workload in WORKLOAD:
        sys.setprofile(note)
        try:
            workload()
        finally:
            sys.setprofile(None)
    return calls


def test_the_workload_calls_every_cached_function(samples):
    assert [name for name, calls in samples.items() if not calls] == sorted(MEASUREMENTS)


# ------------------------------------------------------------------------------- changes


def changes(x):
    """Other values of an argument: each differs from it in one part."""
    if isinstance(x, bool):
        yield not x
    elif isinstance(x, int):
        yield from (x + 1, x - 1, float(x), x == 1)
    elif isinstance(x, float):
        yield from (x + 1, -x)
    elif isinstance(x, str):
        yield from (x + "x", x[1:], x.swapcase())
    elif x is None:
        yield from (True, 1, ())
    elif isinstance(x, np.dtype):
        yield from (d for d in map(np.dtype, ("float32", "float16", "int32")) if d != x)
    elif isinstance(x, ShapedArray):
        yield x.update(weak_type=not x.weak_type)
        yield from (x.update(dtype=d, weak_type=False) for d in changes(x.dtype))
        yield x.update(shape=(2, *x.shape))
    elif isinstance(x, ClosedJaxpr) and x.consts:
        yield ClosedJaxpr(x.jaxpr, [np.array(c) + 1 if is_array(c) else c for c in x.consts])
    elif isinstance(x, tuple | list):
        for i, item in enumerate(x):
            for other in itertools.islice(changes(item), 3):
                if isinstance(other, bool | float) and other == item:
                    continue  # (1,) and (1.0,) are one key
                items = [*x[:i], other, *x[i + 1 :]]
                yield (
                    x._replace(**{x._fields[i]: other})
                    if hasattr(x, "_fields")
                    else type(x)(items)
                )
        if not hasattr(x, "_fields"):
            yield x[:-1]
            yield x[::-1]
    elif hasattr(x, "__slots__") and type(x).__module__.startswith("minijax") and is_record(x):
        fields = {name: getattr(x, name) for name in type(x).__slots__}
        for name, value in fields.items():
            for other in itertools.islice(changes(value), 2):
                yield type(x)(**{**fields, name: other})


def is_array(x):
    return isinstance(x, mj.Array | np.ndarray) and not mj.dtypes.issubdtype(
        x.dtype, mj.dtypes.extended
    )


def is_record(x):
    """Whether `x` can be rebuilt from its slots, as a lane axis can."""
    try:
        type(x)(**{name: getattr(x, name) for name in type(x).__slots__})
    except Exception:
        return False
    return True


def described(x, depth=6):
    """A result as data: programs as text with constants by identity."""
    if depth == 0:
        return type(x)
    inside = lambda y: described(y, depth - 1)
    if isinstance(x, ClosedJaxpr):
        return (
            "closed",
            str(x.jaxpr),
            [described(c, 1) if is_array(c) else id(c) for c in x.consts],
        )
    if isinstance(x, Jaxpr):
        return "jaxpr", str(x), len(x.constvars)
    if isinstance(x, Var):
        return "variable", str(x.aval)
    if isinstance(x, np.ndarray | np.generic | mj.Array):
        return (
            "array",
            str(getattr(x, "dtype", "")),
            np.asarray(x).tolist() if is_array(x) else str(x),
        )
    if isinstance(x, dict):
        return "dict", [(described(k, 1), inside(v)) for k, v in x.items()]
    if isinstance(x, tuple | list):
        return type(x).__name__, list(map(inside, x))
    if isinstance(x, types.FunctionType):
        cells = [c.cell_contents for c in x.__closure__ or ()]
        return "function", x.__code__, list(map(inside, cells)), inside(x.__defaults__)
    if isinstance(x, int | float | complex | str | bytes | frozenset | set | type(None) | type):
        return type(x), str(x) if isinstance(x, float) else x
    if type(x).__module__.startswith("minijax") and not isinstance(
        x, Primitive | Equation | Literal
    ):
        names = [*getattr(type(x), "__slots__", ()), *getattr(x, "__dict__", ())]
        fields = [(n, inside(getattr(x, n, None))) for n in names if not n.startswith("__")]
        return type(x), fields or str(x)
    return type(x), str(x)


class Setting:
    """An option with another value, for a block."""

    def __init__(self, option, value):
        self.option, self.value = option, value

    def __enter__(self):
        self.before = self.option.swap(self.value)

    def __exit__(self, *_):
        self.option.swap_back(self.before)


def other_options(fun, args):
    """Other values of each option that a function reads, also in cached functions inside."""
    reads = set()

    def value(self):
        reads.add(self)
        return self._cell.value

    def trace_key():  # a cached function inside depends on options
        reads.update((config.X64, config.MATMUL_PRECISION, config.PROMOTION))
        return option.trace_key()

    with pytest.MonkeyPatch.context() as patch:
        for kind in (option.Option, option._RecordedOption):
            patch.setattr(kind, "value", property(value))
        patch.setattr(config, "trace_key", trace_key)
        outcome(fun, args)
    for read in sorted(reads, key=lambda o: o.name):
        if read.check is option.as_bool:
            yield Setting(read, not read.value)
        else:
            others = (v for v in getattr(read.check, "choices", ()) if v != read.value)
            yield from (Setting(read, v) for v in itertools.islice(others, 2))


FAILED = object()


def outcome(fun, args):
    try:
        return described(fun(*args))
    except Exception:
        return FAILED


@pytest.mark.parametrize("name", sorted(set(registered()) - MEASUREMENTS))
def test_a_result_depends_on_nothing_but_the_key(name, samples):
    cached, fun, is_pure = registered()[name]
    for args in samples[name]:
        first = outcome(cached, args)
        assert first == outcome(fun, args)
        for i, argument in enumerate(args):
            for other in itertools.islice(changes(argument), 12):
                changed = (*args[:i], other, *args[i + 1 :])
                expected = outcome(fun, changed)
                if expected is not FAILED:
                    assert outcome(cached, changed) == expected, (i, argument, other)
        settings = list(other_options(fun, args))
        assert not is_pure or not settings, "it reads options: use a context, or `remembered`"
        for values in settings:
            with values:
                expected = outcome(fun, args)
                if expected is not FAILED:
                    assert outcome(cached, args) == expected, values.option
        for size in (2, 3):
            with core.mapped_axis("i", size):
                assert outcome(cached, args) == outcome(fun, args)
        assert outcome(cached, args) == first


def test_the_function_is_part_of_the_key():
    """Two functions under one decorator share no results."""
    closed = mj.make_jaxpr(jnp.sin)(X)
    for decorate, first in (
        (remembered, closed),
        (cached_on_jaxpr, closed.jaxpr),
        (util.cached_by(lambda value: True), test_the_function_is_part_of_the_key),
        (util.cached(4), 1),
    ):
        one, two = (decorate(lambda x, y, n=n: (n, y)) for n in (1, 2))
        assert [one(first, 5), two(first, 5), one(first, 5)] == [(1, 5), (2, 5), (1, 5)]


def test_the_context_is_part_of_the_key():
    closed, now = mj.make_jaxpr(jnp.sin)(X), [1]
    owner = lambda: None
    for decorate, first in (
        (util.cached_by(lambda value: True, lambda: now[0]), owner),
        (util.cached(4, lambda: now[0]), 1),
    ):
        cached = decorate(lambda x: now[0])
        for now[0] in (1, 2, 1):
            assert cached(first) == now[0]
    decorated = remembered, util.cached(4, core.tracing_context)
    for cached, first in zip(
        (d(lambda x: config.X64.value) for d in decorated), (closed, 1), strict=True
    ):
        for value in (False, True, False):
            with mj.enable_x64(value):
                assert cached(first) is value


def test_numbers_of_different_types_differ():
    same = util.cached(8)(lambda x: (type(x), x))
    assert [same(x)[0] for x in (1, 1.0, True, 1)] == [int, float, bool, int]


def test_constants_are_part_of_the_key():
    jaxpr = mj.make_jaxpr(lambda x: x * M)(M).jaxpr
    values = remembered(lambda closed: float(np.asarray(closed.consts[0])[0, 0]))
    one, two = (ClosedJaxpr(jaxpr, [np.full((3, 3), v)]) for v in (1.0, 2.0))
    assert [values(one), values(two), values(one)] == [1.0, 2.0, 1.0]


def test_results_are_cached_and_cleared():
    calls = []
    closed = mj.make_jaxpr(jnp.sin)(X)
    count = lambda *args: calls.append(args) or len(calls)
    owner = lambda: None
    for decorate, first in (
        (remembered, closed),
        (cached_on_jaxpr, closed.jaxpr),
        (util.cached_by(lambda value: True), owner),
        (util.cached(4), 1),
        (util.cached(4, core.tracing_context), 1),
    ):
        cached = decorate(lambda *args: count(*args))
        del calls[:]
        assert [cached(first, (1, 2)) for _ in range(3)] == [1, 1, 1]
        assert cached(first, (1, 3)) == 2
        if decorate not in (remembered, cached_on_jaxpr):  # these live as long as the jaxpr
            mj.clear_caches()
            assert cached(first, (1, 3)) == 3


# ------------------------------------------------------------- caches without a decorator

# Where a cache is written by hand, and why.
BY_HAND = {
    "api/autodiff.py": "arrays, which a user may delete",
    "base/lazy_modules.py": "tables of public modules",
    "base/option.py": "keys of states of the options",
    "base/source.py": "interned sources",
    "base/util.py": "the decorators",
    "control/calls/flattened_calls.py": "routes, on the hot path",
    "control/calls/jit_primitive.py": "programs, which live as long as their jaxpr",
    "control/calls/jitted.py": "traces of a function, whose number a user may limit",
    "control/hijax_values.py": "tables of a trace, not of results",
    "ir/jaxpr.py": "`cached_on_jaxpr`",
    "passes/batch.py": "types of lanes by type and axis, on the hot path",
    "passes/dce.py": "a mark of pruned jaxprs",
    "passes/stage.py": "`remembered`; types of results, on the hot path",
    "runtime/arrays/transfers.py": "arrays, which a user may delete",
    "runtime/lowering/context.py": "recorded lowerings, on the hot path",
    "runtime/running/compile.py": "executables by the bytes of their module",
    "runtime/running/compiled_rules.py": "compiled rules, on the hot path",
    "runtime/running/dispatch.py": "programs of primitives, on the hot path",
    "runtime/running/pacing.py": "one pace for each list of devices",
    "runtime/running/cross_process_checks.py": "digests that processes compared",
    "runtime/running/device_put.py": "reshardings by C++ shardings, on the hot path",
    "runtime/running/resharding.py": "programs of reshardings and conversions",
    "runtime/sharding/placement.py": "interned placements",
    "runtime/sharding/shardings.py": "interned shardings",
    "surface/numpy/creation.py": "arrays, which a user may delete",
    "surface/numpy/methods.py": "types that were seen once",
    "types/avals.py": "interned types",
    "types/type_sharding.py": "interned shardings of types",
    "types/dtypes.py": "valid dtypes, on the hot path",
    "views/backends.py": "caches of libraries",
    "views/linear_util.py": "a decorator for libraries",
    "views/tools.py": "a decorator for libraries",
}
# Tables that are no caches: what was registered, or is under way.
TABLES = """_TABLE _attributes _previous _clients _cpu_options _loaded _verbose_loggers _counts
_constant_handlers _by_type _by_name _pending _codes _OPTIONS _rules _passes _NO_PARAMS""".split()
SIGNS = re.compile(
    r"\.memo\b|\blru_cache\b|\bremember\(|WeakIdentityCache\(|WeakKeyDictionary\("
    r"|^(_\w+)(?:: [^=\n]+)? = (?:util\.cache\()?\{\}",
    re.M,
)
# `functools.cache` may make a function run once, for its effect or for a single result.
CACHED_ONCE = re.compile(r"@functools\.cache\n *def \w+\((?:\)|[^)]*\) -> None:)")


def caches_by_hand(path):
    text = path.read_text()
    signs = [m for m in SIGNS.finditer(text) if m[1] not in TABLES]
    return bool(signs) or text.count("@functools.cache\n") > len(CACHED_ONCE.findall(text))


def test_no_cache_is_written_by_hand():
    paths = sorted(ROOT.rglob("*.py"))
    found = {str(path.relative_to(ROOT)) for path in paths if caches_by_hand(path)}
    assert found - set(BY_HAND) == set()
    assert set(BY_HAND) - found == set()
