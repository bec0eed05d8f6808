// SPDX-License-Identifier: MIT
/*
 * Lists of asynchronous requests: one event for the submission of all. Its size is their sum, its offset that of a
 * single one, its descriptor what they have in common. What a request of POSIX came to is told by aio_return, and when the
 * program knew it by aio_error; what one of the kernel's interface did, to the program alone.
 */
#include "client/shim/reach.h"
#include "client/shim/shapes.h"

#include <aio.h>
#include <errno.h>
#include <linux/aio_abi.h>

enum { LIST_MAX = 1024 }; /* of a longer list only the count is recorded */

/* What the requests that were looked at have in common. */
struct sum {
    long count;
    int fd;
    int is_mixed, is_unknown;
    uint64_t bytes;
    int64_t offset;
};

static void add(struct sum *sum, int fd, int is_data, uint64_t bytes, int64_t offset)
{
    sum->is_mixed |= sum->count > 0 && sum->fd != fd;
    sum->is_unknown |= !is_data;
    sum->count++;
    sum->fd = fd;
    sum->bytes += bytes;
    sum->offset = offset;
}

static void fill(struct ft_args *args, const struct sum *sum)
{
    if (sum->count == 0)
        return;
    args->has_fd = !sum->is_mixed;
    args->fd = sum->fd;
    args->has_size = !sum->is_unknown;
    args->size = (int64_t)sum->bytes;
    args->has_offset = !sum->is_unknown && sum->count == 1;
    args->offset = sum->offset;
}

/* libc looks at every request of the list: so may we, where it takes the mode. */
static struct ft_args list_args(int mode, struct aiocb *const *list, int count)
{
    struct ft_args args = {ARG((unsigned)count), RET(STATUS)};
    struct sum sum = {0};
    if ((mode != LIO_WAIT && mode != LIO_NOWAIT) || count > LIST_MAX)
        return args;
    for (int i = 0; i < count; i++)
        if (list[i] != NULL && list[i]->aio_lio_opcode != LIO_NOP)
            add(&sum, list[i]->aio_fildes, 1, list[i]->aio_nbytes, list[i]->aio_offset);
    fill(&args, &sum);
    return args;
}

#define LIST(name)                                                                      \
    FT_EXPORT(int, name, (int mode, struct aiocb *const *list, int count, void *event)) \
    {                                                                                   \
        FT_REAL(int, name, (int, struct aiocb *const *, int, void *));                  \
        if (!ft_enter())                                                                \
            return real(mode, list, count, event);                                      \
        const struct ft_args args = list_args(mode, list, count);                       \
        struct ft_call_state state;                                                     \
        ft_begin(&state, FT_CALL_ID_##name, &args);                                     \
        int r = real(mode, list, count, event);                                         \
        ft_end(&state, FT_CALL_ID_##name, &args, r);                                    \
        return r;                                                                       \
    }

LIST(lio_listio)
LIST(lio_listio64)

/*
 * Programs that wait by asking (MPICH's MPI_Wait does) ask ten million times a second, which is neither I/O nor a system
 * call: as events they would fill any ring. So only the answer that ends the waiting is one.
 */
#define ASK(name)                                                           \
    FT_EXPORT(int, name, (const struct aiocb *request))                     \
    {                                                                       \
        FT_REAL(int, name, (const struct aiocb *));                         \
        if (!ft_enter())                                                    \
            return real(request);                                           \
        const struct ft_args args = {FD(request->aio_fildes), RET(ERRNUM)}; \
        struct ft_call_state state;                                         \
        ft_begin(&state, FT_CALL_ID_##name, &args);                         \
        int r = real(request);                                              \
        if (r == EINPROGRESS)                                               \
            (void)ft_end_clock(&state);                                     \
        else                                                                \
            ft_end(&state, FT_CALL_ID_##name, &args, r);                    \
        return r;                                                           \
    }

ASK(aio_error)
ASK(aio_error64)

/*
 * A read is one of the descriptor's file, a write one to it, as of calls that have two files. libc notes in the request
 * what it is, for 64-bit ones with a bit more. Neither: a sync, which is of no file, since it would be a read or a write.
 */
static struct ft_args return_args(const struct aiocb *request)
{
    static const off_t not_moved;
    struct ft_args args = {RET(BYTES)};
    int operation = request->aio_lio_opcode & 127;
    if (operation == LIO_READ) {
        args.has_fd = 1;
        args.fd = request->aio_fildes;
    } else if (operation == LIO_WRITE) {
        args.has_fd2 = args.has_shifts2 = 1;
        args.fd2 = request->aio_fildes;
        args.shifts2 = &not_moved;
    } else {
        args.no_bytes = 1;
        return args;
    }
    args.has_size = args.has_offset = 1;
    args.size = (int64_t)request->aio_nbytes;
    args.offset = request->aio_offset;
    return args;
}

static int is_left_out(const struct ft_args *args)
{
    if (!args->has_fd2)
        return 0;
    struct ft_call_state state = ft_fd_known(args->fd2);
    if (state.file - 1 >= FT_FILE_EXCLUDED - 1)
        ft_fd_first_use(&state, args->fd2);
    return state.excluded;
}

/* The request is the program's again once libc has answered: looked at before. */
#define RETURN(name)                                      \
    FT_EXPORT(ssize_t, name, (struct aiocb * request))    \
    {                                                     \
        FT_REAL(ssize_t, name, (struct aiocb *));         \
        if (!ft_enter())                                  \
            return real(request);                         \
        const struct ft_args args = return_args(request); \
        if (is_left_out(&args))                           \
            return real(request);                         \
        struct ft_call_state state;                       \
        ft_begin(&state, FT_CALL_ID_##name, &args);       \
        ssize_t r = real(request);                        \
        ft_end(&state, FT_CALL_ID_##name, &args, r);      \
        return r;                                         \
    }

RETURN(aio_return)
RETURN(aio_return64)

/* One request of the kernel's interface; 0 where it cannot be read. */
static int add_request(struct sum *sum, struct ft_reach *reach, const struct iocb *request)
{
    if (!ft_reach_bytes(reach, request, sizeof(*request)))
        return 0;
    uint64_t bytes = request->aio_nbytes;
    int is_vector = request->aio_lio_opcode == IOCB_CMD_PREADV || request->aio_lio_opcode == IOCB_CMD_PWRITEV;
    int is_data = request->aio_lio_opcode == IOCB_CMD_PREAD || request->aio_lio_opcode == IOCB_CMD_PWRITE;
    const struct iovec *vector = (const struct iovec *)(uintptr_t)request->aio_buf;
    if (is_vector && bytes <= IOV_MAX && ft_reach_bytes(reach, vector, bytes * sizeof(*vector))) {
        uint64_t parts = bytes;
        bytes = 0;
        for (uint64_t i = 0; i < parts; i++)
            bytes += vector[i].iov_len;
        is_data = 1;
    }
    add(sum, (int)request->aio_fildes, is_data, bytes, request->aio_offset);
    return 1;
}

/* The kernel reads the list only later, and another thread may free it once it has: looked at before the call. */
static struct ft_args submit_args(long count, struct iocb *const *list)
{
    struct ft_args args = {ARG(count), RET(NEGATIVE)};
    struct ft_reach reach = {0};
    struct sum sum = {0};
    if (count <= 0 || count > LIST_MAX || !ft_reach_bytes(&reach, list, (size_t)count * sizeof(*list)))
        return args;
    for (long i = 0; i < count; i++)
        if (!add_request(&sum, &reach, list[i]))
            return args;
    fill(&args, &sum);
    return args;
}

FT_EXPORT(int, io_submit, (void *context, long count, void *list))
{
    FT_REAL(int, io_submit, (void *, long, void *));
    if (real == NULL)
        return FT_ABSENT(int);
    if (!ft_enter())
        return real(context, count, list);
    const struct ft_args args = submit_args(count, list);
    struct ft_call_state state;
    ft_begin(&state, FT_CALL_ID_io_submit, &args);
    int r = real(context, count, list);
    ft_end(&state, FT_CALL_ID_io_submit, &args, r);
    return r;
}
