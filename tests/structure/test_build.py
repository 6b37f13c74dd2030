# SPDX-License-Identifier: BSD-2-Clause
"""The build stays small."""

from deploy.base.paths import BUILD
from tests.mistakes.graph import Graph

STEPS = 4000  # a fresh machine of two cores takes four minutes for them


def test_steps() -> None:
    """a clean build of all that `./skerry test` needs has few steps"""
    steps = [step for step in Graph(BUILD).steps_of(["all"]) if step.command]
    assert 0 < len(steps) <= STEPS
