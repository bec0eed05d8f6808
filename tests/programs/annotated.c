// SPDX-License-Identifier: MIT
// LDFLAGS: -lflowtap
/* Spans, arguments and tags of a C program in all surroundings: annotated MODE. Its account: annotated.h. */
#include "annotated.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void leaf(int64_t parent, const char *tags, const char *category, const char *name)
{
    flowtap_span span;
    struct logged one;
    span_begin(&span, &one, parent, tags, category, name);
    span_end(&span, &one, category, name);
}

static void more_args(struct logged *one, const char *text)
{
    size_t n = strlen(one->args);
    snprintf(one->args + n, sizeof(one->args) - n, ",%s", text);
}

/* Every type of argument, with values at the ends. */
static void arguments(void)
{
    static char longest[901];
    flowtap_span span;
    struct logged one;
    memset(longest, 'x', 900);
    span_begin(&span, &one, 0, "", "args", "numbers");
    flowtap_arg_integer(&span, "least", INT64_MIN);
    flowtap_arg_integer(&span, "most", INT64_MAX);
    flowtap_arg_double(&span, "third", 1.0 / 3);
    flowtap_arg_double(&span, "tiny", 5e-324);
    flowtap_arg_double(&span, "huge", -1.7976931348623157e308);
    more_args(&one, "\"least\":-9223372036854775808,\"most\":9223372036854775807,\"third\":0.3333333333333333,"
                    "\"tiny\":5e-324,\"huge\":-1.7976931348623157e308");
    span_end(&span, &one, "args", "numbers");

    span_begin(&span, &one, 0, "", "args", "texts");
    flowtap_arg_text(&span, "empty", "");
    flowtap_arg_text(&span, "null", NULL);
    flowtap_arg_text(&span, "utf8", "grün");
    flowtap_arg_text(&span, "eight", "12345678");
    flowtap_arg_text(&span, "last", "a");
    flowtap_arg_text(&span, "last", "b");
    more_args(&one, "\"empty\":\"\",\"null\":\"\",\"utf8\":\"grün\",\"eight\":\"12345678\",\"last\":\"b\"");
    span_end(&span, &one, "args", "texts");

    span_begin(&span, &one, 0, "", "args", "long");
    flowtap_arg_text(&span, "text", longest);
    more_args(&one, "\"text\":\"");
    snprintf(one.args + strlen(one.args), sizeof(one.args) - strlen(one.args), "%s\"", longest);
    span_end(&span, &one, "args", "long");

    span_begin(&span, &one, 0, "", "args", "many");
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                       "j", "k", "l", "m", "n", "o", "p", "q"};
    for (int i = 0; i < 17; i++)
        flowtap_arg_integer(&span, keys[i], i);
    for (int i = 0; i < 15; i++) {
        char text[40];
        snprintf(text, sizeof(text), "\"%s\":%d", keys[i], i);
        more_args(&one, text);
    }
    span_end(&span, &one, "args", "many");
}

static void nested(void)
{
    flowtap_span outer, inner;
    struct logged one, two;
    struct logged point = {.args = "\"seq\":0", .tags = ""};
    span_begin(&outer, &one, 0, "", "app", "outer");
    leaf(one.seq, "", "data", "first");
    flowtap_tag("epoch", "1");
    span_begin(&inner, &two, one.seq, "\"epoch\":\"1\"", "compute", "inner");
    leaf(two.seq, "\"epoch\":\"1\"", "data", "second");
    {
        FLOWTAP_TAG("step", "7");
        leaf(two.seq, "\"epoch\":\"1\",\"step\":\"7\"", "data", "third");
        {
            FLOWTAP_TAG("epoch", "2");
            flowtap_process_tag("model", "resnet");
            leaf(two.seq, "\"model\":\"resnet\",\"epoch\":\"2\",\"step\":\"7\"", "data", "fourth");
        }
        leaf(two.seq, "\"model\":\"resnet\",\"epoch\":\"1\",\"step\":\"7\"", "data", "fifth");
    }
    flowtap_process_tag("model", NULL);
    span_end(&inner, &two, "compute", "inner");
    flowtap_tag("epoch", "");
    leaf(one.seq, "", "data", "sixth");
    point.seq = log_seq();
    point.parent = one.seq;
    flowtap_arg arg = {.key = "seq", .type = FLOWTAP_INTEGER, .value.integer = point.seq};
    flowtap_instant("app", "point", &arg, 1);
    snprintf(point.args, sizeof(point.args), "\"seq\":%lld", (long long)point.seq);
    log_event("instant", "app", "point", &point, 0, 0);
    /* Tags hold until they end: the outer span ends with those that hold then. */
    flowtap_tag_integer("step", -12);
    snprintf(one.tags, sizeof(one.tags), "\"step\":\"-12\"");
    span_end(&outer, &one, "app", "outer");
    flowtap_end(&outer); /* a second time: nothing */
    flowtap_tag_integer("step", 0);
    flowtap_tag("step", NULL);
}

static void counters(void)
{
    flowtap_counter("c", "least", INT64_MIN);
    flowtap_counter("c", "most", INT64_MAX);
    flowtap_counter_double("c", "third", 1.0 / 3);
    flowtap_counter_double("c", "whole", 4);
}

static void *thread(void *arg)
{
    char name[32], tags[80];
    snprintf(name, sizeof(name), "t%ld", (long)(intptr_t)arg);
    snprintf(tags, sizeof(tags), "\"thread\":\"%s\"", name);
    flowtap_thread_name(name);
    for (int i = 0; i < 100; i++) {
        flowtap_span span;
        struct logged one;
        span_begin(&span, &one, 0, tags, "thread", name);
        leaf(one.seq, tags, "thread", "leaf");
        span_end(&span, &one, "thread", name);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t ids[8];
    for (int round = 0; round < 2; round++) { /* those of the second take the lines of the first */
        for (long i = 0; i < 8; i++)
            CHECK(pthread_create(&ids[i], NULL, thread, (void *)(intptr_t)(i + 8 * round)) == 0);
        for (int i = 0; i < 8; i++)
            pthread_join(ids[i], NULL);
    }
    leaf(0, "", "main", "behind");
}

static void *end_async(void *arg)
{
    (void)arg;
    for (uint64_t id = 200; id-- > 0;) {
        flowtap_arg args = {.key = "twice", .type = FLOWTAP_INTEGER, .value.integer = (int64_t)id * 2};
        flowtap_end_async(id, &args, 1);
    }
    flowtap_end_async(5, NULL, 0); /* was ended */
    return NULL;
}

static void async(void)
{
    pthread_t id;
    for (uint64_t i = 0; i < 200; i++)
        flowtap_begin_async(i, "net", i % 2 ? "odd" : "even");
    CHECK(pthread_create(&id, NULL, end_async, NULL) == 0);
    pthread_join(id, NULL);
    for (uint64_t i = 0; i < 3000; i++) /* more than may be open: the rest is dropped */
        flowtap_begin_async(1000 + i, "net", "many");
    for (uint64_t i = 0; i < 3000; i++)
        flowtap_end_async(1000 + i, NULL, 0);
}

static void in_child(flowtap_span *parents, const char *tags)
{
    flowtap_end(parents); /* its parent's: no event */
    leaf(0, tags, "child", "leaf");
    flowtap_tag("who", "child");
    leaf(0, "\"model\":\"m\",\"epoch\":\"3\",\"who\":\"child\"", "child", "own");
}

static void forks(int depth)
{
    static const char tags[] = "\"model\":\"m\",\"epoch\":\"3\"";
    flowtap_span span;
    struct logged one;
    flowtap_process_tag("model", "m");
    flowtap_tag("epoch", "3");
    span_begin(&span, &one, 0, tags, "parent", "around");
    flowtap_begin_async(77, "net", "over a fork");
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        in_child(&span, tags);
        flowtap_end_async(77, NULL, 0); /* its parent's */
        flowtap_tag("who", NULL);
        if (depth > 0)
            forks(depth - 1);
        _exit(0);
    }
    CHECK(waitpid(pid, NULL, 0) == pid);
    flowtap_end_async(77, NULL, 0);
    span_end(&span, &one, "parent", "around");
    leaf(0, tags, "parent", "leaf");
}

static void vforks(void)
{
    flowtap_tag("epoch", "4");
    for (int i = 0; i < 20; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            leaf(0, "\"epoch\":\"4\"", "vfork", i == 7 ? "seven" : "child");
            flowtap_tag("epoch", "none of this thread's");
            _exit(0);
        }
        CHECK(waitpid(pid, NULL, 0) == pid);
        leaf(0, "\"epoch\":\"4\"", "vfork", "parent");
    }
}

static void started(const char *self, int by_spawn)
{
    char *argv[] = {(char *)self, "nested", "1000000", NULL}; /* its numbers begin there */
    flowtap_span open;
    pid_t pid;
    flowtap_tag("epoch", "5");
    leaf(0, "\"epoch\":\"5\"", "before", "start");
    flowtap_begin(&open, "open", "at exec"); /* no event */
    if (by_spawn) {
        CHECK(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0);
        CHECK(waitpid(pid, NULL, 0) == pid);
        leaf(0, "\"epoch\":\"5\"", "after", "start");
    } else {
        execv(self, argv);
        CHECK(0);
    }
}

static volatile sig_atomic_t handled;

static void handler(int number)
{
    (void)number;
    leaf(0, "\"epoch\":\"6\"", "handler", handled % 2 ? "odd" : "even");
    handled++;
}

static void handlers(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    flowtap_tag("epoch", "6");
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 6000 && handled < 300; i++)
        leaf(0, "\"epoch\":\"6\"", "main", i % 2 ? "one" : "two");
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(handled > 0);
}

static void filtered(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    nested();
    arguments();
    _exit(0);
}

static void strict(void)
{
    leaf(0, "", "strict", "before");
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    flowtap_tag("epoch", "8");
    for (int i = 0; i < 50; i++) {
        flowtap_span span;
        flowtap_begin(&span, "strict", "inside");
        flowtap_arg_integer(&span, "i", i);
        flowtap_end(&span);
    }
    syscall(SYS_exit, 0);
}

static void names(void)
{
    for (int i = 0; i < 4000; i++) {
        char name[40], value[20], tags[60];
        snprintf(name, sizeof(name), "name %d", i);
        snprintf(value, sizeof(value), "%d", i);
        snprintf(tags, sizeof(tags), "\"step\":\"%d\"", i);
        flowtap_tag("step", value);
        leaf(0, tags, i % 2 ? "odd" : "even", name);
    }
}

static void limits(void)
{
    char text[300];
    memset(text, 'v', 299);
    text[299] = 0;
    flowtap_tag("long", text); /* no tag */
    flowtap_tag("", "x");
    flowtap_tag("a=b", "x");
    flowtap_tag(NULL, "x");
    text[249] = 0;
    flowtap_tag("long", text);
    char tags[400];
    snprintf(tags, sizeof(tags), "\"long\":\"%s\"", text);
    leaf(0, tags, "limits", "long");
    flowtap_tag("long", NULL);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof(text), "key %d", i);
        flowtap_tag(text, "x");
    }
    flowtap_instant("limits", "many", NULL, 0);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "nested";
    log_open();
    if (argc > 2)
        next_seq = atol(argv[2]);
    if (strcmp(mode, "arguments") == 0)
        arguments();
    else if (strcmp(mode, "counters") == 0)
        counters();
    else if (strcmp(mode, "threads") == 0)
        threads();
    else if (strcmp(mode, "async") == 0)
        async();
    else if (strcmp(mode, "fork") == 0)
        forks(2);
    else if (strcmp(mode, "vfork") == 0)
        vforks();
    else if (strcmp(mode, "exec") == 0 || strcmp(mode, "spawn") == 0)
        started(argv[0], mode[0] == 's');
    else if (strcmp(mode, "handlers") == 0)
        handlers();
    else if (strcmp(mode, "filter") == 0)
        filtered();
    else if (strcmp(mode, "strict") == 0)
        strict();
    else if (strcmp(mode, "names") == 0)
        names();
    else if (strcmp(mode, "limits") == 0)
        limits();
    else
        nested();
    printf("%d\n", flowtap_recording());
    return 0;
}
