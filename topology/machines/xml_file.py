# SPDX-License-Identifier: BSD-2-Clause
"""XML that a user names."""

from pathlib import Path

from topology import foreign
from topology.foreign import Element


def read_root(path: Path) -> Element:
    return foreign.xml(foreign.read(path, foreign.TOPOLOGY), str(path))
