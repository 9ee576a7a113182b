# SPDX-License-Identifier: GPL-2.0
"""Checks of the repository that need no guest. Each returns a list of problems."""

import ast
import os
import re
import subprocess
import tempfile
from pathlib import Path

import base
import build
import export
import mail
import series
import tree
from common import (BUILD, LINUX, ROOT, STACK, Failure, lock, need, plain_env, sha256)

SPELLING = Path("/usr/lib/python3/dist-packages/codespell_lib/data/dictionary.txt")
SPDX_FREE = re.compile(r"\.patch$|^patches/cover\.txt$")


class Context:
    """What the checks share: the repository's stack as commits, not the working tree's."""

    def __init__(self):
        self.git = tree.Git(LINUX)
        self.steps, _ = series.load()
        self._base = self._tip = self._mails = None

    @property
    def base(self):
        """The base commit; made when a check asks for it."""
        self._base = self._base or tree.ensure_base(self.git)
        return self._base

    @property
    def tip(self):
        """The tip of the stack as the repository holds it."""
        self._tip = self._tip or tree.replay(self.git, self.steps, ROOT, self.base)
        return self._tip

    @property
    def mails(self):
        """The stack as mails."""
        self._mails = self._mails or mail.write_mails(self.git, self.tip)
        return self._mails

    def new_files(self, *suffixes):
        """New kernel files with one of the suffixes."""
        names = [n for step in self.steps for n in step.files]
        return [n for n in names if n.endswith(suffixes)]


def tool_lines(*cmd, cwd=None, stderr=subprocess.STDOUT):
    """Run a tool; its output lines if it fails, else none."""
    done = subprocess.run([str(c) for c in cmd], cwd=cwd, env=plain_env(), text=True,
                          stdout=subprocess.PIPE, stderr=stderr, errors="replace", check=False)
    return (done.stdout.splitlines() or [f"exit status {done.returncode}"]) \
        if done.returncode else []


def check_manifest(_context):
    """Each new file is claimed once, each patch edits only files of the base."""
    return series.check_manifest(ROOT)


def check_round_trip(context):
    """Apply, then export: the repository's files come out as they are."""
    with tempfile.TemporaryDirectory(dir=BUILD) as temp:
        result, steps = export.export_to(context.git, context.tip, ROOT, temp)
        if context.git.tree(context.base) == base.recorded().get("tree"):
            differing = [place for place, data, mode in result.values()
                         if differs(ROOT / place, data, mode)]
            return [f"{place} comes out different; 'make export' rewrites it"
                    for place in differing]
        again = tree.replay(context.git, steps, Path(temp), context.base)
        return [] if context.git.tree(again) == context.git.tree(context.tip) \
            else ["another base: the exported stack gives another tree"]


def differs(path, data, mode):
    """Whether a file of the repository is not what an export would write."""
    if not path.is_file() or sha256(path.read_bytes()) != sha256(data):
        return True
    return os.access(path, os.X_OK) != bool(mode & 0o100)


def check_mail(context):
    """git am of the mailed series on a clean base gives the same tree."""
    if mail.am_tree(context.git, context.mails) == context.git.tree(context.tip):
        return []
    return ["git am of build/mail gives another tree than the stack"]


def allowed_types():
    """stack/checkpatch.allow as (type, path prefix) pairs."""
    lines = (STACK / "checkpatch.allow").read_text().splitlines()
    return [tuple(line.split()[:2]) for line in lines if line.strip() and line[0] != "#"]


def is_allowed(line, allowed):
    """Whether a line of checkpatch's report is on the allow list."""
    match = re.match(r"(\S*?):\d*:? ?(?:ERROR|WARNING|CHECK):(\w+):", line)
    return bool(match) and any(match[2] == kind and (prefix == "*" or match[1].startswith(prefix))
                               for kind, prefix in allowed)


def check_checkpatch(context):
    """checkpatch.pl --strict has nothing to say on any mail."""
    need("perl")
    command = ["perl", base.BASE_TREE / "scripts/checkpatch.pl", "--strict", "--terse",
               "--show-types", "--showfile", "--no-summary", "--root", base.BASE_TREE]
    if SPELLING.is_file():
        command += ["--codespell", "--codespellfile", SPELLING]
    problems, allowed = [], allowed_types()
    for path in context.mails[1:]:
        lines = tool_lines(*command, path, stderr=subprocess.DEVNULL)
        problems += [path.name + line if line.startswith(":") else line
                     for line in lines if not is_allowed(line, allowed)]
    return problems


def check_kernel_doc(context):
    """kernel-doc finds every comment complete."""
    names = [n for n in context.new_files(".c", ".h") if not n.startswith("tools/")]
    if not names:
        return []
    done = subprocess.run(["perl", str(base.BASE_TREE / "scripts/kernel-doc"), "-none", "-Wall",
                           *names], cwd=ROOT, capture_output=True, text=True, env=plain_env(),
                          check=False)
    lines = (done.stdout + done.stderr).splitlines()
    return [line for line in lines if "no structured comments found" not in line]


def check_spdx(_context):
    """Every file names its licence in the first lines."""
    problems = []
    for name in series.repository_files(ROOT):
        head = (ROOT / name).read_bytes()[:400]
        if not SPDX_FREE.search(name) and b"SPDX-License-Identifier: " not in head:
            problems.append(f"{name} has no SPDX-License-Identifier line")
    return problems


def scripts_with(words):
    """Files of the repository whose first line is a #! with one of the words."""
    found = []
    for name in series.repository_files(ROOT):
        with open(ROOT / name, "rb") as file:
            first = file.readline(100)
        if first.startswith(b"#!") and any(w in first.split(b"/")[-1] for w in words):
            found.append(name)
    return found


def check_python(_context):
    """Python files compile."""
    names = set(scripts_with([b"python"]))
    names |= {n for n in series.repository_files(ROOT) if n.endswith(".py")}
    problems = []
    for name in sorted(names):
        try:
            ast.parse((ROOT / name).read_text(), name)
        except (SyntaxError, ValueError) as error:
            problems.append(f"{name}: {error}")
    return problems


def check_shell(_context):
    """shellcheck has nothing to say on any shell script."""
    need("shellcheck")
    names = scripts_with([b"sh", b"bash", b"dash"])
    return tool_lines("shellcheck", "-x", "--source-path=SCRIPTDIR", *names, cwd=ROOT) \
        if names else []


def check_sparse(context):
    """sparse reports nothing in our files."""
    need("sparse")
    kernel = build.Kernel("numab")
    targets = [n[:-2] + ".o" for n in context.new_files(".c")
               if not n.startswith(("tools/", "Documentation/", "samples/"))]
    if not targets:
        return []
    kernel.configure()
    # pte_offset_map_lock() and pmd_trans_huge_lock() lock or not; sparse cannot follow that and
    # reports every user of them in mm/, those of the base too.
    lines = kernel.make("C=2", "CF=-D__CHECK_ENDIAN__ -Wno-context", "prepare", *targets,
                        quiet=True)
    return build.warnings_in(lines, LINUX, mail.touches(context.git, context.tip))


def check_userspace(context):
    """The policy's tests in userspace pass."""
    directory = ROOT / "tools/testing/numab"
    if not (directory / "Makefile").is_file():
        return []
    assert context.base, "they include headers of the base"
    out = BUILD / "userspace"
    out.mkdir(parents=True, exist_ok=True)
    return tool_lines("make", "-C", directory, f"KERNEL={base.BASE_TREE}", f"OUTPUT={out}",
                      "run")[-20:]


def check_tools(_context):
    """The stack's own tests pass: manifest, round trip, verdicts on bad logs."""
    return tool_lines("python3", "-B", "-m", "unittest", "discover", "-s", STACK / "tests",
                      "-t", STACK / "tests", cwd=ROOT)


CHECKS = {
    "manifest": check_manifest,
    "tools": check_tools,
    "round-trip": check_round_trip,
    "mail": check_mail,
    "checkpatch": check_checkpatch,
    "kernel-doc": check_kernel_doc,
    "spdx": check_spdx,
    "python": check_python,
    "shellcheck": check_shell,
    "sparse": check_sparse,
    "userspace": check_userspace,
}


def run_checks(names, results):
    """Run the named checks and count them in results."""
    with lock("linux"):
        context = None
        for name in names:
            try:
                if context is None:
                    context = Context()
                problems = CHECKS[name](context)
            except Failure as error:
                problems = str(error).splitlines()
            if problems:
                results.fail(f"check: {name}", "\n".join(problems))
            else:
                results.ok(f"check: {name}")
