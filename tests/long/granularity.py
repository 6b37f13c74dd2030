# SPDX-License-Identifier: BSD-2-Clause
"""A thousand changes of a kernel's locks under YCSB: `build/venv/bin/python -m tests.long.granularity [CHANGES]`.

No operation is lost or wrong. Takes some ten minutes; tests/boot/test_granularity.py has a short one.
"""

from __future__ import annotations

import sys

from tests.boot.test_granularity import CHANGES, OPERATIONS, under_load


def main() -> int:
    changes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    done = under_load(changes, OPERATIONS * max(1, changes // CHANGES))
    print(f"the kernel changed its locks {done} times, and no operation was lost or wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
