# SPDX-License-Identifier: BSD-2-Clause
"""The list of mutations (tests/long/mutations) fits the kernel as it is."""

from __future__ import annotations

from deploy.paths import ROOT
from tests.long.mutations.catalogue import load, problems

MINIMUM = 60


def test_texts() -> None:
    """each mutation's source text occurs exactly once in the kernel"""
    wrong = problems(ROOT)
    advice = "mend the texts in tests/long/mutations/list/, or take a mutation out whose code is gone"
    assert not wrong, "\n".join([*wrong, advice])


def test_number() -> None:
    """there are mutations enough"""
    assert len(load()) >= MINIMUM
