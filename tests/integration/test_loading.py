# SPDX-License-Identifier: MIT
"""Other libraries beside ours: allocators that write, plugins that skip preloads, sanitizers, many objects."""

import os
import pathlib
import shutil

import pytest

import harness

PLUGIN = r"""
#include <fcntl.h>
#include <unistd.h>
long plugin(const char *name)
{
    char b[64];
    int fd = open(name, O_RDONLY);
    long n = read(fd, b, sizeof b);
    close(fd);
    return n;
}
"""

LOADER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
int main(int argc, char **argv)
{
    void *so = dlopen(argv[1], RTLD_NOW | (argc > 3 ? RTLD_DEEPBIND : 0));
    long (*plugin)(const char *) = (long (*)(const char *))dlsym(so, "plugin");
    return (int)plugin(argv[2]);
}
"""


@pytest.mark.parametrize("deep", [False, True], ids=["plain", "deepbind"])
def test_a_plugin_is_recorded_or_the_trace_says_that_it_is_not(tap, deep):
    plugin = tap.compiled("plugin.so", PLUGIN, "-shared", "-fPIC")
    loader = tap.compiled("loader", LOADER)
    (tap.work / "text").write_text("x" * 33)
    trace = tap.run([loader, plugin, tap.work / "text", *(["deep"] if deep else [])], status=33)
    seen = [e for e in trace.events(name="read") if e.get("path") == str(tap.work / "text")]
    if deep and not seen:
        assert trace.gaps("deepbind"), trace.summary()["gaps"]
    else:
        assert [e["result"] for e in seen] == [33]


ONE_OF_MANY = """
#include <unistd.h>
static int (*table[8])(const char *, int) = {access, access, access, access, access, access, access, access};
__attribute__((constructor)) static void call(void) { table[7]("/nowhere", 0); }
"""


def test_a_program_of_three_hundred_shared_objects_started_a_hundred_times(tap):
    made = tap.compiled("libmany000.so", ONE_OF_MANY, "-shared", "-fPIC", "-Wl,-z,relro,-z,now,-soname,libmany000.so")
    for i in range(1, 300):  # the same object under its own name, which has the same length
        (tap.folder / f"libmany{i:03}.so").write_bytes(made.read_bytes().replace(b"libmany000.so", b"libmany%03d.so" % i))
    program = tap.compiled("many", "int main(void) { return 6; }\n", after=[
        f"-L{tap.folder}", "-Wl,--no-as-needed,-z,relro,-z,now", f"-Wl,-rpath,{tap.folder}",
        *(f"-lmany{i:03}" for i in range(300))])
    assert tap.plain([program]).same() == (6, b"", b"")
    script = f"for i in $(seq 100); do {program}; [ $? = 6 ] || exit 1; done"
    trace = tap.run(["sh", "-c", script], deadline=120)
    started = [p for p in trace.processes() if p["exe"] == str(program)]
    assert len(started) == 100 and all(p["events"] == 300 for p in started)
    assert trace.count(name="access", path="/nowhere") == 300 * 100


@pytest.mark.parametrize("argv", [["getent", "passwd", "root"], ["ls", "-l", "/"], ["bash", "-c", "exec 5<&-; cat 6<&- /etc/hostname | cat"],
                                  ["/usr/bin/python3", "-S", "-c", "import os; os.closerange(3, 40)"]], ids=lambda argv: argv[0])
def test_no_call_fails_that_would_not_untraced(tap, argv):
    """A program may take a close that fails for the end of the world. What it closes itself without need, we ask the name of
    (statx), which nobody sees."""
    harness.needs_program("strace")
    daemon, bad = tap.daemon(), []
    for env in (harness.clean_environment(), daemon.env()):
        log = tap.folder / f"log{len(bad)}"
        words = [f"-E{key}={env[key]}" for key in ("FLOWTAP", "FLOWTAP_SOCKET", "LD_PRELOAD") if key in env]
        done = harness.call(["strace", "-f", "-o", log, *words, *argv], cwd=tap.work)
        assert done.returncode == 0, done.stderr
        bad.append(sum(" = -1 EBADF" in line and "statx" not in line for line in log.read_text().splitlines()))
    assert bad[0] == bad[1]
    assert daemon.stop().summary()["processes"] > 0


@pytest.mark.parametrize("what", ["apparmor", "permission"])
def test_a_library_that_must_not_be_mapped(tap, what):
    """By a profile, or because its file cannot be read: ld.so's line, and the program as it is."""
    harness.needs(os.geteuid() == 0, "another user needs root")
    profiles = pathlib.Path("/sys/kernel/security/apparmor/profiles")
    harness.needs(what != "apparmor" or (profiles.exists() and "lessopen" in profiles.read_text()),
                  "AppArmor has no profile of lessopen here")
    library = tap.folder / "libflowtap-preload.so"
    shutil.copy(harness.PRELOAD, library)
    library.chmod(0o755 if what == "apparmor" else 0o700)
    os.chmod(tap.folder, 0o755)
    daemon = tap.daemon()
    argv = ["less", "/etc/hostname"] if what == "apparmor" else ["cat", "/etc/hostname"]
    user = {} if what == "apparmor" else {"user": 65534, "group": 65534}
    plain = harness.call(argv, **user)
    done = harness.call(argv, env=daemon.env(LD_PRELOAD=library), **user)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert all(line.startswith(b"ERROR: ld.so: object") for line in done.stderr.splitlines()[:1]), done.stderr
    assert done.stderr.splitlines()[1:] == plain.stderr.splitlines()


def test_stat_is_counted_once_beside_fakeroot(tap):
    harness.needs_program("fakeroot")
    (tap.work / "f").write_text("")
    trace = tap.run(["fakeroot", "/usr/bin/python3", "-S", "-E", "-c", "import os; os.stat('f'); os.lstat('f')"])
    names = [e["name"] for e in trace.events() if e.get("path") == str(tap.work / "f")]
    assert sorted(names) in (["lstat", "stat"], ["lstat64", "stat64"], ["__lxstat64", "__xstat64"]), names


def test_nothing_that_flowtap_does_is_in_the_trace(tap):
    """A build starts the processes that strace sees, no more, and no call is on a file of ours."""
    harness.needs_program("strace")
    (tap.work / "Makefile").write_text("all: $(patsubst %.c,%,$(wildcard *.c))\n%: %.c\n\t@gcc -O1 -o $@ $<\n")
    for i in range(6):
        (tap.work / f"p{i}.c").write_text(f"int main(void) {{ return {i}; }}\n")
    argv, log = ["make", "-j4", "-s", "all"], tap.folder / "strace"
    strace = ["strace", "-ff", "-q", "-s", "300", "-e", "trace=execve", "-o", log]
    assert harness.call([*strace, *argv], cwd=tap.work).returncode == 0
    logs = list(tap.folder.glob("strace.*"))  # one of each process
    execs = [line for one in logs for line in one.read_text().splitlines() if line.endswith(" = 0")]
    programs = {os.path.basename(line.split("[")[1].split('"')[1]) for line in execs}
    for i in range(6):
        (tap.work / f"p{i}").unlink()
    trace = tap.run(argv)
    assert len({p["pid"] for p in trace.processes()}) == len(logs) >= 1 + 6 * 5
    assert {os.path.basename(p["argv"][0]) for p in trace.processes()} == programs
    # The tree may be called flowtap, too, and gcc asks whether $PWD is where it is.
    ours = [f["path"] for f in trace.files() if f["path"] != os.environ.get("PWD") and
            ("flowtap" in os.path.basename(f["path"]) or f["path"].startswith(str(trace.path)))]
    assert not ours and not trace.gaps("not_attached"), ours
