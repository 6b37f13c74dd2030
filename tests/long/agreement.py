# SPDX-License-Identifier: BSD-2-Clause
"""Two runs that agree in every digit, however busy the host is: `build/venv/bin/python -m tests.long.agreement`.

Runs `./skerry compare --quick` as the host is, then beside processes that do nothing but compute. All that the two
files say must be the same, but for the description of the host. Takes two minutes on two processors without load, and
as many times as long with it as there are processes for each processor.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from deploy.base import process
from deploy.base.paths import ROOT

LOAD = 20  # processes
OF_HOST = "host"  # member of a result file that describes the host and the moment
SHOWN = 20  # differences that are printed
MISSING = object()  # in the place of a value


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keeps so many processes computing."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
        if ended := [one.pid for one in running if one.poll() is not None]:
            raise RuntimeError(f"{len(ended)} of {processes} processes of load have ended before the run")
    finally:
        for one in running:
            one.kill()
        for one in running:
            one.wait()


def compare(words: Sequence[str], path: Path, how: str) -> Any:
    """Runs a comparison and returns what its file says; prints how long it took and how busy the host was."""
    begin = monotonic()
    subprocess.run([ROOT / "skerry", "compare", "--quick", *words, "--quiet", "--json", path], check=True,
                   stdout=subprocess.DEVNULL)
    print(f"{how}: {monotonic() - begin:,.0f} s, load average {os.getloadavg()[0]:.1f}", flush=True)
    return json.loads(path.read_text())


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Yields the places at which two documents differ, with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from differences(one.get(key, MISSING), other.get(key, MISSING), f"{place}.{key}" if place else key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (a, b) in enumerate(zip(one, other)):
            yield from differences(a, b, f"{place}[{number}]")
    elif (texts := ["missing" if value is MISSING else json.dumps(value) for value in (one, other)])[0] != texts[1]:
        yield f"{place}: {texts[0][:100]}, {texts[1][:100]}"


def leaves(document: Any) -> int:
    """Returns how many values a document has."""
    inside = document.values() if isinstance(document, dict) else document if isinstance(document, list) else None
    return 1 if inside is None else sum(map(leaves, inside))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.agreement",
                                     description="Compares two runs of compare, one beside a load of the host.")
    parser.add_argument("--load", type=int, default=LOAD, metavar="N", help=f"processes beside the second run ({LOAD})")
    parser.add_argument("words", nargs="*", metavar="-- OPTION", help="further options of compare")
    args = parser.parse_args()
    if args.load < 1:
        parser.error("--load is 1 or more")
    process.heed_signals()
    with TemporaryDirectory(prefix="skerry-agreement-") as folder:
        path = Path(folder) / "result.json"  # the same, since a file says by which arguments it was made
        quiet = compare(args.words, path, "as the host is")
        with busy(args.load):
            loaded = compare(args.words, path, f"beside {args.load} processes")
    for document in (quiet, loaded):
        del document[OF_HOST]
    found = sorted(differences(quiet, loaded))
    for line in found[:SHOWN]:
        print(line)
    print(f"{leaves(quiet):,} values, {len(found)} of them differ: {'MISSED' if found else 'met'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
