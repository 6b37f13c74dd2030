# SPDX-License-Identifier: BSD-2-Clause
"""The list of lock regimes, and what is wrong with other lists."""

from __future__ import annotations

import pytest

from topology import regimes
from topology.regimes import ListError, read

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
    ("[tas", "regimes.toml: "),
    ("tas = 3", "tas: is no table"),
    (GOOD + "fast = true", "tas: fast: no such key; there are what, kind, "),
    (GOOD + 'name = "x"', "tas: name: no such key"),
    (GOOD.replace("what", "model_"), "tas: model_: no such key"),
    ('[tas]\nwhat = "a lock"', "tas: kind: is missing"),
    (GOOD.replace("big", "bg"), "tas: kind: 'bg' is not one of big, readers, "),
    (GOOD.replace("non-scalable lock", "fast"), "tas: model: 'fast' is not one of machine-repairman, "),
    (GOOD + 'no_model = "none"', "tas: model: has both"),
    (GOOD.replace("model", "what_").replace("what_ = \"non-scalable lock\"\n", ""), "tas: needs a model"),
    (GOOD + 'protocol = "tas"', "tas: protocol: 'tas' is not one of clh, mcs, ticket"),
    (GOOD + 'seen_as = "clh"', "tas: seen_as: there is no regime 'clh'"),
    (GOOD + 'without.locks = ["first come"]', "tas: without: 'locks' is not one of lock, kernel, "),
])
def test_refused(text: str, why: str) -> None:
    """a list that is not as it should be is refused with the regime and the key"""
    with pytest.raises(ListError) as error:
        read(text)
    assert str(error.value).startswith(why)
