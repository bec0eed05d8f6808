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

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// It may be there from one before us that was killed.
static bool is_listed(const struct ft_config *config, const char *wanted)
{
    char *names = ft_own_files_read(config), *rest = names;
    bool is_found = false;
    for (char *name; !is_found && rest && (name = strsep(&rest, "\n"));)
        is_found = strcmp(name, wanted) == 0;
    free(names);
    return is_found;
}

bool ft_own_files_note(const struct ft_config *config, const char *path)
{
    int fd = (int)config->files_fd;
    const char *name = name_of(path);
    if (fd < 0 || is_listed(config, name))
        return false;
    const struct iovec line[] = {{.iov_base = (char *)(uintptr_t)name, .iov_len = strlen(name)},
                                 {.iov_base = "\n", .iov_len = 1}};
    bool is_whole = writev(fd, line, 2) == (ssize_t)(line[0].iov_len + line[1].iov_len);
    if (!is_whole)
        ft_log(FT_LOG_WARNING, "%s: is not in the list of this run's files: %s", path, strerror(errno));
    return is_whole;
}

void ft_own_files_withdraw(const struct ft_config *config, const char *path)
{
    int fd = (int)config->files_fd;
    off_t bytes = (off_t)strlen(name_of(path)) + 1, at = lseek(fd, 0, SEEK_END) - bytes;
    // The next name is written where this one began: no hole is left where we are killed in between.
    if (at < 0 || lseek(fd, at, SEEK_SET) < 0 || ftruncate(fd, at) < 0)
        ft_log(FT_LOG_WARNING, "%s: stays in the list of this run's files: %s", path, strerror(errno));
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
