# SPDX-License-Identifier: BSD-2-Clause
"""The example deployments that no other test boots."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from deploy import deployment
from deploy.base.paths import ROOT
from deploy.deployment.planner import Plan, plan
from deploy.results import ycsb
from deploy.results.result import check
from tests.boot.machine import client, machine

LOADED = {
    "minimal": {0: "none"},
    "spanning": {0: "mcs+stat"},
    "chiplets": {0: "clh", 1: "clh"},
    "locks": {0: "ticket+stat", 1: "mcs+stat"},
}


def example(name: str) -> Plan:
    return plan(deployment.read(ROOT / "deploy/deployments" / f"{name}.toml"))


@pytest.mark.limit(90)
@pytest.mark.parametrize("name,kernels", LOADED.items(), ids=LOADED)
def test_load(name: str, kernels: dict[int, str]) -> None:
    """an example under load runs to its end, with no operation lost"""
    with machine(example(name)) as run:
        run.wait_done()
        assert {event["cluster"]: event["kernel"] for event in run.events.of("boot")} == kernels
        assert check(run.plan, run.events) == []
        clients = ycsb.collect(run.events)
        assert clients and all(one.number("operations") == run.plan.load.operations for one in clients)


@pytest.mark.limit(90)
def test_isolation() -> None:
    """in the isolation example the crash is reported and both Redis serve on"""
    with machine(example("isolation")) as run:
        fault = run.wait_event("fault")
        assert fault["app"].startswith("crash@") and fault["cluster"] == 1
        run.wait_serving()
        for name, _ in run.plan.forwards:
            with client(run, name) as server:
                assert server.ping()


@pytest.mark.limit(90)
def test_own_program(tmp_path: Path) -> None:
    """a C program that `skerry cc` has compiled serves the host, on each of two kernels"""
    folder = ROOT / "examples/echo"
    subprocess.run([ROOT / "skerry", "cc", "-O2", "-o", tmp_path / "echo.elf", folder / "echo.c"], check=True)
    (tmp_path / "echo.toml").write_text((folder / "echo.toml").read_text())
    what = plan(deployment.read(tmp_path / "echo.toml"))
    what.host_ports.clear()  # any that are free
    with machine(what) as run:
        run.wait_serving()
        for name, _ in what.forwards:
            said = os.urandom(100_000)
            with socket.create_connection(run.address(name)) as connection:
                writer = threading.Thread(target=connection.sendall, args=(said,))
                writer.start()
                heard = b""
                while len(heard) < len(said) and (part := connection.recv(65536)):
                    heard += part
                writer.join()
            assert heard == said
        assert run.console.count("echo: listens at port 7") == 2
