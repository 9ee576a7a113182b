/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For workloads: where do the pages lie that some threads share and nobody else uses? Called for
 * each such range when its memory has been touched, before MARK_INIT_END; the measuring side works
 * out from all of them the fewest pages that any placement has to move.
 */
#ifndef MACHINE_ORACLE_H
#define MACHINE_ORACLE_H

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ORACLE_NODES	16
#define ORACLE_BATCH	512

/* Count the pages of a batch by node. */
static inline int machine_count_pages(char **pages, unsigned long nr, unsigned long *count)
{
	int status[ORACLE_BATCH];
	unsigned long i;

	if (syscall(SYS_move_pages, 0, nr, pages, NULL, status, 0))
		return -1;
	for (i = 0; i < nr; i++)
		if (status[i] >= 0 && status[i] < ORACLE_NODES)
			count[status[i]]++;
	return 0;
}

/*
 * Print one line for a range that a number of threads use. Returns 0, or -1 with errno set.
 */
static inline int machine_oracle(void *start, unsigned long bytes, unsigned int threads)
{
	unsigned long count[ORACLE_NODES] = { 0 }, at, nr = 0;
	char *pages[ORACLE_BATCH], line[512];
	int node, len;

	for (at = 0; at < bytes; at += 4096) {
		pages[nr++] = (char *)start + at;
		if (nr < ORACLE_BATCH && at + 4096 < bytes)
			continue;
		if (machine_count_pages(pages, nr, count))
			return -1;
		nr = 0;
	}
	len = sprintf(line, "@oracle {\"threads\":%u,\"pages\":[", threads);
	for (node = 0; node < ORACLE_NODES; node++)
		len += sprintf(line + len, "%s%lu", node ? "," : "", count[node]);
	strcpy(line + len, "]}\n");
	return write(1, line, len + 3) == len + 3 ? 0 : -1;
}

#endif
