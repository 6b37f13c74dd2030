# SPDX-License-Identifier: BSD-2-Clause
"""SHA-256 of what a command booted: kernels, managers, programs, the loader, and the plugin that is a modelled machine.

Of files without symbols and debug information, which name folders. Two trees of one commit have the same, with the same
compiler (docs/testing.md).
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.deployment import modules
from deploy.setup import build

MODEL = Path("emulator/modelled.so")
TOOLS = ("gcc", "ld")
_NAMES = {path: name for name, path in modules.PROGRAMS.items()}


def name_of(target: Path) -> str | None:
    """The image that a file of the build folder is; None: it is none."""
    if target in _NAMES:
        return _NAMES[target]
    if target == modules.LOADER:
        return "loader"
    if target == MODEL:
        return "model"
    return target.stem if target.parent == modules.KERNELS and target.suffix == ".elf" else None


@cache
def digest(path: Path) -> str:
    """Returns the digest without symbols. Raises Failure for what is no executable: nothing else is an image."""
    with tempfile.TemporaryDirectory(prefix="skerry-strip-") as folder:
        stripped = Path(folder, "image")
        done = subprocess.run(
            ["strip", "--strip-all", "--remove-section=.note.gnu.build-id", "-o", str(stripped), str(path)],
            capture_output=True, text=True
        )
        if done.returncode:
            raise Failure(f"{path}: cannot be stripped: {done.stderr.strip()}")
        return hashlib.sha256(stripped.read_bytes()).hexdigest()


def of_targets(targets: Iterable[str], build: Path = BUILD) -> dict[str, str]:
    """Returns digests by the image's name, of targets that are images and exist."""
    images = {name: build / target for target in targets if (name := name_of(Path(target)))
              and (build / target).is_file()}
    return {name: digest(path) for name, path in sorted(images.items())}


def target_of(name: str) -> Path | None:
    """The file of the build folder that an image is; None: there is no image of this name."""
    others = {"loader": modules.LOADER, "model": MODEL} | modules.PROGRAMS
    if name in others:
        return others[name]
    return modules.KERNELS / f"{name}.elf" if name.startswith("kernel-") else None


def files(build: Path = BUILD) -> frozenset[str]:
    """Returns the files of the build folder that are images."""
    kernels = {path.relative_to(build) for path in (build / modules.KERNELS).glob("*.elf")}
    return frozenset(str(path) for path in kernels | _NAMES.keys() | {modules.LOADER, MODEL} if name_of(path))


def of_names(names: Iterable[str], build: Path = BUILD) -> dict[str, str]:
    """Returns digests of the images that exist."""
    return of_targets((str(target) for name in names if (target := target_of(name))), build)


def together(images: dict[str, str]) -> str:
    """One for all."""
    return hashlib.sha256("".join(f"{name} {images[name]}\n" for name in sorted(images)).encode()).hexdigest()


@cache
def toolchain() -> dict[str, str]:
    """Returns what decides about an image's code beside its sources: the first line of each program's version."""
    versions = {name: subprocess.run([name, "--version"], capture_output=True, text=True).stdout for name in TOOLS
                if shutil.which(name)}
    return {name: text.splitlines()[0] for name, text in versions.items() if text}


def used() -> dict[str, Any]:
    """Returns a results file's fields on the images that its command had built; nothing where it needed none."""
    targets = [target for needed, _ in build.made() for target in needed.targets or ()]
    images = of_targets(targets)
    return {"images": images, "images_sha256": together(images), "toolchain": toolchain()} if images else {}
