/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

/* A number in kB of /proc/meminfo, in bytes. */
static unsigned long long meminfo(const char *key)
{
	char line[128];
	unsigned long long value = 0;
	FILE *file = fopen("/proc/meminfo", "re");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':')
			value = strtoull(line + strlen(key) + 1, NULL, 10) << 10;
	if (file)
		fclose(file);
	return value;
}

/* Resident and shared bytes of a process. */
static void statm(pid_t pid, unsigned long long *resident, unsigned long long *shared)
{
	const unsigned long long page = (unsigned long long)sysconf(_SC_PAGESIZE);
	char path[64];
	FILE *file;

	*resident = *shared = 0;
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%*u %llu %llu", resident, shared) != 2)
		*resident = *shared = 0;
	if (file)
		fclose(file);
	*resident *= page;
	*shared *= page;
}

void report_memory(const struct plan *plan, const char *when)
{
	for (int i = 0; i < plan->count; i++) {
		const struct process *p = &plan->processes[i];
		unsigned long long resident, shared;
		if (!p->port || !p->running)
			continue;
		statm(p->pid, &resident, &shared);
		event("{\"event\":\"memory\",\"when\":\"%s\",\"app\":\"%s\",\"resident\":%llu,\"shared\":%llu}", when,
		      p->name, resident, shared);
	}
	event("{\"event\":\"memory\",\"when\":\"%s\",\"total\":%llu,\"available\":%llu}", when, meminfo("MemTotal"),
	      meminfo("MemAvailable"));
}

void report_cores(const char *when)
{
	char line[256];
	FILE *file = fopen("/proc/stat", "re");

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long user, nice, system, idle, iowait, irq, softirq;
		int cpu;
		if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice, &system, &idle,
		           &iowait, &irq,
			   &softirq) != 8 || line[3] == ' ')
			continue;
		event("{\"event\":\"stats\",\"when\":\"%s\",\"cpu\":%d,\"busy_ticks\":%llu,\"idle_ticks\":%llu}", when,
		      cpu, user + nice + system + irq + softirq, idle + iowait);
	}
	if (file)
		fclose(file);
}
