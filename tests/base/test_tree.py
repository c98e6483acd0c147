"""Pytrees: nodes, functions, paths, prefixes, and the messages of their errors."""

import collections
import dataclasses
import doctest
import functools
import inspect
import pickle
import subprocess
import sys
from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minijax
import minijax.tree
import minijax.tree_util as tu
from minijax.base import tree, tree_diff, tree_nodes

Point = collections.namedtuple("Point", "x y")


@tu.register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
    b: object = 0
    name: str = minijax.tree.static(default="layer")


@tu.register_pytree_node_class
class Pair:
    def __init__(self, a, b, tag=None):
        self.a, self.b, self.tag = a, b, tag

    def tree_flatten(self):
        return (self.a, self.b), self.tag

    @classmethod
    def tree_unflatten(cls, tag, children):
        return cls(*children, tag)

    def __eq__(self, other):
        return vars(self) == vars(other)


@tu.register_pytree_with_keys_class
class Keyed:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def tree_flatten_with_keys(self):
        return ((tu.GetAttrKey("a"), self.a), (tu.GetAttrKey("b"), self.b)), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

    def __eq__(self, other):
        return vars(self) == vars(other)


class Picky:
    """A node that cannot be built from placeholders."""

    def __init__(self, x):
        self.x = x + 0


tu.register_pytree_node(Picky, lambda p: ((p.x,), None), lambda _, c: Picky(*c))


@tu.register_static
@dataclasses.dataclass(frozen=True)
class Mode:
    name: str


def is_none(x):
    return x is None


def message_of(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    assert type(caught.value) is error
    return str(caught.value)


TREES = [
    # tree, leaves, text of the treedef, text of the leaves' paths
    (3, [3], "*", [""]),
    (None, [], "None", []),
    ((), [], "()", []),
    ([], [], "[]", []),
    ({}, [], "{}", []),
    (
        {"b": 1, "a": (2, [3])},
        [2, 3, 1],
        "{'a': (*, [*]), 'b': *}",
        ["['a'][0]", "['a'][1][0]", "['b']"],
    ),
    ({2: 1, 1: {}}, [1], "{1: {}, 2: *}", ["[2]"]),
    ((1, None, {"a": 5}), [1, 5], "(*, None, {'a': *})", ["[0]", "[2]['a']"]),
    (Point(1, (2,)), [1, 2], "CustomNode(namedtuple[Point], [*, (*,)])", [".x", ".y[0]"]),
    (
        OrderedDict(b=1, a=2),
        [1, 2],
        "CustomNode(OrderedDict[('b', 'a')], [*, *])",
        ["['b']", "['a']"],
    ),
    (
        defaultdict(list, {"z": 1, "a": 2}),
        [2, 1],
        "CustomNode(defaultdict[(<class 'list'>, ('a', 'z'))], [*, *])",
        ["['a']", "['z']"],
    ),
    (Layer(1, [2], "q"), [1, 2], "CustomNode(Layer[('q',)], [*, [*]])", [".w", ".b[0]"]),
    (
        Pair([1], 2, "t"),
        [1, 2],
        "CustomNode(Pair[t], [[*], *])",
        ["[<flat index 0>][0]", "[<flat index 1>]"],
    ),
    (Keyed([1], 2), [1, 2], "CustomNode(Keyed[None], [[*], *])", [".a[0]", ".b"]),
    (Mode("train"), [], "CustomNode(Mode[Mode(name='train')], [])", []),
    (
        tu.Partial(max, 1, default=2),
        [1, 2],
        "CustomNode(Partial[<built-in function max>], [(*,), {'default': *}])",
        ["[<flat index 0>][0]", "[<flat index 1>]['default']"],
    ),
]


@pytest.mark.parametrize(
    ("value", "leaves", "text", "paths"), TREES, ids=[row[2] for row in TREES]
)
def test_trees(value, leaves, text, paths):
    values, treedef = tree.flatten(value)
    assert values == leaves == tree.leaves(value)
    assert repr(treedef) == f"PyTreeDef({text})"
    assert treedef == tree.structure(value)
    assert [tu.keystr(p) for p, _ in tree.leaves_with_path(value)] == paths
    assert [x for _, x in tree.leaves_with_path(value)] == leaves
    assert tree.flatten_with_path(value)[1] == treedef
    rebuilt = tree.unflatten(treedef, iter(leaves))
    assert type(rebuilt) is type(value)
    if not isinstance(value, functools.partial):
        assert rebuilt == value
    assert tree.structure(rebuilt) == treedef
    doubled = tree.map(lambda x: 2 * x, value)
    assert tree.leaves(doubled) == [2 * x for x in leaves]
    assert tree.leaf_paths(treedef) == [p for p, _ in tree.leaves_with_path(value)]
    # The dispatcher's registry sees the same nodes, and both are found by pickle.
    for registry in (tree.USER, tree.DISPATCH):
        own = registry.flatten(value)[1]
        again = pickle.loads(pickle.dumps(own))
        assert again == own == treedef and hash(again) == hash(own)
        assert pickle.loads(pickle.dumps(registry)) is registry


def test_leaves_that_look_like_nodes():
    class MyDict(dict):
        pass

    class SubPair(Pair):
        pass

    for leaf in (
        collections.Counter("aab"),
        collections.deque([1]),
        functools.partial(max, 1),
        range(3),
        {1, 2},
        MyDict(a=1),
        SubPair(1, 2),
    ):
        assert tree.leaves([leaf])[0] is leaf


def test_is_leaf():
    value = (1, None, {"a": [2, 3]})
    assert tree.leaves(value, is_leaf=is_none) == [1, None, 2, 3]
    is_list = lambda x: isinstance(x, list)
    assert tree.flatten(value, is_list)[0] == [1, [2, 3]]
    assert repr(tree.structure(value, is_list)) == "PyTreeDef((*, None, {'a': *}))"
    assert tree.map(lambda x: x, value, is_leaf=is_none) == value
    shallow = lambda path, _: len(path) == 1
    assert tree.leaves_with_path(value, shallow, is_leaf_takes_path=True) == [
        ((tu.SequenceKey(0),), 1),
        ((tu.SequenceKey(1),), None),
        ((tu.SequenceKey(2),), {"a": [2, 3]}),
    ]
    text = message_of(ValueError, tree.leaves, [1], lambda x: 3)
    assert "is_leaf predicate returned a non-boolean value 3" in text


def test_treedefs_compare():
    s = tree.structure
    assert s([1]) == s([2]) and hash(s([1])) == hash(s([2]))
    assert s({"b": 1, "a": 2}) == s({"a": 1, "b": 2})
    assert s(OrderedDict(a=1, b=2)) != s(OrderedDict(b=1, a=2))
    assert len({s([1]), s((1,)), s(None), s(()), s({"a": 1}), s(1)}) == 6
    assert s(1) == tree.LEAF != s(None)


def test_treedef_functions():
    s = tree.structure
    assert tu.treedef_tuple(iter([s(1), s([2])])) == s((1, [2]))
    assert tu.treedef_children(s([1, (2,)])) == [s(1), s((2,))]
    assert tu.treedef_children(s(1)) == []
    assert [tu.treedef_is_leaf(s(x)) for x in (1, None, (), [1])] == [True, True, True, False]
    assert tree.build_tree(s({"a": 1, "b": Point(2, 3)}), [7, [8, [9, 10]]]) == {
        "a": 7,
        "b": Point(8, [9, 10]),
    }


def test_unflatten_needs_the_right_number_of_leaves():
    treedef = tree.structure([1, 2])
    text = message_of(ValueError, tree.unflatten, treedef, [1])
    assert "Too few leaves for PyTreeDef; expected 2, got 1" in text
    assert "Too many leaves" in message_of(ValueError, tree.unflatten, treedef, [1] * 3)


def test_map():
    a, b = {"x": 1, "y": [2, 3]}, {"x": 10, "y": [20, (30, 40)]}
    assert tree.map(lambda p, q: (p, q), a, b) == {"x": (1, 10), "y": [(2, 20), (3, (30, 40))]}
    assert tree.map(lambda p, q: (p, q), [1, 2], [None, {}]) == [(1, None), (2, {})]
    assert tree.map(lambda x, y: (x, y), (1, None), (2, 3), is_leaf=is_none) == (
        (1, 2),
        (None, 3),
    )
    assert tree.map(lambda x: x, None) is None
    # A leaf takes what stands in its place, even keys without an order.
    odd = {"b": 1, 2: 2}
    assert tree.map(lambda x, y: y, {"a": 1}, {"a": odd}) == {"a": odd}


def test_map_with_path():
    name = lambda path, *xs: (tu.keystr(path), *xs)
    assert tree.map_with_path(name, {"w": [1], "b": 2}, {"w": [(3,)], "b": 4}) == {
        "w": [("['w'][0]", 1, (3,))],
        "b": ("['b']", 2, 4),
    }
    assert tree.map_with_path(name, []) == []
    assert tree.map_with_path(name, (1, None), is_leaf=is_none) == (("[0]", 1), ("[1]", None))
    shallow = lambda path, _: len(path) == 1
    assert tree.map_with_path(
        name, ([1],), ([2, 3],), is_leaf=shallow, is_leaf_takes_path=True
    ) == (("[0]", [1], [2, 3]),)


def test_reductions():
    value = {"a": 1, "b": [2, (3, None)]}
    add = lambda x, y: x + y
    assert tree.reduce(add, value) == 6
    assert tree.reduce(add, value, 10) == 16
    assert tree.reduce(lambda x, y: [x, y], [1, 2], None) == [[None, 1], 2]
    assert tree.reduce(lambda n, x: n + len(x), [[1], [2, 3]], 0, tu_is_list) == 3
    with pytest.raises(TypeError):
        tree.reduce(add, [])
    pair = lambda x, y: (x, y)
    assert tree.reduce_associative(pair, list(range(5))) == ((0, 1), (2, (3, 4)))
    assert tree.reduce_associative(pair, [1], identity=0) == 1
    assert tree.reduce_associative(pair, [None], identity=0) == 0
    text = message_of(TypeError, tree.reduce_associative, pair, [])
    assert text == (
        "tree.reduce_associative of a tree without leaves.\n"
        "Why: there is nothing to combine.\n"
        "Try: pass identity=, the value for an empty tree."
    )
    assert tree.all({"a": True, "b": [1, []]})
    assert not tree.all([True, [0]])
    assert not tree.all([1, []], is_leaf=lambda x: x == [])
    assert tree.all(None)


def tu_is_list(x):
    return isinstance(x, list) and bool(x) and isinstance(x[0], int)


def test_all_leaves():
    assert tu.all_leaves([1, "a"]) and tu.all_leaves([])
    assert not tu.all_leaves([1, None]) and not tu.all_leaves([1, []])
    assert tu.all_leaves([[1], 2], lambda x: x == [1])
    assert not tu.all_leaves([[2]], lambda x: x == [1])
    assert not tu.all_leaves([()], lambda x: False)


def test_transpose():
    outer, inner = tree.structure([0, 0, 0]), tree.structure((0, None, {"a": 0}))
    value = [(i, None, {"a": 10 * i}) for i in range(3)]
    expected = ([0, 1, 2], None, {"a": [0, 10, 20]})
    assert tree.transpose(outer, inner, value) == expected
    assert tree.transpose(outer, None, value) == expected
    assert tree.transpose(tree.structure([]), tree.structure((0, 0)), []) == ([], [])
    # As in JAX, leaves are counted and structures are not compared.
    assert tree.transpose(tree.structure([0, 0]), tree.structure((0,)), {"a": (1, 2)}) == (
        [1, 2],
    )
    text = message_of(
        TypeError, tree.transpose, outer, tree.structure((0, 0)), [(1, 2), (3, 4), (5,)]
    )
    assert text.splitlines()[:2] == [
        "Mismatch: tree.transpose of a tree of trees.",
        "Which: outer_treedef of inner_treedef[2] is a tuple of length 2, but "
        "pytree_to_transpose has a tuple of length 1",
    ]
    text = message_of(ValueError, tree.transpose, outer, None, (1, 2, 3))
    assert "outer_treedef is a list of length 3, but pytree_to_transpose has" in text
    text = message_of(ValueError, tree.transpose, tree.structure([]), None, [])
    assert "pass an inner_treedef" in text


def test_broadcast_prefix():
    assert tree.broadcast_prefix(1, ([2, 3], {"a": None, "b": 4})) == [1, 1, 1]
    assert tree.broadcast_prefix((1, {"a": 2}), ([3, 4], {"a": {"b": (5, 6)}})) == [1, 1, 2, 2]
    assert tree.broadcast_prefix((None, 2), ([3, 4], 5), is_none) == [None, None, 2]
    assert tree.broadcast((1, {"a": 2}), ([3, 4], {"a": {"b": (5, 6)}})) == (
        [1, 1],
        {"a": {"b": (2, 2)}},
    )
    text = message_of(ValueError, tree.broadcast, (1, 2, None), ([1, 2], 3, 4))
    lines = text.splitlines()
    assert lines[:3] == [
        "pytree structure error: different types at key path",
        "    broadcast_prefix prefix_tree[2]",
        "A prefix tree could not be expanded to a full tree.",
    ]
    assert lines[3] == "Which: prefix_tree[2] is None, but full_tree has a leaf (int)"
    assert "pass is_leaf=lambda x: x is None" in lines[-1]


def test_flatten_axes():
    s = tree.structure
    axes = functools.partial(tree.flatten_axes, "vmap in_axes")
    assert axes(s([1, (2, 3)]), None) == [None] * 3
    assert axes(s([1, (2, 3)]), 1) == [1] * 3
    assert axes(s([1, (2, 3)]), "rep") == ["rep"] * 3
    assert axes(s([1, (2, 3)]), [None, 0]) == [None, 0, 0]
    assert axes(s([1, (2, 3)]), [0, (None, 1)]) == [0, None, 1]
    assert axes(s({"a": 1, "b": None}), {"a": 0, "b": None}) == [0]
    assert axes(s({"a": 1, "b": []}), {"a": 0, "b": 3}) == [0]
    assert axes(s((Picky(1), Point(1, 2))), (Picky(3), Point(4, None))) == [3, 4, None]
    assert axes(s(Layer(1, [2, 3], "q")), Layer(None, 1, "q")) == [None, 1, 1]
    assert axes(tree.DISPATCH.flatten((1, [2]))[1], (0, 1)) == [0, 1]
    for wrong in ((0,), (0, 1, 2), [0, 1], {"a": 0}, ((0,), 1), (0, Point(1, 2))):
        with pytest.raises(ValueError, match="must be a tree prefix"):
            axes(s((1, (2, 3))), wrong)
    text = message_of(
        ValueError, axes, s(({"w": [1, 2], "b": 3},)), ({"w": (0, 1), "b": (0,)},), of="args"
    )
    assert text.splitlines() == [
        "vmap in_axes specification must be a tree prefix of the corresponding value (args).",
        "Which: vmap in_axes[0]['b'] is a tuple of length 1, but args has a leaf"
        " (1 more such place)",
        text.splitlines()[2],
        "Why: pytree structures do not match: one is a leaf, the other a node.",
        "Try: write one entry of vmap in_axes for the full subtree there.",
    ]
    assert text.splitlines()[2].startswith("Where: test_tree.py:")


def test_map_errors_name_the_place():
    def which_and_why(*trees):
        text = message_of(ValueError, tree.map, lambda *xs: xs, *trees)
        kind, place, *lines = text.splitlines()
        assert kind.startswith("pytree structure error: different ")
        assert place.startswith("    tree_map tree")
        assert lines[0] == f"tree.map over {len(trees)} trees."
        assert lines[2].startswith("Where: test_tree.py:")
        assert lines[4] == "Try: pass trees that have the structure of the first."
        return lines[1].removeprefix("Which: "), lines[3].split("match: ")[1]

    assert which_and_why([1, 2], [1, 2], [1]) == (
        "tree is a list of length 2, but rest[1] has a list of length 1",
        "their lengths differ.",
    )
    assert which_and_why({"a": [1]}, {"a": (1,)}) == (
        "tree['a'] is a list of length 1, but rest[0] has a tuple of length 1",
        "their types differ.",
    )
    assert which_and_why({"a": 1, "c": 1}, {"b": 1, "a": 1}) == (
        "tree is a dict with keys 'a', 'c', but rest[0] has a dict with keys 'a', 'b'",
        "key 'c' only in the first; key 'b' only in the second.",
    )
    assert which_and_why({"a": 1}, {}) == (
        "tree is a dict with keys 'a', but rest[0] has an empty dict",
        "key 'a' only in the first.",
    )
    assert which_and_why([Point(1, [2])], [Point(1, 2)]) == (
        "tree[0].y is a list of length 1, but rest[0] has a leaf (int)",
        "one is a leaf, the other a node.",
    )
    assert which_and_why(Layer(1, 2, "u"), Layer(1, 2, "v")) == (
        "tree is Layer with metadata ('u',), but rest[0] has Layer with metadata ('v',)",
        "their metadata differ.",
    )
    assert which_and_why((1, (2,), [3]), (1, [2], (3,))) == (
        "tree[1] is a tuple of length 1, but rest[0] has a list of length 1 "
        "(1 more such place)",
        "their types differ.",
    )
    text = message_of(ValueError, tree.map_with_path, lambda *xs: 0, [[1]], [1])
    assert text.startswith(
        "pytree structure error: different types at key path\n"
        "    tree_map_with_path tree[0]\n"
        "tree.map_with_path over 2 trees.\nWhich: tree[0] is"
    )
    text = message_of(ValueError, tree.map, lambda *xs: 0, (1, None), (1, 2))
    assert "tree[1] is None, but rest[0] has a leaf (int)" in text
    assert text.endswith("pass is_leaf=lambda x: x is None where None is a leaf.")


def test_map_propagates_a_users_error():
    class Broken:
        pass

    def refuse(_):
        raise ValueError("mine")

    tu.register_pytree_node(Broken, refuse, lambda aux, children: Broken())
    assert message_of(ValueError, tree.leaves, Broken()) == "mine"
    assert message_of(ValueError, tree.map, max, [1], is_leaf=refuse) == "mine"


def test_keys_without_an_order():
    for call in (
        tree.flatten,
        tree.leaves,
        tree.structure,
        tree.flatten_with_path,
        functools.partial(tree.map, max),
        functools.partial(tree.map, max, [1, {"p": {"b": 1, "c": 2}}]),
        functools.partial(tree.broadcast_prefix, [1, {"p": {"b": 1, "c": 2}}]),
        functools.partial(tree.broadcast_prefix, 0),
    ):
        lines = message_of(ValueError, call, [1, {"p": {"b": 1, 2: 2}}]).splitlines()
        assert lines[0] == "A pytree could not be flattened."
        assert lines[1] == "Which: tree[1]['p'], a dict with keys 'b', 2"
        assert lines[2].startswith("Where: test_tree.py:")
        assert lines[3].startswith(
            "Why: Comparator raised exception while sorting pytree dictionary keys: '<'"
        )
        assert lines[4] == "Try: use keys of one type, so that they have an order."
    text = message_of(TypeError, tree.leaves, defaultdict(int, {"b": 1, 2: 2}))
    assert "Which: keys 'b', 2\n" in text and text.startswith("A pytree with a defau")


def test_differences():
    errors = lambda a, b: [tuple(d) for d in tree.equality_errors(a, b)]
    assert errors({"a": [1, 2]}, {"a": [3, 4]}) == []
    assert errors((1, (1, 2)), (1, (1, {"a": 2}))) == [
        (
            (tu.SequenceKey(1), tu.SequenceKey(1)),
            "a leaf (int)",
            "a dict with keys 'a'",
            "one is a leaf, the other a node",
        )
    ]
    assert len(errors((None, 1, [2]), (3, 1, (2,)))) == 2
    assert not list(tree.equality_errors((None, 1), (2, 3), is_leaf=is_none))
    s = tree.structure
    [difference] = tree.structure_errors(s({"a": Keyed([1], 2)}), s({"a": Keyed((1,), 2)}))
    assert tree.path_str(difference.path) == "['a'].a"
    assert difference[1:3] == ("a list of length 1", "a tuple of length 1")
    assert [tu.keystr(p) for p in tree.leaf_paths(s((Picky(1), Layer(1))))] == [
        "[0][<flat index 0>]",
        "[1].w",
        "[1].b",
    ]


def test_prefix_errors():
    assert tree.prefix_errors({"a": {"x": 0}}, {"a": {"x": [1, 2]}}) == []
    assert tree.prefix_errors((None, 1), (2, 3), is_leaf=is_none) == []
    first, second = tree.prefix_errors((None, 1, [2]), (3, 1, (2,)))
    assert isinstance(first("in_axes"), ValueError)
    assert "Which: in_axes[0] is None, but the full tree has a leaf (int)" in str(
        first("in_axes")
    )
    assert str(second("out_axes")).startswith(
        "pytree structure error: different types at key path\n    out_axes[2]\n"
        "out_axes must be a tree prefix"
    )


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([1, 2], [1], "different lengths of list at key path\n    tree_map tree\n"),
        ([1, (1, 2)], [1, (1,)], "different lengths of tuple at key path\n    tree_map"),
        ([1, 2], (1, 2), "different types at key path\n    tree_map tree\n"),
        ([1, [2]], [1, 2], "different types at key path\n    tree_map tree[1]\n"),
        ([None], [2], "different types at key path\n    tree_map tree[0]\n"),
        ({"a": 1}, {"b": 1}, "different pytree metadata at key path"),
        ({"a": 1}, {"a": 1, "b": 2}, "different numbers of pytree children at key path"),
    ],
)
def test_mismatches_begin_as_jaxs_do(first, second, words):
    """Recorded from JAX 0.10.2."""
    text = message_of(ValueError, tree.map, lambda x, y: x, first, second)
    assert text.startswith("pytree structure error: " + words)


@pytest.mark.parametrize(
    ("register", "words"),
    [
        (lambda: tu.register_pytree_node_class(Pair), "Duplicate custom PyTreeDef type"),
        (lambda: tu.register_static(list), "Duplicate custom PyTreeDef type"),
        (lambda: tu.register_dataclass(Layer), "Duplicate custom dataclass PyTreeDef"),
    ],
)
def test_second_registrations_are_refused(register, words):
    with pytest.raises(ValueError, match=words):
        register()


def test_metadata_that_cannot_be_compared():
    np = pytest.importorskip("numpy")
    a, b = Pair(1, 2, np.arange(2)), Pair(1, 2, np.arange(2))
    [difference] = tree.equality_errors(a, b)
    assert difference.why == "their metadata differ"


def test_one_level():
    assert tu.flatten_one_level({"b": 1, "a": [2]}) == (([2], 1), ("a", "b"))
    assert tu.flatten_one_level(None) == ((), None)
    pairs, meta = tu.flatten_one_level_with_keys(Point(1, 2))
    assert list(pairs) == [(tu.GetAttrKey("x"), 1), (tu.GetAttrKey("y"), 2)]
    assert meta is Point
    pairs, meta = tu.flatten_one_level_with_keys(Layer(1, 2))
    assert list(pairs) == [(tu.GetAttrKey("w"), 1), (tu.GetAttrKey("b"), 2)]
    for call in (tu.flatten_one_level, tu.flatten_one_level_with_keys):
        text = message_of(ValueError, call, 3)
        assert "can't tree-flatten type: <class 'int'>" in text
    nodes = (Point, list, tuple, dict, type(None), OrderedDict, defaultdict, tu.Partial)
    assert all(tu.is_tree_node(t) for t in nodes)
    assert not any(tu.is_tree_node(t) for t in (int, str, functools.partial, 3))


def test_keystr():
    path = (
        tu.DictKey("a"),
        tu.DictKey(1),
        tu.SequenceKey(2),
        tu.GetAttrKey("nm"),
        tu.FlattenedIndexKey(3),
        "raw",
    )
    assert tu.keystr(path) == "['a'][1][2].nm[<flat index 3>]raw"
    assert tu.keystr(path) == tree.path_str(path)
    assert tu.keystr(path, simple=True, separator="/") == "a/1/2/nm/3/raw"
    assert tu.keystr(path[:2], separator="/") == "['a']/[1]"
    assert tu.keystr(()) == ""


def test_partial():
    inner = tu.Partial(print, 1, a=2)
    outer = tu.Partial(inner, 3, b=4)
    assert tree.leaves(outer) == [3, 4] and outer.func is inner
    partial = tu.Partial(functools.partial(max, 5), 3)
    assert partial() == 5 and partial(7) == 7 and tree.leaves(partial) == [3]
    changed = tree.map(lambda x: 10 * x, partial)
    assert type(changed) is tu.Partial and changed() == 30
    again = pickle.loads(pickle.dumps(tu.Partial(len, [1, 2])))
    assert type(again) is tu.Partial and again() == 2
    nested = pickle.loads(pickle.dumps(partial))
    assert nested() == 5 and tree.leaves(nested) == [3]
    assert repr(inner).endswith("Partial(<built-in function print>, 1, a=2)")
    assert tu.Partial(func=max)(1, 2) == 2
    assert list(inspect.signature(tu.Partial).parameters) == ["func", "args", "kw"]
    with pytest.raises(TypeError, match="callable"):
        tu.Partial(3)


def test_registration_goes_to_both_registries_once():
    class Fresh:
        pass

    tu.register_pytree_node(Fresh, lambda f: ((1,), None), lambda _, c: Fresh())
    assert tree.USER.is_node(Fresh) and tree.DISPATCH.is_node(Fresh)
    text = message_of(ValueError, tu.register_pytree_node, Fresh, lambda f: 0, lambda a, c: 0)
    assert "Duplicate" in text and "Fresh" in text
    with pytest.raises(ValueError, match="Duplicate"):
        tu.register_dataclass(Layer)
    # What only the dispatcher knows (the array class) cannot half be registered.

    class Hidden:
        def __init__(self, _b):
            self._b = _b

    tree.DISPATCH.register_dataclass_node(Hidden, ["_b"], [])
    with pytest.raises(ValueError, match="Duplicate"):
        tu.register_static(Hidden)
    assert not tree.USER.is_node(Hidden)
    assert tree.DISPATCH.flatten([Hidden(7)])[0] == [7]


def test_registration_with_keys_uses_the_quick_way():
    calls = []

    class Both:
        def tree_flatten(self):
            calls.append("plain")
            return (1,), None

        def tree_flatten_with_keys(self):
            calls.append("keys")
            return ((tu.DictKey("k"), 1),), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls()

    tu.register_pytree_with_keys_class(Both)
    assert tree.leaves(Both()) == [1] and calls == ["plain"]
    assert tree.leaves_with_path(Both()) == [((tu.DictKey("k"),), 1)]
    with pytest.raises(AttributeError, match="tree_unflatten"):
        tu.register_pytree_node_class(type("NoUnflatten", (), {}))


def fresh_dataclass(**kwargs):
    fields = [
        ("x", int),
        ("y", int, dataclasses.field(default=0)),
        ("z", int, dataclasses.field(default=0, init=False)),
    ]
    cls = dataclasses.make_dataclass("Fresh", fields)
    return tu.register_dataclass(cls, **kwargs)


@pytest.mark.parametrize(
    ("error", "words", "kwargs"),
    [
        (
            TypeError,
            "must both be specified when either is specified. Got",
            {"data_fields": ["x"]},
        ),
        (
            TypeError,
            "must both be specified when either is specified. Got",
            {"meta_fields": ["x"]},
        ),
        (ValueError, "Unexpected fields: {'z'}.", {}),
        (
            ValueError,
            "Missing fields: {'y'}. Add them to drop_fields to suppress",
            {"data_fields": "x", "meta_fields": []},
        ),
        (
            ValueError,
            "Unexpected fields: {'w'}.",
            {"data_fields": ["x", "w"], "meta_fields": ["y"]},
        ),
        (
            ValueError,
            "Unexpected fields: {'z'}.",
            {"data_fields": ["x", "y", "z"], "meta_fields": []},
        ),
        (
            ValueError,
            "must not overlap. Overlapping fields: {'x'}.",
            {"data_fields": ["x", "y"], "meta_fields": ["x"]},
        ),
        (ValueError, "twice", {"data_fields": ["x", "x"], "meta_fields": ["y"]}),
        (
            ValueError,
            "Unexpected fields: {'x'}.",
            {"data_fields": ["x", "y"], "meta_fields": [], "drop_fields": ["x"]},
        ),
    ],
)
def test_register_dataclass_refuses(error, words, kwargs):
    text = message_of(error, fresh_dataclass, **kwargs)
    assert words in text.splitlines()[0]


def test_register_dataclass():
    cls = fresh_dataclass(data_fields=["x"], meta_fields=[], drop_fields=["y"])
    assert tree.map(lambda v: v + 1, cls(1, 5)) == cls(2, 0)
    cls = fresh_dataclass(drop_fields=["z"])
    assert tree.leaves(cls(1, 5)) == [1, 5]
    cls = fresh_dataclass(data_fields=[], meta_fields=["x", "y"])
    assert tree.leaves(cls(1, 5)) == [] and tree.structure(cls(1, 5)) != tree.structure(
        cls(1, 6)
    )

    class Plain:
        def __init__(self, a, b):
            self.a, self.b = a, b

    text = message_of(TypeError, tu.register_dataclass, Plain)
    assert "are required when nodetype is not a dataclass" in text
    assert tu.register_dataclass(Plain, ["a"], ["b"]) is Plain
    assert tree.map(lambda v: v + 1, Plain(1, 2)).a == 2

    @tu.register_dataclass
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Slotted:
        a: int
        b: int = minijax.tree.static(default=2, metadata={"unit": "m"})

    assert tree.map(lambda v: v + 1, Slotted(a=1)) == Slotted(a=2, b=2)
    with pytest.raises(TypeError):
        minijax.tree.static(3)


def test_static_instances_belong_to_the_treedef():
    a, b = tree.structure((Mode("a"), 1)), tree.structure((Mode("b"), 1))
    assert a != b and a.unflatten([2]) == (Mode("a"), 2)


def test_public_modules_have_jaxs_names_and_parameters():
    short = {
        "all": "tree is_leaf",
        "broadcast": "prefix_tree full_tree is_leaf",
        "flatten": "tree is_leaf",
        "flatten_with_path": "tree is_leaf is_leaf_takes_path",
        "leaves": "tree is_leaf",
        "leaves_with_path": "tree is_leaf is_leaf_takes_path",
        "map": "f tree rest is_leaf",
        "map_with_path": "f tree rest is_leaf is_leaf_takes_path",
        "reduce": "function tree initializer is_leaf",
        "reduce_associative": "operation tree identity is_leaf",
        "structure": "tree is_leaf",
        "transpose": "outer_treedef inner_treedef pytree_to_transpose",
        "unflatten": "treedef leaves",
    }
    long = {
        "all_leaves": "iterable is_leaf",
        "flatten_one_level": "tree",
        "flatten_one_level_with_keys": "tree",
        "is_tree_node": "typ",
        "keystr": "keys simple separator",
        "register_dataclass": "nodetype data_fields meta_fields drop_fields",
        "register_pytree_node": "nodetype flatten_func unflatten_func flatten_with_keys_func",
        "register_pytree_node_class": "cls",
        "register_pytree_with_keys": "nodetype flatten_with_keys unflatten_func flatten_func",
        "register_pytree_with_keys_class": "cls",
        "register_static": "cls",
        "treedef_children": "treedef",
        "treedef_is_leaf": "treedef",
        "treedef_tuple": "treedefs",
    }
    others = {"DictKey", "FlattenedIndexKey", "GetAttrKey", "SequenceKey", "KeyEntry"}
    others |= {"KeyPath", "Partial", "PyTreeDef", "default_registry"}
    assert set(minijax.tree.__all__) == {*short, "static"}
    ours = {"flattened"}  # JAX has nothing of the kind
    assert set(tu.__all__) - ours == {*long, *others, *(f"tree_{n}" for n in short)}
    for name, parameters in short.items():
        function = getattr(minijax.tree, name)
        assert getattr(tu, f"tree_{name}").__code__ is function.__code__
        assert list(inspect.signature(function).parameters) == parameters.split()
    for name, parameters in long.items():
        signature = inspect.signature(getattr(tu, name))
        assert list(signature.parameters) == parameters.split()
    assert tu.default_registry is tree.USER


def test_treedefs_pickle_to_another_process():
    text = pickle.dumps(tree.structure({"a": OrderedDict(x=1), "b": [None]})).hex()
    code = f"import pickle\nprint(pickle.loads(bytes.fromhex('{text}')).unflatten([5]))\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert eval(done.stdout) == {"a": OrderedDict(x=5), "b": [None]}


@pytest.mark.parametrize("module", [tree, tree_nodes, tree_diff])
def test_examples(module):
    result = doctest.testmod(module)
    assert result.attempted > 0 and result.failed == 0


def containers(children):
    short = lambda s: st.lists(s, max_size=3)
    return st.one_of(
        short(children),
        short(children).map(tuple),
        st.dictionaries(st.sampled_from("abcd"), children, max_size=3),
        st.dictionaries(st.sampled_from("abcd"), children, max_size=3).map(OrderedDict),
        st.builds(Point, children, children),
        st.builds(Layer, children, children, st.sampled_from(["p", "q"])),
        st.builds(Keyed, children, children),
    )


TREE = st.recursive(st.one_of(st.none(), st.integers()), containers, max_leaves=8)


def count(treelike):
    return len(tree.leaves(treelike))


@settings(max_examples=100, deadline=None)
@given(TREE, TREE)
def test_any_trees(a, b):
    leaves, treedef = tree.flatten(a)
    assert treedef.unflatten(leaves) == a
    pairs, same = tree.flatten_with_path(a)
    assert same == treedef and [x for _, x in pairs] == leaves
    assert [p for p, _ in pairs] == tree.leaf_paths(treedef)
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    # Two trees differ exactly when their treedefs do.
    other = tree.structure(b)
    assert bool(list(tree.equality_errors(a, b))) == (treedef != other)
    assert bool(list(tree.structure_errors(treedef, other))) == (treedef != other)
    # A prefix is one for `prefix_errors` exactly when C++ takes it.
    try:
        treedef.flatten_up_to(b)
        fits = True
    except ValueError:
        fits = False
    assert (tree.prefix_errors(a, b) == []) == fits
    if fits:
        spread = tree.broadcast_prefix(a, b)
        assert len(spread) == count(b)
        numbered = treedef.unflatten(range(len(leaves)))
        assert tree.flatten_axes("axes", other, numbered) == tree.broadcast_prefix(numbered, b)
        mapped = tree.map(lambda x, y: y, a, b)
        assert mapped == b
    else:
        if None not in tree.leaves(a, is_none):
            with pytest.raises(ValueError, match="axes specification must be a tree prefix"):
                tree.flatten_axes("axes", other, a)
        with pytest.raises(ValueError, match=r"tree\.map over 2 trees"):
            tree.map(lambda x, y: y, a, b)


@settings(max_examples=50, deadline=None)
@given(TREE, st.data())
def test_any_prefix(full, data):
    """Cutting a tree at random places gives a prefix whose leaves spread as counted."""
    ends = lambda x: data.draw(st.booleans())
    parts, treedef = tree.flatten(full, ends)
    prefix = treedef.unflatten(range(len(parts)))
    expected = [i for i, part in enumerate(parts) for _ in range(count(part))]
    assert tree.broadcast_prefix(prefix, full) == expected
    assert tree.flatten_axes("axes", tree.structure(full), prefix) == expected
    assert tree.leaves(tree.broadcast(prefix, full)) == expected


class Counted:
    """A node of a class of the user's that counts how often it is asked."""

    requests = 0

    def __init__(self, w, b):
        self.w, self.b = w, b

    def scaled(self, k):
        return self.w * k


def _children(node):
    Counted.requests += 1
    return (node.w, node.b), None


tu.register_pytree_node(Counted, _children, lambda _, xs: Counted(*xs))


def test_a_tree_flattened_once_goes_through_everything_as_the_tree():
    import minijax as mj
    import minijax.numpy as jnp

    model = [Counted(jnp.ones(3) * i, jnp.zeros(3)) for i in range(4)]
    flat = tu.flattened(model)
    assert tu.flattened(flat) is flat
    assert tree.leaves(flat) == tree.leaves(model)
    loss = lambda m, x: sum((n.scaled(x) ** 2).sum() for n in m)
    f = mj.jit(loss)
    loss_value = loss(model, 2.0)
    assert f(flat, 2.0) == loss_value
    Counted.requests = 0
    assert f(flat, 2.0) == loss_value and Counted.requests == 0
    slopes = mj.jit(mj.grad(loss))(flat, 2.0)
    assert type(slopes) is type(flat) and type(slopes.tree[1]) is Counted
    expected = mj.grad(loss)(model, 2.0)
    assert tree.all(tree.map(jnp.array_equal, slopes.tree, expected))
    step = lambda m, _: (tree.map(lambda a: a + 1, m), m[0].w.sum())
    last, sums = mj.lax.scan(step, flat, None, length=3)
    assert sums.tolist() == [0, 3, 6] and last[3].b.tolist() == [3, 3, 3]
    lanes = mj.vmap(lambda m: m[1].w + m[1].w)(flat)
    assert lanes.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match=r"argument m\['a'\]\[1\]"):
        mj.jit(lambda m: m)(tu.flattened({"a": [1.0, "text"]}))
    spread = mj.pmap(lambda m: tree.map(lambda a: a * 2, m))
    once = tu.flattened({"a": Counted(jnp.ones((2, 3)), jnp.ones((2, 1)))})
    assert spread(once)["a"].w.shape == (2, 3)


def test_a_flattened_tree_as_a_value():
    flat = tu.flattened({"a": 1, "b": (2, None)})
    assert flat["b"] == (2, None) and len(flat) == 2 and "a" in flat
    assert set(flat) == {"a", "b"} and list(flat.keys()) == ["a", "b"]
    again = pickle.loads(pickle.dumps(flat))
    assert again.tree == flat.tree
    assert tree.structure(again) == tree.structure(flat)
    assert tree.structure(flat) != tree.structure(tu.flattened({"a": 1, "b": 2}))
    with pytest.raises(AttributeError, match="no_such"):
        flat.no_such
    call = tu.flattened(tu.Partial(lambda x, y: x + y, 1))
    assert call(2) == 3


def test_arrays_in_static_fields_are_named():
    @functools.partial(tu.register_dataclass, data_fields=["x"], meta_fields=["table"])
    @dataclasses.dataclass
    class Model:
        x: float
        table: object

    one, two = (Model(1.0, np.arange(3)) for _ in range(2))
    for run in (
        lambda: minijax.jvp(lambda m: m.x, (one,), (two,)),
        lambda: minijax.lax.while_loop(lambda m: False, lambda m: Model(m.x, two.table), one),
    ):
        with pytest.raises(ValueError, match="metadata fields of pytree") as caught:
            run()
        assert "an array in the static field `table` of " in str(caught.value)
        assert "Model" in str(caught.value)
    with pytest.raises(ValueError, match=r"metadata table=array\(\[0, 1, 2\]\)"):
        minijax.tree.map(lambda x, y: x, one, two)
    f = minijax.jit(lambda m: m.x)
    with pytest.warns(UserWarning, match="in the static field `table` of .*Model"):
        assert f(one) == 1
    with pytest.raises(ValueError, match="metadata fields of pytree"):
        f(two)  # C++ compares the trees
