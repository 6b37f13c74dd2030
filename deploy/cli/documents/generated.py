# SPDX-License-Identifier: BSD-2-Clause
"""Pages that are made from the tree and are not in git: docs/generated.md names them for readers."""

from __future__ import annotations

from pathlib import Path

import typer

from deploy.base.atomic_files import write_text
from deploy.base.paths import BUILD
from deploy.cli.documents import cli_page
from deploy.cli.main import make_app

FOLDER = BUILD / "docs"


def cli() -> str:
    return cli_page.page(typer.main.get_command(make_app()))


def abi() -> str:
    from deploy.tools.abi_reference import reference  # its libclang is not in every environment

    return reference.generate()


PAGES = {"cli": cli, "abi": abi}


def write(folder: Path, *names: str) -> None:
    """Writes the pages of these names, all of them where none is named."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or PAGES:
        write_text(folder / f"{name}.md", PAGES[name]())
