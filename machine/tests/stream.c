// SPDX-License-Identifier: GPL-2.0
/*
 * stream THREADS CPUS PLACE MIB SECONDS SEED: the instrument's own test program.
 *
 * Each thread stays on a CPU (CPUS: "all", or a list like 0,1 that is dealt out in turn) and reads
 * its own MIB of memory again and again. PLACE says where that lies: local (on the node of the
 * CPU), remote (on the next node), mix (pages alternate between the two), far (on the next node
 * too, but by first touch, so a balancer may move it) or any (no policy; threads are not bound to
 * CPUs either).
 */
#define _GNU_SOURCE
#define MACHINE_MARK_GUEST
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../plugin/mark.h"
#include "../plugin/oracle.h"

#define MAX_THREADS	64
#define PAGE		4096ul
#define LINE		64ul
#define POLICY_BIND	2

struct worker {
	pthread_t thread;
	int cpu;
	char *data;
	volatile uint64_t lines;
	bool torn;
} __attribute__((aligned(128)));

static struct worker workers[MAX_THREADS];
static unsigned int nr_workers, nr_nodes;
static unsigned long bytes;
static const char *place;
static pthread_barrier_t ready;
static volatile bool stop;

/* The node of the CPU that we run on. */
static unsigned int own_node(void)
{
	unsigned int cpu, node;

	if (syscall(SYS_getcpu, &cpu, &node, NULL))
		err(1, "getcpu");
	return node;
}

/* Nodes are numbered without gaps. */
static unsigned int count_nodes(void)
{
	unsigned int nr = 0;
	char name[64];

	do
		sprintf(name, "/sys/devices/system/node/node%u", nr);
	while (!access(name, F_OK) && ++nr);
	return nr;
}

/* Bind a range to a node. */
static void bind_range(char *start, unsigned long length, unsigned int node)
{
	unsigned long mask = 1ul << node;

	if (syscall(SYS_mbind, start, length, POLICY_BIND, &mask, 64ul, 0))
		err(1, "mbind");
}

/* Place the memory of a worker. */
static void bind_data(char *data)
{
	unsigned int near = own_node(), far = (near + 1) % nr_nodes;
	unsigned long at;

	if (!strcmp(place, "local"))
		bind_range(data, bytes, near);
	else if (!strcmp(place, "remote"))
		bind_range(data, bytes, far);
	else if (!strcmp(place, "mix"))
		for (at = 0; at < bytes; at += PAGE)
			bind_range(data + at, PAGE, at / PAGE % 2 ? near : far);
}

/* Run on one CPU only. */
static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %d", cpu);
}

/* Each line holds its own number. */
static void fill(char *data, unsigned long value)
{
	unsigned long at;

	for (at = 0; at < bytes; at += LINE)
		*(unsigned long *)(data + at) = value + at;
}

/* Some CPU of another node; our own if there is none. */
static int far_cpu(int cpu)
{
	unsigned int home = own_node();
	int all = sysconf(_SC_NPROCESSORS_ONLN), i;

	for (i = 1; i < all; i++) {
		stay_on((cpu + i) % all);
		if (own_node() != home)
			return (cpu + i) % all;
	}
	return cpu;
}

/* Read everything once; false if something is not what was written. */
static bool pass(struct worker *w, unsigned long value)
{
	unsigned long at, bad = 0;

	for (at = 0; at < bytes && !stop; at += LINE) {
		bad |= *(volatile unsigned long *)(w->data + at) ^ (value + at);
		if (!(at % (1024 * LINE)))
			w->lines += 1024;
	}
	return !bad;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned long value = (unsigned long)(w - workers) << 40;

	if (w->cpu >= 0)
		stay_on(w->cpu);
	w->data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->data == MAP_FAILED)
		err(1, "mmap");
	bind_data(w->data);
	if (!strcmp(place, "far"))
		stay_on(far_cpu(w->cpu));
	fill(w->data, value);
	if (!strcmp(place, "far"))
		stay_on(w->cpu);
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&ready);
	while (!stop)
		w->torn |= !pass(w, value);
	return NULL;
}

/* Work done by all threads. */
static uint64_t units(void)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		sum += workers[i].lines;
	return sum;
}

/* Deal the CPUs of a list out to the workers. */
static void deal_cpus(const char *list, bool bound)
{
	int cpus[MAX_THREADS], nr = 0, all = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int i;
	char *end;

	if (!strcmp(list, "all"))
		for (; nr < all && nr < MAX_THREADS; nr++)
			cpus[nr] = nr;
	else
		for (; *list && nr < MAX_THREADS; list = *end ? end + 1 : end)
			cpus[nr++] = strtol(list, &end, 10);
	for (i = 0; i < nr_workers; i++)
		workers[i].cpu = bound ? cpus[i % nr] : -1;
}

static void start_workers(void)
{
	unsigned int i;

	pthread_barrier_init(&ready, NULL, nr_workers + 1);
	for (i = 0; i < nr_workers; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			errx(1, "no thread");
	pthread_barrier_wait(&ready);
}

/* Let them work for some seconds. */
static void measure(unsigned int seconds)
{
	uint64_t now, before = 0;

	machine_mark(MARK_INIT_END);
	pthread_barrier_wait(&ready);
	while (seconds--) {
		usleep(1000000);
		now = units();
		machine_add(KEY_UNITS, now - before);
		before = now;
	}
	machine_mark(MARK_WORK_END);
	stop = true;
}

/* Collect the workers; 1 if any saw torn memory. */
static int end_workers(void)
{
	unsigned int i;
	int bad = 0;

	for (i = 0; i < nr_workers; i++) {
		pthread_join(workers[i].thread, NULL);
		bad |= workers[i].torn;
	}
	return bad;
}

int main(int argc, char **argv)
{
	unsigned int i;
	int bad;

	if (argc != 7)
		errx(2, "usage: stream THREADS CPUS PLACE MIB SECONDS SEED");
	nr_workers = atoi(argv[1]);
	if (!nr_workers || nr_workers > MAX_THREADS)
		errx(2, "1 to %d threads", MAX_THREADS);
	place = argv[3];
	bytes = strtoul(argv[4], NULL, 10) << 20;
	nr_nodes = count_nodes();
	deal_cpus(argv[2], strcmp(place, "any"));
	usleep(1000 * (1 + atoi(argv[6])));
	start_workers();
	for (i = 0; i < nr_workers; i++)
		if (machine_oracle(workers[i].data, bytes, 1))
			err(1, "move_pages");
	measure(atoi(argv[5]));
	bad = end_workers();
	printf("stream: %llu lines%s\n", (unsigned long long)units(), bad ? ", torn" : "");
	return bad;
}
