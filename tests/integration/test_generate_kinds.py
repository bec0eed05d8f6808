# SPDX-License-Identifier: MIT
"""What the generator says that each kind of trace has in it, by plain Python over the events; and what it refuses."""

import collections
import os
import re

import harness
import pytest
from generated import document, events_of, generate, generator

ALL = ["training", "checkpoint", "metadata", "random", "same", "sequential", "serial", "even", "straggler", "lone", "tar"]
MIB = 1 << 20


def by_thread(events):
    """Of each (host, pid, tid) its events in the order in which they ended, which is that of the model."""
    threads = collections.defaultdict(list)
    for event in events:
        threads[event["host"], event["pid"], event["tid"]].append(event)
    return {key: sorted(own, key=lambda e: e["ts"] + e.get("dur", 0)) for key, own in threads.items()}


def processes_of(path):
    return {(p["host"], p["pid"]): p for p in document("processes", path)["processes"]}


def names_of(events):
    return [event["name"] for event in events]


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_help_tells_every_kind():
    told = harness.call([generator(), "--help"])
    assert told.returncode == 0 and not told.stderr
    assert re.findall(r"^  ([a-z]+) ", told.stdout.decode(), re.M) == ALL


@pytest.mark.parametrize("kind", ALL)
def test_the_same_seed_makes_the_same_bytes_and_another_one_others(tmp_path, kind):
    made = [contents(generate(tmp_path / name, kind, "--hosts", "2", "--seed", seed, events=3000))
            for name, seed in (("a", "7"), ("b", "7"), ("c", "8"))]
    assert made[0] == made[1] and len(made[0]) == 2
    assert made[0].keys() == made[2].keys() and all(made[0][name] != made[2][name] for name in made[0])


@pytest.mark.parametrize("hosts,events", [(1, 0), (1, 1), (3, 10), (7, 1000), (20, 9)])
def test_hosts_share_the_events(tmp_path, hosts, events):
    path = generate(tmp_path / "t", "even", "--hosts", str(hosts), events=events)
    assert sorted(file.name for file in path.iterdir()) == [f"node{i:05}-0a1b2c3d-0.flow" for i in range(hosts)]
    counts = [document("summary", file)["events"] for file in sorted(path.iterdir())]
    assert counts == [events // hosts + (i < events % hosts) for i in range(hosts)]


@pytest.mark.parametrize("permille", [0, 1, 25, 999, 1000])
def test_so_many_of_each_thousand_are_dropped(tmp_path, permille):
    summary = document("summary", generate(tmp_path / "t", "same", "--dropped", str(permille), events=12_345))
    assert summary["dropped"] == 12 * permille + min(345, permille)
    assert summary["dropped_by_cause"]["ring_full"] == summary["dropped"] and summary["events"] == 12_345


@pytest.mark.parametrize("count", [16, 100])
def test_a_data_set_has_as_many_files_as_are_wanted(tmp_path, count):
    path = generate(tmp_path / "t", "metadata", "--files", str(count), events=20_000)
    assert {int(found[1]) for e in events_of(path) if (found := re.search("/module([0-9]{8})$", e.get("path", "")))} == set(range(count))


def test_training(tmp_path):
    """Four ranks on each host with four loader workers each; even ones read samples, odd ones records; each epoch shuffles."""
    files, hosts, readers = 480, 2, 2 * 4 * 4
    path = generate(tmp_path / "t", "training", "--files", str(files), "--hosts", str(hosts), events=60_000)
    processes = processes_of(path)
    mains = {key: p for key, p in processes.items() if p["parent"] == 1}
    assert sorted(p["rank"] for p in mains.values()) == list(range(4 * hosts))
    workers = {key: p for key, p in processes.items() if p["parent"] != 1}
    assert collections.Counter((host, p["rank"], p["parent"]) for (host, _), p in workers.items()) == {
        (host, p["rank"], pid): 4 for (host, pid), p in mains.items()}
    threads = by_thread(events_of(path))
    order = {key: i for i, key in enumerate(sorted(workers))}
    visited, sizes = collections.defaultdict(list), {}
    for (host, pid, tid), events in threads.items():
        calls = [e for e in events if e["cat"] == "POSIX" and e["path"] != "pipe:[4711]"]
        if (host, pid) in mains:
            assert {e["name"] for e in events if e["cat"] != "POSIX"} <= {"forward", "backward", "loss", "fprintf"}
            assert not calls
            continue
        number = order[host, pid]
        fetches = [e for e in events if e["cat"] == "data"]
        assert all(e["name"] == "fetch" for e in fetches) and abs(len(fetches) - len(calls) // 6 // 32) <= 1
        for at, unit in enumerate(zip(*[iter(calls)] * 6)):
            assert len({e["path"] for e in unit}) == 1
            epoch, n = divmod(at * readers + number, files)
            if at % 32 == 0:
                assert unit[0]["tags"]["epoch"] == str(epoch)
            if number % 2:
                assert set(names_of(unit)) == {"pread64"} and unit[0]["path"].startswith("/data/shards/train-")
                assert all(b["offset"] == a["offset"] + a["result"] and b["size"] == a["size"] for a, b in zip(unit, unit[1:]))
                continue
            assert names_of(unit) == ["openat64", "fstat", "lseek64", "read", "read", "close"]
            size = unit[3]["result"]
            assert [(e["size"], e["offset"], e["result"]) for e in unit[3:5]] == [(size + 1, 0, size), (1, size, 0)]
            sample = int(unit[0]["path"][-8:])
            assert unit[0]["path"] == f"/data/train/class{sample // 500:04}/image{sample:08}"
            assert sizes.setdefault(sample, size) == size
            visited[epoch].append((n, sample))
    assert len(visited) > 3 and max(sizes) < files
    for epoch, seen in visited.items():
        assert len({sample for _, sample in seen}) == len(seen), epoch
    orders = [tuple(sample for _, sample in sorted(seen)) for seen in visited.values() if len(seen) == files // 2]
    assert len(orders) > 2 and len(set(orders)) == len(orders)


def test_training_writes_checkpoints(tmp_path):
    """Rank 0 alone, every 500 steps: 128 MiB into a file that gets its name when all is written."""
    path = generate(tmp_path / "t", "training", events=2_000_000)
    events = events_of(path, "--where", 'path~"/data/run/*" && path!="/data/run/train.log"')
    rounds = list(zip(*[iter(by_thread(events).popitem()[1])] * 132))
    assert rounds and len({(e["pid"], e["tid"]) for e in events}) == 1
    for number, one in enumerate(rounds, 1):
        assert names_of(one) == ["openat64"] + ["write"] * 128 + ["fsync", "close", "rename"]
        assert [(e["offset"], e["result"]) for e in one[1:129]] == [(i * MIB, MIB) for i in range(128)]
        assert {e["path"] for e in one} == {"/data/run/.tmp.pt"} and one[-1]["path2"] == f"/data/run/step{500 * number - 1:07}.pt"


def test_checkpoint(tmp_path):
    """All ranks of all hosts write one file together, block by block in turn; all but the last two are removed."""
    ranks = 16
    path = generate(tmp_path / "t", "checkpoint", "--hosts", "2", events=60_000)
    rank_of = {key: p["rank"] for key, p in processes_of(path).items()}
    assert sorted(rank_of.values()) == list(range(ranks))
    written, removed, steps = collections.defaultdict(dict), [], collections.Counter()
    for event in events_of(path):
        rank = rank_of[event["host"], event["pid"]]
        if event["name"] == "pwrite64":
            assert event["offset"] not in written[event["path"]], "written once"
            written[event["path"]][event["offset"]] = (event["result"], rank)
        removed += [event["path"]] if event["name"] == "unlink" else []
        steps[event["cat"], event["name"]] += event["cat"] in ("compute", "io")
    files = sorted(written)
    assert files == [f"/data/run/set0000/checkpoint.{i:08}" for i in range(len(files))] and len(files) > 4
    for blocks in [written[file] for file in files[:-3]]:  # the ranks do not end at the same one
        assert blocks.pop(0) == (512, 0) and len(blocks) == ranks * 512
        assert blocks == {512 + (i * ranks + rank) * MIB: (MIB, rank) for i in range(512) for rank in range(ranks)}
    assert removed == files[:len(removed)] and len(files) - len(removed) <= 4 and removed
    assert set(steps) - {key for key, count in steps.items() if not count} == {("compute", "timestep"), ("io", "checkpoint")}


READER = ["stat"] * 4 + ["openat64", "fstat", "read", "read", "close"]


def test_metadata(tmp_path):
    """Short processes of three kinds: that read small files which they look for, walk folders, and write and remove."""
    path = generate(tmp_path / "t", "metadata", events=100_000)
    processes = processes_of(path)
    threads = by_thread(events_of(path))
    assert len(threads) == len(processes) > 24 and all(pid == tid for _, pid, tid in threads)
    roles = collections.Counter()
    for (host, pid, _), events in threads.items():
        names, process = names_of(events), processes[host, pid]
        assert len(names) == process["events"] <= 4000 + 82
        if names[0] == "stat":
            role, program = "reader", "python3.11"
            assert names == (READER * (len(names) // 9 + 1))[:len(names)]
            failed = [e["errno"] for e in events if e["name"] == "stat"]
            assert failed == ([2, 2, 2, 0] * len(failed))[:len(failed)]
        elif names[0] == "opendir":
            role, program = "walker", "find"
            walk = ["opendir"] + ["readdir", "fstatat"] * 40 + ["closedir"]
            assert names == (walk * (len(names) // 82 + 1))[:len(names)]
        else:
            role, program = "writer", "tar"
            rounds = re.findall("openat64 write close (?:unlink )?", " ".join(names) + " ")
            assert sum(len(one.split()) for one in rounds) > len(names) - 4
            assert sum("unlink" in one for one in rounds) in range(len(rounds) // 4 - 1, len(rounds) // 4 + 2)
        roles[role] += 1
        assert process["exe"] == f"/usr/bin/{program}" or process["exe"] == "/usr/bin/python3.11"
    assert len(roles) == 3


@pytest.mark.parametrize("kind,step", [("same", 0), ("sequential", 4096)])
def test_one_thread_that_reads_pages(tmp_path, kind, step):
    events = events_of(generate(tmp_path / "t", kind, events=5000))
    assert len({(e["pid"], e["tid"], e["path"], e["name"], e["size"], e["result"]) for e in events}) == 1
    assert [e["offset"] for e in events] == [i * step for i in range(5000)] and events[0]["result"] == 4096


def test_serial(tmp_path):
    """Sixteen reads, then it computes with them; never both."""
    (events,) = by_thread(events_of(generate(tmp_path / "t", "serial", events=1700))).values()
    for number, one in enumerate(zip(*[iter(events)] * 17)):
        assert names_of(one) == ["pread64"] * 16 + ["step"] and one[-1]["cat"] == "compute"
        assert [(e["offset"], e["result"]) for e in one[:16]] == [((16 * number + i) * MIB, MIB) for i in range(16)]
    assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(events, events[1:]))


@pytest.mark.parametrize("kind", ["even", "straggler", "lone"])
def test_peers(tmp_path, kind):
    """Four processes a host with a file each; one waits ten times as long, or reads for all."""
    path = generate(tmp_path / "t", kind, "--hosts", "2", events=20_000)
    ranks = {key: p["rank"] for key, p in processes_of(path).items()}
    assert sorted(ranks.values()) == list(range(8))
    paths, medians = collections.defaultdict(set), {}
    for (host, pid, _), events in by_thread(events_of(path)).items():
        rank = ranks[host, pid]
        for event in events:
            paths[host, event["path"]].add(rank)
        reads = [e for e in events if e["name"] == "pread64"]
        assert set(names_of(events)) == {"fstat" if kind == "lone" and rank % 4 else "pread64"}
        assert [(e["offset"], e["result"]) for e in reads] == [(i << 17, 1 << 17) for i in range(len(reads))]
        medians[rank] = sorted(e["dur"] for e in events)[len(events) // 2]
    assert len(paths) == 8 and all(len(own) == 1 for own in paths.values())
    assert {medians[rank] > 5 * medians[1] for rank in (0, 4)} == {kind != "even"}
    assert max(medians[rank] for rank in (1, 2, 3, 5, 6, 7)) < 2 * medians[1]


def test_tar(tmp_path):
    """Each file looked at, opened and read; what was read is in the archive, in whole records, one behind the other."""
    (events,) = by_thread(events_of(generate(tmp_path / "t", "tar", events=20_000))).values()
    writes, read = [e for e in events if e["name"] == "write"], 0
    assert [(e["offset"], e["result"]) for e in writes] == [(i * 10240, 10240) for i in range(len(writes))]
    read = sum(e["result"] for e in events if e["name"] == "read")
    assert len(writes) in (read // 10240, read // 10240 - 1) and len({e["path"] for e in writes}) == 1
    one = " ".join(name for name in names_of(events) if name != "write") + " "
    assert re.fullmatch("(lstat openat64 fstat (read )*close )+(lstat (openat64 (fstat (read )*)?)?)?", one)


def test_random(tmp_path):
    """Three processes of two threads; what moves, what fails, what moves in part, and spans of no time at all."""
    path = generate(tmp_path / "t", "random", events=20_000)
    events = events_of(path)
    assert collections.Counter(pid for _, pid, _ in by_thread(events)) == {pid: 2 for _, pid in processes_of(path)}
    assert sorted(p["rank"] if p["rank"] is not None else -1 for p in processes_of(path).values()) == [-1, 0, 1]
    assert {e["errno"] for e in events if "errno" in e} == {0, 2, 13}
    assert {e["cat"] for e in events} >= {"POSIX", "STDIO", "compute", "io", "data", "other"}
    assert any(e.get("dur") == 0 for e in events if e["cat"] == "io") and {e["tags"]["epoch"] for e in events if "tags" in e} == set("0123")
    assert any(0 < e["result"] < e["size"] for e in events if "size" in e) and any("path2" in e for e in events)


@pytest.mark.parametrize("words", [
    [], ["--kind"], ["--kind", "nothing", "-o", "out"], ["--kind", "same"], ["-o", "out"], ["--kind", "same", "-o", "out", "more"],
    ["--kind", "same", "-o", "out", "--hosts", "0"], ["--kind", "same", "-o", "out", "--hosts", "100001"],
    ["--kind", "same", "-o", "out", "--dropped", "1001"], ["--kind", "same", "-o", "out", "--nothing"], ["-x"],
    ["--kind", "same", "-o", "out", "--files", "16777217"],
    *(["--kind", "same", "-o", "out", option, value] for option in ("--events", "--seed")
      for value in ("", "-1", " 1", "+1", "1k", "x", "0x10", "1.5", "18446744073709551616"))], ids=lambda words: "_".join(words)[:40] or "none")
def test_what_cannot_be_made_is_refused(tmp_path, words):
    done = harness.call([generator(), *words], cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == b"" and done.stderr.startswith(b"flowtap-generate: ") and done.stderr.count(b"\n") == 1
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_written_it_says_why(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/node00000-0a1b2c3d-0.flow").symlink_to("/dev/full")
    (tmp_path / "file").touch()
    for folder, why in (("full", "No space left on device"), ("file", "Not a directory"), ("no/such", "No such file or directory"),
                        ("x" * 300, "File name too long")):
        done = harness.call([generator(), "--kind", "same", "--events", "500000", "-o", tmp_path / folder])
        assert done.returncode == 1 and done.stdout == b"" and done.stderr.count(b"\n") == 1
        assert done.stderr.decode().rstrip().endswith(why) and os.fsencode(tmp_path / folder) in done.stderr
