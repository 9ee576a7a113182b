// SPDX-License-Identifier: GPL-2.0
/*
 * Balancing marks memory as inaccessible for a while. What the program itself
 * has made inaccessible or read-only stays so, and does not move.
 *
 * Usage: ./prot_none (as root)
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "numa_util.h"

#define BUF_SIZE	(8 * NUMA_MB)
#define AT_LEAST_MS	2500
#define PROBES		64
#define MARK_SECS	30

static sigjmp_buf after_fault;
static int fault_code;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	fault_code = info->si_code;
	siglongjmp(after_fault, 1);
}

static bool faults_on_read(const unsigned long *word)
{
	fault_code = 0;
	if (sigsetjmp(after_fault, 1))
		return fault_code == SEGV_ACCERR;
	numa_load(word);
	return false;
}

static bool faults_on_write(unsigned long *word)
{
	fault_code = 0;
	if (sigsetjmp(after_fault, 1))
		return fault_code == SEGV_ACCERR;
	numa_store(word, 1);
	return false;
}

static int count_faults(struct numa_buf *buf, bool by_write)
{
	size_t step = buf->len / sizeof(*buf->mem) / PROBES;
	int faults = 0;
	int i;

	for (i = 0; i < PROBES; i++)
		if (by_write)
			faults += faults_on_write(&buf->mem[i * step + 1]);
		else
			faults += faults_on_read(&buf->mem[i * step + 1]);
	return faults;
}

FIXTURE(prot_none) {
	struct numa_topo topo;
	struct numa_buf buf;
	const struct numa_node *from;
	const struct numa_node *to;
	int *where;
};

FIXTURE_VARIANT(prot_none) {
	int advice;
};

FIXTURE_VARIANT_ADD(prot_none, small_pages) {
	.advice = MADV_NOHUGEPAGE,
};

FIXTURE_VARIANT_ADD(prot_none, huge_pages) {
	.advice = MADV_HUGEPAGE,
};

FIXTURE_SETUP(prot_none)
{
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	const char *why;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 2);
	if (why)
		SKIP(return, "%s", why);
	if (variant->advice == MADV_HUGEPAGE && !numa_thp_available())
		SKIP(return, "transparent huge pages are off");
	self->from = &self->topo.node[0];
	self->to = &self->topo.node[1];
	ASSERT_EQ(0, sigaction(SIGSEGV, &action, NULL));
	ASSERT_EQ(0, numa_pin(&self->from->cpus));
	ASSERT_EQ(0, numa_buf_map(&self->buf, BUF_SIZE, variant->advice));
	numa_buf_fill(&self->buf);
	self->where = numa_snapshot(&self->buf);
	ASSERT_NE(NULL, self->where);
	numa_knobs_fast(1);
}

FIXTURE_TEARDOWN(prot_none)
{
	free(self->where);
	numa_knobs_restore();
}

TEST_F_TIMEOUT(prot_none, no_access_stays_no_access, 60)
{
	unsigned long end = numa_now_ms() + AT_LEAST_MS;
	int done = 0;
	pid_t pid;

	ASSERT_EQ(0, mprotect(self->buf.mem, BUF_SIZE, PROT_NONE));
	pid = numa_witness_start(self->from, self->to);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, numa_pin(&self->to->cpus));
	while (!done || numa_now_ms() < end) {
		ASSERT_EQ(PROBES, count_faults(&self->buf, false));
		ASSERT_EQ(PROBES, count_faults(&self->buf, true));
		if (!done)
			done = numa_witness_done(pid);
	}
	EXPECT_EQ(1, done);
	EXPECT_EQ(0, numa_count_moved(&self->buf, self->where));
	ASSERT_EQ(0, mprotect(self->buf.mem, BUF_SIZE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
}

/* Marked first, made inaccessible afterwards, with the marks still in place. */
TEST_F_TIMEOUT(prot_none, marked_then_no_access, 60)
{
	unsigned long end = numa_now_ms() + MARK_SECS * 1000;
	int round = 0;

	ASSERT_EQ(0, numa_pin(&self->to->cpus));
	do {
		numa_touch_for(&self->buf, 100);
		ASSERT_EQ(0, mprotect(self->buf.mem, BUF_SIZE, PROT_NONE));
		ASSERT_EQ(PROBES, count_faults(&self->buf, false));
		ASSERT_EQ(PROBES, count_faults(&self->buf, true));
		ASSERT_EQ(0, mprotect(self->buf.mem, BUF_SIZE, PROT_READ | PROT_WRITE));
		round++;
	} while (numa_now_ms() < end &&
		 (round < 20 || numa_percent_on(&self->buf, self->to->nid) < 90));
	EXPECT_LE(90, numa_percent_on(&self->buf, self->to->nid));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
}

TEST_F_TIMEOUT(prot_none, read_only_stays_read_only, 60)
{
	unsigned long end = numa_now_ms() + MARK_SECS * 1000;
	long marks = numa_vmstat("numa_pte_updates");
	long faults = numa_vmstat("numa_hint_faults");

	ASSERT_EQ(0, mprotect(self->buf.mem, BUF_SIZE, PROT_READ));
	ASSERT_EQ(0, numa_pin(&self->to->cpus));
	do {
		numa_buf_read(&self->buf);
		ASSERT_EQ(PROBES, count_faults(&self->buf, true));
	} while (numa_now_ms() < end && numa_percent_on(&self->buf, self->to->nid) < 90);
	EXPECT_LT(marks, numa_vmstat("numa_pte_updates"));
	EXPECT_LT(faults, numa_vmstat("numa_hint_faults"));
	EXPECT_LE(90, numa_percent_on(&self->buf, self->to->nid));
	ASSERT_EQ(PROBES, count_faults(&self->buf, true));
	EXPECT_EQ(0, numa_buf_check(&self->buf));
}

int main(int argc, char **argv)
{
	numa_guard();
	return test_harness_run(argc, argv);
}
