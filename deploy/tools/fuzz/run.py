# SPDX-License-Identifier: BSD-2-Clause
"""libFuzzer's processes, which share what they learn."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.parallel import Pool
from deploy.tools.fuzz import jobs as at_work
from deploy.tools.fuzz.target import Target

HANG = 60                  # seconds for one input, of which a hundred take one
STATUS = re.compile(r"^#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)/\S+.*? exec/s: (\d+)", re.MULTILINE)
EXECUTED = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.MULTILINE)
# Patterns that tell one failure from another, most telling first.
REASONS = (
    re.compile(r"kernel_check: .*"),
    re.compile(r"kernel panic: .*"),
    re.compile(r"hosted machine: .*"),
    re.compile(r"fuzz: .*"),
    re.compile(r"runtime error: .*"),
    re.compile(r"ERROR: (?:AddressSanitizer|libFuzzer): .*"),
)


def options(target: Target) -> tuple[str, ...]:
    return (f"-max_len={target.length}", "-len_control=0", "-detect_leaks=0", f"-timeout={HANG}")


@dataclass
class State:
    """Progress of all processes together."""

    runs: int = 0
    per_second: int = 0
    coverage: int = 0
    features: int = 0
    corpus: int = 0

    def __str__(self) -> str:
        return (f"{self.runs} runs, {self.per_second}/s, {self.coverage} branches, {self.features} features, "
                f"{self.corpus} inputs")


@dataclass(frozen=True)
class Find:
    input: Path
    reason: str


@dataclass(frozen=True)
class Limits:
    seconds: int | None
    runs: int | None

    def options(self, jobs: int) -> list[str]:
        if self.runs is not None:
            return [f"-runs={max(1, self.runs // jobs)}"]
        return [f"-max_total_time={self.seconds}"]


def read_state(logs: list[str]) -> State:
    """From what the processes have printed."""
    state = State()
    for text in logs:
        reports = list(STATUS.finditer(text))
        if not reports:
            continue
        runs, coverage, features, corpus, per_second = (int(number) for number in reports[-1].groups())
        final = EXECUTED.search(text)
        state.runs += int(final[1]) if final else runs
        state.per_second += per_second
        state.coverage = max(state.coverage, coverage)
        state.features = max(state.features, features)
        state.corpus = max(state.corpus, corpus)
    return state


def reason_of(text: str) -> str:
    """The line that says what went wrong."""
    return at_work.first_match(REASONS, text) or "it ended by itself"


def fuzz(
    target: Target, corpus: Path, limits: Limits, jobs: int, seed: int, show: Callable[[State], None],
    pool: Pool | None = None
) -> tuple[State, Find | None]:
    """Every process reads the repository's corpus and `corpus`, and writes into `corpus`."""
    finds = target.folder / "finds"
    for folder in (corpus, finds):
        folder.mkdir(parents=True, exist_ok=True)
    common = [f"-artifact_prefix={finds}/", "-print_final_stats=1", str(corpus), str(target.inputs)]
    commands = [[str(target.fuzzer), *options(target), *limits.options(jobs), f"-seed={seed + number}", *common]
                for number in range(jobs)]
    logs, find = at_work.run(target.folder, commands, lambda texts: show(read_state(texts)), _find, (corpus, finds),
                              pool)
    return read_state(logs), find


def _find(log: Path) -> Find:
    text = at_work.read(log)
    written = re.search(r"Test unit written to (\S+)", text)
    if not written:
        raise Failure(f"the fuzzer ended without a find: {reason_of(text)} (all of it: {log})")
    return Find(Path(written[1]), reason_of(text))
