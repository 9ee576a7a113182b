# SPDX-License-Identifier: GPL-2.0
"""Writer for initramfs archives ("newc" cpio): needs no root and gives the same bytes each time."""

import os
import stat


class Archive:
    """An archive in memory; parent directories are added by themselves."""

    def __init__(self):
        self.parts = []
        self.known = set()

    def entry(self, name, mode, data=b"", rdev=(0, 0)):
        """Add one entry of any kind."""
        if name in self.known:
            return
        self.known.add(name)
        encoded = name.encode() + b"\0"
        number = len(self.known)
        fields = (number, mode, 0, 0, 2 if stat.S_ISDIR(mode) else 1, 0, len(data), 0, 0,
                  rdev[0], rdev[1], len(encoded), 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + encoded
        self.parts += [pad(head), pad(data)]

    def directory(self, name):
        """Add a directory and those above it."""
        path = ""
        for part in name.split("/"):
            path = f"{path}/{part}" if path else part
            self.entry(path, stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o644):
        """Add a regular file."""
        if "/" in name:
            self.directory(os.path.dirname(name))
        self.entry(name, stat.S_IFREG | mode, data)

    def link(self, name, target):
        """Add a symbolic link."""
        if "/" in name:
            self.directory(os.path.dirname(name))
        self.entry(name, stat.S_IFLNK | 0o777, target.encode())

    def device(self, name, major, minor):
        """Add a character device."""
        self.directory(os.path.dirname(name))
        self.entry(name, stat.S_IFCHR | 0o600, rdev=(major, minor))

    def bytes(self):
        """The finished archive."""
        self.entry("TRAILER!!!", 0)
        data = b"".join(self.parts)
        return data + bytes(-len(data) % 512)


def pad(data):
    """Fill up to a multiple of four bytes."""
    return data + bytes(-len(data) % 4)
