# SPDX-License-Identifier: GPL-2.0
"""The verdict must fail whatever is not plainly good: each bad log here is judged as a failure."""

import contextlib
import io
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

# pylint: disable=wrong-import-position
import guests
import qemu
import report
from verdict import console_problems, parse_ktap

GOOD = """TAP version 13
1..2
# timeout set to 45
# selftests: numa: follow
# TAP version 13
# 1..1
# ok 1 memory follows
ok 1 selftests: numa: follow
# selftests: numa: tiers
# 1..0 # SKIP no slow node
ok 2 selftests: numa: tiers # SKIP
"""

KUNIT = """KTAP version 1
1..1
    KTAP version 1
    # Subtest: numab_policy
    # module: numab_policy_test
    1..2
    ok 1 keeps_its_node
        KTAP version 1
        # Subtest: moves
        ok 1 a
        ok 2 b
    ok 2 moves
# numab_policy: pass:2 fail:0 skip:0 total:2
ok 1 numab_policy
"""

BOOT = """[    0.000000] Linux version 6.12.117 (numab@localhost) (gcc, GNU ld) #1 SMP 2026-01-01
[    0.000000] Command line: console=ttyS0 oops=panic panic=-1
[    0.100000] rcu: Hierarchical RCU implementation.
[    0.200000] Spectre V1 : Mitigation: usercopy/swapgs barriers and __user pointer sanitization
[    0.300000] kmemleak: Kernel memory leak detector initialized (mem pool available: 15687)
[    0.400000] Running RCU self tests
[    1.000000] reboot: Power down
"""

BAD_LINES = {
    "BUG": "BUG: kernel NULL pointer dereference, address: 0000000000000008",
    "kernel BUG": "kernel BUG at mm/numa_scan.c:120!",
    "WARNING": "WARNING: CPU: 3 PID: 71 at kernel/sched/numa_balance.c:99 numab_tick+0x12/0x40",
    "Oops": "Oops: 0000 [#1] PREEMPT SMP NOPTI",
    "trace": "Call Trace:",
    "panic": "Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b",
    "lockdep": "WARNING: possible circular locking dependency detected",
    "lockdep irq": "WARNING: inconsistent lock state",
    "held": "WARNING: lock held when returning to user space!",
    "hung": "INFO: task numa_demo:88 blocked for more than 120 seconds.",
    "rcu usage": "WARNING: suspicious RCU usage",
    "rcu stall": "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "rcu self": "rcu: INFO: rcu_preempt self-detected stall on CPU",
    "soft lockup": "watchdog: BUG: soft lockup - CPU#2 stuck for 26s!",
    "atomic": "BUG: scheduling while atomic: swapper/0/0/0x00000002",
    "sleep": "BUG: sleeping function called from invalid context at mm/numa_scan.c:30",
    "page state": "BUG: Bad page state in process churn  pfn:12345",
    "page map": "BUG: Bad page map in process churn  pte:8000000012345067 pmd:12345067",
    "rss": "BUG: Bad rss-counter state mm:00000000c0ffee00 type:MM_ANONPAGES val:1",
    "KASAN": "BUG: KASAN: slab-use-after-free in numab_free+0x10/0x20",
    "KCSAN": "BUG: KCSAN: data-race in numab_tick / numab_show",
    "UBSAN": "UBSAN: array-index-out-of-bounds in kernel/sched/numab_policy.c:9:3",
    "leak": "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "leak object": "unreferenced object 0xffff888004f4a000 (size 192):",
    "list": "list_del corruption. prev->next should be ffff88, but was dead",
    "refcount": "refcount_t: underflow; use-after-free.",
    "gp": "general protection fault, probably for non-canonical address 0xdead000000000100",
    "oom": "Out of memory: Killed process 99 (churn) total-vm:1234kB",
    "segfault": "follow[77]: segfault at 8 ip 0000000000401a2b sp 00007ffc error 4",
}


def outcome(output, console=BOOT, status=0, why=""):
    """A finished guest with this text."""
    lines = console.splitlines()
    return qemu.Outcome(status, why, lines, output.splitlines(), console_problems(lines))


def judge(scenario, result):
    """Failures, passes and skips that a guest counts."""
    results = report.Report()
    with contextlib.redirect_stdout(io.StringIO()):
        guests.judge_guest(scenario, result, results, "log")
    return results


class Console(unittest.TestCase):
    """The console checker."""

    def test_clean(self):
        """A normal boot is clean."""
        self.assertEqual(console_problems(BOOT.splitlines()), [])

    def test_each_bad_line(self):
        """Each kind of report is found, with a time stamp and without."""
        for name, line in BAD_LINES.items():
            with self.subTest(name):
                self.assertTrue(console_problems([line]))
                self.assertTrue(console_problems([f"[   12.345678] {line}"]))
                self.assertTrue(console_problems([f"[   12.345678][   T71] {line}"]))

    def test_bad_line_fails_the_guest(self):
        """A report fails the guest even if all tests passed."""
        for name, line in BAD_LINES.items():
            with self.subTest(name):
                self.assertTrue(judge(guests.Scenario("mesh2"),
                                      outcome(GOOD, BOOT + line + "\n")).failures)


class Ktap(unittest.TestCase):
    """The KTAP parser."""

    def outcomes(self, text):
        """Outcome of each result, and the problems."""
        ktap = parse_ktap(text.splitlines())
        return [r.outcome for r in ktap.results], ktap.problems

    def test_good(self):
        """Passes and a skip with its reason."""
        ktap = parse_ktap(GOOD.splitlines())
        self.assertEqual([r.outcome for r in ktap.results], ["ok", "skip"])
        self.assertEqual(ktap.results[1].reason, "no slow node")
        self.assertEqual(ktap.problems, [])

    def test_no_plan(self):
        """Results without a plan are a problem."""
        self.assertIn("no plan line", self.outcomes(GOOD.replace("\n1..2\n", "\n"))[1])

    def test_truncated(self):
        """Fewer results than planned are a problem."""
        text = GOOD[:GOOD.index("ok 2")]
        self.assertEqual(self.outcomes(text)[1], ["2 tests planned, 1 results seen"])

    def test_too_many(self):
        """More results than planned are a problem."""
        self.assertTrue(self.outcomes(GOOD + "ok 3 selftests: numa: more\n")[1])

    def test_wrong_number(self):
        """A number out of order is a problem."""
        self.assertTrue(self.outcomes(GOOD.replace("ok 2 self", "ok 3 self"))[1])

    def test_bail_out(self):
        """A bail-out is a problem."""
        self.assertTrue(self.outcomes(GOOD + "Bail out! no memory\n")[1])

    def test_failure(self):
        """A failing test names the check that failed."""
        text = GOOD.replace("# ok 1 memory", "# not ok 1 memory") \
            .replace("\nok 1 self", "\nnot ok 1 self")
        ktap = parse_ktap(text.splitlines())
        self.assertEqual(ktap.results[0].outcome, "fail")
        self.assertIn("memory follows", ktap.results[0].reason)

    def test_hidden_failure(self):
        """A test that says ok while one of its own lines says not ok has failed."""
        text = GOOD.replace("# ok 1 memory", "# not ok 1 memory")
        self.assertEqual(self.outcomes(text)[0][0], "fail")

    def test_timeout(self):
        """A test that ran out of time has failed."""
        text = GOOD.replace("ok 1 selftests: numa: follow",
                            "not ok 1 selftests: numa: follow # TIMEOUT 45 seconds")
        self.assertEqual(self.outcomes(text)[0][0], "fail")

    def test_skip_without_reason(self):
        """A skip without a reason is a failure."""
        self.assertEqual(self.outcomes(GOOD.replace(" no slow node", ""))[0][1], "fail")

    def test_empty_plan(self):
        """A plan of nothing is a skip with a reason, else a failure."""
        self.assertEqual(self.outcomes("TAP version 13\n1..0 # SKIP not root\n")[0], ["skip"])
        self.assertEqual(self.outcomes("TAP version 13\n1..0\n")[0], ["fail"])


class Guest(unittest.TestCase):
    """The verdict on a whole guest."""

    plain = guests.Scenario("mesh2")
    kunit = guests.Scenario("mesh2", kunit=True)

    def test_good(self):
        """Two selftests (one skipped) and the guest itself."""
        results = judge(self.plain, outcome(GOOD))
        self.assertEqual((results.passed, len(results.failures), len(results.skips)), (2, 0, 1))

    def test_inner_tests_count(self):
        """A program's own tests count one each; its time-out counts too."""
        text = GOOD.replace("# 1..1\n", "# 1..3\n").replace(
            "# ok 1 memory follows\n",
            "# ok 1 a\n# ok 2 b # SKIP no reason needed here\n# ok 3 c\n")
        results = judge(self.plain, outcome(text))
        self.assertEqual((results.passed, len(results.failures), len(results.skips)), (3, 0, 2))
        cut = text.replace("# ok 3 c\n", "").replace(
            "\nok 1 selftests: numa: follow", "\nnot ok 1 selftests: numa: follow # TIMEOUT 45 seconds")
        self.assertTrue(judge(self.plain, outcome(cut)).failures)
        crash = text.replace("\nok 1 selftests", "\nnot ok 1 selftests")
        self.assertTrue(judge(self.plain, outcome(crash)).failures)
        inner = text.replace("# ok 2 b # SKIP no reason needed here", "# ok 2 b # SKIP")
        self.assertTrue(judge(self.plain, outcome(inner)).failures)

    def test_kunit(self):
        """Each case of a KUnit suite counts."""
        results = judge(self.kunit, outcome(KUNIT + GOOD))
        self.assertEqual((results.passed, len(results.failures)), (4, 0))

    def test_kunit_missing(self):
        """No suite where one is expected is a failure."""
        self.assertTrue(judge(self.kunit, outcome(GOOD)).failures)

    def test_kunit_failure(self):
        """A failing case and a failing suite are seen."""
        for old in ("    ok 2 moves", "ok 1 numab_policy"):
            self.assertTrue(judge(self.kunit, outcome(
                KUNIT.replace(old, old.replace("ok", "not ok")) + GOOD)).failures)

    def test_silence(self):
        """A guest that prints nothing has failed, whatever its status says."""
        self.assertTrue(judge(self.plain, outcome("")).failures)

    def test_truncated(self):
        """Output that stops in the middle is a failure at every line."""
        lines = GOOD.splitlines(keepends=True)
        for end in range(len(lines)):
            self.assertTrue(judge(self.plain, outcome("".join(lines[:end]))).failures)

    def test_early_end(self):
        """Time-out, panic and a missing end are failures."""
        for status in (qemu.TIMEOUT, qemu.PANIC, qemu.NO_END):
            self.assertTrue(judge(self.plain, outcome(GOOD, status=status, why="ended")).failures)

    def test_status(self):
        """A command that fails although no test did is a failure."""
        for status in (1, 2, 127):
            self.assertTrue(judge(self.plain, outcome(GOOD, status=status)).failures)

    def test_nothing_passed(self):
        """A run without a pass is no success."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(report.Report().finish(), 1)
        self.assertEqual(out.getvalue().splitlines()[-1], "0 passed, 0 failed")


if __name__ == "__main__":
    unittest.main()
