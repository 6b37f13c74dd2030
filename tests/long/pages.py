# SPDX-License-Identifier: BSD-2-Clause
"""Runs the commands of pages that take long: `build/venv/bin/python -m tests.long.pages [--only WORD] [--list]
[--fresh] [--not-run WHY]`.

Each as a reader would type it (tests/pages/reader.py); those of a lock and a layout of the reader's own in a copy of
the tree in which their pages were followed, those for libvirt under a libvirtd of the campaign's own. pages.txt beside
this file keeps what became of each, and is a part of the repository: a command that ran well is not run again until its
words change, so a campaign can be interrupted and go on on another machine. tests/structure/test_pages.py turns red
where a command has no verdict; `--not-run WHY` gives those that have none this one, which the list shows.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack, suppress
from datetime import date

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD
from tests.long import followed
from tests.pages import verdicts
from tests.pages.reader import Reader, Wrong
from tests.pages.ways import FOLLOWED, LIBVIRT, Command, commands, not_run, of_campaign, of_suite, selecting, works


class Campaign:
    """Readers are made when the first command needs them."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._readers: dict[str, Reader] = {}

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *why: object) -> None:
        self._stack.close()

    def run(self, command: Command) -> None:
        if command.fits(FOLLOWED):
            self._reader("followed").run(command)
        elif command.fits(LIBVIRT):
            self._under_libvirt(command)
        else:
            self._reader("own").run(command)

    def _reader(self, kind: str) -> Reader:
        if kind not in self._readers:
            made = Reader(*self._stack.enter_context(followed.tree())) if kind == "followed" else Reader()
            self._readers[kind] = made
            self._stack.callback(made.close)
        return self._readers[kind]

    def _under_libvirt(self, command: Command) -> None:
        new = "libvirt" not in self._readers
        reader = self._reader("libvirt")
        if new:
            from tests.boot.libvirtd import private_libvirtd

            self._daemon = self._stack.enter_context(private_libvirtd())
            reader.environment |= self._daemon.environment() | {"LIBVIRT_DEFAULT_URI": self._daemon.uri}
        uri, storage = self._daemon.uri, ["--storage", str(self._daemon.images)]
        words = tuple(uri if word in ("qemu:///system", "URI") else word for word in command.words)
        if words[0] != "deploy":
            name = "ycsb" if "ycsb" in words else "redis"
            what = ["watched.toml", "--name", name,
                    "--replace"] if words[0] == "lockstat" else [f"deploy/deployments/{name}.toml"]
            reader.skerry(["deploy", *what, *storage])
        elif "--per-cluster" in words:
            with suppress(Wrong):  # there may be none
                reader.skerry(["undeploy", "redis"])
        try:
            reader.run(Command(words, command.pages), storage if words[0] == "deploy" else ())
        except Wrong as wrong:
            if words != ("deploy", "deploy/deployments/redis.toml", "--lock",
                         "ticket") or "--replace" not in str(wrong):
                raise  # the page says that this one names what differs, and ends with status 1


def show_list() -> None:
    known = verdicts.read()
    for title, some in (("the suite runs", of_suite()), ("the suite is", selecting())):
        for command in some:
            print(f"{title:14}  {command.text}")
    for command in of_campaign():
        verdict = known.get(command.work)
        print(f"{verdict.shown if verdict else 'no verdict':14}  {command.text}")
    for command in filter(not_run, commands()):
        print(f"{'not run':14}  {command.text}  ({not_run(command)})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="WORD", default="", help="commands with WORD in them or in a page's name")
    parser.add_argument("--list", action="store_true", help="say what runs each command")
    parser.add_argument("--fresh", action="store_true", help="also what ran well before")
    parser.add_argument("--not-run", metavar="WHY",
                        help="run nothing; note for each without a verdict why it was not run")
    options = parser.parse_args()
    if options.list:
        show_list()
        return 0
    process.heed_signals()
    try:
        with alone("tests.long.pages", verdicts.FILE, BUILD / "pages.lock"):
            return attend(options)
    except Failure as error:
        print(f"pages: {error}", file=sys.stderr)
        return 1


def attend(options: argparse.Namespace) -> int:
    """Runs what is to be run, and keeps what became of it. Returns the exit status."""
    if options.not_run:
        for command in works():
            if options.only in f"{command.text} {' '.join(command.pages)}" and command.work not in verdicts.read():
                verdicts.write(command, verdicts.Verdict(verdicts.NOT_RUN, "", 0, options.not_run))
        return 0
    failed = 0
    with Campaign() as campaign:
        for command in works():
            done = verdicts.read().get(command.work)
            if options.only not in f"{command.text} {' '.join(command.pages)}" or done and done.passed and not options.fresh:
                continue
            start = time.monotonic()
            try:
                campaign.run(command)
                verdict, why = verdicts.PASSED, ""
            except (Wrong, Failure) as wrong:
                failed += 1
                verdict, why = verdicts.FAILED, str(wrong)
            seconds = round(time.monotonic() - start)
            verdicts.write(command, verdicts.Verdict(verdict, date.today().isoformat(), seconds))
            print(f"{verdict}  {command.text}  {seconds} s" + (f"\n{why}" if why else ""), flush=True)
    print(f"{sum(verdict.passed for verdict in verdicts.read().values())} ran well, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
