# SPDX-License-Identifier: MIT
"""Offsets beyond 4 GiB arrive whole, in the file and in the trace, however wide the program's own off_t is."""

import hashlib

import pytest

import harness

FAR = 5 << 30
SOURCE = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef EXPLICIT
#define open open64
#define pread pread64
#define pwrite pwrite64
#define lseek lseek64
#define ftruncate ftruncate64
typedef off64_t place;
#else
typedef off_t place;
#endif
int main(void)
{
    place far = (place)5 << 30;
    char text[64] = {0};
    int fd = open("sparse", O_RDWR | O_CREAT, 0600);
    if (fd < 0 || pwrite(fd, "beyond", 6, far) != 6 || pwrite(fd, "before", 6, 1000) != 6)
        return 1;
    if (pread(fd, text, 60, far - 20) != 26 || memcmp(text + 20, "beyond", 6))
        return 2;
    if (lseek(fd, far + 6, SEEK_SET) != far + 6 || write(fd, "next", 4) != 4 || lseek(fd, -4, SEEK_END) != far + 6)
        return 3;
    if (read(fd, text, 9) != 4 || memcmp(text, "next", 4) || ftruncate(fd, far + 100))
        return 4;
    printf("%s\\n", text);
    return 0;
}
"""
BUILDS = {"64": [], "64, as large file": ["-D_FILE_OFFSET_BITS=64"], "64, by the names of large files": ["-DEXPLICIT"],
          "64, fortified": ["-O2", "-D_FORTIFY_SOURCE=2"], "32, as large file": ["-m32", "-D_FILE_OFFSET_BITS=64"],
          "32, by the names of large files": ["-m32", "-DEXPLICIT"]}


def digest(path):
    """Of what is written; the rest is a hole."""
    with open(path, "rb") as f:
        size = f.seek(0, 2)
        parts = []
        for place in (0, FAR - 4096):
            f.seek(place)
            parts.append(f.read(8192))
    return size, hashlib.sha256(b"".join(parts)).hexdigest()


@pytest.mark.parametrize("build", BUILDS)
def test_five_gibibytes_into_a_sparse_file(tap, build):
    flags = BUILDS[build]
    (tap.work / "p.c").write_text(SOURCE)
    made = tap.plain(["gcc", *flags, "-o", "p", "p.c"])
    harness.needs(made.returncode == 0 or "-m32" not in flags, "gcc -m32 does not work here")
    assert made.returncode == 0, made.stderr
    plain = tap.plain(["./p"])
    harness.needs(plain.returncode >= 0 or "-m32" not in flags, "32-bit programs do not run here")
    assert plain.returncode == 0
    want = digest(tap.work / "sparse")
    (tap.work / "sparse").unlink()
    trace = tap.run(["sh", "-c", "./p; exit $?"])
    assert trace.ran.stdout == plain.stdout and digest(tap.work / "sparse") == want and want[0] == FAR + 100
    events = {(e["name"].removeprefix("__").removesuffix("_chk").removesuffix("64"), e["size"]): e.get("offset")
              for e in trace.events(path=str(tap.work / "sparse")) if e.get("size")}
    if "-m32" in flags:
        assert trace.gaps("foreign_elf") and not events
    else:
        assert (events["pwrite", 6], events["pread", 60], events["write", 4], events["read", 9]) == \
            (1000, FAR - 20, FAR + 6, FAR + 6), events
