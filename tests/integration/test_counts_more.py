# SPDX-License-Identifier: MIT
"""Counts and bytes against strace for a table of everyday commands; a new case is one line."""

import pytest

import harness
import strace_diff
import test_counts

PYTHON = "/usr/bin/python3 -S -E -B -c "

COMMANDS = {
    "cp": "cp -a tree copy",
    "cp plain": "cp --reflink=never --sparse=never tree/large copy",
    "mv over a file system": "mv tree/large moved; mv moved tree/again",
    "dd": "dd if=tree/large of=part bs=1000 count=77 skip=3 status=none conv=fsync",
    "split": "split -b 50000 tree/large piece-",
    "cat many": "cat tree/d*/e*/* > all",
    "sed in place": "echo alpha > a; sed -i s/alpha/omega/ a",
    "head tail": "head -c 70000 tree/large > h; tail -c 70000 tree/large > t",
    "comm": "comm -12 tree/d0/e0/file-0 tree/d0/e0/file-0 > c",
    "checksum": "sha256sum tree/large tree/d0/e0/file-0",
    "gzip": "gzip -c tree/large > z; gzip -dc z > back",
    "xz": "xz -T1 -c tree/large > z",
    "find exec": "find tree -name 'file-1*' -exec cat {} + > found",
    "xargs": "find tree -type f | sort | xargs -n 10 cat > found",
    "bash builtins": "bash -c 'while read -r x; do echo $x; done < <(seq 30) > out; mapfile -t a < out; echo ${#a[@]} > n; exec 5>five; "
                     "echo five >&5; printf %s \"$(< five)\"'",
    "dash": "dash -c 'i=0; while [ $i -lt 10 ]; do echo $i >> grow; i=$((i+1)); done; cat < grow | cat > copy'",
    "make": "printf 'all: a b\\na:\\n\\techo a > a\\nb: a\\n\\tcat a a > b\\n' > Makefile; make -s",
    "perl": "perl -e 'open F, \">f\"; syswrite F, \"x\" x 5000; close F; open F, \"f\"; sysread F, $b, 999 for 1..6; rename \"f\", \"g\"; "
            "unlink \"absent\"; mkdir \"d\"; rmdir \"d\"'",
    "sqlite3": "sqlite3 s.db 'pragma journal_mode=delete; create table t(a); insert into t values(1); insert into t values(2); "
               "select count(*) from t;'",
    "ar": "ar rcs lib.a tree/d0/e0/file-0 tree/d1/e1/file-1 && ar t lib.a",
    "python os": PYTHON + "'import os\nf = os.open(\"p\", os.O_RDWR | os.O_CREAT)\nos.write(f, b\"x\" * 100)\nos.pwrite(f, b\"y\" * 10, 5)\n"
                 "os.writev(f, [b\"a\", b\"bc\"])\nos.pwritev(f, [b\"q\"], 3)\nprint(os.pread(f, 50, 2), os.readv(f, [bytearray(9)]))\n"
                 "os.preadv(f, [bytearray(5)], 1)\nos.lseek(f, 0, 0)\nos.read(f, 20)\nos.ftruncate(f, 30)\nos.fsync(f)\n"
                 "os.link(\"p\", \"q\")\nos.symlink(\"q\", \"r\")\nos.open(\"r\", os.O_RDONLY)\nos.dup(f)\nos.closerange(3, 20)'",
    "python files": PYTHON + "'import shutil, tempfile, os\nshutil.copytree(\"tree\", \"copy\")\nshutil.rmtree(\"copy\")\n"
                    "t = tempfile.NamedTemporaryFile(dir=\".\")\nt.write(b\"x\" * 10000)\nt.flush()\nopen(\"absent\", \"a\").write(\"z\")\n"
                    "try:\n    open(\"no/such\")\nexcept OSError:\n    pass'",
    "python threads": PYTHON + "'import threading, os\ndef w(i):\n    f = os.open(f\"t{i}\", os.O_RDWR | os.O_CREAT)\n"
                      "    for k in range(20):\n        os.write(f, b\"x\" * i)\n    os.close(f)\n"
                      "t = [threading.Thread(target=w, args=(i,)) for i in range(8)]\n[x.start() for x in t]\n[x.join() for x in t]'",
    "python subprocess": PYTHON + "'import subprocess as s\ns.run([\"cat\", \"tree/large\"], stdout=open(\"o\", \"wb\"), check=True)\n"
                         "s.run(\"cat o > p\", shell=True, check=True)\ns.run([\"cp\", \"p\", \"q\"], env={}, close_fds=False, check=True)'",
    "git log": "git --version; export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z; git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m m && git log > ../log",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_counts_equal(tap, name):
    harness.needs_program(COMMANDS[name].split()[0])
    strace_diff.compare(tap, ["bash", "-c", COMMANDS[name]], prepare=lambda folder: test_counts.make_tree(folder, 20),
                        per_file=not name.startswith("git"))
