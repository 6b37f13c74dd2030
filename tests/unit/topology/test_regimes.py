# SPDX-License-Identifier: BSD-2-Clause
"""The list of lock regimes, and what is wrong with other lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from topology import regimes
from topology.errors import ListError
from topology.regimes import LIST, read

GOOD = '[tas]\nwhat = "a lock"\nkind = "big"\nmodel = "non-scalable lock"\n'


def test_list() -> None:
    """the list names a usual regime first, and each has its header"""
    assert next(iter(regimes.every())) == "clh"
    for name in regimes.names():
        assert (regimes.FILE.parent / f"{name}.h").is_file(), name
    assert {"clh", "mcs", "ticket"} <= set(regimes.names("big"))  # one may have been added
    assert {"none", "fine", "dynamic", "rtm"} <= set(regimes.names("none", "readers", "switched", "transactions"))


def test_headers() -> None:
    """no regime's header is left that the list does not name"""
    found = {path.stem for path in regimes.FILE.parent.glob("*.h") if "void kernel_enter(" in path.read_text()}
    assert found == set(regimes.names())


@pytest.mark.parametrize("text,why", [
    ("[tas", "not TOML: "),
    (GOOD.replace("[tas]", "[TAS]"), "TAS: a name is "),
    (GOOD.replace('"a lock"', "5"), "tas: what: 5 is not a text"),
    (GOOD + 'twice = "one"', "tas: twice: 'one' is not a number of cores"),
    (GOOD + 'without = "lock"', "tas: without: 'lock' is no table"),
    (GOOD + 'without.lock = "first"', "tas: without.lock: 'first' is neither "),
    ("tas = 3", "tas: is no table"),
    (GOOD + "fast = true", "tas: fast: no such key; there are what, kind, "),
    (GOOD + 'name = "x"', "tas: name: no such key"),
    (GOOD.replace("what", "model_"), "tas: model_: no such key"),
    ('[tas]\nwhat = "a lock"', "tas: kind: is missing"),
    (GOOD.replace("big", "bg"), "tas: kind: 'bg' is not one of big, readers, "),
    (GOOD.replace("non-scalable lock", "fast"), "tas: model: 'fast' is not one of machine-repairman, "),
    (GOOD + 'no_model = "none"', "tas: has both model and no_model"),
    (GOOD.replace("model", "what_").replace("what_ = \"non-scalable lock\"\n", ""), "tas: model: is missing, and no_model"),
    (GOOD + 'protocol = "tas"', "tas: protocol: 'tas' is not one of clh, mcs, ticket"),
    (GOOD + 'seen_as = "clh"', "tas: seen_as: there is no regime 'clh'"),
    (GOOD + 'without.locks = ["first come"]', "tas: without: 'locks' is not one of lock, kernel, "),
])
def test_refused(text: str, why: str) -> None:
    """a list that is not as it should be is refused with the regime and the key"""
    with pytest.raises(ListError) as error:
        read(text)
    assert str(error.value).startswith(f"{LIST}: {why}")


def test_header_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a regime of the list without its header is refused, in one line of a command and with its status"""
    (tmp_path / "regimes.toml").write_text(GOOD)
    monkeypatch.setattr(regimes, "FOLDER", tmp_path)
    monkeypatch.setattr(regimes, "FILE", tmp_path / "regimes.toml")
    assert list(regimes.every.__wrapped__()) == ["tas"]  # no sources at all: only images are booted here
    (tmp_path / "lock.h").touch()
    with pytest.raises(ListError, match="tas: its header cluster-kernel/lock/tas.h is missing"):
        regimes.every.__wrapped__()
    (tmp_path / "tas.h").touch()
    assert list(regimes.every.__wrapped__()) == ["tas"]
