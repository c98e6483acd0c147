"""`python -m demo`: what it must show, and that a second process starts sooner."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

ROOT = pathlib.Path(__file__).parents[1]


def run_demo(folder: pathlib.Path) -> str:
    """Run the demo in `folder`: what it printed."""
    env = os.environ | {
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(folder / "programs"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "demo"],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def numbers(pattern: str, text: str) -> list[float]:
    return [float(match.replace(",", "")) for match in re.findall(pattern, text)]


@pytest.mark.slow
def test_demo(tmp_path):
    text = run_demo(tmp_path)

    # the jaxpr of the loss
    assert "{ lambda ; a:f32[128] b:f32[10] c:f32[64,128] d:f32[128,10]" in text
    assert "dot_general" in text

    # one device and eight, twice: bar, accuracy, speed, the same parameters
    assert text.count("epoch 60/60  loss 0.0") == 3
    scores = numbers(r"held-out accuracy ([\d.]+)", text)
    assert len(scores) == 3
    assert min(scores) >= 0.96
    speeds = numbers(r"([\d,]+) steps per second", text)
    assert len(speeds) == 3
    assert min(speeds) > 0
    gaps = numbers(r"parameters as on one device, to (\S+) of the largest", text)
    assert len(gaps) == 2 and max(gaps) < 1e-5

    # per-example gradients, and the picture
    median, high, largest = numbers(r"(?:median|percentile|largest) ([\d.]+)", text)
    assert 0 < median < high < largest
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")

    # the programs are on disk now: a second run compiles no other
    programs = {path.name for path in (tmp_path / "programs").iterdir()}
    assert programs
    assert numbers(r"first epoch after ([\d.]+) s", run_demo(tmp_path))
    assert {path.name for path in (tmp_path / "programs").iterdir()} == programs
