"""`debug.breakpoint`: what a session shows, given its commands."""

import io

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

SCALE = 3.0
PROMPT = "(jdb) "


def session(wrap, x, commands, **options):
    """What a breakpoint in a function shows for commands; and the result."""
    shown = io.StringIO()
    typed = io.StringIO("".join(f"{c}\n" for c in commands))

    def f(x, n=2):
        y = jnp.sin(x) * n
        both = {"y": y, "rest": [x, "text"]}
        mj.debug.breakpoint(stdin=typed, stdout=shown, num_frames=2, **options)
        return y + len(both)

    out = wrap(f)(x)
    mj.effects_barrier()
    return shown.getvalue().split(PROMPT), out


@pytest.mark.parametrize(
    "wrap", [lambda f: f, mj.jit, mj.grad, mj.checkpoint], ids=["eager", "jit", "grad", "remat"]
)
def test_values(wrap):
    shown, out = session(wrap, 0.0, ["p x", "y + 1", "p n", "p SCALE", "both", "c"])
    assert shown[0] == "Entering jdb:\n"
    assert shown[1].startswith(("Array(0.", "0.0"))
    assert shown[2].startswith("Array(1.")
    assert shown[3:5] == ["2\n", "3.0\n"]
    assert "'rest': [" in shown[5]
    assert "'text'" in shown[5]
    assert shown[6:] == [""]
    assert float(out) == 2


def test_every_lane_and_step():
    shown, _ = session(mj.vmap, jnp.arange(2.0), ["p x", "c"] * 2)
    assert shown[1].startswith("Array(0.")
    assert shown[3].startswith("Array(1.")
    steps = lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)
    shown, _ = session(steps, 0.0, ["p float(x)", "c"] * 2)
    assert [shown[1], shown[3][:3]] == ["0.0\n", "2.0"]


def test_frames():
    shown, _ = session(mj.jit, 0.0, ["l", "bt", "u", "p commands", "u", "d", "d", "c"])
    source, trail, up, value, top, down, bottom, _ = shown[1:]
    assert "->          mj.debug.breakpoint(stdin=typed" in source
    assert "            y = jnp.sin(x) * n" in source
    assert trail.startswith("Traceback:\n")
    assert trail.index("in session") < trail.index("in f")
    assert "out = wrap(f)(x)" in up
    assert value.startswith("['l', 'bt'")
    assert top == "At topmost frame.\n"
    assert "mj.debug.breakpoint" in down
    assert bottom == "At bottommost frame.\n"


def test_mistakes_and_help():
    shown, _ = session(mj.jit, 0.0, ["p", "nothere", "1 +", "h", "pp [1]", "", "cont"])
    assert shown[1] == ""
    assert shown[2] == "*** NameError: name 'nothere' is not defined\n"
    assert shown[3].startswith("*** SyntaxError")
    assert "c(ontinue)" in shown[4]
    assert shown[5:7] == ["[1]\n", "[1]\n"]  # an empty line repeats the last command


@pytest.mark.parametrize("commands", [["q"], []], ids=["quit", "end of input"])
def test_quitting(commands):
    with pytest.raises(SystemExit):
        session(lambda f: f, 0.0, commands)
    with pytest.raises(mj.errors.JaxRuntimeError, match="SystemExit"):
        session(mj.jit, 0.0, commands, ordered=True)


def test_tracers_that_leaked_are_shown_as_they_are():
    leaked, shown = [], io.StringIO()
    mj.jit(lambda x: leaked.append(x) or x)(1.0)

    @mj.jit
    def f(x, old=leaked):
        typed = io.StringIO("p type(old[0]).__name__\np float(x)\nc\n")
        mj.debug.breakpoint(stdin=typed, stdout=shown, num_frames=1)
        return x

    f(2.0)
    mj.effects_barrier()
    output = "(jdb) 'DynamicJaxprTracer'\n(jdb) 2.0\n(jdb) "
    assert shown.getvalue() == "Entering jdb:\n" + output
