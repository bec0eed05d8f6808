# SPDX-License-Identifier: MIT
"""What cannot be traced runs as it would, and the trace says who it was and why."""

import os
import shutil
import subprocess

import pytest

import harness
from test_jobs import states

HELLO = '#include <stdio.h>\nint main(void) { puts("hello"); return 6; }\n'


def compiled(tap, name, *flags):
    (tap.work / "hello.c").write_text(HELLO)
    done = tap.plain(["gcc", *flags, "-o", name, "hello.c"])
    harness.needs(done.returncode == 0, f"gcc {' '.join(flags)} does not work here")
    return tap.work / name


def gap_of(trace, kind, exe):
    found = [g for g in trace.gaps(kind) if (g["exe"] or "").endswith(exe)]
    assert len(found) == 1, (kind, trace.summary()["gaps"])
    assert found[0]["count"] >= 1
    return found[0]


def test_static_program(tap):
    compiled(tap, "static", "-static")
    trace = tap.run(["sh", "-c", "./static; cat /etc/hostname; exit 0"])
    assert trace.ran.stdout.startswith(b"hello\n")
    assert gap_of(trace, "static", "/static")["count"] == 1


def test_static_program_started_in_every_way(tap):
    compiled(tap, "static", "-static")
    code = ("import os, subprocess\nsubprocess.run('./static')\nos.waitpid(os.posix_spawn('./static', ['s'], os.environ), 0)\n"
            "os.system('./static')\npid = os.fork()\nif pid == 0:\n    os.execv('./static', ['s'])\nos.waitpid(pid, 0)\n")
    trace = tap.run(["/usr/bin/python3", "-c", code])
    assert sum(g["count"] for g in trace.gaps("static")) == 4, trace.gaps()


def test_the_command_itself_is_static(tap):
    compiled(tap, "static", "-static")
    done = harness.call([harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", "./static"], cwd=tap.work)
    assert (done.returncode, done.stdout) == (6, b"hello\n")
    assert b"static" in done.stderr


def test_set_user_id_program(tap):
    harness.needs(os.geteuid() == 0, "making a set-user-ID program needs root")
    shutil.copy("/bin/cat", tap.work / "cat-suid")
    os.chown(tap.work / "cat-suid", 65534, 65534)
    os.chmod(tap.work / "cat-suid", 0o6755)
    (tap.work / "text").write_text("text\n")
    trace = tap.run(["sh", "-c", "./cat-suid text; true"])
    assert trace.ran.stdout == b"text\n"
    gap_of(trace, "secure_exec", "/cat-suid")


SMALL = """
#define CALL(n, a, b, c) __asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c) : "memory")
void _start(void)
{
    long r;
    CALL(4, 1, "hello\\n", 6);
    CALL(1, 6, 0, 0);
    for (;;)
        ;
}
"""


def test_program_of_another_class(tap):
    """A 32-bit program, made without a 32-bit libc; its ld.so says that it cannot take our library, and it runs."""
    (tap.work / "small.c").write_text(SMALL)
    flags = ["-m32", "-nostdlib", "-pie", "-fPIE", "-fno-stack-protector", "-Wl,-dynamic-linker,/lib/ld-linux.so.2"]
    made = tap.plain(["gcc", *flags, "-o", "small", "small.c"])
    harness.needs(made.returncode == 0, "gcc -m32 does not work here")
    plain = tap.plain(["sh", "-c", "./small; echo $?"])
    harness.needs(plain.stdout == b"hello\n6\n", "32-bit programs do not run here")
    trace = tap.run(["sh", "-c", "./small; echo $?"])
    assert trace.ran.stdout == plain.stdout
    gap_of(trace, "foreign_elf", "/small")


def test_io_uring_is_said(tap):
    harness.needs_program("node")
    (tap.work / "text").write_text("x" * 100)
    code = "require('fs').readFile('text', (e, d) => console.log(d.length))"
    trace = tap.run(["node", "-e", code], env={"UV_USE_IO_URING": "1"})
    assert trace.ran.stdout == b"100\n"
    reads = [e for e in trace.events() if e.get("path") == str(tap.work / "text") and e["name"] in ("read", "pread64")]
    assert reads or trace.gaps("io_uring"), trace.summary()["gaps"]


@pytest.mark.parametrize("call", ["execve", "posix_spawn"])
def test_a_failed_start_is_no_gap(tap, call):
    code = {"execve": "import os\ntry:\n    os.execv('/absent', ['x'])\nexcept OSError:\n    pass",
            "posix_spawn": "import os\ntry:\n    os.posix_spawn('/absent', ['x'], {})\nexcept OSError:\n    pass"}[call]
    trace = tap.run(["/usr/bin/python3", "-c", code])
    assert trace.gaps() == []


def test_an_ordinary_tree_has_no_gaps(tap):
    script = "for i in 1 2 3 4 5 6 7 8; do (cat /etc/hostname | tr a b > /dev/null) & done; wait; env -i true; sh -c 'exec cat' < /dev/null"
    trace = tap.run(["bash", "-c", script])
    assert trace.gaps() == []


def test_a_child_in_a_session_of_its_own_is_no_gap(tap):
    # where nothing else tells a job, the session does: the child is another job's, and there it has come; one that has
    # gone before the daemon looks stays in its parent's, so one waits until its session is known
    daemon = tap.daemon()
    os.mkfifo(tap.work / "gate")
    code = "import subprocess as s; s.run(['sh', '-c', 'cat /etc/hostname; exit 3'], start_new_session=True)"
    script = "setsid -w cat /etc/hostname; setsid -f -w true; \"$@\"; setsid -w head -c 1 gate"
    with open(tap.work / "gate", "r+b", buffering=0) as gate:
        run = subprocess.Popen(["sh", "-c", script, "sh", "/usr/bin/python3", "-c", code], env=daemon.env(), cwd=tap.work,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        tap.cleanup.append(lambda: harness.end_group(run))
        harness.wait_until("a second job", lambda: len(states(daemon)) > 1)
        gate.write(b".")
        assert run.wait(harness.DEADLINE_S) == 0
    trace = daemon.stop()
    assert len({p["job"] for p in trace.processes()}) > 1
    assert trace.gaps() == []


def test_the_dynamic_loader_is_no_static_program(tap):
    loader = os.path.realpath("/lib64/ld-linux-x86-64.so.2")
    link = tap.work / "loader"
    link.symlink_to(loader)
    trace = tap.run(["sh", "-c", f"{link} /bin/cat /etc/hostname; {loader} /bin/cat /etc/hostname; true"])
    assert trace.count(name="read", path="/etc/hostname") >= 2
    assert trace.gaps() == []
    trace = tap.run(["sh", "-c", f"{link} --help; true"])
    assert [g["kind"] for g in trace.gaps()] == ["not_attached"]
