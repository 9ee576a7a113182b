// SPDX-License-Identifier: GPL-2.0
/*
 * jvm: a virtual machine with garbage collection at work on transactions, as the warehouse
 * benchmarks of Java servers are. --threads are the warehouses; one process is one virtual machine,
 * one process per node is the usual way to run it on a large machine.
 *
 * The heap of a process (--size) has two generations:
 *
 *	young	a part for each warehouse: a nursery where it allocates, and two survivor spaces
 *	old	--old percent of the heap, shared: a warehouse mostly looks up objects of its own
 *		part, --foreign percent of the time those of all warehouses
 *
 * The main thread loads the old generation, as the start of a server does. A transaction allocates
 * objects, keeps one of them for a while and looks up others, young and old. When a nursery is full
 * the world stops and all threads copy the objects that are still wanted, in portions that any of
 * them takes: so now and then threads touch memory that is not theirs. Who has survived twice goes
 * to the old generation, where the oldest make room.
 *
 * A unit is a transaction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

#define ALLOCATED		8	/* objects in a transaction, one of them is kept */
#define LOOKED_UP		8	/* old objects in a transaction */
#define YOUNG_LOOKED_UP		2
#define TRANSACTIONS_OF_A_STEP	8
#define SLOT			256ul	/* bytes of an object in the old generation */
#define HEADER_WORDS		4
#define LEAST_WORDS		4	/* of data */
#define MOST_WORDS		(SLOT / 8 - HEADER_WORDS)
#define ROOTS			4096	/* objects that a warehouse keeps for a while */
#define ROOTS_OF_A_PORTION	256	/* of a collection */
#define PORTIONS		(ROOTS / ROOTS_OF_A_PORTION)
#define OLD_AGE			2	/* collections */
#define STRIDE			0x9e3779b97f4a7c15ull

static unsigned long old_percent = 50, foreign = 20;

static const struct work_option options[] = {
	{ "old", NULL, 10, 90, &old_percent },
	{ "foreign", NULL, 0, 100, &foreign },
	{ },
};

/**
 * struct object - what transactions are about
 * @id: no two have the same; the data follow from it
 * @words: of data
 * @age: how many collections it has survived
 * @uses: how often it was written to in the old generation
 * @spare: for good measure
 */
struct object {
	uint64_t id;
	uint32_t words;
	uint32_t age;
	uint64_t uses;
	uint64_t spare;
	uint64_t data[];
};

/* What a reference knows about its object beside where it is. */
struct root {
	struct object *object;
	uint64_t id;
};

/* A space that objects are put into one behind the other. */
struct space {
	char *start;
	unsigned long used;
};

struct warehouse {
	struct root *roots;
	struct space nursery;
	struct space from;	/* survivors of the last collection */
	struct space to;	/* those of the next */
	unsigned long oldest;	/* number of the next old object to make room */
	uint64_t sequence;
	uint64_t uses;
	uint64_t wrong;
} __attribute__((aligned(128)));

static struct warehouse warehouses[WORK_THREADS];
static unsigned long nursery_bytes, survivor_bytes, young_bytes;

/* The old generation: nr_old objects of each warehouse, and the index with what they must be. */
static char *old;
static uint64_t *old_ids;
static unsigned long nr_old;
static uint64_t retired_uses;

static struct work_barrier stopped = WORK_BARRIER;
static pthread_barrier_t collected;
static bool wanted;		/* a collection */
static unsigned int next_portion;

/* --- objects --- */

static unsigned long object_bytes(const struct object *object)
{
	return (HEADER_WORDS + object->words) * 8;
}

static void make_object(struct object *object, uint64_t id)
{
	unsigned int i;

	object->id = id;
	object->words = LEAST_WORDS + id % (MOST_WORDS - LEAST_WORDS + 1);
	object->age = 0;
	object->uses = 0;
	for (i = 0; i < object->words; i++)
		object->data[i] = id + i * STRIDE;
}

static bool right_object(const struct object *object, uint64_t id)
{
	uint64_t differences = 0;
	unsigned int i;

	if (object->id != id ||
	    object->words != LEAST_WORDS + id % (MOST_WORDS - LEAST_WORDS + 1))
		return false;
	for (i = 0; i < object->words; i++)
		differences |= object->data[i] ^ (id + i * STRIDE);
	return !differences;
}

static uint64_t new_id(unsigned int process, unsigned int warehouse)
{
	uint64_t number = warehouses[warehouse].sequence++;

	return work_mix((uint64_t)process << 56 ^ (uint64_t)warehouse << 48 ^ number);
}

static struct object *old_object(unsigned long index)
{
	return (struct object *)(old + index * SLOT);
}

/* NULL when the space is full. Threads of a collection put survivors into the same space. */
static struct object *take(struct space *space, unsigned long limit, unsigned long bytes)
{
	unsigned long at = __atomic_fetch_add(&space->used, bytes, __ATOMIC_RELAXED);

	return at + bytes <= limit ? (struct object *)(space->start + at) : NULL;
}

/* --- the heap --- */

static unsigned long whole_pages(unsigned long bytes)
{
	return bytes & ~(WORK_PAGE - 1);
}

static void check(void)
{
	unsigned long old_bytes = work.size / 100 * old_percent / work.threads;

	nr_old = whole_pages(old_bytes) / (SLOT + sizeof(*old_ids));
	nr_old &= ~(WORK_PAGE / sizeof(*old_ids) - 1);
	young_bytes = whole_pages(work.size / 100 * (100 - old_percent) / work.threads);
	/* A quarter for each of the survivor spaces: there are never more survivors than roots. */
	survivor_bytes = whole_pages(young_bytes / 4);
	nursery_bytes = whole_pages(young_bytes - 2 * survivor_bytes - ROOTS * sizeof(struct root));
	if (nr_old < 2 * ROOTS || young_bytes < 2 * WORK_MB)
		work_usage("--size: too small for %u warehouses", work.threads);
}

static void init(unsigned int process)
{
	unsigned long total = nr_old * work.threads, i;
	unsigned int w;

	old = work_alloc(total * SLOT);
	old_ids = work_alloc(total * sizeof(*old_ids));
	for (w = 0; w < work.threads; w++) {
		work_place(old + w * nr_old * SLOT, nr_old * SLOT, process, w);
		work_place(old_ids + w * nr_old, nr_old * sizeof(*old_ids), process, w);
	}
	for (i = 0; i < total; i++) {
		old_ids[i] = new_id(process, i / nr_old);
		make_object(old_object(i), old_ids[i]);
	}
	work_oracle(old, total * SLOT, work.threads);
	pthread_barrier_init(&collected, NULL, work.threads);
}

static void thread_init(struct work_thread *thread)
{
	struct warehouse *warehouse = &warehouses[thread->id];
	char *young = work_alloc(young_bytes);

	thread->data = warehouse;
	work_place(young, young_bytes, thread->process, thread->id);
	memset(young, 1, young_bytes);
	warehouse->nursery.start = young;
	warehouse->from.start = young + nursery_bytes;
	warehouse->to.start = warehouse->from.start + survivor_bytes;
	warehouse->roots = (struct root *)(warehouse->to.start + survivor_bytes);
	memset(warehouse->roots, 0, ROOTS * sizeof(struct root));
	work_oracle(young, young_bytes, 1);
}

/* --- collection --- */

static void promote(unsigned int owner, struct root *root)
{
	struct warehouse *warehouse = &warehouses[owner];
	unsigned long slot = __atomic_fetch_add(&warehouse->oldest, 1, __ATOMIC_RELAXED);
	unsigned long index = owner * nr_old + slot % nr_old;
	struct object *to = old_object(index);

	__atomic_fetch_add(&retired_uses, to->uses, __ATOMIC_RELAXED);
	memcpy(to, root->object, object_bytes(root->object));
	old_ids[index] = root->id;
	root->object = NULL;
}

static void survive(unsigned int owner, struct root *root)
{
	unsigned long bytes;
	struct object *to = NULL;

	if (!root->object)
		return;
	bytes = object_bytes(root->object);
	if (++root->object->age < OLD_AGE)
		to = take(&warehouses[owner].to, survivor_bytes, bytes);
	if (!to) {
		promote(owner, root);
		return;
	}
	memcpy(to, root->object, bytes);
	root->object = to;
}

static void copy_portions(void)
{
	unsigned int portion, i;

	for (;;) {
		portion = __atomic_fetch_add(&next_portion, 1, __ATOMIC_RELAXED);
		if (portion >= work.threads * PORTIONS)
			return;
		for (i = 0; i < ROOTS_OF_A_PORTION; i++)
			survive(portion / PORTIONS, &warehouses[portion / PORTIONS].roots
				[portion % PORTIONS * ROOTS_OF_A_PORTION + i]);
	}
}

/*
 * All or none come out of the first barrier with the world stopped. All come to the second one. The
 * next collection needs all of them, so each may make its own part ready for it alone.
 */
static bool collect(struct work_thread *thread)
{
	struct warehouse *warehouse = thread->data;
	struct space full = warehouse->from;

	__atomic_store_n(&wanted, true, __ATOMIC_RELAXED);
	if (!work_barrier_wait(&stopped))
		return false;
	if (!thread->id)
		wanted = false;
	copy_portions();
	pthread_barrier_wait(&collected);
	if (!thread->id)
		next_portion = 0;
	warehouse->from = warehouse->to;
	warehouse->to = full;
	warehouse->to.used = 0;
	warehouse->nursery.used = 0;
	return true;
}

/* --- transactions --- */

static void look_up_old(struct work_thread *thread, uint64_t random)
{
	struct warehouse *warehouse = thread->data;
	unsigned long index = thread->id * nr_old + (random >> 32) % nr_old;
	bool own = random % 100 >= foreign;

	if (!own)
		index = (random >> 32) % (nr_old * work.threads);
	if (!right_object(old_object(index), old_ids[index]))
		warehouse->wrong++;
	/* Writes are for the owner alone, they need no lock. */
	if (own && (random >> 16) % 4 == 0) {
		old_object(index)->uses++;
		warehouse->uses++;
	}
}

static void look_up_young(struct warehouse *warehouse, uint64_t random)
{
	struct root *root = &warehouse->roots[random % ROOTS];

	if (root->object && !right_object(root->object, root->id))
		warehouse->wrong++;
}

static void transaction(struct work_thread *thread)
{
	struct warehouse *warehouse = thread->data;
	struct object *object = NULL;
	struct root *root;
	uint64_t id = 0;
	int i;

	for (i = 0; i < ALLOCATED; i++) {
		id = new_id(thread->process, thread->id);
		object = take(&warehouse->nursery, nursery_bytes, SLOT);
		make_object(object, id);
		/* Taken as the largest, given back what is too much. */
		warehouse->nursery.used -= SLOT - object_bytes(object);
	}
	root = &warehouse->roots[work_random(&thread->random) % ROOTS];
	root->object = object;
	root->id = id;
	for (i = 0; i < YOUNG_LOOKED_UP; i++)
		look_up_young(warehouse, work_random(&thread->random));
	for (i = 0; i < LOOKED_UP; i++)
		look_up_old(thread, work_random(&thread->random));
}

static void step(struct work_thread *thread)
{
	struct warehouse *warehouse = thread->data;
	int i;

	for (i = 0; i < TRANSACTIONS_OF_A_STEP; i++) {
		if ((__atomic_load_n(&wanted, __ATOMIC_RELAXED) ||
		     warehouse->nursery.used + ALLOCATED * SLOT > nursery_bytes) &&
		    !collect(thread))
			return;
		transaction(thread);
		thread->units++;
	}
}

/* --- verify --- */

static bool check_warehouse(unsigned int process, unsigned int w)
{
	struct warehouse *warehouse = &warehouses[w];
	unsigned int i;

	if (warehouse->wrong) {
		work_wrong("process %u, warehouse %u: %lu objects on the way", process, w,
			   (unsigned long)warehouse->wrong);
		return false;
	}
	for (i = 0; i < ROOTS; i++) {
		struct root *root = &warehouse->roots[i];

		if (root->object && !right_object(root->object, root->id)) {
			work_wrong("process %u, warehouse %u, young object %u", process, w, i);
			return false;
		}
	}
	return true;
}

static bool verify(unsigned int process)
{
	uint64_t expected = 0, uses = retired_uses;
	unsigned long i;
	unsigned int w;

	for (w = 0; w < work.threads; w++) {
		if (!check_warehouse(process, w))
			return false;
		expected += warehouses[w].uses;
	}
	for (i = 0; i < nr_old * work.threads; i++) {
		if (!right_object(old_object(i), old_ids[i])) {
			work_wrong("process %u, old object %lu", process, i);
			return false;
		}
		uses += old_object(i)->uses;
	}
	if (uses != expected) {
		work_wrong("process %u: %lu uses of %lu are there", process, (unsigned long)uses,
			   (unsigned long)expected);
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct work_ops ops = {
		.name		= "jvm",
		.summary	= "virtual machines with garbage collection; --threads: warehouses",
		.defaults	= { 192 * WORK_MB, 1, 8, 20, 0, PIN_NONE },
		.extra		= options,
		.check		= check,
		.init		= init,
		.thread_init	= thread_init,
		.step		= step,
		.verify		= verify,
	};

	return work_main(&ops, argc, argv);
}
