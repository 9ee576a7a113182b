/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cases of the placement policy: what goes in, and what has to come out.
 *
 * Included by numab_policy_kunit.c alone. Each row is a test of its own. All
 * rows describe four nodes; those that are not mentioned have neither CPUs nor
 * memory.
 */
#ifndef _KERNEL_SCHED_TESTS_NUMAB_POLICY_CASES_H
#define _KERNEL_SCHED_TESTS_NUMAB_POLICY_CASES_H

#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/numa.h>
#include <linux/types.h>

#include "../numab_policy.h"

#define NUMAB_CASE_NODES	4

/* So many runnable tasks, or CPUs. */
#define NUMAB_CASE_CPUS(n)	((n) * NUMAB_UNIT)

/* Each node is a step from each other one. */
static int numab_case_mesh(int from, int to)
{
	return from == to ? NUMAB_DISTANCE_LOCAL : 20;
}

/* Four nodes in a ring: the opposite one is two steps away. */
static int numab_case_ring(int from, int to)
{
	static const int distance[NUMAB_CASE_NODES] = { 10, 20, 30, 20 };

	return distance[(to - from) & (NUMAB_CASE_NODES - 1)];
}

/* It is a longer way up than down. */
static int numab_case_skew(int from, int to)
{
	if (from == to)
		return NUMAB_DISTANCE_LOCAL;
	return from < to ? 40 : 20;
}

/* All nodes next door to each other. */
static int numab_case_near(int from, int to)
{
	return from == to ? NUMAB_DISTANCE_LOCAL : NUMAB_DISTANCE_LOCAL + 1;
}

/**
 * struct numab_share_case - a case of numab_normalise()
 * @name: what is tested
 * @mem: samples on each node
 * @share: shares wanted
 */
struct numab_share_case {
	const char *name;
	u64 mem[NUMAB_CASE_NODES];
	u32 share[NUMAB_CASE_NODES];
};

static const struct numab_share_case numab_share_cases[] = {
	{
		.name = "nothing was sampled",
	}, {
		.name = "all on one node",
		.mem = { 0, 0, 7 },
		.share = { 0, 0, NUMAB_SHARE_ONE },
	}, {
		.name = "one sample",
		.mem = { 1 },
		.share = { NUMAB_SHARE_ONE },
	}, {
		.name = "quarters",
		.mem = { 5, 5, 5, 5 },
		.share = { 16384, 16384, 16384, 16384 },
	}, {
		.name = "fractions are cut off",
		.mem = { 1, 1, 1 },
		.share = { 21845, 21845, 21845 },
	}, {
		.name = "a trace is no share",
		.mem = { 1, 65536 },
		.share = { 0, 65535 },
	}, {
		.name = "the largest weights",
		.mem = { (1ULL << 48) - 1, (1ULL << 48) - 1, 0, 0 },
		.share = { 32768, 32768 },
	},
};

/**
 * struct numab_cost_case - a case of numab_access_cost()
 * @name: what is tested
 * @distance: the machine
 * @mem: samples on each node
 * @cost: cost wanted for running on each node, in NUMAB_SHARE_ONE
 */
struct numab_cost_case {
	const char *name;
	int (*distance)(int from, int to);
	u64 mem[NUMAB_CASE_NODES];
	u32 cost[NUMAB_CASE_NODES];
};

static const struct numab_cost_case numab_cost_cases[] = {
	{
		.name = "no memory costs nothing",
		.distance = numab_case_mesh,
	}, {
		.name = "mesh, all on one node",
		.distance = numab_case_mesh,
		.mem = { 0, 3 },
		.cost = { 10, 0, 10, 10 },
	}, {
		.name = "mesh, half and half",
		.distance = numab_case_mesh,
		.mem = { 9, 9 },
		.cost = { 5, 5, 10, 10 },
	}, {
		.name = "ring, all on one node",
		.distance = numab_case_ring,
		.mem = { 0, 0, 0, 8 },
		.cost = { 10, 20, 10, 0 },
	}, {
		.name = "ring, on opposite nodes",
		.distance = numab_case_ring,
		.mem = { 4, 0, 4, 0 },
		.cost = { 10, 10, 10, 10 },
	}, {
		.name = "the distance counts from the task to the memory",
		.distance = numab_case_skew,
		.mem = { 0, 2 },
		.cost = { 30, 0, 10, 10 },
	},
};

/**
 * struct numab_fair_case - a case of numab_fair_capacity()
 * @name: what is tested
 * @capacity: capacity of the node
 * @demand: demand on the machine
 * @total: capacity of the machine
 * @want: capacity wanted
 */
struct numab_fair_case {
	const char *name;
	u32 capacity;
	u64 demand;
	u64 total;
	u32 want;
};

static const struct numab_fair_case numab_fair_cases[] = {
	{
		.name = "less work than CPUs",
		.capacity = NUMAB_CASE_CPUS(4),
		.demand = NUMAB_CASE_CPUS(1),
		.total = NUMAB_CASE_CPUS(8),
		.want = NUMAB_CASE_CPUS(4),
	}, {
		.name = "as much work as CPUs",
		.capacity = NUMAB_CASE_CPUS(4),
		.demand = NUMAB_CASE_CPUS(8),
		.total = NUMAB_CASE_CPUS(8),
		.want = NUMAB_CASE_CPUS(4),
	}, {
		.name = "as much work as CPUs, which are no whole ones",
		.capacity = NUMAB_CASE_CPUS(4) + 1,
		.demand = NUMAB_CASE_CPUS(8),
		.total = NUMAB_CASE_CPUS(8),
		.want = NUMAB_CASE_CPUS(4) + 1,
	}, {
		.name = "a little more work than CPUs",
		.capacity = NUMAB_CASE_CPUS(1),
		.demand = NUMAB_CASE_CPUS(8) + NUMAB_ROOM_TOLERANCE,
		.total = NUMAB_CASE_CPUS(8),
		.want = NUMAB_CASE_CPUS(1),
	}, {
		.name = "more than a little more",
		.capacity = NUMAB_CASE_CPUS(1),
		.demand = NUMAB_CASE_CPUS(8) + NUMAB_ROOM_TOLERANCE + 1,
		.total = NUMAB_CASE_CPUS(8),
		.want = NUMAB_CASE_CPUS(2),
	}, {
		.name = "9 tasks on 8 CPUs",
		.capacity = NUMAB_CASE_CPUS(4),
		.demand = NUMAB_CASE_CPUS(9),
		.total = NUMAB_CASE_CPUS(8),
		.want = NUMAB_CASE_CPUS(5),
	}, {
		.name = "two tasks a CPU, nothing to round",
		.capacity = NUMAB_CASE_CPUS(4),
		.demand = NUMAB_CASE_CPUS(16),
		.total = NUMAB_CASE_CPUS(8),
		.want = NUMAB_CASE_CPUS(8),
	}, {
		.name = "a small node of an overloaded machine",
		.capacity = NUMAB_CASE_CPUS(2),
		.demand = NUMAB_CASE_CPUS(12),
		.total = NUMAB_CASE_CPUS(8),
		.want = NUMAB_CASE_CPUS(3),
	}, {
		.name = "a large node of an overloaded machine",
		.capacity = NUMAB_CASE_CPUS(6),
		.demand = NUMAB_CASE_CPUS(12),
		.total = NUMAB_CASE_CPUS(8),
		.want = NUMAB_CASE_CPUS(9),
	}, {
		.name = "no CPUs take no work",
		.capacity = 0,
		.demand = NUMAB_CASE_CPUS(12),
		.total = NUMAB_CASE_CPUS(8),
		.want = 0,
	}, {
		.name = "no CPUs anywhere",
		.capacity = 0,
		.demand = NUMAB_CASE_CPUS(12),
		.total = 0,
		.want = 0,
	}, {
		.name = "8192 CPUs and four million tasks",
		.capacity = NUMAB_CASE_CPUS(128),
		.demand = NUMAB_CASE_CPUS(4194304ULL),
		.total = NUMAB_CASE_CPUS(8192),
		.want = NUMAB_CASE_CPUS(65536),
	}, {
		.name = "more than 32 bits hold",
		.capacity = NUMAB_CASE_CPUS(8),
		.demand = 1ULL << 32,
		.total = NUMAB_CASE_CPUS(8),
		.want = U32_MAX,
	},
};

/**
 * struct numab_place_case - a case of numab_pick_node() or numab_spread()
 * @name: what is tested
 * @distance: the machine
 * @demand: units to place
 * @node: the nodes
 * @nid: node wanted from numab_pick_node()
 * @granted: return value wanted from numab_spread()
 * @grant: grants wanted from numab_spread()
 */
struct numab_place_case {
	const char *name;
	int (*distance)(int from, int to);
	u32 demand;
	struct numab_node node[NUMAB_CASE_NODES];
	int nid;
	u32 granted;
	u32 grant[NUMAB_CASE_NODES];
};

/* A node with @_cpus CPUs and @_mem samples, and what else there is to say. */
#define NUMAB_CASE_NODE(_cpus, _mem, ...) \
	{ .capacity = NUMAB_CASE_CPUS(_cpus), .mem = (_mem), ##__VA_ARGS__ }

static const struct numab_place_case numab_pick_cases[] = {
	{
		.name = "memory decides",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 1),
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(4, 2),
		},
		.nid = 1,
	}, {
		.name = "the distance decides",
		.distance = numab_case_ring,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(0, 4),
			NUMAB_CASE_NODE(2, 0),
			NUMAB_CASE_NODE(4, 0),
			NUMAB_CASE_NODE(2, 1),
		},
		.nid = 3,
	}, {
		.name = "the distance counts from the task to the memory",
		.distance = numab_case_skew,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 5),
			NUMAB_CASE_NODE(2, 5),
		},
		.nid = 1,
	}, {
		.name = "a full node is refused",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 1),
			NUMAB_CASE_NODE(2, 9, .claimed = NUMAB_CASE_CPUS(2)),
		},
		.nid = 0,
	}, {
		.name = "a full home is left",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 0),
			NUMAB_CASE_NODE(2, 9, .home = NUMAB_UNIT,
					.here = NUMAB_UNIT,
					.claimed = NUMAB_CASE_CPUS(2)),
		},
		.nid = 0,
	}, {
		.name = "a little room may be missing",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 1),
			NUMAB_CASE_NODE(2, 9, .claimed = NUMAB_UNIT +
					NUMAB_ROOM_TOLERANCE),
		},
		.nid = 1,
	}, {
		.name = "more than a little may not",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 1),
			NUMAB_CASE_NODE(2, 9, .claimed = NUMAB_UNIT +
					NUMAB_ROOM_TOLERANCE + 1),
		},
		.nid = 0,
	}, {
		.name = "demand of several tasks needs room for all",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(4, 1),
			NUMAB_CASE_NODE(4, 9, .claimed = NUMAB_CASE_CPUS(2)),
		},
		.nid = 0,
	}, {
		.name = "a node without CPUs is never chosen",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(0, 9),
			NUMAB_CASE_NODE(2, 1),
		},
		.nid = 1,
	}, {
		.name = "nor for next to no demand",
		.distance = numab_case_mesh,
		.demand = 1,
		.node = {
			NUMAB_CASE_NODE(0, 9, .home = 1),
			NUMAB_CASE_NODE(2, 1),
		},
		.nid = 1,
	}, {
		.name = "a node without memory can be",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(1, 9, .claimed = NUMAB_UNIT),
			NUMAB_CASE_NODE(0, 1),
			NUMAB_CASE_NODE(2, 0),
		},
		.nid = 2,
	}, {
		.name = "home stays for a small gain",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 48, .home = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 52),
		},
		.nid = 0,
	}, {
		.name = "home stays for a gain as small as the margin",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 10),
			NUMAB_CASE_NODE(2, 6, .home = NUMAB_UNIT),
		},
		.nid = 1,
	}, {
		.name = "home goes for a gain above the margin",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 10001),
			NUMAB_CASE_NODE(2, 5999, .home = NUMAB_UNIT),
		},
		.nid = 0,
	}, {
		.name = "two steps: a gain as small as twice the margin",
		.distance = numab_case_ring,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 10),
			NUMAB_CASE_NODE(0, 0),
			NUMAB_CASE_NODE(2, 6, .home = NUMAB_UNIT),
		},
		.nid = 2,
	}, {
		.name = "two steps: a gain above twice the margin",
		.distance = numab_case_ring,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 10001),
			NUMAB_CASE_NODE(0, 0),
			NUMAB_CASE_NODE(2, 5999, .home = NUMAB_UNIT),
		},
		.nid = 0,
	}, {
		.name = "the margin is of the way from home: too small a gain",
		.distance = numab_case_skew,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 9, .home = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 7),
		},
		.nid = 0,
	}, {
		.name = "the margin is of the way from home: a larger gain",
		.distance = numab_case_skew,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 8999, .home = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 7001),
		},
		.nid = 1,
	}, {
		.name = "home goes for a large gain",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 20, .home = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 80),
		},
		.nid = 1,
	}, {
		.name = "all memory next door is worth the move",
		.distance = numab_case_near,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(2, 0, .home = NUMAB_UNIT),
		},
		.nid = 0,
	}, {
		.name = "a little more memory next door is not",
		.distance = numab_case_near,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 10),
			NUMAB_CASE_NODE(2, 6, .home = NUMAB_UNIT),
		},
		.nid = 1,
	}, {
		.name = "without a home it stays where it runs if that is equal",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 50),
			NUMAB_CASE_NODE(2, 50, .here = NUMAB_UNIT),
		},
		.nid = 1,
	}, {
		.name = "but not for the smallest gain",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 51),
			NUMAB_CASE_NODE(2, 49, .here = NUMAB_UNIT),
		},
		.nid = 0,
	}, {
		.name = "with a home it does not matter where it runs",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 50, .here = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 50, .home = NUMAB_UNIT),
		},
		.nid = 1,
	}, {
		.name = "nor does it where home is full",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 9, .home = NUMAB_UNIT,
					.claimed = NUMAB_CASE_CPUS(2)),
			NUMAB_CASE_NODE(2, 5, .here = NUMAB_UNIT),
			NUMAB_CASE_NODE(4, 5),
		},
		.nid = 2,
	}, {
		.name = "no samples, a home",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(4, 0, .here = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 0, .home = NUMAB_UNIT),
		},
		.nid = 1,
	}, {
		.name = "no samples, no home",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(4, 0),
			NUMAB_CASE_NODE(2, 0, .here = NUMAB_UNIT),
		},
		.nid = 1,
	}, {
		.name = "the stronger attachment breaks a tie",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(4, 5, .home = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(4, 5, .home = NUMAB_CASE_CPUS(2)),
			NUMAB_CASE_NODE(8, 5),
		},
		.nid = 1,
	}, {
		.name = "to go to another home has no price",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 10, .home = 1),
			NUMAB_CASE_NODE(2, 9, .home = NUMAB_UNIT),
		},
		.nid = 0,
	}, {
		.name = "another home is as dear to leave as the strongest",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 10),
			NUMAB_CASE_NODE(2, 6, .home = 1),
			NUMAB_CASE_NODE(2, 0, .home = NUMAB_UNIT),
		},
		.nid = 1,
	}, {
		.name = "the price is of the way from the strongest home",
		.distance = numab_case_ring,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 0, .home = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 3, .home = 1),
			NUMAB_CASE_NODE(2, 7),
		},
		.nid = 1,
	}, {
		.name = "a gain above the price from the strongest home",
		.distance = numab_case_ring,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 0, .home = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 2, .home = 1),
			NUMAB_CASE_NODE(2, 8),
		},
		.nid = 2,
	}, {
		.name = "a full home still sets the price of the others",
		.distance = numab_case_ring,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 0, .home = NUMAB_UNIT,
					.claimed = NUMAB_CASE_CPUS(2)),
			NUMAB_CASE_NODE(2, 48),
			NUMAB_CASE_NODE(2, 52),
		},
		.nid = 1,
	}, {
		.name = "attachment comes before room",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 5, .home = NUMAB_UNIT,
					.claimed = NUMAB_CASE_CPUS(2)),
			NUMAB_CASE_NODE(8, 5),
			NUMAB_CASE_NODE(2, 5, .home = 1),
		},
		.nid = 2,
	}, {
		.name = "room breaks a tie",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(4, 5, .claimed = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(4, 5, .claimed = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(4, 5, .claimed = NUMAB_CASE_CPUS(2)),
		},
		.nid = 1,
	}, {
		.name = "the lower number breaks a tie",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(0, 5),
			NUMAB_CASE_NODE(2, 5),
			NUMAB_CASE_NODE(2, 5),
			NUMAB_CASE_NODE(2, 5),
		},
		.nid = 1,
	}, {
		.name = "the last node can win",
		.distance = numab_case_ring,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 1),
			NUMAB_CASE_NODE(2, 0),
			NUMAB_CASE_NODE(2, 0),
			NUMAB_CASE_NODE(2, 9),
		},
		.nid = 3,
	}, {
		.name = "no room anywhere",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(1, 5, .claimed = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(1, 5, .claimed = NUMAB_CASE_CPUS(3)),
		},
		.nid = NUMA_NO_NODE,
	}, {
		.name = "a light task finds none on a node that has too much",
		.distance = numab_case_mesh,
		.demand = 100,
		.node = {
			NUMAB_CASE_NODE(1, 9, .claimed = NUMAB_CASE_CPUS(4)),
			NUMAB_CASE_NODE(1, 0),
		},
		.nid = 1,
	}, {
		.name = "a light task may be what is too much",
		.distance = numab_case_mesh,
		.demand = 100,
		.node = {
			NUMAB_CASE_NODE(1, 9, .claimed = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(1, 0),
		},
		.nid = 0,
	}, {
		.name = "the largest claims",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(1, 9, .claimed = U32_MAX),
			NUMAB_CASE_NODE(1, 0),
		},
		.nid = 1,
	}, {
		.name = "the largest fair part",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(1, 1, .claimed = NUMAB_CASE_CPUS(9),
					.fair = NUMAB_CASE_CPUS(10)),
			NUMAB_CASE_NODE(1, 9, .claimed = NUMAB_CASE_CPUS(9),
					.fair = U32_MAX),
		},
		.nid = 1,
	}, {
		.name = "no room, but a fair part",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 1, .claimed = NUMAB_CASE_CPUS(2),
					.fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 9, .claimed = NUMAB_CASE_CPUS(2),
					.fair = NUMAB_CASE_CPUS(3)),
		},
		.nid = 1,
	}, {
		.name = "room comes before a fair part",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 0, .claimed = NUMAB_CASE_CPUS(1),
					.fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 9, .claimed = NUMAB_CASE_CPUS(2),
					.fair = NUMAB_CASE_CPUS(3)),
		},
		.nid = 0,
	}, {
		.name = "home is left for room, whatever its fair part",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 9, .claimed = NUMAB_CASE_CPUS(2),
					.fair = NUMAB_CASE_CPUS(3),
					.home = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 0, .claimed = NUMAB_CASE_CPUS(1),
					.fair = NUMAB_CASE_CPUS(3)),
		},
		.nid = 1,
	}, {
		.name = "a fair part that others have taken",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 9, .claimed = NUMAB_CASE_CPUS(3),
					.fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 1, .claimed = NUMAB_CASE_CPUS(2),
					.fair = NUMAB_CASE_CPUS(3)),
		},
		.nid = 1,
	}, {
		.name = "a little of a fair part may be missing",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(1, 9, .fair = NUMAB_CASE_CPUS(2),
					.claimed = NUMAB_UNIT +
					NUMAB_ROOM_TOLERANCE),
		},
		.nid = 0,
	}, {
		.name = "more than a little of it may not",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(1, 9, .fair = NUMAB_CASE_CPUS(2),
					.claimed = NUMAB_UNIT +
					NUMAB_ROOM_TOLERANCE + 1),
		},
		.nid = NUMA_NO_NODE,
	}, {
		.name = "in a crowd, too, home stays for a small gain",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 10, .claimed = NUMAB_CASE_CPUS(2),
					.fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 6, .claimed = NUMAB_CASE_CPUS(2),
					.fair = NUMAB_CASE_CPUS(3),
					.home = NUMAB_UNIT),
		},
		.nid = 1,
	}, {
		.name = "in a crowd, too, room breaks a tie",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(2, 5, .claimed = NUMAB_CASE_CPUS(2),
					.fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 5, .claimed = NUMAB_CASE_CPUS(2),
					.fair = NUMAB_CASE_CPUS(4)),
		},
		.nid = 1,
	}, {
		.name = "a fair part of no CPUs is none",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(0, 9, .fair = NUMAB_CASE_CPUS(3)),
		},
		.nid = NUMA_NO_NODE,
	}, {
		.name = "no room in any single node",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(2, 5),
			NUMAB_CASE_NODE(2, 5),
		},
		.nid = NUMA_NO_NODE,
	}, {
		.name = "no CPUs allowed",
		.distance = numab_case_mesh,
		.demand = NUMAB_UNIT,
		.node = {
			NUMAB_CASE_NODE(0, 5, .home = NUMAB_UNIT),
		},
		.nid = NUMA_NO_NODE,
	},
};

static const struct numab_place_case numab_spread_cases[] = {
	{
		.name = "2 threads go to one node",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(2),
		.node = {
			NUMAB_CASE_NODE(2, 1),
			NUMAB_CASE_NODE(2, 2),
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(2, 3),
		},
		.granted = NUMAB_CASE_CPUS(2),
		.grant = { 0, 0, NUMAB_CASE_CPUS(2) },
	}, {
		.name = "3 threads go to two nodes",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(2, 1),
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(2, 2),
			NUMAB_CASE_NODE(2, 5),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { 0, NUMAB_CASE_CPUS(2), 0, NUMAB_CASE_CPUS(1) },
	}, {
		.name = "4 threads go to exactly two nodes",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(4),
		.node = {
			NUMAB_CASE_NODE(2, 8),
			NUMAB_CASE_NODE(2, 7),
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(2, 7),
		},
		.granted = NUMAB_CASE_CPUS(4),
		.grant = { NUMAB_CASE_CPUS(2), 0, NUMAB_CASE_CPUS(2) },
	}, {
		.name = "the machine is just large enough",
		.distance = numab_case_ring,
		.demand = NUMAB_CASE_CPUS(8),
		.node = {
			NUMAB_CASE_NODE(2, 8),
			NUMAB_CASE_NODE(2, 0),
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(2, 7),
		},
		.granted = NUMAB_CASE_CPUS(8),
		.grant = {
			NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(2),
			NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(2),
		},
	}, {
		.name = "the machine is too small",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(11),
		.node = {
			NUMAB_CASE_NODE(2, 8),
			NUMAB_CASE_NODE(2, 7, .claimed = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(2, 7, .claimed = NUMAB_CASE_CPUS(3)),
		},
		.granted = NUMAB_CASE_CPUS(5),
		.grant = {
			NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(1),
			NUMAB_CASE_CPUS(2), 0,
		},
	}, {
		.name = "no room at all",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(2),
		.node = {
			NUMAB_CASE_NODE(2, 8, .claimed = NUMAB_CASE_CPUS(2)),
			NUMAB_CASE_NODE(0, 9),
		},
		.granted = 0,
	}, {
		.name = "no demand",
		.distance = numab_case_mesh,
		.demand = 0,
		.node = {
			NUMAB_CASE_NODE(2, 8),
		},
		.granted = 0,
	}, {
		.name = "grants of the last time are forgotten",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(2, 9, .grant = 77),
			NUMAB_CASE_NODE(2, 8, .grant = 77),
			NUMAB_CASE_NODE(2, 0, .grant = 77),
			NUMAB_CASE_NODE(0, 0, .grant = 77),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(1) },
	}, {
		.name = "one node with room is better than two with memory",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(3, 0),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { 0, 0, NUMAB_CASE_CPUS(3) },
	}, {
		.name = "the fewest nodes: the roomiest first",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(5),
		.node = {
			NUMAB_CASE_NODE(1, 9),
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(3, 0),
			NUMAB_CASE_NODE(2, 8),
		},
		.granted = NUMAB_CASE_CPUS(5),
		.grant = { 0, NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(3), 0 },
	}, {
		.name = "the rest goes to the cheapest node that holds it",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(4),
		.node = {
			NUMAB_CASE_NODE(3, 5, .claimed = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(1, 9),
			NUMAB_CASE_NODE(3, 0),
		},
		.granted = NUMAB_CASE_CPUS(4),
		.grant = { 0, NUMAB_CASE_CPUS(1), NUMAB_CASE_CPUS(3) },
	}, {
		.name = "a little room may be missing in the end",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(4) + NUMAB_ROOM_TOLERANCE,
		.node = {
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(2, 8),
			NUMAB_CASE_NODE(1, 7),
		},
		.granted = NUMAB_CASE_CPUS(4) + NUMAB_ROOM_TOLERANCE,
		.grant = {
			NUMAB_CASE_CPUS(2),
			NUMAB_CASE_CPUS(2) + NUMAB_ROOM_TOLERANCE, 0,
		},
	}, {
		.name = "more than a little takes another node",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(4) + NUMAB_ROOM_TOLERANCE + 1,
		.node = {
			NUMAB_CASE_NODE(2, 9),
			NUMAB_CASE_NODE(2, 8),
			NUMAB_CASE_NODE(1, 7),
		},
		.granted = NUMAB_CASE_CPUS(4) + NUMAB_ROOM_TOLERANCE + 1,
		.grant = {
			NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(2),
			NUMAB_ROOM_TOLERANCE + 1,
		},
	}, {
		.name = "homes break a tie",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(2, 5),
			NUMAB_CASE_NODE(2, 5),
			NUMAB_CASE_NODE(2, 5, .home = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(2, 5, .home = NUMAB_CASE_CPUS(2)),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { 0, 0, NUMAB_CASE_CPUS(1), NUMAB_CASE_CPUS(2) },
	}, {
		.name = "the stronger home comes first, whatever its number",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(2, 5),
			NUMAB_CASE_NODE(2, 5, .home = NUMAB_CASE_CPUS(2)),
			NUMAB_CASE_NODE(2, 5, .home = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(2, 5),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { 0, NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(1), 0 },
	}, {
		.name = "where it runs breaks a tie without homes",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(2, 5),
			NUMAB_CASE_NODE(2, 5, .here = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(2, 5),
			NUMAB_CASE_NODE(2, 5, .here = NUMAB_CASE_CPUS(2)),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { 0, NUMAB_CASE_CPUS(1), 0, NUMAB_CASE_CPUS(2) },
	}, {
		.name = "the rest leaves home for a large gain",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(1, 9),
			NUMAB_CASE_NODE(1, 1, .home = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(2, 5, .home = NUMAB_CASE_CPUS(2)),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { NUMAB_CASE_CPUS(1), 0, NUMAB_CASE_CPUS(2) },
	}, {
		.name = "the rest stays at its home for a small gain",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(2, 0, .home = NUMAB_CASE_CPUS(2)),
			NUMAB_CASE_NODE(1, 52),
			NUMAB_CASE_NODE(1, 48, .home = NUMAB_CASE_CPUS(1)),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { NUMAB_CASE_CPUS(2), 0, NUMAB_CASE_CPUS(1) },
	}, {
		.name = "memory decides between homes, whichever is stronger",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(4) + 100,
		.node = {
			NUMAB_CASE_NODE(2, 9, .home = NUMAB_CASE_CPUS(2)),
			NUMAB_CASE_NODE(2, 8, .home = NUMAB_CASE_CPUS(2) + 100),
		},
		.granted = NUMAB_CASE_CPUS(4) + 100,
		.grant = { NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(2) + 100 },
	}, {
		.name = "a breath more of room is no reason to leave home",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(2, 9, .home = NUMAB_CASE_CPUS(2),
					.claimed = 1),
			NUMAB_CASE_NODE(2, 9, .home = NUMAB_CASE_CPUS(1),
					.claimed = 1),
			NUMAB_CASE_NODE(2, 0),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { NUMAB_CASE_CPUS(2) - 1, NUMAB_CASE_CPUS(1) + 1 },
	}, {
		.name = "memory decides between as many whole tasks",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(3, 0, .claimed = NUMAB_ROOM_TOLERANCE + 1),
			NUMAB_CASE_NODE(2, 8),
			NUMAB_CASE_NODE(2, 9),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { 0, NUMAB_CASE_CPUS(1), NUMAB_CASE_CPUS(2) },
	}, {
		.name = "home is worth more than a little memory",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(4),
		.node = {
			NUMAB_CASE_NODE(3, 9),
			NUMAB_CASE_NODE(3, 8, .home = NUMAB_CASE_CPUS(3)),
		},
		.granted = NUMAB_CASE_CPUS(4),
		.grant = { NUMAB_CASE_CPUS(1), NUMAB_CASE_CPUS(3) },
	}, {
		.name = "room breaks a tie of the rest",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(4),
		.node = {
			NUMAB_CASE_NODE(2, 0, .claimed = NUMAB_CASE_CPUS(1)),
			NUMAB_CASE_NODE(3, 0),
			NUMAB_CASE_NODE(2, 0),
		},
		.granted = NUMAB_CASE_CPUS(4),
		.grant = { 0, NUMAB_CASE_CPUS(3), NUMAB_CASE_CPUS(1) },
	}, {
		.name = "one more than there are CPUs: all are used first",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(9),
		.node = {
			NUMAB_CASE_NODE(2, 8, .fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 0, .fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 9, .fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 7, .fair = NUMAB_CASE_CPUS(3)),
		},
		.granted = NUMAB_CASE_CPUS(9),
		.grant = {
			NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(2),
			NUMAB_CASE_CPUS(3), NUMAB_CASE_CPUS(2),
		},
	}, {
		.name = "two more: what was granted counts",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(10),
		.node = {
			NUMAB_CASE_NODE(2, 8, .fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 0, .fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 9, .fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 7, .fair = NUMAB_CASE_CPUS(3)),
		},
		.granted = NUMAB_CASE_CPUS(10),
		.grant = {
			NUMAB_CASE_CPUS(3), NUMAB_CASE_CPUS(2),
			NUMAB_CASE_CPUS(3), NUMAB_CASE_CPUS(2),
		},
	}, {
		.name = "two nodes with room are better than one in a crowd",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(3),
		.node = {
			NUMAB_CASE_NODE(2, 9, .fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 0, .fair = NUMAB_CASE_CPUS(3)),
		},
		.granted = NUMAB_CASE_CPUS(3),
		.grant = { NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(1) },
	}, {
		.name = "nothing but fair parts",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(2),
		.node = {
			NUMAB_CASE_NODE(2, 9, .claimed = NUMAB_CASE_CPUS(3),
					.fair = NUMAB_CASE_CPUS(4)),
			NUMAB_CASE_NODE(2, 0, .claimed = NUMAB_CASE_CPUS(2),
					.fair = NUMAB_CASE_CPUS(4)),
		},
		.granted = NUMAB_CASE_CPUS(2),
		.grant = { 0, NUMAB_CASE_CPUS(2) },
	}, {
		.name = "fair parts are not enough",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(9),
		.node = {
			NUMAB_CASE_NODE(2, 9, .fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(2, 0, .claimed = NUMAB_CASE_CPUS(1),
					.fair = NUMAB_CASE_CPUS(3)),
			NUMAB_CASE_NODE(0, 0, .fair = NUMAB_CASE_CPUS(3)),
		},
		.granted = NUMAB_CASE_CPUS(5),
		.grant = { NUMAB_CASE_CPUS(3), NUMAB_CASE_CPUS(2) },
	}, {
		.name = "no samples, no homes: the lowest numbers",
		.distance = numab_case_mesh,
		.demand = NUMAB_CASE_CPUS(4),
		.node = {
			NUMAB_CASE_NODE(0, 0),
			NUMAB_CASE_NODE(2, 0),
			NUMAB_CASE_NODE(2, 0),
			NUMAB_CASE_NODE(2, 0),
		},
		.granted = NUMAB_CASE_CPUS(4),
		.grant = { 0, NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(2) },
	},
};

/**
 * struct numab_window_case - a case of numab_window_over()
 * @name: what is tested
 * @window: what the task saw
 * @want: verdict wanted
 */
struct numab_window_case {
	const char *name;
	struct numab_window window;
	bool want;
};

static const struct numab_window_case numab_window_cases[] = {
	{ "nothing yet", { 0, 0, 0 }, false },
	{ "samples, but too soon", { 999, 64, 0 }, false },
	{ "samples and a pass, but too soon", { 999, 6400, 7 }, false },
	{ "time, but a sample is missing", { 1000, 63, 0 }, false },
	{ "time and samples", { 1000, 64, 0 }, true },
	{ "a pass, but a few samples are missing", { 1000, 15, 1 }, false },
	{ "time, and all there is to see", { 1000, 16, 1 }, true },
	{ "as much, but there is more to see", { 1000, 16, 0 }, false },
	{ "passes that saw nothing", { 2999, 0, 5 }, false },
	{ "not waited for any longer", { 3000, 0, 0 }, true },
	{ "the longest window", { UINT_MAX, UINT_MAX, UINT_MAX }, true },
};

/**
 * struct numab_bond_case - a case of numab_bond()
 * @name: what is tested
 * @sharing: what the faults said
 * @want: bond wanted
 */
struct numab_bond_case {
	const char *name;
	struct numab_sharing sharing;
	enum numab_bond want;
};

/**
 * struct numab_loose_case - a case of numab_bond_loose()
 * @name: what is tested
 * @sharing: what the faults said
 * @want: true if the group is to be loose
 */
struct numab_loose_case {
	const char *name;
	struct numab_sharing sharing;
	bool want;
};

static const struct numab_loose_case numab_loose_cases[] = {
	{
		"a new group with a quarter shared",
		{ .shared = 25, .private = 75, .loose = true }, false,
	}, {
		"a new group with less",
		{ .shared = 24, .private = 75, .loose = true }, true,
	}, {
		"an eighth is enough for one that was not loose",
		{ .shared = 1, .private = 7, .loose = false }, false,
	}, {
		"less than an eighth is not",
		{ .shared = 1, .private = 8, .loose = false }, true,
	}, {
		"nothing is private",
		{ .shared = 1, .private = 0, .loose = true }, false,
	},
};

#define NUMAB_CASE_BOND(_shared, _private, _samples, _threads, _grouped, _fits) \
	{								    \
		.shared = (_shared), .private = (_private),		    \
		.samples = (_samples), .threads = (_threads),		    \
		.grouped = (_grouped), .fits = (_fits),			    \
	}

#define NUMAB_CASE_SHARING(_shared, _private, _samples, _threads, _grouped) \
	NUMAB_CASE_BOND(_shared, _private, _samples, _threads, _grouped, false)

#define NUMAB_CASE_FITS(_shared, _private, _samples, _grouped)		    \
	NUMAB_CASE_BOND(_shared, _private, _samples, 2, _grouped, true)

static const struct numab_bond_case numab_bond_cases[] = {
	{
		"one thread is alone",
		NUMAB_CASE_SHARING(0, 64, 64, 1, false), NUMAB_BOND_SINGLE,
	}, {
		"one thread is alone, whatever the samples say",
		NUMAB_CASE_SHARING(64, 0, 64, 1, true), NUMAB_BOND_SINGLE,
	}, {
		"one thread needs no samples",
		NUMAB_CASE_SHARING(0, 0, 0, 1, false), NUMAB_BOND_SINGLE,
	}, {
		"a sample is missing",
		NUMAB_CASE_SHARING(15, 0, 15, 2, false), NUMAB_BOND_UNKNOWN,
	}, {
		"a sample is missing in a group",
		NUMAB_CASE_SHARING(15, 0, 15, 2, true), NUMAB_BOND_UNKNOWN,
	}, {
		"just enough samples",
		NUMAB_CASE_SHARING(8, 8, 16, 2, false), NUMAB_BOND_GROUP,
	}, {
		"samples without weight",
		NUMAB_CASE_SHARING(0, 0, 64, 2, false), NUMAB_BOND_UNKNOWN,
	}, {
		"two threads that share all",
		NUMAB_CASE_SHARING(3200, 3200, 64, 2, false), NUMAB_BOND_GROUP,
	}, {
		"many threads that share all",
		NUMAB_CASE_SHARING(6300, 100, 64, 64, false), NUMAB_BOND_GROUP,
	}, {
		"slices of their own",
		NUMAB_CASE_SHARING(0, 6400, 64, 8, false), NUMAB_BOND_SINGLE,
	}, {
		"one shared page among a hundred private ones",
		NUMAB_CASE_SHARING(64, 6400, 101, 8, false), NUMAB_BOND_SINGLE,
	}, {
		"one shared page does not keep a group",
		NUMAB_CASE_SHARING(64, 6400, 101, 8, true), NUMAB_BOND_SINGLE,
	}, {
		"a quarter shared makes a group",
		NUMAB_CASE_SHARING(2500, 7500, 100, 2, false), NUMAB_BOND_GROUP,
	}, {
		"less than a quarter does not",
		NUMAB_CASE_SHARING(2499, 7501, 100, 2, false),
		NUMAB_BOND_SINGLE,
	}, {
		"less than a quarter keeps one",
		NUMAB_CASE_SHARING(2499, 7501, 100, 2, true), NUMAB_BOND_GROUP,
	}, {
		"an eighth shared keeps a group",
		NUMAB_CASE_SHARING(1250, 8750, 100, 2, true), NUMAB_BOND_GROUP,
	}, {
		"less than an eighth ends it",
		NUMAB_CASE_SHARING(1249, 8751, 100, 2, true), NUMAB_BOND_SINGLE,
	}, {
		"small weights, a quarter shared",
		NUMAB_CASE_SHARING(1, 3, 16, 2, false), NUMAB_BOND_GROUP,
	}, {
		"small weights, less than a quarter",
		NUMAB_CASE_SHARING(1, 4, 16, 2, false), NUMAB_BOND_SINGLE,
	}, {
		"small weights, less than an eighth",
		NUMAB_CASE_SHARING(1, 8, 64, 2, true), NUMAB_BOND_SINGLE,
	}, {
		"an eighth shared keeps a group, few samples will do",
		NUMAB_CASE_SHARING(1250, 8750, 16, 2, true), NUMAB_BOND_GROUP,
	}, {
		"few samples do not end a group",
		NUMAB_CASE_SHARING(0, 6400, 16, 2, true), NUMAB_BOND_UNKNOWN,
	}, {
		"a sample is missing to end a group",
		NUMAB_CASE_SHARING(1249, 8751, 63, 2, true), NUMAB_BOND_UNKNOWN,
	}, {
		"just enough samples to end a group",
		NUMAB_CASE_SHARING(1249, 8751, 64, 2, true), NUMAB_BOND_SINGLE,
	}, {
		"few samples are enough for threads that were none",
		NUMAB_CASE_SHARING(1249, 8751, 16, 2, false), NUMAB_BOND_SINGLE,
	}, {
		"samples without weight do not end a group",
		NUMAB_CASE_SHARING(0, 0, 64, 2, true), NUMAB_BOND_UNKNOWN,
	}, {
		"a twelfth is enough where all fit on one node",
		NUMAB_CASE_FITS(1000, 11000, 64, false), NUMAB_BOND_GROUP,
	}, {
		"less than a twelfth is not",
		NUMAB_CASE_FITS(999, 11001, 64, false), NUMAB_BOND_SINGLE,
	}, {
		"a twelfth asks for a full window",
		NUMAB_CASE_FITS(1000, 11000, 63, false), NUMAB_BOND_UNKNOWN,
	}, {
		"so does the verdict that little is shared",
		NUMAB_CASE_FITS(0, 12000, 63, false), NUMAB_BOND_UNKNOWN,
	}, {
		"a quarter is enough with few samples",
		NUMAB_CASE_FITS(3000, 9000, 16, false), NUMAB_BOND_GROUP,
	}, {
		"a thirty-second keeps a group that fits on one node",
		NUMAB_CASE_FITS(100, 3100, 16, true), NUMAB_BOND_GROUP,
	}, {
		"less than a thirty-second ends it",
		NUMAB_CASE_FITS(100, 3101, 64, true), NUMAB_BOND_SINGLE,
	}, {
		"but not with few samples",
		NUMAB_CASE_FITS(100, 3101, 63, true), NUMAB_BOND_UNKNOWN,
	}, {
		"small weights, nothing shared",
		NUMAB_CASE_SHARING(0, 3, 16, 2, false), NUMAB_BOND_SINGLE,
	}, {
		"large weights, a quarter shared",
		NUMAB_CASE_SHARING(1ULL << 58, 3ULL << 58, 64, 2, false),
		NUMAB_BOND_GROUP,
	}, {
		"large weights, less than a quarter",
		NUMAB_CASE_SHARING((1ULL << 58) - 1, (3ULL << 58) + 1, 64, 2,
				   false),
		NUMAB_BOND_SINGLE,
	},
};

/**
 * struct numab_scan_case - a case of numab_plan_scan()
 * @name: what is tested
 * @in: what came of the passes before
 * @want: plan wanted
 */
struct numab_scan_case {
	const char *name;
	struct numab_scan_input in;
	struct numab_scan_plan want;
};

/* Input with the usual limits of the period. */
#define NUMAB_CASE_SCAN(_period, _resident, _stride, ...)		\
	{								\
		.period_min_ms = 1000, .period_max_ms = 60000,		\
		.period_ms = (_period), .resident = (_resident),	\
		.threads = 8, .stride = (_stride), ##__VA_ARGS__	\
	}

#define NUMAB_CASE_PLAN(_intent, _stride, _huge, _period)		\
	{								\
		.intent = NUMAB_INTENT_##_intent,			\
		.full = NUMAB_INTENT_##_intent == NUMAB_INTENT_PLACE,	\
		.stride = (_stride), .huge_stride = (_huge),		\
		.period_ms = (_period),					\
	}

static const struct numab_scan_case numab_scan_cases[] = {
	{
		"learn: an empty address space",
		NUMAB_CASE_SCAN(1000, 0, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 1, 1, 250),
	}, {
		"learn: all of a small one",
		NUMAB_CASE_SCAN(1000, 320, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 1, 1, 250),
	}, {
		"learn: a fifth of a larger one",
		NUMAB_CASE_SCAN(1000, 321, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 5, 1, 250),
	}, {
		"learn: still a fifth",
		NUMAB_CASE_SCAN(1000, 2559, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 5, 1, 250),
	}, {
		"learn: 512 pages are less than a quarter",
		NUMAB_CASE_SCAN(1000, 2560, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 5, 1, 250),
	}, {
		"learn: 512 pages of a large one",
		NUMAB_CASE_SCAN(1000, 4096, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 7, 1, 250),
	}, {
		"learn: all of a few huge pages",
		NUMAB_CASE_SCAN(1000, 127 * 512UL, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 127, 1, 250),
	}, {
		"learn: 64 pages for one thread",
		{
			.period_min_ms = 1000, .period_max_ms = 60000,
			.period_ms = 1000, .resident = 6464, .threads = 1,
			.stride = 1, .undecided = true,
		},
		NUMAB_CASE_PLAN(LEARN, 101, 1, 250),
	}, {
		"learn: 64 pages for each of two",
		{
			.period_min_ms = 1000, .period_max_ms = 60000,
			.period_ms = 1000, .resident = 6464, .threads = 2,
			.stride = 1, .undecided = true,
		},
		NUMAB_CASE_PLAN(LEARN, 49, 1, 250),
	}, {
		"learn: not more for many threads",
		{
			.period_min_ms = 1000, .period_max_ms = 60000,
			.period_ms = 1000, .resident = 5120, .threads = 99,
			.stride = 1, .undecided = true,
		},
		NUMAB_CASE_PLAN(LEARN, 9, 1, 250),
	}, {
		"learn: 64 huge pages of more",
		NUMAB_CASE_SCAN(1000, 128 * 512UL, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 127, 2, 250),
	}, {
		"learn: a quarter of the huge pages at most",
		NUMAB_CASE_SCAN(1000, 257 * 512UL, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 257, 4, 250),
	}, {
		"learn: 64 huge pages are less than a quarter",
		NUMAB_CASE_SCAN(1000, 320 * 512UL, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 319, 5, 250),
	}, {
		"learn: one page in every page table",
		NUMAB_CASE_SCAN(1000, 1UL << 20, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 511, 32, 250),
	}, {
		"learn: never thinner than that",
		NUMAB_CASE_SCAN(1000, 1UL << 30, 1, .undecided = true),
		NUMAB_CASE_PLAN(LEARN, 511, 511, 250),
	}, {
		"learn comes before place",
		NUMAB_CASE_SCAN(1000, 256, 1, .undecided = true, .moved = true,
				.remote = 64),
		NUMAB_CASE_PLAN(LEARN, 1, 1, 250),
	}, {
		"learn: the period does not reach zero",
		{
			.period_min_ms = 1, .period_max_ms = 60000,
			.period_ms = 1, .resident = 256, .threads = 8, .stride = 1,
			.undecided = true,
		},
		NUMAB_CASE_PLAN(LEARN, 1, 1, 1),
	}, {
		"place: a thread moved",
		NUMAB_CASE_SCAN(2000, 1UL << 20, 64, .moved = true,
				.local = 64),
		NUMAB_CASE_PLAN(PLACE, 511, 32, 1000),
	}, {
		"place: all of a small address space is a sample",
		NUMAB_CASE_SCAN(2000, 100, 1, .moved = true, .local = 64),
		NUMAB_CASE_PLAN(PLACE, 1, 1, 1000),
	}, {
		"place: the sample is a fifth of a larger one",
		NUMAB_CASE_SCAN(2000, 400, 1, .moved = true, .local = 64),
		NUMAB_CASE_PLAN(PLACE, 5, 1, 1000),
	}, {
		"place: four faults of 64 are remote",
		NUMAB_CASE_SCAN(2000, 1UL << 20, 64, .local = 60, .remote = 4),
		NUMAB_CASE_PLAN(PLACE, 511, 32, 1000),
	}, {
		"place: a sixteenth of little is remote",
		NUMAB_CASE_SCAN(2000, 256, 1, .local = 15, .remote = 1),
		NUMAB_CASE_PLAN(PLACE, 1, 1, 1000),
	}, {
		"place: 64 huge pages of more",
		NUMAB_CASE_SCAN(2000, 511 * 512UL, 1, .moved = true),
		NUMAB_CASE_PLAN(PLACE, 511, 7, 1000),
	}, {
		"place: all faults are remote",
		NUMAB_CASE_SCAN(250, 1UL << 20, 512, .remote = 1000),
		NUMAB_CASE_PLAN(PLACE, 511, 32, 1000),
	}, {
		"place: half of the pages cannot be moved",
		NUMAB_CASE_SCAN(1000, 1UL << 20, 1, .remote = 10, .failed = 5),
		NUMAB_CASE_PLAN(PLACE, 511, 32, 1000),
	}, {
		"place: more than half cannot",
		NUMAB_CASE_SCAN(1000, 1UL << 20, 1, .remote = 10, .failed = 6),
		NUMAB_CASE_PLAN(PLACE, 511, 32, 2000),
	}, {
		"place: failures double the shortest period at least",
		NUMAB_CASE_SCAN(250, 1UL << 20, 1, .remote = 10, .failed = 10),
		NUMAB_CASE_PLAN(PLACE, 511, 32, 2000),
	}, {
		"place: failures go on",
		NUMAB_CASE_SCAN(16000, 1UL << 20, 1, .remote = 10,
				.failed = 10),
		NUMAB_CASE_PLAN(PLACE, 511, 32, 32000),
	}, {
		"place: failures end at the longest period",
		NUMAB_CASE_SCAN(32000, 1UL << 20, 1, .remote = 10,
				.failed = 10),
		NUMAB_CASE_PLAN(PLACE, 511, 32, 60000),
	}, {
		"place: what a learning pass repaired stands for more",
		NUMAB_CASE_SCAN(1000, 256, 1, .remote = 64, .repaired = 64,
				.intent = NUMAB_INTENT_LEARN),
		NUMAB_CASE_PLAN(PLACE, 1, 1, 1000),
	}, {
		"place: what a watching pass repaired stands for more",
		NUMAB_CASE_SCAN(2000, 256, 1, .remote = 64, .repaired = 64,
				.intent = NUMAB_INTENT_WATCH),
		NUMAB_CASE_PLAN(PLACE, 1, 1, 1000),
	}, {
		"place: four faults of 64 were not repaired",
		NUMAB_CASE_SCAN(1000, 256, 1, .remote = 64, .repaired = 60,
				.intent = NUMAB_INTENT_PLACE),
		NUMAB_CASE_PLAN(PLACE, 1, 1, 1000),
	}, {
		"place: a thread moved, and all was repaired",
		NUMAB_CASE_SCAN(1000, 256, 1, .remote = 64, .repaired = 64,
				.intent = NUMAB_INTENT_PLACE, .moved = true),
		NUMAB_CASE_PLAN(PLACE, 1, 1, 1000),
	}, {
		"place: failures are counted against all that was remote",
		NUMAB_CASE_SCAN(1000, 256, 1, .remote = 10, .repaired = 5,
				.intent = NUMAB_INTENT_PLACE, .failed = 5),
		NUMAB_CASE_PLAN(PLACE, 1, 1, 1000),
	}, {
		"place: more failures than half of all that was remote",
		NUMAB_CASE_SCAN(1000, 256, 1, .remote = 10, .repaired = 4,
				.intent = NUMAB_INTENT_PLACE, .failed = 6),
		NUMAB_CASE_PLAN(PLACE, 1, 1, 2000),
	}, {
		"learn: a thread has no home, and all was repaired",
		NUMAB_CASE_SCAN(1000, 256, 1, .remote = 64, .repaired = 64,
				.intent = NUMAB_INTENT_PLACE,
				.undecided = true),
		NUMAB_CASE_PLAN(LEARN, 1, 1, 250),
	}, {
		"watch: all was repaired",
		NUMAB_CASE_SCAN(1000, 256, 1, .remote = 64, .repaired = 64,
				.intent = NUMAB_INTENT_PLACE),
		NUMAB_CASE_PLAN(WATCH, 3, 1, 2000),
	}, {
		"watch: three faults of 64 were not repaired",
		NUMAB_CASE_SCAN(1000, 256, 1, .remote = 64, .repaired = 61,
				.intent = NUMAB_INTENT_PLACE),
		NUMAB_CASE_PLAN(WATCH, 3, 1, 2000),
	}, {
		"watch: more was repaired than was remote",
		NUMAB_CASE_SCAN(1000, 256, 1, .remote = 64, .repaired = 65,
				.intent = NUMAB_INTENT_PLACE),
		NUMAB_CASE_PLAN(WATCH, 3, 1, 2000),
	}, {
		"watch: three faults of 64 are remote",
		NUMAB_CASE_SCAN(1000, 1UL << 20, 1, .local = 61, .remote = 3),
		NUMAB_CASE_PLAN(WATCH, 3, 32, 2000),
	}, {
		"watch: less than a sixteenth of little is remote",
		NUMAB_CASE_SCAN(1000, 256, 1, .local = 16, .remote = 1),
		NUMAB_CASE_PLAN(WATCH, 3, 1, 2000),
	}, {
		"watch: nothing was seen",
		NUMAB_CASE_SCAN(1000, 1UL << 20, 1),
		NUMAB_CASE_PLAN(WATCH, 3, 32, 2000),
	}, {
		"watch: the period ends at two seconds",
		NUMAB_CASE_SCAN(2000, 1UL << 20, 8, .local = 64),
		NUMAB_CASE_PLAN(WATCH, 17, 32, 2000),
	}, {
		"watch: the period comes back to two seconds",
		NUMAB_CASE_SCAN(60000, 1UL << 20, 8, .local = 64),
		NUMAB_CASE_PLAN(WATCH, 17, 32, 2000),
	}, {
		"watch: the period starts at the shortest",
		NUMAB_CASE_SCAN(250, 1UL << 20, 8, .local = 64),
		NUMAB_CASE_PLAN(WATCH, 17, 32, 1000),
	}, {
		"watch: the thinnest sample is a window's worth",
		NUMAB_CASE_SCAN(2000, 6400, 64, .local = 64),
		NUMAB_CASE_PLAN(WATCH, 99, 1, 2000),
	}, {
		"watch: never thinner than one page in a page table",
		NUMAB_CASE_SCAN(2000, 1UL << 30, 512, .local = 64),
		NUMAB_CASE_PLAN(WATCH, 511, 511, 2000),
	}, {
		"watch: all of a small address space",
		NUMAB_CASE_SCAN(2000, 63, 512, .local = 64),
		NUMAB_CASE_PLAN(WATCH, 1, 1, 2000),
	}, {
		"watch: a stride of nothing",
		NUMAB_CASE_SCAN(2000, 1UL << 20, 0, .local = 64),
		NUMAB_CASE_PLAN(WATCH, 1, 32, 2000),
	}, {
		"watch: a longest period below two seconds",
		{
			.period_min_ms = 1000, .period_max_ms = 1500,
			.period_ms = 1000, .resident = 192, .stride = 1,
		},
		NUMAB_CASE_PLAN(WATCH, 3, 1, 1500),
	}, {
		"watch: a shortest period above two seconds",
		{
			.period_min_ms = 5000, .period_max_ms = 60000,
			.period_ms = 5000, .resident = 192, .stride = 1,
		},
		NUMAB_CASE_PLAN(WATCH, 3, 1, 5000),
	},
};

/**
 * struct numab_page_case - a case of numab_page_verdict()
 * @name: what is tested
 * @page: what is known of the page
 * @want: verdict wanted
 */
struct numab_page_case {
	const char *name;
	struct numab_page page;
	enum numab_verdict want;
};

static const struct numab_page_case numab_page_cases[] = {
	{
		"no home yet",
		{
			.nid = 0, .home = NUMA_NO_NODE, .last_nid = 0,
			.seen = true, .same_task = true,
		},
		NUMAB_PAGE_UNDECIDED,
	}, {
		"no home yet, but the group has one",
		{
			.nid = 0, .home = NUMA_NO_NODE, .at_group_home = true,
			.together = true,
		},
		NUMAB_PAGE_UNDECIDED,
	}, {
		"at home",
		{
			.nid = 1, .home = 1, .seen = true, .same_task = true,
			.last_nid = 1,
		},
		NUMAB_PAGE_HOME,
	}, {
		"at home, used by others",
		{
			.nid = 1, .home = 1, .at_group_home = true,
			.foreign = true, .seen = true, .last_nid = 0,
		},
		NUMAB_PAGE_HOME,
	}, {
		"at another home of the group",
		{
			.nid = 0, .home = 1, .at_group_home = true,
			.together = true, .seen = true, .same_task = true,
			.last_nid = 1,
		},
		NUMAB_PAGE_SHARED,
	}, {
		"at another home of the group, mapped by others",
		{
			.nid = 0, .home = 1, .at_group_home = true,
			.foreign = true, .seen = true, .last_nid = 1,
		},
		NUMAB_PAGE_SHARED,
	}, {
		"threads that live together: the first one takes it along",
		{ .nid = 0, .home = 1, .together = true },
		NUMAB_PAGE_MOVE,
	}, {
		"threads that live together: whoever came before",
		{
			.nid = 0, .home = 1, .together = true, .seen = true,
			.last_nid = 0,
		},
		NUMAB_PAGE_MOVE,
	}, {
		"threads of which little is known: first time",
		{ .nid = 0, .home = 1, .last_nid = 1 },
		NUMAB_PAGE_FIRST,
	}, {
		"threads of which little is known: never seen, so by nobody",
		{ .nid = 0, .home = 1, .same_task = true, .last_nid = 1 },
		NUMAB_PAGE_FIRST,
	}, {
		"threads of which little is known: twice the same one",
		{
			.nid = 0, .home = 1, .seen = true, .same_task = true,
			.last_nid = 0,
		},
		NUMAB_PAGE_MOVE,
	}, {
		"threads of which little is known: another one before",
		{ .nid = 0, .home = 1, .seen = true, .last_nid = 1 },
		NUMAB_PAGE_OTHER,
	}, {
		"threads that live apart: the first one takes it along",
		{ .nid = 0, .home = 1, .apart = true },
		NUMAB_PAGE_MOVE,
	}, {
		"threads that live apart: whatever the page remembers",
		{
			.nid = 0, .home = 1, .apart = true, .same_task = true,
			.last_nid = 2,
		},
		NUMAB_PAGE_MOVE,
	}, {
		"threads that live apart: twice the same one",
		{
			.nid = 0, .home = 1, .apart = true, .seen = true,
			.same_task = true, .last_nid = 0,
		},
		NUMAB_PAGE_MOVE,
	}, {
		"threads that live apart: another one before",
		{
			.nid = 0, .home = 1, .apart = true, .seen = true,
			.last_nid = 1,
		},
		NUMAB_PAGE_OTHER,
	}, {
		"threads that live apart: with the same home",
		{
			.nid = 0, .home = 1, .apart = true, .together = true,
			.seen = true, .last_nid = 0,
		},
		NUMAB_PAGE_MOVE,
	}, {
		"threads that live apart: no home yet",
		{ .nid = 0, .home = NUMA_NO_NODE, .apart = true },
		NUMAB_PAGE_UNDECIDED,
	}, {
		"threads that live apart: at home",
		{ .nid = 1, .home = 1, .apart = true },
		NUMAB_PAGE_HOME,
	}, {
		"threads that live apart: at a home of their old group",
		{
			.nid = 0, .home = 1, .apart = true,
			.at_group_home = true,
		},
		NUMAB_PAGE_SHARED,
	}, {
		"own region: first time",
		{ .nid = 0, .home = 1, .owner = NUMAB_OWNER_SELF },
		NUMAB_PAGE_MOVE,
	}, {
		"own region: another one before",
		{
			.nid = 0, .home = 1, .owner = NUMAB_OWNER_SELF,
			.seen = true, .last_nid = 0,
		},
		NUMAB_PAGE_OTHER,
	}, {
		"own region, foreign page: first time",
		{
			.nid = 0, .home = 1, .owner = NUMAB_OWNER_SELF,
			.foreign = true,
		},
		NUMAB_PAGE_FIRST,
	}, {
		"region of another one: first time, threads that live apart",
		{
			.nid = 0, .home = 1, .owner = NUMAB_OWNER_OTHER,
			.apart = true,
		},
		NUMAB_PAGE_OTHER,
	}, {
		"region of another one: twice the same one",
		{
			.nid = 0, .home = 1, .owner = NUMAB_OWNER_OTHER,
			.seen = true, .same_task = true, .last_nid = 1,
		},
		NUMAB_PAGE_OTHER,
	}, {
		"region of another one with the same home",
		{
			.nid = 0, .home = 1, .owner = NUMAB_OWNER_OTHER,
			.together = true,
		},
		NUMAB_PAGE_MOVE,
	}, {
		"foreign: first time",
		{ .nid = 0, .home = 1, .foreign = true, .last_nid = 1 },
		NUMAB_PAGE_FIRST,
	}, {
		"foreign: first time for threads that live together",
		{
			.nid = 0, .home = 1, .foreign = true, .together = true,
			.last_nid = 1,
		},
		NUMAB_PAGE_FIRST,
	}, {
		"foreign: first time for threads that live apart",
		{ .nid = 0, .home = 1, .foreign = true, .apart = true },
		NUMAB_PAGE_FIRST,
	}, {
		"foreign: the last one was elsewhere",
		{
			.nid = 0, .home = 1, .foreign = true, .seen = true,
			.together = true, .same_task = true, .last_nid = 2,
		},
		NUMAB_PAGE_OTHER,
	}, {
		"foreign: the last one was where the page is",
		{
			.nid = 0, .home = 1, .foreign = true, .seen = true,
			.last_nid = 0,
		},
		NUMAB_PAGE_OTHER,
	}, {
		"foreign: the last one agrees",
		{
			.nid = 0, .home = 1, .foreign = true, .seen = true,
			.last_nid = 1,
		},
		NUMAB_PAGE_MOVE,
	},
};

#endif /* _KERNEL_SCHED_TESTS_NUMAB_POLICY_CASES_H */
