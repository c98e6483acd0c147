"""The structure of the package: imports respect the layers, transformations name no
operation, and few modules are imported."""

import ast
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent / "minijax"
# From the lowest; the public modules are above all of them.
LAYERS = (
    *("base", "types", "ir", "passes", "symbolic", "analysis", "text", "runtime", "prims"),
    *("control", "api", "surface", "views", "tools"),
)


def layer_of(module: str) -> int:
    """The position of the package of a dotted module below minijax."""
    package = module.split(".")[0]
    return LAYERS.index(package) if package in LAYERS else len(LAYERS)


def imports(path: pathlib.Path, at_run_time: bool = False) -> list[tuple[str, int]]:
    """Absolute names of the minijax modules that a file imports, with line numbers.

    at_run_time: whether to leave out imports for type checkers only.
    """
    package = list(path.relative_to(ROOT).with_suffix("").parts)[:-1]
    imported = []
    parsed = ast.parse(path.read_text())
    for node in executed(parsed) if at_run_time else ast.walk(parsed):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                stem = ".".join([*base, *(node.module or "").split(".")]).strip(".")
                if node.module:
                    imported.append((stem, node.lineno))
                else:
                    imported += [(".".join([*base, a.name]), node.lineno) for a in node.names]
            elif node.module and node.module.split(".")[0] == "minijax":
                imported.append((node.module.removeprefix("minijax").strip("."), node.lineno))
        elif isinstance(node, ast.Import):
            for a in node.names:
                if a.name.split(".")[0] == "minijax":
                    imported.append((a.name.removeprefix("minijax").strip("."), node.lineno))
    return [(m, n) for m, n in imported if m]


def executed(tree: ast.AST) -> list[ast.AST]:
    """The nodes of a syntax tree without what only type checkers read."""
    nodes = [tree]
    for node in nodes:
        if not (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")):
            nodes += ast.iter_child_nodes(node)
    return nodes


FILES = sorted(p for p in ROOT.rglob("*.py") if p.parent != ROOT or p.stem != "__init__")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path):
    layer = layer_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for module, line in imports(path, at_run_time=True):
        assert layer_of(module) <= layer, f"{path}:{line} imports {module} from above"


# Within a layer, a package or file imports from the lines above its own line.
ORDER = {
    "runtime": """
        backends
        sharding
        arrays lowering
        running
    """,
    "prims": """
        axis_dependence dtype_arguments promotion sharding_specs tokens window_padding
        elementwise stop_gradient
        math layout host_local sizes
        shape sharding_constraint
        reduce gather random device_put fft
        collectives dot sequential sort
        special conv linalg reshard
        core_ops lax lax_linalg
    """,
    "control": """
        arguments flat
        body_staging mapped_axes effects
        refs
        hijax_values loops
        branches calls
        rules
        callbacks
        loop_functions
    """,
    "surface": """
        numpy own_dtypes
        dlpack dtypes jnp values
        image random ravel
        nn ode sparse
        learning recurrent scipy
    """,
}


def entry_imports(package: str) -> list[tuple[str, str, str]]:
    """Imports between entries (packages and files) of a package: two entries, and where."""
    depth = len(package.split("/"))
    imported = []
    for path in sorted((ROOT / package).rglob("*.py")):
        own = path.relative_to(ROOT).with_suffix("").parts
        for module, line in imports(path, at_run_time=True):
            parts = tuple(module.split("."))
            inside = parts[:depth] == own[:depth] and len(parts) > depth
            if inside and parts[depth] != own[depth]:
                imported.append((own[depth], parts[depth], f"{path}:{line}"))
    return imported


@pytest.mark.parametrize("package", ORDER)
def test_packages_of_a_layer_import_in_one_direction(package):
    lines = [line.split() for line in ORDER[package].strip().splitlines()]
    level = {entry: i for i, line in enumerate(lines) for entry in line}
    for importer, imported, where in entry_imports(package):
        assert level[imported] < level[importer], f"{where} imports {imported}"


PACKAGES = sorted(
    str(path.parent.relative_to(ROOT))
    for layer in LAYERS
    for path in (ROOT / layer).rglob("__init__.py")
)


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_of_a_layer_form_no_circle(package):
    needs: dict[str, set[str]] = {}
    for importer, imported, _ in entry_imports(package):
        needs.setdefault(importer, set()).add(imported)
    while free := [entry for entry, of in needs.items() if not of & set(needs)]:
        for entry in free:
            del needs[entry]
    assert not needs


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_jax_is_never_imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            assert name.split(".")[0] != "jax", f"{path}:{node.lineno}"


def test_machinery_names_no_operation():
    """Interpreters never look a primitive up, nor import prims."""
    for path in [p for room in ("passes", "analysis") for p in (ROOT / room).glob("*.py")]:
        text = path.read_text()
        assert "registry[" not in text, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Name):
                assert not node.id.endswith("_p"), f"{path}:{node.lineno} names {node.id}"


def test_the_core_is_read_in_one_afternoon():
    """Layers 1 to 4 have at most 5,500 lines, comments and blank lines included."""
    files = [p for core in ("types", "ir", "passes") for p in (ROOT / core).glob("*.py")]
    lines = {p.name: len(p.read_text().splitlines()) for p in files}
    assert sum(lines.values()) <= 5500, lines


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_import_is_light():
    """`import minijax` loads no surface, no MLIR, no client, and few modules."""
    loaded = run("import sys, minijax; print(' '.join(sys.modules))").split()
    own_modules = [m for m in loaded if m.startswith("minijax")]
    assert len(own_modules) <= 40, own_modules
    for heavy in ("minijax.surface", "minijax.prims", "jaxlib.mlir", "scipy", "jax"):
        assert not [m for m in loaded if m == heavy or m.startswith(heavy + ".")], heavy


def test_the_first_device_is_light():
    """What few clients need is imported for those alone."""
    loaded = run("import sys, minijax as mj; mj.devices(); print(' '.join(sys.modules))")
    assert not {"importlib.metadata", "email", "json", "pkgutil"} & set(loaded.split())


def test_every_public_name_resolves():
    code = """
import warnings
warnings.simplefilter('error')
import minijax
missing = []
for name in dir(minijax):
    try:
        getattr(minijax, name)
    except Exception as e:
        missing.append(f'{name}: {e!r}')
print('\\n'.join(missing))
"""
    assert run(code) == ""


def test_using_numpy_does_not_load_scipy():
    loaded = run(
        "import sys, minijax.numpy as jnp; jnp.ones(2) + 1; print(' '.join(sys.modules))"
    )
    assert "scipy" not in loaded.split()


def modules() -> dict[str, set[str]]:
    """Each module that is not public, and those that it imports."""
    names = {
        ".".join(p.relative_to(ROOT).with_suffix("").parts): p
        for p in ROOT.rglob("*.py")
        if p.stem != "__init__"
    }
    by_name = {}
    for name, path in names.items():
        imported = set()
        package = name.split(".")[:-1]
        for node in executed(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                stem = package[: len(package) - node.level + 1]
                stem += node.module.split(".") if node.module else []
                imported.add(".".join(stem))
                imported |= {".".join([*stem, a.name]) for a in node.names}
        by_name[name] = imported & set(names) - {name}
    return by_name


def test_imports_form_no_circle():
    """Nor do those that a function makes when it is called."""
    left = modules()
    while free := [name for name, needs in left.items() if not needs & set(left)]:
        for name in free:
            del left[name]
    assert not left, {name: needs & set(left) for name, needs in left.items()}


# Modules that are loaded when a function is called, since few need them or they weigh.
LATE = {
    "surface/numpy/conversion.py",
    "surface/numpy/methods.py",
    "surface/numpy/polynomial.py",
}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_stand_on_top(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            late = [n for n in ast.walk(node) if isinstance(n, ast.ImportFrom)]
            if any(n.level for n in late):
                assert str(path.relative_to(ROOT)) in LATE, f"{path}:{late[0].lineno}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_primitive_is_looked_up_by_name(path):
    """Outside the core, which reads pickles, and what looks at programs from outside."""
    rooms = path.relative_to(ROOT).parts
    if rooms[0] not in ("ir", "tools"):
        assert "registry[" not in path.read_text(), path


def test_each_hook_is_filled_once():
    """By the room that the package names, whatever was imported before."""
    code = """
import minijax
from minijax.base import above
from minijax.ir import hooks
from minijax.types import avals
names = [h.name for h in above.HOOKS]
assert len(set(names)) == len(names) > 20 and set(names) <= set(above.homes)
for hook in above.HOOKS:
    assert hook in [vars(m).get(hook.name) for m in (above, avals, hooks)]
    above.load(hook.name)
    assert hook.filled is hook.call, hook.name
    assert hook.filled.__module__ in above.homes[hook.name], hook.name
    try:
        hook.fill(lambda: None)
    except RuntimeError:
        continue
    raise AssertionError(hook.name)
"""
    run(code)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_room_writes_into_another(path):
    """A module does not set names of a module that it imports; hooks are for that."""
    tree = ast.parse(path.read_text())
    imported = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            imported |= {a.asname or a.name for a in node.names}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if not isinstance(target, ast.Attribute | ast.Subscript):
                continue
            owner: ast.expr = target
            while isinstance(owner, ast.Attribute | ast.Subscript):
                owner = owner.value
            known = isinstance(owner, ast.Name) and owner.id in imported
            assert not known or ast.unparse(target).split(".")[0] in FILLED_FROM_ABOVE, (
                f"{path}:{node.lineno} sets {ast.unparse(target)}"
            )


# What takes its parts from above by design: the operations lent, options, rules.
FILLED_FROM_ABOVE = {"core_ops", "config"}


def test_modules_say_where_to_read_on():
    """What a docstring names after "Next:" is there: beside the file, or in the house."""
    for path in ROOT.rglob("*.py"):
        doc = ast.get_docstring(ast.parse(path.read_text())) or ""
        _, _, after = doc.partition("Next:")
        for word in re.findall(r"[\w./]+", after.split("\n\n")[0]):
            name = word.rstrip(".")
            if name.endswith(".py") or "/" in name:
                exists = [(base / name).exists() for base in (path.parent, ROOT)]
                assert any(exists), f"{path} sends its readers to {name}"


def test_no_module_takes_the_name_of_an_export():
    """A package that exports a function `memory` has no module memory.py."""
    code = """
import importlib, pathlib, types, minijax
root = pathlib.Path(minijax.__file__).parent
for init in root.rglob('__init__.py'):
    package = importlib.import_module('.'.join(init.parent.relative_to(root.parent).parts))
    exports = getattr(package, '__all__', ())
    for path in init.parent.iterdir():
        if path.stem in exports and (path.suffix == '.py' or (path / '__init__.py').exists()):
            value = getattr(package, path.stem)
            importlib.import_module(f'{package.__name__}.{path.stem}')
            if not isinstance(value, types.ModuleType):
                assert getattr(package, path.stem) is value, path
"""
    run(code)
