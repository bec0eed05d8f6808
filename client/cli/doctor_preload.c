// SPDX-License-Identifier: MIT
/* Checks of LD_PRELOAD and /etc/ld.so.preload, and of what they and FLOWTAP mean together. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/doctor_library.h"

enum { PRELOAD_FILE_BYTES_MAX = 65536 };
#define LIBRARY_NAME "libflowtap-preload.so"
#define PRELOAD_FILE "/etc/ld.so.preload"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The recorder by its name, or what its own path leads to. */
static bool is_recorder(const struct ft_doctor *doctor, const char *entry)
{
    char resolved[PATH_MAX];
    return strcmp(base_name(entry), LIBRARY_NAME) == 0 ||
           (realpath(entry, resolved) &&
            (strcmp(resolved, doctor->paths.library) == 0 || strcmp(base_name(resolved), LIBRARY_NAME) == 0));
}

static bool is_loaded(const char *entry)
{
    void *library = dlopen(entry, RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        dlclose(library);
    }
    return library;
}

static void tell_recorder(struct ft_doctor *doctor, const char *entry, const char *where)
{
    char resolved[PATH_MAX];
    bool has_slash = strchr(entry, '/');
    if (is_loaded(entry)) {
        if (entry[0] != '/' && has_slash) {
            ft_doctor_note(doctor, entry, "name it by its absolute path",
                           "%s names the library by the relative path %s: programs in other folders do not find it",
                           where, entry);
        }
        return;
    }
    if (has_slash && access(entry, F_OK) < 0 && !strchr(entry, '$')) {
        char *advice = doctor->has_library ? ft_cli_format("the one of this installation is %s", doctor->paths.library)
                                           : ft_cli_strdup("name it by its path");
        ft_doctor_problem(doctor, entry, advice, "%s names %s: %s; nothing is recorded", where, entry, strerror(errno));
        free(advice);
    } else if (has_slash && realpath(entry, resolved) && strcmp(resolved, doctor->paths.library) != 0) {
        ft_doctor_inspect_library(doctor, entry);
    } else if (!has_slash) {
        ft_doctor_problem(doctor, NULL, "name it by its absolute path",
                          "%s names %s without a path, and it is not where libraries are looked for", where, entry);
    } else if (doctor->has_library) {
        ft_doctor_problem(doctor, entry, "set the variable in a shell that is not set-user-ID, and try again",
                          "%s names %s, but it is not loaded here", where, entry);
    }
}

static void tell_other(struct ft_doctor *doctor, const char *entry, const char *where)
{
    if (!is_loaded(entry)) {
        int error = strchr(entry, '/') && access(entry, F_OK) < 0 ? errno : 0;
        ft_doctor_note(doctor, entry, "take it out: each program prints a line of ld.so's about it",
                       "%s names %s, which cannot be loaded%s%s", where, entry, error ? ": " : "",
                       error ? strerror(error) : "");
    }
}

/* Takes the list apart; how often it names the recorder. */
static unsigned read_list(struct ft_doctor *doctor, const char *list, const char *separators, const char *where)
{
    char *copy = ft_cli_strdup(list), *rest = NULL;
    unsigned count = 0;
    for (char *entry = strtok_r(copy, separators, &rest); entry; entry = strtok_r(NULL, separators, &rest)) {
        if (is_recorder(doctor, entry)) {
            count++;
            tell_recorder(doctor, entry, where);
        } else {
            tell_other(doctor, entry, where);
        }
    }
    free(copy);
    return count;
}

static char *read_preload_file(void)
{
    char *text = ft_cli_alloc(PRELOAD_FILE_BYTES_MAX + 1);
    int fd = open(PRELOAD_FILE, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got = read(fd, text, PRELOAD_FILE_BYTES_MAX);
        text[got > 0 ? got : 0] = '\0';
        close(fd);
    }
    return text;
}

void ft_doctor_preload(struct ft_doctor *doctor)
{
    const char *list = getenv("LD_PRELOAD");
    char *file = read_preload_file();
    size_t before = doctor->finding_count;
    doctor->is_loaded = dlsym(RTLD_DEFAULT, "flowtap_shim_version");
    unsigned in_list = list ? read_list(doctor, list, " :", "LD_PRELOAD") : 0;
    unsigned in_file = read_list(doctor, file, " :\t\n", PRELOAD_FILE);
    doctor->is_preloaded = in_list > 0;
    doctor->is_of_site = in_file > 0;
    if (in_list + in_file > 1) {
        ft_doctor_note(doctor, NULL, "nothing need be done: the second copy stays out of the way",
                       "the library is preloaded %u times (LD_PRELOAD %u, " PRELOAD_FILE " %u)", in_list + in_file,
                       in_list, in_file);
    }
    if (doctor->finding_count == before) {
        ft_doctor_ok(doctor, NULL, in_list + in_file ? "the library is preloaded" : "the library is not preloaded");
    }
    free(file);
}

static void tell_on(struct ft_doctor *doctor)
{
    if (doctor->is_loaded) {
        ft_doctor_ok(doctor, NULL, "FLOWTAP=1 and the library is preloaded: what is started from here is recorded");
    } else if (!doctor->is_preloaded && !doctor->is_of_site) {
        char *advice = ft_cli_format("set LD_PRELOAD=%s too, or use `flowtap run`",
                                     doctor->has_library ? doctor->paths.library : LIBRARY_NAME);
        ft_doctor_problem(doctor, NULL, advice,
                          "FLOWTAP=1 is set, but LD_PRELOAD does not name the library: nothing is recorded");
        free(advice);
    }
}

void ft_doctor_environment(struct ft_doctor *doctor)
{
    const char *on = doctor->values[FT_SETTING_FLOWTAP];
    enum ft_setting_use use = on ? ft_setting_use_of_on(on) : FT_SETTING_OFF;
    if (getuid() != geteuid() || getgid() != getegid()) {
        ft_doctor_problem(doctor, NULL, "start programs as one user",
                          "this runs with the rights of another user: programs started so are secure, and take no "
                          "library from LD_PRELOAD (gap secure_exec)");
    }
    if (use == FT_SETTING_USED) {
        tell_on(doctor);
    } else if (doctor->is_preloaded && use == FT_SETTING_OFF) {
        ft_doctor_problem(doctor, NULL, "set FLOWTAP=1, or use `flowtap run`",
                          "the library is preloaded, but FLOWTAP is %s: it does nothing",
                          on ? *on ? "0" : "empty" : "not set");
    } else if (doctor->is_of_site && use == FT_SETTING_OFF) {
        ft_doctor_note(doctor, PRELOAD_FILE, "set FLOWTAP=1 to be recorded, or use `flowtap run`",
                       PRELOAD_FILE " preloads the library for everybody; it does nothing where FLOWTAP is not 1");
    } else if (on && use == FT_SETTING_OFF) {
        ft_doctor_note(doctor, NULL, "`flowtap run` sets FLOWTAP=1 for its command",
                       "FLOWTAP is %s: nothing is recorded by itself", *on ? "0" : "empty");
    } else if (!on) {
        ft_doctor_ok(doctor, NULL, "neither FLOWTAP nor the preload is set: `flowtap run` sets both");
    }
}

/* This program itself shows whether programs attach that are started from here: the segment is then mapped. */
void ft_doctor_attached(struct ft_doctor *doctor)
{
    const char *on = doctor->values[FT_SETTING_FLOWTAP];
    char line[PATH_MAX + 256];
    bool is_attached = false;
    if (!on || ft_setting_use_of_on(on) != FT_SETTING_USED || !doctor->is_loaded || doctor->problem_count > 0) {
        return;
    }
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !is_attached && fgets(line, sizeof(line), maps)) {
        is_attached = strstr(line, "/memfd:flowtap (deleted)");
    }
    if (maps) {
        fclose(maps);
    }
    if (is_attached) {
        ft_doctor_ok(doctor, NULL, "this program itself attached to the daemon");
    } else {
        ft_doctor_problem(doctor, NULL, "set FLOWTAP_DEBUG=1: then a program says on stderr why",
                          "this program itself did not attach to the daemon, though nothing is in the way");
    }
}
