// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a single-threaded process follows it to another node, and
 * nothing that is written on the way is lost.
 *
 * Usage: ./follow (as root)
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "numa_util.h"

#define BUF_SIZE	(24 * NUMA_MB)
#define WANT_PERCENT	95
#define FOLLOW_SECS	35
#define TRACEFS		"/sys/kernel/tracing"

FIXTURE(follow) {
	struct numa_topo topo;
	struct numa_buf buf;
	const struct numa_node *from;
	const struct numa_node *to;
};

FIXTURE_VARIANT(follow) {
	int advice;
};

FIXTURE_VARIANT_ADD(follow, small_pages) {
	.advice = MADV_NOHUGEPAGE,
};

FIXTURE_VARIANT_ADD(follow, huge_pages) {
	.advice = MADV_HUGEPAGE,
};

FIXTURE_SETUP(follow)
{
	const char *why;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 2);
	if (why)
		SKIP(return, "%s", why);
	if (variant->advice == MADV_HUGEPAGE && !numa_thp_available())
		SKIP(return, "transparent huge pages are off");
	self->from = &self->topo.node[0];
	self->to = &self->topo.node[self->topo.nr - 1];
	ASSERT_EQ(0, numa_pin(&self->from->cpus));
	ASSERT_EQ(0, numa_buf_map(&self->buf, BUF_SIZE, variant->advice));
	numa_buf_fill(&self->buf);
	ASSERT_LE(WANT_PERCENT, numa_percent_on(&self->buf, self->from->nid));
	numa_knobs_fast(1);
}

FIXTURE_TEARDOWN(follow)
{
	numa_knobs_restore();
}

TEST_F_TIMEOUT(follow, to_another_node, 120)
{
	long huge = numa_vmstat("numa_huge_pte_updates");
	long faults = numa_vmstat("numa_hint_faults");
	long moved = numa_vmstat("numa_pages_migrated");
	long pages = BUF_SIZE / sysconf(_SC_PAGESIZE);

	ASSERT_EQ(0, numa_pin(&self->to->cpus));
	EXPECT_LE(WANT_PERCENT,
		  numa_follow(&self->buf, self->to->nid, WANT_PERCENT, FOLLOW_SECS));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
	EXPECT_LT(faults, numa_vmstat("numa_hint_faults"));
	EXPECT_LE(moved + pages * 9 / 10, numa_vmstat("numa_pages_migrated"));
	if (variant->advice == MADV_HUGEPAGE)
		EXPECT_LT(huge, numa_vmstat("numa_huge_pte_updates"));

	/* It stays: nothing pulls it away from the only node the task may use. */
	numa_touch_for(&self->buf, 1500);
	EXPECT_LE(WANT_PERCENT, numa_percent_on(&self->buf, self->to->nid));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
}

TEST_F_TIMEOUT(follow, there_and_back, 120)
{
	ASSERT_EQ(0, numa_pin(&self->to->cpus));
	ASSERT_LE(WANT_PERCENT,
		  numa_follow(&self->buf, self->to->nid, WANT_PERCENT, FOLLOW_SECS));
	ASSERT_EQ(0, numa_pin(&self->from->cpus));
	EXPECT_LE(WANT_PERCENT,
		  numa_follow(&self->buf, self->from->nid, WANT_PERCENT, FOLLOW_SECS));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
}

/* Does one fault move more than one page? The base balancer's does not. */
static bool moves_blocks(void)
{
	mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	return !access(TRACEFS "/events/numab", F_OK);
}

static long minor_faults(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? -1 : usage.ru_minflt;
}

/* Once it is known whose the memory is, a fault brings the pages around along. */
TEST_F_TIMEOUT(follow, in_blocks, 120)
{
	long moved, faults;

	if (variant->advice == MADV_HUGEPAGE)
		SKIP(return, "huge pages move one at a time");
	if (!moves_blocks())
		SKIP(return, "this balancer moves pages one at a time");

	ASSERT_EQ(0, numa_pin(&self->to->cpus));
	ASSERT_LE(WANT_PERCENT,
		  numa_follow(&self->buf, self->to->nid, WANT_PERCENT, FOLLOW_SECS));
	moved = numa_vmstat("numa_pages_migrated");
	faults = minor_faults();
	ASSERT_EQ(0, numa_pin(&self->from->cpus));
	ASSERT_LE(WANT_PERCENT,
		  numa_follow(&self->buf, self->from->nid, WANT_PERCENT, FOLLOW_SECS));
	moved = numa_vmstat("numa_pages_migrated") - moved;
	faults = minor_faults() - faults;
	EXPECT_LE(BUF_SIZE / sysconf(_SC_PAGESIZE) * 9 / 10, moved);
	EXPECT_LE(faults * 10, moved);
	EXPECT_EQ(0, numa_buf_check(&self->buf));
}

int main(int argc, char **argv)
{
	numa_guard();
	return test_harness_run(argc, argv);
}
