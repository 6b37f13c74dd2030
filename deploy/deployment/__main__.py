# SPDX-License-Identifier: BSD-2-Clause
"""Writes docs/deployment.schema.json and the tables of docs/deployments.md: python -m deploy.deployment."""

from deploy.deployment.reference import write

write()
