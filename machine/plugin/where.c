// SPDX-License-Identifier: GPL-2.0
/*
 * The map from QEMU's memory addresses to nodes, learned from pages that the guest bound to a node.
 *
 * For each such page the guest says how far into its node's memory it lies. Address minus offset
 * is where the node starts; all pages of a node must agree, and nodes must not overlap.
 */
#include <stdlib.h>
#include <string.h>

#include "where.h"

#define MIN_SAMPLES	8

/**
 * struct node - memory of a node
 * @size: bytes, as told by the caller
 * @start: where it begins, once @samples > 0
 * @samples: pages seen
 */
struct node {
	uint64_t size;
	uint64_t start;
	unsigned int samples;
};

static struct node nodes[MAX_NODES];
uint8_t where_chunk[CHUNKS];
struct host_chunk where_host[HOST_SLOTS];
static bool where_peek = true;

/* Take numbers separated by dots; return how many. */
static unsigned int numbers(const char *text, unsigned long *list, unsigned int max)
{
	unsigned int nr = 0;
	char *end;

	for (; nr < max; text = end + 1) {
		list[nr++] = strtoul(text, &end, 10);
		if (*end != '.')
			break;
	}
	return nr;
}

/**
 * where_option - take an option of the plugin that describes the machine
 * @name: "mem" (MiB of each node) or "cpus" (node of each CPU)
 * @value: numbers separated by dots
 *
 * Return: false if it is neither.
 */
bool where_option(const char *name, const char *value)
{
	unsigned long list[MAX_CPUS];
	unsigned int i, nr;

	if (!strcmp(name, "mem")) {
		probe.nr_nodes = numbers(value, list, MAX_NODES);
		for (i = 0; i < probe.nr_nodes; i++)
			nodes[i].size = (uint64_t)list[i] << 20;
		return true;
	}
	if (!strcmp(name, "cpus")) {
		nr = numbers(value, list, MAX_CPUS);
		for (i = 0; i < nr; i++)
			probe.cpu[i].node = list[i];
		probe.nr_cpus = nr;
		return true;
	}
	return false;
}

/**
 * where_init - nothing is known
 */
void where_init(void)
{
	memset(where_chunk, NO_NODE, sizeof(where_chunk));
	memset(where_host, 0xff, sizeof(where_host));
}

/**
 * where_slow - ask QEMU for the address of an access and remember its chunk
 * @haddr: the access
 * @host: what should be its address in this process
 *
 * The layout of @haddr is QEMU's own. If it is not what was expected, the low bits differ; then
 * nothing is ever remembered and QEMU is asked each time. A block that is not aligned to a chunk
 * is not remembered either.
 *
 * Return: QEMU's address of the access.
 */
uint64_t where_slow(const struct qemu_plugin_hwaddr *haddr, uint64_t host)
{
	struct host_chunk *slot = &where_host[(host >> CHUNK_SHIFT) % HOST_SLOTS];
	uint64_t address = qemu_plugin_hwaddr_phys_addr(haddr);
	uint64_t low = (1u << CHUNK_SHIFT) - 1;

	if (where_peek && (address & 0xfff) != (host & 0xfff)) {
		where_peek = false;
		memset(where_host, 0xff, sizeof(where_host));
	}
	if (where_peek && where_node(address) != NO_NODE && (address & low) == (host & low)) {
		slot->host = host >> CHUNK_SHIFT;
		slot->address = address & ~low;
	}
	return address;
}

/**
 * where_calibrate - learn from a page of a known node
 * @node: its node
 * @address: QEMU's address of it
 * @offset: how far into the node's memory it lies, in pages
 */
void where_calibrate(unsigned int node, uint64_t address, uint64_t offset)
{
	struct node *n = &nodes[node];
	uint64_t start = (address & ~0xfffull) - (offset << 12);

	if (probe.begun)
		stop("calibration: a page of node %u after the end of the calibration", node);
	if (node >= probe.nr_nodes || !n->size)
		stop("calibration: node %u has memory in the guest, not in the options", node);
	if (offset << 12 >= n->size)
		stop("calibration: a page lies %llu MiB into node %u, which has %llu MiB",
		     (unsigned long long)offset >> 8, node, (unsigned long long)n->size >> 20);
	if (n->samples++ && n->start != start)
		stop("calibration: pages of node %u contradict each other: start %#llx or %#llx",
		     node, (unsigned long long)n->start, (unsigned long long)start);
	n->start = start;
}

/* Enter a node into the map. */
static void map_node(unsigned int node)
{
	uint64_t chunk = nodes[node].start >> CHUNK_SHIFT;
	uint64_t end = (nodes[node].start + nodes[node].size) >> CHUNK_SHIFT;

	if (nodes[node].start & ((1u << CHUNK_SHIFT) - 1))
		stop("calibration: node %u starts at %#llx, not at a multiple of 2 MiB", node,
		     (unsigned long long)nodes[node].start);
	for (; chunk < end; chunk++) {
		if (chunk >= CHUNKS)
			stop("calibration: node %u lies beyond the map", node);
		if (where_chunk[chunk] != NO_NODE)
			stop("calibration: nodes %u and %u overlap", node, where_chunk[chunk]);
		where_chunk[chunk] = node;
	}
}

/**
 * where_complete - check that every node is known, and use the map
 */
void where_complete(void)
{
	unsigned int node;

	for (node = 0; node < probe.nr_nodes; node++) {
		if (!nodes[node].size)
			continue;
		if (nodes[node].samples < MIN_SAMPLES)
			stop("calibration: node %u was shown %u pages, %u are needed", node,
			     nodes[node].samples, MIN_SAMPLES);
		map_node(node);
	}
}
