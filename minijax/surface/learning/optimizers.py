"""Small optimizers, each as three functions.

`init_fn(params)` returns a state, `update_fn(step, gradients, state)` the next state, and
`params_fn(state)` the parameters.  Each is written for one array, and `optimizer` extends
it to trees.  Step sizes are numbers or functions of the count of steps (schedules.py).

Next: layers.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ...base import errors, tree
from ...base.tree_nodes import register_pytree_node
from .. import jnp
from .schedules import Schedule, make_schedule

__all__ = (
    "Array",
    "Params",
    "State",
    "Updates",
    "Step",
    "InitFn",
    "UpdateFn",
    "ParamsFn",
    "Optimizer",
    "OptimizerState",
    "JoinPoint",
    "optimizer",
    "pack_optimizer_state",
    "unpack_optimizer_state",
    "sgd",
    "momentum",
    "nesterov",
    "adagrad",
    "rmsprop",
    "rmsprop_momentum",
    "adam",
    "adamax",
    "sm3",
    "l2_norm",
    "clip_grads",
)

Array = Any
Params = Any
State = Any
Updates = Any
Step = int


# ------------------------------------------------------------------------------- trees


class OptimizerState(NamedTuple):
    """The states of all parameters, as leaves and treedefs.

    >>> from minijax.example_libraries import optimizers
    >>> import minijax.numpy as jnp
    >>> init, update, params = optimizers.sgd(0.1)
    >>> state = init({'w': jnp.ones(2)})
    >>> state.tree_def
    PyTreeDef({'w': *})
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


register_pytree_node(
    OptimizerState,
    lambda s: ((s.packed_state,), (s.tree_def, s.subtree_defs)),
    lambda trees, leaves: OptimizerState(leaves[0], *trees),
)

InitFn = Callable[[Params], OptimizerState]
UpdateFn = Callable[[Step, Updates, OptimizerState], OptimizerState]
ParamsFn = Callable[[OptimizerState], Params]


class Optimizer(NamedTuple):
    """Three functions: the initial state, the next state, and the parameters of a state.

    >>> from minijax.example_libraries import optimizers
    >>> import minijax.numpy as jnp
    >>> sgd = optimizers.sgd(0.5)
    >>> state = sgd.init_fn(jnp.ones(2))
    >>> sgd.params_fn(sgd.update_fn(0, jnp.ones(2), state))
    Array([0.5, 0.5], dtype=float32)
    """

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn


class JoinPoint:
    """A leaf of the parameters' tree that contains the state of a parameter, a tree.

    >>> from minijax.example_libraries import optimizers
    >>> state = optimizers.momentum(0.1, 0.9).init_fn({'w': 1.0})
    >>> joined = optimizers.unpack_optimizer_state(state)
    >>> joined['w'].subtree
    (1.0, Array(0., dtype=float32, weak_type=True))
    """

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Any:
        yield self.subtree


def pack_states(states: list[Any], params: Any) -> OptimizerState:
    """Pack the states of all parameters; `params` is the treedef of the parameters."""
    flat = [tree.flatten(s) for s in states]
    leaves = tuple(xs for xs, _ in flat)
    return OptimizerState(leaves, params, tuple(inner for _, inner in flat))


def states_of(state: OptimizerState) -> list[Any]:
    """Return the state of each parameter."""
    pairs = zip(state.subtree_defs, state.packed_state, strict=True)
    return [tree.unflatten(inner, leaves) for inner, leaves in pairs]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Extend a function that returns optimizers of single arrays to trees of arrays.

    Args:
      opt_maker: returns `init(x)`, `update(step, gradient, state)` and `params(state)`
        for one array x; states are any trees of arrays.

    Returns:
      A function of the same arguments that returns an `Optimizer`.

    Example:
      >>> @optimizer
      ... def descent(by):
      ...     return lambda x: x, lambda i, g, x: x - by * g, lambda x: x
      >>> init, update, params = descent(0.5)
      >>> params(update(0, {"w": 2.}, init({"w": 3.})))
      {'w': 2.0}
    """

    @functools.wraps(opt_maker)
    def maker(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, params = opt_maker(*args, **kwargs)

        @functools.wraps(init)
        def init_all(params_tree: Params) -> OptimizerState:
            leaves, outer = tree.flatten(params_tree)
            return pack_states([init(x) for x in leaves], outer)

        @functools.wraps(update)
        def update_all(i: Step, gradients: Updates, state: OptimizerState) -> OptimizerState:
            leaves, outer = tree.flatten(gradients)
            if outer != state.tree_def:
                raise errors.type_error(
                    "optimizer update function was passed a gradient tree that did not"
                    " match the parameter tree structure with which it was initialized:"
                    f" parameter tree {state.tree_def} and grad tree {outer}."
                )
            pairs = zip(leaves, states_of(state), strict=True)
            new = pack_states([update(i, g, s) for g, s in pairs], outer)
            for old_def, new_def in zip(state.subtree_defs, new.subtree_defs, strict=True):
                if old_def != new_def:
                    raise errors.type_error(
                        "optimizer update function produced an output structure that did"
                        f" not match its input structure: input {old_def} and output {new_def}."
                    )
            return new

        @functools.wraps(params)
        def params_of_all(state: OptimizerState) -> Params:
            return tree.unflatten(state.tree_def, map(params, states_of(state)))

        return Optimizer(init_all, update_all, params_of_all)

    return maker


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """Convert an optimizer's state to a tree like the parameters, for saving.

    Args:
      opt_state: the state.

    Returns:
      The parameters' tree with a `JoinPoint` at each leaf, which contains its state.

    Example:
      >>> state = momentum(0.1, 0.9).init_fn({"w": 2.})
      >>> unpack_optimizer_state(state)["w"].subtree[0]
      2.0
    """
    return tree.unflatten(opt_state.tree_def, map(JoinPoint, states_of(opt_state)))


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """Convert the result of `unpack_optimizer_state` to an optimizer's state.

    Args:
      marked_pytree: a tree of `JoinPoint`.

    Returns:
      The state.

    Raises:
      TypeError: a leaf is not a `JoinPoint`.

    Example:
      >>> state = pack_optimizer_state({"w": JoinPoint((2., 0.))})
      >>> momentum(0.1, 0.9).params_fn(state)
      {'w': 2.0}
    """
    leaves, outer = tree.flatten(marked_pytree)
    for x in leaves:
        if not isinstance(x, JoinPoint):
            raise TypeError(f"pack_optimizer_state: leaves must be JoinPoints, got {x!r}.")
    return pack_states([x.subtree for x in leaves], outer)


# -------------------------------------------------------------------------- optimizers


def with_state(start: Callable[[Any], tuple[Any, ...]], step: Callable[..., Any]) -> Any:
    """Return three functions of one array with the initial state (x, *start(x)).

    `step(i, g, x, ...)` returns the next state.
    """

    def init(x0: Any) -> Any:
        return (x0, *start(x0))

    def update(i: Any, g: Any, state: Any) -> Any:
        return step(i, g, *state)

    def get_params(state: Any) -> Any:
        return state[0]

    return init, update, get_params


def one_zero(x: Any) -> tuple[Any, ...]:
    """Return zeros like the parameter, a common initial state."""
    return (jnp.zeros_like(x),)


def two_zeros(x: Any) -> tuple[Any, ...]:
    """Return zeros like the parameter, twice."""
    return jnp.zeros_like(x), jnp.zeros_like(x)


def inverse_root(x: Any) -> Any:
    """Return 1 / sqrt(x), and 0 for x = 0."""
    return jnp.where(x > 0, 1 / jnp.sqrt(x), 0.0)


@optimizer
def sgd(step_size: float | Schedule) -> Any:
    r"""Return gradient descent: :math:`x \gets x - \eta g`.

    Args:
      step_size: :math:`\eta`, a number or a function of the count of steps.

    Returns:
      An `Optimizer`, whose state is x.

    Example:
      >>> init, update, params = sgd(0.25)
      >>> params(update(0, 2., init(1.)))
      0.5
    """
    rate = make_schedule(step_size)
    return lambda x0: x0, lambda i, g, x: x - rate(i) * g, lambda x: x


@optimizer
def momentum(step_size: float | Schedule, mass: float) -> Any:
    r"""Return heavy-ball descent: :math:`v \gets \mu v + g`, :math:`x \gets x - \eta v`.

    Args:
      step_size: :math:`\eta`, a number or a function of the count of steps.
      mass: :math:`\mu`.

    Returns:
      An `Optimizer`, whose state is (x, v).

    Example:
      >>> init, update, params = momentum(0.25, 0.5)
      >>> params(update(0, 2., init(1.)))
      Array(0.5, dtype=float32, weak_type=True)

    Source: Polyak, USSR Computational Mathematics and Mathematical Physics 4(5), 1964.
    """
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, v: Any) -> Any:
        v = mass * v + g
        return x - rate(i) * v, v

    return with_state(one_zero, step)


@optimizer
def nesterov(step_size: float | Schedule, mass: float) -> Any:
    r"""Return descent with Nesterov's momentum: :math:`v \gets \mu v + g`,
    :math:`x \gets x - \eta (\mu v + g)`.

    Args:
      step_size: :math:`\eta`, a number or a function of the count of steps.
      mass: :math:`\mu`.

    Returns:
      An `Optimizer`, whose state is (x, v).

    Example:
      >>> init, update, params = nesterov(0.25, 0.5)
      >>> params(update(0, 2., init(1.)))
      Array(0.25, dtype=float32, weak_type=True)

    Source: Sutskever and others, On the importance of initialization and momentum in
    deep learning, ICML (2013).
    """
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, v: Any) -> Any:
        v = mass * v + g
        return x - rate(i) * (mass * v + g), v

    return with_state(one_zero, step)


@optimizer
def adagrad(step_size: float | Schedule, momentum: float = 0.9) -> Any:
    r"""Return AdaGrad with momentum: :math:`s \gets s + g^2`,
    :math:`m \gets \mu m + (1 - \mu) g / \sqrt s`, :math:`x \gets x - \eta m`.

    Args:
      step_size: :math:`\eta`, a number or a function of the count of steps.
      momentum: :math:`\mu`.

    Returns:
      An `Optimizer`, whose state is (x, s, m).

    Example:
      >>> init, update, params = adagrad(0.5, momentum=0.)
      >>> params(update(0, 2., init(1.)))
      Array(0.5, dtype=float32, weak_type=True)

    Source: Duchi, Hazan, Singer, JMLR 12 (2011).
    """
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, s: Any, m: Any) -> Any:
        s = s + jnp.square(g)
        m = momentum * m + (1 - momentum) * (g * inverse_root(s))
        return x - rate(i) * m, s, m

    return with_state(two_zeros, step)


@optimizer
def rmsprop(step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    r"""Return RMSProp: :math:`s \gets \gamma s + (1 - \gamma) g^2`,
    :math:`x \gets x - \eta g / \sqrt{s + \epsilon}`.

    Args:
      step_size: :math:`\eta`, a number or a function of the count of steps.
      gamma: :math:`\gamma`, the decay rate of the mean of squares.
      eps: :math:`\epsilon`.

    Returns:
      An `Optimizer`, whose state is (x, s).

    Example:
      >>> init, update, params = rmsprop(0.5, gamma=0.)
      >>> params(update(0, 2., init(1.)))
      Array(0.5, dtype=float32, weak_type=True)

    Source: Tieleman, Hinton, Neural Networks for Machine Learning, lecture 6 (2012).
    """
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, s: Any) -> Any:
        s = gamma * s + (1 - gamma) * jnp.square(g)
        return x - rate(i) * g / jnp.sqrt(s + eps), s

    return with_state(one_zero, step)


@optimizer
def rmsprop_momentum(
    step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Any:
    r"""Return RMSProp with momentum: :math:`s \gets \gamma s + (1 - \gamma) g^2`,
    :math:`m \gets \mu m + \eta g / \sqrt{s + \epsilon}`, :math:`x \gets x - m`.

    Args:
      step_size: :math:`\eta`, a number or a function of the count of steps.
      gamma: :math:`\gamma`, the decay rate of the mean of squares.
      eps: :math:`\epsilon`.
      momentum: :math:`\mu`.

    Returns:
      An `Optimizer`, whose state is (x, s, m).

    Example:
      >>> init, update, params = rmsprop_momentum(0.5, gamma=0.)
      >>> params(update(0, 2., init(1.)))
      Array(0.5, dtype=float32, weak_type=True)

    Source: see `rmsprop`.
    """
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, s: Any, m: Any) -> Any:
        s = gamma * s + (1 - gamma) * jnp.square(g)
        m = momentum * m + rate(i) * g / jnp.sqrt(s + eps)
        return x - m, s, m

    return with_state(two_zeros, step)


@optimizer
def adam(
    step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Any:
    r"""Return Adam: bias-corrected means m of g and v of g², and
    :math:`x \gets x - \eta \hat m / (\sqrt{\hat v} + \epsilon)`.

    Args:
      step_size: :math:`\eta`, a number or a function of the count of steps.
      b1, b2: the decay rates of the means of gradients and of their squares.
      eps: :math:`\epsilon`.

    Returns:
      An `Optimizer`, whose state is (x, m, v).

    Example:
      >>> init, update, params = adam(0.5)
      >>> print(f"{params(update(0, 2., init(1.))):.4f}")
      0.5000

    Source: Kingma, Ba, arXiv:1412.6980, algorithm 1.
    """
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, m: Any, v: Any) -> Any:
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * jnp.square(g)
        mean = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        square = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - rate(i) * mean / (jnp.sqrt(square) + eps), m, v

    return with_state(two_zeros, step)


@optimizer
def adamax(
    step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Any:
    r"""Return AdaMax: Adam with the scale :math:`u \gets \max(\beta_2 u, |g|)`, and
    :math:`x \gets x - \eta \hat m / (u + \epsilon)`.

    Args:
      step_size: :math:`\eta`, a number or a function of the count of steps.
      b1, b2: the decay rates of gradients and of their sizes.
      eps: :math:`\epsilon`.

    Returns:
      An `Optimizer`, whose state is (x, m, u).

    Example:
      >>> init, update, params = adamax(0.5)
      >>> print(f"{params(update(0, 2., init(1.))):.4f}")
      0.5000

    Source: Kingma, Ba, arXiv:1412.6980, algorithm 2.
    """
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, m: Any, u: Any) -> Any:
        m = b1 * m + (1 - b1) * g
        u = jnp.maximum(b2 * u, jnp.abs(g))
        bias_correction = 1 - jnp.asarray(b1, m.dtype) ** (i + 1)
        return x - (rate(i) / bias_correction) * m / (u + eps), m, u

    return with_state(two_zeros, step)


@optimizer
def sm3(step_size: float | Schedule, momentum: float = 0.9) -> Any:
    r"""Return SM3: AdaGrad with sums of squares stored per row and column.

    .. math:: s_i = \min_k v^k_{i_k} + g_i^2, \quad
        v^k_j \gets \max_{i: i_k = j} s_i, \quad
        m \gets \mu m + (1 - \mu) g / \sqrt s, \quad x \gets x - \eta m

    Args:
      step_size: :math:`\eta`, a number or a function of the count of steps.
      momentum: :math:`\mu`.

    Returns:
      An `Optimizer`, whose state is (x, m, [v for each axis], the shape of x).

    Example:
      >>> import minijax.numpy as jnp
      >>> init, update, params = sm3(0.5, momentum=0.)
      >>> params(update(0, jnp.full((1, 2), 3.), init(jnp.ones((1, 2)))))
      Array([[0.5, 0.5]], dtype=float32)

    Source: Anil, Gupta, Koren, Singer, arXiv:1901.11150, SM3-II.
    """
    rate = make_schedule(step_size)

    def start(x: Any) -> Any:
        # A scalar has one sum, like an array of one element.
        axis_sums = [jnp.zeros(n, x.dtype) for n in jnp.shape(x) or (1,)]
        return jnp.zeros_like(x), axis_sums, jnp.shape(x)

    def step(i: Any, g: Any, x: Any, m: Any, axis_sums: Any, shape_of_x: Any) -> Any:
        shape = jnp.shape(x) or (1,)
        axes = range(len(shape))
        expanded_sums = [
            v.reshape([n if a == k else 1 for a, n in enumerate(shape)])
            for k, v in enumerate(axis_sums)
        ]
        s = functools.reduce(jnp.minimum, expanded_sums) + jnp.square(g)
        axis_sums = [s.max([a for a in axes if a != k]) for k in axes]
        scale = inverse_root(s).reshape(jnp.shape(x))
        m = momentum * m + (1 - momentum) * (g * scale)
        return x - rate(i) * m, m, axis_sums, shape_of_x

    return with_state(start, step)


# --------------------------------------------------------------------------- gradients


def l2_norm(tree: Any) -> Any:
    r"""Return the Euclidean norm of all numbers of a tree: :math:`\sqrt{\sum x^2}`.

    Args:
      tree: a pytree of arrays.

    Returns:
      A number.

    Example:
      >>> l2_norm([3., {"b": 4.}])
      Array(5., dtype=float32, weak_type=True)
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in leaves_of(tree)))


leaves_of = tree.leaves


def clip_grads(grad_tree: Any, max_norm: float) -> Any:
    """Scale gradients down so that their Euclidean norm is at most `max_norm`.

    Args:
      grad_tree: a pytree of arrays.
      max_norm: the bound.

    Returns:
      A pytree like `grad_tree`, unchanged if its norm is below the bound.

    Example:
      >>> import minijax.numpy as jnp
      >>> clip_grads(jnp.array([3., 4.]), 2.5)
      Array([1.5, 2. ], dtype=float32)
    """
    norm = l2_norm(grad_tree)
    return tree.map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)
