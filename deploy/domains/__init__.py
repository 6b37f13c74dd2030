# SPDX-License-Identifier: BSD-2-Clause
"""Deployments as libvirt domains: defined, started, looked at and removed through one connection.

Nothing but connection.py touches libvirt's library before there is a connection to make.
"""
