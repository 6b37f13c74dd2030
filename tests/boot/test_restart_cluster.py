# SPDX-License-Identifier: BSD-2-Clause
"""Clusters that are lost are fenced, loaded and started again, while the others go on."""

import random
import re

import pytest

from deploy.base.paths import BUILD
from deploy.base.symbols import Image
from deploy.bench.failure import scene
from deploy.bench.failure.scene import end_cluster
from deploy.deployment import modules
from deploy.machine import gdb_remote, monitor
from deploy.machine.run import Run
from tests.boot.machine import ANSWER, deployment, machine, machine_booted
from topology.limits import MAX_CLUSTERS

pytestmark = pytest.mark.drawn

# The clusters' control words in the loader's memory, which no manager can write.
_SHIFT = 32  # of the life in a word, cluster_control.h
_WORD = re.compile(r"0x[0-9a-f]+$", re.MULTILINE)


def control(cluster: int) -> int:
    """Returns the address of a cluster's control word in the loader."""
    words = Image(BUILD / modules.LOADER).symbol("control")
    return words.address + words.size // MAX_CLUSTERS * cluster


def life(run: Run, cluster: int) -> int:
    """1 at boot, one more each time that the cluster was loaded again."""
    (answer,) = monitor.human(run.command.monitor, f"xp /1gx {control(cluster):#x}")
    word = _WORD.search(answer.strip().replace("\r", ""))
    assert word, f"the monitor says {answer!r} of cluster {cluster}'s control word"
    return int(word[0], 16) >> _SHIFT

STATES = {"claimed": 2, "fenced": 3, "loading": 4}  # enum control_state of cluster_control.h
KILLS = len(scene.WAYS)  # tests.long.cluster_restarts makes a thousand
QUIET = 0.1, 0.6  # seconds of load before a kill


def restarted(run: Run, cluster: int, times: int) -> bool:
    return len(run.events.of("cluster-restarted", cluster=cluster)) >= times


def write(run: Run, address: int, word: int) -> None:
    gdb_remote.write_word(lambda line: monitor.human(run.command.monitor, line)[0], address, word)


@pytest.mark.limit(900)
def test_kills() -> None:
    """a cluster ends under load, once in every way, drawn from a printed seed: each time it serves again, empty; the
    other one's clients have no error"""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    with machine(scene.deployment()) as run, scene.on_stage(run, seed, ANSWER) as stage:
        for number in range(1, KILLS + 1):
            fate = stage.kill(scene.draw(seed, number, scene.mortal(run.plan), [scene.WAYS[number % len(scene.WAYS)]],
                                         QUIET))
            assert fate.survivor_errors == 0 and fate.survivor_requests, fate
            assert life(run, 1) == number + 1
        assert [e["restarts"] for e in run.events.of("cluster-restarted")] == list(range(1, KILLS + 1))
        assert (len(run.events.of("cluster-lost")) == KILLS and not run.events.of("cluster-stuck")
                and not stage.false_alarms)
        assert len(run.events.of("boot", cluster=0)) == 1


@pytest.mark.limit(150)
def test_two_at_once() -> None:
    """two clusters are lost in one moment; both come back"""
    with machine_booted(deployment(3, 1, network=False, restart="on-failure")) as run:
        end_cluster(run, 1, "hang")
        end_cluster(run, 2, "init")
        run.wait_for(lambda: restarted(run, 1, 1) and restarted(run, 2, 1), "both again")
        assert run.running and len(run.events.of("cluster-lost")) == 2


@pytest.mark.limit(150)
def test_next_one_goes_on() -> None:
    """the cluster whose turn it is to start another one again is lost, too: the next one does"""
    with machine_booted(deployment(3, 1, network=False, restart="on-failure")) as run:
        end_cluster(run, 0, "hang")
        end_cluster(run, 2, "panic")
        run.wait_for(lambda: life(run, 2) == 2, "the third cluster")
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")


@pytest.mark.limit(300)
@pytest.mark.parametrize("state", STATES)
def test_claimer_dies(state: str) -> None:
    """the cluster that starts another one again is lost half-way, in each of its states: the next one goes on"""
    with machine_booted(deployment(3, 1, network=False, restart="on-failure")) as run:
        end_cluster(run, 0, "hang")
        end_cluster(run, 2, "hang")
        write(run, control(2), 1 << 32 | STATES[state])  # life 1, claimed by cluster 0
        run.wait_for(lambda: life(run, 2) == 2, "the third cluster")
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")


@pytest.mark.limit(150)
def test_too_often() -> None:
    """a cluster that is lost more often than it may be stays down, and that is said"""
    with machine_booted(deployment(network=False, restart="on-failure", restart_limit=1)) as run:
        end_cluster(run, 1, "panic")
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        end_cluster(run, 1, "panic")
        assert "1 times in 60 s" in run.wait_event("cluster-stays-down", cluster=1)["why"]
        assert run.running and not restarted(run, 1, 2)
