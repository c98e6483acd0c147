"""Pytrees: order of leaves, structure texts, paths; trees through transformations."""

from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import numpy as np
from harness import Programs, attempt

import minijax as jax
from minijax import numpy as jnp
from minijax import tree_util

programs = Programs()
Point = namedtuple("Point", ["x", "y"])


@tree_util.register_pytree_node_class
class Pair:
    def __init__(self, left, right, tag):
        self.left, self.right, self.tag = left, right, tag

    def tree_flatten(self):
        return (self.left, self.right), self.tag

    @classmethod
    def tree_unflatten(cls, tag, children):
        return cls(*children, tag)

    def __repr__(self):
        return f"Pair({self.left}, {self.right}, {self.tag})"


@tree_util.register_dataclass
@dataclass
class Model:
    weight: object
    bias: object


TREES = {
    "none": None,
    "leaf": 3,
    "list": [1, [2, 3], []],
    "tuple": (1, (2,), ()),
    "dict": {"b": 1, "a": {"z": 2, "c": None}},
    "ordered": OrderedDict([("b", 1), ("a", 2)]),
    "defaultdict": defaultdict(int, {"b": 1, "a": 2}),
    "namedtuple": Point(1, Point(2, None)),
    "registered": Pair(1, [2, 3], "tag"),
    "dataclass": Model(1, {"x": 2}),
    "mixed": [{"k": (1, None), "j": Point(2, [3])}, Pair((4,), {}, 0)],
    "integer_keys": {3: "c", 1: "a"},
}
for name, tree in TREES.items():

    def questions(tree=tree):
        leaves, structure = tree_util.tree_flatten(tree)
        return [
            leaves,
            str(structure),
            structure.num_leaves,
            structure.num_nodes,
            str(tree_util.tree_map(lambda x: x * 2, tree)),
            str(structure.unflatten([f"leaf{i}" for i in range(len(leaves))])),
            [tree_util.keystr(path) for path, _ in tree_util.tree_leaves_with_path(tree)],
            str(tree_util.tree_structure(tree, is_leaf=lambda x: isinstance(x, tuple))),
            tree_util.tree_all(tree_util.tree_map(bool, tree)),
            str(structure == tree_util.tree_structure(tree)),
            [str(child) for child in structure.children()],
        ]

    programs.add(name, questions)


@programs
def functions():
    a, b = {"x": 1, "y": (2, 3)}, {"x": 10, "y": (20, 30)}
    return [
        str(jax.tree.map(lambda x, y: x + y, a, b)),
        tree_util.tree_reduce(lambda x, y: x + y, a),
        tree_util.tree_reduce(lambda x, y: x + y, a, 100),
        str(
            tree_util.tree_transpose(
                tree_util.tree_structure([0, 0]),
                tree_util.tree_structure({"p": 0}),
                [{"p": 1}, {"p": 2}],
            )
        ),
        str(tree_util.tree_map_with_path(lambda path, x: (tree_util.keystr(path), x), a)),
        str(jax.tree.leaves([1, None, 2], is_leaf=lambda x: x is None)),
        str(jax.tree.map(lambda x: x, [1, None], is_leaf=lambda x: x is None)),
        [
            str(jax.tree.structure((1, [2]))),
            str(jax.tree.unflatten(jax.tree.structure([0]), [5])),
        ],
        tree_util.keystr(
            (tree_util.DictKey("a"), tree_util.SequenceKey(1), tree_util.GetAttrKey("b"))
        ),
        tree_util.tree_leaves({}) == [],
    ]


@programs
def mismatches():
    calls = [
        lambda: jax.tree.map(lambda x, y: x, {"a": 1}, {"b": 1}),
        lambda: jax.tree.map(lambda x, y: x, [1, 2], [1]),
        lambda: jax.tree.map(lambda x, y: x, [1, 2], (1, 2)),
        lambda: jax.tree.map(lambda x, y: x, [1, None], [1, 2]),
        lambda: tree_util.tree_unflatten(tree_util.tree_structure([0, 0]), [1]),
        lambda: tree_util.tree_flatten({1: 0, "a": 0}),
        lambda: tree_util.register_pytree_node(Pair, None, None),
        lambda: jax.tree.map(None, [1]),
    ]
    return [attempt(call) for call in calls]


@programs
def through_transformations():
    tree = {"m": Model(jnp.ones(2), jnp.zeros(())), "p": (Pair(2.0, 3.0, "t"), None)}

    def energy(tree):
        m, (pair, _) = tree["m"], tree["p"]
        return (m.weight * pair.left).sum() + m.bias * pair.right

    gradient = jax.grad(energy)(tree)
    return [
        str(jax.tree.structure(gradient)),
        jax.tree.leaves(gradient),
        jax.tree.leaves(jax.jit(lambda t: jax.tree.map(lambda x: x + 1, t))(tree)),
        jax.tree.leaves(jax.eval_shape(lambda t: t, tree)),
        jax.vmap(lambda t: t["a"] + t["b"][0])({"a": jnp.arange(2), "b": [jnp.ones(2)]}),
        jax.tree.leaves(jax.vmap(lambda x: {"q": x, "n": None})(jnp.arange(3))),
    ]


@programs
def vmap_axes_trees():
    x, y = jnp.arange(6.0).reshape(2, 3), jnp.arange(3.0)
    return [
        jax.vmap(lambda t, b: t["x"] + b, in_axes=({"x": 1}, None))({"x": x}, y[0]),
        jax.vmap(lambda a, b: (a, b), in_axes=(1, 0), out_axes=(0, 1))(x, x.T),
        jax.vmap(lambda a, b: {"s": a + b, "k": 1.0}, (0, None), {"s": 1, "k": None})(x, y),
        jax.vmap(lambda a: a, in_axes=-1, out_axes=-1)(x),
        jax.vmap(lambda a, *, k: a * k)(x, k=jnp.array([1.0, 2.0])),
        attempt(lambda: jax.vmap(lambda a, b: a, in_axes=(0,))(x, y)),
        attempt(lambda: jax.vmap(lambda a, b: a)(x, y)),
        attempt(lambda: jax.vmap(lambda a: a, in_axes=3)(x)),
        attempt(lambda: jax.vmap(lambda a: a)(1.0)),
        attempt(lambda: jax.vmap(lambda a: a, in_axes=None)(x)),
        attempt(lambda: jax.vmap(lambda a: a, out_axes=None)(x)),
        attempt(lambda: jax.vmap(lambda t: t["x"], in_axes=({"y": 0},))({"x": x})),
        jax.vmap(lambda: 3.0, axis_size=2)(),
    ]


@programs
def numpy_leaves():
    tree = {"a": np.float32(1), "b": np.arange(2), "c": [True, 2j]}
    return [jax.device_get(jax.jit(lambda t: t)(tree)), jax.tree.map(np.shape, tree)]
