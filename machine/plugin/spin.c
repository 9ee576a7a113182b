// SPDX-License-Identifier: GPL-2.0
/*
 * Real slowness, for a demonstration: each remote miss of a user program costs a number of rounds
 * of an empty loop. The guest's CPUs then are threads of the host, so they wait at the same time,
 * and a program's own work per second tells what remote memory costs it.
 *
 * Nothing else is counted here, and the counts are a little off: threads that share a cache of the
 * model look it up without a lock.
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "where.h"

static unsigned long rounds;

/**
 * spin_option - take the option "spin"
 * @name: name of an option
 * @value: rounds per remote miss
 *
 * Return: false if it is another one.
 */
bool spin_option(const char *name, const char *value)
{
	if (strcmp(name, "spin"))
		return false;
	rounds = strtoul(value, NULL, 0);
	return true;
}

/**
 * spin_on - is this a demonstration?
 *
 * Return: true if so.
 */
bool spin_on(void)
{
	return rounds;
}

/**
 * spin_access - an access of user code: be slow if it is a remote miss
 * @vcpu: the CPU
 * @info: of QEMU
 * @vaddr: virtual address
 * @data: unused
 */
void spin_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct qemu_plugin_hwaddr *haddr;
	struct cpu *cpu = &probe.cpu[vcpu];
	uint64_t address;
	unsigned long i;
	unsigned int node;

	if (!probe.begun)
		return;
	haddr = qemu_plugin_get_hwaddr(info, vaddr);
	if (!haddr || qemu_plugin_hwaddr_is_io(haddr))
		return;
	address = qemu_plugin_hwaddr_phys_addr(haddr);
	if (cache_hit(cpu->cache, address >> probe.line_shift))
		return;
	node = where_node(address);
	if (node == NO_NODE)
		return;
	cpu->normal.miss[MODE_USER][node]++;
	for (i = 0; node != cpu->node && i < rounds; i++)
		__asm__ volatile("");
}
