// SPDX-License-Identifier: MIT
//
// What the end of a trace file tells: whether it was closed in order, and how many rows it holds.
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/readback.h"
#include "proto/arena.h"
#include "proto/frame.h"
#include "proto/trace.pb-c.h"
#include "proto/trace_reader.h"

// END's head is one fixed64, which is left out where it is 0.
#define END_HEAD_BYTES 9
#define END_TAG 0x09

// 0 and where the index is (0: nowhere) of a file that was closed in order.
static int find_index(int fd, uint64_t *index_offset)
{
    static const uint32_t head_bytes[] = {END_HEAD_BYTES, 0};
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    for (size_t i = 0; i < sizeof(head_bytes) / sizeof(head_bytes[0]); i++) {
        uint8_t bytes[FT_FRAME_HEADER_BYTES + END_HEAD_BYTES];
        const uint8_t *head = bytes + FT_FRAME_HEADER_BYTES;
        struct ft_frame frame;
        size_t all = FT_FRAME_HEADER_BYTES + head_bytes[i];
        if (status.st_size < (off_t)all || pread(fd, bytes, all, status.st_size - (off_t)all) != (ssize_t)all ||
            ft_frame_decode(bytes, &frame) < 0 || frame.kind != FT_FRAME_END || frame.head_len != head_bytes[i] ||
            !ft_frame_check_head(bytes, &frame, head))
            continue;
        uint64_t value = 0;
        if (head_bytes[i] == END_HEAD_BYTES && head[0] == END_TAG)
            memcpy(&value, head + 1, sizeof(value));
        *index_offset = le64toh(value);
        return 0;
    }
    return -EBADMSG;
}

// 0 and *out, the head of the frame at `offset`, behind its header, in the arena; -EBADMSG where there is no such frame.
static int read_frame(int fd, uint64_t offset, unsigned kind, struct ft_arena *arena, struct ft_frame *frame,
                      const uint8_t **out)
{
    uint8_t header[FT_FRAME_HEADER_BYTES];
    if (!offset || offset > INT64_MAX || pread(fd, header, sizeof(header), (off_t)offset) != sizeof(header) ||
        ft_frame_decode(header, frame) < 0 || frame->kind != kind || frame->flags)
        return -EBADMSG;
    uint8_t *head = ft_arena_alloc(arena, frame->head_len);
    if (!head)
        return -ENOMEM;
    if (pread(fd, head, frame->head_len, (off_t)offset + FT_FRAME_HEADER_BYTES) != (ssize_t)frame->head_len ||
        !ft_frame_check_head(header, frame, head))
        return -EBADMSG;
    *out = head;
    return 0;
}

static int rows_of(int fd, uint64_t *rows, uint64_t *profiled)
{
    struct ft_arena arena = {0};
    ProtobufCAllocator allocator = ft_arena_allocator(&arena);
    const Flowtap__Index *index = NULL;
    uint64_t offset;
    struct ft_frame frame;
    const uint8_t *head;
    int r = find_index(fd, &offset);
    if (r == 0)
        r = read_frame(fd, offset, FT_FRAME_INDEX, &arena, &frame, &head);
    if (r == 0 && !(index = flowtap__index__unpack(&allocator, frame.head_len, head)))
        r = arena.has_no_memory ? -ENOMEM : -EBADMSG;
    if (r == 0) {
        *rows = index->rows;
        *profiled = index->profiled;
    }
    ft_arena_fini(&arena);
    return r;
}

static int open_trace(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

bool ft_readback_is_closed(const char *path)
{
    uint64_t offset;
    int fd = open_trace(path);
    bool is_closed = fd >= 0 && find_index(fd, &offset) == 0;
    if (fd >= 0)
        close(fd);
    return is_closed;
}

int ft_readback_closed_rows(const char *path, uint64_t *rows, uint64_t *profiled)
{
    int fd = open_trace(path);
    int r = fd < 0 ? -errno : rows_of(fd, rows, profiled);
    if (fd >= 0)
        close(fd);
    return r;
}

int ft_readback_rows(const char *path, size_t memory_max, uint64_t *rows)
{
    const struct ft_trace_reader_options options = {.memory_max = memory_max};
    struct ft_trace_reader *reader;
    uint64_t profiled;
    if (ft_readback_closed_rows(path, rows, &profiled) == 0)
        return 0;
    int r = ft_trace_reader_open(path, &options, &reader);
    if (r < 0)
        return r;
    *rows = ft_trace_reader_events(reader);
    ft_trace_reader_close(reader);
    return 0;
}
