# SPDX-License-Identifier: BSD-2-Clause
"""The ./skerry commands of README, CONTRIBUTING, docs/ and examples/, and what executes each."""
