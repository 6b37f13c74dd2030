# SPDX-License-Identifier: BSD-2-Clause
"""The clusters' control words in the loader's memory, which no manager can write."""

import re

from deploy.base.paths import BUILD
from deploy.base.symbols import Image
from deploy.deployment import modules
from deploy.machine import monitor
from deploy.machine.run import Run

_SHIFT = 32  # of the life in a word, cluster_control.h
_WORD = re.compile(r"0x[0-9a-f]+$", re.MULTILINE)


def control(cluster: int) -> int:
    """Returns the address of a cluster's control word in the loader."""
    return Image(BUILD / modules.LOADER).symbol("control").address + 128 * cluster


def life(run: Run, cluster: int) -> int:
    """1 at boot, one more each time that the cluster was loaded again."""
    (answer,) = monitor.human(run.command.monitor, f"xp /1gx {control(cluster):#x}")
    word = _WORD.search(answer.strip().replace("\r", ""))
    assert word, f"the monitor says {answer!r} of cluster {cluster}'s control word"
    return int(word[0], 16) >> _SHIFT
