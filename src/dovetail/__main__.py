"""`python -m dovetail`, for who has the package and not the script."""

from __future__ import annotations

import sys

from dovetail.main import main

if __name__ == "__main__":
    sys.exit(main())
