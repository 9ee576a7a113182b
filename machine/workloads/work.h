/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the workloads have in common: options, processes and threads, pinning, memory, phases.
 *
 * A workload is a number of processes that share nothing, each with a number of threads. The
 * parent only starts and stops them: it talks to them by pipes, so that no page is used by two
 * processes. The phases:
 *
 *	init	each process gets its memory, touches it and tells the oracle about it
 *	work	from the end-of-init mark on: all threads work in small steps, for so many seconds
 *	verify	after the end-of-work mark: each process checks what it has computed
 *
 * Any failure ends with one line on stderr: status 1 for wrong results, 2 for bad options.
 */
#ifndef MACHINE_WORK_H
#define MACHINE_WORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORK_PAGE	4096ul
#define WORK_LINE	64ul
#define WORK_MB		(1ul << 20)
#define WORK_THREADS	256	/* of a process */
#define WORK_PROCESSES	256

enum work_pin { PIN_NONE, PIN_HARD, PIN_INVERSE };

/**
 * struct work_options - what every workload understands
 * @size: bytes, of each process unless the workload says otherwise; --size, in MB
 * @processes: --processes
 * @threads: of each process; --threads
 * @seconds: of work in guest time; --seconds
 * @seed: changes start offsets, order and delays; --seed
 * @pin: --pin none, hard (threads and memory where a careful administrator would put them) or
 *	inverse (the same threads, memory on another node)
 */
struct work_options {
	unsigned long size;
	unsigned int processes;
	unsigned int threads;
	unsigned int seconds;
	unsigned long seed;
	enum work_pin pin;
};

/**
 * struct work_option - an option of one workload
 * @name: without the dashes; NULL ends the list
 * @words: allowed words, separated by '|'; NULL for a number
 * @least: smallest number
 * @most: largest number
 * @value: the number, or the index of the word; holds the default before
 */
struct work_option {
	const char *name;
	const char *words;
	unsigned long least;
	unsigned long most;
	unsigned long *value;
};

/**
 * struct work_thread - a thread at work
 * @process: number of its process
 * @id: its number in the process
 * @cpu: the CPU that it is pinned to, or would be
 * @random: state of work_random()
 * @units: work done and not yet reported
 * @data: the workload's own
 */
struct work_thread {
	unsigned int process;
	unsigned int id;
	unsigned int cpu;
	uint64_t random;
	uint64_t units;
	void *data;
} __attribute__((aligned(128)));

/**
 * struct work_ops - a workload
 * @name: of the program
 * @summary: one line for --help
 * @defaults: values of the common options
 * @extra: own options, or NULL
 * @long_steps: a step is that long that its units are to be reported at once
 * @check: after the options are read, in the parent; fails by work_usage(); or NULL
 * @init: in each process before its threads are there: get memory and touch it
 * @thread_init: in each thread, pinned if so wished, before the end-of-init mark; or NULL
 * @step: in each thread, again and again until time is over; some 10,000 instructions
 * @thread_exit: in each thread after its last step; or NULL
 * @settle: in each process after the end-of-work mark, before @verify and before a test plants
 *	its damage: bring to an end what was left half done; or NULL
 * @verify: in each process after the end-of-work mark; returns whether the results are right
 *
 * @init, @thread_init and @step of a process share its memory, nothing else.
 */
struct work_ops {
	const char *name;
	const char *summary;
	struct work_options defaults;
	const struct work_option *extra;
	bool long_steps;
	void (*check)(void);
	void (*init)(unsigned int process);
	void (*thread_init)(struct work_thread *thread);
	void (*step)(struct work_thread *thread);
	void (*thread_exit)(struct work_thread *thread);
	void (*settle)(void);
	bool (*verify)(unsigned int process);
};

extern struct work_options work;

int work_main(const struct work_ops *ops, int argc, char **argv);

/* Set when time is over: long steps, and those that wait for others, look at it. */
bool work_over(void);

/**
 * struct work_barrier - where the threads of a process wait for each other
 * @lock: for the others
 * @all: signalled when all have come
 * @waiting: how many have come
 * @turn: how often all had come
 */
struct work_barrier {
	pthread_mutex_t lock;
	pthread_cond_t all;
	unsigned int waiting;
	unsigned int turn;
};

#define WORK_BARRIER { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 }

/* False when time is over and one of them does not come any more: for all of them, or for none. */
bool work_barrier_wait(struct work_barrier *barrier);

/* The machine. */
unsigned int work_nr_cpus(void);
unsigned int work_nr_nodes(void);
unsigned int work_cpu_of(unsigned int process, unsigned int thread);
unsigned int work_far_cpu(unsigned int process, unsigned int thread);
unsigned int work_node_of_cpu(unsigned int cpu);
unsigned int work_memory_node(unsigned int process, unsigned int thread);
void work_run_on(unsigned int cpu);
void work_run_on_node(unsigned int node);
void work_run_anywhere(void);

/* Memory; work_place() does something in the pinned modes only, before the first touch. */
void *work_alloc(unsigned long bytes);
void work_place(void *start, unsigned long bytes, unsigned int process, unsigned int thread);
void work_place_shared(void *start, unsigned long bytes, unsigned int process);
/* In any mode, for who knows better: memory to be touched goes to these nodes; 0: as usual. */
void work_bind(void *start, unsigned long bytes, unsigned long mask);
/*
 * For the tests, which build the programs with -DWORK_PLANT: with --plant N from 1 to 1000, turn
 * the bits of a page over, N - 1 thousandths into some memory. Once per process; of what the first
 * one has got from work_alloc() first, before it verifies. Else it does nothing.
 */
#ifdef WORK_PLANT
void work_plant(void *start, unsigned long bytes);
#else
static inline void work_plant(void *start, unsigned long bytes)
{
}
#endif
void work_oracle(void *start, unsigned long bytes, unsigned int threads);

uint64_t work_mix(uint64_t value);
uint64_t work_random(uint64_t *state);
void work_usage(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void work_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
