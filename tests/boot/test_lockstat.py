# SPDX-License-Identifier: BSD-2-Clause
"""Lock statistics of booted machines: they are read while it runs, and they add up."""

import json
from pathlib import Path

import pytest

from deploy.cli.main import main
from deploy.live.lockstat import live, source
from deploy.live.lockstat.check import checks
from deploy.live.lockstat.snapshot import Snapshot
from deploy.live.top.sample import between
from deploy.live.top.source import Ended, local, of_libvirt
from deploy.machine.run import Run
from tests.boot.libvirtd import private_libvirtd
from tests.boot.machine import client, machine_serving, servers, with_redis


def add_up(snapshots: list[Snapshot]) -> None:
    for snapshot in snapshots:
        wrong = [str(check) for check in checks(snapshot) if not check.holds]
        assert not wrong, wrong


@pytest.mark.limit(120)
def test_running(tmp_path: Path) -> None:
    """the locks of two running clusters under two regimes, from outside, twice"""
    with machine_serving(with_redis(statistics=True, lock="ticket")) as run:
        pid = run.directory.name.split("-")[2]
        assert live.find(pid) == run.directory
        seen = live.local(run.directory)
        assert seen.emulated
        first = seen.snapshots()
        for name in servers(run):
            for i in range(20):
                client(run, name).set(f"key{i}", i)
        second = seen.snapshots()
        assert [s.cluster for s in second] == [0, 1]
        for earlier, later in zip(first, second, strict=True):
            assert later.kernel == "ticket+stat" and len(later.cores) == 2
            assert list(later.total.active) == ["kernel"] and later.total.locks["kernel"].instances == 1
            assert later.total.entries > earlier.total.entries > 1000
            assert later.total.switches > earlier.total.switches
            between = later.since(earlier)
            assert 0 < between.total.locks["kernel"].acquisitions < later.total.locks["kernel"].acquisitions
            assert all(0 <= core.utilisation <= 1 for core in between.cores)
        add_up([*first, *second])

        assert main(["lockstat", pid, "--histogram", "--json", str(tmp_path / "now.json")]) == 0
        rows = json.loads((tmp_path / "now.json").read_text())["results"]
        assert [(one["cluster"], one["lock"], one["emulated"]) for one in rows] == [(0, "ticket", True),
            (1, "ticket", True)]
        assert all(check["holds"] for one in rows for check in one["checks"])

        watched(run, pid, tmp_path / "top.json")

        results = tmp_path / "run.json"
        results.write_text(json.dumps({"events": [event.data for event in run.events.events]}))
        started = source.between(source.read_file(results)[0], None, None)
        assert [s.cluster for s in started] == [0, 1]
        assert all(s.total.entries < now.total.entries for s, now in zip(started, first, strict=True))
        add_up(started)


def watched(run: Run, pid: str, file: Path) -> None:
    """skerry top of the same machine, while commands are sent to one instance"""
    busy, *others = servers(run)
    with local(pid) as source:
        first = source.look()
        for i in range(50):
            client(run, busy).set(f"watched{i}", i)
        made = between(first, source.look())
    assert source.name == "test" and source.emulated and not made.trouble
    rates = dict(made.instances)
    assert list(rates) == servers(run)
    assert (rates[busy] or 0) * made.seconds > 45, "but for the moments between looks"
    assert all(rates[name] is not None and rates[name] < rates[busy] for name in others)
    assert [row.cluster for row in made.clusters] == [0, 1] and len(made.cores) == 4
    assert all((row.rates.entries or 0) > 0 and 0 <= (row.rates.utilisation or 0) <= 1 for row in made.cores)
    assert main(["top", pid, "--once", "--interval", "0.5", "--json", str(file)]) == 0
    document = json.loads(file.read_text())
    assert document["deployment"] == "test" and [one["lock"] for one in document["results"]] == ["ticket", "ticket"]


LIBVIRT = """\
shutdown = "never"
[machine]
sockets = 1
cores = 2
memory = "256M"
[clusters]
lock = "clh"
statistics = true
[redis]
instances = 1
heap = "32M"
"""


@pytest.mark.limit(120)
def test_libvirt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """the locks of a deployment of libvirt, through libvirt"""
    (tmp_path / "locks.toml").write_text(LIBVIRT)
    with private_libvirtd() as daemon:
        for name, value in daemon.environment().items():
            monkeypatch.setenv(name, value)
        where = ["--connect", daemon.uri]
        words = ["deploy", str(tmp_path / "locks.toml"), *where, "--storage", str(daemon.images), "--accel", "tcg"]
        assert main(words) == 0
        assert main(["lockstat", "locks", *where, "--json", str(tmp_path / "now.json")]) == 0
        (one,) = json.loads((tmp_path / "now.json").read_text())["results"]
        assert one["kernel"] == "clh+stat" and len(one["per_core"]) == 2
        assert one["locks"]["kernel"]["acquisitions"] > 500
        assert main(["lockstat", "nobody", *where]) == 2
        assert main(["top", "locks", *where, "--once", "--json", str(tmp_path / "top.json")]) == 0
        (seen,) = json.loads((tmp_path / "top.json").read_text())["results"]
        assert seen["metrics"]["kernel_entries_per_s"] > 0 and seen["metrics"]["redis_ops_per_s"] is not None
        with of_libvirt(daemon.uri, "locks") as source:
            assert main(["stop", "locks", *where]) == 0
            with pytest.raises(Ended, match="stopped"):
                source.look()
        assert main(["top", "locks", *where, "--once"]) == 1
        assert main(["undeploy", "locks", *where]) == 0
