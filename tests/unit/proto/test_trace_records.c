// SPDX-License-Identifier: MIT
#include "cmocka_all.h"
#include "trace_make.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_bytes(struct ft_bytes got, struct ft_bytes wanted)
{
    assert_int_equal(got.len, wanted.len);
    if (wanted.len)
        assert_memory_equal(got.data, wanted.data, wanted.len);
    assert_int_equal(got.data[got.len], 0);
}

static void assert_jobs(const struct ft_trace_job *got, const struct ft_trace_job *wanted)
{
    assert_bytes(got->id, wanted->id);
    assert_bytes(got->workflow, wanted->workflow);
    assert_bytes(got->step, wanted->step);
    assert_int_equal(got->source, wanted->source);
    assert_int_equal(got->step_source, wanted->step_source);
    assert_int_equal(got->rank_source, wanted->rank_source);
    assert_int_equal(got->local_rank_source, wanted->local_rank_source);
    assert_int_equal(got->rank, wanted->rank);
    assert_int_equal(got->local_rank, wanted->local_rank);
}

static void a_header_comes_back(void **state)
{
    struct made made = small_trace(NULL, NULL);
    struct ft_trace_reader *reader = open_made(made);
    const struct ft_trace_header *got = ft_trace_reader_header(reader);
    struct ft_trace_header wanted = full_header();

    (void)state;
    assert_int_equal(got->major, FT_TRACE_MAJOR);
    assert_int_equal(got->minor, FT_TRACE_MINOR);
    assert_bytes(got->writer, wanted.writer);
    assert_bytes(got->host, wanted.host);
    assert_bytes(got->boot_id, wanted.boot_id);
    assert_bytes(got->user, wanted.user);
    assert_jobs(&got->job, &wanted.job);
    assert_int_equal(got->uid, wanted.uid);
    assert_int_equal(got->realtime_offset_ns, wanted.realtime_offset_ns);
    assert_int_equal(got->clock_error_ns, wanted.clock_error_ns);
    assert_int_equal(got->created_ns, wanted.created_ns);
    assert_int_equal(got->part, wanted.part);
    ft_trace_reader_close(reader);
    free(made.data);
}

static void assert_tags(const struct ft_tag *got, const struct ft_tag *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_bytes(got[i].key, wanted[i].key);
        assert_bytes(got[i].value, wanted[i].value);
    }
}

static void assert_processes(const struct ft_trace_process *got, const struct ft_trace_process *wanted)
{
#define SAME(field) assert_int_equal(got->field, wanted->field);
    SAME(pid)
    SAME(ns_pid)
    SAME(parent_pid)
    SAME(parent)
    SAME(is_exec)
    SAME(start_ns)
    SAME(end_ns)
    SAME(uid)
    SAME(segment)
    SAME(argv_count)
    SAME(is_argv_cut)
    SAME(claims_count)
    SAME(tags_count)
    SAME(exit)
    SAME(exit_source)
    SAME(exit_value)
    SAME(in_call_count)
    SAME(emitted)
    SAME(stored)
    SAME(dropped_calls_count)
    SAME(names_lost)
    SAME(bad_values)
#undef SAME
    assert_bytes(got->exe, wanted->exe);
    assert_bytes(got->cwd, wanted->cwd);
    assert_bytes(got->user, wanted->user);
    assert_jobs(&got->job, &wanted->job);
    assert_tags(got->claims, wanted->claims, wanted->claims_count);
    assert_tags(got->tags, wanted->tags, wanted->tags_count);
    assert_memory_equal(&got->kernel, &wanted->kernel, sizeof(got->kernel));
    assert_memory_equal(got->dropped, wanted->dropped, sizeof(got->dropped));
    for (size_t i = 0; i < wanted->argv_count; i++)
        assert_bytes(got->argv[i], wanted->argv[i]);
    for (size_t i = 0; i < wanted->in_call_count; i++) {
        assert_int_equal(got->in_call[i].tid, wanted->in_call[i].tid);
        assert_int_equal(got->in_call[i].call, wanted->in_call[i].call);
        assert_int_equal(got->in_call[i].file, wanted->in_call[i].file);
        assert_int_equal(got->in_call[i].since_ns, wanted->in_call[i].since_ns);
    }
    for (size_t i = 0; i < wanted->dropped_calls_count; i++) {
        assert_int_equal(got->dropped_calls[i].call, wanted->dropped_calls[i].call);
        assert_int_equal(got->dropped_calls[i].count, wanted->dropped_calls[i].count);
        assert_int_equal(got->dropped_calls[i].bytes, wanted->dropped_calls[i].bytes);
        assert_int_equal(got->dropped_calls[i].time_ns, wanted->dropped_calls[i].time_ns);
    }
}

static void the_last_record_of_a_process_holds(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    struct ft_trace_process process = full_process(),
                            other = {.pid = 5, .parent = 1, .job = {.rank = -1, .local_rank = -1}};
    struct ft_trace_reader *reader;
    struct made made;

    (void)state;
    assert_int_equal(ft_trace_writer_new_process(writer, &other), 2);
    assert_int_equal(ft_trace_writer_flush(writer), 0);
    // Many replaced records in one frame, and one that replaces what is in a frame.
    for (uint32_t i = 0; i < 20000; i++) {
        other.pid = i;
        assert_int_equal(ft_trace_writer_put_process(writer, 2, &other), 0);
        assert_int_equal(ft_trace_writer_put_process(writer, 1, &process), 0);
    }
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    assert_true(ft_trace_writer_bytes(writer) < 4096);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    reader = open_made(made);
    assert_int_equal(ft_trace_reader_process_max(reader), 2);
    assert_processes(ft_trace_reader_process(reader, 1), &process);
    assert_processes(ft_trace_reader_process(reader, 2), &other);
    assert_null(ft_trace_reader_process(reader, 0));
    assert_null(ft_trace_reader_process(reader, 3));
    assert_null(ft_trace_reader_process(reader, UINT32_MAX));
    ft_trace_reader_close(reader);
    free(made.data);
}

static void records_come_back(void **state)
{
    struct made made = small_trace(NULL, NULL);
    struct ft_trace_reader *reader = open_made(made);
    const struct ft_trace_gap *gaps;
    const struct ft_trace_loss *losses;
    const struct ft_trace_clock *clocks;
    const struct ft_tag *tags;
    size_t count;

    (void)state;
    gaps = ft_trace_reader_gaps(reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(gaps[0].kind, FT_GAP_STATIC);
    assert_int_equal(gaps[0].count, 2);
    assert_int_equal(gaps[0].when_ns, 5);
    assert_int_equal(gaps[0].parent, 77);
    assert_int_equal(gaps[0].inside_pid, 3);
    assert_string_equal(gaps[0].exe.data, "/bin/static");
    assert_string_equal(gaps[0].reason.data, "statically linked");
    losses = ft_trace_reader_losses(reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(losses[0].cause, FT_CAUSE_DISK_FULL);
    assert_int_equal(losses[0].count, 3);
    clocks = ft_trace_reader_clocks(reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(clocks[0].ticks, 8);
    assert_int_equal(clocks[0].realtime_offset_ns, 1700000000000000001);
    assert_string_equal(ft_trace_reader_call(reader, 4)->name.data, "pread");
    assert_null(ft_trace_reader_call(reader, 5));
    assert_null(ft_trace_reader_call(reader, UINT32_MAX));
    tags = ft_trace_reader_context(reader, 1, &count);
    assert_int_equal(count, 2);
    assert_string_equal(tags[1].key.data, "step");
    assert_string_equal(tags[1].value.data, "9");
    assert_int_equal(ft_trace_reader_thread(reader, 2)->tid, 101);
    assert_int_equal(ft_trace_reader_thread_process(reader, 2), 1);
    assert_string_equal(ft_trace_reader_thread(reader, 2)->name.data, "worker");
    assert_string_equal(ft_trace_reader_file_path(reader, 4).data, "/data/\n\"\\\xff");
    assert_int_equal(ft_trace_reader_file(reader, 4).inode, 8);
    assert_int_equal(ft_trace_reader_file(reader, 4).dev, 0x801);
    assert_string_equal(ft_trace_reader_name(reader, ft_trace_reader_file(reader, 2).mount).data, "/data");
    assert_int_equal(ft_trace_reader_file_class(reader, 1), FT_FILE_CLASS_STORAGE);
    assert_int_equal(ft_trace_reader_file_class(reader, 2), FT_FILE_CLASS_OTHER);
    assert_int_equal(ft_trace_reader_file_class(reader, 4), FT_FILE_CLASS_UNKNOWN);
    assert_int_equal(ft_trace_reader_file_class(reader, 0), FT_FILE_CLASS_NONE);
    assert_int_equal(ft_trace_reader_file_class(reader, 99), FT_FILE_CLASS_UNKNOWN);
    ft_trace_reader_close(reader);
    free(made.data);
}

static void names_of_any_bytes_come_back(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    static char longest[FT_TRACE_STRING_MAX];
    struct ft_bytes names[300];
    struct ft_trace_reader *reader;
    uint32_t ids[300];
    struct made made;
    uint64_t random = 3;

    (void)state;
    memset(longest, 'x', sizeof(longest));
    for (size_t i = 0; i < 300; i++) {
        char *bytes = malloc(FT_TRACE_STRING_MAX);
        size_t len = i < 256 ? 1 : i < 298 ? next_random(&random) % 5000 + 1 : FT_TRACE_STRING_MAX;

        for (size_t k = 0; k < len; k++)
            bytes[k] = i < 256 ? (char)i : i == 299 ? 'x' : (char)next_random(&random);
        names[i] = (struct ft_bytes){.data = bytes, .len = len};
        ids[i] = (uint32_t)ft_trace_writer_name(writer, names[i]);
    }
    assert_int_equal(ft_trace_writer_name(writer, (struct ft_bytes){longest, sizeof(longest)}), ids[299]);
    assert_int_equal(ft_trace_writer_name(writer, (struct ft_bytes){longest, sizeof(longest) + 1}), -EINVAL);
    assert_int_equal(ft_trace_writer_name(writer, (struct ft_bytes){"", 0}), 0);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    reader = open_made(made);
    for (size_t i = 0; i < 300; i++) {
        assert_bytes(ft_trace_reader_name(reader, ids[i]), names[i]);
        free((void *)names[i].data);
    }
    assert_int_equal(ft_trace_reader_name(reader, 0).len, 0);
    assert_int_equal(ft_trace_reader_name(reader, UINT32_MAX).len, 0);
    ft_trace_reader_close(reader);
    free(made.data);
}

// Forward and back, the largest too, and of every third none.
static uint64_t birth_of(uint32_t i)
{
    return i % 3 ? (i * UINT64_C(0x9e3779b97f4a7c15) | 1) & FT_FILE_BIRTH_MAX : i % 5 ? 0 : FT_FILE_BIRTH_MAX;
}

static void many_records_go_into_several_frames(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    enum { COUNT = 200000 };
    struct ft_trace_reader *reader;
    struct made made;
    char path[64];

    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        struct ft_trace_file file = {.kind = FT_FILE_KIND_REGULAR, .dev = i % 3, .inode = i, .birth = birth_of(i)};

        snprintf(path, sizeof(path), "%08x/a/long/enough/path/to/fill/frames", i * 2654435761u);
        file.path = (uint32_t)ft_trace_writer_name(writer, FT_BYTES(path));
        assert_int_equal(ft_trace_writer_file(writer, &file), 5 + i);
        assert_int_equal(ft_trace_writer_new_thread(writer, &(struct ft_trace_thread){.process = 1, .tid = i}), 3 + i);
    }
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    reader = open_made(made);
    for (uint32_t i = 0; i < COUNT; i += 777) {
        snprintf(path, sizeof(path), "%08x/a/long/enough/path/to/fill/frames", i * 2654435761u);
        assert_string_equal(ft_trace_reader_file_path(reader, 5 + i).data, path);
        assert_int_equal(ft_trace_reader_file(reader, 5 + i).dev, i % 3);
        assert_true(ft_trace_reader_file(reader, 5 + i).birth == (i ? birth_of(i) : 0)); // the first has no inode
        assert_int_equal(ft_trace_reader_thread(reader, 3 + i)->tid, i);
    }
    ft_trace_reader_close(reader);
    free(made.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_comes_back),
        cmocka_unit_test(the_last_record_of_a_process_holds),
        cmocka_unit_test(records_come_back),
        cmocka_unit_test(names_of_any_bytes_come_back),
        cmocka_unit_test(many_records_go_into_several_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
