"""`python -m wengert` is `wengert`."""

import sys

from wengert.cli import main

if __name__ == "__main__":
    sys.exit(main())
