# SPDX-License-Identifier: MIT
"""A file in which very much is missing: gaps, drops of each cause, and damage are told exactly, in a few lines."""

import json
import re

import pytest

import frames
import harness
from reading import COMMANDS, on, read_all
from test_schemas import check
from traced import CAUSES

GAPS, DAMAGES, LINES_MAX = 1024, 100_000, 1100
BLOCKS, LISTED = 3000, 1000
KINDS = 15
GAP_NAMES = ("not_attached", "not_admitted", "sandbox", "rlimit", "static", "secure_exec", "foreign_elf", "env_cleaned", "container",
             "io_uring", "raw_syscall", "deepbind", "clone_shared", "still_running", "daemon_stopped")


@pytest.fixture(scope="module")
def parts():
    tap = harness.Tap()
    (path,) = tap.run(["sh", "-c", "cat /etc/hostname > f; ls"]).flow_files()
    yield frames.take_apart(path.read_bytes())
    tap.finish(keep=False)


def test_a_thousand_gaps(tap, parts):
    tables = frames.message(2)()
    for i in range(GAPS):
        tables.gaps.add(kind=1 + i % KINDS, pid=100_000 + i, count=1 + i % 3, exe=b"/bin/p%d" % i, reason=b"why %d" % i)
    path = tap.folder / "gaps.flow"
    path.write_bytes(frames.put_together(parts, frames.put(2, tables)))
    results = read_all(path)
    assert all(done.returncode == (name.split()[0] == "doctor") for name, done in results.items()), results
    summary = json.loads(results["summary --json"].stdout)
    times = sum(1 + i % 3 for i in range(GAPS))
    assert len(summary["gaps"]) == GAPS and sum(gap["count"] for gap in summary["gaps"]) == times
    assert len({gap["kind"] for gap in summary["gaps"]}) == KINDS
    for words in COMMANDS:
        if words[0] not in ("verify", "info") and "--quick" not in words:
            told = results[" ".join(words)]
            assert b"1,024 gaps" in told.stdout + told.stderr or words[0] in ("processes", "doctor", "diff"), words
    assert all(results[name].stdout.count(b"\n") < 100 for name in ("summary", "files", "timeline", "diagnose", "diff", "doctor"))
    doctor = [line for line in results["doctor"].stdout.decode().splitlines() if line.startswith("problem")]
    shown = sum(int(count) for line in doctor for count in re.findall(r"\(gap \w+, (\d+) times", line))
    (rest,) = re.findall(r"([\d,]+) more programs were not seen \(([\d,]+) times\)", results["doctor"].stdout.decode())
    assert (len(doctor) - 1 + int(rest[0]), shown + int(rest[1].replace(",", ""))) == (GAPS, times)
    assert results["processes"].stdout.count(b" why ") == GAPS  # the list of them


def with_gaps(tap, parts, gaps):
    tables = frames.message(2)()
    for gap in gaps:
        tables.gaps.add(**gap)
    path = tap.folder / "gaps.flow"
    path.write_bytes(frames.put_together(parts, frames.put(2, tables)))
    return path


def rows_of(command, path):
    text = harness.read_command(*command, path).stdout.decode()
    return [re.sub(r"  +", "  ", line.strip()) for line in text.splitlines() if "/bin/" in line and ("why" in line or "GAP" in line)]


@pytest.mark.parametrize("kind, name", enumerate(GAP_NAMES, 1))
def test_each_kind_is_shown_with_program_and_reason(tap, parts, kind, name):
    """A program that was run a hundred times has one line of `summary`, and hides no other there."""
    gaps = [{"kind": kind, "pid": 1000 + i, "count": 2, "exe": b"/bin/often", "reason": b"why often"} for i in range(100)]
    gaps.append({"kind": kind, "pid": 7, "count": 1, "exe": b"/bin/once", "reason": b"why once"})
    path = with_gaps(tap, parts, gaps)
    for command in (["summary"], ["summary", "--quick"]):
        assert sorted(rows_of(command, path)) == [f"{name}: /bin/often, why often (200 times)", f"{name}: /bin/once, why once"], command
    rows = rows_of(["processes"], path)
    assert f"{name}  7  1  /bin/once  why once" in rows and f"{name}  1099  2  /bin/often  why often" in rows and len(rows) == 101
    for command in ("summary", "processes"):
        told = json.loads(harness.read_command(command, "--json", path).stdout)["gaps"]
        assert {(g["kind"], g["exe"], g["reason"]) for g in told} == {(name, "/bin/often", "why often"), (name, "/bin/once", "why once")}
        assert sum(g["count"] for g in told) == 201


def test_what_of_many_programs_has_no_line_in_the_summary_is_said(tap, parts):
    path = with_gaps(tap, parts, [{"kind": 5, "pid": 100 + i, "count": 1, "exe": b"/bin/p%d" % (i % 9), "reason": b"why"} for i in range(90)])
    assert [row.split()[1] for row in rows_of(["summary"], path)] == [f"/bin/p{i}," for i in range(8)]
    assert b"... (`flowtap processes` shows all)" in harness.read_command("summary", path).stdout


def test_a_hundred_thousand_small_damages(tap, parts):
    path = tap.folder / "damages.flow"
    path.write_bytes(frames.put_together(parts, (b"abc" + frames.put(2, frames.message(2)())) * DAMAGES))
    results = read_all(path)
    for name, done in results.items():
        assert done.returncode == (name.split()[0] in ("verify", "doctor")), (name, done)
        assert done.stdout.count(b"\n") <= LINES_MAX and done.stderr.count(b"\n") <= 2, name  # diff tells of each side
    (file,) = json.loads(results["verify --json"].stdout)["files"]
    assert sum(problem["count"] for problem in file["problems"]) == file["problems_found"] == DAMAGES
    rows = re.findall(r"damage: bytes that are no whole frame, at byte \d+, 3 bytes(?:, ([\d,]+) of them)?", results["verify"].stdout.decode())
    assert sum(int(count.replace(",", "") or 1) if count else 1 for count in rows) == DAMAGES
    assert json.loads(results["summary --json"].stdout)["missing"] == 0


def test_thousands_of_damaged_blocks(tap, parts):
    """Found when they are decoded, those of the reader among the ones that are listed."""
    head, data = next((content, data) for kind, content, data in parts if kind == 3)
    damaged = bytearray(frames.put(3, head, data))
    damaged[-len(data) // 2] ^= 0xff
    path = tap.folder / "blocks.flow"
    path.write_bytes(frames.put_together(parts, b"abc" + frames.put(2, frames.message(2)()) + bytes(damaged) * BLOCKS))
    done = on(["verify", "--json"], path)
    told = json.loads(done.stdout)
    check("verify", told)
    (file,), what = told["files"], "a block of events cannot be read"
    assert done.returncode == 1 and not file["ok"] and file["problems_found"] == 1 + BLOCKS
    assert len(file["problems"]) == LISTED and sum(problem["what"] == what for problem in file["problems"]) == LISTED - 1
    text = on(["verify"], path)
    *rows, last = [row for row in text.stdout.decode().splitlines() if row.startswith(f"  damage: {what}")]
    assert text.returncode == 1 and len(rows) == LISTED - 1 and last == f"  damage: {what}, {1 + BLOCKS - LISTED:,} more"


@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_of_a_drop_is_told(tap, parts, cause):
    """Emitted, stored and dropped, whichever cause it was."""
    path = tap.folder / "dropped.flow"
    parts = [(kind, type(content).FromString(content.SerializeToString()), data) for kind, content, data in parts]
    changed = [process for kind, tables, _ in parts if kind == 2 for process in tables.processes if process.emitted]
    last = changed[-1]
    del last.dropped[:]
    last.dropped.extend([1234 if one == cause else 0 for one in CAUSES])
    last.emitted += 1234
    path.write_bytes(frames.put_together(parts))
    summary = json.loads(on(["summary", "--json"], path).stdout)
    assert summary["dropped_by_cause"] == {**dict.fromkeys(CAUSES, 0), cause: 1234}
    assert summary["events"] == summary["stored"] + 1234 and summary["missing"] == 0 and summary["stored"] > 0
    check("summary", summary)
    text = on(["summary"], path).stdout.decode()
    (seen,) = re.findall(r"^Processes .* ([\d,]+) events$", text, re.M)
    (line,) = re.findall(r"^Not seen .*$", text, re.M)
    assert seen == f"{summary['events']:,}" and "1,234 events dropped" in line and cause in line, text
    doctor = on(["doctor"], path)
    assert doctor.returncode == 1 and f"({cause})".encode() in doctor.stdout
    assert on(["verify"], path).returncode == 0


PROCESSES = 1500


def test_thousands_of_accounts_that_do_not_balance(tap, parts):
    tables = frames.message(2)()
    parts = [(kind, type(content).FromString(content.SerializeToString()), data) for kind, content, data in parts]
    known = [process for kind, content, _ in parts if kind == 2 for process in content.processes]
    for i in range(PROCESSES):
        one = tables.processes.add()
        one.CopyFrom(known[-1])
        one.id, one.pid, one.segment, one.emitted = 100 + i, 100_000 + i, (1 << 40) + i, 3
        del one.dropped[:]
    path = tap.folder / "accounts.flow"
    path.write_bytes(frames.put_together(parts, frames.put(2, tables)))
    done = on(["verify", "--json"], path)
    told = json.loads(done.stdout)
    check("verify", told)
    assert done.returncode == 1 and not told["ok"]
    assert told["accounts_found"] == PROCESSES and [a["pid"] for a in told["accounts"]] == list(range(100_000, 100_000 + LISTED))
    text = on(["verify"], path).stdout.decode()
    assert len(re.findall(r"^process \d+: emitted 3, but 0 events", text, re.M)) == LISTED
    assert f"\nand {PROCESSES - LISTED} processes more do not add up\n" in text


def test_thousands_of_files_that_are_none(tap):
    """Beside a trace, in the folder that is read."""
    trace = tap.run(["true"])
    for i in range(PROCESSES):
        (trace.path / f"none-{i}.flow").write_bytes(b"none")
    done = on(["verify", "--json"], trace.path)
    told = json.loads(done.stdout)
    check("verify", told)
    assert done.returncode == 1 and told["unreadable_found"] == PROCESSES and len(told["unreadable"]) == LISTED
    text = on(["verify"], trace.path).stdout.decode()
    assert f"\nand {PROCESSES - LISTED} files more cannot be read\n" in text and text.count("\n") < LISTED + 10
    for words in COMMANDS:
        told = on(words, trace.path)
        assert told.stderr.count(b"\n") <= 2 and told.stdout.count(b"none-") <= (words[0] == "verify") * LISTED + 100, words
    doctor = on(["doctor"], trace.path)
    lines = [line for line in doctor.stdout.decode().splitlines() if line.startswith("problem")]
    assert doctor.returncode == 1 and sum("none-" in line for line in lines) == 32
    assert sum(f"{PROCESSES - 32:,} files more" in line for line in lines) == 1
