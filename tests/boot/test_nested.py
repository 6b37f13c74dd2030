# SPDX-License-Identifier: BSD-2-Clause
"""Skerry under KVM, in a Linux guest whose AMD virtualisation the emulator provides."""

from pathlib import Path

import pytest

from deploy import deployment as deployments
from deploy.deployment.planner import plan
from tests.boot import nested

DEPLOYMENT = """
name = "nested"
shutdown = "never"
[machine]
sockets = 2
cores = 1
memory = "256M"
[clusters]
layout = "per-socket"
[redis]
instances = "every-core"
heap = "64M"
"""


@pytest.mark.limit(420)
def test_nested(tmp_path: Path) -> None:
    """doctor finds KVM in a guest that has it, run uses it, and both clusters go on with TSC-deadline timers"""
    # The file's path is the same in the guest.
    path = nested.BUILD / "nested.toml"
    path.write_text(DEPLOYMENT)
    boot = nested.build(tmp_path, plan(deployments.read(path)), path)
    with nested.running(boot, tmp_path, path) as guest:
        guest.wait_end(360)
    events = guest.events
    assert events.of("up")[0]["kvm"]
    finding = next(one for one in events.of("doctor")[0]["results"] if one["subject"] == "KVM")
    assert finding["use"] == "KVM" and "it booted both clusters" in finding["found"]
    run = events.of("run")[0]
    assert run["status"] == 0 and run["host"]["accel"] == "kvm"
    answers = events.of("pong")[0]
    assert answers["count"] >= 2 * answers["instances"] > 0
    kinds = {event["event"] for event in run["events"]}
    assert "serving" in kinds and not kinds & {"fault", "failed", "exit", "cluster-lost"}
