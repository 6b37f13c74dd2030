# SPDX-License-Identifier: BSD-2-Clause
"""A thousand changes of a kernel's locks under YCSB: `build/venv/bin/python -m tests.long.granularity [CHANGES]`.

No operation is lost or wrong. Takes some ten minutes; tests/boot/test_granularity.py has a short one.
"""

import argparse
import sys

from tests.boot.test_granularity import CHANGES, OPERATIONS, under_load


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.granularity",
                                     description="Changes a kernel's locks under YCSB.")
    parser.add_argument("changes", type=int, nargs="?", default=1000, metavar="CHANGES",
                        help="how often, at least (1000)")
    changes = parser.parse_args().changes
    if changes < 1:
        parser.error(f"{changes}: at least one change")
    done = under_load(changes, OPERATIONS * max(1, changes // CHANGES))
    print(f"the kernel changed its locks {done} times, and no operation was lost or wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
