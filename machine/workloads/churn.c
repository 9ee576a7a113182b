// SPDX-License-Identifier: GPL-2.0
/*
 * churn: short-lived tasks and nothing beside them. Each of --threads starts one, waits for its
 * end, and starts the next. --kind says what they are:
 *
 *	threads		threads of the process
 *	processes	processes by fork
 *	exec		processes that this program is started in again
 *
 * Such a task gets --memory KB of its own, goes over them --passes times, which takes a few ms, and
 * hands its result over. To look at its memory in order to place it would cost more than it can
 * ever give back. --size has no meaning. A unit is a task.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

/* The first argument of a program started by exec; no option, so nobody sees it in --help. */
#define HIDDEN		"short-lived"
#define RIGHT_STATUS	17	/* not what a program ends with that has lost its way */

enum kind { KIND_THREADS, KIND_PROCESSES, KIND_EXEC };

/* 70000 instructions: 4 ms of one of 8 CPUs of the measuring machine. */
static unsigned long kind, memory_kb = 32, passes = 2;

static const struct work_option options[] = {
	{ "kind", "threads|processes|exec", 0, 0, &kind },
	{ "memory", NULL, 4, 1 << 20, &memory_kb },
	{ "passes", NULL, 1, 1000000, &passes },
	{ },
};

/* What a task is told and what comes of it. */
struct task {
	unsigned long words;
	unsigned long passes;
	uint64_t key;
	uint64_t sum;
};

/* What a thread at work knows of its tasks: sums of all results, and of what they had to be. */
struct starter {
	uint64_t started;
	uint64_t failed;
	uint64_t sum;
	uint64_t expected;
};

static struct starter starters[WORK_THREADS];

/* --- the short life --- */

static uint64_t word_of(const struct task *task, unsigned long i)
{
	return task->key + i * 0x9e3779b97f4a7c15ull;
}

/* The sum of key + i * constant, a word at a time; each pass adds one to each word. */
static uint64_t expected_sum(const struct task *task)
{
	uint64_t n = task->words, sum = 0, pass;
	uint64_t once = n * task->key + n * (n - 1) / 2 * 0x9e3779b97f4a7c15ull;

	for (pass = 0; pass < task->passes; pass++)
		sum += once + pass * n;
	return sum;
}

static void live(struct task *task)
{
	unsigned long bytes = task->words * sizeof(uint64_t), i, pass;
	volatile uint64_t *words;

	words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (words == MAP_FAILED)
		err(1, "memory of a task");
	for (i = 0; i < task->words; i++)
		words[i] = word_of(task, i);
	work_plant((void *)words, bytes);
	for (pass = 0; pass < task->passes; pass++)
		for (i = 0; i < task->words; i++)
			task->sum += words[i]++;
	munmap((void *)words, bytes);
}

static void *thread_life(void *data)
{
	live(data);
	return NULL;
}

/* Of a process: the result goes to a pipe. */
static int process_life(struct task *task, int to)
{
	live(task);
	return write(to, &task->sum, sizeof(task->sum)) == sizeof(task->sum) ? RIGHT_STATUS : 1;
}

static int exec_life(int argc, char **argv)
{
	struct task task = { 0 };

	if (argc != 5)
		return 2;
	task.words = strtoul(argv[2], NULL, 10);
	task.passes = strtoul(argv[3], NULL, 10);
	task.key = strtoul(argv[4], NULL, 10);
	return process_life(&task, STDOUT_FILENO);
}

/* --- the life of those that start them --- */

static bool run_thread(struct task *task)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, thread_life, task);
	if (errno)
		err(1, "a thread");
	return !pthread_join(thread, NULL);
}

static pid_t start_process(struct task *task, const int *ends)
{
	pid_t pid = fork();

	if (!pid)
		_exit(process_life(task, ends[1]));
	return pid;
}

static pid_t start_exec(struct task *task, const int *ends)
{
	char words[24], times[24], key[24];
	char *argv[] = { "churn", HIDDEN, words, times, key, NULL };
	char *environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	snprintf(words, sizeof(words), "%lu", task->words);
	snprintf(times, sizeof(times), "%lu", task->passes);
	snprintf(key, sizeof(key), "%lu", (unsigned long)task->key);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	errno = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	return errno ? -1 : pid;
}

static bool run_process(struct task *task)
{
	int ends[2], status;
	bool right;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		err(1, "pipe");
	pid = kind == KIND_EXEC ? start_exec(task, ends) : start_process(task, ends);
	if (pid < 0)
		err(1, "a process");
	close(ends[1]);
	right = read(ends[0], &task->sum, sizeof(task->sum)) == sizeof(task->sum);
	close(ends[0]);
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	return right && WIFEXITED(status) && WEXITSTATUS(status) == RIGHT_STATUS;
}

static void init(unsigned int process)
{
}

static void thread_init(struct work_thread *thread)
{
	thread->data = &starters[thread->id];
}

static void step(struct work_thread *thread)
{
	struct starter *starter = thread->data;
	struct task task = {
		.words = (memory_kb << 10) / sizeof(uint64_t),
		.passes = passes,
		.key = work_random(&thread->random),
	};

	starter->started++;
	if (!(kind == KIND_THREADS ? run_thread(&task) : run_process(&task)))
		starter->failed++;
	starter->sum += work_mix(task.sum);
	starter->expected += work_mix(expected_sum(&task));
	thread->units++;
}

static bool verify(unsigned int process)
{
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		struct starter *starter = &starters[i];

		if (!starter->started || starter->failed || starter->sum != starter->expected) {
			work_wrong("process %u, thread %u: %lu of %lu tasks failed, sums %s",
				   process, i, (unsigned long)starter->failed,
				   (unsigned long)starter->started,
				   starter->sum == starter->expected ? "equal" : "differ");
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct work_ops ops = {
		.name		= "churn",
		.summary	= "threads, processes or programs that live for a few ms",
		.defaults	= { WORK_MB, 1, 8, 20, 0, PIN_NONE },
		.extra		= options,
		.long_steps	= true,
		.init		= init,
		.thread_init	= thread_init,
		.step		= step,
		.verify		= verify,
	};

	if (argc > 1 && !strcmp(argv[1], HIDDEN))
		return exec_life(argc, argv);
	return work_main(&ops, argc, argv);
}
