// SPDX-License-Identifier: MIT
/* Checks of what is installed: the daemon's program, and whether the recorder can be loaded into a program. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/doctor_library.h"
#include "client/cli/elf.h"

#ifndef FT_VERSION
#define FT_VERSION "unknown"
#endif

extern char **environ;

enum { DAEMON_MS = 10000 };

void ft_doctor_daemon(struct ft_doctor *doctor)
{
    char error[PATH_MAX + 256], text[512], word[] = "--version", *name = doctor->paths.daemon;
    if (doctor->lacks_proc) {
        return;
    }
    if (ft_run_paths_find_daemon(&doctor->paths, error, sizeof(error)) < 0) {
        ft_doctor_problem(doctor, name, "install flowtapd beside flowtap; `flowtap run` needs it", "%s", error);
        return;
    }
    char *argv[] = {name, word, NULL}, *none[] = {NULL};
    if (doctor->lacks_files) {
        return;
    }
    int status = ft_doctor_run(argv, none, text, sizeof(text), DAEMON_MS);
    text[strcspn(text, "\n")] = '\0';
    if (status != 0) {
        ft_doctor_problem(doctor, name, "install it again, with the libraries that it needs",
                          "the daemon %s does not run: %s", name,
                          status < 0 ? strerror(-status)
                          : text[0]  ? text
                                     : "it ended at once");
    } else if (strcmp(text, "flowtapd " FT_VERSION) != 0) {
        ft_doctor_problem(doctor, name, "install both from one version",
                          "the daemon %s says '%s', and this is flowtap %s", name, text, FT_VERSION);
    } else {
        doctor->has_daemon = true;
        ft_doctor_ok(doctor, name, "the daemon is %s, version %s", name, FT_VERSION);
    }
}

/* This version as a number, the way the recorder gives its own. */
static unsigned own_version(void)
{
    unsigned major = 0, minor = 0, patch = 0;
    sscanf(FT_VERSION, "%u.%u.%u", &major, &minor, &patch);
    return major * 10000 + minor * 100 + patch;
}

/* Why the file is no recorder for this machine; NULL: its head is good. */
static const char *what_is_wrong_with(const struct ft_elf *elf)
{
    switch (elf->kind) {
    case FT_ELF_UNREADABLE:
        return strerror(elf->error);
    case FT_ELF_EMPTY:
        return "it is empty";
    case FT_ELF_FOREIGN:
        return "it is built for another architecture or word size";
    case FT_ELF_DAMAGED:
        return "it is damaged: its headers lie outside of it";
    case FT_ELF_SCRIPT:
    case FT_ELF_TEXT:
        return "it is no library";
    default:
        return NULL;
    }
}

/* Maps it as code, as ld.so will: 0 or errno. */
static int try_to_map(const char *path, bool *is_noexec)
{
    struct statvfs fs;
    int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
    if (fd < 0) {
        return errno;
    }
    void *memory = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED) {
        error = errno;
        *is_noexec = fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOEXEC);
    } else {
        munmap(memory, 1);
    }
    close(fd);
    return error;
}

struct trial {
    unsigned version; /* 0: it is no recorder */
    char error[480];  /* "": it could be loaded */
};

/* ld.so's own word: in a child, since what is loaded stays. */
static bool try_to_load(const char *path, struct trial *trial)
{
    int result[2], status;
    if (pipe2(result, O_CLOEXEC) < 0) {
        return false;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        memset(trial, 0, sizeof(*trial));
        unsetenv("FLOWTAP"); /* a look is no tracing */
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const unsigned *version = library ? dlsym(library, "flowtap_shim_version") : NULL;
        trial->version = version ? *version : 0;
        snprintf(trial->error, sizeof(trial->error), "%s", library ? "" : dlerror());
        _exit(write(result[1], trial, sizeof(*trial)) != (ssize_t)sizeof(*trial));
    }
    close(result[1]);
    bool is_read = pid > 0 && read(result[0], trial, sizeof(*trial)) == (ssize_t)sizeof(*trial);
    close(result[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    trial->error[sizeof(trial->error) - 1] = '\0';
    return is_read;
}

static bool tell_loading(struct ft_doctor *doctor, const char *path)
{
    struct trial trial;
    if (!try_to_load(path, &trial)) {
        ft_doctor_problem(doctor, path, "install it again", "the library %s ends a program that loads it", path);
    } else if (trial.error[0]) {
        const char *reason = strncmp(trial.error, path, strlen(path)) == 0 ? trial.error + strlen(path) : trial.error;
        reason += strspn(reason, ": ");
        ft_doctor_problem(doctor, path,
                          strstr(reason, "GLIBC_")
                              ? "use a system with glibc 2.34 or newer, or build Flowtap on this one"
                              : "install it again",
                          "the library %s cannot be loaded: %s", path, reason);
    } else if (trial.version == 0) {
        ft_doctor_problem(doctor, path, "install Flowtap again", "%s is a library, but not Flowtap's recorder", path);
    } else if (trial.version != own_version()) {
        ft_doctor_problem(doctor, path, "install both from one version",
                          "the library %s is version %u.%u.%u, and this is flowtap %s", path, trial.version / 10000,
                          trial.version / 100 % 100, trial.version % 100, FT_VERSION);
    } else {
        ft_doctor_ok(doctor, path, "the library %s can be loaded", path);
        return true;
    }
    return false;
}

bool ft_doctor_inspect_library(struct ft_doctor *doctor, const char *path)
{
    struct ft_elf *elf = ft_cli_alloc(sizeof(*elf));
    bool is_noexec = false;
    ft_elf_look_at(path, elf);
    const char *wrong = what_is_wrong_with(elf);
    int error = wrong ? 0 : try_to_map(path, &is_noexec);
    if (wrong) {
        ft_doctor_problem(doctor, path,
                          elf->kind == FT_ELF_UNREADABLE && elf->error == EACCES
                              ? "make it readable for all (chmod a+r)"
                              : "install Flowtap again",
                          "the library %s cannot be used: %s", path, wrong);
    } else if (error) {
        ft_doctor_problem(doctor, path,
                          is_noexec ? "install it on another file system, or mount this one with exec"
                                    : "let the security policy (SELinux, AppArmor) allow it",
                          "the library %s may not be mapped as code: %s%s", path, strerror(error),
                          is_noexec ? " (its file system is mounted noexec)" : "");
    }
    free(elf);
    return !wrong && !error && !doctor->lacks_files && tell_loading(doctor, path);
}

void ft_doctor_library(struct ft_doctor *doctor)
{
    char error[PATH_MAX + 256];
    if (doctor->lacks_proc) {
        return;
    }
    if (ft_run_paths_find_library(&doctor->paths, error, sizeof(error)) < 0) {
        ft_doctor_problem(doctor, NULL, "install the library beside flowtap, in ../lib", "%s", error);
    } else {
        doctor->has_library = ft_doctor_inspect_library(doctor, doctor->paths.library);
    }
}
