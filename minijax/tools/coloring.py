"""`sparsity`, `sparse_jacobian`, `sparse_hessian`: derivatives of which most are zero.

The structure is found by an interpreter of index sets (dependence.py), on the linear part
of the function, so that custom derivative rules count as they differentiate.  Columns that
share no row get one colour, and are computed by one push-forward of the sum of their unit
vectors; or rows, by pull-backs, if that takes fewer; of Hessians, which are symmetric,
either of the two places of an element may do (colors.py).

Sources: Coleman & Moré, Estimation of Sparse Jacobian Matrices and Graph Coloring Problems
(1983); Gebremedhin, Manne & Pothen, What Color Is Your Jacobian? (2005).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..api.aot import jit
from ..api.autodiff import grad, jvp
from ..api.reverse import vjp
from ..api.shapes import make_jaxpr
from ..api.vmap import vmap
from ..base import errors, tree
from ..base.source import wraps
from ..control.arguments import check_callable
from ..ir import core
from ..passes.dce import dce_jaxpr
from ..surface import jnp
from ..surface.sparse.bcoo import BCOO
from .colors import colors, stars
from .dependence import UNKNOWN, Interpreter, Sets
from .programs import Report


@dataclasses.dataclass(frozen=True)
class Pattern(Report):
    """Where a Jacobian may differ from zero: positions in the flat result and argument.

    shape: of the whole, (shape of the result..., shape of the argument...).
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
        """How many elements may differ from zero."""
        return int(self.rows.size)

    @property
    def density(self) -> float:
        """As a part of all."""
        return self.nnz / max(int(np.prod(self.shape)), 1)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows.tolist(), "columns": self.columns.tolist(),
            "out_shape": self.out_shape, "in_shape": self.in_shape,
        }  # fmt: skip

    def indices(self) -> Any:
        """Positions in the whole, [nnz, number of axes]."""
        where: list[Any] = []
        for numbers, shape in (
            (self.rows, self.out_shape), (self.columns, self.in_shape)
        ):  # fmt: skip
            where += np.unravel_index(numbers, shape) if shape else ()
        found = np.stack(where, 1) if where else np.zeros((self.nnz, 0))
        return found.astype(np.int32)

    def todense(self) -> Any:
        """The pattern as an array of bools."""
        out = np.zeros(
            (int(np.prod(self.out_shape)), int(np.prod(self.in_shape))), bool
        )
        out[self.rows, self.columns] = True
        return out.reshape(self.shape)

    def __str__(self) -> str:
        m, n = int(np.prod(self.out_shape)), int(np.prod(self.in_shape))
        high, wide = min(m, 40), min(n, 80)
        grid = np.zeros((max(high, 1), max(wide, 1)), bool)
        if self.nnz:
            grid[self.rows * high // m, self.columns * wide // n] = True
        lines = ["".join("#" if x else "." for x in row) for row in grid]
        head = f"{m} x {n}, {self.nnz} elements may differ from 0 ({self.density:.2%})"
        return "\n".join([head, *lines])


def sparsity(
    f: Callable[..., Any], *args: Any, argnums: int = 0, of: str = "jacobian"
) -> Pattern:
    """Find which elements of a Jacobian or Hessian may differ from zero.

    For every value of the arguments: what is left out is zero by structure.

    Args:
      f: a function of arrays to an array (of "hessian": to a scalar), with any
        transformations and control flow inside; it is not run.
      args: its arguments; only their types matter.
      argnums: the argument to differentiate by, an array.
      of: "jacobian" or "hessian".

    Returns:
      A `Pattern`: `rows` and `columns`, flat; `print` draws it.

    Raises:
      ValueError: `of` is something else, or too many elements may differ from zero.
      TypeError: the argument or the result is no array.

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
    fun = grad(f, argnums) if of == "hessian" else f
    x = args[argnums]
    aval = core.aval_of(x) if core.is_value(x) else x

    def linear(tangent: Any, *values: Any) -> Any:
        def partial(x: Any) -> Any:
            return fun(*values[:argnums], x, *values[argnums + 1 :])

        return jvp(partial, (values[argnums],), (tangent,))[1]

    closed, shape = make_jaxpr(linear, return_shape=True)(x, *args)
    if not (hasattr(shape, "shape") and hasattr(aval, "shape")):
        raise errors.type_error(
            "sparsity: the argument and the result must be arrays.",
            which=f"argument {argnums}, or the result",
            tries=["ravel_pytree"],
        )
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [True], keep_in=True)
    n = int(np.prod(aval.shape))
    run = Interpreter(max(n, 1))
    unknown = [UNKNOWN] * (len(jaxpr.invars) - 1)
    (found,) = run.run(jaxpr, closed.consts, [run.identity(), *unknown])
    pairs = found.pairs if type(found) is Sets else np.zeros(0, np.int64)
    rows, columns = np.divmod(pairs, max(n, 1))
    return Pattern(rows, columns, tuple(shape.shape), tuple(aval.shape))


def sparse_jacobian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Make a function that gives the Jacobian of `f` as a sparse array.

    Args:
      f: a function of arrays to an array.
      argnums: the argument to differentiate by, an array.

    Returns:
      A function with `f`'s arguments that returns a `BCOO` of shape (shape of the
      result..., shape of the argument...).  Its `plan(*args)` tells the pattern, the
      colours and whether rows or columns have them; it is made once for each signature.

    Raises:
      TypeError: the argument or the result is no array.

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
    return _by_colors(f, f, argnums, "jacobian")


def sparse_hessian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Make a function that gives the Hessian of a scalar function as a sparse array.

    Args:
      f: a function of arrays to a scalar.
      argnums: the argument to differentiate by twice, an array.

    Returns:
      A function with `f`'s arguments that returns a `BCOO` of shape (shape of the
      argument..., again), as `sparse_jacobian` of `grad(f)`; it has `plan`, too.

    Raises:
      TypeError: the argument is no array.

    Example:
      >>> import minijax.numpy as jnp
      >>> hess = sparse_hessian(lambda x: (x[1:] * x[:-1] ** 2).sum())
      >>> hess(jnp.ones(3)).todense()
      Array([[2., 2., 0.],
             [2., 2., 2.],
             [0., 2., 0.]], dtype=float32)

    It is taken for symmetric, as Hessians are: where that takes fewer products, an element
    is read off its mirror image.

    Source: Coleman & Moré, Estimation of Sparse Hessian Matrices and Graph Coloring
    Problems (1984); Gebremedhin et al., New Acyclic and Star Coloring Algorithms (2007).
    """
    check_callable(f)
    return _by_colors(f, grad(f, argnums), argnums, "hessian")


@dataclasses.dataclass(frozen=True)
class Coloring(Report):
    """How a sparse Jacobian is computed: by `evaluations` products of one kind.

    forward: by push-forwards, of which each takes the columns of one colour; else by
      pull-backs, for rows.
    found: where each element of the pattern stands: (product, its element).
    """

    pattern: Pattern
    forward: bool
    colors: Any
    evaluations: int
    found: tuple[Any, Any] = dataclasses.field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "pattern": self.pattern.to_dict(), "forward": self.forward,
            "colors": self.colors.tolist(), "evaluations": self.evaluations,
        }  # fmt: skip

    def __str__(self) -> str:
        what = "push-forwards of columns" if self.forward else "pull-backs of rows"
        return f"{self.evaluations} {what}\n{self.pattern}"


def _by_colors(f: Any, fun: Any, argnums: int, of: str) -> Any:
    plans: dict[Any, Coloring] = {}

    def plan(*args: Any) -> Coloring:
        leaves, treedef = tree.flatten(args)
        key = (treedef, tuple(map(core.aval_of, leaves)))
        if key not in plans:
            plans[key] = _colored(sparsity(fun, *args, argnums=argnums), of)
        return plans[key]

    @functools.partial(jit, static_argnums=0)
    def products(forward: bool, seeds: Any, *args: Any) -> Any:
        def partial(x: Any) -> Any:
            return fun(*args[:argnums], x, *args[argnums + 1 :])

        x = args[argnums]
        if forward:
            return vmap(lambda seed: jvp(partial, (x,), (seed,))[1])(seeds)
        return vmap(lambda seed: vjp(partial, x)[1](seed)[0])(seeds)

    @wraps(f, name=f"sparse_{of}({{fun}})")
    def sparse_f(*args: Any) -> BCOO:
        found = plan(*args)
        pattern = found.pattern
        x = args[argnums]
        shape = pattern.in_shape if found.forward else pattern.out_shape
        dtype = core.aval_of(x).dtype
        if not found.forward:
            dtype = make_jaxpr(fun)(*args).out_avals[0].dtype
        seeds = found.colors == np.arange(found.evaluations)[:, None]
        seeds = seeds.astype(dtype).reshape(-1, *shape)
        compressed = products(found.forward, seeds, *args)
        flat = jnp.reshape(compressed, (found.evaluations, -1))
        data = flat[found.found]
        indices = jnp.asarray(pattern.indices())
        return BCOO(
            (data, indices),
            shape=pattern.shape,
            indices_sorted=True,
            unique_indices=True,
        )

    sparse_f.plan = plan  # type: ignore[attr-defined]
    return sparse_f


def _colored(pattern: Pattern, of: str) -> Coloring:
    n, m = int(np.prod(pattern.in_shape)), int(np.prod(pattern.out_shape))
    rows, columns = pattern.rows, pattern.columns
    # No fewer colours will do than one row, or one column, has elements.
    ways = {
        True: (int(np.bincount(rows, minlength=1).max()), rows, columns, n),
        False: (int(np.bincount(columns, minlength=1).max()), columns, rows, m),
    }
    best = None
    if of == "hessian":
        del ways[False]
        turned = np.unique(columns * n + rows)
        if np.array_equal(rows * n + columns, turned):
            found = stars(rows, columns, n)
            best = found, True, _either(found, rows, columns)
    for forward, (least, across, along, size) in sorted(
        ways.items(), key=lambda way: way[1][0]
    ):
        if best is None or least < _count(best[0]):
            found = colors(across, along, size)
            if best is None or _count(found) < _count(best[0]):
                best = found, forward, (found[along], across)
    assert best is not None
    found, forward, where = best
    return Coloring(pattern, forward, found, _count(found), where)


def _count(found: Any) -> int:
    return int(found.max(initial=-1)) + 1


def _either(found: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    """Of each element and its mirror image the one that is alone in its row and colour."""
    place = rows * _count(found) + found[columns]
    _, back, count = np.unique(place, return_inverse=True, return_counts=True)
    alone = count[back] == 1
    return (
        np.where(alone, found[columns], found[rows]), np.where(alone, rows, columns),
    )  # fmt: skip
