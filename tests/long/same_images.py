# SPDX-License-Identifier: BSD-2-Clause
"""Images that anybody can build again: `build/venv/bin/python -m tests.long.same_images [--keep]`.

Builds the images of the comparison from a clone of HEAD in another folder: without a compiler's cache, with other
numbers of jobs, another time zone, language and umask. Their SHA-256 must be those of this tree's images, which its
ordinary build made. Takes as long as a first build of them: some five minutes on two cores.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.base.host import environment
from deploy.base.paths import BUILD, ROOT, THIRD_PARTY
from deploy.base.terminal import Output
from deploy.load.case import cases, needed
from deploy.load.comparison import Comparison
from deploy.results import fingerprint
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.machines.machine import Shape

OTHERWISE = {"CCACHE_DISABLE": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "USER": "somebody", "HOME": "/nonexistent"}
FOLDER = "another/folder with a longer name".replace(" ", "-")


def targets() -> list[str]:
    """Ninja's, of the images of `./skerry compare`, and what a modelled machine is."""
    images = needed(cases(Comparison(shape=Shape(2, 2)))) | needs.MODELLED
    return sorted(target for target in images.targets or () if fingerprint.name_of(Path(target)))


def clone(folder: Path) -> None:
    """HEAD, with the sources that this tree has fetched; unpacked anew, so that their times are others."""
    subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(folder)], check=True)
    (folder / "build").mkdir()
    shutil.copytree(THIRD_PARTY, folder / "build" / "third-party", symlinks=True, copy_function=shutil.copy)


def build(folder: Path, names: list[str]) -> None:
    there = os.environ | OTHERWISE
    for command in (["meson", "setup", "build"], ["ninja", "-C", "build", "-j3", *names]):
        subprocess.run(command, cwd=folder, env=there, umask=0o077, check=True, stdout=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.same_images",
                                     description="Builds the images in another folder and compares.")
    parser.add_argument("--keep", action="store_true", help="leave the other folder there, to look for what differs")
    keep = parser.parse_args().keep
    if str(environment()["commit"]).endswith("+"):
        print("files differ from HEAD, which the other folder has: commit them first", file=sys.stderr)
        return 2
    names = targets()
    ensure_built(Output(), needs.Needs(frozenset(names)))
    here = fingerprint.of_targets(names)
    scratch = Path(tempfile.mkdtemp(prefix="skerry-same-"))
    try:
        clone(scratch / FOLDER)
        build(scratch / FOLDER, names)
        there = fingerprint.of_targets(names, scratch / FOLDER / "build")
        for name in here:
            same = here[name] == there.get(name)
            print(f"{name}: {here[name][:16]} {'the same' if same else f'differs: {there.get(name)}'}")
        return 0 if here == there else 1
    finally:
        if keep:
            print(f"kept: {scratch / FOLDER} beside {BUILD}")
        else:
            shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
