// SPDX-License-Identifier: GPL-2.0
/*
 * Several processes, each with as many threads as a node has CPUs and with its
 * memory on a wrong node, are to separate: each to a node with its memory, and
 * with every CPU still at work. Tasks stacked on the CPUs of one node would be
 * local too, so the test wants both.
 *
 * Local share of a process: of all pairs of a page and a thread, those where
 * the page is on the node that the thread runs on.
 *
 * Usage: ./separate (as root; no other load)
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "numa_util.h"

#define MAX_PROCS	4
#define BUF_SIZE	(24 * NUMA_MB)
#define SAMPLE_STEP	(64 * 1024)
#define WINDOW		5
#define WANT_SHARE	75
#define WANT_BUSY	95
#define BOUND_SECS	35

struct proc {
	pid_t pid;
	int nr_threads;
	struct numa_buf buf;
	const struct numa_node *memory;
	const struct numa_node *start;
	unsigned int share[WINDOW];
};

FIXTURE(separate) {
	struct numa_topo topo;
	struct proc proc[MAX_PROCS];
	int nr_procs;
	int nr_cpus;
	cpu_set_t cpus;
	int go[2];
	unsigned long idle[WINDOW + 1];
	unsigned long at_ms[WINDOW + 1];
};

FIXTURE_VARIANT(separate) {
	bool one_node;
	int advice;
};

/* Each process begins with its memory on the node of the next process. */
FIXTURE_VARIANT_ADD(separate, rotated_small_pages) {
	.advice = MADV_NOHUGEPAGE,
};

/* All memory is on the first node. */
FIXTURE_VARIANT_ADD(separate, one_node_huge_pages) {
	.one_node = true,
	.advice = MADV_HUGEPAGE,
};

FIXTURE_SETUP(separate)
{
	const char *why;
	int i;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 2);
	if (why)
		SKIP(return, "%s", why);
	if (variant->advice == MADV_HUGEPAGE && !numa_thp_available())
		SKIP(return, "transparent huge pages are off");
	self->nr_procs = self->topo.nr < MAX_PROCS ? self->topo.nr : MAX_PROCS;
	for (i = 0; i < self->nr_procs; i++) {
		struct proc *p = &self->proc[i];

		p->start = &self->topo.node[i];
		p->memory = &self->topo.node[variant->one_node ? 0 : (i + 1) % self->nr_procs];
		p->nr_threads = p->start->nr_cpus;
		self->nr_cpus += p->nr_threads;
		CPU_OR(&self->cpus, &self->cpus, &p->start->cpus);
		ASSERT_EQ(0, numa_buf_map(&p->buf, BUF_SIZE, variant->advice));
	}
	ASSERT_EQ(0, pipe(self->go));
	/* The scan knobs stay as they are: the defaults are to do this. */
	ASSERT_EQ(0, numa_knob_write(NUMA_KNOB_MODE, 1));
}

FIXTURE_TEARDOWN(separate)
{
	numa_knobs_restore();
}

/* State of one worker process; each has its own copy. */
static struct numa_buf *work_buf;
static const cpu_set_t *work_cpus;
static unsigned long work_stop;

/* The first thread writes, all read everything. */
static void *work(void *writes)
{
	numa_pin(work_cpus);
	while (!numa_load(&work_stop))
		if (writes)
			numa_buf_touch(work_buf);
		else
			numa_buf_read(work_buf);
	return NULL;
}

static int run_proc(struct proc *p, const cpu_set_t *cpus, const int *go)
{
	pthread_t thread[CPU_SETSIZE];
	char byte;
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(go[1]);
	work_buf = &p->buf;
	work_cpus = cpus;
	if (numa_pin(&p->memory->cpus))
		return 2;
	numa_buf_fill(&p->buf);
	if (numa_pin(&p->start->cpus))
		return 2;
	for (i = 0; i < p->nr_threads; i++)
		if (pthread_create(&thread[i], NULL, work, i ? NULL : &p->buf))
			return 2;
	if (numa_pin(cpus))
		return 2;
	/* Ends when the parent closes its side. */
	while (read(go[0], &byte, 1) > 0)
		;
	numa_store(&work_stop, 1);
	for (i = 0; i < p->nr_threads; i++)
		pthread_join(thread[i], NULL);
	return numa_buf_check(&p->buf) ? 1 : 0;
}

/* Sums up, over the threads of @p but its waiting main thread, local pages. */
static unsigned int local_share(const struct numa_topo *topo, const struct proc *p)
{
	unsigned long local = 0, pairs = 0;
	struct numa_placement where;
	struct dirent *entry;
	char path[64];
	pid_t tid;
	int nid;
	DIR *dir;

	if (numa_placement(p->pid, p->buf.mem, BUF_SIZE, SAMPLE_STEP, &where))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		tid = atoi(entry->d_name);
		if (tid <= 0 || tid == p->pid)
			continue;
		nid = numa_node_of_cpu(topo, numa_thread_cpu(p->pid, tid));
		pairs += where.present + where.absent;
		local += nid < 0 ? 0 : where.on[nid];
	}
	closedir(dir);
	return pairs ? local * 100 / pairs : 0;
}

static unsigned int mean_share(const struct proc *p)
{
	unsigned int sum = 0;
	int i;

	for (i = 0; i < WINDOW; i++)
		sum += p->share[i];
	return sum / WINDOW;
}

/* Busy time of the CPUs from sample @from to sample @to, in percent. */
static unsigned int busy_percent(const unsigned long *idle, const unsigned long *at_ms,
				 int from, int to, int nr_cpus)
{
	unsigned long tick_ms = 1000 / sysconf(_SC_CLK_TCK);
	unsigned long idle_ms = (idle[to] - idle[from]) * tick_ms;
	unsigned long all_ms = (at_ms[to] - at_ms[from]) * nr_cpus;

	return idle_ms >= all_ms ? 0 : 100 - (idle_ms * 100 + all_ms - 1) / all_ms;
}

TEST_F_TIMEOUT(separate, and_stay_busy, 120)
{
	unsigned int busy = 0;
	int i, sec, status;
	bool settled = false;

	for (i = 0; i < self->nr_procs; i++) {
		self->proc[i].pid = fork();
		ASSERT_LE(0, self->proc[i].pid);
		if (!self->proc[i].pid)
			_exit(run_proc(&self->proc[i], &self->cpus, self->go));
	}
	close(self->go[0]);

	for (sec = 0; sec < BOUND_SECS && !settled; sec++) {
		numa_sleep_ms(1000);
		memmove(self->idle, self->idle + 1, WINDOW * sizeof(self->idle[0]));
		memmove(self->at_ms, self->at_ms + 1, WINDOW * sizeof(self->at_ms[0]));
		ASSERT_EQ(0, numa_idle_ticks(&self->cpus, &self->idle[WINDOW]));
		self->at_ms[WINDOW] = numa_now_ms();
		settled = sec > WINDOW;
		for (i = 0; i < self->nr_procs; i++) {
			struct proc *p = &self->proc[i];

			p->share[sec % WINDOW] = local_share(&self->topo, p);
			settled &= mean_share(p) >= WANT_SHARE;
		}
		if (sec > WINDOW)
			busy = busy_percent(self->idle, self->at_ms, 0, WINDOW, self->nr_cpus);
		settled &= busy >= WANT_BUSY;
	}

	EXPECT_LE(WANT_BUSY, busy);
	for (i = 0; i < self->nr_procs; i++) {
		TH_LOG("process %d: local share %u %% in second %d", i,
		       mean_share(&self->proc[i]), sec);
		EXPECT_LE(WANT_SHARE, mean_share(&self->proc[i]));
	}
	close(self->go[1]);
	for (i = 0; i < self->nr_procs; i++) {
		ASSERT_EQ(self->proc[i].pid, waitpid(self->proc[i].pid, &status, 0));
		EXPECT_TRUE(WIFEXITED(status));
		EXPECT_EQ(0, WEXITSTATUS(status));
	}
}

int main(int argc, char **argv)
{
	numa_guard();
	return test_harness_run(argc, argv);
}
