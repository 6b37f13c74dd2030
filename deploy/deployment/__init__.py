# SPDX-License-Identifier: BSD-2-Clause
"""Deployment files: what to run on which machine, in TOML (docs/deployments.md)."""

from pathlib import Path

from deploy.deployment.model import (
    DEFAULT,
    EVERY_CORE,
    REDIS_ARGS,
    STACKS,
    WORKLOADS,
    Deployment,
    Load,
    Metrics,
    Port,
    Program,
    Redis,
    Subnet,
)

__all__ = [
    *("DEFAULT", "EVERY_CORE", "REDIS_ARGS", "STACKS", "WORKLOADS"),
    *("Deployment", "Load", "Metrics", "Port", "Program", "Redis", "Subnet", "parse", "read"),
]


def read(path: Path) -> Deployment:
    """Whatever is wrong with the file is one InputError with file and line."""
    from deploy.deployment import reader  # the schema takes long to load

    return reader.read(path)


def parse(text: str, source: str = "deployment", folder: Path = Path()) -> Deployment:
    """`folder`: where paths in the text begin."""
    from deploy.deployment import reader

    return reader.parse(text, source, folder)
