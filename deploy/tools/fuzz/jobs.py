# SPDX-License-Identifier: BSD-2-Clause
"""Fuzzers at work: several processes, each with a log, until all have ended or one finds something."""

import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from deploy.base.parallel import Call, Pool, Report
from deploy.base.paths import BUILD
from deploy.base.process import start, stop

Found = TypeVar("Found")
Files = dict[str, bytes]  # by name
Moved = tuple[int, str, list[Files]]  # a fuzzer's status, what it printed, the files of each of its folders
LOOK = 0.5  # seconds


def read(log: Path) -> str:
    return log.read_text(errors="replace")


def first_match(patterns: tuple[re.Pattern[str], ...], text: str) -> str | None:
    """Returns the match of the first pattern that has one: its group, or all of it if it has none."""
    for pattern in patterns:
        if match := pattern.search(text):
            return match[pattern.groups].strip()
    return None


def run(
    folder: Path, commands: list[list[str]], show: Callable[[list[str]], None], find: Callable[[Path], Found],
    shared: Sequence[Path] = (), pool: Pool | None = None
) -> tuple[list[str], Found | None]:
    """Gives `show` what the processes have printed, now and then, and `find` the log of the first that fails. Returns
    both at the end. In a pool each has copies of the `shared` folders, and what it writes there comes back."""
    folder.mkdir(parents=True, exist_ok=True)
    if pool:
        return _run_in(pool, folder, commands, show, find, shared)
    os.environ["ASAN_OPTIONS"] = "abort_on_error=0:detect_leaks=0"
    os.environ["UBSAN_OPTIONS"] = "print_stacktrace=1"
    logs = [folder / f"job-{number}.log" for number in range(len(commands))]
    failure = None
    with ExitStack() as stack:
        processes = []
        for command, log in zip(commands, logs, strict=True):
            process = start(command, log)
            stack.callback(stop, process)
            processes.append(process)
        while True:
            ended = [process.poll() is not None for process in processes]
            failed = [log for process, log in zip(processes, logs, strict=True) if process.poll()]
            if failed:
                failure = find(failed[0])
            if failed or all(ended):
                break
            show([read(log) for log in logs])
            time.sleep(LOOK)
    return [read(log) for log in logs], failure


def _run_in(pool: Pool, folder: Path, commands: list[list[str]], show: Callable[[list[str]], None],
            find: Callable[[Path], Found], shared: Sequence[Path]) -> tuple[list[str], Found | None]:
    given = {str(path): {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()} for path in shared}
    running = {pool.submit(Call(f"fuzzer {number}", elsewhere, (command, str(BUILD), given),
                                frozenset([os.path.relpath(command[0], BUILD)]))): number
               for number, command in enumerate(commands)}
    texts = [""] * len(commands)
    while running:
        for future in wait(running, LOOK, FIRST_COMPLETED).done:
            number = running.pop(future)
            status, texts[number], written = future.result()
            log = folder / f"job-{number}.log"
            log.write_text(texts[number])
            for path, files in zip(shared, written):
                for name, data in files.items():
                    (path / Path(name).name).write_bytes(data)
            if status:
                return texts, find(log)
        pool.room()
        show(texts)
    return texts, None


def elsewhere(command: list[str], build: str, given: Mapping[str, Files], on_report: Report) -> Moved:
    """Runs one fuzzer of this host's build folder in folders of its own. `build` and the keys of `given`: what the
    command names in their place, and what it printed does again."""
    with tempfile.TemporaryDirectory(prefix="skerry-fuzz-") as scratch:
        places = {path: str(Path(scratch, str(number))) for number, path in enumerate(given)} | {build: str(BUILD)}
        for path, files in given.items():
            Path(places[path]).mkdir()
            for name, data in files.items():
                Path(places[path], Path(name).name).write_bytes(data)
        ended: list[int] = []
        (text,), _ = run(Path(scratch, "log"), [[_moved(word, places) for word in command]], lambda texts: None,
                         lambda log: ended.append(1))
        written = [{file.name: file.read_bytes() for file in Path(places[path]).iterdir() if file.name not in files}
                   for path, files in given.items()]
        return len(ended), _moved(text, {here: there for there, here in places.items()}), written


def _moved(text: str, places: Mapping[str, str]) -> str:
    """Returns the text with other folders in the place of these, the longest name first, and no part of a name."""
    names = sorted(map(re.escape, places), key=len, reverse=True)
    return re.sub(rf"({'|'.join(names)})(?=[/\s:;,)']|$)", lambda match: places[match[1]], text)
