// SPDX-License-Identifier: GPL-2.0
/* Set up the cache model; looking up is in the header. */
#include <stdlib.h>

#include "cache.h"

/**
 * cache_init - make an empty cache
 * @cache: the cache
 * @sets: number of sets, a power of two
 * @ways: lines of a set, at least 2
 */
void cache_init(struct cache *cache, uint32_t sets, uint32_t ways)
{
	size_t bytes = (size_t)sets * ways * sizeof(*cache->tag);

	cache->tag = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	if (!cache->tag)
		abort();
	memset(cache->tag, 0, bytes);
	cache->mask = sets - 1;
	cache->ways = ways;
}
