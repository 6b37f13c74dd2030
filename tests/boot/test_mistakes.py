# SPDX-License-Identifier: BSD-2-Clause
"""Planted mistakes: a drawn sample of the catalogue, each of which its test must see."""

import subprocess
import sys
import zlib

import pytest

from deploy.base.paths import ROOT
from tests.mistakes.verdicts import FILE

SECONDS = 15  # of processor time


@pytest.mark.limit(1200)
def test_drawn() -> None:
    """planted mistakes: each of a drawn sample is seen by the test that is meant to see it"""
    seed = zlib.crc32(FILE.read_bytes())  # another with each change of the verdicts; the same in each run of a commit
    command = [sys.executable, "-m", "tests.mistakes", "--sample", str(SECONDS), "--seed", str(seed)]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "caught: " in done.stdout  # how many are tried is the host's time
