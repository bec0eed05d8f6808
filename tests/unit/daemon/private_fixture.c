// SPDX-License-Identifier: MIT
#include "private_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/calls.h"

static void set(struct fixture *fixture, const char *pair)
{
    struct ft_config_error error;
    assert_int_equal(ft_config_set_pair(&fixture->daemon.config, pair, &error), 0);
}

static void *run(void *argument)
{
    struct fixture *fixture = argument;
    ft_daemon_run(&fixture->daemon);
    return NULL;
}

struct fixture *fixture_start(const char *extra)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    char pair[160];
    int ready[2], hold[2];
    char byte;
    assert_int_equal(ft_config_init(&fixture->daemon.config), 0);
    strcpy(fixture->folder, "/tmp/ft-daemon-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    assert_true(pipe2(ready, O_CLOEXEC) == 0 && pipe2(hold, O_CLOEXEC) == 0);
    snprintf(fixture->socket, sizeof(fixture->socket), "%s/sock", fixture->folder);
    snprintf(fixture->spool, sizeof(fixture->spool), "%s/spool", fixture->folder);
    set(fixture, "private=yes");
    set(fixture, "log_level=err");
    snprintf(pair, sizeof(pair), "socket=%s", fixture->socket);
    set(fixture, pair);
    snprintf(pair, sizeof(pair), "spool_dir=%s", fixture->spool);
    set(fixture, pair);
    snprintf(pair, sizeof(pair), "ready_fd=%d", ready[1]);
    set(fixture, pair);
    snprintf(pair, sizeof(pair), "hold_fd=%d", hold[0]);
    set(fixture, pair);
    if (extra)
        set(fixture, extra);
    fixture->hold_fd = hold[1];
    fixture->daemon.options = &fixture->options;
    assert_int_equal(ft_daemon_init(&fixture->daemon), 0);
    assert_int_equal(pthread_create(&fixture->thread, NULL, run, fixture), 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'R');
    close(ready[0]);
    return fixture;
}

static void find_trace(struct fixture *fixture)
{
    DIR *folder = opendir(fixture->spool);
    unsigned count = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(fixture->trace, sizeof(fixture->trace), "%s/%s", fixture->spool, entry->d_name);
        count++;
    }
    closedir(folder);
    assert_int_equal(count, 1);
}

void fixture_end(struct fixture *fixture)
{
    close(fixture->hold_fd);
    pthread_join(fixture->thread, NULL);
    ft_daemon_fini(&fixture->daemon);
    close((int)fixture->daemon.config.hold_fd);
    ft_config_fini(&fixture->daemon.config);
    assert_int_not_equal(access(fixture->socket, F_OK), 0);
    find_trace(fixture);
    assert_int_equal(ft_trace_reader_open(fixture->trace, NULL, &fixture->reader), 0);
    assert_false(ft_trace_reader_is_partial(fixture->reader));
}

void fixture_clean_up(struct fixture *fixture)
{
    ft_trace_reader_close(fixture->reader);
    unlink(fixture->trace);
    rmdir(fixture->spool);
    rmdir(fixture->folder);
    free(fixture);
}

pid_t fixture_run_child(struct fixture *fixture, void (*body)(struct maker *, const char *))
{
    pid_t pid = fork();
    if (pid == 0) {
        struct maker maker;
        maker_init(&maker);
        maker_hello_item(&maker, FT_HELLO_EXE, "/bin/hand-made", 14);
        maker_hello_item(&maker, FT_HELLO_ARGV, "hand-made\0-x", 13);
        maker_hello_item(&maker, FT_HELLO_ENV, "FLOWTAP_TAGS=a=1,b=2\0FLOWTAP_JOB=j7\0RANK=3", 43);
        maker_hello_item(&maker, FT_HELLO_CWD, "/work dir", 9);
        body(&maker, fixture->socket);
        _exit(7);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return pid;
}

const struct ft_trace_process *fixture_only_process(const struct fixture *fixture)
{
    assert_int_equal(ft_trace_reader_process_max(fixture->reader), 1);
    return ft_trace_reader_process(fixture->reader, 1);
}

uint64_t fixture_sum_dropped(const struct ft_trace_process *process)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < FT_CAUSE_COUNT; i++)
        sum += process->dropped[i];
    return sum;
}

void fixture_call_some(struct maker *maker, unsigned count)
{
    maker_define(maker, 0, 16, FT_FILE_CWD, FT_DEFINE_PATH, ".//sub/./x");
    maker_define(maker, 0, 17, 0, FT_DEFINE_FD, "/data/y (deleted)");
    for (unsigned i = 0; i < count; i++)
        maker_call(maker, i % 2, FT_CALL_ID_pread64, 17, 4096, 4096ull * i, maker_ticks(), 100);
}
