# SPDX-License-Identifier: GPL-2.0
"""Machines become QEMU options; archives are well formed; guests that end badly are told apart."""

import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

# pylint: disable=wrong-import-position
import cpio
import qemu


class Options(unittest.TestCase):
    """The command line of QEMU."""

    def numa(self, **options):
        """The NUMA options of a machine as one string."""
        return " ".join(qemu.numa_arguments(qemu.Machine(**options)))

    def test_equal_shares(self):
        """CPUs and memory are spread over the nodes."""
        text = self.numa(nodes=2, cpus=4, mem="2G")
        self.assertIn("-numa node,nodeid=1,memdev=m1", text)
        self.assertIn("-numa cpu,node-id=1,socket-id=1,core-id=1", text)
        self.assertIn("memory-backend-ram,id=m0,size=1024M", text)

    def test_twins(self):
        """Where the CPUs run in turn, one that is never started follows each."""
        text = self.numa(nodes=2, cpus=4, mem="2G")
        self.assertIn("-smp 1,maxcpus=8,sockets=4,cores=2,threads=1", text)
        devices = [word.split(",")[1:3] for word in text.split() if word.startswith("max-x86")]
        self.assertEqual(devices, [[f"socket-id={s}", f"core-id={c}"] for s, c in
                                   ((2, 0), (0, 1), (2, 1), (1, 0), (3, 0), (1, 1), (3, 1))])
        text = self.numa(nodes=2, cpus=4, mem="2G", accel="mttcg")
        self.assertIn("-smp 4,sockets=2,cores=2,threads=1", text)
        self.assertNotIn("-device", text)

    def test_memoryless_and_cpuless(self):
        """A node without memory has CPUs only, one without CPUs memory only."""
        text = self.numa(nodes=3, cpus=2, mem="2G", memoryless=[1], cpuless=[2])
        self.assertIn("-numa node,nodeid=1 ", text)
        self.assertIn("-numa cpu,node-id=1,socket-id=1", text)
        self.assertIn("-numa node,nodeid=2,memdev=m2", text)
        self.assertNotIn("cpu,node-id=2", text)

    def test_distances(self):
        """A distance holds both ways; the others are 20."""
        text = self.numa(nodes=3, cpus=3, dist="0,2=30")
        self.assertIn("dist,src=2,dst=0,val=30", text)
        self.assertIn("dist,src=1,dst=0,val=20", text)

    def test_nonsense(self):
        """What cannot be built is refused."""
        for options in ({"dist": "0,9=30"}, {"dist": "0,1=5"}, {"mem": "lots"},
                        {"cpuless": [7]}, {"nodes": 1, "memoryless": [0]},
                        {"nodes": 4, "cpus": 2}):
            with self.assertRaises(qemu.UsageError):
                self.numa(**options)
        with self.assertRaises(qemu.UsageError):
            qemu.accel_arguments(qemu.Machine(accel="warp"))

    def test_speed_of_a_cpu(self):
        """The shift falls with the number of CPUs."""
        for cpus, shift in ((8, 3), (16, 2), (32, 1)):
            self.assertIn(f"shift={shift},sleep=off",
                          qemu.accel_arguments(qemu.Machine(cpus=cpus)))

    def test_topologies(self):
        """Every named topology is a machine."""
        for name in ("uma1", "mesh2", "mesh4", "ring4", "line4", "mesh8", "memoryless",
                     "cpuless"):
            qemu.numa_arguments(qemu.set_options(qemu.Machine(), qemu.topology(name)))
        with self.assertRaises(qemu.UsageError):
            qemu.topology("none")


class Archive(unittest.TestCase):
    """The initramfs writer."""

    def test_cpio_reads_it(self):
        """cpio lists what was added, parents first, each once."""
        archive = cpio.Archive()
        archive.file("a/b/c", b"text", 0o755)
        archive.link("a/l", "b/c")
        archive.file("a/b/c", b"again")
        done = subprocess.run(["cpio", "-t", "--quiet"], input=archive.bytes(),
                              capture_output=True, check=True)
        self.assertEqual(done.stdout.decode().split(), ["a", "a/b", "a/b/c", "a/l"])


class Ends(unittest.TestCase):
    """What a guest printed decides how it ended."""

    def ended(self, console, output, timed_out=False):
        """The outcome for these two texts."""
        with tempfile.TemporaryDirectory() as temp:
            Path(temp, "console").write_text(console)
            Path(temp, "output").write_text(output)
            watcher = qemu.Watcher(temp, io.StringIO(), lambda port, line: None)
            return watcher.finish(timed_out)

    def test_status(self):
        """The command's status gets through, its output is whole."""
        out = self.ended("", "numab-guest: begin\r\na\r\n\r\nb\r\n\r\nnumab-guest: exit 7\r\n")
        self.assertEqual((out.status, out.output), (7, ["a", "", "b"]))

    def test_no_newline_at_the_end(self):
        """Output without a newline at its end is no reason to miss the sentinel."""
        out = self.ended("", "numab-guest: begin\nhalf a line\nnumab-guest: exit 0\n")
        self.assertEqual((out.status, out.output), (0, ["half a line"]))

    def test_bad_ends(self):
        """Panic, time-out, silence and a dirty console differ."""
        good = "numab-guest: begin\n\nnumab-guest: exit 0\n"
        self.assertEqual(self.ended("Kernel panic - not syncing", "").status, qemu.PANIC)
        self.assertEqual(self.ended("", "", True).status, qemu.TIMEOUT)
        self.assertEqual(self.ended("", "numab-guest: begin\nx\n").status, qemu.NO_END)
        self.assertEqual(self.ended("BUG: bad", good).status, qemu.DIRTY)
        self.assertEqual(self.ended("fine", good).status, 0)


if __name__ == "__main__":
    unittest.main()
