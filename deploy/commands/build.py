# SPDX-License-Identifier: BSD-2-Clause
"""`skerry build`."""

from __future__ import annotations

import time

from deploy.output import Json, Output, Quiet, version
from deploy.paths import BUILD
from deploy.setup.build import ensure_built


def build(quiet: Quiet = False, json: Json = None) -> None:
    """Set up and build everything: Debian packages, third-party sources, kernel images, programs.

    Can be run at any time; where nothing is to do it takes a second or two.
    """
    output = Output(quiet, json)
    start = time.monotonic()
    ensure_built(output)
    seconds = time.monotonic() - start
    output.line(f"Built in {seconds:.1f} s: {BUILD}")
    output.results({"skerry": version(), "command": "build", "build": str(BUILD), "seconds": round(seconds, 3)})
