# SPDX-License-Identifier: GPL-2.0
"""From a raw run to its result: one JSON object with the names that reports use."""

import json

import model
import oracle
from common import RESULTS, write_if_changed
from measure import cpu_nodes, distance_table

BEGIN, INIT_END, WORK_END, END = 1, 2, 3, 4
TIME_US, UNITS = "0", "1"
LEVEL = 0.95


def matrix_of(mark, cpu_node, nodes, kind="user"):
    """Misses by node of the CPU and node of the memory, at a mark."""
    rows = [[0] * nodes for _ in range(nodes)]
    for cpu, node in zip(mark["cpu"], cpu_node):
        for target, count in enumerate(cpu[kind]):
            rows[node][target] += count
    return rows


def minus(a, b):
    """Difference of two matrices."""
    return [[x - y for x, y in zip(r, s)] for r, s in zip(a, b)]


def totals(mark, key, count):
    """Sum over the CPUs of a list of counters."""
    return [sum(cpu[key][i] for cpu in mark["cpu"]) for i in range(count)]


def time_s(mark):
    """Guest time of a mark in seconds; None for a mark without time."""
    return mark["value"][TIME_US] / 1e6 if TIME_US in mark["value"] else None


class Interval:
    """What happened between two marks."""

    def __init__(self, raw, first, last):
        self.raw, self.first, self.last = raw, first, last
        self.nodes = raw.machine.nodes
        self.cpu_node = cpu_nodes(raw.machine)
        self.windows = [w for w in raw.reduced or [] if first["w"] <= w.index < last["w"]]

    def matrix(self, kind="user"):
        """Misses by nodes."""
        return minus(matrix_of(self.last, self.cpu_node, self.nodes, kind),
                     matrix_of(self.first, self.cpu_node, self.nodes, kind))

    def counters(self, key, count):
        """A list of counters, summed over the CPUs."""
        return [b - a for a, b in zip(totals(self.first, key, count),
                                      totals(self.last, key, count))]

    def insn(self):
        """Instructions of user and kernel."""
        return dict(zip(("user", "kernel"), self.counters("insn", 2)))

    def parts(self):
        """Kernel instructions by part."""
        names = self.raw.header["parts"]
        return dict(zip(names, self.counters("part", len(names))))

    def units(self):
        """Work done: what the program says, or its instructions in millions."""
        if UNITS in self.last["value"]:
            return self.last["value"][UNITS] - self.first["value"].get(UNITS, 0)
        return self.insn()["user"] / 1e6

    def seconds(self):
        """Guest seconds."""
        return time_s(self.last) - time_s(self.first)

    def parallel_s(self):
        """Modelled seconds."""
        return model.parallel_s(self.windows)

    def throughput(self):
        """Units per modelled second."""
        time = self.parallel_s()
        return self.units() / time if time else None

    def idle_while_queued(self):
        """Share of CPU time that was idle while some CPU had two runnable tasks or more."""
        idle, time = (self.last[key] - self.first[key] for key in ("idle_queued", "parallel"))
        return idle / (time * len(self.cpu_node)) if time else None

    def cpu_share(self):
        """Instructions of the least and the most favoured CPU, as parts of the mean."""
        counts = [sum(b["insn"]) - sum(a["insn"])
                  for a, b in zip(self.first["cpu"], self.last["cpu"])]
        mean = sum(counts) / len(counts)
        return [min(counts) / mean, max(counts) / mean] if mean else None

    def summary(self):
        """An entry of the series."""
        matrix = self.matrix()
        return {"end_s": time_s(self.last), "mark": self.last["mark"],
                "local_share": model.matrix_share(matrix), "matrix": matrix,
                "insn": self.insn(), "parts": self.parts(), "units": self.units(),
                "parallel_s": self.parallel_s(), "busy_cpus": model.mean_busy(self.windows)}


def phase_marks(raw):
    """The marks where the interesting interval begins and ends."""
    def of(*kinds):
        return [m for m in raw.marks if m["mark"] in kinds]

    begin = (of(INIT_END) or of(BEGIN))[0]
    end = (of(WORK_END) or of(END))[-1]
    return begin, end if end["seq"] > begin["seq"] else of(END)[-1]


def mark_at(raw, time, first, last):
    """The mark with a time nearest to a point in time, between two marks."""
    marks = [m for m in raw.marks if first["seq"] <= m["seq"] <= last["seq"] and m["value"]]
    return min(marks, key=lambda m: abs(time_s(m) - time))


def window_series(interval, width=5):
    """(seconds since the first mark, local share) per window: time by instructions.

    The share is that of a few windows, so that one with hardly a miss is no dip.
    """
    windows, done, series = interval.windows, 0, []
    scale = interval.seconds() / max(1, sum(w.insn for w in windows))
    for index, window in enumerate(windows):
        done += window.insn
        near = windows[max(0, index - width + 1):index + 1]
        value = model.share(sum(w.local for w in near), sum(w.user for w in near))
        series.append((round(done * scale, 4), None if value is None else round(value, 5)))
    return series


def note_rates(notes, first_s, last_s):
    """PTE updates per second between two points in time, from the guest's notes."""
    near = [min(notes, key=lambda n: abs(n["us"] / 1e6 - t)) for t in (first_s, last_s)]
    time = (near[1]["us"] - near[0]["us"]) / 1e6
    updates = [pte_updates(n["vmstat"]) for n in near]
    return (updates[1] - updates[0]) / time if time > 0 else None


def pte_updates(vmstat):
    """Pages marked, as the kernel counts them: a huge page is 512, in both balancers."""
    return vmstat.get("numa_pte_updates", 0)


def vmstat_delta(notes, end_s):
    """Counters of the guest from the start of the program to the last note before a time."""
    until = [n for n in notes if n["us"] / 1e6 <= end_s] or notes[:1]
    first, last = notes[0]["vmstat"], until[-1]["vmstat"]
    return {name: value - first.get(name, 0) for name, value in last.items()}


def memory_series(notes):
    """Memory of each node over time."""
    return [{"s": note["us"] / 1e6, "node_kib": note["node_kib"],
             "pte_updates": pte_updates(note["vmstat"]),
             "hint_faults": note["vmstat"].get("numa_hint_faults", 0),
             "pages_migrated": note["vmstat"].get("numa_pages_migrated", 0)} for note in notes]


def functions(mark):
    """Calls and instructions of the balancer's functions that were called."""
    return {name: {"calls": calls, "insn": insn}
            for name, (calls, insn) in mark["functions"].items() if calls}


def identity(raw):
    """What was run."""
    spec = raw.spec
    return {"workload": spec.workload, "command": spec.command, "topology": spec.topology,
            "thp": spec.thp, "mode": spec.mode, "seed": spec.seed, "kernel_id": raw.kernel_id,
            "inputs_hash": raw.inputs_hash, "cache": vars(spec.cache),
            "constants": model.CONSTANTS}


def locality(whole, third):
    """Local shares and the time to become local, against fully local memory.

    Against a pinned run, model.t95() takes local_series and 0.95 of that run's share.
    """
    series = window_series(whole)
    return {"guest_s": whole.seconds(), "matrix": whole.matrix(),
            "local_share": model.matrix_share(whole.matrix()),
            "local_share_last": model.matrix_share(third.matrix()),
            "t95_s": model.t95(series, LEVEL), "t95_reference": 1.0, "local_series": series}


def overhead(raw, program, third):
    """The kernel's work until the end of work; against an off run elsewhere.

    What comes later, the program that checks its results for one, is not what is measured.
    """
    end, called = program.last, functions(program.last)
    vmstat = vmstat_delta(raw.notes, time_s(program.last))
    return {"kernel_insn": program.insn()["kernel"], "user_insn": program.insn()["user"],
            "overhead_pct": None, "overhead_parts": program.parts(),
            "pte_updates": pte_updates(vmstat), "hint_faults": vmstat.get("numa_hint_faults", 0),
            "pages_migrated": vmstat.get("numa_pages_migrated", 0), "vmstat": vmstat,
            "functions": called,
            "task_moves": called.get("migrate_task_to", {}).get("calls", 0),
            "task_swaps": called.get("migrate_swap", {}).get("calls", 0),
            "longest_slice_insn": end["scan_span"]["max"],
            "slice_p99_insn": end["scan_span"]["p99"],
            "fault_pause_max_insn": end["fault_span"]["max"],
            "fault_pause_p99_insn": end["fault_span"]["p99"],
            "steady_pte_updates_per_s": note_rates(raw.notes, time_s(third.first),
                                                   time_s(third.last)),
            "helper_insn": sum(end["helper"]), "frames_lost": end["lost"]}


def performance(whole, third):
    """Modelled throughput; its ratio to a pinned run elsewhere."""
    return {"units": whole.units(), "units_are": "of the program" if
            UNITS in whole.last["value"] else "millions of user instructions",
            "modelled_s": whole.parallel_s(), "modelled_throughput": whole.throughput(),
            "modelled_throughput_last": third.throughput(), "modelled_vs_pinned": None,
            "modelled_vs_pinned_last": None, "busy_cpus": model.mean_busy(whole.windows),
            "idle_while_queued": whole.idle_while_queued(), "cpu_share": whole.cpu_share()}


def result(raw):
    """The result of a run."""
    distance = distance_table(raw.machine)
    nodes_of_cpus = cpu_nodes(raw.machine)
    raw.reduced = [model.reduce_window(w, nodes_of_cpus, distance) for w in raw.windows]
    first, last = phase_marks(raw)
    split = mark_at(raw, time_s(last) - (time_s(last) - time_s(first)) / 3, first, last)
    whole, third = Interval(raw, first, last), Interval(raw, split, last)
    steps = [m for m in raw.marks if first["seq"] <= m["seq"] <= last["seq"]]
    facts = {**identity(raw), **locality(whole, third),
             **overhead(raw, Interval(raw, raw.marks[0], last), third),
             **performance(whole, third),
             "oracle_pages": oracle.fewest_pages(raw.oracle, nodes_of_cpus, raw.machine.nodes),
             "series": [Interval(raw, a, b).summary() for a, b in zip(steps, steps[1:])],
             "memory": memory_series(raw.notes), "cpu_node": nodes_of_cpus,
             "distance": distance, "console_dirt": raw.console_dirt, "output": raw.output}
    return facts


def demonstration(raw):
    """The program's own work per second where remote memory was really slow."""
    first, last = phase_marks(raw)
    whole = Interval(raw, first, last)
    units = whole.units() if UNITS in last["value"] else None
    return {"guest_s": whole.seconds(), "local_share": model.matrix_share(whole.matrix()),
            "units": units, "units_per_s": units and units / whole.seconds()}


def file_name(facts):
    """Name of the file for a result."""
    return "-".join(str(facts[key]) for key in
                    ("workload", "topology", "thp", "mode", "seed", "kernel_id")) + ".json"


def save(facts, path=None):
    """Write a result; returns where it is."""
    path = path or RESULTS / file_name(facts)
    write_if_changed(path, json.dumps(facts) + "\n")
    return path
