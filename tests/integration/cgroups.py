# SPDX-License-Identifier: MIT
"""Cgroups that a test makes as a workload manager would."""

import contextlib
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
