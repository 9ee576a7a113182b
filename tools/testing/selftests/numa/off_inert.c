// SPDX-License-Identifier: GPL-2.0
/*
 * Switched off, NUMA balancing does nothing: no entry is marked, no hinting
 * fault is taken, no page moves. The same on a machine with one node.
 *
 * Usage: ./off_inert (as root; no other load, the counters are system-wide)
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "numa_util.h"

#define BUF_SIZE	(16 * NUMA_MB)
#define OFF_MS		4000
#define DRAIN_SECS	30
#define MARK_SECS	20

/* What must not change while balancing is off. */
struct activity {
	long pte_updates;
	long hint_faults;
	long migrated;
};

static void read_activity(struct activity *now)
{
	now->pte_updates = numa_vmstat("numa_pte_updates");
	now->hint_faults = numa_vmstat("numa_hint_faults");
	now->migrated = numa_vmstat("numa_pages_migrated");
}

/* Entries marked before balancing was switched off still fault: wait for them. */
static bool drain(struct numa_buf *buf)
{
	unsigned long end = numa_now_ms() + DRAIN_SECS * 1000;
	struct activity before, after;

	do {
		read_activity(&before);
		if (buf)
			numa_touch_for(buf, 1000);
		else
			numa_sleep_ms(1000);
		read_activity(&after);
		if (before.pte_updates == after.pte_updates &&
		    before.hint_faults == after.hint_faults)
			return true;
	} while (numa_now_ms() < end);
	return false;
}

static bool wait_for_marks(struct numa_buf *buf)
{
	unsigned long end = numa_now_ms() + MARK_SECS * 1000;
	long before = numa_vmstat("numa_pte_updates");

	do {
		numa_touch_for(buf, 200);
		if (numa_vmstat("numa_pte_updates") > before)
			return true;
	} while (numa_now_ms() < end);
	return false;
}

FIXTURE(off) {
	struct numa_topo topo;
	struct numa_buf buf;
};

FIXTURE_VARIANT(off) {
	int advice;
};

FIXTURE_VARIANT_ADD(off, small_pages) {
	.advice = MADV_NOHUGEPAGE,
};

FIXTURE_VARIANT_ADD(off, huge_pages) {
	.advice = MADV_HUGEPAGE,
};

FIXTURE_SETUP(off)
{
	const char *why;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 2);
	if (why)
		SKIP(return, "%s", why);
	if (variant->advice == MADV_HUGEPAGE && !numa_thp_available())
		SKIP(return, "transparent huge pages are off");
	ASSERT_EQ(0, numa_buf_map(&self->buf, BUF_SIZE, variant->advice));
	ASSERT_EQ(0, numa_pin(&self->topo.node[0].cpus));
	numa_buf_fill(&self->buf);
	ASSERT_EQ(0, numa_pin(&self->topo.node[1].cpus));
}

FIXTURE_TEARDOWN(off)
{
	numa_knobs_restore();
}

TEST_F_TIMEOUT(off, misplaced_memory_stays, 90)
{
	struct activity before, after;
	int *where;

	numa_knobs_fast(0);
	ASSERT_TRUE(drain(&self->buf)) {
		TH_LOG("counters never came to rest: is there other load?");
	}
	where = numa_snapshot(&self->buf);
	read_activity(&before);
	numa_touch_for(&self->buf, OFF_MS);
	read_activity(&after);
	EXPECT_EQ(before.pte_updates, after.pte_updates);
	EXPECT_EQ(before.hint_faults, after.hint_faults);
	EXPECT_EQ(before.migrated, after.migrated);
	EXPECT_EQ(0, numa_count_moved(&self->buf, where));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
	free(where);
}

/* The switch is live: marks come, stop at once, and those left do no harm. */
TEST_F_TIMEOUT(off, switch_on_and_off, 120)
{
	struct activity before, after;
	int round;

	for (round = 0; round < 2; round++) {
		numa_knobs_fast(1);
		ASSERT_TRUE(wait_for_marks(&self->buf));
		ASSERT_EQ(0, numa_knob_write(NUMA_KNOB_MODE, 0));
		ASSERT_TRUE(drain(&self->buf));
		read_activity(&before);
		numa_touch_for(&self->buf, 2000);
		read_activity(&after);
		EXPECT_EQ(before.pte_updates, after.pte_updates);
		EXPECT_EQ(before.hint_faults, after.hint_faults);
		EXPECT_EQ(0, numa_buf_check(&self->buf));
		numa_buf_fill(&self->buf);
	}
}

FIXTURE(one_node) {
	struct numa_topo topo;
	struct numa_buf buf;
};

FIXTURE_SETUP(one_node)
{
	const char *why;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 1);
	if (why)
		SKIP(return, "%s", why);
	if (self->topo.nr_online != 1)
		SKIP(return, "needs exactly 1 online node, have %d", self->topo.nr_online);
	ASSERT_EQ(0, numa_buf_map(&self->buf, BUF_SIZE, MADV_NOHUGEPAGE));
	numa_buf_fill(&self->buf);
}

FIXTURE_TEARDOWN(one_node)
{
	numa_knobs_restore();
}

static void *wait_forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/*
 * Even when asked for on the command line, one node gives nothing to balance.
 * With a second thread, as what is local to the only thread is not marked.
 */
TEST_F_TIMEOUT(one_node, nothing_to_balance, 60)
{
	struct activity before, after;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_forever, NULL));
	read_activity(&before);
	numa_touch_for(&self->buf, OFF_MS);
	read_activity(&after);
	EXPECT_EQ(before.pte_updates, after.pte_updates);
	EXPECT_EQ(before.hint_faults, after.hint_faults);
	EXPECT_EQ(before.migrated, after.migrated);
	EXPECT_EQ(0, numa_buf_check(&self->buf));
}

int main(int argc, char **argv)
{
	numa_guard();
	return test_harness_run(argc, argv);
}
