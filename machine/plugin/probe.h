/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The probe's state. The guest's CPUs run in turn in one thread (icount), so nothing here is
 * locked or atomic.
 */
#ifndef MACHINE_PROBE_H
#define MACHINE_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "mark.h"
#include "qemu_plugin.h"

#define MAX_CPUS	64
#define MAX_NODES	16
#define MAX_FUNCTIONS	256
#define MAX_DEPTH	24
#define RECENT		64	/* lines of a CPU's own filter */

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

enum mode {
	MODE_USER,
	MODE_KERNEL,
	NR_MODES,
};

/* Parts of the kernel; their names are part_names[]. */
enum part {
	PART_REST,
	PART_SCAN,
	PART_HINT,
	PART_COPY,
	PART_MIGRATE,
	PART_PLACE,
	NR_PARTS,
};

/* Runs of a part whose length is looked at. */
enum span {
	SPAN_SCAN,
	SPAN_FAULT,
	NR_SPANS,
};

/**
 * struct counters - what one CPU did
 * @insn: instructions by mode
 * @acc: memory accesses by mode
 * @miss: misses of the cache model by mode and by the node of the memory
 * @part: kernel instructions by part; their sum is @insn[MODE_KERNEL]
 */
struct counters {
	uint64_t insn[NR_MODES];
	uint64_t acc[NR_MODES];
	uint64_t miss[NR_MODES][MAX_NODES];
	int64_t part[NR_PARTS];
};

/**
 * struct frame - a function of interest that a task is in
 * @ret: address that it returns to; 0 for an interrupt, which ends with iret
 * @work: instructions of it and of what it calls, interrupts left out
 * @rest: instructions counted as PART_REST so far, while it is not known to be a hint fault
 * @call_ret: of an interrupt: the CPU's @call_ret when it came
 * @function: number of the function
 * @part: what its instructions count as
 * @fault: a page fault that becomes PART_HINT if a function says so
 */
struct frame {
	uint64_t ret;
	uint64_t work;
	uint64_t rest;
	uint64_t call_ret;
	uint16_t function;
	uint8_t part;
	bool fault;
};

/**
 * struct context - a task of the guest, known by the address of its saved stack pointer
 * @key: that address; 0 for a free slot
 * @value: bytes sent by MARK_BYTE
 * @depth: frames in use
 * @irqs: how many of the frames are interrupts
 * @helper: part of the measuring machine, counted apart
 * @frame: the stack of frames
 */
struct context {
	uint64_t key;
	uint64_t value;
	unsigned int depth;
	unsigned int irqs;
	bool helper;
	struct frame frame[MAX_DEPTH];
};

struct cache;

/**
 * struct block - a translated block of kernel code
 * @start: its address
 * @end: the address behind it
 * @func_start: start of the function of interest that begins here
 * @func_end: end of it
 * @next: all blocks, to free them
 * @insns: number of instructions
 * @what: bits of enum what
 * @function: number of that function
 * @part: part of a root
 * @weak: a root only where the part would be PART_REST
 */
struct block {
	uint64_t start;
	uint64_t end;
	uint64_t func_start;
	uint64_t func_end;
	struct block *next;
	uint32_t insns;
	uint16_t what;
	uint16_t function;
	uint8_t part;
	bool weak;
};

/**
 * struct cpu - a CPU of the guest
 * @now: the set that is counted in: @normal or @helper
 * @ctx: the task that runs
 * @last: the kernel block executed before, NULL if it was user code
 * @call_ret: return address of the last call in the kernel, 0 if it has returned
 * @turn: instructions left of its turn
 * @cache: the last-level cache of its node
 * @node: its node
 * @recent: virtual lines accessed since user and kernel mode last changed, direct-mapped: a small
 *	first-level cache. Mappings change by way of the kernel, so it needs no other care.
 */
struct cpu {
	struct counters *now;
	struct context *ctx;
	const struct block *last;
	uint64_t call_ret;
	int64_t turn;
	struct cache *cache;
	unsigned int node;
	uint64_t recent[RECENT];
	struct counters normal;
	struct counters helper;
	struct context boot;
};

/**
 * struct probe - everything else
 * @out: where the JSON lines go
 * @nr_cpus: CPUs of the guest
 * @nr_nodes: nodes of the guest
 * @line_shift: binary logarithm of the size of a cache line
 * @insn: instructions of all CPUs
 * @next_window: value of @insn that ends the window
 * @window: length of a window in instructions
 * @windows: number of finished windows
 * @running: the CPU whose turn it is
 * @nr_busy: CPUs that have something to run
 * @nr_queued: CPUs that have more than one task
 * @busy_since: value of @insn when one of the two changed
 * @busy_insn: instructions in this window by the number of busy CPUs
 * @queued_insn: the same, only those of times when some CPU had more than one task
 * @parallel: instructions so far as if they had been executed side by side, up to the last window
 * @idle_queued: the same, counted once for each CPU that was idle while another had two tasks
 * @begun: calibration is complete
 * @unknown: accesses to memory of no node since then
 * @lost: frames whose return was not seen
 * @value: what the guest sent by MARK_VALUE
 */
struct probe {
	FILE *out;
	unsigned int nr_cpus;
	unsigned int nr_nodes;
	unsigned int line_shift;
	uint64_t insn;
	uint64_t next_window;
	uint64_t window;
	uint64_t windows;
	struct cpu *running;
	unsigned int nr_busy;
	unsigned int nr_queued;
	uint64_t busy_since;
	uint64_t busy_insn[MAX_CPUS + 1];
	uint64_t queued_insn[MAX_CPUS + 1];
	uint64_t parallel;
	uint64_t idle_queued;
	bool begun;
	uint64_t unknown;
	uint64_t lost;
	uint64_t value[NR_KEYS];
	bool has_value[NR_KEYS];
	struct cpu cpu[MAX_CPUS];
};

extern struct probe probe;

void stop(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* report.c */
void report_header(void);
void report_window(void);
void report_busy(void);
void report_snapshot(enum machine_mark mark, unsigned int cpu);
void report_reset(void);

/* queues.c */
void queues_symbol(const char *kind, uint64_t start, uint64_t end);
uintptr_t queues_watch(uint64_t vaddr);
void queues_enter(unsigned int vcpu);
void queues_access(unsigned int vcpu, uintptr_t what, uint64_t vaddr, const void *host);
void queues_complete(void);
void queues_note(void);

/* turns.c */
void turns_init(void);
void turns_next(unsigned int vcpu);

/* spin.c */
bool spin_option(const char *name, const char *value);
bool spin_on(void);
void spin_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);

/* where.c */
bool where_option(const char *name, const char *value);
void where_init(void);
void where_calibrate(unsigned int node, uint64_t address, uint64_t offset);
void where_complete(void);

/* parts.c */
extern const char * const part_names[NR_PARTS];
bool parts_load(const char *file);
const struct block *parts_block(struct qemu_plugin_tb *tb);
void parts_init(void);
void parts_switch(struct cpu *cpu, uint64_t key);
void parts_helper(struct cpu *cpu);
void parts_user(struct cpu *cpu);
void parts_kernel(struct cpu *cpu, const struct block *block);
void parts_flush(void);
bool parts_is_switch(uint64_t vaddr, const uint8_t *code, size_t size);
void parts_report(FILE *out);
void parts_reset(void);

#endif
