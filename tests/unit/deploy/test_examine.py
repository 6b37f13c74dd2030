# SPDX-License-Identifier: BSD-2-Clause
"""What `skerry doctor` says of KVM: each finding that is no KVM says what to do."""

from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.machine import kvm
from deploy.tools import doctor

WHY = "the image that TCG boots does not boot under KVM (QEMU ended with status -6)"


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "kvm"
    found.touch()
    monkeypatch.setattr(doctor, "Path", lambda _: found)
    return found


def test_useless(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """doctor: a KVM that boots nothing is named with its reason and with advice"""
    monkeypatch.setattr(kvm, "probe_kvm", lambda: (False, WHY))
    said = doctor.kvm()
    assert WHY in said.found and said.use.startswith("emulation (TCG); ") and "pass VT-x or AMD-V on" in said.use and said.good


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
