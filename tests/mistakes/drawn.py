# SPDX-License-Identifier: BSD-2-Clause
"""Tries mistakes in mirrors of the tree, in processes of their own; all of them, or a drawn sample."""

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.parallel import Call, Pool, Report
from deploy.base.paths import BUILD
from deploy.tools.testing import meson_tests
from tests.mistakes import trial
from tests.mistakes.catalogue import Mistake
from tests.mistakes.graph import Graph
from tests.mistakes.running import ninja
from tests.mistakes.verdicts import CAUGHT, Verdict, Verdicts

MIRRORS = BUILD / "mistakes"
TOGETHER = 8  # mistakes that one process of another host tries: what they have in common is tried once


@dataclass(frozen=True)
class Tried:
    mistake: Mistake
    verdict: Verdict
    seconds: float


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def _bench(folder: Path) -> trial.Bench:
    """Returns this process's own."""
    return trial.bench(folder / str(os.getpid()), Graph(BUILD))


def _attempt(mistakes: Sequence[Mistake], folder: Path, on_report: Report) -> list[Tried]:
    bench, tried = _bench(folder), []
    for mistake in mistakes:
        begun = time.monotonic()
        verdict = bench.attempt(mistake, tuple(seen for seen in mistake.seen_by if bench.knows(seen)))
        tried.append(Tried(mistake, verdict, time.monotonic() - begun))
    return tried


def _elsewhere(mistakes: Sequence[Mistake], on_report: Report) -> list[Tried]:
    """Tries mistakes on another host, of which no mirror is left."""
    MIRRORS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MIRRORS) as folder:
        return _attempt(mistakes, Path(folder), on_report)


def tryable(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Lists the mistakes that a component's test is meant to see."""
    tests, _ = meson_tests.by_name()
    return [mistake for mistake in mistakes if any(test in tests for test in mistake.tests)]


def attempt(mistakes: Sequence[Mistake], jobs: int, seconds: float | None = None,
            pool: Pool | None = None) -> Generator[Tried, None, None]:
    """Yields verdicts as they come; after so many seconds of processor time no further mistake is begun. In a pool, in
    the place of this host's processes, each process tries several."""
    _, files = meson_tests.by_name()
    graph = Graph(BUILD)
    used = {m.key: {graph.relative(file) for test in m.tests for file in files.get(test, ())} for m in mistakes}
    if needed := sorted(set().union(*used.values())):
        ninja(BUILD, needed)
    folder = MIRRORS / str(os.getpid())
    folder.mkdir(parents=True, exist_ok=True)
    start, waiting, running = _used(), list(mistakes), set[Future[list[Tried]]]()
    size = TOGETHER if pool else 1
    try:
        with nullcontext(pool) if pool else ProcessPoolExecutor(jobs, initializer=_begin) as executor:
            while waiting or running:
                room = pool.room() if pool else jobs
                while waiting and len(running) < room:
                    some, waiting = waiting[:size], waiting[size:]
                    running.add(executor.submit(_call(some, None if pool else folder, used)))
                done, running = wait(running, timeout=1, return_when=FIRST_COMPLETED)
                for one in done:
                    yield from one.result()
                if seconds is not None and _used() - start > seconds:
                    waiting.clear()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _call(mistakes: Sequence[Mistake], folder: Path | None, used: Mapping[str, Set[str]]) -> Call:
    """Returns what tries the mistakes, in a mirror of this folder or of another host's."""
    files = frozenset[str]().union(*(used[mistake.key] for mistake in mistakes))
    function, arguments = (_attempt, (mistakes, folder)) if folder else (_elsewhere, (mistakes,))
    return Call(mistakes[0].name, function, arguments, files)


def _used() -> float:
    """Processor time of this process and of all that it has started, in seconds."""
    used = time.process_time()
    for pid in meson_tests.children_of(os.getpid())[1:]:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        used += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its own, and of its children that have ended
    return used


def sample(mistakes: Sequence[Mistake], verdicts: Verdicts, seed: int, seconds: float) -> Iterator[Tried]:
    """Draws of those that a component's test has seen before."""
    known = [m for m in tryable(mistakes) if not m.unseen and (v := verdicts.of(m)) and v.verdict == CAUGHT
             and v.test in m.tests]
    if not known:
        raise Failure("no mistake has a verdict by a component's test: run `python -m tests.mistakes` first")
    random.Random(seed).shuffle(known)
    yield from attempt(known, 1, seconds)
