/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of the C library that always fail here, because a program is one process. GNU ld prints the text of a
 * section .gnu.warning.NAME where a program refers to NAME, as it does of glibc's gethostbyname().
 */
#define ALWAYS_FAILS(name)                                           \
	__asm__(".pushsection .gnu.warning." #name ",\"\",@progbits\n\t" \
	        ".ascii \"" #name "() always fails on Skerry, where a program is one process\"\n\t" \
	        ".popsection")

#ifndef LAYER_FAMILY
ALWAYS_FAILS(fork);
ALWAYS_FAILS(vfork);
ALWAYS_FAILS(system);
ALWAYS_FAILS(popen);
ALWAYS_FAILS(posix_spawn);
ALWAYS_FAILS(posix_spawnp);
#endif
ALWAYS_FAILS(daemon);
ALWAYS_FAILS(forkpty);
