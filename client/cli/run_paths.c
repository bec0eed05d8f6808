// SPDX-License-Identifier: MIT
#include "client/cli/run_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/control.h"

#define LIBRARY_NAME "libflowtap-preload.so"

static int explain(char *error, unsigned error_bytes, int status, const char *what, const char *path)
{
    snprintf(error, error_bytes, "%s %s: %s", what, path, strerror(-status));
    return status;
}

/* The folder that this program lies in. */
static int find_self(char self[PATH_MAX], char *error, unsigned error_bytes)
{
    ssize_t length = readlink("/proc/self/exe", self, PATH_MAX - 1);
    if (length <= 0) {
        return explain(error, error_bytes, length < 0 ? -errno : -ENOENT,
                       "cannot find where flowtap is installed, through", "/proc/self/exe");
    }
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    return 0;
}

int ft_run_paths_find_library(struct ft_run_paths *paths, char *error, unsigned error_bytes)
{
    static const char *const places[] = {"../lib", "../lib/flowtap", "../lib64", "../lib/x86_64-linux-gnu",
                                         "../lib/aarch64-linux-gnu"};
    char self[PATH_MAX];
    int status = find_self(self, error, error_bytes);
    for (size_t i = 0; status == 0 && i < sizeof(places) / sizeof(places[0]); i++) {
        char path[PATH_MAX * 2];
        snprintf(path, sizeof(path), "%s/%s/" LIBRARY_NAME, self, places[i]);
        if (realpath(path, paths->library)) {
            return 0;
        }
    }
    paths->library[0] = '\0';
    return status < 0 ? status
                      : explain(error, error_bytes, -ENOENT, "cannot find " LIBRARY_NAME " in ../lib of", self);
}

int ft_run_paths_find_daemon(struct ft_run_paths *paths, char *error, unsigned error_bytes)
{
    char self[PATH_MAX];
    int status = find_self(self, error, error_bytes);
    if (status < 0) {
        return status;
    }
    if (snprintf(paths->daemon, sizeof(paths->daemon), "%s/flowtapd", self) >= (int)sizeof(paths->daemon)) {
        return explain(error, error_bytes, -ENAMETOOLONG, "cannot use the installation in", self);
    }
    if (access(paths->daemon, X_OK) != 0) {
        return explain(error, error_bytes, -errno, "cannot use the daemon", paths->daemon);
    }
    return 0;
}

int ft_run_paths_find(struct ft_run_paths *paths, char *error, unsigned error_bytes)
{
    int status = ft_run_paths_find_daemon(paths, error, error_bytes);
    return status < 0 ? status : ft_run_paths_find_library(paths, error, error_bytes);
}

/* Parents too; an existing folder is fine. */
static int make_folders(char *path, bool *made_last)
{
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0') {
            continue;
        }
        char kept = *at;
        *at = '\0';
        int status = mkdir(path, 0777) == 0 ? 0 : -errno;
        *at = kept;
        *made_last = status == 0;
        if (status < 0 && status != -EEXIST && status != -EISDIR && kept == '\0') {
            return status;
        }
        if (kept == '\0') {
            return 0;
        }
    }
}

static int try_to_write(const char *folder)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/.flowtap-XXXXXX", folder);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    unlink(path);
    close(fd);
    return 0;
}

static bool has_traces(const char *folder)
{
    static const char ending[] = ".flow";
    bool has = false;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && !has && (entry = readdir(dir));) {
        size_t bytes = strlen(entry->d_name);
        has = bytes > strlen(ending) && strcmp(entry->d_name + bytes - strlen(ending), ending) == 0;
    }
    if (dir) {
        closedir(dir);
    }
    return has;
}

int ft_run_paths_make_trace(struct ft_run_paths *paths, const char *folder, char *error, unsigned error_bytes)
{
    char path[PATH_MAX];
    int status = 0;
    if (folder[0] == '\0' || snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path)) {
        return explain(error, error_bytes, folder[0] ? -ENAMETOOLONG : -ENOENT, "cannot make the folder", folder);
    }
    status = make_folders(path, &paths->made_trace);
    if (status == 0 && !realpath(path, paths->trace)) {
        status = -errno;
    }
    struct stat st;
    if (status == 0 && stat(paths->trace, &st) == 0 && !S_ISDIR(st.st_mode)) {
        status = -ENOTDIR;
    }
    if (status < 0) {
        return explain(error, error_bytes, status, "cannot make the folder", folder);
    }
    paths->has_traces = !paths->made_trace && has_traces(paths->trace);
    status = try_to_write(paths->trace);
    return status < 0 ? explain(error, error_bytes, status, "cannot write a trace to the folder", folder) : 0;
}

static bool make_folder_in(struct ft_run_paths *paths, const char *parent)
{
    struct stat st;
    if (!parent || parent[0] != '/' || stat(parent, &st) < 0 || !S_ISDIR(st.st_mode)) {
        return false;
    }
    char *folder = paths->folder;
    if (snprintf(folder, sizeof(paths->folder), "%s/flowtap-XXXXXX", parent) >= (int)sizeof(paths->folder)) {
        folder[0] = '\0';
        return false;
    }
    if (!mkdtemp(folder)) {
        folder[0] = '\0';
        return false;
    }
    snprintf(paths->socket, sizeof(paths->socket), "%s/socket", folder);
    _Static_assert(sizeof(paths->socket) < FT_SOCKET_PATH_MAX, "fits a socket's address");
    return true;
}

/* LD_PRELOAD is split at colons and spaces: a path with one of them goes by a link. */
static int link_library(struct ft_run_paths *paths)
{
    if (!strpbrk(paths->library, ": \t\n$")) {
        return 0;
    }
    char link[PATH_MAX];
    snprintf(link, sizeof(link), "%s/" LIBRARY_NAME, paths->folder);
    if (symlink(paths->library, link) < 0) {
        return -errno;
    }
    memcpy(paths->library, link, sizeof(link));
    paths->keeps_folder = true;
    return 0;
}

int ft_run_paths_make_folder(struct ft_run_paths *paths, char *error, unsigned error_bytes)
{
    if (!make_folder_in(paths, getenv("XDG_RUNTIME_DIR")) && !make_folder_in(paths, getenv("TMPDIR")) &&
        !make_folder_in(paths, "/tmp")) {
        return explain(error, error_bytes, -errno, "cannot make a folder for the socket in", "/tmp");
    }
    int status = link_library(paths);
    return status < 0 ? explain(error, error_bytes, status, "cannot link the library in", paths->folder) : 0;
}

/* All that is in it, or all but the link to the library: what lives on may still start programs with it. */
static void remove_folder(const char *folder, bool keeps_library)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        return;
    }
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (!keeps_library || strcmp(entry->d_name, LIBRARY_NAME) != 0) {
            unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    closedir(dir);
    rmdir(folder);
}

void ft_run_paths_clean(const struct ft_run_paths *paths)
{
    if (paths->folder[0]) {
        remove_folder(paths->folder, paths->keeps_folder);
    }
    if (paths->made_trace) {
        rmdir(paths->trace);
    }
}
