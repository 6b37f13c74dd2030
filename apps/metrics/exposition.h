/* SPDX-License-Identifier: BSD-2-Clause */
/* A snapshot in Prometheus' text format 0.0.4. docs/metrics.md says what each metric means. */
#pragma once

#include "snapshot.h"
#include "text.h"

#define EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

void exposition(struct text *, const struct snapshot *);
