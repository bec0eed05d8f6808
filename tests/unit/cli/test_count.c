// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/cli/analysis_count.h"
#include "proto/calls.h"
#include "proto/trace_event.h"

enum {
    NO = FT_FILE_CLASS_NONE,
    FILE_ = FT_FILE_CLASS_STORAGE,
    PIPE = FT_FILE_CLASS_OTHER,
    WHAT = FT_FILE_CLASS_UNKNOWN
};

static void a_call_counts_by_group_and_kind_of_file(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        unsigned group, file, file2, mask;
    } cases[] = {
        {"read of a file", FT_GROUP_READ, FILE_, NO, FT_COUNT_READ},
        {"read of a pipe", FT_GROUP_READ, PIPE, NO, FT_COUNT_OTHER_IO},
        {"read of a bad descriptor", FT_GROUP_READ, NO, NO, 0},
        {"write of a file whose kind nobody could ask for", FT_GROUP_WRITE, WHAT, NO, FT_COUNT_WRITE},
        {"an open that failed", FT_GROUP_METADATA, WHAT, NO, FT_COUNT_METADATA},
        {"fstat of a pipe", FT_GROUP_METADATA, PIPE, NO, 0},
        {"mmap of a file", FT_GROUP_MAP, FILE_, NO, FT_COUNT_METADATA},
        {"anonymous mmap", FT_GROUP_MAP, NO, NO, 0},
        {"copy from file to file", FT_GROUP_TRANSFER, FILE_, FILE_, FT_COUNT_READ | FT_COUNT_WRITE},
        {"sendfile to a socket", FT_GROUP_TRANSFER, FILE_, PIPE, FT_COUNT_READ},
        {"splice from a pipe", FT_GROUP_TRANSFER, PIPE, FILE_, FT_COUNT_WRITE},
        {"splice between pipes", FT_GROUP_TRANSFER, PIPE, PIPE, FT_COUNT_OTHER_IO},
        {"ioctl", FT_GROUP_OTHER, FILE_, NO, 0},
        {"exec", FT_GROUP_PROCESS, FILE_, NO, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned mask = ft_count_of(cases[i].group, cases[i].file, cases[i].file2);
        if (mask != cases[i].mask) {
            fail_msg("%s: %u", cases[i].why, mask);
        }
    }
}

static void bytes_of_a_request_that_went_on_by_itself_are_late(void **state)
{
    (void)state;
    assert_true(ft_count_is_late("aio_return", FT_GROUP_TRANSFER));
    assert_true(ft_count_is_late("aio_return64", FT_GROUP_TRANSFER));
    assert_false(ft_count_is_late("sendfile", FT_GROUP_TRANSFER));
    assert_false(ft_count_is_late("splice", FT_GROUP_TRANSFER));
    assert_false(ft_count_is_late("read", FT_GROUP_READ));
}

static void opens_are_known_by_name(void **state)
{
    (void)state;
    static const char *const opens[] = {"open",    "open64",      "openat",   "__open_2", "__openat64_2",
                                        "creat",   "fopen",       "fopen64",  "freopen",  "opendir",
                                        "mkstemp", "mkostemps64", "tmpfile64"};
    static const char *const others[] = {"close", "fdopen", "read", "mkdir", "fclose", "mkdtemp", "__read_chk"};
    for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++) {
        assert_true(ft_count_is_open(opens[i]));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_false(ft_count_is_open(others[i]));
    }
}

static void what_a_flush_moves_was_written(void **state)
{
    (void)state;
    assert_int_equal(ft_count_of_stream("fclose", "STDIO", FT_GROUP_METADATA), FT_COUNT_WRITE);
    assert_int_equal(ft_count_of_stream("fseeko64", "STDIO", FT_GROUP_METADATA), FT_COUNT_READ);
    assert_int_equal(ft_count_of_stream("fwrite", "STDIO", FT_GROUP_WRITE), 0);
    assert_int_equal(ft_count_of_stream("lseek", "POSIX", FT_GROUP_METADATA), 0);
}

static void the_kernel_counts_some_calls_twice_and_some_never(void **state)
{
    (void)state;
    assert_int_equal(ft_count_kernel_sides("read", FT_GROUP_READ), 1);
    assert_int_equal(ft_count_kernel_sides("__pread64_chk", FT_GROUP_READ), 1);
    assert_int_equal(ft_count_kernel_sides("fwrite", FT_GROUP_WRITE), 1);
    assert_int_equal(ft_count_kernel_sides("sendfile64", FT_GROUP_TRANSFER), 2);
    assert_int_equal(ft_count_kernel_sides("copy_file_range", FT_GROUP_TRANSFER), 2);
    assert_int_equal(ft_count_kernel_sides("splice", FT_GROUP_TRANSFER), 0);
    assert_int_equal(ft_count_kernel_sides("send", FT_GROUP_WRITE), 0);
    assert_int_equal(ft_count_kernel_sides("sendto", FT_GROUP_WRITE), 0);
    assert_int_equal(ft_count_kernel_sides("__recv_chk", FT_GROUP_READ), 0);
    assert_int_equal(ft_count_kernel_sides("mmap", FT_GROUP_MAP), 0);
    assert_int_equal(ft_count_kernel_sides("lseek", FT_GROUP_METADATA), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_counts_by_group_and_kind_of_file),
        cmocka_unit_test(bytes_of_a_request_that_went_on_by_itself_are_late),
        cmocka_unit_test(opens_are_known_by_name),
        cmocka_unit_test(what_a_flush_moves_was_written),
        cmocka_unit_test(the_kernel_counts_some_calls_twice_and_some_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
