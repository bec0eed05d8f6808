# SPDX-License-Identifier: MIT
"""Runs a command under `strace -ff -k` and reads the log: processes, their images, and who made each system call.

`-k` gives the stack of every call. The topmost frames inside libc or ld.so say whether the program called the system
call's own wrapper (one frame: an event is owed) or a libc function that made the call by itself (then the outermost
libc frame is its name, the *entry*).

A strace that reads libc's debug symbols prints the names of the source (`__GI__IO_fclose`, `_IO_new_fclose`), others the
nearest exported one; from glibc 2.41 on a wrapper that is a cancellation point makes its call a few frames further in.
"""

import dataclasses
import os
import re

FAMILIES = {
    "open": ("open", "openat", "openat2", "creat"),
    "read": ("read", "readv", "pread64", "preadv", "preadv2"),
    "write": ("write", "writev", "pwrite64", "pwritev", "pwritev2"),
    "transfer": ("sendfile", "copy_file_range", "splice", "tee"),
    "close": ("close",),
    "seek": ("lseek",),
    "unlink": ("unlink", "unlinkat", "rmdir"),
    "rename": ("rename", "renameat", "renameat2"),
    "mkdir": ("mkdir", "mkdirat"),
    "link": ("link", "linkat", "symlink", "symlinkat"),
    "truncate": ("truncate", "ftruncate", "fallocate"),
    "sync": ("fsync", "fdatasync"),
}
FAMILY = {name: family for family, names in FAMILIES.items() for name in names}
PROCESS_CALLS = ("execve", "execveat", "clone", "clone3", "fork", "vfork")

LINE = re.compile(r"(\d+\.\d+) (\w+)\((.*)\)\s+= (-?\d+|0x[0-9a-f]+|\?)(?:<(.*?)>(\(deleted\))?)?(?: ([A-Z]\w+) .*)?$")
FRAME = re.compile(r" > (.*?)\((?:(.*?)\+0x[0-9a-f]+)?\) \[0x")
FD = re.compile(r"(-?\d+|AT_FDCWD)(?:<(.*?)>(\(deleted\))?)?(?:, |$)")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
LIBC = re.compile(r"/(libc\.so\.6|libc-2\.\d+\.so|libpthread\.so\.0|librt\.so\.1)$")
CANCELLATION = re.compile(r"_*(internal_)?syscall_cancel(_arch)?$")
INTERNAL = re.compile(r"^(__GI_)+|\.(constprop|part|isra|cold|localalias)(\.\d+)?|_alias_\d+$")
LOADER = re.compile(r"/ld-linux-[^/]*\.so\.\d$")


@dataclasses.dataclass
class Call:
    time: float
    name: str
    arguments: str
    result: int
    path: str | None   # of the descriptor in the result
    error: str | None
    stack: list        # (object, symbol), innermost first

    def who(self):
        """("program"|"libc"|"loader"|"raw"|"syscall", entry symbol)"""
        if not self.stack:
            return "unknown", None
        stack = list(self.stack)
        top = stack[0]
        if LOADER.search(top[0]):
            return "loader", top[1]
        if not LIBC.search(top[0]):
            return "raw", top[0]
        while len(stack) > 1 and CANCELLATION.match(stack[0][1] or ""):
            stack.pop(0)
        top = stack[0]
        if top[1] == "syscall":
            return "syscall", None
        inside = [top]
        for frame in stack[1:]:
            if not LIBC.search(frame[0]) and not LOADER.search(frame[0]):
                break
            inside.append(frame)
        if len(inside) == 1 and not (top[1] or "").endswith("_nocancel"):
            return "program", top[1]
        return "libc", inside[-1][1] or "?"

    def first_fd(self):
        """(number, path) of the first argument."""
        match = FD.match(self.arguments)
        if not match:
            return None, None
        return (None if match[1] == "AT_FDCWD" else int(match[1])), unescape(match[2])

    def source_fd(self):
        """(number, path) of the descriptor that data comes from or goes to; a transfer counts on its source."""
        if self.name != "sendfile":
            return self.first_fd()
        target = FD.match(self.arguments)
        source = FD.match(self.arguments, target.end())
        return int(source[1]), unescape(source[2])

    def name_argument(self):
        """The path argument made absolute by the directory that strace shows."""
        text = STRING.search(self.arguments)
        name = unescape(text[1])
        if self.name in ("open", "creat") or name.startswith("/"):
            return name
        return os.path.join(self.first_fd()[1] or "", name)


def unescape(text):
    if text is None or "\\" not in text:
        return text
    raw = re.sub(rb"\\([0-7]{1,3}|.)", _escape, text.encode())
    return os.fsdecode(raw)


def _escape(match):
    code = match[1]
    if code.isdigit():
        return bytes([int(code, 8)])
    return {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f"}.get(code, code)


def read_task(path):
    """The finished calls of one task's log, and its exit line."""
    calls, end = [], None
    with open(path, encoding="utf-8", errors="surrogateescape") as log:
        for line in log:
            line = line.rstrip("\n")
            if line.startswith(" > "):
                frame = FRAME.match(line)
                if frame and calls:
                    calls[-1].stack.append((frame[1], frame[2] and INTERNAL.sub("", frame[2])))
            elif match := LINE.match(line):
                result = -1 if match[4] == "?" else int(match[4], 0)
                calls.append(Call(float(match[1]), match[2], match[3], result, unescape(match[5]), match[7], []))
            elif "+++" in line:
                end = line.split("+++")[1].strip()
    return calls, end


@dataclasses.dataclass
class Image:
    """What one process did between one exec and the next."""
    pid: int
    argv: tuple
    calls: list


def command_line(call):
    inside = call.arguments[call.arguments.index("["):]
    return tuple(unescape(s) for s in STRING.findall(inside[:inside.rindex("]")]))


def read_folder(folder):
    """All images of all processes: tasks joined to processes, cut at each successful exec."""
    tasks = {int(name.rsplit(".", 1)[1]): read_task(os.path.join(folder, name))[0] for name in os.listdir(folder)}
    parent, group, born = {}, {}, {}
    for tid, calls in tasks.items():
        for c in calls:
            if c.name in PROCESS_CALLS[2:] and c.result > 0:
                parent[c.result], born[c.result] = tid, c.time
                if "CLONE_THREAD" in c.arguments:
                    group[c.result] = tid

    def leader(tid):
        while tid in group:
            tid = group[tid]
        return tid

    merged = {}
    for tid, calls in tasks.items():
        merged.setdefault(leader(tid), []).extend(calls)
    for calls in merged.values():
        calls.sort(key=lambda c: c.time)

    argv_at, images = {}, []

    def argv_of(pid, when):
        before = [a for t, a in execs(pid) if t <= when]
        if before:
            return before[-1]
        return argv_of(leader(parent[pid]), born[pid]) if pid in parent else ()

    def execs(pid):
        if pid not in argv_at:
            argv_at[pid] = [(c.time, command_line(c)) for c in merged.get(pid, ())
                            if c.name in ("execve", "execveat") and c.result == 0]
        return argv_at[pid]

    for pid, calls in merged.items():
        image = Image(pid, argv_of(pid, 0), [])
        if not image.argv and pid in parent:
            image.argv = argv_of(leader(parent[pid]), born[pid])
        for c in calls:
            if c.name in ("execve", "execveat"):
                if c.result == 0:
                    images.append(image)
                    image = Image(pid, command_line(c), [])
            elif c.name in FAMILY:
                image.calls.append(c)
        images.append(image)
    return [i for i in images if i.calls]


def command(folder, argv, families=tuple(FAMILIES), stacks=True):
    """The strace command that logs the families' calls of argv into the folder; stacks are what takes its time."""
    names = ",".join([n for f in families for n in FAMILIES[f]] + list(PROCESS_CALLS))
    words = ["strace", "-ff", "--seccomp-bpf", *(["-k"] if stacks else []), "-y", "-ttt", "-s", "512",
             "-e", f"trace={names}", "-e", "signal=none", "-o", os.path.join(folder, "st")]
    return words + [str(a) for a in argv]
