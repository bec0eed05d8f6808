# SPDX-License-Identifier: MIT
"""Each file by itself: licence line, headers that compile alone, scripts that say what runs them."""

import shutil
import sysconfig

import pytest
import tree

# Binary or data, or a format without comments.
NO_LICENCE_LINE = {".json", ".flow", ".bin", ".txt", ".pc", ".in", ".md", ""}
STRICT = ["-std=gnu17", "-D_GNU_SOURCE=", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-fsyntax-only"]


def licensed():
    for path in tree.files():
        if "corpus" in path.parts or path.parts[:2] == ("tests", "data"):
            continue
        first = tree.text(path).splitlines()[:1]
        if path.suffix not in NO_LICENCE_LINE or path.name == "Makefile" or (first and first[0].startswith("#!")):
            yield path


def test_every_file_says_its_licence():
    wrong = [str(path) for path in licensed()
             if not any("SPDX-License-Identifier: MIT" in line for line in tree.text(path).splitlines()[:3])]
    assert not wrong, "\n".join(wrong)


HEADERS = [h for h in tree.sources(".h") if h.parts[0] in ("proto", "daemon", "client")]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_a_header_compiles_alone(header, compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "alone.c"
    # Twice: the guard is tested too.
    source.write_text(f'#include "{header}"\n#include "{header}"\n')
    pythons = ["-isystem", sysconfig.get_paths()["include"]] if header.parts[:2] == ("client", "python") else []
    tree.run(compiler, *STRICT, *tree.INCLUDES, *pythons, source)


@pytest.mark.parametrize("compiler,flags", [("gcc", ["-std=c99", "-pedantic-errors", "-x", "c"]),
                                            ("clang", ["-std=c99", "-pedantic-errors", "-x", "c"]),
                                            ("g++", ["-std=c++11", "-pedantic-errors", "-x", "c++"]),
                                            ("clang++", ["-std=c++11", "-pedantic-errors", "-x", "c++"])])
@pytest.mark.parametrize("header,call", [("client/annotate/flowtap.h", "flowtap_active()"),
                                         ("client/trace/flowtap-trace.h", "flowtap_trace_version() == 0")])
def test_a_public_header_is_plain_c_and_cxx(header, call, compiler, flags, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "public.c"
    folder, name = header.rsplit("/", 1)
    source.write_text(f"#include <{name}>\nint main(void) {{ return {call}; }}\n")
    tree.run(compiler, *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{folder}", source)
