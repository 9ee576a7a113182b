// SPDX-License-Identifier: GPL-2.0
/*
 * request: pairs of a client and a server, each a process of one thread. The client sends a request
 * and waits for the answer, so one of the two always sleeps: what counts is how soon the other one
 * runs, and where. Balancing can hardly win anything here, it must not lose anything.
 *
 * --processes is the number of pairs, --size the memory of each process. The server sums up the
 * record that is asked for, the client keeps what it is told. --kind says how they talk: udp, tcp
 * (over the loopback device, which is brought up), pipe or socketpair. --bytes is the length of
 * requests and answers.
 *
 * A unit is a request with its answer. Without INET in the kernel udp and tcp are skipped: a line
 * says so, and the status is 4.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "work.h"

#define RECORD		256ul		/* bytes */
#define WORDS		(RECORD / sizeof(uint64_t))
#define MOST_BYTES	16384ul
#define STATUS_SKIPPED	4		/* as for kselftests */
#define THE_END		(~0ull)		/* instead of the number of a request */

enum kind { KIND_UDP, KIND_TCP, KIND_PIPE, KIND_SOCKETPAIR };

static unsigned long kind = KIND_TCP, bytes = 64;

static const struct work_option options[] = {
	{ "kind", "udp|tcp|pipe|socketpair", 0, 0, &kind },
	{ "bytes", NULL, 32, MOST_BYTES, &bytes },
	{ },
};

/* What one of a pair reads from and writes to. Client: even process, server: the next one. */
static struct end {
	int in;
	int out;
} ends[WORK_PROCESSES];

struct message {
	uint64_t number;
	uint64_t record;
	uint64_t answer;
	uint64_t sum;		/* of the three above */
	char rest[MOST_BYTES - 32];
};

static struct message message;
static uint64_t *memory;
static unsigned long nr_records;
static uint64_t requests;
static uint64_t wrong;
static bool at_end;

/* --- how they are connected: all in the parent, so nobody has to look for anybody --- */

static int inet_socket(int type)
{
	int fd = socket(AF_INET, type, 0);

	if (fd < 0 && errno == EAFNOSUPPORT) {
		printf("SKIP: this kernel has no INET\n");
		exit(STATUS_SKIPPED);
	}
	if (fd < 0)
		err(1, "socket");
	return fd;
}

static void bring_up_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = inet_socket(SOCK_DGRAM);

	if (ioctl(fd, SIOCGIFFLAGS, &request))
		err(1, "loopback device");
	if (!(request.ifr_flags & IFF_UP)) {
		request.ifr_flags |= IFF_UP;
		if (ioctl(fd, SIOCSIFFLAGS, &request))
			err(1, "loopback device up");
	}
	close(fd);
}

/* A socket on some port of the loopback device; returns where that is. */
static int bound_socket(int type, struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int fd = inet_socket(type);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (bind(fd, (struct sockaddr *)address, length) ||
	    getsockname(fd, (struct sockaddr *)address, &length))
		err(1, "bind");
	return fd;
}

static void join(int fd, const struct sockaddr_in *address)
{
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		err(1, "connect");
}

static void connect_udp(int fds[2])
{
	struct sockaddr_in addresses[2];
	int i;

	for (i = 0; i < 2; i++)
		fds[i] = bound_socket(SOCK_DGRAM, &addresses[i]);
	for (i = 0; i < 2; i++)
		join(fds[i], &addresses[!i]);
}

static void connect_tcp(int fds[2])
{
	struct sockaddr_in address;
	int listener = bound_socket(SOCK_STREAM, &address), on = 1, i;

	fds[0] = inet_socket(SOCK_STREAM);
	if (listen(listener, 1))
		err(1, "listen");
	join(fds[0], &address);
	fds[1] = accept(listener, NULL, NULL);
	if (fds[1] < 0)
		err(1, "accept");
	close(listener);
	for (i = 0; i < 2; i++)
		if (setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
			err(1, "TCP_NODELAY");
}

static void connect_pair(struct end *client, struct end *server)
{
	int to[2], back[2];

	if (kind == KIND_PIPE) {
		if (pipe(to) || pipe(back))
			err(1, "pipe");
		*client = (struct end){ back[0], to[1] };
		*server = (struct end){ to[0], back[1] };
		return;
	}
	if (kind == KIND_SOCKETPAIR && socketpair(AF_UNIX, SOCK_STREAM, 0, to))
		err(1, "socketpair");
	if (kind == KIND_UDP)
		connect_udp(to);
	if (kind == KIND_TCP)
		connect_tcp(to);
	*client = (struct end){ to[0], to[0] };
	*server = (struct end){ to[1], to[1] };
}

static void check(void)
{
	unsigned int i;

	if (work.threads != 1)
		work_usage("--threads %u: the processes have one thread", work.threads);
	if (work.processes > WORK_PROCESSES / 2)
		work_usage("--processes %u: at most %u pairs", work.processes, WORK_PROCESSES / 2);
	work.processes *= 2;
	if (kind == KIND_UDP || kind == KIND_TCP)
		bring_up_loopback();
	for (i = 0; i < work.processes; i += 2)
		connect_pair(&ends[i], &ends[i + 1]);
}

/* --- messages --- */

/* A stream may bring a message in parts. */
static void receive(const struct end *end)
{
	char *to = (char *)&message;
	size_t got = 0;
	ssize_t part;

	while (got < bytes) {
		part = read(end->in, to + got, bytes - got);
		if (part <= 0)
			err(1, "a message");
		got += part;
	}
	if (message.sum != message.number + message.record + message.answer)
		wrong++;
}

static void put(const struct end *end, uint64_t number, uint64_t record, uint64_t answer)
{
	const char *from = (const char *)&message;
	size_t done = 0;
	ssize_t part;

	message.number = number;
	message.record = record;
	message.answer = answer;
	message.sum = number + record + answer;
	while (done < bytes) {
		part = write(end->out, from + done, bytes - done);
		if (part <= 0)
			err(1, "a message");
		done += part;
	}
}

/* --- the two --- */

static bool is_server(unsigned int process)
{
	return process % 2;
}

static uint64_t word(unsigned int process, unsigned long i)
{
	return work_mix((uint64_t)process << 48 ^ i);
}

static uint64_t sum_of_words(unsigned int process, unsigned long record)
{
	uint64_t sum = 0;
	unsigned long i;

	for (i = record * WORDS; i < (record + 1) * WORDS; i++)
		sum += word(process, i);
	return sum;
}

static void serve(unsigned int process)
{
	const uint64_t *words;
	uint64_t sum = 0;
	unsigned long i;

	receive(&ends[process]);
	if (message.number == THE_END) {
		at_end = true;
		return;
	}
	words = memory + message.record % nr_records * WORDS;
	for (i = 0; i < WORDS; i++)
		sum += words[i];
	put(&ends[process], message.number, message.record, sum);
}

/* One answer in 16 is worked out anew. The first word of a record holds the last answer. */
static void ask(struct work_thread *thread)
{
	unsigned long record = work_random(&thread->random) % nr_records;

	put(&ends[thread->process], requests, record, 0);
	receive(&ends[thread->process]);
	if (message.number != requests || message.record != record)
		wrong++;
	if (requests++ % 16 == 0 && message.answer != sum_of_words(thread->process + 1, record))
		wrong++;
	memory[record * WORDS] = message.answer;
	thread->units++;
}

static void step(struct work_thread *thread)
{
	if (!is_server(thread->process))
		ask(thread);
	else if (!at_end)
		serve(thread->process);
	else
		usleep(1000);	/* time is over for the client already */
}

/* The client may still wait for an answer when time is over for the server. */
static void thread_exit(struct work_thread *thread)
{
	if (!is_server(thread->process))
		put(&ends[thread->process], THE_END, 0, 0);
	while (is_server(thread->process) && !at_end)
		serve(thread->process);
}

static void init(unsigned int process)
{
	unsigned long i;

	/* Who waits for a partner that has failed must not stay behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	nr_records = work.size / RECORD;
	memory = work_alloc(work.size);
	work_place(memory, work.size, process, 0);
	for (i = 0; i < nr_records * WORDS; i++)
		memory[i] = word(process, i);
	work_oracle(memory, work.size, 1);
}

/* A record of the client has the answer, or still its own first word. */
static bool right_word(unsigned int process, unsigned long i)
{
	if (memory[i] == word(process, i))
		return true;
	return !is_server(process) && i % WORDS == 0 &&
		memory[i] == sum_of_words(process + 1, i / WORDS);
}

static bool verify(unsigned int process)
{
	unsigned long i;

	if (wrong) {
		work_wrong("process %u: %lu messages", process, (unsigned long)wrong);
		return false;
	}
	for (i = 0; i < nr_records * WORDS; i++) {
		if (!right_word(process, i)) {
			work_wrong("process %u: word %lu", process, i);
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct work_ops ops = {
		.name		= "request",
		.summary	= "pairs of a client and a server; --processes: pairs",
		.defaults	= { 8 * WORK_MB, 4, 1, 20, 0, PIN_NONE },
		.extra		= options,
		.check		= check,
		.init		= init,
		.step		= step,
		.thread_exit	= thread_exit,
		.verify		= verify,
	};

	return work_main(&ops, argc, argv);
}
