/* SPDX-License-Identifier: BSD-2-Clause */
#include "program.h"

/* At entry the stack holds argc, argv, null, envp, null, auxv, null. */
__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	xorl %ebp, %ebp\n"
	"	movq %rsp, %rdi\n"
	"	andq $-16, %rsp\n"
	"	call program_start\n"
	"	ud2\n");

_Noreturn void program_start(const uint64_t *stack) __attribute__((used)); /* by the lines above only */

_Noreturn void program_start(const uint64_t *stack)
{
	const uint64_t *word = stack + 1 + stack[0] + 1; /* past argc, argv and its null */
	const struct process_info *info;

	while (*word++) /* envp */
		;
	while (word[0] && word[0] != AT_SKERRY)
		word += 2;
	info = word[0] ? (const struct process_info *)word[1] : 0;
	if (!info || info->magic != PROCESS_INFO_MAGIC)
		program_fail("started without its process information", 0);
	program_main(info);
}

/* Sends a line in MANAGER_WRITE's form: its length, then its bytes, from message word 0 on. */
static void write_console(const char *text, uint64_t length)
{
	struct ipc_buffer *ipc = (struct ipc_buffer *)PROCESS_IPC_VADDR;
	uint64_t words = (length + 7) / 8;
	struct message m;

	ipc->words[words] = 0;
	for (uint64_t i = 0; i < length; i++)
		((char *)&ipc->words[1])[i] = text[i];
	m.info = message_info(MANAGER_WRITE, 0, (unsigned)(1 + words));
	m.word[0] = length;
	for (unsigned i = 1; i < MESSAGE_REGISTERS; i++)
		m.word[i] = ipc->words[i];
	ipc_call(PROCESS_SLOT_MANAGER, &m);
}

void program_say(const char *text, uint64_t number)
{
	char line[160];
	unsigned length = 0;

	while (text[length] && length < sizeof(line) - 24) {
		line[length] = text[length];
		length++;
	}
	if (number) {
		int digits = (67 - __builtin_clzll(number)) / 4;

		line[length++] = ' ';
		line[length++] = '0';
		line[length++] = 'x';
		while (digits--)
			line[length++] = "0123456789abcdef"[number >> 4 * digits & 15];
	}
	line[length++] = '\n';
	write_console(line, length);
}

_Noreturn void program_fail(const char *text, uint64_t number)
{
	struct message m = { .info = message_info(MANAGER_EXIT, 0, 1), .word = { 1 } };

	program_say(text, number);
	ipc_call(PROCESS_SLOT_MANAGER, &m);
	for (;;)
		notification_wait(PROCESS_SLOT_WAKE, 0, 0);
}
