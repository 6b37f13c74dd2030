# SPDX-License-Identifier: BSD-2-Clause
"""How soon a Redis Cluster writes again when a part of it ends, and what is lost."""
