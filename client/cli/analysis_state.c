// SPDX-License-Identifier: MIT
#include "client/cli/analysis_state.h"

#include "client/cli/analysis_job.h"
#include "client/cli/report.h"

struct ft_state ft_state_of(const struct ft_trace_set *set, uint64_t bad_blocks)
{
    return (struct ft_state){.is_partial = ft_trace_set_is_partial(set) || bad_blocks > 0,
                             .unclosed = ft_trace_set_unclosed(set),
                             .dropped = ft_report_dropped(set),
                             .gap_count = ft_job_count_gaps(set)};
}
