/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/* Ends a test of parts of the layer on the host where the condition does not hold. */
#define CHECK(condition) \
	((condition) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))
