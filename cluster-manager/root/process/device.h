/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <skerry/process.h>
#include "map.h"
#include "grant.h"

/* Collects the untypeds of the devices' memory. */
void device_init(void);

/* Finds the driver's device and gives it: registers, interrupt, memory for DMA. */
int device_attach(const struct map_application *a, struct process *p, struct process_device *device);
/* Serves MANAGER_CONFIG (process.h) with its four words. 0 or an error. */
int device_config(uint32_t application, const uint64_t word[4], uint64_t *result);
/* A program has ended: its device, if it had one, is quiet. It keeps the device's memory for DMA until it starts
 * again. */
void device_ended(const struct map_application *a);
