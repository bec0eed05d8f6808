# SPDX-License-Identifier: MIT
"""Builds the wheel (PEP 517, PEP 660 left out) with nothing but Python and, where there is one, a C compiler."""

import base64
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("__init__.py", "torch.py", "_pure.py", "_native.pyi", "py.typed")


def project(key):
    text = (HERE / "pyproject.toml").read_text()
    return re.search(rf'^{key} = "(.*)"$', text, re.M)[1]


def compile_extension(folder):
    """The extension's path, or None where it cannot be built here; without it ctypes does the same, more slowly."""
    contracts = HERE.parents[1]
    output = pathlib.Path(folder) / ("_native" + sysconfig.get_config_var("EXT_SUFFIX"))
    if os.environ.get("FLOWTAP_PURE") or not (contracts / "proto/annotate.h").exists():
        return None
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[:1]
    command = [*compiler, "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{contracts}",
               f"-I{sysconfig.get_paths()['include']}", "-o", str(output),
               *map(str, sorted(HERE.glob("flowtap/_native*.c"))), "-ldl"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    except OSError as error:
        print(f"flowtap: without the extension: {error}", file=sys.stderr)
        return None
    if done.returncode != 0:
        print(f"flowtap: without the extension: {done.stdout}", file=sys.stderr)
        return None
    return output


def tag_of(extension):
    if extension is None:
        return "py3-none-any"
    version = "cp%d%d" % sys.version_info[:2]
    return f"{version}-{version}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def metadata():
    return (f"Metadata-Version: 2.1\nName: {project('name')}\nVersion: {project('version')}\n"
            f"Summary: {project('description')}\nRequires-Python: {project('requires-python')}\nLicense: MIT\n")


def line_of_record(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    base = f"{project('name')}-{project('version')}"
    with tempfile.TemporaryDirectory() as folder:
        extension = compile_extension(folder)
        content = {f"flowtap/{name}": (HERE / "flowtap" / name).read_bytes() for name in FILES}
        if extension is not None:
            content[f"flowtap/{extension.name}"] = extension.read_bytes()
    tag = tag_of(extension)
    content[f"{base}.dist-info/METADATA"] = metadata().encode()
    content[f"{base}.dist-info/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: flowtap\nRoot-Is-Purelib: "
                                          f"{'true' if extension is None else 'false'}\nTag: {tag}\n").encode()
    record = "".join(line_of_record(name, data) for name, data in content.items())
    content[f"{base}.dist-info/RECORD"] = (record + f"{base}.dist-info/RECORD,,\n").encode()
    name = f"{base}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in content.items():
            wheel.writestr(path, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("flowtap is built from its source tree")
