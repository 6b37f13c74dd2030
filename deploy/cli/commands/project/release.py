# SPDX-License-Identifier: BSD-2-Clause
"""`skerry release`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from deploy.base import process
from deploy.base.choices import files, option
from deploy.base.paths import BUILD
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.setup import needs
from deploy.setup.build import ensure_built
from deploy.tools import release as releases
from topology.errors import InputError
from topology.units import MIB

To = Annotated[Path | None, option("--output -o FOLDER", "A new or empty folder (build/release/VERSION).",
                                   shell_complete=files())]


def release(output: To = None, quiet: Quiet = False, json: Json = None) -> None:
    """Make a release: bootable images of Redis, the SDK for C programs, the sources, checksums.

    The SDK holds a relocatable skerry-cc with libraries and headers. Archives made again from the same commit by the
    same compiler have the same bytes. Dates are the commit's.
    """
    process.heed_signals()
    folder = output or BUILD / "release" / version()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir()) and not (folder / releases.SUMS).is_file()):
        raise InputError(f"-o {folder}", "is there already, and is no release")
    screen = Output(quiet, json)
    needed = needs.COMPILER
    for what in releases.plans().values():
        needed |= needs.of_map(what.cluster_map, what.own)
    ensure_built(screen, needed)
    if releases.is_changed():
        screen.line("Files differ from the commit: this is no release of it.")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    with screen.progress("Releasing") as update:
        made = releases.make(folder, lambda what: update(description=what[:1].upper() + what[1:]))
    for path in made:
        screen.line(f"{path}: {path.stat().st_size / MIB:.1f} MiB")
    files = [{"name": name, "sha256": digest, "bytes": (folder / name).stat().st_size}
             for name, digest in releases.sums(folder).items()]
    screen.results({"skerry": version(), "command": "release", "folder": str(folder), "changed": releases.is_changed(),
                    "files": files})
