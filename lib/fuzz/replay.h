/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that replay.c needs of a fuzz target, which is linked with it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry point. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* With -v, before each input runs. */
void replay_tell(const char *path, size_t size);
