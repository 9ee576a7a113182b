// SPDX-License-Identifier: GPL-2.0
/*
 * numa_calib MIB.MIB... [wrong]: show the probe pages of each node; "wrong" lies, for tests.
 *
 * For each node: bind pages to it, and mark each of them together with its offset into the node's
 * memory. Then the counters begin. Runs as root before the workload.
 */
#define _GNU_SOURCE
#define MACHINE_MARK_GUEST
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mark.h"

#define MAX_NODES	16
#define PAGES		16
#define PAGE		4096ul
#define PFN_MASK	((1ull << 55) - 1)
#define FOUR_GIB	(1ull << 20)	/* in pages */
#define POLICY_BIND	2

/* Page frames of a node: from start up to end, with a hole below 4 GiB perhaps. */
struct span {
	unsigned long long start;
	unsigned long long end;
};

static struct span nodes[MAX_NODES];

/* Grow a node by a zone. */
static void add_zone(unsigned int node, unsigned long long start, unsigned long long pages)
{
	struct span *n = &nodes[node];

	if (!pages || node >= MAX_NODES)
		return;
	if (!n->end || start < n->start)
		n->start = start;
	if (start + pages > n->end)
		n->end = start + pages;
}

/* Where does each node's memory lie? */
static void read_zones(void)
{
	FILE *in = fopen("/proc/zoneinfo", "r");
	unsigned long long spanned = 0, start;
	unsigned int node = 0;
	char line[256];

	if (!in)
		err(1, "/proc/zoneinfo");
	while (fgets(line, sizeof(line), in)) {
		sscanf(line, "Node %u, zone", &node);
		sscanf(line, " spanned %llu", &spanned);
		if (sscanf(line, " start_pfn: %llu", &start) == 1)
			add_zone(node, start, spanned);
	}
	fclose(in);
}

/* The page frame of an address. */
static unsigned long long frame_of(const char *page)
{
	static int fd = -1;
	uint64_t entry;

	if (fd < 0)
		fd = open("/proc/self/pagemap", O_RDONLY);
	if (fd < 0)
		err(1, "/proc/self/pagemap (CONFIG_PROC_PAGE_MONITOR)");
	if (pread(fd, &entry, sizeof(entry), (uintptr_t)page / PAGE * 8) != sizeof(entry))
		err(1, "reading pagemap");
	if (!(entry & PFN_MASK))
		errx(1, "pagemap shows no page frames");
	return entry & PFN_MASK;
}

/* How many pages of a node's memory lie before a page frame? */
static unsigned long long offset_in(unsigned int node, unsigned long long pages,
				    unsigned long long frame)
{
	unsigned long long start = nodes[node].start & ~511ull;
	unsigned long long hole = nodes[node].end - start - pages;

	if (frame < nodes[node].start || frame >= nodes[node].end)
		errx(1, "a page bound to node %u is frame %#llx, the node has %#llx-%#llx",
		     node, frame, nodes[node].start, nodes[node].end);
	return frame - start - (start < FOUR_GIB && frame >= FOUR_GIB ? hole : 0);
}

/* Pages that the kernel takes from one node only. */
static char *bound_pages(unsigned int node)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long mask = 1ul << node;

	if (pages == MAP_FAILED)
		err(1, "mmap");
	if (syscall(SYS_mbind, pages, PAGES * PAGE, POLICY_BIND, &mask, 8 * sizeof(mask), 0))
		err(1, "binding pages to node %u", node);
	memset(pages, 1, PAGES * PAGE);
	return pages;
}

/* Stay on this CPU: the probe may know tasks by their CPU only. */
static void stay(void)
{
	unsigned int cpu;
	cpu_set_t set;

	CPU_ZERO(&set);
	if (!getcpu(&cpu, NULL))
		CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %u", cpu);
}

/* Let the kernel read its run queues, so that the probe sees where they are. */
static void show_queues(void)
{
	char text[128];
	int fd = open("/proc/loadavg", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text)) <= 0)
		err(1, "/proc/loadavg");
	close(fd);
}

/* Show the probe a node. */
static void show_node(unsigned int node, unsigned long mib, unsigned int lie)
{
	char *pages = bound_pages(node), *page;

	for (page = pages; page < pages + PAGES * PAGE; page += PAGE) {
		machine_send(offset_in(node, mib << 8, frame_of(page)) + (page > pages) * lie);
		machine_mark_at(page + MARK_NODE + node);
	}
	munmap(pages, PAGES * PAGE);
}

int main(int argc, char **argv)
{
	unsigned int node;
	unsigned long mib;
	char *next;

	if (argc < 2)
		errx(2, "usage: numa_calib MIB.MIB... [wrong]");
	stay();
	read_zones();
	next = argv[1];
	for (node = 0; node < MAX_NODES; node++) {
		mib = strtoul(next, &next, 10);
		if (mib)
			show_node(node, mib, argc > 2);
		if (*next++ != '.')
			break;
	}
	show_queues();
	machine_mark(MARK_BEGIN);
	return 0;
}
