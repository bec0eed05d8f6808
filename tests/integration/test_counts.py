# SPDX-License-Identifier: MIT
"""Counts and bytes equal those of `strace -f`, per process and file, minus the written list of libc's own calls."""

import collections
import os
import random
import shutil

import pytest

import harness
import strace_diff
import strace_log

DATA = ("open", "read", "write", "transfer", "unlink", "rename", "mkdir", "link")


def make_tree(folder, files=60):
    """A small tree with nested folders, a hard link, a symlink, an empty file and one of many blocks."""
    rng = random.Random(7)
    for i in range(files):
        path = folder / "tree" / f"d{i % 5}" / f"e{i % 3}" / f"file-{i}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(rng.choice([0, 1, 511, 4096, 20_000])))
    (folder / "tree/large").write_bytes(rng.randbytes(300_000))
    (folder / "tree/soft").symlink_to("large")
    os.link(folder / "tree/large", folder / "tree/hard")


def make_program(folder):
    (folder / "hello.c").write_text('#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts("hello"); return 0; }\n')


def make_lines(folder):
    rng = random.Random(8)
    (folder / "lines").write_text("".join(f"{rng.randrange(10**12):012d} {'x' * rng.randrange(60)}\n"
                                          for _ in range(60_000)))


def make_repository(folder):
    make_tree(folder, 25)
    env = harness.clean_environment(HOME=folder, GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_DATE="2020-01-01T00:00:00Z",
                                    GIT_COMMITTER_DATE="2020-01-01T00:00:00Z")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", folder / "tree"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        done = harness.call([*git, *words], env=env)
        assert done.returncode == 0, done.stderr


def make_hundred(folder):
    for i in range(100):
        (folder / f"n{i}").write_bytes(b"n" * (i * 97))
    (folder / "read.js").write_text("const fs = require('fs'); let n = 0;\n"
                                    "for (let i = 0; i < 100; i++) n += fs.readFileSync('n' + i).length;\n"
                                    "console.log(n);\n")


POOL = """
import multiprocessing, os, sys

def work(i):
    with open(f"own-{i}", "wb", buffering=0) as f:
        for k in range(10):
            f.write(bytes([i]) * (100 + i + k))
    with open(f"own-{i}", "rb", buffering=0) as f:
        while f.read(64):
            pass
    os.rename(f"own-{i}", f"done-{i}")
    return os.path.getsize(f"done-{i}")

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(8) as pool:
        print(sum(pool.map(work, range(16), 1)))
        pool.close()
        pool.join()
"""


def make_pool(folder):
    (folder / "pool.py").write_text(POOL)


def test_tar_of_a_tree(tap):
    trace = strace_diff.compare(tap, ["tar", "cf", "out.tar", "tree"], prepare=make_tree)
    # One file by two names: tar reads it by the one that the directory lists first, which is the file system's choice.
    names = {str(tap.work / "one/tree" / name) for name in ("large", "hard")}
    assert sum(f["read_bytes"] for f in trace.files() if f["path"] in names) == 300_000


def test_untar_of_a_tree(tap):
    def prepare(folder):
        make_tree(folder)
        harness.call(["tar", "cf", folder / "in.tar", "-C", folder, "tree"])
    strace_diff.compare(tap, ["tar", "xf", "in.tar"], prepare=prepare)


def test_gcc_compiling_a_program(tap):
    harness.needs_program("gcc")
    trace = strace_diff.compare(tap, ["gcc", "-O1", "-o", "hello", "hello.c"], prepare=make_program)
    assert {"cc1", "as", "collect2"} <= {os.path.basename(p["exe"]).removeprefix("x86_64-linux-gnu-")
                                        for p in trace.processes()}


def test_git_clone_of_a_local_repository(tap):
    harness.needs_program("git")
    strace_diff.compare(tap, ["git", "clone", "-q", "tree", "copy"], prepare=make_repository, pipes=False,
                        per_file=False)


def test_sort_of_a_file_larger_than_its_buffer(tap):
    trace = strace_diff.compare(tap, ["sort", "-S", "1M", "-T", ".", "--parallel=1", "lines", "-o", "sorted"],
                                prepare=make_lines)
    assert trace.file(tap.work / "one/sorted")["written_bytes"] == (tap.work / "one/lines").stat().st_size


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_python_pool_of_eight(tap, method):
    """Which worker takes which task is chance, so files are compared over all processes: the pool's own and the modules."""
    trace = compare_by_file(tap, ["/usr/bin/python3", "-S", "-E", "-B", "pool.py", method], make_pool)
    workers = {e["pid"] for e in trace.events() if "/own-" in e.get("path", "")}
    assert 1 <= len(workers) <= 8 and len(trace.processes()) >= 9


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("ending", ["terminate()", "close()", "apply(os.getpid)"])
def test_python_pool_that_is_not_joined(tap, method, ending):
    make_pool(tap.work)
    script = (tap.work / "pool.py").read_text().replace("pool.close()\n        pool.join()", f"pool.{ending}")
    (tap.work / "pool.py").write_text(script)
    trace = tap.run(["/usr/bin/python3", "-S", "-E", "-B", "pool.py", method])
    for i in range(16):
        size = sum(100 + i + k for k in range(10))
        path = str(tap.work / f"own-{i}")
        assert sum(e["result"] for e in trace.events(name="write") if e.get("path") == path) == size
        assert trace.file(path)["read_bytes"] == size
    # a worker that is terminated can lose the one call that had returned and was not yet published
    causes = trace.summary()["dropped_by_cause"]
    assert causes.pop("torn") <= len(trace.processes()) and not any(causes.values()), causes


def compare_by_file(tap, argv, prepare):
    harness.needs(os.path.exists(argv[0]), f"{argv[0]} is not installed")
    folder, logs = tap.work / "one", tap.folder / "strace"
    logs.mkdir()
    strace_diff.fresh(folder, prepare)
    seen = harness.call(strace_log.command(str(logs), argv, families=DATA, stacks=False), cwd=folder, deadline=300)
    strace_diff.fresh(folder, prepare)
    trace = tap.run(argv, cwd=folder, deadline=120)
    assert trace.ran.stdout == seen.stdout, seen.stderr
    want, have = collections.Counter(), collections.Counter()

    def is_pythons_own(path):
        """No libc function reads or writes these by itself, so no stack is needed to say whose call it is."""
        return path is not None and (path.startswith((f"{folder}/own-", f"{folder}/done-")) or path.endswith(".pyc"))
    for image in strace_log.read_folder(logs):
        tally(want, strace_diff.owed_of_strace(image, DATA, is_pythons_own)[0])
    for _, pid, events in strace_diff.images_of_trace(trace):
        table = strace_diff.owed_of_trace(events, pid, DATA)
        tally(have, {k: v for k, v in table.items() if is_pythons_own(k[1])})
    wrong = {k: (want[k], have[k]) for k in want.keys() | have.keys() if want[k] != have[k]}
    assert not wrong, "\n".join(f"{k}: strace {a}, trace {b}" for k, (a, b) in sorted(wrong.items(), key=repr))
    assert sum(n for k, n in want.items() if "/own-" in str(k[1]) and k[3] == "count") >= 16 * 12
    assert sum(n for k, n in want.items() if str(k[1]).endswith(".pyc") and k[3] == "count") >= 20
    return trace


def tally(counter, table):
    for (family, path, error), (count, size) in table.items():
        counter[family, path, error, "count"] += count
        counter[family, path, error, "bytes"] += size


def test_node_reading_a_hundred_files(tap):
    """V8 reads its own mappings and binary where its code landed far from it, which the kernel decides."""
    harness.needs_program("node")
    trace = strace_diff.compare(tap, ["node", "read.js"], prepare=make_hundred, families=("open", "read", "write"),
                                without=("/proc/PID/maps", os.path.realpath(shutil.which("node"))))
    for i in range(1, 100):
        assert trace.file(tap.work / f"one/n{i}")["read_bytes"] == i * 97


def test_a_shell_pipeline(tap):
    script = "cat lines | tr a-z A-Z | sort -r -S 10M --parallel=1 | tail -n +3 > most; wc -c < most; grep -c X < most"
    strace_diff.compare(tap, ["sh", "-c", script], prepare=make_lines)


def test_sixteen_threads(tap):
    trace = strace_diff.compare(tap, [harness.program("threads16")])
    for n in range(16):
        entry = trace.file(tap.work / f"one/own-{n}")
        size = (20 + n) * 100
        want = {"opens": 3, "writes": 3 * (20 + n), "written_bytes": 3 * size, "read_bytes": 3 * size,
                "reads": 3 * (-(-size // 64) + 1)}
        assert {k: entry[k] for k in want} == want
    shared = trace.file(tap.work / "one/shared")
    assert (shared["writes"], shared["reads"], shared["opens"]) == (3 * sum(20 + n for n in range(16)), 3 * 16 * 5, 1)


def test_fortified_calls(tap):
    strace_diff.compare(tap, [harness.program("calls_fortified")])


def test_coverage_stands_beside_the_kernels_figures(tap):
    (tap.work / "big").write_bytes(b"x" * 50_000_000)
    trace = tap.run(["cat", "big"])
    coverage = trace.summary()["coverage"]
    assert coverage["processes"] == 1 and coverage["traced_bytes"] >= 100_000_000
    assert coverage["traced_bytes"] <= coverage["kernel_bytes"] <= coverage["traced_bytes"] * 1.05, coverage
