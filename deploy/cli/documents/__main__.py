# SPDX-License-Identifier: BSD-2-Clause
"""Writes the pages and pictures that are made from the command line and from recorded results."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.cli.documents import generated, pictures, result

DOCS = ROOT / "docs"
COMMAND = "build/venv/bin/python -m deploy.cli.documents"


def made() -> dict[Path, Callable[[], str]]:
    """Returns the function that makes each file of the tree."""
    texts: dict[Path, Callable[[], str]] = {DOCS / "pictures" / f"{name}.svg": draw
                                            for name, draw in pictures.PICTURES.items()}
    return texts | {page: partial(result.filled, page) for page in result.pages()}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.cli.documents",
        description="Writes the generated pages into build/docs/, docs/pictures/, and the published result where pages "
        "have it.",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--record", metavar="FILE.json", type=Path, help="publish these results of ./skerry compare")
    where.add_argument("--measure", action="store_true",
                       help="run ./skerry compare, some minutes, and publish its results")
    args = parser.parse_args()
    if args.record or args.measure:
        result.store(result.measure() if args.measure else json.loads(args.record.read_text()))
    for path, make in made().items():
        path.write_text(make(), encoding="utf-8")
    generated.write(generated.FOLDER)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"documents: {failure}")
