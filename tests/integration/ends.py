# SPDX-License-Identifier: MIT
"""How a process ended, where the kernel may not tell: before Linux 6.15 that is gone once its parent has waited for it,
and the daemon knows it only if it looked first. What a test then cannot know, it is skipped for."""

import fcntl
import functools
import os
import struct
import subprocess

import pytest

PIDFD_GET_INFO, INFO_EXIT = 0xC040FF0B, 1 << 3


@functools.cache
def kernel_tells():
    """PIDFD_GET_INFO tells the exit status of a process that was waited for."""
    child = subprocess.Popen(["true"])
    try:
        fd = os.pidfd_open(child.pid)
    except OSError:
        return False
    finally:
        child.wait()
    info = bytearray(struct.pack("QQ48x", INFO_EXIT, 0))
    try:
        fcntl.ioctl(fd, PIDFD_GET_INFO, info)
    except OSError:
        return False
    finally:
        os.close(fd)
    return bool(struct.unpack_from("Q", info)[0] & INFO_EXIT)


class Process(dict):
    """An entry of `processes`: whoever asks it how it ended is skipped where nobody can know."""

    def __getitem__(self, key):
        return self.get(key) if key == "exit" else super().__getitem__(key)

    def get(self, key, default=None):
        value = super().get(key, default)
        if key == "exit" and not value and not kernel_tells():
            pytest.skip("the kernel does not tell how a process ended that was waited for (before 6.15)")
        return value
