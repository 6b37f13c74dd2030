# SPDX-License-Identifier: BSD-2-Clause
"""Assigns each command of the pages to what executes it: a test of the suite, the long campaign, or nothing, with the
reason.

A command is what a reader types, wherever it stands: the same words on two pages are one command.
tests/boot/test_commands.py runs those of SUITE; tests/structure/test_pages.py compares each WORD of `./skerry test
--only WORD` with the names of tests; tests/long/pages.py runs the rest and records a verdict for each.
"""

import re
import shlex
from dataclasses import dataclass

from tests.pages.lines import ALL, is_name, is_usage

# Patterns over the words of a command. The suite runs these: each takes seconds, and those that boot share one machine.
SUITE = [
    r"--version$", r"--help$", r"doctor", r"topology( |$)(?!.*qemu:///)", r"plan( |$)", r"model (predict|fit) ?",
    r"model simulate .*--cores 1\.\.8", r"completion ", r"man( |$)", r"report ",
    r"paper --list$", r"prove --(list|only ring)$", r"cc ", r"image ",
    r"(top|lockstat)( |$)(?!.*--connect)(?!.*--count)", r"kill --cluster 1$",
    r"run deploy/deployments/minimal\.toml --gdb$", r"run deploy/deployments/redis\.toml --keep$",
]  # fmt: skip
SELECTS = r"test( |$)"  # the suite itself, or some of its tests
FOLLOWED = r".*\btas\b|.*interleaved"  # a lock and a layout of the reader's: in a copy of the tree that has them
RESULTS = "build/"  # where pages put what commands write: it is not part of the tree
WRITES = ("--json", "--plot", "--flame", "-o")  # options whose value is such a file
LIBVIRT = r"(deploy|status|console|logs|stop|undeploy)( |$)|.*--connect |.*qemu:///"

# Commands that nothing runs.
NOT_RUN = {
    r".*qemu\+ssh://": "needs a second host with libvirt",
    r".*--bridge": "needs a network bridge of the host's",
    r"paper$": "all figures take hours: other commands run each figure, and `paper` with two of them",
}


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    pages: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(["./skerry",
                         *(word if "," in word and " " not in word else shlex.quote(word) for word in self.words)])

    @property
    def work(self) -> str:
        """The text without `--json FILE`, `--quiet` and the folder of results: they change what is written, not what is
        run."""
        kept, rest = [], iter(self.words)
        for word in rest:
            if word == "--json":
                next(rest, None)
            elif word != "--quiet":
                kept.append(word.removeprefix(RESULTS))
        return Command(tuple(kept), ()).text

    def fits(self, pattern: str) -> bool:
        return re.match(pattern, " ".join(self.words)) is not None


def commands() -> list[Command]:
    """In the order of the pages."""
    pages: dict[tuple[str, ...], dict[str, None]] = {}
    for line in ALL:
        if not is_usage(line) and not is_name(line):
            pages.setdefault(line.words, {})[line.page] = None
    return [Command(words, tuple(named)) for words, named in pages.items()]


def not_run(command: Command) -> str | None:
    """Why nothing runs it."""
    return next((why for pattern, why in NOT_RUN.items() if command.fits(pattern)), None)


def of_suite() -> list[Command]:
    run_here = [c for c in commands() if any(c.fits(pattern) for pattern in SUITE) and not c.fits(FOLLOWED)]
    return sorted(run_here, key=lambda c: c.words[0] == "kill")  # last: the machine that others look at dies of it


def selecting() -> list[Command]:
    return [c for c in commands() if c.fits(SELECTS)]


def of_campaign() -> list[Command]:
    """Lists the commands that take long, or need what a test cannot assume."""
    short = {*of_suite(), *selecting()}
    return [c for c in commands() if c not in short and not not_run(c)]


def works() -> list[Command]:
    """One of those for each work that the campaign has."""
    return list({command.work: command for command in reversed(of_campaign())}.values())[::-1]
