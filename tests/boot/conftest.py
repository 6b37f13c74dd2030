# SPDX-License-Identifier: BSD-2-Clause
"""Chooses the booted tests of a whole run of `./skerry test`; `--only WORD` and pytest by itself run all.

A run leaves out tests that are marked `campaign`, which boot once more what others boot, and five sixths of those that
are marked `drawn`: each commit draws others. `python -m tests.long.booted` runs both kinds, all of them.
"""

import os
import zlib

import pytest

from deploy.base import host

CAMPAIGN = "SKERRY_TEST_CAMPAIGN"  # set by tests.long.booted
PARTS = 6  # of drawn tests a run has one


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "campaign: a test of tests.long.booted alone")
    config.addinivalue_line("markers", "drawn: a test of tests.long.booted, and of the runs that draw it")


def _is_of_run(item: pytest.Item, commit: str) -> bool:
    drawn = item.get_closest_marker("drawn") is None or zlib.crc32(f"{commit} {item.nodeid}".encode()) % PARTS == 0
    return drawn and item.get_closest_marker("campaign") is None


def _is_of_campaign(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("campaign", "drawn"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if CAMPAIGN in os.environ:
        items[:] = filter(_is_of_campaign, items)
        return
    whole = "SKERRY_TEST_REPORT" in os.environ and not os.environ.get("SKERRY_TEST_ONLY")
    if whole and not config.option.collectonly:  # else the names of all
        commit = (host.commit() or "").rstrip("+")
        items[:] = [item for item in items if _is_of_run(item, commit)]
