# SPDX-License-Identifier: BSD-2-Clause
"""Files that name themselves when they cannot be written."""

from __future__ import annotations

from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """As Path.write_text(); a full disk's error, which comes when the file is open already, has its name, too."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
