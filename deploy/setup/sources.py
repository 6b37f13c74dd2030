# SPDX-License-Identifier: BSD-2-Clause
"""Third-party sources: fetched from the pool of Debian's archive, checked, unpacked to build/third-party/NAME."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from deploy.base.atomic_files import whole_folder, write_text
from deploy.base.errors import Failure
from deploy.base.paths import THIRD_PARTY
from deploy.base.terminal import Output
from deploy.setup import apt

LIST = Path(__file__).with_name("sources.toml")
DOWNLOADS = THIRD_PARTY / "downloads"
STAMP = ".skerry-sha256"  # in the unpacked tree: the tarball that it came from, and the parts of it


@dataclass(frozen=True)
class Source:
    name: str
    tarball: str
    sha256: str
    example: str | None = None  # of examples/, or a library (libraries.py), which alone needs it; None: the build does
    inner: str | None = None  # the tarball within the tarball that has the sources
    parts: tuple[str, ...] = ()  # of its first folder, what is unpacked; nothing: all
    server: str | None = None  # of [redis], which alone needs it

    @property
    def tree(self) -> Path:
        return THIRD_PARTY / self.name

    @property
    def pool_path(self) -> str:
        """Returns where Debian's archive keeps the file, below its address (Debian's archive layout: source packages of
        a first letter have a folder, those whose names begin with "lib" one of four letters)."""
        letters = self.name[:4] if self.name.startswith("lib") else self.name[:1]
        return f"pool/main/{letters}/{self.name}/{self.tarball}"

    @property
    def made_of(self) -> str:
        """Returns what the stamp of an unpacked tree has."""
        return " ".join([self.sha256, *self.parts])

    def is_unpacked(self) -> bool:
        stamp = self.tree / STAMP
        return stamp.exists() and stamp.read_text().strip() == self.made_of


def needed(example: str | None = None, servers: Collection[str] = ()) -> list[Source]:
    """Lists the sources that the build needs for these servers beside Redis, or an example of this name."""
    sources = [Source(name, **fields | {"parts": tuple(fields.get("parts", ()))})
               for name, fields in tomllib.loads(LIST.read_text()).items()]
    return [source for source in sources
            if source.example == example and (not source.server or source.server in servers)]


def is_intact(source: Source) -> bool:
    path = DOWNLOADS / source.tarball
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == source.sha256


def download(source: Source) -> None:
    """Downloads from the first archive that has the file. A release's archive has what is in use in any other release,
    too. Raises Failure with what the first archive answered."""
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    by_hand = f"put a file of SHA-256 {source.sha256} there yourself: {DOWNLOADS / source.tarball}"
    answers = []
    for archive in apt.debian_archives():
        try:
            return apt.download_file(f"{archive}/{source.pool_path}", DOWNLOADS / source.tarball, source.sha256)
        except Failure as failure:
            answers.append(str(failure))
    raise Failure(f"{answers[0] if answers else 'apt knows no archive of Debian'}; {by_hand}")


def _touch(tree: Path) -> None:
    """Gives all files the time of now: ninja compiles what is newer than its object, and a tarball's times are
    old. It is one time, or a makefile would take one of them for what another was made of."""
    now = time.time_ns()
    for path in tree.rglob("*"):
        os.utime(path, ns=(now, now), follow_symlinks=False)


def _tar(source: Source, words: list[str]) -> None:
    done = subprocess.run(["tar", *words, "--no-same-owner"], capture_output=True, text=True)
    if done.returncode:
        # the last says that there was an error
        first = next(iter(done.stderr.strip().splitlines()), f"status {done.returncode}")
        raise Failure(f"{source.tarball} cannot be unpacked: {first}")


def unpack(source: Source) -> None:
    """Unpacks a source's tarball into its tree, or nothing; raises Failure with the first line of tar's."""
    with whole_folder(source.tree) as fresh:
        archive = DOWNLOADS / source.tarball
        if source.inner:
            _tar(source, ["-xf", str(archive), "-C", str(fresh), "--strip-components=1", "--wildcards",
                          f"*/{source.inner}"])
            archive = fresh / source.inner
        chosen = ["--exclude=testsuite/*/*", "--wildcards", "--no-wildcards-match-slash"] if source.parts else []
        _tar(source, ["-xf", str(archive), "-C", str(fresh), "--strip-components=1", *chosen,
                      *(f"*/{part}" for part in source.parts)])
        if source.inner:
            archive.unlink()
        if source.example is None:
            _touch(fresh)
        write_text(fresh / STAMP, source.made_of + "\n")


def ensure(output: Output, example: str | None = None, servers: Collection[str] = ()) -> None:
    for source in needed(example, servers):
        if source.is_unpacked():
            continue
        if not is_intact(source):
            with output.progress(f"Downloading {source.tarball}"):
                download(source)
        with output.progress(f"Unpacking {source.name}"):
            unpack(source)
