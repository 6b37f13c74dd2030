# SPDX-License-Identifier: BSD-2-Clause
"""From power-on to Redis that answers: on 2, 4 and 8 cores, in 1, 2 and 4 clusters, by every way in."""

from __future__ import annotations

import pytest

from deploy.base.timeouts import Patience
from tests.boot.machine import assert_no_fault, client, machine, servers, with_redis

SHAPES = [
    (1, 2, "spanning"),
    (2, 1, "per-socket"),
    (2, 2, "per-socket"),
    (2, 2, "spanning"),
    (4, 1, "per-socket"),
    (1, 8, "spanning"),
    (2, 4, "per-socket"),
    (4, 2, "per-socket"),
]


def answers(run: object) -> None:
    run.wait_serving()
    for name in servers(run):
        with client(run, name) as server:
            assert server.ping()
            assert server.set("who", name)
            assert server.get("who") == name.encode()
    assert_no_fault(run)


@pytest.mark.limit(150)
@pytest.mark.parametrize("sockets,cores,layout", SHAPES, ids=[f"{s} sockets of {c}, {layout}" for s, c, layout in SHAPES])
def test_shapes(sockets: int, cores: int, layout: str) -> None:
    """every Redis answers from outside"""
    with machine(with_redis(sockets, cores, layout)) as run:
        answers(run)
        clusters = {event["cluster"]: event["cores"] for event in run.events.of("boot")}
        expected = {0: sockets * cores} if layout == "spanning" else {n: cores for n in range(sockets)}
        assert clusters == expected


@pytest.mark.limit(240)
def test_many_in_one_kernel() -> None:
    """34 Redis in one kernel: more slots than the root CNode has at least (65,536; a Redis takes some 2,050)"""
    with machine(with_redis(1, 35, "spanning")) as run:
        answers(run)


@pytest.mark.limit(180)
@pytest.mark.parametrize("uefi", [False, True], ids=["BIOS", "UEFI"])
def test_grub(uefi: bool) -> None:
    """GRUB's image boots"""
    with machine(with_redis(), medium="iso", uefi=uefi, patience=Patience(120)) as run:
        answers(run)


@pytest.mark.limit(150)
@pytest.mark.parametrize("lock,statistics", [("none", False), ("none", True), ("clh", True)], ids=["none", "none+stat", "clh+stat"])
def test_regimes(lock: str, statistics: bool) -> None:
    """every kernel image runs Redis"""
    cores = 1 if lock == "none" else 2
    with machine(with_redis(2, cores, lock=lock, statistics=statistics)) as run:
        answers(run)
        kernels = {event["kernel"] for event in run.events.of("boot")}
        assert kernels == {lock + ("+stat" if statistics else "")}
