# SPDX-License-Identifier: MIT
"""What libflowtap-preload.so is allowed to be, since it is loaded into programs that did not ask for it."""

import re

import tree

# The oldest glibc that the library may ask for.
GLIBC_FLOOR = (2, 34)
STATIC_TLS_BYTES = 128

# Exported besides the interposed calls: what libflowtap.so looks for, and what AddressSanitizer's runtime asks for options.
OWN_EXPORTS = {"flowtap_shim_version", "__asan_default_options"}


def dynamic():
    return tree.run("readelf", "-dW", tree.PRELOAD)


def segments():
    return tree.run("readelf", "-lW", tree.PRELOAD)


def test_it_needs_libc_alone():
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic()) == ["libc.so.6"]


def test_it_is_not_initialised_before_the_others_and_has_no_search_path():
    tags = dynamic()
    assert "INITFIRST" not in tags
    assert not re.search(r"\((RPATH|RUNPATH|TEXTREL)\)", tags)


def test_its_stack_is_not_executable():
    stack = next(line for line in segments().splitlines() if "GNU_STACK" in line)
    assert re.search(r"\bRW\s+0x", stack), stack


def test_its_static_tls_is_small():
    tls = [line.split() for line in segments().splitlines() if line.split()[:1] == ["TLS"]]
    size = sum(int(fields[5], 16) for fields in tls)
    assert size <= STATIC_TLS_BYTES, f"{size} bytes"


def test_it_asks_for_no_private_and_no_new_glibc():
    wanted = set(re.findall(r"\bGLIBC_(\w[\w.]*)", tree.run("objdump", "-T", tree.PRELOAD)))
    assert "PRIVATE" not in wanted
    newest = max(tuple(map(int, version.split("."))) for version in wanted)
    assert newest <= GLIBC_FLOOR, f"GLIBC_{'.'.join(map(str, newest))}"


def defined(library):
    listed = tree.run("nm", "-D", "--defined-only", library)
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


def test_it_exports_the_call_table_and_nothing_else():
    exported, table = defined(tree.PRELOAD), {name for _, name, _ in tree.call_table()}
    # A call that this machine's libc does not know (pidfd_spawn before 2.39) is not interposed here.
    absent = table - defined(tree.run("gcc", "-print-file-name=libc.so.6").strip())
    assert exported - table - OWN_EXPORTS == set(), "exported, but not in proto/calls.def"
    assert table - exported - absent == set(), "in proto/calls.def, but not exported"
