// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the placement policy of automatic NUMA balancing.
 *
 * tools/testing/numab compiles this file in userspace as well, where a test run
 * takes a second. It keeps to the part of KUnit that its header there has.
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "../numab_policy.h"
#include "numab_policy_cases.h"
#include "numab_policy_props.h"

static void numab_test_normalise(struct kunit *test)
{
	const struct numab_share_case *c = test->param_value;
	struct numab_topology topo = { NUMAB_CASE_NODES, numab_case_mesh };
	struct numab_node node[NUMAB_CASE_NODES] = {};
	int n;

	for (n = 0; n < NUMAB_CASE_NODES; n++) {
		node[n].mem = c->mem[n];
		node[n].share = U32_MAX;
	}
	numab_normalise(&topo, node);
	for (n = 0; n < NUMAB_CASE_NODES; n++)
		KUNIT_EXPECT_EQ_MSG(test, node[n].share, c->share[n],
				    "node %d", n);
}

KUNIT_ARRAY_PARAM_DESC(numab_share, numab_share_cases, name);

static void numab_test_normalise_one_node(struct kunit *test)
{
	struct numab_topology topo = { 1, numab_case_mesh };
	struct numab_node node[2] = {
		{ .mem = (1ULL << 48) - 1 },
		{ .mem = 5, .share = 77 },
	};

	numab_normalise(&topo, node);
	KUNIT_EXPECT_EQ(test, node[0].share, NUMAB_SHARE_ONE);
	KUNIT_EXPECT_EQ(test, node[1].share, 77U);
}

static void numab_test_access_cost(struct kunit *test)
{
	const struct numab_cost_case *c = test->param_value;
	struct numab_topology topo = { NUMAB_CASE_NODES, c->distance };
	struct numab_node node[NUMAB_CASE_NODES] = {};
	int n;

	for (n = 0; n < NUMAB_CASE_NODES; n++)
		node[n].mem = c->mem[n];
	numab_normalise(&topo, node);
	for (n = 0; n < NUMAB_CASE_NODES; n++)
		KUNIT_EXPECT_EQ_MSG(test, numab_access_cost(&topo, node, n),
				    c->cost[n] * NUMAB_SHARE_ONE, "node %d", n);
}

KUNIT_ARRAY_PARAM_DESC(numab_cost, numab_cost_cases, name);

static void numab_test_fair_capacity(struct kunit *test)
{
	const struct numab_fair_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->want,
			numab_fair_capacity(c->capacity, c->demand, c->total));
}

KUNIT_ARRAY_PARAM_DESC(numab_fair, numab_fair_cases, name);

static void numab_test_room(struct kunit *test)
{
	struct numab_node node = { .capacity = NUMAB_CASE_CPUS(2) };

	KUNIT_EXPECT_EQ(test, numab_room(&node, node.capacity), NUMAB_CASE_CPUS(2));
	node.claimed = NUMAB_CASE_CPUS(2) - 1;
	KUNIT_EXPECT_EQ(test, numab_room(&node, node.capacity), 1U);
	node.claimed = NUMAB_CASE_CPUS(2);
	KUNIT_EXPECT_EQ(test, numab_room(&node, node.capacity), 0U);
	node.claimed = NUMAB_CASE_CPUS(3);
	KUNIT_EXPECT_EQ(test, numab_room(&node, node.capacity), 0U);
	KUNIT_EXPECT_EQ(test, numab_room(&node, NUMAB_CASE_CPUS(4)),
			NUMAB_CASE_CPUS(1));
	KUNIT_EXPECT_EQ(test, numab_room(&node, 0), 0U);
}

static void numab_test_demand(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, numab_demand(0), 0U);
	KUNIT_EXPECT_EQ(test, numab_demand(NUMAB_UNIT * 7 / 8 - 1),
			NUMAB_UNIT * 7 / 8 - 1);
	KUNIT_EXPECT_EQ(test, numab_demand(NUMAB_UNIT * 7 / 8), NUMAB_UNIT);
	KUNIT_EXPECT_EQ(test, numab_demand(NUMAB_UNIT), NUMAB_UNIT);
	KUNIT_EXPECT_EQ(test, numab_demand(ULONG_MAX), NUMAB_UNIT);
}

static void numab_test_pick_node(struct kunit *test)
{
	const struct numab_place_case *c = test->param_value;
	struct numab_topology topo = { NUMAB_CASE_NODES, c->distance };
	struct numab_node node[NUMAB_CASE_NODES];

	memcpy(node, c->node, sizeof(node));
	numab_normalise(&topo, node);
	KUNIT_EXPECT_EQ(test, c->nid, numab_pick_node(&topo, node, c->demand));
}

KUNIT_ARRAY_PARAM_DESC(numab_pick, numab_pick_cases, name);

static void numab_test_spread(struct kunit *test)
{
	const struct numab_place_case *c = test->param_value;
	struct numab_topology topo = { NUMAB_CASE_NODES, c->distance };
	struct numab_node node[NUMAB_CASE_NODES];
	int n;

	memcpy(node, c->node, sizeof(node));
	numab_normalise(&topo, node);
	KUNIT_EXPECT_EQ(test, c->granted, numab_spread(&topo, node, c->demand));
	for (n = 0; n < NUMAB_CASE_NODES; n++)
		KUNIT_EXPECT_EQ_MSG(test, node[n].grant, c->grant[n],
				    "node %d", n);
}

KUNIT_ARRAY_PARAM_DESC(numab_spread, numab_spread_cases, name);

static void numab_test_window_over(struct kunit *test)
{
	const struct numab_window_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->want, numab_window_over(&c->window));
}

KUNIT_ARRAY_PARAM_DESC(numab_window, numab_window_cases, name);

static void numab_test_bond(struct kunit *test)
{
	const struct numab_bond_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->want, numab_bond(&c->sharing));
}

KUNIT_ARRAY_PARAM_DESC(numab_bond, numab_bond_cases, name);

static void numab_test_loose(struct kunit *test)
{
	const struct numab_loose_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->want, numab_bond_loose(&c->sharing));
}

KUNIT_ARRAY_PARAM_DESC(numab_loose, numab_loose_cases, name);

static void numab_test_plan_scan(struct kunit *test)
{
	const struct numab_scan_case *c = test->param_value;
	struct numab_scan_plan plan;

	memset(&plan, 0xff, sizeof(plan));
	numab_plan_scan(&c->in, &plan);
	KUNIT_EXPECT_EQ(test, plan.intent, c->want.intent);
	KUNIT_EXPECT_EQ(test, plan.full, c->want.full);
	KUNIT_EXPECT_EQ(test, plan.stride, c->want.stride);
	KUNIT_EXPECT_EQ(test, plan.huge_stride, c->want.huge_stride);
	KUNIT_EXPECT_EQ(test, plan.period_ms, c->want.period_ms);
}

KUNIT_ARRAY_PARAM_DESC(numab_scan, numab_scan_cases, name);

static void numab_test_page_verdict(struct kunit *test)
{
	const struct numab_page_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->want, numab_page_verdict(&c->page));
}

KUNIT_ARRAY_PARAM_DESC(numab_page, numab_page_cases, name);

/* Two tasks that take turns never own a region; one with a rare guest does. */
static void numab_test_region_chance(struct kunit *test)
{
	struct numab_region turns = { }, guest = { };
	unsigned int i, owned = 0;

	for (i = 0; i < 1000; i++) {
		numab_region_note(&turns, i & 1, NUMA_NO_NODE);
		KUNIT_EXPECT_FALSE(test, numab_region_private(&turns));
		numab_region_note(&guest, i % 50 == 49, NUMA_NO_NODE);
		owned += numab_region_private(&guest);
	}
	KUNIT_EXPECT_EQ(test, guest.owner, 0U);
	/* Each guest costs the fault itself and the few that follow. */
	KUNIT_EXPECT_GE(test, owned, 850U);
}

static void numab_test_page_block(struct kunit *test)
{
	struct numab_page page = {
		.nid = 0, .home = 1, .owner = NUMAB_OWNER_SELF,
	};

	KUNIT_EXPECT_TRUE(test, numab_page_block(&page, NUMAB_PAGE_MOVE));
	KUNIT_EXPECT_TRUE(test, numab_page_block(&page, NUMAB_PAGE_HOME));
	KUNIT_EXPECT_FALSE(test, numab_page_block(&page, NUMAB_PAGE_OTHER));
	KUNIT_EXPECT_FALSE(test, numab_page_block(&page, NUMAB_PAGE_UNDECIDED));
	page.foreign = true;
	KUNIT_EXPECT_FALSE(test, numab_page_block(&page, NUMAB_PAGE_MOVE));
	page.foreign = false;
	page.owner = NUMAB_OWNER_UNKNOWN;
	KUNIT_EXPECT_FALSE(test, numab_page_block(&page, NUMAB_PAGE_MOVE));
	page.together = true;
	KUNIT_EXPECT_TRUE(test, numab_page_block(&page, NUMAB_PAGE_MOVE));
}

/* The gain is the number of tasks at home after the swap, less before. */
static void numab_test_swap_gain(struct kunit *test)
{
	struct numab_swap swap;
	int want;

	for (swap.src_nid = 0; swap.src_nid < 3; swap.src_nid++) {
		swap.dst_nid = (swap.src_nid + 1) % 3;
		for (swap.partner_home = NUMA_NO_NODE; swap.partner_home < 3;
		     swap.partner_home++) {
			want = 1 + (swap.partner_home == swap.src_nid) -
			       (swap.partner_home == swap.dst_nid);
			KUNIT_EXPECT_EQ_MSG(test, want, numab_swap_gain(&swap),
					    "%d to %d, partner %d",
					    swap.src_nid, swap.dst_nid,
					    swap.partner_home);
		}
	}
}

static void numab_test_pull_verdict(struct kunit *test)
{
	struct numab_pull pull = { .src_nid = 0, .dst_nid = 1, .queued = 2 };

	pull.home = 0;
	KUNIT_EXPECT_EQ(test, numab_pull_verdict(&pull), 1);
	/* It has waited for long enough, or is not the only one that waits. */
	pull.idle_us = 4000;
	KUNIT_EXPECT_EQ(test, numab_pull_verdict(&pull), -1);
	pull.idle_us = 3999;
	KUNIT_EXPECT_EQ(test, numab_pull_verdict(&pull), 1);
	pull.queued = 3;
	KUNIT_EXPECT_EQ(test, numab_pull_verdict(&pull), -1);
	pull.home = 1;
	KUNIT_EXPECT_EQ(test, numab_pull_verdict(&pull), 0);
	pull.home = 2;
	KUNIT_EXPECT_EQ(test, numab_pull_verdict(&pull), -1);
	pull.home = NUMA_NO_NODE;
	KUNIT_EXPECT_EQ(test, numab_pull_verdict(&pull), -1);
}

/* Within a node the home does not matter. */
static void numab_test_pull_same_node(struct kunit *test)
{
	struct numab_pull pull = { .src_nid = 1, .dst_nid = 1 };

	for (pull.home = NUMA_NO_NODE; pull.home < 3; pull.home++)
		KUNIT_EXPECT_EQ_MSG(test, numab_pull_verdict(&pull), -1,
				    "home %d", pull.home);
}

/* The second number is the seed: change it, and all rounds are new ones. */
#define NUMAB_PROP_TEST(prop, seed)				\
static void numab_any_##prop(struct kunit *test)		\
{								\
	numab_prop_run(test, seed, numab_prop_##prop);		\
}

NUMAB_PROP_TEST(shares, 1)
NUMAB_PROP_TEST(density, 2)
NUMAB_PROP_TEST(pick, 3)
NUMAB_PROP_TEST(stay, 4)
NUMAB_PROP_TEST(pick_stable, 5)
NUMAB_PROP_TEST(spread, 6)
NUMAB_PROP_TEST(fewest, 7)
NUMAB_PROP_TEST(spread_stable, 8)
NUMAB_PROP_TEST(fair, 9)
NUMAB_PROP_TEST(bond, 10)
NUMAB_PROP_TEST(density_floor, 11)
NUMAB_PROP_TEST(period, 12)
NUMAB_PROP_TEST(watch_settles, 13)
NUMAB_PROP_TEST(page, 14)
NUMAB_PROP_TEST(repaired, 17)
NUMAB_PROP_TEST(region, 18)

static struct kunit_case numab_policy_cases[] = {
	KUNIT_CASE_PARAM(numab_test_normalise, numab_share_gen_params),
	KUNIT_CASE(numab_test_normalise_one_node),
	KUNIT_CASE_PARAM(numab_test_access_cost, numab_cost_gen_params),
	KUNIT_CASE_PARAM(numab_test_fair_capacity, numab_fair_gen_params),
	KUNIT_CASE(numab_test_room),
	KUNIT_CASE(numab_test_demand),
	KUNIT_CASE_PARAM(numab_test_pick_node, numab_pick_gen_params),
	KUNIT_CASE_PARAM(numab_test_spread, numab_spread_gen_params),
	KUNIT_CASE_PARAM(numab_test_window_over, numab_window_gen_params),
	KUNIT_CASE_PARAM(numab_test_bond, numab_bond_gen_params),
	KUNIT_CASE_PARAM(numab_test_loose, numab_loose_gen_params),
	KUNIT_CASE_PARAM(numab_test_plan_scan, numab_scan_gen_params),
	KUNIT_CASE_PARAM(numab_test_page_verdict, numab_page_gen_params),
	KUNIT_CASE(numab_test_region_chance),
	KUNIT_CASE(numab_test_page_block),
	KUNIT_CASE(numab_test_swap_gain),
	KUNIT_CASE(numab_test_pull_verdict),
	KUNIT_CASE(numab_test_pull_same_node),
	KUNIT_CASE(numab_prop_extremes),
	KUNIT_CASE(numab_prop_crossed),
	KUNIT_CASE(numab_prop_noise),
	KUNIT_CASE(numab_prop_one_more),
	KUNIT_CASE(numab_any_shares),
	KUNIT_CASE(numab_any_density),
	KUNIT_CASE(numab_any_pick),
	KUNIT_CASE(numab_any_stay),
	KUNIT_CASE(numab_any_pick_stable),
	KUNIT_CASE(numab_any_spread),
	KUNIT_CASE(numab_any_fewest),
	KUNIT_CASE(numab_any_spread_stable),
	KUNIT_CASE(numab_any_fair),
	KUNIT_CASE(numab_any_bond),
	KUNIT_CASE(numab_any_density_floor),
	KUNIT_CASE(numab_any_period),
	KUNIT_CASE(numab_any_watch_settles),
	KUNIT_CASE(numab_any_page),
	KUNIT_CASE(numab_any_region),
	KUNIT_CASE(numab_any_repaired),
	{}
};

static struct kunit_suite numab_policy_suite = {
	.name = "numab_policy",
	.test_cases = numab_policy_cases,
};

kunit_test_suites(&numab_policy_suite);

MODULE_DESCRIPTION("Tests of the placement policy of NUMA balancing");
MODULE_LICENSE("GPL");
