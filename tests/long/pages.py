# SPDX-License-Identifier: BSD-2-Clause
"""Runs every command that a page shows to be typed: `build/venv/bin/python -m tests.long.pages [--only WORD] [--list] [--fresh]`.

As a reader would, page by page, in a folder in which the tree's own files are found; where a page names a file of the
reader's, there is one. What ran well is kept in build/pages.json and not run again, so that a campaign can be
interrupted. SKIPPED has what is not run, each with its reason; tests/structure/test_documents.py checks all commands' words.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.paths import BUILD, ROOT
from tests.structure.test_documents import ALL, Line, is_usage

STATE = BUILD / "pages.json"
PATIENCE = 1800  # seconds; for a host that does much else besides

# A pattern over page and command, and what runs it in this one's place or why nothing does.
SKIPPED = {
    r"^docs/generated/cli\.md": "the same examples as on the pages",
    r"\btas\b|interleaved|^docs/adding-a-(driver|lock)\.md": "tests/boot/test_adding.py follows these pages in a copy of the tree",
    r" test( |$)": "it would run itself",
    r"qemu\+ssh|--bridge|qemu:///": "needs another host, a bridge or a system libvirtd",
    r" (deploy|status|logs|stop|undeploy)( |$)": "tests/boot/test_libvirt*.py have a libvirtd of their own",
    r" kill ": "tests/boot/test_detection.py kills clusters of machines that it has booted",
    r" collect ": "tests/boot/test_collect.py has logs of machines",
    r" paper$": "hours: the benchmarks run each figure's command",
}
SHORTER = {("fuzz",): ("--time", "20"), ("top", "--count"): ("--count", "3", "--interval", "1")}  # the same command, less of it
WATCHES = ("top", "lockstat")  # they need a machine that runs
MACHINES = {"machine.xml": "pack:2 [numa(memory=16GB)] l3:1 core:4 pu:1", "epyc.xml": "pack:1 numa:2(memory=16GB) l3:2 core:4 pu:1"}
RUNS = "watched.toml"  # which is this one
WATCHED = 'shutdown = "never"\n[clusters]\nstatistics = true\n[redis]\n'
LOADED = "[clusters]\nstatistics = true\n[redis]\n[ycsb]\nrecords = 100\noperations = 100\n"
SERVES = re.compile(r"Ctrl-C ends it|Stopped\. ")  # the last thing that one with --keep or --gdb says


def skipped(line: Line) -> str | None:
    shown = f"{line.page} {' '.join(line.words)}"
    return next((why for pattern, why in SKIPPED.items() if re.search(pattern, shown)), None)


def typed() -> list[Line]:
    found: dict[tuple[str, tuple[str, ...]], Line] = {}
    for line in ALL:
        if line.typed and not is_usage(line):
            found.setdefault((line.page, line.words), line)
    return list(found.values())


def folder_of_a_reader(folder: Path) -> None:
    """The tree's files, and those that pages suppose a reader to have."""
    for entry in ROOT.iterdir():
        (folder / entry.name).symlink_to(entry)
    for name, shape in MACHINES.items():
        subprocess.run(["lstopo", "-i", shape, "--of", "xml", str(folder / name)], check=True, capture_output=True)
    (folder / "mine.toml").write_text((ROOT / "deploy/machines/epyc-7402.toml").read_text())
    (folder / RUNS).write_text(WATCHED)
    (folder / "loaded.toml").write_text(LOADED)


def prepare(line: Line, folder: Path) -> None:
    """What a reader has from elsewhere: results of a run, of a bench; a map that was edited."""
    made = {
        "results.json": ("run", "loaded.toml", "--json", "results.json"),
        "RESULTS.json": ("bench", "scale", "--lock", "clh", "--json", "RESULTS.json"),
    }
    for name, command in made.items():
        if name in line.words and "--json" not in line.words and not (folder / name).exists():
            skerry(folder, command)
    if "my-map.dts" in line.words and not (folder / "my-map.dts").exists():
        told = skerry(folder, ("topology", "--from", "epyc.xml", "--layout", "per-socket", "-f", "dts"))
        (folder / "my-map.dts").write_text(told)


def with_own(words: tuple[str, ...]) -> tuple[str, ...]:
    own = {"DEPLOYMENT": "deploy/deployments/redis.toml"}
    given = [own.get(word, word) for word in words]
    for (name, *option), less in SHORTER.items():
        if given[0] == name and set(option) <= set(given):
            at = given.index(less[0]) if less[0] in given else len(given)
            given[at : at + len(less)] = less
    return tuple(given)


def skerry(folder: Path, words: tuple[str, ...]) -> str:
    """Its standard output; AssertionError with what it said if it fails."""
    done = subprocess.run(["./skerry", *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, f"status {done.returncode}: {(done.stdout + done.stderr)[-1500:]}"
    return done.stdout


@contextmanager
def serving(folder: Path, words: tuple[str, ...]) -> Iterator[int]:
    """Runs one that serves, until it says so; its process id. Ends it with Ctrl-C."""
    log = folder / "serving.log"
    with log.open("w") as file:
        process = subprocess.Popen(["./skerry", *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        end = time.monotonic() + PATIENCE
        while not SERVES.search(log.read_text(errors="replace")):
            assert process.poll() is None and time.monotonic() < end, log.read_text(errors="replace")[-1500:]
            time.sleep(0.2)
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        status = process.wait()
    assert status in (0, 130), f"status {status}: {log.read_text(errors='replace')[-1500:]}"


def run(line: Line, folder: Path) -> None:
    prepare(line, folder)
    words = with_own(line.words)
    if "--keep" in words or "--gdb" in words:
        with serving(folder, words):
            pass
    elif words[0] in WATCHES and not any(word.endswith(".json") for word in words[1:2]):
        with serving(folder, ("run", RUNS, "--keep")) as pid:
            words = tuple(str(pid) if word.isdecimal() and len(word) == 5 else word for word in words)
            if words[0] == "top" and not {"--once", "--count"} & set(words):
                words += ("--count", "2")  # else it stays until a key is pressed
            skerry(folder, words)
    else:
        skerry(folder, words)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="WORD", default="", help="commands with WORD in them or in their page's name")
    parser.add_argument("--list", action="store_true", help="say what would run, and what is skipped why")
    parser.add_argument("--fresh", action="store_true", help="also what ran well before")
    options = parser.parse_args()
    known: dict[str, float] = json.loads(STATE.read_text()) if STATE.exists() and not options.fresh else {}
    failed = 0
    with tempfile.TemporaryDirectory(prefix="skerry-pages-") as scratch:
        folders: dict[str, Path] = {}
        for line in typed():
            shown = f"{line.page}: ./skerry {' '.join(line.words)}"
            if options.only not in shown or shown in known:
                continue
            if (why := skipped(line)) or options.list:
                print(f"skip  {shown}  ({why})" if why else f"run   {shown}")
                continue
            if line.page not in folders:
                folders[line.page] = Path(scratch, str(len(folders)))
                folders[line.page].mkdir()
                folder_of_a_reader(folders[line.page])
            start = time.monotonic()
            try:
                run(line, folders[line.page])
                known[shown] = round(time.monotonic() - start, 1)
                STATE.write_text(json.dumps(known, indent=1))
                print(f"ok    {shown}  {known[shown]} s", flush=True)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAIL  {shown}\n{error}", flush=True)
    print(f"{len(known)} ran well, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
