// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin for QEMU that sees where memory accesses go.
 *
 * It counts, per CPU, user and kernel apart: instructions, memory accesses, and misses of a model
 * of the last-level caches by the node that serves them; and kernel instructions by part. Results
 * are JSON lines; ../README.md tells what they hold. Options:
 *
 *	out=FILE	where to write
 *	mem=M.M...	MiB of each node
 *	cpus=N.N...	node of each CPU; more may exist in QEMU if they never run
 *	symbols=FILE	addresses of kernel functions
 *	sets= ways= line=	the cache of a node (4096 sets of 8 ways of 64 bytes)
 *	window=N	instructions of a window (2^22)
 *	spin=N		rounds of a loop for each remote miss, and nothing else; see spin.c
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "where.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct probe probe = { .window = 1u << 22, .line_shift = 6 };

static struct cache caches[MAX_NODES];
static uint32_t sets = 4096, ways = 8;

/* An access to memory: count it, and if the node's cache has not got it, who serves it. */
static inline void access_memory(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
				 enum mode mode)
{
	struct qemu_plugin_hwaddr *haddr;
	struct cpu *cpu = &probe.cpu[vcpu];
	uint64_t address, line = vaddr >> probe.line_shift, *recent = &cpu->recent[line % RECENT];
	unsigned int node;

	if (*recent == line) {
		cpu->now->acc[mode]++;
		return;
	}
	if (unlikely(!probe.begun))
		return;
	haddr = qemu_plugin_get_hwaddr(info, vaddr);
	if (unlikely(!haddr || qemu_plugin_hwaddr_is_io(haddr)))
		return;
	*recent = line;
	address = where_address(haddr);
	cpu->now->acc[mode]++;
	if (cache_hit(cpu->cache, address >> probe.line_shift))
		return;
	node = where_node(address);
	if (likely(node != NO_NODE))
		cpu->now->miss[mode][node]++;
	else
		probe.unknown++;
}

static void user_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	access_memory(vcpu, info, vaddr, MODE_USER);
}

static void kernel_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	access_memory(vcpu, info, vaddr, MODE_KERNEL);
}

/* The stack pointer of another task is loaded. */
static void switch_task(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	parts_switch(&probe.cpu[vcpu], vaddr);
	kernel_access(vcpu, info, vaddr, data);
}

/* The kernel reads run queues. */
static void read_queues(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct qemu_plugin_hwaddr *haddr = qemu_plugin_get_hwaddr(info, vaddr);

	if (qemu_plugin_mem_size_shift(info) == 2 && haddr && !qemu_plugin_hwaddr_is_io(haddr))
		queues_access(vcpu, (uintptr_t)data, vaddr, where_host_address(haddr));
	kernel_access(vcpu, info, vaddr, data);
}

/* Count instructions of a mode; end the turn and the window when they are full. */
static inline void count_insns(unsigned int vcpu, enum mode mode, uint32_t nr)
{
	struct cpu *cpu = &probe.cpu[vcpu];

	cpu->turn -= nr;
	if (unlikely(cpu != probe.running || cpu->turn <= 0))
		turns_next(vcpu);
	cpu->now->insn[mode] += nr;
	if (likely(cpu->now == &cpu->normal))
		probe.insn += nr;
	if (unlikely(probe.insn >= probe.next_window))
		report_window();
}

static void user_block(unsigned int vcpu, void *data)
{
	struct cpu *cpu = &probe.cpu[vcpu];

	if (cpu->last) {
		parts_user(cpu);
		memset(cpu->recent, 0, sizeof(cpu->recent));
	}
	count_insns(vcpu, MODE_USER, (uintptr_t)data);
}

static void kernel_block(unsigned int vcpu, void *data)
{
	struct cpu *cpu = &probe.cpu[vcpu];

	if (!cpu->last)
		memset(cpu->recent, 0, sizeof(cpu->recent));
	parts_kernel(cpu, data);
	count_insns(vcpu, MODE_KERNEL, ((const struct block *)data)->insns);
}

/* A phase begins. */
static void phase(enum machine_mark mark, unsigned int vcpu)
{
	if (mark == MARK_BEGIN && !probe.begun) {
		where_complete();
		queues_complete();
		probe.begun = true;
		report_reset();
		parts_reset();
	}
	if (!probe.begun)
		return;
	report_window();
	report_snapshot(mark, vcpu);
}

/* A value is complete: set it, or add it to what was there. */
static void take_value(unsigned int key, uint64_t value, bool add)
{
	key %= NR_KEYS;
	probe.value[key] = add ? probe.value[key] + value : value;
	probe.has_value[key] = true;
}

/* A mark that needs a value. */
static void mark_with_value(unsigned int code, uint64_t value, uint64_t address)
{
	if (code >= MARK_VALUE)
		take_value(code, value, code >= MARK_ADD);
	else
		where_calibrate(code - MARK_NODE, address, value);
}

/* A mark with a code. */
static void mark(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct context *ctx = probe.cpu[vcpu].ctx;
	unsigned int code = vaddr & 0xfff;
	uint64_t address;

	if (code < MARK_HELPER) {
		phase(code, vcpu);
	} else if (code == MARK_HELPER) {
		parts_helper(&probe.cpu[vcpu]);
	} else if (code >= MARK_BYTE && code < MARK_VALUE) {
		ctx->value = ctx->value << 8 | (code & 0xff);
	} else {
		address = qemu_plugin_hwaddr_phys_addr(qemu_plugin_get_hwaddr(info, vaddr));
		mark_with_value(code, ctx->value, address);
		ctx->value = 0;
	}
}

/* The same where the CPUs are threads of the host, and tasks are not known. */
static void mark_locked(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	if ((vaddr & 0xfff) == MARK_HELPER)
		return;
	pthread_mutex_lock(&lock);
	mark(vcpu, info, vaddr, data);
	pthread_mutex_unlock(&lock);
}

/* "xchg %bx, %bx", a mark without a code. */
static void plain_mark(unsigned int vcpu, void *data)
{
	phase(MARK_TICK, vcpu);
}

/* Is an instruction this one? */
static bool is_code(struct qemu_plugin_insn *insn, const uint8_t *code, size_t size)
{
	return qemu_plugin_insn_size(insn) == size &&
	       !memcmp(qemu_plugin_insn_data(insn), code, size);
}

/* Instrument one instruction of user code. */
static void user_insn(struct qemu_plugin_insn *insn)
{
	static const uint8_t coded[] = { 0x3e, 0x3e, 0x3e, 0x8a, 0x00 };
	static const uint8_t plain[] = { 0x66, 0x87, 0xdb };
	qemu_plugin_mem_cb_t cb = spin_on() ? spin_access : user_access;

	if (unlikely(is_code(insn, coded, sizeof(coded))))
		cb = spin_on() ? mark_locked : mark;
	if (unlikely(is_code(insn, plain, sizeof(plain)) && !spin_on()))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, plain_mark, QEMU_PLUGIN_CB_NO_REGS,
						       NULL);
	qemu_plugin_register_vcpu_mem_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 NULL);
}

/* Instrument one instruction of kernel code. */
static void kernel_insn(struct qemu_plugin_insn *insn)
{
	uint64_t vaddr = qemu_plugin_insn_vaddr(insn);
	uintptr_t reads = queues_watch(vaddr);
	qemu_plugin_mem_cb_t cb = reads ? read_queues : kernel_access;

	if (parts_is_switch(vaddr, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn)))
		cb = switch_task;
	qemu_plugin_register_vcpu_mem_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 (void *)reads);
}

/* Instrument a block of kernel code. */
static void kernel_tb(struct qemu_plugin_tb *tb)
{
	size_t i;

	qemu_plugin_register_vcpu_tb_exec_cb(tb, kernel_block, QEMU_PLUGIN_CB_NO_REGS,
					     (void *)parts_block(tb));
	for (i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		kernel_insn(qemu_plugin_tb_get_insn(tb, i));
}

/* Instrument a block of user code. */
static void user_tb(struct qemu_plugin_tb *tb)
{
	size_t i, nr = qemu_plugin_tb_n_insns(tb);

	if (!spin_on())
		qemu_plugin_register_vcpu_tb_exec_cb(tb, user_block, QEMU_PLUGIN_CB_NO_REGS,
						     (void *)(uintptr_t)nr);
	for (i = 0; i < nr; i++)
		user_insn(qemu_plugin_tb_get_insn(tb, i));
}

/* QEMU translates a block. */
static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	static bool ready;

	if (!ready && !spin_on())
		turns_init();
	ready = true;
	if (!(qemu_plugin_tb_vaddr(tb) >> 63))
		user_tb(tb);
	else if (!spin_on())
		kernel_tb(tb);
}

static void flush(qemu_plugin_id_t id)
{
	parts_flush();
}

static void finish(qemu_plugin_id_t id, void *data)
{
	fclose(probe.out);
}

/* A power of two from a string. */
static uint32_t power_of_two(const char *name, const char *value)
{
	unsigned long number = strtoul(value, NULL, 0);

	if (!number || number & (number - 1) || number > 1u << 24)
		stop("%s=%s is not a power of two", name, value);
	return number;
}

/* Take one option. */
static void option(const char *name, const char *value)
{
	if (where_option(name, value) || spin_option(name, value))
		return;
	if (!strcmp(name, "out"))
		probe.out = fopen(value, "w");
	else if (!strcmp(name, "sets"))
		sets = power_of_two(name, value);
	else if (!strcmp(name, "line"))
		probe.line_shift = __builtin_ctz(power_of_two(name, value));
	else if (!strcmp(name, "ways"))
		ways = strtoul(value, NULL, 0);
	else if (!strcmp(name, "window"))
		probe.window = strtoull(value, NULL, 0);
	else if (strcmp(name, "symbols") || !parts_load(value))
		stop("option %s=%s is unknown or cannot be used", name, value);
}

/* Options are complete: check them and set everything up. */
static void set_up(void)
{
	unsigned int i;

	if (!probe.out || !probe.nr_cpus || !probe.nr_nodes || !probe.window)
		stop("out=, mem=, cpus= and window= must be given");
	if (ways < 2 || ways > 64 || probe.line_shift < 6 || probe.line_shift > 12)
		stop("a cache has 2 to 64 ways and lines of 64 to 4096 bytes");
	where_init();
	for (i = 0; i < probe.nr_nodes; i++)
		cache_init(&caches[i], sets, ways);
	for (i = 0; i < MAX_CPUS; i++) {
		struct cpu *cpu = &probe.cpu[i];

		if (cpu->node >= probe.nr_nodes)
			stop("CPU %u is on node %u, of %u", i, cpu->node, probe.nr_nodes);
		cpu->cache = &caches[cpu->node];
		cpu->now = &cpu->normal;
	}
	parts_init();
	probe.next_window = probe.window;
	report_header();
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
					   int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			stop("option %s has no value", argv[i]);
		*value = 0;
		option(argv[i], value + 1);
	}
	set_up();
	if (!info->system_emulation || info->system.max_vcpus < (int)probe.nr_cpus ||
	    info->system.max_vcpus > MAX_CPUS)
		stop("the guest can have %d CPUs, the options tell of %u, the probe takes %d",
		     info->system.max_vcpus, probe.nr_cpus, MAX_CPUS);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_flush_cb(id, flush);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
