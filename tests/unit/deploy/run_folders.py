# SPDX-License-Identifier: BSD-2-Clause
"""Folders as those of machines that run, without a machine."""

import os
import socket
from pathlib import Path

from deploy.base.paths import ROOT
from deploy.machine.run_folder import TREE


def run_folder_of(place: Path, pid: int | None = None, tree: str = str(ROOT)) -> Path:
    """A private folder with a monitor's socket, of a process that lives: this one, or `pid`."""
    folder = place / f"skerry-run-{pid or os.getpid()}-1"
    folder.mkdir(0o700)
    (folder / TREE).write_text(tree)
    name = folder / "qmp.sock"
    with socket.socket(socket.AF_UNIX) as monitor:
        where = os.getcwd()
        os.chdir(folder)  # a socket's path has 107 characters at most
        try:
            monitor.bind(name.name)
        finally:
            os.chdir(where)
    return folder
