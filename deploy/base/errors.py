# SPDX-License-Identifier: BSD-2-Clause
"""Exceptions that end a command without success; deploy/cli/main.py turns each into one line on stderr.

Bad input is topology.errors.InputError: exit status 2.
"""


from dataclasses import dataclass, field
from pathlib import Path


@dataclass(eq=False)
class Failure(Exception):
    """Something that was asked for did not happen: exit status 1."""

    text: str = ""
    log: Path | None = field(default=None, kw_only=True)  # where all of it is

    def __str__(self) -> str:
        return f"{self.text} (log: {self.log})" if self.log else self.text
