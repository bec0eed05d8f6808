# SPDX-License-Identifier: MIT
"""exec with what few give it: the new image gets exactly that, and is traced; the one before stays in the trace."""

import os

import pytest

import harness

ODD = {
    "many": ["execs_odd", "done", *(f"{h}{t}{u}" for h in "123" for t in range(10) for u in range(10))],
    "empty": [""],
    "null": [""],
    "no_environment": ["execs_odd", "done"],
    "thread": ["execs_odd", "done"],
    "memfd": ["execs_odd", "done"],
    "deleted": ["execs_odd", "done"],
    "failures": ["execs_odd", "done"],
}


def run_both(tap, how):
    plain = tap.folder / "plain"
    plain.mkdir()
    want = tap.plain([harness.program("execs_odd"), how], cwd=plain)
    trace = tap.run([harness.program("execs_odd"), how])
    assert (want.returncode, want.stdout) == (trace.ran.returncode, trace.ran.stdout)
    return trace


@pytest.mark.parametrize("how", ODD)
def test_an_odd_exec(tap, how):
    trace = run_both(tap, how)
    before, after = sorted(trace.processes(), key=lambda p: p["start"])
    assert before["pid"] == after["pid"] and after["argv"] == ODD[how]
    assert (before["exit"].get("code"), after["exit"]["code"]) == (None, 0)
    for name in ("before", "after"):
        assert trace.file(tap.work / name)["written_bytes"] == len(name)
    assert {e["tid"] for e in trace.events() if e.get("path") == str(tap.work / "after")} == {after["pid"]}
    assert trace.gaps() == []
    if how == "failures":
        tries = [e["errno"] for e in trace.events(name="execve")]
        assert tries == [e for n in (2, 13, 13, 8, 36, 20, 40, 2, 14, 14) for e in (0, n)], tries
        assert trace.file(tap.work / "between")["written_bytes"] == len("between")
    if how == "memfd":
        assert "memfd:program" in after["exe"]
    if how == "deleted":
        assert after["exe"].startswith(str(tap.work / "copy"))


def test_a_script_of_a_script(tap):
    trace = run_both(tap, "script")
    before, after = sorted(trace.processes(), key=lambda p: p["start"])
    assert after["exe"] == before["exe"]
    assert after["argv"][1:] == ["done", str(tap.work / "first"), "done", "./second"]
    assert trace.file(tap.work / "after")["written_bytes"] == 5


def test_the_largest_list_that_fits_without_our_variables(tap):
    trace = run_both(tap, "largest")
    assert (tap.work / "after").read_bytes() == b"after"
    traced = [f for f in trace.files() if f["path"] == str(tap.work / "after")]
    assert not traced and trace.gaps("env_cleaned"), trace.gaps()
    assert sum(g["count"] for g in trace.gaps("env_cleaned")) == 1, trace.gaps()


CHANGES = ["unsetenv", "unset_all", "setenv", "putenv", "clearenv", "null", "own"]
MAKERS = ["execv", "execve", "system", "popen", "posix_spawn", "vfork"]


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_program_that_changes_its_own_environment(tap, change, maker):
    (tap.work / "text").write_text("text\n")
    argv = [harness.program("env_changes"), change, maker]
    want = tap.plain(argv)
    assert want.returncode == 0 and want.stdout.endswith(b"text\n") == maker.startswith("exec")
    trace = tap.run(argv)
    assert trace.ran.stdout == want.stdout
    assert trace.image("/cat") and trace.file(tap.work / "text")["read_bytes"] == 5
    assert trace.gaps() == []


def environment_of(tap, words, **env):
    """Lines of the program's output that are not ours, sorted, untraced and traced."""
    want = tap.plain(words, env=harness.clean_environment(**env))
    done = tap.daemon().call(words, env=env, cwd=tap.work)
    assert (done.returncode, done.stderr) == (want.returncode, want.stderr)

    def kept(lines):
        return sorted(x for x in lines if not x.split(b" ")[-1].startswith((b"FLOWTAP", b"LD_PRELOAD=", b"_=")))
    return kept(want.stdout.splitlines()), kept(done.stdout.splitlines())


VIEWS = {
    "env": ["env"],
    "env -u": ["env", "-u", "LD_PRELOAD", "env"],
    "env -S": ["env", "-S", "A=1 env"],
    "printenv": ["sh", "-c", "printenv"],
    "/proc": ["sh", "-c", "tr '\\0' '\\n' < /proc/self/environ"],
    "bash set": ["bash", "-c", "export A=1; unset B; env; declare -x | sort"],
    "bash unset": ["bash", "-c", "unset LD_PRELOAD; env; set | grep -c LD_PRELOAD; true"],
    "bash cleared": ["bash", "-c", "for v in $(compgen -e); do unset $v; done; A=2 /usr/bin/env"],
    "dash": ["dash", "-c", "A=1; export A; env; export -p"],
    "zsh": ["zsh", "-fc", "export A=1; env; unset A; env"],
    "perl": ["perl", "-e", "%ENV = (A => 1); system '/usr/bin/env'; print `/usr/bin/env`"],
    "python": ["/usr/bin/python3", "-c", "import os\nos.environ.clear()\nos.environ['A'] = '1'\nos.system('/usr/bin/env')\n"
               "os.execv('/usr/bin/env', ['env'])"],
    "make": ["make", "-s", "-f", "/dev/null", "--eval", "all:;@env | grep -v MAKE"],
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_a_program_sees_of_the_environment(tap, view):
    harness.needs_program(VIEWS[view][0])
    want, have = environment_of(tap, VIEWS[view], B="2", A=None)
    assert want == have


def test_nothing_is_put_back_twice(tap):
    words = ["bash", "-c", "env -i bash -c 'env -i sh -c \"exec env -u LD_PRELOAD env\"'"]
    done = tap.daemon().call(words)
    names = [line.split(b"=")[0] for line in done.stdout.splitlines()]
    assert b"LD_PRELOAD" in names and b"FLOWTAP" in names and len(names) == len(set(names)), names
    (preload,) = [line for line in done.stdout.splitlines() if line.startswith(b"LD_PRELOAD=")]
    assert preload == b"LD_PRELOAD=" + os.fsencode(harness.PRELOAD)


def test_a_program_that_closes_everything_and_executes_itself(tap):
    """Also from sealed memory and without any environment: each image is there, and its descriptors have the numbers they would."""
    argv = [harness.program("reexec")]
    assert tap.plain(argv).same() == (0, b"", b"")
    (tap.work / "rounds").unlink()
    trace = tap.run(argv)
    assert (tap.work / "rounds").read_bytes() == 22 * b"round\n"
    rounds = trace.events(name="write", path=str(tap.work / "rounds"))
    assert len(rounds) == 22 and {e["fd"] for e in rounds} == {3} and len({e["pid"] for e in rounds}) == 1
    assert len(trace.processes()) == 22 and {g["kind"] for g in trace.gaps()} <= {"raw_syscall"}


FROM_A_THREAD = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_t first;
static int ends;
static void put(const char *name) { int fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0600); write(fd, "x", 1); close(fd); }
static void *go(void *how)
{
    int status;
    if (ends)
        pthread_join(first, NULL);
    put("thread");
    if (!strcmp(how, "fork")) {
        if (fork() == 0)
            put("child"), _exit(0);
        wait(&status);
        exit(status);
    }
    execl("/bin/cat", "cat", "thread", (char *)0);
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    int never[2];
    first = pthread_self();
    ends = argc > 2;
    put("main");
    pthread_create(&thread, NULL, go, argv[1]);
    if (ends)
        pthread_exit(NULL);
    pipe(never);
    read(never[0], &ends, sizeof ends); /* others may call while it is in one; calls without end would fill the ring */
    return 1;
}
"""


@pytest.mark.parametrize("ends", [[], ["ends"]], ids=["beside the first", "after the first"])
@pytest.mark.parametrize("how", ["exec", "fork"])
def test_from_a_thread_that_is_not_the_first(tap, how, ends):
    """The image that it becomes has the process's number, whoever of its threads has ended before."""
    program = tap.compiled("from_thread", FROM_A_THREAD, "-pthread")
    trace = tap.run([program, how, *ends], check="events" if ends else "sums")
    names = ["main", "thread"] + (["child"] if how == "fork" else [])
    assert {n: trace.file(tap.work / n)["written_bytes"] for n in names} == dict.fromkeys(names, 1)
    if how == "exec":
        assert trace.ran.stdout == b"x" and trace.image("/cat")["exit"]["code"] == 0
        assert trace.file(tap.work / "thread")["read_bytes"] == 1
    assert trace.gaps() == []
