// SPDX-License-Identifier: MIT
// ends HOW WITNESS: calls made while things end, and ends while others go on. The file WITNESS is mapped: how many calls the
// looping threads have done is in it whatever becomes of the process.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

static void touch(const std::string &name)
{
    int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1 || close(fd))
        abort();
}

struct Last {
    std::string name;
    ~Last()
    {
        touch(name);
    }
};

static Last of_the_program{"static"};
static thread_local Last *of_the_thread;

static pthread_key_t key;

static void of_the_key(void *round)
{
    touch("key");
    if (reinterpret_cast<long>(round) < 4)
        pthread_setspecific(key, reinterpret_cast<void *>(reinterpret_cast<long>(round) + 1));
}

static void in_thread()
{
    static thread_local Last last{"thread_local"};
    of_the_thread = &last;
    pthread_setspecific(key, reinterpret_cast<void *>(1));
    touch("thread");
}

static void at_end()
{
    touch("atexit");
}

static void on_end(int, void *)
{
    touch("on_exit");
}

static void at_quick_end()
{
    touch("at_quick_exit");
}

static void exits_again()
{
    touch("exits again");
    exit(5);
}

__attribute__((destructor)) static void destructor()
{
    touch("destructor");
}

/* Threads that loop until the process is gone. */
static volatile long *witness;

static void loop(int n)
{
    int fd = open("loop", O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (;;) {
        if (write(fd, "x", 1) != 1)
            abort();
        witness[n] = witness[n] + 1;
        for (volatile int i = 0; i < (witness[n] < 10000 ? 3000 : 300000);
             i = i + 1) // what the ring holds, then slowly
            ;
    }
}

static void start_loops()
{
    for (int i = 0; i < 4; i++)
        std::thread(loop, i).detach();
    while (witness[0] + witness[1] + witness[2] + witness[3] < 400)
        sched_yield();
}

static void map_witness(const char *path)
{
    int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0600));
    if (syscall(SYS_ftruncate, fd, 4096) != 0)
        abort();
    void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    witness = static_cast<volatile long *>(memory);
    syscall(SYS_close, fd);
}

static volatile int sum;

static int overflow(int n)
{
    volatile char room[4096];
    room[n % 4096] = 1;
    return n < 0 ? 0 : overflow(n + 1) + room[n % 4096];
}

static void of_a_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (library == nullptr || dlclose(library) != 0)
        abort();
}

int main(int argc, char **argv)
{
    std::string how = argc > 2 ? argv[1] : "return";
    map_witness(argv[2]);
    pthread_key_create(&key, of_the_key);
    atexit(at_end);
    on_exit(on_end, nullptr);
    at_quick_exit(at_quick_end);
    static thread_local Last of_main{"thread_local of main"};
    of_the_thread = &of_main;
    std::thread(in_thread).join();
    pthread_setspecific(key, reinterpret_cast<void *>(4));
    if (argc > 3)
        of_a_library(argv[3]);
    if (how == "quick")
        quick_exit(3);
    if (how == "again") {
        atexit(exits_again);
        return 3;
    }
    if (how == "pthread_exit") {
        std::thread([] {
            for (int i = 0; i < 50; i++) {
                usleep(100);
                touch("after main");
            }
        }).detach();
        pthread_exit(nullptr);
    }
    if (how == "return")
        return 3;
    start_loops();
    if (how == "exit of a thread")
        std::thread([] { exit(3); }).detach();
    if (how == "_exit of a thread")
        std::thread([] { _exit(3); }).detach();
    if (how == "raw exit_group")
        syscall(SYS_exit_group, 3);
    if (how == "abort")
        abort();
    if (how == "assert")
        assert(argc == 0);
    if (how == "trap")
        __builtin_trap();
    if (how == "overflow")
        sum = overflow(0);
    if (how == "pipe") {
        int fds[2];
        if (pipe(fds) || close(fds[0]) || write(fds[1], "x", 1) >= 0)
            abort();
    }
    if (how == "bus") {
        int fd = open("empty", O_RDWR | O_CREAT, 0600);
        volatile char *memory = static_cast<char *>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0));
        return *memory;
    }
    if (how != "main returns")
        for (;;)
            pause();
    return 3;
}
