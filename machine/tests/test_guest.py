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
from common import BUILD, ROOT, Failure, run

HERE = Path(__file__).resolve().parent
STREAM = BUILD / "machine/stream"
IMAGE = "arch/x86/boot/bzImage"
SCANS = "/sys/kernel/debug/sched/numa_balancing"


def image_of(variable, pattern):
    """The kernel that a variable names, or one below build/."""
    given = os.environ.get(variable)
    found = [Path(given)] if given else sorted(BUILD.glob(f"{pattern}/{IMAGE}"))
    if not found:
        raise unittest.SkipTest(f"no kernel build/{pattern}; name one with ${variable}")
    return found[0]


def kernel():
    """The image that is booted."""
    return image_of("MACHINE_KERNEL", "out-numab")


@functools.lru_cache
def build_stream():
    """Build the test program."""
    STREAM.parent.mkdir(parents=True, exist_ok=True)
    run("gcc", "-O2", "-Wall", "-static", "-pthread", "-o", STREAM, HERE / "stream.c")
    return STREAM


def spec_of(*args, image=None, **options):
    """A run of the test program that is to be made."""
    return measure.Spec(image or kernel(), [str(build_stream()), *map(str, args)],
                        workload="stream", **{"topology": "mesh2", "timeout": 600, **options})


def raw_run(*args, **options):
    """A run of the test program."""
    return measure.measure(spec_of(*args, **options))


@functools.lru_cache
def stream(threads, cpus, place, seconds=1, **options):
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
        prepared = measure.prepare(spec_of(8, "all", "far", 6, 2, 1, mode="numab",
                                           topology="mesh4", thp="always"))
        quiet = measure.measure(prepared)
        with Busy():
            loaded = measure.measure(prepared)
        self.assertGreater(results.result(quiet)["hint_faults"], 0)
        self.assertTrue(quiet.text == loaded.text, "the two runs differ")
        self.assertEqual(quiet.output, loaded.output)
        self.note = f"{len(quiet.text)} bytes, {quiet.host_s:.0f} s and {loaded.host_s:.0f} s"

    def test_arguments_matter(self):
        """Another argument gives another run."""
        args = (4, "all", "any", 6, 1)
        one, two = raw_run(*args, 1), raw_run(*args, 2)
        self.assertNotEqual(one.inputs_hash, two.inputs_hash)
        self.assertFalse(one.text == two.text, "the seed does not matter")


class Throughput(unittest.TestCase):
    """CPUs that stay idle cost throughput."""

    def full(self):
        """Eight threads on as many CPUs."""
        return stream(8, "all", "local", topology="mesh4")

    def compare(self, threads, cpus, part):
        """Threads on a few CPUs give a part of the throughput of all eight."""
        less = stream(threads, cpus, "local", topology="mesh4")
        ratio = less["modelled_throughput"] / self.full()["modelled_throughput"]
        self.note = (f"throughput {ratio:.4f}, {less['busy_cpus']:.2f} CPUs busy, "
                     f"idle_while_queued {less['idle_while_queued']:.3f}")
        self.assertAlmostEqual(ratio / part, 1, delta=0.05)
        return less

    def test_all(self):
        """Eight threads on eight CPUs keep all of them busy and get equal shares."""
        result = self.full()
        self.assertGreater(result["busy_cpus"], 7.9)
        self.assertLess(result["idle_while_queued"], 0.01)
        self.assertGreater(result["cpu_share"][0], 0.85)
        self.assertLess(result["cpu_share"][1], 1.15)
        self.note = "shares {:.3f} to {:.3f}".format(*result["cpu_share"])

    def test_one(self):
        """On one CPU: an eighth."""
        result = self.compare(8, "0", 1 / 8)
        self.assertLess(result["busy_cpus"], 1.05)
        self.assertAlmostEqual(result["idle_while_queued"], 7 / 8, delta=0.03)

    def test_two(self):
        """On two CPUs: a quarter."""
        result = self.compare(8, "0,1", 1 / 4)
        self.assertAlmostEqual(result["idle_while_queued"], 6 / 8, delta=0.03)

    def test_half(self):
        """Four threads for eight CPUs: half, and nothing queues."""
        result = self.compare(4, "0,2,4,6", 1 / 2)
        self.assertAlmostEqual(result["busy_cpus"], 4, delta=0.1)
        self.assertLess(result["idle_while_queued"], 0.01)

    def test_pairs(self):
        """Four pairs of which one always waits for the other: four CPUs, and nothing queues."""
        run("make", "-s", "-C", ROOT / "machine/workloads")
        request = BUILD / "machine/workloads/request"
        spec = measure.Spec(kernel(), [str(request), *"--kind pipe --processes 4 --seconds 1 --seed "
                                       "1 --pin hard".split()],
                            workload="request", topology="mesh4", timeout=600)
        result = results.result(measure.measure(spec))
        self.note = (f"{result['busy_cpus']:.2f} CPUs busy, "
                     f"idle_while_queued {result['idle_while_queued']:.3f}")
        self.assertAlmostEqual(result["busy_cpus"], 4, delta=0.6)
        self.assertLess(result["idle_while_queued"], 0.02)


class Locality(unittest.TestCase):
    """Shares that are known."""

    def test_local(self):
        """Pinned threads with memory on their node: all local."""
        result = stream(4, "all", "local")
        self.assertGreater(result["local_share"], 0.999)
        self.assertEqual(result["t95_s"], 0)
        lines = int(result["output"][-1].split()[1])
        self.assertAlmostEqual(result["units"] / lines, 1, delta=0.05)
        self.note = f"{result['local_share']:.6f}"

    def test_remote(self):
        """Memory on the next node: none."""
        result = stream(8, "all", "remote", topology="ring4")
        self.assertLess(result["local_share"], 0.001)
        self.assertIsNone(result["t95_s"])
        self.note = f"{result['local_share']:.6f}"
        for node, row in enumerate(result["matrix"]):
            self.assertGreater(row[(node + 1) % 4] / sum(row), 0.99)

    def test_mix(self):
        """Every second page remote: half, to one percent."""
        result = stream(4, "all", "mix")
        self.assertAlmostEqual(result["local_share"], 0.5, delta=0.01)
        self.note = f"{result['local_share']:.4f}"

    def test_cost(self):
        """A remote machine is slower in the model, by as much as the constants say."""
        near, far = stream(4, "all", "local"), stream(4, "all", "mix")
        for result in (near, far):
            misses = sum(map(sum, result["matrix"]))
            local = sum(row[i] for i, row in enumerate(result["matrix"]))
            insn = result["user_insn"] * 0.5
            result["least_s"] = (80 * local + 160 * (misses - local)) * 1e-9 / 4
            self.assertGreater(result["modelled_s"], result["least_s"])
            self.assertGreater(result["least_s"] + 1.5e-9 * insn, result["modelled_s"])
        ratio = far["modelled_throughput"] / near["modelled_throughput"]
        self.assertLess(ratio, 0.8)
        self.note = f"mix to local {ratio:.3f}"

    def test_oracle(self):
        """Local slices need not move; each remote page moves, unless the thread does."""
        self.assertEqual(stream(4, "all", "local")["oracle_pages"], 0)
        self.assertEqual(stream(4, "all", "mix")["oracle_pages"], 4 * 512)


class Kernel(unittest.TestCase):
    """The kernel's part."""

    def test_parts(self):
        """The parts add up; nothing is lost; without balancing there is no scan and no hint."""
        result = stream(4, "all", "local")
        self.assertEqual(sum(result["overhead_parts"].values()), result["kernel_insn"])
        self.assertEqual(result["frames_lost"], 0)
        self.assertEqual(result["overhead_parts"]["scan"] + result["overhead_parts"]["hint"], 0)

    def check_balancing(self, image, mode):
        """With balancing on, all faults are seen, and functions add up to parts."""
        raw = raw_run(4, "all", "any", 6, 3, 1, mode=mode, image=image)
        result, end = results.result(raw), raw.marks[-1]
        parts = result["overhead_parts"]
        helper = sum(f["insn"] for f in result["functions"].values()) - \
            sum(n for part, n in parts.items() if part != "rest")
        seen = end["fault_span"]["nr"]
        self.assertEqual(sum(parts.values()), result["kernel_insn"])
        self.assertEqual(helper, 0)
        self.assertEqual(result["frames_lost"], 0)
        self.assertGreater(parts["scan"], 10000)
        self.assertGreater(result["hint_faults"], 100)
        self.assertAlmostEqual(seen / result["hint_faults"], 1, delta=0.01)
        self.assertGreaterEqual(result["fault_pause_max_insn"], result["fault_pause_p99_insn"])
        self.assertGreater(result["longest_slice_insn"], 1000)
        self.note = (f"{seen} faults seen, {result['hint_faults']} counted by the kernel; "
                     f"slice {result['longest_slice_insn']}, pause "
                     f"{result['fault_pause_max_insn']} at most")

    def test_balancing(self):
        """The kernel under test."""
        self.check_balancing(kernel(), "numab")

    def test_base_balancing(self):
        """The base balancer."""
        self.check_balancing(image_of("MACHINE_BASE_KERNEL", "out-base*"), "base")


class Regression(unittest.TestCase):
    """A regression that was put in on purpose is seen."""

    def far(self, period_ms):
        """Misplaced memory; the base balancer scans 4 MB a period.

        In its first pass over an address space the period is what it calls the delay.
        """
        setup = (f"cd {SCANS} && echo 4 > scan_size_mb && echo {period_ms} > scan_delay_ms && "
                 f"echo {period_ms} > scan_period_min_ms; cd /")
        return stream(4, "all", "far", 4, mode="base", setup=setup,
                      image=image_of("MACHINE_BASE_KERNEL", "out-base*"))

    def test_scan_period(self):
        """Ten times the scan period shows in the local share and in the time to become local."""
        quick, slow = self.far(100), self.far(1000)
        self.note = " and ".join(f"local {r['local_share']:.3f}, T95 {r['t95_s']} s, "
                                 f"{r['pte_updates']} updates" for r in (quick, slow))
        self.assertIsNotNone(quick["t95_s"])
        self.assertGreater(quick["local_share"], slow["local_share"] + 0.1)
        self.assertGreater(slow["t95_s"] or 1e9, 2 * quick["t95_s"])


class Machines(unittest.TestCase):
    """Calibration on other machines, and what a wrong one does."""

    def test_topologies(self):
        """Each is calibrated; memory that is bound locally is local."""
        for topology, threads in (("mesh8", 16), ("ring4", 8), ("cpuless", 4), ("uma1", 4)):
            with self.subTest(topology):
                result = stream(threads, "all", "local", 1, topology=topology)
                self.assertGreater(result["local_share"], 0.999)

    def test_memoryless(self):
        """CPUs without memory have nothing local."""
        result = stream(2, "6,7", "any", 1, topology="memoryless")
        self.assertEqual(sum(row[3] for row in result["matrix"]), 0)

    def test_wrong_calibration(self):
        """Pages that contradict each other stop the run, and so does a node too many."""
        with self.assertRaisesRegex(Failure, "contradict"):
            raw_run(1, "0", "local", 2, 1, 1, calibration=" wrong")
        with self.assertRaisesRegex(Failure, "binding pages to node 2"):
            raw_run(1, "0", "local", 2, 1, 1, calibration=".1024")

    def test_failing_program(self):
        """A program that fails fails the run, with its status."""
        with self.assertRaisesRegex(Failure, "status 2"):
            raw_run(0, "all", "local", 2, 1, 1)
