# SPDX-License-Identifier: BSD-2-Clause
"""Modelled machines against published figures."""
