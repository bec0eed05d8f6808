# SPDX-License-Identifier: MIT
"""`flowtap doctor -- COMMAND`: what cannot be started or recorded is said, and nothing is run."""

import json
import os
import pathlib
import platform
import shutil

import pytest

import harness
from doctor import compiled, doctor


def script(tap, text, mode=0o755):
    path = tap.work / "script"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_an_ordinary_command_is_not_run(tap):
    mark = tap.work / "mark"
    verdict = doctor("--", "touch", mark)
    assert verdict.status == 0 and not mark.exists()
    assert verdict.of("ok", "command") and not verdict.of("ok", "try")


@pytest.mark.parametrize("command,words", [
    ("no-such-program", ["in no folder of PATH"]),
    ("/no/such/program", ["No such file"]),
    ("ls -l", ["words separately"]),
    ("/bin/ls -l", ["words separately"]),
    ("cd", ["of the shell"]),
    ("/etc", ["is a folder", "--trace"]),
    ("/etc/passwd", ["not executable", "chmod"]),
    ("/dev/null", ["no file that can be executed"]),
    ("/etc/passwd/x", ["Not a directory"]),
    ("x" * 5000, ["in no folder"]),
    ("/" + "x" * 5000, ["File name too long"]),
    (".", ["of the shell"]),
])
def test_a_command_that_cannot_be_started(command, words):
    said = doctor("--", command).problem("command")
    assert all(word in said for word in words), said


def test_a_path_that_is_not_set_or_empty(tap):
    for value, word in (("", "which is empty"), ("/no:/such", "/no:/such")):
        assert word in doctor("--", "ls", env=harness.clean_environment(PATH=value), cwd=tap.work).problem("command")


def test_a_file_in_path_that_is_not_executable(tap):
    script(tap, "x", 0o644)
    said = doctor("--", "script", env=harness.clean_environment(PATH=tap.work)).problem("command")
    assert str(tap.work / "script") in said and "not executable" in said


@pytest.mark.parametrize("text,words", [
    ("#!/no/such/interpreter\n", ["/no/such/interpreter", "No such file"]),
    ("#!/bin/sh\r\ntrue\r\n", ["carriage return", "dos2unix"]),
    ("#!/usr/bin/env python9\n", ["python9", "finds no such program"]),
    ("#!/usr/bin/env python3\r\n", ["carriage return"]),
    ("#!\n", ["names no interpreter"]),
    ("", ["is empty"]),
    ("\x7fELF", ["damaged"]),
])
def test_a_script_that_cannot_be_started(tap, text, words):
    path = script(tap, text)
    said = doctor("--", path).problem("command")
    assert str(path) in said and all(word in said for word in words), said


def test_a_script_that_can_be_started(tap):
    for text in ("#!/bin/sh\n", "#! /usr/bin/env sh\n", "#!/usr/bin/env -S sh -e\n"):
        assert doctor("--", script(tap, text)).of("ok", "command")


def test_a_text_without_an_interpreter_is_the_shells(tap):
    assert "/bin/sh runs it" in doctor("--", script(tap, "echo x\n")).note("command")


def test_a_script_that_runs_itself(tap):
    path = tap.work / "script"
    assert "follows 5 of them" in doctor("--", script(tap, f"#!{path}\n")).problem("command")


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie"]], ids=" ".join)
def test_a_static_program(tap, flags):
    path = compiled(tap, "static", *flags)
    said = doctor("--", path).problem("command")
    assert str(path) in said and "linked statically" in said and "gap static" in said
    wrapped = script(tap, f"#!{path}\n")
    said = doctor("--", wrapped).problem("command")
    assert str(path) in said and f"runs the script {wrapped}" in said


def test_a_program_of_32_bits(tap):
    assert "i386" in doctor("--", compiled(tap, "small", "-m32")).problem("command")


def patched(tap, name, offset, value, *flags):
    path = compiled(tap, name, *flags)
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(value)
    return path


def test_a_program_of_another_machine(tap):
    assert "riscv" in doctor("--", patched(tap, "other", 18, b"\xf3\x00")).problem("command")


def test_a_program_for_musl(tap):
    path = compiled(tap, "musl", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
    said = doctor("--", path).problem("command")
    assert "/lib/ld-musl-x86_64.so.1" in said and "glibc" in said


def test_a_loader_that_is_not_there(tap):
    path = compiled(tap, "lost", "-Wl,--dynamic-linker=/no/lib/ld-linux-x86-64.so.2")
    said = doctor("--", path).problem("command")
    assert "/no/lib/ld-linux-x86-64.so.2" in said and "No such file" in said


def test_a_library_is_no_program(tap):
    path = compiled(tap, "shared", "-shared", "-fPIC", "-Wl,-soname,libx.so")
    assert "no program" in doctor("--", path).problem("command")


def test_a_sanitized_program(tap):
    path = compiled(tap, "sane", "-fsanitize=address")
    assert doctor("--", path).of("ok", "command")
    own = "const char *__asan_default_options(void);\nconst char *__asan_default_options(void) { return \"\"; }\n"
    (tap.folder / "own.h").write_text(own)
    path = compiled(tap, "own", "-fsanitize=address", "-include", str(tap.folder / "own.h"))
    said = doctor("--", path).problem("command")
    assert "libasan" in said and "refuses to start" in said
    assert tap.run([path], status=None, check="it never starts").ran.returncode != 0  # it is as doctor says
    first = said.split("set LD_PRELOAD=")[1].split(",")[0]
    env = harness.clean_environment(LD_PRELOAD=first)
    assert doctor("--", path, env=env).of("ok", "command")
    assert tap.run([path], env={"LD_PRELOAD": first}).image("/own")


def test_functions_that_are_linked_into_the_command(tap):
    archive = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-gnu/libz.a")
    harness.needs(archive.exists(), "zlib1g-dev is not installed")
    (tap.folder / "use.h").write_text("const char *zlibVersion(void);\nint use(void);\nint use(void) { return zlibVersion()[0]; }\n")
    env = harness.clean_environment(FLOWTAP_FUNCTIONS="libz.so:zlibV*;libc.so.6:qsort")
    include = ["-include", str(tap.folder / "use.h")]
    said = doctor("--", compiled(tap, "linked", *include, str(archive)), env=env).note("command")
    assert "'zlibVersion' in itself" in said
    assert not doctor("--", compiled(tap, "shared", *include, "-lz"), env=env).of("note", "command")


def test_instrumented_functions_that_nothing_records(tap):
    path, library = compiled(tap, "instrumented", "-finstrument-functions"), harness.BUILD / "lib/libflowtap-functions.so"
    assert "-lflowtap-functions" in doctor("--", path).note("command")
    preloaded = doctor("--", path, env=harness.clean_environment(LD_PRELOAD=library))
    linked = doctor("--", compiled(tap, "linked", "-finstrument-functions", f"-L{library.parent}", "-lflowtap-functions"))
    assert not preloaded.of("note", "command") and not linked.of("note", "command")


def test_a_program_with_more_rights(tap):
    harness.needs(os.geteuid() == 0, "set-user-ID files of another user need root")
    path = compiled(tap, "rights")
    os.chmod(tap.folder, 0o755)
    for owner, mode, word in ((65534, 0o4755, "set-user-ID"), (65534, 0o2755, "set-group-ID")):
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        said = doctor("--", path).problem("command")
        assert str(path) in said and word in said and "secure_exec" in said
    os.chown(path, 0, 0)
    os.chmod(path, 0o4755)
    assert doctor("--", path).status == 0  # it changes nothing for who is that user


def test_no_new_privileges_make_set_user_id_harmless(tap):
    harness.needs(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    path = compiled(tap, "rights")
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    done = harness.call(["setpriv", "--no-new-privs", harness.FLOWTAP, "doctor", "--", path])
    assert done.returncode == 0, done.stdout


def test_file_capabilities(tap):
    harness.needs(os.geteuid() == 0 and shutil.which("setcap"), "needs root and setcap")
    path = compiled(tap, "capable")
    for parent in (tap.folder, tap.work):
        os.chmod(parent, 0o755)
    done = harness.call(["setcap", "cap_net_raw+ep", path])
    harness.needs(done.returncode == 0, f"setcap: {done.stderr.decode()}")
    assert doctor("--", path).status == 0  # root has them anyway
    verdict = doctor("--", path, user=65534, group=65534, extra_groups=[], cwd="/tmp")
    found = verdict.of("problem", "command")
    assert len(found) == 1 and "file capabilities" in found[0]["what"], verdict.checks


def test_odd_names_stay_on_one_line(tap):
    for name in (b"a\nb", b"\x1b[31m", b"\xff\xfe", b"%s%n"):
        path = os.fsencode(tap.work) + b"/" + name
        done = harness.call([harness.FLOWTAP, "doctor", "--", os.fsdecode(path)])
        lines = [row for row in done.stdout.splitlines() if b"command" in row]
        assert done.returncode == 1 and len(lines) == 1 and b"\x1b" not in done.stdout
        document = harness.call([harness.FLOWTAP, "doctor", "--json", "--", os.fsdecode(path)]).stdout
        assert [c for c in json.loads(document)["checks"] if c["name"] == "command"]
