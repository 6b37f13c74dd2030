# SPDX-License-Identifier: BSD-2-Clause
"""Deployment files: what to run on which machine, in TOML (docs/deployments.md)."""

from deploy.deployment.model import (
    DEFAULT,
    EVERY_CORE,
    REDIS_ARGS,
    STACKS,
    WORKLOADS,
    Deployment,
    Load,
    Program,
    Redis,
)
from deploy.deployment.reader import parse, read

__all__ = [
    *("DEFAULT", "EVERY_CORE", "REDIS_ARGS", "STACKS", "WORKLOADS"),
    *("Deployment", "Load", "Program", "Redis", "parse", "read"),
]
