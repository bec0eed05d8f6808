// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/cli/analysis_scan.h"
#include "proto/calls.h"
#include "proto/trace_writer.h"
#include "tests/unit/cli/traces.h"

/* An inode was /data/old, something was renamed onto that, and the inode is /data/new: `files` of the two. */
static const struct rename_case {
    const char *why;
    uint16_t call;
    bool has_flags;
    uint64_t flags;
    int32_t err;
    size_t files;
} cases[] = {
    {"rename replaces", FT_CALL_ID_rename, false, 0, 0, 2},
    {"so does renameat", FT_CALL_ID_renameat, false, 0, 0, 2},
    {"so does renameat2 without a flag", FT_CALL_ID_renameat2, true, 0, 0, 2},
    {"and with one that is neither", FT_CALL_ID_renameat2, true, RENAME_WHITEOUT, 0, 2},
    {"an exchange leaves both", FT_CALL_ID_renameat2, true, RENAME_EXCHANGE, 0, 1},
    {"nothing was there to replace", FT_CALL_ID_renameat2, true, RENAME_NOREPLACE, 0, 1},
    {"a link replaces nothing", FT_CALL_ID_link, false, 0, 0, 1},
    {"flags that nobody knows", FT_CALL_ID_renameat2, false, 0, 0, 1},
    {"one that failed", FT_CALL_ID_renameat2, true, 0, 17, 1},
    {"a flag of another call", FT_CALL_ID_rename, true, RENAME_EXCHANGE, 0, 2},
};

static uint32_t add_file(struct ft_trace_writer *writer, struct ft_bytes path, uint64_t inode)
{
    struct ft_trace_file file = {
        .path = (uint32_t)ft_trace_writer_name(writer, path), .kind = FT_FILE_KIND_REGULAR, .dev = 7, .inode = inode};
    return (uint32_t)ft_trace_writer_file(writer, &file);
}

static void add_event(struct ft_trace_writer *writer, struct ft_event event)
{
    event.kind = FT_EVENT_CALL;
    event.fd = -1;
    event.dur_ns = 1;
    assert_int_equal(ft_trace_writer_add(writer, &event), 0);
}

static void add_events(struct ft_trace_writer *writer, const struct rename_case *c)
{
    struct ft_trace_process process = {.pid = 1000, .start_ns = 1, .job = {.rank = -1}};
    struct ft_trace_thread of = {.tid = 1000};
    of.process = (uint32_t)ft_trace_writer_new_process(writer, &process);
    uint32_t thread = (uint32_t)ft_trace_writer_new_thread(writer, &of);
    uint32_t old = add_file(writer, FT_BYTES("/data/old"), 5), temporary = add_file(writer, FT_BYTES("/data/tmp"), 6);
    uint32_t new = add_file(writer, FT_BYTES("/data/new"), 5);
    add_event(writer,
              (struct ft_event){.thread = thread, .call = FT_CALL_ID_open64, .file = old, .start_ns = 1000000000});
    add_event(writer, (struct ft_event){.thread = thread,
                                        .call = c->call,
                                        .file = temporary,
                                        .file2 = old,
                                        .start_ns = 2000000000,
                                        .err = c->err,
                                        .arg = c->flags,
                                        .has = (c->has_flags ? FT_HAS_ARG : 0) | (c->err ? FT_HAS_ERR : 0)});
    add_event(writer,
              (struct ft_event){.thread = thread, .call = FT_CALL_ID_open64, .file = new, .start_ns = 3000000000});
}

static struct ft_trace_set *open_trace(const char *path, const struct rename_case *c)
{
    struct ft_trace_header header = {.host = FT_BYTES("host"), .boot_id = FT_BYTES("boot"), .part = 1};
    struct ft_trace_writer *writer;
    struct ft_trace_set *set;
    assert_int_equal(ft_trace_writer_create(&header, NULL, &writer), 0);
    add_events(writer, c);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    ft_traces_write(writer, path);
    assert_int_equal(ft_trace_set_open(&path, 1, NULL, &set, NULL), 0);
    return set;
}

static void what_a_rename_replaced_is_another_file(void **state)
{
    char path[] = "/tmp/flowtap-renames-XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_trace_set *set = open_trace(path, &cases[i]);
        struct ft_scan scan;
        assert_int_equal(ft_scan_read(&scan, set, FT_SCAN_FILES, NULL), 0);
        size_t files = ft_scan_count_files(&scan) - 1; /* without /data/tmp */
        if (files != cases[i].files) {
            fail_msg("%s: %zu files", cases[i].why, files);
        }
        ft_scan_fini(&scan);
        ft_trace_set_close(set);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_rename_replaced_is_another_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
