// SPDX-License-Identifier: MIT
#include "proto/trace_walk.h"

#include "proto/buffer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = ".flow";

static bool is_known(const struct ft_walk *walk, const struct stat *st)
{
    for (size_t i = 0; i < walk->count; i++)
        if (walk->files[i].inode == st->st_ino && walk->files[i].dev == st->st_dev)
            return true;
    return false;
}

static int add_file(struct ft_walk *walk, const char *path, const struct stat *st, bool is_named)
{
    char *copy;
    int rc;

    walk->seen++;
    if (is_known(walk, st))
        return 0;
    rc = ft_array_grow(&walk->files, &walk->cap, walk->count, sizeof(*walk->files));
    if (rc)
        return rc;
    copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    walk->files[walk->count++] = (struct ft_found){
        .path = copy,
        .is_named = is_named,
        .size = st->st_size,
        .dev = st->st_dev,
        .inode = st->st_ino,
    };
    return 0;
}

static bool has_suffix(const char *name)
{
    size_t len = strlen(name), suffix_len = sizeof(suffix) - 1;

    return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

static int walk_folder(struct ft_walk *walk, int parent_fd, const char *name, const char *path, int depth);

static int walk_entry(struct ft_walk *walk, int fd, const char *folder, const char *name, int depth)
{
    struct stat st;
    char *path;
    int rc = 0;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !(S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && has_suffix(name))))
        return 0;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return -ENOMEM;
    if (S_ISREG(st.st_mode))
        rc = add_file(walk, path, &st, false);
    else if (depth < FT_WALK_DEPTH_MAX)
        rc = walk_folder(walk, fd, name, path, depth + 1);
    free(path);
    // A folder that cannot be entered hides what is in it, as it does from ls.
    return rc == -ENOMEM ? rc : 0;
}

static int walk_folder(struct ft_walk *walk, int parent_fd, const char *name, const char *path, int depth)
{
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0);
    int fd = openat(parent_fd, name, flags);
    struct dirent *entry;
    DIR *folder;
    int rc = 0;

    if (fd < 0)
        return -errno;
    folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return -ENOMEM;
    }
    while (rc == 0 && (entry = readdir(folder)))
        rc = walk_entry(walk, fd, path, entry->d_name, depth);
    closedir(folder);
    return rc;
}

int ft_walk_add(struct ft_walk *walk, const char *path)
{
    size_t before = walk->seen, len = strlen(path);
    struct stat st;
    char *folder;
    int rc;

    if (stat(path, &st) != 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return add_file(walk, path, &st, true);
    while (len > 1 && path[len - 1] == '/')
        len--;
    folder = strndup(path, len);
    if (!folder)
        return -ENOMEM;
    rc = walk_folder(walk, AT_FDCWD, folder, folder, 0);
    free(folder);
    return rc == 0 && walk->seen == before ? -ENODATA : rc;
}

void ft_walk_fini(struct ft_walk *walk)
{
    for (size_t i = 0; i < walk->count; i++)
        free(walk->files[i].path);
    free(walk->files);
    *walk = (struct ft_walk){0};
}
