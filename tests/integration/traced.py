# SPDX-License-Identifier: MIT
"""A trace as the command's JSON tells it: nothing here knows the file format."""

import collections
import json

import ends

CAUSES = ("ring_full", "torn", "daemon_limit", "disk_full", "capped", "corrupt")


class Trace:
    def __init__(self, path, read_command):
        self.path = path
        self._read = read_command
        self._kept = {}
        self.ran = None

    def _json(self, command, *options):
        key = (command, *options)
        if key not in self._kept:
            done = self._read(command, "--json", *options, self.path)
            assert done.returncode == 0, (command, done.returncode, done.stderr[-2000:])
            self._kept[key] = json.loads(done.stdout)
        return self._kept[key]

    def summary(self):
        return self._json("summary")

    def info(self):
        return self._json("info")

    def files(self):
        return self._json("files")["files"]

    def processes(self):
        return [ends.Process(p) for p in self._json("processes")["processes"]]

    def events(self, **want):
        """Every event as an object, in the order of `flowtap events`; `want` keeps those with these values."""
        if "events" not in self._kept:
            done = self._read("events", "--format", "json", self.path)
            assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
            self._kept["events"] = [json.loads(line) for line in done.stdout.splitlines()]
        return [e for e in self._kept["events"] if all(e.get(k) == v for k, v in want.items())]

    def count(self, **want):
        return len(self.events(**want))

    def file(self, path):
        """The one entry of `files` with this path."""
        found = [f for f in self.files() if f["path"] == str(path)]
        assert len(found) == 1, (path, [f["path"] for f in self.files()])
        return found[0]

    def gaps(self, kind=None):
        return [g for g in self.summary()["gaps"] if kind in (None, g["kind"])]

    def flow_files(self):
        return sorted(self.path.rglob("*.flow"))

    def one_process(self, **want):
        found = [p for p in self.processes() if all(p.get(k) == v for k, v in want.items())]
        assert len(found) == 1, (want, found)
        return found[0]

    def image(self, ending):
        """The one process entry whose exe ends so."""
        found = [p for p in self.processes() if (p["exe"] or "").endswith(ending)]
        assert len(found) == 1, (ending, [p["exe"] for p in self.processes()])
        return found[0]

    def check(self, how):
        """P3: by "events", or by "sums" where there are more events than a test should list; else `how` says why neither can hold."""
        assert isinstance(how, str) and how
        {"events": self.check_accounting, "sums": self.check_sums}.get(how, lambda: None)()
        return self

    def check_sums(self):
        """P3 by the sums: emitted = stored + dropped for the whole and for every process."""
        summary, processes = self.summary(), self.processes()
        assert summary["events"] == summary["stored"] + summary["dropped"], summary
        assert set(summary["dropped_by_cause"]) >= set(CAUSES), summary["dropped_by_cause"]
        assert sum(summary["dropped_by_cause"].values()) == summary["dropped"], summary
        for p in processes:
            if "stored" in p:
                assert p["events"] == p["stored"] + p["dropped"], p
        assert summary["events"] == sum(p["events"] for p in processes)

    def check_accounting(self):
        """P3: emitted = stored + dropped for every process, and the stored ones are all given back."""
        self.check_sums()
        summary = self.summary()
        if summary["profiled"]:  # sums in place of events: of stored ones, and of those that are dropped as capped
            sums = summary["profiled"] - summary["dropped_by_cause"]["capped"]
            assert summary["stored"] - sums == len(self.events()), (summary["stored"], sums, len(self.events()))
            return
        stored, lines = collections.Counter(), collections.Counter()
        for event in self.events():
            lines[event["host"], event["pid"]] += 1
        assert self.summary()["stored"] == sum(lines.values()), (self.summary()["stored"], sum(lines.values()))
        for p in self.processes():
            stored[p["host"], p["pid"]] += p["events"] - p["dropped"]
        assert {k: n for k, n in stored.items() if n} == dict(lines)
