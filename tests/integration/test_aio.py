# SPDX-License-Identifier: MIT
"""What asynchronous requests moved is counted when the program asks for it."""

import harness
from generated import document, reported


def test_bytes_of_requests_are_those_of_their_file(tap):
    trace = tap.run([harness.program("aio_bytes")])
    data = trace.file(tap.work / "data")
    assert (data["written_bytes"], data["writes"]) == (3 * 4096, 3)
    assert (data["read_bytes"], data["reads"]) == (12 + 5000, 12 + 2 + 1)
    summary = trace.summary()
    assert summary["read"]["bytes"] == 12 + 5000 and summary["write"]["bytes"] == 3 * 4096
    assert summary["coverage"]["traced_bytes"] == 12 + 5000 + 3 * 4096
    # None of the calls' time is that in which the bytes were moved.
    for way in ("read", "write"):
        assert summary[way]["bandwidth"] is summary[way]["busy_bandwidth"] is None
    assert summary["moved"]["busy_bandwidth"] is None and "B/s" not in reported("summary", trace.path).decode()
    process, = document("processes", trace.path)["processes"]
    assert (process["read_bytes"], process["written_bytes"], process["busy"]["bandwidth"]) == (12 + 5000, 3 * 4096, None)
    returns = [e for e in trace.events() if e["name"].startswith("aio_return")]
    assert [e.get("offset") for e in returns if "path2" in e] == [0, 4096, 8192]
    # A sync is neither, and the last one failed.
    assert [(e["result"], e.get("size")) for e in returns][-2:] == [(0, None), (-1, 1)]


def test_requests_on_excluded_files_are_not_recorded(tap):
    trace = tap.run([harness.program("aio_bytes")], options=["--exclude", "*/data"])
    returns = [e for e in trace.events() if e["name"].startswith("aio_return")]
    assert [(e["result"], e.get("size")) for e in returns] == [(0, None)]  # of the sync, which is of no file


def test_asking_in_vain_is_no_event(tap):
    """More often than any ring has room for while the daemon is held: nothing is dropped, and each answer is one event."""
    daemon = tap.daemon()
    with harness.stopped(daemon):
        traced = daemon.call([harness.program("aio_asks"), "3000000"], cwd=tap.work)
    assert traced.returncode == 0, traced.stderr
    trace = daemon.stop()
    assert trace.summary()["dropped"] == 0
    calls = [(e["name"], e["result"]) for e in trace.events() if e["name"].startswith("aio_")]
    assert calls == [("aio_read", 0), ("aio_suspend", 0), ("aio_error", 0), ("aio_return", 1)]
