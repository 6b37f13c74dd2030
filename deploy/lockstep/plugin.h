/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this plugin uses of QEMU's interface for TCG plugins (its manual, "QEMU
 * TCG Plugins"). QEMU itself has the functions. The build defines
 * PLUGIN_VERSION, the interface's: 1 for QEMU 7.2 to 8.2, 4 for 9.2 and later.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum plugin_registers { PLUGIN_NO_REGISTERS }; /* which a callback may look at */

typedef void (*plugin_vcpu_fn)(plugin_id id, unsigned vcpu);
typedef void (*plugin_translate_fn)(plugin_id id, struct qemu_plugin_tb *block);
typedef void (*plugin_execute_fn)(unsigned vcpu, void *data);

void qemu_plugin_register_vcpu_idle_cb(plugin_id id, plugin_vcpu_fn call);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, plugin_translate_fn call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, plugin_execute_fn call,
                                          enum plugin_registers registers, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, plugin_execute_fn call,
                                            enum plugin_registers registers, void *data);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
#if PLUGIN_VERSION == 1
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
static inline void plugin_read(const struct qemu_plugin_insn *instruction, void *to, size_t size)
{
	memcpy(to, qemu_plugin_insn_data(instruction), size);
}
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction, void *to, size_t size);
static inline void plugin_read(const struct qemu_plugin_insn *instruction, void *to, size_t size)
{
	qemu_plugin_insn_data(instruction, to, size);
}
#endif

/* QEMU looks for these. */
extern __attribute__((visibility("default"))) int qemu_plugin_version;
__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc,
                                                               char **argv);
