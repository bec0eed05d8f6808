# SPDX-License-Identifier: MIT
"""Compares what `strace -f` saw of a command with what a trace of the same command says.

Per process image (a process between two execs, known by its command line) and per file: how many opens, reads, writes
and so on, and their bytes. libc's own calls are subtracted by the written list tests/data/libc_does_itself.py.
"""

import collections
import importlib.util
import os
import re

import harness
import strace_log

_spec = importlib.util.spec_from_file_location("libc_does_itself", harness.REPO / "tests/data/libc_does_itself.py")
libc = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(libc)

MOVING = ("read", "write", "transfer")
FAMILY = {
    "open": "open", "openat": "open", "openat2": "open", "creat": "open", "mkstemp": "open", "mkostemp": "open",
    "mkstemps": "open", "mkostemps": "open", "fopen": "open", "freopen": "open",
    "read": "read", "readv": "read", "pread": "read", "preadv": "read", "preadv2": "read",
    "write": "write", "writev": "write", "pwrite": "write", "pwritev": "write", "pwritev2": "write",
    "sendfile": "transfer", "copy_file_range": "transfer", "splice": "transfer", "tee": "transfer",
    "close": "close", "lseek": "seek", "unlink": "unlink", "unlinkat": "unlink", "rmdir": "unlink",
    "rename": "rename", "renameat": "rename", "renameat2": "rename", "mkdir": "mkdir", "mkdirat": "mkdir",
    "link": "link", "linkat": "link", "symlink": "link", "symlinkat": "link",
    "truncate": "truncate", "ftruncate": "truncate", "fallocate": "truncate", "fsync": "sync", "fdatasync": "sync",
}
UNNAMED = ("close", "seek", "unlink", "rename", "mkdir", "link", "truncate", "sync")
# names and numbers that differ from run to run
TEMPORARY = re.compile(r"((?:/tmp/cc|/sort|/sed|/st|/tmp|/pymp-|/dev/shm/sem\.|/tmp_(?:idx|pack|obj)_|/\.git/t|fetch-pack )"
                       r"|^/tmp/(?=\w{8}$))\w{4,8}\b")


def family_of(name):
    """The family of a call by its interposed name: 64-bit, fortified and `__` forms are the same call."""
    plain = re.sub(r"^__|_chk$", "", name)
    plain = re.sub(r"(?:64)?(?:_2)?$", "", plain)
    plain = re.sub(r"64v2$", "2", plain).replace("64", "")
    return FAMILY.get(plain)


def plain_path(path, pid):
    """One name for one file in both logs and both runs."""
    if path is None:
        return None
    if re.match(r"(pipe|socket|anon_inode|memfd|net|UNIX|TCP|UDP)\b", path) or path.startswith("/memfd:"):
        return re.split(r"[:\[]", path.lstrip("/"), maxsplit=1)[0]
    path = TEMPORARY.sub(r"\1*", path)
    if re.match(r"/(dev|proc/self|proc/\d+)/fd/\d+$", path):
        return "pipe"  # what a shell's <(command) is called
    path = re.sub(r"^/proc/(self|%d)(?=/|$)" % pid, "/proc/PID", path)
    return os.path.realpath(path.removesuffix(" (deleted)"))


def is_counted(path):
    """Counts of calls on pipes and sockets depend on the scheduler; their bytes do not."""
    return path is not None and path.startswith("/") and not is_text_of_kernel(path)


def is_text_of_kernel(path):
    """What /proc says has another length in each run; in the traced one the library is mapped too."""
    return path is not None and path.startswith("/proc/")


def argv_key(argv):
    return tuple(TEMPORARY.sub(r"\1*", a) for a in argv)


def add(table, family, path, error, size):
    if family in UNNAMED:
        table[family, None, None][0] += 1
    elif family == "open":
        table[family, path, error][0] += 1
    else:
        cell = table[family, path, error]
        cell[0] += 1 if is_counted(path) or error else 0
        cell[1] += size if not is_text_of_kernel(path) else 0


def owed_of_strace(image, families, only=None):
    """{(family, path, error): [count, bytes]} owed to the trace by one image, and the bytes below streams per file.

    `only` stands in for stacks: it says of a path whether all its calls are the program's own.
    """
    table, stream = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    for c in image.calls:
        family = strace_log.FAMILY[c.name]
        if family not in families:
            continue
        who, entry = c.who() if only is None else ("program", None)
        if who in ("loader", "raw", "syscall"):
            continue
        assert who != "unknown", f"strace gave no stack for {c}"
        role = "program"
        if who == "libc":
            listed = libc.find(entry)
            assert listed, f"libc's {entry} did {c.name}({c.arguments}): not in the written list"
            role = listed[2].get(c.name, listed[0])
        path = plain_path(c.path if family == "open" else c.source_fd()[1], image.pid)
        if family == "open" and c.error:
            path = plain_path(c.name_argument(), image.pid)
        if only is not None and not only(path):
            continue
        if role == libc.OWN or (role == libc.OPEN_EVENT and c.error):
            continue
        if role == libc.STDIO_IO or (role == libc.STDIO_OPEN and family != "open"):
            if family in MOVING and c.result > 0:
                stream[family, path] += c.result
        else:
            add(table, family, path, c.error, max(c.result, 0) if family in MOVING else 0)
    return dict(table), stream


def owed_of_trace(events, pid, families):
    table = collections.defaultdict(lambda: [0, 0])
    for e in events:
        family = family_of(e["name"])
        if family not in families or (e["cat"] == "STDIO" and family != "open"):
            continue
        number = e.get("errno") or 0
        error = errno_name(number) if number else None
        moved = max(e.get("result") or 0, 0) if family in MOVING else 0
        add(table, family, plain_path(e.get("path"), pid), error, moved)
    return dict(table)


def errno_name(number):
    import errno
    return errno.errorcode[number]


def images_of_trace(trace):
    """[(argv, pid, events)]: each event belongs to the image of its pid that had started last.

    What a vfork child calls before its exec has the child's pid and is older than its image: it goes by its parent's
    command line, as in strace's log.
    """
    entries = collections.defaultdict(list)
    for p in trace.processes():
        entries[p["pid"]].append(p)
    for of_pid in entries.values():
        of_pid.sort(key=lambda p: p["start"])
    events = collections.defaultdict(list)
    for e in trace.events():
        own = entries[e["pid"]]
        assert own, f"an event of a process that `processes` does not know: {e}"
        started = [i for i, p in enumerate(own) if p["start"] * 1e9 <= e["ts"] + 1000]
        events[e["pid"], started[-1] if started else -1].append(e)
    images = []
    for (pid, i), of_image in events.items():
        argv = entries[pid][i]["argv"] if i >= 0 else argv_at(entries[entries[pid][0]["parent"]], of_image[0]["ts"])
        images.append((tuple(argv), pid, of_image))
    return images


def argv_at(entries, ts):
    return [p for p in entries if p["start"] * 1e9 <= ts + 1000][-1]["argv"]


def grouped(images, pipes=True, without=()):
    """{argv: [table, …]} without empty tables, each list in an order that both sides share."""
    groups = collections.defaultdict(list)
    for argv, table in images:
        if not pipes:
            table = {k: v for k, v in table.items() if k[1] is None or k[1].startswith("/")}
        table = {k: v for k, v in table.items() if k[1] not in without}
        if table:
            groups[argv_key(argv)].append(table)
    return {argv: sorted(tables, key=lambda t: sorted(map(repr, t.items()))) for argv, tables in groups.items()}


def difference(argv, want, have):
    """Readable lines: what strace saw and the trace has not, and the other way round."""
    lines = [f"{' '.join(argv)[:150]}: {len(want)} images by strace, {len(have)} by the trace"]
    for i in range(max(len(want), len(have))):
        a, b = (want[i] if i < len(want) else {}), (have[i] if i < len(have) else {})
        for key in sorted(a.keys() | b.keys(), key=repr):
            if a.get(key) != b.get(key):
                lines.append(f"  image {i} {key}: strace {a.get(key)}, trace {b.get(key)}")
    return lines


def compare(tap, argv, *, families=tuple(strace_log.FAMILIES), prepare=lambda folder: None, deadline=240, pipes=True,
            per_file=True, without=()):
    """Runs argv untraced under strace and traced, each in a fresh folder made by `prepare`; asserts equality.

    pipes=False leaves out pipes and sockets, for programs that tell each other how fast they are. per_file=False leaves
    out the bytes by `files`, for programs that rename what they wrote: strace tells names, `files` tells inodes. `without` are
    paths of which a program decides by chance whether it looks at them.
    """
    argv = [str(a) for a in argv]
    folder = tap.work / "one"
    logs = tap.folder / "strace"
    logs.mkdir()
    fresh(folder, prepare)
    seen = harness.call(strace_log.command(str(logs), argv, families=families), cwd=folder, deadline=deadline)
    images = [(i.argv, i.pid, *owed_of_strace(i, families)) for i in strace_log.read_folder(logs)]
    fresh(folder, prepare)
    trace = tap.run(argv, cwd=folder, deadline=deadline, status=None)
    assert (trace.ran.returncode, trace.ran.stdout) == (seen.returncode, seen.stdout), trace.ran.stderr
    want = grouped(((argv_, table) for argv_, _, table, _ in images), pipes, without)
    have = grouped(((argv_, owed_of_trace(events, pid, families)) for argv_, pid, events in images_of_trace(trace)),
                   pipes, without)
    lines = []
    for key in sorted(want.keys() | have.keys()):
        if want.get(key) != have.get(key):
            lines += difference(key, want.get(key, []), have.get(key, []))
    assert not lines, "\n".join(lines[:120])
    if per_file:
        compare_bytes(images, trace)
    return trace


def fresh(folder, prepare):
    """The folder has the same name in both runs, so that names and lengths agree."""
    import shutil
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    prepare(folder)


def compare_bytes(images, trace):
    """Bytes of each named file over the whole job, streams included, against `files`."""
    want = collections.Counter()
    for _, _, table, stream in images:
        for (family, path, error), (_, size) in table.items():
            if family in ("read", "write") and size and path and path.startswith("/"):
                want[family, path] += size
        for (family, path), size in stream.items():
            if family and path and path.startswith("/"):
                want[family, path] += size
    have = collections.Counter()
    for f in trace.files():
        for family, key in (("read", "read_bytes"), ("write", "written_bytes")):
            have[family, plain_path(f["path"], 0)] += f[key] or 0
    wrong = {k: (n, have[k]) for k, n in want.items() if have[k] != n and not is_text_of_kernel(k[1])}
    assert not wrong, f"bytes by strace and by `files`: {wrong}"
