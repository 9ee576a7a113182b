# SPDX-License-Identifier: GPL-2.0
"""The base kernel: from the distribution's tarball or $KSRC to build/base."""

import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from common import (BASE_TREE, BUILD, ROOT, Failure, need, need_space, plain_env, run, say,
                    sha256_file, shown)

STAMP = BUILD / "base.id"
TREE_MIB = 1900
SERIES_OF = "6.12"


def recorded():
    """BASE as a dictionary: "key value" lines, '#' starts a comment."""
    values = {}
    for line in (ROOT / "BASE").read_text().splitlines():
        key, _, value = line.partition(" ")
        if key and not key.startswith("#"):
            values[key] = value.strip()
    return values


def version_of(tree):
    """Kernel version of a source tree, or None if it is not one."""
    try:
        text = (Path(tree) / "Makefile").read_text(errors="replace")[:4000]
    except OSError:
        return None
    found = [re.search(rf"^{key} *= *(\d+)$", text, re.M)
             for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    if not all(found) or not (Path(tree) / "kernel/sched/fair.c").is_file():
        return None
    return ".".join(match.group(1) for match in found)


def demand_6_12(tree, name):
    """Fail unless tree is a Linux 6.12.y source tree; return its version."""
    version = version_of(tree)
    if version is None:
        raise Failure(f"{name} is not a Linux source tree")
    if not version.startswith(SERIES_OF + "."):
        raise Failure(f"{name} is Linux {version}; the stack needs a {SERIES_OF}.y tree")
    return version


def find_source():
    """Where the base comes from, as (path, identity): $KSRC or the tarball in BASE."""
    ksrc = os.environ.get("KSRC")
    path = Path(os.path.abspath(ksrc)) if ksrc else Path(recorded()["tarball"])
    if not path.exists():
        hint = "" if ksrc else " (package linux-source-6.12; 'make packages', or set KSRC)"
        raise Failure(f"the base kernel is missing: {path}{hint}")
    if path.is_file():
        return path, {"source": str(path), "size": path.stat().st_size,
                      "mtime": int(path.stat().st_mtime)}
    version = demand_6_12(path, f"KSRC={path}")
    commit = ""
    if (path / ".git").exists():
        commit = run("git", "-C", path, "rev-parse", "HEAD").strip()
    elif (path / ".config").exists() or (path / "include/config").exists():
        raise Failure(f"KSRC={path} has been built in: run 'make mrproper' there first")
    return path, {"source": str(path), "version": version, "commit": commit}


def unpack_tarball(tarball, target):
    """Unpack so that the tree's top directory becomes target."""
    checksum = sha256_file(tarball)
    if checksum != recorded().get("sha256"):
        say(f"base: {tarball} is not the tarball recorded in BASE; the patches decide")
    target.mkdir()
    done = subprocess.run(["tar", "-xf", tarball, "-C", target, "--strip-components=1",
                           "--no-same-owner"],
                          capture_output=True, text=True, env=plain_env(), check=False)
    if done.returncode:
        first = (done.stderr.strip().splitlines() or ["unknown error"])[0]
        raise Failure(f"cannot unpack {tarball}: {first}")


def copy_tree(source, target):
    """Copy a source tree: what HEAD holds if it is a git tree, else all of it."""
    if not (source / ".git").exists():
        run("cp", "-a", source, target)
        return
    target.mkdir()
    with subprocess.Popen(["git", "-C", source, "archive", "HEAD"], stdout=subprocess.PIPE,
                          env=plain_env()) as archive:
        subprocess.run(["tar", "-x", "-C", target], stdin=archive.stdout, check=True)
    if archive.returncode:
        raise Failure(f"git archive of {source} failed")


def ensure():
    """Make build/base if it is not there or comes from another source.

    Returns the identity that was stamped on it.
    """
    source, identity = find_source()
    if STAMP.is_file() and BASE_TREE.is_dir():
        stamp = json.loads(STAMP.read_text())
        if {k: stamp.get(k) for k in identity} == identity:
            return stamp
    need("tar", "xz", "git")
    need_space(2 * TREE_MIB + 500, "the base tree and the branch with the stack")
    say(f"base: unpacking {source} into {shown(BASE_TREE)} (about a minute)")
    temp = BASE_TREE.with_name("base.tmp")
    shutil.rmtree(temp, ignore_errors=True)
    try:
        (unpack_tarball if source.is_file() else copy_tree)(source, temp)
        identity["version"] = demand_6_12(temp, str(source))
        STAMP.unlink(missing_ok=True)
        if BASE_TREE.exists():
            shutil.rmtree(BASE_TREE)
        temp.rename(BASE_TREE)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
    STAMP.write_text(json.dumps(identity) + "\n")
    return identity


def fast_import_stream(tree, out, name, email, when, message):
    """Write a git fast-import stream of one commit that holds all of tree."""
    person = f"{name} <{email}> {when} +0000"
    out.write(b"commit refs/numab/base\n")
    out.write(f"author {person}\ncommitter {person}\n".encode())
    out.write(b"data %d\n%s\n" % (len(message.encode()), message.encode()))
    out.write(b"deleteall\n")
    for top, dirs, files in os.walk(tree):
        dirs.sort()
        links = [d for d in dirs if os.path.islink(os.path.join(top, d))]
        for file in sorted(files + links):
            write_entry(out, os.path.join(top, file), tree)
    out.write(b"done\n")


def write_entry(out, path, tree):
    """One file or symbolic link of the fast-import stream."""
    name = os.path.relpath(path, tree)
    if os.path.islink(path):
        mode, data = b"120000", os.readlink(path).encode()
    else:
        mode = b"100755" if os.access(path, os.X_OK) and os.stat(path).st_mode & 0o100 \
            else b"100644"
        with io.open(path, "rb") as file:
            data = file.read()
    out.write(b"M %s inline %s\ndata %d\n" % (mode, name.encode(), len(data)))
    out.write(data)
    out.write(b"\n")
