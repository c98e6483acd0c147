"""The cost of importing the library in a fresh interpreter."""

from bench.rows import Row

TITLE = "Import"
ROWS = (
    Row("import: CPU time", 0.35),
    Row("import: modules loaded", 0.5, ""),
    Row("import: peak memory", 0.75, "B"),
    Row("import with numpy, lax, random: CPU time", 0.32),
    Row("import with numpy, lax, random: modules loaded", 0.36, ""),
    Row("import with numpy, lax, random: peak memory", 0.72, "B"),
)

SCRIPT = """
import resource, sys, time
before, start = len(sys.modules), time.process_time()
IMPORTS
print(time.process_time() - start, len(sys.modules) - before,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def outside(side, sheet) -> None:
    parts = "; ".join(f"import LIB.{part}" for part in ("numpy", "lax", "random"))
    cpu, modules, peak = _least(side, "import LIB")
    sheet.put("import: CPU time", cpu)
    sheet.put("import: modules loaded", modules)
    sheet.put("import: peak memory", peak)
    cpu, modules, peak = _least(side, parts)
    sheet.put("import with numpy, lax, random: CPU time", cpu)
    sheet.put("import with numpy, lax, random: modules loaded", modules)
    sheet.put("import with numpy, lax, random: peak memory", peak)


def _least(side, imports, times=3):
    text = SCRIPT.replace("IMPORTS", imports)
    runs = [side.script(text).out.split() for _ in range(times)]
    return [min(float(run[i]) for run in runs) for i in range(3)]
