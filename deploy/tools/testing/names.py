# SPDX-License-Identifier: BSD-2-Clause
"""Every name that `./skerry test --only WORD` compares with: as a plugin of pytest it prints those of Python tests."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import Any

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.tools.testing import meson_tests

MARK = "name of a test: "


def pytest_collection_finish(session: Any) -> None:
    from deploy.tools.testing.pytest_report import name_of  # wants a place for its report

    for item in session.items:
        print(f"{MARK}{name_of(item)} | {item.nodeid}".replace("\n", " "))


@cache
def of_python() -> tuple[str, ...]:
    """Returns the names of Python's tests, in small letters."""
    plugins = ("deploy.tools.testing.pytest_report", "deploy.tools.testing.names", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "--collect-only",
               *(word for plugin in plugins for word in ("-p", plugin))]
    command += ["--quiet", "--import-mode=importlib", "--rootdir", str(ROOT), "-c", os.devnull]
    command += [str(ROOT / "tests" / part) for part in ("structure", "unit", "boot")]
    with open(os.devnull, "w") as nowhere:
        # not those of a test that asks
        words = {"SKERRY_TEST_REPORT": str(nowhere.fileno()), "SKERRY_TEST_ONLY": "", "SKERRY_TEST_DONE": "0"}
        done = subprocess.run(command, cwd=ROOT, env=os.environ | words, pass_fds=[nowhere.fileno()],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        raise Failure(f"pytest cannot collect the tests: {(done.stdout + done.stderr)[-2000:]}")
    return tuple(line.removeprefix(MARK).lower() for line in done.stdout.splitlines() if line.startswith(MARK))


def every() -> list[str]:
    return [*of_python(), *(test.name.lower() for test in meson_tests.collect(""))]
