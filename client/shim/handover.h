// SPDX-License-Identifier: MIT
#ifndef FT_SHIM_HANDOVER_H
#define FT_SHIM_HANDOVER_H

#include <stdint.h>
#include <sys/resource.h>

#include "client/shim/shim.h"

/* One soft limit raised for the time of attaching. */
struct ft_raised {
    int resource, is_raised;
    struct rlimit before;
};

/* Raises the soft limit to `least`, or as far as the hard one allows; does nothing where it was raised already. */
void ft_raise_limit(struct ft_raised *raised, int resource, uint64_t least);
void ft_put_back_limit(const struct ft_raised *raised);

/* A socket that is not connected yet, or -errno. */
long ft_make_socket(void);

/* Connects and sends; the limits that an unprivileged sender can run into are raised for that time. */
long ft_hand_over(int socket, int memfd, enum ft_image image, struct ft_raised *files);

#endif
