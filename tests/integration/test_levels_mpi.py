# SPDX-License-Identifier: MIT
"""MPI-IO, HDF5, NetCDF and PnetCDF beside the POSIX calls that they make, by Open MPI and MPICH alike."""

import collections
import hashlib
import pathlib
import platform
import re
import shutil

import pytest

import harness

SOURCES = harness.PROGRAMS / "levels"
RANKS = 4
DEADLINE_S = 240  # more ranks than cores, which wait for each other without sleeping
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="functions of libraries are recorded on x86-64")
LIBRARIES = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-gnu")

# As root, and with more ranks than cores: what Open MPI refuses else; 5 and later are told the latter by PRTE_.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": 1, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1,
               "OMPI_MCA_rmaps_base_oversubscribe": 1, "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
# A rank by itself, as by a launcher that says nothing: the environment has no rank.
NO_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "FLUX_TASK_RANK", "PALS_RANKID", "RANK",
           "MV2_COMM_WORLD_RANK")


def compile_with(tap, mpi, name, *flags, after=()):
    compiler = f"mpicc.{mpi}" if mpi else "gcc"
    harness.needs_program(compiler)
    target = tap.folder / f"{name}-{mpi}"
    done = harness.call([compiler, "-O1", "-g", *flags, "-o", target, SOURCES / f"{name}.c", *after], deadline=120)
    assert done.returncode == 0, done.stderr.decode()
    return target


def with_hdf5(tap, mpi, name="hdf5"):
    include = pathlib.Path(f"/usr/include/hdf5/{mpi}")
    harness.needs(include.exists(), f"libhdf5-{mpi}-dev is not installed")
    return compile_with(tap, mpi, name, f"-I{include}", after=[f"-L{LIBRARIES}/hdf5/{mpi}", "-lhdf5"])


def folder_of(tap, name):
    folder = tap.work / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run_ranks(tap, mpi, program, ranks=RANKS):
    """Traced and untraced, in the same folder; returns the trace and the hashes of the files of either run."""
    launcher = [f"mpirun.{mpi}", "-n", str(ranks), program]
    env = {k: str(v) for k, v in ENVIRONMENT.items()}
    folder = folder_of(tap, "data")
    plain = tap.plain([*launcher, folder], env=harness.clean_environment(**env), deadline=DEADLINE_S)
    assert plain.returncode == 0, plain.stderr
    before = hashes(folder)
    folder = folder_of(tap, "data")
    trace = tap.run([*launcher, folder], env=env, deadline=DEADLINE_S)
    assert trace.ran.stdout == plain.stdout
    assert trace.summary()["dropped"] == 0 and trace.summary()["app_time"] == 0
    return trace, before, hashes(folder)


def hashes(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


def counts(trace, category):
    return collections.Counter(e["name"] for e in trace.events(cat=category))


def inside(trace, span, category, path=None):
    """Events of the category in the span, by time and thread."""
    found = [e for e in trace.events(cat=category, pid=span["pid"], tid=span["tid"])
             if span["ts"] <= e["ts"] and e["ts"] + e.get("dur", 0) <= span["ts"] + span["dur"]]
    return [e for e in found if path is None or e.get("path", "").endswith(path)]


def pids_by_rank(trace):
    ranks = {p["rank"]: p["pid"] for p in trace.processes() if p.get("rank") is not None}
    assert sorted(ranks) == list(range(RANKS)), ranks
    return ranks


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_mpi_io(tap, mpi):
    trace, before, after = run_ranks(tap, mpi, compile_with(tap, mpi, "mpi"))
    assert before == after and list(after) == ["mpi.dat"]
    assert counts(trace, "MPIIO") == dict.fromkeys(
        ["MPI_File_open", "MPI_File_write_at_all", "MPI_File_seek", "MPI_File_write", "MPI_File_sync",
         "MPI_File_read_at", "MPI_File_iread_at", "MPI_File_close"], RANKS)
    path = str(tap.work / "data/mpi.dat")
    assert {e["args"]["file"] for e in trace.events(cat="MPIIO")} == {path}
    for rank, pid in pids_by_rank(trace).items():
        def one(name):
            return trace.events(cat="MPIIO", pid=pid, name=name)[0]
        assert one("MPI_File_write_at_all")["args"] == {"file": path, "size": 4096, "offset": rank * 8192}
        assert one("MPI_File_seek")["args"] == {"file": path, "offset": rank * 8192 + 4096}
        other = (rank + 1) % RANKS * 8192
        assert one("MPI_File_read_at")["args"] == {"file": path, "size": 4096, "offset": other}
        assert one("MPI_File_iread_at")["args"] == {"file": path, "size": 4096, "offset": other + 4096}
        for name, bytes_of in (("MPI_File_write", "write"), ("MPI_File_read_at", "read")):
            calls = [e for e in inside(trace, one(name), "POSIX", "mpi.dat") if bytes_of in e["name"]]
            assert sum(e["result"] for e in calls) == 4096, (name, calls)
        assert [e for e in inside(trace, one("MPI_File_open"), "POSIX", "mpi.dat") if "open" in e["name"]]
        assert [e for e in inside(trace, one("MPI_File_sync"), "POSIX") if "sync" in e["name"]]


def with_fortran(tap, mpi, binding):
    compiler, program = f"mpifort.{mpi}", tap.folder / "fortran"
    harness.needs_program(compiler)
    shown = harness.call([compiler, "-show"])
    harness.needs(shown.returncode == 0 and shown.stdout.split(), f"{compiler} does not say which compiler it calls")
    harness.needs_program(shown.stdout.split()[0].decode())
    flags = ["-DNEW", *["-DDELETE"] * (mpi == "mpich")] * (binding == "mpi_f08")
    done = harness.call([compiler, "-O1", "-cpp", *flags, f"-J{tap.folder}", "-o", program,
                         SOURCES / "mpi_fortran.f90"], deadline=120)
    assert done.returncode == 0, done.stderr.decode()
    return program


@pytest.mark.parametrize("binding", ["mpi", "mpi_f08"])
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_mpi_io_of_fortran(tap, mpi, binding):
    """By either binding one span for a call, with file, size and offset, and the POSIX calls inside it."""
    program = with_fortran(tap, mpi, binding)
    trace, before, after = run_ranks(tap, mpi, program)
    assert before == after and list(after) == ["fortran.dat"]
    path, ending = str(tap.work / "data/fortran.dat"), "_f08" if binding == "mpi_f08" else ""
    spans = [dict(e, name=e["name"].replace("f08ts_", "f08_").removesuffix(f"{ending}_")) for e in trace.events(cat="MPIIO")]
    last = "mpi_file_delete" if (mpi, binding) == ("mpich", "mpi_f08") else "mpi_file_open"
    for rank, pid in pids_by_rank(trace).items():
        own = [(e["name"], e["args"]) for e in spans if e["pid"] == pid]
        offset, whole = rank * 1024, {"file": path, "size": 1024, "offset": rank * 1024}
        unknown = [("mpi_file_write_at", {"file": path, "offset": offset})] * (binding == "mpi_f08")  # whether it succeeded
        assert own == [("mpi_file_open", {"file": path}), ("mpi_file_write_at", whole),
                       ("mpi_file_seek", {"file": path, "offset": offset}), ("mpi_file_read", {"file": path, "size": 512}),
                       ("mpi_file_iread_at", whole), *unknown, ("mpi_file_close", {"file": path}),
                       (last, {"file": "/nonexistent/fortran.dat"})]
        for name, way, size in (("mpi_file_write_at", "write", 1024), ("mpi_file_read", "read", 512)):
            span = next(e for e in spans if e["pid"] == pid and e["name"] == name)
            calls = [e for e in inside(trace, span, "POSIX", "fortran.dat") if way in e["name"]]
            assert sum(e["result"] for e in calls) == size, (name, calls)


def test_sizes_of_hdf5(tap):
    """Of selections and of whole datasets; and the program sees no more errors or open objects than untraced."""
    include = pathlib.Path("/usr/include/hdf5/serial")
    harness.needs(include.exists(), "libhdf5-dev is not installed")
    program = compile_with(tap, "", "hdf5_sizes", f"-I{include}", after=[f"-L{LIBRARIES}/hdf5/serial", "-lhdf5"])
    plain = tap.plain([program, folder_of(tap, "data")])
    trace = tap.run([program, folder_of(tap, "data")])
    assert trace.ran.stdout == plain.stdout and plain.returncode == 0
    # Each layer of the library leaves an error: how many these are is another number in 1.14 than in 1.10.
    assert len(re.findall(rb"no (?:dataset|type|space|attribute) -1: [1-9]", plain.stdout)) == 5, plain.stdout
    assert b"again 0: 0 errors" in plain.stdout
    moved = [e.get("args", {}).get("size") for e in trace.events(cat="HDF5") if e["name"] in ("H5Dread", "H5Dwrite")]
    assert moved == [0, 1200, 2400, 400, 4, None, None, None, 1200]
    attributes = [e.get("args", {}) for e in trace.events(cat="HDF5") if e["name"] in ("H5Aread", "H5Awrite")]
    assert [a.get("size") for a in attributes] == [1200, 2400, 8, None, None]
    assert {a.get("file") for a in attributes} == {str(tap.work / "data/sizes.h5")}


def test_sizes_of_netcdf(tap):
    """In memory, where the function's name or the variable tells the type; none of failed calls, nor of what goes "to the end"."""
    harness.needs(pathlib.Path("/usr/include/netcdf.h").exists(), "libnetcdf-dev is not installed")
    program = compile_with(tap, "", "netcdf_parts", after=["-lnetcdf"])
    plain = tap.plain([program, folder_of(tap, "data")])
    trace = tap.run([program, folder_of(tap, "data")])
    assert trace.ran.stdout == plain.stdout == b"70 70\n"
    moved = [(e["name"], e["args"].get("size")) for e in trace.events(cat="NETCDF") if "t_var" in e["name"]]
    assert moved == 2 * [("nc_put_vara_int", 80), ("nc_put_vara", 40), ("nc_get_vara_double", 40), ("nc_get_vara_short", 20),
                         ("nc_get_vars_int", 40), ("nc_put_var1_int", 4), ("nc_get_var1_double", 8), ("nc_get_vara_int", 0),
                         ("nc_get_vara_int", 4), ("nc_get_vara_int", None), ("nc_get_vara_int", None)]


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_parallel_hdf5(tap, mpi):
    trace, _, _ = run_ranks(tap, mpi, with_hdf5(tap, mpi))
    assert counts(trace, "HDF5") == dict.fromkeys(
        ["H5Fcreate", "H5Dcreate2", "H5Dwrite", "H5Acreate2", "H5Awrite", "H5Aclose", "H5Fflush", "H5Dread", "H5Dclose",
         "H5Fclose"], RANKS)
    path = str(tap.work / "data/data.h5")
    assert {e["args"]["file"] for category in ("HDF5", "MPIIO") for e in trace.events(cat=category)} == {path}
    for pid in pids_by_rank(trace).values():
        def one(name):
            return trace.events(cat="HDF5", pid=pid, name=name)[0]
        assert one("H5Dcreate2")["args"]["name"] == "rows" and one("H5Acreate2")["args"]["name"] == "version"
        assert one("H5Dwrite")["args"]["size"] == one("H5Dread")["args"]["size"] == 8000
        for name in ("H5Dwrite", "H5Dread"):
            below = inside(trace, one(name), "MPIIO")
            assert [e["args"]["size"] for e in below if e["name"].endswith("_at_all")] == [8000], (name, below)
        assert inside(trace, one("H5Fcreate"), "MPIIO")
    written = [e for span in trace.events(name="MPI_File_write_at_all") for e in inside(trace, span, "POSIX", "data.h5")]
    assert sum(e["result"] for e in written if "write" in e["name"]) == RANKS * 8000


@pytest.mark.parametrize("binding", ["c", "mpi", "mpi_f08"])
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_rank_by_mpi_where_the_environment_tells_none(tap, mpi, binding):
    program = compile_with(tap, mpi, "mpi") if binding == "c" else with_fortran(tap, mpi, binding)
    folder = folder_of(tap, "data")
    trace = tap.run([program, folder], env={**ENVIRONMENT, **dict.fromkeys(NO_RANK)})
    assert {e["tags"]["mpi_rank"] for e in trace.events(cat="MPIIO")} == {"0"}
    assert [p["rank"] for p in trace.processes() if p["pid"] == trace.events(cat="MPIIO")[0]["pid"]] in ([None], [None] * 2)


def test_netcdf(tap):
    header = pathlib.Path("/usr/include/netcdf.h")
    harness.needs(header.exists(), "libnetcdf-dev is not installed")
    program, folder = compile_with(tap, "", "netcdf", after=["-lnetcdf"]), folder_of(tap, "data")
    plain = tap.plain([program, folder])
    trace = tap.run([program, folder])
    assert trace.ran.stdout == plain.stdout == b"374250 374250\n1\n"
    named = counts(trace, "NETCDF")
    assert named == {"nc_create": 2, "nc_def_dim": 2, "nc_def_var": 2, "nc_enddef": 2, "nc_put_var_int": 2, "nc_close": 4,
                     "nc_open": 3, "nc_inq_varid": 2, "nc_get_var_int": 2}
    for name in ("new.nc", "old.nc"):
        spans = [e for e in trace.events(cat="NETCDF") if e.get("args", {}).get("file") == f"{folder}/{name}"]
        assert len(spans) == 10, (name, spans)
    written = trace.events(cat="NETCDF", name="nc_close")[0]
    asked = {e["name"] for e in inside(trace, trace.events(cat="NETCDF", name="nc_open")[1], "HDF5")}
    assert inside(trace, written, "HDF5") and asked <= {"H5Fis_hdf5", "H5Fis_accessible"}  # NetCDF 4.9.3 asks
    assert trace.events(cat="NETCDF", name="nc_open")[2]["args"] == {"file": "/nonexistent/file.nc"}


def test_pnetcdf(tap):
    harness.needs(pathlib.Path("/usr/include/pnetcdf.h").exists(), "libpnetcdf-dev is not installed")
    trace, before, after = run_ranks(tap, "openmpi", compile_with(tap, "openmpi", "pnetcdf", after=["-lpnetcdf"]))
    assert before == after
    assert counts(trace, "PNETCDF") == dict.fromkeys(
        ["ncmpi_create", "ncmpi_def_dim", "ncmpi_def_var", "ncmpi_enddef", "ncmpi_put_vara_int_all",
         "ncmpi_get_vara_int_all", "ncmpi_mput_vara_int_all", "ncmpi_close"], RANKS)
    assert {e["args"]["file"] for e in trace.events(cat="PNETCDF")} == {str(tap.work / "data/parallel.nc")}
    assert all(inside(trace, e, "MPIIO") for e in trace.events(name="ncmpi_put_vara_int_all"))
    sizes = {(e["name"].split("_")[1], e["args"].get("size")) for e in trace.events(cat="PNETCDF") if "vara_int_all" in e["name"]}
    assert sizes == {("put", 400), ("get", 400), ("mput", None)}


def test_turned_off(tap):
    header = pathlib.Path("/usr/include/netcdf.h")
    harness.needs(header.exists(), "libnetcdf-dev is not installed")
    program, folder = compile_with(tap, "", "netcdf", after=["-lnetcdf"]), folder_of(tap, "data")
    trace = tap.run([program, folder], env={"FLOWTAP_LEVELS": "0"})
    assert not trace.events(cat="NETCDF") and not trace.events(cat="HDF5")
    trace = tap.run([program, folder], env={"FLOWTAP_LEVELS": "0", "FLOWTAP_FUNCTIONS": "CDF=libnetcdf.so:nc_put_*,nc_open"})
    assert counts(trace, "CDF") == {"nc_put_var_int": 2, "nc_open": 3} and not trace.events(cat="NETCDF")
    trace = tap.run([program, folder], env={"FLOWTAP_LEVELS": "0", "FLOWTAP_FUNCTIONS": "libhdf5*.so:H5F*"})
    assert set(counts(trace, "HDF5")) >= {"H5Fcreate", "H5Fopen", "H5Fclose"} and not trace.events(name="H5Dwrite")
    assert trace.events(name="H5Fcreate")[0]["args"] == {"file": f"{folder}/new.nc"}
