// SPDX-License-Identifier: GPL-2.0
/*
 * Thousands of short-lived tasks under the most aggressive scanning: none
 * fails, nothing leaks, the kernel log stays clean.
 *
 * Usage: ./churn (as root)
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "../kselftest_harness.h"
#include "numa_util.h"

#define TASKS		2000
#define WARM_UP		400
#define MAX_WORKERS	8
#define CHILD_ARG	"--short-task"
/* An address space with less than 1 MB of its own is not scanned. */
#define TASK_BYTES	(1280 * 1024UL)
#define TASK_CPU_MS	10
/* 2,000 leaked objects of 256 bytes; caches that grow for a while stay below. */
#define LEAK_KB		500
#define SETTLE_SECS	8
#define KMEMLEAK	"/sys/kernel/debug/kmemleak"
/* Younger objects are not reported. */
#define KMEMLEAK_AGE_MS	6000

static unsigned long cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000UL + ts.tv_nsec / 1000000;
}

/* Long enough for a few ticks, so that scans and faults meet the exit. */
static int short_task(unsigned long ms)
{
	unsigned long end = cpu_ms() + ms;
	unsigned long passes = 0;
	size_t i;
	char *mem;

	mem = mmap(NULL, TASK_BYTES, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return 2;
	do {
		for (i = 0; i < TASK_BYTES; i += 1024) {
			if (mem[i] != (char)passes)
				return 3;
			mem[i] = passes + 1;
		}
		passes++;
	} while (cpu_ms() < end);
	munmap(mem, TASK_BYTES);
	return 0;
}

static void *short_thread(void *ms)
{
	if (short_task((unsigned long)ms))
		_exit(1);
	return NULL;
}

/* The main thread leaves first, the others one after the other. */
static int leaving_threads(void)
{
	pthread_t thread;
	unsigned long i;

	for (i = 1; i <= 3; i++)
		if (pthread_create(&thread, NULL, short_thread, (void *)(i * 4)))
			return 1;
	pthread_exit(NULL);
}

static int exec_self(void)
{
	execl("/proc/self/exe", "churn", CHILD_ARG, NULL);
	return 1;
}

static pid_t start_vfork(bool with_exec)
{
	pid_t pid = vfork();

	if (!pid) {
		if (with_exec)
			execl("/proc/self/exe", "churn", CHILD_ARG, NULL);
		_exit(with_exec);
	}
	return pid;
}

static int run_kind(unsigned int kind)
{
	switch (kind) {
	case 0:
		return 0;
	case 1:
		return short_task(TASK_CPU_MS);
	case 2:
		return exec_self();
	default:
		return leaving_threads();
	}
}

static int one_task(unsigned int nr)
{
	unsigned int kind = nr % 6;
	int status;
	pid_t pid;

	if (kind >= 4) {
		pid = start_vfork(kind == 5);
	} else {
		pid = fork();
		if (!pid)
			_exit(run_kind(kind));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

/* Runs @tasks short tasks from several processes; returns how many failed. */
static int run_tasks(unsigned int tasks, unsigned int workers)
{
	unsigned int i, w;
	int failed = 0;
	int status;

	for (w = 0; w < workers; w++) {
		pid_t pid = fork();

		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (i = w; i < tasks; i += workers)
			failed += one_task(i / workers);
		_exit(failed > 255 ? 255 : failed);
	}
	for (w = 0; w < workers; w++) {
		if (wait(&status) < 0 || !WIFEXITED(status))
			failed++;
		else
			failed += WEXITSTATUS(status);
	}
	return failed;
}

static long slab_kb(void)
{
	return numa_file_key("/proc/meminfo", "SUnreclaim:");
}

static long stacks_kb(void)
{
	return numa_file_key("/proc/meminfo", "KernelStack:");
}

static bool kmemleak_write(const char *command)
{
	int fd = open(KMEMLEAK, O_WRONLY);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, command, strlen(command)) > 0;
	close(fd);
	return done;
}

static int kmemleak_reports(void)
{
	FILE *f = fopen(KMEMLEAK, "r");
	char line[256];
	int found = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		found += !strncmp(line, "unreferenced", strlen("unreferenced"));
		printf("# %s", line);
	}
	fclose(f);
	return found;
}

FIXTURE(churn) {
	struct numa_topo topo;
	unsigned int workers;
	int kmsg;
};

FIXTURE_SETUP(churn)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const char *why;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 1);
	if (why)
		SKIP(return, "%s", why);
	self->workers = cpus < MAX_WORKERS ? cpus : MAX_WORKERS;
	self->kmsg = numa_kmsg_open();
	numa_knobs_fast(1);
	numa_knob_write(NUMA_KNOB_SCAN_DELAY, 0);
	numa_knob_write(NUMA_KNOB_PERIOD_MAX, 100);
}

FIXTURE_TEARDOWN(churn)
{
	close(self->kmsg);
	numa_knobs_restore();
}

TEST_F_TIMEOUT(churn, short_tasks, 180)
{
	long marks = numa_vmstat("numa_pte_updates");
	unsigned long end;
	long slab, stacks;
	bool kmemleak;
	char first[256];

	ASSERT_EQ(0, run_tasks(WARM_UP, self->workers));
	numa_sleep_ms(1000);
	kmemleak = kmemleak_write("clear");
	slab = slab_kb();
	stacks = stacks_kb();
	ASSERT_LT(0, slab);

	EXPECT_EQ(0, run_tasks(TASKS, self->workers));
	if (self->topo.nr > 1)
		EXPECT_LT(marks, numa_vmstat("numa_pte_updates"));

	/* What is freed after a grace period needs a moment. */
	end = numa_now_ms() + SETTLE_SECS * 1000;
	do {
		numa_sleep_ms(500);
	} while (slab_kb() > slab + LEAK_KB && numa_now_ms() < end);
	EXPECT_GE(slab + LEAK_KB, slab_kb());
	EXPECT_GE(stacks + LEAK_KB, stacks_kb());
	if (kmemleak) {
		numa_sleep_ms(KMEMLEAK_AGE_MS);
		kmemleak_write("scan");
		kmemleak_write("scan");
		EXPECT_EQ(0, kmemleak_reports());
	}
	EXPECT_EQ(0, numa_kmsg_reports(self->kmsg, first, sizeof(first))) {
		TH_LOG("%s", first);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], CHILD_ARG))
		return short_task(TASK_CPU_MS / 2);
	numa_guard();
	return test_harness_run(argc, argv);
}
