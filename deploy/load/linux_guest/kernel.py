# SPDX-License-Identifier: BSD-2-Clause
"""Debian's cloud kernel: fetched as a package, unpacked without installing it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.base.atomic_files import whole_folder
from deploy.base.errors import Failure
from deploy.base.paths import THIRD_PARTY
from deploy.setup import apt

META_PACKAGE = "linux-image-cloud-amd64"
NEEDED_MODULES = ("virtio_pci", "virtio_net")


@dataclass(frozen=True)
class Kernel:
    release: str  # 6.1.0-32-cloud-amd64
    image: Path
    modules: tuple[Path, ...]  # each after what it needs


def fetch(folder: Path = THIRD_PARTY / "linux", modules: Sequence[str] = NEEDED_MODULES) -> Kernel:
    """The kernel in `folder`, with these modules; downloads it where there is none."""
    kernel = _find(folder, modules)
    if kernel is None:
        _download(folder)
        kernel = _find(folder, modules)
    if kernel is None:
        raise Failure(f"{folder}: Debian's kernel package holds no kernel")
    return kernel


def _package() -> str | None:
    done = subprocess.run(["apt-cache", "depends", META_PACKAGE], capture_output=True, text=True)
    match = re.search(r"^ *Depends: (linux-image-\S+)$", done.stdout, re.MULTILINE)
    return match[1] if match else None


def _download(folder: Path) -> None:
    package = _package()
    if package is None:
        apt.refresh(lambda text: print(f"skerry: {text}", file=sys.stderr))
        package = _package()
    if package is None:
        raise Failure(f"apt knows no {META_PACKAGE}")
    with whole_folder(folder) as fresh:  # a kernel that lacks a module would pass for one that has it built in
        apt.run_apt(["download", package], as_root=False, cwd=fresh)
        debs = list(fresh.glob(f"{package}_*.deb"))
        if not debs:
            raise Failure(f"apt-get download {package} left no file in {fresh}")
        done = subprocess.run(["dpkg-deb", "-x", str(debs[0]), str(fresh)], capture_output=True, text=True)
        if done.returncode:
            first = next(iter(done.stderr.strip().splitlines()), f"status {done.returncode}")
            raise Failure(f"{debs[0].name} cannot be unpacked: {first}")


def _find(folder: Path, modules: Sequence[str]) -> Kernel | None:
    images = sorted((folder / "boot").glob("vmlinuz-*"))
    if not images:
        return None
    image = images[-1]
    release = image.name.removeprefix("vmlinuz-")
    files = {path.stem.replace("-", "_"): path for path in (folder / "lib/modules" / release).rglob("*.ko")}
    ordered: dict[str, Path] = {}
    for name in modules:
        _add_with_dependencies(name, files, ordered)
    return Kernel(release, image, tuple(ordered.values()))


def _add_with_dependencies(name: str, files: dict[str, Path], ordered: dict[str, Path]) -> None:
    """A module that has no file is built into the kernel."""
    if name in ordered or name not in files:
        return
    # .modinfo: strings that zero bytes separate, one of them "depends=a,b"
    match = re.search(rb"\0depends=([^\0]*)\0", files[name].read_bytes())
    for dependency in (match[1].decode().split(",") if match and match[1] else []):
        _add_with_dependencies(dependency.replace("-", "_"), files, ordered)
    ordered[name] = files[name]
