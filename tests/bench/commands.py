# SPDX-License-Identifier: MIT
"""Every command that reads traces, in the forms of tests/data/reading-commands.txt, within an address space that is promised.

A command may refuse what is more than its page says that it takes; anything else that goes wrong is a failure.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

COMMANDS = pathlib.Path(__file__).resolve().parents[1] / "data/reading-commands.txt"
REFUSAL = "flowtap summary: more than 250,000 groups: "
KINDS = ("training", "metadata", "checkpoint")
SPACE_BYTES = 4 << 30


def words_of(command, trace):
    return [*command.split(), *{"diff": [trace, trace], "doctor": ["--trace", trace]}.get(command.split()[0], [trace])]


def measured(program, words, space_bytes):
    """Seconds of processor time and of wall time, MiB of memory, and what it says where it fails."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=errors,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (space_bytes, space_bytes)))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        why = errors.read().decode(errors="replace").strip() if process.returncode else ""
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss / 1024, why


def bench_commands(build, events):
    """For as many events as are wanted; 10^8 of them are promised 4 GiB. Ends with 1 where a command fails."""
    failed = []
    print(f"\nEvery command on {events} events in {SPACE_BYTES >> 30} GiB of addresses, text to nowhere, one run each")
    print(f"  {'':<46} {'cpu s':>9} {'wall s':>9} {'MiB':>9} {'ns/event':>9}", flush=True)
    for kind in KINDS:
        with tempfile.TemporaryDirectory(prefix="flowtap-bench-") as folder:
            subprocess.run([build / "bin/flowtap-generate", "--kind", kind, "--events", str(events), "-o", folder], check=True)
            for command in COMMANDS.read_text().splitlines():
                cpu, wall, memory, why = measured(build / "bin/flowtap", words_of(command, folder), SPACE_BYTES)
                print(f"  {f'{command} of {kind}':<46} {cpu:9.2f} {wall:9.2f} {memory:9.0f} {cpu / events * 1e9:9.1f} {why}", flush=True)
                failed += [f"{command} of {kind}: {why}"] if why and not why.startswith(REFUSAL) else []
    if failed:
        sys.exit("bench: " + "; ".join(failed))
