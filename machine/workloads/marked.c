// SPDX-License-Identifier: GPL-2.0
/*
 * marked [--unit-pattern TEXT] [--unit-scale NUMBER] [--seconds NUMBER] -- program [argument]...
 *
 * Runs a program that knows nothing of the measuring machine, between the end-of-init mark and the
 * end-of-work mark, with one mark a second. Its output goes through, its status is ours (128 + the
 * number of a signal that ended it).
 *
 *	--unit-pattern TEXT	the number that follows the first TEXT in the output, on the same
 *				line, is the work done, in units. If there is none the run has
 *				failed: status 1
 *	--unit-scale NUMBER	that number times this one, then without a fraction; default: 1
 *	--seconds NUMBER	end the program and its children with SIGTERM after that time, which
 *				is no failure then; default: it ends on its own
 *
 * Without a pattern no units are given, and instructions stand in for them.
 */
#define _GNU_SOURCE
#define MACHINE_MARK_GUEST
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../plugin/mark.h"

#define MOST_OUTPUT	(16ul << 20)	/* that is looked at for the pattern */
#define MOST_SECONDS	100000
#define MOST_SCALE	1000000000
#define NANOSECONDS	1000000000ll

static const char *pattern;
static long long seconds, scale = 1;
static char *output;
static size_t length, room;

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NANOSECONDS + time.tv_nsec;
}

/* --- options --- */

static long long number(const char *option, const char *text, long long most)
{
	long long value;
	char *end;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < 1 || value > most)
		errx(2, "%s %s: not a number from 1 to %lld", option, text, most);
	return value;
}

/* Returns the program and its arguments. */
static char **read_options(char **argv)
{
	char **arg;

	for (arg = argv + 1; *arg && strcmp(*arg, "--"); arg += 2) {
		if (!arg[1])
			errx(2, "%s needs a value", *arg);
		if (!strcmp(*arg, "--unit-pattern"))
			pattern = arg[1];
		else if (!strcmp(*arg, "--seconds"))
			seconds = number(*arg, arg[1], MOST_SECONDS);
		else if (!strcmp(*arg, "--unit-scale"))
			scale = number(*arg, arg[1], MOST_SCALE);
		else
			errx(2, "no option '%s'; a program comes after '--'", *arg);
	}
	if (!*arg || !arg[1])
		errx(2, "no program after '--'");
	if (pattern && !*pattern)
		errx(2, "--unit-pattern: empty");
	return arg + 1;
}

/* --- output --- */

static void write_all(const char *data, size_t bytes)
{
	ssize_t done;

	for (; bytes; data += done, bytes -= done) {
		done = write(STDOUT_FILENO, data, bytes);
		if (done < 0)
			err(1, "output");
	}
}

static void keep(const char *data, size_t bytes)
{
	if (!pattern || length + bytes > MOST_OUTPUT)
		return;
	if (length + bytes >= room) {
		room = 2 * (length + bytes) + 1;
		output = realloc(output, room);
		if (!output)
			err(1, "memory");
	}
	memcpy(output + length, data, bytes);
	length += bytes;
	output[length] = 0;
}

/* Returns false at the end of the output. */
static bool pass_on(int from)
{
	char data[4096];
	ssize_t bytes = read(from, data, sizeof(data));

	if (bytes <= 0)
		return bytes < 0 && errno == EINTR;
	keep(data, bytes);
	write_all(data, bytes);
	return true;
}

static bool find_units(uint64_t *units)
{
	char *at = output ? strstr(output, pattern) : NULL;

	if (!at)
		return false;
	at += strlen(pattern);
	while (*at && *at != '\n' && !isdigit((unsigned char)*at))
		at++;
	if (!isdigit((unsigned char)*at))
		return false;
	*units = strtod(at, NULL) * scale;
	return true;
}

/* --- the program --- */

static pid_t start(char **argv, int *from)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		/* A group of its own: --seconds has to end its children as well. */
		setpgid(0, 0);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execvp(argv[0], argv);
		warn("%s", argv[0]);
		_exit(127);
	}
	setpgid(pid, pid);
	close(ends[1]);
	*from = ends[0];
	return pid;
}

/* Until its output ends: a mark a second, and SIGTERM when time is over. */
static bool watch(pid_t pid, int from)
{
	struct pollfd wait = { .fd = from, .events = POLLIN };
	long long begin = now(), tick = begin + NANOSECONDS;
	long long until = begin + seconds * NANOSECONDS, time;
	bool ended = false;

	for (;;) {
		time = now();
		if (seconds && !ended && time >= until) {
			ended = !kill(-pid, SIGTERM);
		} else if (time >= tick) {
			machine_mark(MARK_TICK);
			tick += NANOSECONDS;
		}
		time = tick > time ? (tick - time + 999999) / 1000000 : 0;
		if (poll(&wait, 1, time) > 0 && !pass_on(from))
			return ended;
	}
}

static int status_of(pid_t pid, bool ended)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (ended && WTERMSIG(status) == SIGTERM)
		return 0;
	return 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	char **command = read_options(argv);
	uint64_t units = 0;
	bool ended, found;
	int from, status;
	pid_t pid;

	machine_mark(MARK_INIT_END);
	pid = start(command, &from);
	ended = watch(pid, from);
	status = status_of(pid, ended);
	found = pattern && find_units(&units);
	if (found)
		machine_value(KEY_UNITS, units);
	machine_mark(MARK_WORK_END);
	if (pattern && !found && !status)
		errx(1, "no number after '%s' in the output", pattern);
	return status;
}
