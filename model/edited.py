#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""INPUT OUTPUT (OLD NEW)...: a copy of a source with OLD replaced wherever it stands; an error where it stands
nowhere."""

from __future__ import annotations

import sys
from pathlib import Path


def main(source: str, target: str, *pairs: str) -> None:
    text = Path(source).read_text()
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        if old not in text:
            sys.exit(f"{source}: '{old}' stands nowhere: mend the edits in the meson.build that makes {target}")
        text = text.replace(old, new)
    Path(target).write_text(f'#line 1 "{source}"\n{text}')


if __name__ == "__main__":
    main(*sys.argv[1:])
