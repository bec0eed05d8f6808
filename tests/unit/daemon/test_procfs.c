// SPDX-License-Identifier: MIT
//
// How a process ended that is not reaped yet, where the kernel tells it in /proc alone (before Linux 6.15).
#include "daemon/procfs.h"

#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534, OURS = 65533, STATUS = 3, UNKNOWN = 100, NOT_SET_UP = 101 };
#define PTRACE (1u << CAP_SYS_PTRACE)

static int keep_capabilities(uint32_t kept)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{.effective = kept, .permitted = kept}};
    return (int)syscall(SYS_capset, &head, sets);
}

// What is known of a zombie of that user: its status, or UNKNOWN.
static int look_at_zombie(uint32_t uid, uint32_t own_uid, uint32_t kept)
{
    siginfo_t info;
    struct ft_procfs_stat stat;
    pid_t child = fork();
    if (child == 0)
        _exit(uid == geteuid() || setresuid(uid, uid, uid) == 0 ? STATUS : NOT_SET_UP);
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 || info.si_status != STATUS)
        return NOT_SET_UP;
    bool is_changed = own_uid == geteuid() ||
                      (prctl(PR_SET_KEEPCAPS, 1L, 0L, 0L, 0L) == 0 && setresuid(own_uid, own_uid, own_uid) == 0);
    if (!is_changed || (kept != UINT32_MAX && keep_capabilities(kept) < 0) ||
        ft_procfs_stat((uint32_t)child, &stat) < 0)
        return NOT_SET_UP;
    struct ft_procfs_exit end = ft_procfs_exit_of(-1, (uint32_t)child, stat.start_time, uid);
    return end.is_known ? WEXITSTATUS(end.status) : UNKNOWN;
}

// In a process of its own: whether it may see is asked once.
static int seen(uint32_t uid, uint32_t own_uid, uint32_t kept)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(look_at_zombie(uid, own_uid, kept));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void our_own_process_shows_how_it_ended(void **state)
{
    (void)state;
    assert_int_equal(seen(geteuid(), geteuid(), UINT32_MAX), STATUS);
}

static void anothers_shows_it_to_who_may_trace_it(void **state)
{
    (void)state;
    if (geteuid() != 0 || seen(NOBODY, 0, UINT32_MAX) == NOT_SET_UP) {
        print_message("skipped: processes of other users need root\n");
        skip();
    }
    assert_int_equal(seen(NOBODY, 0, PTRACE), STATUS);
    assert_int_equal(seen(NOBODY, OURS, PTRACE), STATUS); // as the service has it
    assert_int_equal(seen(NOBODY, OURS, 0), UNKNOWN);
    assert_int_equal(seen(NOBODY, 0, 0), UNKNOWN); // root of a container
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_process_shows_how_it_ended),
        cmocka_unit_test(anothers_shows_it_to_who_may_trace_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
