// SPDX-License-Identifier: MIT
/* Where `flowtap run` finds its daemon and library, and where it puts its socket and the trace. */
#ifndef FT_CLI_RUN_PATHS_H
#define FT_CLI_RUN_PATHS_H

#include <limits.h>
#include <stdbool.h>

struct ft_run_paths {
    char daemon[PATH_MAX];
    char library[PATH_MAX];
    char folder[64];      /* ours alone, 0700: socket and policy; "" until made */
    char socket[80];      /* in it */
    char trace[PATH_MAX]; /* absolute */
    bool made_trace;      /* the folder of the trace was not there before */
    bool has_traces;      /* it held some, of earlier runs */
    bool keeps_folder;    /* the library is preloaded through it */
};

/* Beside this program, built or installed. 0, or -errno with a message in `error`. */
int ft_run_paths_find(struct ft_run_paths *paths, char *error, unsigned error_bytes);
/* One of them alone. */
int ft_run_paths_find_daemon(struct ft_run_paths *paths, char *error, unsigned error_bytes);
int ft_run_paths_find_library(struct ft_run_paths *paths, char *error, unsigned error_bytes);
/* Makes the trace's folder (and its parents) and looks whether files can be made in it. */
int ft_run_paths_make_trace(struct ft_run_paths *paths, const char *folder, char *error, unsigned error_bytes);
int ft_run_paths_make_folder(struct ft_run_paths *paths, char *error, unsigned error_bytes);
/* Removes the socket's folder, and the trace's where it is empty and was made by us. */
void ft_run_paths_clean(const struct ft_run_paths *paths);

#endif
