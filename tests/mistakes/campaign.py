# SPDX-License-Identifier: BSD-2-Clause
"""Tries mistakes that need whole images: workers, each with a copy of the tree, take one after the other."""

import json
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from tests.mistakes.catalogue import CatalogueError, Mistake
from tests.mistakes.running import Stopped
from tests.mistakes.stages import DEAR, FIRST, OF_LOCKS, BootStage, HostedStage, PytestStage, Stage, stages
from tests.mistakes.verdicts import CAUGHT, SURVIVED, UNFIT, Verdict, Verdicts, likely
from tests.mistakes.workspace import BuildFailure, Workspace

LIKELY = 3  # tests that are tried before all others
COLOUR = {CAUGHT: "green", SURVIVED: "bold red", UNFIT: "yellow"}


class Baseline:
    """Results of tests without a mistake; taken when one first fails with a mistake, once for all workers.

    A result of hosted tests is of one commit, but how long they took will do. Booted ones take minutes: a result of an
    earlier commit will do.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        self._known: dict[str, dict] = json.loads(path.read_text()) if path.exists() else {}

    def knows(self, stage: Stage, commit: str) -> bool:
        known = self._known.get(stage.name)
        if not known:
            return False
        stage.took.update(known["took"])
        if known["commit"] != commit and isinstance(stage, HostedStage):
            return False
        stage.ignored.update(known["ignored"])
        return not isinstance(stage, HostedStage) or set(stage.tests) <= set(known["tried"])

    def learn(self, stage: Stage, commit: str) -> None:
        known = self._known.setdefault(stage.name, {"commit": commit, "tried": []})
        tried = known["tried"] if known["commit"] == commit else []
        new = list(stage.tests) if isinstance(stage, HostedStage) else []
        self._known[stage.name] = {"commit": commit, "tried": sorted({*tried, *new}), "ignored": sorted(stage.ignored),
                                   "took": stage.took}
        self.path.write_text(json.dumps(self._known, indent=1) + "\n")

    def recall(self, steps: list[Stage], commit: str) -> None:
        for stage in steps:
            self.knows(stage, commit)

    def forget(self) -> None:
        self._known.clear()


def check_seen_by(mistakes: list[Mistake], steps: list[Stage]) -> None:
    """Failure for a mistake that names a test which does not exist."""
    for mistake in mistakes:
        for seen in mistake.seen_by:
            if not any(step.has(seen.test) for step in steps):
                raise CatalogueError(f"{mistake.name}: there is no test or stage '{seen.test}'")


@dataclass
class Task:
    place: int
    mistake: Mistake
    passed: list[str] = field(default_factory=list)  # stages, and parts of them, that have not seen it
    put_off: bool = False


class Campaign:
    def __init__(self, todo: list[Mistake], verdicts: Verdicts, every: list[Mistake], work: Path, say: Console) -> None:
        self._todo = deque(Task(place, mistake) for place, mistake in enumerate(todo, 1))
        self._later: deque[Task] = deque()  # what no cheap stage sees
        self._count = len(todo)
        self._verdicts = verdicts
        self._every = every
        self._work = work
        self._say = say
        self._lock = threading.Lock()
        self.stop = threading.Event()
        self.baseline = Baseline(work / "baseline.json")
        self.failure: Exception | None = None

    def run(self, workers: int, quick: bool, budget: float | None) -> None:
        """Until all have a verdict, the budget (seconds) is spent or Ctrl-C arrives: what is under way then has
        none."""
        end = time.monotonic() + budget if budget else None
        threads = [threading.Thread(target=self._worker, args=(number, workers, quick), daemon=True)
                   for number in range(workers)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                time.sleep(0.2)
                if end and time.monotonic() > end and not self.stop.is_set():
                    self._say.print("the budget is spent", style="dim")
                    self.stop.set()
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()
        if self.failure:
            raise self.failure

    def _worker(self, number: int, workers: int, quick: bool) -> None:
        try:
            folder = self._work / str(number)
            folder.mkdir(parents=True, exist_ok=True)
            workspace = Workspace(folder, max(1, (os.cpu_count() or 1) // workers), self.stop)
            workspace.renew()
            every = stages(workspace)
            check_seen_by(self._every, every)
            steps = [step for step in every if not (quick and step.slow)]
            with self.baseline.lock:
                self.baseline.recall(steps, workspace.commit)
            while not self.stop.is_set() and (task := self._next()):
                self._try(task, workspace, steps)
        except Stopped:
            pass
        except Exception as failure:  # for the main thread to raise
            self.failure = failure
            self.stop.set()

    def _next(self) -> Task | None:
        with self._lock:
            return self._todo.popleft() if self._todo else self._later.popleft() if self._later else None

    def _try(self, task: Task, workspace: Workspace, steps: list[Stage]) -> None:
        start, used, mistake = time.monotonic(), os.times(), task.mistake
        outcome = self._attempt(task, workspace, steps)
        if not outcome:
            self._tell(f"[dim]{task.place}/{self._count} later: {escape(mistake.name)} ({time.monotonic() - start:.0f} "
                       f"s)[/]")
            task.put_off = True
            with self._lock:
                self._later.append(task)
            return
        now = os.times()
        cpu = now.children_user + now.children_system - used.children_user - used.children_system  # of all workers
        self._verdicts.set(mistake, outcome)
        self._tell(f"{task.place}/{self._count} [{COLOUR[outcome.verdict]}]{outcome.verdict}[/] "
                   f"{escape(mistake.name)}: {escape(outcome.by)} "
                   f"({time.monotonic() - start:.0f} s, {cpu:.0f} s of processor time)")

    def _tell(self, text: str) -> None:
        self._say.print(text, highlight=False, emoji=False, soft_wrap=True)

    def _attempt(self, task: Task, workspace: Workspace, steps: list[Stage]) -> Verdict | None:
        """None: no cheap stage sees it, and those of others go before the dear ones."""
        mistake, again, digest = task.mistake, task.put_off, ""
        try:
            with workspace.broken(mistake) as digest:
                for step, part in self._plan(mistake, steps, again):
                    if part.what in task.passed:
                        continue
                    if step.dear and part is step and not again and step.name not in mistake.tests:
                        return None
                    workspace.make(part.targets)
                    if why := self._first(mistake, workspace, step, part):
                        return Verdict(digest, CAUGHT, why)
                    task.passed.append(part.what)
        except (CatalogueError, BuildFailure) as error:
            return Verdict(digest, UNFIT, str(error))
        return Verdict(digest, SURVIVED, "")

    def _plan(self, mistake: Mistake, steps: list[Stage], again: bool) -> Iterator[tuple[Stage, Stage]]:
        """Stages, and the part of each that is run: the test that is meant to see it, those that caught what is alike,
        then all."""
        seeing = [step for step in steps if step.sees(mistake) and not (mistake.unseen and step.name in DEAR)]
        for name in mistake.tests:
            for step in seeing:
                if part := step if name == step.name else step.narrowed([name]):
                    yield step, part
        names = likely(mistake, self._verdicts.caught_by([m for m in self._every if m != mistake]))
        stems = list(dict.fromkeys(name.split(", ")[0] for name in names))
        if first := seeing[0].narrowed([f"{stem}, {FIRST}" for stem in stems][:LIKELY]):
            yield seeing[0], first
        for name in names[:LIKELY]:
            for step in seeing[1:]:
                if (again or not step.slow) and (part := step.narrowed([name])):
                    yield step, part
        if "lock" in mistake.file.parts:
            seeing.sort(key=lambda step: step.dear and step.name not in OF_LOCKS)
        if again or "arch-x86_64" in mistake.file.parts:  # where it or others were seen
            seeing.sort(key=lambda step: min((i for i, name in enumerate(names) if step.has(name)), default=len(names)))
        if "arch-x86_64" in mistake.file.parts:  # the cheapest of all that are booted
            seeing.sort(key=lambda step: not isinstance(step, PytestStage))
        yield from ((step, step) for step in seeing)

    def _first(self, mistake: Mistake, workspace: Workspace, step: Stage, part: Stage) -> str | None:
        """The first test that fails, and not without the mistake as well."""
        for test, why in part.run(workspace, calibrating=False):
            self._calibrate(mistake, workspace, step.narrowed([test]) or step)
            if test in step.ignored:
                continue
            return f"{step.name}: {why}" if isinstance(step, BootStage | PytestStage) else f"{test}: {why}"
        return None

    def _calibrate(self, mistake: Mistake, workspace: Workspace, step: Stage) -> None:
        """Runs the stage without the mistake: of hosted tests, only the one that failed."""
        with self.baseline.lock:
            if self.baseline.knows(step, workspace.commit):
                return
            start = time.monotonic()
            with workspace.mended(mistake):
                workspace.make(step.targets)
                failed = list(step.run(workspace, calibrating=True))
            for test, why in failed:
                step.ignored.add(test)
                self._tell(f"[yellow]fails without a mistake, ignored:[/] {escape(f'{step.name}: {test}: {why}')}")
            self._tell(f"[dim]{escape(step.what)} without a mistake: {time.monotonic() - start:.0f} s[/]")
            self.baseline.learn(step, workspace.commit)
            workspace.make(["build.ninja"])
