# SPDX-License-Identifier: MIT
"""`flowtap doctor` of broken installations, of limits, of folders that cannot be written to."""

import json
import os
import resource
import shutil

import pytest

import harness
from doctor import doctor


@pytest.fixture
def copied(tap):
    """An installation of its own, to be broken."""
    for folder in ("bin", "lib"):
        (tap.folder / "opt" / folder).mkdir(parents=True)
    for path in (harness.FLOWTAP, harness.FLOWTAPD):
        shutil.copy(path, tap.folder / "opt/bin" / path.name)
    shutil.copy(harness.PRELOAD, tap.folder / "opt/lib" / harness.PRELOAD.name)
    return tap.folder / "opt"


def doctor_of(copied, *words, **options):
    done = harness.call([copied / "bin/flowtap", "doctor", "--json", *words], **options)
    checks = json.loads(done.stdout)["checks"]
    problems = [c for c in checks if not c["ok"]]
    assert done.returncode == bool(problems)
    return problems


def test_a_copied_installation_is_well(copied):
    assert doctor_of(copied) == []


def cut(path, size):
    os.truncate(path, size)


@pytest.mark.parametrize("change,name,words", [
    (lambda o: (o / "lib/libflowtap-preload.so").unlink(), "library", ["cannot find libflowtap-preload.so"]),
    (lambda o: (o / "bin/flowtapd").unlink(), "daemon", ["flowtapd", "No such file"]),
    (lambda o: (o / "bin/flowtapd").chmod(0o644), "daemon", ["flowtapd", "Permission denied"]),
    (lambda o: shutil.copy("/bin/true", o / "bin/flowtapd"), "daemon", ["flowtapd", "says"]),
    (lambda o: shutil.copy("/bin/false", o / "bin/flowtapd"), "daemon", ["flowtapd", "does not run"]),
    (lambda o: cut(o / "lib/libflowtap-preload.so", 0), "library", ["empty"]),
    (lambda o: cut(o / "lib/libflowtap-preload.so", 100), "library", ["damaged"]),
    (lambda o: cut(o / "lib/libflowtap-preload.so", 9000), "library", ["the library", "load"]),
    (lambda o: (o / "lib/libflowtap-preload.so").write_text("text"), "library", ["no library"]),
    (lambda o: shutil.copy(harness.BUILD / "lib/libflowtap.so", o / "lib/libflowtap-preload.so"), "library",
     ["not Flowtap's recorder"]),
], ids=["no library", "no daemon", "daemon not executable", "daemon is another program", "daemon fails", "empty library",
        "library cut in its head", "library cut", "library is text", "another library"])
def test_a_broken_installation(copied, change, name, words):
    change(copied)
    problems = doctor_of(copied)
    assert [c["name"] for c in problems] == [name], problems
    assert all(word in problems[0]["what"] for word in words) and problems[0]["advice"], problems


def test_a_library_of_another_machine(copied):
    library = copied / "lib/libflowtap-preload.so"
    with open(library, "r+b") as file:
        file.seek(18)
        file.write(b"\xf3\x00")
    assert "another architecture" in doctor_of(copied)[0]["what"]


def test_a_library_of_another_version(copied):
    """The number that it gives is at the symbol's place."""
    library = copied / "lib/libflowtap-preload.so"
    listed = harness.call(["nm", "-D", library]).stdout.decode()
    at = next(int(row.split()[0], 16) for row in listed.splitlines() if row.endswith("flowtap_shim_version"))
    with open(library, "r+b") as file:
        file.seek(at)  # read-only data lie in the file where they are in memory
        harness.needs(file.read(4) == (100).to_bytes(4, "little"), "the symbol's place in the file is another one")
        file.seek(at)
        file.write((20304).to_bytes(4, "little"))
    assert "version 2.3.4" in doctor_of(copied)[0]["what"]


def test_a_file_system_without_exec(copied, tap):
    harness.needs(os.geteuid() == 0, "mounting needs root")
    (tap.folder / "lib").mkdir()
    shutil.move(copied / "lib/libflowtap-preload.so", tap.folder / "lib/kept.so")
    script = (f"mount -t tmpfs -o noexec none {copied}/lib && cp {tap.folder}/lib/kept.so "
              f"{copied}/lib/libflowtap-preload.so && exec {copied}/bin/flowtap doctor --json")
    done = harness.call(["unshare", "-m", "sh", "-c", script])
    harness.needs(done.stdout, f"no mount namespace: {done.stderr.decode()}")
    problems = [c for c in json.loads(done.stdout)["checks"] if not c["ok"]]
    assert [c["name"] for c in problems] == ["library"] and "noexec" in problems[0]["what"], problems


def limited(**limits):
    def apply():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, name), (value, value))
    return apply


@pytest.mark.parametrize("limits,name,word", [
    ({"RLIMIT_NOFILE": 4}, "limits", "files may be open"),
    ({"RLIMIT_FSIZE": 1 << 20}, "limits", "1.00 MiB"),
], ids=["files", "size"])
def test_a_limit_that_lets_nothing_attach(limits, name, word):
    verdict = doctor("--", "true", preexec_fn=limited(**limits))
    assert word in verdict.problem(name)


def test_a_limit_of_which_the_rest_follows_has_one_problem():
    for limits in ({"RLIMIT_NOFILE": 4}, {"RLIMIT_FSIZE": 10240}):
        doctor(preexec_fn=limited(**limits)).problem("limits")


def test_limits_that_let_through_what_is_needed_are_notes():
    assert "a trace neither" in doctor(preexec_fn=limited(RLIMIT_FSIZE=1 << 30)).note("limits")
    assert "nothing is tried" in doctor(preexec_fn=limited(RLIMIT_NOFILE=6)).note("limits")


def test_no_proc(tap):
    harness.needs(os.geteuid() == 0, "unmounting needs root")
    done = harness.call(["unshare", "-m", "sh", "-c", f"umount -l /proc && exec {harness.FLOWTAP} doctor --json"])
    harness.needs(done.stdout, f"no mount namespace: {done.stderr.decode()}")
    problems = [c for c in json.loads(done.stdout)["checks"] if not c["ok"]]
    assert [c["name"] for c in problems] == ["sandbox"] and "mount it" in problems[0]["advice"], problems


def test_a_preload_for_everybody(tap):
    harness.needs(os.geteuid() == 0, "mounting needs root")
    script = (f"mount -t tmpfs none {tap.work} && cd {tap.work} && mkdir u w && mount -t overlay "
              f"-o lowerdir=/etc,upperdir={tap.work}/u,workdir={tap.work}/w none /etc && "
              f"echo {harness.PRELOAD} > /etc/ld.so.preload && {harness.FLOWTAP} doctor --json -- true && "
              f"LD_PRELOAD={harness.PRELOAD} FLOWTAP=1 {harness.FLOWTAP} doctor -- true")
    done = harness.call(["unshare", "-m", "sh", "-c", script])
    harness.needs(done.stdout, f"no mount namespace with an overlay: {done.stderr.decode()}")
    first, _, text = done.stdout.decode().partition("\n}\n")
    document = json.loads(first + "}")
    assert any(c["name"] == "environment" and "for everybody" in c["what"] for c in document["checks"])
    assert document["ok"] and "2 times (LD_PRELOAD 1, /etc/ld.so.preload 1)" in text


def test_a_small_address_space_is_a_note():
    harness.needs(harness.BUILD.name not in ("asan", "tsan"), "a sanitized program needs more address space")
    verdict = doctor(preexec_fn=limited(RLIMIT_AS=200 << 20))
    assert "address space" in verdict.note("limits") and verdict.of("ok", "try")


def test_a_folder_that_cannot_be_written_to(tap):
    harness.needs(shutil.which("unshare") and os.geteuid() == 0, "a read-only mount needs root")
    script = f"mount -t tmpfs -o ro none {tap.work} && exec {harness.FLOWTAP} doctor --json -o {tap.work}/new/trace -- true"
    done = harness.call(["unshare", "-m", "sh", "-c", script])
    harness.needs(done.stdout, f"no mount namespace: {done.stderr.decode()}")
    problems = [c for c in json.loads(done.stdout)["checks"] if not c["ok"]]
    assert [c["name"] for c in problems] == ["output"] and "Read-only" in problems[0]["what"], problems


def test_an_output_that_is_a_file(tap):
    (tap.work / "file").write_text("")
    assert str(tap.work / "file") in doctor("-o", tap.work / "file", "--", "true").problem("output")


def test_a_full_disk(tap):
    harness.needs(shutil.which("unshare") and os.geteuid() == 0, "mounting needs root")
    script = f"mount -t tmpfs -o size=1m none {tap.work} && exec {harness.FLOWTAP} doctor --json -o {tap.work} -- true"
    done = harness.call(["unshare", "-m", "sh", "-c", script])
    harness.needs(done.stdout, f"no mount namespace: {done.stderr.decode()}")
    problems = [c for c in json.loads(done.stdout)["checks"] if not c["ok"]]
    assert [c["name"] for c in problems] == ["output"] and "left" in problems[0]["what"], problems


def test_no_folder_for_the_socket():
    harness.needs(os.geteuid() == 0, "a read-only mount needs root")
    script = (f"mount -t tmpfs none /mnt && mkdir /mnt/bin /mnt/lib && cp {harness.FLOWTAP} {harness.FLOWTAPD} /mnt/bin && "
              f"cp {harness.PRELOAD} /mnt/lib && mount -t tmpfs -o ro none /tmp && exec /mnt/bin/flowtap doctor --json -o /mnt")
    done = harness.call(["unshare", "-m", "sh", "-c", script], cwd="/",
                        env=harness.clean_environment(TMPDIR=None, XDG_RUNTIME_DIR=None))
    harness.needs(done.stdout, f"no mount namespace: {done.stderr.decode()}")
    problems = [c for c in json.loads(done.stdout)["checks"] if not c["ok"]]
    assert [c["name"] for c in problems] == ["work"] and "TMPDIR" in problems[0]["advice"], problems
