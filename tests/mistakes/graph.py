# SPDX-License-Identifier: BSD-2-Clause
"""The build's graph: Ninja's steps with their commands, and the files that each of them reads."""

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.base.errors import Failure

_WORD = re.compile(r"(?:\$.|[^\s:|$])+|\|\||\||:")


@dataclass(frozen=True)
class Step:
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]  # without those that Ninja only orders by
    order: tuple[str, ...]   # these
    command: str             # empty: a name for its inputs

    @property
    def compiles(self) -> bool:
        return self.outputs[0].endswith(".o") and " -c " in self.command


class Graph:
    """The steps of a build directory. Paths are relative to it, and as short as they can be."""

    def __init__(self, build: Path) -> None:
        self.build = build
        self._commands = {os.path.normpath(entry["output"]): entry["command"]
                          for entry in json.loads(self._ninja("-t", "compdb", "-x"))}
        self._steps = {output: step for step in self._parse((build / "build.ninja").read_text())
                       for output in step.outputs}
        self._read: dict[str, frozenset[str]] = {}  # by object: what its compiler has read

    def _ninja(self, *words: str) -> str:
        done = subprocess.run(["ninja", "-C", str(self.build), *words], capture_output=True, text=True)
        if done.returncode:
            problem = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
            raise Failure(f"ninja {words[1]}: {problem}")
        return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("ninja: "))

    def _parse(self, text: str) -> Iterator[Step]:
        for line in text.replace("$\n", "").splitlines():
            if not line.startswith("build "):
                continue
            words = _WORD.findall(line[len("build "):])
            colon = words.index(":")
            groups: list[list[str]] = [[]]
            for word in words[colon + 2:]:
                if word in ("|", "||"):
                    groups.append([])
                else:
                    groups[-1].append(self._path(word))
            ordered = "||" in words
            outputs = tuple(self._path(word) for word in words[:colon] if word != "|")
            inputs = tuple(path for group in (groups[:-1] if ordered else groups) for path in group)
            yield Step(outputs, inputs, tuple(groups[-1]) if ordered else (), self._commands.get(outputs[0], ""))

    def _path(self, word: str) -> str:
        path = re.sub(r"\$(.)", r"\1", word)
        return self.relative(path) if os.path.isabs(path) else os.path.normpath(path)

    def relative(self, path: str | Path) -> str:
        return os.path.relpath(path, self.build)

    def steps_of(self, targets: Iterable[str]) -> list[Step]:
        """All that the targets are made by, each step behind those that make what it reads."""
        steps: dict[str, Step] = {}
        begun: set[str] = set()
        stack = [(target, False) for target in targets]
        while stack:
            path, made = stack.pop()
            step = self._steps.get(path)
            if step is None:
                continue
            if made:
                steps.setdefault(step.outputs[0], step)
            elif step.outputs[0] not in begun:
                begun.add(step.outputs[0])
                stack.append((path, True))
                stack += [(before, False) for before in (*step.inputs, *step.order)]
        return list(steps.values())

    def learn(self, steps: Iterable[Step]) -> None:
        """Asks Ninja which files the compiler has read for these steps."""
        new = [step.outputs[0] for step in steps if step.compiles and step.outputs[0] not in self._read]
        if not new:
            return
        listing = self._ninja("-t", "deps", *new)
        for block in listing.split("\n\n"):
            head, *lines = [line for line in block.splitlines() if line] or [""]
            name = head.partition(": #deps")[0]
            self._read[name] = frozenset(self._path(line.strip()) for line in lines)

    def reads(self, step: Step) -> frozenset[str]:
        """The files that a step reads; of a compilation, as learnt when it ran last."""
        return frozenset(step.inputs) | self._read.get(step.outputs[0], frozenset())
