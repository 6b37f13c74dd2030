# SPDX-License-Identifier: BSD-2-Clause
"""Commands about libvirt domains."""
