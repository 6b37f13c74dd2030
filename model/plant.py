#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""INPUT OUTPUT (OLD NEW)...: a copy of a source with a mistake in it, OLD being replaced wherever it stands.

A mistake that no longer applies does not break the build: the test that must find it says so. Nor does a name that the
mistake leaves unused, or a comparison that it leaves without a choice.
"""

from __future__ import annotations

import sys
from pathlib import Path

NO_WARNINGS = "".join(f'#pragma GCC diagnostic ignored "-W{name}"\n' for name in (
    "type-limits", "unused-function", "unused-parameter", "unused-variable"))  # fmt: skip


def main(source: str, target: str, *pairs: str) -> None:
    text = Path(source).read_text()
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        text = text.replace(old, new)
    Path(target).write_text(f'{NO_WARNINGS}#line 1 "{source}"\n{text}')


if __name__ == "__main__":
    main(*sys.argv[1:])
