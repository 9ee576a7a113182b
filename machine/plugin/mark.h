/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a program in the guest talks to the probe: by executing one load that no compiler emits,
 *
 *	ds ds ds mov (%rax), %al		3e 3e 3e 8a 00
 *
 * from any page; the low 12 bits of the address are the code. A mark costs one instruction and
 * works from any task. "xchg %bx, %bx" (66 87 db) is understood too, as MARK_TICK.
 */
#ifndef MACHINE_MARK_H
#define MACHINE_MARK_H

enum machine_mark {
	/* Phases; each writes a snapshot. */
	MARK_TICK = 0,		/* a second has passed */
	MARK_BEGIN = 1,		/* counters start here: calibration is complete */
	MARK_INIT_END = 2,	/* the workload has its memory; the first such mark counts */
	MARK_WORK_END = 3,	/* the workload stops working; the last such mark counts */
	MARK_END = 4,		/* nothing that follows is looked at */

	/* No snapshot. */
	MARK_HELPER = 16,	/* the task that executes this is counted apart from now on */
	MARK_NODE = 0x100,	/* + node: the page belongs to it, the value is its page offset */
	MARK_BYTE = 0x400,	/* + byte: shifted into the value of this task */
	MARK_VALUE = 0x800,	/* + key: the value is complete */
	MARK_ADD = 0xc00,	/* + key: the value is complete, and is added to what was there */
};

enum machine_key {
	KEY_TIME_US = 0,	/* guest time */
	KEY_UNITS = 1,		/* work done so far, all threads and processes together */
	KEY_USER = 2,		/* 2 to 15: anything a workload wants in the snapshots */
	NR_KEYS = 16,
};

#ifdef MACHINE_MARK_GUEST
#include <stdint.h>
#include <time.h>

/* Execute a mark on an address. */
static inline void machine_mark_at(const volatile void *address)
{
	unsigned long rax = (unsigned long)address;

	__asm__ volatile(".byte 0x3e, 0x3e, 0x3e, 0x8a, 0x00" : "+a"(rax) : : "memory");
}

static char machine_port[4096] __attribute__((aligned(4096), used)) = { 1 };

/* Execute a mark that needs no page of its own. */
static inline void machine_code(unsigned int code)
{
	machine_mark_at(machine_port + (code & 0xfff));
}

/* Send bytes of a value; a code that uses it must follow from the same task. */
static inline void machine_send(uint64_t value)
{
	int shift;

	for (shift = 56; shift >= 0; shift -= 8)
		machine_code(MARK_BYTE + ((value >> shift) & 0xff));
}

/* Set one of the values that the snapshots show. */
static inline void machine_value(unsigned int key, uint64_t value)
{
	machine_send(value);
	machine_code(MARK_VALUE + key);
}

/*
 * Add to one of the values. Threads and processes that share nothing count together with it: each
 * adds what it has done since its last time.
 */
static inline void machine_add(unsigned int key, uint64_t value)
{
	machine_send(value);
	machine_code(MARK_ADD + key);
}

/* A phase mark with the guest's time. */
static inline void machine_mark(enum machine_mark mark)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	machine_value(KEY_TIME_US, now.tv_sec * 1000000ull + now.tv_nsec / 1000);
	machine_code(mark);
}
#endif /* MACHINE_MARK_GUEST */

#endif
