# SPDX-License-Identifier: BSD-2-Clause
"""Discrete-event simulation of cores at one lock: checks the closed forms and shows what they leave out."""
