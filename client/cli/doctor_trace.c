// SPDX-License-Identifier: MIT
/* A trace explained: what of the job it lacks, why, and what to do about it. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/analysis_job.h"
#include "client/cli/cli.h"
#include "client/cli/doctor.h"
#include "client/cli/doctor_trace.h"
#include "client/cli/read_memory.h"
#include "client/cli/units.h"
#include "proto/trace_event.h"

/* Below that, what libc and the kernel read beside the program's own calls may be more than these. */
#define UNCOVERED_BYTES_MIN (UINT64_C(64) << 20)

/* A job of a thousand programs that were not seen is told of in as many lines. */
enum { GAP_LINES_MAX = 32, FILE_LINES_MAX = 32 };

/* Files of which something is to be said: the first ones by name, so many more by number. */
struct files_told {
    uint64_t told, more;
    bool has_problem; /* one of those that are not told is one */
};

static bool may_tell(struct files_told *files, bool is_problem)
{
    if (files->told < FILE_LINES_MAX) {
        files->told++;
        return true;
    }
    files->more++;
    files->has_problem |= is_problem;
    return false;
}

static void tell_more_files(struct ft_doctor *doctor, const struct files_told *files)
{
    static const char advice[] = "`flowtap verify` tells of each";
    struct ft_unit_text count;
    ft_units_counted(&count, files->more, "file more", "files more");
    if (files->has_problem) {
        ft_doctor_problem(doctor, NULL, advice, "%s cannot be read or are not whole, or were left out", count.text);
    } else if (files->more) {
        ft_doctor_note(doctor, NULL, advice, "%s are copies, or were not read in full", count.text);
    }
}

static const struct {
    const char *what, *advice;
} gap_rows[FT_GAP_END] = {
    [FT_GAP_NOT_ATTACHED] = {"did not attach", "`flowtap doctor -- COMMAND` looks for the reason"},
    [FT_GAP_NOT_ADMITTED] =
        {"was refused by the daemon",
         "its log says why; raise max_processes, max_jobs or what a user may have of them in flowtapd.conf, its limit of open files (ulimit -n), or use one version of all"},
    [FT_GAP_SANDBOX] = {"works under a seccomp filter", "try it without its sandbox to see more"},
    [FT_GAP_RLIMIT] = {"could not attach for a limit", "raise ulimit -n, -f or -v"},
    [FT_GAP_STATIC] = {"is linked statically", "link it dynamically"},
    [FT_GAP_SECURE_EXEC] = {"runs with more rights than its caller", "run what it starts without it"},
    [FT_GAP_FOREIGN_ELF] = {"is built for another architecture or C library", "use a build for this system and glibc"},
    [FT_GAP_ENV_CLEANED] = {"was started with a cleaned environment",
                            "leave --no-follow-clean-env away, set follow_clean_env=yes in flowtapd.conf"},
    [FT_GAP_CONTAINER] = {"ran where the library or the socket is not to be found",
                          "bind both into the container at the same paths"},
    [FT_GAP_IO_URING] = {"used io_uring, whose transfers are no calls",
                         "switch it off in the program to see them (for Node.js UV_USE_IO_URING=0)"},
    [FT_GAP_RAW_SYSCALL] = {"called the kernel past the C library", "what it did so is not to be had"},
    [FT_GAP_DEEPBIND] = {"loaded an object that binds past preloaded libraries (RTLD_DEEPBIND)",
                         "load it without that flag"},
    [FT_GAP_CLONE_SHARED] = {"made a thread without its own thread storage", "what it did is not to be had"},
    [FT_GAP_STILL_RUNNING] = {"went on when the command had ended", "wait for it at the command's end"},
    [FT_GAP_DAEMON_STOPPED] =
        {"went on when the daemon ended",
         "restart the daemon, do not stop it, while jobs run; of one that was killed the kernel's log may know (memory)"},
};

/* Of one kind there may be reasons that want another word. */
static const struct {
    enum ft_gap kind;
    const char *reason;
    const char *what, *advice;
} reason_rows[] = {
    {FT_GAP_ENV_CLEANED, FT_GAP_REASON_OFF, "was started with tracing switched off",
     "start it without FLOWTAP=0 and FLOWTAP_MODE=off to see it"},
    {FT_GAP_ENV_CLEANED, FT_GAP_REASON_NO_ROOM, "was started without Flowtap's variables",
     "give it fewer or shorter arguments and variables, or a larger ulimit -s"},
};

static const struct {
    const char *what, *advice;
} cause_rows[FT_CAUSE_COUNT] = {
    [FT_CAUSE_RING_FULL] = {"came faster than the daemon could take them",
                            "narrow it by --include or --exclude; totals are exact"},
    [FT_CAUSE_TORN] = {"were under way when their process was killed", "nothing can be done"},
    [FT_CAUSE_DAEMON_LIMIT] = {"were beyond a limit, such as 4,095 threads of a process",
                               "use fewer threads at a time"},
    [FT_CAUSE_DISK_FULL] = {"found the disk full", "make room where the trace is written, or use -o; totals are exact"},
    [FT_CAUSE_CAPPED] = {"were beyond a quota", "raise it in flowtapd.conf"},
    [FT_CAUSE_CORRUPT] = {"were not readable in the process's memory", "look for a program that overwrites its memory"},
};

static void word_gap(const struct ft_job_gap *gap, const char **what, const char **advice)
{
    bool is_known = gap->kind < FT_GAP_END && gap_rows[gap->kind].what;
    *what = is_known ? gap_rows[gap->kind].what : "could not be seen";
    *advice = is_known ? gap_rows[gap->kind].advice : "read it with a newer flowtap";
    for (size_t i = 0; i < sizeof(reason_rows) / sizeof(reason_rows[0]); i++) {
        const char *part = reason_rows[i].reason;
        if (gap->kind == reason_rows[i].kind && gap->reason.len > 0 &&
            memmem(gap->reason.data, gap->reason.len, part, strlen(part))) {
            *what = reason_rows[i].what;
            *advice = reason_rows[i].advice;
        }
    }
}

static void tell_gap(struct ft_doctor *doctor, const struct ft_job_gap *gap, uint64_t count)
{
    const char *what, *advice;
    word_gap(gap, &what, &advice);
    char *exe = gap->exe.len ? ft_cli_format("%.*s", (int)gap->exe.len, gap->exe.data) : NULL;
    ft_doctor_problem(doctor, exe, advice, "%s %s (gap %s, %" PRIu64 " times%s%.*s)",
                      exe                                  ? exe
                      : gap->kind == FT_GAP_DAEMON_STOPPED ? "what ran"
                                                           : "a program",
                      what, ft_gap_name(gap->kind), count, gap->reason.len ? ": " : "", (int)gap->reason.len,
                      gap->reason.len ? gap->reason.data : "");
    free(exe);
}

/* One line for each program and reason, however many processes ran it; of the first so many. */
static void tell_gaps(struct ft_doctor *doctor, const struct ft_job *job)
{
    size_t count;
    uint64_t rest = 0;
    struct ft_gap_group *groups = ft_job_group_gaps(job, &count);
    for (size_t i = 0; i < count; i++) {
        if (i < GAP_LINES_MAX) {
            tell_gap(doctor, groups[i].first, groups[i].count);
        } else {
            rest += groups[i].count;
        }
    }
    if (rest > 0) {
        struct ft_unit_text programs, times;
        ft_doctor_problem(doctor, NULL, "`flowtap processes` lists all", "%s more programs were not seen (%s times)",
                          ft_units_count(&programs, count - GAP_LINES_MAX), ft_units_count(&times, rest));
    }
    free(groups);
}

static void tell_dropped(struct ft_doctor *doctor, const struct ft_job *job)
{
    for (unsigned cause = 0; cause < FT_CAUSE_COUNT; cause++) {
        struct ft_unit_text dropped, emitted;
        if (job->dropped_by_cause[cause] > 0) {
            ft_doctor_problem(doctor, NULL, cause_rows[cause].advice, "%s of %s events were dropped: they %s (%s)",
                              ft_units_count(&dropped, job->dropped_by_cause[cause]),
                              ft_units_count(&emitted, job->emitted), cause_rows[cause].what, ft_cause_name(cause));
        }
    }
    if (job->names_lost > 0) {
        ft_doctor_note(doctor, NULL, "look for events without a path; narrow it by --include or --exclude",
                       "%" PRIu64
                       " times there was no room for a name: it is told again with the next event that wants it, "
                       "and what came in between may name no file",
                       job->names_lost);
    }
}

/* Files that are not part of what is read. */
static void tell_absent(struct ft_doctor *doctor, struct files_told *files, const struct ft_trace_set *set)
{
    size_t count;
    const struct ft_trace_set_unreadable *unreadable = ft_trace_set_unreadable(set, &count);
    for (size_t i = 0; i < count; i++) {
        const char *path = unreadable[i].path;
        if (!may_tell(files, true)) {
            continue;
        }
        if (unreadable[i].error == -EBADMSG) {
            ft_doctor_problem(doctor, path, "move it elsewhere if it is no trace", "%s is not readable as a trace",
                              path);
        } else {
            ft_doctor_problem(doctor, path, "ask its owner, or who runs the daemon", "%s cannot be read: %s", path,
                              ft_trace_set_unreadable_text(unreadable[i].error));
        }
    }
    const struct ft_trace_set_left_out *left_out = ft_trace_set_left_out(set, &count);
    for (size_t i = 0; i < count; i++) {
        if (!may_tell(files, !left_out[i].copy_of)) {
            continue;
        }
        if (left_out[i].copy_of) {
            ft_doctor_note(doctor, left_out[i].path, "move it elsewhere", "%s is a copy of %s and was left out",
                           left_out[i].path, left_out[i].copy_of);
        } else {
            ft_doctor_problem(doctor, left_out[i].path, "read it alone",
                              "%s was left out: its clock is lost with its header", left_out[i].path);
        }
    }
}

static void tell_damage(struct ft_doctor *doctor, const struct ft_trace_set *set)
{
    struct files_told files = {0};
    tell_absent(doctor, &files, set);
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        const char *path = ft_trace_reader_path(reader), *why = NULL;
        size_t count;
        const struct ft_trace_problem *problems = ft_trace_reader_problems(reader, &count);
        for (size_t i = 0; i < count && !why; i++) {
            why = ft_problem_is_damage(problems[i].kind) ? ft_problem_text(problems[i].kind) : NULL;
        }
        bool is_limited = !why && ft_trace_reader_is_limited(reader);
        bool is_sound = !why && !is_limited && ft_trace_reader_is_closed(reader);
        if (is_sound || !may_tell(&files, !is_limited)) {
            continue;
        }
        if (is_limited) {
            ft_doctor_note(doctor, path, ft_read_memory_advice(), "of %s %s", path, ft_problem_text(FT_PROBLEM_LIMIT));
        } else if (why) {
            ft_doctor_problem(doctor, path, "`flowtap verify` tells all", "%s is damaged: %s", path, why);
        } else {
            ft_doctor_problem(doctor, path, "read it again when the job has ended; look whether flowtapd was killed",
                              "%s was not closed: its daemon still writes, or was killed", path);
        }
    }
    tell_more_files(doctor, &files);
}

static void tell_coverage(struct ft_doctor *doctor, const struct ft_job *job)
{
    const struct ft_coverage *coverage = &job->coverage;
    struct ft_unit_text traced, kernel;
    if (coverage->known_tasks > 0 && coverage->kernel_bytes > coverage->traced_bytes &&
        coverage->kernel_bytes - coverage->traced_bytes > UNCOVERED_BYTES_MIN &&
        coverage->traced_bytes < coverage->kernel_bytes / 2) {
        ft_doctor_note(doctor, NULL, "look for mapped files, io_uring and raw system calls",
                       "%s were traced where the kernel counted %s", ft_units_bytes(&traced, coverage->traced_bytes),
                       ft_units_bytes(&kernel, coverage->kernel_bytes));
    }
}

/* No event: the reason, where no other line gives it. */
static void tell_empty(struct ft_doctor *doctor, const struct ft_trace_set *set, const struct ft_job *job)
{
    if (job->emitted > 0 || job->stored > 0 || doctor->problem_count > 0 || ft_trace_set_is_limited(set)) {
        return;
    }
    if (ft_trace_set_process_count(set) == 0) {
        ft_doctor_problem(doctor, NULL, "start it with `flowtap run`, or with FLOWTAP=1 and the library in LD_PRELOAD",
                          "0 events: no process attached");
    } else {
        ft_doctor_problem(doctor, NULL, "look for FLOWTAP_INCLUDE and FLOWTAP_EXCLUDE, and for what started it",
                          "0 events: the processes that attached made no call that is recorded");
    }
}

/* Whether something was recorded that a filter decides on: pipes, terminals and the like it does not. */
static bool has_files(const struct ft_scan *scan)
{
    for (uint32_t i = 0; i < scan->file_count && i < scan->entries.count; i++) {
        const struct ft_trace_file record = ft_entry_record(&scan->entries, &scan->entries.items[i]);
        if (ft_file_sums_has_events(&scan->files, i) && ft_file_kind_class(record.kind) != FT_FILE_CLASS_OTHER) {
            return true;
        }
    }
    return false;
}

static void explain(struct ft_doctor *doctor, const struct ft_trace_set *set)
{
    struct ft_scan scan;
    struct ft_job job;
    struct ft_unit_text events, missing;
    ft_scan_read(&scan, set, FT_SCAN_PROCESSES | FT_SCAN_FILES, NULL);
    ft_job_read(&job, set, &scan);
    tell_damage(doctor, set);
    if (job.missing > 0) {
        ft_doctor_problem(doctor, NULL, "give all files of the trace; what is in damaged blocks is not to be had",
                          "%s of %s events are missing: in what is damaged, or in files that are not here",
                          ft_units_count(&missing, job.missing), ft_units_count(&events, job.emitted));
    }
    tell_gaps(doctor, &job);
    tell_dropped(doctor, &job);
    ft_doctor_trace_settings(doctor, set, has_files(&scan));
    tell_empty(doctor, set, &job);
    tell_coverage(doctor, &job);
    if (doctor->problem_count == 0 && !ft_trace_set_is_limited(set)) {
        const char *sums = !job.profiled                   ? ""
                           : ft_trace_set_events(set) == 0 ? " as sums alone (mode profile)"
                                                           : ", some as sums alone (mode profile)";
        ft_doctor_ok(doctor, doctor->trace, "%s is complete: %s events of %zu processes%s, none dropped, no gap",
                     doctor->trace, ft_units_count(&events, job.stored), job.coverage.tasks, sums);
    }
    ft_job_fini(&job);
    ft_scan_fini(&scan);
}

static void tell_unreadable(struct ft_doctor *doctor, const char *path, int error)
{
    switch (error) {
    case -ENODATA:
        ft_doctor_problem(
            doctor, path, "give the folder that `flowtap run` named; `flowtap doctor` looks at the set-up",
            "no trace file (*.flow) in the folder %s: nothing attached, or it was written elsewhere", path);
        break;
    case -EBADMSG:
        ft_doctor_problem(doctor, path, "name a trace file or a folder of them", "%s is not a Flowtap trace file",
                          path);
        break;
    case -EPROTONOSUPPORT:
        ft_doctor_problem(doctor, path, "read it with that version",
                          "%s is written by another major version of Flowtap", path);
        break;
    default:
        ft_doctor_problem(doctor, path,
                          error == -EACCES   ? "ask its owner, or who runs the daemon"
                          : error == -ENOENT ? "name a trace file or a folder of them"
                                             : NULL,
                          "%s cannot be read: %s", path, strerror(-error));
    }
}

static void tell_log(struct ft_doctor *doctor, const char *name)
{
    char *path = ft_cli_format("%s/%s", doctor->trace, name), line[1024], last[1024] = "";
    FILE *log = fopen(path, "re");
    while (log && fgets(line, sizeof(line), log)) {
        memcpy(last, line, sizeof(last));
    }
    last[strcspn(last, "\n")] = '\0';
    if (last[0]) {
        ft_doctor_note(doctor, path, "read it", "the daemon's log %s ends with: %s", path, last);
    }
    if (log) {
        fclose(log);
    }
    free(path);
}

/* What the daemons of `flowtap run` had to say. */
static void tell_logs(struct ft_doctor *doctor)
{
    DIR *entries = opendir(doctor->trace);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        const char *end = strrchr(entry->d_name, '.');
        if (strncmp(entry->d_name, "flowtapd", 8) == 0 && end && strcmp(end, ".log") == 0) {
            tell_log(doctor, entry->d_name);
        }
    }
    if (entries) {
        closedir(entries);
    }
}

void ft_doctor_trace(struct ft_doctor *doctor)
{
    struct ft_trace_reader_options options = {.memory_max = ft_read_memory()};
    struct ft_trace_set_error error = {0};
    struct ft_trace_set *set;
    tell_logs(doctor);
    int status = ft_trace_set_open(&doctor->trace, 1, &options, &set, &error);
    if (status < 0) {
        tell_unreadable(doctor, error.path ? error.path : doctor->trace, error.error ? error.error : status);
        free(error.path);
        return;
    }
    if (ft_trace_set_bytes(set) == 0) {
        ft_doctor_problem(doctor, doctor->trace, "look whether the disk was full",
                          "%s is empty: nothing was ever written to it", doctor->trace);
    } else {
        explain(doctor, set);
    }
    ft_trace_set_close(set);
}
