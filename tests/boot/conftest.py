# SPDX-License-Identifier: BSD-2-Clause
"""Tests that are marked `campaign` are long, and boot once more what others boot: `./skerry test` leaves them to
`python -m tests.long.booted`, but for those that --only asks for."""

import os

import pytest

CAMPAIGN = "SKERRY_TEST_CAMPAIGN"  # set by tests.long.booted


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "campaign: a test of tests.long.booted, not of every run")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    whole = "SKERRY_TEST_REPORT" in os.environ and not os.environ.get("SKERRY_TEST_ONLY")
    campaign = CAMPAIGN in os.environ
    if whole or campaign:
        items[:] = [item for item in items if (item.get_closest_marker("campaign") is not None) == campaign]
