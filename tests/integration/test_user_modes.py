# SPDX-License-Identifier: MIT
"""Modes of single users by name: a directory service that takes its time keeps nobody waiting (tests/programs/names.so.c)."""

import os
import signal

import harness
from test_config import config
from test_status import status


def named(tap, text):
    """A daemon that asks the test for names, with this configuration."""
    control = tap.folder / "names"
    control.mkdir()
    daemon = harness.Daemon(tap, "named", env={"LD_PRELOAD": harness.program("names.so"), "NAMES_CONTROL": control})
    (daemon.folder / "flowtapd.conf").write_text(f"[flowtapd]\n{text}\n")
    daemon.words = ("--config", daemon.folder / "flowtapd.conf")
    return daemon.start(), control


def reload(daemon, text):
    (daemon.folder / "flowtapd.conf").write_text(f"[flowtapd]\n{text}\n")
    daemon.process.send_signal(signal.SIGHUP)


def opens(tap, daemon, name):
    assert daemon.call([harness.program("touch_all"), name], cwd=tap.work).returncode == 0


def attached(daemon):
    return status(daemon.socket)["counters"]["attached"]


def check_opened(tap, daemon, *, seen, unseen):
    paths = {e.get("path") for e in daemon.stop().events(name="open")}
    assert {str(tap.work / name) for name in seen} <= paths, paths
    assert not {str(tap.work / name) for name in unseen} & paths, paths


def test_while_names_are_looked_up_the_daemon_serves_as_before(tap):
    daemon, control = named(tap, "")
    (control / "uid").write_text(str(os.geteuid()))
    (control / "wait").touch()
    reload(daemon, "user_modes = ada=off")
    harness.wait_until("the look-up", (control / "asked").exists)
    opens(tap, daemon, "a")
    assert config(daemon)["user_modes"]["value"] == ""
    reload(daemon, "user_modes = ada=off\nblock_age = 7s")  # asked for meanwhile: comes after
    (control / "wait").unlink()
    harness.wait_until("both reloads", lambda: config(daemon)["block_age"]["value"] == "7s")
    assert config(daemon)["user_modes"]["value"] == "ada=off"
    opens(tap, daemon, "b")
    check_opened(tap, daemon, seen="a", unseen="b")


def test_processes_that_come_ask_nobody(tap):
    daemon, control = named(tap, "user_modes = ada=off,12345=profile")
    (control / "asked").unlink()
    (control / "wait").touch()
    opens(tap, daemon, "a")
    harness.wait_until("its trace", lambda: list(daemon.spool.rglob("*.flow")))
    assert not (control / "asked").exists()
    (control / "wait").unlink()
    check_opened(tap, daemon, seen="a", unseen="")


def test_a_name_that_comes_to_be_known_later_holds_then(tap):
    daemon, control = named(tap, "user_modes = ada=off")
    opens(tap, daemon, "a")
    (control / "asked").unlink()
    (control / "uid").write_text(str(os.geteuid()))
    (control / "wait").touch()
    (control / "later").touch()
    harness.wait_until("the look-up", (control / "asked").exists)
    opens(tap, daemon, "b")
    (control / "wait").unlink()

    def is_off():
        before = attached(daemon)
        opens(tap, daemon, "c")
        harness.wait_until("it to be read", lambda: status(daemon.socket)["gauges"]["connections_waiting"] == 0)
        return attached(daemon) == before
    assert attached(daemon) == 2
    harness.wait_until("the name to be known", is_off)
    daemon.stop()
