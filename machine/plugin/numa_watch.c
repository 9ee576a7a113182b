// SPDX-License-Identifier: GPL-2.0
/*
 * numa_watch [-s MS] PROGRAM ARGS...: run a program and watch the guest meanwhile.
 *
 * Every second the counters of the kernel are noted and a mark is made; every MS milliseconds (50)
 * it looks whether the program has ended. What was noted is printed at the end, one JSON object per
 * line behind "@machine ", after the last mark. The probe counts this task apart.
 */
#define _GNU_SOURCE
#define MACHINE_MARK_GUEST
#include <err.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mark.h"

#define LOG_SIZE	(4ul << 20)
#define MAX_NODES	16

static char *notes;
static size_t notes_len;
static char text[1 << 16];

/* Add to the notes. */
static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(notes + notes_len, LOG_SIZE - notes_len, format, args);
	va_end(args);
	if (len < 0 || notes_len + len >= LOG_SIZE)
		errx(1, "too much to note");
	notes_len += len;
}

/* Read a file of the kernel into text; an absent one is empty. */
static char *read_file(const char *name)
{
	ssize_t got, len = 0;
	int fd = open(name, O_RDONLY);

	if (fd >= 0) {
		while ((got = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
			len += got;
		close(fd);
	}
	text[len] = 0;
	return text;
}

static unsigned long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

/* Does a counter of vmstat matter? */
static bool wanted(const char *name)
{
	static const char * const prefixes[] = {
		"numa_", "pgmigrate_", "thp_migration_", "thp_split_pmd", "pgpromote_", "pgdemote_",
		"thp_fault_alloc", "pgfault",
	};
	unsigned int i;

	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Counters of all of the guest. */
static void note_vmstat(void)
{
	char *line, *rest = read_file("/proc/vmstat"), name[64];
	const char *comma = "";
	unsigned long long value;

	note("\"vmstat\":{");
	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "%63s %llu", name, &value) != 2 || !wanted(name))
			continue;
		note("%s\"%s\":%llu", comma, name, value);
		comma = ",";
	}
	note("}");
}

/* Anonymous and shared memory of each node in KiB. */
static void note_memory(void)
{
	unsigned long long anon, shmem;
	unsigned int node;
	char name[64], *at;

	note(",\"node_kib\":[");
	for (node = 0; node < MAX_NODES; node++) {
		snprintf(name, sizeof(name), "/sys/devices/system/node/node%u/meminfo", node);
		read_file(name);
		if (!text[0])
			break;
		at = strstr(text, "AnonPages:");
		anon = at ? strtoull(at + 10, NULL, 10) : 0;
		at = strstr(text, "Shmem:");
		shmem = at ? strtoull(at + 6, NULL, 10) : 0;
		note("%s%llu", node ? "," : "", anon + shmem);
	}
	note("]");
}

/* The scheduler's own counters: run time, wait time, number of runs. */
static void note_schedstat(void)
{
	char *line, *rest = read_file("/proc/schedstat");
	unsigned long long run, wait, runs;
	const char *comma = "";
	unsigned int cpu;

	note(",\"schedstat\":[");
	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %llu %llu %llu",
			   &cpu, &run, &wait, &runs) != 4)
			continue;
		note("%s[%llu,%llu,%llu]", comma, run, wait, runs);
		comma = ",";
	}
	note("]");
}

/* Note everything; once a second. */
static void note_all(void)
{
	note("@machine {\"us\":%llu,", now_us());
	note_vmstat();
	note_memory();
	note_schedstat();
	note("}\n");
}

/* Sleep up to a point in time. */
static void sleep_until(unsigned long long us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* Note everything once a second until the program ends; return its wait status. */
static int watch(pid_t pid, unsigned long long period)
{
	unsigned long long at = now_us(), tick = at;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		at += period;
		sleep_until(at);
		if (at < tick + 1000000)
			continue;
		tick += 1000000;
		note_all();
		machine_mark(MARK_TICK);
	}
	return status;
}

/* Start the program. */
static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	execvp(argv[0], argv);
	err(127, "%s", argv[0]);
}

int main(int argc, char **argv)
{
	unsigned long period = 50;
	int status, first = 1;

	if (argc > 2 && !strcmp(argv[1], "-s")) {
		period = strtoul(argv[2], NULL, 10);
		first = 3;
	}
	if (first >= argc || !period)
		errx(2, "usage: numa_watch [-s MS] PROGRAM ARGS...");
	notes = mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (notes == MAP_FAILED)
		err(1, "mmap");
	machine_code(MARK_HELPER);
	note_all();
	status = watch(start(argv + first), period * 1000);
	note_all();
	machine_mark(MARK_END);
	fwrite(notes, 1, notes_len, stdout);
	if (WIFSIGNALED(status))
		errx(128 + WTERMSIG(status), "%s: %s", argv[first], strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status);
}
