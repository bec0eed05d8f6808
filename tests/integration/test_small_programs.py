# SPDX-License-Identifier: MIT
"""Programs of a few lines, each of which does what tracers do not expect: it runs as untraced, and its calls are events.

A case is the body of main, which may use touch(): open, write and close of a file; and how often each call is on each file.
"""

import shutil

import pytest

import harness

HEADERS = ("dirent dlfcn errno execinfo fcntl linux/falloc linux/fs pthread setjmp signal spawn stdio stdlib string sys/eventfd"
           " sys/file sys/inotify sys/mman sys/prctl sys/ptrace sys/resource sys/socket sys/stat sys/time sys/uio sys/wait unistd")
HEAD = "#define _GNU_SOURCE\n" + "".join(f"#include <{name}.h>\n" for name in HEADERS.split()) + r"""
extern char **environ;
#define CHECK(x) do { if (!(x)) { dprintf(2, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); _exit(99); } } while (0)
static void touch(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    CHECK(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
}
static void on(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    CHECK(sigaction(number, &action, NULL) == 0);
}
static void waited(pid_t pid)
{
    int status;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}
static sigjmp_buf back;
static void touch_and_jump(int unused) { touch("handler"); siglongjmp(back, 1); }
static void write_in_handler(int unused) { int fd = open("handler", O_WRONLY | O_CREAT, 0600); CHECK(write(fd, "x", 1) == 1 && close(fd) == 0); }
static int left;
static void leave_exit(void) { touch("leaving"); if (!left++) siglongjmp(back, 1); }
static void *sleeper(void *fd) { char b; CHECK(read((int)(long)fd, &b, 1) == 1); touch("thread"); return NULL; }
static int frames;
static ssize_t put(void *unused, const char *b, size_t n) { void *f[64]; frames = backtrace(f, 64); touch("cookie"); return n; }
static void *many_lines(void *f) { for (int i = 0; i < 500; i++) fprintf(f, "%03d\n", i); return NULL; }
static void *flushes(void *unused) { for (int i = 0; i < 200; i++) CHECK(fflush(NULL) == 0); return NULL; }
static void *popens(void *unused)
{
    char b[8];
    FILE *p = popen("echo popened", "r");
    CHECK(p && fgets(b, sizeof b, p) && pclose(p) == 0);
    touch("popened");
    return NULL;
}
static void prepared(void) { touch("prepared"); }
"""

TOUCHED = {"open": 1, "write": 1, "close": 1}


def times(n):
    return {call: n for call in TOUCHED}


# Name: (body, calls of files)
CASES = {
    "an abort that a handler jumps out of": ("""
        on(SIGABRT, touch_and_jump);
        for (int i = 0; i < 3; i++) { if (!sigsetjmp(back, 1)) abort(); touch("after"); }
        return 0;""", {"handler": times(3), "after": times(3)}),
    "an exit that a handler of its own jumps out of": ("""
        atexit(leave_exit);
        if (!sigsetjmp(back, 1)) exit(1);
        touch("after");
        atexit(leave_exit);
        exit(0);""", {"leaving": times(2), "after": TOUCHED}),
    "a fault in a mapping of a file that was cut": ("""
        int fd = open("data", O_RDWR | O_CREAT, 0600);
        CHECK(ftruncate(fd, 8192) == 0);
        char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(p != MAP_FAILED && ftruncate(fd, 0) == 0);
        on(SIGBUS, touch_and_jump);
        if (!sigsetjmp(back, 1)) { p[0] = 1; return 1; }
        CHECK(write(1, p, 1) == -1 && errno == EFAULT);
        touch("after");
        return close(fd);""", {"data": {"open": 1, "ftruncate": 2, "mmap": 1, "close": 1}, "handler": TOUCHED, "after": TOUCHED}),
    "calls that an alarm interrupts": ("""
        int p[2];
        char b;
        CHECK(pipe(p) == 0);
        on(SIGALRM, write_in_handler);
        for (int i = 0; i < 5; i++) {
            struct itimerval soon = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
            setitimer(ITIMER_REAL, &soon, NULL);
            ssize_t r = i % 2 ? readv(p[0], &(struct iovec){&b, 1}, 1) : read(p[0], &b, 1);
            int error = errno;
            setitimer(ITIMER_REAL, &never, NULL);
            CHECK(r == -1 && error == EINTR);
            touch("after");
        }
        return 0;""", {"after": times(5)}),
    "streams of a callback that looks at its stack": ("""
        FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = put});
        void *own[64];
        int before = backtrace(own, 64);
        CHECK(fputs("text", f) >= 0 && fflush(f) == 0 && frames > before);
        CHECK(fputs("more", f) >= 0 && fclose(f) == 0);
        return 0;""", {"cookie": times(2)}),
    "a file without a name that gets one": ("""
        char path[64];
        int fd = open(".", O_TMPFILE | O_RDWR, 0640);
        if (fd < 0 && errno == EOPNOTSUPP) return 0;
        struct stat s;
        CHECK(write(fd, "abc", 3) == 3 && fstat(fd, &s) == 0);
        printf("%o\\n", s.st_mode);
        sprintf(path, "/proc/self/fd/%d", fd);
        CHECK(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW) == 0);
        CHECK(close(fd) == 0);
        touch("named");
        return 0;""", {"named": TOUCHED}),
    "two files that are exchanged while they are open": ("""
        touch("a");
        touch("b");
        int a = open("a", O_WRONLY), b = open("b", O_WRONLY);
        CHECK(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE) == 0);
        CHECK(write(a, "was a", 5) == 5 && write(b, "was b!", 6) == 6 && close(a) == 0 && close(b) == 0);
        return 0;""", {"a": {"open": 2, "write": 2, "close": 2}, "b": {"open": 2, "write": 2, "close": 2}}),
    "holes": ("""
        int fd = open("data", O_RDWR | O_CREAT, 0600);
        CHECK(fallocate(fd, 0, 0, 1 << 20) == 0 && pwrite(fd, "x", 1, 0) == 1 && pwrite(fd, "x", 1, 1 << 19) == 1);
        int punched = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 65536);
        CHECK(punched == 0 || errno == EOPNOTSUPP);
        long data = lseek(fd, 0, SEEK_DATA), hole = lseek(fd, 0, SEEK_HOLE), none = lseek(fd, 1 << 21, SEEK_DATA);
        printf("%d %ld %ld %ld %d\\n", punched, data, hole, none, errno);
        return close(fd);""", {"data": {"open": 1, "fallocate": 2, "pwrite": 2, "lseek": 3, "close": 1}}),
    "a directory's descriptor that may only be a place": ("""
        mkdir("below", 0700);
        int dir = open("below", O_PATH | O_DIRECTORY);
        struct stat s;
        char b;
        CHECK(dir >= 0 && fstat(dir, &s) == 0 && read(dir, &b, 1) == -1 && errno == EBADF);
        int fd = openat(dir, "file", O_WRONLY | O_CREAT, 0600);
        CHECK(write(fd, "x", 1) == 1 && close(fd) == 0 && rename("below", "moved") == 0);
        fd = openat(dir, "file", O_RDONLY);
        CHECK(read(fd, &b, 1) == 1 && close(fd) == 0 && close(dir) == 0);
        return 0;""", {"below/file": {"openat": 1, "write": 1, "close": 1}, "moved/file": {"openat": 1, "read": 1, "close": 1}}),
    "two walks of one directory at a time": ("""
        touch("one"); touch("two");
        DIR *a = opendir("."), *b = opendir(".");
        int n = 0;
        CHECK(readdir(a) && readdir(b));
        long place = telldir(a);
        while (readdir(a)) n++;
        seekdir(a, place);
        while (readdir(a)) n++;
        rewinddir(b);
        while (readdir(b)) n++;
        printf("%d\\n", n);
        return closedir(a) || closedir(b);""", {"one": TOUCHED, "two": TOUCHED, "": {"opendir": 2, "closedir": 2, "rewinddir": 1, "readdir": 2 + 4 + 4 + 5}}),
    "standard output that changes under a stream": ("""
        int keep = dup(1), one = open("one", O_WRONLY | O_CREAT, 0600), two = open("two", O_WRONLY | O_CREAT, 0600);
        CHECK(dup2(one, 1) == 1);
        printf("first %d\\n", 1);
        CHECK(fflush(stdout) == 0 && dup2(two, 1) == 1);
        printf("second %d\\n", 2);
        CHECK(fflush(stdout) == 0 && dup2(keep, 1) == 1);
        puts("third");
        return 0;""", {"one": {"open": 1, "printf": 1, "fflush": 1, "dup2": 1}, "two": {"open": 1, "printf": 1, "fflush": 1, "dup2": 1}}),
    "a limit below the descriptors that are open": ("""
        int high = fcntl(1, F_DUPFD, 200), fd = open("data", O_WRONLY | O_CREAT, 0600);
        struct rlimit few = {fd + 1, fd + 1};
        CHECK(high >= 200 && setrlimit(RLIMIT_NOFILE, &few) == 0);
        CHECK(open("other", O_WRONLY | O_CREAT, 0600) == -1 && errno == EMFILE && dup(fd) == -1 && errno == EMFILE);
        CHECK(write(fd, "x", 1) == 1 && close(fd) == 0);
        touch("data");
        return close(high);""", {"data": {"open": 2, "write": 2, "close": 2, "dup": 1}, "other": {"open": 1}}),
    "a pipe that is closed while a thread waits on it": ("""
        int p[2];
        pthread_t t;
        CHECK(pipe(p) == 0 && pthread_create(&t, NULL, sleeper, (void *)(long)p[0]) == 0);
        touch("before");
        CHECK(write(p[1], "x", 1) == 1 && pthread_join(t, NULL) == 0 && close(p[0]) == 0 && close(p[1]) == 0);
        touch("after");
        return 0;""", {"before": TOUCHED, "thread": TOUCHED, "after": TOUCHED}),
    "all streams flushed while others print": ("""
        FILE *a = fopen("a", "w"), *b = fopen("b", "w");
        pthread_t t[3];
        CHECK(a && b && !pthread_create(&t[0], NULL, many_lines, a) && !pthread_create(&t[1], NULL, many_lines, b) &&
              !pthread_create(&t[2], NULL, flushes, NULL));
        for (int i = 0; i < 3; i++)
            pthread_join(t[i], NULL);
        return fclose(a) || fclose(b);""", {"a": {"fopen": 1, "fprintf": 500, "fclose": 1}, "b": {"fopen": 1, "fprintf": 500, "fclose": 1}}),
    "a fork while a stream is locked": ("""
        FILE *f = fopen("data", "w");
        flockfile(f);
        CHECK(fputs("one", f) >= 0 && fflush(f) == 0);
        pid_t pid = fork();
        if (pid == 0) { fputs("two", f); fflush(f); funlockfile(f); touch("child"); _exit(0); }
        waited(pid);
        funlockfile(f);
        return fclose(f);""", {"data": {"fopen": 1, "fputs": 2, "fflush": 2, "fclose": 1}, "child": TOUCHED}),
    "a child that is traced by its parent": ("""
        int status, stops = 0;
        pid_t pid = fork();
        if (pid == 0) {
            if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) _exit(77);
            raise(SIGSTOP);
            touch("child");
            execl("/bin/true", "true", NULL);
            _exit(1);
        }
        while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
            stops++;
            int number = WSTOPSIG(status);
            ptrace(PTRACE_CONT, pid, NULL, number == SIGSTOP || number == SIGTRAP ? 0 : number);
        }
        printf("%d %d\\n", stops, status);
        touch("parent");
        return 0;""", {"child": TOUCHED, "parent": TOUCHED}),
    "a child that stops itself and goes on": ("""
        int status;
        pid_t pid = fork();
        if (pid == 0) { touch("child"); raise(SIGSTOP); touch("child"); _exit(0); }
        CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
        touch("between");
        CHECK(kill(pid, SIGCONT) == 0);
        waited(pid);
        return 0;""", {"child": times(2), "between": TOUCHED}),
    "a spawned program with its own descriptors": ("""
        posix_spawn_file_actions_t a;
        posix_spawnattr_t t;
        sigset_t all;
        char *words[] = {"cat", NULL};
        pid_t pid;
        touch("in");
        sigfillset(&all);
        int fd = open("in", O_RDONLY);
        posix_spawn_file_actions_init(&a);
        posix_spawnattr_init(&t);
        posix_spawnattr_setflags(&t, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setsigdefault(&t, &all);
        posix_spawn_file_actions_adddup2(&a, fd, 0);
        posix_spawn_file_actions_addclose(&a, fd);
        posix_spawn_file_actions_addopen(&a, 1, "out", O_WRONLY | O_CREAT, 0600);
        CHECK(posix_spawnp(&pid, "cat", &a, &t, words, environ) == 0);
        waited(pid);
        char b;
        CHECK(read(fd, &b, 1) == 0 && close(fd) == 0);
        return 0;""", {"in": {"open": 2, "write": 1, "posix_fadvise": 1}, "out": {"fstat": 1, "fclose": 1}}),
    "commands of two threads": ("""
        pthread_t t;
        CHECK(pthread_create(&t, NULL, popens, NULL) == 0);
        CHECK(system("echo x > system; exit 3") == 3 << 8 && pthread_join(t, NULL) == 0);
        return 0;""", {"popened": TOUCHED}),
    "descriptors that are closed from the first on": ("""
        int out = fcntl(1, F_DUPFD, 10);
        close(0); close(1); close(2);
        int fd = open("data", O_WRONLY | O_CREAT, 0600);
        pid_t pid = fork();
        if (pid == 0) _exit(open("child", O_WRONLY | O_CREAT, 0600) != 1);
        int status;
        waitpid(pid, &status, 0);
        dprintf(out, "%d %d\\n", fd, status);
        return close(fd);""", {"data": {"open": 1, "close": 1}, "child": {"open": 1}}),
    "a name like one that the kernel gives to what was removed": ("""
        touch("gone (deleted)");
        int fd = open("gone (deleted)", O_RDONLY), other = open("gone", O_WRONLY | O_CREAT, 0600);
        char b;
        CHECK(read(fd, &b, 1) == 1 && unlink("gone") == 0 && write(other, "xy", 2) == 2 && close(other) == 0 && close(fd) == 0);
        return 0;""", {"gone (deleted)": {"open": 2, "write": 1, "close": 2, "read": 1}, "gone": {"open": 1, "write": 1, "close": 1, "unlink": 1}}),
    "a fork handler of a process that may not be looked at": ("""
        CHECK(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_SET_NAME, "a) b (c") == 0 && pthread_atfork(prepared, NULL, NULL) == 0);
        pid_t pid = fork();
        if (pid == 0) { touch("child"); _exit(prctl(PR_GET_DUMPABLE)); }
        waited(pid);
        printf("%d\\n", prctl(PR_GET_DUMPABLE));
        return 0;""", {"prepared": TOUCHED, "child": TOUCHED}),
    "locks that outlive a fork": ("""
        int fd = open("lock", O_RDWR | O_CREAT, 0600);
        struct flock own = {.l_type = F_WRLCK}, asked = own;
        CHECK(flock(fd, LOCK_EX) == 0 && fcntl(fd, F_SETLK, &own) == 0);
        pid_t pid = fork();
        if (pid == 0) {
            CHECK(fcntl(fd, F_GETLK, &asked) == 0 && asked.l_type == F_WRLCK && asked.l_pid == getppid());
            CHECK(flock(open("lock", O_RDWR), LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
            _exit(0);
        }
        waited(pid);
        return close(fd);""", {"lock": {"open": 2, "flock": 2, "fcntl": 2, "close": 1}}),
    "a watch that sees all that is done in its folder": ("""
        char b[4096], *at = b;
        int watch = inotify_init1(IN_NONBLOCK);
        touch("data");
        CHECK(inotify_add_watch(watch, ".", IN_ALL_EVENTS) > 0 && inotify_add_watch(watch, "/proc/self/exe", IN_ALL_EVENTS) > 0);
        touch("data");
        pid_t pid = fork();
        if (pid == 0) { touch("child"); _exit(0); }
        waited(pid);
        for (ssize_t n = read(watch, b, sizeof b); at < b + n; at += sizeof(struct inotify_event) + ((struct inotify_event *)at)->len)
            printf("%d %x %s\\n", ((struct inotify_event *)at)->wd, ((struct inotify_event *)at)->mask, ((struct inotify_event *)at)->len ? at + sizeof(struct inotify_event) : "");
        CHECK(read(watch, b, sizeof b) == -1 && errno == EAGAIN);
        return close(watch);""", {"data": times(2), "child": TOUCHED}),
    "a file that grows to its limit": ("""
        struct rlimit most = {1000, RLIM_INFINITY};
        char b[600] = {0};
        on(SIGXFSZ, write_in_handler);
        int fd = open("data", O_WRONLY | O_CREAT, 0600);
        CHECK(setrlimit(RLIMIT_FSIZE, &most) == 0 && write(fd, b, 600) == 600 && write(fd, b, 600) == 400);
        CHECK(write(fd, b, 600) == -1 && errno == EFBIG && ftruncate(fd, 2000) == -1 && errno == EFBIG);
        pid_t pid = fork();
        if (pid == 0) { touch("child"); _exit(0); }
        waited(pid);
        return close(fd);""", {"data": {"open": 1, "write": 3, "ftruncate": 1, "close": 1}, "handler": times(2), "child": TOUCHED}),
    "a lease that nobody else's open breaks": ("""
        touch("data");
        int fd = open("data", O_RDONLY);
        struct stat s;
        int r = fcntl(fd, F_SETLEASE, F_WRLCK);
        CHECK(stat("data", &s) == 0);
        printf("%d %d\\n", r, fcntl(fd, F_GETLEASE));
        touch("other");
        CHECK(fcntl(fd, F_SETLEASE, F_UNLCK) == 0 || r != 0);
        return close(fd);""", {"data": {"open": 2, "write": 1, "close": 2, "stat": 1, "fcntl": 3}, "other": TOUCHED}),
    "paths and lists in a mapping of a file that was cut": ("""
        int fd = open("data", O_RDWR | O_CREAT, 0600);
        CHECK(ftruncate(fd, 8192) == 0);
        char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(p != MAP_FAILED && ftruncate(fd, 0) == 0);
        struct stat s;
        CHECK(stat(p, &s) == -1 && errno == EFAULT && open(p, O_RDONLY) == -1 && errno == EFAULT);
        CHECK(rename("data", p) == -1 && errno == EFAULT && readv(fd, (void *)p, 2) == -1 && errno == EFAULT);
        CHECK(execve(p, (char *[]){"x", NULL}, environ) == -1 && errno == EFAULT);
        CHECK(sendmsg(1, (void *)p, 0) == -1 && (errno == EFAULT || errno == ENOTSOCK) && stat("data", (void *)p) == -1 && errno == EFAULT);
        CHECK(mkdir(p + 8190, 0700) == -1 && errno == EFAULT);
        touch("after");
        return close(fd);""", {"data": {"open": 1, "ftruncate": 2, "mmap": 1, "rename": 1, "readv": 1, "stat": 1, "close": 1}, "after": TOUCHED}),
    "a stack that a handler's calls grow on": ("""
        struct rlimit small;
        CHECK(getrlimit(RLIMIT_STACK, &small) == 0);
        small.rlim_cur = 256 << 10;
        CHECK(setrlimit(RLIMIT_STACK, &small) == 0);
        on(SIGUSR1, write_in_handler);
        volatile char *deep = alloca(200 << 10);
        deep[0] = 1;
        raise(SIGUSR1);
        touch("after");
        return 0;""", {"handler": TOUCHED, "after": TOUCHED}),
    "a non-blocking counter": ("""
        int fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
        uint64_t n = 2, got;
        int few = 0;
        CHECK(read(fd, &got, 8) == -1 && errno == EAGAIN && write(fd, &n, 8) == 8);
        pid_t pid = fork();
        if (pid == 0) { CHECK(read(fd, &got, 8) == 8); touch("child"); _exit(0); }
        waited(pid);
        while (read(fd, &got, 8) == 8) few++;
        printf("%d %d\\n", few, errno);
        touch("after");
        return close(fd);""", {"child": TOUCHED, "after": TOUCHED}),
}


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("name", CASES)
def test_a_small_program(tap, name):
    body, files = CASES[name]
    program = tap.compiled("program", f"{HEAD}\nint main(int argc, char **argv)\n{{{body}\n}}\n", "-fno-builtin", "-pthread", "-g")
    plain = tap.plain([program])
    assert (plain.returncode, plain.stderr) == (0, b""), plain.stderr
    left = contents(tap.work)
    shutil.rmtree(tap.work)
    tap.work.mkdir()
    daemon = tap.daemon()
    done = daemon.call([program], cwd=tap.work)
    assert done.same() == plain.same() and contents(tap.work) == left
    trace = daemon.stop()
    for file, calls in files.items():
        path = str(tap.work / file)
        seen = [e["name"] for e in trace.events() if path in (e.get("path"), e.get("path2"))]
        assert {call: sum(n in (call, f"{call}64") for n in seen) for call in calls} == calls, (file, seen)
    assert trace.gaps() == [] and trace.summary()["dropped"] == trace.summary()["dropped_by_cause"]["torn"] == 0
    assert not [p["in_call"] for p in trace.processes() if p["in_call"]]
