// SPDX-License-Identifier: MIT
/* What the parts of a job do at the same time. */
#include <stdlib.h>

#include "client/cli/analysis_job.h"
#include "client/cli/analysis_peers.h"
#include "client/cli/cli.h"
#include "client/cli/diagnose.h"
#include "client/cli/units.h"

bool ft_diagnose_find_serial(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_timeline *timeline = &diagnose->timeline;
    int64_t wall_ns = timeline->end_ns - timeline->start_ns, io_ns = timeline->total.io_ns;
    int64_t compute_ns = timeline->total.compute_ns, both_ns = timeline->total.overlap_ns;
    int64_t most_ns = io_ns < compute_ns ? io_ns : compute_ns;
    struct ft_unit_text io, compute, both;
    if (compute_ns <= 0 || !ft_diagnose_is_share((uint64_t)io_ns, (uint64_t)wall_ns, FT_LIMIT_IO_PERCENT) ||
        ft_diagnose_is_share((uint64_t)both_ns, (uint64_t)most_ns, FT_LIMIT_OVERLAP_PERCENT)) {
        return false;
    }
    finding->saving_ns = (uint64_t)(most_ns - both_ns);
    finding->figure =
        ft_cli_format("%s of I/O between the first and the last computing, which took %s: only %s at the same time",
                      ft_units_time(&io, io_ns), ft_units_time(&compute, compute_ns), ft_units_time(&both, both_ns));
    return true;
}

char *ft_diagnose_look_serial(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    (void)diagnose;
    (void)finding;
    return ft_cli_strdup("timeline");
}

static struct ft_peer *order_peers(const struct ft_diagnose *diagnose, size_t *count)
{
    size_t processes = ft_trace_set_process_count(diagnose->set);
    struct ft_peer *peers = ft_cli_alloc((processes + 1) * sizeof(*peers));
    *count = 0;
    for (uint32_t p = 0; p < processes; p++) {
        if (ft_job_is_comparable(diagnose->set, p)) {
            peers[(*count)++] = (struct ft_peer){.process = p, .io_ns = diagnose->processes[p].io_ns};
        }
    }
    ft_peers_order(peers, *count, diagnose->set);
    return peers;
}

/* A check of the processes of one program, in order of their time; it keeps what is worse than before. */
typedef void check_peers(const struct ft_diagnose *diagnose, const struct ft_peer *peers, size_t count,
                         struct ft_diagnose_finding *finding);

static bool check_programs(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding, check_peers *check)
{
    size_t count;
    struct ft_peer *peers = order_peers(diagnose, &count);
    for (size_t first = 0, of_program; first < count; first += of_program) {
        of_program = ft_peers_of_first(&peers[first], count - first);
        if (of_program >= ft_diagnose_limit(FT_LIMIT_PEERS_MIN)) {
            check(diagnose, &peers[first], of_program, finding);
        }
    }
    free(peers);
    return finding->process_count > 0;
}

static bool is_worth_it(const struct ft_diagnose *diagnose, uint64_t saving_ns, const struct ft_diagnose_finding *found)
{
    uint64_t wall_ns = (uint64_t)(diagnose->timeline.end_ns - diagnose->timeline.start_ns);
    return ft_diagnose_is_share(saving_ns, wall_ns, FT_LIMIT_IO_PERCENT) &&
           (found->process_count == 0 || saving_ns > found->saving_ns);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t life_of(const struct ft_diagnose *diagnose, uint32_t process)
{
    int64_t start_ns;
    return (uint64_t)ft_diagnose_life(diagnose, process, &start_ns);
}

static int64_t as_time(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static void keep(struct ft_diagnose_finding *finding, const struct ft_diagnose *diagnose, uint32_t process,
                 uint64_t time_ns, uint64_t median_ns)
{
    finding->processes[finding->process_count++] =
        (struct ft_diagnose_process_row){.process = process,
                                         .time_ns = time_ns,
                                         .bytes = diagnose->processes[process].read_bytes,
                                         .median_ns = median_ns};
}

static void check_stragglers(const struct ft_diagnose *diagnose, const struct ft_peer *peers, size_t count,
                             struct ft_diagnose_finding *finding)
{
    const struct ft_peer *slowest = &peers[count - 1];
    uint64_t median_ns = peers[(count - 1) / 2].io_ns;
    uint64_t saving_ns = least(slowest->io_ns - median_ns, life_of(diagnose, slowest->process));
    struct ft_unit_text time, median, number;
    if (!ft_diagnose_is_share(slowest->io_ns, median_ns, FT_LIMIT_STRAGGLER_PERCENT) ||
        !ft_diagnose_is_share(median_ns, slowest->io_ns, FT_LIMIT_PEER_PERCENT) ||
        !is_worth_it(diagnose, saving_ns, finding)) {
        return;
    }
    free(finding->figure);
    finding->saving_ns = saving_ns;
    finding->process_count = 0;
    for (size_t i = count; i-- > 0 && finding->process_count < FT_DIAGNOSE_FILES_MAX;) {
        if (ft_diagnose_is_share(peers[i].io_ns, median_ns, FT_LIMIT_STRAGGLER_PERCENT)) {
            keep(finding, diagnose, peers[i].process, peers[i].io_ns, median_ns);
        }
    }
    finding->figure = ft_cli_format("of %s processes of one program half had at most %s of I/O, the slowest %s",
                                    ft_units_count(&number, count), ft_units_time(&median, as_time(median_ns)),
                                    ft_units_time(&time, as_time(slowest->io_ns)));
}

bool ft_diagnose_find_stragglers(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    return check_programs(diagnose, finding, check_stragglers);
}

/* One row for each process of the program. */
char *ft_diagnose_look_stragglers(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    const struct ft_trace_process *record = ft_trace_set_process(diagnose->set, finding->processes[0].process)->record;
    return ft_diagnose_look_at("processes --sort time", "exe", record->exe, NULL);
}

/* How many others were there for at least half of the time that this one was. */
static size_t others_beside(const struct ft_diagnose *diagnose, const struct ft_peer *peers, size_t count,
                            const struct ft_peer *one)
{
    int64_t start_ns, life_ns = ft_diagnose_life(diagnose, one->process, &start_ns);
    size_t beside = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t from_ns, other_ns = ft_diagnose_life(diagnose, peers[i].process, &from_ns);
        int64_t begin_ns = from_ns > start_ns ? from_ns : start_ns;
        int64_t end_ns = from_ns + other_ns < start_ns + life_ns ? from_ns + other_ns : start_ns + life_ns;
        beside += &peers[i] != one && end_ns > begin_ns && end_ns - begin_ns >= life_ns / 2;
    }
    return beside;
}

static void check_reader(const struct ft_diagnose *diagnose, const struct ft_peer *peers, size_t count,
                         struct ft_diagnose_finding *finding)
{
    const struct ft_peer *reader = &peers[0];
    struct ft_unit_text number, share, all, time;
    uint64_t all_bytes = 0, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t here = diagnose->processes[peers[i].process].read_bytes;
        all_bytes += here;
        if (here > bytes) {
            bytes = here;
            reader = &peers[i];
        }
    }
    uint64_t read_ns = least(diagnose->processes[reader->process].read_ns, life_of(diagnose, reader->process));
    if (bytes < ft_diagnose_limit(FT_LIMIT_READER_BYTES) ||
        !ft_diagnose_is_share(bytes, all_bytes, FT_LIMIT_READER_PERCENT)) {
        return;
    }
    size_t beside = others_beside(diagnose, peers, count, reader);
    uint64_t saving_ns = ft_diagnose_spared(read_ns, 1, beside + 1);
    if (beside + 1 < ft_diagnose_limit(FT_LIMIT_PEERS_MIN) || !is_worth_it(diagnose, saving_ns, finding)) {
        return;
    }
    free(finding->figure);
    finding->saving_ns = saving_ns;
    finding->process_count = 0;
    keep(finding, diagnose, reader->process, read_ns, peers[(count - 1) / 2].io_ns);
    finding->figure =
        ft_cli_format("one of %s processes of a program read %s of %s, for %s", ft_units_count(&number, beside + 1),
                      ft_units_share(&share, (double)bytes, (double)all_bytes), ft_units_bytes(&all, all_bytes),
                      ft_units_time(&time, as_time(read_ns)));
}

bool ft_diagnose_find_reader(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    return check_programs(diagnose, finding, check_reader);
}

/* Which files it read. */
char *ft_diagnose_look_reader(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    const struct ft_trace_set_process *process = ft_trace_set_process(diagnose->set, finding->processes[0].process);
    uint32_t host = ft_trace_set_reader_host(diagnose->set, process->reader);
    char *condition = ft_cli_format("pid=%u && bytes>0", process->record->pid);
    char *options = ft_diagnose_look_at("events --by pid,path --sort -time", "host",
                                        ft_trace_set_host_name(diagnose->set, host), condition);
    free(condition);
    return options;
}
