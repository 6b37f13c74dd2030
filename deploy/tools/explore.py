# SPDX-License-Identifier: BSD-2-Clause
"""The explorer of states (model/states): runs its programs, and reads what they print."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.paths import BUILD

FOLDER = "model/states"
_COUNTS = (r"(?P<states>\d+) states, (?P<transitions>\d+) transitions, (?P<refused>\d+) refused, "
           r"(?P<checked>\d+) checked, (?P<pairs>\d+) pairs, (?P<seconds>[\d.]+) s")
_LEVEL = re.compile(rf"depth (?P<depth>\d+): (?P<new>\d+) new, {_COUNTS}")
_END = re.compile(rf"(?P<end>.+): (?P<depth>\d+) levels, {_COUNTS}, (?P<mib>\d+) MiB")
_STEP = re.compile(r"step \d+: (?P<step>.+)")
_PASSED = re.compile(r"(?P<end>passed: \d+ steps)$")
_FOUND = re.compile(r"found: (?P<why>.+)")
FOUND, INTERRUPTED = 1, 130  # exit statuses
GRACE = 20.0  # seconds in which a program that is told to end says how far it is


@dataclass(frozen=True)
class Theme:
    name: str
    cores: int
    depth: int  # that a test explores
    operations: int


@dataclass
class Explored:
    """The outcome of one theme."""

    theme: str
    end: str = ""
    depth: int = 0  # levels explored wholly
    states: int = 0
    transitions: int = 0
    checked: int = 0
    pairs: int = 0
    seconds: float = 0.0
    found: str = ""
    path: list[str] = field(default_factory=list)
    record: Path | None = None

    @property
    def rate(self) -> float:
        """States a second, of all processes together."""
        return self.states / self.seconds if self.seconds else 0.0


def target(regime: str) -> str:
    """Returns Ninja's name of the regime's program."""
    return f"{FOLDER}/explore-{regime}"


def program(regime: str) -> Path:
    return BUILD / target(regime)


def themes(path: Path) -> list[Theme]:
    """Returns the themes that the program has. Failure where it lists none."""
    done = subprocess.run([str(path), "--list"], capture_output=True, text=True)
    if done.returncode or not done.stdout:
        raise Failure(f"{path.name} --list: {(done.stderr.strip() or 'no output').splitlines()[-1]}")
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return [Theme(name, int(cores), int(depth), int(operations)) for name, cores, depth, operations in rows]


def read(explored: Explored, line: str) -> bool:
    """Takes a line of the program's output. Returns whether a level has ended."""
    level = _LEVEL.match(line)
    if match := level or _END.match(line):
        explored.depth, explored.states = int(match["depth"]), int(match["states"])
        explored.transitions, explored.checked = int(match["transitions"]), int(match["checked"])
        explored.pairs, explored.seconds = int(match["pairs"]), float(match["seconds"])
        explored.end = explored.end if level else match["end"]
    elif match := _FOUND.match(line):
        explored.found = match["why"]
    elif match := _PASSED.match(line):
        explored.end = match["end"]
    elif match := _STEP.match(line):
        explored.path.append(match["step"])
    return bool(level)


def run(command: Sequence[str], theme: str, on_level: Callable[[Explored], None]) -> Explored:
    """Explores one theme. Failure where the program ends otherwise than by its limits, a find, or Ctrl-C, which ends
    it, too, with KeyboardInterrupt after it has said how far it is."""
    explored = Explored(theme)
    with subprocess.Popen(list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", start_new_session=True) as process:
        assert process.stdout and process.stderr
        try:
            for line in process.stdout:
                if read(explored, line.rstrip("\n")):
                    on_level(explored)
            errors = process.stderr.read()
            process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGTERM)
            for line in _rest(process):
                read(explored, line)
            on_level(explored)
            raise
    if process.returncode not in (0, FOUND) or not (explored.end or explored.found):
        raise Failure((errors.strip() or f"{Path(command[0]).name} ended with status {process.returncode}")
                      .splitlines()[-1].removeprefix("explore: "))
    return explored


def _rest(process: subprocess.Popen[str]) -> Iterator[str]:
    try:
        out, _ = process.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        return
    yield from out.splitlines()
