/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* The module that all lives are copies of (stack.h). Once. */
void module_read(const char *path);
