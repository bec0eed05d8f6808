// SPDX-License-Identifier: MIT
//
// A whole private daemon in a thread of this process, with segments made by hand.
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/daemon.h"
#include "proto/calls.h"
#include "proto/trace_reader.h"
#include "segment_maker.h"

struct fixture {
    struct ft_daemon daemon;
    struct ft_options options;
    pthread_t thread;
    int hold_fd;
    char folder[64], socket[96], spool[96], trace[512];
    struct ft_trace_reader *reader;
};

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

static struct fixture *start(const char *extra)
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

static void end(struct fixture *fixture)
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

static void clean_up(struct fixture *fixture)
{
    ft_trace_reader_close(fixture->reader);
    unlink(fixture->trace);
    rmdir(fixture->spool);
    rmdir(fixture->folder);
    free(fixture);
}

// Runs `body` in a child, which ends with status 7, and waits for it.
static pid_t run_child(struct fixture *fixture, void (*body)(struct maker *, const char *))
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

static const struct ft_trace_process *only_process(const struct fixture *fixture)
{
    assert_int_equal(ft_trace_reader_process_max(fixture->reader), 1);
    return ft_trace_reader_process(fixture->reader, 1);
}

static uint64_t sum_dropped(const struct ft_trace_process *process)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < FT_CAUSE_COUNT; i++)
        sum += process->dropped[i];
    return sum;
}

static void call_some(struct maker *maker, unsigned count)
{
    maker_define(maker, 0, 16, FT_FILE_CWD, FT_DEFINE_PATH, ".//sub/./x");
    maker_define(maker, 0, 17, 0, FT_DEFINE_FD, "/data/y (deleted)");
    for (unsigned i = 0; i < count; i++)
        maker_call(maker, i % 2, FT_CALL_ID_pread64, 17, 4096, 4096ull * i, maker_ticks(), 100);
}

static void thousand_events(struct maker *maker, const char *socket)
{
    call_some(maker, 1000);
    if (maker_attach(maker, socket))
        _exit(1);
}

static void test_a_process_that_ended_at_once_is_whole_in_the_trace(void **state)
{
    (void)state;
    struct fixture *fixture = start(NULL);
    pid_t pid = run_child(fixture, thousand_events);
    end(fixture);
    const struct ft_trace_process *process = only_process(fixture);
    assert_int_equal(process->pid, pid);
    assert_int_equal(process->emitted, 1000);
    assert_int_equal(process->stored, 1000);
    assert_int_equal(sum_dropped(process), 0);
    assert_int_equal(process->exit, FT_EXIT_CODE);
    assert_int_equal(process->exit_value, 7);
    assert_int_equal(process->argv_count, 2);
    assert_int_equal(process->tags_count, 2);
    assert_int_equal(process->job.rank, 3);
    assert_int_equal(process->job.source, FT_JOB_SOURCE_ENVIRONMENT);
    assert_memory_equal(process->job.id.data, "j7", 2);
    assert_int_equal(ft_trace_reader_thread_max(fixture->reader), 2);
    assert_int_equal(ft_trace_reader_events(fixture->reader), 1000);
    struct ft_bytes path = ft_trace_reader_file_path(fixture->reader, 1);
    assert_int_equal(path.len, strlen("/data/y (deleted)"));
    clean_up(fixture);
}

static void many_processes(struct maker *maker, const char *socket)
{
    (void)maker;
    for (int i = 0; i < 300; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct maker own;
            maker_init(&own);
            call_some(&own, 10);
            _exit(maker_attach(&own, socket) == 0 ? 0 : 1);
        }
        int status;
        waitpid(pid, &status, 0);
        if (status)
            _exit(1);
    }
}

static void test_three_hundred_short_processes_are_all_there(void **state)
{
    (void)state;
    struct fixture *fixture = start(NULL);
    run_child(fixture, many_processes);
    end(fixture);
    assert_int_equal(ft_trace_reader_process_max(fixture->reader), 300);
    for (uint32_t i = 1; i <= 300; i++) {
        const struct ft_trace_process *process = ft_trace_reader_process(fixture->reader, i);
        assert_int_equal(process->stored, 10);
        assert_int_equal(process->emitted, 10);
        assert_int_equal(process->exit, FT_EXIT_CODE);
    }
    clean_up(fixture);
}

enum { MANY = 3000000 };

static void many_events(struct maker *maker, const char *socket)
{
    if (maker_attach(maker, socket))
        _exit(1);
    call_some(maker, MANY);
}

static void test_what_the_ring_cannot_hold_is_counted(void **state)
{
    (void)state;
    struct fixture *fixture = start(NULL);
    run_child(fixture, many_events);
    end(fixture);
    const struct ft_trace_process *process = only_process(fixture);
    assert_int_equal(process->emitted, MANY);
    for (unsigned i = 0; i < FT_CAUSE_COUNT; i++)
        if (i != FT_CAUSE_RING_FULL)
            assert_int_equal(process->dropped[i], 0);
    assert_int_equal(process->emitted, process->stored + process->dropped[FT_CAUSE_RING_FULL]);
    assert_int_equal(ft_trace_reader_events(fixture->reader), process->stored);
    clean_up(fixture);
}

static void torn_events(struct maker *maker, const char *socket)
{
    uint64_t fill;
    call_some(maker, 10);
    maker->lines[0].emitted++;
    maker_reserve(maker, 0, 1, maker_ticks(), &fill);
    maker->lines[0].emitted++;
    call_some(maker, 10);
    maker->lines[1].call = FT_CALL_ID_read;
    maker->lines[1].file = 17;
    maker->lines[1].call_start = maker_ticks();
    if (maker_attach(maker, socket))
        _exit(1);
}

static void test_what_was_begun_and_not_published_is_torn(void **state)
{
    (void)state;
    struct fixture *fixture = start(NULL);
    run_child(fixture, torn_events);
    end(fixture);
    const struct ft_trace_process *process = only_process(fixture);
    assert_int_equal(process->emitted, 22);
    assert_int_equal(process->stored, 20);
    assert_int_equal(process->dropped[FT_CAUSE_TORN], 2);
    assert_int_equal(process->in_call_count, 1);
    assert_int_equal(process->in_call[0].call, FT_CALL_ID_read);
    assert_int_not_equal(process->in_call[0].file, 0);
    clean_up(fixture);
}

static void many_names(struct maker *maker, const char *socket)
{
    for (uint32_t id = 16; id < 5016; id++) {
        char name[100];
        snprintf(name, sizeof(name), "/a/rather/long/path/of/a/file/that/nobody/closes/%u", id);
        maker_define(maker, 0, id, 0, FT_DEFINE_FD, name);
        maker_call(maker, 0, FT_CALL_ID_pread64, id, 1, 0, maker_ticks(), 1);
    }
    if (maker_attach(maker, socket))
        _exit(1);
}

static void test_who_passes_the_users_share_loses_names_and_no_events(void **state)
{
    (void)state;
    struct fixture *fixture = start("max_user_memory=0");
    run_child(fixture, many_names);
    end(fixture);
    const struct ft_trace_process *process = only_process(fixture);
    assert_int_equal(process->emitted, 5000);
    assert_int_equal(process->stored, 5000);
    assert_int_not_equal(process->names_lost, 0);
    clean_up(fixture);
}

static void corrupt_record(struct maker *maker, const char *socket)
{
    call_some(maker, 200);
    // A record that leaves its chunk.
    uint64_t fill;
    uint64_t *record = maker_reserve(maker, 0, 1, maker_ticks(), &fill);
    maker->lines[0].emitted += 5;
    record[0] = FT_W0(FT_RECORD_CALL, 32, 3, 0, fill, 0);
    if (maker_attach(maker, socket))
        _exit(1);
}

static void test_a_segment_that_contradicts_itself_is_cut_off_and_counted(void **state)
{
    (void)state;
    struct fixture *fixture = start(NULL);
    run_child(fixture, corrupt_record);
    end(fixture);
    const struct ft_trace_process *process = only_process(fixture);
    assert_int_equal(process->emitted, process->stored + sum_dropped(process));
    assert_int_equal(process->stored, 200);
    assert_int_equal(process->dropped[FT_CAUSE_CORRUPT], 5);
    clean_up(fixture);
}

static void send_nonsense(struct maker *maker, const char *socket_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, socket_path);
    for (size_t bytes = 0; bytes < 80; bytes++) {
        char text[80];
        memset(text, (int)bytes, sizeof(text));
        int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
            send(fd, text, bytes, 0);
        close(fd);
    }
    maker->bytes -= FT_PAGE_BYTES; // a lie
    maker_attach(maker, socket_path);
    maker->bytes += FT_PAGE_BYTES;
    maker->head->pool_page = 0xffffffff;
    maker_attach(maker, socket_path);
    int pair[2];
    if (pipe(pair) == 0) {
        maker->fd = pair[0];
        maker_attach(maker, socket_path);
    }
    maker->fd = memfd_create("unsealed", 0);
    maker_attach(maker, socket_path);
}

static void test_nonsense_on_the_socket_is_refused(void **state)
{
    (void)state;
    struct fixture *fixture = start(NULL);
    run_child(fixture, send_nonsense);
    run_child(fixture, thousand_events);
    end(fixture);
    assert_int_equal(only_process(fixture)->stored, 1000);
    assert_true(fixture->daemon.status.refused_memory >= 4);
    clean_up(fixture);
}

static void test_a_process_that_lives_on_is_a_gap(void **state)
{
    (void)state;
    struct fixture *fixture = start("end_grace=10ms");
    struct maker maker;
    maker_init(&maker);
    assert_int_equal(maker_attach(&maker, fixture->socket), 0);
    call_some(&maker, 100);
    end(fixture);
    const struct ft_trace_process *process = only_process(fixture);
    assert_int_equal(process->stored, 100);
    assert_int_equal(process->exit, FT_EXIT_NONE);
    size_t count;
    const struct ft_trace_gap *gaps = ft_trace_reader_gaps(fixture->reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(gaps[0].kind, FT_GAP_STILL_RUNNING);
    maker_fini(&maker);
    clean_up(fixture);
}

static void test_a_command_of_which_nothing_attached_leaves_a_file_that_says_so(void **state)
{
    (void)state;
    struct fixture *fixture = start(NULL);
    end(fixture);
    size_t count;
    const struct ft_trace_gap *gaps = ft_trace_reader_gaps(fixture->reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(gaps[0].kind, FT_GAP_NOT_ATTACHED);
    clean_up(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_that_ended_at_once_is_whole_in_the_trace),
        cmocka_unit_test(test_three_hundred_short_processes_are_all_there),
        cmocka_unit_test(test_what_the_ring_cannot_hold_is_counted),
        cmocka_unit_test(test_what_was_begun_and_not_published_is_torn),
        cmocka_unit_test(test_who_passes_the_users_share_loses_names_and_no_events),
        cmocka_unit_test(test_a_segment_that_contradicts_itself_is_cut_off_and_counted),
        cmocka_unit_test(test_nonsense_on_the_socket_is_refused),
        cmocka_unit_test(test_a_process_that_lives_on_is_a_gap),
        cmocka_unit_test(test_a_command_of_which_nothing_attached_leaves_a_file_that_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
