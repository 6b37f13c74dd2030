# SPDX-License-Identifier: BSD-2-Clause
"""The list of drivers of network cards, and what is wrong with other lists."""

from pathlib import Path

import pytest

from topology import drivers
from topology.drivers import FOLDER, LIST, read
from topology.errors import ListError

GOOD = '[x]\nwhat = "a card"\npci = ["10ec:8139"]\nsources = ["device.c"]\nqemu = "x"\nlibvirt = "x"\n'


def test_list() -> None:
    """the list names the usual driver first, and each has its folder with its sources"""
    assert drivers.usual().name == "virtio-net"
    for driver in drivers.every().values():
        for source in ("card.h", *driver.sources):
            assert (FOLDER / driver.name / source).is_file(), source


def test_folders() -> None:
    """no driver's folder is left that the list does not name"""
    assert {path.parent.name for path in FOLDER.glob("*/card.h")} == {"driver", *drivers.every()}


def test_values() -> None:
    """ids are numbers, and a card's options stand behind its name"""
    driver = read(GOOD + 'counted = "slow=on"')["x"]
    assert driver.ids == [(0x10EC, 0x8139)]
    assert driver.device("netdev=n") == "x,netdev=n" and driver.device("netdev=n", counted=True) == "x,netdev=n,slow=on"


@pytest.mark.parametrize("text,why", [
    ("[x", "not TOML: "),
    ("", "there is no driver"),
    ("x = 3", "x: is no table"),
    (GOOD.replace("[x]", "[X_]"), "X_: a name has "),
    (GOOD + "fast = true", "x: fast: no such key; there are what, pci, "),
    (GOOD.replace('qemu = "x"\n', ""), "x: qemu: is missing"),
    (GOOD.replace('["device.c"]', '"device.c"'), "x: sources: 'device.c' is not a list of texts"),
    (GOOD.replace('["10ec:8139"]', "[]"), "x: pci: [] is not a list of texts"),
    (GOOD.replace('"a card"', "3"), "x: what: 3 is not a text"),
    (GOOD.replace("10ec:8139", "0x10ec"), "x: pci: '0x10ec' is not VENDOR:DEVICE"),
    (GOOD + GOOD.replace("[x]", "[y]"), "y: pci: x drives 10ec:8139"),
])
def test_refused(text: str, why: str) -> None:
    """a list that is not as it should be is refused with the driver and the key"""
    with pytest.raises(ListError) as error:
        read(text)
    assert str(error.value).startswith(f"{LIST}: {why}")


def test_sources_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a driver of the list without its folder, or one of its sources, is refused with the missing file"""
    (tmp_path / "drivers.toml").write_text(GOOD)
    monkeypatch.setattr(drivers, "FOLDER", tmp_path)
    monkeypatch.setattr(drivers, "FILE", tmp_path / "drivers.toml")
    assert list(drivers.every.__wrapped__()) == ["x"]  # no sources at all: only images are booted here
    (tmp_path / "machine.c").touch()
    (tmp_path / "x").mkdir()
    for name in ("card.h", "device.c"):
        with pytest.raises(ListError, match=f"x: net/x/{name} is missing"):
            drivers.every.__wrapped__()
        (tmp_path / "x" / name).touch()
    assert list(drivers.every.__wrapped__()) == ["x"]
