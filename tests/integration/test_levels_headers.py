# SPDX-License-Identifier: MIT
"""What levels_args.def says of a function's arguments is what the library's own header says of them, for each function."""

import fnmatch
import re

import pytest

import harness

ROWS = re.findall(r'^FT_LEVEL_ARGS\((\w+), "(.*)", "(.*)"\)', (harness.REPO / "client/shim/levels_args.def").read_text(), re.M)
TEXT, FILE = {"p": r"const char ?\*", "q": r"const char ?\*"}, r"MPI_File ?\*"
MPIIO = {"f": "MPI_File [^*]", "F": FILE, "H": FILE, "o": "MPI_Offset [^*]", "s": "MPI_Offset [^*]", "n": "int [^*]", "N": "MPI_Count [^*]",
         "t": "MPI_Datatype [^*]", **TEXT}
HDF5 = {"f": "hid_t [^*]", "y": "hid_t mem_type", "z": "hid_t mem_space", "a": r"hid_t (mem_)?d?type_id", "m": "size_t count", "w": "hid_t file_space", ">": "hid_t", **TEXT}
NETCDF = {"f": "int ([a-z_]*ncid[a-z_0-9]*|grpid)$", "v": "int varid$",
          "c": r"const (size_t|MPI_Offset) ?\* ?count|const (size_t|MPI_Offset) ?count[a-z]*\[", "h": r"int ?\* ?ncidp", **TEXT}
# What is included, by which compiler; the names of functions; what the letters stand for. At least so many are found.
LIBRARIES = {
    "openmpi": ("MPIIO", ["mpi.h"], "mpicc.openmpi", "MPI_File_", MPIIO, 60),
    "mpich": ("MPIIO", ["mpi.h"], "mpicc.mpich", "MPI_File_", MPIIO, 60),
    "hdf5": ("HDF5", ["hdf5/serial/hdf5.h"], "gcc", "H5[ADFGLO]", HDF5, 200),
    "netcdf": ("NETCDF", ["netcdf.h", "netcdf_mem.h", "netcdf_filter.h"], "gcc", "nc_", NETCDF, 300),
    "pnetcdf": ("PNETCDF", ["pnetcdf.h"], "mpicc.openmpi", "ncmpi_", NETCDF, 800),
}


def prototypes(folder, names, compiler, prefix):
    """{function: (result, arguments)}"""
    harness.needs_program(compiler)
    source = folder / "headers.c"
    for name in names:
        source.write_text(f"#if !__has_include(<{name}>)\n#error none\n#endif\n")
        there = harness.call([compiler, "-c", "-o", folder / "headers.o", source]).returncode == 0
        harness.needs(there, f"{name} is not installed")
    source.write_text("".join(f"#include <{name}>\n" for name in names))
    done = harness.call([compiler, "-E", "-P", "-I/usr/include/hdf5/serial", source])
    assert done.returncode == 0, done.stderr.decode()
    text = re.sub(r"__attribute__ ?\(\(.*?\)\)|\bextern\b", " ", re.sub(r"\s+", " ", done.stdout.decode()))
    text = re.sub(r"\btypedef\b[^;{}]*;", ";", text)
    found = re.findall(rf"([\w ]+[ *]+)\b({prefix}\w+) ?\(((?:[^();]|\([^()]*\))*)\)[^;{{]*;", text)
    return {name: (result.strip(), [a.strip() for a in re.sub(r"\([^()]*\)", "", arguments).split(",")])
            for result, name, arguments in found}


def letters_of(category, function):
    return next((letters for c, pattern, letters in ROWS if c == category and fnmatch.fnmatchcase(function, pattern)), "")


def misread(category, function, result, arguments, types):
    letters = letters_of(category, function)
    if not letters and re.match(types["f"], arguments[0]) and not re.match("H5FD|.*_async$", function):
        yield function, "none", arguments
    for i, letter in enumerate(letters):
        if letter == ">":
            if not re.match(types[letter], result):
                yield function, letter, result
        elif letter != "." and not (i < len(arguments) and re.match(types[letter], arguments[i])):
            yield function, letter, arguments


@pytest.mark.parametrize("library", LIBRARIES)
def test_arguments_are_what_the_header_says(tmp_path, library):
    category, names, compiler, prefix, types, at_least = LIBRARIES[library]
    found = prototypes(tmp_path, names, compiler, prefix)
    assert len(found) >= at_least, sorted(found)
    bad = [one for name, (result, arguments) in found.items() for one in misread(category, name, result, arguments, types)]
    assert not bad, bad[:20]
    assert any("v" in letters_of(category, name) for name in found) == (types is NETCDF)
