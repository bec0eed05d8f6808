// SPDX-License-Identifier: MIT
#include "client/shim/asked.h"

#include "client/shim/reach.h"

#include <sys/socket.h>

/* The parts of a vector, summed; 0 where they cannot be read. */
static int vector_bytes(const struct ft_outcome *o, struct ft_reach *reach, const struct iovec *vector, size_t count,
                        uint64_t *bytes)
{
    if (count > IOV_MAX)
        return 0;
    if (!ft_reach_is_implied(o->error) && !ft_reach_bytes(reach, vector, count * sizeof(*vector)))
        return 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += vector[i].iov_len;
    *bytes = sum;
    return 1;
}

int ft_asked_size(const struct ft_outcome *o, uint64_t *size)
{
    const struct ft_args *a = o->args;
    struct ft_reach reach = {0};
    if (a->has_size) {
        *size = (uint64_t)a->size;
        return 1;
    }
    if (a->vector != NULL)
        return vector_bytes(o, &reach, a->vector, a->vector_count, size);
    const struct msghdr *message = a->message;
    if (message == NULL || (!ft_reach_is_implied(o->error) && !ft_reach_bytes(&reach, message, sizeof(*message))))
        return 0;
    return vector_bytes(o, &reach, message->msg_iov, message->msg_iovlen, size);
}

int ft_asked_offset(const struct ft_outcome *o, int64_t *offset)
{
    const struct ft_args *a = o->args;
    struct ft_reach reach = {0};
    if (o->has_position) {
        *offset = o->position;
        return 1;
    }
    if (a->shifts != NULL) {
        /* Nothing moved: splice of no bytes, for one, has not looked at it. */
        if (o->result <= 0 && !ft_reach_bytes(&reach, a->shifts, sizeof(*a->shifts)))
            return 0;
        *offset = *a->shifts - (o->result > 0 ? o->result : 0);
        return 1;
    }
    if (!a->has_offset || a->appends || (a->offset_or_moves && a->offset == -1))
        return 0;
    *offset = a->offset;
    return 1;
}

int ft_asked_path(const struct ft_outcome *o, const char *path)
{
    struct ft_reach reach = {0};
    return path == NULL || ft_reach_is_implied(o->error) || ft_reach_text(&reach, path, FT_PATH_KEPT_BYTES);
}
