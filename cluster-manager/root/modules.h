/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that the loader brought along, mapped read-only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct module {
	const void *data;
	size_t size;
	int index;
};

void modules_init(void);
/* index -1 when there is none of this name */
struct module module_find(const char *name);
