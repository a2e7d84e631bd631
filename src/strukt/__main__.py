"""`python -m strukt` is the same as `strukt`."""

import sys

from strukt.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
