"""`python -m minijax.launch -n 4 script.py`: run a script in n processes on this machine."""

from __future__ import annotations

import sys

from .tools.launcher import main

if __name__ == "__main__":
    sys.exit(main())
