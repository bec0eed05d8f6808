// SPDX-License-Identifier: MIT
/* Names as they come into the ring: what a reader of the DEFINE records gets back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/shim/fd.h"
#include "client/shim/name.h"
#include "tests/unit/shim/segment_fixture.h"

struct name {
    uint32_t id, base, type, flags, kind;
    size_t bytes, got;
    char text[FT_PATH_KEPT_BYTES + 1];
    uint64_t device, inode;
};

/* Puts the parts of the name with this id together; got = 0 where there is none. */
static struct name name_of(uint32_t id)
{
    static const uint64_t *records[2048];
    size_t count = ft_fixture_records(FT_RECORD_DEFINE, records, 2048);
    assert_true(count <= 2048);
    struct name name = {.id = id};
    for (size_t i = 0; i < count; i++) {
        const uint64_t *word = records[i];
        if ((uint32_t)word[1] != id)
            continue;
        size_t from = word[2] >> 16 & 0xffff, part = word[2] >> 32 & 0xffff;
        name.base = (uint32_t)(word[1] >> 32);
        name.bytes = word[2] & 0xffff;
        name.type = word[2] >> 48 & 0xff;
        name.flags = (uint32_t)(word[2] >> 56);
        name.kind = word[3] & 0xff;
        const uint64_t *text = word + FT_SLOT_WORDS;
        if (name.flags & FT_DEFINE_INODE) {
            name.device = text[0];
            name.inode = text[1];
            text += 2;
        }
        assert_int_equal(from, name.got);
        memcpy(name.text + from, text, part);
        name.got += part;
    }
    assert_int_equal(name.got, name.bytes);
    return name;
}

static void a_name_of_any_length_comes_back(void **state)
{
    (void)state;
    static char path[FT_PATH_KEPT_BYTES * 2];
    for (size_t n = 1; n < FT_PATH_KEPT_BYTES; n += n < 40 ? 1 : 811) {
        memset(path, 'x', n);
        path[0] = '/';
        path[n] = 0;
        int is_cut = 0;
        uint32_t id = ft_name_path(FT_AT_FDCWD, path, &is_cut);
        struct name name = name_of(id);
        assert_int_equal(name.bytes, n);
        assert_string_equal(name.text, path);
        assert_false(is_cut || name.base != 0 || name.type != FT_DEFINE_PATH);
    }
}

static void a_name_that_is_too_long_is_cut_and_says_so(void **state)
{
    (void)state;
    static char path[70000];
    memset(path, 'y', sizeof(path) - 1);
    path[0] = '/';
    int is_cut = 0;
    struct name name = name_of(ft_name_path(FT_AT_FDCWD, path, &is_cut));
    assert_true(is_cut && (name.flags & FT_DEFINE_CUT));
    assert_int_equal(name.bytes, FT_PATH_KEPT_BYTES);
    assert_memory_equal(name.text, path, FT_PATH_KEPT_BYTES);
}

/* The last byte before a page that may not be read: nothing behind the string is touched. */
static void a_name_at_the_end_of_memory_is_read_to_its_end(void **state)
{
    (void)state;
    char *from = mmap(NULL, 2 * FT_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(from, MAP_FAILED);
    assert_int_equal(mprotect(from + FT_PAGE_BYTES, FT_PAGE_BYTES, PROT_NONE), 0);
    for (size_t n = 2; n < 30; n++) {
        char *path = from + FT_PAGE_BYTES - n - 1;
        memset(path, 'z', n);
        path[0] = '/';
        path[n] = 0;
        int is_cut = 0;
        assert_string_equal(name_of(ft_name_path(FT_AT_FDCWD, path, &is_cut)).text, path);
    }
    munmap(from, 2 * FT_PAGE_BYTES);
}

static void a_relative_name_goes_by_its_directory(void **state)
{
    (void)state;
    char cwd[4096];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    int is_cut = 0, dir = open("/tmp", O_RDONLY | O_DIRECTORY);
    struct name here = name_of(ft_name_path(FT_AT_FDCWD, "a", &is_cut));
    struct name again = name_of(ft_name_path(FT_AT_FDCWD, "b", &is_cut));
    assert_int_equal(here.base, again.base);
    assert_string_equal(name_of(here.base).text, cwd);
    assert_int_equal(name_of(here.base).type, FT_DEFINE_CWD);
    struct name there = name_of(ft_name_path(dir, "c/../d", &is_cut));
    assert_string_equal(there.text, "c/../d");
    struct name base = name_of(there.base);
    struct stat st;
    assert_int_equal(fstat(dir, &st), 0);
    assert_string_equal(base.text, "/tmp");
    assert_true(base.kind == FT_FILE_WIRE_DIRECTORY && base.inode == st.st_ino && base.type == FT_DEFINE_FD);
    assert_int_equal(name_of(ft_name_path(FT_AT_SEARCHED, "sh", &is_cut)).base, 0);
    assert_int_equal(name_of(ft_name_path(12345, "of nothing", &is_cut)).base, 0);
    close(dir);
}

static void descriptors_are_what_the_kernel_says(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    struct {
        int fd;
        uint8_t kind;
        const char *starts;
    } const cases[] = {
        {open("/dev/null", O_RDONLY), FT_FILE_WIRE_CHAR, "/dev/null"},
        {fds[0], FT_FILE_WIRE_PIPE, "pipe:["},
        {memfd_create("m", MFD_CLOEXEC), FT_FILE_WIRE_MEMFD, "/memfd:m"},
        {open("/tmp", O_TMPFILE | O_RDWR, 0600), FT_FILE_WIRE_REGULAR, "/tmp/#"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_inode inode;
        if (cases[i].fd < 0)
            continue; /* no O_TMPFILE there */
        uint32_t id = ft_name_descriptor(cases[i].fd, &inode);
        struct name name = name_of(id);
        assert_int_equal(inode.kind, cases[i].kind);
        assert_memory_equal(name.text, cases[i].starts, strlen(cases[i].starts));
        close(cases[i].fd);
    }
    close(fds[1]);
    struct ft_inode inode;
    assert_int_equal(ft_name_descriptor(54321, &inode), 0);
    assert_false(inode.known);
}

static void without_room_a_name_is_lost_and_counted(void **state)
{
    (void)state;
    struct ft_chunk_head *chunk;
    while (ft_ring_reserve(ft_thread.writer, 1, ft_ticks(), &chunk) != NULL) {
    }
    int is_cut = 0;
    assert_int_equal(ft_name_path(FT_AT_FDCWD, "/lost", &is_cut), 0);
    assert_int_equal(ft_head()->names_lost, 1);
}

static void in_a_sandbox_nothing_is_asked(void **state)
{
    (void)state;
    int is_cut = 0;
    assert_int_not_equal(ft_name_path(FT_AT_SEARCHED, "takes a chunk", &is_cut), 0);
    ft_process.sandboxed = 1;
    int fd = open("/tmp", O_RDONLY);
    struct ft_inode inode;
    struct name name = name_of(ft_name_path(FT_AT_FDCWD, "relative", &is_cut));
    assert_string_equal(name.text, "relative");
    assert_int_equal(name.base, 0);
    assert_int_equal(ft_name_descriptor(fd, &inode), 0);
    close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ft_fixture_setup, ft_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_name_of_any_length_comes_back),
        TEST(a_name_that_is_too_long_is_cut_and_says_so),
        TEST(a_name_at_the_end_of_memory_is_read_to_its_end),
        TEST(a_relative_name_goes_by_its_directory),
        TEST(descriptors_are_what_the_kernel_says),
        TEST(without_room_a_name_is_lost_and_counted),
        TEST(in_a_sandbox_nothing_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
