# SPDX-License-Identifier: BSD-2-Clause
"""Boots ktest and says what failed: `python -m tests.mistakes.boot CLUSTERS CORES KERNEL [IGNORED TEST...]`.

Run inside the copy, whose tools and images fit each other. Prints one line of JSON: `failed`, pairs of a test and
why it failed, in their order; the test is empty for what became of the machine itself. Without ignored tests all are
run; with, it ends at the first failure of another test. (For no test to be ignored: "-".)
"""

import json
import sys
import time

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.timeouts import Watch, slowness
from deploy.machine.run import Run
from tests.boot.machine import machine
from tests.boot.test_ktest import MSI_DEVICE, ktest

LONGEST = 2400.0  # seconds
QUIET = 25.0  # seconds of given time without a result after which it hangs: tests take one or two


Failed = list[tuple[str, str]]


def _failed(run: Run, ignored: set[str]) -> Failed:
    return [(str(e["name"]), str(e["why"])) for e in run.events.of("test", ok=False) if e["name"] not in ignored]


def follow(run: Run, ignored: set[str]) -> Failed:
    count, watch, start = 0, Watch(run.pid), time.monotonic()
    while not run.events.of("ktest"):
        run.poll()
        done = run.events.of("test")
        last = f"after '{done[-1]['name']}'" if done else "before the first test"
        if ignored and (bad := _failed(run, ignored)):
            return bad
        if len(done) > count:
            count = len(done)
            watch.moved(last)
        if "kernel panic" in run.own_console:
            line = next(line for line in run.own_console.splitlines() if "kernel panic" in line)
            return [*_failed(run, ignored), ("", f"{line.strip()} ({last})")]
        if run.status is not None and not run.events.of("ktest"):
            return [*_failed(run, ignored), ("", f"the machine ended {last}: {run.reason()}")]
        if watch.quiet > QUIET * slowness() or time.monotonic() - start > LONGEST:
            return [*_failed(run, ignored), ("", f"hangs {last}")]
        time.sleep(0.02)
    return _failed(run, ignored)


def main(clusters: str, cores: str, kernel: str, *ignored: str) -> int:
    process.heed_signals()
    start = time.monotonic()
    try:
        with machine(ktest(int(clusters), int(cores), kernel), extra=MSI_DEVICE) as run:
            failed = follow(run, set(ignored))
    except Failure as failure:
        failed = [("", str(failure))]
    print(json.dumps({"failed": failed, "seconds": time.monotonic() - start}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
