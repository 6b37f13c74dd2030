# SPDX-License-Identifier: BSD-2-Clause
"""A mirror of the tree and its build directory, made of links, in which one mistake at a time is built.

The sound objects are those of the build directory. A file with a mistake takes the place of its link; what reads it is
compiled and linked anew into the mirror, by the commands that Ninja has for it, and nothing outside of the mirror
changes.
"""

import os
import re
import shutil
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from deploy.base.paths import BUILD, ROOT
from tests.mistakes.graph import Graph, Step
from tests.mistakes.running import run

COMPILING = 1200.0  # seconds, after which a compiler is stopped
# No lines for a debugger; no warnings of what a mistake leaves unused, or without a choice. (And no compiler's cache:
# nobody compiles a mistake again.)
FASTER = " -g0 -w -Werror=implicit-function-declaration"
_DEPENDENCIES = re.compile(r" -M[QF] '?([^ ']+)'?")
_TOGETHER = re.compile(r"-unity\d+\.c$")  # of sources that are compiled in one go: Meson includes them by whole paths


class BuildFailure(Exception):
    """The mistake does not compile."""


class Mirror:
    def __init__(self, folder: Path, graph: Graph, stop: threading.Event, root: Path = ROOT,
                 build: Path = BUILD) -> None:
        """`folder` is made anew; the build directory lies within the tree."""
        self.folder, self.graph = folder, graph
        self._root, self._real, self._stop = root, build, stop
        self.build = folder / build.relative_to(root)
        self._changed: list[Path] = []  # of the mirror, which are no links now
        self._texts: Mapping[Path, str] = {}  # that files of the tree have here
        self._dirty: set[str] = set()  # these files, and what has been made of them
        shutil.rmtree(folder, ignore_errors=True)
        self._link_sources()
        self._link(self.build, build)

    def _link_sources(self) -> None:
        """Folders are folders, files are links: `..` leads to where it leads in the tree."""
        for path, folders, files in os.walk(self._root):
            here = Path(path)
            folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"
                          and here / name != self._real]
            there = self.folder / here.relative_to(self._root)
            there.mkdir(parents=True)
            for name in files:
                (there / name).symlink_to(here / name)

    @staticmethod
    def _link(there: Path, real: Path) -> None:
        """A folder of links to all that the real one has."""
        there.mkdir()
        for entry in real.iterdir():
            if entry.name != "mistakes":  # where mirrors are
                (there / entry.name).symlink_to(entry)

    def text(self, words: str) -> str:
        """A command or an argument, with the mirror in place of the tree."""
        return re.sub(rf"{re.escape(str(self._root))}(?=/|$)", str(self.folder), words)

    def _own(self, path: Path) -> None:
        """Makes room for a file that is to be written: no folder on the way to it is a link any more."""
        at = self.folder
        for name in path.relative_to(self.folder).parts[:-1]:
            at /= name
            if at.is_symlink():
                real = at.resolve()
                at.unlink()
                self._link(at, real)
            elif not at.exists():
                at.mkdir()
        path.unlink(missing_ok=True)
        self._changed.append(path)

    def restore(self) -> None:
        """Takes back all that has been changed."""
        self._texts, self._dirty = {}, set()
        while self._changed:
            path = self._changed.pop()
            path.unlink(missing_ok=True)
            real = self._root / path.relative_to(self.folder)
            if real.exists():
                path.symlink_to(real)

    def make(self, changed: Mapping[Path, str], targets: Iterable[str]) -> set[str]:
        """Builds the targets with other texts of these files of the tree; further targets of the same texts are built
        of what is there. Returns which parts of the targets differ from the sound ones."""
        if changed != self._texts:
            self._write(changed)
        steps = self.graph.steps_of(targets)
        self.graph.learn(steps)
        made = set[str]()
        for step in steps:
            if step.outputs[0] not in self._dirty and not self._dirty.isdisjoint(self.graph.reads(step)):
                if step.command:
                    self._run(step)
                self._dirty.update(step.outputs)
            made |= self._dirty.intersection(step.outputs)
        return made

    def objects(self) -> dict[str, bytes]:
        """Returns the object files that have been compiled anew for the texts that are in place."""
        return {path: (self.build / path).read_bytes() for path in sorted(self._dirty) if path.endswith(".o")}

    def _write(self, changed: Mapping[Path, str]) -> None:
        self.restore()
        for file, text in changed.items():
            self._own(self.folder / file)
            (self.folder / file).write_text(text)
        self._texts, self._dirty = changed, {self.graph.relative(self._root / file) for file in changed}

    def _run(self, step: Step) -> None:
        if "--unpickle" in step.command:
            raise BuildFailure(f"Meson makes {step.outputs[0]} in the build directory itself, as it does where an "
                               f"argument has a line's end")
        for path in {*step.outputs, *_DEPENDENCIES.findall(step.command)}:
            self._own(self.build / path)
        for path in filter(_TOGETHER.search, step.inputs):
            self._own(self.build / path)
            (self.build / path).write_text(self.text((self._real / path).read_text()))
        command = self.text(step.command) + (FASTER if step.compiles else "")
        done = run(["env", "CCACHE_DISABLE=1", "sh", "-c", command], self.build, self._stop, wall=COMPILING)
        if done.status:
            lines = [line for line in (done.complaint + done.printed).splitlines() if line.strip()] or ["no output"]
            telling = [line for line in lines if "error" in line or "undefined" in line] or lines
            raise BuildFailure(f"does not build: {telling[0].strip().replace(str(self.folder) + '/', '')}")
