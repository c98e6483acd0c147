"""The reading plan: the files of the library that each chapter explains.

`python tutorials/stack/plan.py` writes the table, with line counts, to README.md.
"""

import pathlib

BOOK = pathlib.Path(__file__).parent
ROOT = BOOK.parents[1]

# (chapter, its question, files to read with it). 1 to 8 are the core.
PLAN = [
    ("01_one_primitive", "What must a library know about an operation?", ["ir/core.py"]),
    ("02_bind_and_the_current_trace", "What decides what `x * y` does?", ["ir/core.py"]),
    ("03_jaxprs", "Which data structure is a program?", ["ir/jaxpr.py", "analysis/check.py"]),
    ("04_staging", "How does Python become a program?", ["passes/stage.py"]),
    (
        "05_jvp",
        "How can a program compute an exact derivative?",
        ["passes/ad_util.py", "passes/jvp.py"],
    ),
    (
        "06_linearize",
        "What does reverse mode reverse?",
        ["passes/linearize.py", "passes/dce.py"],
    ),
    (
        "07_transpose_and_grad",
        "Why is a gradient as cheap as the loss?",
        ["passes/transpose.py"],
    ),
    ("08_vmap", "How does one example become a thousand?", ["passes/batch.py"]),
    (
        "09_lowering",
        "What does the compiler read, and what does it produce?",
        [
            "runtime/lowering/context.py",
            "runtime/lowering/recorded_lowering.py",
            "runtime/lowering/lower_jaxpr.py",
        ],
    ),
    (
        "10_jit",
        "Which caches does a call use?",
        [
            "control/calls/jitted.py",
            "runtime/sharding/placement.py",
            "runtime/running/program.py",
            "runtime/running/dispatch.py",
            "runtime/running/compile.py",
        ],
    ),
    (
        "11_control_flow",
        "How can a loop be one equation?",
        ["ir/regions.py", "passes/region_rules.py", "passes/loop_rules.py"],
    ),
    (
        "12_pmap_and_sharding",
        "How does a device get values of another?",
        ["prims/collectives/psum.py", "control/calls/pmap.py", "control/calls/shard_map.py"],
    ),
]
CORE = 8  # chapters


def count(path):
    """Return the number of lines of a file of the library."""
    return len((ROOT / "minijax" / path).read_text().splitlines())


def total(chapters):
    """Return the number of lines of all files of these chapters, each file once."""
    return sum(map(count, dict.fromkeys(p for _, _, paths in chapters for p in paths)))


def table():
    """Return the plan as Markdown, with current line counts."""
    rows = ["| chapter | question | files | lines |", "| --- | --- | --- | ---: |"]
    for name, question, paths in PLAN:
        number, title = name.split("_", 1)
        link = f"[{int(number)} {title.replace('_', ' ')}]({name}.py)"
        files = ", ".join(f"`{path}`" for path in paths)
        rows.append(f"| {link} | {question} | {files} | {sum(map(count, paths))} |")
    core = f"The core, chapters 1 to {CORE}: {total(PLAN[:CORE])} lines."
    return "\n".join([*rows, "", f"{core} All: {total(PLAN)}."])


def filled(page):
    """Return the text of the page with a new table."""
    before, rest = page.split("<!-- plan -->\n")
    _, after = rest.split("<!-- end of plan -->\n")
    return f"{before}<!-- plan -->\n{table()}\n<!-- end of plan -->\n{after}"


if __name__ == "__main__":
    README = BOOK / "README.md"
    README.write_text(filled(README.read_text()))
