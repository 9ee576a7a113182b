# SPDX-License-Identifier: GPL-2.0
"""patches/series: the order of the commits and the new files each one brings.

Syntax, also described at the top of the file itself:

    # comment                     kept by stack/export, belongs to the step below it
    0010-slug.patch               one step = one commit; a mail in patches/
            mm/new_file.c         an indented line names new files of that step
            include/new.h
    0020-other.patch mm/x.c       new files may also follow on the same line

MAINTAINERS.patch lies at the top of the repository, all other patches in patches/.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from common import OWN_DIRS, OWN_FILES, ROOT, Failure, plain_env

AT_TOP = {"MAINTAINERS.patch"}


@dataclass
class Step:
    """One line of the series: a patch and the new files that its commit adds."""

    patch: str
    files: list = field(default_factory=list)
    before: list = field(default_factory=list)  # comment and blank lines above it
    text: list = field(default_factory=list)    # its own lines, as written
    line: int = 0

    def path(self, root):
        """Where the patch lies in the repository at root."""
        return root / self.patch if self.patch in AT_TOP else root / "patches" / self.patch

    def lines(self):
        """The step as lines of the series file, as it was written if still true."""
        parsed, _ = parse("\n".join(self.text))
        same = len(parsed) == 1 and parsed[0].patch == self.patch \
            and parsed[0].files == self.files
        return self.text if same else [self.patch] + [f"\t{name}" for name in self.files]


def parse(text, name="patches/series"):
    """Steps of a series text, and the comment lines after the last one."""
    steps, pending = [], []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            pending.append(line)
        elif line[0].isspace():
            if not steps:
                raise Failure(f"{name}:{number}: new files before the first patch")
            steps[-1].files += words
            steps[-1].text += pending + [line]
            pending = []
        else:
            if not words[0].endswith(".patch"):
                raise Failure(f"{name}:{number}: '{words[0]}' is no patch; indent the names "
                              "of new files")
            steps.append(Step(words[0], words[1:], pending, [line], number))
            pending = []
    return steps, pending


def unparse(steps, tail):
    """The series text: the inverse of parse()."""
    lines = []
    for step in steps:
        lines += step.before + step.lines()
    return "\n".join(lines + tail) + "\n"


def load(root=ROOT):
    """Read the series of the repository at root."""
    path = root / "patches/series"
    if not path.is_file():
        raise Failure("patches/series is missing")
    return parse(path.read_text())


def is_kernel_path(name):
    """Whether a file of the repository is a kernel file by its place."""
    return name not in OWN_FILES and name.split("/")[0] not in OWN_DIRS


def repository_files(root):
    """All files of the repository that git does not ignore."""
    if (root / ".git").exists():
        done = subprocess.run(["git", "-C", root, "ls-files", "-zco", "--exclude-standard"],
                              capture_output=True, env=plain_env(), check=False)
        if done.returncode == 0:
            names = set(os.fsdecode(done.stdout).split("\0")) - {""}
            return sorted(n for n in names if (root / n).exists())
    found = []
    for top, dirs, files in os.walk(root):
        dirs[:] = [d for d in dirs if os.path.relpath(os.path.join(top, d), root)
                   not in ("build", ".git") and d != "__pycache__"]
        found += [os.path.relpath(os.path.join(top, f), root) for f in files]
    return sorted(found)


def check_claims(root, steps):
    """Every new kernel file is claimed by one step, every claim has its file."""
    problems, claims = [], {}
    for step in steps:
        for name in step.files:
            claims.setdefault(name, []).append(step.patch)
            if not (root / name).is_file() or (root / name).is_symlink():
                problems.append(f"{step.patch}: names {name}, which is not a file here")
            elif not is_kernel_path(name) or Path(name).is_absolute() or ".." in name:
                problems.append(f"{step.patch}: {name} is not a kernel path")
    for name, owners in claims.items():
        if len(owners) > 1:
            problems.append(f"{name} is claimed {len(owners)} times: {', '.join(owners)}")
    for name in repository_files(root):
        if is_kernel_path(name) and name not in claims:
            problems.append(f"{name} is a new kernel file that no step of the series claims")
    return problems


def check_patches(root, steps):
    """Every patch is in the series once, and none adds a file."""
    problems, seen = [], set()
    for step in steps:
        if step.patch in seen:
            problems.append(f"{step.patch} stands twice in the series")
        seen.add(step.patch)
        path = step.path(root)
        if not path.is_file():
            problems.append(f"{step.patch} is missing")
            continue
        text = path.read_text(errors="surrogateescape")
        problems += [f"{step.patch}: adds {name}; put the file at its kernel path and name it "
                     "in the series" for name in added_files(text)]
        problems += [f"{step.patch}: no {key}: line" for key in ("From", "Date", "Subject")
                     if not re.search(rf"^{key}: ", text, re.M)]
    on_disk = {p.name for p in (root / "patches").glob("*.patch")}
    on_disk |= {name for name in AT_TOP if (root / name).exists()}
    problems += [f"{name} is not in the series" for name in sorted(on_disk - seen)]
    return problems


def added_files(text):
    """Names of the files that a patch would create."""
    names = []
    for match in re.finditer(r"^diff --git a/(\S+) b/\S+\n(?:(?!diff --git|@@).*\n)*?"
                             r"new file mode", text, re.M):
        names.append(match.group(1))
    names += re.findall(r"^--- /dev/null\n\+\+\+ b/(\S+)", text, re.M)
    return sorted(set(names))


def check_manifest(root=ROOT):
    """All problems of the manifest, one line each."""
    steps, _ = load(root)
    return check_patches(root, steps) + check_claims(root, steps)
