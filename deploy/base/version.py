# SPDX-License-Identifier: BSD-2-Clause
"""Skerry's version, from the one place that says it."""

import re

from deploy.base.paths import ROOT


def version() -> str:
    match = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())
    return match[1] if match else "unknown"
