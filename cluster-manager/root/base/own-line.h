/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines that the manager writes for itself: a mark, the text, a seal (skerry/console.h, skerry/seal.h). */
#pragma once

#include <skerry/format.h>
#include <skerry/seal.h>

enum { OWN_LINE_END = SEAL_SIZE + 1 };

/* Begins a line in `buffer`; room for its end is kept behind the text. */
struct text own_line_begin(char *buffer, size_t size);
/* Appends seal and end of the line; returns its length. No text may follow. */
size_t own_line_end(struct text *line);
