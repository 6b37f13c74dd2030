# SPDX-License-Identifier: BSD-2-Clause
"""Tools: doctor and prove."""

import importlib
import json
import os
import sys
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.cli.main import main
from deploy.machine import kvm
from deploy.tools import doctor
from deploy.tools.testing import meson_tests
from deploy.tools.testing.meson_tests import MesonTest

# ---- What `skerry doctor` says of KVM: each finding that is no KVM says what to do ----

WHY = "the image that TCG boots does not boot under KVM (QEMU was ended by SIGABRT)"


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kvm"
    path.touch()
    monkeypatch.setattr(doctor, "Path", lambda _: path)
    return path


def test_useless(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """doctor: a KVM that boots nothing is named with its reason and with advice"""
    monkeypatch.setattr(kvm, "probe_kvm", lambda: (False, WHY))
    one = doctor.kvm()
    assert WHY in one.found and one.use.startswith("emulation "
                                                   "(TCG); ") and "pass VT-x or AMD-V on" in one.use and one.good


def test_works(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """doctor: a KVM that boots the image is used"""
    monkeypatch.setattr(kvm, "probe_kvm", lambda: (True, "it booted both clusters in 0.4 s"))
    assert doctor.kvm().use == "KVM"


def test_untried(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """doctor: without an image the advice is to build one; without the device, to load its module"""
    def fails() -> tuple[bool, str]:
        raise Failure("no image")

    monkeypatch.setattr(kvm, "probe_kvm", fails)
    assert "until ./skerry build has been run" in doctor.kvm().use
    device.unlink()
    assert "load kvm_intel or kvm_amd" in doctor.kvm().use


# ---- `skerry prove`: the explorer's programs, as a user calls them ----

command = importlib.import_module("deploy.cli.commands.project.prove")
CASES = ("echo 'ok: one: 12 executions, 3 redundant, 40 states, at most 7 choices in one, 0.0 s'; echo 'ok: two: 30 "
         "executions, 0 redundant, 2 states, 0.1 s'")
PROGRAMS = {"lock, clh": CASES, "ring": f"{CASES}; exit 1"}
FINDS = "ring, the explorer finds no order"
TRIED = {"name": FINDS, "verdict": "caught", "by": "ring: finds it", "seconds": 1.0}
PLANTING = (
    "import sys; print(sys.argv[2:3] == ['--list'] and sys.argv[1] in {0!r} and {0!r} or sys.argv[2:3] == ['--jobs'] "
    "and {1!r} or '')"
)


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = [MesonTest(f"model: {name}", ["sh", "-c", script], {}, None, 60) for name, script in PROGRAMS.items()]
    monkeypatch.setattr(meson_tests, "collect", lambda word: [test for test in tests if word in test.name])
    monkeypatch.setattr(command, "ensure_built", lambda output, needed: None)
    monkeypatch.setattr(command, "LOGS", tmp_path)
    monkeypatch.setattr(command, "MISTAKES", [sys.executable, "-c", PLANTING.format(FINDS, json.dumps(TRIED))])


def proved(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, object]], str]:
    status = main(["prove", *words, "--json", "-"])
    printed = capsys.readouterr()
    return status, json.loads(printed.out)["results"] if printed.out else [], printed.err.strip()


def test_proved(capsys: pytest.CaptureFixture[str]) -> None:
    """cases, executions and states of a program are counted"""
    status, (one,), _ = proved(capsys, "--only", "CLH")
    assert status == 0 and one.pop("seconds") is not None
    assert one == {"name": "lock, clh", "outcome": "passed", "metrics": {"cases": 2, "executions": 42, "states": 42}}


def test_not_proved(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """a program that fails is named with its log, and the others are proved all the same; mistakes are planted where it
    is asked for"""
    status, results, errors = proved(capsys, "--mistakes")
    assert status == 1 and [one["outcome"] for one in results] == ["passed", "failed", "passed"]
    assert errors.splitlines()[-1] == f"skerry: not proved: ring (log: {tmp_path / 'prove' / 'ring.log'})"
    assert (tmp_path / "prove" / "ring.log").read_text().startswith("ok: one: 12")
    assert [one["name"] for one in proved(capsys)[1]] == ["lock, clh", "ring"]


def test_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    """the list runs nothing; a word of no proof is refused"""
    status, results, _ = proved(capsys, "--list", "--mistakes")
    assert status == 0 and results == [{"name": name} for name in (*PROGRAMS, FINDS)]
    assert proved(capsys, "--only", "no order")[0] == 2, "mistakes are planted only where it is asked for"
    assert proved(capsys, "--only", "xyz")[2] == "skerry: --only xyz: no proof has this in its name"


def test_one_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """two runs would write the same logs: the second is refused, and names the first"""
    with alone("skerry prove", tmp_path / "prove"):
        assert main(["prove", "--only", "lock"]) == 1
    assert f"is being written by process {os.getpid()}, skerry prove" in " ".join(capsys.readouterr().err.split())
    assert main(["prove", "--only", "lock"]) == 0
