// SPDX-License-Identifier: MIT
/* The check that tells most: a program of our own is really traced, with a private daemon, and its events are there. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/doctor.h"
#include "client/cli/run_daemon.h"
#include "client/cli/run_environment.h"
#include "client/cli/units.h"
#include "proto/trace_set.h"

extern char **environ;

enum { PROGRAM_MS = 20000 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The caller's, without what would send it elsewhere or leave events out. */
static void make_environment(struct ft_environment *environment, const struct ft_run_paths *paths)
{
    static const char *const names[] = {
#define ROW(name, what) #name,
        FT_SETTINGS(ROW)
#undef ROW
    };
    ft_environment_init(environment, environ);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ft_environment_set(environment, names[i], NULL);
    }
    char *preload = ft_environment_preload(NULL, paths->library);
    ft_environment_set(environment, "LD_PRELOAD", preload);
    ft_environment_set(environment, "FLOWTAP", "1");
    ft_environment_set(environment, "FLOWTAP_DEBUG", "1"); /* it says why where it does not attach */
    ft_environment_set(environment, "FLOWTAP_SOCKET", paths->socket);
    free(preload);
}

/* How many events the trace holds; -1: it cannot be read. */
static int64_t count_events(const char *folder)
{
    struct ft_trace_reader_options options = {0};
    struct ft_trace_set *set;
    if (ft_trace_set_open(&folder, 1, &options, &set, NULL) < 0) {
        return -1;
    }
    int64_t events = (int64_t)ft_trace_set_events(set);
    ft_trace_set_close(set);
    return events;
}

static void tell(struct ft_doctor *doctor, int status, const char *said, int64_t events, int64_t ns)
{
    struct ft_unit_text time;
    const char *line = strncmp(said, "flowtap: ", 9) == 0 ? said + 9 : said;
    if (status != 0) {
        ft_doctor_problem(doctor, doctor->paths.library, "try the program without it: it should end well",
                          "a test program with the library preloaded does not end well: %s",
                          status < 0            ? strerror(-status)
                          : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                                : ft_doctor_quote(line, strcspn(line, "\n")));
    } else if (events <= 0) {
        ft_doctor_problem(doctor, doctor->paths.library, "look into the daemon's and the program's limits",
                          "a test program was traced, and no event came: %s",
                          strstr(said, "errno") ? ft_doctor_quote(line, strcspn(line, "\n")) : "it did not attach");
    } else {
        ft_doctor_ok(doctor, NULL, "a test program was traced: %" PRId64 " events, in %s, with a daemon of its own",
                     events, ft_units_time(&time, ns));
    }
}

/* The folder is ours: socket, policy, log and trace are in it. */
static void trace_something(struct ft_doctor *doctor, struct ft_run_paths *paths)
{
    char error[PATH_MAX + 256], said[4096], self[] = "/proc/self/exe", word[] = "--version",
                                            *argv[] = {self, word, NULL};
    int64_t begin = now_ns();
    struct ft_run_daemon daemon = {0};
    struct ft_run_daemon_options options = {.program = paths->daemon,
                                            .socket = paths->socket,
                                            .spool = paths->folder,
                                            .library = paths->library,
                                            .follows_clean_env = true,
                                            .is_trial = true};
    if (ft_run_daemon_start(&daemon, &options, error, sizeof(error)) < 0) {
        ft_doctor_problem(doctor, paths->daemon, "`flowtap run` traces nothing for the same reason", "%s", error);
        return;
    }
    struct ft_environment environment;
    make_environment(&environment, paths);
    int status = ft_doctor_run(argv, environment.items, said, sizeof(said), PROGRAM_MS);
    int ended = ft_run_daemon_end(&daemon, NULL, error, sizeof(error));
    ft_environment_fini(&environment);
    if (ended < 0) {
        ft_doctor_problem(doctor, paths->daemon, "report it", "%s", error);
    } else {
        tell(doctor, status, said, count_events(paths->folder), now_ns() - begin);
    }
}

/* What would fail for a reason that was told need not be tried. */
static bool is_hopeless(const struct ft_doctor *doctor)
{
    static const char *const checks[] = {"limits", "memory", "sandbox", "work"};
    for (size_t i = 0; i < doctor->finding_count; i++) {
        const struct ft_finding *finding = &doctor->findings[i];
        for (size_t k = 0; finding->severity == FT_SEVERITY_PROBLEM && k < sizeof(checks) / sizeof(checks[0]); k++) {
            if (strcmp(finding->check, checks[k]) == 0) {
                return true;
            }
        }
    }
    return !doctor->has_daemon || !doctor->has_library;
}

void ft_doctor_try(struct ft_doctor *doctor)
{
    char error[PATH_MAX + 256];
    struct ft_run_paths paths = doctor->paths;
    if (is_hopeless(doctor)) {
        return;
    }
    if (ft_run_paths_make_folder(&paths, error, sizeof(error)) < 0) {
        return; /* said before */
    }
    paths.keeps_folder = false;
    trace_something(doctor, &paths);
    ft_run_paths_clean(&paths);
}
