# SPDX-License-Identifier: BSD-2-Clause
"""The pages on adding something, followed to the letter in one copy of the tree: a lock, a network card's driver, a
layout."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.base.paths import BUILD, ROOT, THIRD_PARTY
from deploy.machine import qemu

PAGES = {
    "lock": ["tas.h", "regimes.toml"],
    "driver": ["drivers.toml"],
    "layout": ["layouts.py", "test_interleaved.py"],
}  # fmt: skip
NOT_COPIED = shutil.ignore_patterns("build", ".git", "__pycache__", ".cache")
BOOTED = [  # they know no regime and no driver
    *("cluster-manager/loader/loader.elf", "cluster-manager/root/root.elf", "apps/ktest/ktest.elf",
      "deploy/listen-backlog.so"),
    *("cluster-kernel/kernel-clh.elf", "net/switch", "apps/redis/redis-server"),
]  # fmt: skip


def follow(page: str, tree: Path) -> list[Path]:
    """Does what the page's blocks say; the files that came or grew."""
    touched = []
    for text in re.findall(r"^```\w+\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        if text.startswith("# run\n"):
            subprocess.run(["sh", "-ec", text], cwd=tree, check=True)
        elif heading := re.match(r"(?://|#) (file|append): (\S+)\n", text):
            path = tree / heading[2]
            assert path.exists() == (heading[1] == "append"), path
            path.parent.mkdir(exist_ok=True)
            with path.open("a") as file:
                file.write(("\n" if heading[1] == "append" else "") + text[heading.end():])
            touched.append(path.relative_to(tree))
    return touched


def run(tree: Path, *command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), cwd=tree, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def python(tree: Path, *words: str) -> str:
    return run(tree, sys.executable, *words)


def ninja(tree: Path, *targets: str) -> None:
    run(tree, "ninja", "-C", tree / "build", f"-j{len(os.sched_getaffinity(0))}", *targets)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the tree in which all pages have been followed."""
    folder = tmp_path_factory.mktemp("adding")
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=NOT_COPIED, symlinks=True)
    for name, files in PAGES.items():
        assert [path.name for path in follow((ROOT / "docs" / f"adding-a-{name}.md").read_text(), tree)] == files
    yield tree
    shutil.rmtree(tree)


@pytest.fixture(scope="module")
def configured(tree: Path) -> Path:
    """The same, configured."""
    run(tree, "meson", "setup", tree / "build", tree, f"-Dthird_party={THIRD_PARTY}")
    for file in BOOTED:
        (tree / "build" / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(BUILD / file, tree / "build" / file)
    return tree


@pytest.mark.campaign
@pytest.mark.limit(900)
def test_lock(configured: Path) -> None:
    """a lock is added by what the page says: it is built, explored, tested on the host and in the machine"""
    tree = configured
    ninja(tree, "cluster-kernel/kernel-tas.elf", "model/model-lock-tas",
          "cluster-kernel/test/test-kernel-tas")
    facts = python(tree, "-c", "from topology import regimes; regimes.print_for_build()").splitlines()
    without = [line.split("\t")[2] for line in facts if line.startswith("without\tlock-tas\t")]
    build = tree / "build"
    run(build, build / "model" / "model-lock-tas", *(word for case in without for word in ("--without", case)))
    run(build, build / "cluster-kernel" / "test" / "test-kernel-tas", "concurrency")
    result = json.loads(python(tree, "-m", "tests.mistakes.boot", "1", "2", "tas"))
    assert result["failed"] == []
    assert "tas" in python(tree, "-c", "from deploy.deployment.modules import REGIMES; print(*REGIMES)")


ASK = """
from deploy.deployment import parse
from tests.boot.machine import assert_no_fault, client, machine, servers
with machine(parse('shutdown = "never"\\n[machine]\\nsockets = 1\\n[network]\\ndriver = "igb"\\n[redis]\\nheap = "64M"')) as run:
    run.wait_serving()
    for name in servers(run):
        with client(run, name) as server:
            for size in (1, 1460, 300_000):
                assert server.set("key", b"x" * size) and server.get("key") == b"x" * size
    assert_no_fault(run)
"""


@pytest.mark.campaign
@pytest.mark.limit(600)
@pytest.mark.skipif(qemu.version() < (8, 0),
                    reason="this QEMU has no such card: bookworm-backports has a newer qemu-system-x86")
def test_driver(configured: Path) -> None:
    """a driver is added by what the page says: it is built, deployments name it, and a Redis answers through it"""
    ninja(configured, "net/igb")
    python(configured, "-c", ASK)
    assert "igb" in python(configured, "-c", "from deploy.deployment import reference; print(reference.page())")


SKERRY = ("-c", "import sys; from deploy.cli.main import main; sys.exit(main(sys.argv[1:]))")


def test_layout(tree: Path) -> None:
    """a layout is added by what the page says: its own test passes, and tools, deployments and pages know it"""
    python(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/topology/test_interleaved.py")
    text = python(tree, *SKERRY, "topology", "--layout", "interleaved", "--sockets", "2", "--cores", "4", "-f", "dts")
    assert "cpus = <&cpu0 &cpu2 &cpu4 &cpu6>;" in " ".join(text.split()), text
    assert "interleaved" in python(tree, *SKERRY, "run", "--help")
    pages = python(tree, "-c", "from deploy.deployment import reference as r; print(r.page(), "
                               "r.layouts(r.LAYOUTS_PAGE.read_text()))")
    assert "| `interleaved` | every second core" in pages and "`size=N`, `interleaved`, or a cluster map" in pages
