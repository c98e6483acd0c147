"""`sparsity`, `sparse_jacobian`, `sparse_hessian`: derivatives that are mostly zero.

An interpreter of index sets (dependence.py) finds the structure.  It runs on the linear
part of the function, so that custom derivative rules count.  Columns that share no row get
one colour: one push-forward of the sum of their unit vectors computes them all.  Pull-backs
of rows are used instead if fewer are needed.  Hessians are symmetric, so either of the two
positions of an element suffices (colors.py).

Sources: Coleman & Moré, Estimation of Sparse Jacobian Matrices and Graph Coloring Problems
(1983); Gebremedhin, Manne & Pothen, What Color Is Your Jacobian? (2005).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api.aot import jit
from ..api.autodiff import grad, jvp
from ..api.eval_shape import make_jaxpr
from ..api.vjp import vjp
from ..api.vmap import vmap
from ..base import errors, tree
from ..base.source import name_of, wraps
from ..control.arguments import NO_STATICS, check_callable
from ..control.calls.jit import jitted_of
from ..ir import core
from ..passes.dce import dce_jaxpr
from ..surface import jnp
from ..surface.sparse.bcoo import BCOO
from ..types import dtypes
from .colors import colors, stars
from .dependence import UNKNOWN, Interpreter, Sets
from .programs import Report, without_statics


@dataclasses.dataclass(frozen=True)
class Pattern(Report):
    """Where a Jacobian may be nonzero: positions in the flat result and argument.

    shape: of the full array, (shape of the result..., shape of the argument...).

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> pattern = tools.sparsity(lambda x: x[1:] * x[:-1], jnp.ones(3))
    >>> pattern.shape, pattern.nnz, pattern.todense().tolist()
    ((2, 3), 4, [[True, True, False], [False, True, True]])
    """

    rows: Any
    columns: Any
    out_shape: tuple[int, ...]
    in_shape: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.out_shape, *self.in_shape)

    @property
    def nnz(self) -> int:
        """The number of elements that may be nonzero."""
        return int(self.rows.size)

    @property
    def density(self) -> float:
        """`nnz` divided by the number of all elements."""
        return self.nnz / max(int(np.prod(self.shape)), 1)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows.tolist(),
            "columns": self.columns.tolist(),
            "out_shape": self.out_shape,
            "in_shape": self.in_shape,
        }

    def indices(self) -> Any:
        """Return the positions in the full array, [nnz, number of axes]."""
        axes: list[Any] = []
        for numbers, shape in ((self.rows, self.out_shape), (self.columns, self.in_shape)):
            axes += np.unravel_index(numbers, shape) if shape else ()
        indices = np.stack(axes, 1) if axes else np.zeros((self.nnz, 0))
        return indices.astype(np.int32)

    def todense(self) -> Any:
        """Return the pattern as an array of bools."""
        out = np.zeros((int(np.prod(self.out_shape)), int(np.prod(self.in_shape))), bool)
        out[self.rows, self.columns] = True
        return out.reshape(self.shape)

    def __str__(self) -> str:
        m, n = int(np.prod(self.out_shape)), int(np.prod(self.in_shape))
        high, wide = min(m, 40), min(n, 80)
        grid = np.zeros((high, wide), bool)
        if self.nnz:
            grid[self.rows * high // m, self.columns * wide // n] = True
        lines = ["".join("#" if x else "." for x in row) for row in grid]
        head = f"{m} x {n}, {self.nnz} elements may differ from 0 ({self.density:.2%})"
        return "\n".join([head, *lines])


def sparsity(
    f: Callable[..., Any], *args: Any, argnums: int = 0, of: str = "jacobian", **kwargs: Any
) -> Pattern:
    """Find which elements of a Jacobian or Hessian may be nonzero.

    The pattern holds for every value of the arguments: other elements are always zero.

    Args:
      f: a function of arrays that returns an array (a scalar for "hessian"), with any
        transformations and control flow inside; it is not run.
      args, kwargs: its arguments: arrays or `ShapeDtypeStruct`s; only their types matter.
      argnums: the position of the argument to differentiate by, an array.
      of: "jacobian" or "hessian".

    Returns:
      A `Pattern` with flat `rows` and `columns`; `print` draws it.

    Raises:
      ValueError: `of` is something else, or too many elements may be nonzero.
      TypeError: the argument or the result is not an array, or the argument is integer.

    Example:
      >>> import minijax.numpy as jnp
      >>> print(sparsity(lambda x: x[1:] * x[:-1], jnp.ones(4)))
      3 x 4, 6 elements may differ from 0 (50.00%)
      ##..
      .##.
      ..##

    Source: Griewank & Walther, Evaluating Derivatives, ch. 7 (index domains).
    """
    if of not in ("jacobian", "hessian"):
        raise errors.value_error(
            f"sparsity: of must be 'jacobian' or 'hessian', got {of!r}.",
            tries=['of="jacobian"'],
        )
    check_callable(f)
    return _pattern(f, args, kwargs, argnums, of == "hessian")[0]


def _pattern(
    f: Any, args: tuple[Any, ...], kwargs: Any, argnums: int, twice: bool
) -> tuple[Pattern, Any]:
    """Return the pattern of `f`'s Jacobian or Hessian, and the dtype of its elements."""
    i = _position(f, args, argnums)
    fun, values, more, positions = without_statics(f, args, kwargs)
    if i not in positions:
        raise _not_array_error(f, i, args[i])
    k, aval = positions.index(i), _checked_type(f, i, args[i])
    if twice:
        fun = grad(fun, k)

    def linear(tangent: Any, values: Any, more: Any) -> Any:
        return _push_forward(fun, values, more, k, tangent)

    closed, shape = make_jaxpr(linear, return_shape=True)(values[k], values, more)
    if not hasattr(shape, "shape"):
        raise errors.type_error(
            f"sparsity: the result of {name_of(f)} must be an array.",
            which=f"the result: {shape}",
            tries=["ravel_pytree"],
        )
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [True], keep_in=True)
    n = int(np.prod(aval.shape))
    if not n or not int(np.prod(shape.shape)):
        none = np.zeros(0, np.int64)
        return Pattern(none, none, tuple(shape.shape), tuple(aval.shape)), shape.dtype
    run = Interpreter(n)
    unknown = [UNKNOWN] * (len(jaxpr.invars) - 1)
    (sets,) = run.run(jaxpr, closed.consts, [run.identity(), *unknown])
    pairs = sets.pairs if type(sets) is Sets else np.zeros(0, np.int64)
    rows, columns = np.divmod(pairs, n)
    return Pattern(rows, columns, tuple(shape.shape), tuple(aval.shape)), shape.dtype


def _push_forward(fun: Any, args: Any, kwargs: Any, i: int, tangent: Any) -> Any:
    """Return the change of the result as argument `i` changes along `tangent`."""
    partial = lambda x: fun(*args[:i], x, *args[i + 1 :], **kwargs)
    return jvp(partial, (args[i],), (tangent,))[1]


def _pull_back(fun: Any, args: Any, kwargs: Any, i: int, cotangent: Any) -> Any:
    """Return the cotangent of argument `i` for a cotangent of the result."""
    partial = lambda x: fun(*args[:i], x, *args[i + 1 :], **kwargs)
    return vjp(partial, args[i])[1](cotangent)[0]


def _position(f: Any, args: Sequence[Any], argnums: int) -> int:
    n = len(args)
    if not -n <= argnums < n:
        raise errors.value_error(
            f"sparsity: argnums={argnums}, but {name_of(f)} was given {n} positional"
            " arguments.",
            tries=["pass the argument by position"],
        )
    return argnums % n


def _checked_type(f: Any, i: int, x: Any) -> Any:
    aval = core.aval_of(x) if core.is_value(x) else x
    if not (hasattr(aval, "shape") and hasattr(aval, "dtype")):
        raise _not_array_error(f, i, x)
    if not dtypes.is_inexact(aval.dtype):
        raise errors.type_error(
            f"sparsity: the argument to differentiate by must be floating-point, not"
            f" {aval.dtype.name}.",
            which=f"argument {i} of {name_of(f)}",
            tries=["choose another argument with argnums=", "x.astype(float)"],
        )
    return aval


def _check_holomorphic(of: str, holomorphic: bool, which: str, dtype: Any) -> None:
    if holomorphic == dtypes.is_complex(dtype):
        return
    raise errors.type_error(
        f"sparse_{of} of a function with {which} of dtype {dtype.name}, and"
        f" holomorphic={holomorphic}.",
        why="complex derivatives require a holomorphic function.",
        tries=["differentiate a function of real numbers"]
        + ["holomorphic=True, if the function is holomorphic"]
        * (of == "jacobian" and not holomorphic),
    )


def _not_array_error(f: Any, i: int, x: Any) -> TypeError:
    return errors.type_error(
        f"sparsity: the argument to differentiate by must be an array, not {type(x).__name__}.",
        which=f"argument {i} of {name_of(f)}",
        tries=["choose another argument with argnums=", "ravel_pytree"],
    )


def sparse_jacobian(
    f: Callable[..., Any], argnums: int = 0, holomorphic: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `f` as a sparse array.

    Args:
      f: a function of arrays that returns an array.
      argnums: the position of the argument to differentiate by, an array.
      holomorphic: `f` is holomorphic; the argument and the result are complex.

    Returns:
      A function with `f`'s arguments that returns a `BCOO` of shape (shape of the
      result..., shape of the argument...).  Its `plan(*args)` returns the pattern, the
      colours and whether they are of rows or columns, computed once per signature.

    Raises:
      TypeError: the argument or the result is not an array, the argument is integer, or it
        is complex without `holomorphic`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jac = sparse_jacobian(lambda x: x[1:] ** 2 - x[:-1])
      >>> jac(jnp.arange(4.)).todense()
      Array([[-1.,  2.,  0.,  0.],
             [ 0., -1.,  4.,  0.],
             [ 0.,  0., -1.,  6.]], dtype=float32)
      >>> jac.plan(jnp.arange(4.)).evaluations
      2

    Source: Curtis, Powell & Reid (1974); Coleman & Moré (1983).
    """
    check_callable(f)
    return _by_colors(f, argnums, "jacobian", holomorphic)


def sparse_hessian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of a scalar function as a sparse array.

    Args:
      f: a function of arrays that returns a scalar.
      argnums: the position of the argument to differentiate by twice, an array.

    Returns:
      A function with `f`'s arguments that returns a `BCOO` of shape (*argument.shape,
      *argument.shape), as `sparse_jacobian` of `grad(f)` does.  It also has `plan`.

    Raises:
      TypeError: the argument is not a real array, or the result is not a scalar.

    Example:
      >>> import minijax.numpy as jnp
      >>> hess = sparse_hessian(lambda x: (x[1:] * x[:-1] ** 2).sum())
      >>> hess(jnp.ones(3)).todense()
      Array([[2., 2., 0.],
             [2., 2., 2.],
             [0., 2., 0.]], dtype=float32)

    The Hessian is assumed to be symmetric: an element may be read from its mirror image,
    if that needs fewer products.

    Source: Coleman & Moré, Estimation of Sparse Hessian Matrices and Graph Coloring
    Problems (1984); Gebremedhin et al., New Acyclic and Star Coloring Algorithms (2007).
    """
    check_callable(f)
    return _by_colors(f, argnums, "hessian", False)


@dataclasses.dataclass(frozen=True)
class Coloring(Report):
    """How a sparse Jacobian is computed: by `evaluations` products of one kind.

    forward: by push-forwards, one per colour of columns; otherwise by pull-backs, one per
      colour of rows.
    positions: where each element of the pattern is computed: (product, index in its result).

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> plan = tools.sparse_jacobian(jnp.sin).plan(jnp.ones(3))
    >>> plan.forward, plan.colors.tolist(), plan.evaluations
    (True, [0, 0, 0], 1)
    """

    pattern: Pattern
    forward: bool
    colors: Any
    evaluations: int
    positions: tuple[Any, Any] = dataclasses.field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "pattern": self.pattern.to_dict(),
            "forward": self.forward,
            "colors": self.colors.tolist(),
            "evaluations": self.evaluations,
        }

    def __str__(self) -> str:
        what = "push-forwards of columns" if self.forward else "pull-backs of rows"
        return f"{self.evaluations} {what}\n{self.pattern}"


def _by_colors(f: Any, argnums: int, of: str, holomorphic: bool) -> Any:
    plans: dict[Any, tuple[Coloring, Any]] = {}
    twice = of == "hessian"
    jitted = jitted_of(f)
    nums, names = NO_STATICS if jitted is None else jitted.statics

    def planned(args: Any, kwargs: Any) -> tuple[Coloring, Any]:
        """Return the plan, and the dtype of the derivative's elements."""
        i = _position(f, args, argnums)
        _check_holomorphic(of, holomorphic, "argument", _checked_type(f, i, args[i]).dtype)
        _, values, more, positions = without_statics(f, args, kwargs)
        leaves, treedef = tree.flatten((values, more))
        # Static arguments have no aval, but the program depends on their values.
        fixed = [x for i, x in enumerate(args) if i not in positions]
        fixed += [x for k, x in sorted(kwargs.items()) if k not in more]
        key = (treedef, tuple(map(core.aval_of, leaves)), tuple(fixed))
        if key not in plans:
            pattern, dtype = _pattern(f, args, kwargs, argnums, twice)
            if holomorphic:
                _check_holomorphic(of, holomorphic, "result", dtype)
            plans[key] = _colored(pattern, of), dtype
        return plans[key]

    def products(seeds: Any, forward: bool, *args: Any, **kwargs: Any) -> Any:
        fun, values, more, positions = without_statics(f, args, kwargs, (nums, names))
        k = positions.index(argnums % len(args))
        fun = grad(fun, k) if twice else fun
        one = _push_forward if forward else _pull_back
        return vmap(lambda seed: one(fun, values, more, k, seed))(seeds)

    # `products` has two further leading arguments; negative positions count from the end.
    after = [i + 2 if i >= 0 else i for i in nums]
    compiled = jit(products, static_argnums=[1, *after], static_argnames=names)

    @wraps(f, name=f"sparse_{of}({{fun}})")
    def sparse_f(*args: Any, **kwargs: Any) -> BCOO:
        coloring, dtype = planned(args, kwargs)
        pattern, n = coloring.pattern, coloring.evaluations
        shape = pattern.in_shape if coloring.forward else pattern.out_shape
        seed_dtype = core.aval_of(args[argnums]).dtype if coloring.forward else dtype
        data = jnp.zeros(0, dtype)
        if n:
            seeds = coloring.colors == np.arange(n)[:, None]
            seeds = seeds.astype(seed_dtype).reshape(n, *shape)
            compressed = compiled(seeds, coloring.forward, *args, **kwargs)
            data = jnp.reshape(compressed, (n, -1))[coloring.positions]
        return BCOO(
            (data, jnp.asarray(pattern.indices())),
            shape=pattern.shape,
            indices_sorted=True,
            unique_indices=True,
        )

    def plan(*args: Any, **kwargs: Any) -> Coloring:
        return planned(args, kwargs)[0]

    sparse_f.plan = plan  # type: ignore[attr-defined]
    return sparse_f


def _colored(pattern: Pattern, of: str) -> Coloring:
    n, m = int(np.prod(pattern.in_shape)), int(np.prod(pattern.out_shape))
    rows, columns = pattern.rows, pattern.columns
    if not pattern.nnz:
        none = np.full(n, -1)
        return Coloring(pattern, True, none, 0, (rows, columns))
    # A row (or column) with k elements needs at least k colours.
    ways = {
        True: (int(np.bincount(rows, minlength=1).max()), rows, columns, n),
        False: (int(np.bincount(columns, minlength=1).max()), columns, rows, m),
    }
    best = None
    if of == "hessian":
        del ways[False]
        transposed = np.unique(columns * n + rows)
        if np.array_equal(rows * n + columns, transposed):
            color = stars(rows, columns, n)
            best = color, True, _positions_without_collision(color, rows, columns)
    for forward, (least, across, along, size) in sorted(
        ways.items(), key=lambda way: way[1][0]
    ):
        if best is None or least < _color_count(best[0]):
            color = colors(across, along, size)
            if best is None or _color_count(color) < _color_count(best[0]):
                best = color, forward, (color[along], across)
    assert best is not None
    color, forward, positions = best
    return Coloring(pattern, forward, color, _color_count(color), positions)


def _color_count(color: Any) -> int:
    return int(color.max(initial=-1)) + 1


def _positions_without_collision(color: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    """Choose for each element, or its mirror image, the position without a collision."""
    group = rows * _color_count(color) + color[columns]
    _, back, count = np.unique(group, return_inverse=True, return_counts=True)
    alone = count[back] == 1
    return (np.where(alone, color[columns], color[rows]), np.where(alone, rows, columns))
