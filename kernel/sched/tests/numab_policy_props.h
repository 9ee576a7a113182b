/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Properties of the placement policy that hold for any input.
 *
 * Included by numab_policy_kunit.c alone. Inputs come from a generator with a
 * fixed seed, so that a failure repeats: the message says in which round.
 */
#ifndef _KERNEL_SCHED_TESTS_NUMAB_POLICY_PROPS_H
#define _KERNEL_SCHED_TESTS_NUMAB_POLICY_PROPS_H

#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/string.h>

#include "numab_policy_cases.h"

/* Userspace has time and space for more of both. */
#ifndef NUMAB_PROP_ROUNDS
#define NUMAB_PROP_ROUNDS	200
#endif
#ifndef NUMAB_PROP_NODES
#define NUMAB_PROP_NODES	64
#endif

/* The range of a SLIT entry between different nodes. */
#define NUMAB_PROP_NEAREST	11U
#define NUMAB_PROP_FARTHEST	255U

/* A group's decisions repeat after so many; see numab_prop_spread_stable(). */
#define NUMAB_PROP_SETTLE	8

/**
 * struct numab_prop - input of one round
 * @test: the test that runs
 * @round: number of the round
 * @topo: a machine with distances from the generator
 * @demand: units to place, more than the tolerance
 * @whole: true if all demand and claims are whole tasks
 */
struct numab_prop {
	struct kunit *test;
	unsigned int round;
	struct numab_topology topo;
	u32 demand;
	bool whole;
};

static struct numab_node numab_prop_nodes[NUMAB_PROP_NODES];
static struct numab_node numab_prop_other[NUMAB_PROP_NODES];
static u32 numab_prop_state, numab_prop_slit;

/* Marsaglia's xorshift; any seed but 0 will do. */
static u32 numab_prop_random(void)
{
	numab_prop_state ^= numab_prop_state << 13;
	numab_prop_state ^= numab_prop_state >> 17;
	numab_prop_state ^= numab_prop_state << 5;
	return numab_prop_state;
}

static u32 numab_prop_below(u32 n)
{
	return numab_prop_random() % n;
}

static bool numab_prop_one_in(u32 n)
{
	return !numab_prop_below(n);
}

static u64 numab_prop_bits(unsigned int bits)
{
	u64 value = (u64)numab_prop_random() << 32 | numab_prop_random();

	return bits ? value >> (64 - bits) : 0;
}

/* Distances that differ with the direction, the same throughout a round. */
static int numab_prop_distance(int from, int to)
{
	u32 hash = numab_prop_slit + from * 0x9e3779b1U + to * 0x85ebca6bU;

	if (from == to)
		return NUMAB_DISTANCE_LOCAL;
	hash = (hash ^ hash >> 15) * 0x2c1b3c6dU;
	hash ^= hash >> 13;
	return NUMAB_PROP_NEAREST +
	       hash % (NUMAB_PROP_FARTHEST - NUMAB_PROP_NEAREST + 1);
}

/* Nodes in a row: no way is longer than one by way of another node. */
static int numab_prop_row(int from, int to)
{
	u32 a = (numab_prop_slit + from * 0x9e3779b1U) >> 25;
	u32 b = (numab_prop_slit + to * 0x9e3779b1U) >> 25;

	if (from == to)
		return NUMAB_DISTANCE_LOCAL;
	return NUMAB_PROP_NEAREST + max(a, b) - min(a, b);
}

static int numab_prop_farthest(int from, int to)
{
	return from == to ? NUMAB_DISTANCE_LOCAL : (int)NUMAB_PROP_FARTHEST;
}

/* Units for up to @tasks tasks, in whole tasks or not. */
static u32 numab_prop_units(const struct numab_prop *p, u32 tasks)
{
	u32 units = numab_prop_below(tasks + 1) * NUMAB_UNIT;

	return p->whole ? units : units + numab_prop_below(NUMAB_UNIT);
}

static void numab_prop_fill_node(const struct numab_prop *p, u64 mem,
				 struct numab_node *node)
{
	*node = (struct numab_node){
		.mem = mem,
		.capacity = numab_prop_below(5) * NUMAB_UNIT,
		.claimed = numab_prop_units(p, 5),
		.here = numab_prop_one_in(4) ? numab_prop_units(p, 2) : 0,
		.home = numab_prop_one_in(4) ? numab_prop_units(p, 2) : 0,
	};
	node->fair = node->capacity;
	if (numab_prop_one_in(2))
		node->fair += numab_prop_units(p, 2);
	if (numab_prop_one_in(2))
		node->claimed = 0;
	/* Closed to the subject, though it has CPUs. */
	if (numab_prop_one_in(16))
		node->capacity = 0;
}

/* Small machines find more: with many nodes nearly anything has room. */
static int numab_prop_nr(void)
{
	if (numab_prop_one_in(64))
		return 1 + numab_prop_below(NUMAB_PROP_NODES);
	return 1 + numab_prop_below(8);
}

static void numab_prop_fill(struct numab_prop *p)
{
	unsigned int bits = numab_prop_below(49);
	bool homeless = numab_prop_one_in(3);
	int n;

	p->topo.nr = numab_prop_nr();
	p->topo.distance = numab_prop_one_in(2) ? numab_prop_distance :
						  numab_case_mesh;
	p->whole = numab_prop_one_in(2);
	p->demand = NUMAB_UNIT + numab_prop_units(p, 12);
	numab_prop_slit = numab_prop_random();

	for (n = 0; n < p->topo.nr; n++) {
		struct numab_node *node = &numab_prop_nodes[n];

		numab_prop_fill_node(p, numab_prop_bits(bits), node);
		if (homeless)
			node->home = 0;
	}
	numab_normalise(&p->topo, numab_prop_nodes);
}

/* Run @check on one random input after the other until one fails. */
static void numab_prop_run(struct kunit *test, u32 seed,
			   void (*check)(struct numab_prop *p))
{
	struct numab_prop p = { .test = test };

	numab_prop_state = seed;
	for (p.round = 0; p.round < NUMAB_PROP_ROUNDS; p.round++) {
		numab_prop_fill(&p);
		check(&p);
		if (READ_ONCE(test->status) == KUNIT_FAILURE)
			break;
	}
}

static u32 numab_prop_cost(const struct numab_prop *p, int n)
{
	return numab_access_cost(&p->topo, numab_prop_nodes, n);
}

/* Cost, and what it takes to leave @home for the node if that is no home. */
static u32 numab_prop_price(const struct numab_prop *p, int home, int n)
{
	u32 price = numab_prop_cost(p, n);

	if (home != NUMA_NO_NODE && !numab_prop_nodes[n].home)
		price += NUMAB_SHARE_ONE / NUMAB_MARGIN_PART *
			 (p->topo.distance(home, n) - NUMAB_DISTANCE_LOCAL);
	return price;
}

/* The home of most of the subject. */
static int numab_prop_home(const struct numab_prop *p)
{
	int n, home = NUMA_NO_NODE;

	for (n = 0; n < p->topo.nr; n++) {
		u32 most = home == NUMA_NO_NODE ? 0 : numab_prop_nodes[home].home;

		if (numab_prop_nodes[n].home > most)
			home = n;
	}
	return home;
}

/* What a node may have in all, with or without its part of a crowd. */
static u32 numab_prop_limit(const struct numab_node *node, bool crowded)
{
	return crowded && node->capacity ? node->fair : node->capacity;
}

static bool numab_prop_fits(const struct numab_node *node, u32 demand,
			    bool crowded)
{
	return node->capacity && node->claimed + demand <=
	       numab_prop_limit(node, crowded) + NUMAB_ROOM_TOLERANCE;
}

static u32 numab_prop_room(const struct numab_node *node, bool crowded)
{
	u32 limit = numab_prop_limit(node, crowded);

	return node->claimed < limit ? limit - node->claimed : 0;
}

/* Decisions need not repeat where the way by another node is the shorter one. */
static void numab_prop_straighten(struct numab_prop *p)
{
	if (p->topo.distance == numab_prop_distance)
		p->topo.distance = numab_prop_row;
}

static bool numab_prop_any_fits(const struct numab_prop *p, bool crowded)
{
	bool any = false;
	int n;

	for (n = 0; n < p->topo.nr; n++)
		any |= numab_prop_fits(&numab_prop_nodes[n], p->demand, crowded);
	return any;
}

/* Shares make a whole, but for what is cut off, and keep the order of nodes. */
static void numab_prop_shares(struct numab_prop *p)
{
	u64 total = 0;
	u32 sum = 0;
	int n;

	for (n = 0; n < p->topo.nr; n++) {
		const struct numab_node *node = &numab_prop_nodes[n];

		total += node->mem;
		sum += node->share;
		if (n && node->mem >= node[-1].mem)
			KUNIT_EXPECT_LE_MSG(p->test, node[-1].share,
					    node->share, "round %u", p->round);
	}
	KUNIT_EXPECT_LE_MSG(p->test, sum, total ? NUMAB_SHARE_ONE : 0,
			    "round %u", p->round);
	KUNIT_EXPECT_LT_MSG(p->test, total ? NUMAB_SHARE_ONE : 0,
			    sum + p->topo.nr, "round %u", p->round);
}

/* No cost wraps, be the machine as large and the way as long as it may. */
static void numab_prop_extremes(struct kunit *test)
{
	struct numab_topology topo = { .distance = numab_prop_farthest };
	u32 way = NUMAB_PROP_FARTHEST - NUMAB_DISTANCE_LOCAL;
	u32 cost;
	int n;

	for (topo.nr = 1; topo.nr <= NUMAB_PROP_NODES; topo.nr *= 2) {
		for (n = 0; n < topo.nr; n++) {
			numab_prop_nodes[n] = (struct numab_node){
				.mem = (1ULL << 48) - 1,
				.capacity = NUMAB_UNIT,
			};
		}
		numab_normalise(&topo, numab_prop_nodes);
		cost = numab_access_cost(&topo, numab_prop_nodes, 0);
		KUNIT_EXPECT_EQ(test, cost,
				way * (NUMAB_SHARE_ONE -
				       NUMAB_SHARE_ONE / topo.nr));
		KUNIT_EXPECT_EQ(test, numab_prop_nodes[topo.nr - 1].share,
				NUMAB_SHARE_ONE / topo.nr);
		KUNIT_EXPECT_EQ(test, 0, numab_pick_node(&topo,
							 numab_prop_nodes,
							 NUMAB_UNIT));
		KUNIT_EXPECT_EQ(test, topo.nr * NUMAB_UNIT,
				numab_spread(&topo, numab_prop_nodes,
					     topo.nr * NUMAB_UNIT));
	}
}

/*
 * How densely memory was sampled does not show in any result: the same samples
 * many times over give the same shares, to the last bit, and decisions.
 */
static void numab_prop_density(struct numab_prop *p)
{
	u32 times = 1 + numab_prop_below(255);
	int nid, n;

	for (n = 0; n < p->topo.nr; n++) {
		numab_prop_nodes[n].mem >>= 8;
		numab_prop_other[n] = numab_prop_nodes[n];
		numab_prop_other[n].mem *= times;
	}
	numab_normalise(&p->topo, numab_prop_nodes);
	numab_normalise(&p->topo, numab_prop_other);

	nid = numab_pick_node(&p->topo, numab_prop_nodes, p->demand);
	KUNIT_EXPECT_EQ_MSG(p->test, nid,
			    numab_pick_node(&p->topo, numab_prop_other,
					    p->demand),
			    "round %u", p->round);

	numab_spread(&p->topo, numab_prop_nodes, p->demand);
	numab_spread(&p->topo, numab_prop_other, p->demand);
	for (n = 0; n < p->topo.nr; n++) {
		KUNIT_EXPECT_EQ_MSG(p->test, numab_prop_nodes[n].share,
				    numab_prop_other[n].share,
				    "round %u node %d", p->round, n);
		KUNIT_EXPECT_EQ_MSG(p->test, numab_prop_nodes[n].grant,
				    numab_prop_other[n].grant,
				    "round %u node %d", p->round, n);
	}
}

/*
 * NUMA_NO_NODE means that no node has room for all of the demand, not even as
 * its part of a crowd. The node picked has room within its CPUs if any node has,
 * and no other one that has is cheaper, the price of leaving home included.
 */
static void numab_prop_pick(struct numab_prop *p)
{
	int nid = numab_pick_node(&p->topo, numab_prop_nodes, p->demand);
	bool crowded = !numab_prop_any_fits(p, false);
	int home = numab_prop_home(p);
	u32 price;
	int n;

	KUNIT_EXPECT_EQ_MSG(p->test, nid != NUMA_NO_NODE,
			    numab_prop_any_fits(p, true), "round %u", p->round);
	if (nid == NUMA_NO_NODE)
		return;

	KUNIT_EXPECT_TRUE_MSG(p->test,
			      numab_prop_fits(&numab_prop_nodes[nid], p->demand,
					      crowded),
			      "round %u node %d", p->round, nid);
	price = numab_prop_price(p, home, nid);
	for (n = 0; n < p->topo.nr; n++) {
		if (numab_prop_fits(&numab_prop_nodes[n], p->demand, crowded))
			KUNIT_EXPECT_LE_MSG(p->test, price,
					    numab_prop_price(p, home, n),
					    "round %u nodes %d %d", p->round,
					    nid, n);
	}
}

/* A single home with room is left for a gain of more than the margin only. */
static void numab_prop_stay(struct numab_prop *p)
{
	bool crowded = !numab_prop_any_fits(p, false);
	int home = numab_prop_below(p->topo.nr);
	int nid, n;

	for (n = 0; n < p->topo.nr; n++)
		numab_prop_nodes[n].home = n == home ? p->demand : 0;

	nid = numab_pick_node(&p->topo, numab_prop_nodes, p->demand);
	if (nid == home ||
	    !numab_prop_fits(&numab_prop_nodes[home], p->demand, crowded))
		return;
	KUNIT_EXPECT_LT_MSG(p->test, numab_prop_price(p, home, nid),
			    numab_prop_cost(p, home), "round %u nodes %d %d",
			    p->round, nid, home);
}

/* Make one node the home of all, and decide again. */
static int numab_prop_pick_from(const struct numab_prop *p, int home)
{
	int n;

	for (n = 0; n < p->topo.nr; n++)
		numab_prop_nodes[n].home = n == home ? p->demand : 0;
	return numab_pick_node(&p->topo, numab_prop_nodes, p->demand);
}

/*
 * Where the node picked becomes the home, the next decision is the same. Not if
 * it was the weaker one of several homes: what is no home had its price from the
 * strongest of them, and has a lower one from here if it is nearer. One more
 * decision may go there, but not to any of the former homes, and is the last.
 */
static void numab_prop_pick_stable(struct numab_prop *p)
{
	int strongest = numab_prop_home(p);
	int nid, next, n;
	bool weaker;

	numab_prop_straighten(p);
	nid = numab_pick_node(&p->topo, numab_prop_nodes, p->demand);
	if (nid == NUMA_NO_NODE)
		return;

	weaker = numab_prop_nodes[nid].home && nid != strongest;
	memcpy(numab_prop_other, numab_prop_nodes,
	       p->topo.nr * sizeof(*numab_prop_nodes));
	next = numab_prop_pick_from(p, nid);
	KUNIT_EXPECT_TRUE_MSG(p->test, next == nid ||
			      (weaker && !numab_prop_other[next].home),
			      "round %u, settled, nodes %d %d", p->round, nid,
			      next);
	KUNIT_EXPECT_EQ_MSG(p->test, next, numab_prop_pick_from(p, next),
			    "round %u, settled again", p->round);

	for (n = 0; n < p->topo.nr; n++)
		numab_prop_nodes[n].here = n == next ? p->demand : 0;
	KUNIT_EXPECT_EQ_MSG(p->test, next, numab_prop_pick_from(p, next),
			    "round %u, moved", p->round);
}

/* What all nodes together have room for. */
static u32 numab_prop_all_room(const struct numab_prop *p, bool crowded)
{
	u32 sum = 0;
	int n;

	for (n = 0; n < p->topo.nr; n++)
		sum += numab_prop_room(&numab_prop_nodes[n], crowded);
	return sum;
}

/*
 * Grants make up the return value and at most the demand, which is met if the
 * machine can; only one of them may make use of the tolerance, and no node gets
 * more than its CPUs can do while another one has room.
 */
static void numab_prop_spread(struct numab_prop *p)
{
	bool crowded = numab_prop_all_room(p, false) + NUMAB_ROOM_TOLERANCE <
		       p->demand;
	u32 granted, sum = 0, beyond = 0, idle = 0;
	int n;

	for (n = 0; n < p->topo.nr; n++)
		numab_prop_nodes[n].grant = numab_prop_random();

	granted = numab_spread(&p->topo, numab_prop_nodes, p->demand);
	for (n = 0; n < p->topo.nr; n++) {
		const struct numab_node *node = &numab_prop_nodes[n];

		sum += node->grant;
		idle += node->grant < numab_prop_room(node, false);
		if (!node->grant)
			continue;
		beyond += node->grant > numab_prop_room(node, crowded);
		KUNIT_EXPECT_TRUE_MSG(p->test,
				      numab_prop_fits(node, node->grant, crowded),
				      "round %u node %d", p->round, n);
	}
	KUNIT_EXPECT_EQ_MSG(p->test, granted, sum, "round %u", p->round);
	KUNIT_EXPECT_LE_MSG(p->test, granted, p->demand, "round %u", p->round);
	KUNIT_EXPECT_LE_MSG(p->test, beyond, 1U, "round %u", p->round);
	if (crowded)
		KUNIT_EXPECT_EQ_MSG(p->test, idle, 0U, "round %u", p->round);
	if (granted < p->demand)
		KUNIT_EXPECT_EQ_MSG(p->test, granted,
				    numab_prop_all_room(p, true), "round %u",
				    p->round);
}

/* One node is used up, and the next one with most room is looked for. */
static u32 numab_prop_take_roomiest(const struct numab_prop *p)
{
	u32 most = 0;
	int n, best = 0;

	for (n = 0; n < p->topo.nr; n++) {
		u32 room = numab_prop_room(&numab_prop_other[n], false);

		if (room > most) {
			most = room;
			best = n;
		}
	}
	numab_prop_other[best].capacity = 0;
	return most;
}

/*
 * Within the CPUs that there are, no smaller number of nodes has room, and one
 * node is what numab_pick_node() says. Parts of tasks may take one more.
 */
static void numab_prop_fewest(struct numab_prop *p)
{
	int nid = numab_pick_node(&p->topo, numab_prop_nodes, p->demand);
	u32 room, left = p->demand, used = 0, needed = 0;
	int n;

	if (numab_prop_all_room(p, false) < p->demand)
		return;

	numab_spread(&p->topo, numab_prop_nodes, p->demand);
	for (n = 0; n < p->topo.nr; n++) {
		numab_prop_other[n] = numab_prop_nodes[n];
		used += !!numab_prop_nodes[n].grant;
	}
	do {
		room = numab_prop_take_roomiest(p);
		needed++;
		left -= min(left, room);
	} while (room && left > NUMAB_ROOM_TOLERANCE);
	if (needed == 1)
		KUNIT_EXPECT_EQ_MSG(p->test, numab_prop_nodes[nid].grant,
				    p->demand, "round %u", p->round);
	KUNIT_EXPECT_LE_MSG(p->test, needed, used, "round %u", p->round);
	KUNIT_EXPECT_LE_MSG(p->test, used, needed + !p->whole, "round %u",
			    p->round);
}

/* Make the grants the homes, and let members run there. */
static bool numab_prop_settle(const struct numab_prop *p)
{
	bool same = true;
	int n;

	for (n = 0; n < p->topo.nr; n++) {
		struct numab_node *node = &numab_prop_nodes[n];

		same &= node->home == node->grant;
		node->home = node->grant;
		node->here = node->grant;
	}
	return same;
}

/*
 * A group of whole tasks that follows its grants comes to rest, whatever the
 * distances. Not always at once: the grants say what is a home and which one is
 * the strongest, and with it the price of all other nodes changes.
 */
static void numab_prop_spread_stable(struct numab_prop *p)
{
	unsigned int times = 0;

	if (!p->whole)
		return;

	do {
		numab_spread(&p->topo, numab_prop_nodes, p->demand);
	} while (!numab_prop_settle(p) && times++ < NUMAB_PROP_SETTLE);
	KUNIT_EXPECT_LE_MSG(p->test, times, NUMAB_PROP_SETTLE, "round %u",
			    p->round);
}

/*
 * Where a task goes that runs on node @from of two with so many CPUs each, has
 * its memory on the other one, and shares the machine with a task on @other.
 */
static int numab_prop_cross(int from, int other, unsigned int cpus)
{
	struct numab_topology topo = { 2, numab_case_mesh };
	struct numab_node node[2] = {};
	int n;

	for (n = 0; n < 2; n++)
		node[n].capacity = cpus * NUMAB_UNIT;
	node[other].claimed = NUMAB_UNIT;
	node[from].here = NUMAB_UNIT;
	node[from].home = NUMAB_UNIT;
	node[!from].mem = 64;
	numab_normalise(&topo, node);
	return numab_pick_node(&topo, node, NUMAB_UNIT);
}

/*
 * Two tasks, each with its memory where the other one runs. If there is room,
 * both change over, whether they decide at the same time or in turn. If each
 * fills its node, neither moves: there is no room, and no word of a swap.
 */
static void numab_prop_crossed(struct kunit *test)
{
	int from;

	for (from = 0; from < 2; from++) {
		KUNIT_EXPECT_EQ_MSG(test, numab_prop_cross(from, !from, 2),
				    !from, "at once, from %d", from);
		KUNIT_EXPECT_EQ_MSG(test, numab_prop_cross(from, from, 2),
				    !from, "in turn, from %d", from);
		KUNIT_EXPECT_EQ_MSG(test, numab_prop_cross(from, !from, 1),
				    from, "no room, from %d", from);
	}
}

/* Windows of 64 samples, half of them at home, that are reason enough to leave. */
static unsigned int numab_prop_hops(int (*distance)(int from, int to))
{
	struct numab_topology topo = { 2, distance };
	unsigned int window, sample, hops = 0;

	numab_prop_state = 16;
	for (window = 0; window < NUMAB_PROP_ROUNDS; window++) {
		struct numab_node node[2] = {
			NUMAB_CASE_NODE(2, 0, .home = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 0),
		};

		for (sample = 0; sample < 64; sample++)
			node[numab_prop_below(2)].mem++;
		numab_normalise(&topo, node);
		hops += numab_pick_node(&topo, node, NUMAB_UNIT) == 1;
	}
	return hops;
}

/* Two standard deviations let one window in forty through, however far it is. */
static void numab_prop_noise(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, numab_prop_hops(numab_case_near),
			NUMAB_PROP_ROUNDS / 40U);
	KUNIT_EXPECT_LE(test, numab_prop_hops(numab_case_mesh),
			NUMAB_PROP_ROUNDS / 40U);
	KUNIT_EXPECT_LE(test, numab_prop_hops(numab_prop_farthest),
			NUMAB_PROP_ROUNDS / 40U);
}

/*
 * Nine tasks of three processes on four nodes with two CPUs each: every CPU is
 * used, and one of the nodes has one task more.
 */
static void numab_prop_one_more(struct kunit *test)
{
	struct numab_topology topo = { NUMAB_CASE_NODES, numab_case_mesh };
	u32 claimed[NUMAB_CASE_NODES] = {};
	u32 fair = numab_fair_capacity(NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(9),
				       NUMAB_CASE_CPUS(8));
	int task, n;

	for (task = 0; task < 9; task++) {
		struct numab_node node[NUMAB_CASE_NODES] = {};

		for (n = 0; n < NUMAB_CASE_NODES; n++) {
			node[n].capacity = NUMAB_CASE_CPUS(2);
			node[n].fair = fair;
			node[n].claimed = claimed[n];
			node[n].mem = n == task / 3;
		}
		numab_normalise(&topo, node);
		n = numab_pick_node(&topo, node, NUMAB_UNIT);
		KUNIT_EXPECT_TRUE_MSG(test, n != NUMA_NO_NODE, "task %d", task);
		if (n != NUMA_NO_NODE)
			claimed[n] += NUMAB_UNIT;
	}
	for (n = 0; n < NUMAB_CASE_NODES; n++)
		KUNIT_EXPECT_TRUE_MSG(test, claimed[n] >= NUMAB_CASE_CPUS(2) &&
				      claimed[n] <= NUMAB_CASE_CPUS(3),
				      "node %d", n);
}

/*
 * Fair capacity is never below capacity, grows with demand, leaves room for all
 * tasks, but for what is cut off and the tolerance, and for a task a node more
 * at most.
 */
static void numab_prop_fair(struct numab_prop *p)
{
	u64 total = 0, fair, sum = 0, demand;
	int n;

	for (n = 0; n < p->topo.nr; n++)
		total += numab_prop_nodes[n].capacity;
	demand = total * numab_prop_below(4) + numab_prop_units(p, 9);

	for (n = 0; n < p->topo.nr; n++) {
		u32 capacity = numab_prop_nodes[n].capacity;

		fair = numab_fair_capacity(capacity, demand, total);
		sum += fair;
		KUNIT_EXPECT_LE_MSG(p->test, capacity, fair, "round %u",
				    p->round);
		KUNIT_EXPECT_LE_MSG(p->test, fair,
				    numab_fair_capacity(capacity, demand + 1,
							total),
				    "round %u", p->round);
		if (demand > total && total)
			KUNIT_EXPECT_LT_MSG(p->test, fair * total,
					    capacity * demand +
					    NUMAB_UNIT * total, "round %u",
					    p->round);
	}
	if (total)
		KUNIT_EXPECT_LE_MSG(p->test, demand,
				    max(sum, total + NUMAB_ROOM_TOLERANCE) +
				    p->topo.nr, "round %u", p->round);
}

/*
 * Who would be a group with strangers' eyes is one with friends', and friends
 * part after a full window only.
 */
static void numab_prop_bond(struct numab_prop *p)
{
	struct numab_sharing s = {
		.shared = numab_prop_bits(40),
		.private = numab_prop_bits(43),
		.samples = numab_prop_below(128),
		.threads = 2 + numab_prop_below(9),
		.fits = numab_prop_below(2),
	};
	enum numab_bond before = numab_bond(&s), after;

	s.grouped = true;
	after = numab_bond(&s);
	if (s.samples < 16 || !(s.shared + s.private))
		KUNIT_EXPECT_EQ_MSG(p->test, before, NUMAB_BOND_UNKNOWN,
				    "round %u", p->round);
	/* Who has to fit may be asked for more samples than a group is. */
	if (before == NUMAB_BOND_GROUP ||
	    (before == NUMAB_BOND_UNKNOWN && !s.fits))
		KUNIT_EXPECT_EQ_MSG(p->test, before, after, "round %u",
				    p->round);
	if (s.samples < 64)
		KUNIT_EXPECT_TRUE_MSG(p->test, after != NUMAB_BOND_SINGLE,
				      "round %u", p->round);
	else if (before == NUMAB_BOND_SINGLE)
		KUNIT_EXPECT_TRUE_MSG(p->test, after != NUMAB_BOND_UNKNOWN,
				      "round %u", p->round);
	s.shared *= 100;
	s.private *= 100;
	KUNIT_EXPECT_EQ_MSG(p->test, after, numab_bond(&s), "round %u",
			    p->round);
}

static void numab_prop_scan_input(struct numab_scan_input *in)
{
	u32 min_ms = 1 + numab_prop_below(5000);

	*in = (struct numab_scan_input){
		.period_min_ms = min_ms,
		.period_max_ms = min_ms + numab_prop_below(100000),
		.resident = numab_prop_bits(numab_prop_below(32)),
		.threads = numab_prop_below(100),
		.stride = 1 + numab_prop_below(512),
		.local = numab_prop_bits(numab_prop_below(60)),
		.remote = numab_prop_bits(numab_prop_below(60)),
		.repaired = numab_prop_bits(numab_prop_below(60)),
		.intent = numab_prop_below(NUMAB_INTENT_WATCH + 1),
		.failed = numab_prop_bits(numab_prop_below(60)),
		.undecided = numab_prop_one_in(3),
		.moved = numab_prop_one_in(3),
	};
	in->period_ms = min_ms +
		numab_prop_below(in->period_max_ms - min_ms + 1);
}

/*
 * Whatever came before, a sample is of min(all, 64) units at least, both of base
 * pages and of huge ones, of at least one page in each page table, and, while
 * it learns, of at most a quarter of a large address space.
 */
static void numab_prop_density_floor(struct numab_prop *p)
{
	unsigned long units, huge;
	struct numab_scan_input in;
	struct numab_scan_plan plan;

	numab_prop_scan_input(&in);
	numab_plan_scan(&in, &plan);
	units = in.resident;
	huge = in.resident / 512;

	KUNIT_EXPECT_TRUE_MSG(p->test, plan.stride >= 1 && plan.stride <= 512,
			      "round %u", p->round);
	KUNIT_EXPECT_TRUE_MSG(p->test,
			      plan.huge_stride >= 1 && plan.huge_stride <= 512,
			      "round %u", p->round);
	KUNIT_EXPECT_GE_MSG(p->test, units / plan.stride, min(units, 64UL),
			    "round %u", p->round);
	KUNIT_EXPECT_GE_MSG(p->test, huge / plan.huge_stride, min(huge, 64UL),
			    "round %u", p->round);
	KUNIT_EXPECT_EQ_MSG(p->test, plan.full,
			    plan.intent == NUMAB_INTENT_PLACE, "round %u",
			    p->round);
	KUNIT_EXPECT_TRUE_MSG(p->test, plan.stride & 1, "round %u", p->round);
	if (in.undecided && units > 320)
		KUNIT_EXPECT_GE_MSG(p->test, plan.stride, 5U, "round %u",
				    p->round);
	if (in.undecided && huge > 320)
		KUNIT_EXPECT_GE_MSG(p->test, plan.huge_stride, 5U, "round %u",
				    p->round);
}

/* What is remote, less what a pass that marked all of it has brought home. */
static u64 numab_prop_left(const struct numab_scan_input *in)
{
	if (in->intent != NUMAB_INTENT_PLACE)
		return in->remote;
	return in->remote > in->repaired ? in->remote - in->repaired : 0;
}

/*
 * The intent follows from the input alone, the period stays within its limits,
 * of which the lower one is a quarter while learning, and ends at two seconds
 * while watching.
 */
static void numab_prop_period(struct numab_prop *p)
{
	struct numab_scan_input in;
	struct numab_scan_plan plan;
	unsigned int least, most;
	u64 left, seen;

	numab_prop_scan_input(&in);
	numab_plan_scan(&in, &plan);
	left = numab_prop_left(&in);
	seen = in.local + in.remote;
	least = in.period_min_ms;
	most = in.period_max_ms;

	if (in.undecided) {
		KUNIT_EXPECT_EQ_MSG(p->test, plan.intent, NUMAB_INTENT_LEARN,
				    "round %u", p->round);
		least = max(least / 4, 1U);
		most = least;
	} else if (in.moved || left > seen / 16) {
		KUNIT_EXPECT_EQ_MSG(p->test, plan.intent, NUMAB_INTENT_PLACE,
				    "round %u", p->round);
		if (in.failed <= in.remote / 2)
			most = least;
	} else if (left < seen / 16) {
		KUNIT_EXPECT_EQ_MSG(p->test, plan.intent, NUMAB_INTENT_WATCH,
				    "round %u", p->round);
		most = max(least, min(most, 2000U));
	}
	KUNIT_EXPECT_TRUE_MSG(p->test, plan.period_ms >= least &&
			      plan.period_ms <= most, "round %u: %u of %u..%u",
			      p->round, plan.period_ms, least, most);
}

/*
 * What a pass that marked all has brought home is as good as local; what any
 * other pass has is not.
 */
static void numab_prop_repaired(struct numab_prop *p)
{
	struct numab_scan_input in, other;
	struct numab_scan_plan plan, want;

	numab_prop_scan_input(&in);
	other = in;
	other.remote = numab_prop_left(&in);
	other.local += in.remote - other.remote;
	other.repaired = 0;
	other.intent = NUMAB_INTENT_WATCH;
	numab_plan_scan(&in, &plan);
	numab_plan_scan(&other, &want);
	KUNIT_EXPECT_EQ_MSG(p->test, plan.intent, want.intent, "round %u",
			    p->round);
}

/* Where nothing happens, plans end at one that repeats itself. */
static void numab_prop_watch_settles(struct numab_prop *p)
{
	struct numab_scan_input in;
	struct numab_scan_plan plan, next;
	unsigned int n;

	numab_prop_scan_input(&in);
	in.undecided = false;
	in.moved = false;
	in.remote = 0;
	for (n = 0; n < 20; n++) {
		numab_plan_scan(&in, &plan);
		in.stride = plan.stride;
		in.period_ms = plan.period_ms;
		in.intent = plan.intent;
	}
	numab_plan_scan(&in, &next);
	KUNIT_EXPECT_EQ_MSG(p->test, plan.stride, next.stride, "round %u",
			    p->round);
	KUNIT_EXPECT_EQ_MSG(p->test, plan.huge_stride, next.huge_stride,
			    "round %u", p->round);
	KUNIT_EXPECT_EQ_MSG(p->test, plan.period_ms, next.period_ms, "round %u",
			    p->round);
	KUNIT_EXPECT_LE_MSG(p->test, min(in.resident, 512 * 64UL) / plan.stride,
			    191UL, "round %u", p->round);
}

/*
 * A page moves only to a home that it is not at, never away from a home of its
 * group, and never unseen if strangers use it or nothing is known of its users.
 * That threads live apart says something of pages that nobody was seen at.
 */
static void numab_prop_page(struct numab_prop *p)
{
	struct numab_page page = {
		.nid = numab_prop_below(3),
		.home = (int)numab_prop_below(4) - 1,
		.at_group_home = numab_prop_one_in(2),
		.together = numab_prop_one_in(2),
		.apart = numab_prop_one_in(2),
		.owner = numab_prop_below(3),
		.foreign = numab_prop_one_in(2),
		.seen = numab_prop_one_in(2),
		.same_task = numab_prop_one_in(2),
		.last_nid = numab_prop_below(3),
	};
	enum numab_verdict verdict = numab_page_verdict(&page);
	bool settled = page.home == page.nid || page.home == NUMA_NO_NODE;
	struct numab_page other = page;

	KUNIT_EXPECT_EQ_MSG(p->test, verdict == NUMAB_PAGE_UNDECIDED,
			    page.home == NUMA_NO_NODE, "round %u", p->round);
	KUNIT_EXPECT_EQ_MSG(p->test, verdict == NUMAB_PAGE_HOME,
			    page.home == page.nid, "round %u", p->round);
	KUNIT_EXPECT_EQ_MSG(p->test, verdict == NUMAB_PAGE_SHARED,
			    page.at_group_home && !settled, "round %u",
			    p->round);
	other.apart = !page.apart;
	if (page.seen || page.foreign || page.together ||
	    page.owner != NUMAB_OWNER_UNKNOWN)
		KUNIT_EXPECT_EQ_MSG(p->test, verdict,
				    numab_page_verdict(&other), "round %u",
				    p->round);
	if (numab_page_block(&page, verdict))
		KUNIT_EXPECT_TRUE_MSG(p->test, !page.foreign &&
				      (page.together ||
				       page.owner == NUMAB_OWNER_SELF) &&
				      (verdict == NUMAB_PAGE_MOVE ||
				       (settled ? page.home == page.nid :
						  page.at_group_home)),
				      "round %u", p->round);
	if (verdict != NUMAB_PAGE_MOVE)
		return;
	KUNIT_EXPECT_TRUE_MSG(p->test, page.seen || !page.foreign, "round %u",
			      p->round);
	KUNIT_EXPECT_TRUE_MSG(p->test, page.seen || page.together ||
			      page.apart || page.owner == NUMAB_OWNER_SELF,
			      "round %u", p->round);
	KUNIT_EXPECT_TRUE_MSG(p->test, page.owner != NUMAB_OWNER_OTHER ||
			      page.together || page.foreign, "round %u",
			      p->round);
	KUNIT_EXPECT_TRUE_MSG(p->test, page.last_nid == page.home ||
			      !page.foreign, "round %u", p->round);
	KUNIT_EXPECT_TRUE_MSG(p->test, !page.seen || page.together ||
			      page.foreign || page.same_task, "round %u",
			      p->round);
}

/*
 * Whatever happened before, a region that one task uses alone becomes its own
 * in as many faults as it takes to forget another owner and then some, and two
 * strangers in a row end that.
 */
static void numab_prop_region(struct numab_prop *p)
{
	struct numab_region region = {
		.owner = numab_prop_below(4),
		.run = numab_prop_below(NUMAB_REGION_CERTAIN + 1),
		.home = (int)numab_prop_below(4) - 1,
	};
	unsigned int me = numab_prop_below(4), i;

	for (i = 0; i < NUMAB_REGION_PRIVATE + 2; i++) {
		numab_region_note(&region, me, 2);
		KUNIT_EXPECT_LE_MSG(p->test, region.run, NUMAB_REGION_CERTAIN,
				    "round %u", p->round);
	}
	KUNIT_EXPECT_TRUE_MSG(p->test, numab_region_private(&region), "round %u",
			      p->round);
	KUNIT_EXPECT_EQ_MSG(p->test, region.owner, me, "round %u", p->round);
	KUNIT_EXPECT_EQ_MSG(p->test, region.home, 2, "round %u", p->round);

	numab_region_note(&region, me + 1, 1);
	KUNIT_EXPECT_FALSE_MSG(p->test, numab_region_private(&region),
			       "round %u", p->round);
	numab_region_note(&region, me + 1, 1);
	numab_region_note(&region, me + 1, 1);
	KUNIT_EXPECT_EQ_MSG(p->test, region.owner, me + 1, "round %u", p->round);
}

#endif /* _KERNEL_SCHED_TESTS_NUMAB_POLICY_PROPS_H */
