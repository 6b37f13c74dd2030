# SPDX-License-Identifier: BSD-2-Clause
"""Where the instructions of an operation go: counted by a plugin of the emulator, named from symbols."""
