// SPDX-License-Identifier: GPL-2.0
/*
 * Which part of the kernel is an instruction for?
 *
 * A stack per task says which functions of interest it is in. A function is entered when the block
 * at its address is executed after a block outside of it; it is left when the block at the address
 * behind the call is executed. So what it calls belongs to it, however shared the callee is.
 * Interrupts and exceptions in the kernel push a frame of their own that ends with iret, and
 * count as the rest. Tasks are told apart by the address from which __switch_to_asm() loads the
 * stack pointer, so a task that sleeps in a function, or wakes up on another CPU, stays in it.
 *
 * A page fault is known to be a hint fault only when a function says so; what it did before is
 * counted again then. A function that is not called but jumped to at the end of another has no
 * return address of its own that could be seen: it ends with the function of interest around it.
 */
#include <stdlib.h>
#include <string.h>

#include "probe.h"

#define MAX_SYMBOLS	4096
#define SLOTS		16384u
#define BUCKETS		(64 * 48)

const char * const part_names[NR_PARTS] = {
	"rest", "scan", "hint", "copy", "migrate", "place",
};

static const char * const span_names[NR_SPANS] = { "scan", "fault" };

/* What is special about a block. */
enum what {
	IS_ROOT = 1,
	IS_FAULT = 2,
	IS_CONFIRM = 4,
	IS_COUNT = 8,
	IS_IRQ = 16,
	IS_FORK = 32,
	IS_IDLE_CPU = 64,
	IS_CALL = 128,
	IS_RET = 256,
	IS_IRET = 512,
};

/* A frame whose function was jumped to; it ends when the one below it does. */
#define RET_UNKNOWN	1

/* All that needs more than adding to a counter. */
#define IS_EVENT (IS_ROOT | IS_FAULT | IS_CONFIRM | IS_COUNT | IS_IRQ | IS_FORK | \
		  IS_IDLE_CPU)

/**
 * struct symbol - a line of the symbol file
 * @start: first address
 * @end: address behind the last
 * @what: bits of enum what; 0 for the function that switches tasks
 * @function: number of its function
 * @part: part of a root
 * @weak: a root only where the part would be PART_REST
 */
struct symbol {
	uint64_t start;
	uint64_t end;
	uint16_t what;
	uint16_t function;
	uint8_t part;
	bool weak;
};

/**
 * struct function - what is known of a function by its name
 * @name: its name
 * @calls: how often it was entered
 * @insns: instructions of it and of what it calls up to the next root
 */
struct function {
	char name[48];
	uint64_t calls;
	uint64_t insns;
};

/**
 * struct spans - lengths of the runs of a part
 * @nr: how many
 * @max: the longest, in instructions
 * @sum: all of them
 * @bucket: how many by length, 64 buckets per power of two
 */
struct spans {
	uint64_t nr;
	uint64_t max;
	uint64_t sum;
	uint32_t bucket[BUCKETS];
};

static struct symbol symbols[MAX_SYMBOLS];
static unsigned int nr_symbols;
static uint64_t switch_start, switch_end;
static struct function functions[MAX_FUNCTIONS];
static unsigned int nr_functions;
static struct context contexts[SLOTS];
static struct block *blocks;
static struct spans spans[NR_SPANS];

/* The number of a function by its name. */
static unsigned int function_index(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_functions; i++)
		if (!strcmp(functions[i].name, name))
			return i;
	if (nr_functions == MAX_FUNCTIONS)
		stop("symbols: more than %d functions", MAX_FUNCTIONS);
	snprintf(functions[i].name, sizeof(functions[i].name), "%s", name);
	return nr_functions++;
}

/* The part of a name; NR_PARTS if there is none. */
static unsigned int part_index(const char *name)
{
	unsigned int part = 0;

	while (part < NR_PARTS && strcmp(part_names[part], name))
		part++;
	return part;
}

/* Fill in what a word of the symbol file says. */
static bool symbol_kind(struct symbol *s, const char *kind, const char *arg)
{
	static const struct {
		const char *name;
		enum what what;
	} plain[] = {
		{ "fault", IS_FAULT }, { "confirm", IS_CONFIRM }, { "irq", IS_IRQ },
		{ "fork", IS_FORK }, { "idle", IS_IDLE_CPU }, { "count", IS_COUNT },
	};
	unsigned int i;

	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(kind, plain[i].name))
			s->what = plain[i].what;
	if (!strcmp(kind, "root") || !strcmp(kind, "weak")) {
		s->what = IS_ROOT;
		s->weak = *kind == 'w';
		s->part = part_index(arg);
		return s->part < NR_PARTS;
	}
	return s->what;
}

/* Take a line: kind, argument or "-", start and end in hex, name. */
static bool take_line(const char *line)
{
	char kind[16], arg[32], name[48];
	unsigned long long start, end;
	struct symbol *s = &symbols[nr_symbols];

	if (sscanf(line, "%15s %31s %llx %llx %47s", kind, arg, &start, &end, name) != 5)
		return false;
	if (!strcmp(kind, "switch")) {
		switch_start = start;
		switch_end = end;
		return true;
	}
	queues_symbol(kind, start, end);
	if (!strcmp(kind, "queued"))
		return true;
	if (nr_symbols == MAX_SYMBOLS || !symbol_kind(s, kind, arg))
		return false;
	s->start = start;
	s->end = end;
	if (s->what & (IS_ROOT | IS_FAULT | IS_COUNT))
		s->function = function_index(name);
	nr_symbols++;
	return true;
}

/**
 * parts_load - read the file of symbols
 * @file: its name
 *
 * Return: false if it cannot be read.
 */
bool parts_load(const char *file)
{
	FILE *in = fopen(file, "r");
	char line[256];

	if (!in)
		return false;
	while (fgets(line, sizeof(line), in))
		if (!take_line(line))
			stop("symbols: a line that is not understood: %s", strtok(line, "\n"));
	fclose(in);
	return true;
}

/* Is the instruction a call, direct or not? */
static bool is_call(const uint8_t *code, size_t size)
{
	while (size > 1 && ((*code & 0xf0) == 0x40 || *code == 0x66 || *code == 0x3e ||
			    *code == 0x2e)) {
		code++;
		size--;
	}
	return *code == 0xe8 || (size > 1 && *code == 0xff && (code[1] >> 3 & 7) == 2);
}

/* Does the instruction return from a function? */
static bool is_ret(const uint8_t *code, size_t size)
{
	return code[0] == 0xc3 || (size == 3 && code[0] == 0xc2) ||
	       (size == 2 && code[0] == 0xf3 && code[1] == 0xc3);
}

/* Does the instruction return from an interrupt? */
static bool is_iret(const uint8_t *code, size_t size)
{
	return code[size - 1] == 0xcf && (size == 1 || (size == 2 && code[0] == 0x48));
}

/* Note everything that is known of the block's address. */
static void match_symbols(struct block *block)
{
	const struct symbol *s;

	for (s = symbols; s < symbols + nr_symbols; s++) {
		bool inside = block->start >= s->start && block->start < s->end;

		if (s->what == IS_IRQ ? !inside : block->start != s->start)
			continue;
		block->what |= s->what;
		block->func_start = s->start;
		block->func_end = s->end;
		if (s->what & (IS_ROOT | IS_FAULT | IS_COUNT))
			block->function = s->function;
		if (s->what == IS_ROOT) {
			block->part = s->part;
			block->weak = s->weak;
		}
	}
}

/**
 * parts_block - describe a block of kernel code
 * @tb: the block as QEMU translates it
 *
 * Return: a description, valid until parts_flush().
 */
const struct block *parts_block(struct qemu_plugin_tb *tb)
{
	struct block *block = calloc(1, sizeof(*block));
	size_t nr = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, nr - 1);
	size_t size = qemu_plugin_insn_size(last);

	if (!block)
		abort();
	block->start = qemu_plugin_tb_vaddr(tb);
	block->end = qemu_plugin_insn_vaddr(last) + size;
	block->insns = nr;
	match_symbols(block);
	if (is_call(qemu_plugin_insn_data(last), size))
		block->what |= IS_CALL;
	if (is_ret(qemu_plugin_insn_data(last), size))
		block->what |= IS_RET;
	if (is_iret(qemu_plugin_insn_data(last), size))
		block->what |= IS_IRET;
	block->next = blocks;
	blocks = block;
	return block;
}

/**
 * parts_flush - free all blocks: QEMU has forgotten them
 */
void parts_flush(void)
{
	static const struct block forgotten;
	unsigned int cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		if (probe.cpu[cpu].last)
			probe.cpu[cpu].last = &forgotten;
	while (blocks) {
		struct block *next = blocks->next;

		free(blocks);
		blocks = next;
	}
}

/**
 * parts_is_switch - does an instruction load the stack pointer of the next task?
 * @vaddr: its address
 * @code: its bytes
 * @size: their number
 *
 * Return: true for "mov disp32(%rsi), %rsp" in __switch_to_asm().
 */
bool parts_is_switch(uint64_t vaddr, const uint8_t *code, size_t size)
{
	return vaddr >= switch_start && vaddr < switch_end && size == 7 &&
	       code[0] == 0x48 && code[1] == 0x8b && code[2] == 0xa6;
}

/* Find or make the context of a task. */
static struct context *find_context(uint64_t key)
{
	unsigned int i, slot = (key >> 6) * 0x9e3779b1u;

	for (i = 0; i < SLOTS; i++) {
		struct context *ctx = &contexts[(slot + i) % SLOTS];

		if (ctx->key == key)
			return ctx;
		if (!ctx->key) {
			ctx->key = key;
			return ctx;
		}
	}
	stop("more than %u tasks", SLOTS);
}

/* A task runs on a CPU. */
static void run_task(struct cpu *cpu, struct context *ctx)
{
	cpu->ctx = ctx;
	cpu->now = ctx->helper ? &cpu->helper : &cpu->normal;
	queues_note();
}

/**
 * parts_init - all CPUs run a task that is not known yet
 */
void parts_init(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		probe.cpu[cpu].ctx = &probe.cpu[cpu].boot;
}

/**
 * parts_switch - another task runs on a CPU
 * @cpu: the CPU
 * @key: names the task
 */
void parts_switch(struct cpu *cpu, uint64_t key)
{
	run_task(cpu, find_context(key));
}

/**
 * parts_helper - the task on a CPU is one of the measuring machine's own
 * @cpu: the CPU
 */
void parts_helper(struct cpu *cpu)
{
	cpu->ctx->helper = true;
	run_task(cpu, cpu->ctx);
}

/* Forget all frames of a task. */
static void drop_frames(struct context *ctx)
{
	ctx->depth = 0;
	ctx->irqs = 0;
}

/**
 * parts_user - a CPU has come back to user code
 * @cpu: the CPU
 */
void parts_user(struct cpu *cpu)
{
	cpu->last = NULL;
	if (unlikely(cpu->ctx->depth)) {
		probe.lost += cpu->ctx->depth;
		drop_frames(cpu->ctx);
	}
}

/* The bucket of a length. */
static unsigned int bucket_of(uint64_t length)
{
	unsigned int log;

	if (length < 64)
		return length;
	log = 63 - __builtin_clzll(length);
	return (log - 5) * 64 + (length >> (log - 6)) - 64;
}

/* The lowest length of a bucket. */
static uint64_t bucket_start(unsigned int bucket)
{
	unsigned int log = bucket / 64 + 5;

	return bucket < 64 ? bucket : (uint64_t)(bucket % 64 + 64) << (log - 6);
}

/* Enter a run into the statistics. */
static void add_span(enum span span, uint64_t length)
{
	struct spans *s = &spans[span];

	s->nr++;
	s->sum += length;
	s->bucket[bucket_of(length)]++;
	if (length > s->max)
		s->max = length;
}

/* Push a frame. */
static struct frame *push(struct context *ctx, uint64_t ret, enum part part, uint16_t function)
{
	struct frame *frame;

	if (ctx->depth == MAX_DEPTH) {
		probe.lost += ctx->depth;
		drop_frames(ctx);
	}
	frame = &ctx->frame[ctx->depth++];
	*frame = (struct frame) { .ret = ret, .part = part, .function = function };
	if (!ret)
		ctx->irqs++;
	return frame;
}

/* Remove the uppermost frame; only a span that is no part of one of its kind counts. */
static void pop(struct context *ctx)
{
	struct frame *frame = &ctx->frame[--ctx->depth];
	unsigned int i;

	if (!frame->ret) {
		ctx->irqs--;
		return;
	}
	if (frame->fault && frame->part == PART_HINT)
		add_span(SPAN_FAULT, frame->work);
	if (frame->part != PART_SCAN)
		return;
	for (i = 0; i < ctx->depth; i++)
		if (ctx->frame[i].part == PART_SCAN)
			return;
	add_span(SPAN_SCAN, frame->work);
}

/*
 * Has the task come back to where a function was called? A function that was jumped to shares its
 * return address with the one before it, so look for the outermost.
 */
static void leave(struct context *ctx, uint64_t start)
{
	unsigned int i, left = ctx->depth;

	for (i = ctx->depth; i && ctx->frame[i - 1].ret; i--)
		if (ctx->frame[i - 1].ret == start)
			left = i - 1;
	while (ctx->depth > left)
		pop(ctx);
}

/* A fault turns out to be a hint fault. */
static void confirm(struct cpu *cpu)
{
	struct context *ctx = cpu->ctx;
	unsigned int i;

	for (i = ctx->depth; i && ctx->frame[i - 1].ret; i--) {
		struct frame *frame = &ctx->frame[i - 1];

		if (!frame->fault || frame->part == PART_HINT)
			continue;
		frame->part = PART_HINT;
		cpu->now->part[PART_REST] -= frame->rest;
		cpu->now->part[PART_HINT] += frame->rest;
		functions[frame->function].insns += cpu->now == &cpu->normal ? frame->rest : 0;
		return;
	}
}

/*
 * The part of a function depends on where it is called from: migration is the balancer's only
 * below one of its functions, and copying only below migration.
 */
static enum part part_in(const struct context *ctx, const struct block *block)
{
	enum part outer = ctx->depth ? ctx->frame[ctx->depth - 1].part : PART_REST;

	if (block->what & IS_FAULT)
		return PART_REST;
	if (block->weak && outer != PART_REST)
		return outer;
	if (block->part == PART_MIGRATE && outer == PART_REST)
		return outer;
	if (block->part == PART_COPY && outer != PART_MIGRATE)
		return outer;
	return block->part;
}

/* Push a frame for a function that is entered by a call, or by a jump at the end of another. */
static void push_function(struct cpu *cpu, const struct block *block)
{
	struct context *ctx = cpu->ctx;
	uint64_t ret = cpu->call_ret;
	struct frame *frame;

	if (!ret) {
		if (!ctx->depth || !ctx->frame[ctx->depth - 1].ret)
			return;
		ret = RET_UNKNOWN;
	}
	frame = push(ctx, ret, part_in(ctx, block), block->function);
	frame->fault = block->what & IS_FAULT;
}

/* A function of interest is entered, unless it is a jump back to its start. */
static void enter(struct cpu *cpu, const struct block *block)
{
	const struct block *last = cpu->last;

	if (last && last->start >= block->func_start && last->start < block->func_end &&
	    !(last->what & IS_CALL))
		return;
	if (block->what & (IS_ROOT | IS_FAULT | IS_COUNT) && cpu->now == &cpu->normal)
		functions[block->function].calls++;
	if (block->what & IS_IDLE_CPU)
		queues_enter(cpu - probe.cpu);
	if (block->what & IS_CONFIRM)
		confirm(cpu);
	if (block->what & (IS_ROOT | IS_FAULT))
		push_function(cpu, block);
}

/* An interrupt or exception; one that comes from user code needs no frame. */
static void interrupt(struct cpu *cpu, const struct block *block)
{
	struct frame *frame;

	if (!cpu->last || (cpu->last->what & IS_IRQ))
		return;
	frame = push(cpu->ctx, 0, PART_REST, 0);
	frame->call_ret = cpu->call_ret;
}

/* The block ends with iret. */
static void end_interrupt(struct cpu *cpu)
{
	struct context *ctx = cpu->ctx;

	while (ctx->irqs) {
		struct frame *frame = &ctx->frame[ctx->depth - 1];
		bool found = !frame->ret;

		if (found)
			cpu->call_ret = frame->call_ret;
		else
			probe.lost++;
		pop(ctx);
		if (found)
			break;
	}
}

/* What only some blocks do. */
static void event(struct cpu *cpu, const struct block *block)
{
	if (block->what & IS_IRQ)
		interrupt(cpu, block);
	if (block->what & IS_FORK) {
		drop_frames(cpu->ctx);
		cpu->ctx->helper = false;
		run_task(cpu, cpu->ctx);
	}
	if (block->what & (IS_ROOT | IS_FAULT | IS_CONFIRM | IS_COUNT | IS_IDLE_CPU))
		enter(cpu, block);
}

/* Add a block's instructions to the part that the task is in, and to the frames up to there. */
static void account(struct cpu *cpu, struct context *ctx, uint32_t insns)
{
	struct frame *frame = &ctx->frame[ctx->depth - 1];
	unsigned int i;

	cpu->now->part[frame->part] += insns;
	if (frame->part == PART_REST)
		frame->rest += insns;
	else if (likely(cpu->now == &cpu->normal))
		functions[frame->function].insns += insns;
	for (i = ctx->depth; i && ctx->frame[i - 1].ret; i--)
		ctx->frame[i - 1].work += insns;
}

/**
 * parts_kernel - a block of kernel code is executed
 * @cpu: the CPU
 * @block: the block
 */
void parts_kernel(struct cpu *cpu, const struct block *block)
{
	struct context *ctx = cpu->ctx;

	if (ctx->depth)
		leave(ctx, block->start);
	if (unlikely(block->what & IS_EVENT))
		event(cpu, block);
	if (ctx->depth)
		account(cpu, ctx, block->insns);
	else
		cpu->now->part[PART_REST] += block->insns;
	if (block->what & IS_CALL)
		cpu->call_ret = block->end;
	else if (block->what & IS_RET)
		cpu->call_ret = 0;
	cpu->last = block;
	if (unlikely(block->what & IS_IRET))
		end_interrupt(cpu);
}

/* The length that 99 of 100 runs do not exceed, to about 1.5 %. */
static uint64_t percentile99(const struct spans *s)
{
	uint64_t left = s->nr - s->nr / 100;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++) {
		if (s->bucket[i] >= left)
			break;
		left -= s->bucket[i];
	}
	return i < BUCKETS && s->nr ? bucket_start(i) : 0;
}

/**
 * parts_report - write the runs and the counters as members of a JSON object
 * @out: where to
 */
void parts_report(FILE *out)
{
	unsigned int i;

	for (i = 0; i < NR_SPANS; i++)
		fprintf(out, ",\"%s_span\":{\"nr\":%llu,\"max\":%llu,\"p99\":%llu,\"sum\":%llu}",
			span_names[i], (unsigned long long)spans[i].nr,
			(unsigned long long)spans[i].max,
			(unsigned long long)percentile99(&spans[i]),
			(unsigned long long)spans[i].sum);
	fprintf(out, ",\"functions\":{");
	for (i = 0; i < nr_functions; i++)
		fprintf(out, "%s\"%s\":[%llu,%llu]", i ? "," : "", functions[i].name,
			(unsigned long long)functions[i].calls,
			(unsigned long long)functions[i].insns);
	fprintf(out, "}");
}

/**
 * parts_reset - runs and functions start anew
 */
void parts_reset(void)
{
	unsigned int i;

	memset(spans, 0, sizeof(spans));
	for (i = 0; i < nr_functions; i++)
		functions[i].calls = functions[i].insns = 0;
}
