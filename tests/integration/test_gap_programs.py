# SPDX-License-Identifier: MIT
"""Programs that the library cannot be loaded into, started in every way: each is one gap with its name and the reason."""

import json
import os
import shutil

import pytest

import harness
from traced import Trace

HELLO = "int main(void) { return 6; }\n"
KINDS = {
    "static": ("static", ["gcc", "-static"]),
    "static-pie": ("static", ["gcc", "-static-pie"]),
    "musl-static": ("static", ["musl-gcc", "-static"]),
    "musl": ("foreign_elf", ["musl-gcc"]),
    "i386": ("foreign_elf", ["gcc", "-m32"]),
    "i386-static": ("foreign_elf", ["gcc", "-m32", "-static"]),
}
EXECS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "execveat", "execveat-fd", "fexecve")
WAYS = (*EXECS, "posix_spawn", "posix_spawnp", "system", "popen", *(f"vfork-{e}" for e in EXECS), *(f"self-{e}" for e in EXECS))


def made(tap, kind):
    """A program of that kind in the test's folder that returns 6."""
    (tap.work / "hello.c").write_text(HELLO)
    command = KINDS[kind][1]
    harness.needs_program(command[0])
    done = tap.plain([*command, "-o", "hello", "hello.c"])
    harness.needs(done.returncode == 0, f"{' '.join(command)} does not work here")
    harness.needs(tap.plain(["./hello"]).returncode == 6, f"a program of {' '.join(command)} does not run here")
    return tap.work / "hello"


def only_gap(trace, kind, exe):
    found = [(g["kind"], g["exe"] and os.path.realpath(g["exe"]), g["count"]) for g in trace.gaps()]
    assert found == [(kind, str(exe), 1)], trace.gaps()
    assert trace.gaps()[0]["reason"]
    return trace.gaps()[0]


@pytest.mark.parametrize("way", WAYS)
def test_a_static_program_by_every_way(tap, way):
    program = made(tap, "static")
    trace = tap.run([harness.program("starter"), way, "./hello"], status=6)
    assert only_gap(trace, "static", program)["pid"]


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "static"])
@pytest.mark.parametrize("way", ["execve", "posix_spawn", "system", "self-execvp", "vfork-execve"])
def test_other_kinds(tap, kind, way):
    program = made(tap, kind)
    trace = tap.run([harness.program("starter"), way, "./hello"], status=6)
    only_gap(trace, KINDS[kind][0], program)


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_itself(tap, kind):
    program = made(tap, kind)
    trace = tap.run(["./hello"], status=6)
    only_gap(trace, KINDS[kind][0], program)
    assert KINDS[kind][0].encode() in trace.ran.stderr


def test_a_program_that_is_removed_soon(tap):
    """Its file says what it was while there is one; that it is gone is no sign of another root."""
    program = made(tap, "static")
    daemon = tap.daemon()
    assert daemon.call(["sh", "-c", "./hello; exit $?"], cwd=tap.work).returncode == 6

    def is_read_out():
        done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", daemon.socket])
        return json.loads(done.stdout)["gauges"]["processes"] == 0
    harness.wait_until("what its parent recorded to be read", is_read_out)
    program.unlink()
    only_gap(daemon.stop(), "static", program)


def test_a_program_that_removes_itself(tap):
    """Nobody can look at it then, but for a moment, and nothing is guessed."""
    (tap.work / "gone.c").write_text("#include <unistd.h>\nint main(int n, char **v) { return n && unlink(v[0]) ? 1 : 6; }\n")
    assert tap.plain(["gcc", "-static", "-o", "gone", "gone.c"]).returncode == 0
    trace = tap.run(["sh", "-c", "./gone; exit $?"], status=6)
    assert not (tap.work / "gone").exists()
    (gap,) = trace.gaps()
    assert gap["exe"] == str(tap.work / "gone")
    assert gap["kind"] == "static" or (gap["kind"], gap["reason"]) == ("not_attached", "did not attach, and its file is gone")


def test_a_go_program(tap):
    harness.needs_program("go")
    (tap.work / "hello.go").write_text("package main\nimport \"os\"\nfunc main() { os.Exit(6) }\n")
    env = harness.clean_environment(CGO_ENABLED=0, GOCACHE=tap.folder / "go", GOFLAGS="-mod=mod", GO111MODULE="off")
    assert tap.plain(["go", "build", "-o", "hello", "hello.go"], env=env, deadline=120).returncode == 0
    only_gap(tap.run(["sh", "-c", "./hello; exit $?"], status=6), "static", tap.work / "hello")


STARTERS = {
    "bash": ["bash", "-c", "./hello; exit $?"],
    "bash, in the background": ["bash", "-c", "./hello & wait $!; exit $?"],
    "bash, in $()": ["bash", "-c", "echo $(./hello); exit 6"],
    "sh, instead of itself": ["sh", "-c", "exec ./hello"],
    "sh, in another folder": ["sh", "-c", "mkdir -p d; cd d; ../hello; exit $?"],
    "python, vfork": ["/usr/bin/python3", "-c", "import subprocess, sys; sys.exit(subprocess.run('./hello').returncode)"],
    "python, fork": ["/usr/bin/python3", "-c",
                     "import subprocess, sys; sys.exit(subprocess.run('./hello', preexec_fn=lambda: None).returncode)"],
    "python, in a folder": ["/usr/bin/python3", "-c", "import subprocess, sys, os; os.mkdir('d'); "
                            "sys.exit(subprocess.run('../hello', cwd='d').returncode)"],
    "python, posix_spawn": ["/usr/bin/python3", "-c", "import os, sys; p = os.posix_spawn('./hello', ['h'], os.environ); "
                            "sys.exit(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))"],
    "perl": ["perl", "-e", "exit(system('./hello') >> 8)"],
    "make": ["sh", "-c", "printf 'all:\\n\\t./hello\\n' > m; make -sf m 2>/dev/null; exit 6"],
    "env": ["env", "./hello"],
    "xargs": ["sh", "-c", "echo | xargs ./hello; exit 6"],
    "timeout": ["timeout", "60", "./hello"],
}


@pytest.mark.parametrize("starter", STARTERS)
def test_started_by_programs(tap, starter):
    harness.needs_program(STARTERS[starter][0])
    program = made(tap, "static")
    only_gap(tap.run(STARTERS[starter], status=6), "static", program)


@pytest.mark.parametrize("starter", ["execvp", "execvpe", "execlp", "posix_spawnp", "vfork-execvp", "self-execvp", "env"])
def test_a_name_that_path_leads_to(tap, starter):
    program = made(tap, "static")
    (tap.work / "bin").mkdir()
    shutil.move(program, tap.work / "bin/only-here")
    argv = ["env", "only-here"] if starter == "env" else [harness.program("starter"), starter, "only-here"]
    path = f"/absent:{tap.work}/bin:{os.environ['PATH']}"
    only_gap(tap.run(argv, status=6, env={"PATH": path}), "static", tap.work / "bin/only-here")


@pytest.mark.parametrize("line", ["#!{}/hello", "#! {}/hello argument", "#!./hello"])
@pytest.mark.parametrize("way", ["execve", "execvp", "posix_spawn", "self-execve", "vfork-execve", "system", "command"])
def test_a_script_of_such_an_interpreter(tap, line, way):
    made(tap, "static")
    script = tap.work / "script"
    script.write_text(line.format(tap.work) + "\n")
    script.chmod(0o755)
    argv = ["./script"] if way == "command" else [harness.program("starter"), way, "./script"]
    only_gap(tap.run(argv, status=6), "static", script)


def test_each_start_is_counted(tap):
    made(tap, "static")
    trace = tap.run(["sh", "-c", "for i in 1 2 3 4 5; do ./hello; done; exit 0"])
    assert [(g["kind"], g["count"]) for g in trace.gaps()] == [("static", 1)] * 5
    assert len({g["pid"] for g in trace.gaps()}) == 5


HIDDEN = """
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int status = 0;
    if (argv[1][0] != 'f' || fork() == 0) {
        execv(argv[2], argv + 2);
        _exit(9);
    }
    wait(&status);
    return argc < 3;
}
"""


@pytest.mark.parametrize("how", ["exec", "fork"])
@pytest.mark.parametrize("start", ["./hidden {} /bin/cat /etc/hostname; true", "exec ./hidden {} /bin/cat /etc/hostname"])
def test_what_a_static_program_starts_is_seen_and_itself_is_a_gap(tap, how, start):
    (tap.work / "hidden.c").write_text(HIDDEN)
    made_it = tap.plain(["gcc", "-static", "-o", "hidden", "hidden.c"])
    harness.needs(made_it.returncode == 0, "gcc -static does not work here")
    trace = tap.run(["sh", "-c", start.format(how)])
    only_gap(trace, "static", tap.work / "hidden")
    assert trace.image("/cat")
    trace = tap.run(["./hidden", how, "/bin/cat", "/etc/hostname"])
    only_gap(trace, "static", tap.work / "hidden")
    assert trace.image("/cat")


def test_an_elf_that_the_kernel_refuses_is_no_gap(tap):
    harness.needs_program("aarch64-linux-gnu-gcc")
    (tap.work / "hello.c").write_text(HELLO)
    assert tap.plain(["aarch64-linux-gnu-gcc", "-o", "other", "hello.c"]).returncode == 0
    harness.needs(tap.plain([harness.program("starter"), "execve", "./other"]).returncode == 91, "programs of aarch64 run here")
    for way, status in (("execve", 91), ("posix_spawn", 95), ("vfork-execve", 91), ("self-execve", 91)):
        assert tap.run([harness.program("starter"), way, "./other"], status=status).gaps() == [], way


@pytest.mark.parametrize("way", [w for w in WAYS if w not in ("system", "popen") and "-fd" not in w and "fexecve" not in w])
def test_a_failed_start_is_no_gap(tap, way):
    trace = tap.run([harness.program("starter"), way, "/absent/program"], status=95 if "spawn" in way else 91)
    assert trace.gaps() == []


def set_up_cat(tap, how):
    path = tap.work / "cat-copy"
    shutil.copy("/bin/cat", path)
    if how == "setuid":
        os.chown(path, 65534, -1)
        os.chmod(path, 0o4755)
    elif how == "setgid":
        os.chown(path, -1, 65534)
        os.chmod(path, 0o2755)
    else:
        harness.needs_program("setcap")
        harness.needs(tap.plain(["setcap", "cap_net_raw+ep", path]).returncode == 0, "setcap does not work here")
    return path


@pytest.mark.parametrize("how", ["setuid", "setgid"])
@pytest.mark.parametrize("way", ["./cat-copy text; true", "exec ./cat-copy text", "command"])
def test_programs_that_run_as_somebody_else(tap, how, way):
    harness.needs(os.geteuid() == 0, "making such a program needs root")
    path = set_up_cat(tap, how)
    (tap.work / "text").write_text("text\n")
    trace = tap.run(["./cat-copy", "text"] if way == "command" else ["sh", "-c", way])
    assert trace.ran.stdout == b"text\n"
    only_gap(trace, "secure_exec", path)


def test_file_capabilities(tap):
    """They change nothing for root, so this is run by another user."""
    harness.needs(os.geteuid() == 0, "setcap and another user need root")
    path = set_up_cat(tap, "capabilities")
    os.chmod(tap.folder, 0o777)
    os.chmod(tap.work, 0o777)
    flowtap = [harness.FLOWTAP, "run", "-o", tap.work / "t", "--", "sh", "-c", f"{path} /etc/hostname; true"]
    done = harness.call(flowtap, user=65534, group=65534, extra_groups=[], cwd=tap.work)
    harness.needs(done.returncode != 1, "another user cannot run what was built here")
    gaps = Trace(tap.work / "t", harness.read_command).gaps()
    assert [(g["kind"], g["exe"]) for g in gaps] == [("secure_exec", str(path))]


def test_a_set_user_id_program_of_ones_own_is_traced(tap):
    path = tap.work / "cat-copy"
    shutil.copy("/bin/cat", path)
    os.chmod(path, 0o4755)
    trace = tap.run([path, "/etc/hostname"])
    assert trace.gaps() == [] and trace.file("/etc/hostname")["reads"]


def test_reports_show_gaps(tap):
    program = made(tap, "static")
    trace = tap.run(["sh", "-c", "./hello; true"])
    for command in ("summary", "processes"):
        text = harness.read_command(command, trace.path).stdout.decode()
        assert "static" in text and str(program) in text, text
        done = harness.read_command(command, "--json", trace.path)
        assert b'"static"' in done.stdout and str(program).encode() in done.stdout


def test_a_loader_that_is_executed_is_not_static(tap):
    loader = next((p for p in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(p)), None)
    harness.needs(loader, "no loader where it is looked for")
    trace = tap.run(["sh", "-c", f"{loader} /bin/cat /etc/hostname; exec {loader} /bin/cat /etc/hostname"])
    assert trace.gaps() == [] and trace.file("/etc/hostname")["reads"] >= 2
    assert tap.run([loader, "/bin/cat", "/etc/hostname"]).gaps() == []
