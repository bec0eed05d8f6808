// SPDX-License-Identifier: MIT
#include "daemon/headroom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static void find(const char *text, struct ft_headroom_mount *out)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    ft_headroom_find(file, out);
    fclose(file);
}

static const struct mounts {
    const char *text;
    enum ft_headroom_version version;
    const char *point, *root, *why;
} mounts[] = {
    {"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n", FT_HEADROOM_V2, "/sys/fs/cgroup", "",
     "version 2"},
    {"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
     "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
     "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
     FT_HEADROOM_V1, "/sys/fs/cgroup/memory", "", "both: the memory controller is in version 1"},
    {"41 31 0:38 / /u rw - cgroup2 cgroup2 rw\n35 31 0:32 / /m rw - cgroup cgroup rw,xattr,memory\n"
     "36 31 0:32 / /other rw - cgroup cgroup rw,memory\n",
     FT_HEADROOM_V1, "/m", "", "the same, the other way round; the first counts"},
    {"35 31 0:32 /docker/ab /m rw - cgroup cgroup rw,memory\n", FT_HEADROOM_V1, "/m", "/docker/ab", "a container's"},
    {"32 31 0:29 / /c rw - cgroup cgroup rw,cpu,memory_not,name=memory\n", FT_HEADROOM_NONE, "", "", "no controller"},
    {"31 23 0:28 /\n\n - \n32 31 0:29 / /c rw - cgroup\n", FT_HEADROOM_NONE, "", "", "lines that are none"},
};

static void the_hierarchy_that_limits_memory_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
        struct ft_headroom_mount mount;
        find(mounts[i].text, &mount);
        if (mount.version != mounts[i].version || strcmp(mount.point, mounts[i].point) != 0 ||
            strcmp(mount.root, mounts[i].root) != 0)
            fail_msg("%s: version %d at %s of %s", mounts[i].why, mount.version, mount.point, mount.root);
    }
}

static const struct groups {
    enum ft_headroom_version version;
    const char *root, *text, *group, *why;
} groups[] = {
    {FT_HEADROOM_V2, "", "0::/a/b\n", "/a/b", "version 2"},
    {FT_HEADROOM_V2, "", "0::/\n", "", "the root"},
    {FT_HEADROOM_V1, "", "5:devices:/x\n4:cpu,memory:/a/b\n0::/c\n", "/a/b", "version 1"},
    {FT_HEADROOM_V1, "", "0::/c\n", NULL, "in no group of it"},
    {FT_HEADROOM_V2, "", "4:memory:/a\n0::/c\n", "/c", "the other version's line"},
    {FT_HEADROOM_V2, "/docker/ab", "0::/docker/ab/c\n", "/c", "below what the mount shows"},
    {FT_HEADROOM_V2, "/docker/ab", "0::/docker/abc\n", NULL, "beside it"},
    {FT_HEADROOM_V2, "", "0::/../../a\n", NULL, "above it"},
    {FT_HEADROOM_V2, "", "", NULL, "nothing"},
    {FT_HEADROOM_V2, "", "0::/a", NULL, "a line that was cut"},
    {FT_HEADROOM_V2, "", "0\n0:\n0::/a\n", "/a", "lines that are none"},
};

static void the_group_of_a_process_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        struct ft_headroom_mount mount = {.version = groups[i].version, .point = "/m"};
        char group[FT_HEADROOM_GROUP_MAX] = "unchanged";
        snprintf(mount.root, sizeof(mount.root), "%s", groups[i].root);
        bool is_found = ft_headroom_group_of(&mount, groups[i].text, group);
        if (is_found != (groups[i].group != NULL) || (is_found && strcmp(group, groups[i].group) != 0))
            fail_msg("%s: %s", groups[i].why, is_found ? group : "not found");
    }
}

static void a_group_with_a_long_name_is_not_cut(void **state)
{
    struct ft_headroom_mount mount = {.version = FT_HEADROOM_V2, .point = "/m"};
    char text[3000] = "0::/", group[FT_HEADROOM_GROUP_MAX];
    (void)state;
    memset(text + 4, 'a', 2000);
    strcpy(text + 2004, "\n");
    assert_false(ft_headroom_group_of(&mount, text, group));
    strcpy(text + 4 + FT_HEADROOM_GROUP_MAX - 1, "\n");
    assert_false(ft_headroom_group_of(&mount, text, group));
    strcpy(text + 4 + FT_HEADROOM_GROUP_MAX - 2, "\n");
    assert_true(ft_headroom_group_of(&mount, text, group));
    assert_int_equal(strlen(group), FT_HEADROOM_GROUP_MAX - 1);
}

// A folder in place of the kernel's.
static struct ft_headroom_mount mount;

static int set_up(void **state)
{
    (void)state;
    memset(&mount, 0, sizeof(mount));
    strcpy(mount.point, "/tmp/flowtap-test-headroom-XXXXXX");
    assert_non_null(mkdtemp(mount.point));
    return 0;
}

static int tear_down(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof(command), "rm -r '%s'", mount.point);
    assert_int_equal(system(command), 0);
    return 0;
}

static void put(const char *group, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s%s", mount.point, group);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s%s/%s", mount.point, group, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void what_is_left_is_the_least_of_a_group_and_its_parents(void **state)
{
    (void)state;
    mount.version = FT_HEADROOM_V2;
    put("/a", "memory.max", "max\n");
    put("/a", "memory.high", "max\n");
    put("/a", "memory.current", "104857600\n");
    put("/a/b", "memory.max", "max\n");
    assert_true(ft_headroom_read(&mount, "/a/b") == FT_HEADROOM_UNLIMITED);
    assert_true(ft_headroom_read(&mount, "") == FT_HEADROOM_UNLIMITED);
    put("/a", "memory.max", "314572800\n");
    assert_int_equal(ft_headroom_read(&mount, "/a/b"), 200 * MIB);
    put("/a/b", "memory.max", "104857600\n");
    put("/a/b", "memory.current", "94371840\n");
    assert_int_equal(ft_headroom_read(&mount, "/a/b"), 10 * MIB);
    assert_int_equal(ft_headroom_read(&mount, "/a"), 200 * MIB);
    put("/a", "memory.high", "109051904\n");
    assert_int_equal(ft_headroom_read(&mount, "/a/b"), 4 * MIB);
    put("/a", "memory.high", "1\n");
    assert_int_equal(ft_headroom_read(&mount, "/a/b"), 0);
}

static void half_of_what_is_held_of_files_counts_as_left(void **state)
{
    (void)state;
    mount.version = FT_HEADROOM_V2;
    put("/a", "memory.max", "104857600\n");
    put("/a", "memory.current", "104857600\n");
    put("/a", "memory.stat", "anon 1\nfile 9\ninactive_file 8388608\nactive_file 4194304\nunevictable 5\n");
    assert_int_equal(ft_headroom_read(&mount, "/a"), 6 * MIB);
    put("/a", "memory.stat", "xinactive_file 8388608\n");
    assert_int_equal(ft_headroom_read(&mount, "/a"), 0);
}

static void version_1_limits_memory_and_memory_with_swap(void **state)
{
    (void)state;
    mount.version = FT_HEADROOM_V1;
    put("/a", "memory.limit_in_bytes", "9223372036854771712\n");
    put("/a", "memory.usage_in_bytes", "104857600\n");
    put("/a", "memory.memsw.limit_in_bytes", "9223372036854771712\n");
    put("/a", "memory.memsw.usage_in_bytes", "115343360\n");
    put("/a", "memory.stat", "inactive_file 1\ntotal_inactive_file 2097152\ntotal_active_file 0\n");
    assert_true(ft_headroom_read(&mount, "/a") == FT_HEADROOM_UNLIMITED);
    put("/a", "memory.limit_in_bytes", "209715200\n");
    assert_int_equal(ft_headroom_read(&mount, "/a"), 101 * MIB);
    put("/a", "memory.memsw.limit_in_bytes", "209715200\n");
    assert_int_equal(ft_headroom_read(&mount, "/a"), 91 * MIB);
}

static void a_group_that_is_gone_has_nothing_left(void **state)
{
    (void)state;
    mount.version = FT_HEADROOM_V2;
    assert_int_equal(ft_headroom_read(&mount, "/gone"), 0);
    mount.version = FT_HEADROOM_NONE;
    assert_true(ft_headroom_read(&mount, "/gone") == FT_HEADROOM_UNLIMITED);
}

static void what_was_read_is_kept_for_its_time(void **state)
{
    struct ft_headroom_cache cache = {0};
    char group[32];
    (void)state;
    mount.version = FT_HEADROOM_V2;
    put("/a", "memory.max", "104857600\n");
    assert_int_equal(ft_headroom_get(&cache, &mount, "/a", 1000, 10), 100 * MIB);
    put("/a", "memory.max", "209715200\n");
    assert_int_equal(ft_headroom_get(&cache, &mount, "/a", 1010, 10), 100 * MIB);
    assert_int_equal(ft_headroom_get(&cache, &mount, "/a", 1010, 9), 200 * MIB);
    put("/a", "memory.max", "104857600\n");
    assert_int_equal(ft_headroom_get(&cache, &mount, "/a", 1015, 10), 200 * MIB);
    for (int i = 0; i < 2 * FT_HEADROOM_GROUPS; i++) {
        snprintf(group, sizeof(group), "/other-%d", i);
        assert_int_equal(ft_headroom_get(&cache, &mount, group, 1015, 10), 0);
    }
    assert_int_equal(ft_headroom_get(&cache, &mount, "/a", 1015, 10), 100 * MIB); // it had to go meanwhile
    ft_headroom_fini(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hierarchy_that_limits_memory_is_found),
        cmocka_unit_test(the_group_of_a_process_is_found),
        cmocka_unit_test(a_group_with_a_long_name_is_not_cut),
        cmocka_unit_test_setup_teardown(what_is_left_is_the_least_of_a_group_and_its_parents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(half_of_what_is_held_of_files_counts_as_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1_limits_memory_and_memory_with_swap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_group_that_is_gone_has_nothing_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_read_is_kept_for_its_time, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
