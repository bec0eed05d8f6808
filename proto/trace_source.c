// SPDX-License-Identifier: MIT
#include "proto/trace_source.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

// A jump reads this much; going on from there reads twice as much each time.
#define AHEAD_BYTES_MIN ((size_t)4 << 10)
#define AHEAD_BYTES_MAX ((size_t)256 << 10)

static _Atomic uint64_t serials;

static int open_regular(const char *path, struct stat *st)
{
    // O_NONBLOCK: a FIFO must not hold us.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return -errno;
    if (fstat(fd, st) != 0) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    if (!S_ISREG(st->st_mode)) {
        close(fd);
        return S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL;
    }
    return fd;
}

int ft_source_open(struct ft_source *source, const char *path, struct ft_window *window)
{
    struct stat st;
    int fd = open_regular(path, &st);

    if (fd < 0)
        return fd;
    *source = (struct ft_source){
        .path = strdup(path),
        .serial = atomic_fetch_add(&serials, 1) + 1,
        .size = (uint64_t)st.st_size,
        .dev = st.st_dev,
        .inode = st.st_ino,
    };
    if (!source->path) {
        close(fd);
        return -ENOMEM;
    }
    *window = (struct ft_window){.source = source, .serial = source->serial, .fd = fd};
    return 0;
}

void ft_source_open_memory(struct ft_source *source, const void *bytes, uint64_t len, struct ft_window *window)
{
    *source = (struct ft_source){.memory = bytes, .size = len, .serial = atomic_fetch_add(&serials, 1) + 1};
    *window = (struct ft_window){.source = source, .serial = source->serial, .fd = -1};
}

void ft_source_close(struct ft_source *source)
{
    free(source->path);
    *source = (struct ft_source){0};
}

int ft_window_attach(struct ft_window *window, const struct ft_source *source)
{
    struct stat st;
    int fd;

    if (window->source && window->serial == source->serial)
        return 0;
    if (window->fd >= 0)
        close(window->fd);
    window->source = NULL;
    window->fd = -1;
    window->buffer.len = 0;
    if (source->memory || !source->path) {
        window->source = source;
        window->serial = source->serial;
        return 0;
    }
    fd = open_regular(source->path, &st);
    if (fd < 0)
        return fd;
    if (st.st_dev != source->dev || st.st_ino != source->inode || (uint64_t)st.st_size < source->size) {
        close(fd);
        return -ESTALE;
    }
    window->fd = fd;
    window->source = source;
    window->serial = source->serial;
    return 0;
}

void ft_window_detach(struct ft_window *window)
{
    if (window->fd >= 0)
        close(window->fd);
    ft_buffer_fini(&window->buffer);
    *window = (struct ft_window){.fd = -1};
}

static int read_all(int fd, uint8_t *data, size_t len, uint64_t offset)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(fd, data + done, len - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -ESTALE;
        done += (size_t)n;
    }
    return 0;
}

int ft_window_get(struct ft_window *window, uint64_t offset, size_t len, const uint8_t **out)
{
    struct ft_buffer *buffer = &window->buffer;
    uint64_t left = window->source->size - offset;
    bool goes_on;
    size_t want;
    int rc;

    if (window->fd < 0) {
        *out = window->source->memory + offset;
        return 0;
    }
    if (offset >= window->offset && offset - window->offset <= buffer->len &&
        buffer->len - (size_t)(offset - window->offset) >= len) {
        *out = buffer->data + (offset - window->offset);
        return 0;
    }
    goes_on = offset >= window->offset && offset - window->offset <= buffer->len;
    window->ahead_bytes = goes_on && window->ahead_bytes ? window->ahead_bytes * 2 : AHEAD_BYTES_MIN;
    if (window->ahead_bytes > AHEAD_BYTES_MAX)
        window->ahead_bytes = AHEAD_BYTES_MAX;
    want = len > window->ahead_bytes ? len : window->ahead_bytes;
    if (want > left)
        want = (size_t)left;
    buffer->len = 0;
    rc = ft_buffer_reserve(buffer, want);
    if (rc == 0)
        rc = read_all(window->fd, buffer->data, want, offset);
    if (rc)
        return rc;
    buffer->len = want;
    window->offset = offset;
    *out = buffer->data;
    return 0;
}

size_t ft_window_available(const struct ft_window *window, uint64_t offset)
{
    if (window->fd < 0)
        return (size_t)(window->source->size - offset);
    return window->buffer.len - (size_t)(offset - window->offset);
}

uint64_t ft_window_skip_hole(const struct ft_window *window, uint64_t offset)
{
    uint64_t size = window->source->size;
    off_t data;

    if (window->fd < 0 || offset >= size)
        return offset;
    data = lseek(window->fd, (off_t)offset, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? size : offset;
    return (uint64_t)data < size ? (uint64_t)data : size;
}
