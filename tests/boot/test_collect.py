# SPDX-License-Identifier: BSD-2-Clause
"""A comparison that nothing follows while it runs: an image's run, written to one serial port, becomes results."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.deployment import Deployment, Load, Redis, modules
from deploy.deployment.planner import plan
from deploy.machine import image
from deploy.results import serial_log
from tests.boot.machine import machine
from topology.machines.machine import Shape, emulated
from topology.units import GIB, MIB

SHAPE = Shape(2, 1, GIB)


@pytest.mark.limit(150)
def test_collect(tmp_path: Path) -> None:
    """what a machine with one serial port wrote becomes results, with reports among the console's lines"""
    load = Load(clients=1, records=100, operations=200)
    deployment = Deployment("metal", SHAPE, statistics=True, redis=Redis(heap=64 * MIB), load=load)
    what = plan(deployment, metal=emulated(SHAPE))  # a real machine's plan has no driver for a network card
    with machine(what, extra=("-append", "results=none")) as run:
        run.wait_done()
        log, iso, results = tmp_path / "metal.log", tmp_path / "metal.iso", tmp_path / "results.json"
        text = run.console
        log.write_text(text)
    assert not run.events.events
    image.make_iso(iso, image.contents(what.cluster_map), modules.loader(), notes=serial_log.notes(what))
    command = [sys.executable, "-m", "deploy.cli.main", "collect", str(iso), str(log), "--json", str(results)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(results.read_text())["results"][0]
    assert result["emulated"] and result["metrics"]["operations"] == 200 and result["metrics"]["errors"] == 0
    assert "under TCG" in done.stdout
    log.write_text(text.replace('"event":"done"', '"event":"do'))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "metal.log:" in done.stderr and "has no valid seal" in done.stderr
