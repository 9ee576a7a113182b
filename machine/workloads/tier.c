// SPDX-License-Identifier: GPL-2.0
/*
 * tier: a hot set that does not fit into what cold data have left of the DRAM, on a machine with
 * memory on a node without CPUs. First cold data fill the nodes with CPUs until --free MB are left,
 * then the hot set (--size, larger than that) is touched, and some of it has to go to the slow
 * node. From then on --hot percent of the visits are to the hot set, the others to the cold data.
 * So it pays to bring hot pages to the DRAM, and cold ones have to make room.
 *
 * Pinned hard, the hot set gets its DRAM before the cold data; inverse, all of it is on slow nodes.
 *
 * A visit is to eight lines of a page: their values are read, their counts go up by one. A unit is
 * a hundred visits.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "work.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define LINES_OF_A_VISIT	8
#define VISITS_OF_A_STEP	100
#define VISITS_OF_A_UNIT	100
#define BLOCKS			(WORK_PAGE / WORK_LINE / LINES_OF_A_VISIT)
#define MOST_NODES		64

static unsigned long free_mb = 32, hot_percent = 90;

static const struct work_option options[] = {
	/* Less and the kernel's reserves are touched: the smallest nodes have some 4 MB of them. */
	{ "free", NULL, 16, 1 << 20, &free_mb },
	{ "hot", NULL, 0, 100, &hot_percent },
	{ },
};

struct line {
	uint64_t value;
	uint64_t count;
	uint64_t rest[6];
};

/* Pages of one kind. Of cold ones only the first blocks are filled and visited: it is faster. */
struct set {
	const char *name;
	struct line *lines;
	unsigned long pages;
	unsigned int blocks;
	uint64_t key;
};

struct visitor {
	uint64_t visits;
	uint64_t wrong;
};

static struct set hot = { .name = "hot", .blocks = BLOCKS, .key = 1ull << 62 };
static struct set cold = { .name = "cold", .blocks = 1, .key = 1ull << 61 };
static struct visitor visitors[WORK_THREADS];
static unsigned long dram, slow;	/* masks of nodes */
static unsigned long free_bytes[MOST_NODES];

/* --- the machine --- */

static bool node_file(unsigned int node, const char *name, char *text, size_t size)
{
	char path[96];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/%s", node, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	length = fread(text, 1, size - 1, file);
	text[length] = 0;
	fclose(file);
	return true;
}

static unsigned long node_free(unsigned int node)
{
	char text[4096], *at;

	if (!node_file(node, "meminfo", text, sizeof(text)))
		return 0;
	at = strstr(text, "MemFree:");
	return at ? strtoul(at + strlen("MemFree:"), NULL, 10) << 10 : 0;
}

static bool node_has_cpu(unsigned int node)
{
	char text[256];

	return node_file(node, "cpulist", text, sizeof(text)) && *text >= '0' && *text <= '9';
}

static void look_at_nodes(void)
{
	unsigned int node;

	for (node = 0; node < work_nr_nodes() && node < MOST_NODES; node++) {
		free_bytes[node] = node_free(node);
		if (!free_bytes[node])
			continue;
		if (node_has_cpu(node))
			dram |= 1ul << node;
		else
			slow |= 1ul << node;
	}
}

static unsigned long free_of(unsigned long mask)
{
	unsigned long sum = 0;
	unsigned int node;

	for (node = 0; node < MOST_NODES; node++)
		if (mask >> node & 1)
			sum += free_bytes[node];
	return sum;
}

static void check(void)
{
	if (work.processes != 1)
		work_usage("--processes %u: there is one", work.processes);
	look_at_nodes();
	if (!dram || !slow)
		work_usage("this machine has no node with memory and without CPUs");
	if (work.size <= free_mb * WORK_MB)
		work_usage("--size: the hot set has to be larger than --free");
	if (free_of(dram) < work.size + free_mb * WORK_MB)
		work_usage("--size: the hot set does not fit into the DRAM");
	if (free_of(slow) < work.size + free_mb * WORK_MB)
		work_usage("--size: there is not so much memory on the slow nodes");
}

/* --- memory --- */

static uint64_t value_of(const struct set *set, unsigned long line)
{
	return work_mix(set->key ^ line);
}

static void fill(struct set *set, unsigned long first, unsigned long pages)
{
	unsigned long page, line, i;

	for (page = first; page < first + pages; page++) {
		line = page * BLOCKS * LINES_OF_A_VISIT;
		for (i = line; i < line + set->blocks * LINES_OF_A_VISIT; i++)
			set->lines[i].value = value_of(set, i);
	}
}

static void *page_of(const struct set *set, unsigned long page)
{
	return (char *)set->lines + page * WORK_PAGE;
}

static void touch_cold(unsigned long first, unsigned long pages, unsigned long mask)
{
	if (!pages)
		return;
	work_bind(page_of(&cold, first), pages * WORK_PAGE, mask);
	/* Kernels before 5.14 cannot; filling is enough then. */
	if (madvise(page_of(&cold, first), pages * WORK_PAGE, MADV_POPULATE_WRITE) &&
	    errno != EINVAL)
		err(1, "cold data");
	fill(&cold, first, pages);
}

/* The DRAM node by node down to what is to be free, what is over to the slow nodes. */
static void init_cold(void)
{
	unsigned long reserve = free_mb * WORK_MB / __builtin_popcountl(dram);
	unsigned long first = 0, pages, available;
	unsigned int node;

	cold.lines = work_alloc(cold.pages * WORK_PAGE);
	for (node = 0; node < MOST_NODES; node++) {
		if (!(dram >> node & 1))
			continue;
		available = node_free(node);
		pages = available > reserve ? (available - reserve) / WORK_PAGE : 0;
		if (pages > cold.pages - first)
			pages = cold.pages - first;
		touch_cold(first, pages, 1ul << node);
		first += pages;
	}
	touch_cold(first, cold.pages - first, slow);
	work_bind(cold.lines, cold.pages * WORK_PAGE, 0);
}

static void init_hot(void)
{
	hot.lines = work_alloc(hot.pages * WORK_PAGE);
	if (work.pin != PIN_NONE)
		work_bind(hot.lines, hot.pages * WORK_PAGE, work.pin == PIN_HARD ? dram : slow);
	fill(&hot, 0, hot.pages);
}

static void init(unsigned int process)
{
	hot.pages = work.size / WORK_PAGE;
	cold.pages = (free_of(dram) - free_mb * WORK_MB) / WORK_PAGE;
	if (work.pin == PIN_HARD)
		init_hot();
	init_cold();
	if (work.pin != PIN_HARD)
		init_hot();
}

/* --- work --- */

static void visit(struct visitor *visitor, struct set *set, uint64_t random)
{
	unsigned long page = (random >> 16) % set->pages;
	unsigned long line = (page * BLOCKS + random % set->blocks) * LINES_OF_A_VISIT;
	uint64_t differences = 0;
	unsigned long i;

	for (i = line; i < line + LINES_OF_A_VISIT; i++) {
		differences |= *(volatile uint64_t *)&set->lines[i].value ^ value_of(set, i);
		__atomic_fetch_add(&set->lines[i].count, 1, __ATOMIC_RELAXED);
	}
	visitor->visits++;
	visitor->wrong += !!differences;
}

static void step(struct work_thread *thread)
{
	struct visitor *visitor = &visitors[thread->id];
	uint64_t random;
	int i;

	for (i = 0; i < VISITS_OF_A_STEP; i++) {
		random = work_random(&thread->random);
		visit(visitor, (random >> 48) % 100 < hot_percent ? &hot : &cold, random);
	}
	thread->units += VISITS_OF_A_STEP / VISITS_OF_A_UNIT;
}

static bool verify_set(const struct set *set, uint64_t *counted)
{
	unsigned long page, line, i;

	for (page = 0; page < set->pages; page++) {
		line = page * BLOCKS * LINES_OF_A_VISIT;
		for (i = line; i < line + set->blocks * LINES_OF_A_VISIT; i++) {
			*counted += set->lines[i].count;
			if (set->lines[i].value == value_of(set, i))
				continue;
			work_wrong("line %lu of the %s data", i, set->name);
			return false;
		}
	}
	return true;
}

static bool verify(unsigned int process)
{
	uint64_t counted = 0, expected = 0;
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		expected += visitors[i].visits * LINES_OF_A_VISIT;
		if (visitors[i].wrong) {
			work_wrong("thread %u: %lu visits", i, (unsigned long)visitors[i].wrong);
			return false;
		}
	}
	if (!verify_set(&hot, &counted) || !verify_set(&cold, &counted))
		return false;
	if (counted != expected) {
		work_wrong("%lu of %lu lines are counted", (unsigned long)counted,
			   (unsigned long)expected);
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct work_ops ops = {
		.name		= "tier",
		.summary	= "a hot set larger than the DRAM left free, beside a slow node",
		.defaults	= { 96 * WORK_MB, 1, 4, 20, 0, PIN_NONE },
		.extra		= options,
		.check		= check,
		.init		= init,
		.step		= step,
		.verify		= verify,
	};

	return work_main(&ops, argc, argv);
}
