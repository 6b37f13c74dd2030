# SPDX-License-Identifier: BSD-2-Clause
"""Modelled machines that stand where copies of them go on."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.compare import runs
from deploy.compare.prices import design, groups
from deploy.emulator import run
from deploy.load.case import RedisCase, case
from deploy.load.measure import accelerators, measure_copies, measure_once
from deploy.machine.run import Options
from deploy.machine.snapshot import Origin, origin
from tests.boot.test_modelled import XEON, needs_new, small_job


@needs_new
@pytest.mark.limit(300)
def test_copies(tmp_path: Path) -> None:
    """modelled machine: copies that go on from the load's begin give every digit of whole runs with their salts and
    prices"""
    whole = case(small_job(tmp_path), "per-socket", "c")
    accel, _ = accelerators(whole.job, "auto", False)
    dear = runs.priced(whole, design(groups(XEON))[:1])[runs.Setting(prices=1)]
    first, second = (measure_once(one, accel, lambda event: None) for one in (whole.salted(2), dear))
    assert first.metrics["ops_per_s"] != second.metrics["ops_per_s"]
    assert measure_copies(whole, [whole.salted(2), dear, whole.salted(2)], accel, lambda event: None) == [
        first, second, first]


@contextmanager
def standing(whole: RedisCase) -> Iterator[Origin]:
    """A machine that stands where its load begins."""
    accel, _ = accelerators(whole.job, "auto", False)
    assert whole.job.modelled
    with run.marks(whole.job.modelled, whole.plan, priced=run.LOAD, copied=True) as marks, origin(
            whole.plan, Options(accel, whole.job.timeout, "kernel", extra=marks.arguments), marks.snapshot) as machine:
        yield machine


@needs_new
@pytest.mark.limit(300)
def test_interrupt(tmp_path: Path) -> None:
    """modelled machine: nothing is left of a machine and its copy where a run is interrupted"""
    whole = case(small_job(tmp_path), "per-socket", "c")
    with pytest.raises(KeyboardInterrupt), standing(whole) as machine, machine.copy(1, "") as copy:
        pids, folders = (machine.machine.pid, copy.pid), (machine.machine.directory, copy.directory)
        assert all(Path("/proc", str(pid)).exists() for pid in pids)
        raise KeyboardInterrupt
    assert not any(Path("/proc", str(pid)).exists() for pid in pids)
    assert not any(folder.exists() for folder in folders)


@needs_new
@pytest.mark.limit(300)
def test_lost_machine(tmp_path: Path) -> None:
    """modelled machine: a copy ends with the machine that it is of, and neither it nor another is waited for"""
    whole = case(small_job(tmp_path), "per-socket", "c")
    with standing(whole) as machine:
        with pytest.raises(Failure, match="ended by SIGKILL"), machine.copy(1, "") as copy:
            os.kill(machine.machine.pid, signal.SIGKILL)
            copy.wait_done()
        with pytest.raises(Failure, match="has ended"), machine.copy(1, ""):
            pass


@needs_new
@pytest.mark.limit(300)
def test_bad_prices(tmp_path: Path) -> None:
    """modelled machine: prices of another machine are refused, by the name of their file"""
    whole = case(small_job(tmp_path), "per-socket", "c")
    with standing(whole) as machine, pytest.raises(Failure, match="prices: is of another machine"), machine.copy(
            1, XEON.plugin_text(whole.plan.machine.memory)) as copy:
        copy.wait_done()
