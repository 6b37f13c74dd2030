/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What names the code of this guest: where each server's files are mapped, as
 * events; the kernel's functions and its vDSO by QEMU's debug console, for they
 * are some megabytes and a serial port takes an interrupt for each 16 bytes.
 * Lines of /proc/kallsyms, then
 *
 *     vdso BYTES      in hexadecimal
 *     end
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/io.h>
#include <unistd.h>

#include "guest.h"

enum { DEBUG_CONSOLE = 0xe9, LINE = 1024 };

static void say(const char *text, size_t length)
{
	__asm__ volatile("rep outsb" : "+S"(text), "+c"(length) : "d"(DEBUG_CONSOLE) : "memory");
}

/* ADDRESS PERMISSIONS OFFSET DEVICE INODE PATH: what is executable. */
static void report_maps(const struct process *p)
{
	char line[LINE], permissions[8], path[256];
	unsigned long long start, end, offset;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)p->pid);
	file = fopen(path, "re");
	if (!file)
		fail("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &start, &end, permissions, &offset, path) == 5 &&
		    permissions[2] == 'x')
			event("{\"event\":\"map\",\"app\":\"%s\",\"start\":%llu,\"end\":%llu,\"offset\":%llu,\"path\":\"%s\"}", p->name, start,
			      end, offset, path);
	fclose(file);
}

/* Whether a line of /proc/kallsyms names code: ADDRESS TYPE NAME. */
static bool is_code(const char *line)
{
	const char *type = strchr(line, ' ');

	return type && strchr("tTwW", type[1]);
}

static void report_kernel(void)
{
	char line[LINE];
	FILE *file = fopen("/proc/kallsyms", "re");

	if (!file)
		fail("/proc/kallsyms: %s", strerror(errno));
	while (fgets(line, sizeof(line), file))
		if (is_code(line))
			say(line, strlen(line));
	fclose(file);
}

/* The size of an image whose section headers come last. */
static size_t image_size(const Elf64_Ehdr *image)
{
	return image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
}

static void report_vdso(void)
{
	const unsigned char *vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	const size_t size = vdso ? image_size((const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR)) : 0;
	char digits[4];

	say("vdso ", 5);
	for (size_t i = 0; i < size; i++) {
		snprintf(digits, sizeof(digits), "%02x", vdso[i]);
		say(digits, 2);
	}
	say("\n", 1);
}

void report_symbols(const struct plan *plan)
{
	if (ioperm(DEBUG_CONSOLE, 1, 1) != 0)
		fail("port 0xe9: %s", strerror(errno));
	for (int i = 0; i < plan->count; i++)
		if (plan->processes[i].port)
			report_maps(&plan->processes[i]);
	report_kernel();
	report_vdso();
	say("end\n", 4);
	event("{\"event\":\"symbols\"}");
}
