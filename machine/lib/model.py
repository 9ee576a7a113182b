# SPDX-License-Identifier: GPL-2.0
"""From counted events to time: what a machine with slow remote memory would have taken.

The guest's CPUs run in turn and none of them waits for memory. So the work of a window is taken as
done side by side by the CPUs that were busy in it, and each miss costs what its distance says.
"""

from dataclasses import dataclass

NS_INSN = 0.5
NS_LOCAL = 80.0
LOCAL_DISTANCE = 10
CONSTANTS = {"ns_per_insn": NS_INSN, "ns_per_local_miss": NS_LOCAL,
             "ns_per_remote_miss": "ns_per_local_miss * distance / 10"}


@dataclass
class Window:
    """A window of the probe, reduced to what the model needs.

    busy is the number of CPUs that had something to run, as a mean over the time of the window.
    """

    index: int
    insn: int
    cost_ns: float
    busy: float
    local: int
    user: int


def miss_ns(distance):
    """Cost of a miss that memory at a distance serves."""
    return NS_LOCAL * distance / LOCAL_DISTANCE


def cost_ns(insn, misses, distances):
    """Cost of instructions and of misses by node, seen from a CPU with these distances."""
    return insn * NS_INSN + sum(n * miss_ns(d) for n, d in zip(misses, distances))


def reduce_window(record, cpu_node, distance):
    """A Window from a line of the probe; distance is the table of the nodes."""
    nodes = len(distance)
    cost = sum(cost_ns(cpu[0], cpu[1:], distance[node])
               for cpu, node in zip(record["cpu"], cpu_node))
    insn = sum(cpu[0] for cpu in record["cpu"])
    return Window(record["w"], insn, cost, insn / max(1, record["par"]),
                  sum(record["user"][n * nodes + n] for n in range(nodes)), sum(record["user"]))


def parallel_s(windows):
    """Time of the windows if the CPUs that were busy in each had shared its work."""
    return sum(w.cost_ns / w.busy for w in windows) / 1e9


def mean_busy(windows):
    """CPUs that were busy, on average: instructions by the time that they took side by side."""
    time = sum(w.insn / w.busy for w in windows)
    return sum(w.insn for w in windows) / time if time else None


def share(local, total):
    """Local part of the misses; None if there are none."""
    return local / total if total else None


def matrix_share(matrix):
    """Local part of a node by node matrix."""
    return share(sum(row[i] for i, row in enumerate(matrix)), sum(map(sum, matrix)))


def t95(series, level, start=0.0):
    """Seconds from start until the share stays at or above a level; None if it ends below.

    The series is a list of (end time, share). A share of None, no misses at all, says nothing.
    """
    known = [(time, value) for time, value in series if value is not None and time > start]
    since = start
    for time, value in known:
        if value < level:
            since = None
        elif since is None:
            since = time
    if since is None or not known or (known[-1][1] < level):
        return None
    return since - start
