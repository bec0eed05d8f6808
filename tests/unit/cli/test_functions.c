// SPDX-License-Identifier: MIT
#include "client/cli/functions.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/cli/symbols.h"

static void a_name_of_a_function_is_shortened_and_any_other_stays(void **state)
{
    static const struct {
        const char *name, *shown, *why;
    } cases[] = {
        {"function /no/such/lib.so+0x12af (build-id 0aff)", "lib.so+0x12af", "the file is not here"},
        {"function /no/such/lib.so+0x12af (no build-id)", "lib.so+0x12af", "nothing says that it is the same file"},
        {"function lib.so+0x1 (build-id 0aff)", "lib.so+0x1", "a relative path"},
        {"function /a+0x2+0x3 (no build-id)", "a+0x2+0x3", "a path that ends like an address"},
        {"function /a+0xfedcba9876543210 (no build-id)", "a+0xfedcba9876543210", "the largest address"},
        {"function /a+0xfedcba98765432101 (no build-id)", NULL, "a larger one"},
        {"function /a+0x (no build-id)", NULL, "no digit"},
        {"function +0x12 (no build-id)", NULL, "no path"},
        {"function /a (build-id 00)", NULL, "no address"},
        {"function /a+0x1 (build-id )", NULL, "no digit of the build-id"},
        {"function /a+0x1 (build-id 0G)", NULL, "no digit"},
        {"function /a+0x1 (build-id 00", NULL, "cut"},
        {"function (no build-id)", NULL, "nothing"},
        {"function", NULL, "a word"},
        {"", NULL, "empty"},
        {"/a/function /b+0x1 (no build-id)", NULL, "a path"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_bytes shown = ft_functions_rename(NULL, FT_BYTES(cases[i].name));
        const char *wanted = cases[i].shown ? cases[i].shown : cases[i].name;
        if (shown.len != strlen(wanted) || memcmp(shown.data, wanted, shown.len) != 0) {
            fail_msg("%s: %.*s is not %s", cases[i].why, (int)shown.len, shown.data, wanted);
        }
    }
}

static size_t read_self(char **bytes)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat file;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &file), 0);
    *bytes = malloc((size_t)file.st_size);
    assert_non_null(*bytes);
    assert_int_equal(read(fd, *bytes, (size_t)file.st_size), file.st_size);
    close(fd);
    return (size_t)file.st_size;
}

/* In hexadecimal digits; the note of the name GNU whose type is 3. */
static void find_build_id(const char *bytes, size_t count, char out[41])
{
    const char *note = memmem(bytes, count, "\x14\0\0\0\3\0\0\0GNU\0", 12);
    assert_non_null(note);
    for (int i = 0; i < 20; i++) {
        snprintf(out + 2 * i, 3, "%02x", (unsigned char)note[12 + i]);
    }
}

static void a_damaged_file_gives_symbols_or_none(void **state)
{
    char path[] = "/tmp/flowtap-test-symbols-XXXXXX", id[41], *bytes;
    size_t count = read_self(&bytes);
    int fd = mkstemp(path);
    struct ft_symbols symbols;
    (void)state;
    assert_true(fd >= 0);
    find_build_id(bytes, count, id);
    assert_true(ft_symbols_read(&symbols, "/proc/self/exe", id));
    assert_true(symbols.count > 0);
    for (size_t i = 0; i < symbols.count; i++) {
        assert_non_null(ft_symbols_find(&symbols, symbols.items[i].address));
    }
    ft_symbols_fini(&symbols);
    assert_false(ft_symbols_read(&symbols, "/proc/self/exe", "00"));
    assert_false(ft_symbols_read(&symbols, "/dev/null", id));
    assert_false(ft_symbols_read(&symbols, "/", id));
    /* Each byte of its head, and of what the head names, with another value. */
    assert_int_equal(write(fd, bytes, count), count);
    for (size_t at = 0; at < 1024; at++) {
        char odd = (char)(bytes[at] ^ (at % 3 ? 0x81 : 0xff));
        assert_int_equal(pwrite(fd, &odd, 1, (off_t)at), 1);
        if (ft_symbols_read(&symbols, path, id)) {
            ft_symbols_find(&symbols, 0x1234);
            ft_symbols_fini(&symbols);
        }
        assert_int_equal(pwrite(fd, &bytes[at], 1, (off_t)at), 1);
    }
    for (size_t length = count; length > 64; length = length * 9 / 10) {
        assert_int_equal(ftruncate(fd, (off_t)length), 0);
        if (ft_symbols_read(&symbols, path, id)) {
            ft_symbols_fini(&symbols);
        }
    }
    close(fd);
    unlink(path);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_of_a_function_is_shortened_and_any_other_stays),
        cmocka_unit_test(a_damaged_file_gives_symbols_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
