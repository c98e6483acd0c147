"""Functions that define their own partitioning, on eight devices.

Errors and rules' texts are recorded from JAX 0.10.2.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.base import config
from minijax.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    custom_partitioning,
)
from minijax.sharding import Mesh, NamedSharding
from minijax.sharding import PartitionSpec as P

X = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture(scope="module")
def mesh():
    if mj.device_count() < 8:
        pytest.skip("needs eight devices")
    return Mesh(np.array(mj.devices()[:8]).reshape(4, 2), ("x", "y"))


def sharded_array(mesh, x, *spec):
    return mj.device_put(x, NamedSharding(mesh, P(*spec)))


def test_shards_are_computed_by_partition(mesh, tmp_path):
    calls = []

    @custom_partitioning
    def cumulated(x):
        return jnp.cumsum(x, axis=1)

    def partition(mesh, args, result):
        calls.append((args[0].shape, args[0].sharding.spec, result.sharding.spec))
        sharding = NamedSharding(mesh, P(args[0].sharding.spec[0], None))
        return mesh, lambda x: jnp.cumsum(x, axis=1), sharding, (sharding,)

    assert cumulated.def_partition(partition, sharding_rule="... i -> ... i") is partition
    with config.CACHE_DIR(str(tmp_path)):
        run = mj.jit(cumulated).lower(sharded_array(mesh, X, "x", "y")).compile()
    y = run(sharded_array(mesh, X, "x", "y"))
    assert np.array_equal(y, X.cumsum(1)) and y.sharding.spec[0] == "x"
    assert calls == [((8, 4), P("x", "y"), P("x", "y"))]
    text = run.as_text()  # each device has its rows: no communication along x
    assert "f32[2,4]" in text and "f32[8,4]" not in text
    cached_files = [f for f in tmp_path.rglob("*") if f.is_file()]
    assert cached_files == []  # what its program asks for is in this process alone


def test_the_program_of_a_part_has_collectives_trees_and_static_arguments(mesh):
    def part(scale):
        def fun(a, b):
            row = jnp.float32(mj.lax.axis_index("x"))
            return {"product": mj.lax.psum(a @ b, "y") * scale, "row": row + 0 * a[:, 0]}

        return fun

    def multiply(a, b, scale):
        return {"product": a @ b * scale, "row": jnp.repeat(jnp.arange(4.0), 2)}

    def partition(scale, mesh, args, result):
        at = lambda *spec: NamedSharding(mesh, P(*spec))
        out = {"product": at("x", None), "row": at("x")}
        return mesh, part(scale), out, (at("x", "y"), at("y", None))

    f = custom_partitioning(multiply, static_argnums=2)
    f.def_partition(partition, sharding_rule="i k, k j -> i j, i", reduction_factors=("k",))
    b = np.arange(12, dtype=np.float32).reshape(4, 3)
    args = sharded_array(mesh, X, "x", "y"), sharded_array(mesh, b, "y")
    out = mj.jit(lambda a, b: f(a, b, scale=2.0))(*args)
    assert np.array_equal(out["product"], X @ b * 2)
    assert np.array_equal(out["row"], np.repeat(np.arange(4), 2))
    assert f(X, b, 2.0)["product"].shape == (8, 3)  # on one device: the function


def test_errors_inside_are_reported(mesh):
    @custom_partitioning
    def f(x):
        return x + 1

    with pytest.raises(AttributeError, match="No partition defined"):
        f(1.0)
    f.def_partition(lambda *a: None, infer_sharding_from_operands=lambda *a: None)
    with pytest.raises(NotImplementedError, match="Need to provide sharding_rule"):
        f(1.0)
    same_shardings = lambda args, out: (out.sharding, (args[0].sharding,))
    f.def_partition(
        lambda mesh, args, out: (mesh, lambda x: x[:1], *same_shardings(args, out)),
        sharding_rule="i j -> i j",
    )
    with pytest.raises(RuntimeError, match="Mismatch in result shapes"):
        mj.jit(lambda x: f(x))(sharded_array(mesh, X, "x"))
    f.def_partition(lambda *a: None, sharding_rule=lambda mesh, ins, outs: 3)
    with pytest.raises(ValueError, match="must produce either an SdyShardingRule"):
        mj.jit(lambda x: f(x))(sharded_array(mesh, X, "x"))
    with pytest.raises(mj.errors.UnexpectedTracerError, match="custom_partitioning"):
        g = lambda x: custom_partitioning(lambda y: x + y)
        mj.jit(lambda x: (h := g(x), h.def_partition(lambda *a: None), h(x))[-1])(1.0)


def test_the_mesh_is_called_as_where_the_call_is_compiled(mesh):
    """Axes of the current mesh, if it is over the same devices; defaults are arguments."""
    calls = []

    @custom_partitioning
    def scaled(x, scale=3.0):
        return x * scale

    def partition(mesh, args, result):
        calls.append(mesh.axis_names)
        same_shardings = tuple(a.sharding for a in args)
        return mesh, lambda x, scale: x * scale, same_shardings[0], same_shardings

    scaled.def_partition(partition, sharding_rule="i j, -> i j")
    x = sharded_array(mesh, X, "x")
    others = Mesh(mesh.devices, ("rows", "columns"))
    elsewhere = Mesh(mesh.devices[::-1], ("r", "c"))
    for current in (mesh, others, elsewhere):
        with mj.set_mesh(current):
            out = mj.jit(lambda x: scaled(x))(x)
        np.testing.assert_array_equal(out, X * 3)
    assert calls == [("x", "y"), ("rows", "columns"), ("x", "y")]


def test_factors_belong_to_texts():
    f = custom_partitioning(lambda x: x)
    with pytest.raises(ValueError, match="belong to a sharding_rule that is a string"):
        f.def_partition(lambda *a: None, sharding_rule=None, reduction_factors=("i",))


def test_derivatives_and_lanes_are_those_of_the_function():
    f = custom_partitioning(lambda x: x * x)
    f.def_partition(lambda *a: None, sharding_rule="->")
    assert mj.vmap(mj.grad(f))(jnp.arange(3.0)).tolist() == [0, 2, 4]
    assert mj.jit(f)(3.0) == 9.0  # on one device: the function
    assert "custom_partitioning" in str(mj.make_jaxpr(f)(1.0))


def rule(text, **options):
    f = custom_partitioning(lambda x: x)
    f.def_partition(lambda *a: None, sharding_rule=text, **options)
    return f.sharding_rule


TEXTS = [
    ("... i j -> (i j)", {}, [(4, 2)], [(8,)], "([i, j])->([ij]) {i=4, j=2}"),
    (
        "... i j -> ... j",
        {"reduction_factors": ("i",)},
        [(4, 2, 3)],
        [(4, 3)],
        "([i, j, k])->([i, k]) {i=4, j=2, k=3} reduction={j}",
    ),
    ("b (h w) -> b", {"h": 2, "w": 3}, [(4, 6)], [(4,)], "([i, jk])->([i]) {i=4, j=2, k=3}"),
    (
        "i j k -> i k",
        {
            "reduction_factors": ("j",),
            "permutation_factors": ("k",),
            "need_replication_factors": ("i",),
        },
        [(4, 2, 3)],
        [(4, 3)],
        "([i, j, k])->([i, k]) {i=4, j=2, k=3} reduction={j} need_replication={i}"
        " permutation={k}",
    ),
    ("i -> i", {}, [(4,)], [(1,)], "([i])->([i]) {i=4}"),  # which broadcasts
]


@pytest.mark.parametrize(("text", "options", "ins", "outs", "attribute"), TEXTS)
def test_rules_are_read(text, options, ins, outs, attribute):
    result = rule(text, **options).attribute(ins, outs)
    assert result == f"#sdy.op_sharding_rule<{attribute}, custom>"


def test_a_rule_is_data():
    made = SdyShardingRule(
        (ArrayMapping(BATCHING, CompoundFactor("i", "j")),), (ArrayMapping("i"),), j=2
    )
    text = made.attribute([(3, 8)], [(4,)])
    assert "([i, jk])->([j]) {i=3, j=4, k=2}" in text
    assert repr(made) == "SdyShardingRule((('…0', ('i', 'j')),), (('i',),), {'j': 2})"


WRONG = [
    ("i j", "There is no -> in rule: 'i j'", None),
    ("i->i->i", "There is no -> in rule", None),
    ("(i) j -> i", "Brackets should contain at least two factors", None),
    ("a (b -> a", "Brackets are not balanced in rule", None),
    ("... j ... -> j", "Ellipsis can only be used at the beginning of a dimension", None),
    ("1i -> 1i", "Factor names have to start with a letter, but got '1'", None),
    ("(i j) -> (i j)", "Factor i is only used in compound factors; must specify", None),
    (
        "i j -> i",
        "Sharding rule 0th operand has rank 2, but the operation 0th operand has rank 1",
        ((4,), (4,)),
    ),
    (
        "i, j -> i",
        "Sharding rule has 2 operands, but the operation has 1 operands",
        ((4,), (4,)),
    ),
    (
        "... -> ...",
        "Ellipsis represents different number of leading dimensions 2 and 1",
        ((4, 2), (4,)),
    ),
    (
        "i -> i",
        "Sharding rule 0th result mapping: axis 0 has size 3, its factors i have 4",
        ((4,), (3,)),
    ),
]


@pytest.mark.parametrize(("text", "sentence", "shapes"), WRONG)
def test_bad_rules_are_refused(text, sentence, shapes):
    with pytest.raises(ValueError, match="^" + sentence.replace("(", r"\(")):
        result = rule(text)
        result.attribute(*([shape] for shape in shapes))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"reduction_factors": ("q",)}, "Factor q in reduction_factors is not used"),
        (
            {"reduction_factors": ("j",), "permutation_factors": ("j",)},
            "Factor j can only be in one of the reduction, need replication, or permutation",
        ),
        ({"i": 8}, "Factor i represents a whole dimension; do not specify its size"),
    ],
)
def test_bad_factors_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        rule("i j -> i", **options)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CompoundFactor("i"), "should contain at least two factors"),
        (lambda: CompoundFactor("i", 3), "Each element of CompoundFactor must be a str"),
        (lambda: ArrayMapping(3), "Each element of ArrayMapping must be a str or"),
        (lambda: ArrayMapping("i", BATCHING), "Ellipsis can only be used at the beginning"),
    ],
)
def test_bad_mappings_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
