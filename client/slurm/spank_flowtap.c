// SPDX-License-Identifier: MIT
/*
 * Slurm's `--flowtap[=trace|profile|off]` of srun, sbatch and salloc: sets the environment of a job's tasks, and nothing
 * else. Loaded by all of Slurm's programs through plugstack.conf, whose arguments say what a site wants:
 *
 *   default=trace|profile|off   of jobs that ask for nothing (off)
 *   forbid                      nobody may ask, nothing is traced
 *   library=PATH                of libflowtap-preload.so (../libflowtap-preload.so of this file)
 *   socket=PATH                 of the node's daemon (the library's own)
 *
 * A job is never refused or ended because of what is wrong here: only a word that is none of the three, and asking where
 * that is forbidden, are errors, at submission.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/spank.h>

#define LIBRARY "libflowtap-preload.so"

enum { VALUE_MAX = 32768, YES = 1 };

extern const char plugin_name[], plugin_type[];
extern const unsigned int plugin_version, spank_plugin_version;
SPANK_PLUGIN(flowtap, 1)

enum mode { UNSET, TRACE, PROFILE, OFF, MODES };
static const char *const mode_words[MODES] = {[TRACE] = "trace", [PROFILE] = "profile", [OFF] = "off"};

static enum mode site_mode = OFF, asked_mode = UNSET;
static bool is_forbidden;
static char library[PATH_MAX], socket_path[PATH_MAX];

static enum mode mode_of(const char *word)
{
    for (enum mode mode = TRACE; mode < MODES; mode++)
        if (strcmp(mode_words[mode], word) == 0)
            return mode;
    return UNSET;
}

/* An option without a word arrives as none; through the environment of a batch job, as what printf makes of that. */
static bool is_no_word(const char *word)
{
    return !word || !word[0] || strcmp(word, "(null)") == 0;
}

/* Slurm prints what the option says; the job is not started. On the node there is nothing to refuse any more. */
static int on_option(int value, const char *word, int is_remote)
{
    enum mode mode = is_no_word(word) ? TRACE : mode_of(word);
    (void)value;
    if (is_forbidden) {
        if (!is_remote)
            slurm_error("--flowtap: this site does not allow it");
        return is_remote ? 0 : -1;
    }
    if (mode == UNSET) {
        slurm_error("--flowtap=%s: is none of trace, profile, off", word);
        return -1;
    }
    asked_mode = mode;
    return 0;
}

static struct spank_option option = {
    .name = (char[]){"flowtap"},
    .arginfo = (char[]){"[trace|profile|off]"},
    .usage = (char[]){"record the files and I/O of the job's tasks (flowtap(1)); without a word: trace"},
    .has_arg = 2,
    .val = 0,
    .cb = on_option,
};

/* The library stands one folder above this plugin, built or installed. */
static void find_library(void)
{
    Dl_info self;
    char path[PATH_MAX + sizeof("/../" LIBRARY)];
    if (!dladdr(&option, &self) || !self.dli_fname)
        return;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash ? (int)(slash - self.dli_fname) : 0;
    if (folder < PATH_MAX && snprintf(path, sizeof(path), "%.*s/../" LIBRARY, folder, self.dli_fname) > 0 &&
        !realpath(path, library))
        library[0] = '\0';
}

static void take_argument(const char *argument)
{
    if (strcmp(argument, "forbid") == 0)
        is_forbidden = true;
    else if (strncmp(argument, "default=", 8) == 0 && mode_of(argument + 8) != UNSET)
        site_mode = mode_of(argument + 8);
    else if (strncmp(argument, "library=", 8) == 0)
        snprintf(library, sizeof(library), "%s", argument + 8);
    else if (strncmp(argument, "socket=", 7) == 0)
        snprintf(socket_path, sizeof(socket_path), "%s", argument + 7);
    else
        slurm_error("flowtap: plugstack.conf: %s: is none of default=trace|profile|off, forbid, library=, socket=",
                    argument);
}

int slurm_spank_init(spank_t spank, int argument_count, char **arguments);
int slurm_spank_init(spank_t spank, int argument_count, char **arguments)
{
    find_library();
    for (int i = 0; i < argument_count; i++)
        take_argument(arguments[i]);
    if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
        slurm_error("flowtap: the option --flowtap cannot be added");
    return 0;
}

static bool has_library(const char *list)
{
    for (const char *at = strstr(list, LIBRARY); at; at = strstr(at + 1, LIBRARY)) {
        char before = at == list ? '/' : at[-1], after = at[sizeof(LIBRARY) - 1];
        if (strchr("/: ", before) && (!after || after == ':' || after == ' '))
            return true;
    }
    return false;
}

/* Ours stands first; what the job had is kept. */
static void add_preload(spank_t spank)
{
    static char before[VALUE_MAX], merged[VALUE_MAX + PATH_MAX];
    spank_err_t r = spank_getenv(spank, "LD_PRELOAD", before, sizeof(before));
    if (r == ESPANK_NOSPACE)
        return; /* longer than we can keep: rather not traced than changed */
    if (r != ESPANK_SUCCESS)
        before[0] = '\0';
    if (has_library(before))
        return;
    snprintf(merged, sizeof(merged), "%s%s%s", library[0] ? library : LIBRARY, before[0] ? ":" : "", before);
    spank_setenv(spank, "LD_PRELOAD", merged, YES);
}

static void switch_off(spank_t spank)
{
    char value[8];
    if (spank_getenv(spank, "FLOWTAP", value, sizeof(value)) == ESPANK_SUCCESS)
        spank_setenv(spank, "FLOWTAP", "0", YES);
}

/* In slurmstepd, as the job's user, before a task's program is executed. */
int slurm_spank_task_init(spank_t spank, int argument_count, char **arguments);
int slurm_spank_task_init(spank_t spank, int argument_count, char **arguments)
{
    enum mode mode = is_forbidden ? OFF : asked_mode != UNSET ? asked_mode : site_mode;
    (void)argument_count;
    (void)arguments;
    if (mode == OFF) {
        /* Who set FLOWTAP for itself and asked for nothing here keeps what it has. */
        if (is_forbidden || asked_mode == OFF)
            switch_off(spank);
        return 0;
    }
    spank_setenv(spank, "FLOWTAP", "1", YES);
    spank_setenv(spank, "FLOWTAP_MODE", mode_words[mode], YES);
    if (socket_path[0])
        spank_setenv(spank, "FLOWTAP_SOCKET", socket_path, YES);
    add_preload(spank);
    return 0;
}
