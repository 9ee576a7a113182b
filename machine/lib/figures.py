# SPDX-License-Identifier: GPL-2.0
"""Figures that need more than one run: against off and pinned, over seeds, of two kernels."""

import math
import statistics

import model

LEVEL = 0.95
# Numbers of a run that are summed up over seeds.
METRICS = ("local_share", "local_share_last", "t95_s", "overhead_pct", "pte_updates",
           "hint_faults", "pages_migrated", "oracle_pages", "task_moves", "task_swaps",
           "longest_slice_insn", "slice_p99_insn", "steady_pte_updates_per_s",
           "modelled_throughput", "modelled_throughput_last", "modelled_vs_pinned",
           "modelled_vs_pinned_last", "modelled_vs_off", "busy_cpus", "idle_while_queued",
           "fault_pause_max_insn", "fault_pause_p99_insn", "kernel_insn", "user_insn",
           "kernel_share", "guest_s", "host_s")


def ratio(a, b):
    """a / b, or None if there is no such thing."""
    return None if a is None or not b else a / b


def work_insn(facts):
    """All instructions of a run, but for those of the machine's helper."""
    return facts["kernel_insn"] + facts["user_insn"]


def over(facts, off):
    """Kernel instructions above those of off, in percent of all that off took; and by part."""
    if off is None:
        return None, None
    total = work_insn(off)
    parts = {name: 100 * (count - off["overhead_parts"].get(name, 0)) / total
             for name, count in facts["overhead_parts"].items()}
    return 100 * (facts["kernel_insn"] - off["kernel_insn"]) / total, parts


def fill(facts, off=None, pinned=None):
    """A result with the figures that take the off and the pinned run of the same seed.

    T95 is against the pinned run's share; without one against fully local memory.
    """
    pct, parts = over(facts, off)
    reference = pinned["local_share"] if pinned else 1.0
    level = LEVEL * (1.0 if reference is None else reference)
    against = {name: run and run["inputs_hash"] for name, run in (("off", off),
                                                                 ("pinned", pinned))}
    return {**facts, "overhead_pct": pct, "overhead_parts_pct": parts, "against": against,
            "t95_s": model.t95([tuple(p) for p in facts["local_series"]], level),
            "t95_reference": reference,
            "kernel_share": ratio(facts["kernel_insn"], work_insn(facts)),
            "modelled_vs_off": off and ratio(facts["modelled_throughput"],
                                             off["modelled_throughput"]),
            "modelled_vs_pinned": pinned and ratio(facts["modelled_throughput"],
                                                   pinned["modelled_throughput"]),
            "modelled_vs_pinned_last": pinned and ratio(facts["modelled_throughput_last"],
                                                        pinned["modelled_throughput_last"])}


def group_of(facts):
    """What is compared with each other."""
    return facts["workload"], facts["topology"], facts["thp"]


def fill_all(runs):
    """All results with the figures that take another; the order stays."""
    known = {(*group_of(r), r["mode"], r["seed"]): r for r in runs}
    return [fill(r, known.get((*group_of(r), "off", r["seed"])),
                 known.get((*group_of(r), "pinned", r["seed"]))) for r in runs]


def spread(values, none_is_never=False):
    """Median, least and greatest; None has no value, or stands for "never" and is the worst."""
    if none_is_never:
        values = [math.inf if v is None else v for v in values]
    values = sorted(v for v in values if v is not None)
    if not values:
        return {"median": None, "min": None, "max": None}
    found = {"median": statistics.median(values), "min": values[0], "max": values[-1]}
    return {name: None if math.isinf(v) else v for name, v in found.items()}


def spread_of(runs, name):
    """Spread of a number of some runs."""
    return spread([run.get(name) for run in runs], name == "t95_s")


def spread_parts(runs, name):
    """Spread of each number of a dictionary that the runs have."""
    given = [run[name] for run in runs if run.get(name)]
    return {part: spread([parts.get(part) for parts in given]) for part in given[0]} \
        if given else {}


def summary(runs):
    """One object per workload, topology, thp and mode, with spreads over the seeds."""
    groups = {}
    for run in runs:
        groups.setdefault((*group_of(run), run["mode"]), []).append(run)
    return [{"workload": key[0], "topology": key[1], "thp": key[2], "mode": key[3],
             "seeds": [r["seed"] for r in members], "kernel_id": members[0]["kernel_id"],
             "inputs_hashes": [r["inputs_hash"] for r in members],
             **{name: spread_of(members, name) for name in METRICS},
             "overhead_parts": spread_parts(members, "overhead_parts"),
             "overhead_parts_pct": spread_parts(members, "overhead_parts_pct"),
             "cpu_share": [f(shares) for f, shares in zip(
                 (min, max), zip(*(r["cpu_share"] for r in members if r["cpu_share"])))]}
            for key, members in groups.items()]


# What two kernels are compared by: which way is better, and the difference below which nobody
# cares, in the figure's own unit or as part of the larger value. Every run is exact, yet it is
# one sample of a chaotic system, so a difference must also lie outside the range of the seeds.
COMPARED = {
    "modelled_throughput": (+1, 0.0, 0.01), "local_share": (+1, 0.01, 0.0),
    "local_share_last": (+1, 0.01, 0.0), "t95_s": (-1, 0.5, 0.0),
    "kernel_share": (-1, 0.005, 0.0), "idle_while_queued": (-1, 0.01, 0.0),
    # Counts: a thousand pages are a fiftieth of what the workloads have.
    "pte_updates": (-1, 1000, 0.1), "hint_faults": (-1, 1000, 0.1),
    "pages_migrated": (-1, 1000, 0.1),
    # A hundred thousand instructions are 6 ms of one of eight CPUs.
    "fault_pause_max_insn": (-1, 100_000, 0.1), "longest_slice_insn": (-1, 100_000, 0.1),
}


def verdict(name, before, after):
    """"better", "worse" or "same" of values over seeds: after against before.

    A difference counts if the ranges do not meet and the medians differ by more than the figure's
    threshold. A T95 of None is later than any.
    """
    way, least, part = COMPARED[name]
    worst = math.inf if name == "t95_s" else None
    a, b = ([worst if v is None else v for v in values] for values in (before, after))
    a, b = ([v for v in values if v is not None] for values in (a, b))
    if not a or not b:
        return "same" if not a and not b else "unknown"
    middle = statistics.median(a), statistics.median(b)
    if middle[0] == middle[1] or (min(b) <= max(a) and min(a) <= max(b)):
        return "same"
    finite = [abs(v) for v in middle if math.isfinite(v)]
    if abs(middle[1] - middle[0]) <= max(least, part * max(finite, default=0)):
        return "same"
    return "better" if (middle[1] > middle[0]) == (way > 0) else "worse"


def comparison(before, after):
    """One object per workload, topology, thp and figure, from the runs of two kernels."""
    rows = []
    for group in dict.fromkeys(map(group_of, before + after)):
        sides = [[r for r in runs if group_of(r) == group] for runs in (before, after)]
        seeds = [{r["seed"] for r in side} for side in sides]
        common = seeds[0] & seeds[1]
        sides = [[r for r in side if r["seed"] in common] for side in sides]
        if not common:
            continue
        for name in COMPARED:
            values = [[r.get(name) for r in side] for side in sides]
            rows.append({**dict(zip(("workload", "topology", "thp"), group)), "figure": name,
                         "seeds": sorted(common), "a": spread(values[0], name == "t95_s"),
                         "b": spread(values[1], name == "t95_s"),
                         "verdict": verdict(name, *values)})
    return rows
