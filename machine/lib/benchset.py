# SPDX-License-Identifier: GPL-2.0
"""Which runs a benchmark consists of: the definitions in machine/benchmarks."""

import configparser
import re
import shlex
from dataclasses import dataclass, field

import qemu
from common import BUILD, ROOT, Failure, shown

FILE = ROOT / "machine/benchmarks"
PROGRAMS = BUILD / "machine/workloads"
COMMON_OPTIONS = "--seconds {seconds} --seed {seed} --pin {pin}"
THP = ("always", "never")


@dataclass(frozen=True)
class Mode:
    """How a mode runs: which kernel, measure.MODES' name, which pinning of the program."""

    kernel: str
    measured: str
    pin: str


# Off and pinned are properties of the machine and the program, so they are taken with the base's
# balancer compiled in. numab-off shows what our kernel costs when it is switched off.
MODES = {"off": Mode("base", "off", "none"), "base": Mode("base", "base", "none"),
         "numab": Mode("numab", "numab", "none"), "numab-off": Mode("numab", "off", "none"),
         "pinned": Mode("base", "pinned", "hard"), "inverse": Mode("base", "inverse", "inverse")}


@dataclass
class Workload:
    """A program and its arguments; what stands in braces depends on the run."""

    name: str
    text: str
    rows: list
    command: str
    pins: list = field(default_factory=list)
    topologies: list = field(default_factory=list)  # empty: any
    files: list = field(default_factory=list)
    setup: str = ""
    setup_on: str = ""      # in modes with balancing on
    append: str = ""


@dataclass(frozen=True)
class Case:
    """One run."""

    workload: str
    topology: str
    thp: str
    mode: str
    seed: int
    seconds: int

    def group(self):
        """What is compared with each other."""
        return self.workload, self.topology, self.thp

    def __str__(self):
        return f"{self.workload} {self.topology} thp={self.thp} {self.mode} seed {self.seed}"


@dataclass
class Definitions:
    """All of machine/benchmarks."""

    workloads: dict
    sets: dict

    def cases(self, name):
        """The runs of a set."""
        if name not in self.sets:
            raise Failure(f"no set '{name}'; there are: {', '.join(self.sets)}")
        return self.expand(self.sets[name], f"set {name}")

    def expand(self, rows, where="--runs"):
        """The runs of some rows; a run that two rows name is an error."""
        found, seconds = {}, {}
        for row in rows:
            for case in self.row(row, where):
                if seconds.setdefault(case.group(), case.seconds) != case.seconds:
                    raise Failure(f"{where}: {case} takes {case.seconds} s, others that it is "
                                  f"compared with {seconds[case.group()]} s")
                key = (*case.group(), case.mode, case.seed)
                if key in found:
                    raise Failure(f"{where}: {case} is in two rows")
                found[key] = case
        return sort_by_group(list(found.values()))

    def select(self, words, where):
        """Workloads by name or by the row of the feature table that they stand for."""
        chosen = []
        for word in words:
            hits = [w for w in self.workloads.values() if word in (w.name, *w.rows)]
            if not hits:
                raise Failure(f"{where}: no workload is or stands for '{word}'; there are: "
                              f"{', '.join(self.workloads)}")
            chosen += [w for w in hits if w not in chosen]
        return chosen

    def row(self, text, where):
        """The runs of one row: workloads, then options."""
        words = text.split()
        options = {"topology": "mesh4", "thp": "always,never", "seeds": "1", "seconds": "20",
                   "mode": ",".join(MODES), **dict(w.split("=", 1) for w in words if "=" in w)}
        check_options(options, where)
        lists = {name: options[name].split(",") for name in ("topology", "thp", "mode")}
        for workload in self.select([w for w in words if "=" not in w], where):
            for topology in lists["topology"]:
                if workload.topologies and topology not in workload.topologies:
                    raise Failure(f"{where}: {workload.name} is not for topology {topology}")
                for thp in lists["thp"]:
                    for mode in lists["mode"]:
                        if MODES[mode].pin not in ("none", *workload.pins):
                            continue
                        for seed in range(1, int(options["seeds"]) + 1):
                            yield Case(workload.name, topology, thp, mode, seed,
                                       int(options["seconds"]))


def check_options(options, where):
    """Fail on what a row cannot mean."""
    known = {"topology", "thp", "mode", "seeds", "seconds"}
    for name in options.keys() - known:
        raise Failure(f"{where}: no option '{name}'; there are: {', '.join(sorted(known))}")
    for name, values in (("thp", THP), ("mode", MODES)):
        for value in options[name].split(","):
            if value not in values:
                raise Failure(f"{where}: {name}={value} is none of {', '.join(values)}")
    for name in ("seeds", "seconds"):
        if not re.fullmatch(r"[1-9]\d*", options[name]):
            raise Failure(f"{where}: {name}={options[name]} is no positive number")
    for name in options["topology"].split(","):
        qemu.topology(name)


def sort_by_group(cases):
    """Keep the order of groups and modes, but bring together what belongs to a group."""
    groups = list(dict.fromkeys(case.group() for case in cases))
    modes = list(dict.fromkeys(case.mode for case in cases))
    return sorted(cases, key=lambda c: (groups.index(c.group()), c.seed, modes.index(c.mode)))


def workload_of(name, section):
    """A workload from its section."""
    known = {"text", "rows", "command", "pins", "topologies", "files", "setup", "setup-on",
             "append"}
    unknown = set(section) - known
    if unknown or not section.get("command"):
        raise Failure(f"{shown(FILE)}: workload {name}: " + (
            f"no key '{sorted(unknown)[0]}'" if unknown else "no command"))
    return Workload(name, section.get("text", ""), section.get("rows", "").split(),
                    section["command"], section.get("pins", "").split(),
                    section.get("topologies", "").split(), section.get("files", "").split(),
                    section.get("setup", ""), section.get("setup-on", ""),
                    section.get("append", ""))


def load(path=FILE):
    """Read the definitions."""
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",),
                                       comment_prefixes=("#",), inline_comment_prefixes=None)
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
    except (OSError, configparser.Error) as error:
        raise Failure(f"{shown(path)}: {str(error).splitlines()[0]}") from None
    found = Definitions({}, {})
    for title in parser.sections():
        kind, _, name = title.partition(" ")
        if kind == "workload" and name:
            found.workloads[name] = workload_of(name, parser[title])
        elif kind == "set" and name:
            found.sets[name] = [row for row in parser[title].get("runs", "").splitlines() if row]
        else:
            raise Failure(f"{shown(path)}: [{title}] is neither [workload NAME] nor [set NAME]")
    return found


def machine_of(topology):
    """The machine of a topology."""
    return qemu.set_options(qemu.Machine(), qemu.topology(topology))


def facts_of(case, pin):
    """What a command may have in braces."""
    machine = machine_of(case.topology)
    nodes = len(machine.cpu_nodes())
    return {"cpus": machine.cpus, "nodes": nodes, "node_cpus": machine.cpus // nodes,
            "seconds": case.seconds, "seed": case.seed, "pin": pin}


def substitute(text, facts):
    """Replace {name}, {name*3/2}, {name+1}: whole numbers, from left to right."""
    def value(match):
        name, steps = re.fullmatch(r"(\w+)((?:[-+*/]\d+)*)", match[1]).groups()
        if name not in facts:
            raise Failure(f"{{{match[1]}}} in '{text}': there are {', '.join(facts)}")
        number = facts[name]
        for operator, operand in re.findall(r"([-+*/])(\d+)", steps):
            number = {"+": number + int(operand), "-": number - int(operand),
                      "*": number * int(operand),
                      "/": number // max(1, int(operand))}[operator]
        return str(number)

    return re.sub(r"\{(\w+(?:[-+*/]\d+)*)\}", value, text)


def command_of(workload, case, pin):
    """The words of the command for a run, with the program's path."""
    facts, text = facts_of(case, pin), workload.command
    if "/" in shlex.split(text)[0]:
        words = shlex.split(substitute(text, facts))
        return [str(ROOT / words[0]), *words[1:]]
    words = shlex.split(substitute(f"{text} {COMMON_OPTIONS}", facts))
    return [str(PROGRAMS / words[0]), *words[1:]]


def setup_of(workload, case, pin, on):
    """Shell commands that come first; on: with balancing on."""
    facts = facts_of(case, pin)
    parts = [workload.setup, workload.setup_on if on else ""]
    return "; ".join(substitute(part, facts) for part in parts if part)
