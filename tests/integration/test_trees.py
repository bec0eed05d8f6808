# SPDX-License-Identifier: MIT
"""The whole tree of everyday starters: each process that `strace -f` saw is in the trace, as what it was in the end.

A new case is one line. What the command prints and leaves in its folder is as untraced; there is no gap.
"""

import collections
import os
import re

import pytest

import harness
import strace_log

PYTHON = "/usr/bin/python3 -S -E -B -c "
WORK = "import os, sys, time\ndef work(i):\n    open(f'own-{i}', 'w').write('x' * i)\n    return i\n"

TREES = {
    "gcc": "printf 'int main(void){return 0;}' > a.c; gcc -pipe -O1 -o a a.c && ./a",
    "make -j8": "printf 'all: $(addprefix t,$(shell seq 20))\\nt%%:\\n\\t@cat seed > $@; sh -c \"exec cat $@\"\\n' > Makefile; make -s -j8 | sort",
    "make recursive": "mkdir s; printf 'all:\\n\\t@cat ../seed\\n' > s/Makefile; printf 'all:\\n\\t@$(MAKE) -s -C s\\n' > Makefile; make -s",
    "perl": "perl -e 'system(\"cat seed\"); print `cat seed`; open P, \"cat seed|\"; print <P>; close P; open Q, \"|cat\"; print Q \"q\\n\"; close Q; "
            "$p = fork; if (!$p) { exec \"cat\", \"seed\" } waitpid $p, 0; if (!fork) { exit 3 } wait; print $? >> 8'",
    "perl deep": "perl -e '$| = 1; for (1..10) { last if $p = fork; open F, \">own-$_\"; print F $_; close F } waitpid $p, 0 if $p'",
    "bash coproc": "bash -c 'coproc cat; echo one >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x; exec {COPROC[1]}>&-; wait'",
    "bash substitutions": "bash -c 'cat <(cat seed) <(sort seed) > >(cat > out); wait; sleep 0; x=$(cat seed); echo $x; (cat seed; (cat seed))'",
    "bash exec": "bash -c '(exec cat seed); (exec -a named cat seed); bash -c \"exec sh -c \\\"exec cat seed\\\"\"; . ./script; exec cat seed'",
    "bash pipes": "bash -c 'set -o pipefail; cat seed | tee one | sort | uniq -c | cat | cat > two & cat seed | cat & wait; lastpipe=1; cat one two'",
    "bash trap": "bash -c 'trap \"cat seed\" USR1; kill -USR1 $$; trap \"cat seed\" EXIT; exit 4'",
    "dash": "dash -c 'x=`cat seed`; echo $x; (cat seed) & wait; cat seed | (read a; echo $a); exec cat seed'",
    "zsh": "zsh -fc 'cat seed; x=$(cat seed); cat =(cat seed); cat <(cat seed); (cat seed); cat seed | cat; exec cat seed'",
    "xargs -P": "seq 40 | xargs -P 8 -n 1 sh -c 'cat seed > own-$0'; cat own-* | wc -l",
    "find": "find . -name 'se*' -exec cat {} \\; -exec cat {} + -execdir cat {} \\;",
    "awk": "awk 'BEGIN { system(\"cat seed\"); while ((\"cat seed\" | getline x) > 0) print x; print \"p\" | \"cat\" }'",
    "setsid": "setsid -w cat seed; setsid cat seed | cat",
    "nohup": "nohup cat seed < /dev/null 2> /dev/null | cat; nohup sh -c 'cat seed' | cat",
    "timeout": "timeout 20 cat seed; timeout -s KILL 20 sh -c 'cat seed; exit 3'; echo $?; timeout 1 sleep 30; echo $?",
    "env": "env -S 'A=1 cat seed'; env -i cat seed; env -u HOME sh -c 'cat seed'; env - PATH=/usr/bin:/bin sh -c 'env -i cat seed'",
    "script": "script -qec 'cat seed' /dev/null | tr -d '\\r'",
    "nice": "nice -n 3 cat seed; ionice -c 3 cat seed; stdbuf -oL cat seed; chrt -b 0 cat seed; taskset 1 cat seed; prlimit -n64 cat seed",
    "flock": "flock lock cat seed; flock lock -c 'cat seed'",
    "unshare": "unshare -r cat seed; unshare -m cat seed; unshare -u sh -c 'cat seed; (cat seed)'",
    "pid namespace": "unshare --fork --pid sh -c 'cat seed; (cat seed; exit 2); cat seed | cat; exec cat seed'; unshare -fp unshare -fp cat seed",
    "run-parts": "mkdir d; ln -s /bin/true d/one; ln -s /bin/echo d/two; cd d; run-parts -a three .",
    "python subprocess": PYTHON + "\"import subprocess as s, os\nfor k in [dict(), dict(close_fds=False), dict(preexec_fn=os.getpid), "
                         "dict(pass_fds=[1]), dict(start_new_session=True), dict(env={}), dict(shell=True, args='cat seed'), dict(cwd='.'), "
                         "dict(restore_signals=False), dict(umask=63)]:\n"
                         "    s.run(k.pop('args', ['/bin/cat', 'seed']), check=True, **k)\n\"",
    "python os": PYTHON + "\"import os\ncat = ['cat', 'seed']\nrun = lambda pid: os.waitpid(pid, 0)\nos.system('cat seed')\n"
                 "os.spawnv(os.P_WAIT, '/bin/cat', cat)\nos.spawnvpe(os.P_WAIT, 'cat', cat, {})\n"
                 "run(os.posix_spawn('/bin/cat', cat, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 5, 'opened', 65, 384), "
                 "(os.POSIX_SPAWN_DUP2, 1, 7), (os.POSIX_SPAWN_CLOSE, 7)], setsid=True, setsigmask=[10], setsigdef=[13]))\n"
                 "run(os.posix_spawnp('cat', cat, {}, setpgroup=0, resetids=True))\nprint(os.popen('cat seed').read())\n\"",
    "python double fork": PYTHON + "\"import os\nr, w = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
                          "        open('own', 'w').write('daemon')\n        os.write(w, b'd')\n        os._exit(0)\n    os._exit(0)\n"
                          "os.wait()\nos.close(w)\nos.read(r, 1)\nos.read(r, 1)\n\"",
    "python fork and threads": PYTHON + f"\"{WORK}import threading\ndef loop(k):\n    for i in range(30):\n        work(k)\n"
                               "t = [threading.Thread(target=loop, args=(k,)) for k in range(4)]\n[x.start() for x in t]\n"
                               "for i in range(20):\n    pid = os.fork()\n    if pid == 0:\n        work(100 + i)\n"
                               "        s = threading.Thread(target=work, args=(200 + i,))\n        s.start()\n        s.join()\n        os._exit(0)\n"
                               "    os.waitpid(pid, 0)\n[x.join() for x in t]\n\"",
    "python executor": PYTHON + f"\"{WORK}from concurrent.futures import ProcessPoolExecutor as P\nimport multiprocessing as m\n"
                       "for how in ('fork',):\n    with P(4, mp_context=m.get_context(how)) as p:\n        print(sum(p.map(work, range(12))))\n\"",
}
JAVA = """
public class T {
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 3; i++) {
            ProcessBuilder b = new ProcessBuilder("cat", "seed");
            if (i == 1) b.environment().clear();
            if (i == 2) b.redirectOutput(new java.io.File("out"));
            Process p = b.start();
            p.getInputStream().transferTo(System.out);
            System.out.println(p.waitFor());
        }
    }
}
"""


def prepare(folder):
    folder.mkdir()
    os.chmod(folder, 0o777)
    (folder / "seed").write_text("".join(f"line {i}\n" for i in range(5)))
    (folder / "script").write_text("cat seed\n")


def what_they_became(logs):
    """{pid: argv of its last image}; () where its parent is not known."""
    calls, parents, threads = {}, {}, set()
    for name in os.listdir(logs):
        calls[int(name.rsplit(".", 1)[1])] = strace_log.read_task(logs / name)[0]
    for pid, own in calls.items():
        for c in own:
            if c.name in strace_log.PROCESS_CALLS[2:] and c.result > 0:
                parents[c.result] = (pid, c.time)
                if "CLONE_THREAD" in c.arguments:
                    threads.add(c.result)

    def argv_at(pid, when):
        while True:
            own = [c for c in calls.get(pid, ()) if c.name in ("execve", "execveat") and c.result == 0 and c.time <= when]
            if own:
                return strace_log.command_line(own[-1])
            if pid not in parents:
                return ()
            pid, when = parents[pid]
    return {pid: argv_at(pid, float("inf")) for pid in calls if pid not in threads}


def plain_argv(argv):
    return tuple(re.sub(r"/tmp/cc\w{6}|/dev/fd/\d+|/proc/self/fd/\d+|/tmp/zsh\w+|\d{3,}", "*", a) for a in argv)


def run(tap, argv):
    """Untraced, under strace and traced, each in a fresh folder of the same name; the trace is checked against strace."""
    folder, logs = tap.work / "one", tap.folder / "strace"
    logs.mkdir()
    os.chmod(tap.folder, 0o755)
    finished = []
    for step in range(3):
        prepare(folder)
        words = strace_log.command(str(logs), argv, families=("rename",), stacks=False) if step == 1 else argv
        if step < 2:
            finished.append(tap.plain(words, cwd=folder, deadline=120))
        else:
            trace = tap.run(argv, cwd=folder, deadline=120, status=None)
            finished.append(trace.ran)
        kept = tap.folder / f"left-{step}"
        os.rename(folder, kept)
    assert finished[2].returncode == finished[0].returncode and finished[2].stdout == finished[0].stdout, finished[2].stderr
    left = [sorted((p.name, p.stat().st_size) for p in (tap.folder / f"left-{n}").rglob("*")) for n in (0, 2)]
    assert left[0] == left[1]
    want = collections.Counter(plain_argv(a) for a in what_they_became(logs).values())
    # in another namespace a vfork child has the pid that its parent knows, where the image that it became is not known yet
    entries = [p for p in trace.processes() if not ((p["exit"] or {}).get("exec") and p["pid"] == p["ns_pid"])]
    last = {p["pid"]: p for p in sorted(entries, key=lambda p: p["start"])}
    have = collections.Counter(plain_argv(p["argv"]) for p in last.values())
    unknown = want.pop((), 0)  # strace does not tell who forked it in another namespace
    assert not want - have and sum((have - want).values()) == unknown, f"missing: {want - have}; too many: {have - want}"
    assert trace.gaps() == [] and trace.summary()["dropped"] == 0, trace.gaps()
    known = {p["pid"] for p in trace.processes()}
    assert {e["pid"] for e in trace.events()} <= known
    return trace


@pytest.mark.parametrize("name", TREES)
def test_a_tree(tap, name):
    harness.needs_program(TREES[name].split()[0])
    harness.needs(os.geteuid() == 0 or name not in ("pid namespace", "unshare"), "a namespace needs root")
    run(tap, ["bash", "-c", TREES[name]])


DROPS = {
    "setpriv": "setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'cat seed; (cat seed; cat seed)'",
    "python": PYTHON + "\"import os\nos.setgroups([])\nos.setgid(65534)\nos.setuid(65534)\npid = os.fork()\nif pid == 0:\n"
              "    os.execv('/bin/cat', ['cat', 'seed'])\nos.waitpid(pid, 0)\nos.system('cat seed')\nos.execv('/bin/cat', ['cat', 'seed'])\n\"",
    "subprocess": PYTHON + "\"import subprocess as s\nfor i in range(3):\n    s.run(['cat', 'seed'], user=65534, group=65534, extra_groups=[])\n\"",
}


@pytest.mark.parametrize("name", DROPS)
def test_who_becomes_another_user_stays_traced_where_the_daemon_lets_all_in(tap, name):
    harness.needs(os.geteuid() == 0, "another user needs root")
    harness.needs_program(DROPS[name].split()[0])
    prepare(tap.work / "one")
    for folder in (tap.folder, tap.work):
        os.chmod(folder, 0o755)
    daemon = tap.daemon()
    os.chmod(daemon.folder, 0o755)
    argv = ["bash", "-c", DROPS[name]]
    done = daemon.call(argv, cwd=tap.work / "one")
    assert done.same() == tap.plain(argv, cwd=tap.work / "one").same() and done.stdout.count(b"line 4") == 3
    trace = daemon.stop()
    cats = [p for p in trace.processes() if p["exe"].endswith("/cat")]
    assert len(cats) == 3 and {p["uid"] for p in cats} == {65534}
    assert trace.gaps() == [], trace.gaps()


@pytest.mark.parametrize("name", DROPS)
def test_who_becomes_another_user_is_a_gap_under_a_daemon_of_ones_own(tap, name):
    """Its folder lets nobody else in."""
    harness.needs(os.geteuid() == 0, "another user needs root")
    harness.needs_program(DROPS[name].split()[0])
    prepare(tap.work / "one")
    for folder in (tap.folder, tap.work):
        os.chmod(folder, 0o755)
    trace = tap.run(["bash", "-c", DROPS[name]], cwd=tap.work / "one")
    assert trace.ran.stdout.count(b"line 4") == 3
    assert sum(g["count"] for g in trace.gaps()) >= 1 and not [p for p in trace.processes() if p["uid"]], trace.gaps()


def test_java(tap):
    harness.needs_program("javac")
    source = tap.folder / "T.java"
    source.write_text(JAVA)
    assert tap.plain(["javac", "-d", tap.folder, source], deadline=180).returncode == 0
    trace = run(tap, ["java", "-Xint", "-XX:-UsePerfData", "-cp", str(tap.folder), "T"])
    assert trace.file(tap.work / "one/seed")["read_bytes"] == 3 * 35
    assert len([p for p in trace.processes() if p["exe"].endswith("/cat")]) == 3
