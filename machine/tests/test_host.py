# SPDX-License-Identifier: GPL-2.0
"""What needs no guest: the model, the oracle, symbols, reading the probe's lines."""

import itertools
import random
import tempfile
import unittest
from pathlib import Path

import measure
import model
import oracle
import qemu
import symbols
from common import Failure

DISTANCE = [[10, 20], [20, 10]]


def window(cpus, user=(0, 0, 0, 0), par=None):
    """A window of two nodes with a CPU each; side by side unless par says otherwise."""
    insn = sum(cpu[0] for cpu in cpus)
    return model.reduce_window({"w": 0, "i": 0, "par": insn // 2 if par is None else par,
                                "cpu": cpus, "user": list(user)}, [0, 1], DISTANCE)


class Model(unittest.TestCase):
    """Cost and time."""

    def test_cost(self):
        """Instructions, local and remote misses cost what the constants say."""
        self.assertAlmostEqual(window([[1000, 1, 1], [0, 0, 0]]).cost_ns, 500 + 80 + 160)

    def test_idle_cpu_costs(self):
        """The same work takes twice the time when one of two CPUs does all of it."""
        both, one = window([[500, 5, 0], [500, 0, 5]]), window([[1000, 10, 0], [0, 0, 0]], par=1000)
        self.assertEqual((both.busy, one.busy), (2, 1))
        self.assertAlmostEqual(model.parallel_s([one]), 2 * model.parallel_s([both]))

    def test_mean_busy(self):
        """Half of the work on two CPUs, half on one: two thirds of the time on one."""
        both, one = window([[500, 0, 0], [500, 0, 0]]), window([[1000, 0, 0], [0, 0, 0]], par=1000)
        self.assertAlmostEqual(model.mean_busy([both, one]), 4 / 3)
        self.assertIsNone(model.mean_busy([]))

    def test_local(self):
        """Local user misses are those on the diagonal."""
        reduced = window([[1, 0, 0], [1, 0, 0]], (3, 1, 2, 4))
        self.assertEqual((reduced.local, reduced.user), (7, 10))

    def test_t95(self):
        """The last time that the share comes above the level counts."""
        series = [(1, 0.2), (2, 0.97), (3, 0.5), (4, None), (5, 0.96), (6, 0.99)]
        self.assertEqual(model.t95(series, 0.95), 5)
        self.assertEqual(model.t95([(1, 1.0), (2, 1.0)], 0.95), 0)
        self.assertIsNone(model.t95(series + [(7, 0.1)], 0.95))
        self.assertIsNone(model.t95([], 0.95))


def exhaustive(groups, capacity):
    """The oracle for groups of one thread by trying everything."""
    slots = [node for node, room in enumerate(capacity) for _ in range(room)]
    return min(sum(sum(g["pages"]) - g["pages"][node] for g, node in zip(groups, chosen))
               for chosen in itertools.permutations(slots, len(groups)))


class Oracle(unittest.TestCase):
    """The fewest pages to move."""

    def test_one_thread_each(self):
        """Both methods agree with trying everything."""
        dice = random.Random(1)
        for _ in range(30):
            groups = [{"threads": 1, "pages": [dice.randrange(50) for _ in range(3)]}
                      for _ in range(dice.randrange(1, 7))]
            expected = exhaustive(groups, [2, 2, 2])
            self.assertEqual(oracle.by_slots(groups, [2, 2, 2]), expected)
            self.assertEqual(oracle.by_search(groups, [2, 2, 2]), expected)

    def test_first_touch(self):
        """Eight slices on node 0 of four nodes with two CPUs each: six of them move."""
        groups = [{"threads": 1, "pages": [100, 0, 0, 0]}] * 8
        self.assertEqual(oracle.fewest_pages(groups, [0, 0, 1, 1, 2, 2, 3, 3], 4), 600)

    def test_groups(self):
        """Groups of two on nodes of two; one too large for a node takes two of them."""
        groups = [{"threads": 2, "pages": [90, 10]}, {"threads": 2, "pages": [80, 20]}]
        self.assertEqual(oracle.fewest_pages(groups, [0, 0, 1, 1], 2), 10 + 80)
        large = [{"threads": 4, "pages": [70, 20, 10]}]
        self.assertEqual(oracle.fewest_pages(large, [0, 0, 1, 1, 2, 2], 3), 10)

    def test_more_threads_than_cpus(self):
        """Nodes take more threads then."""
        groups = [{"threads": 1, "pages": [5, 0]}] * 4
        self.assertEqual(oracle.fewest_pages(groups, [0, 1], 2), 10)
        self.assertIsNone(oracle.fewest_pages([], [0, 1], 2))


class Symbols(unittest.TestCase):
    """From System.map to the symbol file."""

    LINES = ("1000 T __switch_to_asm", "1100 T ret_from_fork_asm", "2000 T handle_mm_fault",
             "2100 t task_numa_work.isra.0", "2200 t task_numa_fault.cold",
             "2300 t numab_scan_slice", "2400 t numab_other", "2480 t numab_test_x", "2500 D data",
             "2600 T nr_running", "2700 T idle_cpu", "2800 T schedule",
             "9000 T irq_entries_start", "9100 T asm_exc_page_fault", "9200 T end")

    def text(self, lines):
        """The symbol file of these lines."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "System.map"
            path.write_text("\n".join(lines) + "\n", encoding="ascii")
            return symbols.symbol_file(path)

    def test_kinds(self):
        """Each function is what its name says."""
        text = self.text(self.LINES)
        for line in ("switch - 1000 1100", "fault - 2000 2100", "root scan 2100 2200",
                     "root scan 2300 2400", "weak place 2400 2480", "irq - 9100 9101",
                     "queued - 2600 2700", "idle - 2700 2800"):
            self.assertIn(line, text)
        self.assertNotIn("task_numa_fault", text)
        self.assertNotIn("numab_test_x", text)

    def test_foreign(self):
        """A map of something else is refused."""
        for lines in (self.LINES[1:], ("nonsense",)):
            with self.assertRaises(Failure):
                self.text(lines)


class Reading(unittest.TestCase):
    """What comes from a guest, and what goes into it."""

    def test_probe(self):
        """Lines are told apart; a last half line is dropped; an error is raised."""
        header, windows, marks = measure.parse_probe(
            '{"probe":1}\n{"w":0,"par":0,"cpu":[],"user":[]}\n{"mark":4,"w":1,"cpu":[]}\n{"w":1,')
        self.assertEqual((header["probe"], len(windows), len(marks)), (1, 1, 1))
        with self.assertRaisesRegex(Failure, "too bad"):
            measure.parse_probe('{"error":"too bad"}\n')

    def test_last_mark(self):
        """What comes after the last mark is no part of a run."""
        self.assertEqual(measure.up_to_last_mark(b'a\n{"mark":4}\n{"w":3}\n'), b'a\n{"mark":4}\n')

    def test_programs(self):
        """Only static programs run in the guest."""
        self.assertTrue(measure.is_static(b"#!/bin/sh\n"))
        self.assertFalse(measure.is_static(Path("/bin/ls").read_bytes()))
        with self.assertRaises(Failure):
            measure.program("/nonexistent")

    def test_machine(self):
        """The probe hears the same sizes and CPUs as QEMU."""
        machine = qemu.set_options(qemu.Machine(), qemu.topology("memoryless"))
        self.assertEqual(measure.node_mib(machine), [1024, 1024, 1024, 0])
        self.assertEqual(measure.cpu_nodes(machine), [0, 0, 1, 1, 2, 2, 3, 3])
        ring = qemu.set_options(qemu.Machine(), qemu.topology("ring4"))
        self.assertEqual(measure.distance_table(ring)[0], [10, 20, 30, 20])
