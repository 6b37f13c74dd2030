# SPDX-License-Identifier: BSD-2-Clause
"""Lock statistics of booted machines: they are read while it runs, and they add up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.lockstat import live, source
from deploy.lockstat.check import checks
from deploy.lockstat.snapshot import Snapshot
from tests.boot.machine import client, machine, servers, with_redis


def add_up(snapshots: list[Snapshot]) -> None:
    for snapshot in snapshots:
        wrong = [str(check) for check in checks(snapshot) if not check.holds]
        assert not wrong, wrong


@pytest.mark.limit(120)
def test_running(tmp_path: Path) -> None:
    """the locks of two running clusters under two regimes, from outside, twice"""
    with machine(with_redis(statistics=True, lock="ticket")) as run:
        run.wait_serving()
        memory = live.monitor_memory(run.directory)
        assert live.emulated(run.directory)
        assert live.find(run.directory.name.split("-")[2]) == run.directory
        first = live.snapshots(live.read_events(run.directory), memory)
        for name in servers(run):
            for i in range(20):
                client(run, name).set(f"key{i}", i)
        second = live.snapshots(run.events, memory)
        assert [s.cluster for s in second] == [0, 1]
        for earlier, later in zip(first, second, strict=True):
            assert later.kernel == "ticket+stat" and len(later.cores) == 2
            assert list(later.total.active) == ["kernel"] and later.total.locks["kernel"].instances == 1
            assert later.total.entries > earlier.total.entries > 1000
            assert later.total.switches > earlier.total.switches
            between = later.since(earlier)
            assert 0 < between.total.locks["kernel"].grabs < later.total.locks["kernel"].grabs
            assert all(0 <= core.utilisation <= 1 for core in between.cores)
        add_up([*first, *second])

        results = tmp_path / "run.json"
        results.write_text(json.dumps({"events": [event.data for event in run.events.events]}))
        started = source.between(source.read_file(results)[0], None, None)
        assert [s.cluster for s in started] == [0, 1]
        assert all(s.total.entries < now.total.entries for s, now in zip(started, first, strict=True))
        add_up(started)
