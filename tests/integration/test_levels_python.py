# SPDX-License-Identifier: MIT
"""Levels of libraries that Python opens while it runs: h5py and mpi4py, from their first call on."""

import collections
import os
import pathlib
import platform

import pytest

import harness
from test_levels_mpi import LIBRARIES, RANKS, SOURCES, folder_of, inside, pids_by_rank, run_ranks

PYTHON = harness.REPO / "build/venv-levels/bin/python"
pytestmark = [pytest.mark.skipif(platform.machine() != "x86_64", reason="functions of libraries are recorded on x86-64"),
              pytest.mark.skipif(not PYTHON.exists(), reason="h5py and mpi4py are not installed (tests/setup check says why)")]


@pytest.mark.parametrize("levels", [None, 1])
def test_h5py(tap, levels):
    """Its own copy of the library, which has a name of its own; sizes of whole datasets and of parts."""
    folder = folder_of(tap, "data")
    argv = [PYTHON, SOURCES / "hdf5.py", folder]
    plain = tap.plain(argv)
    trace = tap.run(argv, env={"FLOWTAP_LEVELS": levels})
    assert trace.ran.stdout == plain.stdout == b"499500.0 145.0 7\n"
    spans = trace.events(cat="HDF5")
    moved = [(e["name"], e["args"]) for e in spans if e["name"] in ("H5Dwrite", "H5Dread")]
    path = f"{folder}/py.h5"
    assert moved == [("H5Dwrite", {"file": path, "size": 8000}), ("H5Dread", {"file": path, "size": 8000}),
                     ("H5Dread", {"file": path, "size": 80})]
    assert collections.Counter(e["name"] for e in spans)["H5Fcreate"] == 1
    opened, = [e for e in spans if e["name"] == "H5Fopen"]
    assert [e for e in inside(trace, opened, "POSIX", "py.h5") if "open" in e["name"]]
    reads = [e for e in spans if e["name"] == "H5Dread"]
    assert sum(e["result"] for span in reads for e in inside(trace, span, "POSIX", "py.h5") if "read" in e["name"]) >= 8000


def test_several_datasets_of_hdf5_in_one_call(tap):
    """All that was moved, and the file, which the library wants to be one."""
    library = next(iter((PYTHON.parent.parent).glob("lib/python*/site-packages/h5py.libs/libhdf5-*.so*")), None)
    harness.needs(library, "h5py has no library of its own")
    program, folder = tap.folder / "many", folder_of(tap, "data")
    done = harness.call(["gcc", "-O1", "-o", program, SOURCES / "hdf5_many.c", library, f"-Wl,-rpath,{library.parent}",
                         f"-Wl,-rpath-link,{library.parent}"], deadline=60)
    harness.needs(b"_multi" not in done.stderr, "h5py's HDF5 is older than 1.14")
    assert done.returncode == 0, done.stderr.decode()
    plain = tap.plain([program, folder])
    assert plain.same() == (0, b"0\n0\n-1\n-1\n0\n0 0\n", b"")
    trace = tap.run([program, folder])
    assert trace.ran.stdout == plain.stdout
    moved = [(e["name"], e.get("args", {})) for e in trace.events(cat="HDF5") if e["name"].endswith("_multi")]
    one = f"{folder}/first.h5"
    assert moved == [("H5Dwrite_multi", {"file": one, "size": 1200}), ("H5Dread_multi", {"file": one, "size": 440}),
                     ("H5Dwrite_multi", {}), ("H5Dread_multi", {}), ("H5Dread_multi", {"size": 0})]


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_mpi4py(tap, mpi):
    """One build for either MPI, which it chooses when it is imported; Debian's MPICH has a name of its own."""
    harness.needs_program(f"mpirun.{mpi}")
    names = tap.folder / "names"
    names.mkdir()
    if mpi == "mpich":
        library = next(iter(sorted(LIBRARIES.glob("libmpich.so.*"))), None)
        harness.needs(library, "libmpich is not installed")
        os.symlink(library, names / "libmpi.so.12")
    starter = tap.folder / "start"
    starter.write_text(f"#!/bin/sh\nMPI4PY_MPIABI={mpi} LD_LIBRARY_PATH={names} exec {PYTHON} {SOURCES}/mpi.py \"$@\"\n")
    starter.chmod(0o755)
    trace, before, after = run_ranks(tap, mpi, starter)
    assert before == after and list(after) == ["py.dat"]
    assert trace.ran.stdout.split() == [str(sum(range(RANKS)) * 256).encode()]
    path = str(pathlib.Path(tap.work) / "data/py.dat")
    for rank, pid in pids_by_rank(trace).items():
        spans = {e["name"].removesuffix("_c"): e for e in trace.events(cat="MPIIO", pid=pid)}  # counts of 64 bits
        assert spans["MPI_File_write_at"]["args"] == {"file": path, "size": 1024, "offset": rank * 1024}
        assert spans["MPI_File_read_at"]["args"] == {"file": path, "size": 1024, "offset": (rank + 1) % RANKS * 1024}
        for name, way in (("MPI_File_write_at", "write"), ("MPI_File_read_at", "read")):
            calls = [e for e in inside(trace, spans[name], "POSIX", "py.dat") if way in e["name"]]
            assert sum(e["result"] for e in calls) == 1024, (name, calls)
