/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { JSON_DEPTH_MAX = 16 }; /* objects and arrays within one another */

/*
 * Is this exactly one JSON object (RFC 8259, in UTF-8) that can stand inside a
 * line of results? Nothing may precede or follow it; no byte below 0x20 but a
 * tab between tokens; half a surrogate pair and more than JSON_DEPTH_MAX levels
 * are refused, too, because readers of the results differ about them.
 */
bool json_is_object(const char *text, size_t length);
