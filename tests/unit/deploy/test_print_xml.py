# SPDX-License-Identifier: BSD-2-Clause
"""`skerry deploy --print-xml` prints domains without libvirt: without its daemon, and without its Python library."""

from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import ROOT
from deploy.cli import main as cli
from deploy.cli.commands.domains import deploy as command
from deploy.domains import connection
from topology import foreign

FILE = str(ROOT / "deploy/deployments/redis.toml")


@pytest.fixture(autouse=True)
def nothing_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "loader").write_bytes(b"loader")
    monkeypatch.setattr(command, "ensure_built", lambda *_: None)
    monkeypatch.setattr("deploy.domains.deploy.image.contents", lambda *_, **__: {"map": b"map", "loader": b"loader"})
    monkeypatch.setattr("deploy.domains.deploy.modules.loader", lambda *_, **__: tmp_path / "loader")


class NoDaemon:
    """libvirt's library where nothing answers."""

    class libvirtError(Exception):
        def get_error_code(self) -> int:
            return NoDaemon.VIR_ERR_SYSTEM_ERROR

    VIR_ERR_NO_CONNECT, VIR_ERR_INVALID_ARG, VIR_ERR_SYSTEM_ERROR = 5, 8, 38

    @staticmethod
    def virEventRegisterDefaultImpl() -> None:
        pass

    @staticmethod
    def open(uri: str) -> Any:
        raise NoDaemon.libvirtError("Failed to connect socket to '/var/run/libvirt/libvirt-sock'")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    status = cli.main(["deploy", "--print-xml", "--accel", "tcg", *words, FILE])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    return captured.out, captured.err


@pytest.mark.parametrize("words", [(), ("--per-cluster",), ("--bridge", "virbr0"),
                                   ("--connect", "qemu+ssh://somewhere/system")], ids=" ".join)
@pytest.mark.parametrize("library", [False, True], ids=["no library", "no daemon"])
def test_without_libvirt(library: bool, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch,
                         capsys: pytest.CaptureFixture[str]) -> None:
    """the domains are printed, and one line on the error output says what is not known"""
    monkeypatch.setattr(command, "has_library", lambda: library)
    monkeypatch.setattr(connection, "library", lambda: NoDaemon)
    out, err = printed(capsys, *words)
    assert "Without the host: " in err and ("Python library is missing" in err) != library
    domains = [f"<domain{part}" for part in out.split("<domain")[1:]]
    assert (len(domains) > 1) == ("--per-cluster" in words)
    for text in domains:
        domain = foreign.xml(text, "the domain")
        assert domain.get("type") == "qemu" and domain.find("uuid") is None and domain.find("cputune") is None
        assert str(domain.findtext("name")).startswith("skerry-redis")


def test_a_wrong_uri(capsys: pytest.CaptureFixture[str]) -> None:
    """a URI that is none is refused all the same"""
    assert cli.main(["deploy", "--print-xml", "--connect", "nonsense", FILE]) == 2
    assert "is not a libvirt URI" in capsys.readouterr().err


def test_a_deployment_needs_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """without --print-xml a host that does not answer is a failure"""
    monkeypatch.setattr(connection, "library", lambda: NoDaemon)
    assert cli.main(["deploy", "--accel", "tcg", FILE]) == 1
    assert "is libvirtd running?" in capsys.readouterr().err
