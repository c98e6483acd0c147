"""Every transformation over every higher-order primitive, alone and in pairs.

The subjects are in subjects.py and subjects_nested.py, the transformations in
transformations.py; what they compute is compared with Python loops and differences.
What cannot be (reverse mode of a loop of unknown length, forward mode of a `custom_vjp`)
must be refused, with the right words.

Alone, everything is compiled.  Pairs are run by hand, one operation at a time, in turn
as staged programs and unstaged, and some are compiled; MINIJAX_PAIRS=all compiles all.
"""

import os

import numpy as np
import pytest
from subjects import SUBJECTS
from subjects_nested import NESTED
from transformations import TRANSFORMATIONS

import minijax as mj
from minijax.runtime.running import dispatch

X = np.array([0.6, -0.4, 0.9])
W = np.array([0.8, 0.5, -0.7])
ALL = os.environ.get("MINIJAX_PAIRS") == "all"
EVERYTHING = [*SUBJECTS, *NESTED]


@pytest.fixture(autouse=True)
def double_precision():
    with mj.enable_x64(True):
        yield


@pytest.fixture(scope="module", autouse=True)
def no_programs_left():
    yield
    mj.clear_caches()


def refusal(subject, stack, compiled):
    """Class and words of the error that transformations (outermost first) must raise."""
    forward = [t.forward for t in stack]
    reverse = [t.reverse for t in stack]
    if not subject.reverse and not subject.forward and any(forward + reverse):
        return ValueError, "Pure callbacks do not support JVP"
    if not subject.reverse and any(reverse):
        return (ValueError, "Reverse-mode differentiation does not work for lax.while_loop")
    for i, used in enumerate(forward):
        below = any(reverse[i + 1 :])
        if below and subject.unread and (compiled or stack[i].name == "linearize"):
            continue  # what the gradient does not need: dead code
        if used and not (subject.forward_of_reverse if below else subject.forward):
            return TypeError, "can't apply forward-mode autodiff"
    if not subject.lanes_of_branch:
        for i, t in enumerate(stack):
            if t.lanes and any(s.name == "in_cond" for s in stack[i + 1 :]):
                return NotImplementedError, "IO effect not supported in vmap-of-cond"
    return None


def apply(subject, stack):
    """The transformed function and its reference."""
    f, reference = subject.run, subject.reference
    for t in reversed(stack):
        f, reference = t.apply(f), t.reference(reference)
    return f, reference


def staged(f):
    return lambda x, w: mj.make_jaxpr(f)(x, w)(x, w)[0]


def compare(got, reference):
    """None, or what is wrong."""
    expected = reference(X, W)
    if np.shape(got) != expected.shape or got.dtype != expected.dtype:
        return f"is {got.dtype}{np.shape(got)}, not {expected.dtype}{expected.shape}"
    error = np.abs(np.asarray(got) - expected).max() / max(1.0, np.abs(expected).max())
    return None if error < 1e-6 else f"is off by {error:.1e}"


def problem(subject, stack, how):
    """None, or what is wrong with `subject` under `stack`, run as `how` says."""
    f, reference = apply(subject, stack)
    refused = refusal(subject, stack, how is mj.jit)
    if refused is not None:
        with pytest.raises(refused[0], match=refused[1]):
            how(f)(X, W)
        return None
    return compare(how(f)(X, W), reference)


def report(subject, stacks, problems):
    """Fail with a line for each problem."""
    lines = [
        f"{'('.join(t.name for t in stack)}({subject}{')' * len(stack)} {problem}"
        for stack, problem in zip(stacks, problems, strict=True)
        if problem
    ]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("subject", EVERYTHING, ids=repr)
def test_untransformed(subject):
    for how in (lambda f: f, mj.jit):
        assert problem(subject, [], how) is None


@pytest.mark.parametrize("subject", EVERYTHING, ids=repr)
def test_alone(subject):
    """Unstaged each by itself, then all compiled in one program."""
    stacks = [[t] for t in TRANSFORMATIONS]
    report(subject, stacks, [problem(subject, s, lambda f: f) for s in stacks])
    fine = [s for s in stacks if refusal(subject, s, False) is None]
    made = [apply(subject, s) for s in fine]
    outs = mj.jit(lambda x, w: [f(x, w) for f, _ in made])(X, W)
    report(subject, fine, [compare(y, r) for y, (_, r) in zip(outs, made, strict=True)])
    for s in stacks:
        if refusal(subject, s, False) is not None:
            problem(subject, s, mj.jit)


@pytest.mark.parametrize("number", range(len(EVERYTHING)), ids=lambda i: str(EVERYTHING[i]))
def test_pairs(number, monkeypatch):
    subject = EVERYTHING[number]
    stacks = [[a, b] for a in TRANSFORMATIONS for b in TRANSFORMATIONS]
    compiled, by_hand = [], []
    for k, stack in enumerate(stacks, number):
        replicas = any(t.name == "pmap" for t in stack)
        if ALL or k % 32 == 0:
            compiled.append(stack)
        elif not replicas or k % 4 == 0:  # replicas are compiled always
            by_hand.append(stack)
    turns = (mj.jit, lambda f: f)
    report(
        subject,
        compiled,
        [problem(subject, s, turns[k % 2]) for k, s in enumerate(compiled, number)],
    )
    monkeypatch.setattr(dispatch, "is_host_driven", lambda jaxpr: True)
    turns = (staged, lambda f: f)
    report(
        subject,
        by_hand,
        [problem(subject, s, turns[k % 2]) for k, s in enumerate(by_hand, number)],
    )
