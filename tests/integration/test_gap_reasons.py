# SPDX-License-Identifier: MIT
"""Why a program that could be traced is not: its environment, limits, where it runs. And those that are late, or none at all."""

import os
import shutil
import signal
import subprocess

import pytest

import harness
from traced import Trace

# execv and its like take the program's own environment, which is cleaned by `cleared` and `unset`
CLEANED = [(way, how) for way in ("execve", "execvpe", "execle", "execveat", "fexecve", "posix_spawn", "posix_spawnp",
                                  "self-execve", "vfork-execve", "vfork-execvpe") for how in ("empty", "unset", "replaced")]
CLEANED += [(way, how) for way in ("execv", "execvp", "execl", "execlp", "system", "popen", "wordexp", "self-execv", "vfork-execvp")
            for how in ("cleared", "unset", "replaced")]
CLEANED += [(way, "null") for way in ("execve", "execvpe", "posix_spawn", "self-execve", "vfork-execve")]


@pytest.mark.parametrize("way,how", CLEANED)
def test_a_cleaned_environment_is_followed_or_a_gap(tap, way, how):
    argv = [harness.program("starter"), way, "/bin/true", how]
    trace = tap.run(argv)
    assert trace.gaps() == [] and trace.image("/true")
    trace = tap.run(argv, options=["--no-follow-clean-env"])
    exe = "/bin/sh" if way in ("system", "popen", "wordexp") else "/bin/true"
    assert [(g["kind"], g["exe"], g["count"]) for g in trace.gaps()] == [("env_cleaned", exe, 1)], trace.gaps()
    assert not [p for p in trace.processes() if p["exe"].endswith("/true")]


def test_a_wordexp_that_starts_nothing_is_no_gap(tap):
    code = ("import ctypes, os; os.environ.clear(); "
            "exit(ctypes.CDLL(None).wordexp(b'$((1 + 1)) /*', ctypes.create_string_buffer(64), 0))")
    trace = tap.run(["/usr/bin/python3", "-c", code], options=["--no-follow-clean-env"])
    assert trace.count(name="wordexp") == 1 and not trace.gaps("env_cleaned")


@pytest.mark.parametrize("how", ["kept", "empty"])
def test_an_exec_by_number_is_told(tap, how):
    """What the kernel is asked past libc is as it is; what it starts without the variables has a gap that speaks of it."""
    trace = tap.run([harness.program("starter"), "raw-execve", "/bin/true", how])
    assert [(g["kind"], os.path.basename(g["exe"]), g["count"]) for g in trace.gaps()] == [("raw_syscall", "starter", 1)]
    assert len([p for p in trace.processes() if p["exe"].endswith("/true")]) == (how == "kept")


def test_fexecve_without_a_list_fails_as_untraced(tap):
    argv = [harness.program("starter"), "fexecve", "/bin/true", "null"]
    status = tap.plain(argv).returncode
    assert tap.run(argv, status=status).gaps() == []


OTHERS = {
    "perl": ["perl", "-e", "%ENV = (); exit(system('/bin/cat', '/etc/hostname') >> 8)"],
    "env -u": ["env", "-u", "LD_PRELOAD", "/bin/cat", "/etc/hostname"],
    "make": ["sh", "-c", "printf 'unexport LD_PRELOAD FLOWTAP\\nall:\\n\\t@cat /etc/hostname\\n' > m; make -sf m"],
    "a cleaner": ["env", "-i", "PATH=/usr/bin:/bin", "HOME=/", "sh", "-c", "cat /etc/hostname; exit 0"],
    "python": ["/usr/bin/python3", "-c", "import os; os.environ.clear(); os.execv('/bin/cat', ['cat', '/etc/hostname'])"],
}


@pytest.mark.parametrize("who", OTHERS)
def test_programs_that_clean_the_environment(tap, who):
    harness.needs_program(OTHERS[who][0])
    trace = tap.run(OTHERS[who])
    assert trace.gaps() == [] and trace.file("/etc/hostname")["reads"] >= 1
    trace = tap.run(OTHERS[who], options=["--no-follow-clean-env"])
    assert [g["kind"] for g in trace.gaps()] == ["env_cleaned"], trace.gaps()


def test_the_daemons_key_leaves_environments_alone(tap):
    daemon = tap.daemon("follow_clean_env=no")
    daemon.call(["env", "-i", "/bin/true"])
    assert [(g["kind"], g["exe"]) for g in daemon.stop().gaps()] == [("env_cleaned", "/bin/true")]


@pytest.mark.parametrize("wish", ["FLOWTAP=0", "FLOWTAP=", "FLOWTAP_MODE=off"])
def test_tracing_turned_off_on_purpose_is_respected_and_told(tap, wish):
    script = f"import os; os.execve('/usr/bin/env', ['env'], dict(e.split('=', 1) for e in ['{wish}', 'A=1']))"
    trace = tap.run(["/usr/bin/python3", "-c", script])
    assert sorted(trace.ran.stdout.decode().split()) == sorted([wish, "A=1"])
    assert [(g["kind"], g["exe"]) for g in trace.gaps()] == [("env_cleaned", "/usr/bin/env")]
    assert "turns tracing off" in trace.gaps()[0]["reason"]


def test_what_is_put_back_leaves_the_rest_in_order_and_comes_once(tap):
    daemon = tap.daemon()
    given = ["B=2", "A=1", "LD_PRELOAD=", "C=3", "B=again", "EMPTY=", "NOEQUALS"]
    code = ("import ctypes, sys\nlibc = ctypes.CDLL(None)\n"
            "def arr(l): return (ctypes.c_char_p * (len(l) + 1))(*[s.encode() for s in l], None)\n"
            f"libc.execve(b'/bin/cat', arr(['cat', '/proc/self/environ']), arr({given!r}))")
    done = daemon.call(["/usr/bin/python3", "-c", code])
    seen = [e.decode() for e in done.stdout.split(b"\0")[:-1]]
    ours = [e for e in seen if e.startswith(("FLOWTAP", "LD_PRELOAD"))]
    assert [e for e in seen if e not in ours] == [e for e in given if not e.startswith("LD_PRELOAD")]
    assert seen.index(f"LD_PRELOAD={harness.PRELOAD}") == 2
    assert sorted(e.split("=")[0] for e in ours) == ["FLOWTAP", "FLOWTAP_SOCKET", "LD_PRELOAD"]


def test_an_environment_that_leaves_no_room_is_passed_as_it_is(tap):
    """Beside the largest list that the kernel takes there is no room for our variables."""
    script = """
import os, sys
def fits(n):
    pid = os.fork()
    if pid == 0:
        try:
            os.execve('/bin/true', ['true'], {f'V{i:06}': 'x' * 1000 for i in range(n)})
        except OSError:
            os._exit(9)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
low, high = 1, 8000
while high - low > 1:
    middle = (low + high) // 2
    low, high = (middle, high) if fits(middle) else (low, middle)
print(low)
for pad in range(0, 1020, 17):
    env = {f'V{i:06}': 'x' * 1000 for i in range(low)}
    env['P'] = 'y' * pad
    pid = os.fork()
    if pid == 0:
        try:
            os.execve('/bin/true', ['true'], env)
        except OSError:
            os._exit(9)
    os.waitpid(pid, 0)
"""
    plain = tap.plain(["/usr/bin/python3", "-c", script])
    trace = tap.run(["/usr/bin/python3", "-c", script], deadline=120)
    assert plain.returncode == 0 and abs(int(plain.stdout) - int(trace.ran.stdout)) <= 1
    assert {g["kind"] for g in trace.gaps()} <= {"env_cleaned"} and trace.gaps("env_cleaned"), trace.gaps()
    assert all(g["exe"] == "/bin/true" for g in trace.gaps())


def test_a_large_cleaned_list_in_a_thread_with_a_small_stack(tap):
    trace = tap.run([harness.program("small_stack_spawn"), "3000"])
    assert trace.gaps() == [] and len([p for p in trace.processes() if p["exe"].endswith("/true")]) == 3


# ---- limits

LIMITED = {
    "before the exec": (["prlimit", "-n4:4", "cat", "text"], "/usr/bin/cat"),
    "in a shell": (["sh", "-c", "ulimit -n 4; cat text; true"], "/usr/bin/cat"),
    "file size": (["sh", "-c", "ulimit -f 1; cat text; true"], "/usr/bin/cat"),
}


@pytest.mark.parametrize("how", LIMITED)
def test_limits_that_keep_an_image_away(tap, how):
    (tap.work / "text").write_text("text\n")
    argv, exe = LIMITED[how]
    trace = tap.run(argv)
    assert trace.ran.stdout == b"text\n"
    assert [(g["kind"], os.path.realpath(g["exe"]), g["count"]) for g in trace.gaps()] == [("rlimit", exe, 1)], trace.gaps()


def test_limits_that_keep_a_forked_child_away(tap):
    code = ("import os, resource as r\nopen_before = [os.open('/dev/null', 0) for i in range(3)]\n"
            "r.setrlimit(r.RLIMIT_NOFILE, (open_before[-1] + 2, open_before[-1] + 2))\n"
            "for i in range(3):\n    if os.fork() == 0:\n        os._exit(0)\n    os.wait()\n")
    trace = tap.run(["/usr/bin/python3", "-c", code])
    assert [(g["kind"], g["count"]) for g in trace.gaps()] == [("rlimit", 1)] * 3, trace.gaps()
    assert len({g["pid"] for g in trace.gaps()}) == 3


def test_limits_that_do_no_harm_are_no_gap(tap):
    trace = tap.run(["sh", "-c", "ulimit -n 64; ulimit -v 4000000; ulimit -S -f 1; cat /etc/hostname; popen() { :; }; sh -c 'cat /etc/hostname'"])
    assert trace.gaps() == [] and len([p for p in trace.processes() if p["exe"].endswith("/cat")]) == 2


# ---- where it runs

def root_folder(tap):
    harness.needs(os.geteuid() == 0, "chroot needs root")
    root = tap.work / "root"
    root.mkdir()
    script = ('for f in /bin/cat $(ldd /bin/cat | grep -o "/[^ ]*"); do mkdir -p root$(dirname $f) && cp -L $f root$f; done; '
              "echo inside > root/text")
    assert tap.plain(["sh", "-c", script]).returncode == 0
    return root


@pytest.mark.parametrize("cleaned", ["", "env -i "])
def test_a_root_without_the_library(tap, cleaned):
    root = root_folder(tap)
    trace = tap.run(["sh", "-c", f"{cleaned}{shutil.which('chroot')} {root} /bin/cat /text; true"])
    assert trace.ran.stdout == b"inside\n"
    assert [(g["kind"], g["count"]) for g in trace.gaps()] == [("container", 1)], trace.gaps()
    assert trace.gaps()[0]["exe"] in ("/bin/cat", f"{root}/bin/cat")


def test_variables_are_not_put_back_where_the_library_is_not(tap):
    root = root_folder(tap)
    code = (f"import os; os.chroot('{root}'); os.chdir('/'); "
            "os.execve('/bin/cat', ['cat', '/text', '/proc/self/environ'], {'A': '1'})")
    trace = tap.run(["/usr/bin/python3", "-c", code], status=1)
    assert trace.ran.stdout == b"inside\n" and b"LD_PRELOAD" not in trace.ran.stderr.split(b"\n")[0]
    assert [g["kind"] for g in trace.gaps()] == ["container"]


def test_a_mount_over_the_library(tap):
    harness.needs(os.geteuid() == 0, "mounting needs root")
    harness.needs(tap.plain(["unshare", "-m", "true"]).returncode == 0, "no mount namespaces here")
    library = tap.folder / "lib"
    library.mkdir()
    shutil.copy(harness.PRELOAD, library)
    daemon = tap.daemon()
    script = f"mount -t tmpfs none {library}; cat /etc/hostname 2>/dev/null; umount {library}; cat /etc/hostname"
    done = daemon.call(["unshare", "-m", "sh", "-c", script], env={"LD_PRELOAD": library / harness.PRELOAD.name})
    assert done.stdout == b"".join([open("/etc/hostname", "rb").read()] * 2)
    gaps = [(g["kind"], os.path.basename(g["exe"]), g["count"]) for g in daemon.stop().gaps()]
    assert gaps == [("container", "cat", 1), ("container", "umount", 1)] or sorted(gaps) == sorted(
        [("container", "cat", 1), ("container", "umount", 1)]), gaps


def test_a_static_program_in_a_pid_namespace(tap):
    harness.needs(os.geteuid() == 0, "a pid namespace needs root")
    (tap.work / "hello.c").write_text("int main(void) { return 0; }\n")
    harness.needs(tap.plain(["gcc", "-static", "-o", "hello", "hello.c"]).returncode == 0, "gcc -static does not work here")
    trace = tap.run(["unshare", "-pf", "sh", "-c", "cat /etc/hostname; ./hello; (cat /etc/hostname; ./hello); sh -c 'cat /etc/hostname; exit 0'"])
    assert {(g["kind"], g["exe"]) for g in trace.gaps()} == {("static", str(tap.work / "hello"))}, trace.gaps()
    assert sum(g["count"] for g in trace.gaps()) == 2


def test_a_socket_that_another_user_cannot_reach(tap):
    harness.needs(os.geteuid() == 0, "becoming another user needs root")
    harness.needs_program("setpriv")
    trace = tap.run(["setpriv", "--reuid=65534", "--clear-groups", "/bin/cat", "/etc/hostname"])
    assert [(g["kind"], g["exe"]) for g in trace.gaps()] == [("not_attached", "/bin/cat")]
    assert "socket" in trace.gaps()[0]["reason"]


# ---- when it is told

def test_refused_processes_are_told_at_once_and_survive_the_daemon(tap):
    daemon = tap.daemon("max_processes=1", "block_after_end=50ms")
    first = subprocess.Popen(["sh", "-c", "read x; true"], env=daemon.env(), stdin=subprocess.PIPE)
    try:
        def gaps():
            trace = Trace(daemon.spool, harness.read_command)
            return trace.gaps("not_admitted") if trace.flow_files() else []
        harness.wait_until("the first process", lambda: list(daemon.spool.rglob("*.flow")))
        for _ in range(3):
            assert daemon.call(["cat", "/etc/hostname"]).returncode == 0
        harness.wait_until("its gaps", lambda: sum(g["count"] for g in gaps()) == 3)
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
        assert sum(g["count"] for g in gaps()) == 3 and all(g["pid"] for g in gaps())
    finally:
        first.stdin.close()
        first.wait()


def test_a_static_program_that_runs_on_is_told_while_it_runs(tap):
    (tap.work / "wait.c").write_text("#include <unistd.h>\nint main(void) { char c; return (int)read(0, &c, 1); }\n")
    harness.needs(tap.plain(["gcc", "-static", "-o", "wait", "wait.c"]).returncode == 0, "gcc -static does not work here")
    for script in ("./wait; true", "exec ./wait"):
        daemon = tap.daemon()
        process = subprocess.Popen(["sh", "-c", script], env=daemon.env(), stdin=subprocess.PIPE, cwd=tap.work)
        try:
            def told():
                trace = Trace(daemon.spool, harness.read_command)
                return trace.flow_files() and [(g["kind"], g["count"]) for g in trace.gaps()] == [("static", 1)]
            harness.wait_until("the gap", told)
        finally:
            process.stdin.close()
            process.wait()
        assert [(g["kind"], g["count"]) for g in daemon.stop().gaps()] == [("static", 1)], script


LATE = """
static long call(long number, const void *a, long b, long c)
{
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
__attribute__((constructor)) static void wait_for_end(void)
{
    char byte;
    long fd = call(2, "gate", 0, 0);
    call(0, (const void *)fd, (long)&byte, 1);
}
"""


@pytest.mark.parametrize("way", ["posix_spawn", "vfork-execv", "self-execv", "execv"])
def test_a_program_that_is_late_is_no_gap(tap, way):
    """A library that starts before ours holds it up, until the daemon has looked for it in vain."""
    harness.needs(os.uname().machine == "x86_64", "written for x86-64")
    (tap.work / "late.c").write_text(LATE)
    assert tap.plain(["gcc", "-shared", "-fPIC", "-o", "late.so", "late.c"]).returncode == 0
    (tap.work / "slow.c").write_text("int main(void) { return 6; }\n")
    assert tap.plain(["gcc", "-o", "slow", "slow.c", "-Wl,--no-as-needed,-rpath,.", "./late.so"]).returncode == 0
    os.mkfifo(tap.work / "gate")
    daemon = tap.daemon()
    process = subprocess.Popen([harness.program("starter"), way, "./slow"], env=daemon.env(), cwd=tap.work)
    gate = os.open(tap.work / "gate", os.O_WRONLY)  # waits until the program is there
    try:
        daemon.call(["/bin/true"])
        harness.wait_until("the records of another", lambda: ended(daemon, "/true") == 1)
        daemon.call(["sleep", "1.5"])
        harness.wait_until("one that took longer than the daemon's patience", lambda: ended(daemon, "/sleep") == 1)
    finally:
        os.close(gate)
        assert process.wait(harness.DEADLINE_S) == 6
    trace = daemon.stop()
    assert trace.gaps() == [] and trace.image("/slow")


def ended(daemon, exe):
    trace = Trace(daemon.spool, harness.read_command)
    return len([p for p in trace.processes() if (p["exe"] or "").endswith(exe) and p["end"]]) if trace.flow_files() else 0


# ---- ordinary trees

TREES = {
    "make -j8": ["sh", "-c", "i=0; while [ $i -lt 24 ]; do echo \"int f$i(void) { return $i; }\" > f$i.c; o=\"$o f$i.o\"; i=$((i+1)); done; "
                 "printf 'all: %s\\n\\tar rcs lib.a %s\\n%%.o: %%.c\\n\\tgcc -c -o $@ $<\\n' \"$o\" \"$o\" > m; make -s -j8 -f m"],
    "git clone": ["sh", "-c", "git init -q a && cd a && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && cd .. && "
                  "git clone -q file://$PWD/a b && git -C b log --format=%s"],
    "pools": ["/usr/bin/python3", "-c", "import multiprocessing as m\nif __name__ == '__main__':\n"
              "    for s in 'fork', 'spawn', 'forkserver':\n        with m.get_context(s).Pool(4) as p:\n"
              "            p.map(abs, range(40)); p.close(); p.join()"],
    "threads": ["/usr/bin/python3", "-c", "import concurrent.futures as c, subprocess as s\nwith c.ThreadPoolExecutor(8) as p:\n"
                "    list(p.map(lambda i: s.run(['cat', '/etc/hostname'], capture_output=True), range(40)))"],
    "pipes": ["bash", "-c", "for i in 1 2 3 4 5 6 7 8; do seq 1000 | sort -r | head -n 3 | (cat; true) > /dev/null & done; wait; "
              "find / -maxdepth 1 -exec true {} +; echo a b c | xargs -n1 -P3 echo | sort"],
    "perl": ["perl", "-e", "for (1 .. 9) { my $x = `cat /etc/hostname`; system('true'); if (!fork) { exec 'cat', '/etc/hostname' } wait }"],
}


@pytest.mark.parametrize("tree", TREES)
def test_ordinary_trees_have_no_gaps(tap, tree):
    harness.needs_program(TREES[tree][0])
    assert tap.run(TREES[tree], deadline=180, env={"GIT_CONFIG_GLOBAL": "/dev/null"}).gaps() == []
