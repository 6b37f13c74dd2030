# SPDX-License-Identifier: BSD-2-Clause
"""Third-party sources: fetched from Debian's source packages, checked, unpacked to build/third-party/NAME."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from deploy.base.atomic_files import whole_folder, write_text
from deploy.base.errors import Failure
from deploy.base.paths import THIRD_PARTY
from deploy.base.terminal import Output
from deploy.setup import apt

LIST = Path(__file__).with_name("sources.toml")
DOWNLOADS = THIRD_PARTY / "downloads"
STAMP = ".skerry-sha256"  # in the unpacked tree: the tarball that it came from


@dataclass(frozen=True)
class Source:
    name: str
    version: str  # Debian revision to ask for first
    tarball: str
    sha256: str
    example: str | None = None  # of examples/, which alone needs it; None: the build does

    @property
    def tree(self) -> Path:
        return THIRD_PARTY / self.name

    def is_unpacked(self) -> bool:
        stamp = self.tree / STAMP
        return stamp.exists() and stamp.read_text().strip() == self.sha256


def needed(example: str | None = None) -> list[Source]:
    """Lists the sources that the build needs, or an example of this name."""
    sources = [Source(name, **fields) for name, fields in tomllib.loads(LIST.read_text()).items()]
    return [source for source in sources if source.example == example]


def is_intact(source: Source) -> bool:
    path = DOWNLOADS / source.tarball
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == source.sha256


def versions_with_tarball(showsrc: str, sha256: str) -> list[str]:
    """The Debian revisions, of `apt-cache showsrc`'s text, whose files include a tarball of this hash."""
    versions = []
    for stanza in re.split(r"\n\s*\n", showsrc):
        version = re.search(r"^Version: (\S+)", stanza, re.MULTILINE)
        if version and re.search(rf"^ {sha256} ", stanza, re.MULTILINE):
            versions.append(version[1])
    return versions


def debian_versions(source: Source) -> list[str]:
    done = subprocess.run(["apt-cache", "showsrc", source.name], capture_output=True, text=True)
    versions = versions_with_tarball(done.stdout, source.sha256)
    return sorted(versions, key=lambda version: version != source.version)  # the pinned one first


def download(source: Source, say: apt.Say) -> None:
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    versions = debian_versions(source)
    if not versions:
        apt.refresh(say)
        versions = debian_versions(source)
    if not versions:
        raise Failure(f"no Debian source package of {source.name} has {source.tarball} with the pinned SHA-256")
    command = ["source", "--download-only", f"{source.name}={versions[0]}"]
    try:
        apt.run_apt(command, as_root=False, cwd=DOWNLOADS)
    except Failure:
        apt.refresh(say)  # the lists may name files that the archive has replaced
        apt.run_apt(command, as_root=False, cwd=DOWNLOADS)
    if not is_intact(source):
        raise Failure(f"{DOWNLOADS / source.tarball}: SHA-256 is not the pinned {source.sha256}")


def unpack(source: Source) -> None:
    with whole_folder(source.tree) as fresh:
        tar = ["tar", "-xf", str(DOWNLOADS / source.tarball), "-C", str(fresh), "--strip-components=1",
               "--no-same-owner"]
        done = subprocess.run(tar, capture_output=True, text=True)
        if done.returncode:
            # the last says that there was an error
            first = next(iter(done.stderr.strip().splitlines()), f"status {done.returncode}")
            raise Failure(f"{source.tarball} cannot be unpacked: {first}")
        write_text(fresh / STAMP, source.sha256 + "\n")


def ensure(output: Output, example: str | None = None) -> None:
    for source in needed(example):
        if source.is_unpacked():
            continue
        if not is_intact(source):
            with output.progress(f"Downloading {source.name} {source.version}"):
                download(source, output.step)
        with output.progress(f"Unpacking {source.name}"):
            unpack(source)
