# SPDX-License-Identifier: BSD-2-Clause
"""What became of each mutation: verdicts.json, a part of the repository, and the page that is generated from it.

A verdict is of a mutation as it was tried: fresh while the mutation's digest is the same, which is of the tokens of
the mutated function, before and after. `by` names the test that failed, then what it said.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.long.mutations.catalogue import Mutation

FILE = Path(__file__).with_name("verdicts.json")
CAUGHT, SURVIVED, UNFIT = "caught", "SURVIVED", "unfit"  # unfit: does not compile, or not its text any more
_ADDRESS = re.compile(r"\b0x[0-9a-f]{9,}\b")  # another one each time
_LOG = re.compile(r"(; --timeout S waits.*)? \(log: .*$")  # where a copy's log was
_COPY = re.compile(r"/\S*/tree/build/(?=\.\./)")  # where a worker's copy is kept


@dataclass(frozen=True)
class Verdict:
    digest: str
    verdict: str
    by: str  # the test that failed, or why it is unfit

    @property
    def test(self) -> str:
        return self.by.split(": ")[0]


class Verdicts:
    """Kept in the order of the list, a line each, so that versions can be compared and merged. Many threads may use it."""

    def __init__(self, mutations: list[Mutation], path: Path = FILE) -> None:
        self.path = path
        self._order = [m.name for m in mutations]
        self._lock = threading.Lock()
        self._verdicts = self._read()

    def _read(self) -> dict[str, Verdict]:
        data = json.loads(self.path.read_text()) if self.path.exists() else {"verdicts": []}
        return {entry.pop("name"): Verdict(**entry) for entry in data["verdicts"]}

    def of(self, mutation: Mutation) -> Verdict | None:
        """None when it was not tried as it is now."""
        verdict = self._verdicts.get(mutation.name)
        return verdict if verdict and mutation.digest and verdict.digest == mutation.digest else None

    def set(self, mutation: Mutation, verdict: Verdict) -> None:
        with self._lock:
            self._verdicts[mutation.name] = replace(verdict, by=_ADDRESS.sub("0x…", _COPY.sub("", _LOG.sub("", verdict.by))))
            self._save()

    def forget(self, mutations: list[Mutation]) -> None:
        with self._lock:
            for mutation in mutations:
                self._verdicts.pop(mutation.name, None)
            self._save()

    def _save(self) -> None:
        lines = [json.dumps({"name": name} | asdict(self._verdicts[name]), ensure_ascii=False)
                 for name in self._order if name in self._verdicts]
        new = self.path.with_suffix(".new")
        new.write_text('{"verdicts": [\n' + ",\n".join(lines) + "\n]}\n")
        new.replace(self.path)

    def caught_by(self, mutations: list[Mutation]) -> list[tuple[Mutation, str]]:
        """Which test caught which mutation; old verdicts, too: they say where to look first."""
        found = [(m, self._verdicts[m.name]) for m in mutations if m.name in self._verdicts]
        return [(m, v.test) for m, v in found if v.verdict == CAUGHT]

    def caught_before(self, mutation: Mutation) -> str:
        """Which test caught it when it was tried last, with its function as it was then; "" if none did."""
        verdict = self._verdicts.get(mutation.name)
        return verdict.test if verdict and verdict.verdict == CAUGHT else ""


def likely(mutation: Mutation, caught: list[tuple[Mutation, str]]) -> list[str]:
    """The tests that caught others of its file, then of its area, the most frequent first."""
    same_file = Counter(test for other, test in caught if other.file == mutation.file)
    same_area = Counter(test for other, test in caught if other.area == mutation.area)
    return list(dict.fromkeys([test for test, _ in same_file.most_common()] + [test for test, _ in same_area.most_common()]))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def page(mutations: list[Mutation], verdicts: Verdicts) -> str:
    tried = {m: v for m in mutations if (v := verdicts.of(m))}
    count = {kind: sum(v.verdict == kind for v in tried.values()) for kind in (CAUGHT, SURVIVED, UNFIT)}
    known = sum(v.verdict == SURVIVED and bool(m.unseen) for m, v in tried.items())
    lines = [
        "<!-- SPDX-License-Identifier: BSD-2-Clause -->",
        "# Mutations of the kernel and its managers",
        "",
        "Generated from `tests/long/mutations/verdicts.json` by `build/venv/bin/python -m tests.long.mutations`; do not edit.",
        "",
        "Each line is a fault that was put into the kernel, a manager or the loader, alone, and the first test that turned red, likely and cheap "
        "tests first: the tests of the hosted port, then `apps/ktest` in the emulated machine; of managers and the loader their own, then booted ones. A mutation that survives is a "
        "missing test, unless the list says why no test can see it.",
        "",
        "An entry in `tests/long/mutations/list/` names a file and a function (`in`), the tokens to `find` there, and the tokens to "
        "`put` in their place; spacing and comments do not matter, the tokens must be found exactly once, and `...` stands for any "
        "tokens between two others, with their brackets in pairs. A verdict is fresh until a token of that function or of the edit changes; assertions (`kernel_assert()` and the like) are no tokens.",
        "",
        f"{len(mutations)} mutations: {count[CAUGHT]} caught, {count[SURVIVED]} survived ({known} of them with a reason), "
        f"{count[UNFIT]} unfit (do not compile), {len(mutations) - len(tried)} not tried yet.",
    ]
    for area in dict.fromkeys(m.area for m in mutations):
        lines += ["", f"## {area.replace('-', ' ').capitalize()}", "", "| mutation | file | what it breaks | caught by |", "|---|---|---|---|"]
        for mutation in (m for m in mutations if m.area == area):
            verdict = tried.get(mutation)
            by = _outcome(mutation, verdict) if verdict else "not tried yet" + (f": {mutation.unseen}" if mutation.unseen else "")
            lines.append(f"| {_cell(mutation.name)} | `{mutation.short}` | {_cell(mutation.breaks)} | {_cell(by)} |")
    return "\n".join(lines) + "\n"


def _outcome(mutation: Mutation, verdict: Verdict) -> str:
    if verdict.verdict == CAUGHT:
        return verdict.by
    return f"**{verdict.verdict}** {verdict.by or mutation.unseen}".rstrip()
