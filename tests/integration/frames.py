# SPDX-License-Identifier: MIT
"""Trace files made by the test: frames of a real one, taken apart and put together again, by the Python of proto/trace-file.md."""

import functools
import re
import shutil
import struct
import subprocess
import tempfile
import zlib

import harness
import pytest

PAGE = harness.REPO / "proto/trace-file.md"
MESSAGES = {1: "Header", 2: "Tables", 3: "Block", 4: "Index", 5: "End", 6: "Block"}


@functools.cache
def page():
    """The page's Python as a namespace."""
    pytest.importorskip("google.protobuf", reason="the Python package protobuf is not installed")
    code = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert code, "the page holds no Python"
    space = {}
    exec(compile(code.group(1), str(PAGE), "exec"), space)
    return space


@functools.cache
def description():
    """trace.desc, by whichever protoc there is."""
    protoc = shutil.which("protoc") or shutil.which("protoc-c")
    harness.needs(protoc, "neither protoc nor protoc-c is installed")
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([protoc, f"--descriptor_set_out={file.name}", "proto/trace.proto"], cwd=harness.REPO, check=True)
        return file.read()


@functools.cache
def messages():
    return page()["messages"](description())


def message(kind):
    return messages()[MESSAGES[kind]]


def take_apart(data):
    """(kind, message, data) of each frame of an undamaged file."""
    return [(kind, message(kind).FromString(head), rest) for kind, head, rest in page()["frames"](data)]


def put(kind, content, data=b""):
    """One frame, both checksums right."""
    head = content.SerializeToString()
    begin = struct.pack("<4sHHIII", b"\x89FLW", kind, 0, len(head), len(data), zlib.crc32(data))
    return begin + struct.pack("<I", zlib.crc32(begin + head)) + head + data


def put_together(parts, extra=b""):
    """The file again, without its index; `extra` stands before its end."""
    return b"".join((extra if kind == 5 else b"") + put(kind, content, data) for kind, content, data in parts if kind != 4)
