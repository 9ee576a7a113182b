# SPDX-License-Identifier: GPL-2.0
"""Run one program in a guest under the probe and bring back what was seen."""

import json
import os
import shlex
import shutil
import struct
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "stack" / "lib"))

# pylint: disable=wrong-import-position
import cpio
import qemu
import symbols
from common import BUILD, ROOT, Failure, lock, need, run, sha256, sha256_file, shown

PLUGIN = ROOT / "machine/plugin"
OUTPUT = BUILD / "machine"
EMPTY_DIRS = ("proc", "sys", "dev", "run", "tmp", "root", "etc", "mnt")
MODES = {"off": "disable", "base": "enable", "numab": "enable",
         "pinned": "disable", "inverse": "disable"}
CPUS_OF_A_WINDOW = 8
# What decides about a result, apart from the plugin; reports do not.
SOURCES = [ROOT / "machine/lib" / name for name in
           ("measure.py", "model.py", "oracle.py", "results.py", "symbols.py")]


@dataclass
class Cache:
    """The cache model of a node."""

    sets: int = 4096
    ways: int = 8
    line: int = 64


@dataclass
class Spec:
    """One run."""

    kernel: Path
    command: list
    topology: str = "ring4"
    thp: str = "never"
    mode: str = "off"
    workload: str = ""
    seed: int = 0
    append: str = ""
    system_map: Path = None
    cache: Cache = field(default_factory=Cache)
    timeout: int = 900
    sample_ms: int = 50
    calibration: str = ""   # appended to numa_calib's arguments; for tests
    files: list = field(default_factory=list)
    plugin: bool = True
    setup: str = ""         # shell commands that the guest runs first
    spin: int = 0           # rounds per remote miss: CPUs are threads, nothing is repeatable


@dataclass
class Raw:
    """What a run gave: the probe's lines, the guest's lines."""

    spec: Spec
    machine: qemu.Machine
    header: dict
    windows: list
    marks: list
    notes: list
    oracle: list
    output: list
    status: int
    console_dirt: list
    host_s: float
    host_cpu_s: float
    text: bytes
    inputs_hash: str
    kernel_id: str
    reduced: list = None    # windows as the model sees them


def build():
    """Build the probe and the guest's helpers if they are not up to date."""
    need("make", "gcc", "qemu-system-x86_64", "busybox")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with lock("machine"):
        run("make", "-s", "-C", PLUGIN, f"OUTPUT={OUTPUT}")


def is_static(data):
    """Can this program run in a guest that has no libraries?"""
    if data[:2] == b"#!":
        return True
    if data[:5] != b"\x7fELF\x02":
        return False
    offset, = struct.unpack_from("<Q", data, 32)
    size, number = struct.unpack_from("<HH", data, 54)
    kinds = [struct.unpack_from("<I", data, offset + i * size)[0] for i in range(number)]
    return 3 not in kinds


def program(name):
    """The bytes of the program to measure."""
    path = Path(name)
    if not path.is_file():
        raise Failure(f"{name} is no file; name a static program of this system")
    data = path.read_bytes()
    if not is_static(data):
        raise Failure(f"{name} is no static x86-64 program (link it with -static)")
    return data


def image(spec):
    """The guest's initramfs."""
    archive = cpio.Archive()
    for name in EMPTY_DIRS:
        archive.directory(name)
    archive.device("dev/console", 5, 1)
    archive.device("dev/null", 1, 3)
    busybox = shutil.which("busybox")
    archive.file("bin/busybox", Path(busybox).read_bytes(), 0o755)
    for applet in run(busybox, "--list").split():
        archive.link(f"bin/{applet}", "busybox")
    archive.file("init", (ROOT / "machine/guest/init").read_bytes(), 0o755)
    for name in ("numa_calib", "numa_watch"):
        archive.file(f"machine/{name}", (OUTPUT / name).read_bytes(), 0o755)
    for name in [spec.command[0], *spec.files]:
        data = Path(name).read_bytes() if name in spec.files else program(name)
        archive.file(f"prog/{Path(name).name}", data, 0o755)
    return archive.bytes()


def node_mib(machine):
    """MiB of each node, 0 for none, as qemu.numa_arguments() deals them out."""
    sizes = dict(zip(machine.mem_nodes(),
                     qemu.shares(qemu.mebibytes(machine.mem), len(machine.mem_nodes()))))
    return [sizes.get(node, 0) for node in range(machine.nodes)]


def cpu_nodes(machine):
    """Node of each CPU."""
    counts = qemu.shares(machine.cpus, len(machine.cpu_nodes()))
    return [node for node, n in zip(machine.cpu_nodes(), counts) for _ in range(n)]


def distance_table(machine):
    """Rows of distances."""
    table = qemu.distances(machine)
    return [[table.get((a, b), 10) for b in range(machine.nodes)] for a in range(machine.nodes)]


def window_insns(machine):
    """About 34 ms of guest time, in which every CPU has some thirty turns."""
    return (1 << 22) * max(1, -(-machine.cpus // CPUS_OF_A_WINDOW))


def plugin_options(spec, machine, out, symbol_file):
    """The -plugin argument."""
    options = {"out": out, "mem": ".".join(map(str, node_mib(machine))),
               "cpus": ".".join(map(str, cpu_nodes(machine))), "symbols": symbol_file,
               "sets": spec.cache.sets, "ways": spec.cache.ways, "line": spec.cache.line,
               "window": window_insns(machine)}
    if spec.spin:
        options["spin"] = spec.spin
    return ",".join([str(OUTPUT / "numa_probe.so")] + [f"{k}={v}" for k, v in options.items()])


def guest_script(spec, machine):
    """What the guest's shell runs."""
    sizes = ".".join(map(str, node_mib(machine))) + spec.calibration
    command = shlex.join([f"/prog/{Path(spec.command[0]).name}", *spec.command[1:]])
    return (f"{spec.setup or ':'}\n/machine/numa_calib {sizes} || exit 125\ncd /prog\n"
            f"exec /machine/numa_watch -s {spec.sample_ms} {command}")


def append_arguments(spec):
    """The kernel's command line as far as the run decides.

    The probe knows the kernel by its addresses. Thunks around indirect calls would cost what no
    present CPU pays, and hide who calls.
    """
    return (f"nokaslr norandmaps mitigations=off transparent_hugepage={spec.thp} "
            f"numa_balancing={MODES[spec.mode]} {spec.append}").strip()


def kernel_id(kernel):
    """Version in a bzImage's header and the start of the image's hash."""
    data = Path(kernel).read_bytes()
    if data[0x202:0x206] != b"HdrS":
        raise Failure(f"{shown(kernel)} is no bzImage")
    at = 0x200 + struct.unpack_from("<H", data, 0x20e)[0]
    version = data[at:data.index(b"\0", at)].decode("ascii", "replace").split()[0]
    return f"{version}-{sha256(data)[:12]}"


def own_sources():
    """Hashes of what measures and models."""
    plugin = [p for p in sorted(PLUGIN.iterdir()) if p.suffix in (".c", ".h") or
              p.name == "Makefile"]
    return [sha256_file(path) for path in plugin + SOURCES]


def inputs_hash(spec, machine, initrd, symbol_text):
    """Hash of everything that decides about the result."""
    version = run("qemu-system-x86_64", "--version").splitlines()[0]
    args = qemu.command_line(machine, "K", "I", append_arguments(spec))
    facts = [sha256_file(spec.kernel), sha256(initrd), sha256(symbol_text.encode()), version,
             shlex.join(args), guest_script(spec, machine), repr(spec.cache),
             f"{spec.plugin} {spec.spin}", *own_sources()]
    return sha256("\n".join(facts).encode())


def bracket(lines, word):
    """JSON objects behind a word at the start of a line."""
    return [json.loads(line[len(word):]) for line in lines if line.startswith(word)]


def parse_probe(text):
    """Header, windows and marks from the probe's lines, up to the last mark."""
    records = []
    for line in text.splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    for record in records:
        if "error" in record:
            raise Failure(f"the probe stopped the run: {record['error']}")
    return (records[0] if records else {}, [r for r in records if "w" in r and "cpu" in r
            and "mark" not in r], [r for r in records if "mark" in r])


def up_to_last_mark(data):
    """The probe's bytes up to the last mark; what follows the guest's end is not repeatable."""
    end = data.rfind(b'{"mark":')
    return data[:data.find(b"\n", end) + 1] if end >= 0 else b""


def check(raw, outcome):
    """Fail if the run cannot be used."""
    if outcome.why:
        tail = "\n".join(outcome.console[-5:] + outcome.output[-5:])
        raise Failure(f"the run failed: {outcome.why}\n{tail}".strip())
    if outcome.status:
        what = "calibration in the guest" if outcome.status == 125 else "the program"
        tail = "\n".join(outcome.output[-5:])
        raise Failure(f"{what} ended with status {outcome.status}\n{tail}".strip())
    if not raw.spec.plugin:
        return
    if not raw.marks or raw.marks[-1]["mark"] != 4:
        raise Failure("the probe saw no mark at the end of the run")
    if raw.marks[-1]["unknown"]:
        raise Failure(f"{raw.marks[-1]['unknown']} misses went to memory of no node: "
                      "the calibration is wrong")


def children_s():
    """CPU seconds of ended children."""
    times = os.times()
    return times.children_user + times.children_system


@dataclass
class Prepared:
    """A run that is about to be made: all that is needed to tell whether it was made before."""

    spec: Spec
    machine: qemu.Machine
    symbol_text: str
    initrd: bytes
    kernel_id: str
    inputs_hash: str


def prepare(spec):
    """Check the options, build the guest's image and hash the inputs."""
    if not Path(spec.kernel).is_file():
        raise Failure(f"{shown(spec.kernel)} is missing")
    if spec.mode not in MODES or spec.thp not in ("always", "never"):
        raise Failure(f"--mode is one of {', '.join(MODES)}; --thp is always or never")
    build()
    machine = qemu.Machine(accel="mttcg" if spec.spin else "tcg")
    qemu.set_options(machine, qemu.topology(spec.topology))
    ident = kernel_id(spec.kernel)
    text = symbols.symbol_file(spec.system_map or symbols.find_map(spec.kernel))
    initrd = image(spec)
    return Prepared(spec, machine, text, initrd, ident, inputs_hash(spec, machine, initrd, text))


def boot(prepared, directory):
    """Run the guest; the outcome, the probe's bytes and the CPU seconds."""
    directory, spec = Path(directory), prepared.spec
    out = directory / "probe.jsonl"
    (directory / "initrd.cpio").write_bytes(prepared.initrd)
    (directory / "symbols").write_text(prepared.symbol_text, encoding="ascii")
    machine = replace(prepared.machine, env={} if spec.spin else
                      {"LD_PRELOAD": str(OUTPUT / "fixed_clock.so")})
    if spec.plugin:
        machine.qemu = ["-plugin", plugin_options(spec, machine, out, directory / "symbols")]
    before = children_s()
    outcome = qemu.run_guest(machine, spec.kernel, directory / "initrd.cpio",
                             guest_script(spec, machine), append=append_arguments(spec),
                             timeout=spec.timeout)
    return outcome, out.read_bytes() if out.is_file() else b"", children_s() - before


def measure(spec):
    """Make one run of a Spec or a Prepared. Returns a Raw; raises Failure if it is of no use."""
    prepared = spec if isinstance(spec, Prepared) else prepare(spec)
    (BUILD / "tmp").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD / "tmp") as directory:
        outcome, data, cpu_s = boot(prepared, directory)
    header, windows, marks = parse_probe(data.decode("utf-8", "replace"))
    raw = Raw(prepared.spec, prepared.machine, header, windows, marks,
              bracket(outcome.output, "@machine "), bracket(outcome.output, "@oracle "),
              [line for line in outcome.output if not line.startswith(("@machine ", "@oracle "))],
              outcome.status, outcome.dirt, outcome.seconds, cpu_s, up_to_last_mark(data),
              prepared.inputs_hash, prepared.kernel_id)
    check(raw, outcome)
    return raw
