"""Random programs, run along two roads: a fuzzer.

`python -m tests.fuzz` compares minijax with JAX 0.10.2 (`make fuzz`); tests/test_fuzz.py
compares minijax with NumPy and with itself.  A program is data, drawn from one integer.

    types.py      types of values, and the values that are drawn of them
    table.py      the operations: their text, what operands they take, how often
    program.py    programs as data, and as scripts that anyone can run
    draw.py       programs drawn from a seed
    stacks.py     transformations, and the helpers that scripts need
    calls.py      single calls of every public function, by signature
    evaluated.py  the same by values, with derivatives and lanes
    roads.py      second roads through one library, for tests without JAX
    child.py      a process that runs scripts in one library
    pair.py       the two processes
    compare.py    when two results agree
    shrink.py     smaller programs that still fail
    known.py      what is not minijax's fault
    corpus/       what was found, with the values that are right

Nothing here imports JAX but the child process that is told to.
"""
