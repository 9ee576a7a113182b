// SPDX-License-Identifier: GPL-2.0
/*
 * Threads on several nodes read and write memory whose mapping changes all the
 * time beneath them, while it is scanned and migrated. Where the change keeps
 * the contents, not one write may be lost; elsewhere a page may be empty, but
 * never hold what was not written there.
 *
 * Each thread owns one word of each page and writes the number of its pass.
 * A pass repeats an access until it succeeds, as the mapping may be read-only,
 * inaccessible or on its way at the moment.
 *
 * Usage: ./churn_map (as root)
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "numa_util.h"

#define REGION_SIZE	(2 * NUMA_HUGE_SIZE)
#define THREADS		3
#define OPS		1500
#define BOUND_SECS	25
/* Passes after which a thread goes to the next node. */
#define STAY		24

/* Whole and partial changes of protection, huge pages or not, moves, drops. */
enum region_kind { PROTECT, ADVISE, MOVE, DROP, NR_REGIONS };

struct region {
	unsigned long start;	/* read by all threads, written by the churner */
	unsigned long other;	/* MOVE: place to move to, mapped inaccessible */
	bool keeps;		/* contents must stay */
};

struct worker {
	pthread_t thread;
	int nr;
	unsigned long passes[NR_REGIONS];
	unsigned long bad;
	unsigned long faults;
};

static struct region regions[NR_REGIONS];
static struct worker workers[THREADS];
static struct numa_topo topo;
static unsigned long stop;
static __thread sigjmp_buf retry;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	siglongjmp(retry, 1);
}

/* Reads the word to *@old and writes @val; false if the access faulted. */
static bool exchange(const struct region *r, size_t offset, unsigned long val,
		     unsigned long *old)
{
	unsigned long *word;

	if (sigsetjmp(retry, 0))
		return false;
	word = (unsigned long *)(numa_load(&r->start) + offset);
	*old = numa_load(word);
	numa_store(word, val);
	return true;
}

static void one_pass(struct worker *w, enum region_kind kind)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct region *r = &regions[kind];
	unsigned long last = w->passes[kind];
	unsigned long old;
	size_t at;

	for (at = 0; at < REGION_SIZE; at += page) {
		while (!exchange(r, at + (w->nr + 1) * 64, last + 1, &old)) {
			w->faults++;
			sched_yield();
		}
		/* A faulting write may have been preceded by this very read only. */
		if (r->keeps)
			w->bad += old != last;
		else
			w->bad += old > last;
	}
	w->passes[kind] = last + 1;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned long pass;
	int kind;

	for (pass = 0; !numa_load(&stop); pass++) {
		if (pass % STAY == 0)
			numa_pin(&topo.node[(pass / STAY + w->nr) % topo.nr].cpus);
		for (kind = 0; kind < NR_REGIONS; kind++)
			one_pass(w, kind);
	}
	return NULL;
}

static unsigned long next_random(void)
{
	static unsigned long state = 88172645463325252UL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* A part of a region in whole pages, sometimes all of it. */
static void *pick(const struct region *r, size_t *len)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t pages = REGION_SIZE / page;
	size_t first;

	if (next_random() % 4 == 0) {
		*len = REGION_SIZE;
		return (void *)r->start;
	}
	first = next_random() % pages;
	*len = (1 + next_random() % (pages - first)) * page;
	return (void *)(r->start + first * page);
}

static bool churn_protect(void)
{
	int prot = next_random() % 2 ? PROT_READ : PROT_NONE;
	size_t len;
	void *mem = pick(&regions[PROTECT], &len);

	if (mprotect(mem, len, prot))
		return false;
	sched_yield();
	return !mprotect(mem, len, PROT_READ | PROT_WRITE);
}

static bool churn_advise(void)
{
	size_t len;
	void *mem = pick(&regions[ADVISE], &len);

	if (numa_thp_available())
		return !madvise(mem, len, next_random() % 2 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return !madvise(mem, len, MADV_NORMAL);
}

static bool churn_move(void)
{
	struct region *r = &regions[MOVE];
	unsigned long from = r->start;
	void *hole;

	if (mremap((void *)from, REGION_SIZE, REGION_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (void *)r->other) != (void *)r->other)
		return false;
	numa_store(&r->start, r->other);
	hole = mmap((void *)from, REGION_SIZE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	r->other = from;
	return hole == (void *)from;
}

static bool churn_drop(void)
{
	size_t len;
	void *mem = pick(&regions[DROP], &len);

	if (next_random() % 2)
		return !madvise(mem, len, MADV_DONTNEED);
	if (munmap(mem, len))
		return false;
	return mmap(mem, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem;
}

/* The parent's writes afterwards copy pages that may be marked. */
static bool churn_fork(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status);
}

static bool churn_once(void)
{
	switch (next_random() % 17) {
	case 0 ... 3:
		return churn_protect();
	case 4 ... 7:
		return churn_advise();
	case 8 ... 11:
		return churn_move();
	case 12 ... 15:
		return churn_drop();
	default:
		return churn_fork();
	}
}

static unsigned long count_lost(const struct region *r, int kind)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned long lost = 0;
	unsigned long *word;
	size_t at;
	int i;

	for (at = 0; at < REGION_SIZE; at += page)
		for (i = 0; i < THREADS; i++) {
			word = (unsigned long *)(r->start + at + (i + 1) * 64);
			lost += *word != workers[i].passes[kind];
		}
	return lost;
}

FIXTURE(churn_map) {
	int kmsg;
};

FIXTURE_SETUP(churn_map)
{
	struct sigaction action = {
		.sa_sigaction = on_segv,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};
	struct numa_buf buf;
	const char *why;
	int kind;

	numa_test_begin();
	numa_topo_read(&topo);
	why = numa_why_skip(&topo, 2);
	if (why)
		SKIP(return, "%s", why);
	for (kind = 0; kind < NR_REGIONS; kind++) {
		ASSERT_EQ(0, numa_buf_map(&buf, REGION_SIZE, MADV_HUGEPAGE));
		regions[kind].start = (unsigned long)buf.mem;
		regions[kind].keeps = kind != DROP;
	}
	ASSERT_EQ(0, numa_buf_map(&buf, REGION_SIZE, MADV_HUGEPAGE));
	ASSERT_EQ(0, mprotect(buf.mem, REGION_SIZE, PROT_NONE));
	regions[MOVE].other = (unsigned long)buf.mem;
	ASSERT_EQ(0, sigaction(SIGSEGV, &action, NULL));
	self->kmsg = numa_kmsg_open();
	numa_knobs_fast(1);
	numa_knob_write(NUMA_KNOB_SCAN_DELAY, 0);
	numa_knob_write(NUMA_KNOB_PERIOD_MAX, 100);
}

FIXTURE_TEARDOWN(churn_map)
{
	close(self->kmsg);
	numa_knobs_restore();
}

TEST_F_TIMEOUT(churn_map, no_write_is_lost, 90)
{
	unsigned long end = numa_now_ms() + BOUND_SECS * 1000;
	long marks = numa_vmstat("numa_pte_updates");
	long faults = numa_vmstat("numa_hint_faults");
	char first[256];
	int i, op;

	for (i = 0; i < THREADS; i++) {
		workers[i].nr = i;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	/* At least OPS changes, and long enough to be scanned and to fault. */
	for (op = 0; op < OPS || numa_vmstat("numa_hint_faults") == faults; op++) {
		ASSERT_TRUE(churn_once());
		if (op % 16 == 0)
			numa_sleep_ms(20);
		if (numa_now_ms() >= end)
			break;
	}
	numa_store(&stop, 1);
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);

	for (i = 0; i < THREADS; i++) {
		EXPECT_LT(0, workers[i].passes[PROTECT]);
		EXPECT_EQ(0, workers[i].bad);
	}
	for (i = 0; i < NR_REGIONS; i++)
		if (regions[i].keeps)
			EXPECT_EQ(0, count_lost(&regions[i], i));
	EXPECT_LT(marks, numa_vmstat("numa_pte_updates"));
	EXPECT_LT(faults, numa_vmstat("numa_hint_faults"));
	EXPECT_EQ(0, numa_kmsg_reports(self->kmsg, first, sizeof(first))) {
		TH_LOG("%s", first);
	}
	TH_LOG("%d changes, %lu + %lu + %lu passes", op, workers[0].passes[0],
	       workers[1].passes[0], workers[2].passes[0]);
}

int main(int argc, char **argv)
{
	numa_guard();
	return test_harness_run(argc, argv);
}
