# SPDX-License-Identifier: BSD-2-Clause
"""A private copy of HEAD with a build directory of its own."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deploy.errors import Failure
from deploy.paths import ROOT, THIRD_PARTY
from tests.long.mutations.catalogue import Mutation


class BuildFailure(Failure):
    """The tree does not compile."""


class Workspace:
    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self.build = self.tree / "build"
        self._commit = folder / "commit"
        self.baseline = folder / "baseline.json"  # what the tests do without a mutation

    @property
    def commit(self) -> str | None:
        """The one that the copy is of."""
        return self._commit.read_text().strip() if self._commit.exists() else None

    def renew(self) -> None:
        """Makes it a copy of HEAD; files that are the same keep their time, so that little is built."""
        head = _git("rev-parse", "HEAD").decode().strip()
        self._commit.unlink(missing_ok=True)
        self.baseline.unlink(missing_ok=True)
        wanted: set[Path] = set()
        with tarfile.open(fileobj=io.BytesIO(_git("archive", head))) as archive:
            for member in archive.getmembers():
                path = self.tree / member.name
                file = archive.extractfile(member)
                if not file:
                    continue
                wanted.add(path)
                data = file.read()
                if not path.exists() or path.read_bytes() != data:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
                path.chmod(member.mode)
        for path in self.tree.rglob("*"):
            if path.is_file() and path not in wanted and not path.is_relative_to(self.build):
                path.unlink()
        if not (self.build / "build.ninja").exists():
            command = ["meson", "setup", str(self.build), str(self.tree), f"-Dthird_party={THIRD_PARTY}"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise Failure(f"meson setup of the copy: {done.stdout.strip().splitlines()[-1]}")
        self.make(["build.ninja"], 1)  # what the changed meson.build files declare
        self._commit.write_text(head + "\n")

    @contextmanager
    def broken(self, mutation: Mutation) -> Iterator[None]:
        path = self.tree / mutation.file
        whole = path.read_text()
        path.write_text(mutation.apply(whole))
        try:
            yield
        finally:
            path.write_text(whole)

    def make(self, targets: Sequence[str], jobs: int) -> None:
        """BuildFailure when it does not compile."""
        command = ["ninja", "-C", str(self.build), f"-j{jobs}", *targets]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            lines = (done.stdout + done.stderr).splitlines()
            errors = [line for line in lines if "error" in line] or lines
            raise BuildFailure(f"does not compile: {errors[0]}")


def _git(*words: str) -> bytes:
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(ROOT), *words], capture_output=True)
    if done.returncode:
        raise Failure(f"git {words[0]}: {done.stderr.decode().strip()}")
    return done.stdout
