/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts and ends of this cluster's programs: a program and its stack process live and end together. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The primary's order. False: it makes no sense. What became of it is reported. */
bool life_start(uint32_t application);
/* A program has ended, or must end: all that it had is given back. */
void life_end(uint32_t application);
/* A program serves, which is reported once in its life. */
void life_serving(uint32_t application);
