// SPDX-License-Identifier: GPL-2.0
/* The probe's output: a header, windows and snapshots, one JSON object per line. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

#define ull(x)	((unsigned long long)(x))

static struct counters before[MAX_CPUS];
static unsigned int snapshots;

/**
 * stop - the run cannot go on: say why and end QEMU
 * @format: as for printf
 */
void stop(const char *format, ...)
{
	char text[512], *c;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (c = text; *c; c++)
		if (*c == '"' || *c == '\\' || *c < ' ')
			*c = '\'';
	fprintf(stderr, "numa_probe: %s\n", text);
	if (probe.out) {
		fprintf(probe.out, "{\"error\":\"%s\"}\n", text);
		fflush(probe.out);
	}
	_exit(3);
}

/* An array of numbers. */
static void numbers(const uint64_t *list, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		fprintf(probe.out, "%c%llu", i ? ',' : '[', ull(list[i]));
	fputc(']', probe.out);
}

/* One CPU of a window: instructions and misses by node, since the last window. */
static void window_cpu(const struct counters *now, struct counters *was)
{
	uint64_t list[1 + MAX_NODES];
	unsigned int node;

	list[0] = now->insn[0] + now->insn[1] - was->insn[0] - was->insn[1];
	for (node = 0; node < probe.nr_nodes; node++)
		list[node + 1] = now->miss[0][node] + now->miss[1][node] -
				 was->miss[0][node] - was->miss[1][node];
	numbers(list, probe.nr_nodes + 1);
}

/* User misses of a window, node of the CPU by node of the memory. */
static void window_user(void)
{
	uint64_t list[MAX_NODES * MAX_NODES] = { 0 };
	unsigned int cpu, node;

	for (cpu = 0; cpu < probe.nr_cpus; cpu++) {
		const struct cpu *c = &probe.cpu[cpu];

		for (node = 0; node < probe.nr_nodes; node++)
			list[c->node * probe.nr_nodes + node] += c->normal.miss[MODE_USER][node] -
								 before[cpu].miss[MODE_USER][node];
	}
	numbers(list, probe.nr_nodes * probe.nr_nodes);
}

/**
 * report_busy - the number of busy CPUs is about to change, or a window ends
 */
void report_busy(void)
{
	uint64_t insn = probe.insn - probe.busy_since;

	probe.busy_insn[probe.nr_busy] += insn;
	if (probe.nr_queued)
		probe.queued_insn[probe.nr_busy] += insn;
	probe.busy_since = probe.insn;
}

/*
 * Instructions of a window had they been executed side by side: those that were executed while n
 * CPUs were busy take an nth of their number. Interrupts of a machine that is all idle count once.
 */
static uint64_t parallel_insn(void)
{
	unsigned int busy;
	uint64_t sum;

	report_busy();
	sum = probe.busy_insn[0];
	for (busy = 1; busy <= probe.nr_cpus; busy++) {
		sum += probe.busy_insn[busy] / busy;
		probe.idle_queued += probe.queued_insn[busy] / busy * (probe.nr_cpus - busy);
	}
	memset(probe.busy_insn, 0, sizeof(probe.busy_insn));
	memset(probe.queued_insn, 0, sizeof(probe.queued_insn));
	probe.parallel += sum;
	return sum;
}

/**
 * report_window - a window is over: it is full, or a mark ends it early
 *
 * So what is between two marks is some whole windows.
 */
void report_window(void)
{
	unsigned int cpu;

	probe.next_window = probe.insn + probe.window;
	if (!probe.begun)
		return;
	fprintf(probe.out, "{\"w\":%llu,\"i\":%llu,\"par\":%llu,\"cpu\":[", ull(probe.windows++),
		ull(probe.insn), ull(parallel_insn()));
	for (cpu = 0; cpu < probe.nr_cpus; cpu++) {
		if (cpu)
			fputc(',', probe.out);
		window_cpu(&probe.cpu[cpu].normal, &before[cpu]);
	}
	fputs("],\"user\":", probe.out);
	window_user();
	fputs("}\n", probe.out);
	for (cpu = 0; cpu < probe.nr_cpus; cpu++)
		before[cpu] = probe.cpu[cpu].normal;
}

/* A set of counters. */
static void counters(const struct counters *c)
{
	fputs("{\"insn\":", probe.out);
	numbers(c->insn, NR_MODES);
	fputs(",\"acc\":", probe.out);
	numbers(c->acc, NR_MODES);
	fputs(",\"user\":", probe.out);
	numbers(c->miss[MODE_USER], probe.nr_nodes);
	fputs(",\"kernel\":", probe.out);
	numbers(c->miss[MODE_KERNEL], probe.nr_nodes);
	fputs(",\"part\":", probe.out);
	numbers((const uint64_t *)c->part, NR_PARTS);
	fputc('}', probe.out);
}

/* The sum of the helpers' counters over all CPUs. */
static void helpers(void)
{
	uint64_t insn[NR_MODES] = { 0 };
	unsigned int cpu, mode;

	for (cpu = 0; cpu < probe.nr_cpus; cpu++)
		for (mode = 0; mode < NR_MODES; mode++)
			insn[mode] += probe.cpu[cpu].helper.insn[mode];
	fputs(",\"helper\":", probe.out);
	numbers(insn, NR_MODES);
}

/* Values that the guest has set. */
static void values(void)
{
	const char *comma = "";
	unsigned int key;

	fputs(",\"value\":{", probe.out);
	for (key = 0; key < NR_KEYS; key++) {
		if (!probe.has_value[key])
			continue;
		fprintf(probe.out, "%s\"%u\":%llu", comma, key, ull(probe.value[key]));
		comma = ",";
	}
	fputc('}', probe.out);
}

/**
 * report_header - describe what follows
 */
void report_header(void)
{
	unsigned int cpu, part;

	fprintf(probe.out, "{\"probe\":1,\"nodes\":%u,\"window\":%llu,\"cpu_node\":[",
		probe.nr_nodes, ull(probe.window));
	for (cpu = 0; cpu < probe.nr_cpus; cpu++)
		fprintf(probe.out, "%s%u", cpu ? "," : "", probe.cpu[cpu].node);
	fputs("],\"parts\":[", probe.out);
	for (part = 0; part < NR_PARTS; part++)
		fprintf(probe.out, "%s\"%s\"", part ? "," : "", part_names[part]);
	fputs("]}\n", probe.out);
	fflush(probe.out);
}

/**
 * report_snapshot - write all counters
 * @mark: why
 * @cpu: on which CPU the mark was
 */
void report_snapshot(enum machine_mark mark, unsigned int cpu)
{
	unsigned int i;

	fprintf(probe.out, "{\"mark\":%d,\"seq\":%u,\"on\":%u,\"i\":%llu,\"w\":%llu", mark,
		snapshots++, cpu, ull(probe.insn), ull(probe.windows));
	fprintf(probe.out, ",\"unknown\":%llu,\"lost\":%llu", ull(probe.unknown), ull(probe.lost));
	fprintf(probe.out, ",\"parallel\":%llu,\"idle_queued\":%llu", ull(probe.parallel),
		ull(probe.idle_queued));
	parts_report(probe.out);
	helpers();
	values();
	fputs(",\"cpu\":[", probe.out);
	for (i = 0; i < probe.nr_cpus; i++) {
		if (i)
			fputc(',', probe.out);
		counters(&probe.cpu[i].normal);
	}
	fputs("]}\n", probe.out);
	fflush(probe.out);
}

/**
 * report_reset - all counters start anew
 */
void report_reset(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		memset(&probe.cpu[cpu].normal, 0, sizeof(struct counters));
		memset(&probe.cpu[cpu].helper, 0, sizeof(struct counters));
	}
	memset(before, 0, sizeof(before));
	memset(probe.queued_insn, 0, sizeof(probe.queued_insn));
	probe.parallel = 0;
	probe.idle_queued = 0;
	memset(probe.busy_insn, 0, sizeof(probe.busy_insn));
	probe.busy_since = 0;
	probe.insn = 0;
	probe.unknown = 0;
	probe.lost = 0;
	probe.windows = 0;
	probe.next_window = probe.window;
}
