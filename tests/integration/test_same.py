# SPDX-License-Identifier: MIT
"""P1 as users meet it: ordinary command lines give the same output, status and files traced as untraced.

A new case is one line of COMMANDS. Each runs twice in a folder of the same name and content, made by `make_folder`;
a command whose program is not installed is skipped with that reason.
"""

import os
import re
import shutil
import stat

import pytest

import harness

COMMANDS = {
    "ls": "ls -la --time-style=+x sub . | sed 's/ root / /g'",
    "ls recursive": "ls -R .",
    "cat": "cat a.txt lines sub/b.txt absent",
    "cp": "cp -a sub copy && cp --sparse=always zeros sparse && cp --reflink=auto lines reflinked && ls copy",
    "mv": "mv a.txt moved && mv sub/b.txt . && mv absent x",
    "rm": "rm -r sub && rm absent",
    "ln": "ln a.txt hard && ln -s a.txt soft && readlink -f soft | xargs basename && ln a.txt hard",
    "dd": "dd if=lines of=part bs=1000 count=7 skip=2 status=none && dd if=absent of=x",
    "dd conversions": "dd if=/dev/zero of=z bs=4k count=3 conv=fsync,notrunc oflag=append status=none",
    "head and tail": "head -n 3 lines; tail -n 3 lines; tail -c 50 lines; head -c 5 zeros | od -c",
    "sort": "sort -r lines | uniq -c | head -n 5; sort -S 64k -T . lines > sorted",
    "sort wrong": "sort --no-such-option lines",
    "wc": "wc lines a.txt absent",
    "grep": "grep -n 9 lines | head -n 20; grep -r beta .; grep -c x absent",
    "sed": "sed -i s/alpha/omega/ a.txt; sed -n 5p lines; cat a.txt",
    "awk": "awk '{ s += $1 } END { print s > \"sum\" }' lines; cat sum",
    "find": "find . -type f -size -10k | sort; find . -name '*.txt' -exec wc -c {} +; find . -empty -delete",
    "xargs": "seq 20 | xargs -n 3 -P 1 echo; printf 'a.txt\\0lines' | xargs -0 cksum",
    "split and join": "split -l 100 lines p-; cat p-* | cmp - lines; ls p-* | wc -l",
    "tee": "echo tee | tee t1 t2 > t3; cat t1 t2 t3; echo x | tee /dev/full",
    "truncate and stat": "truncate -s 12345 zeros; stat -c '%s %A %F' zeros sub a.txt absent",
    "mktemp": "d=$(mktemp -d -p .) && rmdir $d && f=$(mktemp -p .) && rm $f && echo done",
    "chmod and touch": "chmod 640 a.txt; touch -d '2020-01-01 00:00:00' a.txt; stat -c '%a %Y' a.txt; chmod 1 absent",
    "comm diff cmp": "sort lines > s1; sort -r lines > s2; diff a.txt sub/b.txt; cmp s1 s2; comm -12 s1 s1 | wc -l",
    "checksums": "sha256sum lines a.txt zeros > sums; sha256sum -c sums; md5sum lines; cksum lines; b2sum a.txt",
    "encodings": "base64 zeros | head -n 2; od -c a.txt; xxd a.txt 2>/dev/null || true; iconv -f UTF-8 -t UTF-16 a.txt | od -x",
    "tar": "tar cf t.tar sub a.txt && tar tf t.tar && mkdir out && tar xf t.tar -C out && diff -r sub out/sub",
    "tar and gzip": "tar czf t.tgz --mtime=2020-01-01 --sort=name sub && tar tzf t.tgz && tar xzf t.tgz --one-top-level=o",
    "gzip": "gzip -n -k lines && gzip -t lines.gz && zcat lines.gz | cmp - lines && gzip lines.gz",
    "bzip2": "bzip2 -k lines && bzcat lines.bz2 | cmp - lines",
    "xz": "xz -k -T2 lines && xzcat lines.xz | cmp - lines",
    "zstd": "zstd -q -k lines && zstd -q -d -c lines.zst | cmp - lines",
    "bash": "for f in *.txt; do read -r x < $f; echo $x; done; exec 3> three; echo to-three >&3; exec 3>&-; cat three; wait; "
            "diff <(seq 3) <(seq 4); echo $(< a.txt); (exit 9); echo $?; trap 'echo bye' EXIT; exit 4",
    "bash here document": "cat <<END\n$(echo inner)\nEND\nread -r -a words <<< 'a b c'; echo ${words[1]}; ulimit -n",
    "dash": "dash -c 'echo $0 $#; x=$(cat a.txt | tr a-z A-Z); echo $x; exit 6' name 1 2",
    "background": "sleep 0 & wait $!; echo $?; (sh -c 'kill -9 $$'); echo $?; yes | head -n 2",
    "signals": "sh -c 'kill -TERM $$'; echo $?; timeout 0.1 sleep 5; echo $?; timeout -s KILL 0.1 sleep 5; echo $?",
    "false": "false; echo $?; true; exit 1",
    "perl": "perl -e 'open F, \">\", \"pf\" or die; print F \"x\" x 1000; close F; open F, \"pf\"; local $/; print length <F>; "
            "print -s \"pf\"; system(\"echo\", \"hi\"); open(my $p, \"-|\", \"cat a.txt\"); print <$p>; exit 3'",
    "perl temporary": "perl -MFile::Temp=tempfile -e '($f, $n) = tempfile(DIR => \".\", UNLINK => 1); print $f \"x\"; close $f; print -s $n'",
    "python": "/usr/bin/python3 -c 'import os, sys, json, shutil\nshutil.copytree(\"sub\", \"tree\")\nprint(sorted(os.listdir(\".\")))\n"
              "open(\"j\", \"w\").write(json.dumps({\"a\": 1}))\nprint(json.load(open(\"j\")))\nsys.exit(5)'",
    "python subprocess": "/usr/bin/python3 -c 'import subprocess as s\nprint(s.run([\"cat\", \"a.txt\"], capture_output=True, text=True).stdout)\n"
                         "print(s.run(\"exit 3\", shell=True).returncode, s.Popen([\"sh\", \"-c\", \"cat\"], stdin=s.PIPE, stdout=s.PIPE)"
                         ".communicate(b\"in\"))\ntry:\n    s.run([\"/absent\"])\nexcept OSError as e:\n    print(e)'",
    "python error": "/usr/bin/python3 -c 'open(\"absent/file\")'",
    "python threads": "/usr/bin/python3 -c 'import concurrent.futures as c\nwith c.ThreadPoolExecutor(8) as p:\n"
                      "    print(sum(p.map(lambda i: open(f\"th{i}\", \"w\").write(\"x\" * i), range(50))))'",
    "python sqlite": "/usr/bin/python3 -c 'import sqlite3\nd = sqlite3.connect(\"d.db\")\nd.execute(\"create table t(a)\")\n"
                     "d.executemany(\"insert into t values(?)\", [(i,) for i in range(100)])\nd.commit()\n"
                     "print(d.execute(\"select sum(a) from t\").fetchall())'",
    "python mmap": "/usr/bin/python3 -c 'import mmap\nf = open(\"zeros\", \"r+b\")\nm = mmap.mmap(f.fileno(), 0)\nm[5:10] = b\"abcde\"\n"
                   "m.flush()\nprint(m[4:11])'",
    "node": "node -e 'const fs = require(\"fs\"); fs.writeFileSync(\"nf\", \"x\".repeat(999)); console.log(fs.statSync(\"nf\").size);"
            " fs.readFile(\"a.txt\", \"utf8\", (e, d) => { console.log(d); process.exit(3); })'",
    "node child": "node -e 'console.log(require(\"child_process\").execSync(\"cat a.txt\").toString())'",
    "java": "printf 'public class M { public static void main(String[] a) throws Exception { System.out.println(\"java\"); "
            "Process p = new ProcessBuilder(\"cat\", \"a.txt\").start(); System.out.println(new String(p.getInputStream().readAllBytes()) "
            "+ p.waitFor()); java.nio.file.Files.writeString(java.nio.file.Path.of(\"jf\"), \"x\".repeat(999)); System.exit(3); } }' > M.java; "
            "java -XX:-UsePerfData M.java",
    "sqlite3": "sqlite3 s.db 'create table t(a,b); insert into t values(1,2),(3,4); select sum(a*b) from t'; sqlite3 s.db .dump; sqlite3 s.db 'syntax error'",
    "git": "export HOME=$PWD GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z; git init -q -b main r && "
           "cp lines r/ && git -C r add . && git -C r -c user.name=a -c user.email=b commit -q -m m && git -C r log --format=%H && "
           "git clone -q r c && git -C c status --short --branch && git -C c fsck && rm -rf r/.git/index c/.git/index",
    "make": "printf 'all: one two\\none:\\n\\techo one > $@\\ntwo: one\\n\\tcat one one > $@\\n' > Makefile; make; make; make absent",
    "gcc": "printf '#include <stdio.h>\\nint main(void) { return printf(\"built\\\\n\") - 1; }\\n' > m.c && gcc -O2 -o m m.c && ./m; echo $?; "
           "gcc -c absent.c; rm m",
    "gdb": "gdb --version | head -n 1",
    "gdb batch": "gdb -q -batch -ex 'print 1+1' /bin/true 2>&1 | tail -n 1",
    "ssh": "ssh -V; ssh-keygen -q -t ed25519 -N '' -f k -C c && ssh-keygen -l -f k.pub | cut -c 1-4; rm k k.pub",
    "jq": "echo '{\"a\": [1, 2, 3]}' | jq '.a | add'; jq . absent",
    "bc": "echo '2^100' | bc",
    "ps": "ps -o args= -p $$ | wc -l; ps --no-such-option; echo $?",
    "env without ours": "env | grep -v -e ^FLOWTAP -e ^LD_PRELOAD= -e ^_= | sort",
    "env -i": "env -i /bin/sh -c 'echo clean; cat a.txt'",
    "nice and nohup": "nice -n 5 cat a.txt; nohup cat a.txt 2>&1 | grep -v nohup; setsid -w cat a.txt",
    "stdbuf": "stdbuf -o0 cat a.txt; stdbuf -oL head -n 2 lines",
    "umask": "umask 077; echo x > masked; mkdir masked-dir; stat -c %a masked masked-dir",
    "file and strings": "file a.txt zeros; strings -n 5 a.txt",
    "cpio": "find sub | cpio -o --quiet --reproducible > c.cpio; cpio -t --quiet < c.cpio",
    "zip": "zip -q -X z.zip a.txt lines && unzip -l z.zip | tail -n 1 | wc -w; rm -f z.zip",
    "rsync": "rsync -a sub/ synced && diff -r sub synced",
    "fakeroot": "fakeroot sh -c 'touch owned; chown 1:2 owned; stat -c %u:%g owned; id -u'",
    "setpriv": "setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'id -u; cat a.txt; touch denied'",
    "unshare": "unshare -m sh -c 'cat a.txt; echo mounted > in-namespace'",
    "closed streams": "cat a.txt >&-; echo $?; cat <&-; echo $?; ls absent 2>&-; echo $?",
    "full disk": "echo x > /dev/full; echo $?; cat lines > /dev/full; cp lines /dev/full; echo $?",
    "proc": "cat /proc/self/comm; ls /proc/self/fd | wc -l; cat /proc/self/cmdline | tr '\\0' ' '; grep -c Sig /proc/self/status",
}

PROGRAM_OF = {"tar and gzip": "tar", "gdb batch": "gdb", "node child": "node", "perl temporary": "perl", "ssh": "ssh"}
NEEDED = {name: PROGRAM_OF.get(name, name.split()[0]) for name in COMMANDS
          if name.split()[0] in ("tar", "gzip", "bzip2", "xz", "zstd", "perl", "java", "node", "sqlite3", "git", "gcc", "gdb", "ssh", "jq",
                                 "bc", "fakeroot", "setpriv", "unshare", "cpio", "rsync", "zip", "file", "dash", "make")}


def make_folder(folder):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "sub/deep").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha beta\ngamma\n")
    (folder / "sub/b.txt").write_text("beta\n")
    (folder / "sub/deep/empty").write_text("")
    (folder / "lines").write_text("".join(f"{i * 7919 % 1000} line {i}\n" for i in range(2000)))
    (folder / "zeros").write_bytes(bytes(50_000))
    for path in folder.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))


def tree(folder):
    """Everything that a folder holds: kind, mode, size and content of each name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        s = path.lstat()
        content = None
        if stat.S_ISREG(s.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(s.st_mode):
            content = os.readlink(path)
        found[str(path.relative_to(folder))] = (stat.filemode(s.st_mode), content)
    return found


def without_pids(text):
    """A shell names the process that was killed by its number."""
    return re.sub(rb"(line \d+:) +\d+ (?=[A-Z])", rb"\1 PID ", text)


@pytest.fixture(scope="module")
def daemon():
    tap = harness.Tap()
    one = tap.daemon()
    yield one
    trace = one.stop(check=False)
    summary = trace.summary()
    assert summary["events"] == summary["stored"] + summary["dropped"] > 0
    tap.finish(keep=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_same_as_untraced(tap, daemon, name):
    if name in NEEDED:
        harness.needs_program(NEEDED[name])
    results = []
    for env in (harness.clean_environment(HOME=tap.work), daemon.env(HOME=tap.work)):
        make_folder(tap.work)
        done = harness.call(["bash", "-c", COMMANDS[name]], cwd=tap.work, env=env)
        results.append((done, tree(tap.work)))
    (plain, plain_tree), (traced, traced_tree) = results
    assert traced.returncode == plain.returncode, (traced.stdout[-1000:], traced.stderr[-1000:])
    assert traced.stdout == plain.stdout
    assert without_pids(traced.stderr) == without_pids(plain.stderr)
    assert traced_tree == plain_tree
