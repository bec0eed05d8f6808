# SPDX-License-Identifier: MIT
"""The configuration of flowtapd: what is wrong is told with file and line; it is read again; what is in force is shown."""

import json
import os
import signal

import pytest

import harness
from test_status import status

KEYS = {"mode", "socket", "spool_dir", "backlog", "max_processes", "log_level", "poll_busy"}


def check(folder, text, *words, drop_in=None):
    """`flowtapd --check` of this text: status and lines, `F` for the file."""
    path = folder / "flowtapd.conf"
    path.write_text(text)
    if drop_in is not None:
        (folder / "flowtapd.conf.d").mkdir(exist_ok=True)
        (folder / "flowtapd.conf.d/50-site.conf").write_text(drop_in)
    done = harness.call([harness.FLOWTAPD, "--config", path, "--check", *words])
    assert done.stdout == b""
    return done.returncode, [line.replace(f"{path}", "F") for line in done.stderr.decode().splitlines()]


def test_a_good_file_is_silent(tap):
    assert check(tap.folder, "[flowtapd]\nmode = off\n") == (0, [])
    assert check(tap.folder, harness.call([harness.FLOWTAPD, "--print-config"]).stdout.decode()) == (0, [])


def test_all_that_is_wrong_is_told_with_file_and_line(tap):
    text = "[flowtapd]\nlog_level = loud\n\nbacklogg = 3\nbacklog = x\nmax_processes = 7\n"
    status, lines = check(tap.folder, text, drop_in="[flowtapd]\nmax_processes_per_user = 8\n")
    assert status == 1 and lines == [
        "flowtapd: F:2: log_level: loud is none of err|warning|info|debug",
        "flowtapd: F:4: backlogg: there is no such key",
        "flowtapd: F:5: backlog: x is no value for it",
        "flowtapd: F.d/50-site.conf:2: max_processes_per_user = 8 is more than max_processes = 7 (F:6): "
        "the latter holds for each user, too"]


@pytest.mark.parametrize("text,says", [
    ("mode = off\n", "F:1: before [flowtapd] nothing is read"),
    ("[flowtap]\nmode = off\n", "F:1: [flowtap] is no section of ours"),
    ("[flowtapd]\nmode = off\nmode = trace\n", "F:3: mode: set in line 2, too"),
    ("[flowtapd]\nmode off\n", "F:2: mode off: not of the form key = value"),
    ("[flowtapd]\nuser_modes = root=off, no-such-user=off\n", "F:2: user_modes: no-such-user: there is no such user"),
    ("[flowtapd]\nuser_modes = root=off, 0=trace\n", "F:2: user_modes: 0: the user is named before; that counts"),
    ("[flowtapd]\nspool_dir = traces\n", "F:2: spool_dir = traces: does not begin with /"),
    ("[flowtapd]\nsocket = s\n", "F:2: socket = s: does not begin with /"),
    ("[flowtapd]\nspool_dir = /no-such/folder/traces\n", "there is no folder /no-such/folder"),
    ("[flowtapd]\nspool_dir = /dev/null\n", "F:2: spool_dir = /dev/null: is no folder"),
    ("[flowtapd]\nmetrics_file = /no-such/flowtap.prom\n", "there is no folder /no-such"),
    ("[flowtapd]\ninclude = /data/*:rel/x\n", "F:2: include: rel/x: does not begin with / or *, and matches no path"),
    ("[flowtapd]\nexclude = a\n", "F:2: exclude: a: does not begin with / or *"),
    ("[flowtapd]\nadmin_group = no-such-group\n", "F:2: admin_group = no-such-group: there is no such group"),
])
def test_what_is_odd_is_told(tap, text, says):
    status, lines = check(tap.folder, text)
    assert status == 1 and len(lines) == 1 and says in lines[0], lines


@pytest.mark.parametrize("make,says", [
    (lambda path: path.mkdir(), "Is a directory"),
    (os.mkfifo, "no regular file"),
    (lambda path: path.symlink_to("nowhere"), "No such file or directory"),
    (lambda path: path.symlink_to(path.name), "Too many levels of symbolic links"),
    (lambda path: path.symlink_to("/dev/zero"), "File too large"),
    (lambda path: path.symlink_to("/dev/null"), None),
], ids=["folder", "fifo", "dangling", "loop", "endless", "masked"])
def test_a_drop_in_that_is_no_file_is_told(tap, make, says):
    (tap.folder / "flowtapd.conf.d").mkdir()
    make(tap.folder / "flowtapd.conf.d/60-odd.conf")
    status, lines = check(tap.folder, "[flowtapd]\nmode = off\n", drop_in="[flowtapd]\nbacklog = 7\n")
    assert (status, lines) == ((1, [f"flowtapd: F.d/60-odd.conf: {says}"]) if says else (0, []))


@pytest.mark.parametrize("text,lines", [("[flowtapd]\nmode = off\n", 0), ("[flowtapd]\n\nmode = on\n", 1)])
def test_a_shell_may_give_the_file_through_a_pipe(tap, text, lines):
    for given in ('printf %s "$1" | "$0" --check --config /dev/stdin', '"$0" --check --config <(printf %s "$1")',
                  'mkfifo "$2/fifo"; (sleep 0.2; printf %s "$1" > "$2/fifo") & "$0" --check --config "$2/fifo"'):
        done = harness.call(["bash", "-c", given, harness.FLOWTAPD, text, tap.folder])
        assert (done.returncode, done.stderr.count(b"\n")) == (lines, lines), done.stderr
        assert not lines or b":3: mode: on is none of" in done.stderr, done.stderr


def test_a_path_may_end_in_slashes(tap):
    for path in (f"{tap.folder}/spool/", f"{tap.folder}/spool//", f"{tap.folder}//", "/spool/"):
        assert check(tap.folder, f"[flowtapd]\nspool_dir = {path}\n") == (0, [])


def test_a_file_that_is_asked_for_has_to_be_there(tap):
    done = harness.call([harness.FLOWTAPD, "--config", tap.folder / "none", "--check"])
    assert done.returncode == 1 and done.stderr == f"flowtapd: {tap.folder}/none: No such file or directory\n".encode()


def test_settings_are_checked_too(tap):
    assert check(tap.folder, "", "--set", "backlog=0") == (1, ["flowtapd: --set backlog: 0 is out of range"])
    for word, says in (("spool_dir=/no-such/folder/traces", "there is no folder /no-such/folder"),
                       ("metrics_file=/no-such/m", "there is no folder /no-such"), ("spool_dir=no-such/traces", "there is no folder no-such"),
                       ("socket=no-such/s", "there is no folder no-such"), ("include=rel/x", "rel/x: does not begin with / or *")):
        status, lines = check(tap.folder, "", "--set", word)
        assert status == 1 and len(lines) == 1 and lines[0].startswith("flowtapd: --set: ") and says in lines[0], lines
    for word in (f"spool_dir={tap.folder}/traces", "spool_dir=traces", "socket=s", "socket=/run/no-such/s", "include=*.h5:/data/*:[/]x"):
        assert check(tap.folder, "", "--set", word) == (0, [])


def config(daemon):
    done = harness.call([harness.FLOWTAP, "status", "--config", "--json", "--socket", daemon.socket])
    assert done.returncode == 0, done.stderr
    return {row["key"]: row for row in json.loads(done.stdout)["config"]}


def configured(tap, text, drop_in=None):
    """A daemon with a configuration file, and a drop-in."""
    daemon = harness.Daemon(tap, "configured")
    path = daemon.folder / "flowtapd.conf"
    path.write_text(text)
    if drop_in is not None:
        (daemon.folder / "flowtapd.conf.d").mkdir()
        (daemon.folder / "flowtapd.conf.d/1.conf").write_text(f"[flowtapd]\n{drop_in}")
    daemon.words = ("--config", path)
    return daemon.start()


def test_it_is_shown_where_a_value_comes_from(tap):
    daemon = configured(tap, "[flowtapd]\n\nmode = trace\nblock_age = 7s\n", "mode = off\n")
    shown = config(daemon)
    path = daemon.folder / "flowtapd.conf"
    assert KEYS <= set(shown)
    assert shown["block_age"] == {"key": "block_age", "value": "7s", "default": "5s", "from": f"{path}:4", "reload": True}
    assert shown["mode"]["value"] == "off" and shown["mode"]["from"] == f"{path}.d/1.conf:2"
    assert shown["spool_dir"]["from"] == "--set" and shown["spool_dir"]["value"] == str(daemon.spool)
    assert shown["backlog"]["from"] == "default" and shown["backlog"]["value"] == "4096" and not shown["backlog"]["reload"]
    text = harness.call([harness.FLOWTAP, "status", "--config", "--socket", daemon.socket])
    assert text.returncode == 0 and b"\nblock_age " in text.stdout
    assert f"{path}:4".encode() in text.stdout
    daemon.stop(check="no trace")


def test_a_reload_changes_what_can_change_and_says_what_cannot(tap):
    daemon = configured(tap, "[flowtapd]\nmode = trace\n")
    path = daemon.folder / "flowtapd.conf"
    assert daemon.call([harness.program("touch_all"), "a"], cwd=tap.work).returncode == 0
    harness.wait_until("it to have come", lambda: status(daemon.socket)["counters"]["attached"] == 1)
    path.write_text("[flowtapd]\nmode = off\nbacklog = 77\nmax_processes_per_user = 9\n")
    daemon.process.send_signal(signal.SIGHUP)
    shown = harness.wait_until("the reload", lambda: (now := config(daemon))["mode"]["value"] == "off" and now)
    assert shown["mode"]["from"] == f"{path}:2" and shown["max_processes_per_user"]["value"] == "9"
    assert shown["backlog"]["value"] == "4096" and shown["backlog"]["from"] == "default" and shown["backlog"]["waiting"] == "77"
    assert f"{path}:2: mode = off from now on" in daemon.log()
    assert f"{path}:3: backlog = 77 holds after a restart" in daemon.log()
    assert daemon.call([harness.program("touch_all"), "b"], cwd=tap.work).returncode == 0

    path.write_text("[flowtapd]\nmode = trace\nno_such_key = 1\n")
    daemon.process.send_signal(signal.SIGHUP)
    harness.wait_until("the refusal", lambda: "the configuration stays as it was" in daemon.log())
    assert f"{path}:3: no_such_key: there is no such key" in daemon.log() and config(daemon)["mode"]["value"] == "off"

    path.write_text("[flowtapd]\nmode = trace\n")
    daemon.process.send_signal(signal.SIGHUP)
    harness.wait_until("the next reload", lambda: config(daemon)["mode"]["value"] == "trace")
    assert "waiting" not in config(daemon)["backlog"]
    assert daemon.call([harness.program("touch_all"), "c"], cwd=tap.work).returncode == 0
    trace = daemon.stop()
    opened = {e.get("path") for e in trace.events(name="open")}
    assert {str(tap.work / "a"), str(tap.work / "c")} <= opened and str(tap.work / "b") not in opened


def test_a_limit_that_was_lowered_holds_at_once(tap):
    daemon = configured(tap, "[flowtapd]\n")
    path = daemon.folder / "flowtapd.conf"
    path.write_text("[flowtapd]\nmax_processes_per_user = 1\n")
    daemon.process.send_signal(signal.SIGHUP)
    harness.wait_until("the reload", lambda: config(daemon)["max_processes_per_user"]["value"] == "1")
    script = '"$0" a; : | cat'
    assert daemon.call(["sh", "-c", script, harness.program("touch_all")], cwd=tap.work).returncode == 0
    trace = daemon.stop()
    assert trace.gaps("not_admitted"), trace.summary()["gaps"]
