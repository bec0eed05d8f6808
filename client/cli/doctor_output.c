// SPDX-License-Identifier: MIT
/* Checks of where `flowtap run` writes. Nothing is left there, and no folder is made for good. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/doctor.h"
#include "client/cli/units.h"

#define BYTES_NEEDED (UINT64_C(16) << 20)
#define BYTES_LOW (UINT64_C(1) << 30)

/* The folder, or the nearest one above it that there is. */
static char *existing_part(const char *folder)
{
    char *path = ft_cli_strdup(folder);
    while (access(path, F_OK) < 0 && errno == ENOENT) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            strcpy(path, slash ? "/" : ".");
            return path;
        }
        *slash = '\0';
    }
    return path;
}

static void look_at_space(struct ft_doctor *doctor, const char *path)
{
    struct statvfs fs;
    struct ft_unit_text bytes;
    if (statvfs(path, &fs) < 0) {
        ft_doctor_ok(doctor, path, "%s can be written to", path);
        return;
    }
    uint64_t available = (uint64_t)fs.f_bavail * fs.f_frsize;
    ft_units_bytes(&bytes, available);
    if (available < BYTES_NEEDED) {
        ft_doctor_problem(doctor, path, "make room, or write elsewhere (-o DIR)",
                          "%s has %s left: a trace loses detail there", path, bytes.text);
    } else if (fs.f_files > 0 && fs.f_favail == 0) {
        ft_doctor_problem(doctor, path, "remove files, or write elsewhere (-o DIR)", "%s has no room for another file",
                          path);
    } else if (available < BYTES_LOW) {
        ft_doctor_note(doctor, path, "a long trace needs more", "%s has %s left", path, bytes.text);
    } else {
        ft_doctor_ok(doctor, path, "%s can be written to and has %s left", path, bytes.text);
    }
}

void ft_doctor_output(struct ft_doctor *doctor)
{
    const char *folder = doctor->output ? doctor->output : ".";
    char error[PATH_MAX + 256];
    char *path = *folder ? existing_part(folder) : ft_cli_strdup("");
    struct ft_run_paths paths = {0};
    if (ft_run_paths_make_trace(&paths, path, error, sizeof(error)) < 0) {
        ft_doctor_problem(doctor, path, "let `flowtap run` write elsewhere (-o DIR)", "%s", error);
    } else {
        look_at_space(doctor, paths.trace);
    }
    free(path);
}

/* The folder that the private daemon's socket lies in. */
void ft_doctor_work(struct ft_doctor *doctor)
{
    char error[PATH_MAX + 256];
    struct ft_run_paths paths = {0};
    if (ft_run_paths_make_folder(&paths, error, sizeof(error)) < 0) {
        ft_doctor_problem(doctor, "/tmp", "set TMPDIR to a folder with a short path that can be written to", "%s",
                          error);
    } else {
        ft_doctor_ok(doctor, NULL, "a folder for the daemon's socket can be made (%s)", paths.folder);
        ft_run_paths_clean(&paths);
    }
}
