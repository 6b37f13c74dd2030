# SPDX-License-Identifier: BSD-2-Clause
"""A fit finds what the data were made with, says how sure it is, and refuses what tells it nothing."""

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest

from topology.errors import InputError
from topology.model import measured, repairman, ticket
from topology.model.fit import can_fit, fit
from topology.model.measured import Curve, read


def curve(
    service: float, delay: float, cores: range, noise: float = 0.0, lock: str = "clh", transfer: float = 0.0
) -> Curve:
    random = Random(7)
    points = [(n, ticket.steady(service, transfer, delay, n).throughput * random.gauss(1, noise)) for n in cores]
    return Curve(lock, None, points=points)


@pytest.mark.parametrize("service, delay", [(358, 500), (358, 2000), (358, 32000), (164, 4000), (2000, 10), (1e6, 1e7)])
def test_recovers_exact_data(service: float, delay: float) -> None:
    found = fit(curve(service, delay, range(1, 15)))
    assert found.service.value == pytest.approx(service, rel=1e-4)
    assert found.delay.value == pytest.approx(delay, rel=1e-3)
    assert found.r_squared == pytest.approx(1) and found.worst < 1e-6


def test_recovers_noisy_data_within_its_own_errors() -> None:
    """a fit recovers noisy data within its own errors: delay 2,000, one socket's 14 cores"""
    found = fit(curve(358, 2000, range(1, 15), noise=0.01))
    assert abs(found.service.value - 358) < 4 * found.service.error < 20
    assert abs(found.delay.value - 2000) < 4 * found.delay.error < 150
    assert found.r_squared > 0.995 and 0 < found.worst < 0.05


def test_recovers_a_ticket_lock() -> None:
    found = fit(curve(358, 4000, range(1, 25), noise=0.005, lock="ticket", transfer=115))
    assert found.transfer
    assert found.service.value == pytest.approx(358, rel=0.15)
    assert found.transfer.value == pytest.approx(115, rel=0.15)
    assert found.delay.value == pytest.approx(4000, rel=0.05)


def test_says_when_the_lock_is_never_busy_enough() -> None:
    """a fit says that cores that hardly meet tell the sum of service and delay, not each"""
    found = fit(curve(358, 500_000, range(1, 4), noise=0.01))
    assert found.service.is_loose and not found.delay.is_loose
    assert found.delay.value + found.service.value == pytest.approx(500_358, rel=0.03)


def test_a_model_that_does_not_fit_shows() -> None:
    """a collapse fitted as a scalable lock shows in R²"""
    bad = curve(100, 4000, range(1, 29), transfer=115)
    found = fit(bad)
    assert found.r_squared < 0.8 and found.worst > 0.3


def test_saturated_everywhere() -> None:
    found = fit(Curve("clh", None, points=[(n, 1 / 358) for n in (20, 24, 28)]))
    assert found.service.value == pytest.approx(358, rel=1e-3)
    assert math.isnan(found.r_squared)


def test_needs_different_core_counts() -> None:
    assert not can_fit(Curve("clh", None, points=[(1, 0.001), (2, 0.002), (2, 0.002), (2, 0.0021)]))
    with pytest.raises(InputError, match="3 are needed"):
        fit(Curve("clh", None, points=[(1, 0.001), (2, 0.002)]))
    with pytest.raises(InputError, match="4 are needed"):
        fit(Curve("ticket", None, points=[(1, 0.001), (2, 0.002), (3, 0.0025)]))
    with pytest.raises(InputError, match="transactions do not queue"):
        fit(Curve("rtm", None, points=[(n, n / 4000) for n in range(1, 9)]))


def result(n: int, **change: Any) -> dict[str, Any]:
    metrics = {"throughput_per_cycle": repairman.steady(358, 2000, n).throughput}
    return {
        "layout": "spanning",
        "lock": "clh",
        "system": "skerry",
        "clusters": 1,
        "cores": n,
        "metrics": metrics,
    } | change


def write(folder: Path, data: Any) -> Path:
    path = folder / "results.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_reads_results_by_lock_and_delay(tmp_path: Path) -> None:
    metrics = [{"throughput_per_cycle": 0.001 * n, "delay_cycles": d} for d in (500, 4000) for n in (1, 2, 3)]
    results = [result(1 + i % 3, metrics=m) for i, m in enumerate(metrics)]
    results += [result(4, lock="ticket"), result(2, system="linux", metrics={}), result(2, metrics={"ops_per_s": 3.0})]
    found = read(write(tmp_path, {"results": results}))
    assert [(c.lock, c.nominal_delay, c.sizes) for c in found] == [
        ("clh", 500, 3),
        ("clh", 4000, 3),
        ("ticket", None, 1),
    ]
    assert [c.sizes for c in read(write(tmp_path, {"results": results}), most=2)] == [2, 2]


def test_clusters_are_taken_one_by_one(tmp_path: Path) -> None:
    halves = [
        result(2 * n, clusters=2, metrics={measured.METRIC: 2 * repairman.steady(358, 2000, n).throughput})
        for n in range(1, 9)
    ]
    found = fit(read(write(tmp_path, {"results": halves}))[0])
    assert found.service.value == pytest.approx(358, rel=1e-4)


def test_throughput_per_second(tmp_path: Path) -> None:
    results = [
        result(n, metrics={"entries_per_s": 2e9 * repairman.steady(358, 2000, n).throughput}) for n in range(1, 9)
    ]
    path = write(tmp_path, {"results": results})
    assert fit(read(path, "entries_per_s", ghz=2.0)[0]).service.value == pytest.approx(358, rel=1e-4)
    with pytest.raises(InputError, match="--ghz"):
        read(path, "entries_per_s")
    told = write(tmp_path, {"host": {"tsc_hz": 2e9}, "results": results})
    assert fit(read(told, "entries_per_s")[0]).delay.value == pytest.approx(2000, rel=1e-3)


def test_emulated_results_stay_so(tmp_path: Path) -> None:
    found = read(write(tmp_path, {"results": [result(n, emulated=True) for n in (1, 2, 3)]}))
    assert fit(found[0]).curve.emulated


BROKEN: dict[str, tuple[Any, str]] = {
    "not JSON": ("{", "not JSON"),
    "a list": ([1], "no list 'results'"),
    "no results": ({"results": []}, "no list 'results'"),
    "results are numbers": ({"results": [3]}, "result 1 has no 'metrics'"),
    "another metric": ({"results": [result(1, metrics={"ops_per_s": 1.0})]}, "they have ops_per_s"),
    "no metric at all": ({"results": [result(1, metrics={})]}, "they have no metrics"),
    "no cores": ({"results": [result(1, cores=None)]}, "result 1: 'cores'"),
    "true cores": ({"results": [result(1, cores=True)]}, "result 1: 'cores'"),
    "uneven clusters": ({"results": [result(3, clusters=2)]}, "clusters of one size"),
    "text": ({"results": [result(1, metrics={measured.METRIC: "fast"})]}, "is not a number"),
    "nan": ('{"results": [{"cores": 1, "metrics": {"throughput_per_cycle": NaN}}]}', "is not a number"),
    "nothing done": ({"results": [result(1, metrics={measured.METRIC: 0})]}, "is not above 0"),
    "a negative delay": ({"results": [result(1, metrics={measured.METRIC: 1, "delay_cycles": -1})]}, "delay_cycles"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_bad_files_are_refused(tmp_path: Path, name: str) -> None:
    data, expected = BROKEN[name]
    with pytest.raises(InputError, match=expected) as error:
        read(write(tmp_path, data))
    assert "results.json" in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none.json: no such file"):
        read(tmp_path / "none.json")


def test_a_latency_is_no_throughput(tmp_path: Path) -> None:
    path = write(tmp_path, {"results": [result(1, metrics={"p50_us": 1.0})]})
    with pytest.raises(InputError, match="neither per cycle nor per second"):
        read(path, "p50_us")
