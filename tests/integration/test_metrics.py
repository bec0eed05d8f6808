# SPDX-License-Identifier: MIT
"""The metrics file, read by Prometheus's own parser."""

import os

import pytest
from prometheus_client.parser import text_string_to_metric_families

import harness


def families_of(path):
    text = path.read_text()
    assert text.endswith("\n")
    return {family.name: family for family in text_string_to_metric_families(text)}


def value_of(families, name, **labels):
    (sample,) = [s for s in families[name].samples if s.labels == labels]
    return sample.value


def test_the_file_says_what_status_says(tap):
    path = tap.folder / "flowtap.prom"
    daemon = tap.daemon(f"metrics_file={path}", "metrics_interval=1s")
    harness.wait_until("the first file", path.exists)
    daemon.call([harness.program("touch_all"), "a", "b", "c"], cwd=tap.work)
    harness.wait_until("its events in the metrics", lambda: value_of(families_of(path), "flowtap_events") >= 9)
    families = families_of(path)
    assert value_of(families, "flowtap_attached") == 1
    assert families["flowtap_events"].type == "counter" and families["flowtap_processes"].type == "gauge"
    causes = {s.labels["cause"] for s in families["flowtap_dropped_events"].samples}
    assert causes == {"ring_full", "torn", "daemon_limit", "disk_full", "capped", "corrupt"}
    assert value_of(families, "flowtap_dropped_events", cause="ring_full") == 0
    for family in families.values():
        assert family.documentation and family.name.startswith("flowtap_")
    assert not [n for n in families if n.endswith("_ns")]
    assert os.stat(path).st_mode & 0o777 == 0o644
    daemon.stop()
    assert {p.name for p in tap.folder.iterdir()} >= {"flowtap.prom"}
    assert not list(tap.folder.glob("flowtap.prom.*")), "no half of a file stays"


def test_who_reads_it_meanwhile_has_all_of_one_file(tap):
    path = tap.folder / "flowtap.prom"
    daemon = tap.daemon(f"metrics_file={path}", "metrics_interval=1s")
    harness.wait_until("the first file", path.exists)
    with open(path) as old:
        text = old.read()  # not by its name, which may be the next one's by now
        harness.wait_until("the next one in its place", lambda: os.stat(path).st_ino != os.fstat(old.fileno()).st_ino)
        old.seek(0)
        assert text and old.read() == text and families_of(path)
    daemon.stop(check="no trace")


def test_a_file_that_cannot_be_written_disturbs_nothing(tap):
    daemon = tap.daemon(f"metrics_file={tap.folder}/absent/flowtap.prom", "metrics_interval=1s")
    daemon.call([harness.program("touch_all"), "a"], cwd=tap.work)
    harness.wait_until("a line of the log", lambda: "see metrics_file" in daemon.log())
    assert daemon.log().count("see metrics_file") == 1
    assert daemon.stop().count(name="write") == 1


@pytest.mark.parametrize("plant", ["link", "hard link", "fifo"])
def test_what_others_put_where_it_is_written_is_not_touched(tap, plant):
    """The collector's folder is the collector's own: nothing there leads to another file, or holds the daemon up."""
    path, victim = tap.folder / "flowtap.prom", tap.folder / "victim"
    daemon = tap.daemon(f"metrics_file={path}", "metrics_interval=1s")
    harness.wait_until("the first file", path.exists)
    victim.write_text("kept")
    planted = tap.folder / f"flowtap.prom.{daemon.process.pid}"
    make = {"link": planted.symlink_to, "hard link": planted.hardlink_to, "fifo": lambda _: os.mkfifo(planted)}[plant]

    def is_planted():
        try:
            make(victim)
        except FileExistsError:  # the daemon writes there at this moment
            return False
        return True

    harness.wait_until("the place to be free", is_planted)
    path.unlink()
    harness.wait_until("the next file", path.exists)
    assert path.is_file() and not path.is_symlink() and families_of(path)
    assert victim.read_text() == "kept" and os.stat(victim).st_nlink == 1
    daemon.stop(check="no trace")
