"""The reading plan: which files of the library each chapter is about.

`python tutorials/stack/plan.py` writes the table, with lines counted, into README.md.
"""

import pathlib

HERE = pathlib.Path(__file__).parent
HOUSE = HERE.parents[1]

# (chapter, its question, files to read with it). 1 to 8 are the core.
PLAN = [
    ("01_one_primitive", "What must be known of an operation?", ["ir/core.py"]),
    ("02_bind_and_the_current_trace", "Who decides what `x * y` does?", ["ir/core.py"]),
    ("03_jaxprs", "What is a program made of?", ["ir/jaxpr.py", "ir/check.py"]),
    ("04_staging", "How does Python become a program?", ["passes/stage.py"]),
    (
        "05_jvp",
        "How can a program compute an exact derivative?",
        ["passes/ad_util.py", "passes/jvp.py"],
    ),
    ("06_linearize", "Backwards through what?", ["passes/linearize.py", "passes/dce.py"]),
    (
        "07_transpose_and_grad",
        "Why is a gradient as cheap as the loss?",
        ["passes/transpose.py"],
    ),
    ("08_vmap", "How does one example become a thousand?", ["passes/batch.py"]),
    (
        "09_lowering",
        "What does the compiler read, and what does it make of it?",
        [
            "runtime/lowering/context.py",
            "runtime/lowering/recorded_lowering.py",
            "runtime/lowering/lower_jaxpr.py",
        ],
    ),
    (
        "10_jit",
        "Who remembers what, from call to call?",
        [
            "control/calls/jitted.py",
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
        "Who tells a device what others hold?",
        ["prims/collectives/psum.py", "control/calls/pmap.py", "control/calls/shard_map.py"],
    ),
]
CORE = 8  # chapters


def count(path):
    """The lines of a file of the library."""
    return len((HOUSE / "minijax" / path).read_text().splitlines())


def total(chapters):
    """The lines of all files of these chapters, each file once."""
    return sum(map(count, dict.fromkeys(p for _, _, paths in chapters for p in paths)))


def table():
    """The plan as Markdown, with lines counted now."""
    rows = ["| chapter | question | read with it | lines |", "| --- | --- | --- | ---: |"]
    for name, question, paths in PLAN:
        number, title = name.split("_", 1)
        link = f"[{int(number)} {title.replace('_', ' ')}]({name}.py)"
        files = ", ".join(f"`{path}`" for path in paths)
        rows.append(f"| {link} | {question} | {files} | {sum(map(count, paths))} |")
    core = f"The core, chapters 1 to {CORE}: {total(PLAN[:CORE])} lines."
    return "\n".join([*rows, "", f"{core} All: {total(PLAN)}."])


def filled(page):
    """The text of the page with the table in its place."""
    before, rest = page.split("<!-- plan -->\n")
    _, after = rest.split("<!-- end of plan -->\n")
    return f"{before}<!-- plan -->\n{table()}\n<!-- end of plan -->\n{after}"


if __name__ == "__main__":
    README = HERE / "README.md"
    README.write_text(filled(README.read_text()))
