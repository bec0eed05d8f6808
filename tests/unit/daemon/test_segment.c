// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/admit.h"
#include "daemon/exe.h"
#include "daemon/mounts.h"
#include "daemon/procfs.h"
#include "daemon/segment.h"
#include "segment_maker.h"

struct geometry_case {
    size_t offset;
    uint32_t value;
    int result;
    const char *why;
};

#define FIELD(name) offsetof(struct ft_head, name)
static const struct geometry_case geometry_cases[] = {
    {FIELD(magic), 0, -EBADMSG, "no magic"},
    {FIELD(abi_major), 99, -EPROTO, "another version"},
    {FIELD(ready), 0, -EAGAIN, "not ready"},
    {FIELD(page_bytes), 8192, -EBADMSG, "other pages"},
    {FIELD(segment_bytes), 4096, -EBADMSG, "another size"},
    {FIELD(lines_max), 0, -EBADMSG, "no lines"},
    {FIELD(lines_max), FT_LINES_MAX + 1, -EBADMSG, "too many lines"},
    {FIELD(chunks_max), 0, -EBADMSG, "no chunks"},
    {FIELD(chunks_max), FT_CHUNKS_MAX + 1, -EBADMSG, "more chunks than states"},
    {FIELD(chunks_max), MAKER_CHUNKS + 1, -EBADMSG, "one chunk behind the end"},
    {FIELD(pool_page), UINT32_MAX, -EBADMSG, "a pool beyond all"},
    {FIELD(lines_page), UINT32_MAX, -EBADMSG, "lines beyond all"},
    {FIELD(totals_page), UINT32_MAX, -EBADMSG, "totals beyond all"},
    {FIELD(totals_more_page), UINT32_MAX, -EBADMSG, "more totals beyond all"},
    {FIELD(hello_page), UINT32_MAX, -EBADMSG, "a hello beyond all"},
    {FIELD(hello_pages), 0, -EBADMSG, "no hello"},
    {FIELD(hello_pages), FT_HELLO_PAGES + 1, -EBADMSG, "too long a hello"},
};

static void test_a_head_is_taken_only_where_all_of_it_lies_inside(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(geometry_cases) / sizeof(geometry_cases[0]); i++) {
        struct maker maker;
        struct ft_segment segment;
        maker_init(&maker);
        assert_int_equal(ft_segment_open(&segment, maker.fd, maker.bytes), 0);
        memcpy(maker.map + geometry_cases[i].offset, &geometry_cases[i].value, sizeof(uint32_t));
        int r = ft_segment_open(&segment, maker.fd, maker.bytes);
        if (r != geometry_cases[i].result)
            fail_msg("%s: %d", geometry_cases[i].why, r);
        maker_fini(&maker);
    }
}

static void test_a_look_sees_new_lines_and_refuses_impossible_counts(void **state)
{
    struct maker maker;
    struct ft_segment segment;
    bool changed;
    (void)state;
    maker_init(&maker);
    assert_int_equal(ft_segment_open(&segment, dup(maker.fd), maker.bytes), 0);
    assert_int_equal(ft_segment_look(&segment, &changed), 0);
    assert_int_equal(ft_segment_look(&segment, &changed), 0);
    assert_false(changed);
    for (uint32_t line = 0; line < MAKER_LINES; line++) {
        maker_call(&maker, line, 33, 0, 1, 0, maker_ticks(), 1);
        assert_int_equal(ft_segment_look(&segment, &changed), 0);
        assert_true(changed);
        assert_int_equal(segment.counts.emitted, line + 1);
        assert_int_equal(segment.counts.chunks_used, line + 1);
    }
    maker.head->chunks_ready = MAKER_CHUNKS + 1;
    maker.lines[0].emitted++;
    assert_int_equal(ft_segment_look(&segment, &changed), -EBADMSG);
    maker.head->chunks_ready = 1;
    maker.head->lines_used = MAKER_LINES + 1;
    assert_int_equal(ft_segment_look(&segment, &changed), -EBADMSG);
    ft_segment_close(&segment);
    maker_fini(&maker);
}

static void rest(struct ft_segment *segment)
{
    bool changed = true;
    for (int i = 0; i < 100 && (changed || !segment->resting.lines); i++) {
        segment->resting.is_given_up = false; // a busy machine makes a look long, too
        assert_int_equal(ft_segment_look(segment, &changed), 0);
    }
    assert_non_null(segment->resting.lines);
    assert_false(changed);
}

static const struct {
    size_t offset;
    bool is_news; // beside what is running now, which is copied and no news
    const char *why;
} resting_cases[] = {
    {offsetof(struct ft_line, emitted), true, "an event"},
    {offsetof(struct ft_line, dropped), true, "a dropped event"},
    {offsetof(struct ft_line, dropped_limit), true, "an event of a thread without a line"},
    {offsetof(struct ft_line, call), false, "a call begins"},
    {offsetof(struct ft_line, call_start), false, "another call of the same kind"},
};

static void test_a_process_that_rests_is_seen_to_go_on(void **state)
{
    struct maker maker;
    struct ft_segment segment;
    bool changed;
    (void)state;
    maker_init(&maker);
    assert_int_equal(ft_segment_open(&segment, dup(maker.fd), maker.bytes), 0);
    maker_call(&maker, 0, 33, 0, 1, 0, maker_ticks(), 1);
    maker_call(&maker, 1, 33, 0, 1, 0, maker_ticks(), 1);
    for (size_t i = 0; i < sizeof(resting_cases) / sizeof(resting_cases[0]); i++) {
        rest(&segment);
        size_t offset = resting_cases[i].offset;
        (*((uint8_t *)&maker.lines[1] + offset))++;
        assert_int_equal(ft_segment_look(&segment, &changed), 0);
        if (changed != resting_cases[i].is_news)
            fail_msg("%s: %s", resting_cases[i].why, changed ? "news" : "no news");
        assert_memory_equal(&segment.lines[1], &maker.lines[1], sizeof(struct ft_line));
    }
    rest(&segment);
    maker_call(&maker, 2, 33, 0, 1, 0, maker_ticks(), 1);
    assert_int_equal(ft_segment_look(&segment, &changed), 0);
    assert_true(changed);
    assert_int_equal(segment.counts.lines_used, 3);
    ft_segment_close(&segment);
    assert_null(segment.resting.lines);
    maker_fini(&maker);
}

static void test_a_page_that_was_freed_while_its_process_rests_is_read_as_zeros(void **state)
{
    struct maker maker;
    struct ft_segment segment;
    bool changed;
    (void)state;
    maker_init(&maker);
    assert_int_equal(ft_segment_open(&segment, dup(maker.fd), maker.bytes), 0);
    maker_call(&maker, 0, 33, 0, 1, 0, maker_ticks(), 1);
    rest(&segment);
    off_t at = (off_t)segment.geometry.lines_page * FT_PAGE_BYTES;
    assert_int_equal(fallocate(maker.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, FT_PAGE_BYTES), 0);
    assert_int_equal(ft_segment_look(&segment, &changed), 0);
    assert_true(changed);
    assert_int_equal(segment.counts.emitted, 0);
    ft_segment_close(&segment);
    maker_fini(&maker);
}

// As where a page that was freed cannot be had again.
static void test_a_page_that_is_not_to_be_had_is_given_up(void **state)
{
    struct ft_resting resting = {0};
    struct ft_line copies[2] = {{.tid = 1}, {.tid = 2}};
    (void)state;
    ft_resting_init();
    int fd = memfd_create("page", MFD_CLOEXEC);
    assert_int_equal(pwrite(fd, copies, sizeof(copies), 0), sizeof(copies));
    assert_int_equal(ftruncate(fd, FT_PAGE_BYTES), 0);
    for (int i = 0; i < 100 && !resting.lines; i++)
        ft_resting_note(&resting, fd, 0, false);
    assert_true(ft_resting_is_quiet(&resting, copies, 2, 2));
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_false(ft_resting_is_quiet(&resting, copies, 2, 2));
    assert_true(resting.is_given_up);
    assert_null(resting.lines);
    close(fd);
    signal(SIGBUS, SIG_DFL);
}

static void test_lines_beyond_the_mapped_page_are_read(void **state)
{
    struct maker maker;
    struct ft_segment segment;
    bool changed;
    (void)state;
    maker_init(&maker);
    assert_int_equal(ft_segment_open(&segment, dup(maker.fd), maker.bytes), 0);
    for (uint32_t line = 0; line < MAKER_LINES - 1; line++)
        maker_call(&maker, line, 33, 0, 1, 0, maker_ticks(), 1);
    assert_int_equal(ft_segment_look(&segment, &changed), 0);
    rest(&segment);
    assert_false(ft_resting_is_quiet(&segment.resting, segment.lines, MAKER_LINES - 1, 2));
    assert_true(ft_resting_is_quiet(&segment.resting, segment.lines, MAKER_LINES - 1, 1));
    ft_segment_close(&segment);
    maker_fini(&maker);
}

static void test_chunks_beyond_the_shims_own_are_made_on_demand(void **state)
{
    struct maker maker;
    struct ft_segment segment;
    (void)state;
    maker_init(&maker);
    memset(maker.head->chunk_state, FT_CHUNK_NONE, FT_CHUNKS_MAX);
    assert_int_equal(ft_segment_open(&segment, dup(maker.fd), maker.bytes), 0);
    assert_int_equal(ft_segment_grant(&segment, 100), 0);
    assert_int_equal(maker.head->chunks_granted, FT_CHUNKS_BY_SHIM + 100);
    assert_int_equal(maker.head->chunk_state[FT_CHUNKS_BY_SHIM - 1], FT_CHUNK_NONE);
    assert_int_equal(maker.head->chunk_state[FT_CHUNKS_BY_SHIM], FT_CHUNK_FREE);
    assert_int_equal(maker.head->chunk_state[FT_CHUNKS_BY_SHIM + 99], FT_CHUNK_FREE);
    assert_int_equal(maker.head->chunk_state[FT_CHUNKS_BY_SHIM + 100], FT_CHUNK_NONE);
    assert_int_equal(ft_segment_granted(&segment), 100);
    assert_int_equal(ft_segment_grant(&segment, UINT32_MAX), 0);
    assert_int_equal(maker.head->chunks_granted, MAKER_CHUNKS);
    ft_segment_close(&segment);
    maker_fini(&maker);
}

static void test_totals_of_all_copies_are_added_up(void **state)
{
    struct maker maker;
    struct ft_segment segment;
    struct ft_total rows[FT_TOTALS_ROWS];
    (void)state;
    maker_init(&maker);
    assert_int_equal(ft_segment_open(&segment, dup(maker.fd), maker.bytes), 0);
    const uint32_t pages[] = {maker.head->totals_page, maker.head->totals_more_page, maker.head->totals_more_page + 2};
    for (size_t i = 0; i < 3; i++) {
        struct ft_total *copy = (void *)(maker.map + (size_t)pages[i] * FT_PAGE_BYTES);
        copy[0] = (struct ft_total){.count = 1};
        copy[5 + i] = (struct ft_total){.call = 33, .count = 10, .bytes = 20, .ticks = 30};
        copy[9] = (struct ft_total){.call = (uint32_t)(40 + i), .count = 1};
    }
    assert_int_equal(ft_segment_read_totals(&segment, rows), 0);
    assert_int_equal(rows[0].count, 3);
    assert_int_equal(rows[1].call, 33);
    assert_int_equal(rows[1].count, 30);
    assert_int_equal(rows[1].ticks, 90);
    assert_int_equal(rows[4].count, 1);
    ft_segment_close(&segment);
    maker_fini(&maker);
}

static void test_only_a_sealed_memfd_of_the_right_size_is_taken(void **state)
{
    struct maker maker;
    (void)state;
    maker_init(&maker);
    assert_int_equal(ft_admit_check_memory(maker.fd, maker.bytes, UINT64_C(1) << 30), 0);
    assert_int_not_equal(ft_admit_check_memory(maker.fd, maker.bytes - 1, UINT64_C(1) << 30), 0);
    assert_int_not_equal(ft_admit_check_memory(maker.fd, maker.bytes, maker.bytes - 1), 0);
    int pair[2];
    assert_int_equal(pipe(pair), 0);
    assert_int_not_equal(ft_admit_check_memory(pair[0], maker.bytes, UINT64_C(1) << 30), 0);
    close(pair[0]);
    close(pair[1]);
    maker_fini(&maker);
}

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)

static void test_a_memfd_without_one_of_its_seals_is_not_taken(void **state)
{
    static const struct {
        int seals, result;
        const char *why;
    } cases[] = {
        {ALL_SEALS, 0, "all of them"},
        {ALL_SEALS & ~F_SEAL_SHRINK, -EBADMSG, "it could end before what is read, or mapped"},
        {ALL_SEALS & ~F_SEAL_GROW, -EBADMSG, "it could grow beyond what it is charged for"},
        {ALL_SEALS & ~F_SEAL_SEAL, -EBADMSG, "it could be sealed against our writes, later"},
        {0, -EBADMSG, "none of them"},
        {ALL_SEALS | F_SEAL_WRITE, -EBADMSG, "it is sealed against our writes"},
        {ALL_SEALS | F_SEAL_FUTURE_WRITE, -EBADMSG, "what we gave could not be taken back"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int fd = memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert_int_equal(ftruncate(fd, FT_SEGMENT_BYTES_MIN), 0);
        assert_int_equal(fcntl(fd, F_ADD_SEALS, cases[i].seals), 0);
        if (ft_admit_check_memory(fd, FT_SEGMENT_BYTES_MIN, FT_SEGMENT_BYTES_MIN) != cases[i].result)
            fail_msg("%s", cases[i].why);
        close(fd);
    }
}

static void test_a_memfd_that_is_not_open_for_both_is_not_taken(void **state)
{
    static const int modes[] = {O_RDWR, O_RDONLY, O_WRONLY};
    struct maker maker;
    char path[64];
    (void)state;
    maker_init(&maker);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", maker.fd);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        int fd = open(path, modes[i] | O_CLOEXEC);
        assert_int_equal(ft_admit_check_memory(fd, maker.bytes, maker.bytes), modes[i] == O_RDWR ? 0 : -EBADMSG);
        close(fd);
    }
    maker_fini(&maker);
}

static void test_mountinfo_lines_are_parsed(void **state)
{
    struct ft_mount mount;
    (void)state;
    char good[] = "36 35 98:0 /mnt1 /a\\040b\\134 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n";
    assert_true(ft_mounts_parse_line(good, &mount));
    assert_string_equal(mount.point, "/a b\\");
    assert_string_equal(mount.fstype, "ext3");
    ft_mount_fini(&mount);
    static const char *const bad[] = {"", "36 35 98 /", "36 35 98:0", "36 35 98:0 / / rw", "1 2 3:4 / - ext4"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "%s", bad[i]);
        assert_false(ft_mounts_parse_line(line, &mount));
    }
}

static void test_stat_is_parsed_whatever_the_commands_name(void **state)
{
    struct ft_procfs_stat stat;
    (void)state;
    char text[] =
        "77 (a) Z 1 (b) Z 5 77 6 0 -1 4227148 19 0 8 0 0 0 0 0 20 0 1 0 81732 0 0 18446744073709551615 0 0 0 0 0 0 0 "
        "0 0 1 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 1792\n";
    assert_int_equal(ft_procfs_parse_stat(text, &stat), 0);
    assert_int_equal(stat.state, 'Z');
    assert_int_equal(stat.parent_pid, 5);
    assert_int_equal(stat.major_faults, 8);
    assert_int_equal(stat.start_time, 81732);
    assert_int_equal(stat.exit_code, 1792);
    char cut[] = "77 (a)";
    assert_int_not_equal(ft_procfs_parse_stat(cut, &stat), 0);
}

static void test_executed_files_tell_why_they_cannot_be_recorded(void **state)
{
    char folder[] = "/tmp/ft-exe-XXXXXX", path[64];
    const struct ft_exe_look look = {.uid = 0};
    (void)state;
    assert_int_equal(ft_exe_examine("/bin/true", &look).gap, FT_GAP_NOT_ATTACHED);
    assert_int_equal(ft_exe_examine("/no/such/file", &look).gap, FT_GAP_NOT_ATTACHED);
    assert_true(ft_exe_examine("/no/such/file", &look).is_absent);
    assert_int_equal(ft_exe_examine("/tmp", &look).gap, FT_GAP_NOT_ATTACHED);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/script", folder);
    FILE *file = fopen(path, "w");
    fprintf(file, "#! /no/such/interpreter -x\n");
    fclose(file);
    assert_true(ft_exe_examine(path, &look).is_absent);
    file = fopen(path, "w");
    fprintf(file, "#!%s\n", path); // itself
    fclose(file);
    assert_int_equal(ft_exe_examine(path, &look).gap, FT_GAP_NOT_ATTACHED);
    // A 32-bit head, and a 64-bit one of a program without an interpreter.
    unsigned char head[64] = {0x7f, 'E', 'L', 'F', 1, 1, 1};
    file = fopen(path, "w");
    fwrite(head, sizeof(head), 1, file);
    fclose(file);
    assert_int_equal(ft_exe_examine(path, &look).gap, FT_GAP_FOREIGN_ELF);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_head_is_taken_only_where_all_of_it_lies_inside),
        cmocka_unit_test(test_a_look_sees_new_lines_and_refuses_impossible_counts),
        cmocka_unit_test(test_a_process_that_rests_is_seen_to_go_on),
        cmocka_unit_test(test_a_page_that_was_freed_while_its_process_rests_is_read_as_zeros),
        cmocka_unit_test(test_a_page_that_is_not_to_be_had_is_given_up),
        cmocka_unit_test(test_lines_beyond_the_mapped_page_are_read),
        cmocka_unit_test(test_chunks_beyond_the_shims_own_are_made_on_demand),
        cmocka_unit_test(test_totals_of_all_copies_are_added_up),
        cmocka_unit_test(test_only_a_sealed_memfd_of_the_right_size_is_taken),
        cmocka_unit_test(test_a_memfd_without_one_of_its_seals_is_not_taken),
        cmocka_unit_test(test_a_memfd_that_is_not_open_for_both_is_not_taken),
        cmocka_unit_test(test_mountinfo_lines_are_parsed),
        cmocka_unit_test(test_stat_is_parsed_whatever_the_commands_name),
        cmocka_unit_test(test_executed_files_tell_why_they_cannot_be_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
