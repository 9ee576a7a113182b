# SPDX-License-Identifier: GPL-2.0
"""Run the tests in guests of several topologies and judge them."""

import concurrent.futures
import os
import re
from dataclasses import dataclass

import qemu
from common import BUILD, RESULTS, say, shown
from verdict import expand, parse_ktap, split_ktap

INITRD = BUILD / "guest/initrd.cpio"


@dataclass
class Scenario:
    """One guest: its machine and what runs in it."""

    topology: str
    command: str = "run-selftests"
    append: str = ""
    kunit: bool = False


SCENARIOS = [
    # The longest first: guests run side by side.
    Scenario("mesh4"),
    Scenario("memoryless"),
    Scenario("mesh2", "run-kunit; k=$?; run-selftests && exit $k", "kunit.enable=1", True),
    Scenario("cpuless"),
    Scenario("uma1"),
]


def judge_guest(scenario, outcome, results, log):
    """Count every test of a guest, then the guest itself."""
    where, failed = f"guest {scenario.topology}", len(results.failures)
    problems = [outcome.why] if outcome.why else []
    problems += [f"console: {line}" for line in outcome.dirt]
    selftests, suites = [], []
    for part in split_ktap(outcome.output):
        (suites if is_kunit(part) else selftests).append(part)
    if len(selftests) != 1:
        problems.append(f"{len(selftests)} KTAP texts of selftests seen, 1 expected")
    if scenario.kunit and not suites:
        problems.append("no KUnit results")
    for part in selftests:
        problems += count(parse_ktap(part), where, results, log)
    for part in suites:
        problems += count(kunit_cases(part), f"{where}: kunit", results, log)
    if outcome.status == 1 and len(results.failures) == failed and not problems:
        problems.append("the command failed, yet no test did")
    elif outcome.status > 1 and not outcome.why:
        problems.append(f"the command ended with status {outcome.status}")
    note = f"console clean, {outcome.seconds:.0f} s"
    if problems:
        results.fail(where, "\n".join(problems), log)
    else:
        results.ok(where, note)


def is_kunit(part):
    """Whether a KTAP text is what KUnit left in debugfs: a suite with indented cases."""
    return any(re.match(r"^ {4}(KTAP version|# Subtest)", line) for line in part)


def kunit_cases(part):
    """The cases of a KUnit suite as results, named SUITE.CASE."""
    suite = next((m[1] for m in (re.match(r"^ {4}# Subtest: (\S+)", line) for line in part) if m),
                 "unknown")
    ktap = parse_ktap([line[4:] for line in part if line.startswith("    ")])
    for result in ktap.results:
        result.name = f"{suite}.{result.name}"
    outer = parse_ktap([line for line in part if not line.startswith("    ")])
    ktap.problems += outer.problems
    if any(r.outcome == "fail" for r in outer.results) \
            and not any(r.outcome == "fail" for r in ktap.results):
        ktap.problems.append(f"suite {suite} failed, yet none of its cases did")
    return ktap


def count(ktap, where, results, log):
    """Count the results of a KTAP text; return what is wrong with the text itself."""
    for result in [inner for outer in ktap.results for inner in expand(outer)]:
        name = f"{where}: {result.name.removeprefix('selftests: numa: ')}"
        if result.outcome == "ok":
            results.ok(name, result.reason)
        elif result.outcome == "skip":
            results.skip(name, result.reason)
        else:
            results.fail(name, result.reason, log)
    return ktap.problems


def run_scenario(scenario, kernel, results, timeout, accel, directory):
    """Boot one guest and judge it."""
    # A kernel with all its checks takes several times the instructions; tests have time limits.
    faster = 0 if directory.name == "test" else 2
    machine = qemu.set_options(qemu.Machine(accel=accel, faster=faster),
                               qemu.topology(scenario.topology))
    log = directory / f"{scenario.topology}.log"
    say(f"guest {scenario.topology}: started, log {shown(log)}")
    outcome = qemu.run_guest(machine, kernel, INITRD, scenario.command, log=log,
                             append=scenario.append, timeout=timeout)
    judge_guest(scenario, outcome, results, shown(log))


def run_all(kernel, results, timeout=1200, accel="tcg", kind="test", only=()):
    """All guests, as many at a time as there are CPUs (at most four)."""
    directory = RESULTS / kind
    directory.mkdir(parents=True, exist_ok=True)
    chosen = [s for s in SCENARIOS if not only or s.topology in only]
    jobs = max(1, min(4, os.cpu_count() or 1))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(run_scenario, s, kernel, results, timeout, accel, directory)
                   for s in chosen]
        try:
            for future in running:
                future.result()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            qemu.stop_all()
            raise
