# SPDX-License-Identifier: MIT
"""The whole tree: every way to make a process, each child's events under its own pid, each image an entry of its own."""

import collections
import os

import pytest

import harness
import sidelog

MAKERS = ["fork", "_Fork", "syscall", "syscall_clone", "syscall_clone3", "raw", "clone"]
TERMINALS = ["forkpty", "login_tty"]
EXECS = ["execl", "execlp", "execle", "execv", "execve", "execvp", "execvpe", "fexecve", "execveat"]


@pytest.mark.parametrize("how", MAKERS)
def test_a_childs_events_carry_its_own_pid(tap, how):
    log = tap.folder / "side.log"
    trace = tap.run([harness.program("calls_process"), how], env={"SIDE_LOG": log})
    sidelog.compare(trace, log, ignore=("fork", "_Fork", "clone", "syscall", "_exit"))
    child, parent = pids(trace, "child-file"), pids(trace, "parent-after")
    assert len(child) == len(parent) == 1 and child != parent
    entries = {p["pid"]: p for p in trace.processes()}
    assert entries.keys() == child | parent
    assert entries[child.pop()]["parent"] == parent.pop()
    assert len(trace.processes()) == 2


@pytest.mark.parametrize("how", TERMINALS)
def test_a_child_at_a_terminal_of_its_own(tap, how):
    trace = tap.run([harness.program("calls_process"), how])
    (child,) = pids(trace, "child-file")
    (written,) = trace.events(name="write", pid=child, size=5, fd=1)
    assert written["path"].startswith("/dev/pts/"), written
    # the other side is a number of its own in the parent, and no file
    (read,) = [e for e in trace.events(name="read", size=5) if e["pid"] != child]
    assert read["path"] == "/dev/ptmx" and read["result"] == 5, read
    assert trace.count(name=how) >= 1


def test_a_command_line_that_is_cut_says_so(tap):
    argv = ["/usr/bin/true", "whole", "x" * 131000]
    for words, is_cut in ((argv, True), (argv[:2], False)):
        trace = tap.run(words)
        (process,) = [p for p in trace.processes() if p["exe"].endswith("/true")]
        assert process.get("argv_cut", False) == is_cut
        text = harness.read_command("processes", trace.path).stdout.decode()
        (row,) = [line for line in text.splitlines() if "/usr/bin/true whole" in line]
        assert row.endswith("…") == is_cut, row


def pids(trace, name):
    return {e["pid"] for e in trace.events() if e.get("path", "").endswith("/" + name)}


@pytest.mark.parametrize("how", ["vfork", "__vfork", "posix_spawn", "posix_spawnp", "popen", "system"])
def test_a_child_that_becomes_another_program(tap, how):
    trace = tap.run([harness.program("calls_process"), how])
    entry = trace.file(tap.work / "seed")
    assert entry["read_bytes"] == 5, entry
    cat = trace.image("/cat")
    (parent,) = [p for p in trace.processes() if p["exe"].endswith("/calls_process") and "code" in p["exit"]]
    readers = {e["pid"] for e in trace.events() if e.get("path") == str(tap.work / "seed") and e["name"] != "open"}
    assert readers == {cat["pid"]}
    chain = {p["pid"]: p["parent"] for p in trace.processes()}
    above = cat["pid"]
    while above in chain and above != parent["pid"]:
        above = chain[above]
    assert above == parent["pid"]
    assert trace.count(name=how.removeprefix("__"), pid=parent["pid"]) >= 1
    if how.startswith("posix_spawn"):
        assert [e["errno"] for e in trace.events(name="posix_spawn")][-1] == 2


PIDFD_SPAWN = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(void)
{
    char *argv[] = {"cat", "/etc/hostname", NULL};
    const char *names[] = {"pidfd_spawn", "pidfd_spawnp"};
    for (int i = 0; i < 2; i++) {
        int (*spawn)(int *, const char *, void *, void *, char **, char **) = dlsym(RTLD_DEFAULT, names[i]);
        int fd;
        siginfo_t info;
        if (spawn == NULL)
            return 77;
        if (spawn(&fd, i == 0 ? "/bin/cat" : "cat", NULL, NULL, argv, environ) != 0 || waitid(P_PIDFD, fd, &info, WEXITED) != 0)
            return 1;
        close(fd);
    }
    return 0;
}
"""


def test_pidfd_spawn_is_followed(tap):
    program = tap.compiled("spawns", PIDFD_SPAWN)
    plain = tap.plain([program])
    harness.needs(plain.returncode != 77, "pidfd_spawn needs glibc 2.39")
    trace = tap.run([program])
    assert (trace.ran.returncode, trace.ran.stdout) == (plain.returncode, plain.stdout) and not trace.gaps()
    assert [trace.count(name=name) for name in ("pidfd_spawn", "pidfd_spawnp")] == [1, 1]
    assert sum(p["exe"].endswith("/cat") for p in trace.processes()) == 2


def test_daemon_is_followed_and_the_parent_not_delayed(tap):
    trace = tap.run([harness.program("calls_process"), "daemon"])
    assert trace.file(tap.work / "child-file")["written_bytes"] == 5
    assert len(trace.processes()) == 3
    assert trace.count(name="daemon") >= 1


@pytest.mark.parametrize("how", EXECS)
def test_exec_keeps_twenty_arguments_and_both_images(tap, how):
    trace = tap.run([harness.program("execs"), how])
    images = sorted(trace.processes(), key=lambda p: p["start"])
    assert len(images) == 2 and images[0]["pid"] == images[1]["pid"]
    assert images[1]["argv"] == ["execs", "done", *map(str, range(1, 21))]
    assert images[0]["exe"] == images[1]["exe"]
    for name in ("before", "between", "after"):
        assert trace.file(tap.work / name)["written_bytes"] == len(name)
    tries = [e for e in trace.events() if e["name"].startswith(("exec", "fexec")) and e["name"] != "execs"]
    assert [(e["name"], e["errno"]) for e in tries] == [("execl", 0), ("execl", 2), (how, 0)]
    assert all(e["dur"] == 0 for e in tries if e["errno"] == 0)


def test_nothing_is_stored_twice_after_fork(tap):
    trace = tap.run([harness.program("fork_idle")])
    assert trace.count(name="write", path=str(tap.work / "many")) == 1000
    (parent,) = pids(trace, "A")
    (child,) = pids(trace, "B")
    assert pids(trace, "C") == {parent} and child != parent
    assert [trace.count(name="open", path=str(tap.work / n)) for n in "ABC"] == [1, 1, 1]
    assert len(trace.processes()) == 10


def test_vfork_child_leaves_the_parents_descriptors_alone(tap):
    trace = tap.run([harness.program("vfork_fds")])
    writes = {e["size"]: e for e in trace.events(name="write")}
    assert writes[7]["path"] == str(tap.work / "mine")
    assert writes[5].get("path") in (None, str(tap.work / "other"))
    assert (tap.work / "mine").read_bytes() == b"parent!"
    failed = [e for e in trace.events(name="execl") if e["errno"]]
    assert [e["errno"] for e in failed] == [2]
    assert writes[5]["pid"] != writes[7]["pid"]


def test_fork_beside_eight_threads(tap):
    trace = tap.run([harness.program("fork_threads"), "300"], deadline=120)
    children = trace.events(name="write", path=str(tap.work / "children"))
    assert len(children) == 300
    # Each is its own process's. A pid may come again: there are 32768 by default, and other programs run here.
    processes = collections.Counter(p["pid"] for p in trace.processes() if p["parent_id"] is not None)
    assert not collections.Counter(e["pid"] for e in children) - processes
    assert trace.file(tap.work / "prepare")["writes"] == 300
    assert trace.file(tap.work / "atfork-child")["writes"] == 300
    threads = sum(trace.file(tap.work / f"thread-{n}")["writes"] for n in range(8))
    assert threads == int(trace.ran.stdout)


@pytest.mark.soak
def test_fork_2000_times_beside_eight_threads(tap):
    trace = tap.run([harness.program("fork_threads"), "2000"], deadline=300)
    assert trace.file(tap.work / "children")["writes"] == 2000


def test_make_with_parallel_jobs(tap):
    (tap.work / "Makefile").write_text("all: $(addprefix t,$(shell seq 30))\nt%:\n\t@cat /etc/hostname > $@\n")
    trace = tap.run(["make", "-j4"])
    assert trace.file("/etc/hostname")["read_bytes"] == 30 * os.path.getsize("/etc/hostname")
    assert len([p for p in trace.processes() if p["exe"].endswith("/cat")]) == 30


def test_who_the_processes_were(tap):
    trace = tap.run(["sh", "-c", "cat /etc/hostname; exit 4"], status=4)
    # a child that became another program is an image of its own before that
    shell, cat = sorted((p for p in trace.processes() if "code" in p["exit"]), key=lambda p: p["start"])
    assert shell["argv"] == ["sh", "-c", "cat /etc/hostname; exit 4"] and cat["argv"] == ["cat", "/etc/hostname"]
    assert cat["exe"] == os.path.realpath("/bin/cat")
    assert cat["parent"] == shell["pid"]
    assert (shell["exit"]["code"], cat["exit"]["code"]) == (4, 0)
    assert shell["start"] <= cat["start"] <= cat["end"] <= shell["end"] + 0.001
    assert shell["cwd"] == str(tap.work)
    assert sum(p["events"] for p in trace.processes() if p["pid"] == cat["pid"]) == trace.count(pid=cat["pid"])


def test_a_process_that_lives_on_is_a_gap(tap):
    # the child waits on a FIFO, which is opened when the test ends
    fifo = tap.work / "hold"
    os.mkfifo(fifo)
    script = ("import os\n"
              "come, told = os.pipe()\n"
              "if os.fork() == 0:\n"
              "    os.setsid()\n"
              "    for fd in (0, 1, 2, come, told): os.close(fd)\n"
              "    os.open('hold', os.O_RDONLY)\n"
              "    os._exit(0)\n"
              "os.close(told)\n"
              "os.read(come, 1)\n")  # it has attached
    trace = tap.run(["/usr/bin/python3", "-c", script])
    tap.cleanup.append(lambda: os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK)))
    assert trace.gaps("still_running"), trace.summary()["gaps"]
