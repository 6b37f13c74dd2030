# SPDX-License-Identifier: BSD-2-Clause
"""The papers' experiments: one module measures, one prints, one draws; deploy/cli/commands/bench/ holds the
commands."""
