# SPDX-License-Identifier: GPL-2.0
"""The fewest pages that any placement of the threads has to move.

A group is a range of memory that some threads use and nobody else does. Its threads get a CPU
each, on as few nodes as hold them; then its pages have to be on those nodes. Which of them is left
open: with one group on two nodes, half of the accesses are remote wherever a page is.
"""

import itertools
from functools import lru_cache

from common import Failure

MAX_STATES = 2_000_000


def capacities(cpu_nodes, nodes, threads):
    """Threads that each node takes; more than its CPUs if there are more threads than CPUs."""
    cpus = [cpu_nodes.count(node) for node in range(nodes)]
    turns = -(-threads // max(1, sum(cpus)))
    return [n * turns for n in cpus]


def hungarian(cost):
    """Cheapest assignment of each row to a column of its own; needs rows <= columns.

    Shortest augmenting paths with potentials; row and column 0 are sentinels.
    """
    rows, columns = len(cost), len(cost[0])
    row_potential, column_potential = [0] * (rows + 1), [0] * (columns + 1)
    owner, way = [0] * (columns + 1), [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0], column = row, 0
        least, done = [float("inf")] * (columns + 1), [False] * (columns + 1)
        while owner[column]:
            done[column], base, delta, nearest = True, owner[column], float("inf"), 0
            for j in range(1, columns + 1):
                if done[j]:
                    continue
                reduced = cost[base - 1][j - 1] - row_potential[base] - column_potential[j]
                if reduced < least[j]:
                    least[j], way[j] = reduced, column
                if least[j] < delta:
                    delta, nearest = least[j], j
            for j in range(columns + 1):
                if done[j]:
                    row_potential[owner[j]] += delta
                    column_potential[j] -= delta
                else:
                    least[j] -= delta
            column = nearest
        while column:
            owner[column], column = owner[way[column]], way[column]
    return sum(cost[owner[j] - 1][j - 1] for j in range(1, columns + 1) if owner[j])


def by_slots(groups, capacity):
    """All groups have the same number of threads: each node has slots for whole groups."""
    threads = groups[0]["threads"]
    slots = [node for node, room in enumerate(capacity) for _ in range(room // threads)]
    return hungarian([[sum(g["pages"]) - g["pages"][node] for node in slots] for g in groups])


def ways(group, room):
    """(cost, room left) for each set of nodes that takes a group, the fewest nodes only."""
    nodes = [n for n, free in enumerate(room) if free]
    for size in range(1, len(nodes) + 1):
        found = [chosen for chosen in itertools.combinations(nodes, size)
                 if sum(room[n] for n in chosen) >= group["threads"]]
        if found:
            break
    else:
        return
    for chosen in found:
        left, need = list(room), group["threads"]
        for node in chosen:
            taken = min(need, left[node])
            left[node] -= taken
            need -= taken
        yield sum(group["pages"]) - sum(group["pages"][n] for n in chosen), tuple(left)


def by_search(groups, capacity):
    """Any mix of groups: the larger ones choose first, the rest is tried out with memory."""
    groups = sorted(groups, key=lambda g: (-g["threads"], -sum(g["pages"])))

    @lru_cache(maxsize=MAX_STATES)
    def best(index, room):
        if index == len(groups):
            return 0
        return min((cost + best(index + 1, left) for cost, left in ways(groups[index], room)),
                   default=float("inf"))

    return best(0, tuple(capacity))


def fewest_pages(groups, cpu_nodes, nodes):
    """Pages to move at least; None without groups."""
    if not groups:
        return None
    groups = [{"threads": g["threads"], "pages": list(g["pages"])[:nodes]} for g in groups]
    capacity = capacities(cpu_nodes, nodes, sum(g["threads"] for g in groups))
    sizes = {g["threads"] for g in groups}
    if 0 in sizes:
        raise Failure("oracle: a range of memory that no thread uses")
    size = min(sizes)
    if len(sizes) == 1 and sum(room // size for room in capacity) >= len(groups):
        return by_slots(groups, capacity)
    result = by_search(groups, capacity)
    return None if result == float("inf") else result
