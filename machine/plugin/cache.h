/* SPDX-License-Identifier: GPL-2.0 */
/* The cache model: one last-level cache per node, least recently used way goes. */
#ifndef MACHINE_CACHE_H
#define MACHINE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/**
 * struct cache - a set-associative cache
 * @tag: line numbers, @ways per set, most recently used first
 * @mask: number of sets - 1
 * @ways: lines of a set
 */
struct cache {
	uint32_t *tag;
	uint32_t mask;
	uint32_t ways;
};

/**
 * cache_hit - look a line up and make it the most recently used one of its set
 * @cache: the cache
 * @line: number of the line, which is never 0
 *
 * A line that is not there replaces the one that was not used for the longest time.
 *
 * Return: true if it was there.
 */
static inline bool cache_hit(struct cache *cache, uint32_t line)
{
	uint32_t *set = cache->tag + (size_t)(line & cache->mask) * cache->ways;
	uint32_t way, last = cache->ways - 1;

	if (set[0] == line)
		return true;
	for (way = 1; way < last && set[way] != line; way++)
		;
	last = set[way];
	for (; way; way--)
		set[way] = set[way - 1];
	set[0] = line;
	return last == line;
}

void cache_init(struct cache *cache, uint32_t sets, uint32_t ways);

#endif
