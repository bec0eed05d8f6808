// SPDX-License-Identifier: MIT
/*
 * numbered WITNESS N [MODE]: N numbered pwrites of 8 bytes at 8 * number into the file "numbers", and what MODE says. The
 * file WITNESS holds three counts of our own, in shared memory: numbers begun, numbers done, children ended.
 *   plain    every eighth number also an open and a close of a name of its own
 *   fork     every eighth number also a forked child, which opens a file and ends
 *   vfork    every eighth number also a vfork child, which executes /bin/true
 *   stdio    every eighth number also a byte into a stream, which exit flushes
 *   burst    no other calls: the ring fills up
 *   exec     the numbers, then this program again without mode
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct witness {
    uint64_t begun, done, children;
};

static struct witness *witness_of(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, sizeof(struct witness)) != 0)
        abort();
    void *mapping = mmap(NULL, sizeof(struct witness), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapping == MAP_FAILED)
        abort();
    return mapping;
}

static void open_a_name(int number)
{
    char name[32];
    snprintf(name, sizeof(name), "name-%d", number);
    close(open(name, O_RDWR | O_CREAT, 0644));
}

static void wait_for(struct witness *witness, pid_t child)
{
    if (child > 0 && waitpid(child, NULL, 0) == child)
        __atomic_fetch_add(&witness->children, 1, __ATOMIC_SEQ_CST);
}

static void fork_one(struct witness *witness)
{
    pid_t child = fork();
    if (child == 0) {
        close(open("of-a-child", O_RDWR | O_CREAT, 0644));
        _exit(0);
    }
    wait_for(witness, child);
}

static void vfork_one(struct witness *witness)
{
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    wait_for(witness, child);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    struct witness *witness = witness_of(argv[1]);
    int count = atoi(argv[2]);
    const char *mode = argc > 3 ? argv[3] : "again";
    FILE *stream = strcmp(mode, "stdio") == 0 ? fopen("stream", "w") : NULL;
    int fd = open("numbers", O_RDWR | O_CREAT, 0644);
    for (uint64_t i = 0; i < (uint64_t)count; i++) {
        __atomic_store_n(&witness->begun, i + 1, __ATOMIC_SEQ_CST);
        if (pwrite(fd, &i, sizeof(i), (off_t)(i * sizeof(i))) != sizeof(i))
            abort();
        __atomic_store_n(&witness->done, i + 1, __ATOMIC_SEQ_CST);
        if (i % 8 != 0)
            continue;
        if (strcmp(mode, "plain") == 0)
            open_a_name((int)i);
        else if (strcmp(mode, "fork") == 0)
            fork_one(witness);
        else if (strcmp(mode, "vfork") == 0)
            vfork_one(witness);
        else if (stream != NULL)
            putc_unlocked('x', stream);
    }
    if (strcmp(mode, "exec") == 0) {
        argv[3] = NULL;
        execv("/proc/self/exe", argv);
    }
    return 0;
}
