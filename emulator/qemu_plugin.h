/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of QEMU's interface for TCG plugins that the plugins here use (its manual, "QEMU TCG Plugins"). QEMU itself
 * has the functions. The build defines PLUGIN_VERSION, the interface's: 1 for QEMU 7.2 to 8.2, 4 for 9.2 and later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_info {
	const char *target;
	int oldest_version, version;
	bool whole_system;
	int cores, most_cores;
};
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum plugin_registers { PLUGIN_NO_REGISTERS, PLUGIN_READS_REGISTERS }; /* which a callback may look at */

typedef void (*plugin_simple_fn)(plugin_id id);
typedef void (*plugin_vcpu_fn)(plugin_id id, unsigned vcpu);
typedef void (*plugin_translate_fn)(plugin_id id, struct qemu_plugin_tb *block);
typedef void (*plugin_execute_fn)(unsigned vcpu, void *data);

/* Drops all callbacks and all translated code; `call` registers callbacks anew. It comes when no core executes. */
void qemu_plugin_reset(plugin_id id, plugin_simple_fn call);
void qemu_plugin_register_vcpu_idle_cb(plugin_id id, plugin_vcpu_fn call);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, plugin_translate_fn call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, plugin_execute_fn call,
                                          enum plugin_registers registers, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, plugin_execute_fn call,
                                            enum plugin_registers registers, void *data);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
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


#if PLUGIN_VERSION >= 4
#include <stdbool.h>

/* Memory that has a part for each core, to which generated code adds. */
struct qemu_plugin_scoreboard;
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;
typedef uint32_t plugin_meminfo;
struct qemu_plugin_hwaddr;
struct plugin_mem_value { /* qemu_plugin_mem_value */
	int type;
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
		struct {
			uint64_t low, high;
		} u128;
	} data;
};
enum plugin_rw { PLUGIN_READS = 1, PLUGIN_WRITES, PLUGIN_READS_AND_WRITES };
enum plugin_condition { PLUGIN_NE = 3, PLUGIN_GE = 7 };
enum plugin_operation { PLUGIN_ADD };
typedef void (*plugin_memory_fn)(unsigned vcpu, plugin_meminfo info, uint64_t address, void *data);

void qemu_plugin_register_vcpu_init_cb(plugin_id id, plugin_vcpu_fn call);
void qemu_plugin_register_vcpu_resume_cb(plugin_id id, plugin_vcpu_fn call);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *block, plugin_execute_fn call,
                                               enum plugin_registers registers, enum plugin_condition condition,
                                               qemu_plugin_u64 entry, uint64_t operand, void *data);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *block, enum plugin_operation operation,
                                                       qemu_plugin_u64 entry, uint64_t operand);
void qemu_plugin_register_vcpu_insn_exec_cond_cb(struct qemu_plugin_insn *instruction, plugin_execute_fn call,
                                                 enum plugin_registers registers, enum plugin_condition condition,
                                                 qemu_plugin_u64 entry, uint64_t operand, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *instruction,
                                                         enum plugin_operation operation, qemu_plugin_u64 entry,
                                                         uint64_t operand);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction, plugin_memory_fn call,
                                      enum plugin_registers registers, enum plugin_rw which, void *data);
bool qemu_plugin_mem_is_store(plugin_meminfo info);
unsigned qemu_plugin_mem_size_shift(plugin_meminfo info); /* log2 of the bytes */
struct plugin_mem_value qemu_plugin_mem_get_value(plugin_meminfo info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(plugin_meminfo info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address);
/* GLib's GByteArray and GArray. */
struct plugin_bytes {
	uint8_t *data;
	unsigned size;
};
struct plugin_array {
	char *data;
	unsigned count;
};
struct qemu_plugin_register;
struct plugin_register { /* qemu_plugin_reg_descriptor: an element of what qemu_plugin_get_registers() returns */
	struct qemu_plugin_register *handle;
	const char *name, *feature;
};
struct plugin_array *qemu_plugin_get_registers(void);
/* In a callback with PLUGIN_READS_REGISTERS. Appends to `bytes`; returns how many. */
int qemu_plugin_read_register(struct qemu_plugin_register *handle, struct plugin_bytes *bytes);
bool qemu_plugin_read_memory_vaddr(uint64_t address, struct plugin_bytes *bytes, size_t size);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned vcpu);
#endif

/* QEMU looks for these. */
extern __attribute__((visibility("default"))) int qemu_plugin_version;
__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc,
                                                               char **argv);
