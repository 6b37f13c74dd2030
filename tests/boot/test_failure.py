# SPDX-License-Identifier: BSD-2-Clause
"""Failures: detection, and what survives."""

import json
import os
import pty
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from deploy.bench.failure.measure import FIGURES
from deploy.bench.failure.scene import Kill, deployment, end_cluster, on_stage
from deploy.deployment import Load, Redis
from deploy.results import survival
from deploy.results.result import check
from tests.boot.machine import ANSWER, client, machine, machine_serving, servers, with_redis
from tests.boot.test_commands import SKERRY, descendants, skerry, wait_gone
from topology.units import MIB

pytestmark = pytest.mark.drawn

# ---- `skerry bench failure` and `skerry demo failure`, as a user calls them ----

@pytest.mark.limit(400)
def test_bench(tmp_path: Path) -> None:
    """a kill in each of two ways: each figure beside its goals, the same in JSON and CSV"""
    done = skerry("bench", "failure", "--how", "panic,manager", "--repeats", "1", "--quick", "--accel", "tcg", "--seed",
                  "5", "--json", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Seed: 5." in done.stdout and "KVM, metal" in done.stdout
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["command"] == "bench failure" and document["seed"] == 5
    panic, manager, every = document["results"]
    assert (panic["how"], manager["how"], every["how"]) == ("panic", "manager",
                                                            "none") and every["metrics"]["false_alarms"] == 0
    for row in (panic, manager):
        assert {figure.name for figure in FIGURES} <= set(row["metrics"]) and row["emulated"]
        assert row["metrics"]["survivor_requests"] > 20
        (kill,) = row["kills"]
        assert 0 < kill["detect_ms"] < kill["again_ms"] < kill["pong_ms"] and kill["fence_ms"] < kill["after_ms"]
    assert panic["kills"][0]["reason"] == "panic" and manager["kills"][0]["reason"] == "manager"
    assert manager["kills"][0]["silent_ms"] >= 5000 and panic["metrics"]["detect_ms"] < manager["metrics"]["detect_ms"]
    assert (tmp_path / "r.csv").read_text().splitlines()[0].count("detect_ms") == 1


@pytest.mark.limit(300)
def test_bench_first(tmp_path: Path) -> None:
    """the first cluster, with the card and the switch, is ended: connections to the other one's Redis last"""
    done = skerry("bench", "failure", "--first", "--how", "panic", "--repeats", "2", "--quick", "--accel", "tcg",
                  "--seed", "5", "--json", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The first cluster fails" in done.stdout
    panic, _ = json.loads((tmp_path / "r.json").read_text())["results"]
    assert panic["ended"] == "first" and panic["metrics"]["survivor_connections"] == 4 == 2 * panic["metrics"]["kills"]
    assert panic["metrics"]["survivor_connections_lost"] == panic["metrics"]["survivor_errors"] == 0
    for kill in panic["kills"]:
        assert (kill["cluster"] == 0 and kill["reason"] == "panic"
                and 0 < kill["detect_ms"] < kill["again_ms"] < kill["pong_ms"])


@pytest.mark.limit(200)
def test_false_alarm() -> None:
    """a loss that the scene has not ordered is a false alarm, once; the kill after it is followed as any other"""
    with machine(deployment()) as run, on_stage(run, 1, ANSWER) as scene:
        assert scene.watch(0.5) == 0
        end_cluster(run, 1, "garbage")
        assert scene.watch(4.0) == 1 == scene.false_alarms
        fate = scene.kill(Kill(1, 1, "panic", 0, 1.0))
        assert fate.reason == "panic" and scene.false_alarms == 1 and fate.survivor_errors == 0
        lives = {name: load.lives for name, load in scene.loads.items()}
        assert all(lives[name] == 1 for name in lives if name not in scene.within(1)), lives


@pytest.mark.limit(300)
def test_demo(tmp_path: Path) -> None:
    """without a terminal: a line each second, what happened, the figures, and the curve as a picture"""
    done = skerry("demo", "failure", "--seconds", "2", "--accel", "tcg", "--plot", "curve.svg", "--json", "d.json",
                  cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ +\d+\.\d s  cluster 0: +[\d,]+ requests/s   cluster 1: +[\d,]+ requests/s$", done.stdout,
                     re.MULTILINE)
    for words in ("Ordered: cluster 1, panic of core 0.", "Told by the others: its kernel panicked on core 0",
                  "Cluster 1 serves again.", "The others: ", "Plot: curve.svg."):
        assert words in done.stdout, done.stdout
    assert (tmp_path / "curve.svg").read_text().count("<svg") == 1
    document = json.loads((tmp_path / "d.json").read_text())
    lives = {one["client"]: (one["lives"], len(one["gaps"])) for one in document["survival"]}
    assert sorted(lives.values()) == [(1, 0), (2, 1), (2, 1)], lives


@pytest.mark.limit(300)
def test_interrupted(tmp_path: Path) -> None:
    """in a terminal of 80 columns the curve grows; Ctrl-C ends it with one line and leaves nothing"""
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    process = subprocess.Popen(
        [SKERRY, "demo", "failure", "--accel", "tcg", "--seconds", "60"], cwd=tmp_path, stdin=slave, stdout=slave,
        stderr=slave,
        start_new_session=True, env=os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
    )  # fmt: skip
    os.close(slave)
    try:
        seen = _read_until(master, process, "Cluster 1: ")
        seen += _read_until(master, process, "█")
        children = descendants(process.pid)
        assert any("qemu" in name for name in children.values())
        process.send_signal(signal.SIGINT)
        seen += _read_until(master, process, "interrupted")
        assert process.wait() == 130, seen
        wait_gone(children)
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
        drawn = [line for line in re.split(r"[\r\n]+", plain) if re.match(r" +[\d,]* \||Cluster", line)]
        assert len(drawn) > 12 and max(len(line) for line in drawn) <= 80
        assert "\x1b[?25h" in seen, "the cursor is there again"
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)


@pytest.mark.limit(200)
def test_emulator_ends(tmp_path: Path) -> None:
    """a machine that ends under the demonstration is one line and status 1; its clients and its folder go with it"""
    command = [SKERRY, "demo", "failure", "--accel", "tcg", "--seconds", "60"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stderr
            for line in process.stdout:
                if "requests/s" in line:
                    break
            (emulator,) = [pid for pid, name in descendants(process.pid).items() if "qemu" in name]
            os.kill(emulator, signal.SIGKILL)
            _, errors = process.communicate()
            assert process.returncode == 1
            last = errors.splitlines()[-1]
            assert last.startswith("skerry: the machine ended "
                                   "before the ") and "QEMU was ended by SIGKILL" in last, errors
            assert not list(Path(tempfile.gettempdir()).glob(f"skerry-run-{process.pid}-*"))
        finally:
            process.kill()


def _read_until(master: int, process: subprocess.Popen[bytes], word: str) -> str:
    seen = ""
    while word not in seen:
        try:
            data = os.read(master, 65536)
        except BlockingIOError:
            assert process.poll() is None, seen[-2000:]
            time.sleep(0.05)
            continue
        except OSError:  # nobody has the terminal any more
            break
        seen += data.decode("utf-8", "replace")
    assert word in seen, seen[-2000:]
    return seen


# ---- Clients that survive the end of their Redis, which is started again under them ----

OPERATIONS = 2000
LOAD = Load(clients=2, workload="f", records=60, operations=OPERATIONS, survive=600)


@pytest.mark.limit(300)
def test_redis_ends_under_load() -> None:
    """two clients reach a Redis again that was ended, in its next life; the other instance's lose nothing"""
    what = replace(with_redis(shutdown="when-done"), redis=Redis(heap=64 * MIB, restart="always"), load=LOAD)
    with machine_serving(what) as run:
        names = servers(run)
        with client(run, names[0], retry=None) as server:
            run.wait_for(lambda: server.info("commandstats").get("cmdstat_hgetall", {"calls": 0})["calls"] > 100,
                         "the load")
            with pytest.raises(redis.ConnectionError):
                server.execute_command("SHUTDOWN", "NOSAVE", "FORCE")
                server.ping()
        run.wait_done()
        assert check(run.plan, run.events) == []
        fates = survival.collect(run.events)
        lost = [fate for fate in fates if fate.gaps]
        assert len(lost) == 2 and len(fates) == 2 * len(names), "the clients of one instance"
        for fate in lost:
            assert fate.lives == 2 and fate.forgotten and len(fate.gaps) == 1, fate
            assert sum(fate.counts) + fate.reads + fate.updates == OPERATIONS
        assert len({fate.server for fate in lost}) == 1
