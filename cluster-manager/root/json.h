/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Is this one JSON object that can stand inside a line of results? It checks
 * that brackets and strings close and that nothing breaks the line; what a
 * value means is the reader's to judge.
 */
bool json_is_object(const char *text, size_t length);
