"""`python -m tests.prometheus`: make sure that the programs are there, and say where."""

import sys

from tests.prometheus import binaries


def main() -> int:
    try:
        found = binaries.find()
    except binaries.NoPrometheus as error:
        print(error, file=sys.stderr)
        return 1
    print(f"prometheus: {found.prometheus}")
    return 0


sys.exit(main())
