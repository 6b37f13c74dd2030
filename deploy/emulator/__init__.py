# SPDX-License-Identifier: BSD-2-Clause
"""Modelled machines: the emulator with a price list (emulator/modelled, emulator/machines, docs/modelled.md)."""
