"""The HTML page of `show`: one file with linked columns of lines; no network."""

from __future__ import annotations

import html
from collections.abc import Sequence

_STYLE = """
body{margin:0;font:13px/1.45 ui-monospace,Menlo,Consolas,monospace;color:#1c1e21}
header{padding:.5em 1em;background:#f3f4f6;border-bottom:1px solid #d0d4da}
header b{font-size:1.1em;margin-right:1em}
header label{margin-right:.9em;white-space:nowrap}
main{display:flex;align-items:stretch;overflow-x:auto;height:calc(100vh - 5.5em)}
section{flex:1 0 26em;overflow:auto;border-right:1px solid #d0d4da;padding-bottom:2em}
section.off{display:none}
h2{font-size:1em;margin:0;padding:.4em .6em;background:#fafbfc;position:sticky;top:0}
.line,summary{white-space:pre;padding-right:.6em;cursor:pointer}
summary{color:#57606a}
.lit{background:#fff3bf}.pinned{background:#ffe08a}
#about{padding:.2em 1em;height:1.5em;overflow:hidden;color:#3b4250;background:#f8f9fb;
border-top:1px solid #d0d4da;white-space:nowrap}
@media(max-width:700px){main{flex-direction:column;height:auto}section{flex:none;max-height:60vh}}
"""

_SCRIPT = """
const all = [...document.querySelectorAll('[data-src]')];
const about = document.getElementById('about');
let pinned = null;
function mark(src, name) {
  for (const e of all) e.classList.toggle(name, src !== null && e.dataset.src === src);
}
for (const e of document.querySelectorAll('.line,summary')) {
  e.addEventListener('mouseenter', () => {
    about.textContent = e.title || e.dataset.src || '';
    mark(e.dataset.src || null, 'lit');
  });
  e.addEventListener('mouseleave', () => mark(null, 'lit'));
}
for (const e of all) e.addEventListener('click', () => {
  pinned = pinned === e.dataset.src ? null : e.dataset.src;
  mark(pinned, 'pinned');
  if (pinned === null) return;
  for (const s of document.querySelectorAll('section')) {
    if (s.contains(e)) continue;
    const first = s.querySelector('.pinned');
    if (first) s.scrollTop = first.offsetTop - s.clientHeight / 3;
  }
});
for (const box of document.querySelectorAll('header input')) {
  box.addEventListener('change', () => {
    document.getElementById(box.value).classList.toggle('off', !box.checked);
  });
}
"""


def page(title: str, stages: Sequence[tuple[str, str]], graph: str = "") -> str:
    """Return the page: a column for each stage, and the graph if there is one."""
    columns = [*stages, *([("graph", graph)] if graph else [])]
    boxes = "".join(
        f'<label><input type="checkbox" value="s{i}" checked> {html.escape(name)}</label>'
        for i, (name, _) in enumerate(columns)
    )
    sections = "".join(
        f'<section id="s{i}"><h2>{html.escape(name)}</h2>{body}</section>'
        for i, (name, body) in enumerate(columns)
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<header><b>{html.escape(title)}</b>{boxes}</header><main>{sections}</main>"
        f'<div id="about"></div><script>{_SCRIPT}</script></body></html>'
    )
