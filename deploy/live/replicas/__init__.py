# SPDX-License-Identifier: BSD-2-Clause
"""Forms a Redis Cluster of running instances, and keeps it whole."""
