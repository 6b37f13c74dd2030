# SPDX-License-Identifier: BSD-2-Clause
"""What the endpoint tells of clusters that were lost, by Prometheus' own parser; over the made-up manager of its tests."""

from __future__ import annotations

import subprocess
import time
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from deploy.base.paths import BUILD
from tests.ports import reserved_port

HOST = BUILD / "apps/metrics/metrics-host"


def scraped() -> str:
    port = reserved_port()
    server = subprocess.Popen([HOST, "--port", str(port)])
    try:
        while server.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                    return str(answer.read().decode())
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"the endpoint ended with status {server.returncode}")
    finally:
        server.kill()
        server.wait()


def test_losses() -> None:
    """restarts are a counter, where they are known; a loss has its reason"""
    families = {family.name: family for family in text_string_to_metric_families(scraped())}
    restarts, lost = families["skerry_cluster_restarts"], families["skerry_cluster_lost"]
    assert (restarts.type, lost.type) == ("counter", "gauge") and restarts.documentation and lost.documentation
    assert {sample.labels["cluster"]: sample.value for sample in restarts.samples} == {"0": 0, "1": 2}
    assert {(sample.labels["cluster"], sample.labels["reason"]): sample.value for sample in lost.samples} == {("1", "manager"): 1, ("2", "unknown"): 1}
