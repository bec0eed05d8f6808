// SPDX-License-Identifier: MIT
#include "client/cli/analysis_access.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

void ft_access_init(struct ft_access *access, size_t thread_count)
{
    memset(access, 0, sizeof(*access));
    access->open = ft_cli_alloc(thread_count * sizeof(struct ft_access_open *));
    access->thread_count = thread_count;
}

void ft_access_fini(struct ft_access *access)
{
    for (size_t i = 0; i < access->thread_count; i++) {
        free(access->open[i]);
    }
    free(access->open);
    memset(access, 0, sizeof(*access));
}

void ft_access_run_begin(struct ft_access_run *run, uint32_t thread)
{
    run->thread = thread;
    run->head_count = run->tail_count = 0;
}

static void count(struct ft_access_counts *counts, uint64_t file, bool is_sequential)
{
    counts->sequential[file & 1] += is_sequential;
    counts->random[file & 1] += !is_sequential;
}

/* Puts a file in front of those remembered, `at` being where it stood, or their count. */
static void to_front(struct ft_access_run *run, uint32_t at, struct ft_access_place place)
{
    if (at == run->tail_count && run->tail_count < FT_ACCESS_FILES) {
        run->tail_count++;
    }
    at = at < FT_ACCESS_FILES ? at : FT_ACCESS_FILES - 1;
    memmove(run->tail + 1, run->tail, at * sizeof(run->tail[0]));
    run->tail[0] = place;
}

void ft_access_run_find(struct ft_access_run *run, struct ft_access_counts *counts, uint64_t file, uint64_t offset,
                        uint64_t end)
{
    uint32_t at = 0;
    while (at < run->tail_count && run->tail[at].file != file) {
        at++;
    }
    if (at < run->tail_count) {
        count(counts, file, offset == 0 || offset == run->tail[at].offset);
    } else if (run->tail_count < FT_ACCESS_FILES) {
        /* Nothing was forgotten yet: as many others came before it as are remembered. */
        run->head[run->head_count++] = (struct ft_access_place){.file = file, .offset = offset};
    } else {
        count(counts, file, offset == 0);
    }
    to_front(run, at, (struct ft_access_place){.file = file, .offset = end});
}

static const struct ft_access_place *find(const struct ft_access_place *places, uint32_t place_count, uint64_t file)
{
    for (uint32_t i = 0; i < place_count; i++) {
        if (places[i].file == file) {
            return &places[i];
        }
    }
    return NULL;
}

/*
 * Whether the run's end still holds a file that `before` others were used after: those of its tail that are among them
 * make no difference.
 */
static const struct ft_access_place *find_in_tail(const struct ft_access_run *run, const struct ft_access_place *others,
                                                  uint32_t before, uint64_t file)
{
    uint32_t newer = before;
    for (uint32_t i = 0; i < run->tail_count; i++) {
        if (run->tail[i].file == file) {
            return newer < FT_ACCESS_FILES ? &run->tail[i] : NULL;
        }
        newer += !find(others, before, run->tail[i].file);
    }
    return NULL;
}

void ft_access_add(struct ft_access *access, const struct ft_access_run *run)
{
    struct ft_access_open *open, joined = {0};
    if (run->thread >= access->thread_count || run->tail_count == 0) {
        return;
    }
    open = access->open[run->thread];
    if (!open) {
        open = access->open[run->thread] = ft_cli_alloc(sizeof(*open));
    }
    joined.count = run->head_count;
    memcpy(joined.head, run->head, run->head_count * sizeof(run->head[0]));
    for (uint32_t i = 0; i < open->count; i++) {
        const struct ft_access_place *place = &open->head[i];
        const struct ft_access_place *last = find_in_tail(run, open->head, i, place->file);
        if (last) {
            count(&access->counts, place->file, place->offset == 0 || place->offset == last->offset);
        } else if (run->tail_count < FT_ACCESS_FILES && !find(joined.head, joined.count, place->file) &&
                   joined.count < FT_ACCESS_FILES) {
            joined.head[joined.count++] = *place;
        } else {
            count(&access->counts, place->file, place->offset == 0);
        }
    }
    *open = joined;
}

void ft_access_end(struct ft_access *access)
{
    for (size_t t = 0; t < access->thread_count; t++) {
        for (uint32_t i = 0; access->open[t] && i < access->open[t]->count; i++) {
            count(&access->counts, access->open[t]->head[i].file, access->open[t]->head[i].offset == 0);
        }
    }
}
