"""`python -m benchmarks.gpu`, as `strukt benchmark gpu`."""

import argparse
import sys

from benchmarks.gpu.report import SECONDS, report
from benchmarks.page import PageError


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--only", default="", help="families and tables, separated by commas")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"budget for everything ({SECONDS:.0f})")
    parser.add_argument("--output", help="page whose section 'gpu' is replaced")
    arguments = parser.parse_args()
    try:
        report(arguments.only.split(",") if arguments.only else [], arguments.seconds, arguments.output)
    except (PageError, ValueError, RuntimeError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
