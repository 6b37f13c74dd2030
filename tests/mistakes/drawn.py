# SPDX-License-Identifier: BSD-2-Clause
"""Tries mistakes in mirrors of the tree, in processes of their own; all of them, or a drawn sample."""

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.tools.testing import meson_tests
from tests.mistakes import trial
from tests.mistakes.catalogue import Mistake
from tests.mistakes.graph import Graph
from tests.mistakes.running import ninja
from tests.mistakes.verdicts import CAUGHT, Verdict, Verdicts

_bench: trial.Bench | None = None  # of this process


@dataclass(frozen=True)
class Tried:
    mistake: Mistake
    verdict: Verdict
    seconds: float


def _begin(folder: Path, graph: Graph) -> None:
    global _bench
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _bench = trial.bench(folder / str(os.getpid()), graph)


def _attempt(mistake: Mistake) -> Verdict:
    assert _bench
    return _bench.attempt(mistake, tuple(seen for seen in mistake.seen_by if _bench.knows(seen)))


def tryable(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Lists the mistakes that a component's test is meant to see."""
    tests, _ = meson_tests.by_name()
    return [mistake for mistake in mistakes if any(test in tests for test in mistake.tests)]


def attempt(mistakes: Sequence[Mistake], jobs: int, seconds: float | None = None) -> Iterator[Tried]:
    """Verdicts as they come; after so many seconds of processor time no further mistake is begun."""
    _, files = meson_tests.by_name()
    graph = Graph(BUILD)
    if needed := sorted({graph.relative(file) for m in mistakes for test in m.tests for file in files.get(test, ())}):
        ninja(BUILD, needed)
    folder = BUILD / "mistakes" / str(os.getpid())
    folder.mkdir(parents=True, exist_ok=True)
    start = _used()
    waiting, running = list(reversed(mistakes)), dict[Future[Verdict], tuple[Mistake, float]]()
    try:
        with ProcessPoolExecutor(jobs, initializer=_begin, initargs=(folder, graph)) as pool:
            while waiting or running:
                while waiting and len(running) < jobs:
                    mistake = waiting.pop()
                    running[pool.submit(_attempt, mistake)] = mistake, time.monotonic()
                done, _ = wait(running, timeout=1, return_when=FIRST_COMPLETED)
                for one in done:
                    mistake, begun = running.pop(one)
                    yield Tried(mistake, one.result(), time.monotonic() - begun)
                if seconds is not None and _used() - start > seconds:
                    waiting.clear()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
