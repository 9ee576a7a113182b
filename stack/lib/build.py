# SPDX-License-Identifier: GPL-2.0
"""Configure and build kernels out of build/linux, with progress and a compiler cache."""

import os
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import kconfig
from common import (BUILD, IDENTITY, LINUX, ROOT, Failure, need, need_space, plain_env, say, shown,
                    write_if_changed)

KERNEL_MIB = 600
OBJECTS = ["kernel/sched/", "mm/", "init/", "fs/proc/", "kernel/fork.o"]
STEP = re.compile(r"^  (?:CC|AS|LD|AR|CHECK)\S* +(?:\[M\] +)?(\S+)")
COMPILED = re.compile(r"^  (?:CC|AS) +(\S+)")
ERROR = re.compile(r"\berror\b:?|^make.*\*\*\*|undefined reference|No space left", re.I)
PERIOD = 5


def cache_dir():
    """Where the compiler cache lies: $CCACHE_DIR, build/ccache, or the user's cache."""
    if "CCACHE_DIR" in os.environ:
        return Path(os.environ["CCACHE_DIR"])
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for path in (BUILD / "ccache", home / "numab-ccache"):
        if path.is_dir():
            return path
    try:
        (home / "numab-ccache").mkdir(parents=True)
        return home / "numab-ccache"
    except OSError:
        return BUILD / "ccache"


def build_env(**extra):
    """Environment of a kernel build: the same result wherever the repository lies."""
    return plain_env(CCACHE_DIR=str(cache_dir()), CCACHE_BASEDIR=str(ROOT), CCACHE_NOHASHDIR="1",
                     CCACHE_MAXSIZE=os.environ.get("CCACHE_MAXSIZE", "3G"),
                     KBUILD_BUILD_USER=IDENTITY[1].split("@")[0], KBUILD_BUILD_HOST="localhost",
                     KBUILD_BUILD_TIMESTAMP="2026-01-01", KBUILD_BUILD_VERSION="1",
                     **extra)


@dataclass
class Kernel:
    """One configuration of one source tree, and where its objects go."""

    name: str
    source: Path = LINUX
    out: Path = None
    fragment: kconfig.Fragment = None
    make_args: list = field(default_factory=list)

    def __post_init__(self):
        self.fragment = self.fragment or kconfig.load(self.name)
        self.out = self.out or BUILD / f"out-{self.name}"
        self.log = self.out.with_suffix(".log")

    @property
    def image(self):
        """The bootable kernel."""
        return self.out / "arch/x86/boot/bzImage"

    def command(self, *targets):
        """The make command."""
        clang = any(arg.startswith("LLVM=") for arg in self.fragment.make)
        compiler = "ccache clang" if clang else "ccache gcc"
        return ["make", "-C", str(self.source), f"O={self.out}", f"-j{os.cpu_count()}",
                f"CC={compiler}", f"LOCALVERSION=-{self.name}", "WERROR=0",
                *self.fragment.make, *self.make_args, *targets]

    def configure(self, demand="all"):
        """Write .config; unchanged symbols cause no rebuild.

        What must come out as asked for: "all", the fragment's "own" lines, or "nothing".
        """
        need("make", "gcc", "flex", "bison", "bc", "ccache", "perl")
        self.out.mkdir(parents=True, exist_ok=True)
        merged = self.out / "fragment.config"
        write_if_changed(merged, self.fragment.text())
        with open(self.log, "w", encoding="utf-8") as log:
            done = subprocess.run(self.command("allnoconfig"), stdout=log,
                                  stderr=subprocess.STDOUT, check=False,
                                  env=build_env(KCONFIG_ALLCONFIG=str(merged)))
        if done.returncode:
            raise Failure(f"configuring {self.name} failed:\n" + first_errors(self.log))
        wanted = {"all": self.fragment.values, "own": self.fragment.own, "nothing": {}}
        kconfig.check(wanted[demand], (self.out / ".config").read_text(), self.name)

    def make(self, *targets, quiet=False, keep_going=False):
        """Run make with progress; the output goes to the log. Returns the output lines."""
        command = self.command(*(["-k"] if keep_going else []), *targets)
        progress = Progress(self.name, self.fragment.objects, quiet)
        lines = []
        with open(self.log, "a", encoding="utf-8") as log, \
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace", env=build_env()) as process:
            try:
                for line in process.stdout:
                    log.write(line)
                    lines.append(line.rstrip("\n"))
                    progress.take(line)
            except BaseException:
                process.terminate()  # or leaving the block would wait for the whole build
                raise
        if process.returncode:
            raise Failure(f"building {self.name} failed, log: {shown(self.log)}\n"
                          + first_errors(self.log))
        progress.done()
        return lines

    def build(self, quiet=False):
        """Configure and build a bootable kernel."""
        need("ld", "cpio", "xz", "kmod")
        if not self.image.exists():
            need_space(KERNEL_MIB, f"kernel objects in {shown(self.out)}")
        self.configure()
        self.make("bzImage", quiet=quiet)
        return self.image


class Progress:
    """A line every few seconds: what is built, how much of it is done."""

    def __init__(self, name, total, quiet):
        self.name, self.total, self.quiet = name, total, quiet
        self.count, self.last, self.current = 0, time.monotonic(), ""
        self.start = self.last

    def take(self, line):
        """Look at a line of make's output."""
        match = STEP.match(line)
        if match:
            self.current = match[1]
            self.count += bool(COMPILED.match(line))
        now = time.monotonic()
        if not self.quiet and now - self.last >= PERIOD and self.current:
            self.last = now
            of = f" of about {max(self.total, self.count)}" if self.total else ""
            say(f"build {self.name}: {now - self.start:4.0f} s, {self.count}{of} objects, "
                f"{self.current}")

    def done(self):
        """The last line."""
        if not self.quiet:
            say(f"build {self.name}: done, {self.count} objects in "
                f"{time.monotonic() - self.start:.0f} s")


def first_errors(log, count=8):
    """The first lines of a log that look like errors, else its end."""
    lines = log.read_text(errors="replace").splitlines()
    errors = [line for line in lines if ERROR.search(line)]
    return "\n".join("  " + line for line in (errors or lines[-count:])[:count])


def build_objects(kernel, ours, demand="own", quiet=True):
    """Build what the stack touches; return errors, or warnings in our lines, as problems."""
    try:
        kernel.configure(demand)
        lines = kernel.make("prepare", *OBJECTS, quiet=quiet, keep_going=True)
    except Failure as error:
        return str(error).splitlines()
    return warnings_in(lines, kernel.source, ours)


WARNING = re.compile(r"^(?:\.\./)*(\S+?):(\d+):\d+: (?:warning|error): ")


def warnings_in(lines, source, ours):
    """Warnings that point into ours: {file: None for all lines, or a set of line numbers}."""
    found = []
    for line in lines:
        match = WARNING.match(line)
        if not match:
            continue
        name = match[1]
        if name.startswith(str(source)):
            name = os.path.relpath(name, source)
        if name in ours and (ours[name] is None or int(match[2]) in ours[name]):
            found.append(line.replace(f"{source}/", ""))
    return found
