# SPDX-License-Identifier: BSD-2-Clause
"""Runs Redis's own test suite, or Valkey's, against an instance in each cluster.

`build/venv/bin/python -m tests.long.redis_suite [--server valkey] [--only unit/type/string,...]`.

Takes about a quarter of an hour. Left out are the tags for what an external server without files cannot do
(persistence, replication, rewriting the configuration) and two tests that suppose a server on the same host:
one takes a port there and expects the server to find it taken, one sends on two connections and expects the
server to hear in that order.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from deploy.base import process
from deploy.base.paths import THIRD_PARTY
from deploy.base.terminal import Output
from deploy.deployment import Redis
from deploy.deployment.engines import ENGINES
from deploy.deployment.planner import plan
from deploy.machine import qemu
from deploy.machine.run import Options, boot
from deploy.setup import needs
from deploy.setup.build import ensure_built
from tests.boot.machine import deployment, servers
from topology.units import MIB

TAGS = "-needs:repl -needs:save -needs:config-maxmemory -needs:debug -large-memory -slow"
SKIPPED = ("CONFIG SET rollback on apply error", "BRPOPLPUSH with multiple blocked clients")
FIRST_PORT = 21000  # of the suite's own conversations
PORTS_EACH = 4000


def _tree(folder: Path, server: str) -> Path:
    """Copies the suite, which expects the programs beside it: Redis's, by the server's names."""
    source = THIRD_PARTY / server
    shutil.copytree(source / "tests", folder / "tests")
    shutil.copy2(source / "runtest", folder)
    (folder / "src").mkdir()
    for program in ("cli", "benchmark", "server"):
        if installed := shutil.which(f"redis-{program}"):
            (folder / "src" / f"{server}-{program}").symlink_to(installed)
    return folder


def _start(folder: Path, address: tuple[str, int], place: int, files: Sequence[str]) -> subprocess.Popen[bytes]:
    host, port = address
    command = ["./runtest", "--host", host, "--port", str(port), "--baseport", str(FIRST_PORT + place * PORTS_EACH)]
    command += ["--clients", "1", "--tags", TAGS]
    for name in SKIPPED:
        command += ["--skiptest", name]
    for name in files:
        command += ["--single", name]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


def _verdict(folder: Path) -> tuple[int, list[str]]:
    text = re.sub(r"\x1b\[[0-9;]*m", "", (folder / "log").read_text(errors="replace"))
    bad = [line for line in text.splitlines() if line.startswith(("[err]", "[exception]"))]
    if not bad and "All tests passed without errors" not in text:
        bad = ["the suite did not finish"]
    return len(re.findall(r"^\[ok\]", text, re.MULTILINE)), bad


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.redis_suite",
                                     description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--server", choices=tuple(ENGINES), default=Redis.server)
    parser.add_argument("--only", metavar="FILE,...", default="", help="files of the suite, as unit/type/string")
    args = parser.parse_args()
    process.heed_signals()
    settings = Redis(server=args.server, heap=256 * MIB, args=(*Redis.args, "--maxmemory", "0"))
    what = plan(replace(deployment(name="suite"), redis=settings))
    ensure_built(Output(False), needs.of_map(what.cluster_map, what.own) | needs.OUTSIDE)
    options = Options(qemu.tcg_for(len(what.machine.cores)), medium="kernel", keep_time=True)
    failed = 0
    with boot(what, options) as machine, tempfile.TemporaryDirectory(prefix="redis-suite-") as private:
        machine.wait_serving()
        names = servers(machine)
        running = []
        for place, name in enumerate((names[0], names[-1])):  # one in each cluster
            folder = Path(private, name)
            folder.mkdir()
            running.append((name, _tree(folder, args.server),
                            _start(folder, machine.address(name), place, [one for one in args.only.split(",") if one])))
        for name, folder, suite in running:
            suite.wait()
            passed, bad = _verdict(folder)
            print(f"{name}: {passed} passed, {len(bad)} failed", *bad, sep="\n  ", flush=True)
            failed += len(bad)
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())
