# SPDX-License-Identifier: BSD-2-Clause
"""Firmware that numbers its NUMA domains as it likes: a map's nodes are labels, and belong to what has the same cores."""

from __future__ import annotations

import re
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.machine import qemu
from deploy.machine.run import Run
from tests.boot.machine import deployment, machine


def renumber(monkeypatch: pytest.MonkeyPatch, numbers: dict[int, int], *more: str) -> None:
    """QEMU's nodes get these numbers; the map keeps its own. `more`: arguments of another node, then of its distances."""
    whole = qemu.topology_arguments

    def renumbered(*given: Any) -> list[str]:
        fresh = [re.sub(r"\b(nodeid|node-id|src|dst)=(\d+)", lambda m: f"{m[1]}={numbers[int(m[2])]}", word) for word in whole(*given)]
        return [*more[:2], *fresh, *more[2:]]

    monkeypatch.setattr(qemu, "topology_arguments", renumbered)


def booted(run: Run) -> bool:
    return len(run.events.of("boot")) == len(run.plan.cluster_map.clusters)


@pytest.mark.limit(240)
def test_empty_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """a machine whose node 0 has neither cores nor memory, so that its domains are 1 and 2, runs the map of nodes 0 and 1"""
    renumber(monkeypatch, {0: 1, 1: 2}, "-numa", "node,nodeid=0", "-numa", "dist,src=0,dst=1,val=20", "-numa", "dist,src=0,dst=2,val=20")
    with machine(deployment(network=False)) as run:
        run.wait_for(lambda: booted(run), "both clusters")
        assert "numa-node-id" not in run.console, run.console


@pytest.mark.limit(240)
def test_other_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """domains in the other order are those of the map, too; the memory of each is near other cores then, and refused"""
    renumber(monkeypatch, {0: 1, 1: 0})
    with machine(deployment(network=False)) as run:
        with pytest.raises(Failure):
            run.wait_done()
        assert run.status == qemu.EXIT_REFUSED
        assert re.search(r"refused: map: cluster@0: memory 0x\w+ \.\. 0x\w+ is in the firmware's NUMA domain 0, its cores are not", run.console)
