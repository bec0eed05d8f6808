# SPDX-License-Identifier: MIT
"""`flowtap doctor` of an environment: each fault has its line, what is well has none."""

import os
import signal
import subprocess

import pytest

import harness
from doctor import doctor, run_text, with_service


def test_a_fresh_machine_needs_one_line_for_the_service_and_one_for_the_try(tap):
    harness.needs(not os.path.exists("/run/flowtap/flowtapd.sock"), "a Flowtap service runs on this machine")
    done = run_text(cwd=tap.work)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0 and done.stderr == b""
    assert [word.split(":")[0] for word in lines if "clock" not in word] == ["note", "ok"], lines
    assert "`flowtap run` needs none" in lines[0] and "events, in" in lines[-1]
    assert os.listdir(tap.work) == []


def test_all_is_well_with_a_daemon(tap):
    _, env = with_service(tap)
    verdict = doctor(env=env, cwd=tap.work)
    assert verdict.status == 0 and verdict.stderr == b""
    names = [c["name"] for c in verdict.of("ok")]
    assert {"kernel", "daemon", "library", "preload", "socket", "policy", "filters", "attached", "try"} <= set(names)


def test_text_and_json_say_the_same(tap):
    env = harness.clean_environment(FLOWTAP_MODE="loud", FLOWTAP_TAGS="a,b=1")
    words = doctor("--", "sh", env=env)
    lines = run_text("-v", "--", "sh", env=env).stdout.decode().splitlines()
    told = {f"{c['severity']}: {c['name']}: {c['what']}" + (f"; {c['advice']}" if c["advice"] else "") for c in words.checks}

    def steady(texts):  # names of temporary folders and what is left on the disk differ
        return sorted(t for t in texts if not t.startswith(("ok: work", "ok: output", "note: output")))
    assert steady(lines) == steady(told)
    assert lines[0].startswith("problem: ")


@pytest.mark.parametrize("words", [["--nonsense"], ["--trace"], ["--trace", ""], ["--trace", "x", "--", "ls"],
                                   ["--trace", "x", "-o", "y"], ["--", ""]])
def test_wrong_usage(words):
    done = run_text(*words)
    assert done.returncode == 2 and done.stdout == b"" and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("changes,name,words", [
    ({"LD_PRELOAD": None}, "environment", ["LD_PRELOAD does not name the library", str(harness.PRELOAD)]),
    ({"FLOWTAP": None}, "environment", ["FLOWTAP is not set", "set FLOWTAP=1"]),
    ({"FLOWTAP": "0"}, "environment", ["FLOWTAP is 0"]),
    ({"FLOWTAP": ""}, "environment", ["FLOWTAP is empty"]),
    ({"FLOWTAP": "yes"}, "settings", ["'yes'", "neither 0 nor 1"]),
    ({"FLOWTAP_MODE": "off"}, "settings", ["FLOWTAP_MODE=off", "unset it"]),
    ({"FLOWTAP_MODE": "loud"}, "settings", ["'loud'", "trace, profile, off"]),
    ({"FLOWTAP_TAGS": "a=1,b,=c"}, "settings", ["2 of 3 words", "'b'", "key=value"]),
    ({"FLOWTAP_TAGS": ",".join(f"k{i}=v" for i in range(70))}, "settings", ["6 of 70", "more than 64"]),
    ({"FLOWTAP_INCLUDES": "/x"}, "names", ["FLOWTAP_INCLUDES", "is FLOWTAP_INCLUDE meant?"]),
    ({"FLOTAP": "1"}, "names", ["FLOTAP", "is FLOWTAP meant?"]),
    ({"flowtap_job": "x"}, "names", ["flowtap_job", "is FLOWTAP_JOB meant?"]),
    ({"FLOWTAP_INCLUDE": "nodir/*"}, "filters", ["cannot match", "there is no folder"]),
    ({"FLOWTAP_INCLUDE": "~/data/*"}, "filters", ["cannot match", "~ and variables are the shell's"]),
    ({"FLOWTAP_INCLUDE": "/no/a*,/no/b*"}, "filters", ["cannot match", "colons, not commas"]),
    ({"FLOWTAP_INCLUDE": "/etc/"}, "filters", ["names the folder alone", "/*"]),
    ({"FLOWTAP_INCLUDE": "/etc/../etc/*"}, "filters", ["`..`"]),
    ({"FLOWTAP_INCLUDE": "/etc/*", "FLOWTAP_EXCLUDE": "/e*"}, "filters", ["cover all"]),
    ({"FLOWTAP_EXCLUDE": "/*"}, "filters", ["cover every path"]),
    ({"FLOWTAP_FUNCTIONS": "libc.so.6:f;libx"}, "settings", ["1 of 2 rules ignored", "'libx'"]),
    ({"FLOWTAP_FUNCTIONS": ";".join(["libc.so.6:f"] * 33)}, "settings", ["1 of 33", "more than 32"]),
    ({"FLOWTAP_LEVELS": "all"}, "settings", ["FLOWTAP_LEVELS='all' is ignored"]),
    ({"FLOWTAP_EXCLUDE": ":".join(f"/etc/{i}*" for i in range(33))}, "filters", ["'/etc/32*'", "more than 32"]),
    ({"LD_PRELOAD": "/no/libflowtap-preload.so"}, "preload", ["/no/libflowtap-preload.so", "No such file", str(harness.PRELOAD)]),
    ({"LD_PRELOAD": "libflowtap-preload.so"}, "preload", ["without a path"]),
])
def test_an_environment_with_one_fault_has_one_problem(tap, changes, name, words):
    _, env = with_service(tap, **changes)
    said = doctor(env=env, cwd=tap.work).problem(name)
    assert all(word in said for word in words), said


@pytest.mark.parametrize("changes,name,words", [
    ({"LD_PRELOAD": f"{harness.PRELOAD}:{harness.PRELOAD}"}, "preload", ["2 times"]),
    ({"LD_PRELOAD": f"{harness.PRELOAD} /no/other.so"}, "preload", ["/no/other.so", "No such file"]),
    ({"FLOWTAP_JOB": "j" * 300}, "settings", ["cut after 200 of its 300 bytes"]),
    ({"FLOWTAP_DEBUG": "1"}, "settings", ["FLOWTAP_DEBUG"]),
    ({"FLOWTAP_TAGS": ",,"}, "settings", ["holds no tag"]),
    ({"FLOWTAP_FUNCTIONS": ";"}, "settings", ["holds no rule"]),
    ({"FLOWTAP_FUNCTIONS": "libno_such.so:f*"}, "settings", ["'libno_such.so'", "usually"]),
    ({"FLOWTAP_FUNCTIONS": "libc.so.6:[[:alpha:]]sort"}, "settings", ["has no function '[[:alpha:]]sort'"]),  # no classes in it
    ({"FLOWTAP_FUNCTIONS": "libc.so.6:no_such_*,nor_this"}, "settings", ["libc.so.6 has no function 'no_such_*,nor_this'", "nm -D"]),
    ({"FLOWTAP_LEVELS": "0"}, "settings", ["no spans of MPI-IO"]),
    ({"FLOWTAP_INCLUDE": ":::"}, "filters", ["FLOWTAP_INCLUDE holds no pattern"]),
    ({"FLOWTAP_EXCLUDE": "/no/such/*"}, "filters", ["FLOWTAP_EXCLUDE", "cannot match"]),
    ({"FLOWTAP_INCLUDE": "/etc/*:/etc/hostname", "FLOWTAP_EXCLUDE": "/etc/host*"}, "filters", ["1 of the 2"]),
    ({"FLOWTAP_INCLUDE": "later.dat"}, "filters", ["not there yet"]),
    ({"FLOWTAP_SPELL": "1"}, "names", ["FLOWTAP_SPELL"]),
])
def test_what_is_only_good_to_know_is_a_note(tap, changes, name, words):
    _, env = with_service(tap, **changes)
    said = doctor(env=env, cwd=tap.work).note(name)
    assert all(word in said for word in words), said


ODD = [b"", b" ", b",", b"a,b", b"x" * 10_000, b"\xff\xfe=\xff", b":::", b"===", b"/", b"%s%n%d", b"a\nb=c", b"-1",
       b"/a:" * 40, b"k=v," * 70, b"/" + b"x" * 98, b"/" + b"x" * 99, b"off ", b"Trace", b"profile", b"1", b"01",
       b"/" + b"y" * 4094, b"c=l:f;=l:f;c=:f;l:;l:,;:f;;", b"l:*;" * 40, b"/" + b"y" * 4095, b"y" * 4090, b"a=b" * 6000]


@pytest.mark.parametrize("variable", ["FLOWTAP_JOB", "FLOWTAP_WORKFLOW", "FLOWTAP_TAGS", "FLOWTAP_INCLUDE",
                                      "FLOWTAP_EXCLUDE", "FLOWTAP_MODE", "FLOWTAP_DEBUG", "FLOWTAP_FUNCTIONS",
                                      "FLOWTAP_LEVELS"])
def test_what_doctor_says_is_ignored_is_what_the_recorder_counts(tap, variable):
    daemon = tap.daemon()
    said = []
    for number, value in enumerate(ODD):
        env = {os.fsencode(k): os.fsencode(v) for k, v in daemon.env().items()}
        env[variable.encode()] = value
        # with a command nothing is tried: quicker, and the same settings
        verdict = doctor("--", "true", env=env, cwd=tap.work)
        said.append(verdict.document["settings_ignored"])
        if said[-1]:
            assert any(variable in c["what"] for c in verdict.of("problem")), value[:20]
        assert harness.call(["cat", "/dev/null", f"{number}.mark"], cwd=tap.work, env=env).returncode == 1
    counted = {p["argv"][2]: p["settings_ignored"] for p in daemon.stop().processes() if p["exe"].endswith("/cat")}
    assert counted == {f"{i}.mark": n for i, n in enumerate(said)}


@pytest.mark.parametrize("value", ODD, ids=lambda v: ascii(v[:12]))
def test_a_socket_that_doctor_says_is_ignored_is_ignored(tap, value):
    env = {os.fsencode(k): os.fsencode(v) for k, v in harness.clean_environment(
        LD_PRELOAD=harness.PRELOAD, FLOWTAP="1", FLOWTAP_DEBUG="1").items()} | {b"FLOWTAP_SOCKET": value}
    ignored = doctor("--", "true", env=env).document["settings_ignored"]
    assert ignored == harness.call(["true"], env=env).stderr.count(b"FLOWTAP_SOCKET cannot be used")


def test_a_variable_for_which_there_is_no_room_is_named(tap):
    _, env = with_service(tap, FLOWTAP_JOB="j" * 16000, FLOWTAP_WORKFLOW="w" * 1000)
    verdict = doctor("--", "true", env=env, cwd=tap.work)
    assert any("room for 16384 bytes" in c["what"] for c in verdict.of("problem", "settings")), verdict.checks


def test_what_is_made_for_the_try_goes_again(tap):
    env = harness.clean_environment(XDG_RUNTIME_DIR=tap.work)
    assert doctor(env=env).status == 0
    assert os.listdir(tap.work) == []


def test_doctor_under_a_pipe_that_closes(tap):
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reader.wait()
    done = subprocess.run([str(harness.FLOWTAP), "doctor"], stdout=reader.stdin, stderr=subprocess.PIPE,
                          env=harness.clean_environment(), timeout=harness.DEADLINE_S)
    reader.stdin.close()
    assert done.returncode in (1, -signal.SIGPIPE)
