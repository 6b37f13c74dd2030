/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of the C library's <string.h> and <stdlib.h> that freestanding code and libfdt use. */
#pragma once

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
void *memchr(const void *memory, int byte, size_t size);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
char *strcpy(char *restrict to, const char *restrict from);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t max);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
unsigned long strtoul(const char *s, char **end, int base);
