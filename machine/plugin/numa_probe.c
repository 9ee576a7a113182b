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
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "where.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct probe probe = { .window = 1u << 22 };

static struct cache caches[MAX_NODES];
static uint32_t sets = 4096, ways = 8, line_shift = 6;

/* An access to memory: count it, and if the node's cache has not got it, who serves it. */
static inline void access_memory(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
				 enum mode mode)
{
	struct qemu_plugin_hwaddr *haddr;
	struct cpu *cpu = &probe.cpu[vcpu];
	uint64_t address, *recent = &cpu->recent[(vaddr >> line_shift) % RECENT];
	unsigned int node;

	if (*recent == vaddr >> line_shift) {
		cpu->now->acc[mode]++;
		return;
	}
	if (unlikely(!probe.begun))
		return;
	haddr = qemu_plugin_get_hwaddr(info, vaddr);
	if (unlikely(!haddr || qemu_plugin_hwaddr_is_io(haddr)))
		return;
	*recent = vaddr >> line_shift;
	address = where_address(haddr);
	cpu->now->acc[mode]++;
	if (cache_hit(cpu->cache, address >> line_shift))
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

/* Count instructions of a mode; end the window when it is full. */
static inline void count_insns(struct cpu *cpu, enum mode mode, uint32_t nr)
{
	cpu->now->insn[mode] += nr;
	if (likely(cpu->now == &cpu->normal))
		probe.insn += nr;
	if (unlikely(probe.insn >= probe.next_window)) {
		probe.next_window += probe.window;
		if (probe.begun)
			report_window();
	}
}

static void user_block(unsigned int vcpu, void *data)
{
	struct cpu *cpu = &probe.cpu[vcpu];

	if (cpu->last) {
		parts_user(cpu);
		memset(cpu->recent, 0, sizeof(cpu->recent));
	}
	count_insns(cpu, MODE_USER, (uintptr_t)data);
}

static void kernel_block(unsigned int vcpu, void *data)
{
	struct cpu *cpu = &probe.cpu[vcpu];

	if (!cpu->last)
		memset(cpu->recent, 0, sizeof(cpu->recent));
	parts_kernel(cpu, data);
	count_insns(cpu, MODE_KERNEL, ((const struct block *)data)->insns);
}

/* How many CPUs run nothing? A helper does not count: what it interrupted does. */
static unsigned int idle_cpus(void)
{
	unsigned int cpu, idle = 0;

	for (cpu = 0; cpu < probe.nr_cpus; cpu++)
		idle += probe.cpu[cpu].under->idle;
	return idle;
}

/*
 * A sample of the run queues. Each busy CPU has at least one runnable task, so some CPU has two
 * if and only if there are more runnable tasks than busy CPUs. The helper that asks is one.
 */
static void sample(uint64_t runnable)
{
	unsigned int idle = idle_cpus();

	probe.samples.nr++;
	probe.samples.idle += idle;
	if (runnable > probe.nr_cpus - idle + 1)
		probe.samples.idle_queued += idle;
}

/* CPUs that the options do not tell of must not run: they would be in no figure. */
static void check_spare_cpus(void)
{
	unsigned int cpu, mode;

	for (cpu = probe.nr_cpus; cpu < MAX_CPUS; cpu++)
		for (mode = 0; mode < NR_MODES; mode++)
			if (probe.cpu[cpu].normal.insn[mode])
				stop("CPU %u runs, the options tell of %u", cpu, probe.nr_cpus);
}

/* A phase begins. */
static void phase(enum machine_mark mark, unsigned int vcpu)
{
	if (mark == MARK_BEGIN && !probe.begun) {
		where_complete();
		probe.begun = true;
		report_reset();
		parts_reset();
	}
	if (!probe.begun)
		return;
	check_spare_cpus();
	report_snapshot(mark, vcpu);
}

/* A value is complete. */
static void take_value(struct context *ctx, unsigned int key)
{
	probe.value[key % NR_KEYS] = ctx->value;
	probe.has_value[key % NR_KEYS] = true;
	ctx->value = 0;
}

/* The task is one of ours. */
static void become_helper(struct cpu *cpu)
{
	cpu->ctx->helper = true;
	cpu->now = &cpu->helper;
}

/* A mark with a code. */
static void mark(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct cpu *cpu = &probe.cpu[vcpu];
	struct context *ctx = cpu->ctx;
	unsigned int code = vaddr & 0xfff;

	if (code >= MARK_VALUE) {
		take_value(ctx, code - MARK_VALUE);
	} else if (code >= MARK_BYTE) {
		ctx->value = ctx->value << 8 | (code & 0xff);
	} else if (code >= MARK_NODE) {
		where_calibrate(code - MARK_NODE,
				qemu_plugin_hwaddr_phys_addr(qemu_plugin_get_hwaddr(info, vaddr)),
				ctx->value);
		ctx->value = 0;
	} else if (code == MARK_RUNNABLE) {
		sample(ctx->value);
		ctx->value = 0;
	} else if (code == MARK_HELPER) {
		become_helper(cpu);
	} else {
		phase(code, vcpu);
	}
}

/* "xchg %bx, %bx", a mark without a code. */
static void plain_mark(unsigned int vcpu, void *data)
{
	phase(MARK_TICK, vcpu);
}

/* Instrument one instruction of user code. */
static void user_insn(struct qemu_plugin_insn *insn)
{
	static const uint8_t coded[] = { 0x3e, 0x3e, 0x3e, 0x8a, 0x00 };
	static const uint8_t plain[] = { 0x66, 0x87, 0xdb };
	const void *code = qemu_plugin_insn_data(insn);
	size_t size = qemu_plugin_insn_size(insn);
	qemu_plugin_mem_cb_t cb = user_access;

	if (unlikely(size == sizeof(coded) && !memcmp(code, coded, size)))
		cb = mark;
	if (unlikely(size == sizeof(plain) && !memcmp(code, plain, size)))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, plain_mark, QEMU_PLUGIN_CB_NO_REGS,
						       NULL);
	qemu_plugin_register_vcpu_mem_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 NULL);
}

/* Instrument one instruction of kernel code. */
static void kernel_insn(struct qemu_plugin_insn *insn)
{
	qemu_plugin_mem_cb_t cb = kernel_access;

	if (parts_is_switch(qemu_plugin_insn_vaddr(insn), qemu_plugin_insn_data(insn),
			    qemu_plugin_insn_size(insn)))
		cb = switch_task;
	qemu_plugin_register_vcpu_mem_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 NULL);
}

/* QEMU translates a block. */
static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	static bool asked;
	bool kernel = qemu_plugin_tb_vaddr(tb) >> 63;
	size_t i, nr = qemu_plugin_tb_n_insns(tb);

	if (!asked)
		probe.protected = turns_protect();
	asked = true;

	if (kernel)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, kernel_block, QEMU_PLUGIN_CB_NO_REGS,
						     (void *)parts_block(tb));
	else
		qemu_plugin_register_vcpu_tb_exec_cb(tb, user_block, QEMU_PLUGIN_CB_NO_REGS,
						     (void *)(uintptr_t)nr);
	for (i = 0; i < nr; i++)
		(kernel ? kernel_insn : user_insn)(qemu_plugin_tb_get_insn(tb, i));
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
	if (where_option(name, value))
		return;
	if (!strcmp(name, "out"))
		probe.out = fopen(value, "w");
	else if (!strcmp(name, "sets"))
		sets = power_of_two(name, value);
	else if (!strcmp(name, "line"))
		line_shift = __builtin_ctz(power_of_two(name, value));
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
	if (ways < 2 || ways > 64 || line_shift < 5 || line_shift > 12)
		stop("a cache has 2 to 64 ways and lines of 32 to 4096 bytes");
	where_init();
	for (i = 0; i < probe.nr_nodes; i++)
		cache_init(&caches[i], sets, ways);
	for (i = 0; i < MAX_CPUS; i++) {
		struct cpu *cpu = &probe.cpu[i];

		if (cpu->node >= probe.nr_nodes)
			stop("CPU %u is on node %u, of %u", i, cpu->node, probe.nr_nodes);
		cpu->cache = &caches[cpu->node];
		cpu->now = &cpu->normal;
		cpu->ctx = cpu->under = &cpu->boot;
	}
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
