# SPDX-License-Identifier: BSD-2-Clause
"""`skerry man`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from deploy.base.atomic_files import write_text
from deploy.base.choices import argument, files, option
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.terminal import Quiet
from deploy.cli import man as manual
from deploy.cli.main import make_app
from topology.errors import InputError

PAGE = BUILD / "skerry.1"


def man(
    context: typer.Context,
    command: Annotated[list[str] | None, argument("COMMAND...", "Of one command, as in: man bench ipc.")] = None,
    output: Annotated[Path | None, option("--output -o FILE", "Write the page there and do not show it; into a folder, "
                                          "all pages.", shell_complete=files())] = None,
    quiet: Quiet = False,
) -> None:
    """Show the manual page, skerry(1), of all commands and options, or that of one command.

    The page is made from the help texts and kept as build/skerry.1. Where standard output is no terminal the page's
    source is printed.
    """
    pages = manual.pages(typer.main.get_command(make_app()))
    name = "-".join(["skerry", *(command or ())]) + ".1"
    if name not in pages:
        known = [one.removeprefix("skerry-").removesuffix(".1").replace("-", " ") for one in pages
                 if one.startswith("skerry-")]
        raise InputError(" ".join(command or ()), f"is no command; there are {', '.join(known)}")
    if output and output.is_dir():
        for one, content in pages.items():
            write_text(output / one, content)
        return
    text = pages[name]
    page = output or (PAGE.with_name(name) if command else PAGE)
    page.parent.mkdir(parents=True, exist_ok=True)
    write_text(page, text)
    if output:
        return
    if not sys.stdout.isatty():
        sys.stdout.write(text)
    elif shutil.which("man"):
        subprocess.run(["man", "-l", str(page)], check=False)
    else:
        raise Failure(f"no program 'man' to show the page with: install man-db, or read {page}")
