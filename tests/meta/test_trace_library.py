# SPDX-License-Identifier: MIT
"""What libflowtap-trace is for those who link it: the functions of its header, and nothing that a library must not do."""

import re

import pytest
import tree

LIBRARY = tree.BUILD / "lib/libflowtap-trace.so"
ARCHIVE = tree.BUILD / "lib/libflowtap-trace.a"
HEADER = "client/trace/flowtap-trace.h"

# Whatever else it needs would have to be there wherever it is used. Sanitized builds need their runtime.
NEEDED = {"libc.so.6", "libm.so.6", "libz.so.1", "libprotobuf-c.so.1"}
RUNTIMES = r"lib[ault]+san\.so|libgcc_s\.so|libclang_rt"

# A library that is asked does not print, end the program or look at its environment.
FORBIDDEN = {"printf", "__printf_chk", "fprintf", "__fprintf_chk", "vfprintf", "__vfprintf_chk", "puts", "putchar", "putc", "fputs",
             "fputc", "perror", "syslog", "exit", "_exit", "abort", "signal", "sigaction", "getenv", "secure_getenv", "stdout", "stderr",
             "setlocale"}


def declared():
    without_comments = re.sub(r"/\*.*?\*/", "", tree.text(HEADER), flags=re.S)
    return set(re.findall(r"\b(flowtap_trace_\w+)\(", without_comments))


def symbols(*options):
    return [line.split() for line in tree.run("nm", *options).splitlines() if line]


def test_it_exports_the_functions_of_its_header_and_nothing_else():
    exported = {fields[-1].split("@")[0] for fields in symbols("-D", "--defined-only", LIBRARY) if fields[-2] != "A"}
    assert exported == declared() and len(exported) > 30


def test_the_archive_shows_the_same():
    shown = {fields[-1] for fields in symbols("-g", "--defined-only", ARCHIVE) if len(fields) == 3}
    assert shown == declared()


def test_its_name_has_the_version_of_its_interface():
    dynamic = tree.run("readelf", "-dW", LIBRARY)
    assert re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) == ["libflowtap-trace.so.0"]
    assert (tree.BUILD / "lib/libflowtap-trace.so.0").resolve() == LIBRARY
    needed = [n for n in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if not re.match(RUNTIMES, n)]
    assert "libz.so.1" in needed and set(needed) <= NEEDED, needed
    assert not re.search(r"\((RPATH|RUNPATH|TEXTREL)\)", dynamic)


def test_it_asks_libc_for_nothing_that_prints_or_ends_the_program():
    wanted = {fields[-1].split("@")[0] for fields in symbols("-D", "--undefined-only", LIBRARY)}
    assert "malloc" in wanted and not wanted & FORBIDDEN


@pytest.mark.parametrize("page", ["client/trace/flowtap-trace.3"])
def test_the_page_names_every_function(page):
    told = tree.text(page).replace("\\-", "-")
    assert [name for name in sorted(declared()) if name not in told] == []
