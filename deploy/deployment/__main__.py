# SPDX-License-Identifier: BSD-2-Clause
"""Writes docs/deployment.schema.json, and the table of layouts in docs/topology.md: python -m deploy.deployment."""

from deploy.deployment.reference import write

write()
