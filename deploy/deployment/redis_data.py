# SPDX-License-Identifier: BSD-2-Clause
"""Settings of a Redis that keeps its data in a volume (`data` of `[redis]`)."""

from deploy.deployment.volumes import DATA


def settings(append: str, save: str, children: bool) -> list[str]:
    """Returns options of redis-server, to stand behind all others: they hold.

    Only a second process rewrites a log: without children an instance is not to try by itself.
    """
    log = ["--appendonly", "no"] if append == "no" else ["--appendonly", "yes", "--appendfsync", append]
    rewrites = [] if children else ["--auto-aof-rewrite-percentage", "0"]
    return ["--dir", DATA, *log, *rewrites, "--save", save]


def of_replica() -> list[str]:
    """Returns options of an instance with children and without a folder, to stand in front of others: as a replica it
    has no file for all data, for its own may take little of its heap, and keeps what it has until it has the rest."""
    return ["--repl-diskless-load", "swapdb"]
