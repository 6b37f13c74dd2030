# SPDX-License-Identifier: BSD-2-Clause
"""How a command ends without success; deploy/cli.py turns each exception into one line on stderr.

Bad input is topology.errors.InputError: exit status 2.
"""


class Failure(Exception):
    """Something that was asked for did not happen: exit status 1."""
