# SPDX-License-Identifier: MIT
"""The kernel's counters of a process that is admitted late, on a busy node: all that it did is there.

Between the fork and the exec of a child lies more than a tenth of a second, and the daemon sees it when it has done its
work. A child that was another, untraced program before is another thing: what that did is not its own.
"""

import json
import os
import signal
import subprocess

import pytest

import harness

BYTES = 8 << 20
# argv: how (vfork, fork), what the child executes. Says when the child has ended, and reaps it when it is told to.
SLOW_SPAWN = r"""
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 300000000};
    siginfo_t info;
    pid_t child = strcmp(argv[1], "vfork") == 0 ? vfork() : (pid_t)syscall(SYS_fork);
    if (child == 0) {
        char byte;
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
        syscall(SYS_read, 0, &byte, 1);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    if (argc > 4) /* it waits for more */
        puts("started");
    else if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0)
        puts("ended");
    fflush(stdout);
    getchar();
    return waitpid(child, NULL, 0) != child;
}
"""


def cat_of(trace_json):
    return [p for p in trace_json if p["exe"] == "/usr/bin/cat"]


def stored(daemon):
    done = harness.read_command("processes", "--json", daemon.spool)
    return cat_of(json.loads(done.stdout)["processes"]) if done.returncode == 0 else []


# A forked child that lives, and that attached before it executed, shares what was done by then with what it executed.
@pytest.mark.parametrize("how,lives", [("vfork", False), ("fork", False), ("vfork", True)])
def test_a_child_on_its_way_for_long_did_all_that_its_pid_did(tap, how, lives):
    daemon = tap.daemon("block_age=20ms", "counters_interval=10ms")
    data, fifo = tap.work / "data", tap.work / "fifo"
    data.write_bytes(bytes(BYTES))
    os.mkfifo(fifo)
    program = tap.compiled("slow_spawn", SLOW_SPAWN)
    argv = [program, how, "/usr/bin/cat", data, *([fifo] if lives else [])]
    held = subprocess.Popen([str(a) for a in argv], env=daemon.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    tap.cleanup.append(lambda: harness.end_child(held))
    harness.wait_until("the parent in the file", lambda: harness.read_command("summary", daemon.spool).returncode == 0)
    daemon.process.send_signal(signal.SIGSTOP)
    harness.wait_until("a stopped daemon", lambda: harness.state_of(daemon.process.pid) == "T")
    held.stdin.write(b"\n")
    held.stdin.flush()
    output = b""
    while len(output) < BYTES + (0 if lives else len(b"ended\n")):
        output += os.read(held.stdout.fileno(), 1 << 20)
    daemon.process.send_signal(signal.SIGCONT)
    harness.wait_until("the child in the file", lambda: stored(daemon))
    if lives:
        with open(fifo, "wb") as more:
            more.write(b"x")
    harness.wait_until("its end", lambda: stored(daemon)[0]["exit"])
    held.stdin.write(b"\n")
    held.stdin.close()
    assert held.wait(harness.DEADLINE_S) == 0
    held.stdout.close()
    (cat,) = cat_of(daemon.stop().processes())
    assert cat["kernel"] and cat["kernel"]["rchar"] >= BYTES and cat["kernel"]["wchar"] >= BYTES, cat["kernel"]
