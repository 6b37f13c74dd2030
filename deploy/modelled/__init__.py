# SPDX-License-Identifier: BSD-2-Clause
"""Modelled machines: the emulator with a price list (deploy/plugins/modelled, deploy/machines, docs/modelled.md)."""
