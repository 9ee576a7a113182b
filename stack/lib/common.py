# SPDX-License-Identifier: GPL-2.0
"""Paths, processes and messages that all tools of the stack share."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STACK = ROOT / "stack"
PATCHES = ROOT / "patches"
SERIES = PATCHES / "series"
BUILD = ROOT / "build"
BASE_TREE = BUILD / "base"
LINUX = BUILD / "linux"
RESULTS = BUILD / "results"

# What in this repository is no kernel file. Everything else is one.
OWN_FILES = {"README.md", "Makefile", "BASE", "packages.txt", "COPYING",
             ".gitignore", "MAINTAINERS.patch"}
OWN_DIRS = {"patches", "stack", "machine", ".ci", "build", ".git"}

IDENTITY = ("NUMA balancing stack", "numab@localhost")


class Failure(Exception):
    """An error that the user can act on: printed as one line, no traceback."""


def say(text):
    """Print a line of progress at once, also into a pipe."""
    print(text, flush=True)


def main(function):
    """Run function; turn a Failure or Ctrl-C into a line and an exit status."""
    name = Path(sys.argv[0]).name
    # A signal must run the "finally" clauses that remove half-made things.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(function() or 0)
    except Failure as error:
        sys.stdout.flush()
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(getattr(error, "status", 1))
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)


def need(*tools):
    """Fail with one line if a program is not installed."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        raise Failure(f"missing on this system: {', '.join(missing)} "
                      "('make packages' installs what the stack needs)")


def plain_env(**extra):
    """The environment without what would change how git or make behave."""
    drop = ("GIT_", "MAKE", "KBUILD_", "MFLAGS")
    other = {"ARCH", "CROSS_COMPILE", "LLVM", "KCFLAGS", "LOCALVERSION", "OUTPUT", "O", "W", "C",
             "V", "TARGETS"}
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop) and k not in other}
    env.update(LC_ALL="C", **extra)
    return env


def run(*cmd, cwd=None, env=None, stdin=None, check=True):
    """Run a program and return its stdout (text); stderr goes into the Failure."""
    cmd = [str(c) for c in cmd]
    done = subprocess.run(cmd, cwd=cwd, env=env or plain_env(), input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="surrogateescape", check=False)
    if check and done.returncode:
        what = (done.stderr or done.stdout).strip()
        raise Failure(f"{' '.join(cmd[:4])} failed: {what or done.returncode}")
    return done if not check else done.stdout


def write_if_changed(path, data, mode=None):
    """Replace a file atomically, but only if its content differs."""
    data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    path = Path(path)
    if path.is_file() and path.read_bytes() == data:
        changed = False
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        temp = path.with_name(f".{path.name}.{os.getpid()}")
        temp.write_bytes(data)
        if path.exists():
            shutil.copymode(path, temp)
        os.replace(temp, path)
        changed = True
    if mode is not None and (path.stat().st_mode & 0o777) != mode:
        path.chmod(mode)
        changed = True
    return changed


def sha256(data):
    """Hex digest of bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path):
    """Hex digest of a file of any size."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def need_space(mib, what):
    """Fail before the work starts if the disk cannot hold its result."""
    BUILD.mkdir(exist_ok=True)
    free = shutil.disk_usage(BUILD).free >> 20
    if free < mib:
        raise Failure(f"no room for {what}: {mib} MiB needed, {free} MiB free on the disk of "
                      f"{shown(BUILD)}")


def shown(path):
    """A path as the user would type it: relative to the repository if inside."""
    try:
        return str(Path(path).relative_to(ROOT))
    except ValueError:
        return str(path)


@contextlib.contextmanager
def lock(name):
    """Only one process at a time works on build/NAME."""
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / f".{name}.lock", "w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that works on build/{name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
