// SPDX-License-Identifier: GPL-2.0
/*
 * Cases that the placement policy does not meet yet.
 *
 * Each says what the right answer is, and why it is open. One that is met moves
 * to numab_policy_cases.h or numab_policy_props.h; one that is found to expect
 * too much goes.
 */
#define NUMAB_PROP_ROUNDS	10000
#define NUMAB_PROP_NODES	8

#include "../../../kernel/sched/tests/numab_policy_props.h"

static struct numab_topology mesh = { NUMAB_CASE_NODES, numab_case_mesh };

/*
 * Three tasks on each of the nodes that have the memory, which are two as well.
 * Open: the group gets the node with most room first, which has none of its
 * memory. The fewest nodes are found so, but not the cheapest of them: that is
 * a search of all sets of nodes.
 */
static void open_group_far(struct kunit *test)
{
	struct numab_node node[NUMAB_CASE_NODES] = {
		NUMAB_CASE_NODE(4, 9, .claimed = NUMAB_CASE_CPUS(1)),
		NUMAB_CASE_NODE(4, 9, .claimed = NUMAB_CASE_CPUS(1)),
		NUMAB_CASE_NODE(4, 0),
	};

	numab_normalise(&mesh, node);
	numab_spread(&mesh, node, NUMAB_CASE_CPUS(6));
	KUNIT_EXPECT_EQ(test, node[2].grant, 0U);
}

/*
 * The same grants again. Open: of two nodes with as much memory, the one that is
 * filled last may get a little too much, is the stronger home for it, is filled
 * first the next time, and then the other one gets too much.
 */
static void open_group_swings(struct kunit *test)
{
	struct numab_node node[NUMAB_CASE_NODES] = {
		NUMAB_CASE_NODE(2, 9),
		NUMAB_CASE_NODE(2, 9),
	};
	u32 before;

	numab_normalise(&mesh, node);
	numab_spread(&mesh, node, NUMAB_CASE_CPUS(4) + 100);
	before = node[0].grant;
	node[0].home = node[0].grant;
	node[1].home = node[1].grant;
	numab_spread(&mesh, node, NUMAB_CASE_CPUS(4) + 100);
	KUNIT_EXPECT_EQ(test, before, node[0].grant);
}

/*
 * The second of two decisions with the same input is the same one. Open: what is
 * a home, and the strongest one, follows from the grants, and the price of all
 * nodes that are none from that; see numab_prop_spread_stable() for what holds.
 */
static void open_settled(struct numab_prop *p)
{
	numab_spread(&p->topo, numab_prop_nodes, p->demand);
	numab_prop_settle(p);
	numab_spread(&p->topo, numab_prop_nodes, p->demand);
	KUNIT_EXPECT_TRUE_MSG(p->test, numab_prop_settle(p), "round %u",
			      p->round);
}

static void open_settled_whole(struct numab_prop *p)
{
	if (!p->whole)
		return;
	numab_prop_straighten(p);
	open_settled(p);
}

static void open_settled_at_once(struct kunit *test)
{
	numab_prop_run(test, 15, open_settled_whole);
}

/*
 * A node that is picked and made the home is picked again, also out of several
 * homes. Open: the price of going to a node that is no home is that of the way
 * from the strongest home, and a weaker one may be nearer to it. The way from the
 * nearest home would do.
 */
static void open_settled_pick(struct numab_prop *p)
{
	int nid;

	numab_prop_straighten(p);
	nid = numab_pick_node(&p->topo, numab_prop_nodes, p->demand);
	if (nid == NUMA_NO_NODE)
		return;
	KUNIT_EXPECT_EQ_MSG(p->test, nid, numab_prop_pick_from(p, nid),
			    "round %u", p->round);
}

static void open_settled_picks(struct kunit *test)
{
	numab_prop_run(test, 5, open_settled_pick);
}

/*
 * Any node is better than none: five tasks of not quite seven eighths of a CPU
 * are not too many for two nodes with two CPUs each, and the fifth is to go where
 * its memory is. Open: what is left on a node is too little for it, and the fair
 * part of a machine that is not in a crowd is not larger than that.
 */
static void open_split_room(struct kunit *test)
{
	u32 demand = NUMAB_UNIT / 8 * 7 - 1;
	u32 fair = numab_fair_capacity(NUMAB_CASE_CPUS(2), 5 * demand,
				       NUMAB_CASE_CPUS(4));
	struct numab_node node[NUMAB_CASE_NODES] = {
		NUMAB_CASE_NODE(2, 1, .claimed = 2 * demand, .fair = fair),
		NUMAB_CASE_NODE(2, 9, .claimed = 2 * demand, .fair = fair),
	};

	numab_normalise(&mesh, node);
	KUNIT_EXPECT_EQ(test, 1, numab_pick_node(&mesh, node, demand));
}

/*
 * The grant is a result of numab_spread() and says nothing to the next one who
 * asks for a node. Open: numab_pick_node() counts it as taken. It does no harm
 * as long as callers clear all nodes before.
 */
static void open_stale_grant(struct kunit *test)
{
	struct numab_node node[NUMAB_CASE_NODES] = {
		NUMAB_CASE_NODE(2, 9, .grant = NUMAB_CASE_CPUS(2)),
		NUMAB_CASE_NODE(2, 0),
	};

	numab_normalise(&mesh, node);
	KUNIT_EXPECT_EQ(test, 0, numab_pick_node(&mesh, node, NUMAB_UNIT));
}

static struct kunit_case open_cases[] = {
	KUNIT_CASE(open_group_far),
	KUNIT_CASE(open_group_swings),
	KUNIT_CASE(open_settled_at_once),
	KUNIT_CASE(open_settled_picks),
	KUNIT_CASE(open_split_room),
	KUNIT_CASE(open_stale_grant),
	{}
};

static struct kunit_suite open_suite = {
	.name = "numab_policy_open",
	.test_cases = open_cases,
};

kunit_test_suites(&open_suite);
