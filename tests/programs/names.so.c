// SPDX-License-Identifier: MIT
// LDFLAGS: -shared -fPIC
// CFLAGS: -fPIC
/*
 * A library to preload into flowtapd: a directory service that takes its time. Files in the folder NAMES_CONTROL say how:
 *   wait    a look-up of a name does not come back before this is gone; asked is made when one begins
 *   uid     the number of the user "ada", who is nobody without it
 *   later   CLOCK_MONOTONIC stands 61 s further
 */
#include <dlfcn.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *path_of(const char *name, char *out, size_t room)
{
    const char *folder = getenv("NAMES_CONTROL");
    snprintf(out, room, "%s/%s", folder ? folder : "/nonexistent", name);
    return out;
}

int getpwnam_r(const char *name, struct passwd *entry, char *strings, size_t room, struct passwd **out)
{
    int (*real)(const char *, struct passwd *, char *, size_t, struct passwd **) = dlsym(RTLD_NEXT, "getpwnam_r");
    char path[4096];
    unsigned uid;
    FILE *file = fopen(path_of("asked", path, sizeof(path)), "w");
    if (file)
        fclose(file);
    while (access(path_of("wait", path, sizeof(path)), F_OK) == 0)
        usleep(1000);
    if (strcmp(name, "ada") != 0)
        return real(name, entry, strings, room, out);
    *out = NULL;
    file = fopen(path_of("uid", path, sizeof(path)), "r");
    if (file && fscanf(file, "%u", &uid) == 1) {
        *entry = (struct passwd){.pw_name = strings, .pw_uid = uid};
        *out = entry;
    }
    if (file)
        fclose(file);
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    char path[4096];
    int r = (int)syscall(SYS_clock_gettime, clock, time);
    if (r == 0 && clock == CLOCK_MONOTONIC && access(path_of("later", path, sizeof(path)), F_OK) == 0)
        time->tv_sec += 61;
    return r;
}
