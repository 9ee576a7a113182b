// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is bound by a policy stays where the policy wants it, while the
 * memory of a process without a policy demonstrably moves.
 *
 * Usage: ./bound (as root)
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "numa_util.h"

#define BUF_SIZE	(8 * NUMA_MB)
#define AT_LEAST_MS	2000

FIXTURE(bound) {
	struct numa_topo topo;
	struct numa_buf buf;
	const struct numa_node *here;
	const struct numa_node *there;
	unsigned long here_mask;
	unsigned long both_mask;
};

FIXTURE_VARIANT(bound) {
	int advice;
};

FIXTURE_VARIANT_ADD(bound, small_pages) {
	.advice = MADV_NOHUGEPAGE,
};

FIXTURE_VARIANT_ADD(bound, huge_pages) {
	.advice = MADV_HUGEPAGE,
};

FIXTURE_SETUP(bound)
{
	const char *why;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 2);
	if (why)
		SKIP(return, "%s", why);
	if (variant->advice == MADV_HUGEPAGE && !numa_thp_available())
		SKIP(return, "transparent huge pages are off");
	self->here = &self->topo.node[0];
	self->there = &self->topo.node[1];
	self->here_mask = 1UL << self->here->nid;
	self->both_mask = self->here_mask | 1UL << self->there->nid;
	ASSERT_EQ(0, numa_buf_map(&self->buf, BUF_SIZE, variant->advice));
	ASSERT_EQ(0, numa_pin(&self->here->cpus));
	numa_knobs_fast(1);
}

FIXTURE_TEARDOWN(bound)
{
	numa_set_mempolicy(NUMA_MPOL_DEFAULT, 0);
	numa_knobs_restore();
}

/* Touches the buffer from @on for at least as long as a witness needs to move. */
static int touch_beside_witness(struct numa_buf *buf, const struct numa_node *home,
				const struct numa_node *on)
{
	unsigned long end = numa_now_ms() + AT_LEAST_MS;
	int done = 0;
	pid_t pid;

	pid = numa_witness_start(home, on);
	if (pid < 0 || numa_pin(&on->cpus))
		return -1;
	while (!done || numa_now_ms() < end) {
		numa_touch_for(buf, 100);
		if (!done)
			done = numa_witness_done(pid);
	}
	return done;
}

TEST_F_TIMEOUT(bound, mbind_bind_stays, 60)
{
	int *where;

	ASSERT_EQ(0, numa_mbind(self->buf.mem, BUF_SIZE, NUMA_MPOL_BIND, self->here_mask));
	numa_buf_fill(&self->buf);
	where = numa_snapshot(&self->buf);
	ASSERT_EQ(100, numa_percent_on(&self->buf, self->here->nid));
	EXPECT_EQ(1, touch_beside_witness(&self->buf, self->here, self->there));
	EXPECT_EQ(0, numa_count_moved(&self->buf, where));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
	free(where);
}

TEST_F_TIMEOUT(bound, task_policy_bind_stays, 60)
{
	int *where;

	ASSERT_EQ(0, numa_set_mempolicy(NUMA_MPOL_BIND, self->here_mask));
	numa_buf_fill(&self->buf);
	where = numa_snapshot(&self->buf);
	ASSERT_EQ(100, numa_percent_on(&self->buf, self->here->nid));
	EXPECT_EQ(1, touch_beside_witness(&self->buf, self->here, self->there));
	EXPECT_EQ(0, numa_count_moved(&self->buf, where));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
	free(where);
}

TEST_F_TIMEOUT(bound, interleave_stays, 60)
{
	unsigned int percent;
	int *where;

	ASSERT_EQ(0, numa_mbind(self->buf.mem, BUF_SIZE, NUMA_MPOL_INTERLEAVE, self->both_mask));
	numa_buf_fill(&self->buf);
	where = numa_snapshot(&self->buf);
	percent = numa_percent_on(&self->buf, self->here->nid);
	ASSERT_LE(45, percent);
	ASSERT_GE(55, percent);
	EXPECT_EQ(1, touch_beside_witness(&self->buf, self->here, self->there));
	EXPECT_EQ(0, numa_count_moved(&self->buf, where));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
	free(where);
}

/* With the flag pages may move, and only to nodes of the policy. */
TEST_F_TIMEOUT(bound, balanced_bind_keeps_to_its_nodes, 60)
{
	const struct numa_node *outside = &self->topo.node[self->topo.nr - 1];
	struct numa_placement in;

	if (numa_set_mempolicy(NUMA_MPOL_BIND | NUMA_MPOL_F_BALANCING, self->both_mask))
		SKIP(return, "kernel without MPOL_F_NUMA_BALANCING");
	numa_buf_fill(&self->buf);
	ASSERT_EQ(100, numa_percent_on(&self->buf, self->here->nid));
	EXPECT_EQ(1, touch_beside_witness(&self->buf, self->here, outside));
	ASSERT_EQ(0, numa_placement(0, self->buf.mem, BUF_SIZE, 0, &in));
	EXPECT_EQ(in.present, in.on[self->here->nid] + in.on[self->there->nid]);
	EXPECT_EQ(0, in.absent);

	/* From a node of the set, it does move. */
	EXPECT_EQ(1, touch_beside_witness(&self->buf, self->here, self->there));
	EXPECT_LE(90, numa_follow(&self->buf, self->there->nid, 90, 20));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
}

int main(int argc, char **argv)
{
	numa_guard();
	return test_harness_run(argc, argv);
}
