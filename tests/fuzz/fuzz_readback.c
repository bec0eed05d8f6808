// SPDX-License-Identifier: MIT
//
// A trace file that a daemon would go on from: any bytes.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/readback.h"
#include "frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PROCESSES_MAX = 64, CHUNKS = 8, SEGMENT_BYTES = 64 << 10 };

static char path[] = "/tmp/fuzz_readback.XXXXXX";
static int file_fd = -1, segment_fd = -1;

static void remove_file(void)
{
    unlink(path);
}

static void prepare(void)
{
    const uint8_t states[CHUNKS] = {FT_CHUNK_FILLING, FT_CHUNK_FULL, FT_CHUNK_FREE, FT_CHUNK_FILLING};
    const uint32_t ready = CHUNKS;
    file_fd = mkstemp(path);
    segment_fd = memfd_create("segment", MFD_CLOEXEC);
    if (file_fd < 0 || segment_fd < 0 || ftruncate(segment_fd, SEGMENT_BYTES) < 0 ||
        pwrite(segment_fd, &ready, sizeof(ready), offsetof(struct ft_head, chunks_ready)) < 0 ||
        pwrite(segment_fd, states, sizeof(states), offsetof(struct ft_head, chunk_state)) < 0)
        abort();
    atexit(remove_file);
}

static struct ft_process *make_process(bool has_segment)
{
    struct ft_process *process = calloc(1, sizeof(*process));
    if (!process)
        abort();
    process->pidfd = process->store_fd = process->segment.fd = -1;
    ft_names_init(&process->names);
    if (!has_segment)
        return process;
    process->segment.fd = dup(segment_fd);
    process->segment.geometry = (struct ft_segment_geometry){.bytes = SEGMENT_BYTES,
                                                             .totals_page = 1,
                                                             .totals_more_page = 1,
                                                             .hello_page = 2,
                                                             .hello_pages = 1,
                                                             .lines_page = 3,
                                                             .lines_max = 64,
                                                             .pool_page = 4,
                                                             .chunks_max = CHUNKS};
    return process;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ft_process *processes[PROCESSES_MAX];
    struct ft_trace_reader *peek;
    struct ft_readback readback;
    size_t count = 0;
    if (file_fd < 0)
        prepare();
    if (ftruncate(file_fd, 0) < 0 || pwrite(file_fd, data, size, 0) != (ssize_t)size)
        return 0;
    ft_readback_is_closed(path);
    if (ft_readback_peek(path, &peek) == 0)
        ft_trace_reader_close(peek);
    if (ft_readback_open(&readback, path, (size_t)16 << 20) < 0)
        return 0;
    for (uint32_t id = 1; id <= readback.process_max && count < PROCESSES_MAX; id++) {
        if (!ft_readback_is_running(&readback, id))
            continue;
        processes[count] = make_process(id % 2);
        if (ft_readback_fill(&readback, id, processes[count]) < 0)
            abort(); // its record is there
        count++;
    }
    ft_readback_segments(&readback);
    ft_readback_close(&readback);
    for (size_t i = 0; i < count; i++)
        ft_process_destroy(processes[i]);
    return 0;
}
