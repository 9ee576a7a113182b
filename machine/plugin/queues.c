// SPDX-License-Identifier: GPL-2.0
/*
 * Which CPUs have something to run?
 *
 * The CPUs run in turn, so what a CPU executes at a moment does not tell: one that was just woken
 * for a task has to wait for its turn, and looks idle until then. With pairs of tasks that wait for
 * each other it would always be a single CPU. The kernel knows better. A CPU is busy when its run
 * queue holds a task, or one is on its way to it (woken by another CPU, which leaves it to this one
 * to queue): the two numbers of struct rq that idle_cpu() looks at, after two pointers.
 *
 * Where they are is learned from the kernel's own code. nr_running() reads the first of each CPU in
 * the order of CPUs, and no other word of four bytes. idle_cpu() reads the first and then the
 * second of one CPU, and no other word of four bytes.
 *
 * A task that sleeps may stay queued for some time while another runs (delayed dequeue), and counts
 * until it is taken off. It never keeps an idle CPU busy.
 */
#include <string.h>

#include "probe.h"

/* Sightings of a distance before it is believed: an interrupt may come between two reads. */
#define SURE	8

/* The functions that read run queues, and 0 for others. */
enum { READS_NONE, READS_ALL, READS_ONE };

/**
 * struct queue - what is known of a CPU's run queue
 * @running: tasks in it, in the guest's memory
 * @vaddr: the guest's address of that
 */
struct queue {
	const volatile uint32_t *running;
	uint64_t vaddr;
};

static struct queue queues[MAX_CPUS];
static unsigned int nr_queues;
static struct {
	uint64_t start;
	uint64_t end;
} code[READS_ONE + 1];
static uint64_t seen[MAX_CPUS];
static int64_t distance;
static unsigned int sure;

/**
 * queues_symbol - look at a line of the symbol file
 * @kind: queued for nr_running(), idle for idle_cpu(); others do not matter
 * @start: first address of the function
 * @end: the address behind it
 */
void queues_symbol(const char *kind, uint64_t start, uint64_t end)
{
	unsigned int what = READS_NONE;

	if (!strcmp(kind, "queued"))
		what = READS_ALL;
	else if (!strcmp(kind, "idle"))
		what = READS_ONE;
	else
		return;
	code[what].start = start;
	code[what].end = end;
}

/**
 * queues_watch - does an instruction read a run queue in one of the two functions?
 * @vaddr: its address
 *
 * Return: what to give to queues_access(), 0 if it does not.
 */
uintptr_t queues_watch(uint64_t vaddr)
{
	uintptr_t what;

	for (what = READS_ALL; what <= READS_ONE; what++)
		if (vaddr >= code[what].start && vaddr < code[what].end)
			return what;
	return READS_NONE;
}

/* nr_running() reads a queue: it is the next CPU's, unless it is known. */
static void learn_queue(uint64_t vaddr, const volatile uint32_t *host)
{
	unsigned int i;

	for (i = 0; i < nr_queues; i++)
		if (queues[i].vaddr == vaddr)
			return;
	if (nr_queues == probe.nr_cpus)
		stop("run queues: nr_running() reads more than there are CPUs");
	queues[nr_queues].vaddr = vaddr;
	queues[nr_queues++].running = host;
}

/* idle_cpu() reads a word: if it is the second of two, see how far it is from the first. */
static void learn_distance(unsigned int vcpu, uint64_t vaddr)
{
	uint64_t first = seen[vcpu];

	seen[vcpu] = first ? 0 : vaddr;
	if (!first || vaddr == first)
		return;
	sure = (int64_t)(vaddr - first) == distance ? sure + 1 : 1;
	distance = vaddr - first;
}

/**
 * queues_enter - idle_cpu() is called: what it read last time is of no use
 * @vcpu: on which CPU
 */
void queues_enter(unsigned int vcpu)
{
	seen[vcpu] = 0;
}

/**
 * queues_access - one of the two functions reads memory
 * @vcpu: on which CPU
 * @what: from queues_watch()
 * @vaddr: the guest's address
 * @host: the address in this process, as far as QEMU's layout is what was expected
 */
void queues_access(unsigned int vcpu, uintptr_t what, uint64_t vaddr, const void *host)
{
	if (((uintptr_t)host & 0xfff) != (vaddr & 0xfff))
		stop("run queues: this QEMU does not tell where the guest's memory is");
	if (what == READS_ALL)
		learn_queue(vaddr, host);
	else if (sure < SURE)
		learn_distance(vcpu, vaddr);
}

/**
 * queues_complete - check that all of them are known
 */
void queues_complete(void)
{
	if (nr_queues != probe.nr_cpus)
		stop("run queues: nr_running() has read those of %u CPUs, of %u", nr_queues,
		     probe.nr_cpus);
	if (sure < SURE && probe.nr_cpus > 1)
		stop("run queues: idle_cpu() was not seen to look at tasks on their way");
}

/* Tasks of a CPU, helpers left out as long as they run. */
static unsigned int tasks_of(unsigned int cpu)
{
	const volatile uint32_t *running = queues[cpu].running;
	unsigned int helper = probe.cpu[cpu].ctx->helper, nr = *running;
	const volatile uint32_t *coming;

	coming = (const volatile uint32_t *)((const volatile char *)running + distance);
	nr -= nr >= helper ? helper : nr;
	return nr + (sure >= SURE && *coming);
}

/**
 * queues_note - a turn or a task begins: count what the CPUs have to run
 *
 * Time passes in instructions; those that are executed while n CPUs are busy are worth an nth.
 */
void queues_note(void)
{
	unsigned int cpu, nr, busy = 0, queued = 0;

	if (!probe.begun)
		return;
	for (cpu = 0; cpu < probe.nr_cpus; cpu++) {
		nr = tasks_of(cpu);
		busy += nr > 0;
		queued += nr > 1;
	}
	if (busy == probe.nr_busy && queued == probe.nr_queued)
		return;
	report_busy();
	probe.nr_busy = busy;
	probe.nr_queued = queued;
}
