"""`python -m minijax.launch -n 4 script.py`: one program, several processes here."""

from __future__ import annotations

import sys

from .tools.launcher import main

if __name__ == "__main__":
    sys.exit(main())
