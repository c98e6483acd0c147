"""Symbolic dimensions: arithmetic, comparison, texts, and programs that have them.

Texts and results are recorded from JAX 0.10.2.  `exported_by_jax.txt` holds a program that
JAX exported; see test_export.py.
"""

import base64
import pathlib
import zlib

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import export, lax
from minijax.base.errors import UnexpectedDimVar
from minijax.symbolic.dims import InconclusiveDimensionOperation, max_dim, min_dim

a, b, c = export.symbolic_shape("a, b, c")

# fmt: off
# ruff: noqa: E501
ARITHMETIC = [
    ("b+a", "b + a"), ("a*2", "2*a"), ("2*a*b+4*a+3", "2*a*b + 4*a + 3"), ("a-b", "- b + a"),
    ("-a", "- a"), ("a*a*b", "a^2*b"), ("(a+b)*(a+b)", "2*a*b + b^2 + a^2"),
    ("a//2", "floordiv(a, 2)"), ("a%2", "mod(a, 2)"), ("-a//2", "floordiv(- a, 2)"),
    ("(2*a)//2", "a"), ("(4*a+3)//2", "2*a + 1"), ("(a*b+b)//b", "a + 1"), ("a%b", "mod(a, b)"),
    ("(2*a)%2", "0"), ("(a+2)%2", "mod(a + 2, 2)"), ("divmod(2*a+1,2)", "(a, 1)"), ("a-a", "0"),
    ("a**2", "a^2"), ("a**0", "1"), ("3-a", "- a + 3"), ("1+a-1", "a"), ("a*b-b*a", "0"),
    ("(a//2)*2+a%2", "mod(a, 2) + 2*floordiv(a, 2)"), ("a+b+c", "c + b + a"), ("c*a", "a*c"),
    ("a*a+b+1", "a^2 + b + 1"), ("b+a//2", "floordiv(a, 2) + b"), ("np.int32(2)*a", "2*a"),
    ("np.prod((a,2))", "2*a"), ("max_dim(a, 1)", "a"), ("min_dim(a, 2)", "min(a, 2)"),
    ("max_dim(a, b)", "max(a, b)"), ("sum([a,b])", "b + a"), ("max(a, 1)", "a"),
]
ANSWERS = [
    ("a==b", False), ("a==a+0", True), ("a==1", False), ("a!=b", True), ("a>=1", True),
    ("a>0", True), ("a<1", False), ("a+b>=2", True), ("a*b>=1", True), ("a+1>a", True),
    ("a<=a+b", True), ("2*a>=a", True), ("a//2>=0", True), ("a//2<=a", True), ("a%2<2", True),
    ("a%2>=0", True), ("bool(a)", True), ("hash(a)==hash(a+0)", True), ("a in (1,b)", False),
    ("(a,1)==(a,1)", True), ("2*a==2*b", False), ("a=='x'", False), ("isinstance(a,int)", False),
    ("a==export.symbolic_shape('a')[0]", False), ("export.is_symbolic_dim(a)", True),
]
UNCLEAR = ["a>=2", "a>b", "max(a,b)", "a*a>=a", "sorted([b,a])", "int(a)"]
CONSTRAINED = [
    ("a>=2", "a>=2", "True"), ("a<=5", "a<=5", "True"), ("a>=b", "a+1>b", "True"),
    ("a>=b;b>=c", "a>=c", "True"), ("a==2*b", "a", "2*b"), ("mod(a,2)==0", "a%2", "0"),
    ("mod(a,2)==0", "a//2*2", "a"), ("a==4", "a", "4"), ("a+b<=8", "a<=7", "True"),
    ("2*a>=5", "a>=3", "True"), ("a*b==c", "a*b", "c"), ("floordiv(a,2)==b", "a//2", "b"),
    ("max(a,b)<=4", "a<=4", "True"), ("a==a", "a", "a"),
]
TEXTS = [
    ("a, b", "(a, b)"), ("(a, b)", "(a, b)"), ("a,", "(a,)"), ("", "()"), ("3", "(3,)"),
    ("a^2", "(a^2,)"), ("-2*a+3", "(- 2*a + 3,)"), ("a - -1", "(a + 1,)"), ("A_1", "(A_1,)"),
    ("floordiv(a+b, 2)*3", "(3*floordiv(b + a, 2),)"), ("mod(a,2)", "(mod(a, 2),)"),
    ("max(a,b)", "(max(a, b),)"),
]
NO_TEXTS = ["a//2", "a b", "2a", "a+", "a,,b", "a*(b+1)", "f(a)", "...", "_", None, "a)", "(a"]
# fmt: on


@pytest.mark.parametrize("text, expected", ARITHMETIC)
def test_arithmetic(text, expected):
    assert str(eval(text)) == expected


@pytest.mark.parametrize("text, expected", ANSWERS)
def test_comparison(text, expected):
    assert eval(text) is expected


@pytest.mark.parametrize("text", UNCLEAR)
def test_inconclusive_comparisons(text):
    with pytest.raises(InconclusiveDimensionOperation, match="Symbolic dimension"):
        eval(text)


@pytest.mark.parametrize("text", ["a > 2", "a >= 2", "a < 2", "a <= 2", "a > b", "b < a - 1"])
def test_the_constraint_that_an_error_suggests_works(text):
    with pytest.raises(InconclusiveDimensionOperation) as error:
        eval(text)
    constraint = str(error.value).split("constraints=['")[1].split("']")[0]
    known = export.symbolic_shape("a, b", constraints=[constraint])
    assert eval(text, dict(zip("ab", known, strict=True))) is True


@pytest.mark.parametrize("constraints, text, expected", CONSTRAINED)
def test_constraints(constraints, text, expected):
    known = export.symbolic_shape("a, b, c", constraints=constraints.split(";"))
    names = dict(zip("abc", known, strict=True))
    assert str(eval(text, names)) == expected


def test_bounds_hold():
    """What is proved of a size holds for every value of its unknowns."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        atoms = [a, b, a // 2, b % 3, max_dim(a, b), min_dim(a, 3), 1]
        size = sum(int(k) * x for k, x in zip(rng.integers(-2, 3, 7), atoms, strict=True))
        if isinstance(size, int):
            continue
        values = [size.evaluated(dict(a=i, b=j)) for i in range(1, 7) for j in range(1, 7)]
        try:
            proved = size >= 0
        except InconclusiveDimensionOperation:
            continue
        assert all((v >= 0) == proved for v in values), size


@pytest.mark.parametrize("text, expected", TEXTS)
def test_texts(text, expected):
    assert str(export.symbolic_shape(text)) == expected


@pytest.mark.parametrize("text", NO_TEXTS)
def test_invalid_texts(text):
    with pytest.raises(ValueError, match="syntax error in symbolic shape"):
        export.symbolic_shape(text)


def test_shapes_like_others():
    assert str(export.symbolic_shape("a, _, ...", like=(1, 2, 3, 4))) == "(a, 2, 3, 4)"
    assert export.symbolic_shape(None, like=(1, 2)) == (1, 2)
    for text, like, what in (
        ("a, 3", (1, 2), "different size 3 for known dimension"),
        ("a, ...", (1, None), "unexpected placeholder for unknown dimension"),
    ):
        with pytest.raises(ValueError, match=what):
            export.symbolic_shape(text, like=like)
    args = (np.ones((2, 3)), [np.ones(4, np.int32)])
    specs = export.symbolic_args_specs(args, ("a, ...", None))
    assert str(specs[0].shape) == "(a, 3)" and specs[1][0].shape == (4,)
    every = export.symbolic_args_specs(args, "a, ...")
    assert every[0].shape[0] == every[1][0].shape[0]
    for constraint in ("a>2", "a=2", "a"):
        with pytest.raises(ValueError, match="must contain one of '==' or '>=' or '<='"):
            export.SymbolicScope([constraint])
    with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes"):
        a + export.symbolic_shape("a")[0]
    with pytest.raises(NotImplementedError, match="using shape polymorphism outside"):
        a + 1.0


# ---------------------------------------------------------------------------- programs

F4 = np.dtype("float32")
RNG = np.random.default_rng(1)


def exported(fun, *shapes, constraints=(), **options):
    scope = export.SymbolicScope(constraints)
    specs = [
        mj.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), F4)
        if isinstance(s, str)
        else s
        for s in shapes
    ]
    return export.export(mj.jit(fun), **options)(*specs)


def check(fun, made, *args):
    """The program computes what the function does, of these sizes."""
    for expected, got in zip(
        mj.tree.leaves(mj.jit(fun)(*args)), mj.tree.leaves(made.call(*args)), strict=True
    ):
        assert expected.shape == got.shape and expected.dtype == got.dtype
        np.testing.assert_allclose(expected, got, rtol=2e-5, atol=1e-6)


def shapes_of_all_kinds(x, y):
    n, m = x.shape
    return dict(
        product=x @ y,
        scaled=n * x / m + n // 2,
        flat=x.reshape(-1),
        pairs=x.reshape(m, -1),
        joined=jnp.concatenate([x, y.T[: n - 1]]),
        wide=jnp.broadcast_to(x, (2, n, m)),
        tiled=jnp.tile(x, (2, 1)),
        padded=jnp.pad(x, ((1, n), (0, 1))),
        swapped=x.T,
        parts=(x[1:], x[:2], x[-1], x[::2], x[::-1], x[:, 1:-1], x[..., 0]),
        made=(jnp.zeros((n, 2)), jnp.arange(1, n + 1), jnp.eye(m), jnp.tril(x)),
    )


def what_is_computed(x, i):
    m = x.shape[1]
    step = lambda carry, row: (carry + row, jnp.tanh(carry))
    return dict(
        sums=(x.sum(), x.max(0), x.mean(1), x.std(), x.argmax(1), (x > 0).any()),
        soft=(mj.nn.softmax(x), mj.nn.log_softmax(x, axis=0)),
        loops=(
            lax.scan(step, jnp.zeros(m), x),
            lax.scan(lambda c, _: (jnp.tanh(c), c.sum()), x, None, length=2),
            lax.fori_loop(0, m, lambda k, s: s + x[0, k], 0.0),
        ),
        moved=lax.dynamic_slice(x, (i[1], 5), (x.shape[0] - 1, 1)),  # to where it fits
        chosen=(jnp.where(x > 0, x, 0.0), lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)),
        read=(x[i], x.at[i].add(1.0), jnp.take_along_axis(x, x.argmax(1)[:, None], 1)),
        ordered=(jnp.sort(x), jnp.cumsum(x, 0), jnp.cumsum(x[:, ::-1], 1)),
        mapped=mj.vmap(lambda r: jnp.dot(r, r))(x),
        slope=mj.grad(lambda x: jnp.sum(jnp.sin(x) ** 2))(x),
        random=mj.random.uniform(mj.random.key(0), x.shape),
        drawn=mj.random.categorical(mj.random.key(1), x),
        steps=jnp.diff(x, axis=0),
    )


def test_shapes():
    made = exported(shapes_of_all_kinds, "n, m", "m, n", constraints=["n >= 3", "m >= 3"])
    assert made.uses_global_constants
    assert "(n, n)" in [str(aval.shape) for aval in made.out_avals]
    for n, m in ((4, 3), (3, 5)):
        args = RNG.normal(size=(n, m)).astype(F4), RNG.normal(size=(m, n)).astype(F4)
        check(shapes_of_all_kinds, made, *args)
        check(shapes_of_all_kinds, export.deserialize(made.serialize()), *args)


def test_computations():
    index = np.array([0, 2, 1], np.int32)
    made = exported(what_is_computed, "n, m", index, constraints=["n >= 3"])
    check(what_is_computed, made, RNG.normal(size=(4, 3)).astype(F4), index)


def sizes_as_numbers(x, i):
    """Functions that take sizes, and count with them."""
    n, m = x.shape
    v = x[:, 0]
    return dict(
        ranges=(jnp.arange(n, 0, -1), jnp.arange(0, n, 2), jnp.arange(m, 3 * m, m), jnp.full((2,), n, F4), jnp.full_like(v, n)),
        counted=(jnp.bincount(i, length=n), mj.nn.one_hot(i, m), mj.ops.segment_sum(v, jnp.arange(n), num_segments=n)),
        repeated=(jnp.repeat(v, n), jnp.repeat(x, 2, axis=1), jnp.repeat(v, jnp.array([2]), total_repeat_length=2 * n)),
        cut=(jnp.split(v, [1, n - 1]), jnp.insert(v, 1, 5.0), lax.collapse(x, 0, 2)),
        places=(jnp.nonzero(x > 0, size=n), jnp.argwhere(x > 0, size=2), jnp.flatnonzero(x > 0, size=3), jnp.unravel_index(i, x.shape)),
        best=(lax.top_k(v, n), lax.top_k(x, n - 1, axis=0), jnp.searchsorted(jnp.sort(v), v[:2])),
        sets=(jnp.unique(v, size=3, return_counts=True), jnp.intersect1d(v, v, size=2)),
        diagonals=(jnp.diagonal(x @ x.T) + v, jnp.einsum("ii->i", x @ x.T), mj.scipy.linalg.toeplitz(v)),
        images=(mj.image.resize(x, (4, 4), "linear"), mj.image.resize(x, (2 * n, m), "nearest")),
        sorted_slope=mj.grad(lambda v: (jnp.sort(v) * jnp.arange(n)).sum())(v),
    )  # fmt: skip


def windows_and_matrices(x, y):
    """Padding and LAPACK's sizes are computed when the program runs."""
    w = jnp.arange(8, dtype=F4).reshape(2, 1, 2, 2)
    image = x[None, None]
    conv = lambda image, strides, **options: lax.conv_general_dilated(
        image, w, strides, "SAME", **options
    )
    pool = lambda x, s: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (s, s), "SAME")
    square = x @ x.T + jnp.eye(x.shape[0])
    return dict(
        convolved=(
            conv(image, (1, 1)),
            conv(image, (3, 2)),
            conv(image, (1, 1), rhs_dilation=(2, 1)),
        ),
        smaller=lax.conv_general_dilated(image, w, (1, 2), "VALID"),
        pooled=(
            pool(x, 1),
            pool(x, 2),
            lax.reduce_window(x, 0.0, lax.add, (3, 1), (2, 1), "SAME_LOWER"),
        ),
        slopes=mj.grad(
            lambda x: (conv(x[None, None], (1, 1)) ** 2).sum() + (pool(x, 1) ** 2).sum()
        )(x),
        solved=(
            jnp.linalg.solve(square, x),
            jnp.linalg.cholesky(square),
            jnp.linalg.slogdet(square),
        ),
        spectra=(jnp.linalg.eigvalsh(square), jnp.linalg.svd(x, compute_uv=False)),
        stacks=(jnp.linalg.inv(y), abs(jnp.linalg.qr(y)[1]), jnp.linalg.lstsq(square, x)[0]),
    )


def test_sizes_as_numbers():
    index = np.array([0, 2, 1], np.int32)
    made = exported(sizes_as_numbers, "n, m", index, constraints=["n >= 3"])
    check(sizes_as_numbers, made, RNG.normal(size=(4, 3)).astype(F4), index)
    assert str(made.out_avals[-1].shape) == "(n,)"


def test_windows_and_matrices():
    made = exported(windows_and_matrices, "n, m", "k, 3, 3")
    x, y = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3)
    check(windows_and_matrices, made, x.astype(F4), y.astype(F4))
    same = [str(made.out_avals[i].shape) for i in (0, 1)]
    assert same[0] == "(1, 2, n, m)", same


def perceptron(weights, x):
    for w, bias in weights:
        x = mj.nn.gelu(x @ w + bias)
    return mj.nn.log_softmax(x)


def test_cotangents_and_calls_of_calls():
    """The size of a batch is left open: of a network, its slopes, and of a call of it."""
    rows = [(3, 4), (4, 2)]
    weights = [(RNG.normal(size=s).astype(F4), np.zeros(s[1], F4)) for s in rows]
    made = exported(perceptron, weights, "batch, 3", platforms=["tpu", "cpu"])
    made = export.deserialize(made.serialize(vjp_order=1))
    x = RNG.normal(size=(5, 3)).astype(F4)
    loss = lambda fun: lambda w: jnp.sum(fun(w, x)[:, 0])
    expected, got = mj.grad(loss(perceptron))(weights), mj.grad(loss(made.call))(weights)
    for u, v in zip(mj.tree.leaves(expected), mj.tree.leaves(got), strict=True):
        np.testing.assert_allclose(u, v, rtol=2e-4, atol=1e-6)
    twice = exported(lambda w, x: 2 * made.call(w, jnp.concatenate([x, x])), weights, "k, 3")
    assert str(twice.out_avals[0].shape) == "(2*k, 2)"
    check(lambda w, x: 2 * perceptron(w, jnp.concatenate([x, x])), twice, weights, x)


def test_a_program_of_jax():
    """(2*a, b), (b,) -> (concatenate([x, x + y]).reshape(-1), x.shape[0] * y); a >= 2."""
    text = (pathlib.Path(__file__).parent / "exported_by_jax.txt").read_text()
    data = next(line.split()[1] for line in text.splitlines() if line.startswith("symbolic"))
    made = export.deserialize(zlib.decompress(base64.b85decode(data)))
    assert str(made.in_avals[0].shape) == "(2*a, b)"
    x, y = np.arange(8, dtype=F4).reshape(4, 2), np.array([1, 2], F4)
    flat, scaled = made.call(x, y)
    assert flat.tolist() == np.concatenate([x, x + y]).reshape(-1).tolist()
    assert scaled.tolist() == [4, 8]
    slope = mj.grad(lambda y: made.call(x, y)[1].sum())(y)
    assert slope.tolist() == [4, 4]


@pytest.fixture(scope="module")
def sum_of_two():
    fun = lambda x, y: x.sum() + y.sum()
    return exported(fun, "2*a", "b, a + 1", constraints=["b <= 4"])


# fmt: off
CALLS = [
    ((4,), (2, 3), None),
    ((3,), (2, 3), "Division had remainder 1 when computing the value of 'a'"),
    ((0,), (2, 1), "Expected value >= 1 for dimension variable 'a'"),
    ((4,), (2, 4), r"inconsistency between dimension size args\[1\].shape\[1\] \(= 4\) and the specification 'a \+ 1' \(= 3\)"),
    ((4,), (5, 3), r"do not match the symbolic shape constraint b <= 4. Expected '- b \+ 4' to be greater or equal to 0, but found -1"),
    ((4, 1), (2, 3), r"Rank mismatch for args\[0\]"),
]
REFUSED = [
    (lambda x, y: x if x.shape[0] > 2 else -x, InconclusiveDimensionOperation, "'a' > '2' is inconclusive"),
    (lambda x, y: x + y, TypeError, "incompatible shapes for broadcasting"),
    (lambda x, y: x[: range(x.shape[0])], TypeError, "cannot be interpreted as an integer"),
    (lambda x, y: lax.bitcast_convert_type(x, np.int8), NotImplementedError, "with symbolic dimensions is not supported"),
    (lambda x, y: x[: -x.shape[0] % 8 + x.shape[0]].reshape(-1, 8), InconclusiveDimensionOperation, "Cannot divide evenly"),
]
# fmt: on


@pytest.mark.parametrize("x, y, text", CALLS)
def test_sizes_of_a_call(sum_of_two, x, y, text):
    args = np.ones(x, F4), np.ones(y, F4)
    if text is None:
        assert sum_of_two.call(*args) == 10
        return
    with pytest.raises(ValueError, match=text):
        sum_of_two.call(*args)


def test_assertions_are_in_the_program(sum_of_two):
    """A caller that bypasses the checks of shapes gets an error as well."""
    text = sum_of_two.mlir_module()
    assert text.count("@shape_assertion") == 5 and "dynamic" not in text.split("main")[0]
    assert "{0}" in text and "{}" not in text.split("error_message")[1].split('"')[1]


@pytest.mark.parametrize("fun, kind, text", REFUSED, ids=[t for _, _, t in REFUSED])
def test_what_needs_sizes(fun, kind, text):
    with pytest.raises(kind, match=text):
        exported(fun, "a", "b")


def test_dimensions_without_a_solution():
    for shape in ("a*b", "a + b"):
        with pytest.raises(ValueError, match="Cannot solve for values of dimension variables"):
            exported(jnp.sin, shape)
    apart = [mj.ShapeDtypeStruct(export.symbolic_shape("n"), F4) for _ in range(2)]
    with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes"):
        export.export(mj.jit(lambda x, y: x))(*apart)


# Reads of an axis of unknown size; the types of the results are JAX 0.10.2's.
READS = {
    "x[0]": (lambda x: x[0], ""),
    "x[3]": (lambda x: x[3], ""),
    "x[-2]": (lambda x: x[-2], ""),
    "x[:-2]": (lambda x: x[:-2], "max(0, a - 2)"),
    "x[3:5]": (lambda x: x[3:5], "min(a, 5) - min(a, 3)"),
    "x[-3:-1]": (lambda x: x[-3:-1], "- max(0, a - 3) + a - 1"),
    "x[-3:]": (lambda x: x[-3:], "- max(0, a - 3) + a"),
    "x[1::2]": (lambda x: x[1::2], "floordiv(a, 2)"),
    "x[[0, -1]]": (lambda x: x[np.array([0, -1])], "2"),
    "fill": (lambda x: x.at[3].get(mode="fill", fill_value=-1), ""),
    "clip": (lambda x: x.at[3].get(mode="clip"), ""),
    "set": (lambda x: x.at[:-2].set(7), "a"),
}


@pytest.mark.parametrize("name", READS)
def test_reads_of_a_symbolic_axis(name):
    """As NumPy reads; positions past an end are the last or first one, as under `jit`."""
    fun, size = READS[name]
    made = exported(fun, "a")
    (out,) = made.out_avals
    assert ", ".join(map(str, out.shape)) == size
    for n in (6, 4, 2):
        x = np.arange(10.0, 10 + n, dtype=F4)
        if name in ("x[3]", "clip"):
            expected = x[min(3, n - 1)]
        elif name == "fill":
            expected = x[3] if n > 3 else -1
        elif name == "set":
            expected = np.concatenate([np.full(max(n - 2, 0), 7), x[max(n - 2, 0) :]])
        else:
            expected = fun(x)
        assert np.asarray(made.call(x)).tolist() == np.asarray(expected).tolist()


def test_a_lesser_or_greater_size_follows_from_each_case():
    """Of max(x, y) that is subtracted and min(x, y) that is added, both cases hold."""
    for size in (a - max_dim(0, a - 2), min_dim(a, 5) - min_dim(a, 3)):
        assert size >= 0
        assert max_dim(0, size) == max_dim(size, 0) == size
        assert min_dim(0, size) == min_dim(size, 0) == 0
    with pytest.raises(InconclusiveDimensionOperation):
        a - max_dim(3, a - 2) >= 0  # noqa: B015
    assert max_dim(3, a) - a >= 0 and str(max_dim(3, a) - 3) == "max(3, a) - 3"


@pytest.mark.parametrize(
    "make",
    (
        lambda: jnp.zeros(a),
        lambda: jnp.ones((a, 2)),
        lambda: jnp.arange(a + 1),
        lambda: jnp.full((2, a), 3),
        lambda: jnp.eye(a),
        lambda: lax.iota(np.int32, a),
        lambda: mj.jit(lambda: jnp.zeros(a))(),
        lambda: exported(lambda x: x + jnp.ones(a), 1),
    ),
)
def test_dimensions_that_no_argument_has(make):
    with pytest.raises(UnexpectedDimVar, match="dimension variable 'a' that is not appearing"):
        make()


def test_operations_that_need_constant_sizes():
    spec = mj.ShapeDtypeStruct((a,), F4)
    match = "'a' used in a context that requires a constant"
    for fun in (list, lambda x: jnp.linspace(0, 1, x.shape[0])):
        with pytest.raises(InconclusiveDimensionOperation, match=match):
            mj.make_jaxpr(fun)(spec)
    with pytest.raises(ValueError, match="has symbolic dimensions and cannot be"):
        mj.jit(jnp.sin).lower(spec).compile()
    other = mj.ShapeDtypeStruct(export.symbolic_shape("a"), F4)
    with pytest.raises(ValueError, match="symbolic scopes when exporting sum"):
        export.export(mj.jit(jnp.sum))(spec, other)
    match = r"\(b, 5\) and \(-1, 15\). The remainder mod\(5\*b, 15\) should be 0"
    with pytest.raises(InconclusiveDimensionOperation, match=match):
        mj.make_jaxpr(lambda x: x.reshape(-1, 15))(mj.ShapeDtypeStruct((b, 5), F4))


def test_dimensions_as_objects():
    import copy

    assert copy.copy(a) is a and copy.deepcopy({"n": (a, 2)}) == {"n": (a, 2)}
    assert a * jnp.int32(2) == np.int32(2) * a == 2 * a and a + np.array(1) == a + 1
    assert export.symbolic_shape("+a", scope=a.scope) == (a,)
    assert "created at" in repr(a.scope) and "test_symbolic_shapes.py" in repr(a.scope)
    with pytest.raises(ValueError, match=r"in dimension 1: expecting ',' but found '%'"):
        export.symbolic_shape("a, b % 2, c")
