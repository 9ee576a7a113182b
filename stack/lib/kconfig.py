# SPDX-License-Identifier: GPL-2.0
"""Configuration fragments: read, merge, and check that what was asked for came out.

A fragment is a list of CONFIG_ lines. Lines that start with "#:" are for the tools:

    #: include NAME...     fragments that come first; this one overrides them
    #: make VAR=VALUE...   variables for make
    #: objects N           about how many objects a full build makes, for the progress line
"""

import re
from dataclasses import dataclass, field

from common import STACK, Failure

CONFIGS = STACK / "configs"


@dataclass
class Fragment:
    """A fragment with all that it includes."""

    values: dict = field(default_factory=dict)  # symbol -> value, "n" for not set
    own: dict = field(default_factory=dict)     # only what the fragment itself says
    make: list = field(default_factory=list)
    objects: int = 0

    def text(self):
        """As input for KCONFIG_ALLCONFIG."""
        return "".join(f"# {k} is not set\n" if v == "n" else f"{k}={v}\n"
                       for k, v in self.values.items())


def path_of(name):
    """The file of a configuration or matrix entry."""
    for path in (CONFIGS / f"{name}.config", CONFIGS / "matrix" / f"{name}.config"):
        if path.is_file():
            return path
    raise Failure(f"no configuration '{name}'; there are: {', '.join(names() + names('matrix'))}")


def names(below="."):
    """Names of the configurations in stack/configs or a directory below it."""
    return sorted(p.stem for p in (CONFIGS / below).glob("*.config") if p.stem != "guest")


def parse(text):
    """The symbols of a configuration text."""
    values = {}
    for line in text.splitlines():
        is_set = re.match(r"(CONFIG_\w+)=(.*)$", line)
        is_off = re.match(r"# (CONFIG_\w+) is not set$", line)
        if is_set:
            values[is_set[1]] = is_set[2]
        elif is_off:
            values[is_off[1]] = "n"
    return values


def load(name):
    """Read a fragment and all that it includes."""
    text = path_of(name).read_text()
    whole = Fragment(own=parse(text))
    for word, rest in re.findall(r"^#: (\w+) (.*)$", text, re.M):
        if word == "include":
            for other in map(load, rest.split()):
                whole.values.update(other.values)
                whole.make += other.make
                whole.objects = whole.objects or other.objects
        elif word == "make":
            whole.make += rest.split()
        elif word == "objects":
            whole.objects = int(rest)
        else:
            raise Failure(f"stack/configs: {name}: unknown line '#: {word}'")
    whole.values.update(whole.own)
    return whole


def check(wanted, config_text, name):
    """Fail unless every wanted value is in the finished configuration."""
    have = parse(config_text)
    lost = [f"{k} is {have.get(k, 'n')}, not {v}" for k, v in wanted.items()
            if have.get(k, "n") != v]
    if lost:
        raise Failure(f"configuration {name}: {'; '.join(lost[:5])} "
                      "(an unmet dependency, or no such symbol)")
