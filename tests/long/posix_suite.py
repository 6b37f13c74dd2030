# SPDX-License-Identifier: BSD-2-Clause
"""Runs the conformance tests of Debian's posixtestsuite over glibc and musl on Linux, and over the layer:
`build/venv/bin/python -m tests.long.posix_suite [--only WORD] [--columns glibc,musl,one,processes,2,4] [--keep-going]`.

Columns of Skerry: `one` core, `processes` (a program that may fork, on one core), `2` and `4` cores. Each test is a
program of its own, and a boot carries dozens. They run as an ordinary user everywhere. posix_suite.txt beside this file
keeps the verdicts. posix_differences.txt says of each test that glibc passes and Skerry does not, why; one that is not
there makes the campaign fail. Takes an hour and a half.
"""

import argparse
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD
from deploy.base.terminal import Output
from deploy.base.timeouts import Patience
from deploy.deployment import Program
from deploy.deployment.planner import plan
from deploy.machine.run import Run
from deploy.setup import needs
from deploy.setup.build import ensure_built
from tests import verdict_file
from tests.boot.machine import deployment, machine
from tests.long import posix_programs
from tests.long.posix_programs import FORMS, Test
from topology.units import MIB

FILE = Path(__file__).with_suffix(".txt")
REASONS = Path(__file__).with_name("posix_differences.txt")
LIMIT = 60  # seconds for a test on Linux
QUIET = 30  # seconds without the end of any, after which those that are left hang
SIDE_BY_SIDE = 8  # on Linux: nearly all of them sleep
USER = 1000  # that they run as, and its group
COLUMNS = {"glibc": "glibc", "musl": "musl", "one": "one", "processes": "processes", "2": "cores", "4": "cores"}
ON_LINUX = ("glibc", "musl")
CORES = 4  # of the machine
HEAP, MEMBERS = 4 * MIB, 4
BATCH = {"processes": 60}  # programs of a boot; of others:
MANY = 120
# exit statuses that the suite defines (include/posixtest.h)
STATUS = {0: "passed", 1: "failed", 2: "unresolved", 4: "unsupported", 5: "untested"}
PASSED, ABSENT, HUNG = "passed", "not compiled", "hung"
Verdicts = dict[Test, str]


def worded(status: int) -> str:
    """Returns a verdict for an exit status, of which 128 and a number stand for a signal."""
    return STATUS.get(status, f"signal {status - 128}" if 128 < status < 128 + 65 else f"status {status}")


def _as_user() -> None:
    """In the child: no test may change the host's clock, or end processes of others."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)


def _on_linux(form: str, test: Test, folder: Path) -> str:
    command = [str(posix_programs.program(FORMS[form])), str(test)]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=_as_user) as running:
        try:
            status = running.wait(LIMIT)
        except subprocess.TimeoutExpired:
            return HUNG
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)  # with what it has left behind
    return worded(status if status >= 0 else 128 - status)


def on_linux(form: str, chosen: Sequence[Test]) -> Verdicts:
    folder = Path("/tmp")  # writable for the user
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return dict(zip(chosen, pool.map(lambda test: _on_linux(form, test, folder), chosen), strict=True))


def _programs(column: str, chosen: Sequence[Test]) -> tuple[Program, ...]:
    form = FORMS[COLUMNS[column]]
    cores = int(column) if column.isdigit() else 1
    return tuple(
        Program("suite", 0 if cores > 1 else place % CORES, elf=posix_programs.program(form),
                name=f"t{place}", cores=cores, heap=HEAP, args=(str(test),), uid=USER, gid=USER, barrier=False,
                processes=MEMBERS if column == "processes" else 1)
        for place, test in enumerate(chosen))


def _ends(run: Run, chosen: Sequence[Test]) -> Verdicts:
    """Returns the verdicts that are known by now."""
    names = {application.name: chosen[int(application.name.partition("@")[0][1:])]
             for application in run.plan.cluster_map.applications}
    verdicts = {}
    for event in run.events.of("exit"):
        verdicts[names[event["app"]]] = worded(event["status"])
    for event in [*run.events.of("fault"), *run.events.of("failed")]:
        verdicts[names[event["app"]]] = event.kind
    return verdicts


def _boot(column: str, chosen: Sequence[Test], show: bool) -> Verdicts:
    what = plan(deployment(1, CORES, network=False, programs=_programs(column, chosen)))
    with machine(what, patience=Patience(QUIET)) as run:
        try:
            run.wait_for(lambda: len(_ends(run, chosen)) == len(chosen), "end of all tests")
        except Failure:
            if not run.running:
                raise
        if show:
            print(run.console)
        return dict.fromkeys(chosen, HUNG) | _ends(run, chosen)


def on_skerry(column: str, chosen: Sequence[Test], show: bool) -> Verdicts:
    ensure_built(Output(), needs.of_map(plan(deployment(1, CORES, network=False)).cluster_map))
    verdicts: Verdicts = {}
    many = BATCH.get(column, MANY)
    for first in range(0, len(chosen), many):
        verdicts |= _boot(column, chosen[first:first + many], show)
        print(f"{column}: {len(verdicts)} of {len(chosen)}", flush=True)
    return verdicts


# ---- verdicts ----


def read() -> dict[str, Verdicts]:
    """Maps columns to verdicts that are on file."""
    known: dict[str, Verdicts] = {column: {} for column in COLUMNS}
    for column, verdict, interface, numbers in verdict_file.read(FILE):
        known[column] |= {Test(interface, number): verdict for number in numbers.split()}
    return known


def write(known: dict[str, Verdicts]) -> None:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for column in COLUMNS:
        for test, verdict in sorted(known[column].items()):
            groups.setdefault((column, verdict, test.interface), []).append(test.number)
    verdict_file.write(FILE, ((*group, " ".join(numbers)) for group, numbers in groups.items()))


def reasons() -> dict[str, str]:
    """Maps tests, or interfaces, by name, to why they differ. A line has the reason behind a colon."""
    result: dict[str, str] = {}
    for line in REASONS.read_text().splitlines() if REASONS.exists() else ():
        names, _, why = line.partition(": ")
        if not line.startswith("#"):
            result |= dict.fromkeys(names.split(), why)
    return result


def differences(known: dict[str, Verdicts]) -> Iterable[tuple[Test, list[str]]]:
    """Yields each test that glibc passes, with the columns of Skerry in which it has run and not passed."""
    for test, verdict in sorted(known["glibc"].items()):
        others = [column for column in COLUMNS if column not in ON_LINUX and known[column].get(test, PASSED) != PASSED]
        if verdict == PASSED and others:
            yield test, others


def table(known: dict[str, Verdicts]) -> str:
    """Returns the counts of verdicts of each column, as Markdown."""
    counts = {column: Counter(verdicts.values()) for column, verdicts in known.items()}
    order = [*STATUS.values(), ABSENT, HUNG]
    kinds = sorted({kind for count in counts.values() for kind in count}, key=lambda kind: (
        order.index(kind) if kind in order else len(order), kind))
    lines = [f"| | {' | '.join(COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|"]
    lines += [f"| {kind} | {' | '.join(str(counts[column][kind]) for column in COLUMNS)} |" for kind in kinds]
    both = [test for test, verdict in known["glibc"].items() if verdict == PASSED]
    lines.append("| of those that glibc passes | " + " | ".join(
        f"{sum(known[column].get(test) == PASSED for test in both)} of {sum(test in known[column] for test in both)}"
        for column in COLUMNS) + " |")
    return "\n".join(lines)


def report(known: dict[str, Verdicts]) -> int:
    """Prints the table and all differences. Returns how many have no reason."""
    print(table(known))
    why, unexplained = reasons(), 0
    for test, others in differences(known):
        reason = why.get(str(test)) or why.get(test.interface)
        unexplained += not reason
        said = ", ".join(f"{column} {known[column][test]}" for column in others)
        print(f"{test}: {said}: {reason or 'NO REASON GIVEN'}")
    return unexplained


def attend(options: argparse.Namespace) -> int:
    output = Output()
    posix_programs.unpack(output)
    chosen = posix_programs.tests(options.only)
    if not chosen:
        raise Failure(f"--only {options.only}: no test of the suite has this in its name")
    built = posix_programs.build(output, {form: FORMS[form] for column in options.columns
                                          for form in [COLUMNS[column]]}.values(), chosen, options.jobs)
    known = read()
    for column in options.columns:
        form = FORMS[COLUMNS[column]]
        there = [test for test in built[form.name] if form.forks or not test.forks]
        found = on_linux(column, there) if column in ON_LINUX else on_skerry(column, there, options.show)
        known[column] |= dict.fromkeys((test for test in chosen if test not in built[form.name]), ABSENT) | found
        for test in chosen:
            if not form.forks and test.forks:
                known[column].pop(test, None)
        write(known)
    return 1 if report(known) else 0


def columns(text: str) -> list[str]:
    """Reads names of columns. Raises ValueError where there is no such column."""
    names = text.split(",")
    if unknown := [name for name in names if name not in COLUMNS]:
        raise ValueError(f"no column {unknown[0]}")
    return names


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.posix_suite",
                                     description="Runs the tests of posixtestsuite, and records their verdicts.")
    parser.add_argument("--only", metavar="WORD", default="", help="tests with WORD in their name, as timer_create/1-1")
    parser.add_argument("--columns", metavar="NAME,...", type=columns, default=list(COLUMNS),
                        help=f"of {', '.join(COLUMNS)}")
    parser.add_argument("--jobs", metavar="N", type=int, default=len(os.sched_getaffinity(0)), help="compilers at once")
    parser.add_argument("--show", action="store_true", help="what the programs print on Skerry")
    parser.add_argument("--report", action="store_true", help="print the table of the verdicts on file, run nothing")
    options = parser.parse_args()
    process.heed_signals()
    try:
        with alone("tests.long.posix_suite", FILE, BUILD / "posix-suite.lock"):
            return (1 if report(read()) else 0) if options.report else attend(options)
    except Failure as error:
        print(f"posix_suite: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
