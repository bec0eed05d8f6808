# SPDX-License-Identifier: MIT
"""Cgroups that a test makes as a workload manager would."""

import contextlib
import itertools
import os
import pathlib

import harness

ROOTS = (pathlib.Path("/sys/fs/cgroup"), pathlib.Path("/sys/fs/cgroup/unified"))


def unified_root():
    """Where the unified hierarchy is and a cgroup can be made; skips where that is nowhere."""
    harness.needs(os.geteuid() == 0, "making cgroups needs root")
    root = next((r for r in ROOTS if (r / "cgroup.procs").exists() and os.access(r, os.W_OK)), None)
    harness.needs(root, "there is no cgroup v2 here that may be written")
    return root


class Group:
    """A chain of cgroups from the root on; `enter` is a preexec_fn."""

    def __init__(self, tap, path):
        self.folder, made = unified_root(), []
        for name in path.split("/"):
            self.folder = self.folder / name
            if not self.folder.exists():
                try:
                    self.folder.mkdir()
                except OSError as error:
                    harness.needs(False, f"{self.folder} cannot be made: {error.strerror}")
                made.append(self.folder)
        tap.cleanup.append(lambda: self.remove(made))

    def enter(self):
        (self.folder / "cgroup.procs").write_text("0")

    @staticmethod
    def remove(made):
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()


MEMORY_V1 = pathlib.Path("/sys/fs/cgroup/memory")
MEMORY_FILES = {1: ("memory.limit_in_bytes", "memory.usage_in_bytes"), 2: ("memory.max", "memory.current")}
numbers = itertools.count()


def memory_root(version):
    """Where groups can be made that limit memory, in that version's hierarchy; skips where that is nowhere."""
    harness.needs(os.geteuid() == 0, "making cgroups needs root")
    if version == 1:
        harness.needs((MEMORY_V1 / "memory.limit_in_bytes").exists() and os.access(MEMORY_V1, os.W_OK),
                      "there is no memory controller of cgroup v1 here that may be written")
        return MEMORY_V1
    root = next((r for r in ROOTS if (r / "cgroup.controllers").exists() and os.access(r, os.W_OK)), None)
    harness.needs(root and "memory" in (root / "cgroup.controllers").read_text().split(),
                  "there is no memory controller of cgroup v2 here that may be written")
    with contextlib.suppress(OSError):
        (root / "cgroup.subtree_control").write_text("+memory")
    return root


class MemoryGroup:
    """A group with a limit of memory; `starts(argv)` is a command that enters it and then becomes argv."""

    def __init__(self, version, limit_bytes):
        self.folder = memory_root(version) / f"flowtap-test-{os.getpid()}-{next(numbers)}"
        try:
            self.folder.mkdir()
        except OSError as error:
            harness.needs(False, f"{self.folder} cannot be made: {error.strerror}")
        self.limit_file, self.usage_file = (self.folder / name for name in MEMORY_FILES[version])
        if not self.limit_file.exists():
            self.close()
            harness.needs(False, "groups of cgroup v2 limit no memory here")
        with contextlib.suppress(OSError):
            (self.folder / "memory.swap.max").write_text("0")
        self.limit(limit_bytes)

    def limit(self, limit_bytes):
        self.limit_file.write_text(str(limit_bytes))

    def usage(self):
        return int(self.usage_file.read_text())

    def starts(self, argv):
        """By a small shell, which needs less in there than any program that it becomes."""
        return ["/bin/sh", "-c", 'echo 0 >"$0"; exec "$@"', self.folder / "cgroup.procs", *argv]

    def close(self):
        """Its processes are gone, as far as we are concerned; the kernel may still be at it."""
        def is_gone():
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            return not self.folder.exists()
        harness.wait_until(f"{self.folder} to be empty", is_gone)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
