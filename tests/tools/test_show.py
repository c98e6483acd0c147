"""`tools.show`: all stages, as data, as text, and as a page that a browser tries."""

import pathlib
import re
import shutil
import subprocess

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, tools
from minijax.tools.source_lines import _assigned

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def loss(ws, x):
    def layer(h, w):
        z = h @ w
        return jnp.tanh(z), None

    out, _ = lax.scan(layer, x, ws)
    return lax.cond(out[0] > 0, jnp.sin, jnp.cos, out.sum())


@pytest.fixture(scope="module")
def stages():
    def vmapped(f):
        return mj.vmap(f, in_axes=(None, 0))

    through = [mj.jit, vmapped, mj.grad]
    return tools.show(loss, jnp.ones((3, 4, 4)), jnp.ones((2, 4)), through=through)


def line_of(text):
    rows = pathlib.Path(__file__).read_text().splitlines()
    return f"{__file__}:{1 + next(i for i, r in enumerate(rows) if text in r)}"


def test_every_stage_has_its_source_lines(stages):
    names = [s.name for s in stages.stages]
    assert names == ["Python", "loss", "grad", "vmapped", "jit", "StableHLO", "HLO"]
    tanh = line_of("return jnp.tanh(z), None")
    for stage in stages.stages:
        assert any(x.source == tanh for x in stage.lines), stage.name
    assert "z:f32[4] = dot_general" in str(stages["loss"])
    assert "out:f32[4] = scan[length=3" in str(stages["loss"])
    assert "z:f32[2,4] = dot_general" in str(stages["vmapped"])
    product = next(x for x in stages["loss"].lines if "dot_general" in x.text)
    assert "16 B, 32 flop" in product.note
    assert stages.to_dict()["stages"][0]["lines"][0]["text"] == __file__
    assert "== StableHLO ==" in str(stages)
    assert stages.graph.count('[label="scan"]') == 2  # of the call's inside


def test_a_graph_takes_graphviz(stages, monkeypatch):
    if shutil.which("dot"):
        assert stages.svg().startswith("<svg")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="the program `dot`"):
        stages.svg()
    assert "<svg" not in stages.html()


def test_a_page_is_one_file(stages, tmp_path):
    text = pathlib.Path(stages.save(str(tmp_path / "page.html"))).read_text()
    assert not re.search(r'(src|href)="', text.replace("data-src=", ""))
    assert text.count("<details") == text.count("</details>") > 10
    assert "srcdoc=" in stages._repr_html_()
    assert tools.show(lambda x: x * 2, 1.0, compiled=False)["Python"].lines


TRY = """<script>
const tanh = [...document.querySelectorAll('#s1 [data-src]')]
  .find(e => e.textContent.includes('tanh'));
tanh.dispatchEvent(new MouseEvent('mouseenter'));
const said = about.textContent;
tanh.click();
const lit = [...document.querySelectorAll('section')]
  .map(s => s.querySelectorAll('.pinned').length);
const fold = document.querySelectorAll('#s1 details')[1];
const high = fold.offsetHeight;
fold.querySelector('summary').click();
setTimeout(() => {
  const folded = fold.offsetHeight < high;
  tanh.click();
  const left = document.querySelectorAll('.pinned').length;
  document.title = JSON.stringify({said, lit, folded, left});
}, 50);
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian: chromium)")
def test_a_browser_highlights_lines_of_one_source(stages, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(stages.html() + TRY)
    run = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--dump-dom",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=2000",
        page.as_uri(),
    ]
    dom = subprocess.run(run, capture_output=True, text=True, timeout=120).stdout
    title = re.search(r"<title>(.*?)</title>", dom).group(1)
    attributes = eval(title, {"true": True, "false": False})
    assert "tanh" in attributes["said"] or "flop" in attributes["said"]
    assert all(n > 0 for n in attributes["lit"][:7])
    assert attributes["folded"]
    assert attributes["left"] == 0


def test_a_function_without_source():
    space = {}
    exec("def f(x):\n    return x * 2\n", space)
    stages = tools.show(space["f"], 1.0, compiled=False)
    assert str(stages["Python"]) == "(source not available)"
    assert "mul x 2.0" in str(stages["f"])


def test_long_parameters_are_truncated():
    taken = tools.show(lambda x: x[jnp.array([0, 2])], jnp.ones(3), compiled=False)
    (row,) = (r for r in str(taken).splitlines() if " gather[" in r)
    shown = re.search(r"dimension_numbers=(.{40,57}\.\.\.)", row)
    assert shown and len(shown.group(1)) == 60


def test_variables_are_named_as_in_their_lines(tmp_path):
    path = tmp_path / "some_lines.py"
    path.write_text(
        "def f(x):\n    y = (x +\n         1)\n    print(y)\n    y *= 2\n"
        "    z: float = y\n    a, b = y, z\n    return (\n        a)\n    y\n"
    )
    of_lines = [_assigned(str(path), i) for i in range(1, 11)]
    assert of_lines == ["", "y", "y", "", "y", "z", "a, b", "return", "return", ""]
    assert _assigned(str(tmp_path / "nowhere.py"), 1) == ""
