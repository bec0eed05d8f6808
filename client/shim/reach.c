// SPDX-License-Identifier: MIT
#include "client/shim/reach.h"

#include <errno.h>
#include <time.h>

/*
 * rt_sigtimedwait copies the mask in before it finds that there is no such time: a look at eight bytes that changes
 * nothing, waits for nothing, and is a call that filters leave alone and valgrind takes without a word. Aligned, they lie
 * in one page.
 */
static int is_page_readable(uintptr_t address)
{
    static const struct timespec no_such_time = {.tv_nsec = -1};
    enum { MASK_BYTES = 8 };
    uintptr_t word = address & ~(uintptr_t)(MASK_BYTES - 1);
    if (ft_is_shut_in() || word == 0) /* no mask at all would be no look */
        return 0;
    return ft_sys(SYS_rt_sigtimedwait, word, 0, &no_such_time, MASK_BYTES) != -EFAULT;
}

/* Bytes from `address` to the end of its page, which can be read; 0: it cannot. */
static size_t readable_at(struct ft_reach *reach, uintptr_t address)
{
    uintptr_t page = address / FT_PAGE_BYTES + 1;
    if (page != reach->page) {
        if (!is_page_readable(address))
            return 0;
        reach->page = page;
    }
    return FT_PAGE_BYTES - address % FT_PAGE_BYTES;
}

int ft_reach_bytes(struct ft_reach *reach, const void *from, size_t n)
{
    uintptr_t at = (uintptr_t)from;
    while (n > 0) {
        size_t here = readable_at(reach, at);
        if (here == 0)
            return 0;
        if (here >= n)
            return 1;
        n -= here;
        at += here;
    }
    return 1;
}

int ft_reach_text(struct ft_reach *reach, const char *text, size_t most)
{
    while (most > 0) {
        size_t here = readable_at(reach, (uintptr_t)text);
        if (here == 0)
            return 0;
        if (here > most)
            here = most;
        if (ft_length_most(text, here) < here)
            return 1;
        most -= here;
        text += here;
    }
    return 1;
}

int ft_reach_is_implied(int error)
{
    switch (error) {
    case 0:
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EEXIST:
    case EISDIR:
    case ENOTEMPTY:
    case EXDEV:
    case EROFS:
    case ENXIO:
    case ETXTBSY:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EPIPE:
    case EAGAIN:
    case EINTR:
        return 1;
    default:
        return 0;
    }
}
