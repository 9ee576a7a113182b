// SPDX-License-Identifier: GPL-2.0
/*
 * graph: a Kronecker graph as the Graph 500 benchmark has it, with few vertices of very many
 * neighbours, in compressed rows. The main thread builds it. The vertices are split among the
 * threads; their neighbours are anywhere. --kernel says what is done:
 *
 *	bfs		searches in breadth from one vertex after the other; each thread visits the
 *			vertices that are its own
 *	pagerank	rounds of page rank; each vertex collects what its neighbours give
 *
 * A unit is an entry of the adjacency lists.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "phases.h"

#define EDGE_FACTOR	16ul		/* edges for each vertex, as in Graph 500 */
#define MOST_SCALE	31
/* Of a vertex: lists (each edge twice), where they begin, and four words for the kernels. */
#define BYTES_OF_A_VERTEX (2 * EDGE_FACTOR * sizeof(uint64_t) + 5 * sizeof(uint64_t))
#define VERTICES_OF_AN_ITEM 64ul
#define VERTICES_OF_A_BLOCK 4ul	/* of a queue: a hub has thousands of entries */
#define DAMPING		0.85
#define NOBODY		(~0ull)

enum kernel { KERNEL_BFS, KERNEL_PAGERANK };

static unsigned long kernel;

static const struct work_option options[] = {
	{ "kernel", "bfs|pagerank", 0, 0, &kernel },
	{ },
};

static unsigned int scale;
static unsigned long vertices;
static uint64_t *begins;		/* of a vertex's list; one more than vertices */
static uint64_t *neighbours;
static uint64_t lists_at_first;		/* checksum */

static void check(void)
{
	scale = 1;
	while (scale < MOST_SCALE && (2ul << scale) * BYTES_OF_A_VERTEX <= work.size)
		scale++;
	vertices = 1ul << scale;
	if (vertices < VERTICES_OF_AN_ITEM * work.threads)
		work_usage("--size: less than %lu vertices for each of %u threads",
			   VERTICES_OF_AN_ITEM, work.threads);
}

static unsigned long degree(unsigned long vertex)
{
	return begins[vertex + 1] - begins[vertex];
}

/* --- edges --- */

struct edge {
	uint32_t from;
	uint32_t to;
};

/*
 * In which quarter of the matrix an edge is, three levels at a time: of 2^16 entries each of the 64
 * combinations has its share. Low three bits: row, high three bits: column.
 */
static uint8_t quarters[1 << 16];

static void fill_quarters(void)
{
	/* Probabilities of Graph 500: 0.57, 0.19, 0.19, and 0.05 for the rest. */
	static const double share[] = { 0.57, 0.19, 0.19, 0.05 };
	unsigned long at = 0, end;
	double sum = 0;
	int i, a, b, c;

	for (i = 0; i < 64; i++) {
		a = i & 3;
		b = i >> 2 & 3;
		c = i >> 4;
		sum += share[a] * share[b] * share[c];
		end = i < 63 ? (1 << 16) * sum : 1 << 16;
		for (; at < end; at++)
			quarters[at] = (a & 1) << 2 | (b & 1) << 1 | (c & 1) |
				((a >> 1) << 2 | (b >> 1) << 1 | c >> 1) << 3;
	}
}

/* Vertices of many neighbours must not all have low numbers: a permutation of all numbers. */
static uint32_t scrambled(uint64_t vertex)
{
	uint64_t mask = vertices - 1;

	vertex = (vertex * 0x9e3779b97f4a7c15ull + work.seed) & mask;
	vertex ^= vertex >> (scale + 1) / 2;
	return (vertex * 0xd6e8feb86659fd93ull) & mask;
}

static struct edge make_edge(uint64_t *random)
{
	uint64_t from = 0, to = 0, bits = 0;
	unsigned int level;

	for (level = 0; level < scale; level += 3) {
		if (level % 12 == 0)
			bits = work_random(random);
		from = from << 3 | (quarters[bits & 0xffff] & 7);
		to = to << 3 | quarters[bits & 0xffff] >> 3;
		bits >>= 16;
	}
	return (struct edge){ scrambled(from & (vertices - 1)), scrambled(to & (vertices - 1)) };
}

/* --- lists --- */

static void count_edges(struct edge *edges, unsigned int process)
{
	uint64_t random = work_mix(work.seed << 8 | process);
	unsigned long i;

	for (i = 0; i < EDGE_FACTOR * vertices; i++) {
		edges[i] = make_edge(&random);
		if (edges[i].from == edges[i].to)
			continue;
		begins[edges[i].from + 1]++;
		begins[edges[i].to + 1]++;
	}
}

/* After this each entry of begins is where the list ends; that is put right at last. */
static void fill_lists(const struct edge *edges)
{
	unsigned long i;

	for (i = 0; i < EDGE_FACTOR * vertices; i++) {
		if (edges[i].from == edges[i].to)
			continue;
		neighbours[begins[edges[i].from]++] = edges[i].to;
		neighbours[begins[edges[i].to]++] = edges[i].from;
	}
	memmove(begins + 1, begins, vertices * sizeof(*begins));
	begins[0] = 0;
}

static uint64_t sum_lists(void)
{
	uint64_t sum = 0;
	unsigned long i;

	for (i = 0; i < begins[vertices]; i++)
		sum = (sum << 1 | sum >> 63) + neighbours[i];
	for (i = 0; i <= vertices; i++)
		sum = (sum << 1 | sum >> 63) + begins[i];
	return sum;
}

/* The vertices of a thread. */
static void part(unsigned int thread, unsigned long *first, unsigned long *end)
{
	phases_part(vertices / VERTICES_OF_AN_ITEM, thread, first, end);
	*first *= VERTICES_OF_AN_ITEM;
	*end *= VERTICES_OF_AN_ITEM;
}

static unsigned int owner(unsigned long vertex)
{
	unsigned long item = vertex / VERTICES_OF_AN_ITEM, items = vertices / VERTICES_OF_AN_ITEM;
	unsigned int thread = item * work.threads / items;
	unsigned long first, end;

	/* Rounding puts it off by one at most. */
	part(thread, &first, &end);
	return vertex >= end ? thread + 1 : thread;
}

/* Something of so many bytes for each vertex. */
static void *for_vertices(unsigned int process, unsigned long bytes)
{
	char *start = work_alloc(vertices * bytes);
	unsigned long first, end;
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		part(i, &first, &end);
		work_place(start + first * bytes, (end - first) * bytes, process, i);
	}
	return start;
}

static void place_lists(unsigned int process)
{
	unsigned long first, end;
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		part(i, &first, &end);
		work_place(neighbours + begins[first],
			   (begins[end] - begins[first]) * sizeof(*neighbours), process, i);
	}
}

static void build(unsigned int process)
{
	unsigned long bytes = EDGE_FACTOR * vertices * sizeof(struct edge), i;
	struct edge *edges;

	edges = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (edges == MAP_FAILED)
		err(1, "memory for edges");
	fill_quarters();
	neighbours = work_alloc(2 * EDGE_FACTOR * vertices * sizeof(*neighbours));
	begins = work_alloc((vertices + 1) * sizeof(*begins));
	count_edges(edges, process);
	for (i = 0; i < vertices; i++)
		begins[i + 1] += begins[i];
	place_lists(process);
	fill_lists(edges);
	munmap(edges, bytes);
	lists_at_first = sum_lists();
}

/* --- search in breadth --- */

enum { BFS_FORGET, BFS_ROOT, BFS_EXPAND, BFS_ADVANCE };

static uint64_t *parents, *depths;
static uint64_t random_root;
static uint64_t root = NOBODY;
static unsigned long depth;
static unsigned long blocks;		/* of the longest queue */

/*
 * Vertices of a depth that are a thread's own, and those of the next depth, which all threads put
 * there. Both arrays have a place for each of its vertices.
 */
static struct queue {
	uint64_t *now;
	uint64_t *next;
	unsigned long nr_now;
	unsigned long nr_next;
} __attribute__((aligned(128))) queues[WORK_THREADS];

static unsigned long forget(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned long i;

	for (i = item * VERTICES_OF_AN_ITEM; i < (item + 1) * VERTICES_OF_AN_ITEM; i++)
		parents[i] = depths[i] = NOBODY;
	return 0;
}

static void reach(uint64_t vertex, uint64_t parent)
{
	struct queue *queue = &queues[owner(vertex)];
	uint64_t nobody = NOBODY;

	if (__atomic_load_n(&parents[vertex], __ATOMIC_RELAXED) != NOBODY ||
	    !__atomic_compare_exchange_n(&parents[vertex], &nobody, parent, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	depths[vertex] = depth + 1;
	queue->next[__atomic_fetch_add(&queue->nr_next, 1, __ATOMIC_RELAXED)] = vertex;
}

/* Each thread has as many items as the longest queue has blocks. */
static unsigned long advance(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned long longest = 0;
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		struct queue *queue = &queues[i];
		uint64_t *now = queue->now;

		queue->now = queue->next;
		queue->next = now;
		queue->nr_now = queue->nr_next;
		queue->nr_next = 0;
		if (queue->nr_now > longest)
			longest = queue->nr_now;
	}
	depth++;
	blocks = (longest + VERTICES_OF_A_BLOCK - 1) / VERTICES_OF_A_BLOCK;
	phases_items(BFS_EXPAND, blocks * work.threads);
	phases_next(blocks ? BFS_EXPAND : BFS_FORGET);
	return 0;
}

/* The root is its own parent. */
static unsigned long choose_root(unsigned int thread, unsigned long item, unsigned long arg)
{
	do
		root = work_random(&random_root) % vertices;
	while (!degree(root));
	depth = -1;
	reach(root, root);
	return advance(thread, item, arg);
}

static unsigned long expand(unsigned int thread, unsigned long item, unsigned long arg)
{
	struct queue *queue = &queues[item / blocks];
	unsigned long i = item % blocks * VERTICES_OF_A_BLOCK, end = i + VERTICES_OF_A_BLOCK;
	unsigned long units = 0;
	uint64_t j;

	for (; i < end && i < queue->nr_now; i++) {
		uint64_t vertex = queue->now[i];

		for (j = begins[vertex]; j < begins[vertex + 1]; j++)
			reach(neighbours[j], vertex);
		units += degree(vertex);
	}
	return units;
}

static void prepare_bfs(unsigned int process)
{
	static struct phase list[4];
	uint64_t *now, *next;
	unsigned long first, end;
	unsigned int i;

	parents = for_vertices(process, sizeof(*parents));
	depths = for_vertices(process, sizeof(*depths));
	now = for_vertices(process, sizeof(*now));
	next = for_vertices(process, sizeof(*next));
	for (i = 0; i < work.threads; i++) {
		part(i, &first, &end);
		queues[i].now = now + first;
		queues[i].next = next + first;
	}
	memset(now, 0, vertices * sizeof(*now));
	memset(next, 0, vertices * sizeof(*next));
	for (first = 0; first < vertices / VERTICES_OF_AN_ITEM; first++)
		forget(0, first, 0);
	random_root = work_mix(work.seed << 16 | process);

	list[BFS_FORGET] = (struct phase){ forget, vertices / VERTICES_OF_AN_ITEM };
	list[BFS_ROOT] = (struct phase){ choose_root, 1 };
	list[BFS_EXPAND] = (struct phase){ expand, 0 };
	list[BFS_ADVANCE] = (struct phase){ advance, 1 };
	phases_set(list, 4, BFS_FORGET);
}

/* Who has been reached from a neighbour one closer to the root, and nobody from farther away. */
static bool right_vertex(unsigned long vertex)
{
	bool parent_is_neighbour = vertex == root;
	uint64_t i;

	if (vertex == root && (parents[root] != root || depths[root]))
		return false;
	for (i = begins[vertex]; i < begins[vertex + 1]; i++) {
		uint64_t other = neighbours[i];

		if ((depths[vertex] == NOBODY) != (depths[other] == NOBODY) ||
		    (depths[other] != NOBODY && depths[other] > depths[vertex] + 1))
			return false;
		parent_is_neighbour |= other == parents[vertex];
	}
	if (depths[vertex] == NOBODY)
		return parents[vertex] == NOBODY;
	return parent_is_neighbour && parents[vertex] < vertices &&
		(vertex == root || depths[parents[vertex]] + 1 == depths[vertex]);
}

static bool verify_bfs(unsigned int process)
{
	unsigned long i;

	phases_complete(BFS_FORGET);
	for (i = 0; root != NOBODY && i < vertices; i++) {
		if (!right_vertex(i)) {
			work_wrong("process %u: vertex %lu in a search", process, i);
			return false;
		}
	}
	return true;
}

/* --- page rank --- */

enum { PR_GIVE, PR_SHARE, PR_COLLECT };

static double *ranks, *gifts;
static double shared;			/* by all: what those without neighbours have */
static struct phase_sum lonely[WORK_THREADS];

static unsigned long give(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned long i;

	for (i = item * VERTICES_OF_AN_ITEM; i < (item + 1) * VERTICES_OF_AN_ITEM; i++) {
		gifts[i] = degree(i) ? ranks[i] / degree(i) : 0;
		if (!degree(i))
			lonely[thread].value += ranks[i];
	}
	return 0;
}

static unsigned long share(unsigned int thread, unsigned long item, unsigned long arg)
{
	shared = phase_total(lonely) / vertices;
	return 0;
}

static double rank_of(unsigned long vertex)
{
	double sum = 0;
	uint64_t i;

	for (i = begins[vertex]; i < begins[vertex + 1]; i++)
		sum += gifts[neighbours[i]];
	return (1 - DAMPING) / vertices + DAMPING * (shared + sum);
}

static unsigned long collect(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned long first = item * VERTICES_OF_AN_ITEM, end = first + VERTICES_OF_AN_ITEM, i;

	for (i = first; i < end; i++)
		ranks[i] = rank_of(i);
	return begins[end] - begins[first];
}

static void prepare_pagerank(unsigned int process)
{
	unsigned long items = vertices / VERTICES_OF_AN_ITEM, i;
	static struct phase list[3];

	ranks = for_vertices(process, sizeof(*ranks));
	gifts = for_vertices(process, sizeof(*gifts));
	for (i = 0; i < vertices; i++) {
		ranks[i] = 1.0 / vertices;
		gifts[i] = 0;
	}
	list[PR_GIVE] = (struct phase){ give, items };
	list[PR_SHARE] = (struct phase){ share, 1 };
	list[PR_COLLECT] = (struct phase){ collect, items };
	phases_set(list, 3, PR_GIVE);
}

/* The gifts are still those that the ranks were made of. */
static bool verify_pagerank(unsigned int process)
{
	double sum = 0;
	unsigned long i;

	phases_complete(PR_GIVE);
	for (i = 0; i < vertices; i++) {
		sum += ranks[i];
		if (phases_done() && ranks[i] != rank_of(i)) {
			work_wrong("process %u: rank of vertex %lu", process, i);
			return false;
		}
	}
	if (sum > 1 - 1e-9 && sum < 1 + 1e-9)
		return true;
	work_wrong("process %u: the ranks add up to %.12g", process, sum);
	return false;
}

/* --- both --- */

static void init(unsigned int process)
{
	unsigned long first, end;
	unsigned int i;

	build(process);
	if (kernel == KERNEL_BFS)
		prepare_bfs(process);
	else
		prepare_pagerank(process);
	for (i = 0; i < work.threads; i++) {
		part(i, &first, &end);
		work_oracle(neighbours + begins[first],
			    (begins[end] - begins[first]) * sizeof(*neighbours), 1);
	}
}

static bool verify(unsigned int process)
{
	if (sum_lists() != lists_at_first) {
		work_wrong("process %u: adjacency lists", process);
		return false;
	}
	return kernel == KERNEL_BFS ? verify_bfs(process) : verify_pagerank(process);
}

int main(int argc, char **argv)
{
	static const struct work_ops ops = {
		.name		= "graph",
		.summary	= "searches in a Kronecker graph, or page rank",
		.defaults	= { 40 * WORK_MB, 1, 8, 20, 0, PIN_NONE },
		.extra		= options,
		.check		= check,
		.init		= init,
		.step		= phases_step,
		.verify		= verify,
	};

	return work_main(&ops, argc, argv);
}
