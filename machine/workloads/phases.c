// SPDX-License-Identifier: GPL-2.0
/* Work in phases; see phases.h. */
#include "phases.h"

static struct phase *phases;
static unsigned int nr_phases, first_again;
static unsigned int now;		/* index of the phase under way */
static unsigned int next;		/* of the one behind it */
static unsigned long taken;		/* items of a dynamic phase */
static unsigned long nr_done;
static struct work_barrier done = WORK_BARRIER;

/* How far a thread has come in the phase under way. */
static struct progress {
	unsigned long item;
	unsigned long end;
	bool begun;
	bool ended;
} __attribute__((aligned(128))) progress[WORK_THREADS];

static unsigned int behind(unsigned int index)
{
	return index + 1 < nr_phases ? index + 1 : first_again;
}

void phases_set(struct phase *list, unsigned int count, unsigned int again)
{
	phases = list;
	nr_phases = count;
	first_again = again;
	now = 0;
	next = behind(0);
}

void phases_next(unsigned int index)
{
	next = index;
}

void phases_items(unsigned int index, unsigned long items)
{
	phases[index].items = items;
}

double phase_total(struct phase_sum *parts)
{
	double total = 0;
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		total += parts[i].value;
		parts[i].value = 0;
	}
	return total;
}

unsigned long phases_done(void)
{
	return nr_done;
}

void phases_part(unsigned long items, unsigned int thread, unsigned long *first,
		 unsigned long *end)
{
	*first = items * thread / work.threads;
	*end = items * (thread + 1) / work.threads;
}

/* The next item of a thread; false if it has no more. */
static bool next_item(struct progress *own, unsigned int thread, unsigned long *item)
{
	const struct phase *phase = &phases[now];

	if (phase->dynamic) {
		*item = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
		return *item < phase->items;
	}
	if (!own->begun)
		phases_part(phase->items, thread, &own->item, &own->end);
	own->begun = true;
	*item = own->item++;
	return *item < own->end;
}

/* One item, or nothing when none is left. */
static unsigned long do_item(unsigned int thread)
{
	struct progress *own = &progress[thread];
	unsigned long item;

	if (!own->ended && next_item(own, thread, &item))
		return phases[now].item(thread, item, phases[now].arg);
	own->ended = true;
	return 0;
}

/* For one thread alone, while the others wait. */
static void go_on(void)
{
	unsigned int i;

	now = next;
	next = behind(now);
	taken = 0;
	nr_done++;
	for (i = 0; i < work.threads; i++)
		progress[i].begun = progress[i].ended = false;
}

/*
 * Whoever has no item left waits for the others; the first thread then goes on to the next phase
 * while the others wait for it again. Once time is over nobody goes on.
 */
void phases_step(struct work_thread *thread)
{
	thread->units += do_item(thread->id);
	if (!progress[thread->id].ended || !work_barrier_wait(&done))
		return;
	if (!thread->id)
		go_on();
	work_barrier_wait(&done);
}

/* Has anything of the phase been done? */
static bool under_way(void)
{
	unsigned int i;

	for (i = 0; i < work.threads; i++)
		if (progress[i].begun || progress[i].ended)
			return true;
	return taken;
}

void phases_complete(unsigned int index)
{
	unsigned int i;

	if (!under_way() && (index == PHASES_ANY || index == now))
		return;
	do {
		for (i = 0; i < work.threads; i++)
			while (!progress[i].ended)
				do_item(i);
		go_on();
	} while (index != PHASES_ANY && index != now);
}
