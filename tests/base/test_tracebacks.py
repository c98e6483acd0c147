"""Tracebacks hold the user's lines; a note says how to see those of the library."""

import os
import subprocess
import sys
import traceback

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import errors
from minijax.base import tracebacks
from minijax.views import private

ROOT = os.path.dirname(mj.__file__) + os.sep
X = jnp.ones(3)


def bad(x):
    return jnp.dot(x, jnp.ones((7, 2)))


def carry(c, x):
    return bad(c), x


def caught(run):
    with pytest.raises(Exception) as e:
        run()
    return e.value


def lines(error):
    """The functions in a traceback below this file's helpers; ours are `ours`."""
    frames = traceback.extract_tb(error.__traceback__)
    names = ["ours" if f.filename.startswith(ROOT) else f.name for f in frames]
    return names[names.index("caught") + 1 :]


def causes(error):
    chain = []
    while (error := error.__cause__) is not None:
        chain.append(type(error))
    return chain


@mj.custom_vjp
def with_vjp(x):
    return bad(x)


with_vjp.defvjp(lambda x: (bad(x), None), lambda _, ct: (ct,))


@mj.custom_jvp
def with_jvp(x):
    return bad(x)


with_jvp.defjvp(lambda p, t: (bad(*p), bad(*t)))

RUNS = {
    "jit": lambda: mj.jit(bad)(X),
    "grad": lambda: mj.grad(lambda x: bad(x).sum())(X),
    "value_and_grad": lambda: mj.value_and_grad(lambda x: bad(x).sum())(X),
    "vmap": lambda: mj.vmap(bad)(X[None]),
    "pmap": lambda: mj.pmap(bad)(X[None]),
    "jvp": lambda: mj.jvp(bad, (X,), (X,)),
    "vjp": lambda: mj.vjp(bad, X),
    "linearize": lambda: mj.linearize(bad, X),
    "jacfwd": lambda: mj.jacfwd(bad)(X),
    "hessian": lambda: mj.hessian(lambda x: bad(x).sum())(X),
    "scan": lambda: mj.lax.scan(carry, X, X),
    "while": lambda: mj.lax.while_loop(lambda x: bad(x).sum() > 0, lambda x: x, X),
    "fori": lambda: mj.lax.fori_loop(0, 2, lambda i, x: bad(x), X),
    "cond": lambda: mj.lax.cond(True, bad, bad, X),
    "switch": lambda: mj.lax.switch(jnp.int32(1), [bad, bad], X),
    "map": lambda: mj.lax.map(bad, X[None]),
    "associative_scan": lambda: mj.lax.associative_scan(lambda x, y: bad(x), X),
    "checkpoint": lambda: mj.checkpoint(bad)(X),
    "make_jaxpr": lambda: mj.make_jaxpr(bad)(X),
    "eval_shape": lambda: mj.eval_shape(bad, X),
    "lower": lambda: mj.jit(bad).lower(X),
    "trace": lambda: mj.jit(bad).trace(X),
    "custom_vjp": lambda: with_vjp(X),
    "custom_jvp": lambda: with_jvp(X),
    "many": lambda: mj.jit(mj.grad(lambda x: mj.vmap(bad)(x).sum()))(X[None]),
    "eager": lambda: bad(X),
}


def noted(error):
    """Whether one note of an error states that frames are left out."""
    notes = getattr(error, "__notes__", [])
    assert len(notes) < 2
    return any("For simplicity, JAX has removed its internal frames" in n for n in notes)


@pytest.mark.parametrize("name", RUNS)
def test_library_frames_leave_the_traceback(name):
    error = caught(RUNS[name])
    lines_of_error = lines(error)
    assert "ours" not in lines_of_error and lines_of_error[0] == "<lambda>"
    assert lines_of_error[-1] == "bad"
    assert not causes(error) and noted(error)
    text = "".join(traceback.format_exception(error))
    assert text.count("JAX_TRACEBACK_FILTERING=off") == 1 and ROOT not in text
    with filtering("off"):
        error = caught(RUNS[name])
    assert "ours" in lines(error) and not causes(error) and not noted(error)


class filtering:
    """`jax_traceback_filtering`, for a block."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        mj.config.update("jax_traceback_filtering", self.mode)

    def __exit__(self, *_):
        mj.config.update("jax_traceback_filtering", "auto")


def test_primitives_leave_one_frame():
    error = caught(lambda: mj.lax.add(X, jnp.ones(4)))
    assert lines(error) == ["<lambda>", "ours"]


def test_the_full_traceback_can_be_chained():
    with filtering("remove_frames"):
        error = caught(RUNS["jit"])
    assert "ours" not in lines(error)
    assert causes(error) == [errors.UnfilteredStackTrace] and not noted(error)
    phrase = "The stack trace below excludes JAX-internal frames"
    assert phrase in str(error.__cause__)
    text = "".join(traceback.format_tb(error.__cause__.__traceback__))
    assert ROOT in text and text.index("in on_miss") < text.index("in bad")
    with filtering("off"):
        full = caught(RUNS["jit"]).__traceback__
    outside = 2  # of the outermost boundary: this function and the lambda
    assert len(error.__cause__.steps) == len(traceback.extract_tb(full)) - outside
    with filtering("quiet_remove_frames"):
        error = caught(RUNS["jit"])
    assert not causes(error) and noted(error)


def test_libraries_leave_their_frames_out_and_show_them_again():
    excluded = private.module("jax._src.traceback_util")._exclude_paths
    error = caught(RUNS["jit"])
    excluded.append(__file__)
    try:
        assert len(lines(caught(RUNS["jit"]))) < len(lines(error))
    finally:
        excluded.remove(__file__)
    assert lines(caught(RUNS["jit"])) == lines(error)


def test_frames_may_be_marked_for_who_prints():
    with filtering("tracebackhide"):
        error = caught(RUNS["grad"])
    assert "ours" in lines(error) and not causes(error)
    at, hidden = error.__traceback__, []
    while at is not None:
        ours = at.tb_frame.f_code.co_filename.startswith(ROOT)
        hidden.append(ours is at.tb_frame.f_locals.get("__tracebackhide__", False))
        at = at.tb_next
    assert all(hidden)


def test_causes_and_contexts_of_the_users_own_stay():
    def raises(x):
        try:
            raise KeyError("first")
        except KeyError as e:
            raise ValueError("second") from e

    error = caught(lambda: mj.jit(mj.vmap(raises))(X))
    assert causes(error) == [KeyError] and noted(error)

    def in_context(x):
        try:
            raise KeyError("first")
        except KeyError:
            return 1 / 0

    error = caught(lambda: mj.jit(in_context)(X))
    assert isinstance(error.__context__, KeyError)
    text = "".join(traceback.format_exception(error))
    assert "KeyError: 'first'" in text and "ZeroDivisionError" in text


def test_errors_outside_of_the_users_functions():
    error = caught(lambda: mj.grad(lambda x: x)(X))
    assert lines(error) == ["<lambda>"]


SCRIPT = """
import minijax as mj
mj.jit(lambda x: x + 1 if x > 0 else x)(1.0)
"""


@pytest.mark.parametrize("mode, ours", [(None, 0), ("off", 1), ("remove_frames", 1)])
def test_what_a_script_prints(mode, ours):
    env = {**os.environ} | ({} if mode is None else {"JAX_TRACEBACK_FILTERING": mode})
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=False
    )
    printed = done.stderr
    assert "TracerBoolConversionError: Attempted boolean conversion" in printed
    assert (f'File "{ROOT}' in printed) == bool(ours)
    assert ("JAX_TRACEBACK_FILTERING=off" in printed) == (mode is None)


def test_refusals_differ_from_faults():
    """Of what our files raise, only errors with which they refuse a user's code."""
    names = {}
    ours = "def ours(f, *args):\n    return f(*args)"
    exec(compile(ours, tracebacks.__file__, "exec"), names)

    def refused(f, *args):
        try:
            names["ours"](f, *args)
        except Exception as error:
            error.__traceback__ = error.__traceback__.tb_next  # as from there
            return tracebacks.is_refusal(error)

    assert not refused({}.__getitem__, "missing")
    assert not refused(iter(()).__next__)
    assert refused(int, "x") and refused(int, None)
    assert refused(lambda: {}["missing"])  # code of the user's
    tracebacks.exclude(__file__)  # as libraries do
    try:
        assert refused(lambda: {}["missing"])
    finally:
        tracebacks.excluded.remove(__file__)
