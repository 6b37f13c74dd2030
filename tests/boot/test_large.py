# SPDX-License-Identifier: BSD-2-Clause
"""Kernels of more cores than a word of 64 bits has bits."""

import pytest

from deploy.live import cores, kill
from deploy.live.lockstat import live
from deploy.machine.events import boots_of
from tests.boot.machine import deployment, machine_booted
from tests.boot.test_move import move, owners
from tests.boot.test_restart_cluster import restarted, write


@pytest.mark.drawn
@pytest.mark.limit(150)
@pytest.mark.parametrize("sockets,each", [(2, 32), (5, 13), (3, 32)])
def test_one_kernel(sockets: int, each: int) -> None:
    """one kernel takes 64, 65 and 96 cores: all of them start, and its first report counts each"""
    what = deployment(sockets, each, layout="spanning", network=False)
    with machine_booted(what) as run:
        run.wait_for(lambda: run.events.of("stats"), "the counters of each core")
        found = cores.cores_of(run.events.events, live.monitor_memory(run.directory))
        assert [core.cluster for core in found] == [0] * (sockets * each)
        assert f"{sockets * each} cores, " in run.own_console


@pytest.mark.drawn
@pytest.mark.limit(300)
def test_cores_beyond_a_word() -> None:
    """a core whose index in its new kernel is beyond 64 moves there; that kernel is killed, and comes back with it"""
    with machine_booted(deployment(2, 34, network=False, restart="on-failure", restart_delay=0, restart_limit=0,
                                   spare_cores=True)) as run:
        run.wait_for(lambda: len(run.events.of("stats")) == 2, "the counters of each core")
        move(run, 66, 0)  # its place in cluster 0: the own 34, then 32 others before it
        kill.order(lambda address, word: write(run, address, word), boots_of(run.events.events)[0], "hang-core", 66)
        run.wait_for(lambda: restarted(run, 0, 1), "cluster 0 again")
        assert owners(run) == [0] * 34 + [1] * 32 + [0, 1]
        assert "35 cores," in run.console
        move(run, 66, 1)
