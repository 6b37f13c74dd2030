# SPDX-License-Identifier: BSD-2-Clause
"""Writes the pages and pictures that are made from the command line and from recorded results."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import typer

from deploy.cli import make_app
from deploy.documents import cli_page, pictures
from deploy.errors import Failure
from deploy.paths import ROOT

DOCS = ROOT / "docs"
COMMAND = "build/venv/bin/python -m deploy.documents"


def made() -> dict[Path, Callable[[], str]]:
    """What makes each file."""
    found: dict[Path, Callable[[], str]] = {
        DOCS / "generated" / "cli.md": lambda: cli_page.page(typer.main.get_command(make_app())),
    }
    for name, draw in pictures.PICTURES.items():
        found[DOCS / "pictures" / f"{name}.svg"] = draw
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.documents", description="Writes docs/generated/cli.md and docs/pictures/.")
    parser.add_argument("--record", metavar="FILE.json", type=Path, help="take the comparison's picture and table from these results of compare")
    if given := parser.parse_args().record:
        pictures.RECORD.write_text(json.dumps(pictures.record(json.loads(given.read_text())), indent=1) + "\n")
        print(pictures.table(), end="")  # for README.md
    for path, make in made().items():
        path.write_text(make(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"documents: {failure}")
