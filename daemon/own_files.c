// SPDX-License-Identifier: MIT
#include "daemon/own_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/log.h"

#define BYTES_MAX ((off_t)64 << 20)

void ft_own_files_note(const struct ft_config *config, const char *path)
{
    int fd = (int)config->files_fd;
    if (fd < 0)
        return;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const struct iovec line[] = {{.iov_base = (char *)(uintptr_t)name, .iov_len = strlen(name)},
                                 {.iov_base = "\n", .iov_len = 1}};
    if (writev(fd, line, 2) != (ssize_t)(line[0].iov_len + line[1].iov_len))
        ft_log(FT_LOG_WARNING, "%s: is not in the list of this run's files: %s", path, strerror(errno));
}

char *ft_own_files_read(const struct ft_config *config)
{
    int fd = (int)config->files_fd;
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || status.st_size <= 0 || status.st_size > BYTES_MAX)
        return NULL;
    char *names = malloc((size_t)status.st_size + 1);
    ssize_t n = names ? pread(fd, names, (size_t)status.st_size, 0) : -1;
    if (n <= 0) {
        free(names);
        return NULL;
    }
    names[n] = '\0';
    return names;
}
