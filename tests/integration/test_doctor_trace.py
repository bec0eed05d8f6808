# SPDX-License-Identifier: MIT
"""`flowtap doctor --trace`: what a trace lacks is explained; an empty run points there."""

import pytest

import harness
from doctor import compiled, doctor, line, run_text


def traced(tap, argv, **options):
    trace = tap.run(argv, **options)
    return trace, doctor("--trace", tap.folder / f"trace{tap.runs}")


def test_a_whole_trace_is_complete(tap):
    _, verdict = traced(tap, ["cat", "/etc/hostname"])
    assert verdict.status == 0 and "is complete" in verdict.of("ok", "trace")[0]["what"]
    done = run_text("--trace", tap.folder / "trace1")
    assert done.returncode == 0 and done.stdout.count(b"\n") == 1 and done.stderr == b""


def test_a_gap_is_explained(tap):
    path = compiled(tap, "static", "-static")
    _, verdict = traced(tap, ["sh", "-c", f"{path}; {path}; true"])
    said = verdict.problem("trace")
    assert str(path) in said and "gap static" in said and "2 times" in said


def test_a_cleaned_environment_is_explained(tap):
    _, verdict = traced(tap, ["sh", "-c", "env -i cat /etc/hostname; true"], options=["--no-follow-clean-env"])
    assert any("env_cleaned" in c["what"] for c in verdict.of("problem"))


def test_ignored_settings_of_a_trace_are_named(tap):
    env = {"FLOWTAP_TAGS": "a,b=1", "FLOWTAP_MODE": "loud", "FLOWTAP_INCLUDES": "/x"}
    _, verdict = traced(tap, ["cat", "/etc/hostname"], env=env)
    said = " ".join(line(c) for c in verdict.of("problem"))
    assert all(word in said for word in ("FLOWTAP_TAGS", "'a'", "FLOWTAP_MODE", "'loud'", "FLOWTAP_INCLUDES")), said
    assert verdict.document["settings_ignored"] == 2


def test_a_filter_that_matched_nothing_is_named(tap):
    _, verdict = traced(tap, ["cat", "/etc/hostname"], options=["--include", "/no/such/*"])
    said = " ".join(line(c) for c in verdict.of("problem"))
    assert "FLOWTAP_INCLUDE" in said and "/no/such" in said


def test_a_rule_about_functions_that_fits_no_span_is_named(tap):
    rules = "libz.so:zlibVersion,no_such;libzstd.so:ZSTD_compress*;libc.so.6:no_such"
    (tap.folder / "use.h").write_text("const char *zlibVersion(void);\n__attribute__((constructor)) static void use(void) {"
                                      " static volatile char c; c = zlibVersion()[0]; }\n")
    program = compiled(tap, "uses", "-include", str(tap.folder / "use.h"), "-lz")
    trace, verdict = traced(tap, [program], env={"FLOWTAP_FUNCTIONS": rules})
    said = [line(c) for c in verdict.of("note", "trace")]
    assert [e["name"] for e in trace.events(cat="libz.so")] == ["zlibVersion"]
    assert [[word in one for word in ("'libz.so'", "'libzstd.so'", "'libc.so.6'")] for one in said] == [
        [False, True, False], [False, False, True]]
    assert all("FLOWTAP_FUNCTIONS: no call of" in one for one in said)


def test_a_damaged_trace_and_one_cut(tap):
    trace = tap.run(["cat", "/etc/hostname"])
    path = next((tap.folder / "trace1").glob("*.flow"))
    whole = path.read_bytes()
    path.write_bytes(whole[:len(whole) // 2])
    assert any(str(path) in c["what"] for c in doctor("--trace", tap.folder / "trace1").of("problem")), trace
    for size in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:size])
        assert doctor("--trace", path).status == 1


@pytest.mark.parametrize("make,word", [
    (lambda p: p.mkdir(), "no trace file"),
    (lambda p: None, "No such file"),
    (lambda p: p.write_text("hello"), "not a Flowtap trace"),
    (lambda p: p.write_text(""), "empty"),
], ids=["an empty folder", "nothing", "another file", "an empty file"])
def test_a_path_without_a_trace(tap, make, word):
    path = tap.work / "x.flow"
    make(path)
    said = doctor("--trace", path).problem("trace")
    assert str(path) in said and word in said


def test_an_empty_run_points_to_doctor(tap):
    path = compiled(tap, "static", "-static")
    done = harness.call([harness.FLOWTAP, "run", "-o", tap.folder / "out", "--", path])
    lines = [row for row in done.stderr.decode().splitlines() if "flowtap doctor" in row]
    assert len(lines) == 1 and f"flowtap doctor -- {path}" in lines[0] and "0 events" in lines[0]
    assert "linked statically" in " ".join(c["what"] for c in doctor("--", path).checks)
