// SPDX-License-Identifier: MIT
/* How files are asked. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/diagnose.h"
#include "client/cli/units.h"

static uint64_t blocks_needed(const struct ft_diagnose *diagnose, uint32_t entry)
{
    uint64_t block_bytes = ft_diagnose_block_bytes(&diagnose->entries, entry);
    return diagnose->files[entry].small_bytes / block_bytes + 1;
}

bool ft_diagnose_find_small(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_diagnose_sum *total = &diagnose->total;
    struct ft_unit_text share, count, size;
    if (total->small < ft_diagnose_limit(FT_LIMIT_CALLS_MIN) ||
        !ft_diagnose_is_share(total->small, total->requests, FT_LIMIT_SMALL_PERCENT)) {
        return false;
    }
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        if (sum->small > 0) {
            finding->saving_ns += ft_diagnose_spared(sum->small_ns, blocks_needed(diagnose, f), sum->small);
            ft_diagnose_add_file(finding, (struct ft_diagnose_file){f, sum->small, sum->small_bytes, sum->small_ns});
        }
    }
    finding->figure = ft_cli_format(
        "%s of %s reads and writes moved less than a block of the file system, %s on average",
        ft_units_share(&share, (double)total->small, (double)total->requests), ft_units_count(&count, total->requests),
        ft_units_bytes(&size, total->small_bytes / total->small));
    return true;
}

char *ft_diagnose_look_small(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    uint64_t bytes = finding->file_count ? ft_diagnose_block_bytes(&diagnose->entries, finding->files[0].entry)
                                         : ft_diagnose_limit(FT_LIMIT_BLOCK_BYTES);
    return ft_cli_format("files --sort calls --where 'cat=POSIX && bytes>0 && bytes<%" PRIu64 "'", bytes);
}

bool ft_diagnose_find_rereads(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    struct ft_unit_text again, all;
    uint64_t reread = 0, read = 0;
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        uint64_t here = sum->written_bytes == 0 ? ft_diagnose_reread(sum) : 0; /* what was written may have changed */
        read += sum->placed_bytes;
        if (here > 0) {
            uint64_t time_ns = (uint64_t)((double)sum->placed_ns * (double)here / (double)sum->placed_bytes);
            reread += here;
            finding->saving_ns += time_ns;
            ft_diagnose_add_file(finding, (struct ft_diagnose_file){f, 0, here, time_ns});
        }
    }
    if (reread < ft_diagnose_limit(FT_LIMIT_REREAD_BYTES) ||
        !ft_diagnose_is_share(reread, read, FT_LIMIT_REREAD_PERCENT)) {
        return false;
    }
    finding->figure = ft_cli_format("at least %s of %s that were read had been read before",
                                    ft_units_bytes(&again, reread), ft_units_bytes(&all, read));
    return true;
}

char *ft_diagnose_look_rereads(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    return ft_diagnose_look_at_file(diagnose, finding, "bytes>0");
}

bool ft_diagnose_find_lookups(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_diagnose_sum *total = &diagnose->total;
    struct ft_unit_text count, size;
    uint64_t moved = total->read_bytes + total->written_bytes;
    if (total->lookups < ft_diagnose_limit(FT_LIMIT_CALLS_MIN) ||
        moved / total->lookups >= ft_diagnose_limit(FT_LIMIT_BYTES_PER_LOOKUP)) {
        return false;
    }
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        if (sum->lookups > 0) {
            ft_diagnose_add_file(finding, (struct ft_diagnose_file){
                                              f, sum->lookups, sum->read_bytes + sum->written_bytes, sum->lookup_ns});
        }
    }
    finding->saving_ns =
        ft_diagnose_spared(total->lookup_ns, moved / ft_diagnose_limit(FT_LIMIT_BYTES_PER_LOOKUP), total->lookups);
    finding->figure =
        ft_cli_format("%s opens, stats and the like, one for each %s that were moved",
                      ft_units_count(&count, total->lookups), ft_units_bytes(&size, moved / total->lookups));
    return true;
}

char *ft_diagnose_look_lookups(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    (void)diagnose;
    (void)finding;
    return ft_cli_strdup(
        "files --by folder --sort calls --where 'call~\"*open*\" || call~\"*stat*\" || call~\"*access*\"'");
}

bool ft_diagnose_find_syncs(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_diagnose_sum *total = &diagnose->total;
    struct ft_unit_text count, size, time;
    if (total->syncs < ft_diagnose_limit(FT_LIMIT_SYNCS_MIN) ||
        total->written_bytes / total->syncs >= ft_diagnose_limit(FT_LIMIT_BYTES_PER_SYNC)) {
        return false;
    }
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        if (sum->syncs > 0) {
            ft_diagnose_add_file(finding, (struct ft_diagnose_file){f, sum->syncs, sum->written_bytes, sum->sync_ns});
        }
    }
    finding->saving_ns = ft_diagnose_spared(
        total->sync_ns, total->written_bytes / ft_diagnose_limit(FT_LIMIT_BYTES_PER_SYNC) + 1, total->syncs);
    finding->figure =
        ft_cli_format("%s calls wait for the disk, one for each %s written, %s in all",
                      ft_units_count(&count, total->syncs), ft_units_bytes(&size, total->written_bytes / total->syncs),
                      ft_units_time(&time, total->sync_ns > INT64_MAX ? INT64_MAX : (int64_t)total->sync_ns));
    return true;
}

char *ft_diagnose_look_syncs(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    (void)diagnose;
    (void)finding;
    return ft_cli_strdup("files --sort calls --where 'call~\"*sync*\"'");
}

bool ft_diagnose_find_odd(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_diagnose_sum *total = &diagnose->total;
    struct ft_unit_text share, count;
    if (total->odd < ft_diagnose_limit(FT_LIMIT_CALLS_MIN) ||
        !ft_diagnose_is_share(total->odd, total->requests, FT_LIMIT_MISALIGNED_PERCENT)) {
        return false;
    }
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        if (sum->odd > 0) {
            /* One block too many of those that the request touches. */
            uint64_t blocks = sum->request_bytes / sum->requests / ft_diagnose_block_bytes(&diagnose->entries, f);
            finding->saving_ns += sum->odd_ns / (blocks + 2);
            ft_diagnose_add_file(finding, (struct ft_diagnose_file){f, sum->odd, sum->request_bytes, sum->odd_ns});
        }
    }
    finding->figure = ft_cli_format("%s of %s reads and writes begin inside a block of the file system",
                                    ft_units_share(&share, (double)total->odd, (double)total->requests),
                                    ft_units_count(&count, total->requests));
    return true;
}

char *ft_diagnose_look_odd(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    return ft_diagnose_look_at_file(diagnose, finding, "bytes>0 && offset>0");
}

bool ft_diagnose_find_read_back(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    struct ft_unit_text size;
    uint64_t back = 0;
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        uint64_t here = sum->read_bytes < sum->written_bytes ? sum->read_bytes : sum->written_bytes;
        if (here > 0) {
            uint64_t time_ns = (uint64_t)((double)sum->read_ns * (double)here / (double)sum->read_bytes);
            back += here;
            finding->saving_ns += time_ns;
            ft_diagnose_add_file(finding, (struct ft_diagnose_file){f, 0, here, time_ns});
        }
    }
    if (back < ft_diagnose_limit(FT_LIMIT_READ_BACK_BYTES)) {
        return false;
    }
    finding->figure =
        ft_cli_format("up to %s were read from files that the job wrote itself", ft_units_bytes(&size, back));
    return true;
}

char *ft_diagnose_look_read_back(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    return ft_diagnose_look_at_file(diagnose, finding, "bytes>0");
}

bool ft_diagnose_find_random(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_diagnose_sum *total = &diagnose->total;
    uint64_t piece_bytes = ft_diagnose_limit(FT_LIMIT_RANDOM_BYTES);
    struct ft_unit_text share, count, size;
    if (total->jumps < ft_diagnose_limit(FT_LIMIT_CALLS_MIN) ||
        !ft_diagnose_is_share(total->jumps, total->followed, FT_LIMIT_RANDOM_PERCENT)) {
        return false;
    }
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        if (sum->jumps > 0) {
            finding->saving_ns += ft_diagnose_spared(sum->jump_ns, sum->jump_bytes / piece_bytes + 1, sum->jumps);
            ft_diagnose_add_file(finding, (struct ft_diagnose_file){f, sum->jumps, sum->jump_bytes, sum->jump_ns});
        }
    }
    finding->figure = ft_cli_format(
        "%s of %s reads begin before the end of the thread's read before in the file or far behind it, %s each",
        ft_units_share(&share, (double)total->jumps, (double)total->followed), ft_units_count(&count, total->followed),
        ft_units_bytes(&size, total->jump_bytes / total->jumps));
    return true;
}

char *ft_diagnose_look_random(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    return ft_diagnose_look_at_file(diagnose, finding, "bytes>0");
}

/* How often a stream's data went to the file, and what that cost: with each flush, without a buffer with each write. */
static bool is_unbuffered(const struct ft_diagnose *diagnose, uint32_t entry, struct ft_diagnose_file *file)
{
    const struct ft_diagnose_sum *sum = &diagnose->files[entry];
    bool has_none = sum->unbuffered > 0;
    *file = (struct ft_diagnose_file){.entry = entry,
                                      .count = has_none ? sum->stdio : sum->flushes,
                                      .bytes = sum->stdio_bytes + sum->flushed_bytes,
                                      .time_ns = has_none ? sum->stdio_ns : sum->flush_ns};
    return file->bytes > 0 && file->count > 0 &&
           file->bytes / file->count < ft_diagnose_block_bytes(&diagnose->entries, entry);
}

bool ft_diagnose_find_unbuffered(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    struct ft_unit_text count_text, size;
    uint64_t count = 0, bytes = 0;
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        struct ft_diagnose_file file;
        if (is_unbuffered(diagnose, f, &file)) {
            uint64_t needed = file.bytes / ft_diagnose_block_bytes(&diagnose->entries, f) + 1;
            count += file.count;
            bytes += file.bytes;
            finding->saving_ns += ft_diagnose_spared(file.time_ns, needed, file.count);
            ft_diagnose_add_file(finding, file);
        }
    }
    if (count < ft_diagnose_limit(FT_LIMIT_CALLS_MIN)) {
        return false;
    }
    finding->figure = ft_cli_format("streams gave their data to the file %s times, %s each",
                                    ft_units_count(&count_text, count), ft_units_bytes(&size, bytes / count));
    return true;
}

char *ft_diagnose_look_unbuffered(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    const struct ft_entries *entries = &diagnose->entries;
    struct ft_bytes path = ft_entry_path(entries, &entries->items[finding->files[0].entry]);
    return ft_diagnose_look_at("events --by path,name --sort -time", "path", path, "cat=STDIO");
}
