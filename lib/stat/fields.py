#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes stat_fields.h: what the records of cluster-kernel/include/skerry/stat.h consist of, as tables for C.

    fields.py OUTPUT

A view of the counters walks the tables, so that a counter which is added to stat.h is in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from topology import headers

STAT = headers.KERNEL / "stat.h"
STRUCTURES = {"core": "core_stat", "transaction": "transaction_stat", "writer": "writer_stat", "lock": "lock_stat"}
NAMES = {"class": ("lock_class", "LOCK_CLASS_"), "cause": ("abort_cause", "ABORT_")}
KINDS = ("count", "cycles", "max", "moment", "level")  # stat_count and so on
HEAD = """/* SPDX-License-Identifier: BSD-2-Clause */
/* Made by lib/stat/fields.py of cluster-kernel/include/skerry/stat.h. */
#pragma once

#include <stdint.h>
#include <skerry/stat.h>

enum stat_kind { %s };

struct stat_field {
\tconst char *name;
\tconst char *help;  /* a sentence, or "" */
\tuint16_t word;     /* where in the structure */
\tuint16_t count;    /* of an array its length, else 1 */
\tenum stat_kind kind;
};

#define STAT_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define STAT_TABLE static const __attribute__((unused))
"""


def sentence(comment: str) -> str:
    text = comment.removeprefix("+stat: ").replace("\\", "\\\\").replace('"', '\\"')
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def rows(struct: str) -> Iterator[str]:
    for name, field in headers.layout(STAT, struct).items():
        kind = field.type.removeprefix("stat_")
        if kind in KINDS and not name.startswith("reserved"):
            yield f'\t{{ "{name}", "{sentence(field.comment)}", {field.at}, {field.count}, STAT_KIND_{kind.upper()} }},'


def text() -> str:
    parts = [HEAD % ", ".join(f"STAT_KIND_{kind.upper()}" for kind in KINDS)]
    for name, struct in STRUCTURES.items():
        parts += [f"STAT_TABLE struct stat_field stat_{name}_fields[] = {{", *rows(struct), "};"]
    for name, (enum, prefix) in NAMES.items():
        members = headers.members(STAT, enum)[:-1]
        listed = ", ".join(f'[{member}] = "{member.removeprefix(prefix).lower()}"' for member in members)
        parts.append(f"STAT_TABLE char *const stat_{name}_names[] = {{ {listed} }};")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text())
