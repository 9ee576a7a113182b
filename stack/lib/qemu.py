# SPDX-License-Identifier: GPL-2.0
"""Describe a NUMA machine, turn it into a QEMU command line, run it and watch it."""

import os
import re
import shlex
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import cpio
from common import BUILD, STACK, Failure, need, plain_env
from verdict import console_problems

# Exit statuses of stack/boot where the command's own status says nothing.
TIMEOUT, PANIC, NO_END, DIRTY = 201, 202, 203, 204
BEGIN, END = "numab-guest: begin", re.compile(r"^numab-guest: exit (\d+)$")
LOCAL, REMOTE = 10, 20


class UsageError(Failure):
    """A machine that cannot be built as described."""

    status = 2


@dataclass
class Machine:
    """A machine: what 'stack/boot' takes as options."""

    nodes: int = 4
    cpus: int = 8
    mem: str = "4G"
    dist: str = ""
    memoryless: list = field(default_factory=list)
    cpuless: list = field(default_factory=list)
    accel: str = "tcg"
    qemu: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    faster: int = 0         # CPUs are 2^faster as fast: for kernels that check themselves

    def cpu_nodes(self):
        """Nodes that have CPUs."""
        return [n for n in range(self.nodes) if n not in self.cpuless]

    def mem_nodes(self):
        """Nodes that have memory."""
        return [n for n in range(self.nodes) if n not in self.memoryless]


def set_options(machine, words):
    """Set fields of a machine from the words of a named topology."""
    for option, value in zip(words[::2], words[1::2]):
        name = option.lstrip("-")
        kind = type(getattr(machine, name))
        setattr(machine, name, [int(n) for n in value.split(",")] if kind is list
                else kind(value))
    return machine


def topology(name):
    """Options of a named topology, as a list of words."""
    names = []
    for line in (STACK / "topologies").read_text().splitlines():
        words = line.split("#")[0].split()
        if words and words[0] == name:
            return words[1:]
        names += words[:1]
    raise UsageError(f"no topology '{name}'; there are: {', '.join(names)}")


def mebibytes(text):
    """A size such as 4G or 512M in MiB."""
    match = re.fullmatch(r"(\d+)([MG]?)", text)
    if not match:
        raise UsageError(f"'{text}' is no size; write 4G or 512M")
    return int(match[1]) * (1024 if match[2] == "G" else 1)


def shares(total, parts):
    """Split a number into near-equal parts, the larger ones first."""
    return [total // parts + (1 if i < total % parts else 0) for i in range(parts)]


def distances(machine):
    """The distance table as {(a, b): value} for a != b; missing ones are 20."""
    table = {(a, b): REMOTE for a in range(machine.nodes) for b in range(machine.nodes) if a != b}
    for part in filter(None, machine.dist.split(";")):
        match = re.fullmatch(r"(\d+),(\d+)=(\d+)", part.strip())
        if not match or (int(match[1]), int(match[2])) not in table:
            raise UsageError(f"'{part}' is no distance; write A,B=VALUE;... with two nodes")
        if not LOCAL < int(match[3]) < 255:
            raise UsageError(f"distance {match[3]} is not between 11 and 254")
        a, b = int(match[1]), int(match[2])
        table[a, b] = table[b, a] = int(match[3])
    return table


def sockets_and_cores(machine):
    """One socket per node with CPUs, if the CPUs divide evenly, else one per CPU."""
    sockets = len(machine.cpu_nodes())
    return (machine.cpus, 1) if machine.cpus % sockets else (sockets, machine.cpus // sockets)


def has_twins(machine):
    """Do the CPUs run in turn, so that each needs a twin?

    With -icount QEMU runs the CPUs in turn, each until the next timer is due. When one has used
    its turn up, its successor finds that the time for the timer has come and gets no turn at all.
    If all others only wait for that successor (spinning ends a turn at once), the same CPU is
    passed over every time, and the guest stands still for seconds. A CPU that is never started,
    placed behind each real one, takes the empty turn.
    """
    return machine.accel == "tcg" and machine.cpus > 1


def cpu_arguments(machine, counts):
    """The -smp option, the twins behind the CPUs, and which node each CPU belongs to."""
    sockets, cores = sockets_and_cores(machine)
    places = [(n // cores, n % cores) for n in range(machine.cpus)]
    nodes = [node for node in sorted(counts) for _ in range(counts[node])]
    model, args = "max-x86_64-cpu", []
    if not has_twins(machine):
        args += ["-smp", f"{machine.cpus},sockets={sockets},cores={cores},threads=1"]
    else:
        args += ["-smp", f"1,maxcpus={2 * machine.cpus},sockets={2 * sockets},cores={cores},"
                 "threads=1"]
    for (socket, core), node in zip(places, nodes):
        args += ["-numa", f"cpu,node-id={node},socket-id={socket},core-id={core}"]
        if not has_twins(machine):
            continue
        twin = socket + sockets
        args += ["-numa", f"cpu,node-id={node},socket-id={twin},core-id={core}"]
        if (socket, core) != (0, 0):
            args += ["-device", f"{model},socket-id={socket},core-id={core},thread-id=0"]
        args += ["-device", f"{model},socket-id={twin},core-id={core},thread-id=0"]
    return args


def numa_arguments(machine):
    """The -m, -smp, -object and -numa options."""
    cpu_nodes, mem_nodes = machine.cpu_nodes(), machine.mem_nodes()
    if not mem_nodes or not cpu_nodes or machine.cpus < len(cpu_nodes):
        raise UsageError("some node must have memory, and each node not in --cpuless a CPU")
    if set(machine.memoryless + machine.cpuless) - set(range(machine.nodes)):
        raise UsageError(f"--memoryless or --cpuless names a node that is not in 0..{machine.nodes - 1}")
    sizes = dict(zip(mem_nodes, shares(mebibytes(machine.mem), len(mem_nodes))))
    counts = dict(zip(cpu_nodes, shares(machine.cpus, len(cpu_nodes))))
    args = ["-m", f"{mebibytes(machine.mem)}M"]
    for node in range(machine.nodes):
        text = f"node,nodeid={node}"
        if node in sizes:
            args += ["-object", f"memory-backend-ram,id=m{node},size={sizes[node]}M"]
            text += f",memdev=m{node}"
        args += ["-numa", text]
    args += cpu_arguments(machine, counts)
    for (a, b), value in sorted(distances(machine).items()):
        args += ["-numa", f"dist,src={a},dst={b},val={value}"]
    return args


def accel_arguments(machine):
    """The accelerator. Plain TCG counts instructions: the same run every time.

    One instruction lasts 2^shift ns for the whole machine, so the shift falls as CPUs are added
    and a CPU keeps its speed. Without erms and fsrm, "rep movsb" is not an instruction per byte.
    """
    cpu = ["-cpu", "max,-rdrand,-rdseed,-erms,-fsrm"]
    if machine.accel == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    if machine.accel == "mttcg":
        return ["-accel", "tcg,thread=multi", *cpu]
    if machine.accel != "tcg":
        raise UsageError(f"no accelerator '{machine.accel}'; there are: tcg, mttcg, kvm")
    shift = 3 if machine.cpus <= 8 else 2 if machine.cpus <= 16 else 1
    shift = max(0, shift - machine.faster)
    return ["-accel", "tcg", "-icount", f"shift={shift},sleep=off",
            "-rtc", "base=2026-01-01,clock=vm", *cpu]


def kernel_arguments(machine, extra):
    """The kernel's command line; twins are beyond its number of CPUs."""
    return (f"console=ttyS0 loglevel=6 panic=-1 oops=panic skew_tick=1 nr_cpus={machine.cpus} "
            f"rdinit=/init {extra}").strip()


def initrd_with(initrd, command, directory):
    """The guest's image with the command appended as a second archive."""
    archive = cpio.Archive()
    if command is None:
        archive.file("interactive", b"")
    else:
        archive.file("run-this", (command + "\n").encode(), 0o755)
    path = Path(directory) / "initrd.cpio"
    path.write_bytes(Path(initrd).read_bytes() + archive.bytes())
    return path


def command_line(machine, kernel, initrd, append):
    """All of the QEMU command except for the serial ports."""
    return ["qemu-system-x86_64", *accel_arguments(machine), *numa_arguments(machine),
            "-net", "none", "-display", "none", "-monitor", "none", "-no-reboot",
            "-kernel", str(kernel), "-initrd", str(initrd),
            "-append", kernel_arguments(machine, append), *machine.qemu]


RUNNING = set()


def stop_all():
    """End every guest of this process; their threads then finish by themselves."""
    for process in list(RUNNING):
        process.kill()


class Tail:
    """Yields the new complete lines of a file that another process writes."""

    def __init__(self, path):
        self.path, self.offset, self.rest = path, 0, ""

    def lines(self, final=False):
        """Lines that were completed since the last call; final takes a last half line too."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                data = file.read()
        except FileNotFoundError:
            return []
        self.offset += len(data)
        text = self.rest + data.decode("utf-8", "replace").replace("\r", "")
        *whole, self.rest = text.split("\n")
        if final and self.rest:
            whole, self.rest = whole + [self.rest], ""
        return whole


@dataclass
class Outcome:
    """How a boot ended."""

    status: int = NO_END
    why: str = "the guest ended before the command did"
    console: list = field(default_factory=list)
    output: list = field(default_factory=list)
    dirt: list = field(default_factory=list)
    seconds: float = 0.0


class Watcher:
    """Reads both serial ports of a running guest and keeps the log."""

    def __init__(self, directory, log, show):
        self.console_tail = Tail(Path(directory) / "console")
        self.output_tail = Tail(Path(directory) / "output")
        self.log, self.show = log, show
        self.outcome = Outcome()
        self.ended, self.held = False, False

    def poll(self, final=False):
        """Take what is new; console lines and output lines never mix within a line."""
        for line in self.console_tail.lines(final):
            self.outcome.console.append(line)
            print(line, file=self.log)
            self.show("console", line)
        for line in self.output_tail.lines(final):
            print(line, file=self.log)
            self.take_output(line)
        self.log.flush()

    def take_output(self, line):
        """One line of the second port: the sentinel or the command's output."""
        match = END.match(line)
        if self.ended or line == BEGIN:
            return
        if match:
            self.ended = True
            self.outcome.status, self.outcome.why = int(match[1]), ""
            return
        # An empty line may belong to the sentinel: hold it back until another follows.
        held, self.held = ([""] if self.held else []), not line
        for text in held + ([line] if line else []):
            self.outcome.output.append(text)
            self.show("output", text)

    def finish(self, timed_out):
        """The verdict on everything that was printed."""
        self.poll(final=True)
        out = self.outcome
        out.dirt = console_problems(out.console)
        if not self.ended and any("Kernel panic" in line for line in out.console):
            out.status, out.why = PANIC, "the kernel panicked"
        elif timed_out and not self.ended:
            out.status, out.why = TIMEOUT, "the time is over"
        elif out.status == 0 and out.dirt:
            out.status, out.why = DIRTY, f"the console is not clean: {out.dirt[0]}"
        return out


def run_guest(machine, kernel, initrd, command, *, append="", log=os.devnull, timeout=300,
              show=lambda port, line: None):
    """Boot, run the command, power off. Returns an Outcome; never leaves QEMU behind."""
    need("qemu-system-x86_64")
    started = time.monotonic()
    (BUILD / "tmp").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD / "tmp") as directory, \
            open(log, "w", encoding="utf-8") as log_file:
        args = command_line(machine, kernel, initrd_with(initrd, command, directory), append)
        for port in ("console", "output"):
            args += ["-chardev", f"file,id={port},path={directory}/{port}",
                     "-serial", f"chardev:{port}"]
        print("#", shlex.join(args), file=log_file)
        watcher = Watcher(directory, log_file, show)
        with subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              env=plain_env(**machine.env), start_new_session=True) as process:
            RUNNING.add(process)
            timed_out = watch(process, watcher, started + timeout)
            RUNNING.discard(process)
            said = process.stdout.read().strip()
        outcome = watcher.finish(timed_out)
        outcome.seconds = time.monotonic() - started
        if not outcome.console and said:
            outcome.why = f"QEMU: {said.splitlines()[-1]}"
        print(f"# {said}\n# status {outcome.status} {outcome.why} "
              f"({outcome.seconds:.0f} s)", file=log_file)
    return outcome


def watch(process, watcher, deadline):
    """Poll until QEMU ends or the time is over; True means that it was."""
    try:
        while process.poll() is None:
            if watcher.ended:
                deadline = min(deadline, time.monotonic() + 60)
            if time.monotonic() > deadline:
                return True
            watcher.poll()
            time.sleep(0.1)
        return False
    finally:
        if process.poll() is None:
            process.kill()


def run_shell(machine, kernel, initrd, append=""):
    """The same guest with a prompt on the terminal (Ctrl-A X ends QEMU)."""
    need("qemu-system-x86_64")
    (BUILD / "tmp").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD / "tmp") as directory:
        args = command_line(machine, kernel, initrd_with(initrd, None, directory), append)
        args += ["-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console"]
        return subprocess.run(args, env=plain_env(), check=False).returncode


def probe_kvm(kernel, initrd):
    """Fail unless a guest under KVM boots and comes back; /dev/kvm alone proves nothing."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        raise Failure("ACCEL=kvm: /dev/kvm cannot be opened; use tcg or mttcg")
    small = Machine(nodes=1, cpus=1, mem="512M", accel="kvm")
    if run_guest(small, kernel, initrd, "true", timeout=20).status not in (0, DIRTY):
        raise Failure("ACCEL=kvm: a probe boot did not come back in 20 s; use tcg or mttcg")
