# SPDX-License-Identifier: BSD-2-Clause
"""The tool's limits are those of the headers."""

import re

import pytest

from deploy.paths import ROOT
from topology import limits
from topology.fdt import MAX_SIZE

BOOT = "cluster-kernel/include/skerry/boot.h"
MAP = "cluster-manager/loader/map.h"
STACK = "cluster-manager/root/stack.c"


def constant(header: str, name: str) -> int:
    found = re.search(rf"\b{name}\b\s*=?\s*((?:0x)?[0-9a-fA-F]+(?:\s*\*\s*\d+)?)", (ROOT / header).read_text())
    assert found, f"{header} has no {name}"
    product = 1
    for factor in found[1].split("*"):
        product *= int(factor, 0)
    return product


@pytest.mark.parametrize(
    "value, header, name",
    [
        (limits.MAX_CPUS, BOOT, "BOOT_MAX_CPUS"),
        (limits.MAX_CLUSTERS, BOOT, "BOOT_MAX_CLUSTERS"),
        (limits.MAX_RANGES, BOOT, "BOOT_MAX_RANGES"),
        (limits.MAX_CHANNELS, BOOT, "BOOT_MAX_CHANNELS"),
        (limits.NAME_SIZE, BOOT, "BOOT_NAME_SIZE"),
        (limits.MAX_MODULES + 1, BOOT, "BOOT_MAX_MODULES"),
        (limits.MAX_MAP_CPUS, MAP, "MAP_MAX_CPUS"),
        (limits.MAX_APPLICATIONS, MAP, "MAP_MAX_APPLICATIONS"),
        (limits.MAX_ARGUMENTS, STACK, "ARGUMENTS_MAX"),
        (limits.ARGUMENT_PAGES, STACK, "ARGUMENT_FRAMES"),
        (MAX_SIZE, MAP, "MAP_MAX_SIZE"),
    ],
)
def test_limits(value: int, header: str, name: str) -> None:
    assert value == constant(header, name)
