# SPDX-License-Identifier: BSD-2-Clause
"""`skerry docs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from deploy.base import process
from deploy.base.choices import files, option
from deploy.base.paths import BUILD
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.cli.documents import site
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError

SITE = BUILD / "site"

To = Annotated[Path | None, option("--output -o FOLDER", "Where the site goes (build/site).", shell_complete=files())]


def docs(output: To = None, quiet: Quiet = False, json: Json = None) -> None:
    """Make one static site of README, CONTRIBUTING and docs/, with a search that needs no server.

    Open its index.html in a browser. mkdocs-material is put into build/venv the first time, from PyPI at pinned hashes;
    the site itself loads nothing from the network.
    """
    process.heed_signals()
    folder = (output or SITE).resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir()) and not (folder / "index.html").is_file()):
        raise InputError(f"-o {output}", "is there already, and is no site")
    screen = Output(quiet, json)
    ensure_built(screen, needs.DOCS)
    with screen.progress("Making the site"):
        pages = site.make(folder)
    screen.line(f"{pages} pages: {folder / 'index.html'}")
    screen.results({"skerry": version(), "command": "docs", "site": str(folder), "pages": pages})
