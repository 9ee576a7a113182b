/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which node does an access go to? QEMU names memory by an address that is no guest-physical one
 * (block offset + address of the region in its container, in 7.2), so the map is learned at boot.
 */
#ifndef MACHINE_WHERE_H
#define MACHINE_WHERE_H

#include "probe.h"

#define CHUNK_SHIFT	21
#define CHUNKS		(1u << 17)	/* 256 GiB of QEMU's addresses */
#define NO_NODE		0xff
#define HOST_SLOTS	4096u

/* Start of a host chunk's memory in QEMU's addresses; filled on demand, all ones if empty. */
struct host_chunk {
	uint64_t host;
	uint64_t address;
};

extern uint8_t where_chunk[CHUNKS];
extern struct host_chunk where_host[HOST_SLOTS];

uint64_t where_slow(const struct qemu_plugin_hwaddr *haddr, uint64_t host);

/* Node of an address of QEMU's, NO_NODE if it is not a node's memory. */
static inline unsigned int where_node(uint64_t address)
{
	uint64_t chunk = address >> CHUNK_SHIFT;

	return likely(chunk < CHUNKS) ? where_chunk[chunk] : NO_NODE;
}

/* Where the memory of an access lies in this process; see where_slow(). */
static inline void *where_host_address(const struct qemu_plugin_hwaddr *haddr)
{
	return ((void * const *)haddr)[1];
}

/*
 * QEMU's address of an access. The library call walks the list of memory blocks; the host address
 * in its argument gives the same through a small table; where_slow() checks that.
 */
static inline uint64_t where_address(const struct qemu_plugin_hwaddr *haddr)
{
	uint64_t host = (uintptr_t)where_host_address(haddr);
	const struct host_chunk *slot = &where_host[(host >> CHUNK_SHIFT) % HOST_SLOTS];

	if (likely(slot->host == host >> CHUNK_SHIFT))
		return slot->address + (host & ((1u << CHUNK_SHIFT) - 1));
	return where_slow(haddr, host);
}

#endif
