// SPDX-License-Identifier: MIT
//
// Files that a client names are looked into only where they are files: opening another thing may do something.
#include "daemon/exe.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[32];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/flowtap-test-exe-XXXXXX");
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink("file");
    unlink("fifo");
    unlink("link");
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

// Whether `name` was opened while it was examined by this path, from our root and from that of a process.
static bool is_opened(const char *name, const char *path)
{
    union {
        struct inotify_event event;
        char bytes[4096];
    } room;
    const struct ft_exe_look from_root = {.root_pid = (uint32_t)getpid(), .uid = geteuid(), .gid = getegid()};
    char full[256];
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    snprintf(full, sizeof(full), "%s/%s", folder, path);
    assert_true(inotify_add_watch(watch, name, IN_OPEN) > 0);
    ft_exe_examine(full, NULL);
    ft_exe_examine(full, &from_root);
    ssize_t n = read(watch, &room, sizeof(room));
    close(watch);
    return n > 0;
}

static void what_is_no_file_is_never_opened(void **state)
{
    (void)state;
    int fd = open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
    assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
    close(fd);
    assert_int_equal(mkfifo("fifo", 0755), 0);
    assert_int_equal(symlink("fifo", "link"), 0);
    assert_true(is_opened("file", "file"));
    assert_false(is_opened("fifo", "fifo"));
    assert_false(is_opened("fifo", "link"));
    assert_int_equal(ft_exe_examine("/dev/null", NULL).gap, FT_GAP_NOT_ATTACHED);
    assert_int_equal(ft_exe_examine("/proc", NULL).gap, FT_GAP_NOT_ATTACHED);
}

// That a file is gone says nothing of where it was, unless who executed it is known to have another root than we.
static void a_file_that_is_gone_is_no_container(void **state)
{
    const struct ft_exe_look own_root = {.root_pid = (uint32_t)getpid()};
    char name[64];
    (void)state;
    snprintf(name, sizeof(name), "%s/gone", folder);
    assert_int_equal(ft_exe_examine(name, NULL).gap, FT_GAP_NOT_ATTACHED);
    assert_int_equal(ft_exe_examine(name, &own_root).gap, FT_GAP_NOT_ATTACHED);
    assert_true(ft_exe_examine(name, &own_root).is_absent);
    assert_false(ft_exe_examine("/bin/true", &own_root).is_absent);
    pid_t child = fork();
    if (child == 0) {
        if (chroot(folder) != 0)
            _exit(1);
        pause();
    }
    const struct ft_exe_look its_root = {.root_pid = (uint32_t)child};
    struct stat own, its;
    char root[32];
    int status = 0;
    snprintf(root, sizeof(root), "/proc/%d/root/", (int)child);
    assert_int_equal(stat(folder, &own), 0);
    while (waitpid(child, &status, WNOHANG) == 0 && (stat(root, &its) < 0 || its.st_ino != own.st_ino))
        sched_yield();
    if (status == 0)
        assert_int_equal(ft_exe_examine(name, &its_root).gap, FT_GAP_CONTAINER);
    else
        print_message("chroot is not allowed here\n");
    kill(child, SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_that_is_gone_is_no_container, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_never_opened, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
