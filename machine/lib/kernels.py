# SPDX-License-Identifier: GPL-2.0
"""Kernels for benchmarks: the two of this tree, and those of any commit of this repository."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import base
import build
import kconfig
import tree
from common import BUILD, LINUX, ROOT, Failure, lock, need, plain_env, run, say, shown
from measure import kernel_id

KERNELS = ("base", "numab")


def image_of(name):
    """Where stack/build puts a kernel."""
    return build.Kernel(name).image


def ensure(names, builds=True):
    """Images of the kernels by name, made from what the repository holds now."""
    if builds:
        for command in (["stack/packages"], ["stack/sync"], ["stack/build", *names]):
            done = subprocess.run([ROOT / command[0], *command[1:]], check=False)
            if done.returncode:
                raise Failure(f"{' '.join(command)} failed")
    images = {name: image_of(name) for name in names}
    for name, image in images.items():
        if not image.is_file():
            raise Failure(f"{shown(image)} is missing: 'stack/build {name}' builds it")
    return images


def balancer_of(image):
    """Which balancer an image has, by its version: stack/build names our own."""
    return "numab" if "-numab" in kernel_id(image) else "base"


def resolve(name):
    """The image that a name means: a bzImage, or a commit of this repository."""
    if Path(name).is_file():
        return Path(name).absolute()
    found = run("git", "-C", ROOT, "rev-parse", "-q", "--verify", f"{name}^{{commit}}",
                check=False)
    if found.returncode:
        raise Failure(f"'{name}' is neither a kernel image nor a commit of this repository")
    return of_commit(found.stdout.strip())


def of_commit(commit):
    """Build our kernel as a commit has it, below build/compare-HASH; needs nothing if built.

    The tools and the configuration are those of now, so the kernels differ in their source only.
    Image and System.map stay, the tree of two gigabytes does not.
    """
    need("git", "tar")
    home = BUILD / f"compare-{commit[:12]}"
    image = home / "arch/x86/boot/bzImage"
    if image.is_file():
        return image
    kernel = build.Kernel("numab", home / "linux", home / "out",
                          make_args=["KBUILD_BUILD_VERSION=1"])
    with lock(home.name):
        extract(commit, home / "stack")
        say(f"compare: applying the stack of {commit[:12]} in {shown(kernel.source)}")
        git = tree.Git(kernel.source)
        share_base(git)
        tree.apply_stack(git=git, root=home / "stack")
        kernel.configure("nothing")
        kconfig.check({"CONFIG_NUMAB": "y"}, (kernel.out / ".config").read_text(), commit[:12])
        kernel.make("bzImage")
        image.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(kernel.out / "System.map", home)
        os.replace(kernel.image, image)
        for path in (kernel.source, kernel.out, home / "stack"):
            shutil.rmtree(path)
    return image


def extract(commit, target):
    """Unpack a commit of this repository."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with subprocess.Popen(["git", "-C", ROOT, "archive", commit], stdout=subprocess.PIPE,
                          env=plain_env()) as archive:
        subprocess.run(["tar", "-x", "-C", target], stdin=archive.stdout, check=True)
    if archive.returncode:
        raise Failure(f"git archive of {commit[:12]} failed")


def share_base(git):
    """Take the base commit from build/linux, which has it, instead of importing it anew."""
    identity = base.ensure()
    main = tree.Git(LINUX)
    if git.exists() or not main.exists() or main.read_state("base") != identity:
        return
    git.path.mkdir(parents=True, exist_ok=True)
    git("init", "-q", "-b", tree.BRANCH)
    git("config", "gc.auto", "0")
    (git.path / ".git/objects/info/alternates").write_text(
        os.path.relpath(LINUX / ".git/objects", git.path / ".git/objects") + "\n",
        encoding="ascii")
    git("update-ref", tree.BASE_REF, main.ref(tree.BASE_REF))
    git.write_state("base", identity)


def source_state():
    """What was measured: commit of this repository, and whether tracked files differ from it."""
    commit = run("git", "-C", ROOT, "rev-parse", "HEAD").strip()
    changed = run("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no")
    names = [re.sub(r"^.. ", "", line) for line in changed.splitlines()]
    return commit, [name for name in names if name != "machine/RESULTS.md"]


def read_json(path, default):
    """A JSON file's content; the default if there is none or it is broken."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return default
