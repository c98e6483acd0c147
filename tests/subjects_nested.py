"""More functions (x, w) -> y: higher-order primitives inside of one another, and the
functions that are made of several of them.  See subjects.py, which collects them."""

import functools

import numpy as np
from subjects import NO_FORWARD, Subject

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import checkify, jet

ROWS = np.array([[1.0, 0.5, -0.3], [0.2, 0.9, 1.1], [-0.6, 0.4, 0.8]])


def recurrence(step, c, rows, w):
    """The last carry and the stacked carries of c -> step(c, row, w)."""
    seen = []
    for row in rows:
        c = step(c, row, w)
        seen.append(c)
    return c, np.stack(seen)


def np_step(c, row, w):
    return np.sin(c * row) + 0.5 * w


def jnp_step(c, row, w):
    return jnp.sin(c * row) + 0.5 * w


def step_reference(x, w):
    c, seen = recurrence(np_step, x, ROWS, w)
    return c + seen.sum(0)


# -------------------------------------------------------------------------- loops inside


def scan_in_while_in_cond_reference(x, w):
    if x[2] < -50.0:
        return w
    for _ in range(2):
        c, _ = recurrence(np_step, x, ROWS[:2], w)
        x = 0.5 * x + c
    return x


def scan_in_while_in_cond(x, w):
    def body(s):
        n, c = s
        last, _ = lax.scan(lambda c, row: (jnp_step(c, row, w), None), c, ROWS[:2])
        return n + 1, 0.5 * c + last

    def loop(x):
        return lax.while_loop(lambda s: s[0] < 2, body, (0, x))[1]

    return lax.cond(x[2] < -50.0, lambda x: w, loop, x)


def cond_in_scan_reference(x, w):
    c, out = x, 0.0
    for i, row in enumerate(ROWS):
        c = c * row + w if i % 2 == 0 else np.cos(c * w)
        out = out + c
    return out


def cond_in_scan(x, w):
    def step(c, at):
        i, row = at
        c = lax.cond(i % 2 == 0, lambda c: c * row + w, lambda c: jnp.cos(c * w), c)
        return c, c

    return lax.scan(step, x, (jnp.arange(3), ROWS))[1].sum(0)


def scan_split_transpose(x, w):
    c, seen = lax.scan(
        lambda c, row: (jnp_step(c, row, w),) * 2, x, ROWS, unroll=2, _split_transpose=True
    )
    return c + seen.sum(0)


def scan_unrolled(x, w):
    c, seen = lax.scan(lambda c, row: (jnp_step(c, row, w),) * 2, x, ROWS, unroll=True)
    return c + seen.sum(0)


def scan_of_checkpoint(x, w):
    step = mj.checkpoint(lambda c, row: (jnp_step(c, row, w),) * 2)
    c, seen = lax.scan(step, x, ROWS)
    return c + seen.sum(0)


def checkpoint_named(x, w):
    """A loop whose carry alone is kept, by name."""

    def step(c, row):
        c = mj.ad_checkpoint.checkpoint_name(jnp_step(c, row, w), "carry")
        return c, c

    policy = mj.checkpoint_policies.save_only_these_names("carry")

    @functools.partial(mj.checkpoint, policy=policy)
    def run(x):
        c, seen = lax.scan(step, x, ROWS)
        return c + seen.sum(0)

    return run(x)


def scan_of_jit_of_custom_jvp(x, w):
    @mj.custom_jvp
    def sin(x):
        return jnp.sin(x)

    sin.defjvps(lambda t, out, x: jnp.cos(x) * t)
    step = mj.jit(lambda c, row: sin(c * row) + 0.5 * w)
    c, seen = lax.scan(lambda c, row: (step(c, row),) * 2, x, ROWS)
    return c + seen.sum(0)


def scan_of_custom_vjp(x, w):
    @mj.custom_vjp
    def step(c, row, w):
        return jnp_step(c, row, w)

    def fwd(c, row, w):
        return step(c, row, w), (c, row)

    def bwd(res, ct):
        c, row = res
        return jnp.cos(c * row) * row * ct, jnp.cos(c * row) * c * ct, 0.5 * ct

    step.defvjp(fwd, bwd)
    c, seen = lax.scan(lambda c, row: (step(c, row, w),) * 2, x, ROWS)
    return c + seen.sum(0)


def associative_scan_pairs(x, w):
    """An affine recurrence c -> a c + b as the prefixes of pairs (a, b)."""

    def compose(left, right):
        (a, b), (c, d) = left, right
        return a * c, c * b + d

    factor = jnp.stack([jnp.sin(x), w, jnp.asarray(ROWS[0])])
    a, b = lax.associative_scan(compose, (factor, jnp.stack([w, x, x * w])))
    return a[-1] * x + b[-1] + b[1]


def associative_scan_pairs_reference(x, w):
    seen, c, b = [], x, 0.0
    for f, add in zip([np.sin(x), w, ROWS[0]], [w, x, x * w], strict=True):
        c, b = c * f + add, b * f + add
        seen.append(b)
    return c + seen[1]


# ---------------------------------------------------------------------- derivatives inside


def grad_in_scan(x, w):
    """Steps along a gradient."""
    loss = lambda c, row: (jnp.sin(c * row) * w).sum()
    step = lambda c, row: (c - 0.3 * mj.grad(loss)(c, row), None)
    return lax.scan(step, x, ROWS)[0]


def grad_in_scan_reference(x, w):
    for row in ROWS:
        x = x - 0.3 * np.cos(x * row) * row * w
    return x


def jvp_in_while(x, w):
    def body(s):
        n, c = s
        return n + 1, mj.jvp(lambda c: jnp.sin(c) * c, (c,), (w,))[1]

    return lax.while_loop(lambda s: s[0] < 2, body, (0, x))[1]


def jvp_in_while_reference(x, w):
    for _ in range(2):
        x = (np.cos(x) * x + np.sin(x)) * w
    return x


def jet_series(x, w):
    """The second derivative of sin(v) v along w, and the first."""
    y, (first, second) = jet.jet(lambda v: jnp.sin(v) * v, (x,), ((w, jnp.zeros_like(w)),))
    return y + first + second


def jet_series_reference(x, w):
    first = np.cos(x) * x + np.sin(x)
    second = 2 * np.cos(x) - np.sin(x) * x
    return np.sin(x) * x + first * w + second * w * w


def linear_transpose(x, w):
    (back,) = mj.linear_transpose(lambda v: jnp.cumsum(v * w), x)(jnp.sin(x))
    return back


def linear_transpose_reference(x, w):
    return np.cumsum(np.sin(x)[::-1])[::-1] * w


def hessian_product(x, w):
    f = lambda x: (jnp.sin(x) * x).sum() * x[0]
    return mj.hessian(f)(x) @ w


def hessian_product_reference(x, w):
    first = np.cos(x) * x + np.sin(x)
    h = np.diag(2 * np.cos(x) - np.sin(x) * x) * x[0]
    h[0] += first
    h[:, 0] += first
    return h @ w


def closure_convert(x, w):
    """A function with a custom derivative that is handed a closure over a tracer."""

    @functools.partial(mj.custom_vjp, nondiff_argnums=(0,))
    def apply(f, x, *consts):
        return f(x, *consts)

    def fwd(f, x, *consts):
        return f(x, *consts), (x, consts)

    def bwd(f, res, ct):
        x, consts = res
        return mj.vjp(f, x, *consts)[1](ct)

    apply.defvjp(fwd, bwd)
    f, consts = mj.closure_convert(lambda x: jnp.sin(x) * w + x, x)
    return apply(f, x, *consts)


def custom_vjp_of_loop(x, w):
    """The backward rule runs a loop of its own."""

    @mj.custom_vjp
    def power(x, w):
        return lax.fori_loop(0, 3, lambda i, c: c * x, w)

    def fwd(x, w):
        return power(x, w), (x, w)

    def bwd(res, ct):
        x, w = res
        cube = lax.fori_loop(0, 3, lambda i, c: c * x, jnp.ones_like(x))
        return 3 * x * x * w * ct, cube * ct

    power.defvjp(fwd, bwd)
    return power(x, w)


def custom_vjp_optimized(x, w):
    """As `custom_vjp`, with a forward rule that the compiler may drop."""

    @mj.custom_vjp
    def f(x, w):
        return jnp.sin(x * w)

    def fwd(x, w):
        return f(x, w), (x, w, jnp.cos(x * w))

    def bwd(res, ct):
        x, w, cos = res
        return w * cos * ct, x * cos * ct

    f.defvjp(fwd, bwd, optimize_remat=True)
    return f(x, w)


# ----------------------------------------------------------------------- state and checks


def ref_steps(x, w):
    """A mutable array, written to in a loop."""
    box = mj.new_ref(x)
    total = mj.new_ref(jnp.zeros_like(x))

    def step(i, _):
        box[...] = jnp_step(box[...], jnp.asarray(ROWS)[i], w)
        total[...] += box[...]
        return ()

    lax.fori_loop(0, 3, step, ())
    return box[...] + total[...]


def ref_rows(x, w):
    """Single elements are read and written."""
    box = mj.new_ref(x)
    box[0] = box[1] * w[0]
    box[1:] = jnp.sin(box[1:]) * w[:2]
    return mj.freeze(box) + x


def ref_rows_reference(x, w):
    return np.array([x[1] * w[0], *(np.sin(x[1:]) * w[:2])]) + x


def checkified(x, w):
    """Checks that pass, and one that does not and is not thrown."""

    def f(x, w):
        checkify.check(x[0] > -100.0, "x is {x}", x=jnp.asarray(x)[0])
        y = jnp.sin(x) * w
        return lax.scan(lambda c, row: (jnp_step(c, row, w),) * 2, y, ROWS)[0]

    _, y = checkify.checkify(f, errors=checkify.all_checks)(x, w)
    _, z = checkify.checkify(lambda x: checked_double(x))(x)
    return y + z


def checked_double(x):
    checkify.check(jnp.all(x > 1e6), "small")
    return 2.0 * x


def checkified_reference(x, w):
    return recurrence(np_step, np.sin(x) * w, ROWS, w)[0] + 2.0 * x


def io_callback(x, w):
    """An effect beside the computation."""
    mj.experimental.io_callback(lambda v: None, None, lax.stop_gradient(x[0]))
    return jnp.sin(x) * w


def callback_with_rule(x, w):
    """The host's function, with a derivative by `custom_jvp`."""

    @mj.custom_jvp
    def sin(x):
        return mj.pure_callback(np.sin, x, x, vmap_method="expand_dims")

    sin.defjvps(lambda t, out, x: cos(x) * t)

    @mj.custom_jvp
    def cos(x):
        return mj.pure_callback(np.cos, x, x, vmap_method="broadcast_all")

    cos.defjvps(lambda t, out, x: -sin(x) * t)
    return sin(x * w) + x


# ------------------------------------------------------------------------- named axes


def pmap_of_loop(x, w):
    """Replicas with a loop and a branch of their own, that meet in a sum."""

    def replica(x, sign):
        y = lax.cond(sign > 0, jnp.sin, lambda x: x * x, x)
        y = lax.fori_loop(0, 2, lambda i, c: c * w + y, y)
        return y + lax.pmean(y, "r")

    out = mj.pmap(replica, axis_name="r")(jnp.stack([x, w]), np.array([1.0, -1.0]))
    return out[0] - 0.5 * out[1]


def pmap_of_loop_reference(x, w):
    ys = []
    for y in (np.sin(x), w * w):
        c = y
        for _ in range(2):
            c = c * w + y
        ys.append(c)
    mean = (ys[0] + ys[1]) / 2
    return ys[0] + mean - 0.5 * (ys[1] + mean)


def collectives_in_scan(x, w):
    """Lanes that exchange their carries in each step."""

    def lane(c):
        def step(c, row):
            near = lax.ppermute(c, "lane", [(0, 1), (1, 0)])
            return jnp.sin(near * row) + lax.axis_index("lane") * c, None

        return lax.scan(step, c, ROWS)[0]

    out = mj.vmap(lane, axis_name="lane")(jnp.stack([x, w]))
    return out[0] * out[1]


def collectives_in_scan_reference(x, w):
    a, b = x, w
    for row in ROWS:
        a, b = np.sin(b * row), np.sin(a * row) + b
    return a * b


def vectorized(x, w):
    dot = jnp.vectorize(lambda a, b: jnp.sin(a * b).sum(), signature="(k),(k)->()")
    return dot(x[:, None] * w, jnp.asarray(ROWS))


def vectorized_reference(x, w):
    return np.sin(x[:, None] * w * ROWS).sum(1)


_TABLE = [
    # (function, reference, what it lacks)
    (scan_in_while_in_cond, scan_in_while_in_cond_reference, {"reverse": False}),
    (cond_in_scan, cond_in_scan_reference, {}),
    (scan_split_transpose, step_reference, {}),
    (scan_unrolled, step_reference, {}),
    (scan_of_checkpoint, step_reference, {}),
    (checkpoint_named, step_reference, {}),
    (scan_of_jit_of_custom_jvp, step_reference, {}),
    (scan_of_custom_vjp, step_reference, {**NO_FORWARD, "unread": False}),
    (associative_scan_pairs, associative_scan_pairs_reference, {}),
    (grad_in_scan, grad_in_scan_reference, {}),
    (jvp_in_while, jvp_in_while_reference, {"reverse": False}),
    (jet_series, jet_series_reference, {}),
    (linear_transpose, linear_transpose_reference, {}),
    (hessian_product, hessian_product_reference, {}),
    (closure_convert, lambda x, w: np.sin(x) * w + x, {"forward": False}),
    (custom_vjp_of_loop, lambda x, w: x**3 * w, NO_FORWARD),
    (custom_vjp_optimized, lambda x, w: np.sin(x * w), NO_FORWARD),
    (ref_steps, step_reference, {}),
    (ref_rows, ref_rows_reference, {}),
    (checkified, checkified_reference, {}),
    (io_callback, lambda x, w: np.sin(x) * w, {"lanes_of_branch": False}),
    (callback_with_rule, lambda x, w: np.sin(x * w) + x, {}),
    (pmap_of_loop, pmap_of_loop_reference, {}),
    (collectives_in_scan, collectives_in_scan_reference, {}),
    (vectorized, vectorized_reference, {}),
]

NESTED = [
    Subject(run.__name__, run, reference, **options) for run, reference, options in _TABLE
]
