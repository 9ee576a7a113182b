// SPDX-License-Identifier: GPL-2.0
/* What the workloads have in common; see work.h. */
#define _GNU_SOURCE
#define MACHINE_MARK_GUEST
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../plugin/mark.h"
#include "../plugin/oracle.h"
#include "work.h"

#define MAX_CPUS	256
#define POLICY_DEFAULT	0
#define POLICY_BIND	2
#define POLICY_INTERLEAVE 3

struct work_options work;

static const struct work_ops *ops;
static unsigned int nr_cpus, nr_nodes;
static unsigned int cpus[MAX_CPUS];	/* by node */
static unsigned int nodes[MAX_CPUS];	/* of a CPU number */
static volatile bool over;

static struct work_thread threads[WORK_THREADS];
static pthread_t handles[WORK_THREADS];
static pthread_barrier_t ready, go;

/* What the parent knows of a process: where to write to it, where to hear from it. */
static struct child {
	pid_t pid;
	int to;
	int from;
} children[WORK_PROCESSES];

/* --- options --- */

void work_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", ops->name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

void work_wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: wrong result: ", ops->name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static unsigned long size_mb, processes, nr_threads, seconds, pin;
#ifdef WORK_PLANT
static unsigned long plant;
#endif

static struct work_option common[] = {
	{ "size", NULL, 1, 1 << 20, &size_mb },
	{ "processes", NULL, 1, WORK_PROCESSES, &processes },
	{ "threads", NULL, 1, WORK_THREADS, &nr_threads },
	{ "seconds", NULL, 1, 100000, &seconds },
	{ "seed", NULL, 0, 1ul << 32, &work.seed },
	{ "pin", "none|hard|inverse", 0, 0, &pin },
#ifdef WORK_PLANT
	{ "plant", NULL, 0, 1000, &plant },
#endif
};

#define NR_COMMON	(sizeof(common) / sizeof(common[0]))

static const struct work_option *find_option(const char *name)
{
	const struct work_option *option;
	unsigned int i;

	for (i = 0; i < NR_COMMON; i++)
		if (!strcmp(common[i].name, name))
			return &common[i];
	for (option = ops->extra; option && option->name; option++)
		if (!strcmp(option->name, name))
			return option;
	work_usage("no option '--%s'; see --help", name);
}

/* The index of a word in "a|b|c". */
static unsigned long word_index(const struct work_option *option, const char *text)
{
	const char *at = option->words;
	unsigned long index = 0;
	size_t length;

	for (;; index++, at += length + 1) {
		length = strcspn(at, "|");
		if (length == strlen(text) && !strncmp(at, text, length))
			return index;
		if (!at[length])
			work_usage("--%s %s: not one of %s", option->name, text, option->words);
	}
}

static void set_option(const struct work_option *option, const char *text)
{
	unsigned long number;
	char *end;

	if (option->words) {
		*option->value = word_index(option, text);
		return;
	}
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || number < option->least ||
	    number > option->most)
		work_usage("--%s %s: not a number from %lu to %lu", option->name, text,
			   option->least, option->most);
	*option->value = number;
}

static void print_option(const struct work_option *option)
{
	const char *at = option->words;
	unsigned long skip;

	if (!option->words) {
		printf("  --%s NUMBER (%lu)\n", option->name, *option->value);
		return;
	}
	for (skip = *option->value; skip; skip--)
		at += strcspn(at, "|") + 1;
	printf("  --%s %s (%.*s)\n", option->name, option->words, (int)strcspn(at, "|"), at);
}

static void help(void)
{
	const struct work_option *option;
	unsigned int i;

	printf("%s: %s\n", ops->name, ops->summary);
	for (i = 0; i < NR_COMMON; i++)
		print_option(&common[i]);
	for (option = ops->extra; option && option->name; option++)
		print_option(option);
	exit(0);
}

static void read_options(int argc, char **argv)
{
	int i;

	size_mb = ops->defaults.size / WORK_MB;
	processes = ops->defaults.processes;
	nr_threads = ops->defaults.threads;
	seconds = ops->defaults.seconds;

	for (i = 1; i < argc; i += 2) {
		if (!strcmp(argv[i], "--help"))
			help();
		if (strncmp(argv[i], "--", 2))
			work_usage("'%s' is no option; see --help", argv[i]);
		if (i + 1 == argc)
			work_usage("%s needs a value", argv[i]);
		set_option(find_option(argv[i] + 2), argv[i + 1]);
	}
	work.size = size_mb * WORK_MB;
	work.processes = processes;
	work.threads = nr_threads;
	work.seconds = seconds;
	work.pin = pin;
}

/* --- the machine --- */

unsigned int work_nr_cpus(void)
{
	return nr_cpus;
}

unsigned int work_nr_nodes(void)
{
	return nr_nodes;
}

unsigned int work_node_of_cpu(unsigned int cpu)
{
	return nodes[cpu];
}

static bool cpu_on_node(unsigned int cpu, unsigned int node)
{
	char name[64];

	snprintf(name, sizeof(name), "/sys/devices/system/node/node%u/cpu%u", node, cpu);
	return !access(name, F_OK);
}

/* CPUs that we may use, node by node. Nodes are numbered without gaps. */
static void look_at_machine(void)
{
	unsigned int node, cpu;
	cpu_set_t set;
	char name[64];

	if (sched_getaffinity(0, sizeof(set), &set))
		err(1, "sched_getaffinity");
	for (node = 0;; node++) {
		snprintf(name, sizeof(name), "/sys/devices/system/node/node%u", node);
		if (access(name, F_OK))
			break;
		for (cpu = 0; cpu < MAX_CPUS; cpu++) {
			if (!CPU_ISSET(cpu, &set) || !cpu_on_node(cpu, node))
				continue;
			cpus[nr_cpus++] = cpu;
			nodes[cpu] = node;
		}
	}
	nr_nodes = node ? node : 1;
	/* A kernel without NUMA: one node. */
	for (cpu = 0; !nr_cpus && cpu < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[nr_cpus++] = cpu;
}

/*
 * Where a careful administrator would pin a thread: neighbours on neighbouring CPUs, spread over
 * all CPUs where there are more of these.
 */
unsigned int work_cpu_of(unsigned int process, unsigned int thread)
{
	unsigned int total = work.processes * work.threads;
	unsigned int index = process * work.threads + thread;

	if (total < nr_cpus)
		index = index * nr_cpus / total;
	return cpus[index % nr_cpus];
}

/* On another node, if there is another one with CPUs: they are in order of nodes. */
unsigned int work_far_cpu(unsigned int process, unsigned int thread)
{
	unsigned int i = 0, cpu = work_cpu_of(process, thread);

	while (cpus[i] != cpu)
		i++;
	return cpus[(i + nr_cpus / 2) % nr_cpus];
}

/* The node for the memory of a thread in the pinned modes. */
unsigned int work_memory_node(unsigned int process, unsigned int thread)
{
	unsigned int node = work_node_of_cpu(work_cpu_of(process, thread));

	if (work.pin == PIN_INVERSE)
		node = (node + (nr_nodes + 1) / 2) % nr_nodes;
	return node;
}

void work_run_on(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %u", cpu);
}

void work_run_on_node(unsigned int node)
{
	unsigned int i;
	cpu_set_t set;

	CPU_ZERO(&set);
	for (i = 0; i < nr_cpus; i++)
		if (nodes[cpus[i]] == node)
			CPU_SET(cpus[i], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPUs of node %u", node);
}

void work_run_anywhere(void)
{
	unsigned int i;
	cpu_set_t set;

	CPU_ZERO(&set);
	for (i = 0; i < nr_cpus; i++)
		CPU_SET(cpus[i], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "sched_setaffinity");
}

/* --- memory --- */

#ifdef WORK_PLANT
/* The first memory of a process: where damage is planted. */
static struct {
	char *start;
	unsigned long bytes;
	bool known;
} first_memory;

static void remember_first(char *start, unsigned long bytes)
{
	if (__atomic_exchange_n(&first_memory.known, true, __ATOMIC_RELAXED))
		return;
	first_memory.start = start;
	first_memory.bytes = bytes;
}

void work_plant(void *start, unsigned long bytes)
{
	static bool done;
	unsigned long pages = (bytes - 1) / WORK_PAGE, i;
	uint64_t *word;

	if (!plant || !start || __atomic_exchange_n(&done, true, __ATOMIC_RELAXED))
		return;
	word = (uint64_t *)((char *)start + pages * (plant - 1) / 1000 * WORK_PAGE);
	for (i = 0; i < WORK_PAGE / sizeof(*word); i++)
		word[i] = ~word[i];
}

static void plant_first(unsigned int process)
{
	if (!process)
		work_plant(first_memory.start, first_memory.bytes);
}
#else
static void remember_first(char *start, unsigned long bytes)
{
}

static void plant_first(unsigned int process)
{
}
#endif

void *work_alloc(unsigned long bytes)
{
	unsigned long align = 2 * WORK_MB;
	char *start;

	/* Aligned, so that huge pages are the same in all runs. */
	start = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (start == MAP_FAILED)
		err(1, "%lu MB of memory", bytes / WORK_MB);
	start += (align - (unsigned long)start % align) % align;
	remember_first(start, bytes);
	return start;
}

static void set_policy(void *start, unsigned long bytes, int policy, unsigned long mask)
{
	unsigned long from = (unsigned long)start & ~(WORK_PAGE - 1);

	bytes += (unsigned long)start - from;
	if (nr_nodes > 1 && syscall(SYS_mbind, from, bytes, policy, &mask, 64ul, 0))
		err(1, "mbind");
}

void work_place(void *start, unsigned long bytes, unsigned int process, unsigned int thread)
{
	if (work.pin != PIN_NONE)
		set_policy(start, bytes, POLICY_BIND, 1ul << work_memory_node(process, thread));
}

/* Memory that all threads of a process use: on all of their nodes in equal parts. */
void work_place_shared(void *start, unsigned long bytes, unsigned int process)
{
	unsigned long mask = 0;
	unsigned int i;

	if (work.pin == PIN_NONE)
		return;
	for (i = 0; i < work.threads; i++)
		mask |= 1ul << work_memory_node(process, i);
	set_policy(start, bytes, POLICY_INTERLEAVE, mask);
}

void work_bind(void *start, unsigned long bytes, unsigned long mask)
{
	set_policy(start, bytes, mask ? POLICY_BIND : POLICY_DEFAULT, mask);
}

void work_oracle(void *start, unsigned long bytes, unsigned int users)
{
	/* Not there without NUMA; the oracle is then of no interest either. */
	if (machine_oracle(start, bytes, users) && errno != ENOSYS)
		err(1, "move_pages");
}

/* --- numbers --- */

/* The finaliser of splitmix64 (Steele, Lea and Flood 2014). */
uint64_t work_mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

uint64_t work_random(uint64_t *state)
{
	return work_mix(*state += 0x9e3779b97f4a7c15ull);
}

/* --- a process and its threads --- */

bool work_over(void)
{
	return over;
}

/* Nobody signals that time is over: look for it every 10 ms. */
static void barrier_sleep(struct work_barrier *barrier)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += 10000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_clockwait(&barrier->all, &barrier->lock, CLOCK_MONOTONIC, &until);
}

bool work_barrier_wait(struct work_barrier *barrier)
{
	unsigned int turn;
	bool complete;

	pthread_mutex_lock(&barrier->lock);
	turn = barrier->turn;
	if (++barrier->waiting == work.threads) {
		barrier->waiting = 0;
		barrier->turn++;
		pthread_cond_broadcast(&barrier->all);
	}
	while (barrier->turn == turn && !over)
		barrier_sleep(barrier);
	complete = barrier->turn != turn;
	/* Once one has left, all cannot have come any more: the others leave as well. */
	if (!complete)
		barrier->waiting--;
	pthread_mutex_unlock(&barrier->lock);
	return complete;
}

static void report_units(struct work_thread *thread)
{
	machine_add(KEY_UNITS, thread->units);
	thread->units = 0;
}

static void *thread_main(void *data)
{
	struct work_thread *thread = data;
	unsigned int steps = 0;

	if (work.pin != PIN_NONE)
		work_run_on(thread->cpu);
	if (ops->thread_init)
		ops->thread_init(thread);
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&go);
	while (!over) {
		ops->step(thread);
		if (++steps % 16 == 0 || ops->long_steps)
			report_units(thread);
	}
	report_units(thread);
	if (ops->thread_exit)
		ops->thread_exit(thread);
	return NULL;
}

static void start_threads(unsigned int process)
{
	unsigned int i;

	pthread_barrier_init(&ready, NULL, work.threads + 1);
	pthread_barrier_init(&go, NULL, work.threads + 1);
	for (i = 0; i < work.threads; i++) {
		threads[i].process = process;
		threads[i].id = i;
		threads[i].cpu = work_cpu_of(process, i);
		threads[i].random = work_mix(work.seed << 32 | process << 16 | i);
		errno = pthread_create(&handles[i], NULL, thread_main, &threads[i]);
		if (errno)
			err(1, "thread %u", i);
	}
}

/* Wait for the parent's word. If it is gone there is nothing left to do. */
static void await(int from)
{
	char word;

	if (read(from, &word, 1) != 1)
		_exit(1);
}

static void say(int to)
{
	if (write(to, "!", 1) != 1)
		_exit(1);
}

/* Seeds shift the processes against each other by up to 50 ms. */
static void stagger(unsigned int process)
{
	struct timespec time = {
		.tv_nsec = work_mix(work.seed << 16 | process) % 50000000,
	};

	nanosleep(&time, NULL);
}

static void child_main(unsigned int process, int from, int to)
{
	unsigned int i;
	bool right;

	stagger(process);
	if (work.pin != PIN_NONE)
		work_run_on(work_cpu_of(process, 0));
	ops->init(process);
	start_threads(process);
	pthread_barrier_wait(&ready);
	say(to);
	await(from);
	pthread_barrier_wait(&go);
	await(from);
	over = true;
	for (i = 0; i < work.threads; i++)
		pthread_join(handles[i], NULL);
	say(to);
	await(from);
	if (ops->settle)
		ops->settle();
	plant_first(process);
	right = ops->verify(process);
	fflush(NULL);
	_exit(!right);
}

/* --- the parent --- */

static void start_child(unsigned int process)
{
	struct child *child = &children[process];
	int down[2], up[2];

	if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
		err(1, "pipe");
	child->pid = fork();
	if (child->pid < 0)
		err(1, "fork");
	if (!child->pid) {
		close(down[1]);
		close(up[0]);
		child_main(process, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	child->to = down[1];
	child->from = up[0];
}

static void tell_all(void)
{
	unsigned int i;

	for (i = 0; i < work.processes; i++)
		say(children[i].to);
}

/* A child that fails says why on its own; then there is no word from it. */
static void hear_all(void)
{
	unsigned int i;
	char word;

	for (i = 0; i < work.processes; i++)
		if (read(children[i].from, &word, 1) != 1)
			exit(1);
}

static int wait_for_all(void)
{
	int status, result = 0;
	unsigned int i;

	for (i = 0; i < work.processes; i++)
		if (waitpid(children[i].pid, &status, 0) < 0 || status)
			result = 1;
	return result;
}

static void sleep_until(struct timespec *time)
{
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, time, NULL))
		;
}

int work_main(const struct work_ops *operations, int argc, char **argv)
{
	struct timespec time;
	unsigned int i;

	ops = operations;
	read_options(argc, argv);
	look_at_machine();
	if (ops->check)
		ops->check();
	for (i = 0; i < work.processes; i++)
		start_child(i);
	hear_all();

	clock_gettime(CLOCK_MONOTONIC, &time);
	machine_mark(MARK_INIT_END);
	tell_all();
	for (i = 1; i <= work.seconds; i++) {
		time.tv_sec++;
		sleep_until(&time);
		if (i < work.seconds)
			machine_mark(MARK_TICK);
	}
	tell_all();
	hear_all();
	machine_mark(MARK_WORK_END);
	tell_all();
	return wait_for_all();
}
