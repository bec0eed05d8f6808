# SPDX-License-Identifier: MIT
"""The installed service under a real systemd, as an admin sets it up: see README.md, "On every node"."""

import json
import re

import pytest

import booted
import harness
import traced
from test_successor import check_exactly_once

SPOOL = "/var/spool/flowtap"
DROP_IN = "/etc/flowtap/flowtapd.conf.d/50-test.conf"
TRACED = {"FLOWTAP": "1", "LD_PRELOAD": "libflowtap-preload.so"}
USERS = ("alice", "bob", "carol")
MESSAGES = dict(re.findall(r'X\((\w+), "([0-9a-f]{32})"', (harness.REPO / "daemon/log.h").read_text(encoding="utf-8")))


class Service:
    def __init__(self, machine):
        self.machine = machine
        self.cursor = None

    def begin(self):
        """As after its installation: the socket listens, no daemon runs, the spool is empty."""
        m = self.machine
        m.call("systemctl", "stop", "flowtapd.socket", "flowtapd.service")
        m.call("sh", "-c", f"rm -rf {SPOOL}/* /run/systemd/system/flowtapd.service.d {DROP_IN}; systemctl daemon-reload")
        m.call("systemctl", "reset-failed", check=False)
        self.cursor = re.search("-- cursor: (.*)", m.journal("-n0", "--show-cursor"))[1]
        m.call("systemctl", "start", "flowtapd.socket")
        return self

    def state(self, unit="flowtapd.service"):
        return self.machine.show(unit, "ActiveState")

    def pid(self):
        return int(self.machine.show("flowtapd.service", "MainPID"))

    def status(self):
        return json.loads(self.machine.text("flowtap", "status", "--json"))

    def drop_in(self, text):
        folder = self.machine.path("/run/systemd/system/flowtapd.service.d")
        folder.mkdir(parents=True)
        (folder / "test.conf").write_text(text, encoding="ascii")
        self.machine.call("systemctl", "daemon-reload")

    def configure(self, text):
        self.machine.path(DROP_IN).parent.mkdir(parents=True, exist_ok=True)
        self.machine.path(DROP_IN).write_text(f"[flowtapd]\n{text}", encoding="ascii")

    def traced(self, user, *argv, **options):
        return self.machine.run(*argv, user=user, env={**TRACED, **options.pop("env", {})}, **options)

    def journal(self, **want):
        """Our messages since the test began, as objects with fields."""
        # Not chosen by journalctl: behind a cursor, systemd 252 passes over the first that matches.
        lines = self.machine.journal("-o", "json", "--after-cursor", self.cursor).splitlines()
        want["SYSLOG_IDENTIFIER"] = "flowtapd"
        return [one for one in map(json.loads, lines) if all(one.get(key) == value for key, value in want.items())]

    def held(self):
        """Descriptors that the manager holds for the next daemon."""
        return int(self.machine.show("flowtapd.service", "NFileDescriptorStore"))

    def wait_new(self, pid):
        """The daemon that comes after that one serves."""
        harness.wait_until("another daemon", lambda: self.pid() not in (0, pid) and self.state() == "active")

    def folder(self, user):
        return f"{SPOOL}/{self.machine.text('id', '-u', user)}"

    def stop(self):
        """All is written; the trace of everybody."""
        # Who asks waits behind all who came before, also while a daemon is only starting.
        harness.wait_until("an answer", lambda: self.machine.call("flowtap", "status", check=False).returncode == 0)
        self.machine.call("systemctl", "stop", "flowtapd.service")
        return traced.Trace(self.machine.path(SPOOL), harness.read_command)


@pytest.fixture(scope="session")
def installed(machine):
    booted.begin_service(machine)
    for user in USERS:
        booted.add_user(machine, user)
    machine.call("usermod", "--append", "--groups", "flowtap", "carol")
    return Service(machine)


@pytest.fixture
def service(installed, request):
    yield installed.begin()
    if getattr(request.node, "test_failed", True):
        print(installed.machine.text("journalctl", "--no-pager", "-n", "60", check=False))


def hammer(threads, count):
    return ("/flowtap/tests/programs/hammer", threads, count)


def test_the_first_client_starts_the_daemon(service):
    assert service.state("flowtapd.socket") == "active" and service.state() == "inactive"
    service.traced("alice", *hammer(2, 500))
    harness.wait_until("the events", lambda: service.status()["counters"]["events"] == 2 * 502)
    assert service.state() == "active" and service.status()["counters"]["attached"] == 1
    trace = service.stop()
    trace.check_accounting()
    assert trace.count(name="pread") == 1000 and trace.gaps() == []
    process = trace.one_process()
    assert process["exe"].endswith("/hammer") and process["exit"]["code"] == 0
    # It ended before there was a daemon; whose it was is known all the same.
    assert [job["user"] for job in trace.summary()["jobs"]] == ["alice"]


def capabilities(said, line):
    return int(re.search(rf"^{line}:\s+(\w+)$", said, re.M)[1], 16)


def test_a_job_finished_command_has_no_capability(service):
    service.configure(f"job_linger = 10ms\nsession_linger = 10ms\njob_finished_command = cat /proc/self/status >{SPOOL}/said\n")
    service.traced("alice", "true", env={"FLOWTAP_JOB": "hooked"})
    harness.wait_until("the command", lambda: service.status()["counters"]["hooks_done"] == 1)
    done, = service.journal(FLOWTAP_JOB="hooked")
    assert done["FLOWTAP_UID"] == service.machine.text("id", "-u", "alice") and "job_finished_command done" in done["MESSAGE"]
    said = service.machine.text("cat", f"{SPOOL}/said")
    for line in ("CapEff", "CapPrm", "CapAmb"):
        assert capabilities(said, line) == 0, line


def test_it_runs_as_its_own_user_with_one_capability(service):
    service.traced("alice", "true")
    harness.wait_until("the daemon", lambda: service.state() == "active")
    said = service.machine.text("cat", f"/proc/{service.pid()}/status")
    uid = service.machine.text("id", "-u", "flowtap")
    assert re.search(rf"^Uid:\s+{uid}\s+{uid}\s", said, re.M)
    for line in ("CapEff", "CapPrm", "CapBnd"):
        assert capabilities(said, line) == 1 << 19, line  # CAP_SYS_PTRACE
    assert capabilities(said, "CapAmb") == 0
    assert re.search(r"^Seccomp:\s+2$", said, re.M) and re.search(r"^NoNewPrivs:\s+1$", said, re.M)


def test_the_running_unit_is_hardened(service):
    service.traced("alice", "true")
    service.machine.call("systemd-analyze", "security", "--threshold=15", "--no-pager", "flowtapd.service")


class Load:
    """Processes that write numbered records, and what they say that they did."""

    def __init__(self, service, name, processes, fork_every, *more):
        self.machine, self.name = service.machine, f"{name}.service"
        self.machine.call("install", "-d", "-o", "alice", f"/tmp/{name}")
        self.process = self.machine.spawn("/flowtap/tests/programs/write_load", f"/tmp/{name}", processes, fork_every, *more,
                                          user="alice", env={**TRACED, "FLOWTAP_JOB": name}, name=name)

    def stop(self):
        self.machine.call("systemctl", "kill", self.name)
        out, _ = self.process.communicate(timeout=harness.DEADLINE_S)
        assert self.process.returncode == 0
        return {int(pid): int(count) for pid, count, _ in (line.split() for line in out.splitlines())}


BLOCKS = "block_age = 200ms\n"  # so that events are in the file soon


def wait_events(service, more):
    """So many events go to the files from now on."""
    until = service.status()["counters"]["events"] + more
    harness.wait_until("events in the files", lambda: service.status()["counters"]["events"] >= until)


def test_restarts_under_load_lose_and_double_nothing(service):
    """Who starts meanwhile waits in the socket's queue."""
    service.configure(BLOCKS)
    load = Load(service, "restarts", 6, 300)
    harness.wait_until("the load to be held", lambda: service.held() >= 7)
    for _ in range(4):
        wait_events(service, 100)
        pid = service.pid()
        service.machine.call("systemctl", "restart", "flowtapd.service")
        assert service.pid() != pid
    wait_events(service, 100)
    wrote = load.stop()
    trace = service.stop()
    check_exactly_once(trace, wrote)
    assert trace.gaps() == [] and not trace.summary()["partial"], json.dumps(trace.summary()["gaps"])
    assert len(wrote) > 6


def test_kills_under_load_lose_and_double_nothing(service):
    service.configure(BLOCKS)
    load = Load(service, "kills", 8, 0)
    harness.wait_until("the load to be held", lambda: service.held() >= 9)
    for _ in range(5):
        wait_events(service, 100)
        pid = service.pid()
        service.machine.call("systemctl", "kill", "--kill-who=main", "--signal=KILL", "flowtapd.service")
        service.wait_new(pid)
    wait_events(service, 100)
    assert service.held() >= 9 and int(service.machine.show("flowtapd.service", "NRestarts")) >= 5
    wrote = load.stop()
    trace = service.stop()
    check_exactly_once(trace, wrote)
    assert trace.gaps() == [] and not trace.summary()["partial"], json.dumps(trace.summary()["gaps"])
    assert len(wrote) == 8 and sum(wrote.values()) > 1000
    # Nothing of it is held any more, and nothing was given back twice.
    assert service.held() == 0


def may_read_all(service):
    """The drop-in of flowtapd(8): /proc/PID/io and fd let their owner in alone, or who may read all."""
    page = (harness.REPO / "daemon/flowtapd.8").read_text(encoding="utf-8")
    service.drop_in(re.search(r"^\.nf\n(\[Service\]\n.*?)\.fi$", page, re.M | re.S)[1])


def test_the_kernels_counters_stand_beside_what_was_traced_where_it_may_read_all(service):
    may_read_all(service)
    service.configure(BLOCKS + "counters_interval = 10ms\n")
    load = Load(service, "counted", 2, 0)
    harness.wait_until("the load to be held", lambda: service.held() >= 3)
    wait_events(service, 100)
    wait_events(service, 100)
    trace = service.stop()
    load.stop()
    counted = [p["kernel"] for p in trace.processes() if p["events"] > 100]
    assert len(counted) == 2 and all(counted) and min(one["wchar"] for one in counted) > 0, counted
    assert trace.summary()["coverage"]["kernel_bytes"] > 0


def test_rings_of_io_uring_are_found_among_the_descriptors_of_others_where_it_may_read_all(service):
    may_read_all(service)
    ring = "/flowtap/tests/programs/rings"
    plain = service.machine.run(ring, "inline", "1", user="alice", check=False)
    harness.needs(plain.returncode == 0, "the machine gives no io_uring")
    process = service.machine.spawn("sh", "-c", f"sleep 1000 | {ring} inline 30", user="alice", env=TRACED, name="rings")

    def told():
        trace = traced.Trace(service.machine.path(SPOOL), harness.read_command)
        return bool(trace.flow_files()) and sum(g["count"] for g in trace.gaps("io_uring")) == 30
    try:
        harness.wait_until("the gap, while the process lives", told)
    finally:
        service.machine.call("systemctl", "kill", "rings.service", check=False)
        process.communicate(timeout=harness.DEADLINE_S)


SHORT = 'i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i + 1)); done'
BESIDE = f"for beside in 1 2 3 4; do sh -c '{SHORT}' & done; wait"


def test_short_processes_as_fast_as_they_come_are_all_accounted(service):
    """Some thousand a second; while they come, one daemon follows another."""
    service.traced("alice", "sh", "-c", BESIDE)
    service.machine.call("systemctl", "restart", "flowtapd.service")
    service.traced("bob", "sh", "-c", BESIDE)
    trace = service.stop()
    trace.check_accounting()
    summary = trace.summary()
    assert summary["dropped"] == 0 and not summary["partial"] and trace.gaps() == [], summary["gaps"]
    ended = [p for p in trace.processes() if p["exe"].endswith("/true")]
    assert len(ended) == 2 * 4 * 400 and len({(p["pid"], p["start"]) for p in ended}) == len(ended)
    assert {p["exit"]["code"] for p in ended if p["exit"]} == {0}
    assert service.held() == 0


def test_the_watchdog_restarts_a_loop_that_stands_still(service):
    service.drop_in("[Service]\nWatchdogSec=6s\n")
    service.configure(BLOCKS)
    load = Load(service, "watched", 2, 0)
    harness.wait_until("the load to be held", lambda: service.held() >= 3)
    wait_events(service, 100)
    pid = service.pid()
    with service.machine.held_thread(pid):
        harness.wait_until("the manager to notice", lambda: service.state() != "active")
    service.wait_new(pid)
    wait_events(service, 100)
    wrote = load.stop()
    trace = service.stop()
    check_exactly_once(trace, wrote)
    assert trace.gaps() == [], trace.gaps()
    log = service.machine.journal("--after-cursor", service.cursor, "-u", "flowtapd.service")
    assert "Watchdog timeout" in log, log


def test_a_reload_changes_the_mode_for_who_comes_then(service):
    service.traced("alice", *hammer(1, 10))
    harness.wait_until("the first one", lambda: service.status()["counters"]["attached"] == 1)
    service.configure("mode = off\n")
    service.machine.call("systemctl", "reload", "flowtapd.service")
    harness.wait_until("the reload", lambda: service.status()["mode"] == "off")
    service.traced("alice", *hammer(1, 20))
    shown = json.loads(service.machine.text("flowtap", "status", "--config", "--json"))
    mode, = [row for row in shown["config"] if row["key"] == "mode"]
    assert mode["value"] == "off" and mode["from"] == f"{DROP_IN}:2" and shown["path"] == "/etc/flowtap/flowtapd.conf"

    service.configure("mode = trace\nno_such_key = 1\n")
    refused = service.machine.call("systemctl", "reload", "flowtapd.service", check=False)
    assert refused.returncode != 0 and service.status()["mode"] == "off" and service.state() == "active"
    assert service.journal(MESSAGE_ID=MESSAGES["BAD_CONFIG"], MESSAGE=f"{DROP_IN}:3: no_such_key: there is no such key")
    checked = service.machine.call("flowtapd", "--check", check=False)
    assert checked.returncode == 1 and f"{DROP_IN}:3: no_such_key".encode() in checked.stderr

    service.configure("mode = trace\n")
    service.machine.call("systemctl", "reload", "flowtapd.service")
    harness.wait_until("the next reload", lambda: service.status()["mode"] == "trace")
    service.traced("alice", *hammer(1, 30))
    trace = service.stop()
    trace.check_accounting()
    assert trace.count(name="pread") == 10 + 30


def test_users_read_their_own_traces_alone(service):
    for user, count in (("alice", 10), ("bob", 20)):
        service.traced(user, *hammer(1, count), env={"FLOWTAP_JOB": f"{user}s"})
    service.stop()
    for user, other, count in (("alice", "bob", 10), ("bob", "alice", 20)):
        own = service.machine.run("flowtap", "summary", "--json", service.folder(user), user=user)
        assert json.loads(own.stdout)["events"] == count + 2
        files = service.machine.text("find", service.folder(other), "-type", "f").splitlines()
        assert files
        for path in (service.folder(other), *files):
            done = service.machine.run("cat", path, user=user, check=False)
            assert done.returncode != 0 and b"Permission denied" in done.stderr and not done.stdout, (user, path)
        done = service.machine.run("ls", service.folder(other), user=user, check=False)
        assert done.returncode != 0 and not done.stdout
        for path in files:  # nor write, nor remove
            assert service.machine.run("rm", "-f", path, user=user, check=False).returncode != 0
        for path in service.machine.text("find", service.folder(user), "-type", "f").splitlines():
            assert service.machine.run("sh", "-c", f"echo >>{path}", user=user, check=False).returncode != 0
    # Who is in the daemon's group sees all.
    all_of_it = service.machine.run("flowtap", "summary", "--json", SPOOL, user="carol")
    assert json.loads(all_of_it.stdout)["events"] == 10 + 20 + 4


def test_messages_in_the_journal_have_fields(service):
    service.configure("max_processes_per_user = 1\n")
    service.machine.call("systemctl", "start", "flowtapd.service")
    # A shell and its child: one of them is over the limit.
    service.traced("bob", "sh", "-c", "/flowtap/tests/programs/hammer 1 10; true")
    uid = service.machine.text("id", "-u", "bob")
    refused, *_ = harness.wait_until("the message", lambda: service.journal(MESSAGE_ID=MESSAGES["REFUSED"]))
    assert refused["FLOWTAP_UID"] == uid and refused["PRIORITY"] == "4" and "too many processes" in refused["MESSAGE"]
    started, = service.journal(MESSAGE_ID=MESSAGES["STARTED"])
    assert started["_SYSTEMD_UNIT"] == "flowtapd.service" and started["SYSLOG_IDENTIFIER"] == "flowtapd"
    assert started["_TRANSPORT"] == "journal" and SPOOL in started["MESSAGE"]
    trace = service.stop()
    assert trace.gaps("not_admitted"), trace.gaps()
    assert len(service.journal(MESSAGE_ID=MESSAGES["STOPPED"])) == 1


def test_a_stop_is_a_gap_and_the_socket_starts_it_again(service):
    load = Load(service, "stopped", 2, 0)
    harness.wait_until("the load to be held", lambda: service.held() >= 3)
    trace = service.stop()
    assert len(trace.gaps("daemon_stopped")) == 3 and service.held() == 0
    load.stop()
    service.traced("alice", *hammer(1, 10))
    harness.wait_until("the daemon", lambda: service.state() == "active")
    service.machine.call("systemctl", "stop", "flowtapd.socket", "flowtapd.service")
    assert not service.machine.path("/run/flowtap/flowtapd.sock").exists()
    assert not service.machine.path("/run/flowtap/flowtapd.sock.policy").exists()
    # No socket, no policy: programs run untraced, and nobody waits.
    service.traced("alice", *hammer(1, 10))
    assert service.state() == "inactive"


def test_doctor_finds_nothing_wrong(service):
    service.traced("alice", "true")
    done = service.machine.run("flowtap", "doctor", "--json", user="alice", check=False)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["problems"] == 0, found


def test_a_user_lists_watches_and_fetches_its_own_job(service):
    """All that a question takes is allowed by the hardened unit."""
    service.configure("job_linger = 10ms\n")
    service.traced("alice", *hammer(1, 10), env={"FLOWTAP_JOB": "mine"})
    def listed(user):
        told = json.loads(service.machine.run("flowtap", "jobs", "--json", user=user).stdout)["jobs"]
        return [(job["job"], job["state"], job["events"]) for job in told]
    harness.wait_until("the job to end", lambda: listed("alice") == [("mine", "finished", 12)])
    assert listed("bob") == []
    service.machine.run("flowtap", "top", "--json", "--count", "1", user="alice")
    service.machine.run("flowtap", "fetch", "mine", "-o", "/tmp/fetched", user="alice")
    summary = json.loads(service.machine.run("flowtap", "summary", "--json", "/tmp/fetched", user="alice").stdout)
    assert summary["events"] == 12 and not summary["partial"]
    assert service.machine.run("flowtap", "fetch", "mine", "-o", "/tmp/stolen", user="bob", check=False).returncode == 1


def test_who_brings_more_than_max_segment_is_told_what_to_raise(service):
    service.configure("max_segment = 1M\n")
    said = service.traced("bob", "sh", "-c", "FLOWTAP=1 /flowtap/tests/programs/hammer 1 10 & echo $!; wait", env={"FLOWTAP": "0"})
    told, = harness.wait_until("the message", lambda: service.journal(FLOWTAP_PID=said.stdout.decode().strip()))
    assert told["MESSAGE_ID"] == MESSAGES["REFUSED"] and "larger than max_segment: raise it" in told["MESSAGE"]
    assert service.status()["counters"]["refused_limit"] == 1
    gap, = service.stop().gaps("not_admitted")
    assert gap["count"] == 1 and "max_segment" in gap["reason"]
