# SPDX-License-Identifier: MIT
"""Who may include whom."""

import re

import pytest
import tree

# Folder -> folders whose headers it may include besides its own.
ALLOWED = {
    "proto": [],
    "daemon": ["proto"],
    "client/trace": ["proto"],
    "client/cli": ["proto", "client/trace"],
    "client/annotate": ["proto"],
    "client/functions": ["proto", "client/shim"],
    "client/slurm": [],
    "client/shim": ["proto"],
}

# The shim shares with the others what crosses to the daemon, what the variables mean, the words of the call table, and what
# the application's library asks of it.
SHIM_PROTO = {"proto/ring.h", "proto/control.h", "proto/glob.h", "proto/settings.h", "proto/calls.def", "proto/calls.h",
              "proto/annotate.h", "proto/birth.h"}


def includes(path):
    return re.findall(r'^\s*#\s*include\s*"([^"]+)"', tree.text(path), re.M)


def owner(path):
    return next((folder for folder in ALLOWED if str(path).startswith(folder + "/")), None)


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_layer_includes_only_what_lies_below_it(folder):
    wrong = []
    for path in tree.sources(".c", ".h", ".S", ".def", under=folder + "/"):
        for name in includes(path):
            target = owner(name) or owner(path.parent / name)
            if target is None or (target != folder and target not in ALLOWED[folder]):
                wrong.append(f"{path} includes {name}")
    assert not wrong, "\n".join(wrong)


def test_the_shim_sees_only_the_contracts_of_proto():
    wrong = [f"{path} includes {name}" for path in tree.sources(".c", ".h", ".S", ".def", under="client/shim/")
             for name in includes(path) if name.startswith("proto/") and name not in SHIM_PROTO]
    # What it includes must not bring in more.
    wrong += [f"{path} includes {name}" for path in SHIM_PROTO if (tree.REPO / path).exists()
              for name in includes(path) if name not in SHIM_PROTO]
    assert not wrong, "\n".join(wrong)


def test_proto_includes_nothing_but_libc_zlib_and_protobuf_c():
    forbidden = ("uv.h", "systemd/", "cmocka")
    wrong = [f"{path} includes <{name}>" for path in tree.sources(".c", ".h", under="proto/")
             for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", tree.text(path), re.M) if name.startswith(forbidden)]
    assert not wrong, "\n".join(wrong)


def test_only_the_plugin_knows_slurm():
    wrong = [f"{path} includes <{name}>" for path in tree.sources(".c", ".h") if not str(path).startswith("client/slurm/")
             for name in re.findall(r"^\s*#\s*include\s*<(slurm/[^>]+)>", tree.text(path), re.M)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("library", ["proto/", "client/trace/"])
def test_a_library_prints_nothing(library):
    pattern = re.compile(r"\b(printf|puts|putchar|perror|fputs|fprintf|vfprintf|err|warnx?|errx|syslog)\s*\(")
    wrong = [f"{path}:{number}: {line.strip()}" for path in tree.sources(".c", ".h", under=library)
             for number, line in enumerate(tree.text(path).splitlines(), 1)
             if pattern.search(re.sub(r"//.*|/\*.*|^\s*\*.*|\"[^\"]*\"", "", line))]
    assert not wrong, "\n".join(wrong)
