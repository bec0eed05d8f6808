# SPDX-License-Identifier: MIT
"""What dftracer's analyzer takes for the events of a trace of Flowtap, written as dftracer writes them (.pfw.gz).

It has a Python environment of its own (make peers): with the dftracer-utils that dftracer wants it does not import.
"""

import gzip
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build/venv-analyzer/bin/dfanalyzer"
FEW, MANY, SECONDS_MAX = 5_000, 200_000, 110
HOST = "e696ebc220787810"


def number(ids, name):
    """16 hexadecimal digits that stand for a name."""
    return f"{ids.setdefault(name, len(ids) + 1):016x}"


def line_of(event, at, files):
    size = {"ret": event["result"], "count": event["size"], "offset": event.get("offset", 0)} if "size" in event else {"ret": 0}
    return {"id": at, "name": event["name"], "cat": event["cat"], "pid": event["pid"], "tid": event["tid"], "ts": event["ts"] // 1000,
            "dur": event["dur"] // 1000, "ph": "X", "args": {"hhash": HOST, "level": 1, "fhash": number(files, event["path"]), **size}}


def write(build, trace, folder):
    """The calls on files as one file of dftracer's, in microseconds as there; how many they are."""
    files, lines = {}, []
    with subprocess.Popen([build / "bin/flowtap", "events", "--format", "json", "--where", "kind=call", trace],
                          stdout=subprocess.PIPE) as told:
        for text in told.stdout:
            event = json.loads(text)
            if "path" in event:
                lines.append(json.dumps(line_of(event, len(lines), files), separators=(",", ":")))
    names = [("HH", "node", HOST), *(("FH", name, f"{one:016x}") for name, one in files.items())]
    heads = [json.dumps({"name": kind, "ph": "M", "args": {"hhash": HOST, "name": name, "value": value}}, separators=(",", ":"))
             for kind, name, value in names]
    with gzip.open(folder / "events.pfw.gz", "wt", compresslevel=6) as out:
        out.write("[\n" + "\n".join(heads + lines) + "\n")
    return len(lines)


def run(folder, events):
    """Seconds of processor time and of wall time, of all its processes; or why there are none. It says how many it read."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [COMMAND, "analyzer=dftracer", "analyzer/preset=posix", f"trace_path={folder}", f"hydra.run.dir={folder / 'out'}",
               f"cluster.local_directory={folder / 'dask'}", f"cluster.n_workers={os.cpu_count()}", "analyzer.checkpoint=false"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS_MAX, cwd=folder)
    except subprocess.TimeoutExpired:
        return None, f"not done after {SECONDS_MAX} s"
    if done.returncode != 0:
        return None, "does not run here: " + (done.stdout.strip().split("\n") or ["?"])[-1][:100]
    if f" {events:,} " not in done.stdout:
        return None, f"did not read all of {events} events"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begin), None


def run_of(build, count):
    """(events, processor seconds, wall seconds) of a trace of about so many, or why there are none."""
    with tempfile.TemporaryDirectory(prefix="flowtap-bench-") as place:
        folder = pathlib.Path(place)
        subprocess.run([build / "bin/flowtap-generate", "--kind", "training", "--events", str(count), "-o", folder / "trace"], check=True)
        (folder / "lines").mkdir()
        events = write(build, folder / "trace", folder / "lines")
        spent, why = run(folder / "lines", events)
        return ((events, *spent), None) if spent else (None, why)


def figures(build):
    """Seconds (of processor time, of wall time) for each event without the start, and of the start; or why there are none."""
    if not COMMAND.exists():
        return None, "not installed (make peers)"
    few, why = run_of(build, FEW)
    many, why = run_of(build, MANY) if few else (None, why)
    if why:
        return None, why
    each = [(many[i] - few[i]) / (many[0] - few[0]) for i in (1, 2)]
    return (each, [few[i] - each[i - 1] * few[0] for i in (1, 2)]), None
