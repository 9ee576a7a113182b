# SPDX-License-Identifier: GPL-2.0
"""The instrument measured: programs whose locality and throughput are known beforehand."""

import functools
import os
import subprocess
import sys
import unittest
from pathlib import Path

import measure
import results
from common import BUILD, Failure, run

HERE = Path(__file__).resolve().parent
STREAM = BUILD / "machine/stream"


@functools.lru_cache
def kernel():
    """The image that is booted."""
    given = os.environ.get("MACHINE_KERNEL")
    found = [Path(given)] if given else sorted(BUILD.glob("out-*/arch/x86/boot/bzImage"))
    if not found:
        raise unittest.SkipTest("no kernel below build/; name one with --kernel")
    return found[0]


@functools.lru_cache
def build_stream():
    """Build the test program."""
    STREAM.parent.mkdir(parents=True, exist_ok=True)
    run("gcc", "-O2", "-Wall", "-static", "-pthread", "-o", STREAM, HERE / "stream.c")
    return STREAM


def raw_run(*args, **options):
    """A run of the test program."""
    spec = measure.Spec(kernel(), [str(build_stream()), *map(str, args)], workload="stream",
                        **{"topology": "mesh4", "timeout": 300, **options})
    return measure.measure(spec)


@functools.lru_cache
def stream(threads, cpus, place, seconds=2, **options):
    """Result of a run of the test program: one thread alone has twice what the cache holds."""
    return results.result(raw_run(threads, cpus, place, 4, seconds, 1, **dict(options)))


class Busy:
    """Two endless loops on the host."""

    def __enter__(self):
        self.loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                      for _ in range(2)]

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


class Determinism(unittest.TestCase):
    """The host does not show."""

    def test_same_bytes(self):
        """Two runs, one with the host loaded, give the same bytes up to the last mark."""
        args = (8, "all", "any", 6, 3, 1)
        quiet = raw_run(*args, mode="base", thp="never")
        with Busy():
            loaded = raw_run(*args, mode="base", thp="never")
        self.assertEqual(quiet.inputs_hash, loaded.inputs_hash)
        self.assertTrue(quiet.marks[-1]["protected"], "QEMU does not let us keep turns whole")
        self.assertTrue(quiet.text == loaded.text, "the two runs differ")
        self.assertEqual(quiet.output, loaded.output)

    def test_seed_matters(self):
        """Another argument gives another run."""
        self.assertNotEqual(stream(8, "all", "local")["inputs_hash"],
                            stream(8, "0", "local")["inputs_hash"])


class Throughput(unittest.TestCase):
    """CPUs that stay idle cost throughput."""

    def compare(self, cpus, part):
        """Threads on a few CPUs give a part of the throughput of all eight."""
        full, less = stream(8, "all", "local"), stream(8, cpus, "local")
        ratio = less["modelled_throughput"] / full["modelled_throughput"]
        self.assertAlmostEqual(ratio / part, 1, delta=0.1)
        return less

    def test_all(self):
        """Eight threads on eight CPUs keep all of them busy, none queues."""
        result = stream(8, "all", "local")
        self.assertGreater(result["busy_cpus"], 7.8)
        self.assertLess(result["idle_while_queued"], 0.01)

    def test_one(self):
        """On one CPU: an eighth."""
        result = self.compare("0", 1 / 8)
        self.assertLess(result["busy_cpus"], 1.1)
        self.assertAlmostEqual(result["idle_while_queued"], 7 / 8, delta=0.03)

    def test_two(self):
        """On two CPUs: a quarter."""
        result = self.compare("0,1", 1 / 4)
        self.assertAlmostEqual(result["idle_while_queued"], 6 / 8, delta=0.06)


class Locality(unittest.TestCase):
    """Shares that are known."""

    def test_local(self):
        """Pinned threads with memory on their node: all local."""
        self.assertGreater(stream(8, "all", "local")["local_share"], 0.995)
        self.assertEqual(stream(8, "all", "local")["t95_s"], 0)

    def test_remote(self):
        """Memory on the next node: none."""
        result = stream(8, "all", "remote")
        self.assertLess(result["local_share"], 0.005)
        self.assertIsNone(result["t95_s"])

    def test_matrix(self):
        """It is the next node that serves the misses."""
        for node, row in enumerate(stream(8, "all", "remote")["matrix"]):
            self.assertGreater(row[(node + 1) % 4] / sum(row), 0.99)

    def test_mix(self):
        """Every second page remote: half, to one percent."""
        self.assertAlmostEqual(stream(8, "all", "mix")["local_share"], 0.5, delta=0.01)

    def test_cost(self):
        """A remote machine is slower in the model."""
        self.assertLess(stream(8, "all", "remote")["modelled_throughput"],
                        0.8 * stream(8, "all", "local")["modelled_throughput"])

    def test_oracle(self):
        """Local slices need not move; each remote one moves, unless the thread does."""
        self.assertEqual(stream(8, "all", "local")["oracle_pages"], 0)
        self.assertEqual(stream(8, "all", "mix")["oracle_pages"], 8 * 512)


class Kernel(unittest.TestCase):
    """The kernel's part."""

    def test_parts(self):
        """The parts add up; nothing is lost; with balancing off only the rest has any."""
        result = stream(8, "all", "local")
        self.assertEqual(sum(result["overhead_parts"].values()), result["kernel_insn"])
        self.assertEqual(result["frames_lost"], 0)
        self.assertEqual(result["overhead_parts"]["scan"] + result["overhead_parts"]["hint"], 0)

    def test_balancing(self):
        """With balancing on, faults are seen and have a length; updates are counted."""
        raw = raw_run(8, "all", "any", 6, 4, 1, mode="base")
        result = results.result(raw)
        faults = raw.marks[-1]["fault_span"]["nr"]
        self.assertEqual(result["frames_lost"], 0)
        self.assertGreater(result["overhead_parts"]["scan"], 10000)
        self.assertGreater(result["fault_pause_max_insn"], result["fault_pause_p99_insn"] * 0.9)
        self.assertAlmostEqual(faults / max(1, result["hint_faults"]), 1, delta=0.02)
        self.assertGreater(result["longest_slice_insn"], 1000)


class Machines(unittest.TestCase):
    """Calibration on other machines, and what a wrong one does."""

    def test_topologies(self):
        """Each is calibrated; memory that is bound locally is local."""
        for topology, threads in (("mesh2", 4), ("mesh8", 16), ("cpuless", 4), ("uma1", 4)):
            with self.subTest(topology):
                result = stream(threads, "all", "local", 1, topology=topology)
                self.assertGreater(result["local_share"], 0.98)

    def test_memoryless(self):
        """CPUs without memory have nothing local."""
        result = stream(2, "6,7", "any", 1, topology="memoryless")
        self.assertEqual(sum(row[3] for row in result["matrix"]), 0)

    def test_wrong_calibration(self):
        """Pages that contradict each other stop the run, and so does a node too many."""
        with self.assertRaisesRegex(Failure, "contradict"):
            raw_run(1, "0", "local", 2, 1, 1, calibration=" wrong")
        with self.assertRaisesRegex(Failure, "binding pages to node 4"):
            raw_run(1, "0", "local", 2, 1, 1, calibration=".1024")

    def test_failing_program(self):
        """A program that fails fails the run, with its status."""
        with self.assertRaisesRegex(Failure, "status 2"):
            raw_run(0, "all", "local", 2, 1, 1)
