# SPDX-License-Identifier: BSD-2-Clause
"""The programs of cluster-kernel/bench: one for each kernel, each prints one line of JSON."""

import json
import subprocess
from typing import Any

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.process import run_within
from deploy.setup import needs
from deploy.setup.build import require

FOLDER = BUILD / "cluster-kernel" / "bench"
CORES = "bench-cores"
TIMEOUT = 120  # seconds of given time; the longest takes a few


def of_kernel(kernel: str) -> str:
    """`clh`, or `clh+stat`, which counts."""
    return f"kernel-bench-{kernel}"


def run(name: str, *bench: str, **options: int | str) -> dict[str, Any]:
    require(needs.native(name))
    command = [str(FOLDER / name), *bench, *(f"{key}={value}" for key, value in options.items())]
    try:
        done = run_within(command, TIMEOUT)
    except FileNotFoundError:
        raise Failure(f"{command[0]} is missing; ./skerry build makes it") from None
    except subprocess.TimeoutExpired:
        raise Failure(f"{name} {' '.join(bench)} did not end within {TIMEOUT} s") from None
    try:
        result: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        message = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
        raise Failure(f"{name} {' '.join(bench)}: {message}") from None
    check(name, result)
    if done.returncode:
        raise Failure(f"{name} {' '.join(bench)}: it ended with status {done.returncode}")
    return result


def check(name: str, result: dict[str, Any]) -> None:
    """Everything that must add up."""
    entries = result.get("all_entries")
    if "counter" in result and result["counter"] != entries:
        raise Failure(f"{name}: the lock does not exclude: {entries} entries, and {result['counter']} were counted "
                      f"in it")
    counted = result.get("counted")
    if not counted:
        return
    if counted["entries"] != entries:
        raise Failure(f"{name}: {entries} entries were made, and the kernel counted {counted['entries']}")
    locks, transactions = counted["locks"], counted["transactions"]
    # An entry is a reader first, where there are some; a writer it becomes afterwards.
    acquisitions = sum(locks[name]["acquisitions"] for name in ("kernel", "read") if name in locks)
    if result["regime"] == "none":
        expected = 0
    elif result["regime"] == "rtm":
        expected = transactions["fallbacks"]
        if transactions["committed"] + expected != entries:
            raise Failure(f"{name}: {transactions['committed']} commits and {expected} fallbacks are not {entries} "
                          f"entries")
        aborted = sum(transactions["aborted"].values())
        begun, ended = transactions["begun"], transactions["committed"] + aborted
        if begun != ended:
            raise Failure(f"{name}: begun transactions ({begun}) != committed + aborted ({ended})")
    else:
        expected = entries
    if acquisitions != expected:
        raise Failure(f"{name}: the kernel's lock was taken {acquisitions} times, not {expected}")
    for lock, of in locks.items():
        if of["conflicts"] > of["acquisitions"]:
            raise Failure(f"{name}: more conflicts of '{lock}' than acquisitions")
