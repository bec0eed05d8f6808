// SPDX-License-Identifier: MIT
/* flowtap diff: two runs side by side. */
#include <stdlib.h>

#include "client/cli/cli.h"
#include "client/cli/diff.h"
#include "client/cli/report.h"

enum { TEXT_ROWS = 10 };

struct values {
    bool as_json;
    uint64_t top; /* UINT64_MAX: not given */
};

static const struct values defaults = {.top = UINT64_MAX};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
    {FT_OPTION_COUNT, 'n', "top", "N", "rows of each list; 0: all (default: 10, with --json all)",
     offsetof(struct values, top), NULL},
};

/* Both, before the first of them is read, which may take long. */
static bool open_runs(const struct ft_strings *operands, struct ft_trace_set *sets[2])
{
    for (size_t side = 0; side < 2; side++) {
        struct ft_strings one = {.items = &operands->items[side], .count = 1};
        if (ft_report_open_first(&one, &sets[side]) != FT_STATUS_DONE) {
            ft_trace_set_close(side ? sets[0] : NULL);
            return false;
        }
    }
    return true;
}

/* One after the other: names and files of both need not be in memory at a time. */
static void read_runs(struct ft_diff *diff, const struct ft_strings *operands, struct ft_trace_set *sets[2],
                      char *titles[2])
{
    for (int side = 0; side < 2; side++) {
        struct ft_strings one = {.items = &operands->items[side], .count = 1};
        ft_report_open_rest(sets[side]);
        titles[side] = ft_report_title(&one, NULL, sets[side]);
        ft_diff_add(diff, side, sets[side]);
        ft_report_warn_of_blocks(sets[side], diff->runs[side].bad_blocks);
        ft_trace_set_close(sets[side]);
    }
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_diff diff;
    struct ft_trace_set *sets[2];
    char *titles[2];
    if (!open_runs(operands, sets)) {
        return FT_STATUS_FAILED;
    }
    ft_diff_init(&diff);
    read_runs(&diff, operands, sets, titles);
    ft_diff_finish(&diff);
    size_t top = values->top == UINT64_MAX ? (values->as_json ? 0 : TEXT_ROWS) : values->top;
    if (values->as_json) {
        ft_diff_print_json(&diff, operands->items, top, stdout);
    } else {
        ft_diff_print_text(&diff, (const char *const *)titles, top, stdout);
    }
    ft_diff_fini(&diff);
    free(titles[0]);
    free(titles[1]);
    return ft_cli_finish_output(FT_STATUS_DONE);
}

const struct ft_command ft_command_diff = {
    .name = "diff",
    .arguments = "A B",
    .summary = "two runs side by side",
    .details = "A and B are each a trace file or a folder of them.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .operands_min = 2,
    .operands_max = 2,
    .operand_missing = "which two traces? name a file or a folder for each",
    .values_bytes = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
