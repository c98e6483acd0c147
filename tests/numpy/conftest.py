"""The laws of operations (tests/ops/laws.py) hold of NumPy's functions too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "ops"))
