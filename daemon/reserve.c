// SPDX-License-Identifier: MIT
#include "daemon/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "daemon/config.h"

void ft_reserve_init(struct ft_reserve *reserve, const struct ft_config *config)
{
    atomic_store(&reserve->fd, -1);
    ft_reserve_take(reserve, config);
}

void ft_reserve_fini(struct ft_reserve *reserve)
{
    ft_reserve_give_up(reserve);
}

void ft_reserve_give_up(struct ft_reserve *reserve)
{
    int fd = atomic_exchange(&reserve->fd, -1);
    if (fd >= 0)
        close(fd);
}

bool ft_reserve_take(struct ft_reserve *reserve, const struct ft_config *config)
{
    if (!config->reserve_bytes || atomic_load(&reserve->fd) >= 0)
        return true;
    int fd = open(config->spool_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EOPNOTSUPP || errno == EISDIR; // a file system that has no such files
    if (fallocate(fd, 0, 0, config->reserve_bytes) < 0) {
        bool is_unable = errno == EOPNOTSUPP;
        close(fd);
        return is_unable;
    }
    int none = -1;
    if (!atomic_compare_exchange_strong(&reserve->fd, &none, fd))
        close(fd); // another job was faster
    return true;
}
