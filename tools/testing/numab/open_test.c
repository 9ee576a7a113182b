// SPDX-License-Identifier: GPL-2.0
/*
 * Cases that the placement policy does not meet yet.
 *
 * Each says what was expected. One that is met moves to numab_policy_cases.h
 * or numab_policy_props.h; one that is found to expect too much goes.
 */
#define NUMAB_PROP_ROUNDS	10000
#define NUMAB_PROP_NODES	8

#include "../../../kernel/sched/tests/numab_policy_props.h"

static struct numab_topology mesh = { NUMAB_CASE_NODES, numab_case_mesh };
static int open_distance = 20;

static int open_pair(int from, int to)
{
	return from == to ? NUMAB_DISTANCE_LOCAL : open_distance;
}

/* A task that is rarely awake finds room on a node that has four times too much. */
static void open_light_task(struct kunit *test)
{
	struct numab_node node[NUMAB_CASE_NODES] = {
		NUMAB_CASE_NODE(1, 9, .claimed = NUMAB_CASE_CPUS(4)),
		NUMAB_CASE_NODE(1, 0),
	};

	numab_normalise(&mesh, node);
	KUNIT_EXPECT_EQ(test, 1, numab_pick_node(&mesh, node, 100));
}

/* 9 tasks of three processes: 3, 3, 3 on the first nodes, and one node idle. */
static void open_idle_node(struct kunit *test)
{
	u32 claimed[NUMAB_CASE_NODES] = {};
	u32 fair = numab_fair_capacity(NUMAB_CASE_CPUS(2), NUMAB_CASE_CPUS(9),
				       NUMAB_CASE_CPUS(8));
	int task, n;

	for (task = 0; task < 9; task++) {
		struct numab_node node[NUMAB_CASE_NODES] = {};

		for (n = 0; n < NUMAB_CASE_NODES; n++) {
			node[n].capacity = fair;
			node[n].claimed = claimed[n];
			node[n].mem = n == task / 3;
		}
		numab_normalise(&mesh, node);
		n = numab_pick_node(&mesh, node, NUMAB_UNIT);
		if (n != NUMA_NO_NODE)
			claimed[n] += NUMAB_UNIT;
	}
	for (n = 0; n < NUMAB_CASE_NODES; n++)
		KUNIT_EXPECT_GE_MSG(test, claimed[n], NUMAB_CASE_CPUS(2),
				    "node %d", n);
}

/* Eight tasks and a breath more do not give each of eight CPUs two tasks. */
static void open_fair_step(struct kunit *test)
{
	u32 fair = numab_fair_capacity(NUMAB_CASE_CPUS(1),
				       NUMAB_CASE_CPUS(8) + 8,
				       NUMAB_CASE_CPUS(8));

	KUNIT_EXPECT_LE(test, fair, NUMAB_CASE_CPUS(1) + NUMAB_CASE_TOLERANCE);
}

/* As many tasks as there are PIDs, on one node: the result wraps. */
static void open_fair_wraps(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, NUMAB_CASE_CPUS(8),
			numab_fair_capacity(NUMAB_CASE_CPUS(8), 1ULL << 32,
					    NUMAB_CASE_CPUS(8)));
}

/* A unit more of room elsewhere moves most of a group away from its homes. */
static void open_group_hops(struct kunit *test)
{
	struct numab_node node[NUMAB_CASE_NODES] = {
		NUMAB_CASE_NODE(2, 9, .home = NUMAB_CASE_CPUS(2),
				.claimed = 1),
		NUMAB_CASE_NODE(2, 9, .home = NUMAB_CASE_CPUS(1),
				.claimed = 1),
		NUMAB_CASE_NODE(2, 0),
	};

	numab_normalise(&mesh, node);
	numab_spread(&mesh, node, NUMAB_CASE_CPUS(3));
	KUNIT_EXPECT_EQ(test, node[2].grant, 0U);
}

/* Two nodes hold the group; those with its memory are as few as any others. */
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

/* The tolerance goes from one home to the other and back. */
static void open_group_swings(struct kunit *test)
{
	struct numab_node node[NUMAB_CASE_NODES] = {
		NUMAB_CASE_NODE(2, 9),
		NUMAB_CASE_NODE(2, 8),
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

/* A home of the rest is left for less than the margin: a member strayed. */
static void open_group_strays(struct kunit *test)
{
	struct numab_node node[NUMAB_CASE_NODES] = {
		NUMAB_CASE_NODE(2, 0, .home = NUMAB_CASE_CPUS(2)),
		NUMAB_CASE_NODE(1, 52, .here = NUMAB_CASE_CPUS(1)),
		NUMAB_CASE_NODE(1, 48, .home = NUMAB_CASE_CPUS(1)),
	};

	numab_normalise(&mesh, node);
	numab_spread(&mesh, node, NUMAB_CASE_CPUS(3));
	KUNIT_EXPECT_EQ(test, node[2].grant, NUMAB_CASE_CPUS(1));
}

/* With nothing to choose between nodes, the rest fills the lowest number. */
static void open_rest_ignores_room(struct kunit *test)
{
	struct numab_node node[NUMAB_CASE_NODES] = {
		NUMAB_CASE_NODE(2, 0, .claimed = NUMAB_CASE_CPUS(1)),
		NUMAB_CASE_NODE(3, 0),
		NUMAB_CASE_NODE(2, 0),
	};

	numab_normalise(&mesh, node);
	numab_spread(&mesh, node, NUMAB_CASE_CPUS(4));
	KUNIT_EXPECT_EQ(test, node[2].grant, NUMAB_CASE_CPUS(1));
}

/* Homes that a group has just been given are given again. */
static void open_settled_any(struct numab_prop *p)
{
	numab_spread(&p->topo, numab_prop_nodes, p->demand);
	numab_prop_settle(p);
	numab_spread(&p->topo, numab_prop_nodes, p->demand);
	KUNIT_EXPECT_TRUE_MSG(p->test, numab_prop_settle(p), "round %u",
			      p->round);
}

static void open_settled_at_once(struct kunit *test)
{
	numab_prop_run(test, 15, open_settled_any);
}

/* A part in a hundred of windows in which half and half looks like a gain. */
static u32 open_hops(void)
{
	struct numab_topology topo = { 2, open_pair };
	u32 window, sample, hops = 0;

	numab_prop_state = 16;
	for (window = 0; window < 10000; window++) {
		struct numab_node node[2] = {
			NUMAB_CASE_NODE(2, 0, .home = NUMAB_UNIT),
			NUMAB_CASE_NODE(2, 0),
		};

		for (sample = 0; sample < 64; sample++)
			node[numab_prop_below(2)].mem++;
		numab_normalise(&topo, node);
		hops += numab_pick_node(&topo, node, NUMAB_UNIT) == 1;
	}
	return hops / 100;
}

/* Two standard deviations let one window in forty through. */
static void open_margin(struct kunit *test)
{
	open_distance = 20;
	KUNIT_EXPECT_LE(test, open_hops(), 3U);
}

static void open_margin_far(struct kunit *test)
{
	open_distance = 32;
	KUNIT_EXPECT_LE(test, open_hops(), 3U);
}

/* A pass of a sample in which a task took no fault is nothing to decide by. */
static void open_window_of_nothing(struct kunit *test)
{
	struct numab_window window = { 1000, 0, 1 };

	KUNIT_EXPECT_EQ(test, false, numab_window_over(&window));
}

/* Weights below the part: nothing at all is shared, and that is a group. */
static void open_bond_of_nothing(struct kunit *test)
{
	struct numab_sharing s = NUMAB_CASE_SHARING(0, 3, 16, 2, false);

	KUNIT_EXPECT_EQ(test, NUMAB_BOND_SINGLE, numab_bond(&s));
}

/* A thirtieth is less than a sixteenth. */
static void open_remote_part(struct kunit *test)
{
	struct numab_scan_input in = NUMAB_CASE_SCAN(1000, 4096, 1,
						     .local = 30, .remote = 1);
	struct numab_scan_plan plan;

	numab_plan_scan(&in, &plan);
	KUNIT_EXPECT_EQ(test, plan.intent, NUMAB_INTENT_WATCH);
}

/* The first pass over 511 huge pages, eight windows' worth, takes all of them. */
static void open_first_huge(struct kunit *test)
{
	struct numab_scan_input in = NUMAB_CASE_SCAN(1000, 511 * 512UL, 1,
						     .undecided = true);
	struct numab_scan_plan plan;

	numab_plan_scan(&in, &plan);
	KUNIT_EXPECT_GE(test, plan.huge_stride, 4U);
}

/* The tunable says that it is the shortest time from pass to pass. */
static void open_period_min(struct kunit *test)
{
	struct numab_scan_input in = NUMAB_CASE_SCAN(1000, 4096, 1,
						     .undecided = true);
	struct numab_scan_plan plan;

	numab_plan_scan(&in, &plan);
	KUNIT_EXPECT_GE(test, plan.period_ms, in.period_min_ms);
}

static struct kunit_case open_cases[] = {
	KUNIT_CASE(open_light_task),
	KUNIT_CASE(open_idle_node),
	KUNIT_CASE(open_fair_step),
	KUNIT_CASE(open_fair_wraps),
	KUNIT_CASE(open_group_hops),
	KUNIT_CASE(open_group_far),
	KUNIT_CASE(open_group_swings),
	KUNIT_CASE(open_group_strays),
	KUNIT_CASE(open_rest_ignores_room),
	KUNIT_CASE(open_settled_at_once),
	KUNIT_CASE(open_margin),
	KUNIT_CASE(open_margin_far),
	KUNIT_CASE(open_window_of_nothing),
	KUNIT_CASE(open_bond_of_nothing),
	KUNIT_CASE(open_remote_part),
	KUNIT_CASE(open_first_huge),
	KUNIT_CASE(open_period_min),
	{}
};

static struct kunit_suite open_suite = {
	.name = "numab_policy_open",
	.test_cases = open_cases,
};

kunit_test_suites(&open_suite);
