"""Run the command line: ``python -m strukt`` is ``strukt``."""

import sys

from strukt.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
