// SPDX-License-Identifier: GPL-2.0
/*
 * The KUnit tests of the placement policy in userspace, with more rounds and
 * with nodes that a kernel would not put on its stack or in its data.
 */
#define NUMAB_PROP_ROUNDS	10000
#define NUMAB_PROP_NODES	1024

#include "../../../kernel/sched/tests/numab_policy_kunit.c"
