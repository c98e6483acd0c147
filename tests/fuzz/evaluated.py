"""Single calls by values: random arguments, also those at the edges of their types.

A call is drawn as in calls.py, and evaluated in both libraries: alone, with its derivatives
forwards and backwards, or for a batch of arguments.  Distributions and special functions of
`jax.scipy` are among the functions.
"""

import random
import re
from pathlib import Path

from . import calls, stacks
from .pair import Pair

BATCH = 40

PRELUDE = (
    stacks.PRELUDE
    + '''
import ml_dtypes

EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, 2.0, 0.5, inf, -inf, nan, 3.0, -2.5]

def V(shape, dtype, weak=False, seed=0, edges=False):
    """A value of this type; the same for the same seed in every library."""
    if weak and not shape and not edges:
        return {"i": 3, "f": 1.5, "c": 1 + 2j}[np.dtype(dtype).kind]
    rng = np.random.default_rng(seed)
    kind = jnp.dtype(dtype)
    name = kind.name
    if name == "bool":
        x = rng.random(shape) < 0.5
    elif "int" in name:
        x = rng.integers(0 if name[0] == "u" else -4, 5, shape)
    else:
        x = np.asarray(rng.choice(EDGES, shape) if edges else rng.normal(size=shape) * 1.5)
        if "complex" in name:
            x = x + 1j * (rng.choice(EDGES, shape) if edges else rng.normal(size=shape))
    with np.errstate(all="ignore"):
        x = jnp.asarray(np.asarray(x).astype(kind), dtype=kind)
    return lax.convert_element_type_p.bind(
        x, new_dtype=x.dtype, weak_type=True, sharding=None) if weak else x

def inexact(x):
    return jnp.issubdtype(jnp.result_type(x), jnp.inexact)

def D(f, *args):
    """The value of a function, and its derivatives forwards and backwards."""
    at = [i for i, x in enumerate(args) if inexact(x)]
    def g(*some):
        full = list(args)
        for i, x in zip(at, some):
            full[i] = x
        return [x for x in jax.tree.leaves(f(*full)) if hasattr(x, "dtype") and inexact(x)]
    some = [jnp.asarray(args[i]) for i in at]
    ones = [jnp.ones_like(x) for x in some]
    out, tangents = jax.jvp(g, some, ones)
    _, back = jax.vjp(g, *some)
    return out, tangents, back([jnp.ones_like(x) for x in out])

def B(f, *args):
    """A function of a batch of two, the second the first in reverse."""
    pairs = [jnp.stack([x, jnp.flip(x)]) for x in map(jnp.asarray, args)]
    return jax.vmap(f)(*pairs) if pairs else f()
'''
)

ROOMS = (
    "special linalg signal fft integrate ndimage interpolate cluster.vq "
    "stats stats.norm stats.beta stats.gamma stats.t stats.cauchy stats.laplace stats.binom"
    " stats.poisson stats.uniform stats.expon stats.logistic stats.vonmises stats.truncnorm"
    " stats.pareto stats.nbinom stats.geom stats.gumbel_l stats.gumbel_r stats.chi2"
    " stats.gennorm stats.wrapcauchy stats.betabinom stats.bernoulli stats.dirichlet"
    " stats.multinomial stats.multivariate_normal"
).split()
TYPED = re.compile(r"jax\.eval_shape\((lambda.*?: .*?)((?:, S\(.*\))*)\)$")
RARE = re.compile(  # slow to compile, or one of many alike
    r"stats\.|random\.(ball|binomial|gamma|loggamma|beta|dirichlet|poisson|chisquare|f\(|t\(|wald"
    r"|multinomial|multivariate|orthogonal|rayleigh)|approx_m|betainc|expn|zeta|bessel|igam"
)


def evaluated(text: str, rng: random.Random, seed: int, edges: bool) -> str:
    """The text of a typed call as one with values, and perhaps derivatives."""
    match = TYPED.fullmatch(text)
    assert match is not None, text
    fun, specs = match.groups()
    types = re.findall(r"S\((\(.*?\)), ('\w+')(, True)?\)", specs)
    args = "".join(
        f", V({shape}, {dtype}, {bool(weak)}, {seed + i}, {edges})"
        for i, (shape, dtype, weak) in enumerate(types)
    )
    how = rng.choice(["", "", "D", "D", "B"]) if types else ""
    return f"{how}({fun}{args})" if how else f"({fun})({args[2:]})"


def draw(rng: random.Random, x64: bool) -> tuple[str, str]:
    while True:
        name, text = calls.draw_call(rng, x64)
        if not RARE.search(text) or rng.random() < 0.1:
            return name, text


def run(pair: Pair, seed: int, count: int, folder: Path, seconds: float = 1e9, only: str = ""):
    """Compare that many evaluated calls; prints what differs."""
    if "jax.scipy.special" not in calls.ROOMS:
        calls.ROOMS += [f"jax.scipy.{room}" for room in ROOMS] + ["jax.image"]
        calls.functions.cache_clear()

    def draw_evaluated(rng):
        x64, edges = rng.random() < 0.3, rng.random() < 0.4
        drawn = []
        while len(drawn) < BATCH:
            name, text = draw(rng, x64)
            if re.search(only, name):
                drawn.append((name, evaluated(text, rng, rng.randrange(1000), edges)))
        return drawn, x64, ""

    path = folder / f"evaluated{seed}.txt"
    return calls.compare(pair, PRELUDE, seed, count, path, seconds, draw_evaluated)
