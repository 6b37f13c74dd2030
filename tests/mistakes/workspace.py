# SPDX-License-Identifier: BSD-2-Clause
"""A private copy of HEAD with a build directory of its own."""

import io
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.paths import ROOT, THIRD_PARTY
from tests.mistakes.catalogue import Mistake, Placed, sources
from tests.mistakes.running import run

BUILD_LIMIT = 3600.0  # seconds
# Hosted kernels are compiled faster than they ship: (file, text, instead)
FASTER = [("cluster-kernel/arch-hosted/meson.build", "'-O2', '-g'", "'-O1', '-g0'")]


class BuildFailure(Failure):
    """The tree does not compile."""


class Workspace:
    def __init__(self, folder: Path, compilers: int, stop: threading.Event) -> None:
        self.tree = folder / "tree"
        self.build = self.tree / "build"
        self.compilers = compilers
        self.stop = stop
        self.commit = ""
        self._placed: Placed | None = None  # the mistake that is in it
        self._sound: dict[Path, str] = {}  # the files that it changes, without it

    def renew(self) -> None:
        """Makes it a copy of HEAD, whole; files that are the same keep their time, so that little is built."""
        self.commit = _git("rev-parse", "HEAD").decode().strip()
        kept: set[Path] = set()
        with tarfile.open(fileobj=io.BytesIO(_git("archive", self.commit))) as archive:
            for member in archive.getmembers():
                path = self.tree / member.name
                file = archive.extractfile(member)
                if not file:
                    continue
                kept.add(path)
                data = _faster(member.name, file.read())
                if not path.exists() or path.read_bytes() != data:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
                path.chmod(member.mode)
        for path in self.tree.rglob("*"):
            if path.is_file() and path not in kept and not path.is_relative_to(self.build):
                path.unlink()
        if not (self.build / "build.ninja").exists():
            command = ["meson", "setup", str(self.build), str(self.tree), f"-Dthird_party={THIRD_PARTY}"]
            done = run(command, self.tree, self.stop, wall=BUILD_LIMIT)
            if done.status:
                raise Failure(f"meson setup of the copy: {(done.printed.strip() or 'no output').splitlines()[-1]}")
        self.make(["build.ninja"])  # what the changed meson.build files declare

    @contextmanager
    def broken(self, mistake: Mistake) -> Iterator[str]:
        """Yields the digest of what is tried: HEAD's text may be another than the list was read beside."""
        self._sound = {change.file: (self.tree / change.file).read_text() for change in mistake.changes}
        self._placed = placed = mistake.place(sources(self.tree))
        self._write(placed.texts)
        try:
            yield placed.digest
        finally:
            self._write(self._sound)
            self._placed = None

    @contextmanager
    def mended(self, mistake: Mistake) -> Iterator[None]:
        """Takes the mistake back for a while. The caller is within broken()."""
        assert self._placed, "mended() outside of broken()"
        self._write(self._sound)
        try:
            yield
        finally:
            self._write(self._placed.texts)

    def _write(self, texts: Mapping[Path, str]) -> None:
        for file, text in texts.items():
            (self.tree / file).write_text(text)

    def make(self, targets: Sequence[str]) -> None:
        """BuildFailure when it does not compile."""
        command = ["ninja", "-C", str(self.build), f"-j{self.compilers}", *targets]
        done = run(command, self.tree, self.stop, wall=BUILD_LIMIT)
        if done.status:
            lines = (done.printed + done.complaint).splitlines()
            errors = [line for line in lines if "error" in line] or lines or ["ninja said nothing"]
            raise BuildFailure(f"does not compile: {errors[0]}")


def _faster(name: str, data: bytes) -> bytes:
    for file, before, after in FASTER:
        if file == name:
            if data.count(before.encode()) != 1:
                raise Failure(f"{file}: {before} does not stand there once: mend FASTER in tests/mistakes/workspace.py")
            return data.replace(before.encode(), after.encode())
    return data


def _git(*words: str) -> bytes:
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(ROOT), *words], capture_output=True)
    if done.returncode:
        raise Failure(f"git {words[0]}: {done.stderr.decode().strip()}")
    return done.stdout
