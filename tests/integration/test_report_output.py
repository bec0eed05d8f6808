# SPDX-License-Identifier: MIT
"""What reports write, whatever they write to: terminals, other locales, full disks; options that ask for all or for too much."""

import csv
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import termios

import harness
import pytest
from generated import document, events_of, generate, reported

REPORTS = ["summary", "files", "processes", "timeline", "diagnose", "info", "verify"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("made") / "t", "training", events=3000)


def with_locale(command, path, **variables):
    env = {k: v for k, v in harness.clean_environment().items() if k not in ("LC_ALL", "LC_CTYPE", "LANG")}
    return subprocess.run([harness.FLOWTAP, command, path], env=env | variables, stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize("command", REPORTS)
@pytest.mark.parametrize("variables", [{"LC_ALL": "C"}, {"LANG": "de_DE.ISO-8859-1"}, {"LANG": "C.UTF-8", "LC_CTYPE": "POSIX"}])
def test_other_locales_get_ascii(trace, command, variables):
    assert with_locale(command, trace, **variables).isascii()


def test_utf_8_gets_its_own_signs(trace):
    text = with_locale("summary", trace, LANG="de_DE.UTF-8").decode()
    assert " \u00b5s" in text and with_locale("summary", trace, LC_ALL="C").decode() == text.replace("\u00b5", "u")


def on_terminal(columns, command, path, **variables):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = harness.clean_environment(NO_COLOR="1", LC_ALL="C.UTF-8", TERM="xterm", **variables)
    process = subprocess.Popen([harness.FLOWTAP, command, path], stdout=slave, stderr=subprocess.DEVNULL, env=env)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(master)
    assert process.wait(60) == 0
    return text.decode().splitlines()


@pytest.mark.parametrize("columns", [8, 30])
def test_a_plot_fits_into_a_narrow_terminal(trace, columns):
    plot = [line for line in on_terminal(columns, "timeline", trace) if line.startswith(" |") or line.startswith(" +")]
    assert plot and all(len(line) <= columns for line in plot)


@pytest.mark.parametrize("columns", [8, 30])
def test_long_paths_are_cut_in_a_narrow_terminal(tap, columns):
    deep = tap.work / ("d" * 60)
    deep.mkdir()
    path = tap.run(["/bin/sh", "-c", f"echo a >{deep}/file"]).path
    assert any("\u2026" in line for line in on_terminal(columns, "summary", path))
    assert not any("d" * 60 in line and "flowtap:" not in line for line in on_terminal(columns, "files", path))


@pytest.mark.parametrize("columns", ["0", "-20", "20x", ""])
def test_columns_are_the_users_word_on_a_terminal_alone(trace, columns):
    def plot(width, **variables):
        return [line for line in on_terminal(width, "timeline", trace, **variables) if line.startswith((" |", " +"))]

    narrow, wide = plot(30), plot(90)
    assert plot(90, COLUMNS="30") == narrow != wide == plot(90, COLUMNS=columns)
    for command in ("timeline", "files"):
        assert with_locale(command, trace, COLUMNS="30") == with_locale(command, trace)


ODD_NAMES = ["ab\u202egnp.exe", "a\u2066b", "a\u200bb", "a\u2028b", "a\ufeffb"]


@pytest.mark.parametrize("words", [["summary"], ["files"], ["processes"], ["timeline"], ["diagnose"], ["info"], ["verify"], ["events"],
                                   ["events", "--format", "csv"], ["events", "--by", "path"], ["summary", "--by", "path"], ["diff"], ["doctor", "--trace"]], ids="-".join)
def test_names_cannot_turn_a_terminals_text_around(tap, words):
    for name in ODD_NAMES:
        (tap.work / name).write_bytes(b"x" * 100)
    trace = tap.run(["cat", *ODD_NAMES])
    named = trace.path.rename(trace.path.with_name("o\u202ed"))
    done = harness.call([harness.FLOWTAP, *words, *[named] * (2 if words == ["diff"] else 1)])
    text = (done.stdout + done.stderr).decode()
    assert done.returncode == 0 and not set(text) & set("\u202e\u2066\u200b\u2028\ufeff"), text
    if words[0] in ("files", "events") or "--by" in words:
        assert "ab\\xe2\\x80\\xaegnp.exe" in text
    if words in (["files"], ["diff"]):
        assert {str(tap.work / name) for name in ODD_NAMES} <= {f["path"] for f in document(words[0], *[named] * (1 + (words == ["diff"])))["files"]}


@pytest.mark.parametrize("command", [*REPORTS, "events"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_is_called_so(trace, command, options):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([harness.FLOWTAP, command, *options, trace], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "No space left on device" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [*REPORTS, "doctor"])
def test_control_bytes_of_paths_reach_no_terminal(tmp_path, command):
    path = generate(tmp_path / "od\x1b]0;x\x07d", "sequential", events=200)
    option = ["--trace"] if command == "doctor" else []
    done = harness.call([harness.FLOWTAP, command, *option, path])
    assert not set(done.stdout + done.stderr) & {0x1b, 0x07}
    missing = harness.call([harness.FLOWTAP, command, *option, tmp_path / "no\x1b]0;x\x07ne"])
    assert missing.returncode == 1 and not set(missing.stdout + missing.stderr) & {0x1b, 0x07}


def test_the_command_that_looks_closer_names_such_paths_for_a_shell(tap):
    odd = tap.work / "od\x1b[31m'\\d\n"
    odd.mkdir()
    code = "import os\nf = os.open('d', os.O_RDWR | os.O_CREAT)\nfor i in range(3000): os.pwrite(f, b'x', i)\nfor i in range(3000): os.pread(f, 1, i)"
    path = tap.run(["/usr/bin/python3", "-S", "-E", "-c", code], cwd=odd).path
    findings = document("diagnose", path)["findings"]
    assert findings
    words = findings[0]["command"].partition(" ")[2]
    told = subprocess.run(["bash", "-c", f"printf '%s\\0' {words}"], stdout=subprocess.PIPE, check=True).stdout.split(b"\0")
    assert os.fsencode(path) in told
    assert 0x1b not in reported("diagnose", path)


@pytest.mark.parametrize("command,lists", [("summary", ["hottest_files"]), ("files", ["files"]), ("processes", ["processes"]), ("events", ["events"])])
def test_top_0_is_all(trace, command, lists):
    all_of = document(command, trace, "--top", "0")
    some = document(command, trace, "--top", "2")
    for name in lists:
        assert len(some[name]) == 2 < len(all_of[name]), name


@pytest.mark.parametrize("words", [[command] for command in REPORTS + ["events"]] + [
    ["--help"], ["--version"], ["help", "files"], ["summary", "--help"], ["summary", "--json"], ["events", "--format", "csv"],
    ["events", "--json"], ["diagnose", "--checks"], ["diff", "TRACE"], ["doctor"], ["doctor", "--trace"]])
def test_a_closed_output_is_an_error(trace, words):
    words = [trace if word == "TRACE" else word for word in words]
    if words[0] in REPORTS + ["events", "diff"] and words[-1] != "--help" and "--checks" not in words or "--trace" in words:
        words = [*words, trace]
    done = harness.call(["bash", "-c", 'exec "$@" >&-', "bash", harness.FLOWTAP, *words])
    assert done.returncode == 1 and b"cannot write to standard output: Bad file descriptor" in done.stderr, done


def test_a_command_that_runs_with_a_closed_output_is_its_own(tap):
    done = harness.call(["bash", "-c", 'exec "$@" >&-', "bash", harness.FLOWTAP, "run", "-q", "-o", tap.folder / "closed", "--",
                         "bash", "-c", "[ ! -e /proc/self/fd/1 ] && exit 7"], env=harness.clean_environment())
    assert done.returncode == 7 and b"cannot write" not in done.stderr, done


def test_spans_are_not_among_the_calls(trace):
    told, text = document("summary", trace), reported("summary", trace).decode()
    for title, key in (("Hottest calls", "calls"), ("Hottest spans", "spans")):
        rows = text.split(f"\n{title} (percentiles to a factor of two)\n")[1].split("\n\n")[0].splitlines()[1:]
        assert [row.split()[-1] for row in rows] == [one["name"] for one in sorted(told[key], key=lambda c: -c["time"])][:5], title


@pytest.mark.parametrize("command,says", [("files", "no event that is chosen names a file"), ("processes", "no process has such events"),
                                          ("timeline", "no event is chosen")])
def test_why_there_is_nothing_is_the_reports_own(trace, command, says):
    assert f"nothing to report: {says}\n" in reported(command, trace, "--where", "call=nothing").decode()


def test_top_0_of_the_summary_shows_all_in_text(trace):
    rows = [len(reported("summary", trace, "--top", n).decode().splitlines()) for n in ("1", "5", "0")]
    assert rows == sorted(set(rows))


def test_forms_that_exclude_each_other_are_refused(trace):
    for form in ("json", "csv", "text"):
        done = harness.call([harness.FLOWTAP, "events", "--json", "--format", form, trace])
        assert done.returncode == 2 and done.stdout == b"" and b"--json" in done.stderr and b"--format" in done.stderr


def test_checks_as_json():
    told = json.loads(harness.call([harness.FLOWTAP, "diagnose", "--checks", "--json"]).stdout)
    text = harness.call([harness.FLOWTAP, "diagnose", "--checks"]).stdout.decode()
    assert len(told["checks"]) > 5 and len(told["limits"]) > 5
    assert all(check["name"] in text and check["title"] in text for check in told["checks"])
    assert all(limit["name"] in text and str(limit["value"]) in text for limit in told["limits"])


@pytest.mark.parametrize("tags", [{"k": "a;b=c"}, {"k": "a", "b": "c"}, {"k": "a\\x3b"}, {"k": 'q"u;o'}])
def test_tags_in_csv_can_be_told_apart(tap, tags):
    options = [word for key, value in tags.items() for word in ("--tag", f"{key}={value}")]
    path = tap.run(["/bin/cat", "/etc/hostname"], options=options).path
    row = next(csv.DictReader(io.StringIO(reported("events", path, "--format", "csv", "--limit", "1").decode())))

    def plain(text):
        return text.replace("\\x3b", ";").replace("\\x3d", "=").replace("\\\\", "\\")

    told = dict(map(plain, pair.partition("=")[::2]) for pair in row["tags"].split(";"))
    assert {key: told[key] for key in tags} == tags if "\\x3b" not in tags["k"] else row["tags"].count("\\\\x3b") == 1
    assert events_of(path, "--limit", "1")[0]["tags"] == tags


def test_one_is_not_called_several(tap):
    text = reported("summary", tap.run(["/bin/sh", "-c", "echo a >b"]).path).decode()
    for word in ("calls", "processes", "threads", "events", "gaps"):
        assert f" 1 {word}" not in text
    assert "1 process, 1 thread" in text


def test_a_timeline_of_nothing_says_so(trace):
    text = reported("timeline", trace, "--where", "t>1000000").decode()
    assert "no event is chosen" in text and "A column" not in text


def test_a_file_without_a_header_is_no_further_host(tmp_path, trace):
    (tmp_path / "empty.flow").write_bytes(b"")
    done = harness.call([harness.FLOWTAP, "summary", "--json", tmp_path / "empty.flow", trace])
    assert json.loads(done.stdout)["hosts"] == 1 and json.loads(done.stdout)["partial"]


def test_a_file_with_a_damaged_header_is_of_no_other_host(tmp_path):
    path = generate(tmp_path / "t", "checkpoint", "--hosts", "3", events=6000)
    whole = document("summary", path)
    one = min(path.glob("*.flow"))
    data = bytearray(one.read_bytes())
    host = next(bytes(header["host"], "ascii") for header in document("info", path)["files"] if header["path"].endswith(one.name))
    data[data.index(host)] ^= 0x40
    one.write_bytes(data)
    done = harness.call([harness.FLOWTAP, "summary", "--json", path])
    damaged = json.loads(done.stdout)
    assert damaged["partial"] and damaged["events"] == whole["events"]
    for key in ("hosts", "processes", "files"):
        assert damaged[key] == whole[key] > 1, key


def test_spans_of_data_are_beside_those_that_compute(trace):
    summary, text = document("summary", trace), reported("summary", trace).decode()
    assert summary["app_io_time"] > 0 and "in those of io and data" in text
    alone = generate(trace.parent / "alone", "sequential", events=500)
    assert document("summary", alone)["app_io_time"] == 0 and "io and data" not in reported("summary", alone).decode()


@pytest.mark.parametrize("variable,word", [("FLOWTAP=0", "switched off"), ("FLOWTAP_MODE=off", "switched off")])
def test_doctor_words_gaps_by_their_reason(tap, variable, word):
    path = tap.run(["/bin/sh", "-c", f"{variable} /bin/cat /etc/hostname; true"]).path
    told = harness.call([harness.FLOWTAP, "doctor", "--trace", path]).stdout.decode()
    assert word in told and "follow" not in told, told
    path = tap.run(["/bin/sh", "-c", "env -i /bin/cat /etc/hostname; true"], options=["--no-follow-clean-env"]).path
    assert "follow_clean_env" in harness.call([harness.FLOWTAP, "doctor", "--trace", path]).stdout.decode()
