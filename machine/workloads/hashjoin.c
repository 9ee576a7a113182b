// SPDX-License-Identifier: GPL-2.0
/*
 * hashjoin: joins a small table with one four times as large, as a database does it: a hash table
 * of the small one is built and probed with each tuple of the large one. --join says how:
 *
 *	partitioned	both tables are copied into partitions by their key first, those of a
 *			partition are joined by one thread: much is written far away, once
 *	shared		one hash table that all threads build and probe: a cache miss each time,
 *			on any node
 *
 * --touch says who touches tables and copies first: the main thread (serial) or each thread its
 * part (parallel). Threads read the tables in fixed parts. A unit is a tuple that a loop has done.
 */
#include <string.h>

#include "phases.h"

#define LARGE		4ul		/* times the small table */
#define TUPLES_OF_AN_ITEM 1024ul
#define TUPLES_OF_A_PARTITION 2048ul
#define MOST_PARTITIONS	1024ul
#define PLACES_FOR_A_TUPLE 2ul		/* in the hash table */

enum join { JOIN_PARTITIONED, JOIN_SHARED };
enum touch { TOUCH_SERIAL, TOUCH_PARALLEL };

static unsigned long join, touch;

static const struct work_option options[] = {
	{ "join", "partitioned|shared", 0, 0, &join },
	{ "touch", "serial|parallel", 0, 0, &touch },
	{ },
};

/* No key is 0: that is an empty place of the hash table. */
struct tuple {
	uint64_t key;
	uint64_t payload;
};

/* The two tables, with a copy in partitions. */
struct table {
	unsigned long tuples;
	struct tuple *tuple;
	struct tuple *copy;
	unsigned long begins[MOST_PARTITIONS + 1];
};

enum { SMALL_TABLE, LARGE_TABLE };

static struct table tables[2];
static struct tuple *hash;
static unsigned long places;		/* of the hash table, a power of two */
static unsigned long partitions;	/* a power of two */

/* Of a thread, in its input: first tuples of each partition are counted, then where they go. */
static uint64_t (*goes[WORK_THREADS])[MOST_PARTITIONS];

static struct result {
	uint64_t matches;
	uint64_t sum;
} __attribute__((aligned(128))) results[WORK_THREADS];

static uint64_t expected_sum;
static uint64_t bad_joins;

/* Of a tuple of the small table and its partition: both tables and copies, places in the hash. */
#define BYTES_OF_A_TUPLE ((2 * (1 + LARGE) + PLACES_FOR_A_TUPLE) * sizeof(struct tuple))

static void check(void)
{
	unsigned long nr = TUPLES_OF_AN_ITEM;

	while (2 * nr * BYTES_OF_A_TUPLE <= work.size)
		nr *= 2;
	if (nr < TUPLES_OF_AN_ITEM * work.threads)
		work_usage("--size: less than %lu tuples for each of %u threads", TUPLES_OF_AN_ITEM,
			   work.threads);
	tables[SMALL_TABLE].tuples = nr;
	tables[LARGE_TABLE].tuples = LARGE * nr;
	places = PLACES_FOR_A_TUPLE * nr;
	partitions = nr / TUPLES_OF_A_PARTITION;
	if (partitions > MOST_PARTITIONS)
		partitions = MOST_PARTITIONS;
	if (!partitions)
		partitions = 1;
}

/* --- tuples --- */

/* Keys are 1 to the size of the small table, in an order of their own. */
static uint64_t key_of(unsigned int which, unsigned long i)
{
	uint64_t mask = tables[SMALL_TABLE].tuples - 1;

	if (which == LARGE_TABLE)
		return 1 + (work_mix(i ^ work.seed << 40) & mask);
	return 1 + ((i * 0x9e3779b97f4a7c15ull + work.seed) & mask);
}

static uint64_t payload_of(unsigned int which, unsigned long i)
{
	return i * 0xd6e8feb86659fd93ull + which;
}

/* The number of the tuple in the small table that has a key: the inverse of the above. */
static unsigned long tuple_of(uint64_t key)
{
	uint64_t inverse = 1, factor = 0x9e3779b97f4a7c15ull;
	int i;

	/* Each round of Newton's doubles the bits that are right. */
	for (i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse;
	return ((key - 1 - work.seed) * inverse) & (tables[SMALL_TABLE].tuples - 1);
}

static uint64_t hash_of(uint64_t key)
{
	return key * 0xff51afd7ed558ccdull;
}

/* By the upper bits, so that a partition has a part of the hash table of its own. */
static unsigned long place_of(uint64_t key)
{
	return hash_of(key) >> (64 - __builtin_ctzl(places));
}

static unsigned long partition_of(uint64_t key)
{
	return place_of(key) / (places / partitions);
}

/* --- a hash table, or the part of it that a partition has --- */

static void insert(struct tuple *start, unsigned long size, const struct tuple *tuple)
{
	unsigned long place = place_of(tuple->key);
	uint64_t empty;

	for (;; place++) {
		struct tuple *to = &start[place & (size - 1)];

		empty = 0;
		if (__atomic_load_n(&to->key, __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&to->key, &empty, tuple->key, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		to->payload = tuple->payload;
		return;
	}
}

static void probe(struct result *result, const struct tuple *start, unsigned long size,
		  const struct tuple *tuple)
{
	unsigned long place = place_of(tuple->key);

	for (;; place++) {
		const struct tuple *at = &start[place & (size - 1)];

		if (at->key == tuple->key) {
			result->matches++;
			result->sum += at->payload ^ tuple->payload;
			return;
		}
		if (!at->key)
			return;
	}
}

/* --- phases of both ways: arg is the table --- */

static unsigned long items_of(unsigned int which)
{
	return tables[which].tuples / TUPLES_OF_AN_ITEM;
}

static unsigned long judge(unsigned int thread, unsigned long item, unsigned long arg)
{
	struct result total = { 0 };
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		total.matches += results[i].matches;
		total.sum += results[i].sum;
		results[i] = (struct result){ 0 };
	}
	if (total.matches != tables[LARGE_TABLE].tuples || total.sum != expected_sum)
		bad_joins++;
	return 0;
}

/* --- a shared hash table --- */

static unsigned long clear(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned long nr = TUPLES_OF_AN_ITEM * PLACES_FOR_A_TUPLE;

	memset(hash + item * nr, 0, nr * sizeof(*hash));
	return 0;
}

static unsigned long build(unsigned int thread, unsigned long item, unsigned long arg)
{
	const struct tuple *tuple = tables[SMALL_TABLE].tuple + item * TUPLES_OF_AN_ITEM;
	unsigned long i;

	for (i = 0; i < TUPLES_OF_AN_ITEM; i++)
		insert(hash, places, &tuple[i]);
	return TUPLES_OF_AN_ITEM;
}

static unsigned long probe_item(unsigned int thread, unsigned long item, unsigned long arg)
{
	const struct tuple *tuple = tables[LARGE_TABLE].tuple + item * TUPLES_OF_AN_ITEM;
	unsigned long i;

	for (i = 0; i < TUPLES_OF_AN_ITEM; i++)
		probe(&results[thread], hash, places, &tuple[i]);
	return TUPLES_OF_AN_ITEM;
}

static void set_shared(void)
{
	static struct phase list[4];

	list[0] = (struct phase){ clear, items_of(SMALL_TABLE) };
	list[1] = (struct phase){ build, items_of(SMALL_TABLE) };
	list[2] = (struct phase){ probe_item, items_of(LARGE_TABLE) };
	list[3] = (struct phase){ judge, 1 };
	phases_set(list, 4, 0);
}

/* --- partitions --- */

static unsigned long count(unsigned int thread, unsigned long item, unsigned long arg)
{
	const struct tuple *tuple = tables[arg].tuple + item * TUPLES_OF_AN_ITEM;
	unsigned long i;

	for (i = 0; i < TUPLES_OF_AN_ITEM; i++)
		goes[thread][arg][partition_of(tuple[i].key)]++;
	return TUPLES_OF_AN_ITEM;
}

/* Where tuples go: by partition, within one by the thread that brings them. */
static unsigned long add_up(unsigned int thread, unsigned long item, unsigned long arg)
{
	struct table *table = &tables[arg];
	unsigned long at = 0, p, n;
	unsigned int i;

	for (p = 0; p < partitions; p++) {
		table->begins[p] = at;
		for (i = 0; i < work.threads; i++) {
			n = goes[i][arg][p];
			goes[i][arg][p] = at;
			at += n;
		}
	}
	table->begins[partitions] = at;
	return 0;
}

static unsigned long scatter(unsigned int thread, unsigned long item, unsigned long arg)
{
	const struct tuple *tuple = tables[arg].tuple + item * TUPLES_OF_AN_ITEM;
	unsigned long i;

	for (i = 0; i < TUPLES_OF_AN_ITEM; i++)
		tables[arg].copy[goes[thread][arg][partition_of(tuple[i].key)]++] = tuple[i];
	return TUPLES_OF_AN_ITEM;
}

static unsigned long join_partition(unsigned int thread, unsigned long item, unsigned long arg)
{
	const struct table *small = &tables[SMALL_TABLE], *large = &tables[LARGE_TABLE];
	unsigned long size = places / partitions, i;
	struct tuple *start = hash + item * size;

	/* With twice the places this cannot be, unless something is wrong; it would have no end. */
	if (small->begins[item + 1] - small->begins[item] >= size)
		return 0;
	memset(start, 0, size * sizeof(*start));
	for (i = small->begins[item]; i < small->begins[item + 1]; i++)
		insert(start, size, &small->copy[i]);
	for (i = large->begins[item]; i < large->begins[item + 1]; i++)
		probe(&results[thread], start, size, &large->copy[i]);
	return small->begins[item + 1] - small->begins[item] +
		large->begins[item + 1] - large->begins[item];
}

static unsigned long forget(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned int i;

	for (i = 0; i < work.threads; i++)
		memset(goes[i], 0, 2 * sizeof(goes[i][0]));
	return judge(thread, item, arg);
}

static void set_partitioned(void)
{
	static struct phase list[8];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		list[i] = (struct phase){ count, items_of(i), i };
		list[2 + i] = (struct phase){ add_up, 1, i };
		list[4 + i] = (struct phase){ scatter, items_of(i), i };
	}
	list[6] = (struct phase){ join_partition, partitions, 0, true };
	list[7] = (struct phase){ forget, 1 };
	phases_set(list, 8, 0);
}

/* --- begin and end --- */

/* A table in parts of the threads. */
static struct tuple *get_table(unsigned int process, unsigned long nr)
{
	unsigned long items = tables[SMALL_TABLE].tuples / TUPLES_OF_AN_ITEM, first, end;
	unsigned long bytes = nr / items * sizeof(struct tuple);
	char *start = work_alloc(items * bytes);
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		phases_part(items, i, &first, &end);
		work_place(start + first * bytes, (end - first) * bytes, process, i);
	}
	return (struct tuple *)start;
}

/* Parts of the small table's items make the same parts of all others. */
static void fill_part(unsigned int thread)
{
	unsigned long first, end, i;
	unsigned int t;

	for (t = 0; t < 2; t++) {
		struct table *table = &tables[t];

		phases_part(items_of(t), thread, &first, &end);
		first *= TUPLES_OF_AN_ITEM;
		end *= TUPLES_OF_AN_ITEM;
		for (i = first; i < end; i++)
			table->tuple[i] = (struct tuple){ key_of(t, i), payload_of(t, i) };
		memset(table->copy + first, 0, (end - first) * sizeof(struct tuple));
		work_oracle(table->tuple + first, (end - first) * sizeof(struct tuple), 1);
	}
	phases_part(items_of(SMALL_TABLE), thread, &first, &end);
	for (i = first; i < end; i++)
		clear(thread, i, 0);
}

static void find_expected_sum(void)
{
	unsigned long i;

	for (i = 0; i < tables[LARGE_TABLE].tuples; i++)
		expected_sum += payload_of(LARGE_TABLE, i) ^
			payload_of(SMALL_TABLE, tuple_of(key_of(LARGE_TABLE, i)));
}

static void init(unsigned int process)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		tables[i].tuple = get_table(process, tables[i].tuples);
		tables[i].copy = get_table(process, tables[i].tuples);
	}
	hash = get_table(process, places);
	for (i = 0; i < work.threads; i++) {
		goes[i] = work_alloc(2 * sizeof(goes[i][0]));
		work_place(goes[i], 2 * sizeof(goes[i][0]), process, i);
		if (touch == TOUCH_SERIAL)
			fill_part(i);
	}
	find_expected_sum();
	if (join == JOIN_SHARED)
		set_shared();
	else
		set_partitioned();
}

static void thread_init(struct work_thread *thread)
{
	if (touch == TOUCH_PARALLEL)
		fill_part(thread->id);
}

static bool right_table(unsigned int process, unsigned int which)
{
	const struct tuple *tuple = tables[which].tuple;
	unsigned long i;

	for (i = 0; i < tables[which].tuples; i++) {
		if (tuple[i].key != key_of(which, i) || tuple[i].payload != payload_of(which, i)) {
			work_wrong("process %u: tuple %lu of table %u", process, i, which);
			return false;
		}
	}
	return true;
}

static bool verify(unsigned int process)
{
	if (!right_table(process, SMALL_TABLE) || !right_table(process, LARGE_TABLE))
		return false;
	phases_complete(0);
	if (bad_joins)
		work_wrong("process %u: %lu joins", process, (unsigned long)bad_joins);
	return !bad_joins;
}

int main(int argc, char **argv)
{
	static const struct work_ops ops = {
		.name		= "hashjoin",
		.summary	= "joins of two tables by a hash table that is built and probed",
		.defaults	= { 96 * WORK_MB, 1, 8, 20, 0, PIN_NONE },
		.extra		= options,
		.check		= check,
		.init		= init,
		.thread_init	= thread_init,
		.step		= phases_step,
		.verify		= verify,
	};

	return work_main(&ops, argc, argv);
}
