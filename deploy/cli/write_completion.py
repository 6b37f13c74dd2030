# SPDX-License-Identifier: BSD-2-Clause
"""`python -m deploy.cli.write_completion` writes down the completions of all commands, for the next TAB
(deploy/setup/tab.py)."""

from __future__ import annotations

from typer.main import get_command

from deploy.cli.completion import write
from deploy.cli.main import COMMANDS, make_app


def write_all() -> None:
    app = get_command(make_app())
    for called in (*COMMANDS, ""):  # the last one says that all are there
        write(app, called)


if __name__ == "__main__":
    write_all()
