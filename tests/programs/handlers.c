// SPDX-License-Identifier: MIT
// handlers HOW [N]: signal handlers that make calls, in the many ways in which programs have them.
#define _GNU_SOURCE
#include "counted.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

static long wanted = 100;
static atomic_long depth_left;
static sigjmp_buf back;
static volatile sig_atomic_t done;

static void on(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    CHECKED(sigaction(number, &action, NULL) == 0);
}

/* Each level interrupts the one before, between its open and its write. */
static void nested_handler(int number)
{
    counted_touch("handler");
    if (atomic_fetch_sub(&depth_left, 1) > 1)
        raise(number);
    counted_touch("handler");
}

static void nested(void)
{
    on(SIGUSR1, nested_handler, SA_NODEFER);
    for (long i = 0; i < wanted; i++) {
        atomic_store(&depth_left, 10);
        raise(SIGUSR1);
        counted_touch("main");
    }
}

static void touch_handler(int unused)
{
    (void)unused;
    counted_touch("handler");
    done = 1;
}

/* As small a stack as the kernel takes, and a little for the handler; the page below it may not be touched. */
static void alternate_stack(void)
{
    long page = sysconf(_SC_PAGESIZE), least = (long)getauxval(AT_MINSIGSTKSZ);
    size_t size = (size_t)((least > 2048 ? least : 2048) + 2048 + page - 1) / (size_t)page * (size_t)page;
    char *memory = mmap(NULL, size + (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECKED(memory != MAP_FAILED && mprotect(memory, (size_t)page, PROT_NONE) == 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = size};
    CHECKED(sigaltstack(&stack, NULL) == 0);
    on(SIGUSR1, touch_handler, SA_ONSTACK);
    for (long i = 0; i < wanted; i++) {
        raise(SIGUSR1);
        counted_touch("main");
    }
}

static void *alternate_stack_in_thread(void *unused)
{
    alternate_stack();
    return unused;
}

static char *fault_page;

static void fault_handler(int unused)
{
    (void)unused;
    counted_touch("handler");
    CHECKED(mprotect(fault_page, 4096, PROT_READ | PROT_WRITE) == 0);
}

static void faults(void)
{
    fault_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    on(SIGSEGV, fault_handler, 0);
    for (long i = 0; i < wanted; i++) {
        *(volatile char *)fault_page = 1;
        CHECKED(mprotect(fault_page, 4096, PROT_NONE) == 0);
        counted_touch("main");
    }
}

static volatile char *volatile nowhere = (char *)16;

static void fault_jump(int unused)
{
    (void)unused;
    counted_touch("handler");
    siglongjmp(back, 1);
}

static void faults_left_by_a_jump(void)
{
    on(SIGSEGV, fault_jump, 0);
    for (volatile long i = 0; i < wanted; i++) {
        if (sigsetjmp(back, 1) == 0)
            *nowhere = 1;
        counted_touch("main");
    }
}

static void *taker(void *set)
{
    int number;
    for (long i = 0; i < wanted; i++) {
        CHECKED(sigwait(set, &number) == 0 && number == SIGUSR1);
        counted_touch("handler");
        CHECKED(kill(getpid(), SIGUSR2) == 0);
    }
    return NULL;
}

static void waited(void)
{
    pthread_t t;
    sigset_t set, answers;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    answers = set;
    sigaddset(&answers, SIGUSR2);
    CHECKED(pthread_sigmask(SIG_BLOCK, &answers, NULL) == 0);
    sigdelset(&answers, SIGUSR1);
    CHECKED(pthread_create(&t, NULL, taker, &set) == 0);
    for (long i = 0; i < wanted; i++) {
        CHECKED(kill(getpid(), SIGUSR1) == 0 && sigwait(&answers, &number) == 0);
        counted_touch("main");
    }
    pthread_join(t, NULL);
}

static void by_descriptor(void)
{
    sigset_t set;
    struct signalfd_siginfo info;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECKED(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    for (long i = 0; i < wanted; i++) {
        CHECKED(raise(SIGUSR1) == 0 && read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR1);
        counted_touch("main");
    }
}

static atomic_int ended;

static void child_handler(int unused)
{
    (void)unused;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        atomic_fetch_add(&ended, 1);
    counted_touch("handler");
}

/* The last signal may have come already: never without an end. */
static void pause_a_little(void)
{
    struct timespec some = {0, 1000000};
    nanosleep(&some, NULL);
}

static void children(void)
{
    on(SIGCHLD, child_handler, SA_RESTART);
    for (long i = 0; i < wanted; i++) {
        pid_t pid = fork();
        CHECKED(pid >= 0);
        if (pid == 0) {
            int fd = open("child", O_WRONLY | O_CREAT | O_APPEND, 0600);
            _exit(write(fd, "x", 1) != 1);
        }
        counted_touch("main");
    }
    while (atomic_load(&ended) < wanted)
        pause_a_little();
    atomic_fetch_add(counted_of("child"), wanted);
}

static void fork_handler(int unused)
{
    (void)unused;
    counted_touch("handler");
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open("child", O_WRONLY | O_CREAT | O_APPEND, 0600);
        _exit(write(fd, "x", 1) != 1);
    }
    int status;
    CHECKED(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    atomic_fetch_add(counted_of("child"), 1);
}

static timer_t start_timer(int how, void (*function)(union sigval))
{
    struct sigevent event = {.sigev_notify = how, .sigev_signo = SIGUSR1};
    if (function != NULL)
        event.sigev_notify_function = function;
    timer_t timer;
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    CHECKED(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0);
    return timer;
}

/* Slow enough for the ring to hold it, whatever the timer's pace. */
static void until_handled(const char *name)
{
    while (atomic_load(counted_of(name)) < wanted) {
        counted_touch("main");
        for (volatile int i = 0; i < 50000; i++)
            ;
    }
}

static void forks(void)
{
    on(SIGUSR1, fork_handler, SA_RESTART);
    timer_t timer = start_timer(SIGEV_SIGNAL, NULL);
    until_handled("child");
    on(SIGUSR1, SIG_IGN, 0);
    timer_delete(timer);
}

static void timer_signals(void)
{
    on(SIGUSR1, touch_handler, SA_RESTART);
    timer_t timer = start_timer(SIGEV_SIGNAL, NULL);
    until_handled("handler");
    on(SIGUSR1, SIG_IGN, 0);
    timer_delete(timer);
}

static atomic_int in_notification, no_more;

static void notified(union sigval unused)
{
    (void)unused;
    atomic_fetch_add(&in_notification, 1);
    if (!atomic_load(&no_more))
        counted_touch("handler");
    atomic_fetch_sub(&in_notification, 1);
}

static void timer_threads(void)
{
    timer_t timer = start_timer(SIGEV_THREAD, notified);
    until_handled("handler");
    timer_delete(timer);
    atomic_store(&no_more, 1);
    while (atomic_load(&in_notification) > 0)
        sched_yield();
}

static void jump_handler(int unused)
{
    (void)unused;
    counted_touch("handler");
    siglongjmp(back, 1);
}

/* Out of a read that waits, and what follows runs deeper on the stack than that read did. */
static void __attribute__((noinline)) deeper(int levels)
{
    volatile char room[512];
    room[0] = (char)levels;
    if (levels > 0)
        deeper(levels - room[0] + levels - 1);
    else
        counted_touch("main");
}

static void out_of_a_read(void)
{
    int fds[2];
    char c;
    CHECKED(pipe(fds) == 0);
    on(SIGALRM, jump_handler, SA_RESTART);
    for (volatile long i = 0; i < wanted; i++) {
        if (sigsetjmp(back, 1) == 0) {
            ualarm(1000, 0);
            CHECKED(read(fds[0], &c, 1) == 77);
        }
        deeper(8);
    }
}

static void in_thread(void)
{
    pthread_t t;
    CHECKED(pthread_create(&t, NULL, alternate_stack_in_thread, NULL) == 0 && pthread_join(t, NULL) == 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"nested", nested},
    {"altstack", alternate_stack},
    {"altstack-thread", in_thread},
    {"fault", faults},
    {"fault-jump", faults_left_by_a_jump},
    {"sigwait", waited},
    {"signalfd", by_descriptor},
    {"children", children},
    {"fork", forks},
    {"timer-signal", timer_signals},
    {"timer-thread", timer_threads},
    {"jump-read", out_of_a_read},
};

int main(int argc, char **argv)
{
    counted_of("main");
    counted_of("handler");
    counted_of("child");
    wanted = argc > 2 ? atol(argv[2]) : wanted;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc > 1 && !strcmp(argv[1], ways[i].name)) {
            ways[i].run();
            counted_print();
            return 0;
        }
    return 2;
}
