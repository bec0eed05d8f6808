// SPDX-License-Identifier: MIT
#include "daemon/access.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "daemon/log.h"

// linux/posix_acl_xattr.h: little-endian, entries in order of tag.
struct acl_entry {
    uint16_t tag, permissions;
    uint32_t id;
};
struct acl {
    uint32_t version;
    struct acl_entry entries[5];
};
_Static_assert(sizeof(struct acl) == 4 + 5 * 8, "as the kernel has it");

enum { OWNER = 0x01, USER = 0x02, OWNING_GROUP = 0x04, MASK = 0x10, OTHER = 0x20 };
enum { READ = 4, WRITE = 2, ENTER = 1 };
#define NO_ID UINT32_MAX

static struct acl_entry entry(uint16_t tag, unsigned permissions, uint32_t id)
{
    return (struct acl_entry){.tag = htole16(tag), .permissions = htole16((uint16_t)permissions), .id = htole32(id)};
}

void ft_access_let_user_read(int fd, uint32_t uid, bool is_folder)
{
    if (uid == geteuid())
        return;
    unsigned read = is_folder ? READ | ENTER : READ;
    struct acl acl = {
        .version = htole32(2),
        .entries =
            {
                entry(OWNER, read | WRITE, NO_ID),
                entry(USER, read, uid),
                entry(OWNING_GROUP, read, NO_ID),
                entry(MASK, read, NO_ID),
                entry(OTHER, 0, NO_ID),
            },
    };
    // Without ACLs the file stays the daemon's and its group's alone.
    (void)!fsetxattr(fd, "system.posix_acl_access", &acl, sizeof(acl), 0);
}

void ft_access_give_to_group(int fd, const char *path, const char *name)
{
    struct group entry, *group = NULL;
    char strings[4096];
    if (!*name)
        return;
    int r = getgrnam_r(name, &entry, strings, sizeof(strings), &group);
    if (!group)
        ft_log_limited(FT_LOG_WARNING, "admin_group = %s: there is no such group%s", name, r ? " to be found" : "");
    else if (fchown(fd, (uid_t)-1, group->gr_gid) < 0)
        ft_log_limited(FT_LOG_WARNING, "%s: cannot be given to group %s: %s%s", path, name, strerror(errno),
                       errno == EPERM ? "; the daemon's user has to be in that group" : "");
}

int ft_access_open_folder(const char *path, const char *spool)
{
    struct stat status, of_spool;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fstat(fd, &status) < 0 || stat(spool, &of_spool) < 0 ? -errno : 0;
    bool is_ours = r == 0 && (status.st_uid == geteuid() || status.st_uid == of_spool.st_uid);
    if (is_ours && !(status.st_mode & S_IWOTH))
        return fd;
    close(fd);
    if (r < 0)
        return r;
    ft_log_limited(FT_LOG_ERR, "%s: is neither the daemon's nor the spool's owner's, or all may write to it: not used",
                   path);
    return -EPERM;
}
