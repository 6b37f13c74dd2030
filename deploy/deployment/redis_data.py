# SPDX-License-Identifier: BSD-2-Clause
"""Settings of a Redis that keeps its data in a volume (`data` of `[redis]`)."""

from deploy.deployment.volumes import DATA


def settings(append: str, save: str) -> list[str]:
    """Returns options of redis-server, to stand behind all others: they hold.

    Only a second process rewrites a log, and no Redis can fork here: it is not to try by itself.
    """
    log = ["--appendonly", "no"] if append == "no" else ["--appendonly", "yes", "--appendfsync", append]
    return ["--dir", DATA, *log, "--auto-aof-rewrite-percentage", "0", "--save", save]
