// SPDX-License-Identifier: MIT
/* A command looked at, and what runs it: whether it can be started, and whether the recorder can be loaded into it. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/doctor.h"
#include "client/cli/elf.h"

static const char not_recorded[] = "it runs as always, but is not recorded (what it starts may be)";

static bool is_of_shell(const char *name)
{
    static const char *const names[] = {".",   "alias", "cd",     "command", "eval",   "exec",  "export", "module",
                                        "set", "shift", "source", "type",    "ulimit", "umask", "unset",  "wait"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A file that is there and cannot be executed. */
static void tell_not_executable(struct ft_doctor *doctor, const char *path, const struct stat *st)
{
    struct statvfs fs;
    if (S_ISDIR(st->st_mode)) {
        ft_doctor_problem(doctor, path, "name a program; for a folder with a trace use --trace", "%s is a folder",
                          path);
    } else if (!S_ISREG(st->st_mode)) {
        ft_doctor_problem(doctor, path, "name a program", "%s is no file that can be executed", path);
    } else if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOEXEC)) {
        ft_doctor_problem(doctor, path, "put it on another file system",
                          "%s cannot be executed: its file system is mounted noexec", path);
    } else if (access(path, X_OK) < 0) {
        ft_doctor_problem(doctor, path, "chmod a+x, or name the interpreter before it", "%s is not executable: %s",
                          path, strerror(errno));
    }
}

/* What stands in $PATH under this name and was passed over; "" nothing. */
static void find_passed_over(const char *name, char *path, size_t path_bytes, struct stat *st)
{
    const char *at = getenv("PATH");
    at = at ? at : "/bin:/usr/bin";
    for (;; at++) {
        size_t length = strcspn(at, ":");
        int used = snprintf(path, path_bytes, "%.*s%s%s", (int)length, at, length ? "/" : "./", name);
        if (used < (int)path_bytes && stat(path, st) == 0 && S_ISREG(st->st_mode)) {
            return;
        }
        at += length;
        if (!*at) {
            path[0] = '\0';
            return;
        }
    }
}

static void tell_not_found(struct ft_doctor *doctor, const char *name)
{
    struct stat st;
    char path[PATH_MAX];
    if (strchr(name, '/')) {
        if (stat(name, &st) == 0) {
            tell_not_executable(doctor, name, &st);
        } else {
            ft_doctor_problem(doctor, name,
                              strpbrk(name, " \t") ? "give its words separately, not in one pair of quotes"
                                                   : "name it by a path that there is",
                              "the command %s cannot be found: %s", name, strerror(errno));
        }
        return;
    }
    find_passed_over(name, path, sizeof(path), &st);
    if (path[0]) {
        tell_not_executable(doctor, path, &st);
    } else if (is_of_shell(name)) {
        ft_doctor_problem(doctor, NULL, "run it in a shell: sh -c '...'", "%s is a command of the shell, not a program",
                          name);
    } else {
        const char *folders = getenv("PATH");
        ft_doctor_problem(doctor, NULL,
                          strpbrk(name, " \t") ? "give its words separately, not in one pair of quotes"
                                               : "name it by its path, or put its folder into PATH",
                          "the command %s is in no folder of PATH (%s)", name,
                          !folders   ? "which is not set"
                          : *folders ? folders
                                     : "which is empty");
    }
}

static const char *machine_name(const struct ft_elf *elf, char room[32])
{
    switch (elf->machine) {
    case EM_386:
        return "i386, 32 bits";
    case EM_X86_64:
        return elf->bits == 32 ? "x32" : "x86-64";
    case EM_ARM:
        return "arm, 32 bits";
    case EM_AARCH64:
        return "aarch64";
    case EM_PPC64:
        return "ppc64";
    case EM_RISCV:
        return "riscv";
    case EM_S390:
        return "s390";
    default:
        snprintf(room, 32, "machine %u, %u bits", elf->machine, elf->bits);
        return room;
    }
}

/* The command and what runs it, for the sentence: "a, run by b". A new string. */
static char *subject(const char *given, const struct ft_elf *elf)
{
    return strcmp(given, elf->path) == 0 ? ft_cli_strdup(given)
                                         : ft_cli_format("%s, which runs the script %s,", elf->path, given);
}

/* The one kind of sanitized program that the library cannot speak for: its runtime has to stand before the library. */
static void tell_sanitizer(struct ft_doctor *doctor, const struct ft_elf *elf, const char *what)
{
    const char *list = getenv("LD_PRELOAD"), *runtime = list ? strstr(list, elf->sanitizer) : NULL;
    const char *own = list ? strstr(list, "libflowtap-preload") : NULL;
    if (runtime && (!own || runtime < own)) {
        ft_doctor_ok(doctor, elf->path, "%s can be recorded: %s stands first in LD_PRELOAD", what, elf->sanitizer);
        return;
    }
    char *advice = ft_cli_format("set LD_PRELOAD=%s%s%s, also for `flowtap run`", elf->sanitizer, own ? ":" : "",
                                 own ? doctor->paths.library : "");
    ft_doctor_problem(doctor, elf->path, advice,
                      "%s defines __asan_default_options and is linked with %s, which is not first in LD_PRELOAD: it "
                      "refuses to start",
                      what, elf->sanitizer);
    free(advice);
}

static void tell_dynamic(struct ft_doctor *doctor, const struct ft_elf *elf, const char *what)
{
    if (elf->loader[0] && access(elf->loader, F_OK) < 0) {
        ft_doctor_problem(doctor, elf->path, "install that loader, or build the program for this system",
                          "%s cannot be started: its loader %s: %s", what, elf->loader, strerror(errno));
    } else if (elf->sanitizer[0]) {
        tell_sanitizer(doctor, elf, what);
    } else if (elf->is_go) {
        ft_doctor_problem(
            doctor, elf->path, NULL,
            "%s is a Go program: it calls the kernel past the C library, and only its C parts are recorded", what);
    } else {
        ft_doctor_ok(doctor, elf->path, "%s can be recorded", what);
    }
}

/* An ELF file, the last of the chain. */
static void tell_elf(struct ft_doctor *doctor, const struct ft_elf *elf, const char *what)
{
    char room[32];
    if (elf->secure_why) {
        ft_doctor_problem(
            doctor, elf->path, not_recorded,
            "%s gets more rights than you have (%s): its loader takes no library from you (gap secure_exec)", what,
            elf->secure_why);
        return;
    }
    switch (elf->kind) {
    case FT_ELF_STATIC:
        ft_doctor_problem(doctor, elf->path,
                          elf->is_go ? "it runs, but is not recorded"
                                     : "link it dynamically; it runs, but is not recorded",
                          "%s is linked statically%s: no library can be loaded into it (gap static)", what,
                          elf->is_go ? ", as Go does" : "");
        break;
    case FT_ELF_FOREIGN:
        ft_doctor_problem(doctor, elf->path, not_recorded,
                          "%s is built for another architecture (%s) than the library (gap foreign_elf)", what,
                          machine_name(elf, room));
        break;
    case FT_ELF_OTHER_LIBC:
        ft_doctor_problem(doctor, elf->path, "build it for glibc",
                          "%s is built for another C library than glibc, by its loader %s: it cannot load the library "
                          "(gap foreign_elf)",
                          what, elf->loader);
        break;
    case FT_ELF_NOT_PROGRAM:
        ft_doctor_problem(doctor, elf->path, "name a program", "%s is an object file or a library, no program", what);
        break;
    case FT_ELF_DAMAGED:
        ft_doctor_problem(doctor, elf->path, "make it again", "%s is damaged: its headers lie outside of the file",
                          what);
        break;
    default:
        tell_dynamic(doctor, elf, what);
    }
}

/* A script whose interpreter was not found. */
static void tell_interpreter(struct ft_doctor *doctor, const struct ft_elf *script)
{
    const char *name = script->interpreter;
    size_t length = strlen(name);
    if (length == 0) {
        ft_doctor_problem(doctor, script->path, "name an interpreter in its first line",
                          "the script %s names no interpreter", script->path);
    } else if (name[length - 1] == '\r' || strchr(script->argument, '\r')) {
        ft_doctor_problem(doctor, script->path, "remove the carriage returns (dos2unix)",
                          "the script %s has lines that end in a carriage return: %.*s is not found so", script->path,
                          (int)length - (name[length - 1] == '\r'), name);
    } else if (access(name, X_OK) < 0) {
        ft_doctor_problem(doctor, script->path, "install it, or correct the script's first line",
                          "the script %s names the interpreter %s: %s", script->path, name, strerror(errno));
    } else {
        ft_doctor_problem(doctor, script->path, "install it, or put its folder into PATH",
                          "the script %s is run by %s %s, which finds no such program", script->path, name,
                          script->argument);
    }
}

/* What no loader has to do with. */
static void tell_other(struct ft_doctor *doctor, const struct ft_elf *elf)
{
    if (elf->kind == FT_ELF_UNREADABLE) {
        ft_doctor_note(doctor, elf->path, "make it readable (chmod a+r): the daemon cannot look into it either",
                       "%s cannot be read (%s): whether it can be recorded is not known", elf->path,
                       strerror(elf->error));
    } else if (elf->kind == FT_ELF_EMPTY) {
        ft_doctor_problem(doctor, elf->path, "make it again", "%s is empty: it does nothing", elf->path);
    } else {
        ft_doctor_note(doctor, elf->path, "begin it with #! and its interpreter",
                       "%s is neither a program nor a script with #!: /bin/sh runs it", elf->path);
    }
}

static void tell(struct ft_doctor *doctor, const char *given, const struct ft_elf *elf)
{
    char *what = subject(given, elf);
    switch (elf->kind) {
    case FT_ELF_UNREADABLE:
    case FT_ELF_TEXT:
    case FT_ELF_EMPTY:
        tell_other(doctor, elf);
        break;
    case FT_ELF_SCRIPT:
        tell_interpreter(doctor, elf);
        break;
    default:
        tell_elf(doctor, elf, what);
    }
    free(what);
}

void ft_doctor_command(struct ft_doctor *doctor)
{
    const char *name = doctor->command->items[0];
    char path[PATH_MAX], next[PATH_MAX];
    if (!ft_elf_find_command(name, path, sizeof(path))) {
        tell_not_found(doctor, name);
        return;
    }
    struct ft_elf *elf = ft_cli_alloc(sizeof(*elf));
    int depth = 0;
    ft_elf_look_at(path, elf);
    while (elf->kind == FT_ELF_SCRIPT && depth <= FT_ELF_SCRIPTS_MAX &&
           ft_elf_find_interpreter(elf, next, sizeof(next))) {
        ft_elf_look_at(next, elf);
        depth++;
    }
    if (depth > FT_ELF_SCRIPTS_MAX) {
        ft_doctor_problem(doctor, path, "name the last interpreter itself",
                          "the script %s is run by a script, and so on: the kernel follows %d of them", path,
                          FT_ELF_SCRIPTS_MAX);
    } else {
        tell(doctor, path, elf);
        if (elf->kind == FT_ELF_DYNAMIC) {
            ft_doctor_command_functions(doctor, elf);
        }
    }
    free(elf);
}
