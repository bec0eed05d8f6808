// SPDX-License-Identifier: MIT
// A traced program that finds its own segment among its mappings and writes over it, between calls that are recorded.
//   scribbler FILE CALLS field OFFSET VALUE    4 bytes of the first page
//   scribbler FILE CALLS random PAGES SEED     200 words anywhere in that many pages
//   scribbler FILE CALLS records               the word that publishes each record that is there
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/ring.h"

static uint8_t *find_segment(size_t *bytes)
{
    char line[512];
    unsigned long from, to;
    FILE *maps = fopen("/proc/self/maps", "re");
    uint8_t *found = NULL;
    while (maps != NULL && found == NULL && fgets(line, sizeof(line), maps) != NULL) {
        uint64_t magic = 0;
        if (strstr(line, "/memfd:") == NULL || sscanf(line, "%lx-%lx", &from, &to) != 2)
            continue;
        memcpy(&magic, (void *)from, sizeof(magic));
        if (magic == FT_RING_MAGIC) {
            found = (uint8_t *)from;
            *bytes = to - from;
        }
    }
    if (maps != NULL)
        fclose(maps);
    return found;
}

static void scribble(uint8_t *segment, char **argv)
{
    const struct ft_head *head = (void *)segment;
    uint32_t value = (uint32_t)strtoul(argv[4] ? argv[4] : "0", NULL, 0);
    if (strcmp(argv[3], "field") == 0)
        memcpy(segment + strtoul(argv[4], NULL, 0), &(uint32_t){(uint32_t)strtoul(argv[5], NULL, 0)}, 4);
    uint64_t state = argv[4] && argv[5] ? strtoull(argv[5], NULL, 0) * 2 + 1 : 1;
    for (int i = 0; strcmp(argv[3], "random") == 0 && i < 200; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(segment + (state >> 33) % (value * FT_PAGE_BYTES / 8) * 8, &state, sizeof(state));
    }
    uint8_t *pool = segment + (size_t)head->pool_page * FT_PAGE_BYTES;
    for (uint32_t chunk = 0; strcmp(argv[3], "records") == 0 && chunk < FT_CHUNKS_AT_ATTACH; chunk++)
        for (unsigned slot = 0; slot < FT_CHUNK_SLOTS; slot++) { // of more slots than a chunk has left
            uint64_t *word =
                (void *)(pool + chunk * FT_CHUNK_BYTES + FT_CHUNK_HEAD_BYTES + slot * (size_t)FT_SLOT_BYTES);
            *word |= UINT64_C(31) << 4;
        }
}

static void call(int fd, int calls)
{
    for (int i = 0; i < calls; i++)
        (void)!pwrite(fd, "x", 1, i);
}

int main(int argc, char **argv)
{
    size_t bytes = 0;
    if (argc < 4)
        return 2;
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0600), calls = atoi(argv[2]);
    call(fd, calls);
    uint8_t *segment = find_segment(&bytes);
    const struct ft_head *head = (void *)segment;
    while (segment != NULL && __atomic_load_n(&head->chunks_allowed, __ATOMIC_RELAXED) == 0)
        sched_yield(); // the daemon has not taken it in yet
    if (segment != NULL)
        scribble(segment, argv);
    call(fd, calls);
    return segment != NULL ? 0 : 3;
}
