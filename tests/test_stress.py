"""The stress test, each part for seconds; `make stress` runs them for minutes."""

from random import Random

import pytest

from stress import memory
from stress.__main__ import PARTS, arguments, run_part
from stress.kinds import KINDS
from stress.report import Budget, Report


@pytest.mark.parametrize("part", [p for p in PARTS if p != "memory"])
def test_a_part(part):
    report = run_part(part, minutes=0.05, seed=1, threads=8)
    assert not report.findings, "\n".join(report.findings)
    assert report.operations


def test_memory_is_flat():
    report = memory.run(Budget(600, seed=1), calls=6 * len(KINDS))
    assert not report.findings, "\n".join(report.findings)
    assert report.operations == 6 * len(KINDS)
    assert len(KINDS) >= 20


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_tells_wrong_results(name, monkeypatch):
    """What a kind compares is compared: nothing passes for equal."""
    if name in ("failing_callback", "keys", "wide"):
        pytest.skip("it compares by itself")

    def refuse(*args, **kwargs):
        raise AssertionError("compared")

    monkeypatch.setattr("stress.kinds.close", refuse)
    with pytest.raises(AssertionError, match="compared"):
        KINDS[name](Random(1))


def test_memory_that_grows_is_found(monkeypatch):
    arrays = []
    monkeypatch.setitem(
        KINDS, "leak", lambda r: arrays.extend([r.random()] for _ in range(900))
    )
    for name in set(KINDS) - {"leak", "jit"}:
        monkeypatch.delitem(KINDS, name)
    report = memory.run(Budget(30), calls=40)
    assert "memory grew" in report.findings[0]


def test_a_part_that_dies_is_found(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setattr("stress.__main__.sys.executable", "/bin/false")
    assert "rc 1" in run_part("threads", 0.01, 0).findings[0]


def test_options(capsys):
    chosen = arguments(["disk", "--minutes", "0.5", "--seed", "3"])
    assert (chosen.parts, chosen.minutes, chosen.seed) == (["disk"], 0.5, 3)
    with pytest.raises(SystemExit):
        arguments(["nonsense"])
    assert "unknown part: nonsense" in capsys.readouterr().err
    assert Report.of(Report(3, 1, ["x"]).text()) == Report(3, 1, ["x"])
