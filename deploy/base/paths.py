# SPDX-License-Identifier: BSD-2-Clause
"""Paths of the tree and of the build."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"          # Meson's build directory, and everything else that is made
THIRD_PARTY = BUILD / "third-party"
LOGS = BUILD / "log"
RESULTS = BUILD / "results"
