// CFLAGS: -Iclient/trace
// LDFLAGS: -lflowtap-trace
// SPDX-License-Identifier: MIT
/*
 * Prints what libflowtap-trace reads, one JSON object a line, texts in hexadecimal.
 *   read_trace events|count|totals|facts [CRITERION]... PATH...
 * Criteria: --where X, --start NS, --end NS, --process N, --file N, --call NAME, --category NAME, --tag KEY=VALUE,
 * and --shares N: by so many cursors one after the other.
 */
#include <flowtap-trace.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 64 };

struct wish {
    struct flowtap_trace_criteria criteria;
    uint32_t processes[LIST_MAX], files[LIST_MAX];
    const char *calls[LIST_MAX], *categories[LIST_MAX];
    struct flowtap_trace_wanted_tag tags[LIST_MAX];
    uint32_t shares;
    int is_chosen;
};

static struct flowtap_trace *trace;

static void put_text(const char *key, struct flowtap_trace_text text)
{
    if (text.bytes[text.count] != '\0')
        abort();
    printf(",\"%s\":\"", key);
    for (size_t i = 0; i < text.count; i++)
        printf("%02x", (unsigned char)text.bytes[i]);
    printf("\"");
}

static void put_texts_of_tags(uint32_t process, uint32_t tags)
{
    struct flowtap_trace_process record;
    size_t count = flowtap_trace_tag_count(trace, tags);
    size_t process_count =
        flowtap_trace_process_get(trace, process, &record, sizeof(record)) == 0 ? record.tag_count : 0;
    printf(",\"tags\":[");
    for (size_t i = 0; i < process_count + count; i++) {
        struct flowtap_trace_tag tag = i < process_count ? flowtap_trace_process_tag_get(trace, process, i)
                                                         : flowtap_trace_tag_get(trace, tags, i - process_count);
        struct flowtap_trace_text found = flowtap_trace_tag_value(trace, process, tags, tag.key.bytes);
        printf("%s{\"n\":0", i ? "," : "");
        put_text("key", tag.key);
        put_text("value", found);
        printf("}");
    }
    printf("]");
}

static void put_args(const struct flowtap_trace_batch *batch, size_t i)
{
    printf(",\"args\":[");
    for (size_t k = 0; k < batch->arg_count[i]; k++) {
        const struct flowtap_trace_arg *arg = &batch->args[batch->first_arg[i] + k];
        printf("%s{\"type\":%u", k ? "," : "", arg->type);
        put_text("key", flowtap_trace_name_text(trace, arg->key));
        if (arg->type == FLOWTAP_TRACE_TEXT)
            put_text("text", flowtap_trace_name_text(trace, arg->value.text));
        else if (arg->type == FLOWTAP_TRACE_INTEGER)
            printf(",\"integer\":%" PRId64, arg->value.integer);
        else
            printf(",\"bits\":%" PRIu64, (uint64_t)arg->value.integer);
        printf("}");
    }
    printf("]");
}

static void put_event(const struct flowtap_trace_batch *batch, size_t i)
{
    struct flowtap_trace_process process = {0};
    struct flowtap_trace_thread thread = {0};
    struct flowtap_trace_file file;
    flowtap_trace_process_get(trace, batch->process[i], &process, sizeof(process));
    flowtap_trace_thread_get(trace, batch->thread[i], &thread, sizeof(thread));
    if (thread.process != batch->process[i] && batch->thread[i] != FLOWTAP_TRACE_NONE)
        abort();
    printf("{\"ts\":%" PRId64 ",\"dur\":%" PRId64 ",\"kind\":%u,\"call\":%u", batch->start_ns[i], batch->duration_ns[i],
           batch->kind[i], batch->call[i]);
    printf(",\"process\":%u,\"thread\":%u,\"pid\":%u,\"tid\":%u", batch->process[i], batch->thread[i], process.pid,
           thread.tid);
    put_text("host", flowtap_trace_host_name(trace, batch->host));
    put_text("name", flowtap_trace_name_text(trace, batch->name[i]));
    put_text("cat", flowtap_trace_name_text(trace, batch->category[i]));
    put_text("path", flowtap_trace_path_text(trace, batch->path[i]));
    put_text("path2", flowtap_trace_path_text(trace, batch->path2[i]));
    if (flowtap_trace_file_get(trace, batch->file[i], &file, sizeof(file)) == 0)
        put_text("first_path", file.path);
    printf(",\"file\":%u,\"file2\":%u,\"fd\":%d,\"size\":%" PRId64 ",\"offset\":%" PRId64 ",\"result\":%" PRId64,
           batch->file[i], batch->file2[i], batch->fd[i], batch->size[i], batch->offset[i], batch->result[i]);
    printf(",\"bytes\":%" PRIu64 ",\"word\":%" PRIu64 ",\"errno\":%d,\"flags\":%u,\"has\":%u", batch->bytes[i],
           batch->word[i], batch->error[i], batch->flags[i], batch->has[i]);
    put_args(batch, i);
    put_texts_of_tags(batch->process[i], batch->tags[i]);
    printf("}\n");
}

static int fail(const struct flowtap_trace_error *error)
{
    fprintf(stderr, "%d at %zu: %s\n", error->code, error->at, error->text);
    return 1;
}

static int print_events(const struct wish *wish, const struct flowtap_trace_select *select)
{
    struct flowtap_trace_error error;
    uint64_t skipped = 0, damaged = 0, failed = 0, blocks = 0;
    for (uint32_t share = 0; share < wish->shares; share++) {
        struct flowtap_trace_cursor *cursor;
        const struct flowtap_trace_batch *batch;
        int status;
        if (flowtap_trace_cursor_open(trace, select, FLOWTAP_TRACE_ALL, share, wish->shares, &cursor, &error) < 0)
            return fail(&error);
        while ((status = flowtap_trace_cursor_next(cursor, &batch, &error)) != 0) {
            failed += status < 0;
            blocks++;
            for (size_t i = 0; status > 0 && i < batch->count; i++)
                put_event(batch, i);
        }
        skipped += flowtap_trace_cursor_skipped(cursor);
        damaged += flowtap_trace_cursor_damaged(cursor);
        flowtap_trace_cursor_close(cursor);
    }
    fprintf(stderr, "blocks %" PRIu64 " skipped %" PRIu64 " damaged %" PRIu64 " failed %" PRIu64 "\n", blocks, skipped,
            damaged, failed);
    return 0;
}

/* Every column of every event is looked at. */
static int count_events(const struct flowtap_trace_select *select)
{
    struct flowtap_trace_error error;
    struct flowtap_trace_cursor *cursor;
    const struct flowtap_trace_batch *batch;
    uint64_t count = 0, sum = 0;
    if (flowtap_trace_cursor_open(trace, select, FLOWTAP_TRACE_ALL, 0, 1, &cursor, &error) < 0)
        return fail(&error);
    for (int status; (status = flowtap_trace_cursor_next(cursor, &batch, &error)) != 0;) {
        if (status < 0)
            return fail(&error);
        count += batch->count;
        for (size_t i = 0; i < batch->count; i++)
            sum += (uint64_t)batch->duration_ns[i] + batch->bytes[i] +
                   (batch->path[i] ^ batch->tags[i] ^ batch->name[i]) % 2;
    }
    flowtap_trace_cursor_close(cursor);
    printf("{\"count\":%" PRIu64 ",\"sum\":%" PRIu64 "}\n", count, sum);
    return 0;
}

static void put_buckets(const char *key, const uint64_t *buckets)
{
    printf(",\"%s\":[", key);
    for (int b = 0; b < FLOWTAP_TRACE_BUCKETS; b++)
        printf("%s%" PRIu64, b ? "," : "", buckets[b]);
    printf("]");
}

static int print_totals(const struct flowtap_trace_select *select)
{
    struct flowtap_trace_error error;
    struct flowtap_trace_totals *totals;
    if (flowtap_trace_totals_read(trace, select, &totals, &error) < 0)
        return fail(&error);
    for (size_t i = 0; i < flowtap_trace_totals_count(totals); i++) {
        const struct flowtap_trace_total *total = flowtap_trace_totals_get(totals, i);
        printf("{\"kind\":%u,\"call\":%u,\"class\":%u,\"class2\":%u", total->kind, total->call, total->file_class,
               total->file2_class);
        put_text("name", flowtap_trace_name_text(trace, total->name));
        put_text("cat", flowtap_trace_name_text(trace, total->category));
        printf(",\"count\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"time\":%" PRIu64
               ",\"min\":%" PRIu64 ",\"max\":%" PRIu64,
               total->count, total->errors, total->bytes, total->time_ns, total->min_ns, total->max_ns);
        put_buckets("sizes", total->sizes);
        put_buckets("durations", total->durations);
        printf("}\n");
    }
    fprintf(stderr, "damaged %" PRIu64 " decoded %" PRIu64 "\n", flowtap_trace_totals_damaged(totals),
            flowtap_trace_totals_decoded(totals));
    flowtap_trace_totals_destroy(totals);
    return 0;
}

static void print_processes(uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        struct flowtap_trace_process process;
        uint64_t dropped = 0;
        flowtap_trace_process_get(trace, p, &process, sizeof(process));
        for (int cause = 0; cause < FLOWTAP_TRACE_CAUSES; cause++)
            dropped += process.dropped[cause];
        printf("{\"process\":%u,\"parent\":%u,\"pid\":%u,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"rank\":%d", p,
               process.parent, process.pid, process.start_ns, process.end_ns, process.rank);
        printf(",\"emitted\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"exit\":\"%s\",\"code\":%d,\"job_source\":\"%s\"",
               process.emitted, dropped, process.exit, process.exit_value, process.job_source);
        put_text("host", flowtap_trace_host_name(trace, process.host));
        put_text("exe", process.exe);
        put_text("job", process.job);
        printf(",\"argv\":[");
        for (uint32_t i = 0; i < process.argument_count; i++) {
            printf("%s{\"n\":0", i ? "," : "");
            put_text("text", flowtap_trace_argument_get(trace, p, i));
            printf("}");
        }
        printf("]}\n");
    }
}

static void print_parts(const struct flowtap_trace_facts *facts)
{
    for (size_t i = 0; i < facts->part_count; i++) {
        struct flowtap_trace_part part;
        struct flowtap_trace_clock clock = {0};
        flowtap_trace_part_get(trace, i, &part, sizeof(part));
        if (part.clock_count > 0 && flowtap_trace_clock_get(trace, i, part.clock_count - 1, &clock, sizeof(clock)) < 0)
            abort();
        printf("{\"part\":%zu,\"bytes\":%" PRIu64 ",\"events\":%" PRIu64 ",\"partial\":%u,\"closed\":%u,\"clocks\":%u",
               i, part.bytes, part.events, part.is_partial, part.is_closed, part.clock_count);
        printf(",\"offset\":%" PRId64 ",\"error\":%" PRIu64 ",\"last_clock\":%" PRId64, part.realtime_offset_ns,
               part.clock_error_ns, clock.time_ns);
        put_text("path", part.path);
        put_text("host", flowtap_trace_host_name(trace, part.host));
        printf("}\n");
    }
    for (size_t i = 0; i < facts->gap_count; i++) {
        struct flowtap_trace_gap gap;
        flowtap_trace_gap_get(trace, i, &gap, sizeof(gap));
        printf("{\"gap\":\"%s\",\"pid\":%u,\"count\":%" PRIu64, gap.kind, gap.pid, gap.count);
        put_text("host", flowtap_trace_host_name(trace, gap.host));
        put_text("exe", gap.exe);
        put_text("reason", gap.reason);
        printf("}\n");
    }
    for (size_t i = 0; i < facts->problem_count; i++) {
        struct flowtap_trace_problem problem;
        flowtap_trace_problem_get(trace, i, &problem, sizeof(problem));
        printf("{\"problem\":\"%s\",\"damage\":%u,\"at\":%" PRIu64, problem.text, problem.is_damage, problem.offset);
        put_text("path", problem.path);
        printf("}\n");
    }
}

static int print_facts(void)
{
    struct flowtap_trace_facts facts;
    flowtap_trace_facts_get(trace, &facts, sizeof(facts));
    printf("{\"events\":%" PRIu64 ",\"profiled\":%" PRIu64 ",\"start\":%" PRId64 ",\"end\":%" PRId64, facts.events,
           facts.profiled_events, facts.start_ns, facts.end_ns);
    printf(",\"parts\":%" PRIu64 ",\"hosts\":%u,\"processes\":%u,\"threads\":%u,\"files\":%u,\"partial\":%u}\n",
           facts.part_count, facts.host_count, facts.process_count, facts.thread_count, facts.file_count,
           facts.is_partial);
    print_processes(facts.process_count);
    print_parts(&facts);
    for (uint32_t f = 0; f < facts.file_count; f++) {
        struct flowtap_trace_file file;
        flowtap_trace_file_get(trace, f, &file, sizeof(file));
        printf("{\"file\":%u,\"kind\":\"%s\"", f, file.kind);
        put_text("path", file.path);
        put_text("host", flowtap_trace_host_name(trace, file.host));
        printf("}\n");
    }
    return 0;
}

static void take(struct wish *wish, const char *option, char *value)
{
    struct flowtap_trace_criteria *criteria = &wish->criteria;
    wish->is_chosen |= strcmp(option, "--shares") != 0;
    if (strcmp(option, "--where") == 0)
        criteria->where = value;
    else if (strcmp(option, "--start") == 0)
        criteria->start_ns = strtoll(value, NULL, 10);
    else if (strcmp(option, "--end") == 0)
        criteria->end_ns = strtoll(value, NULL, 10);
    else if (strcmp(option, "--process") == 0)
        wish->processes[criteria->process_count++] = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(option, "--file") == 0)
        wish->files[criteria->file_count++] = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(option, "--call") == 0)
        wish->calls[criteria->call_count++] = value;
    else if (strcmp(option, "--category") == 0)
        wish->categories[criteria->category_count++] = value;
    else if (strcmp(option, "--tag") == 0)
        wish->tags[criteria->tag_count++] = (struct flowtap_trace_wanted_tag){strsep(&value, "="), value};
    else
        wish->shares = (uint32_t)strtoul(value, NULL, 10);
}

int main(int argc, char **argv)
{
    struct wish wish = {.shares = 1};
    struct flowtap_trace_error error;
    struct flowtap_trace_select *select = NULL;
    int at = 2;
    wish.criteria.processes = wish.processes;
    wish.criteria.files = wish.files;
    wish.criteria.calls = wish.calls;
    wish.criteria.categories = wish.categories;
    wish.criteria.tags = wish.tags;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2)
        take(&wish, argv[at], argv[at + 1]);
    if (flowtap_trace_open((const char *const *)argv + at, (size_t)(argc - at), NULL, 0, &trace, &error) < 0)
        return fail(&error);
    if (wish.is_chosen &&
        flowtap_trace_select_create(trace, &wish.criteria, sizeof(wish.criteria), &select, &error) < 0)
        return fail(&error);
    int status = strcmp(argv[1], "events") == 0   ? print_events(&wish, select)
                 : strcmp(argv[1], "count") == 0  ? count_events(select)
                 : strcmp(argv[1], "totals") == 0 ? print_totals(select)
                                                  : print_facts();
    flowtap_trace_select_destroy(select);
    flowtap_trace_close(trace);
    return status;
}
