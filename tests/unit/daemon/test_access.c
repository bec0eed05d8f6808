// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/access.h"

static void a_folder_is_opened_or_why_not_is_told(void **state)
{
    (void)state;
    char folder[] = "/tmp/flowtap-access-XXXXXX", link[64], none[64];
    assert_non_null(mkdtemp(folder));
    snprintf(link, sizeof(link), "%s/link", folder);
    snprintf(none, sizeof(none), "%s/none", folder);
    assert_int_equal(symlink("/tmp", link), 0);
    int fd = ft_access_open_folder(folder, folder);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(ft_access_open_folder(link, folder), -ENOTDIR);
    assert_int_equal(ft_access_open_folder(none, folder), -ENOENT);
    assert_int_equal(ft_access_open_folder(folder, none), -ENOENT); // the spool was just taken away
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(ft_access_open_folder(folder, folder), -EPERM);
    unlink(link);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_folder_is_opened_or_why_not_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
