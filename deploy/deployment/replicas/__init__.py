# SPDX-License-Identifier: BSD-2-Clause
"""A Redis Cluster with replicas, as a deployment describes it."""
