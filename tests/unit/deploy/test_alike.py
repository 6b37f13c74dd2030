# SPDX-License-Identifier: BSD-2-Clause
"""Layouts that a machine divides alike: `compare` says so before it runs anything."""

import pytest

from deploy.cli.commands.measure.compare import alike
from deploy.load.measure import Comparison, settled
from topology.machines.machine import Shape
from topology.units import GIB


@pytest.mark.parametrize(("shape", "layouts", "expected"), [
    (Shape(2, 2, 4 * GIB), ("per-socket", "spanning"), []),
    (Shape(2, 2, 4 * GIB), ("per-socket", "size=2", "spanning"), [["per-socket", "size=2"]]),
    (Shape(1, 4, 4 * GIB), ("per-socket", "size=2", "spanning"), [["per-socket", "spanning"]]),
    (Shape(2, 2, 4 * GIB), ("per-numa", "spanning", "per-l3", "size=4"), [["per-numa", "per-l3"], ["spanning", "size=4"]]),
    (Shape(2, 2, 4 * GIB), ("homed", "spanning"), []),
])  # fmt: skip
def test_alike(shape: Shape, layouts: tuple[str, ...], expected: list[list[str]]) -> None:
    assert alike(settled(Comparison(shape, layouts))) == expected
