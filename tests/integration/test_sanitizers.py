# SPDX-License-Identifier: MIT
"""Programs built with a sanitizer, whose runtimes are particular about what is loaded beside them."""

import pytest

import harness

SOURCE = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *work(void *unused)
{
    char *copy = strdup("yy");
    int fd = open("thread", O_WRONLY | O_CREAT, 0600);
    if (write(fd, copy, 2) != 2 || close(fd))
        _exit(9);
    free(copy);
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    volatile char *bytes = malloc(8);
    int fd = open("main", O_WRONLY | O_CREAT, 0600), n = argc + 7;
    if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
        return 8;
    if (write(fd, "x", 1) != 1 || close(fd))
        return 7;
    if (argc > 1 && !strcmp(argv[1], "overflow"))
        bytes[n] = 1;
    else if (argc > 1 && system(argv[1]) != 0)
        return 6;
    free((void *)bytes);
    return 5;
}
"""
KINDS = [("gcc", "address"), ("gcc", "undefined"), ("gcc", "thread"), ("gcc", "leak"), ("gcc", "address,undefined"),
         ("clang", "address"), ("clang", "address -shared-libasan"), ("clang", "undefined"), ("clang", "thread"),
         ("clang", "leak"), ("clang", "memory")]


def runtime_of(program):
    found = harness.call(["ldd", program]).stdout.decode().split()
    return found[next(i for i, word in enumerate(found) if word.startswith("libasan")) + 2]


def sanitized(tap, compiler, kind):
    words = kind.split()
    flags = ["-pthread", f"-fsanitize={words[0]}", *words[1:]]
    after = []
    if "-shared-libasan" in words:
        runtime = harness.call(["clang", "-print-file-name=libclang_rt.asan-x86_64.so"]).stdout.decode().strip()
        harness.needs(runtime.startswith("/"), "clang's shared runtime is not installed")
        after = [f"-Wl,-rpath,{runtime.rsplit('/', 1)[0]}"]
    harness.needs_program(compiler)
    return tap.compiled("sanitized", SOURCE, *flags, after=after, compiler=compiler)


@pytest.mark.parametrize("compiler,kind", KINDS, ids=[" ".join(k) for k in KINDS])
def test_it_runs_and_is_recorded_under_run_and_below_a_shell(tap, compiler, kind):
    program = sanitized(tap, compiler, kind)
    for argv in ([program], ["sh", "-c", f"{program}; exit $?"]):
        plain = tap.plain(argv)
        assert plain.same() == (5, b"", b""), plain.stderr
        trace = tap.run(argv, options=["--quiet"], status=5)
        assert trace.ran.same() == plain.same()
        for name, size in (("main", 1), ("thread", 2)):
            file = trace.file(tap.work / name)
            assert (file["writes"], file["written_bytes"], file["opens"]) == (1, size, 1)


def test_what_it_finds_it_reports(tap):
    program = sanitized(tap, "gcc", "address")
    trace = tap.run(["sh", "-c", f"{program} overflow; exit $?"], status=1)
    assert b"heap-buffer-overflow" in trace.ran.stderr
    assert trace.file(tap.work / "main")["written_bytes"] == 1


def test_its_runtime_is_not_loaded_into_its_children(tap):
    program = sanitized(tap, "gcc", "address")
    trace = tap.run([program, "grep -c asan /proc/self/maps; bash -c true"], options=["--quiet"], status=5)
    assert trace.ran.stdout == b"0\n" and trace.ran.stderr == b""


@pytest.mark.parametrize("order", ["before", "after", "both ways"])
def test_its_runtime_named_in_the_preload(tap, order):
    program = sanitized(tap, "gcc", "address")
    runtime = runtime_of(program)
    lists = {"before": f"{runtime} {harness.PRELOAD}", "after": f"{harness.PRELOAD}:{runtime}",
             "both ways": f"{runtime}:{harness.PRELOAD}:{runtime}"}
    daemon = tap.daemon()
    for argv in ([program], ["/bin/cat", "/dev/null"]):
        plain = tap.plain(argv, env=harness.clean_environment(LD_PRELOAD=runtime))
        assert daemon.call(argv, cwd=tap.work, env={"LD_PRELOAD": lists[order]}).same() == plain.same()
    trace = daemon.stop()
    assert trace.file(tap.work / "main")["writes"] == 1 and trace.image("/cat")


def test_options_of_the_program_and_of_the_user_come_before_ours(tap):
    own = SOURCE + 'const char *__asan_default_options(void) { return "detect_leaks=0:exitcode=77"; }\n'
    program = tap.compiled("own", own, "-pthread", "-fsanitize=address")
    # Its own definition replaces ours, so that the order is looked at again: the runtime has to be named first.
    done = tap.run([program, "overflow"], env={"LD_PRELOAD": runtime_of(program)}, status=77)
    assert b"heap-buffer-overflow" in done.ran.stderr
    other = sanitized(tap, "gcc", "address")
    tap.run([other, "overflow"], env={"ASAN_OPTIONS": "exitcode=78"}, status=78)
