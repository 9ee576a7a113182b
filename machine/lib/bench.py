# SPDX-License-Identifier: GPL-2.0
"""Make the runs of a benchmark: several at a time, and none that is known already.

A result is known by the hash of all that goes into its run. It is written when it is complete, so
an interrupted benchmark goes on where it was. A run that fails is reported and made again the next
time; it stops no other.
"""

import concurrent.futures
import json
import statistics
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import benchset
import figures
import measure
import qemu
import results
from common import RESULTS, ROOT, Failure, run, say, shown, write_if_changed
from kernels import read_json

RUNS = RESULTS / "runs"
WORKLOADS = ROOT / "machine/workloads"
# Programs that are not ours, and the scripts that bring them.
SCRIPTS = {"build/machine/perf": "build-perf", "build/machine/dbench/dbench": "build-dbench",
           "build/machine/dbench/tbench": "build-dbench"}
HASH_DIGITS = 24
# Guest seconds of boot and of touching memory, host seconds of a guest second with 8 CPUs (each
# further CPU adds its instructions), host seconds of start and evaluation: for the first estimate.
GUEST_EXTRA_S, HOST_PER_GUEST, HOST_EXTRA_S = 4, 1.3, 4
# A run may take this many times what was expected before it counts as hung.
PATIENCE, LEAST_TIMEOUT_S = 10, 600
LEAST_NOTE_NS = 500_000_000     # half of numa_watch's period


class Store:
    """Results in a directory, found by the hash of their inputs; durations of earlier runs."""

    def __init__(self, directory=RUNS):
        self.directory = Path(directory)
        self.times_file = self.directory / "durations.json"
        self.times = read_json(self.times_file, {})
        self.lock = threading.Lock()
        self.index = {path.stem.rsplit("-", 1)[1]: path
                      for path in self.directory.glob("*-*.json")}

    def load(self, inputs_hash, case):
        """The result of these inputs under the names of the case, or None."""
        path = self.index.get(inputs_hash[:HASH_DIGITS])
        facts = read_json(path, {}) if path else {}
        if facts.get("inputs_hash") != inputs_hash:
            return None
        return named(facts, case)

    def save(self, facts):
        """Write a complete result; returns where it is."""
        key = facts["inputs_hash"][:HASH_DIGITS]
        with self.lock:
            path = self.index.setdefault(key, self.directory / (
                "-".join(str(facts[name]) for name in ("workload", "topology", "thp", "mode",
                                                       "seed")) + f"-{key}.json"))
        write_if_changed(path, json.dumps(facts) + "\n")
        return path

    def note_time(self, case, host_s):
        """Remember how long a run took."""
        with self.lock:
            self.times[" ".join((*case.group(), case.mode))] = [case.seconds, round(host_s, 1)]
            write_if_changed(self.times_file, json.dumps(self.times, indent=1) + "\n")

    def estimate(self, case):
        """Host seconds that a run may take: as it was, as its like were, or from its size."""
        exact = self.times.get(" ".join((*case.group(), case.mode)))
        like = [exact] if exact else [
            value for key, value in self.times.items()
            if key.split(" ")[:2] == [case.workload, case.topology]]
        if like:
            return statistics.median(host * (case.seconds + GUEST_EXTRA_S)
                                     / (seconds + GUEST_EXTRA_S) for seconds, host in like)
        cpus = benchset.machine_of(case.topology).cpus
        return HOST_EXTRA_S + HOST_PER_GUEST * (case.seconds + GUEST_EXTRA_S) * max(1, cpus / 8)


def named(facts, case):
    """A result under the names of a case: the same inputs may stand for several."""
    return {**facts, "workload": case.workload, "topology": case.topology, "thp": case.thp,
            "mode": case.mode, "seed": case.seed}


def node_tasks(notes, cpu_node):
    """Mean number of runnable tasks of each node, second by second, from the guest's notes.

    Time that tasks ran on a CPU and time that they waited for it, by the time that passed. The
    machine's helper and kernel threads are in it. The kernel adds such a time when it is over, so
    a short interval, as the last may be, says little and is left out.
    """
    nodes, series = max(cpu_node, default=-1) + 1, []
    for before, after in zip(notes, notes[1:]):
        passed = (after["us"] - before["us"]) * 1000
        cpus = list(zip(before.get("schedstat", []), after.get("schedstat", [])))
        if len(cpus) != len(cpu_node) or passed < LEAST_NOTE_NS:
            continue
        loads = [0.0] * nodes
        for node, (old, new) in zip(cpu_node, cpus):
            loads[node] += (new[0] + new[1] - old[0] - old[1]) / passed
        series.append({"s": after["us"] / 1e6, "tasks": [round(load, 3) for load in loads]})
    return series


class Machine:
    """How runs are really made; tests put something else in its place."""

    def __init__(self, definitions, kernels, modes=None):
        self.definitions, self.kernels = definitions, kernels
        self.modes = modes or benchset.MODES
        self.images = {}

    def prepare(self, case, timeout):
        """All that a run needs; has the inputs_hash."""
        workload, mode = self.definitions.workloads[case.workload], self.modes[case.mode]
        kernel = self.kernels[mode.kernel]
        on = measure.MODES[mode.measured] == "enable"
        prepared = measure.prepare(measure.Spec(
            kernel, benchset.command_of(workload, case, mode.pin), topology=case.topology,
            thp=case.thp, mode=mode.measured, workload=case.workload, seed=case.seed,
            append=workload.append, files=[str(ROOT / name) for name in workload.files],
            setup=benchset.setup_of(workload, case, mode.pin, on), timeout=timeout))
        # Hundreds of runs share a few images of several MiB.
        prepared.initrd = self.images.setdefault(prepared.initrd, prepared.initrd)
        return prepared

    def measure(self, prepared):
        """Make the run; its result."""
        raw = measure.measure(prepared)
        facts = results.result(raw)
        return {**facts, "host_s": round(raw.host_s, 1),
                "node_tasks": node_tasks(raw.notes, facts["cpu_node"])}


def build_workloads(definitions, cases):
    """Build the static programs that the runs need if they are not up to date."""
    run("make", "-s", "-C", WORKLOADS)
    used = [definitions.workloads[name] for name in {case.workload for case in cases}]
    files = {name for workload in used for name in workload.files}
    for script in sorted({SCRIPTS[name] for name in files & set(SCRIPTS)}):
        say(f"bench: {script} (a minute the first time)")
        run(WORKLOADS / script)


@dataclass
class Outcome:
    """What a benchmark gave."""

    runs: list = field(default_factory=list)
    failures: list = field(default_factory=list)    # (case, reason)
    made: int = 0
    known: int = 0


def minutes(seconds):
    """A time as people say it."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


class Bench:
    """The runs of some cases."""

    def __init__(self, cases, machine, store, jobs):
        self.cases, self.machine, self.store, self.jobs = cases, machine, store, jobs
        self.found, self.failures = {}, {}
        self.todo = {}              # inputs_hash -> cases
        self.prepared = {}          # inputs_hash -> what is to run
        self.expected, self.spent = 0.0, 0.0    # of the runs that were made
        self.made, self.known, self.stopping = 0, 0, False
        self.lock = threading.Lock()

    def plan(self, again=False):
        """Find out what is known and what is to be made."""
        for case in self.cases:
            try:
                timeout = max(LEAST_TIMEOUT_S, int(PATIENCE * self.store.estimate(case)))
                prepared = self.machine.prepare(case, timeout)
            except Failure as error:
                self.failures[case] = str(error)
                say(f"FAIL  {case}: {str(error).splitlines()[0]}")
                continue
            key = prepared.inputs_hash
            facts = None if again else self.store.load(key, case)
            if facts:
                self.found[case] = facts
                self.known += 1
            else:
                self.todo.setdefault(key, []).append(case)
                self.prepared.setdefault(key, prepared)

    def left_s(self):
        """Estimated real seconds for what is to be made, corrected by what the last runs took."""
        remaining = [self.store.estimate(cases[0]) for cases in self.todo.values()]
        factor = self.spent / self.expected if self.expected else 1.0
        return max([sum(remaining) / self.jobs, *remaining[-1:]], default=0) * factor

    def announce(self):
        """What is going to happen."""
        say(f"bench: {len(self.cases)} runs: {len(self.found)} known, {len(self.todo)} to make, "
            f"{self.jobs} at a time, about {minutes(self.left_s())}")

    def one(self, key):
        """Make a run, keep its result."""
        if self.stopping:
            return
        cases, started = self.todo[key], time.monotonic()
        expected = self.store.estimate(cases[0])
        try:
            facts = self.machine.measure(self.prepared.pop(key))
            # The sides of a comparison are no modes; what is kept has the balancer's name.
            kept = {"mode": facts["mode"]} if cases[0].mode not in benchset.MODES else {}
            facts = named(facts, cases[0])
            self.store.save({**facts, **kept})
            note = summary_line(facts)
        # Whatever goes wrong with a run is the run's failure: the others go on.
        except Exception as error:  # pylint: disable=broad-exception-caught
            facts, note = None, str(error) or type(error).__name__
        if self.stopping and facts is None:
            return
        took = time.monotonic() - started
        with self.lock:
            self.todo.pop(key)
            self.made += 1
            self.expected, self.spent = self.expected + expected, self.spent + took
            for case in cases:
                if facts:
                    self.found[case] = named(facts, case)
                else:
                    self.failures[case] = note
            left = f"{len(self.todo)} left, {minutes(self.left_s())}" if self.todo else "the last"
            say(f"{'ok   ' if facts else 'FAIL '} {cases[0]}: {note.splitlines()[0]}, "
                f"{took:.0f} s ({left})")
        if facts:
            self.store.note_time(cases[0], took)

    def make(self):
        """Make all runs that are not known."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            running = [pool.submit(self.one, key) for key in list(self.todo)]
            try:
                for future in running:
                    future.result()
            except BaseException:
                self.stop(pool, running)
                raise

    def stop(self, pool, running):
        """End the guests; what is complete has been written."""
        self.stopping = True
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(future.done() for future in running):
            qemu.stop_all()
            time.sleep(0.1)
        say(f"bench: stopped; {self.made} results are kept, the same command goes on from here")

    def outcome(self):
        """The results in order, each with the figures that take off and pinned."""
        runs = figures.fill_all([self.found[c] for c in self.cases if c in self.found])
        return Outcome(runs, [(c, self.failures[c]) for c in self.cases if c in self.failures],
                       self.made, self.known)


def summary_line(facts):
    """What a progress line says of a result."""
    share = facts["local_share"]
    return "local " + ("-" if share is None else f"{share:.0%}")


def run_bench(bench, again=False):
    """Plan, make, and bring back the outcome."""
    bench.plan(again)
    bench.announce()
    bench.make()
    return bench.outcome()


