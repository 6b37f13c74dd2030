# SPDX-License-Identifier: BSD-2-Clause
"""One machine from its plan to its end: image, QEMU, events, console, crashes."""
