# SPDX-License-Identifier: BSD-2-Clause
"""Runs a command of a page as a reader would: in a folder in which the tree's own files are found.

Where a page names a file of the reader's, there is one; where a command looks at a running machine, one runs. Machines
are found by their folders in TMPDIR, and the reader has one of his own: other machines of this host are not in the way.
"""

import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import IO

from deploy.base.paths import ROOT
from deploy.base.timeouts import Clock, children_of, slowness
from deploy.cli import main
from tests.pages.lines import OWN
from tests.pages.ways import Command

# The same command, less of it: a value of an option in place of the page's.
LESS = {("fuzz", "--time"): "20", ("fuzz", ""): ("--time", "20"), ("top", "--count"): "3", ("top", "--interval"): "1"}
MACHINES = {"machine.xml": "pack:2 [numa(memory=16GB)] l3:1 core:4 pu:1",
            "epyc.xml": "pack:1 numa:2(memory=16GB) l3:2 core:4 pu:1"}
WATCHED = 'shutdown = "never"\n[clusters]\nstatistics = true\n[redis]\n'
LOADED = "[clusters]\nstatistics = true\n[redis]\n[ycsb]\nclients = 1\nrecords = 100\noperations = 100\n"
SPARING = (
    'shutdown = "never"\n[machine]\ncores = 3\n[clusters]\nrestart = "on-failure"\nspare-cores = true\n[redis]\ncpus = [0, 3]\n'
)
DRIVEN = '[network]\ndriver = "e1000e"\n[redis]\n[ycsb]\nclients = 1\nrecords = 100\noperations = 100\n'
# what each wants to find
ONLY = {"granularity": ("watched.toml", "--lock", "dynamic"), "map": ("sparing.toml",), "move": ("sparing.toml",)}
STAYS = re.compile(r"Ctrl-C ends it|Stopped\. ")  # the last thing that one with --keep or --gdb says
# a core that holds the lock does not lose its host core to one that waits for it
TURNS = ("-accel", "tcg,thread=single")
CORPUS = "cluster-kernel/test/kernel.corpus"  # `fuzz --merge` changes it
OVER = "it is now safe to switch off"  # the last thing that a machine says by itself
SECONDS = ("topology", "plan", "model", "completion", "report", "paper", "image")  # they boot nothing
WIDTH = 80  # columns of the terminal
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
STILL = 600.0  # seconds of given time in which the processes of a command use none of it


class Wrong(Exception):
    """A command failed that should not have; its words."""


def less(words: Sequence[str]) -> tuple[str, ...]:
    shorter = list(words)
    for (name, option), value in LESS.items():
        if shorter[0] == name and option in shorter:
            shorter[shorter.index(option) + 1] = str(value)
    if shorter[0] == "fuzz" and not {"--time", "--runs"} & set(shorter):
        shorter += LESS["fuzz", ""]
    return tuple(shorter)


def _own(before: str, word: str) -> str:
    """Returns what a reader writes in the place of a page's word."""
    if (before, word) == ("--from", "FILE"):
        return "machine.xml"
    if (before, word) == ("fit", "RESULTS.json"):
        return "scale.json"
    return {"FILE.dts": "map.dts", "examples/NAME": "examples/lua"}.get(word) or OWN.get(word, word)


@contextmanager
def screen(file: IO[bytes]) -> Iterator[int]:
    """A terminal, which keeps what it is shown in a file."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))

    def keep() -> None:
        try:
            while data := os.read(ours, 65536):
                file.write(data)
        except OSError:  # as Linux says that nobody has it open any more
            file.flush()

    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        yield theirs
    finally:
        os.close(theirs)
        keeper.join()
        os.close(ours)


@contextmanager
def unchanged(file: Path) -> Iterator[None]:
    """Puts a file of the tree back as it was: a campaign leaves no changes behind."""
    before = file.read_bytes()
    try:
        yield
    finally:
        file.write_bytes(before)


def cut_off(text: str, width: int | None) -> list[str]:
    """Rows of tables that are wider than the terminal, or have lost a part of a cell."""
    lines = [ESCAPE.sub("", line).rstrip() for line in text.splitlines()]
    return [line for line in lines if line[:1] and line[0] in "│┃" and (width and len(line) > width or "…" in line)]


def _repeat(results: str, name: str) -> str:
    """Returns another run's results, made of one's: a report refuses the same twice."""
    document = json.loads(results)
    document["results"][0]["metrics"]["ops_per_s"] *= 1 + zlib.crc32(name.encode()) % 100 / 10_000
    return json.dumps(document)


class Reader:
    def __init__(self, tree: Path = ROOT, launcher: Sequence[str] = ("./skerry",), terminal: bool = False) -> None:
        """`launcher`: of a copy of the tree, in which no environment of Python's has been set up. `terminal`: of 80
        columns, in which every table must fit; else there is none."""
        self.folder = Path(tempfile.mkdtemp(prefix="skerry-r-"))  # short: it has sockets below it
        self.temporary = self.folder / "t"
        self.work = self.folder / "work"
        self.environment = os.environ | {"TMPDIR": str(self.temporary), "MANPAGER": "cat"}
        self._tree, self._launcher, self._terminal = tree, launcher, terminal
        self._stack = ExitStack()
        self._watched: int | None = None
        self.temporary.mkdir()
        self.work.mkdir()
        self._furnish()

    def close(self) -> None:
        self._stack.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _furnish(self) -> None:
        """The tree's files, and those that pages suppose a reader to have."""
        for entry in self._tree.iterdir():
            if entry.name not in (".git", "build"):
                (self.work / entry.name).symlink_to(entry)
        for name, shape in MACHINES.items():
            subprocess.run(["lstopo", "-i", shape, "--of", "xml", self.work / name], check=True, capture_output=True)
        (self.work / "lstopo.xml").symlink_to("machine.xml")
        (self.work / "part.c").write_text("int part(void) { return 1; }\n")
        (self.work / "mine.c").write_text("int main(void) { return 0; }\n")
        (self.work / "watched.toml").write_text(WATCHED)
        (self.work / "loaded.toml").write_text(LOADED)
        (self.work / "sparing.toml").write_text(SPARING)

    def run(self, command: Command, also: Sequence[str] = ()) -> str:
        """Its output; raises Wrong. `also`: options of ours behind the page's."""
        words = less([_own(*pair) for pair in zip(("", *command.words), command.words)])
        self._supply(words)
        if words[0] in ("top", "lockstat",
                        "kill") and "--connect" not in words and not any(word.endswith("results.json")
                                                                         for word in words):
            return self._look(words)
        if words[0] in ONLY:
            return self._at_only(words)
        if "--keep" in words or "--gdb" in words:
            with self.staying([*words, *also]) as (_, output):
                return output()
        with unchanged(self._tree / CORPUS) if "--merge" in words else nullcontext():
            return self.skerry([*words, *also])

    def _supply(self, words: tuple[str, ...]) -> None:
        """Makes what a reader has from elsewhere: results of a run and of a benchmark; a map; a machine's or a
        deployment's file."""
        read = [word for before, word in zip(("", *words), words) if before not in ("--json", "-o", "--plot")
                and word.endswith((".json", ".dts"))]
        for name in (word for word in words if word.startswith("build/")):  # which every clone has
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
        for name in read:
            path = self.work / name
            if path.exists():
                continue
            if name.endswith(".dts"):
                path.write_text(self.skerry(["topology", "--from", "epyc.xml", "--layout", "per-socket", "-f", "dts"]))
            elif words[0] == "model":
                shutil.copy(self._made("scale-of-one.json",
                                       ["bench", "scale", "--lock", "clh", "--cores", "1..3", "--delays", "2000"]),
                                       path)
            else:
                path.write_text(_repeat(self._made("load.json", ["run", "loaded.toml"]).read_text(), name))
        for name in (word for word in words if words[0] == "collect" and word.endswith(".iso")):
            self._capture(name)
        if "mine.toml" in words and words[0] in ("run", "deploy", "image"):
            (self.work / "mine.toml").write_text(DRIVEN)
        elif "mine.toml" in words and "-o" not in words:
            self.skerry(["bench", "calibrate", "-o", "mine.toml"])
        elif "mine.elf" in words and "-o" not in words:
            self.skerry(["cc", "-O2", "-o", "mine.elf", str(ROOT / "apps/wakeups/wakeups.c")])

    def _made(self, name: str, words: list[str]) -> Path:
        if not (self.work / name).exists():
            self.skerry([*words, "--json", name])
        return self.work / name

    def _capture(self, name: str) -> None:
        """An image of the layout of its name, and the log of a machine that booted it, by the line that `image` ends
        with."""
        if (self.work / name).exists():
            return
        stem = Path(name).stem
        printed = self.skerry(["image", "loaded.toml", "--layout", stem, "-o", name])
        log = (self.work / name).with_suffix(".log")
        with log.open("wb") as file:
            process = self._started([*shlex.split(printed.partition("To boot it: ")[2]), *TURNS], file.fileno())
        try:
            self._await(process, lambda: OVER in log.read_text(errors="replace"))
            if process.returncode is not None:
                raise Wrong(f"status {process.returncode}: {log.read_text(errors='replace')[-1500:]}")
        finally:
            process.kill()
            process.wait()

    def _look(self, words: tuple[str, ...]) -> str:
        """At a machine that runs, and that other commands look at after this one, unless it dies of it."""
        if self._watched is None:
            self._watched, _ = self._stack.enter_context(self.staying(["run", "watched.toml", "--keep"]))
        arguments = [str(self._watched) if word.isdecimal() and len(word) == 5 else word for word in words]
        if words[0] == "top" and not {"--once", "--count"} & set(words):
            arguments += ["--count", "2"]  # else it stays until a key is pressed
        try:
            return self.skerry(arguments)
        finally:
            if words[0] == "kill":
                self._end_watched()

    def _at_only(self, words: tuple[str, ...]) -> str:
        """On a machine whose kernels can, and which is the only one, for the page names none."""
        self._end_watched()
        with self.staying(["run", *ONLY[words[0]], "--keep"]):
            return self.skerry(words)

    def _end_watched(self) -> None:
        self._stack.close()
        self._watched = None

    def skerry(self, words: Sequence[str]) -> str:
        """Its standard output."""
        log = self.folder / "said"
        with log.open("w+b") as file, screen(file) if self._terminal else nullcontext(file.fileno()) as output:
            if self._terminal and words[0] in SECONDS and "--json" not in words:
                status = self._here(words, output)
            else:
                process = self._start(words, output)
                self._await(process, lambda: False)
                status = process.returncode
        printed = log.read_text(errors="replace")
        if status:
            raise Wrong(f"status {status}: {printed[-1500:]}")
        if lost := cut_off(printed, WIDTH if self._terminal else None):
            raise Wrong("a table does not fit its page:\n" + "\n".join(lost))
        return printed

    def _here(self, words: Sequence[str], output: int) -> int:
        """In this process, which has loaded the command line: that takes longer than most commands."""
        before = Path.cwd()
        os.chdir(self.work)
        try:
            with os.fdopen(os.dup(output), "w") as shown, redirect_stdout(shown), redirect_stderr(shown):
                return main.main(list(words))
        except SystemExit as end:  # a page without a complete line
            return int(end.code or 0)
        finally:
            os.chdir(before)

    @contextmanager
    def staying(self, words: Sequence[str]) -> Iterator[tuple[int, Callable[[], str]]]:
        """One that stays until Ctrl-C, from when it says so: its process id, and what it has said."""
        log = self.folder / f"staying-{time.monotonic_ns()}"
        with log.open("wb") as file:
            process = self._start(words, file.fileno())
        output = lambda: log.read_text(errors="replace")  # noqa: E731
        try:
            self._await(process, lambda: STAYS.search(output()) is not None)
            if process.returncode is not None:
                raise Wrong(f"status {process.returncode}: {output()[-1500:]}")
            yield process.pid, output
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            status = process.wait()
        if status not in (0, 1, 130):  # 1: what it ran was killed
            raise Wrong(f"status {status} after Ctrl-C: {output()[-1500:]}")

    def _start(self, words: Sequence[str], output: int) -> subprocess.Popen[bytes]:
        return self._started([*self._launcher, *words], output)

    def _started(self, program: Sequence[str], output: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(program, cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                                stderr=subprocess.STDOUT)

    def _await(self, process: subprocess.Popen[bytes], there: Callable[[], bool]) -> None:
        """Until it ends or `there`. Ends it where its processes stand still: a busy host is no reason to."""
        clock = Clock(lambda: children_of(process.pid))
        moved = used = 0.0
        while process.poll() is None and not there():
            time.sleep(0.1)
            elapsed = clock.look()
            if abs(clock.processor - used) > 0.05:
                moved, used = elapsed, clock.processor
            if elapsed - moved > STILL * slowness():
                process.kill()
                process.wait()
                raise Wrong(f"stands still: no use of a processor for {elapsed - moved:.0f} s")
