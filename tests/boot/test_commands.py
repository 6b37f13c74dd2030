# SPDX-License-Identifier: BSD-2-Clause
"""The commands that boot, as a user calls them, and those of the pages that take seconds."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import ROOT
from deploy.cli.main import main
from tests.boot.machine import killed
from tests.pages.reader import WIDTH, Reader
from tests.pages.ways import Command, of_suite

# ---- The commands that boot, as a user calls them. ----


SKERRY = str(ROOT / "skerry")
METRICS = {
    *("ops_per_s", "p50_us", "p99_us", "errors", "kernel_entries_per_s", "lock_conflict_ratio", "cpu_utilisation"),
    *("memory_per_instance", "memory_committed", "memory_reserved"),
}


def skerry(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SKERRY, *words], cwd=cwd, capture_output=True, text=True)


@pytest.mark.limit(300)
def test_compare(tmp_path: Path) -> None:
    """a small comparison of both layouts ends in results and a plot"""
    done = skerry("compare", "--accel", "tcg", "--boot", "kernel", "--records", "500", "--operations", "500", "--json",
                  "results.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads((tmp_path / "results.json").read_text())
    assert results["command"] == "compare"
    by_layout = {row["layout"]: row for row in results["results"] if row["system"] == "skerry"}
    assert {"per-socket", "spanning"} <= set(by_layout)
    for layout, clusters in (("per-socket", 2), ("spanning", 1)):
        row = by_layout[layout]
        assert (row["clusters"], row["cores"], row["lock"]) == (clusters, 4, "clh")
        assert METRICS <= set(row["metrics"])
        assert row["metrics"]["errors"] == 0
        assert row["metrics"]["ops_per_s"] > 0
        assert row["metrics"]["kernel_entries_per_s"] > 0
        assert len(row["per_core"]) == 4


@pytest.mark.limit(120)
def test_profile(tmp_path: Path) -> None:
    """every instruction of a profiled load is some function's, and all together are what the clock counted"""
    words = ("--sockets", "1", "--cores", "2", "--records", "100", "--operations", "100", "--flame", "flame.svg")
    done = skerry("profile", *words, "--json", "profile.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "flame.svg").read_text().startswith("<svg")
    (row,) = json.loads((tmp_path / "profile.json").read_text())["results"]
    metrics, functions = row["metrics"], row["profile"]["functions"]
    total = sum(line["instructions"] for line in functions)
    assert total == pytest.approx(metrics["seconds"] * 1e9, rel=0.01)  # of a clock of 1 ns an instruction
    assert metrics["instructions_per_op"] == pytest.approx(total / row["profile"]["operations"])
    assert sum(metrics["instructions_per_op_by"].values()) == pytest.approx(metrics["instructions_per_op"])
    counted = {(line["program"], line["function"]): line["instructions"] for line in functions}
    assert counted["redis-server", "processCommand"] >= row["profile"]["operations"] * 10
    assert counted["kernel-clh", "schedule"] and counted["redis-server", "prediction_take"]
    assert sum(count for (program, _), count in counted.items() if program == "(other code)") < total / 1000


@pytest.mark.limit(300)
def test_profile_start(tmp_path: Path) -> None:
    """a start is counted from the loader's first instruction to the first command served, and what waits for nobody
    takes no more than is promised"""
    done = skerry("profile", "--start", "--sockets", "1", "--cores", "2", "--json", "start.json", "--flame",
                  "start.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert (tmp_path / "start.svg").read_text().startswith("<svg")
    (row,) = json.loads((tmp_path / "start.json").read_text())["results"]
    functions = row["profile"]["functions"]
    total = sum(line["instructions"] for line in functions)
    assert row["metrics"]["instructions_to_serve"] == total > 5e6
    counted = {(line["program"], line["function"]): line["instructions"] for line in functions}
    # half of the promised 20 million; the rest grows on a busy host: while it takes its time to ask, Redis's timers run
    assert sum(count for (program, _), count in counted.items() if program == "loader") < 3.6e6
    assert counted["kernel-clh", "invoke_untyped"] + counted["kernel-clh", "boot_memory_take"] < 5.8e6
    for program, function in (("loader", "clock_calibrate"), ("root", "slots_mark"),
                              ("redis-server", "createSharedObjects")):
        assert counted[program, function] > 1000
    assert ("redis-server", "pingCommand") not in counted
    assert sum(count for (program, _), count in counted.items() if program == "(other code)") < total / 1000


@pytest.mark.limit(120)
def test_keep(tmp_path: Path) -> None:
    """run --keep serves until Ctrl-C and leaves no process behind"""
    command = [SKERRY, "run", str(ROOT / "deploy/deployments/redis.toml"), "--keep", "--accel", "tcg", "--boot",
               "kernel"]
    with killed(subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, start_new_session=True)) as process:
        printed = ""
        assert process.stdout
        while "Ctrl-C" not in printed:
            line = process.stdout.readline()
            assert line, printed
            printed += line
        addresses = re.findall(r"serves at 127\.0\.0\.1:(\d+)", printed)
        assert len(addresses) == 3, printed
        for port in addresses:
            assert subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True, text=True).stdout == "PONG\n"
        children = descendants(process.pid)
        assert any("qemu" in name for name in children.values())
        os.kill(process.pid, signal.SIGINT)
        process.communicate()
        assert process.returncode == 0
        wait_gone(children)


def wait_gone(processes: dict[int, str]) -> None:
    """Waits for killed processes to go, when their parent, or init, has looked; the test's limit ends a wait for one
    that stays."""
    while any(Path(f"/proc/{pid}").exists() for pid in processes):
        time.sleep(0.05)


def descendants(pid: int) -> dict[int, str]:
    """Processes below one, with their names."""
    parents = {}
    for entry in os.listdir("/proc"):
        try:
            number, name, rest = re.fullmatch(r"(\d+) \((.*)\) (.*)\n", Path(f"/proc/{entry}/stat").read_text(),
                                              re.DOTALL).groups()
        except (OSError, AttributeError):
            continue
        parents[int(number)] = (int(rest.split()[1]), name)
    below: dict[int, str] = {}
    growing = True
    while growing:
        fresh = {n: name for n, (parent, name) in parents.items() if (parent == pid or parent in below)
                 and n not in below}
        below |= fresh
        growing = bool(fresh)
    return below


BAD_INPUT = {
    "a file that is not there": (["run", "nowhere.toml"], "nowhere.toml"),
    "an unknown key": (["run", "bad.toml"], "colour"),
    "a core twice": (["run", "bad.dts"], "cpu"),
    "an unknown layout": (["compare", "--layout", "sideways"], "sideways"),
    "no sockets": (["compare", "--sockets", "0"], "--sockets"),
    "an option that is none": (["topology", "--topology", "x"], "--topology"),
    "no folder for results": (["doctor", "--json", "nowhere/x.json"], "nowhere/x.json"),
    "a command that is none": (["fly"], "fly"),
}


@pytest.mark.parametrize("words,culprit", BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input(words: list[str], culprit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                   capsys: pytest.CaptureFixture[str]) -> None:
    """bad input ends with status 2 and one line that names the culprit"""
    (tmp_path / "bad.toml").write_text('colour = "red"\n')
    good = (ROOT / "tests/unit/topology/good.dts").read_text()
    (tmp_path / "bad.dts").write_text(good.replace("cpus = <&cpu2 &cpu3>", "cpus = <&cpu2 &cpu2>"))
    monkeypatch.chdir(tmp_path)
    status, complaint = main(words), capsys.readouterr().err
    assert status == 2 and complaint.count("\n") == 1 and culprit in complaint, complaint


def test_bad_input_of_a_process(tmp_path: Path) -> None:
    """the command itself ends as main() says, without a traceback"""
    done = skerry("compare", "--layout", "sideways", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "sideways" in done.stderr, done.stderr


@pytest.mark.limit(120)
def test_run_of_a_load(tmp_path: Path) -> None:
    """a run shows what its load did; plain kernels' counters are no figures"""
    done = skerry("run", str(ROOT / "deploy/deployments/minimal.toml"), "--boot", "kernel", "--json", "run.json",
                  cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ops/s" in done.stdout and "kernel none on" not in done.stdout
    document = json.loads((tmp_path / "run.json").read_text())
    (result,) = document["results"]
    assert result["metrics"]["operations"] == 1000 and result["metrics"]["ops_per_s"] > 0
    assert result["metrics"]["kernel_entries_per_s"] is None and result["per_core"][0]["lock_conflict_ratio"] is None


OWN = """\
network = false
shutdown = "when-done"

[[program]]
elf = "own.elf"

[[program]]
elf = "own.elf"
args = ["dies"]
cpu = 1

[[program]]
elf = "own.elf"
args = ["ends", "badly"]
cpu = 1
"""
OWN_SOURCE = """\
#include <stdio.h>
int main(int count, char **words)
{
	puts("root:x:0:0");
	fflush(stdout);
	return count > 2 ? 3 : count > 1 ? *(volatile int *)8 : 0;
}
"""


@pytest.mark.limit(90)
def test_run_of_own_programs(tmp_path: Path) -> None:
    """`run` shows what own programs write, as they wrote it, and where in its source one died; the last line names all
    that failed"""
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "own.c").write_text(OWN_SOURCE)
    subprocess.run([SKERRY, "cc", "-g", "-o", tmp_path / "own.elf", tmp_path / "own.c"], check=True)
    done = subprocess.run([SKERRY, "run", tmp_path / "own.toml"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert re.findall(r"^\[own@[01]\] root:x:0:0$", done.stdout, re.MULTILINE)
    why = r"own@1 was killed: page fault at 0x8, read, at instruction 0x[0-9a-f]+ in main, own.c:6"
    assert re.search(rf"^{why}$", done.stdout, re.MULTILINE), done.stdout
    assert re.search(rf"^skerry: the machine failed: {why}; own@2 ended with status 3 \(log: ", done.stderr,
                     re.MULTILINE), done.stderr


SERVER_SOURCE = """\
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int count, char **words)
{
	if (count > 1) {
		printf("one line\\nand another\\n");
		_exit(atoi(words[1]));
	}
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(7) };
	int server = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(server, (struct sockaddr *)&any, sizeof(any)) || listen(server, 1))
		return 1;
	for (;;)
		pause();
}
"""
ONE = '[[program]]\nelf = "server.elf"\nnetwork = true\nports = [7]\n'


@pytest.mark.limit(120)
@pytest.mark.parametrize("status", [0, 4])
def test_a_program_that_ends_before_it_serves(status: int, tmp_path: Path) -> None:
    """with --keep the others serve on, and it fails the run, also with status 0; what it had printed is there, though
    it flushed nothing"""
    (tmp_path / "server.c").write_text(SERVER_SOURCE)
    subprocess.run([SKERRY, "cc", "-o", "server.elf", "server.c"], cwd=tmp_path, check=True)
    (tmp_path / "two.toml").write_text(f'shutdown = "never"\n{ONE}args = ["{status}"]\n{ONE}')
    command = [SKERRY, "run", "two.toml", "--keep", "--accel", "tcg", "--boot", "kernel"]
    with killed(subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)) as process:
        assert process.stdout
        printed = ""
        while "Ctrl-C ends it" not in printed:
            line = process.stdout.readline()
            assert line, printed
            printed += line
        assert re.search(r"^server@\w+ has ended before it served; the others go on$", printed, re.MULTILINE), printed
        assert len(re.findall(r"^server@\w+ serves at ", printed, re.MULTILINE)) == 1, printed
        assert re.findall(r"^\[server@\w+\] (one line|and another)$", printed, re.MULTILINE) == ["one line",
            "and another"], printed
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 1


@pytest.mark.limit(120)
@pytest.mark.parametrize("shutdown", ["never", "when-done"])
def test_status_0_before_it_serves(shutdown: str, tmp_path: Path) -> None:
    """a Redis that prints its version and ends with status 0 has not served: a failure, with its last line"""
    program = (
        '[[program]]\nprogram = "redis-server"\nargs = ["--version"]\nnetwork = true\nports = [6379]\nheap = "64M"\n'
    )
    (tmp_path / "version.toml").write_text(f'shutdown = "{shutdown}"\n{program}')
    done = skerry("run", "version.toml", "--boot", "kernel", cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    assert re.search(r"^redis-server@\w+ ended with status 0, before it served; its last lines:\n    Redis server v=",
                     done.stdout, re.MULTILINE), done.stdout
    assert re.match(r"skerry: redis-server@\w+ ended with status 0, before it served \(log: ",
                    done.stderr.splitlines()[-1]), done.stderr


ELSEWHERE = """\
shutdown = "never"

[[program]]
elf = "echo.elf"
args = ["7"]
network = true
ports = [7]

[[program]]
elf = "echo.elf"
args = ["9"]
cpu = 1
network = true
ports = [7]
"""


@pytest.mark.limit(120)
@pytest.mark.parametrize("words", [("--keep",), ("--timeout", "10")], ids=["keep", "no keep"])
def test_listens_elsewhere(words: tuple[str, ...], tmp_path: Path) -> None:
    """`run` says that a program serves only where it listens; of one at another port it says both, and fails unless it
    stays"""
    (tmp_path / "echo.toml").write_text(ELSEWHERE)
    subprocess.run([SKERRY, "cc", "-o", tmp_path / "echo.elf", ROOT / "examples/echo/echo.c"], check=True)
    command = [SKERRY, "run", "echo.toml", "--boot", "kernel", *words]
    wrong = r"^(?:skerry: )?echo@\d listens at port 9, not at the deployment's port 7, to which 127\.0\.0\.1:\d+ leads"
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        assert process.stdout
        printed = ""
        for line in process.stdout:
            if "Ctrl-C ends it" in line and "Ctrl-C" not in printed:  # it may be printed anew when it is interrupted
                process.send_signal(signal.SIGINT)
            printed += line
    assert process.returncode == (0 if "--keep" in words else 1), printed
    assert len(re.findall(r"^echo@\d serves at 127", printed, re.MULTILINE)) == 1 and re.search(wrong, printed,
        re.MULTILINE), printed
    if "--keep" not in words:
        assert re.match(wrong, printed.strip().splitlines()[-1]), printed


LOOPBACK = """\
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int count, char **words)
{
	for (int i = 1; i < count; i++) {
		struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(7) };
		int server = socket(AF_INET, SOCK_STREAM, 0);
		if (inet_pton(AF_INET, words[i], &name.sin_addr) != 1 || bind(server, (struct sockaddr *)&name, sizeof(name)) || listen(server, 1))
			return perror(words[i]), 1;
	}
	for (;;)
		pause();
}
"""


@pytest.mark.limit(120)
@pytest.mark.parametrize("words", [("--keep",), ("--timeout", "10")], ids=["keep", "no keep"])
def test_listens_on_its_own_loopback(words: tuple[str, ...], tmp_path: Path) -> None:
    """`run` does not say that a program serves which listens at 127.0.0.1 only; one that listens at its own address,
    too, serves"""
    tables = ((0, '"127.0.0.1"'), (1, '"127.0.0.1", "10.0.2.152"'))
    programs = [f'[[program]]\nelf = "inside.elf"\ncpu = {cpu}\nnetwork = true\nports = [7]\nargs = [{args}]\n'
                for cpu, args in tables]
    (tmp_path / "inside.toml").write_text("\n".join(['shutdown = "never"', *programs]))
    (tmp_path / "inside.c").write_text(LOOPBACK)
    subprocess.run([SKERRY, "cc", "-o", "inside.elf", "inside.c"], cwd=tmp_path, check=True)
    command = [SKERRY, "run", "inside.toml", "--boot", "kernel", "--json", "inside.json", *words]
    wrong = (
        r"^(?:skerry: )?inside@2 listens at 127\.0\.0\.1 port 7, its own loopback interface, to which 127\.0\.0\.1:\d+ "
        r"does not lead; let it"
    )
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        assert process.stdout
        printed = ""
        for line in process.stdout:
            if "Ctrl-C ends it" in line and "Ctrl-C" not in printed:
                process.send_signal(signal.SIGINT)
            printed += line
    assert process.returncode == (0 if "--keep" in words else 1), printed
    assert re.findall(r"^(inside@\d) serves at 127", printed, re.MULTILINE) == ["inside@3"] and re.search(wrong,
        printed, re.MULTILINE), printed
    if "--keep" in words:
        events = json.loads((tmp_path / "inside.json").read_text())["events"]
        at = {(e["app"], e["address"]) for e in events if e["event"] == "listening"}
        assert at == {("inside@2", "127.0.0.1"), ("inside@3", "127.0.0.1"), ("inside@3", "10.0.2.152")}
        assert [e["app"] for e in events if e["event"] == "serving"] == ["inside@3"]


# ---- The commands of pages that take seconds, as a reader types them in a terminal of 80 columns; tests/pages/ways.py
# says what executes the others. ----


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    os.environ["COLUMNS"] = str(WIDTH)  # of commands that run in this process
    one = Reader(terminal=True)
    try:
        yield one
    finally:
        one.close()
        del os.environ["COLUMNS"]


@pytest.mark.drawn
@pytest.mark.limit(120)
@pytest.mark.parametrize("command", of_suite(), ids=lambda command: command.text)
def test_command(command: Command, reader: Reader) -> None:
    """a command that pages show ends well, and its tables fit 80 columns"""
    assert reader.run(command) or command.words[0] == "cc" or "-o" in command.words
