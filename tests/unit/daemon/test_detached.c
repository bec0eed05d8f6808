// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <unistd.h>

#include "daemon/detached.h"

static bool is_no_memory;

// In place of the C library's, which getline() may be in line.
__ssize_t __getdelim(char **line, size_t *room, int end, FILE *file)
{
    return is_no_memory ? -1 : getdelim(line, room, end, file);
}

__ssize_t getline(char **line, size_t *room, FILE *file)
{
    return __getdelim(line, room, '\n', file);
}

// Its folder's path leads to another device now: the mount that the file is on tells.
static void a_file_is_detached_only_where_all_mounts_could_be_read(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    for (int i = 0; i < 2; i++) {
        struct ft_place place;
        ft_place_init(&place, "/proc/of-another-device");
        assert_int_not_equal(place.folder_device, 0);
        is_no_memory = i;
        assert_false(ft_place_is_detached(&place, fileno(file), "/dev/null/none", 1));
        is_no_memory = false;
    }
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_is_detached_only_where_all_mounts_could_be_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
