// SPDX-License-Identifier: MIT
// refused: tries to shut itself in, in each way that fails, by functions and by syscall(2). Then it goes on as ever.
#define _GNU_SOURCE
#include "counted.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { SET_DISPATCH = 59, LANDLOCK_RESTRICT_SELF = 446, NOT_THERE = 99 };

static const struct
try {
    long number, a, b, c, d, e;
}
tries[] = {
    {SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0, 0, 0}, /* no program */
    {SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 8, 0, 0},
    {SYS_prctl, PR_SET_SECCOMP, NOT_THERE, 0, 0, 0},
    {SYS_prctl, PR_SET_TSC, NOT_THERE, 0, 0, 0},
    {SYS_prctl, SET_DISPATCH, NOT_THERE, 0, 0, 0},
    {SYS_prctl, SET_DISPATCH, 1, 4096, 1, -1}, /* where no selector can be */
    {SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, 0, 0, 0},
    {SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0, 0, 0},
    {SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, 8, 0, 0},
    {SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1 << 30, 0, 0, 0},
    {SYS_seccomp, NOT_THERE, 0, 0, 0, 0},
    {LANDLOCK_RESTRICT_SELF, -1, 0, 0, 0, 0},
    {SYS_chdir, 0, 0, 0, 0, 0},
    {SYS_fchdir, -1, 0, 0, 0, 0},
    {SYS_chroot, 0, 0, 0, 0, 0},
    {SYS_pivot_root, 0, 0, 0, 0, 0},
    {SYS_setns, -1, 0, 0, 0, 0},
    {SYS_unshare, 1, 0, 0, 0, 0},
};

static void try_all(void)
{
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const struct try *one = &tries[i];
        CHECKED(syscall(one->number, one->a, one->b, one->c, one->d, one->e) != 0);
        if (one->number == SYS_prctl)
            CHECKED(prctl((int)one->a, one->b, one->c, one->d, one->e) != 0);
    }
}

int main(void)
{
    counted_of("before");
    counted_of("after");
    counted_touch("before");
    try_all();
    for (int i = 0; i < 10; i++)
        counted_touch("after");
    pid_t pid = fork();
    if (pid == 0)
        execl("/bin/touch", "touch", "after", (char *)NULL);
    int status = 1;
    CHECKED(waitpid(pid, &status, 0) == pid && status == 0);
    pid = vfork();
    if (pid == 0) {
        try_all();
        execl("/bin/touch", "touch", "before", (char *)NULL);
    }
    CHECKED(waitpid(pid, &status, 0) == pid && status == 0);
    counted_touch("after");
    counted_print();
    return 0;
}
