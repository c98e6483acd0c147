"""A stateful random number generator, like NumPy's: `stateful_rng`.

A generator has a key and a reference that counts the draws.  The key of each draw is the
generator's key with the count folded in, so that compiled functions also draw new numbers
in each call.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors, tree
from ...control.refs.refs import addupdate, get, new_ref
from ...ir.core import EVAL, STATE, Reference
from ...types import dtypes
from .. import jnp
from .keys import fold_in, key, split
from .sampling import normal, randint, uniform

__all__ = ("StatefulPRNG", "stateful_rng")

Size = int | Sequence[int] | None


def _shape(size: Size, *args: Any) -> tuple[int, ...]:
    """Convert a size to a shape; None means what the arguments broadcast to."""
    if size is None:
        return tuple(np.broadcast_shapes(*(np.shape(x) for x in args)))
    try:
        return (operator.index(size),)  # type: ignore[arg-type]
    except TypeError:
        return tuple(map(operator.index, size))  # type: ignore[arg-type]


@tree.register_pytree_node_class
class StatefulPRNG:
    """A stateful random number generator; create it by `stateful_rng`.

    Its leaves are a key and a reference.  It can therefore be an argument of compiled
    functions, but not a result.

    >>> import minijax as mj
    >>> rng = mj.experimental.random.stateful_rng(0)
    >>> first, second = rng.uniform(size=3), rng.uniform(size=3)
    >>> bool((first != second).all())
    True
    """

    _base_key: Any
    _counter: Any

    def __init__(self, _base_key: Any, _counter: Any) -> None:
        """
        Args:
          _base_key: a random key.
          _counter: a reference to the number of derived keys.

        Raises:
          ValueError: `_base_key` is not a key, or `_counter` is not a reference.
        """
        if not dtypes.is_extended(getattr(_base_key, "dtype", None)):
            raise ValueError(f"Expected base_key to be a typed PRNG key; got {_base_key}")
        if not isinstance(_counter, Reference):
            raise ValueError(f"Expected counter to be a scalar integer ref; got {_counter}")
        self._base_key, self._counter = _base_key, _counter

    def tree_flatten(self) -> tuple[tuple[Any, Any], tuple[()]]:
        """Return the key and the reference."""
        return (self._base_key, self._counter), ()

    @classmethod
    def tree_unflatten(cls, aux: tuple[()], children: Sequence[Any]) -> StatefulPRNG:
        """Return a generator with these leaves, unchecked: they may be any objects."""
        self = object.__new__(cls)
        self._base_key, self._counter = children
        return self

    def __repr__(self) -> str:
        return f"StatefulPRNG(_base_key={self._base_key!r}, _counter={self._counter!r})"

    def key(self, shape: int | Sequence[int] = ()) -> Any:
        """Return a new random key, or an array of keys.

        Args:
          shape: the shape of an array of keys.

        Returns:
          A key that is independent of all others.

        Raises:
          ValueError: this generator is the result of `split`, for many lanes.

        Example:
          >>> rng = stateful_rng(0)
          >>> rng.key() == rng.key()
          Array(False, dtype=bool)
        """
        if np.shape(self._base_key):
            raise errors.value_error(
                "cannot operate on split stateful generator",
                tries=["vmap: each lane then has its own generator"],
            )
        # Read the counter before the update: references order their reads and writes.
        new_key = fold_in(self._base_key, get(self._counter))
        addupdate(self._counter, ..., 1)
        sizes = _shape(shape)
        return split(new_key, sizes) if sizes else new_key

    def random(self, size: Size = None, dtype: Any = float) -> Any:
        """Draw random floats in [0, 1).

        Args:
          size: the shape; None for a scalar.
          dtype: a floating point dtype.

        Returns:
          An array.
        """
        return uniform(self.key(), shape=_shape(size), dtype=dtype)

    def uniform(
        self, low: Any = 0, high: Any = 1, size: Size = None, *, dtype: Any = float
    ) -> Any:
        """Draw random floats in [low, high).

        Args:
          low, high: arrays, which broadcast to the shape.
          size: the shape; None for what `low` and `high` broadcast to.
          dtype: a floating point dtype.

        Returns:
          An array.
        """
        shape = _shape(size, low, high)
        return uniform(self.key(), shape, minval=low, maxval=high, dtype=dtype)

    def normal(
        self, loc: Any = 0, scale: Any = 1, size: Size = None, *, dtype: Any = float
    ) -> Any:
        """Draw normally distributed numbers.

        Args:
          loc: the mean.
          scale: the standard deviation.
          size: the shape; None for what `loc` and `scale` broadcast to.
          dtype: a floating point dtype.

        Returns:
          An array.
        """
        standard = normal(self.key(), _shape(size, loc, scale), dtype)
        return (jnp.asarray(loc) + jnp.asarray(scale) * standard).astype(dtype)

    def integers(
        self, low: Any, high: Any = None, size: Size = None, *, dtype: Any = int
    ) -> Any:
        """Draw random integers in [low, high).

        Args:
          low, high: arrays that broadcast to the shape; without `high`, the range is
            [0, low).
          size: the shape; None for what `low` and `high` broadcast to.
          dtype: an integer dtype.

        Returns:
          An array.
        """
        if high is None:
            low, high = 0, low
        shape = _shape(size, low, high)
        return randint(self.key(), shape, minval=low, maxval=high, dtype=dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Return a generator for many lanes, to be mapped over.

        Args:
          num: the shape of the lanes.

        Returns:
          A generator that only the lanes of a `vmap` can draw from.

        Example:
          >>> import minijax as mj, minijax.numpy as jnp
          >>> rng = stateful_rng(0)
          >>> mj.vmap(lambda g, x: x + g.uniform())(rng.split(3), jnp.arange(3.)).shape
          (3,)
        """
        return StatefulPRNG(self.key(num), new_ref(jnp.zeros(num, dtype=int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """Return independent generators.

        Args:
          n_children: the number of generators.

        Returns:
          A list of generators.
        """
        return [type(self)(k, new_ref(0)) for k in self.key(n_children)]


def stateful_rng(seed: Any = None, *, impl: Any = None) -> StatefulPRNG:
    """Create a stateful random number generator.

    Args:
      seed: an integer; None uses entropy of the operating system, outside of
        transformations only.
      impl: the implementation of the key; see `minijax.random.key`.

    Returns:
      A generator with the methods `random`, `uniform`, `normal`, `integers`, `key`,
      `split` and `spawn`.

    Raises:
      TypeError: `seed` is None in a transformed function.

    Example:
      >>> rng = stateful_rng(42)
      >>> rng.uniform(), rng.uniform()
      (Array(0.5302608, dtype=float32), Array(0.72766423, dtype=float32))
    """
    if seed is None:
        if STATE.trace is not EVAL:
            raise TypeError(
                "When used within transformed code,"
                " jax.experimental.random.stateful_rng() requires an explicit seed to be"
                " set."
            )
        entropy: Any = np.random.SeedSequence().entropy
        seed = np.int64(entropy & np.iinfo(np.int64).max)
    return StatefulPRNG(key(seed, impl=impl), new_ref(0))
