# SPDX-License-Identifier: MIT
"""daemon(3): the parent ends at once, whatever flowtapd does; the child goes on, traced, as long as it likes."""

import os
import select
import signal

import pytest

import harness

# The child waits until somebody writes to the FIFO `go`; what it has then goes to `after`.
PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void touch(const char *name, const char *text, int n)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, text, n) != n || close(fd))
        _exit(9);
}
int main(int argc, char **argv)
{
    char byte;
    touch("before", "x", 1);
    for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--)
        if (daemon(1, 0))
            return 8;
    char pid[16];
    touch("pid", pid, sprintf(pid, "%d", getpid()));
    int go = open("go", O_RDONLY);
    if (read(go, &byte, 1) != 1 || read(go, &byte, 1) != 0)
        return 7;
    touch("after", &byte, 1);
    return 3;
}
"""


def opened_for_writing(fifo):
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # nobody reads yet
        return None


def let_go(fifo, child):
    """To its end."""
    fd = harness.wait_until("the child to read", lambda: opened_for_writing(fifo))
    os.write(fd, b"!")
    os.close(fd)
    assert select.select([child], [], [], harness.DEADLINE_S)[0]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("state", ["running", "stopped", "killed"])
def test_the_parent_ends_before_the_child_goes_on(tap, state, times):
    """While flowtapd is stopped, nothing can wait for what it does."""
    program = tap.compiled("daemonizes", PROGRAM)
    fifo, daemon = tap.work / "go", tap.daemon()
    os.mkfifo(fifo)
    if state == "stopped":
        daemon.process.send_signal(signal.SIGSTOP)
    # To the end of the parent: the child has closed its streams. As the leader of a session it may be a job of its own, where nothing names one.
    done = daemon.call([program, times], cwd=tap.work, env={"FLOWTAP_JOB": "daemonized"})
    assert done.same() == (0, b"", b"")
    pid = int(harness.wait_until("the child's pid", lambda: (tap.work / "pid").exists() and (tap.work / "pid").read_text()))
    child = os.pidfd_open(pid)
    if state == "killed":
        daemon.kill()
    assert not (tap.work / "after").exists() and pid != done.pid
    let_go(fifo, child)
    os.close(child)
    assert [(tap.work / name).read_text() for name in ("before", "pid", "after")] == ["x", str(pid), "!"]
    if state == "killed":
        return
    daemon.process.send_signal(signal.SIGCONT)
    trace = daemon.stop()
    family = sorted(trace.processes(), key=lambda p: p["start"])
    assert [p["pid"] for p in family][::times] == [done.pid, pid]
    # Though the kernel gives an orphan another parent.
    assert [p["parent_id"] for p in family] == [None, *(p["id"] for p in family[:-1])]
    assert [p["exit"].get("code") for p in family if p["exit"]][-1] == 3
    calls = {name: [(e["name"], e["pid"]) for e in trace.events() if e.get("path") == str(tap.work / name)] for name in ("before", "pid", "go", "after")}
    touched = ["open", "write", "close"]
    assert calls == {"before": [(n, done.pid) for n in touched], "pid": [(n, pid) for n in touched],
                     "go": [(n, pid) for n in ("open", "read", "read")], "after": [(n, pid) for n in touched]}
    parents_last = max(e["ts"] for e in trace.events() if e["pid"] == done.pid)
    assert parents_last < min(e["ts"] for e in trace.events() if e.get("path") == str(tap.work / "after"))
    assert trace.gaps() == [] and trace.summary()["dropped"] == 0
