# SPDX-License-Identifier: BSD-2-Clause
"""Every name that `./skerry test --only WORD` compares with: as a plugin of pytest it prints those of Python tests."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from deploy.paths import ROOT
from tests import meson_tests

MARK = "name of a test: "


def pytest_collection_finish(session: pytest.Session) -> None:
    from tests.pytest_report import name_of  # wants a place for its report

    for item in session.items:
        print(f"{MARK}{name_of(item)} | {item.nodeid}".replace("\n", " "))


def every() -> list[str]:
    """In small letters."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "tests.pytest_report", "-p", "tests.pages.names", "-p", "no:cacheprovider"]
    command += ["--quiet", "--import-mode=importlib", "--rootdir", str(ROOT), "-c", os.devnull, *(str(ROOT / "tests" / part) for part in ("structure", "unit", "boot"))]
    with open(os.devnull, "w") as nowhere:
        done = subprocess.run(command, cwd=ROOT, env=os.environ | {"SKERRY_TEST_REPORT": str(nowhere.fileno())}, pass_fds=[nowhere.fileno()],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = [line.removeprefix(MARK) for line in done.stdout.splitlines() if line.startswith(MARK)]
    return [name.lower() for name in (*found, *(test.name for test in meson_tests.collect("")))]
