// SPDX-License-Identifier: MIT
// lacking CALL[,CALL]... COMMAND...: runs a command on a kernel that lacks system calls, as far as a filter can make it so.
//   populate: madvise(MADV_POPULATE_WRITE) says EINVAL, as before Linux 5.14       others: ENOSYS
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { POPULATE_WRITE = 23 };

static const struct {
    const char *name;
    unsigned number;
} known[] = {{"memfd_create", SYS_memfd_create},
             {"statx", SYS_statx},
             {"fallocate", SYS_fallocate},
             {"tgkill", SYS_tgkill},
             {"prctl", SYS_prctl},
             {"mremap", SYS_mremap},
             {"getcwd", SYS_getcwd},
             {"gettid", SYS_gettid},
             {"prlimit64", SYS_prlimit64}};

static void refuse(unsigned number, int error, int has_third, unsigned third)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, third, 0, (unsigned char)(has_third ? 1 : 0)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
        abort();
}

int main(int argc, char **argv)
{
    if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return 125;
    for (const char *name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
        if (!strcmp(name, "populate"))
            refuse(SYS_madvise, EINVAL, 1, POPULATE_WRITE);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (!strcmp(name, known[i].name))
                refuse(known[i].number, ENOSYS, 0, 0);
    }
    execvp(argv[2], argv + 2);
    return 126;
}
